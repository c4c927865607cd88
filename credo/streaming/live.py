"""Streaming classifiers: a mutable model that learns single rows, each in time proportional to its cells."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo._kernels.blocks.live import to_shares
from credo.blocks.block import ALL, counting
from credo.blocks.levels import MISSING, UNSEEN, Levels
from credo.blocks.tally import ClassWeights, PredictingTally, Row, Tally, tally_of
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, UNLABELLED
from credo.data import BATCH_ROWS, Batch
from credo.data.cells import LARGEST_NUMBER
from credo.data.conversion import array_of
from credo.data.schema import Schema
from credo.errors import DataError, SchemaError, suggest
from credo.models.forms import TEXT_FORMS
from credo.models.naive_bayes import NaiveBayes
from credo.notices import tell
from credo.numerics.exact import Array
from credo.selection.label_noise import noise_rates
from credo.selection.linear_terms import DiscriminativeTerm
from credo.selection.tuned import untuned_classes
from credo.selection.tuning import discount_factor

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.selection.tuning import Tuning


class Live:
    """observe(row) learns a row in place, predict_proba(row) and predict(row) predict its class, freeze() is the model.

    Rows are dicts {column: value}; absent cells, None and NaN are missing. The evidence equals that of `update` with
    the same rows; the original model doesn't change. It is thread-safe.

    >>> live = NaiveBayes().fit({"wind": ["weak", "strong"], "play": ["yes", "no"]}, target="play").live()
    >>> live.observe({"wind": "weak", "play": "yes"})
    >>> round(live.predict_proba({"wind": "weak"})["yes"], 3)
    0.771
    """

    def __init__(self, model: Classifier) -> None:
        self._turn = RLock()  # guards the buffers that all rows share
        self._number = 0  # the number of the next row
        self._told = False  # whether the notice about rows without a class was given
        self._begin(model)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._turn:  # guards the model while it is written
            return _resumed, (pickle.dumps(self.freeze()), self._number, self._told)

    def _begin(self, model: Classifier) -> None:
        """Start counting on top of the model's evidence."""
        evidence = model.seen
        self._model, self._target = model, str(model.target)
        self._frozen: Classifier | None = model
        self._blank = {
            name: None if forms[0] in ("category", *TEXT_FORMS) else np.nan for name, forms in model.views.items()
        }
        self._blank[self._target] = None
        self._classes, self._end = Classes(evidence.schema[self._target]), self._number + BATCH_ROWS
        self._rows, self._unlabelled = ClassWeights(model.class_weights), ClassWeights(np.zeros(1))
        self._tallies, predicting = self._tallied(model)
        self._values, self._in_order = model.classes, True
        self._parts = self._linear_parts()
        self._settings = model.settings if model.tuning is None else model.tuning.applied_to(model.settings)
        self._begun: tuple[Array, Array, Array] | None = None
        self._predicting = [predicts for tally in predicting if (predicts := PredictingTally.of(tally)) is not None]
        self._predicts_from_sums = _sums_suffice(model) and len(self._predicting) == len(predicting)

    def _tallied(self, model: Classifier) -> tuple[list[Tally], list[Tally]]:
        """Tallies of all blocks' statistics, and those that prediction uses."""
        blocks, tuning = model.blocks(model.views), model.tuning
        if tuning is None or not _texts_alone(tuning):
            tallies = [tally_of(block, model.seen, self._target) for block in counting(block for _, block in blocks)]
            return tallies, tallies
        from credo.blocks.text.tallies import TextTally

        predicting: list[Tally] = []
        kept: set[Any] = set()
        for form, block in blocks:
            if form in tuning.forms.get(block.names[0], ()):
                tally = tally_of(block, model.seen, self._target)
                assert isinstance(tally, TextTally)
                tally.weight = float(tuning.weights_of(form, block.names)[0])
                predicting.append(tally)
                kept |= block.counted
        unused = counting(block for _, block in blocks if not block.counted <= kept)
        others = [tally_of(block, model.seen, self._target) for block in unused]
        return [*predicting, *others], predicting

    def __repr__(self) -> str:
        return f"live {self.freeze()!r}"

    # Learning

    def observe(self, row: Mapping[str, object], weight: float = 1.0) -> None:
        """Learn a row, atomically. A row without a class is only counted."""
        if type(weight) is not float or weight != 1.0:
            weight = _checked(weight)
            if not weight:
                return
        with self._turn:
            self._observe(row, weight)

    def _observe(self, row: Mapping[str, object], weight: float) -> None:
        if type(row) is not dict or len(row) < len(self._blank) or self._target not in row:
            row = self._filled(row, learned=True)
        k = self._classes.find(row[self._target], self._number)
        if k == MISSING:
            self._unlabelled.add(0, weight)
            if not self._told:
                self._told = True
                tell(f"row {self._number + 1} has no {self._target!r}: such rows are counted, but not learned from")
        else:
            if not self._read(row):
                self._read(self._filled(row, learned=True))
            if k == UNSEEN:
                k = self._new_class()
            self._rows.add(k, weight)
            for tally in self._tallies:
                tally.add(k, weight)
        self._frozen = self._begun = None
        self._number += 1
        if self._number == self._end:  # as `update` starts a new batch: up to here, pairs of floats are exact
            self._begin(self.freeze())

    def _read(self, row: Row) -> bool:
        """Read a row into the tallies; False if a column is absent. A wrong cell is an error."""
        try:
            for tally in self._tallies:
                tally.read(row, self._number)
        except KeyError:
            return False
        return True

    def _filled(self, row: Mapping[Any, object], learned: bool = False) -> Row:
        """The row with all columns, under string names; columns may be absent, but not misspelt."""
        if not isinstance(row, Mapping):
            raise DataError(f"a row is a dict {{column: value}}, but this one is {row!r:.60}")
        filled = {**self._blank, **row}
        if len(filled) > len(self._blank):
            named = {str(name): value for name, value in row.items()}
            self._check_names(named, learned)
            filled |= named
        return filled

    def _check_names(self, row: Row, learned: bool) -> None:
        """Raise an error for an unknown column that seems to be a misspelling of an absent one."""
        absent = [name for name in self._blank if name not in row and (learned or name != self._target)]
        unseen = next((name for name in row if name not in self._blank), None)
        if absent and unseen is not None:
            raise SchemaError(
                f"no column {unseen!r} is known (row {self._number + 1}), and {absent[0]!r} isn't there; "
                f"{suggest(unseen, absent)} Leave unknown columns out of rows with missing cells"
            )

    def _new_class(self) -> int:
        k = self._classes.admit(len(self._classes.codes))
        tuning, new = self._model.tuning, self._classes.column.values[-1]
        if tuning is not None and new not in tuning.classes:
            tell(untuned_classes(self._target, [new]))
        self._values, self._order = self._classes.column.values, self._classes.column.ordered()[1].tolist()
        self._in_order = self._order == [*range(len(self._order))]
        self._parts = self._linear_parts()
        return k

    def freeze(self) -> Classifier:
        """The model, with all rows that were observed."""
        with self._turn:
            return self._as_model()

    def _as_model(self) -> Classifier:
        if self._frozen is None:
            classes = self._classes.column
            rows = Part((self._target,), self._rows.counts(len(classes.levels)))
            own = Evidence(Schema((classes,)), {UNLABELLED: Part((None,), self._unlabelled.counts(1)), ROWS: rows})
            found = [self._model.seen, own]
            for tally in self._tallies:  # blocks may share a part
                new, known = tally.evidence(classes), {label for each in found[1:] for label in each.parts}
                found.append(Evidence(new.schema, {label: p for label, p in new.parts.items() if label not in known}))
            self._frozen = self._model.with_evidence(Evidence.total(found).ordered())
        return self._frozen

    # Prediction

    def predict_proba(self, row: Mapping[str, object] | str) -> dict[Any, float]:
        """{class: probability}. An unseen value is ignored. A string is a row where the model reads
        nothing but texts of one column."""
        with self._turn:
            return self._proba(self._row_of_text(row) if isinstance(row, str) else row)

    def _proba(self, row: Mapping[str, object]) -> dict[Any, float]:
        if self._predicts_from_sums and (shares := self._shares(row)) is not None:
            if self._in_order:
                return dict(zip(self._values, shares, strict=True))
            return {self._values[k]: shares[k] for k in self._order}
        model, filled = self.freeze(), self._filled(row)
        cells = {name: array_of([filled[name]], name, self._number) for name in model.views}
        (found,) = model.probabilities(Batch(self._number, 1, cells))
        return dict(zip(model.classes, found.tolist(), strict=True))

    def _shares(self, row: Mapping[str, object]) -> list[float] | None:
        """P(class | row) directly from the sums (estimate="bayes"); None if they don't suffice."""
        if not all(tally.exact for tally in self._predicting):
            return None
        if type(row) is not dict or not self._model.views.keys() <= row.keys():
            row = self._filled(row)
        if self._begun is None:
            self._begun = self._before_the_row()
        begun, biases, noise = self._begun
        settings, out = self._settings, begun.copy()
        for tally in self._predicting:
            tally.look(row, self._number)
            tally.score(settings, out)
        if self._parts:
            self._add_parts(row, out)
        worth = self._worth(row)
        if worth < 1 and (out != begun).any():
            apart = begun - biases
            out = apart + worth * (out - apart)
        if not to_shares(out, begun, biases, noise):  # impossible under every class: the model raises the error
            return None
        shares: list[float] = out.tolist()
        return shares

    def _add_parts(self, row: Mapping[str, object], out: Array) -> None:
        """Add the tuning's logistic regression of the row's texts."""
        names = {name for part in self._parts for name in part.names}
        one = Batch(self._number, 1, {name: array_of([row[name]], name, self._number) for name in names})
        for part in self._parts:
            part.add(part.read(one), out[None])

    def _linear_parts(self) -> list[DiscriminativeTerm]:
        """The tuning's logistic regression, for the current classes."""
        tuning = self._model.tuning
        if tuning is None:
            return []
        found = ((part, tuning.weights_of(part.form, (ALL,))) for part in tuning.parts)
        return [part.over(tuning.classes, self._values).weighted(weight) for part, weight in found]

    def _worth(self, row: Mapping[str, object]) -> float:
        """The weight of the row's evidence, discounted for missing cells."""
        tuning = self._model.tuning
        if tuning is None or not tuning.discount:
            return 1.0
        cells = [row[name] for name in tuning.used]
        missing = sum(cell is None or cell != cell for cell in cells)
        return float(discount_factor(np.array(missing / max(len(cells), 1)), tuning.discount)) if missing else 1.0

    def _before_the_row(self) -> tuple[Array, Array, Array]:
        """log P(class) with biases and label noise, the biases, and the noise of each class."""
        n, tuning = self._rows.value(len(self._values)), self._model.tuning
        log_prior = self._model.log_class_prior(n)
        biases = np.zeros(len(log_prior)) if tuning is None else tuning.biases_of(self._values)
        rates = noise_rates(0.0 if tuning is None else tuning.label_noise, n)
        noise = rates * np.exp(log_prior - np.logaddexp.reduce(log_prior))
        return log_prior + biases + np.log1p(-rates), biases, noise

    def _row_of_text(self, text: str) -> Row:
        ((name, forms), *others) = self._model.views.items()
        if others or forms[0] not in TEXT_FORMS:
            raise DataError(f"a row is a dict {{column: value}}, but this one is {text!r:.60}")
        return {name: text}

    def predict(self, row: Mapping[str, object] | str) -> Any:
        """The most probable class."""
        shares = self.predict_proba(row)
        return max(shares, key=lambda value: shares[value])


