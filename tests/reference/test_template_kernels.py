"""The kernels of dynamic networks against sums over all paths, however improbable, compiled and as plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from credo._kernels.jit import forced
from credo._kernels.templates.slice_passes import pass_backward, pass_best, pass_forward
from credo.networks.templates.contraction import contract
from credo.networks.templates.slice_factors import distinct

either = pytest.mark.parametrize("choice", ["plain", "compiled"])


def case(seed: int, rows: int, depth: float, zeros: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    states, keys = 3, 2
    logs = -depth * rng.random((rows, states))
    initial = rng.dirichlet(np.ones(states))
    steps = rng.dirichlet(np.ones(states), (keys, states))
    if zeros:
        steps[:, 0, 2] = steps[0, 1, 0] = 0.0
        logs[rng.random(logs.shape) < 0.1] = -np.inf
    return logs, np.log(initial), rng.integers(0, keys, rows).astype(np.intp), steps


def enumerated(logs: Any, first: Any, keys: Any, steps: Any) -> tuple[float, Any, Any, tuple[int, ...], float]:
    """log p, P(state of each row), expected transitions, the best path and its log p."""
    rows, states = logs.shape
    paths = [*product(range(states), repeat=rows)]
    with np.errstate(divide="ignore"):
        log_steps = np.log(steps)
    weights = np.array(
        [
            first[path[0]]
            + sum(logs[t, s] for t, s in enumerate(path))
            + sum(log_steps[keys[t], path[t - 1], path[t]] for t in range(1, rows))
            for path in paths
        ]
    )
    total = np.logaddexp.reduce(weights)
    shares, pairs = np.zeros((rows, states)), np.zeros(steps.shape)
    for path, weight in zip(paths, np.exp(weights - total), strict=True):
        for t, s in enumerate(path):
            shares[t, s] += weight
            if t:
                pairs[keys[t], path[t - 1], s] += weight
    best = int(weights.argmax())
    return float(total), shares, pairs, paths[best], float(weights[best])


@either
@pytest.mark.parametrize("depth", [2.0, 900.0])  # beyond what floats hold as probabilities
@pytest.mark.parametrize("zeros", [False, True])
def test_passes_are_sums_over_paths(choice: str, depth: float, zeros: bool) -> None:
    rows = 5
    for seed in range(4):
        logs, first, keys, steps = case(seed, rows, depth, zeros)
        total, shares, pairs, path, log_best = enumerated(logs, first, keys, steps)
        starts, totals = np.array([0, rows], dtype=np.intp), np.zeros(1)
        forward, backward = np.zeros((rows + 1, 3)), np.empty((rows, 3))
        with forced(choice), np.errstate(divide="ignore", invalid="ignore"):
            bad = pass_forward(logs, starts, False, first, keys, steps, forward, totals)
            if not np.isfinite(total):
                assert bad >= 0
                continue
            assert bad == -1
            counted = np.zeros(steps.shape)
            pass_backward(logs, starts, False, np.ones(1), keys, steps, forward, np.zeros(3), backward, counted)
            came, ends, best = np.zeros((rows, 3), np.int32), np.zeros(1, np.int32), np.zeros(1)
            pass_best(logs, starts, False, first, keys, np.log(steps), np.zeros(3), came, ends, best)
        assert totals[0] == pytest.approx(total, rel=1e-12)
        found = np.exp(forward[1:] + backward)
        np.testing.assert_allclose(found / found.sum(1, keepdims=True), shares, atol=1e-10)
        np.testing.assert_allclose(counted, pairs, atol=1e-10)
        assert best[0] == pytest.approx(log_best, rel=1e-12)
        assert ends[0] == path[-1]


@either
def test_edges(choice: str) -> None:
    """No rows, one row, and rows that nothing explains."""
    logs, first, keys, steps = case(0, 1, 2.0, False)
    with forced(choice):
        none = np.zeros((1, 3))
        assert pass_forward(logs[:0], np.array([0, 0]), False, first, keys[:0], steps, none, np.zeros(1)) == -1
        forward, totals = np.zeros((2, 3)), np.zeros(1)
        assert pass_forward(logs, np.array([0, 1]), False, first, keys, steps, forward, totals) == -1
        assert totals[0] == pytest.approx(np.logaddexp.reduce(first + logs[0]))
        assert pass_forward(np.full((1, 3), -np.inf), np.array([0, 1]), False, first, keys, steps, forward, totals) == 0


def test_contraction_is_einsum() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.random((1, 2, 3)), rng.random((5, 3, 4)), rng.random((5, 4))
    factors = [(("x", "y"), a), (("y", "z"), b), (("z",), c)]
    np.testing.assert_allclose(contract(factors, ("z", "x")), np.einsum("nxy,myz,mz->mzx", a, b, c))
    whole = np.einsum("nxy,myz,mz->mxyz", a, b, c)
    np.testing.assert_allclose(contract(factors, ("x",), best=True), whole.max((2, 3)))
    np.testing.assert_allclose(contract(factors[:1], ("x", "w")), a.sum(2)[:, :, None])


def test_distinct_columns() -> None:
    rng = np.random.default_rng(1)
    for sizes in ([2, 3], [50, 2000], [10**6] * 4):
        codes = [rng.integers(-1, min(size, 4), 200).astype(np.int32) for size in sizes]
        first, which = distinct(codes, sizes)
        table = np.stack(codes)
        np.testing.assert_array_equal(table[:, first][:, which], table)
        assert len(first) == len({*map(tuple, table.T.tolist())})
