"""Classifiers: P(class | row) from class-conditional beliefs about blocks of columns, and the verbs that they share."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.mixed import Mixed
from credo.data import Batch, Source, source
from credo.engines import local
from credo.errors import DataError, EvidenceError, Notice, PriorError, SchemaError, counted, suggest
from credo.evidence import ROWS, Evidence, Part
from credo.exact import Array
from credo.learning import Additive, Weight, Weights, fold_scores
from credo.membership import Codes, Hard
from credo.metrics import Scores
from credo.models.forms import Views, settled_views
from credo.models.tuning import Tuning
from credo.schema import Column, Schema, unite
from credo.statistics import ALONE, Counts

if TYPE_CHECKING:
    from credo.models.explaining import Explanation
    from credo.models.live import Live

UNLABELLED = "(rows without a class)"
TARGET = "target"  # what a class column is called that comes as an array
NOTHING = "nothing was learned yet: fit(data, target=...) first"
RESERVED = re.compile(r"\((rows|rows without a class|numbers|logarithms|joint [01]+)\)")  # parts of the evidence
Model = TypeVar("Model", bound="Classifier")
Loss = Mapping[Any, Mapping[Any, float]] | Sequence[Sequence[float]]


class Classifier(Additive):
    """log p(row, class) = log P(class) + Σ log p(block | class), over blocks that are independent given the class.

    What is learned and how is in the fields of the dataclasses that this is the base of.
    """

    target: str | None
    views: Views  # how each column is counted: in one way, or in several that tuning chose from
    evidence: Evidence | None
    tuning: Tuning | None
    report: Any  # of credo.learn: what was tried, and how good the winner is
    class_smoothing: float | None
    class_prior: Mapping[Any, float] | None
    kinds: Mapping[str, Any] | None

    chooses_forms: ClassVar[bool] = False  # whether tuning may read number columns in other forms

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """What the priors are worth, and how parameters are estimated."""

    @abstractmethod
    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        """Columns in blocks, each with the form that its columns are read in."""

    def likelihood_of(self, block: Block, settings: Settings) -> Likelihood:
        return block.likelihood(self.seen, settings)

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Learn from a table with a class in each row: `target` is a column's name, or an array. One additive pass."""
        table, name = with_target(source(data), target)
        if isinstance(weight, str):
            table.require([weight])
        features = tuple(column for column in table.without(weight).names if column != name)
        if not features:
            raise SchemaError(f"there is no column beside {name!r} to learn from")
        if taken := next(filter(RESERVED.fullmatch, features), None):
            raise SchemaError(f"{taken!r} is what credo calls a part of its evidence: call the column otherwise")
        table, views = settled_views(table, features, self.kinds)
        if not views:
            raise SchemaError("there is no column to learn from: all of them are ignored, or hold text")
        fresh = _replaced(self, target=name, views=views, evidence=None, tuning=None, report=None)
        return fresh.update(table, weight=weight)

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows; classes and categories may be new."""
        table = self._labelled(data, target)
        before = self.unlabelled
        model = super().update(table, weight=weight)
        left_out = model.unlabelled - before
        if left_out:
            warnings.warn(f"{counted(left_out, 'row')} without {self.target!r} left out", Notice, stacklevel=2)
        if not model.class_weights.any():
            why = f"every cell of {self.target!r} is missing" if model.unlabelled else "all weights are zero"
            raise DataError(f"no row has a class: {why}")
        return model

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn rows: what is left is what would be there had they never come."""
        return super().forget(self._labelled(data, target), weight=weight)

    def _labelled(self, data: object, target: object) -> Source:
        if self.target is None:
            raise EvidenceError(NOTHING)
        table = source(data)
        if target is not None and not (isinstance(target, str) and target == self.target):
            if isinstance(target, str):
                raise SchemaError(f"the classes were in column {self.target!r} so far, not in {target!r}")
            table = table.without(self.target).beside(self.target, target)
        table.require([self.target])
        return table

    def needs(self, data: Source) -> Sequence[str]:
        assert self.target is not None
        return (self.target, *self._present(data))

    def _present(self, table: Source) -> list[str]:
        """The columns that the table has; the others' cells count as missing."""
        if not self.views:
            raise EvidenceError(NOTHING)
        known = set(table.names)
        absent = [name for name in self.views if name not in known]
        if len(absent) == len(self.views):
            raise SchemaError(f"none of the columns is there; {suggest(absent[0], table.names)}")
        if absent:
            what = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
            warnings.warn(f"no column {what}: its cells count as missing", Notice, stacklevel=4)
        return [name for name in self.views if name in known]

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        assert self.target is not None
        codes, levels = _class_codes(batch, self.target)
        lost = codes < 0
        parts = {UNLABELLED: Part((None,), Counts.of_rows(Hard.whole(int(lost.sum()), weight[lost])))}
        if lost.any():
            kept = np.flatnonzero(~lost)
            batch, codes, weight = batch.take(kept), codes[kept], weight[kept]
        member = Hard(codes, len(levels), weight)
        parts[ROWS] = Part((self.target,), Counts.of_rows(member))
        batch = batch.filled(self.views)
        blocks = {block.counted: block for _, block in self.blocks(self.views)}
        found = [block.summarise(batch, member, self.target) for block in blocks.values()]
        own = Schema((Column(self.target, "category", levels),))
        schema, _ = unite([own, *(evidence.schema for evidence in found)])
        for evidence in found:
            parts |= evidence.parts
        return Evidence(schema, parts)

    def counting(self, more: Views, data: Source, weight: Weight) -> Self:
        """With columns counted in more forms, in a pass over the rows that were learned.

        Those that had one of the forms before are counted in it again: what a block keeps is about all its columns.
        """
        views = {name: tuple(dict.fromkeys((*own, *more.get(name, ())))) for name, own in self.views.items()}
        forms = {form for each in more.values() for form in each}
        wanted = {name: tuple(form for form in own if form in forms) for name, own in views.items()}
        extra: Any = _replaced(
            self, views={name: own for name, own in wanted.items() if own}, evidence=None, tuning=None
        )
        found = extra.gathered(data, weight)
        kept = self.seen.keeping({*(set(self.seen.parts) - set(found.parts)), ROWS, UNLABELLED})
        return _replaced(self, views=views, evidence=kept.beside(found))

    def part_names(self) -> set[str]:
        """The parts of the evidence that the views need."""
        blocks = (block for _, block in self.blocks(self.views))
        return {ROWS, UNLABELLED, *(label for block in blocks for label in block.labels(self.seen))}

    def with_evidence(self, evidence: Evidence) -> Self:
        return _replaced(self, evidence=evidence)

    def taught_by(self, others: Evidence, held_out: Evidence) -> Self:
        """The classes of all folds are known; values that only the held-out rows show aren't."""
        assert self.target is not None
        return self.with_evidence(others.knowing(held_out.only(ROWS)))

    def mergeable(self, other: Self) -> str | None:
        for what in ("target", "views", "settings", "class_smoothing", "class_prior"):
            if getattr(self, what) != getattr(other, what):
                return f"their {what} differ, {getattr(self, what)!r:.80} and {getattr(other, what)!r:.80}"
        return None

    def __add__(self, other: Self) -> Self:
        """The evidence of both; a tuning stays only where it is the same."""
        if isinstance(other, type(self)) and self.tuning != other.tuning:
            warnings.warn("the two are tuned differently: their sum is untuned", Notice, stacklevel=2)
            return _replaced(self, tuning=None) + _replaced(other, tuning=None)
        return super().__add__(other)

    def without_class(self, value: object) -> Self:
        """As if rows of that class had never come."""
        places = np.array([k for k in range(len(self.classes)) if k != self._code_of(value)], dtype=np.intp)
        if not len(places):
            raise EvidenceError(f"{value!r} is the only class: without it nothing is left")
        assert self.target is not None
        return _replaced(self, evidence=self.seen.at_levels(self.target, places))

    # What was learned

    @property
    def seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError(NOTHING)
        return self.evidence

    @property
    def unlabelled(self) -> float:
        """The weight of rows without a class: they were left out."""
        return 0.0 if self.evidence is None else float(self.evidence[UNLABELLED].n.value.sum())

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """In the order of the probabilities' columns."""
        assert self.target is not None or self.evidence is None
        return self.seen.schema[str(self.target)].values

    @property
    def class_weights(self) -> Array:
        """The weight of each class's rows."""
        return np.asarray(self.seen[ROWS].n.value[:, 0])

    @property
    def n(self) -> float:
        """The weight of the rows."""
        return float(self.class_weights.sum())

    def _code_of(self, value: object) -> int:
        for k, known in enumerate(self.classes):
            if known == value:
                return k
        raise SchemaError(f"no class {value!r}; {suggest(value, self.classes)}")

    def log_class_prior(self, n: Array) -> Array:
        """log P(class), of evidence that has so many rows of each. (..., classes)"""
        if self.class_prior is not None:
            return np.broadcast_to(self._given_prior, n.shape)
        a = self.settings.smoothing if self.class_smoothing is None else self.class_smoothing
        estimate = self.settings.estimate
        above = np.maximum(n + (0.0 if estimate == "ml" else a - (estimate == "map")), 0.0)
        total = above.sum(-1, keepdims=True)
        with np.errstate(divide="ignore"):
            even = -np.log(n.shape[-1])
            return np.asarray(np.where(total > 0, np.log(above / np.where(total > 0, total, 1.0)), even))

    @cached_property
    def _given_prior(self) -> Array:
        given = self.class_prior or {}
        unknown = [value for value in self.classes if value not in given]
        if unknown:
            raise PriorError(f"class_prior says nothing of the class {unknown[0]!r}")
        try:
            shares = np.array([float(given[value]) for value in self.classes])
        except (TypeError, ValueError):
            shares = np.full(len(self.classes), np.nan)
        if not ((shares >= 0).all() and 0 < shares.sum() <= 1 + 1e-9):
            raise PriorError(f"class_prior must be shares that sum to 1, but is {dict(given)!r:.80}")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares / shares.sum()))

    @cached_property
    def plain(self) -> Terms:
        """As fit learned it."""
        forms = {name: views[:1] for name, views in self.views.items()}
        return self._terms(forms, self.settings, None)

    @cached_property
    def tuned(self) -> Terms:
        """As tuning chose."""
        if self.tuning is None:
            return self.plain
        return self._terms(self.tuning.forms, self.tuning.applied_to(self.settings), self.tuning)

    def terms_of(self, forms: Mapping[str, Sequence[str]], settings: Settings) -> Terms:
        """The likelihoods of columns in these forms, not weighed."""
        return self._terms(forms, settings, None)

    def _terms(self, forms: Mapping[str, Sequence[str]], settings: Settings, tuning: Tuning | None) -> Terms:
        """The likelihoods of columns in these forms, weighted by the tuning where there is one."""
        if not self.classes:
            raise EvidenceError("every row was forgotten: no class is left")
        chosen = []
        for form, block in self.blocks(self.views):
            places = [j for j, name in enumerate(block.names) if form in forms.get(name, ())]
            if not places:
                continue
            likelihood = self.likelihood_of(block, settings)
            if len(places) < len(block.names):
                likelihood = likelihood.pick(places)
            if tuning is not None:
                likelihood = self._weighed(form, likelihood, tuning)
            chosen.append((form, likelihood))
        biases = np.zeros(len(self.classes)) if tuning is None else tuning.biases_of(self.classes)
        return Terms(tuple(chosen), self.log_class_prior(self.class_weights), biases)

    def _weighed(self, form: str, likelihood: Likelihood, tuning: Tuning) -> Likelihood:
        weights = tuning.weights_of(form, likelihood.voices)
        if form == tuning.mixed:
            return Mixed(likelihood, weights, tuning.mixture_of(self.classes))
        return likelihood.weighted(weights)

    # Prediction

    def log_joint(self, data: object) -> Array:
        """log p(row, class), untuned, as in worked examples. (rows, classes)"""
        return self._collected(data, partial(self._log_joint, self.plain, with_base=True))

    def log_prob(self, data: Any) -> Array:
        """log p(row), untuned: low for rows unlike all that were learned."""
        return np.asarray(np.logaddexp.reduce(self.log_joint(data), axis=1))

    def predict_log_proba(self, data: object) -> Array:
        """log P(class | row). (rows, classes)"""

        def normalised(batch: Batch) -> tuple[Array, dict[str, int]]:
            log_joint, unseen = self._log_joint(self.tuned, batch)
            top = log_joint.max(1, keepdims=True)
            self._check_possible(batch, top[:, 0])
            log_joint -= top
            log_joint -= np.log(np.exp(log_joint).sum(1, keepdims=True))
            return log_joint, unseen

        return self._collected(data, normalised)

    def predict_proba(self, data: object) -> Array:
        """P(class | row). (rows, classes)"""
        return self._collected(data, self._probabilities)

    def _probabilities(self, batch: Batch) -> tuple[Array, dict[str, int]]:
        log_joint, unseen = self._log_joint(self.tuned, batch)
        top = log_joint.max(1, keepdims=True)
        self._check_possible(batch, top[:, 0])
        log_joint -= top
        np.exp(log_joint, out=log_joint)
        log_joint /= log_joint.sum(1, keepdims=True)
        return log_joint, unseen

    def predict(self, data: object) -> NDArray[Any]:
        """The most probable class of each row."""

        def best(batch: Batch) -> tuple[Array, dict[str, int]]:
            log_joint, unseen = self._log_joint(self.tuned, batch)
            self._check_possible(batch, log_joint.max(1))
            return log_joint.argmax(1)[:, None].astype(np.float64), unseen

        return self._named(self._collected(data, best)[:, 0].astype(np.intp))

    def _named(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        return np.array(self.classes)[codes]

    def decide(self, data: object, loss: Loss | None = None, *, reject: float | None = None) -> NDArray[Any]:
        """The decision of least expected loss for each row; None where rejecting (at that loss) is cheaper.

        loss[truth][decision] is what a decision costs; what isn't said costs 0 where it is right, else 1.
        """
        expected = self.predict_proba(data) @ _loss_matrix(loss, self.classes)
        decided = self._named(expected.argmin(1)).astype(object)
        if reject is not None:
            if not isinstance(reject, int | float | np.number) or np.isnan(reject):
                raise DataError(f"reject must be a number, the loss of not deciding, but is {reject!r}")
            decided[expected.min(1) > reject] = None
        return decided

    def _log_joint(self, terms: Terms, batch: Batch, with_base: bool = False) -> tuple[Array, dict[str, int]]:
        out = np.empty((batch.rows, len(terms.log_prior)))
        out[:] = terms.log_prior + terms.biases
        unseen: dict[str, int] = {}
        batch = batch.filled(self.views)
        for _, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            likelihood.add(cells, out)
            unseen |= likelihood.unseen(cells)
            if with_base:
                out += np.reshape(likelihood.base(cells), (-1, 1))
        return out, unseen

    def _collected(self, data: object, of_batch: Callable[[Batch], tuple[Array, dict[str, int]]]) -> Array:
        """What a function says of each batch, one after another."""
        table = source(data)
        names, start, unseen = self._present(table), 0, dict[str, int]()
        whole: Array | None = None
        parts = []
        for found, strange in local.mapped(of_batch, table.batches(names)):
            for name, cells in strange.items():
                unseen[name] = unseen.get(name, 0) + cells
            if table.rows is None:
                parts.append(found)
                continue
            whole = np.empty((table.rows, found.shape[1])) if whole is None else whole
            whole[start : start + len(found)] = found
            start += len(found)
        self._tell_unseen(unseen)
        if whole is not None:
            return whole
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes)))

    def streamed(self, data: object) -> Iterator[tuple[Batch, Array]]:
        """Batches of a table with their probabilities, one after another, in constant memory."""
        table = source(data)
        self._present(table)
        unseen: dict[str, int] = {}

        def scored(batch: Batch) -> tuple[Batch, Array, dict[str, int]]:
            return batch, *self._probabilities(batch)

        for batch, probabilities, strange in local.mapped(scored, table.batches(table.names)):
            for name, cells in strange.items():
                unseen[name] = unseen.get(name, 0) + cells
            yield batch, probabilities
        self._tell_unseen(unseen)

    def _tell_unseen(self, unseen: Mapping[str, int]) -> None:
        for name, cells in unseen.items():
            what = f"column {name!r}: {counted(cells, 'cell')} with values never seen before"
            warnings.warn(f"{what}, which say nothing", Notice, stacklevel=4)

    def _check_possible(self, batch: Batch, top: Array) -> None:
        if np.isneginf(top).any():
            row = int(np.flatnonzero(np.isneginf(top))[0])
            raise EvidenceError(self._impossible(batch.slice(row, 1)))

    def _impossible(self, batch: Batch) -> str:
        """Which cells no class allows, of one row."""
        never = {name: np.isneginf(each[0]) for name, each in self.voices_of(batch, self.tuned).items()}
        cells = []
        for name, under in never.items():
            if under.any():
                value = batch.column(name)[0].as_py() if name in batch.names else None
                where = ", ".join(str(self.classes[k]) for k in np.flatnonzero(under)[:3])
                cells.append(f"{name}={value!r} (never with {where})")
        return (
            f"row {batch.start + 1} is impossible under every class: {'; '.join(cells) or 'no class has rows'}. "
            "Smoothing makes it possible: use estimate='bayes' or 'mean'"
        )

    def voices_of(self, batch: Batch, terms: Terms) -> dict[str, Array]:
        """What each column says of the classes: its log-likelihoods, weighted. (rows, classes) each"""
        batch = batch.filled(self.views)
        found: dict[str, Array] = {}
        for _, likelihood in terms.likelihoods:
            said = likelihood.said(likelihood.read(batch), (batch.rows, len(terms.log_prior)))
            for name, each in said.items():
                found[name] = found[name] + each if name in found else each
        return found

    # Validation

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """What a model refitted without row i says of row i, for each row that was learned; nothing is refitted.

        (Only where cells miss under a full or tied covariance, it is.) Rows without a class are left out.
        """
        table = self._labelled(data, target)
        if table.once:
            raise DataError(
                "leave-one-out reads the data once more, and an iterator can be read only once: give a table"
            )
        weights = Weights.of(weight)
        names = weights.beside(self.needs(table.without(weight)))
        terms = self.tuned
        scored = partial(self._left_out, terms, weights)
        found = list(local.mapped(scored, table.batches(names)))
        log_joint, codes, row_weights = (np.concatenate(part) for part in zip(*found, strict=True))
        self._check_rows(codes, row_weights)
        return self._scores(log_joint, codes, row_weights, "leave-one-out")

    def _check_rows(self, codes: Codes, weights: Array) -> None:
        there = np.bincount(codes, weights, len(self.classes))
        if not np.allclose(there, self.class_weights, rtol=1e-9):
            raise EvidenceError(
                f"leave-one-out needs the rows that were learned: the evidence has {self.n:g} of them, the data "
                f"{there.sum():g}" + ("" if there.sum() != self.n else ", of other classes")
            )

    def _scores(self, log_joint: Array, codes: Codes, weights: Array, how: str) -> Scores:
        top = log_joint.max(1, keepdims=True)
        if np.isneginf(top).any():
            raise EvidenceError("a row is impossible under every class without itself: use estimate='bayes' or 'mean'")
        log_probabilities = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
        return Scores(self.classes, log_probabilities, codes.astype(np.intp), weights, how)

    def members(self, batch: Batch, weights: Weights) -> tuple[Batch, Hard]:
        """The rows that have a class and a weight, and which class."""
        codes, weight = self.codes_of(batch), weights.of_rows(batch)
        kept = (codes >= 0) & (weight > 0)
        if kept.all():
            return batch, Hard(codes, len(self.classes), weight)
        rows = np.flatnonzero(kept)
        return batch.take(rows), Hard(codes[rows], len(self.classes), weight[rows])

    def codes_of(self, batch: Batch) -> Codes:
        """Which class each row is in, -1 where it has none."""
        assert self.target is not None
        own, levels = _class_codes(batch, self.target)
        places = {value: k for k, value in enumerate(self.classes)}
        table = np.array([*(places.get(value, -2) for value in levels.to_pylist()), -1], dtype=np.int32)
        codes = table[own]
        if (codes == -2).any():
            strange = levels[int(own[codes == -2][0])].as_py()
            raise EvidenceError(f"column {self.target!r} has {strange!r}, which was never learned")
        return codes

    def log_prior_left_out(self, own: Hard) -> Array:
        n = np.repeat(self.class_weights[None], own.rows, axis=0)
        rows = np.arange(own.rows)
        left = n[rows, own.codes] - own.weight
        n[rows, own.codes] = np.where(left <= ALONE * n[rows, own.codes], 0.0, left)
        return self.log_class_prior(n)

    def _left_out(self, terms: Terms, weights: Weights, batch: Batch) -> tuple[Array, Codes, Array]:
        batch, own = self.members(batch, weights)
        batch = batch.filled(self.views)
        out = self.log_prior_left_out(own) + terms.biases
        for form, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            if self.tuning is None:
                likelihood.add_left_out(cells, own, out)
            else:
                likelihood.add_weighed_left_out(cells, own, self.tuning.weights_of(form, likelihood.voices), out)
        return out, own.codes, own.weight

    def cross_validate(  # type: ignore[override]
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0
    ) -> Scores:
        """What models taught by the other folds say of each row: their evidence is added up, nothing is refitted."""
        table = self._labelled(data, target)
        (log_joint, codes, weights), _ = fold_scores(self, table, folds, weight, seed, _scored)
        kept = (codes >= 0) & (weights > 0)
        return self._scores(log_joint[kept], codes[kept], weights[kept], f"{folds}-fold")

    # Reasons

    def explain(self, row: object, of: object = None, against: object = None, *, unit: str = "nats") -> Explanation:
        """Why a row is taken for the class `of` rather than `against` (the two most probable, if not said).

        prior + the columns' weights of evidence = the log-odds.
        """
        from credo.models.explaining import explained

        return explained(self, row, of, against, unit)

    def parameters(self) -> Any:
        """An Arrow table: each column's parameters by class, as estimated."""
        from credo.models.explaining import parameter_table

        return parameter_table(self)

    @property
    def n_parameters(self) -> int:
        """How many numbers the model has: P(class), and each class's distributions."""
        each = sum(likelihood.free_parameters for _, likelihood in self.plain.likelihoods)
        return len(self.classes) - 1 + each

    def sample(self, size: int, seed: Any = None) -> Any:
        """An Arrow table of made-up rows, drawn from what was learned (untuned)."""
        import pyarrow as pa

        if not isinstance(size, int | np.integer) or size < 0:
            raise DataError(f"the number of rows to make up must be whole and at least 0, but is {size!r}")
        rng = np.random.default_rng(seed)
        codes = rng.choice(len(self.classes), size, p=np.exp(self.plain.log_prior))
        columns: dict[str, Any] = {}
        for _, likelihood in self.plain.likelihoods:
            columns |= likelihood.sample(codes, rng)
        ordered = {name: columns[name] for name in self.views if name in columns}
        return pa.table(
            {**{k: pa.array(v, from_pandas=True) for k, v in ordered.items()}, str(self.target): self._named(codes)}
        )

    def live(self) -> Live:
        """A mutable twin for streams of single rows."""
        from credo.models.live import Live

        return Live(self)

    def tune(self, data: object, *, target: object = None, weight: Weight = None, seed: int = 0) -> Self:
        """Choose what the evidence leaves open, on leave-one-out scores of the rows that were learned."""
        from credo.models.tuning import tuned

        chosen: Self = tuned(self, self._labelled(data, target), weight, seed)
        return chosen

    def __repr__(self) -> str:
        from credo.models.explaining import described

        return described(self)


