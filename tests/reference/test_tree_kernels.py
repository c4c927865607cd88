"""The kernels of trees beside plain NumPy, compiled and as Python, and at the edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

import credo
from credo._kernels.jit import forced
from credo._kernels.tree.splitting import EACH, SUBSET, THRESHOLD
from credo.models.tree.growing import EncodedRows, Growth, grown
from credo.models.tree.structure import Structure


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    with forced(request.param):
        yield


def rows_of(kinds: list[int], n: int, classes: int, seed: int, missing: float, bins: int = 5) -> EncodedRows:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, bins, (len(kinds), n)).astype(np.uint8)
    truth = ((cells[0] > 2) + (cells[-1] == 1) * (rng.random(n) < 0.8) + rng.integers(0, 2, n)).astype(
        np.int32
    ) % classes
    cells[rng.random(cells.shape) < missing] = 255
    levels = np.ones((len(kinds), bins))
    return EncodedRows(cells, np.array(kinds, np.int32), levels, truth, np.ones(n), classes)


def score(counts: Any, gain: str) -> float:
    """The log-likelihood at its maximum, or the log-evidence under Dirichlet(1/K)."""
    if gain == "information":
        return float(xlogy(counts, counts).sum() - xlogy(counts.sum(), counts.sum()))
    a = 1 / len(counts)
    return float((gammaln(counts + a) - gammaln(a)).sum() - gammaln(counts.sum() + 1))


def every_split(kind: int, bins: list[int], binary: bool) -> Iterator[tuple[list[set[int]], float]]:
    """Each way to divide bins, and the logarithm of how many of its kind there are."""
    if kind == EACH:
        yield [{b} for b in bins], 0.0
    elif kind == THRESHOLD:
        for i in range(1, len(bins)):
            yield [set(bins[:i]), set(bins[i:])], np.log(len(bins) - 1)
    else:
        assert binary, "with more classes not all sets are looked at"
        for size in range(1, len(bins)):
            ways = np.log(len(bins) - 1) + gammaln(len(bins) + 1) - gammaln(size + 1) - gammaln(len(bins) - size + 1)
            for left in combinations(bins, size):
                yield [set(left), set(bins) - set(left)], ways


def best_net(rows: EncodedRows, gain: str, least: float) -> float:
    best = -np.inf
    for cells, kind in zip(rows.cells, rows.kinds, strict=True):
        bins = sorted({*cells.tolist()} - {255})
        counts = {b: np.bincount(rows.truth[cells == b], minlength=rows.classes).astype(float) for b in bins}
        base = score(sum(counts.values()), gain)
        for sets, ways in every_split(int(kind), bins, rows.classes == 2):
            parts = [sum(counts[b] for b in each) for each in sets]
            gained = sum(score(part, gain) for part in parts) - base
            if gained > 0 and min(float(np.sum(part)) for part in parts) >= least:
                best = max(best, gained - ways)
    return best


@pytest.mark.parametrize("gain", ["information", "evidence"])
@pytest.mark.parametrize(
    ("kinds", "classes"), [([THRESHOLD, THRESHOLD], 3), ([SUBSET, SUBSET], 2), ([EACH, THRESHOLD, SUBSET], 2)]
)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_best_split_of_the_root(gain: Any, kinds: list[int], classes: int, missing: float) -> None:
    for seed in range(3):
        rows = rows_of(kinds, 50, classes, seed, missing)
        tree = grown(rows, Growth(gain, 2.0, 1))
        expected = best_net(rows, gain, 2.0)
        if np.isneginf(expected):
            assert tree.size == 1
            continue
        j = int(tree.column[0])
        sets = [set(bins.tolist()) for _, bins in tree.branches(0)]
        counts = [np.bincount(rows.truth[np.isin(rows.cells[j], [*own])], minlength=classes) for own in sets]
        known = rows.cells[j] != 255
        found = sum(score(each, gain) for each in counts) - score(
            np.bincount(rows.truth[known], minlength=classes), gain
        )
        usable = np.log(len(kinds))
        assert found - (tree.choices[0] - usable) == pytest.approx(expected, abs=1e-9)
        shares = [each.sum() / known.sum() for each in counts]
        np.testing.assert_allclose(tree.share[1 : 1 + len(sets)], shares)


def test_the_charge_of_a_split_is_shared_with_others_that_gain_as_much() -> None:
    rows = rows_of([THRESHOLD, THRESHOLD], 60, 2, 0, 0.0)
    tree = grown(rows, Growth("evidence", 1.0, 1))
    nets, best = [], -np.inf
    for j in range(2):
        counts = np.array([np.bincount(rows.truth[rows.cells[j] == b], minlength=2) for b in range(5)])
        for i in range(1, 5):
            gain = score(counts[:i].sum(0), "evidence") + score(counts[i:].sum(0), "evidence")
            gain -= score(counts.sum(0), "evidence")
            nets.append(gain - np.log(4))
            best = max(best, gain)
    assert tree.charge[0] == pytest.approx(best - np.logaddexp.reduce(nets) + np.log(2), abs=1e-9)
    assert 0 < tree.charge[0] < tree.choices[0]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows(n: int) -> None:
    rows = rows_of([THRESHOLD, SUBSET, EACH], n, 2, 0, 0.0)
    tree = grown(rows, Growth("evidence", 1.0))
    assert tree.column[tree.leaves].tolist() == [-1] * len(tree.leaves)
    assert rows.counts(tree)[0].sum() == n
    assert tree.spread(rows.cells, np.ones((tree.size, 2))).tolist() == [[1.0, 1.0]] * n


def test_no_bins_and_unknown_codes() -> None:
    cells, truth = np.full((1, 3), 255, np.uint8), np.array([0, 1, 1], np.int32)
    none = EncodedRows(cells, np.zeros(1, np.int32), np.zeros((1, 0)), truth, np.ones(3), 2)
    assert grown(none, Growth("evidence")).size == 1


def test_pruned_structures_route_rows_alike() -> None:
    rows = rows_of([THRESHOLD, SUBSET, EACH], 200, 3, 1, 0.2)
    tree = grown(rows, Growth("information", 1.0))
    stops = np.zeros(tree.size, dtype=bool)
    stops[tree.levels[2]] = True
    small = tree.pruned(stops)
    assert isinstance(small, Structure)
    assert len(small.levels) == 3
    whole, few = rows.counts(tree), rows.counts(small)
    kept = np.concatenate(tree.levels[:3])
    np.testing.assert_allclose(few, whole[kept], atol=1e-12)
    assert tree.pruned(tree.column < 0).equals(tree)


def test_a_large_node_is_interpolated_without_harm() -> None:
    """Where parts of rows make weights that aren't whole, terms of large weights come from a table."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=4000)
    x[:400] = np.nan
    z = rng.normal(size=4000)
    y = (np.nan_to_num(x) + 0.5 * z + 0.5 * rng.normal(size=4000) > 0).astype(int)
    model = credo.DecisionTree(max_depth=4).fit({"x": x, "z": z, "y": y}, target="y")
    assert model.scores({"x": x, "z": z, "y": y}).accuracy > 0.8
