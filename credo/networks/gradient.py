"""Gradient ascent on a network's tables: the lectures' rule, and L-BFGS on softmax parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.core.em import Batches, Expected, Fitted, expected
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.errors import EvidenceError
from credo.networks.learning import TableEM
from credo.networks.table_priors import dirichlet_of
from credo.numerics.exact import Array

FIRST_RATE = 0.05  # how far the first step moves the entries of a row that are optimal except for Σ = 1
RATE_GROWTH, RATE_CUT = 1.5, 0.5  # factors of the rate after an accepted step, and after a rejected one
SMALLEST_RATE = 1e-12  # gradient ascent ends below this rate
CONVERGED_SLOPE = 1e-9  # per row: L-BFGS ends at this slope
ABORTED_SLOPE = 1e-5  # per row: with a larger slope, a failed line search isn't at the optimum up to rounding


def gradient_ascent(
    model: TableEM, batches: Batches, *, steps: int = 1000, tolerance: float = 1e-10
) -> Fitted[TableEM]:
    """w ← w + η ∂/∂w log P, then each row becomes the nearest distribution; ∂/∂wᵢⱼₖ log P(rows) = Σ P(yᵢⱼ, uᵢₖ | row) /
    wᵢⱼₖ (Russell et al. 1995).

    The prior adds to the slope. η is per case of a row. It is halved if a step would make the objective fall, and grows
    by half otherwise.
    """
    evidence, objective = expected(model, batches)
    history, rate = [objective], FIRST_RATE
    for _ in range(steps):
        before = objective
        while rate > SMALLEST_RATE:
            moved = _stepped(model, evidence, rate)
            found, value = _expected_if_possible(moved, batches, evidence)
            if value >= objective:
                model, evidence, objective, rate = moved, found, value, rate * RATE_GROWTH
                break
            rate *= RATE_CUT
        history.append(objective)
        if objective - before <= tolerance * abs(objective):
            return Fitted(model, evidence, tuple(history), True)
    return Fitted(model, evidence, tuple(history), False)


def _expected_if_possible(model: TableEM, batches: Batches, otherwise: Evidence) -> Expected:
    """As `expected`; -∞ where a step led to entries of 0 that make rows impossible."""
    try:
        return expected(model, batches)
    except EvidenceError:
        return otherwise, -np.inf


def _stepped(model: TableEM, evidence: Evidence, rate: float) -> TableEM:
    tables: dict[Label, Array] = {}
    for label, (table, counts) in _counts(model, evidence).items():
        slope = np.divide(counts, table, out=np.zeros_like(table), where=table > 0)
        cases = counts.sum(-1, keepdims=True)
        tables[label] = nearest_distributions(table + rate * slope / np.where(cases > 0, cases, 1.0))
    return model.with_parameters(tables)


def nearest_distributions(x: Array) -> Array:
    """The distribution at the least Euclidean distance from each row: max(x - t, 0), t such that it sums to 1.

    Dividing by the sum would have the fixed points w ∝ √n instead of w ∝ n.

    >>> nearest_distributions(np.array([[0.9, 0.3], [1.5, 0.2]]))
    array([[0.8, 0.2],
           [1. , 0. ]])
    """
    falling = -np.sort(-x, axis=-1)
    excess = (np.cumsum(falling, axis=-1) - 1.0) / np.arange(1, x.shape[-1] + 1)
    last = (falling > excess).sum(-1, keepdims=True) - 1
    found = np.maximum(x - np.take_along_axis(excess, last, -1), 0.0)
    return np.asarray(found / found.sum(-1, keepdims=True))


def lbfgs(model: TableEM, batches: Batches, *, steps: int = 1000, tolerance: float = 1e-10) -> Fitted[TableEM]:
    """θ = softmax(x), with x found by L-BFGS. The gradient is n - N θ, for counts n with the prior's and row sums N."""
    from scipy.optimize import minimize

    start = model.log_odds()
    free = np.isfinite(start)  # an entry of 0 stays 0
    history: list[float] = []

    def at(x: Array) -> TableEM:
        moved = start.copy()
        moved[free] = x
        return model.at_log_odds(moved)

    def cost(x: Array) -> tuple[float, Array]:
        now = at(x)
        evidence, objective = expected(now, batches)
        pairs = _counts(now, evidence).values()
        slopes = [(counts - counts.sum(-1, keepdims=True) * table).reshape(-1) for table, counts in pairs]
        if not history:
            history.append(objective)
        return -objective, -np.concatenate(slopes)[free]

    def keep(intermediate_result: Any) -> None:
        history.append(-float(intermediate_result.fun))

    weight = _weight(model, expected(model, batches)[0])
    slope = CONVERGED_SLOPE * max(1.0, weight)
    found = minimize(
        cost, start[free], jac=True, method="L-BFGS-B", callback=keep,
        options={"maxiter": steps, "maxfun": 2 * steps + 20, "ftol": tolerance, "gtol": slope},
    )  # fmt: skip
    model = at(np.asarray(found.x))
    evidence, _ = expected(model, batches)
    aborted = found.status == 2 and float(np.abs(found.jac).max(initial=0.0)) > ABORTED_SLOPE * max(1.0, weight)
    return Fitted(model, evidence, tuple(history), found.status != 1 and not aborted)


def _counts(model: TableEM, evidence: Evidence) -> dict[Label, tuple[Array, Array]]:
    """Each table, with its expected, known and prior counts: θ times the objective's gradient."""
    found: dict[Label, tuple[Array, Array]] = {}
    for label, (node, table) in model.by_label().items():
        prior = model.prior[label.name]
        more = 0.0 if prior is None else dirichlet_of(prior, table.shape, node.name).concentration - 1.0
        found[label] = table, model.counts(evidence, node, table) + more
    return found


def _weight(model: TableEM, evidence: Evidence) -> float:
    """The total weight of the rows."""
    return max(float(counts.sum()) for _, counts in _counts(model, evidence).values())
