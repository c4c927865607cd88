"""The kernels that take EM's whole E-step of numbers, against plain NumPy: responsibilities first, then sums."""

from __future__ import annotations

import numpy as np
import pytest

from credo._kernels.blocks.hidden_groups import NEAR_SHIFT, expect_moments, expect_tied_products, exponentiate
from credo._kernels.core.soft_sums import SOFT_TILE
from credo.numerics.exact import Array

GROUPS, COLUMNS, VALUES = 5, 6, 7
NO_OTHERS = np.empty((0, 0))  # no other columns
UNCODED = np.empty((0, 0), dtype=np.int32), NO_OTHERS, NO_OTHERS  # no joint values
SIZES = [0, 1, SOFT_TILE - 1, SOFT_TILE, SOFT_TILE + 1, 3 * SOFT_TILE + 7]


def rows_of(size: int, missing: float = 0.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(size)
    x = rng.normal(3.0, 2.0, (size, COLUMNS))
    return np.where(rng.random(x.shape) < missing, np.nan, x), rng.uniform(0.2, 3.0, size)


def responsibilities(log_joint: Array, weight: Array) -> tuple[Array, Array]:
    log_prob: Array = np.logaddexp.reduce(log_joint, axis=1)
    with np.errstate(invalid="ignore"):
        shares = np.exp(log_joint - log_prob[:, None]) * weight[:, None]
    shares[np.isneginf(log_prob)] = 0.0
    return shares, log_prob


def test_exponentials_to_the_last_bits() -> None:
    x = -np.concatenate(
        [np.linspace(0, 1, 40), np.geomspace(1, 700, 80), [707.9, 708.1, 745.2, 1e5, 1e300, np.inf, 0, 1e-300]]
    )
    bits = np.zeros(SOFT_TILE, dtype=np.int64)
    logs, total = np.vstack([x, 3.0 + x]), np.ones(SOFT_TILE)
    exponentiate(logs, 1, np.full(SOFT_TILE, 3.0), total, bits.view(np.float64), bits)
    exponentiate(logs, 0, np.zeros(SOFT_TILE), total, bits.view(np.float64), bits)
    found = logs[0]
    np.testing.assert_allclose(logs[1], found, rtol=1e-12)
    np.testing.assert_allclose(total, 1.0 + logs.sum(0), rtol=4e-16)
    np.testing.assert_allclose(found[x >= -708], np.exp(x[x >= -708]), rtol=4e-16)
    assert not found[x < -708].any()


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    ("columns", "away", "joined"),
    [
        (COLUMNS, 0.0, 0),
        (COLUMNS - 1, 0.0, 0),
        (COLUMNS, 2.0 * NEAR_SHIFT, 0),
        (COLUMNS, 0.0, 1),
        (COLUMNS - 1, 0.0, 2),
    ],
)
@pytest.mark.parametrize("size", SIZES)
def test_independent_numbers(size: int, columns: int, away: float, missing: float, beside: bool, joined: int) -> None:
    x, weight = rows_of(size, missing)
    x, rng = np.ascontiguousarray(x[:, :columns]), np.random.default_rng(1)
    shift, scale, centre = (
        rng.normal(3, 1, columns),
        rng.uniform(0.3, 2, (GROUPS, columns)),
        rng.normal(away, 1, (GROUPS, columns)),
    )
    constant, log_shares = rng.normal(size=(GROUPS, columns)), np.log(rng.dirichlet(np.ones(GROUPS)))
    n, tops, totals = np.zeros(GROUPS), np.empty(size), np.empty(size)
    known, first, second = np.zeros((3, GROUPS, columns))
    said = rng.normal(size=(size, GROUPS))  # by other columns
    said[rng.random(said.shape) < 0.1] = -np.inf
    others = said.copy() if beside else NO_OTHERS
    codes, table = rng.integers(0, VALUES, (joined, size), dtype=np.int32), rng.normal(size=(VALUES, GROUPS))
    table[rng.random(table.shape) < 0.05], counts = -np.inf, np.zeros((VALUES, GROUPS))
    law = shift, scale, centre, constant, log_shares
    expect_moments(x, weight, *law, others, codes, table, counts, tops, totals, n, known, first, second)
    z = (x - shift)[:, None] * scale - centre  # (rows, groups, columns)
    there = ~np.isnan(z)
    own = np.where(there, constant - z**2, 0.0).sum(2) + log_shares
    own = own + said if beside else own
    shares, log_prob = responsibilities(own + table[codes].sum(0) if joined else own, weight)
    filled = np.where(there, z, 0.0)
    for found, expected in (
        (n, shares.sum(0)),
        (known, np.einsum("ik,ikj->kj", shares, there)),
        (first, np.einsum("ik,ikj->kj", shares, filled)),
        (second, np.einsum("ik,ikj->kj", shares, filled**2)),
        (tops + np.log(totals), log_prob),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    counted = np.zeros(counts.shape)
    for own_codes in codes:
        np.add.at(counted, own_codes, shares)
    np.testing.assert_allclose(counts, counted, rtol=1e-12, atol=1e-12)
    if beside:  # log-densities are about -4e4 where groups are far away: their last bit is 1e-11 of a share
        np.testing.assert_allclose(others, shares, rtol=1e-11, atol=1e-11)


def test_moments_about_the_shift_lose_few_digits() -> None:
    """A narrow group as far from the shift as such sums are taken."""
    x = 1.0 + np.random.default_rng(3).normal(0, 1 / (np.sqrt(2) * NEAR_SHIFT), (5000, 1))
    scale = np.full((1, 1), NEAR_SHIFT)
    tops, totals = np.empty((2, len(x)))
    n, (known, first, second) = np.zeros(1), np.zeros((3, 1, 1))
    ones, zero = np.ones(len(x)), np.zeros((1, 1))
    law = zero[0], scale, scale, zero, zero[0]
    expect_moments(x, ones, *law, NO_OTHERS, *UNCODED, tops, totals, n, known, first, second)
    z = NEAR_SHIFT * (x - 1.0)
    np.testing.assert_allclose(second, (z**2).sum(), rtol=1e-11)
    np.testing.assert_allclose(first, z.sum(), atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_numbers_that_covary_alike(size: int) -> None:
    x, weight = rows_of(size)
    rng = np.random.default_rng(2)
    shift, white = rng.normal(3, 1, COLUMNS), np.tril(rng.normal(0, 0.3, (COLUMNS, COLUMNS))) + np.eye(COLUMNS)
    mean, log_shares = rng.normal(0, 2, (GROUPS, COLUMNS)), np.log(rng.dirichlet(np.ones(GROUPS)))
    n, first, tops, totals = np.zeros(GROUPS), np.zeros((GROUPS, COLUMNS)), np.empty(size), np.empty(size)
    second, together = np.zeros((COLUMNS, COLUMNS + 3)), np.zeros((GROUPS, GROUPS + 3))
    expect_tied_products(x, weight, shift, white, mean, log_shares, tops, totals, n, first, second, together)
    u = ((x - shift) @ white.T)[:, None] - mean
    shares, log_prob = responsibilities(log_shares - 0.5 * (u**2).sum(2), weight)
    lower, apart = np.tril_indices(COLUMNS), mean[:, None] - mean
    between = np.einsum("kl,kli,klj->ij", np.tril(together[:, :GROUPS], -1), apart, apart)
    products = np.einsum("ik,iku,ikv->uv", shares, u, u)
    for found, expected in (
        (n, shares.sum(0)),
        (first, np.einsum("ik,ikj->kj", shares, u)),
        ((second[:, :COLUMNS] + between)[lower], products[lower]),
        (tops + np.log(totals), log_prob),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_impossible_rows_belong_to_no_group() -> None:
    x, weight = rows_of(9)
    n, tops, totals = np.zeros(2), np.empty(9), np.empty(9)
    known, first, second = np.zeros((3, 2, COLUMNS))
    ones = np.ones((2, COLUMNS))
    impossible = np.full(2, -np.inf)
    law = np.zeros(COLUMNS), ones, ones, ones, impossible
    expect_moments(x, weight, *law, NO_OTHERS, *UNCODED, tops, totals, n, known, first, second)
    assert (tops == -np.inf).all()
    assert not totals.any()
    assert not n.any()
    assert not first.any()
