"""credo.learn of a number: linear regressions, tried on held-out rows; the simpler one stands unless another is clearly
better.

Whole numbers are classes where there are few of them, else quantities: a notice says how to get the other reading.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo import engines
from credo.core.learning import Weight, Weights
from credo.core.records import with_fields
from credo.data import Batch, Source, cells
from credo.data.profile import profile
from credo.errors import DataError, SchemaError
from credo.models.regression.scores import NumberScores
from credo.models.targets import FEW_NUMBERS
from credo.notices import quietly, tell
from credo.numerics.distributions import LOG_2PI, StudentT
from credo.numerics.exact import Array
from credo.selection.report import RegressionReport, TriedRegression
from credo.selection.texts import gains

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

FOLDS, FEW_FOLDS, FEW = 10, 5, 2000  # and the rows up to which there are more folds
MOST_ROWS = 20_000  # on which options are chosen: of more rows, a sample
MOST_PRODUCTS = 150  # features up to which products of all pairs of columns are tried, if there are ten rows for each
CLEARLY = 2.0  # standard errors by which a less plain regression must be better
BASE = "linear regression"
PRODUCTS, STUDENT = "products of pairs of columns", "Student-t noise"
DEGREES = (2.0, 4.0, 8.0)  # of freedom, of tails that are looked for
STEPS: dict[str, dict[str, Any]] = {  # tried one after another, each beside those that helped
    "columns selected by evidence": {"select": True},
    PRODUCTS: {"interactions": "all"},
    STUDENT: {"noise": "student"},
}
MEAN = "the mean alone"


def holds_numbers(table: Source, target: str, kinds: Mapping[str, Any] | None) -> bool:
    """Whether the target is a quantity: kinds says so, its numbers have fractions, or more than 20 of them differ."""
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
    if int(pc.count_distinct(array).as_py()) <= FEW_NUMBERS:
        return False
    found = profile(table, [target], every=[target])[target]
    tell(
        f"column {target!r} has {found.known - found.repeated:,} different whole numbers: it is predicted as a "
        f"quantity, by regression; kinds={{{target!r}: 'category'}} makes each of them a class"
    )
    return True


def learned_regression(
    table: Source, target: str, kinds: Mapping[str, Any] | None, weight: Weight, seed: int
) -> LinearRegression:
    """The regression that predicts held-out rows best, with a report."""
    from credo.models.regression.linear import LinearRegression

    start = time.perf_counter()
    others = {name: how for name, how in (kinds or {}).items() if name != target}
    model = LinearRegression(kinds=others or None).fit(table, target, weight=weight)
    if model.n < 2:
        raise DataError("learning to predict a number needs at least two rows that have it")
    with quietly():
        chosen, tried = _tried(model, *_sampled(table, model, weight), seed)
    options = _options(chosen)
    if options:
        model = LinearRegression(kinds=others or None, **options).fit(table, target, weight=weight)
    scores = _cross_fitted(tried)
    report = RegressionReport(
        target, model.n, model.unlabelled, _lines(tried, chosen), _why(chosen, scores), scores,
        time.perf_counter() - start,
    )  # fmt: skip
    return with_fields(model, report=report)


def _options(names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        found |= STEPS[name]
    return found


@dataclass(frozen=True)
class HasNumber:
    """Which rows of a batch have a number in a column."""

    name: str

    def __call__(self, batch: Batch) -> NDArray[np.bool_]:
        return ~np.isnan(batch.numbers(self.name))


def _sampled(table: Source, model: LinearRegression, weight: Weight) -> tuple[Source, Weight]:
    """The rows that have a target, or of many a sample of them."""
    target = str(model.target)
    known = np.concatenate([*engines.map(HasNumber(target), table.partitions([target]))])
    if known.all() and len(known) <= MOST_ROWS:
        return table, weight
    chosen, places = np.zeros(len(known), dtype=bool), np.flatnonzero(known)
    chosen[np.random.default_rng(0).permutation(places)[:MOST_ROWS]] = True
    given = Weights.of(weight)
    return table.where(chosen), weight if given.values is None else given.values[chosen]


def _tried(
    model: LinearRegression, table: Source, weight: Weight, seed: int
) -> tuple[tuple[str, ...], dict[tuple[str, ...], NumberScores]]:
    """The steps that helped, and the held-out scores of every regression that was tried."""
    from credo.models.regression.linear import LinearRegression

    target, kinds = str(model.target), model.kinds
    folds = FOLDS if model.n <= FEW else FEW_FOLDS
    folds = int(max(2, min(folds, model.n)))
    chosen: tuple[str, ...] = ()

    def scored(names: tuple[str, ...]) -> NumberScores:
        asked = LinearRegression(kinds=kinds, **_options(names))
        return asked.cross_validate(table, folds, target=target, weight=weight, seed=seed)

    found = {chosen: scored(chosen)}
    if not np.ptp(found[chosen].truth):
        value = found[chosen].truth[0]
        raise DataError(f"column {target!r} holds one number only, {value:g}: there is nothing to predict")
    for name in STEPS:
        if name == PRODUCTS and not _has_room(model):
            continue
        if name == STUDENT and not _has_heavy_tails(found[chosen]):  # EM takes long where there are none
            continue
        wider = (*chosen, name)
        scores = scored(wider)
        if not np.array_equal(scores.truth, found[chosen].truth):  # rows without a weight were left out of one alone
            continue
        found[wider] = scores
        if _clearly_better(found[wider], found[chosen]):
            chosen = wider
    return chosen, found


def _has_room(model: LinearRegression) -> bool:
    """Whether products of columns are few beside the rows."""
    width = len(model.fitted.basis.scales)
    products = width * (width - 1) // 2
    return len(model.readings.names if model.readings else ()) > 1 and products <= min(MOST_PRODUCTS, model.n / 10)


def _has_heavy_tails(scores: NumberScores) -> bool:
    """Whether a Student-t of the same quartiles explains held-out errors clearly better than one Gaussian."""
    from scipy.special import stdtrit

    error, weight = (scores.truth - scores.predicted)[scores.known], scores.weights[scores.known]
    variance, quartile = float(np.average(error**2, weights=weight)), float(np.median(np.abs(error)))
    if not variance > 0 or not quartile > 0:
        return False
    gaussian = -0.5 * (LOG_2PI + np.log(variance) + error**2 / variance)
    each = (StudentT(v, 0.0, quartile / float(stdtrit(v, 0.75))).log_prob(error) for v in DEGREES)
    return any(bool(gains(np.asarray(found) - gaussian, weight, CLEARLY)) for found in each)


def _clearly_better(one: NumberScores, other: NumberScores) -> bool:
    """Row by row."""
    known = one.known & other.known
    gain = (one.log_probabilities - other.log_probabilities)[known]
    return bool(known.any() and gains(gain, one.weights[known], CLEARLY))


def _cross_fitted(tried: Mapping[tuple[str, ...], NumberScores]) -> NumberScores:
    """Rows of each tenth predicted by the regression that the other rows choose: the choice is judged, too."""
    every = list(tried.values())
    tenth = np.arange(len(every[0].truth)) % FOLDS
    predicted, logs = np.empty_like(every[0].predicted), np.empty_like(every[0].predicted)
    for k in range(FOLDS):
        own, others = tenth == k, tenth != k
        best = every[0]
        for each in every[1:]:
            if _clearly_better(_some(each, others), _some(best, others)):
                best = each
        predicted[own], logs[own] = best.predicted[own], best.log_probabilities[own]
    first = every[0]
    return NumberScores(first.truth, predicted, logs, first.weights, f"nested {first.how}", first.reuse)


def _some(scores: NumberScores, rows: Any) -> NumberScores:
    parts: list[Array] = [scores.truth, scores.predicted, scores.log_probabilities, scores.weights]
    return NumberScores(*(part[rows] for part in parts))


def _name(names: tuple[str, ...]) -> str:
    return " + ".join((BASE, *names))


def _lines(tried: Mapping[tuple[str, ...], NumberScores], chosen: tuple[str, ...]) -> tuple[TriedRegression, ...]:
    """The best first, the mean alone among them."""
    found = [TriedRegression(_name(k), s.log_loss, s.rmse, s.r2, k == chosen) for k, s in tried.items()]
    base = tried[()]
    found.append(TriedRegression(MEAN, base.baseline_log_loss, base.baseline_rmse, 0.0))
    return tuple(sorted(found, key=lambda each: each.log_loss))


def _why(chosen: tuple[str, ...], scores: NumberScores) -> str:
    return (
        f"{_name(chosen)}: an rmse of {scores.rmse:.4g} for held-out rows ({MEAN}: {scores.baseline_rmse:.4g}), "
        f"R² {scores.r2:.4f}"
    )


def check_number_target(table: Source, target: str) -> None:
    """For model='linear': the target must hold numbers."""
    first = table.first([target])
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")
    array = first.column(target)
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_null(array.type)):
        value = next((cell.as_py() for cell in array if cell.is_valid), None)
        raise SchemaError(f"model='linear' predicts numbers, but column {target!r} has the value {value!r:.60}")
