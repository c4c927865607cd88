"""LinearRegression: Bayesian linear regression with Gaussian or Student-t noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from credo import engines
from credo.blocks.capabilities import Ignored
from credo.blocks.one_hot import LABEL
from credo.core.evidence import Evidence
from credo.core.folds import Groups
from credo.core.labels import UNLABELLED
from credo.core.learning import Additive, Weight, Weights, fold_job, fold_scores
from credo.core.records import with_fields
from credo.core.summed_scores import summed_scores
from credo.data import Batch, Source, source
from credo.errors import DataError, EvidenceError, PriorError, SchemaError, counted
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.models.class_reader import NOT_FITTED
from credo.models.drawn_folds import DrawnFolds
from credo.models.forms import Kinds
from credo.models.known_columns import add_ignored, columns_found
from credo.models.metrics import fold_ratio
from credo.models.regression.columns import settled_readings
from credo.models.regression.design import Design
from credo.models.regression.features import Interactions, Readings
from credo.models.regression.fitted_line import FittedLine, LineSettings
from credo.models.regression.jobs import Means, Predictives, ScoredNumbers
from credo.models.regression.scores import NumberScores, SummedNumberScores
from credo.models.targets import with_known_target, with_target
from credo.notices import quietly, tell, tell_of_columns
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

NO_TARGET = "no row has a target: every cell of {!r} is missing, or has weight 0"
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
        "as_family",
        "design",
        "fitted",
        "given",
        "opened",
        "readings",
        "robust",
        "streamed",
    )

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
        options = (given, ridge, kinds, interactions if isinstance(interactions, str) else tuple(interactions))
        for each, value in zip(fields(self), (*options, select, noise, *[None] * 5), strict=True):
            object.__setattr__(self, each.name, value)

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
            return self._collected(table, job)
        from credo.models.frame_columns import numbers

        frame: Array = numbers(table, columns_found(table, self._readings.names, self.target), job)
        return frame

    def predictive(self, data: object) -> StudentT:
        """The distribution of each row's target (mean, interval, log_prob, sample); of one row, that of one number."""
        rows, one = self._rows(data)
        found = self._collected(rows, Predictives(self.fitted)).reshape(-1, 2)
        location, scale = (found[0] if one else found.T).tolist() if one else found.T
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
        _tell_unseen(ignored)

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

    def _rows(self, given: object) -> tuple[object, bool]:
        """The table, and whether it was a single row: {name: cell}, or its cells in order."""
        names = self._readings.names
        if isinstance(given, Mapping) and not any(np.ndim(cell) for cell in given.values()):
            return [given], True
        if isinstance(given, list | tuple | np.ndarray) and len(given) and not isinstance(given[0], Mapping):
            cells = np.asarray(given)
            if cells.ndim <= 2 and cells.shape[-1] != len(names) and not isinstance(given[0], str):
                raise DataError(f"the line has {len(names)} features, but a row has {cells.shape[-1]}")
            table = dict(zip(names, np.atleast_2d(cells).T, strict=True))
            return {name: column.tolist() for name, column in table.items()}, cells.ndim < 2
        return given, False

    def _collected(
        self, data: object, job: Any, names: Sequence[str] | None = None, weights: Weights | None = None
    ) -> Array:
        """A job's results for all rows, in order; one notice for unseen values."""
        table = self.opened(data)
        names = columns_found(table, self._readings.names, self.target) if names is None else names
        partitions = table.partitions(names) if weights is None else weights.partitions(table, names)
        parts, ignored = [], Ignored()
        for found, unseen in engines.map(job, partitions):
            parts.append(found)
            add_ignored(ignored, unseen)
        _tell_unseen(ignored)
        return np.concatenate(parts) if parts else np.empty(0)

    # Validation

    def scores(self, data: object, *, target: object = None, weight: Weight = None) -> NumberScores:
        """Scores on rows that weren't used for training."""
        return self._scored(self._labelled(data, target), weight, "given")

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> NumberScores:
        """The prediction for each row i of a model refitted without row i, exactly, but without a refit.

        The prior is held fixed: the strength of the ridge, the features' centres and scales, and the selection.
        """
        self._refuse_robust("leave rows out", "Use cross_validate")
        table = self._labelled(data, target)
        if table.once:
            raise DataError(
                "leave-one-out reads the data once more, and an iterator can be read only once: give a table"
            )
        found = self._scored(table, weight, "leave-one-out")
        if not np.isclose(found.n, self.n, rtol=1e-9):
            raise EvidenceError(
                f"leave-one-out needs the rows that were learned: the evidence has {self.n:g} of them, the data "
                f"{found.n:g}"
            )
        return found

    def _scored(self, table: Source, weight: Weight, how: str) -> NumberScores:
        weights = Weights.of(weight)
        job = ScoredNumbers(self.fitted, str(self.target), weights.of_a_row, left_out=how == "leave-one-out")
        names = self.needs(table.without(weight))
        if table.sums_scores:
            added = self._summed(job, weights.partitions(table, names))
            ratio = fold_ratio(added.rows) if job.left_out else 0.0
            return added.instead_of_rows(how=how, held_out_ratio=ratio)
        found = self._collected(table, job, names, weights)
        if not len(found):
            raise DataError(NO_TARGET.format(self.target))
        return NumberScores.of_columns(found, how, fold_ratio(len(found)) if job.left_out else 0.0)

    def _summed(self, job: Any, partitions: Any, added: Any = SummedNumberScores.of) -> SummedNumberScores:
        """The scores of a frame's rows, summed by its workers; one notice for unseen values."""
        found = summed_scores(job, partitions, SummedNumberScores, added)
        if found is None:
            raise DataError(NO_TARGET.format(self.target))
        _tell_unseen(found.ignored)
        return found

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
        if drawn.table.sums_scores:
            job, partitions, _ = fold_job(model, drawn.table, folds, weight, seed, _scores_of, drawn.together)
            added = model._summed(job, partitions, SummedNumberScores.of_fold)
            return added.instead_of_rows(how=drawn.how, held_out_ratio=fold_ratio(folds))
        found, _ = fold_scores(model, drawn.table, folds, weight, seed, _scores_of, together=drawn.together)
        return drawn.scores_of_numbers(found[0], weight)

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


def _tell_unseen(ignored: Ignored) -> None:
    """One notice for all columns with such cells."""
    said = ((name, f"{counted(cells, 'cell')} with {what}, ignored") for (name, what), cells in ignored.items())
    tell_of_columns(said)


def _scores_of(model: LinearRegression, batch: Batch, weights: Array) -> tuple[Array]:
    with quietly():  # the fit of all rows tells its own notices
        fitted = model.fitted
    job = ScoredNumbers(fitted, str(model.target), Weights().of_a_row)
    return (job(replace(batch, weight=weights))[0],)


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
