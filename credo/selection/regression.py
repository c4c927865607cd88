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
from credo.data.fingerprints import Fingerprints, cell_prints, fingerprints
from credo.data.profile import profile
from credo.errors import DataError, SchemaError
from credo.models.regression.scores import NumberScores
from credo.models.targets import NUMBERS_AS_CLASSES
from credo.notices import quietly, tell
from credo.numerics.distributions import LOG_2PI, StudentT
from credo.numerics.exact import Array
from credo.selection.nested_validation import LARGE_SAMPLE_FOLDS, SMALL_SAMPLE, SMALL_SAMPLE_FOLDS
from credo.selection.observations import Observations, Parts
from credo.selection.report import RegressionReport, TriedRegression
from credo.selection.row_sample import sampled_rows
from credo.selection.significance import CLEAR_ERRORS, clear_gain

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

CHOICE_ROWS = 20_000  # rows on which options are chosen, at most: of more rows, a sample
PRODUCT_FEATURES = 150  # products of pairs of columns, at most; and one for ten rows
TENTHS = 10  # parts of the rows, each predicted by the regression that the other parts choose
BASE = "linear regression"
PRODUCTS, STUDENT = "products of pairs of columns", "Student-t noise"
DEGREES_OF_FREEDOM = (2.0, 4.0, 8.0)  # of the Student-t tails that errors are compared with
OPTIONS: dict[str, dict[str, Any]] = {  # tried in turn, each added to those that helped
    "columns selected by evidence": {"select": True},
    PRODUCTS: {"interactions": "all"},
    STUDENT: {"noise": "student"},
}
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
        chosen, tried = _tried(model, _observed(table, model, Weights.of(weight)), seed, groups)
    options = _options(chosen)
    if options:
        model = LinearRegression(kinds=others or None, **options).fit(features, target, weight=weight)
    scores = _cross_fitted(tried)
    report = RegressionReport(
        target, model.n, model.unlabelled, _lines(tried, chosen), _why(chosen, scores), scores,
        time.perf_counter() - start,
    )  # fmt: skip
    return with_fields(model, report=report)


def _options(names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        found |= OPTIONS[name]
    return found


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


@dataclass(frozen=True, eq=False)
class CellPrints:
    """Reads the fingerprints of a batch's cells."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Fingerprints:
        return cell_prints(batch, self.names)


def _observed(table: Source, model: LinearRegression, weights: Weights) -> Observed:
    """The rows that have a target and a weight, or a sample if these are many."""
    target, names = str(model.target), tuple(model.needs(table.without(weights.column)))
    table, weight = sampled_rows(table, target, weights, CHOICE_ROWS) or _known_rows(table, target, weights)
    cells = np.concatenate([*engines.map(CellPrints(names), table.partitions(names))], axis=1)
    given = Parts.of(np.arange(len(weight)), weight, max(1.0, float(weight.sum()) / CHOICE_ROWS))
    cells, one_class, no_texts = (
        cells[:, given.rows],
        np.zeros(len(given.rows), dtype=np.int32),
        np.zeros(len(names), dtype=bool),
    )
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
    model: LinearRegression, observed: Observed, seed: int, groups: str | None
) -> tuple[tuple[str, ...], dict[tuple[str, ...], NumberScores]]:
    """The options that helped, and the held-out scores of every regression that was tried."""
    from credo.models.regression.linear import LinearRegression

    target, kinds, rows = str(model.target), model.kinds, len(observed.mass)
    folds = min(
        SMALL_SAMPLE_FOLDS if rows <= SMALL_SAMPLE else LARGE_SAMPLE_FOLDS,
        rows if groups is None else group_count(observed.table, groups),
    )
    chosen: tuple[str, ...] = ()

    def scored(names: tuple[str, ...]) -> NumberScores:
        asked = LinearRegression(kinds=kinds, **_options(names))
        found = asked.cross_validate(
            observed.table, folds, target=target, weight=observed.mass, seed=seed, groups=groups
        )
        return replace(found, weights=observed.weight)

    found = {chosen: scored(chosen)}
    if not np.ptp(found[chosen].truth):
        value = found[chosen].truth[0]
        raise DataError(f"column {target!r} holds one number only, {value:g}: there is nothing to predict")
    for name in OPTIONS:
        if name == PRODUCTS and not _has_room(model):
            continue
        if name == STUDENT and not _has_heavy_tails(found[chosen]):  # EM takes long where there are none
            continue
        wider = (*chosen, name)
        found[wider] = scored(wider)
        if _clearly_better(found[wider], found[chosen]):
            chosen = wider
    return chosen, found


def _has_room(model: LinearRegression) -> bool:
    """Whether products of columns are few compared with the rows."""
    width = len(model.fitted.basis.scales)
    products = width * (width - 1) // 2
    return len(model.readings.names if model.readings else ()) > 1 and products <= min(PRODUCT_FEATURES, model.n / 10)


def _has_heavy_tails(scores: NumberScores) -> bool:
    """Whether a Student-t with the same quartiles explains held-out errors clearly better than a Gaussian."""
    from scipy.special import stdtrit

    error, weight = (scores.truth - scores.predicted)[scores.known], scores.weights[scores.known]
    variance, quartile = float(np.average(error**2, weights=weight)), float(np.median(np.abs(error)))
    if not variance > 0 or not quartile > 0:
        return False
    gaussian = -0.5 * (LOG_2PI + np.log(variance) + error**2 / variance)
    each = (StudentT(v, 0.0, quartile / float(stdtrit(v, 0.75))).log_prob(error) for v in DEGREES_OF_FREEDOM)
    return any(bool(clear_gain(np.asarray(found) - gaussian, weight, CLEAR_ERRORS)) for found in each)


def _clearly_better(one: NumberScores, other: NumberScores) -> bool:
    """Whether one has clearly higher log-probabilities than the other, in a paired comparison of rows."""
    known = one.known & other.known
    gain = (one.log_probabilities - other.log_probabilities)[known]
    return bool(known.any() and clear_gain(gain, one.weights[known], CLEAR_ERRORS, one.held_out_ratio))


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
