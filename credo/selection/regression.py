"""credo.learn for numbers: linear regressions compared on held-out rows; the simplest wins unless another is clearly
better.

A target with few distinct whole numbers has classes; one with many is a quantity, and a notice says so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo import engines
from credo.core.folds import group_count
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.records import with_fields
from credo.data import Batch, Source, cells
from credo.data.fingerprints import Fingerprints, all_cell_prints, fingerprints
from credo.data.profile import profile
from credo.errors import DataError, EvidenceError, SchemaError
from credo.models.regression.features import pairs_of
from credo.models.regression.scores import NumberScores
from credo.models.targets import NUMBERS_AS_CLASSES
from credo.notices import quietly, tell
from credo.numerics.distributions import LOG_2PI, StudentT
from credo.numerics.exact import Array
from credo.selection.nested_validation import LARGE_SAMPLE_FOLDS, SMALL_SAMPLE, SMALL_SAMPLE_FOLDS
from credo.selection.observations import Observations, Parts
from credo.selection.report import RegressionReport, TriedRegression
from credo.selection.row_sample import sampled_rows
from credo.selection.significance import CLEAR_ERRORS, clear_gain, clear_gain_but_for_tails

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

CHOICE_ROWS = 20_000  # rows on which options are chosen, at most: of more rows, a sample
PRODUCT_FEATURES = 150  # products of pairs of columns, at most; and one for ten rows
TENTHS = 10  # parts of the rows, each predicted by the regression that the other parts choose
BASE = "linear regression"
SELECTED, SQUARES, PRODUCTS, STUDENT = (
    "columns selected by evidence", "squares of numbers", "products of pairs of columns", "Student-t noise",
)  # fmt: skip
DEGREES_OF_FREEDOM = (2.0, 4.0, 8.0)  # of the Student-t tails that errors are compared with
MOST_DEVIATIONS = 5.0  # of a number from its mean: a parabola far outside of most rows is nonsense there
MEAN_ALONE = "the mean alone"


def holds_numbers(table: Source, target: str, kinds: Mapping[str, Any] | None) -> bool:
    """Whether the target is a quantity: by `kinds`, by fractions, or by more than 20 distinct numbers."""
    asked = (kinds or {}).get(target) if isinstance(kinds, Mapping | None) else None
    if asked in ("number", "count"):
        return True
    first = table.first([target]) if asked is None else None
    if first is None:
        return False
    array = first.column(target)
    if pa.types.is_floating(array.type):
        known = cells.missing(array)
        if pc.any(pc.not_equal(known, pc.floor(known))).as_py():
            return True
    elif not pa.types.is_integer(array.type):
        return False
    if int(pc.count_distinct(array).as_py()) <= NUMBERS_AS_CLASSES:
        return False
    found = profile(table, [target], every=[target])[target]
    tell(
        f"column {target!r} has {found.known - found.repeated:,} distinct whole numbers: it is predicted as a "
        f"quantity, by regression; kinds={{{target!r}: 'category'}} makes each a class"
    )
    return True


def learned_regression(
    table: Source, target: str, kinds: Mapping[str, Any] | None, weight: Weight, seed: int, groups: str | None = None
) -> LinearRegression:
    """The regression that predicts held-out rows best, with a report. groups: a column."""
    from credo.models.regression.linear import LinearRegression

    start = time.perf_counter()
    others, features = {name: how for name, how in (kinds or {}).items() if name != target}, table.without(groups)
    model = LinearRegression(kinds=others or None).fit(features, target, weight=weight)
    with quietly():
        observed = _observed(table, model, Weights.of(weight))
        options = _options_of(model, observed)
        chosen, tried = _tried(model, observed, options, seed, groups)
    if chosen:
        model = _with_options(model, options, chosen).fit(features, target, weight=weight)
    scores = _cross_fitted(tried)
    report = RegressionReport(
        target, model.n, model.unlabelled, _lines(tried, chosen), _why(chosen, scores), scores,
        time.perf_counter() - start,
    )  # fmt: skip
    return with_fields(model, report=report)


def _options_of(model: LinearRegression, observed: Observed) -> dict[str, dict[str, Any]]:
    """The options that are tried in turn, each added to those that helped: squares of numbers and products of columns
    only if these are few compared with the rows."""
    found: dict[str, dict[str, Any]] = {SELECTED: {"select": True}}
    most, width = min(PRODUCT_FEATURES, model.n / 10), len(model.fitted.basis.scales)
    squares = _squares(model, observed)
    if 0 < len(squares) <= most:
        found[SQUARES] = {"interactions": squares}
    names = model.fitted.basis.features.columns
    if len(names) > 1 and width * (width - 1) // 2 <= most:
        found[PRODUCTS] = {"interactions": "all"}
    return found | {STUDENT: {"noise": "student"}}


def _squares(model: LinearRegression, observed: Observed) -> tuple[tuple[str, str], ...]:
    """The numbers without far outliers, each paired with itself."""
    features, scales = model.fitted.basis.features, model.fitted.basis.scales
    names = [column.name for column in features.schema if column.levels is None]
    if not names:
        return ()
    ends = np.array([*engines.map(NumberRanges(tuple(names)), observed.table.partitions(names))])  # (batches, 2, names)
    place = np.concatenate([features.mains[name] for name in names])
    furthest = np.maximum(features.centre[place] - ends[:, 0].min(0), ends[:, 1].max(0) - features.centre[place])
    near = furthest <= MOST_DEVIATIONS * scales[place]
    return tuple((name, name) for name, is_near in zip(names, near.tolist(), strict=True) if is_near)


def _with_options(
    model: LinearRegression, options: Mapping[str, dict[str, Any]], names: tuple[str, ...]
) -> LinearRegression:
    """A regression of the same columns with some of the options, not fitted yet."""
    from credo.models.regression.linear import LinearRegression

    found: dict[str, Any] = {}
    for name in names:
        found |= options[name]
    if {SQUARES, PRODUCTS} <= {*names}:
        pairs = pairs_of("all", model.fitted.basis.features.columns)
        found["interactions"] = (*options[SQUARES]["interactions"], *pairs)
    return LinearRegression(kinds=model.kinds, **found)


@dataclass(frozen=True, eq=False)
class NumberRanges:
    """Reads the smallest and the largest number of some columns. (2, names)"""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Array:
        x = np.stack([batch.filled(self.names).numbers(name) for name in self.names])
        return np.stack([np.fmin.reduce(x, axis=1, initial=np.inf), np.fmax.reduce(x, axis=1, initial=-np.inf)])


class Observed(NamedTuple):
    """The rows on which options are chosen; copies count as one."""

    table: Source
    mass: Array  # (rows,) the weight of all copies, for fitting
    weight: Array  # (rows,) copies count as one, for scoring


@dataclass(frozen=True, eq=False)
class WeightsAndNumbers:
    """Reads the weights of a batch's rows, and a number column."""

    weights: RowWeights
    name: str

    def __call__(self, batch: Batch) -> tuple[Array, Array]:
        return self.weights.of_rows(batch), batch.numbers(self.name)


