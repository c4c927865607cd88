"""The kernels of classifiers beside plain NumPy and SciPy, compiled and as plain Python, and at the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from credo._kernels.blocks import gaussians as g
from credo._kernels.data import codes as c
from credo._kernels.jit import forced
from credo._kernels.models import shares as s

ROWS = (0, 1, 63, 64, 65, 300)


@pytest.fixture(params=["compiled", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """A kernel as Numba compiles it, or the same code as plain Python."""
    with forced(request.param):
        yield lambda late: late


@pytest.mark.parametrize("rows", ROWS)
def test_whole_numbers(run: Callable[[Any], Any], rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.integers(-3, 4, (rows, 3))
    groups = rng.integers(-1, 2, rows).astype(np.int32)
    low, starts = np.full(3, -3), np.array([0, 7, 14, 21])
    counts, expected = np.zeros((21, 2), dtype=np.int64), np.zeros((21, 2), dtype=np.int64)
    assert run(c.count_block)(x, low, starts, groups, counts)
    for i, j in np.ndindex(rows, 3):
        if groups[i] >= 0:
            expected[7 * j + x[i, j] + 3, groups[i]] += 1
    np.testing.assert_array_equal(counts, expected)
    for j in range(3):
        own = np.zeros((7, 2), dtype=np.int64)
        run(c.count_values)(np.ascontiguousarray(x[:, j]), -3, groups, own)
        np.testing.assert_array_equal(own, expected[7 * j : 7 * j + 7])
        pairs = np.zeros((2, 7), dtype=np.int64)
        run(c.count_pairs)((x[:, j] + 3).astype(np.int32), groups, pairs)
        np.testing.assert_array_equal(pairs, own.T)


@pytest.mark.parametrize("outside", [-4, 4, -(2**62), 2**62])
def test_whole_numbers_outside(run: Callable[[Any], Any], outside: int) -> None:
    x = np.array([[0, 0, 0], [0, outside, 0]])
    args = np.full(3, -3), np.array([0, 7, 14, 21]), np.zeros(2, dtype=np.int32), np.zeros((21, 1), dtype=np.int64)
    assert not run(c.count_block)(x, *args)


@pytest.mark.parametrize("rows", ROWS[1:])
def test_bounds(run: Callable[[Any], Any], rows: int) -> None:
    x = np.random.default_rng(rows).integers(-(2**62), 2**62, (rows, 5))
    low, high = x[0].copy(), x[0].copy()
    run(c.find_bounds)(x, low, high)
    np.testing.assert_array_equal(low, x.min(0))
    np.testing.assert_array_equal(high, x.max(0))


@pytest.mark.parametrize("rows", ROWS)
def test_shares(run: Callable[[Any], Any], rows: int) -> None:
    """Beside SciPy; a row that is impossible everywhere is named and left as it is."""
    x = np.random.default_rng(rows).normal(0, 300, (rows, 4))
    x[::3, 1] = -np.inf
    found, weights = x.copy(), x.copy()
    assert run(s.lower_to_top)(found) == -1
    np.testing.assert_array_equal(found, x - x.max(1, keepdims=True) if rows else x)
    run(s.lower_by_log_total)(found, np.exp(found))
    np.testing.assert_allclose(found, special.log_softmax(x, axis=1), rtol=1e-12)
    weights = np.exp(found)
    run(s.divide_by_total)(weights)
    np.testing.assert_allclose(weights, special.softmax(x, axis=1), rtol=1e-12)
    if rows > 2:
        x[1:3] = -np.inf
        assert run(s.lower_to_top)(x) == 1
        assert np.isneginf(x[1:3]).all()


@pytest.mark.parametrize("rows", ROWS)
def test_tables_but_own(run: Callable[[Any], Any], rows: int) -> None:
    """A row's own class is told by the other table alone, even where this one says that it is impossible."""
    rng = np.random.default_rng(rows)
    starts, codes = np.array([1, 5]), rng.integers(-1, 3, (2, rows)).astype(np.int32)
    tables, without = rng.standard_normal((2, 8, 3))
    tables[2] = -np.inf
    tables[[0, 4]] = without[[0, 4]] = 0.0  # of missing cells
    own, out = rng.integers(0, 3, rows).astype(np.int32), rng.standard_normal((rows, 3))
    expected = out.copy()
    for i in range(rows):
        for k in range(3):
            spoken = without if k == own[i] else tables
            expected[i, k] += sum(spoken[starts[j] + codes[j, i], k] for j in range(2))
    run(c.add_tables_but_own)(codes, own, starts, tables, without, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("rows", ROWS)
def test_codes(run: Callable[[Any], Any], rows: int) -> None:
    """Values beyond the table's ends, and holes in it, have the code -1."""
    rng = np.random.default_rng(rows)
    x = rng.integers(-9, 10, (rows, 2))
    table = np.array([0, -1, 1, 2, 0, 1, -1], dtype=np.int32)  # of -1 to 2, then of 4 to 6
    out, strange = np.empty((2, rows), dtype=np.int32), np.zeros(2, dtype=np.int64)
    run(c.code_block)(x, np.array([-1, 4]), np.array([0, 4, 7]), table, out, strange)
    np.testing.assert_array_equal(strange, (out < 0).sum(1))
    known = [{-1: 0, 1: 1, 2: 2}, {4: 0, 5: 1}]
    np.testing.assert_array_equal(out, [[known[j].get(int(v), -1) for v in x[:, j]] for j in range(2)])
    one = np.empty(rows, dtype=np.int32)
    assert run(c.look_up)(np.ascontiguousarray(x[:, 0]), -1, table[:4], one) == strange[0]
    np.testing.assert_array_equal(one, out[0])
    seen = np.zeros(19, dtype=bool)
    run(c.mark_values)(np.ascontiguousarray(x[:, 0]), -9, seen)
    np.testing.assert_array_equal(np.flatnonzero(seen) - 9, np.unique(x[:, 0]))
    turned = np.empty((2, rows), dtype=np.int64)
    run(c.turn_block)(x, turned)
    np.testing.assert_array_equal(turned, x.T)


def test_words(run: Callable[[Any], Any]) -> None:
    words = np.array(["ab", "", "b", "ab", "\U0001f600", "b"])
    found, first = np.empty(6, dtype=np.int32), np.empty(8, dtype=np.int64)
    assert run(c.code_words)(words.view(np.uint32).reshape(6, -1), found, first) == 4
    assert found.tolist() == [0, 1, 2, 0, 3, 2]
    assert first[:4].tolist() == [0, 1, 2, 4]
    assert run(c.code_words)(words.view(np.uint32).reshape(6, -1), found, first[:2]) == -1
    assert run(c.code_words)(np.empty((0, 3), dtype=np.uint32), found, first) == 0


@pytest.mark.parametrize("columns", [1, 3, 4, 9])
@pytest.mark.parametrize("rows", ROWS)
def test_tables(run: Callable[[Any], Any], rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    coded = rng.integers(-1, 4, (columns, rows)).astype(np.int32)
    tables = rng.normal(size=(5 * columns, 3))
    tables[::5] = 0.0
    tables[1, 0] = -np.inf
    starts, out = 1 + 5 * np.arange(columns), np.ones((rows, 3))
    run(c.add_tables)(coded, starts, tables, out)
    expected = 1 + sum(tables[starts[j] + coded[j]] for j in range(columns))
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("estimate", ["normal", "student"])
@pytest.mark.parametrize("rows", ROWS)
def test_densities(run: Callable[[Any], Any], rows: int, estimate: str) -> None:
    """Missing cells say nothing; a number of 10¹⁴⁰ is far away, and not infinitely so."""
    rng = np.random.default_rng(rows)
    x = rng.normal(5, 2, (rows, 40))
    x[rng.random(x.shape) < 0.05] = np.nan
    if rows > 60:
        x[60, :5] = 1e140
    shift, centre = np.full(40, 5.0), rng.normal(size=(3, 40))
    scale, degrees = rng.uniform(0.5, 2.0, (3, 40)), np.repeat(rng.uniform(2, 9, (3, 1)), 40, axis=1)
    out = np.zeros((rows, 3))
    z = (x - shift)[:, None]
    if estimate == "normal":
        run(g.add_normals)(x, shift, centre, 0.5 / scale**2, -0.5 * np.log(2 * np.pi * scale**2), out)
        each = stats.norm.logpdf(z, centre, scale)
    else:
        peak = stats.t.logpdf(0.0, degrees) - np.log(scale)
        ends = np.arange(40) % 16 == 15
        ends[-1] = True
        run(g.add_students)(x, shift, centre, 1 / (degrees * scale**2), (degrees + 1) / 2, peak, ends, out)
        each = peak - (degrees + 1) / 2 * np.log1p(np.abs((z - centre) / scale) ** 2 / degrees)
    np.testing.assert_allclose(out, np.nansum(each, axis=2), rtol=1e-9)


def test_beyond(run: Callable[[Any], Any]) -> None:
    x = np.array([[1.0, -np.inf, np.nan], [2e9, -1e9, 3.0]])
    assert run(g.count_beyond)(x, 1e9) == 2
    assert run(g.count_beyond)(x[:0], 1e9) == 0
