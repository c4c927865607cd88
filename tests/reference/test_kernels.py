"""Each kernel against exact arithmetic in fractions, compiled and as plain Python, and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from credo._kernels.core.sparse import add_lists, add_lists_soft
from credo._kernels.core.sums import add_moments_hard, add_products_hard, add_sums_hard, add_weights_soft
from credo._kernels.jit import forced, kernel

KERNELS = [add_sums_hard, add_moments_hard, add_products_hard]


def run(kernel: Callable[..., None], x: Any, codes: Any, weight: Any, groups: int = 3) -> tuple[Any, ...]:
    d = x.shape[1]
    shapes = {"add_sums_hard": (groups, d), "add_moments_hard": (3, groups, d), "add_products_hard": (groups, d, d)}
    shape = shapes[kernel.__name__]
    parts = np.zeros((3 if kernel.__name__ == "add_moments_hard" else 2, *shape))
    kernel(x, codes, weight, *parts)
    return tuple(parts)


def exact(name: str, x: Any, codes: Any, weight: Any, groups: int = 3) -> Any:
    """The same sums without any rounding."""
    rows, d = x.shape
    cells: Any = [[Fraction(v) if v == v else None for v in row] for row in x.tolist()]
    w = [Fraction(v) for v in weight.tolist()]
    zero = Fraction(0)

    def total(term: Callable[[int], Fraction], k: int) -> float:
        return float(sum((term(i) for i in range(rows) if codes[i] == k), zero))

    if name == "add_sums_hard":
        return [[total(lambda i, j=j: w[i] * cells[i][j], k) for j in range(d)] for k in range(groups)]  # type: ignore[misc]
    if name == "add_moments_hard":
        return [
            [
                [total(lambda i, j=j, p=p: w[i] * cells[i][j] ** p if cells[i][j] is not None else zero, k)  # type: ignore[misc]
                 for j in range(d)]
                for k in range(groups)
            ]
            for p in range(3)
        ]  # fmt: skip
    return [
        [
            [total(lambda i, j=j, m=m: w[i] * cells[i][j] * cells[i][m], k) if m <= j else 0.0 for m in range(d)]  # type: ignore[misc]
            for j in range(d)
        ]
        for k in range(groups)
    ]


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-9])
def test_sums_are_right_to_the_last_bit(function: Any, scale: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(1, 1, (50, 3)) * scale + scale * 1e6
    x[7] *= 1e9
    if function is add_moments_hard:
        x[rng.random(x.shape) < 0.2] = np.nan
    codes = rng.integers(-1, 3, 50).astype(np.int32)
    weight = rng.uniform(0.1, 3, 50)
    high, *low = run(function, x, codes, weight)
    np.testing.assert_allclose(high + sum(low), exact(function.__name__, x, codes, weight), rtol=2.3e-16)


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_plain_python_and_numba_give_the_same_bits(function: Any) -> None:
    rng = np.random.default_rng(1)
    x, codes, weight = rng.normal(1e3, 1, (60, 2)), rng.integers(-1, 3, 60).astype(np.int32), rng.uniform(0, 2, 60)
    with forced("plain"):
        plain = run(function, x, codes, weight)
    with forced("compiled"):
        compiled = run(function, x, codes, weight)
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_edges(function: Any) -> None:
    nothing = run(function, np.empty((0, 2)), np.empty(0, dtype=np.int32), np.empty(0))
    assert not np.any(nothing)
    unknown = run(function, np.ones((3, 2)), np.full(3, -1, dtype=np.int32), np.ones(3))
    assert not np.any(unknown)
    one_row, *_ = run(function, np.full((1, 1), 2.0), np.array([1], dtype=np.int32), np.array([3.0]))
    assert (
        one_row.ravel()[one_row.ravel() != 0].tolist()
        == {
            "add_sums_hard": [6.0],
            "add_moments_hard": [3.0, 6.0, 12.0],
            "add_products_hard": [12.0],
        }[function.__name__]
    )


@pytest.mark.parametrize("way", ["plain", "compiled"])
@pytest.mark.parametrize("rows", [0, 1, 80])
def test_soft_counts(way: Any, rows: int) -> None:
    rng = np.random.default_rng(2)
    codes, weights = rng.integers(-1, 5, rows).astype(np.int32), rng.random((rows, 3))
    out = np.ones((5, 3))
    with forced(way):
        add_weights_soft(codes, weights, out)
    one_hot = (codes[:, None] == np.arange(5)) * 1.0
    np.testing.assert_allclose(out, 1 + one_hot.T @ weights, rtol=1e-14)


@pytest.mark.parametrize("way", ["plain", "compiled"])
@pytest.mark.parametrize("lists", [0, 1, 40])
def test_soft_sums_of_lists(way: Any, lists: int) -> None:
    rng = np.random.default_rng(3)
    there = rng.random((lists, 7)) < 0.4  # which words each document holds
    starts = np.append(0, np.cumsum(there.sum(1))).astype(np.int64)
    words, values, weights = np.nonzero(there)[1].astype(np.int32), rng.random(there.sum()), rng.random((lists, 3))
    out = np.ones((7, 3))
    with forced(way):
        add_lists_soft(words, starts, weights, values, out)
    documents = np.zeros(there.shape)
    documents[there] = values
    np.testing.assert_allclose(out, 1 + documents.T @ weights, rtol=1e-14)


@pytest.mark.parametrize("way", ["plain", "compiled"])
def test_lists_of_no_column_are_skipped(way: Any) -> None:
    high, low = np.zeros((2, 2)), np.zeros((0, 0))
    with forced(way):
        cells = add_lists(
            np.array([0, 1, 0], np.int32), np.array([0, 2, 3]), np.array([-1, 1], np.int32), np.ones(3), high, low
        )
    assert cells == 1
    assert high.tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    calls: list[dict[str, Any]] = []

    def njit(**options: Any) -> Any:
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    assert kernel(abs) is abs
    assert [options.get("cache") for options in calls] == [True, None]


ROWS_OF: dict[str, Callable[[np.random.Generator], Any]] = {
    "normal": lambda rng: rng.normal(size=700),
    "far from 0": lambda rng: 1e14 + rng.normal(size=700),
    "equal": lambda _: np.full(700, 0.1),
    "of all magnitudes": lambda rng: rng.normal(size=700) * 10.0 ** rng.integers(-12, 12, 700),
    "falling": lambda _: 2.0 ** -np.arange(0, 70, 0.1) / 3,
}


@pytest.mark.parametrize("name", ROWS_OF)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_moments_keep_100_bits(name: str, missing: float) -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([ROWS_OF[name](rng), ROWS_OF[name](rng)])
    x[rng.random(x.shape) < missing] = np.nan
    codes = rng.integers(-1, 3, len(x)).astype(np.int32)
    parts = run(add_moments_hard, x, codes, np.ones(len(x)))
    for k in range(3):
        for j in range(2):
            cells = [Fraction(v) for v in x[codes == k, j].tolist() if v == v]
            for power in range(3):
                found = sum((Fraction(float(part[power, k, j])) for part in parts), Fraction(0))
                size = sum((abs(v) ** power for v in cells), Fraction(0))
                assert abs(found - sum((v**power for v in cells), Fraction(0))) <= size / 2**100


def test_rows_of_weight_1_among_others_and_many_groups() -> None:
    rng = np.random.default_rng(6)
    x, codes = rng.normal(3, 1, (400, 2)), rng.integers(-1, 3, 400).astype(np.int32)
    x[rng.random(x.shape) < 0.1] = np.nan
    weight = np.where(rng.random(400) < 0.5, 1.0, rng.uniform(0, 2, 400))
    for groups in (3, 401):  # more groups than rows have no plain sums
        found = sum(run(add_moments_hard, x, codes, weight, groups))[:, :3]
        np.testing.assert_allclose(found, exact("add_moments_hard", x, codes, weight), rtol=2.3e-16)