def _observed(table: Source, model: LinearRegression, weights: Weights) -> Observed:
    """The rows that have a target and a weight, or a sample if these are many."""
    target, names = str(model.target), tuple(model.needs(table.without(weights.column)))
    table, weight = sampled_rows(table, target, weights, CHOICE_ROWS) or _known_rows(table, target, weights)
    cells = all_cell_prints(table, names)
    given = Parts.of(np.arange(len(weight)), weight, max(1.0, float(weight.sum()) / CHOICE_ROWS))
    cells = cells[:, given.rows]
    one_class, no_texts = np.zeros(len(given.rows), dtype=np.int32), np.zeros(len(names), dtype=bool)
    prints, expected = fingerprints(cells), _same_by_chance(cells[[name != target for name in names]], cells)
    found = Observations.of(given.weight, given.times, prints, one_class, cells, no_texts, expected=expected)
    times = np.bincount(given.rows[found.chosen], minlength=len(weight))
    if times.sum() < 3:
        raise DataError("learning to predict a number needs at least three different rows that have it")
    return Observed(table.without(weights.column).where(times).to_compare(), found.mass, found.weight)


def _known_rows(table: Source, target: str, weights: Weights) -> tuple[Source, Array]:
    """Those of few that have a target and a weight, and their weights."""
    found = engines.map(WeightsAndNumbers(weights.of_a_row, target), weights.partitions(table, [target]))
    weight, truth = (np.concatenate(each) for each in zip(*found, strict=True))
    known = ~np.isnan(truth) & (weight > 0)
    return table.where(known.astype(np.intp)), weight[known]


def _same_by_chance(features: Fingerprints, cells: Fingerprints) -> Array:
    """The expected number of rows equal to each, if features coincide by chance: n Π P(cell) P(target | features)."""
    found = _count(fingerprints(cells)) / _count(fingerprints(features)) * cells.shape[1]
    for column in features:
        found = found * _count(column) / cells.shape[1]
    return np.asarray(found)


def _count(prints: Fingerprints) -> Array:
    """How often each fingerprint occurs. (rows,)"""
    _, which, count = np.unique(prints, return_inverse=True, return_counts=True)
    return np.asarray(count[which], dtype=np.float64)


def _tried(
    model: LinearRegression, observed: Observed, options: Mapping[str, dict[str, Any]], seed: int, groups: str | None
) -> tuple[tuple[str, ...], dict[tuple[str, ...], NumberScores]]:
    """The options that helped, and the held-out scores of every regression that was tried."""
    target, rows = str(model.target), len(observed.mass)
    folds = min(
        SMALL_SAMPLE_FOLDS if rows <= SMALL_SAMPLE else LARGE_SAMPLE_FOLDS,
        rows if groups is None else group_count(observed.table, groups),
    )
    chosen: tuple[str, ...] = ()

    def scored(names: tuple[str, ...]) -> NumberScores:
        found = _with_options(model, options, names).cross_validate(
            observed.table, folds, target=target, weight=observed.mass, seed=seed, groups=groups
        )
        return replace(found, weights=observed.weight)

    found = {chosen: scored(chosen)}
    if not np.ptp(found[chosen].truth):
        value = found[chosen].truth[0]
        raise DataError(f"column {target!r} holds one number only, {value:g}: there is nothing to predict")
    for name in options:
        if name == STUDENT and not _has_heavy_tails(found[chosen]):  # EM takes long where there are none
            continue
        wider = (*chosen, name)
        try:
            found[wider] = scored(wider)
        except EvidenceError:
            if name != STUDENT:
                raise
            continue  # half of the rows are predicted exactly: there is no scale
        if name == STUDENT and _misses_the_mean(found[wider]):
            del found[wider]
        elif _clearly_better(found[wider], found[chosen]):
            chosen = wider
    return chosen, found


