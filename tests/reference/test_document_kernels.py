"""The kernels of documents beside plain NumPy and SciPy, compiled and as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from credo._kernels.core import sparse as s
from credo._kernels.jit import forced
from credo._kernels.text import documents as d
from credo._kernels.text import log_odds as o
from credo.core.sparse import Sparse
from credo.numerics.special import log_rising


@pytest.fixture(params=["compiled", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """A kernel as Numba compiles it, or the same code as plain Python."""
    with forced(request.param):
        yield lambda late: late


def lists(matrix: Any) -> tuple[Any, Any, Any]:
    """Words, counts and starts of a matrix (documents, words)."""
    words = [np.flatnonzero(row) for row in matrix]
    counts = [row[at] for row, at in zip(matrix, words, strict=True)]
    starts = np.append(0, np.cumsum([len(at) for at in words])).astype(np.int64)
    joined = (np.concatenate([np.empty(0), *each]).astype(np.int32) for each in (words, counts))
    return *joined, starts  # type: ignore[return-value]


@pytest.mark.parametrize("entries", [0, 1, 200])
def test_sparse_sums(run: Callable[[Any], Any], entries: int) -> None:
    """Entries in any order, some of the same cell, some of numbers that drown in each other; no row has the last."""
    rng = np.random.default_rng(entries)
    rows, columns = rng.integers(0, 9, entries).astype(np.int32), rng.integers(0, 5, entries).astype(np.int32)
    high, low = rng.choice([1e16, 1.0, 1e-3, -1e16], entries), rng.choice([0.0, 1e-9], entries)
    order, after = np.arange(entries), np.empty(entries, dtype=np.int64)
    run(s.order_by)(columns, order, np.zeros(6, dtype=np.int64), after)
    run(s.order_by)(rows, after, np.zeros(11, dtype=np.int64), order)
    np.testing.assert_array_equal(order, np.lexsort((columns, rows)))
    starts, own, (sums, rest) = np.zeros(11, dtype=np.int64), np.empty(entries, dtype=np.int32), np.empty((2, entries))
    size = run(s.add_entries)(rows, columns, high, low, order, starts, own, sums, rest)
    cells = {(r, c): Fraction(0) for r, c in sorted(set(zip(rows.tolist(), columns.tolist(), strict=True)))}
    for r, c, u, v in zip(rows.tolist(), columns.tolist(), high.tolist(), low.tolist(), strict=True):
        cells[r, c] += Fraction(u) + Fraction(v)
    assert size == starts[-1] == len(cells)
    assert own[:size].tolist() == [c for _, c in cells]
    assert np.diff(starts).tolist() == [sum(r == row for r, _ in cells) for row in range(10)]
    for found, more, exact in zip(sums[:size].tolist(), rest[:size].tolist(), cells.values(), strict=True):
        assert abs(Fraction(found) + Fraction(more) - exact) <= 1e16 * 2.0**-95


@pytest.mark.parametrize("fine", [False, True])
def test_lists_of_entries(fine: bool) -> None:
    """In a table with all its zeros or in order, with sums that fit into floats or don't: the same."""
    rng = np.random.default_rng(fine)
    lists = [rng.permutation(20)[: rng.integers(0, 20)] for _ in range(30)]
    rows, columns = np.concatenate(lists).astype(np.int32), rng.integers(0, 3, 30).astype(np.int32)
    starts = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    values: Any = rng.uniform(0.1, 1.0, len(rows)) if fine else rng.integers(0, 5, len(rows)) * 1.0
    found = Sparse.of_lists(rows, starts, columns, values, (20, 3))
    ordered = Sparse.of(rows, np.repeat(columns, np.diff(starts)), values, (20, 3)).without_zeros()
    for field in ("starts", "columns", "high"):
        np.testing.assert_array_equal(getattr(found, field), getattr(ordered, field))
    np.testing.assert_allclose(found.cells.low, ordered.cells.low, atol=1e-30)
    assert found.low.any() == fine