@dataclass(frozen=True, eq=False)
class Terms:
    """What a prediction adds up: log P(class), biases, and the blocks' log-likelihoods, each with its form."""

    likelihoods: tuple[tuple[str, Likelihood], ...]
    log_prior: Array
    biases: Array


def _replaced(model: Model, **fields: Any) -> Model:
    """The dataclass with other fields."""
    return replace(model, **fields)  # type: ignore[type-var]


def _scored(model: Any, batch: Batch, weights: Array) -> tuple[Array, Codes, Array]:
    """Of each row: log-joints, its class's code (-1 where it has none), and its weight."""
    log_joint, _ = model._log_joint(model.tuned, batch)
    return log_joint, model.codes_of(batch), weights


def with_target(table: Source, target: object) -> tuple[Source, str]:
    if isinstance(target, str):
        table.require([target])
        return table, target
    if target is None:
        raise SchemaError("say which column holds the classes, as in fit(data, target='play')")
    name = TARGET
    while name in table.names:
        name += "_"
    return table.beside(name, target), name


def _class_codes(batch: Batch, target: str) -> tuple[Codes, Any]:
    import pyarrow as pa

    codes, levels = batch.categories(target)
    if pa.types.is_floating(levels.type):
        raise DataError(
            f"column {target!r} holds numbers with fractions, as {levels[0].as_py():g}; a class is one of a few values"
        )
    return codes, levels


def _loss_matrix(loss: Loss | None, classes: Sequence[Any]) -> Array:
    """(truth, decision)"""
    size = len(classes)
    matrix = 1.0 - np.eye(size)
    if loss is None:
        return matrix
    wrong = f"loss must be numbers, as in {{truth: {{decision: 3}}}} or a matrix, but is {loss!r:.80}"
    if not isinstance(loss, Mapping):
        try:
            matrix = np.asarray(loss, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(wrong) from None
        if np.isnan(matrix).any():
            raise DataError(wrong)
        if matrix.shape != (size, size):
            raise DataError(f"the loss must have {size} rows and columns, one a class, but has shape {matrix.shape}")
        return matrix
    places = {value: k for k, value in enumerate(classes)}
    for truth, costs in loss.items():
        if not isinstance(costs, Mapping):
            raise DataError(wrong)
        for decision, cost in costs.items():
            for value in (truth, decision):
                if value not in places:
                    raise SchemaError(f"loss names a class {value!r} that isn't there; {suggest(value, classes)}")
            if not isinstance(cost, int | float | np.number) or np.isnan(cost):
                raise DataError(wrong)
            matrix[places[truth], places[decision]] = cost
    return matrix
