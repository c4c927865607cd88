"""Walks through tables against NumPy's broadcasting, sums and products; cliques against their definition."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo._kernels.networks.junction import DEPTH, LONGEST_MAP, add_walk, multiply_walk, write_walk
from credo._kernels.networks.sampling import draw, draw_in_turn, draw_runs
from credo._kernels.networks.shapes import BEGIN, DIMENSIONS, FIRST, RUN
from credo._kernels.networks.triangulation import FILL, LOG_UNIT, WEIGHT
from credo.networks.inference.elimination_order import connected, triangulate

CARDS = st.lists(st.sampled_from([1, 2, 2, 3, 5, 9, 40]), min_size=1, max_size=5).filter(
    lambda card: prod(card) < 30_000
)


def walk_of(card: list[int], small: list[int]) -> tuple[Any, Any]:
    """A walk through a table over all variables, from cell 1 on, of a table over some, in another order."""
    step = np.zeros(len(card), dtype=np.int64)
    for i, v in enumerate(small):
        step[v] = prod(card[u] for u in small[i + 1 :])
    walks, paths = np.zeros((1, 7), dtype=np.int64), np.zeros(2 * len(card) + LONGEST_MAP, dtype=np.int64)
    walks[0, FIRST] = 1
    size = write_walk(np.arange(len(card)), 0, len(card), np.array(card)[:, None], step, 0, 0, walks, paths)
    assert size <= len(paths)
    return walks, paths


@settings(max_examples=100, deadline=None)
@given(CARDS, st.data())
def test_a_table_times_and_onto_a_smaller_one(card: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(card))))
    small = order[: data.draw(st.integers(0, len(card)))]
    random = np.random.default_rng(len(card) + sum(card))
    table, factor = random.random(card), random.random([card[v] for v in small])
    walks, paths = walk_of(card, small)
    lengths = paths[walks[0, BEGIN] :][: walks[0, DIMENSIONS]]
    assert prod(lengths.tolist()) * walks[0, RUN] == table.size
    wide = factor.transpose(np.argsort(small)).reshape([n if v in small else 1 for v, n in enumerate(card)])
    found, digits = np.append(7.0, table), np.empty(DEPTH, dtype=np.int64)
    multiply_walk(found, np.append([8.0, 8.0], factor), 2, 0, walks, paths, digits)
    assert found[0] == 7.0
    assert found[1:].reshape(card) == pytest.approx(table * wide, rel=1e-15)
    sums = np.ones(2 + factor.size)
    add_walk(np.append(7.0, table), sums, 2, 0, walks, paths, digits)
    others = tuple(v for v in range(len(card)) if v not in small)
    wanted = table.sum(others).transpose([sorted(small).index(v) for v in small])
    assert sums[:2].tolist() == [1.0, 1.0]
    assert sums[2:].reshape(wanted.shape) - 1.0 == pytest.approx(wanted, rel=1e-12)


def graph_of(edges: Any, card: Any, stage: Any) -> Any:
    """Of an upper triangle of truths."""
    pairs = np.argwhere(edges)
    heads = np.stack([2 * np.arange(len(pairs) + 1)] * 2, 1)
    return connected(heads, np.stack([pairs.reshape(-1)] * 2, 1), np.log(card), stage, np.empty(0, dtype=np.int64))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([FILL, WEIGHT]))
def test_cliques_are_a_tree_that_holds_every_edge(n: int, seed: int, rule: int) -> None:
    """Each edge is within a clique, and the cliques that have a variable hang together."""
    random = np.random.default_rng(seed)
    edges = np.triu(random.random((n, n)) < 0.35, 1)
    card = random.integers(2, 5, n)
    stage = random.integers(0, 2, n)
    found = triangulate(graph_of(edges, card, stage), np.log(card), rule, random.integers(2**62, size=n))
    assert sorted(found.order.tolist()) == list(range(n))
    assert (np.diff(stage[found.order]) >= 0).all()  # those of stage 0 go first
    cliques = [{*found.members[found.starts[i] : found.starts[i + 1]].tolist()} for i in found.made]
    assert found.cells == pytest.approx(sum(prod(card[list(clique)].tolist()) for clique in cliques))
    assert all(any({a, b} <= clique for clique in cliques) for a, b in np.argwhere(edges).tolist())
    assert all(v in cliques[found.home[v]] for v in range(n))
    for v in range(n):
        having = [c for c, clique in enumerate(cliques) if v in clique]
        tops = [c for c in having if found.parent[c] < 0 or v not in cliques[found.parent[c]]]
        assert len(tops) == 1
    assert all(p < 0 or p > c for c, p in enumerate(found.parent.tolist()))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 25), st.integers(0, 2**32), st.floats(0.05, 0.6), st.booleans())
def test_variables_go_by_the_rule(n: int, seed: int, density: float, fill: bool) -> None:
    """Each time the variable that needs the fewest edges, or makes the smallest table, counted from scratch."""
    random = np.random.default_rng(seed)
    edges = np.triu(random.random((n, n)) < density, 1)
    card, stage, chance = random.integers(2, 5, n), random.integers(0, 2, n), random.integers(3, size=n)
    found = triangulate(graph_of(edges, card, stage), np.log(card), FILL if fill else WEIGHT, chance)
    near = {v: {*np.flatnonzero(edges[v] | edges[:, v]).tolist()} for v in range(n)}
    for i in range(n):

        def cost(v: int) -> tuple[Any, ...]:
            missing = sum(b not in near[a] for a in near[v] for b in near[v] if a < b)
            size = np.rint(np.log(card) * LOG_UNIT)[[v, *near[v]]].sum()
            return stage[v], missing if fill else 0, size, chance[v], v

        v = min(near, key=cost)
        assert found.order[i] == v
        assert {*found.members[found.starts[i] : found.starts[i + 1]].tolist()} == {v, *near[v]}
        for u in near.pop(v):
            near[u] = (near[u] | {*found.members[found.starts[i] : found.starts[i + 1]].tolist()}) - {u, v}


def test_draws_are_spread_evenly() -> None:
    found = np.array([draw(np.uint64(5), np.uint64(i)) for i in range(20_000)])
    assert 0 <= found.min() < found.max() < 1
    counts = np.bincount((found * 50).astype(int), minlength=50)
    assert ((counts - 400) ** 2 / 400).sum() < 85  # χ² of 49 degrees of freedom: one in a thousand is above
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.03


def _about(seed: int) -> tuple[Any, Any]:
    """Four variables in a loop, one of them decided by another, and what draws them in turn."""
    from credo.networks.inference.annealed_importance import AnnealingPath
    from credo.networks.network import Network

    random = np.random.default_rng(seed)
    parents = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    tables = {name: random.dirichlet([1.0] * 3, size=[3] * len(above)) for name, above in parents.items()}
    tables["b"] = np.eye(3)[random.permutation(3)]
    net = Network(parents, tables, (0, 1, 2))
    findings = net._findings({"d": {0: 0.9, 1: 0.2, 2: 0.4}})
    return AnnealingPath(net.potentials, findings), findings


@pytest.mark.parametrize("seed", range(3))
def test_rounds_draw_each_variable_given_all_others(seed: int) -> None:
    """The chances that are added up are those of counting out; the states come as often as they are probable."""
    path, findings = _about(seed)
    held, about = path.potentials, path.at(1.0)
    in_turn: Any = draw_in_turn
    rounds, now = 4000, np.zeros(4, dtype=np.int64)
    now[1] = held.table(1)[0].argmax()
    codes, shares = np.empty((4, rounds), dtype=np.int32), np.zeros(12)
    in_turn(*about, np.uint64(seed), 0, now, codes, shares)
    assert (codes[:, -1] == now).all()
    assert (held.table(1)[codes[0], codes[1]] == 1.0).all()  # b follows a
    joint = np.einsum("a,ab,ac,bcd,d->abcd", *(held.table(f) for f in range(4)), findings.weights[9:])
    joint /= joint.sum()
    for v in range(4):
        marginal = joint.sum(tuple(u for u in range(4) if u != v))
        assert np.bincount(codes[v], minlength=3) / rounds == pytest.approx(marginal, abs=0.06)
        if v != 1:  # it isn't drawn, but follows
            assert shares[3 * v : 3 * v + 3] / rounds == pytest.approx(marginal, abs=0.05)


def test_runs_draw_what_chains_do() -> None:
    path, _ = _about(0)
    about = path.at(1.0)
    runs: Any = draw_runs
    in_turn: Any = draw_in_turn
    seeds, now = np.array([3, 4, 5], dtype=np.uint64), np.zeros((3, 4), dtype=np.int64)
    now[:, 1] = path.potentials.table(1)[0].argmax()
    alone = now.copy()
    for step in range(5):
        runs(*about, seeds, step, now)
    for r in range(3):
        in_turn(*about, seeds[r], 0, alone[r], np.empty((4, 5), dtype=np.int32), np.empty(0))
    assert (now == alone).all()
    nobody = np.empty((0, 4), dtype=np.int64)
    runs(*about, seeds[:0], 0, nobody)