@pytest.mark.parametrize("seed", range(5))
def test_sparse_tables(seed: int) -> None:
    """Beside dense ones: +, -, times, taken rows and columns, sums, parts put where they belong."""
    rng = np.random.default_rng(seed)

    def drawn(rows: int, columns: int) -> Any:
        return rng.integers(0, 9, (rows, columns)) * (rng.random((rows, columns)) < 0.3) * 1.0

    a, b = drawn(7, 4), drawn(7, 4)
    one, two = (Sparse.dense(each, 0 * each) for each in (a, b))
    np.testing.assert_array_equal((one + two).value, a + b)
    np.testing.assert_array_equal((one - two).value, a - b)
    np.testing.assert_array_equal((one * 0.5).value, a / 2)
    assert len((one - one).without_zeros().high) == 0
    for axis in (0, 1):
        kept = rng.permutation(a.shape[axis])[:3]
        np.testing.assert_array_equal(one.take(axis, kept).value, np.take(a, kept, axis))
        np.testing.assert_array_equal(one.along(axis), a.sum(1 - axis))
    places = [(rng.permutation(9)[:7], rng.permutation(5)[:4]) for _ in range(2)]
    wide = np.zeros((9, 5))
    for each, (rows, columns) in zip((a, b), places, strict=True):
        wide[np.ix_(rows, columns)] += each
    np.testing.assert_array_equal(Sparse.gather([one, two], places, (9, 5)).value, wide)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_masses(run: Callable[[Any], Any], a: float, drawn: bool) -> None:
    """Of documents that weren't learned; words that are cut out don't count; one word comes 1000 times."""
    rng = np.random.default_rng(7)
    matrix = rng.poisson(0.3, (20, 40)) * rng.choice([1, 1, 5, 30, 1000], (20, 40))
    n = rng.integers(1, 50, (40, 4)) * rng.choice([1.0, 100.0, 1e6], (40, 1))
    weights = np.where(np.arange(40) % 7 == 0, 0.0, n.sum(1))
    out, lost = np.zeros((2, 20, 4))
    tokens, gone = np.zeros(20), np.zeros(20, dtype=np.int64)
    words, counts, starts = lists(matrix)
    nobody, ones = np.full(20, -1, dtype=np.int32), np.ones(20)
    run(d.add_words)(
        words, counts * 1.0, n, np.log(n + a), weights, 1e-12, a, drawn, starts, nobody, ones, out, lost, tokens, gone
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
    given = np.empty(len(words))
    run(o.contribute)(counts, starts, weight, given)
    table = Sparse.of(words, np.repeat(groups, np.diff(starts)), given, (30, 3))
    d = (matrix > 0).T @ weight
    everything = np.array([np.count_nonzero(d), d.sum(), weight.sum()])
    sums = (table.starts, table.columns, table.high, d, 1e-12, table.along(1), everything)
    new = rng.poisson(0.5, (9, 30))
    choice = (np.array([99.0, c]), np.array([p, 99.0]))  # of which this pair is looked at
    out = np.zeros((9, 3, 2, 2))
    new_words, new_counts, new_starts = lists(new)
    run(o.add_odds)(new_words, new_counts, *sums, *choice, new_starts, np.full(9, -1, dtype=np.int32), np.ones(9), out)
    np.testing.assert_allclose(out[:, :, 1, 0], odds_by_hand(matrix, groups, weight, new, c, p), atol=1e-7)
    left = np.zeros((25, 3, 2, 2))
    run(o.add_odds)(words, counts, *sums, *choice, starts, groups, weight, left)
    for i in range(25):
        others = np.arange(25) != i
        expected = odds_by_hand(matrix[others], groups[others], weight[others], matrix[i : i + 1], c, p)
        np.testing.assert_allclose(left[i : i + 1, :, 1, 0], expected, atol=1e-7)


def test_many_entries_are_added_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    tables: list[Any] = [rng.integers(0, 3, (50, 4)) * 1.0 for _ in range(3)]
    places = [(rng.permutation(70)[:50], rng.permutation(4)) for _ in range(3)]
    sums = [Sparse.gather([Sparse.dense(t, 0 * t) for t in tables], places, (70, 4))]
    monkeypatch.setattr("credo.core.sparse.SLICED_ENTRIES", 20)
    sums.append(Sparse.gather([Sparse.dense(t, 0 * t) for t in tables], places, (70, 4)))
    for field in ("starts", "columns", "high", "low"):
        np.testing.assert_array_equal(*(getattr(each, field) for each in sums))