class Classes(Levels):
    """The levels of the class column; a fraction is an error."""

    def _level(self, value: object, number: int) -> Any:
        level = super()._level(value, number)
        if len(level) and pa.types.is_floating(level.type):
            name = self.column.name
            raise DataError(f"column {name!r} has the value {value!r} (row {number + 1}): a class can't be a fraction")
        return level


def _resumed(pickled: bytes, number: int, told: bool) -> Live:
    """The live model restored from a pickle."""
    live = Live(pickle.loads(pickled))
    live._number, live._told, live._end = number, told, number + BATCH_ROWS
    return live


def _checked(weight: float) -> float:
    try:
        found = float(weight)
    except (TypeError, ValueError):
        found = np.nan
    if not 0 <= found <= LARGEST_NUMBER:
        raise DataError(f"a weight must be a number of 0 or more, but is {weight!r:.60}")
    return found


def _sums_suffice(model: Classifier) -> bool:
    """Whether probabilities can be computed from each column's own sums: naive Bayes, not averaged, and tuned only if
    all columns are texts."""
    if model.tuning is None:
        alone = all(len(forms) == 1 for forms in model.views.values())
    else:
        alone = _texts_alone(model.tuning)
    texts = any(forms[0] in TEXT_FORMS for forms in model.views.values())
    return (
        isinstance(model := model.plain, NaiveBayes)
        and model.estimate == "bayes"
        and not model.average
        and model.class_prior is None
        and model.m is None
        and (model.smoothing > 0 or not texts)
        and alone
    )


def _texts_alone(tuning: Tuning) -> bool:
    """Whether prediction uses text columns only."""
    texts = {name for name, forms in tuning.forms.items() if forms}
    counted = all(form in TEXT_FORMS for forms in tuning.forms.values() for form in forms)
    return counted and all(name in texts for part in tuning.parts for name in part.names)
