"""The kernels of documents beside plain NumPy and SciPy, compiled and as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from credo._kernels import documents as d
from credo._kernels import odds as o
from credo._kernels.jit import kernel
from credo.blocks.words import log_rising


@pytest.fixture(params=["compiled", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """A kernel as Numba compiles it, or the same code as it stands."""
    with np.errstate(all="ignore"):  # as a late kernel runs it
        yield (lambda late: kernel(unwrap(late))) if request.param == "compiled" else unwrap


def lists(matrix: Any) -> tuple[Any, Any, Any]:
    """Words, counts and starts of a matrix (documents, words)."""
    words = [np.flatnonzero(row) for row in matrix]
    counts = [row[at] for row, at in zip(matrix, words, strict=True)]
    starts = np.append(0, np.cumsum([len(at) for at in words])).astype(np.int64)
    joined = (np.concatenate([np.empty(0), *each]).astype(np.int32) for each in (words, counts))
    return *joined, starts  # type: ignore[return-value]


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_counts(run: Callable[[Any], Any], rows: int, once: bool) -> None:
    rng = np.random.default_rng(rows)
    matrix, groups = rng.poisson(0.4, (rows, 30)), rng.integers(0, 3, rows).astype(np.int32)
    words, counts, starts = lists(matrix)
    seen = (matrix > 0) * 1 if once else matrix
    out = np.zeros((30, 3), dtype=np.int64)
    run(d.count_words)(words, counts, starts, groups, once, out)
    np.testing.assert_array_equal(out, seen.T @ np.eye(3, dtype=int)[groups])
    weight, (high, low) = rng.uniform(0.1, 9.0, rows), np.zeros((2, 30, 3))
    run(d.weigh_words)(words, counts, starts, groups, weight, once, high, low)
    np.testing.assert_allclose(high + low, seen.T @ (np.eye(3)[groups] * weight[:, None]), rtol=1e-14)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_masses(run: Callable[[Any], Any], a: float, drawn: bool) -> None:
    """Of documents that weren't learned; words that are cut out don't count; one word comes 1000 times."""
    rng = np.random.default_rng(7)
    matrix = rng.poisson(0.3, (20, 40)) * rng.choice([1, 1, 5, 30, 1000], (20, 40))
    n = rng.integers(1, 50, (40, 4)) * rng.choice([1.0, 100.0, 1e6], (40, 1))
    weights = np.where(np.arange(40) % 7 == 0, 0.0, n.sum(1))
    out, lost = np.zeros((2, 20, 4))
    tokens, gone = np.zeros((2, 20), dtype=np.int64)
    words, counts, starts = lists(matrix)
    nobody, ones = np.full(20, -1, dtype=np.int32), np.ones(20)
    run(d.add_words)(
        words, counts, n, np.log(n + a), weights, 1e-12, a, drawn, starts, nobody, ones, out, lost, tokens, gone
    )
    kept = matrix * (weights > 0)
    z = n + a
    each = gammaln(z[None] + kept[:, :, None]) - gammaln(z)[None] if drawn else kept[:, :, None] * np.log(z)
    np.testing.assert_allclose(out, each.sum(1), rtol=1e-9)
    np.testing.assert_array_equal(tokens, kept.sum(1))
    assert not lost.any()
    assert not gone.any()


def test_rising_factors() -> None:
    """log z(z + 1)...(z + x - 1), also where a difference of two log Γ has lost its digits."""
    z = np.array([1e-3, 0.5, 7.0, 99.9, 100.0, 1e4, 1e7])[:, None]
    x = np.array([0, 1, 2, 17, 300])
    exact = [[sum(np.log(np.longdouble(value) + t) for t in range(k)) for k in x] for value in z[:, 0]]
    np.testing.assert_allclose(log_rising(z, x), np.array(exact, dtype=float), rtol=1e-13, atol=1e-13)


def odds_by_hand(matrix: Any, groups: Any, weight: Any, new: Any, c: float, p: float) -> Any:
    """Scores of new documents by all that is learned, as the formulas say it."""
    logs = np.log1p(matrix)
    x = weight[:, None] * logs / np.maximum(np.sqrt((logs**2).sum(1, keepdims=True)), 1e-300)
    member = np.eye(3)[groups]
    n, d = x.T @ member, (matrix > 0).T @ weight
    unit = x.sum() / d.sum()
    a, size = 0.1 * unit, np.count_nonzero(d)
    t, total = n.sum(1, keepdims=True), n.sum(0)
    odds = np.log((n + a) / (t - n + a)) - np.log((total + a * size) / (total.sum() - total + a * size))
    sure = odds**2 * (n + a) * (t - n + a) / (t + 2 * a) / unit
    q = np.log1p(new) * (np.log((weight.sum() + 1) / (d + 1)) + 1) ** p * (d > 0)
    return (q @ (odds * sure / (sure + c))) / np.maximum(np.sqrt((q**2).sum(1, keepdims=True)), 1e-300)


@pytest.mark.parametrize(("c", "p"), [(2.0, 0.5), (16.0, 1.5)])
def test_odds(run: Callable[[Any], Any], c: float, p: float) -> None:
    """Beside the formulas; and of documents that are left out, beside the formulas without each."""
    rng = np.random.default_rng(11)
    matrix, groups = rng.poisson(0.3, (25, 30)), rng.integers(0, 3, 25).astype(np.int32)
    matrix[0] = 0
    weight = rng.choice([1.0, 2.0, 0.5], 25)
    words, counts, starts = lists(matrix)
    table, holding = np.zeros((2, 30, 3))
    run(o.add_contributions)(words, counts, starts, groups, weight, table, holding)
    d = holding.sum(1)
    sums = (table, d, 1e-12, table.sum(0), np.array([np.count_nonzero(d), d.sum(), weight.sum()]))
    new = rng.poisson(0.5, (9, 30))
    choice = (np.array([c]), np.array([p]))
    out = np.zeros((9, 3, 1))
    new_words, new_counts, new_starts = lists(new)
    run(o.add_odds)(new_words, new_counts, *sums, *choice, new_starts, np.full(9, -1, dtype=np.int32), np.ones(9), out)
    np.testing.assert_allclose(out[:, :, 0], odds_by_hand(matrix, groups, weight, new, c, p), atol=1e-7)
    left = np.zeros((25, 3, 1))
    run(o.add_odds)(words, counts, *sums, *choice, starts, groups, weight, left)
    for i in range(25):
        others = np.arange(25) != i
        expected = odds_by_hand(matrix[others], groups[others], weight[others], matrix[i : i + 1], c, p)
        np.testing.assert_allclose(left[i : i + 1, :, 0], expected, atol=1e-7)