def _has_heavy_tails(scores: NumberScores) -> bool:
    """Whether a Student-t with the same quartiles explains held-out errors clearly better than a Gaussian."""
    from scipy.special import stdtrit

    error, weight = (scores.truth - scores.predicted)[scores.known], scores.weights[scores.known]
    variance, quartile = float(np.average(error**2, weights=weight)), float(np.median(np.abs(error)))
    if not variance > 0 or not quartile > 0:
        return False
    gaussian = -0.5 * (LOG_2PI + np.log(variance) + error**2 / variance)
    each = (StudentT(v, 0.0, quartile / float(stdtrit(v, 0.75))).log_prob(error) for v in DEGREES_OF_FREEDOM)
    return any(_is_clear(np.asarray(found) - gaussian, weight) for found in each)


def _misses_the_mean(scores: NumberScores) -> bool:
    """Whether held-out errors clearly have another mean than 0: with skewed noise, the centre of a symmetric Student-t
    isn't the mean, which a regression predicts."""
    error, weight = (scores.truth - scores.predicted)[scores.known], scores.weights[scores.known]
    return bool(clear_gain(error, weight, CLEAR_ERRORS) or clear_gain(-error, weight, CLEAR_ERRORS))


def _clearly_better(one: NumberScores, other: NumberScores) -> bool:
    """Whether one has clearly higher log-probabilities than the other, in a paired comparison of rows."""
    known = one.known & other.known
    gain = (one.log_probabilities - other.log_probabilities)[known]
    return bool(known.any()) and _is_clear(gain, one.weights[known], one.held_out_ratio)


def _is_clear(gain: Array, weight: Array, held_out_ratio: float = 0.0) -> bool:
    """Whether log-probabilities are clearly higher; outliers, which have very low ones, are left aside if need be."""
    tests = (clear_gain, clear_gain_but_for_tails)
    return any(test(gain, weight, CLEAR_ERRORS, held_out_ratio) for test in tests)


def _cross_fitted(tried: Mapping[tuple[str, ...], NumberScores]) -> NumberScores:
    """Each tenth of the rows predicted by the regression that the others choose: the choice is scored, too."""
    every = list(tried.values())
    tenth = (np.arange(len(every[0].truth)) if every[0].groups is None else every[0].groups) % TENTHS
    predicted, logs = np.empty_like(every[0].predicted), np.empty_like(every[0].predicted)
    for k in range(TENTHS):
        own, others = tenth == k, tenth != k
        best = every[0]
        for each in every[1:]:
            if _clearly_better(_of_rows(each, others), _of_rows(best, others)):
                best = each
        predicted[own], logs[own] = best.predicted[own], best.log_probabilities[own]
    first = every[0]
    return replace(first, predicted=predicted, log_probabilities=logs, how=f"nested {first.how}")


def _of_rows(scores: NumberScores, rows: Any) -> NumberScores:
    return replace(
        scores, truth=scores.truth[rows], predicted=scores.predicted[rows],
        log_probabilities=scores.log_probabilities[rows], weights=scores.weights[rows],
        groups=None if scores.groups is None else scores.groups[rows],
    )  # fmt: skip


def _name(names: tuple[str, ...]) -> str:
    return " + ".join((BASE, *names))


def _lines(tried: Mapping[tuple[str, ...], NumberScores], chosen: tuple[str, ...]) -> tuple[TriedRegression, ...]:
    """The scores of every regression and of the mean alone, the best first."""
    found = [TriedRegression(_name(k), s.log_loss, s.rmse, s.r2, k == chosen) for k, s in tried.items()]
    base = tried[()]
    found.append(TriedRegression(MEAN_ALONE, base.baseline_log_loss, base.baseline_rmse, 0.0))
    return tuple(sorted(found, key=lambda each: each.log_loss))


def _why(chosen: tuple[str, ...], scores: NumberScores) -> str:
    return (
        f"{_name(chosen)}: rmse {scores.rmse:.4g} on held-out rows ({MEAN_ALONE}: {scores.baseline_rmse:.4g}), "
        f"R² {scores.r2:.4f}"
    )


def check_number_target(table: Source, target: str) -> None:
    """Refuse a target without numbers, for model='linear'."""
    first = table.first([target])
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")
    array = first.column(target)
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_null(array.type)):
        value = next((cell.as_py() for cell in array if cell.is_valid), None)
        raise SchemaError(f"model='linear' predicts numbers, but column {target!r} has the value {value!r:.60}")
