"""Logistic regression: P(class | row) by a weighted sum of the row's features, the weights under a Gaussian prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, get_args

import numpy as np
import pyarrow as pa

from credo.blocks.capabilities import Ignored
from credo.core.description import DescriptionLength
from credo.core.evidence import Evidence
from credo.core.folds import Groups
from credo.core.labels import ROWS, UNLABELLED
from credo.core.learning import Weight, gather
from credo.data import Batch, source
from credo.data.schema import Column
from credo.errors import DataError, EvidenceError, PriorError, check_positive_number, check_whole, counted, suggest
from credo.models.class_evidence import labelled_table
from credo.models.class_predictor import ClassPredictor
from credo.models.class_reader import NOT_FITTED, Shares
from credo.models.description_length import target_length
from credo.models.drawn_folds import DrawnFolds
from credo.models.explaining import Reasons, TextContributions, placed_words
from credo.models.forms import Kinds, Views, kind_of_form
from credo.models.metrics import Scores
from credo.models.regression.encoding import ColumnSums, RowEncoding
from credo.models.regression.features import PRODUCT_SIGN, Interactions, Readings
from credo.models.regression.laplace import LaplacePosterior
from credo.models.regression.logistic_fitting import LogisticFit, Method
from credo.models.regression.logistic_validation import cross_validated, left_out
from credo.models.regression.tf_idf import text_settings
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from credo.streaming.live_regression import LiveLogistic

Estimate = Literal["bayes", "map", "ml"]
Choice = Literal["auto", "evidence", "cross-validation"]
UNCERTAINTY_ALLOWANCE = "allowance for uncertain weights"  # its name in explanations


@dataclass(frozen=True, eq=False, repr=False)
class LogisticRegression(ClassPredictor):
    """P(class k | row) = exp(bₖ + z · wₖ)/Σ, the weights w ~ N(0, 1/(strength · s²)); for two classes, one w.

    z: centred numbers, an indicator for each level of a category, tf-idf of words and pairs. s: the standard deviation
    of a number, else 1; always 1 unless `scaled`. strength: a number (scikit-learn's 1/C), or how to choose it:
    "evidence" (P(classes), weights integrated out by Laplace's method), "cross-validation", or "auto": evidence, except
    where there are texts or more than 2,000 weights. estimate: "bayes" integrates weights out of predictions, of up to
    2,000 weights; "map" uses the most probable ones, "ml" those of least cross-entropy, without a prior. method:
    "newton", "lbfgs", or "gradient": w ← w + rate · Σ (d - h(z)) z, at most `steps` times.

    >>> rows = {"hours": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "passed": ["no", "no", "yes", "no", "yes", "yes"]}
    >>> model = LogisticRegression(strength=1).fit(rows, target="passed")
    >>> model.predict_proba({"hours": [3.5, 6.0]}).round(2).tolist()
    [[0.5, 0.5], [0.27, 0.73]]
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "class_column", "class_sizes", "encoding", "fitted", "integrates", "posterior", "seen", "signs", "views",
    )  # fmt: skip

    strength: float | Choice = "auto"
    estimate: Estimate = "bayes"
    method: Method = "auto"
    scaled: bool = True
    interactions: Interactions = ()
    rate: float | None = None
    steps: int = 10_000
    class_prior: Shares | None = None
    kinds: Kinds = None
    target: str | None = field(default=None, init=False)
    views: Views = field(default_factory=dict, init=False)
    class_column: Column | None = field(default=None, init=False)
    class_sizes: Array = field(default_factory=lambda: np.zeros(0), init=False)  # the weight of each class's rows
    unlabelled: float = field(default=0.0, init=False)  # the weight of rows without a class: they were left out
    encoding: RowEncoding = field(default_factory=lambda: RowEncoding(None, np.zeros(0)), init=False)
    posterior: LaplacePosterior | None = field(default=None, init=False)
    strengths: Mapping[str, float] = field(default_factory=dict, init=False)  # of the columns (""), and of each text
    history: tuple[float, ...] = field(default=(), init=False)  # the log-posterior after each step, but for a constant
    signs: Mapping[str, str] = field(default_factory=dict, init=False)  # the currency sign of each column of amounts

    def __post_init__(self) -> None:
        for name, known in (("estimate", Estimate), ("method", Method)):
            value = getattr(self, name)
            if value not in get_args(known):
                raise PriorError(f"no such {name}, {value!r:.60}; {suggest(value, get_args(known))}")
        if isinstance(self.strength, str) and self.strength not in get_args(Choice):
            raise PriorError(
                f"strength must be a number, or one of {', '.join(get_args(Choice))}, not {self.strength!r:.60}"
            )
        for name, given in (("strength", self.strength), ("rate", self.rate)):
            if isinstance(given, str) or (given is None and name == "rate"):
                continue
            check_positive_number(name, given, PriorError)
        check_whole("steps", self.steps, 1, PriorError)

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Learn from a table with a class in each row: `target` is a column's name, or an array."""
        table = source(data)
        table.check_rereadable("logistic regression reads the rows several times")
        table, name, views = labelled_table(table, target, weight, self.kinds)
        sums = ColumnSums(name, Readings.of(views, self.interactions), text_settings(views, self.kinds))
        seen = gather(sums, table, [name, *views], weight, Evidence.total).ordered()
        model = self._begun(name, views, seen, sums.encoding(seen)).replaced(signs=dict(table.currencies([*views])))
        found = LogisticFit(model, table, weight).learned()
        return model.replaced(posterior=found.posterior, strengths=found.strengths, history=found.history)

    def _begun(self, target: str, views: Views, seen: Evidence, encoding: RowEncoding) -> Self:
        """The model with its classes and encoding, before the weights are fitted."""
        classes, sizes = seen.schema[target], np.asarray(seen[ROWS].n.value[:, 0])
        unlabelled = float(seen[UNLABELLED].n.value.sum())
        if not sizes.any():
            why = f"every cell of {target!r} is missing" if unlabelled else "all weights are zero"
            raise DataError(f"no row has a class: {why}")
        if len(sizes) < 2:
            raise DataError(
                f"column {target!r} holds one class only, {classes.values[0]!r:.60}: there is nothing to classify"
            )
        if unlabelled:
            tell(f"{counted(unlabelled, 'row')} without {target!r} left out")
        if not encoding.width:
            raise DataError("the columns have no features: texts without words that two of them share, or no values")
        return self.replaced(
            target=target,
            views=views,
            class_column=classes,
            class_sizes=sizes,
            unlabelled=unlabelled,
            encoding=encoding,
        )

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows, approximately: the Laplace posterior is their prior.

        Features and strengths are held fixed. A fit of all rows differs slightly; new classes need one.
        """
        table, before = self._labelled(data, target), self.seen
        sums = ColumnSums(str(self.target), Readings(()), {})
        seen = gather(sums, table, [str(self.target)], weight, Evidence.total)
        unlabelled, column = float(seen[UNLABELLED].n.value.sum()), seen.schema[str(self.target)]
        if unlabelled:
            tell(f"{counted(unlabelled, 'row')} without {self.target!r} left out")
        if new := [value for value in column.values if value not in self.classes]:
            raise EvidenceError(
                f"column {self.target!r} has {new[0]!r:.60}, which was never learned: fit again with all rows"
            )
        sizes = dict(zip(column.values, seen[ROWS].n.value[:, 0].tolist(), strict=True))
        if not sizes:
            raise DataError(f"no row has a class: every cell of {self.target!r} is missing, or has weight 0")
        found = LogisticFit(self, table, weight).updated(before)
        return self.replaced(
            posterior=found.posterior,
            history=(*self.history, *found.history),
            class_sizes=self.class_sizes + np.array([sizes.get(value, 0.0) for value in self.classes]),
            unlabelled=self.unlabelled + unlabelled,
        )

    def forget(self, data: object, **_: object) -> NoReturn:  # noqa: ARG002 - there is nothing to do with it
        """Refused: there are no additive statistics from which rows could be subtracted."""
        raise EvidenceError(
            "a logistic regression has no additive statistics: rows can't be subtracted, so refit without them"
        )

    def __add__(self, other: object) -> NoReturn:
        """Refused, for the same reason."""
        raise EvidenceError(
            "a logistic regression has no additive statistics to merge: fit all rows together, or update(data) one "
            "with the rows of the other"
        )

    def merge(self, *others: object) -> NoReturn:  # noqa: ARG002 - there is nothing to do with it
        """Refused, for the same reason."""
        self.__add__(None)

    def live(self) -> LiveLogistic:
        """A mutable version that learns one row at a time: see credo.streaming.live_regression."""
        from credo.streaming.live_regression import LiveLogistic

        return LiveLogistic(self)

    # What was learned

    @property
    def seen(self) -> LaplacePosterior:
        """The encoding and the posterior; an error before `fit`."""
        if self.posterior is None:
            raise EvidenceError(NOT_FITTED)
        return self.posterior

    @property
    def classes(self) -> tuple[Any, ...]:
        if self.class_column is None:
            raise EvidenceError(NOT_FITTED)
        return self.class_column.values

    @property
    def class_weights(self) -> Array:
        return self.class_sizes

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.views)

    @cached_property
    def features(self) -> dict[str, Column]:
        own = self.encoding.features
        levels = {} if own is None else {column.name: column.levels for column in own.schema}
        return {name: Column(name, kind_of_form(form), levels.get(name)) for name, (form, *_) in self.views.items()}

    @property
    def word_columns(self) -> list[str]:
        known = [column for column in (self.class_column, *self.features.values()) if column is not None]
        return [each.name for each in known if each.levels is not None and pa.types.is_string(each.levels.type)]

    @property
    def currencies(self) -> Mapping[str, str]:
        return self.signs

    @property
    def lone_text(self) -> str | None:
        texts = self.encoding.texts
        return texts[0].name if len(texts) == len(self.views) == 1 else None

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: an intercept and the features' weights, for each class but one. A category
        with k levels has k - 1 free weights."""
        own = self.encoding.features
        words = sum(text.width for text in self.encoding.texts)
        return (1 + words + (0 if own is None else own.free())) * (len(self.classes) - 1)

    @property
    def log_likelihood(self) -> float:
        """Σ log P(class | row) of the rows that were learned, at the most probable weights."""
        return self.seen.log_likelihood

    @property
    def log_evidence(self) -> float:
        """log P(classes | features), weights integrated out by Laplace's method, the strengths held fixed."""
        found = self.seen.log_evidence
        if found is None:
            why = "there is no prior" if self.estimate == "ml" else "the covariances of so many weights aren't kept"
            raise EvidenceError(f"this logistic regression has no evidence: {why}")
        return found

    def description_length(self, data: object, *, target: object = None, weight: Weight = None) -> DescriptionLength:
        """L(h) + L(classes | columns, h) in bits; a weight takes ½ log₂ n."""
        return target_length(self, self.scores(data, target=target, weight=weight), self.n_parameters, 0.0)

    def weights(self, *, interval: float = 0.95) -> pa.Table:
        """An Arrow table: each feature's weight, what a unit of it adds to the log-odds, and its credible interval.

        For two classes, the log-odds of the second against the first; with more, each class has its own weights. The
        intercept is that of an average row.
        """
        from credo.models.regression.logistic_describing import weight_table

        return weight_table(self, interval)

    def plot(self, top: int = 20) -> Figure:
        """The strongest weights of standardised features, with their credible intervals."""
        from credo.present.logistic_plot import weights_figure

        return weights_figure(self, top)

    # Prediction

    @property
    def integrates(self) -> bool:
        """Whether predictions integrate the weights out."""
        return self.estimate == "bayes" and self.seen.whole

    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        rows, ignored = self.encoding.rows(batch)
        found = self.seen.log_shares(rows, self.integrates) + self._prior_shift
        return found, ignored if count_ignored else {}

    # Validation

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """Approximate leave-one-out predictions: for each row, one Newton step from the weights of all rows.

        Strengths and features are held fixed. Where covariances of weights aren't kept, as with texts, use
        `cross_validate`.
        """
        return left_out(self, self._labelled(data, target), weight)

    def cross_validate(
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> Scores:  # fmt: skip
        """Predictions for each row by models of the other folds, each refitted from a warm start.

        Strengths and features (means, levels, words) are held fixed. Rows of one group go to the same fold, where
        `groups` names a column or is an array.
        """
        table = self._labelled(data, target)
        table.check_rereadable("cross-validation reads the data several times")
        drawn = DrawnFolds.by_groups(table, folds, str(self.target), weight, groups)
        return cross_validated(self, drawn, weight, seed)

    # Reasons

    def _reasons(self, one: Batch) -> Reasons:
        """The intercept, each column's contribution to the logits, and the effect of integrating uncertain weights
        out."""
        rows, _ = self.encoding.rows(one)
        z, mode = rows.with_ones(slice(0, 1))[0], self.seen.mode
        terms = _of_classes(z[:, None] * mode)
        columns: dict[str, Array] = {}
        for names, at in self.encoding.places.items():
            name = PRODUCT_SIGN.join(dict.fromkeys(names))  # a number's square belongs to the number
            columns[name] = columns.get(name, 0.0) + terms[1:][at].sum(0)
        prior = terms[0] + self._prior_shift
        total = prior + sum(columns.values(), np.zeros_like(prior))
        if not self.integrates:
            return Reasons(prior, columns, total)
        found = self.seen.log_shares(rows, integrated=True)[0] + self._prior_shift
        return Reasons(prior, {**columns, UNCERTAINTY_ALLOWANCE: found - total}, found)

    def _word_contributions(self, one: Batch, first: int, second: int, size: float) -> TextContributions:
        found, filled = {}, one.filled(self.feature_names)
        for text in self.encoding.texts:
            rows, _ = text.read(filled)
            weights = _of_classes(self.seen.mode)[1:][self.encoding.places[(text.name,)]]
            said = rows.values * (weights[rows.places, first] - weights[rows.places, second]) / size
            words = text.words.take(pa.array(rows.places)).to_pylist()
            cell = filled.column(text.name)[0].as_py() or ""
            found[text.name] = placed_words(str(cell), dict(zip(words, said.tolist(), strict=True)), text.reading)
        return found

    def _unseen(self, one: Batch) -> frozenset[str]:
        own = self.encoding.features
        return frozenset() if own is None else frozenset(name for name, _ in own.read(one)[1])

    def __repr__(self) -> str:
        from credo.models.regression.logistic_describing import described

        return described(self)


def _of_classes(coefficients: Array) -> Array:
    """One column for each class; for two classes, the first's is 0."""
    return coefficients if coefficients.shape[1] > 1 else np.hstack([np.zeros_like(coefficients), coefficients])
