"""LinearRegression: Bayesian linear regression with Gaussian or Student-t noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from credo.blocks.capabilities import Ignored
from credo.blocks.one_hot import LABEL
from credo.core.evidence import Evidence
from credo.core.folds import Groups
from credo.core.labels import UNLABELLED
from credo.core.learning import Additive, Weight
from credo.core.records import with_fields
from credo.data import Batch, Source, source
from credo.engines import Partition
from credo.errors import DataError, EvidenceError, PriorError, SchemaError, counted
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.models.class_reader import NOT_FITTED
from credo.models.drawn_folds import DrawnFolds
from credo.models.forms import Kinds
from credo.models.known_columns import add_ignored, columns_found
from credo.models.regression.columns import settled_readings
from credo.models.regression.design import Design
from credo.models.regression.features import Interactions, Readings
from credo.models.regression.fitted_line import FittedLine, LineSettings
from credo.models.regression.jobs import Means, Predictives
from credo.models.regression.linear_validation import fold_scores_of, scores_left_out, scores_of_table
from credo.models.regression.row_results import collected, given_rows, tell_unseen
from credo.models.regression.scores import NumberScores
from credo.models.targets import with_known_target, with_target
from credo.notices import tell
from credo.numerics.distributions import InverseGamma, Seed, StudentT, plain
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from credo.core.description import DescriptionLength
    from credo.models.regression.explaining import Contributions
    from credo.models.regression.robust import StudentNoise
    from credo.selection.report import RegressionReport
    from credo.streaming.live_regression import LiveRegression

Noise = Literal["gaussian", "student"]
PRIOR_DEFAULTS = {"mean": 0.0, "precision": 1.0, "shape": 1.0, "scale": 1.0}  # of a partly given prior


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LinearRegression(Additive):
    """y = a + Σ wⱼ zⱼ(row) + noise, w ~ N(0, σ²/ridge) for standardised features z: regularised least squares.

    The ridge is chosen by evidence; ridge=0 is least squares. Alternatively, give the parameters of a conjugate prior:
    see LinearGaussian. Categories, missing cells and, optionally, interactions (products of two columns, squares of
    numbers) are features, too. select: variable selection by evidence.

    >>> rooms = {"rooms": [1, 2, 3, 4, 5, 6], "price": [11.0, 18.0, 32.0, 39.0, 52.0, 58.0]}
    >>> model = LinearRegression(ridge=0).fit(rooms, target="price")
    >>> model.maximum_likelihood().weights.round(4).tolist()
    [0.6, 9.8286]
    >>> model.predict({"rooms": [7]}).round(1).tolist()
    [69.4]
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "as_family", "design", "fitted", "given", "opened", "readings", "robust", "streamed",
    )  # fmt: skip

    given: LinearGaussian | None
    ridge: float | Literal["evidence"]
    kinds: Kinds
    interactions: Interactions
    select: bool
    noise: Noise
    target: str | None = field(default=None, init=False)
    readings: Readings | None = field(default=None, init=False)
    evidence: Evidence | None = field(default=None, init=False)
    robust: StudentNoise | None = field(default=None, init=False)
    report: RegressionReport | Any = field(default=None, init=False)  # of credo.learn

    def __init__(
        self, mean: Any = None, precision: Any = None, shape: Any = None, scale: Any = None, *,
        ridge: float | Literal["evidence"] = "evidence", kinds: Kinds = None,
        interactions: Interactions = (), select: bool = False, noise: Noise = "gaussian",
    ) -> None:  # fmt: skip
        numbers = {"mean": mean, "precision": precision, "shape": shape, "scale": scale}
        some = {name: value for name, value in numbers.items() if value is not None}
        given = LinearGaussian(**{**PRIOR_DEFAULTS, **some}) if some else None
        _check_options(given, ridge, select, noise)
        pairs = interactions if isinstance(interactions, str) else tuple(interactions)
        options = {
            "given": given, "ridge": ridge, "kinds": kinds, "interactions": pairs, "select": select, "noise": noise,
        }  # fmt: skip
        for each in fields(self):
            object.__setattr__(self, each.name, options.get(each.name, each.default))

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Learn from a table with a number in each row: `target` is a column's name, or an array. One additive pass."""
        table, name = with_target(source(data), target)
        if isinstance(weight, str):
            table.require([weight])
        table, readings = settled_readings(
            table, name, weight, self.kinds, self.interactions, as_numbers=self.given is not None
        )
        model = with_fields(self, target=name, readings=readings, evidence=None, robust=None, report=None)
        if self.noise == "student":
            from credo.models.regression.robust import fitted_with_student_noise

            return fitted_with_student_noise(model, table, weight)
        return model.update(table, weight=weight)

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows; new categories are allowed. With Student-t noise, EM continues.

        Of a model that has learned nothing yet, the same as fit.
        """
        if self.target is None:
            if target is None:
                raise SchemaError("name the target column, as in fit(data, target='price')")
            return self.fit(data, target, weight=weight)
        before, table = self.unlabelled, self._labelled(data, target)
        if self.robust is not None:
            from credo.models.regression.robust import continued

            return continued(self, table, weight)
        model = super().update(table, weight=weight)
        if left_out := model.unlabelled - before:
            tell(f"{counted(left_out, 'row')} without {self.target!r} left out")
        if not model.n:
            why = f"every cell of {self.target!r} is missing" if model.unlabelled else "all weights are zero"
            raise DataError(f"no row has a target: {why}")
        return model

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn rows exactly, as if they had never been learned."""
        self._refuse_robust("forget", "Fit it to the rows that stay")
        table = self._labelled(data, target)
        if absent := [name for name in self._readings.names if name not in table.names]:
            raise SchemaError(
                f"rows are forgotten with all the columns that were learned, but {absent[0]!r} is absent. (Where all "
                "cells of a column were missing, give it without values.)"
            )
        return super().forget(table, weight=weight)

    def discount(self, factor: float) -> Self:
        self._refuse_robust("discount", "Fit it with weights")
        return super().discount(factor)

    def _refuse_robust(self, verb: str, instead: str) -> None:
        if self.noise == "student":
            raise EvidenceError(
                f"can't {verb}: with Student-t noise, the row weights depend on all rows (by EM), so "
                f"there are no additive statistics. {instead}, or use noise='gaussian'"
            )

    def _labelled(self, data: object, target: object) -> Source:
        if self.target is None:
            raise EvidenceError(NOT_FITTED)
        return with_known_target(self.opened(data), self.target, target, "the target was")

    def opened(self, data: object) -> Source:
        """The opened table; columns of strings stay strings, even where all of them spell numbers."""
        if self.evidence is None:
            return source(data)
        return source(data).as_words(self.evidence.word_columns).in_currencies(self.evidence.currencies)

    def needs(self, data: Source) -> Sequence[str]:
        assert self.target is not None
        return (self.target, *columns_found(data, self._readings.names, self.target))

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        return self.design.summarise(batch, weight)

    def with_evidence(self, evidence: Evidence) -> Self:
        """The model with other evidence, and without the report, which was about the old evidence."""
        return with_fields(self, evidence=evidence, report=None)

    def mergeable(self, other: Self) -> str | None:
        self._refuse_robust("merge", "Fit it to the rows of both")
        if self.target != other.target:
            return f"their targets differ, {self.target!r} and {other.target!r}"
        if self.readings != other.readings:
            for name in {*self._readings.names, *other._readings.names}:
                if (name in self._readings.names) != (name in other._readings.names):
                    return f"only one of them has a column {name!r}"
                if (name in self._readings.categories) != (name in other._readings.categories):
                    return f"column {name!r} is a category in one and a number in the other: say which with kinds"
            return "they have different interactions, or their columns in another order"
        if self.given != other.given:
            return f"the priors differ, {self.given} and {other.given}"
        for what in ("ridge", "select", "noise"):
            if getattr(self, what) != getattr(other, what):
                return f"their {what} differs, {getattr(self, what)!r} and {getattr(other, what)!r}"
        return None

    # The fitted model

    @property
    def n(self) -> float:
        """The weight of the rows."""
        if self.evidence is None:
            return 0.0
        return float(self.evidence[LABEL].n.value[0]) if self.robust is None else self.robust.rows

    @property
    def unlabelled(self) -> float:
        """The weight of rows without a target, which were skipped."""
        return 0.0 if self.evidence is None else float(self.evidence[UNLABELLED].n.value.sum())

    @property
    def _seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError(NOT_FITTED)
        return self.evidence

    @property
    def _readings(self) -> Readings:
        if self.readings is None:
            raise EvidenceError(NOT_FITTED)
        return self.readings

    @property
    def design(self) -> Design:
        return Design(self._readings, str(self.target))

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that the model reads, and the target."""
        return None if self.readings is None else (*self.readings.names, str(self.target))

    @cached_property
    def fitted(self) -> FittedLine:
        """The weights' posterior in standardised units, and the prior behind it."""
        if self.evidence is None or not self.n:
            raise EvidenceError(NOT_FITTED)
        ridge = None if self.ridge == "evidence" else float(self.ridge)
        if self.robust is not None:
            return self.robust.fitted
        return FittedLine.of(self.design, self.evidence, LineSettings(self.given, ridge, self.select))

    @property
    def as_family(self) -> LinearGaussian:
        """The given prior as a family, for credo.estimate."""
        return LinearGaussian() if self.given is None else self.given

    def maximum_likelihood(self) -> Line:
        """Least squares: the weights (the intercept first) under which the rows are most probable, and the variance."""
        return self.fitted.least_squares()

    def mode(self) -> Line:
        """The most probable weights (the intercept first) and variance, jointly."""
        weights, variance = self.fitted.posterior.mode()
        return self.fitted.line(weights, plain(variance))

    def marginals(self) -> tuple[StudentT, InverseGamma]:
        """The marginal distributions of the weights (the intercept first) and of the variance."""
        return self.fitted.weights(), self.fitted.variance()

    def mean(self) -> Line:
        return Line(*(plain(each.mean()) for each in self.marginals()))

    def variance(self) -> Line:
        return Line(*(plain(each.variance()) for each in self.marginals()))

    def interval(self, mass: float = 0.95) -> Line:
        """Equal-tailed credible intervals of the weights (the intercept first) and of the variance."""
        return Line(*(tuple(map(plain, each.interval(mass))) for each in self.marginals()))

    def highest_density(self, mass: float = 0.95) -> Line:
        """The highest-density (shortest) credible intervals."""
        return Line(*(tuple(map(plain, each.highest_density(mass))) for each in self.marginals()))

    def sample(self, size: int, seed: Seed = None) -> Line:
        """Draws of the weights (the intercept first) and of the variance."""
        weights, variance = self.fitted.posterior.sample(size, seed)
        return Line(weights @ self.fitted.basis.to_terms.T, variance)

    def log_evidence(self) -> float:
        """log p(targets | columns), parameters integrated out. Comparable among regressions of the same target; without
        a given prior, up to the constant of a flat prior on the intercept and on log σ²."""
        self._refuse_robust("integrate the parameters out", "Compare by cross_validate")
        return 0.0 if self.evidence is None else self.fitted.log_evidence()

    def description_length(self, data: object, *, target: object = None, weight: Weight = None) -> DescriptionLength:
        """Bits of the target's numbers given the other columns: free weights, intercept and noise variance take ½ log₂
        n each. Numbers are coded to one unit: only lengths of the same target can be compared."""
        from credo.core.description import arrow_bits
        from credo.models.description_length import target_length

        scores, features = self.scores(data, target=target, weight=weight), self.fitted.basis.features
        kept = {features.sources[i] for i in self.fitted.basis.kept.tolist()}
        chosen = arrow_bits({"": [*map(str, kept)]}, len(features.groups)) if self.select else 0.0
        return target_length(self, scores, features.free(kept) + 2 + (self.noise == "student"), chosen)

    def parameters(self) -> pa.Table:
        """An Arrow table: the prediction for an average row, and each term's weight with its 95% credible interval.

        A category's terms are against the average of its levels. With select=True: the inclusion probability of the
        term's column.
        """
        from credo.models.regression.describing import parameter_table

        return parameter_table(self)

    def inclusion(self) -> dict[str, float]:
        """The inclusion probability of each column and interaction, under select=True."""
        found = self.fitted.inclusion
        if found is None:
            raise EvidenceError("every column was kept: LinearRegression(select=True) weighs subsets of them")
        return found.table()

    # Prediction

    def predict(self, data: object) -> Array:
        """The mean of each row's predictive distribution. Missing cells, and unseen values, count as the average.

        Of a Dask or Spark DataFrame: that frame, with a column `predicted`, computed lazily.
        """
        table, job = self.opened(data), Means(self.fitted)
        if table.frame is None:
            return collected(job, self._partitions(table))
        from credo.models.frame_columns import numbers

        frame: Array = numbers(table, columns_found(table, self._readings.names, self.target), job)
        return frame

    def predictive(self, data: object) -> StudentT:
        """The distribution of each row's target (mean, interval, log_prob, sample); of one row, that of one number."""
        rows, one = given_rows(data, self._readings.names)
        found = collected(Predictives(self.fitted), self._partitions(self.opened(rows))).reshape(-1, 2)
        location, scale = found[0].tolist() if one else found.T
        return StudentT(self.fitted.predictive_degrees, location, scale)

    def streamed(self, data: object) -> Iterator[tuple[Batch, StudentT]]:
        """Batches of a table with their predictives, in constant memory."""
        table, job = self.opened(data), Predictives(self.fitted)
        columns_found(table, self._readings.names, self.target)
        ignored = Ignored()
        for batch in table.batches([*table.keys, *table.names]):
            found, unseen = job(batch)
            add_ignored(ignored, unseen)
            yield batch, StudentT(self.fitted.predictive_degrees, found[:, 0], found[:, 1])
        tell_unseen(ignored)

    def intervals(self, data: object, mass: float = 0.95) -> tuple[Array, Array]:
        """Predictive intervals: both ends, for each row."""
        low, high = self.predictive(data).interval(mass)
        return np.atleast_1d(low), np.atleast_1d(high)

    def log_prob(self, data: object) -> Array:
        """log p(target | row) of each row; NaN where the target is missing."""
        table = self._labelled(data, None)
        y = np.concatenate([batch.numbers(str(self.target)) for batch in table.batches([str(self.target)])])
        return np.asarray(self.predictive(table).log_prob(y)).reshape(-1)

    def explain(self, row: object) -> Contributions:
        """The prediction for an average row, and how much each column of this one adds to it."""
        from credo.models.regression.explaining import explained

        return explained(self, row)

    def _partitions(self, table: Source) -> Iterable[Partition[Batch]]:
        return table.partitions(columns_found(table, self._readings.names, self.target))

    # Validation

    def scores(self, data: object, *, target: object = None, weight: Weight = None) -> NumberScores:
        """Scores on rows that weren't used for training."""
        return scores_of_table(self, self._labelled(data, target), weight)

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> NumberScores:
        """The prediction for each row i of a model refitted without row i, exactly, but without a refit.

        The prior is held fixed: the strength of the ridge, the features' centres and scales, and the selection.
        """
        self._refuse_robust("leave rows out", "Use cross_validate")
        return scores_left_out(self, self._labelled(data, target), weight)

    def cross_validate(  # type: ignore[override]
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> NumberScores:  # fmt: skip
        """Predictions for each row by models of the other folds: their sums are added up, without refits.

        Each fold chooses its own prior from the other folds. Rows of one group go to the same fold, where `groups`
        names a column or is an array.
        """
        model = self.fit(source(data).without(groups), target, weight=weight) if self.target is None else self
        drawn = DrawnFolds.by_groups(model._labelled(data, target), folds, str(model.target), weight, groups)
        if self.noise == "student":
            from credo.models.regression.robust import cross_validated

            return cross_validated(model, drawn, weight, seed)
        return fold_scores_of(model, drawn, weight, seed)

    def live(self) -> LiveRegression:
        """A mutable version that learns one row at a time: see credo.streaming.live_regression."""
        from credo.streaming.live_regression import LiveRegression

        return LiveRegression(self)

    def plot(self) -> Figure:
        """The terms' weights with their credible intervals."""
        from credo.present.regression_plot import plot_regression

        return plot_regression(self)

    def __repr__(self) -> str:
        from credo.present.regression import described

        return described(self)


def _check_options(given: LinearGaussian | None, ridge: object, select: object, noise: object) -> None:
    strength = isinstance(ridge, int | float | np.number) and 0 <= float(ridge) < np.inf
    if ridge != "evidence" and not strength:
        raise PriorError(f"ridge must be 'evidence' or a number of at least 0, but is {ridge!r:.60}")
    if noise not in ("gaussian", "student"):
        raise PriorError(f"noise must be 'gaussian' or 'student', but is {noise!r:.60}")
    if not isinstance(select, bool):
        raise PriorError(f"select must be True or False, but is {select!r:.60}")
    if given is not None and (ridge != "evidence" or select or noise == "student"):
        raise PriorError("mean, precision, shape and scale are a whole prior: ridge, select and noise go without them")
