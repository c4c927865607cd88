"""Graphs: equivalence classes, distances, separating sets and divergences, beside all cases counted out."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import NetworkError
from credo.networks.equivalence import are_equivalent, cpdag_of, extension
from credo.networks.graph import connected
from credo.networks.mixed_graph import MixedGraph
from credo.networks.network import Network
from tests.dags import Parents, all_dags, dags, is_acyclic
from tests.networks import joint, networks

NAMES = "abcdefgh"


def named(parents: Parents) -> Network:
    return Network({NAMES[v]: [NAMES[p] for p in own] for v, own in enumerate(parents)})


def independencies(parents: Parents) -> frozenset[Any]:
    """Every independence of two variables given a set of others."""
    above: Any = dict(enumerate(parents))
    found = set()
    for a, b in combinations(above, 2):
        others = [v for v in above if v not in (a, b)]
        for size in range(len(others) + 1):
            found |= {(a, b, some) for some in combinations(others, size) if b not in connected([a], some, above)}
    return frozenset(found)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_cpdag_has_the_arrows_that_all_equivalent_networks_share(n: int) -> None:
    classes = defaultdict(list)
    for dag in all_dags(n):
        classes[independencies(dag)].append(dag)
    assert len(classes) == {2: 2, 3: 11, 4: 185}[n]
    for members in classes.values():
        arrows = [{(p, v) for v, own in enumerate(dag) for p in own} for dag in members]
        agreed, some = set.intersection(*arrows), set.union(*arrows)
        for dag in members:
            found = cpdag_of(dag)
            assert {(p, v) for v, own in enumerate(found.parents) for p in own} == agreed
            assert {*found.undirected()} == {(a, b) for a, b in some - agreed if a < b}
            assert are_equivalent(dag, members[0])
        extended = extension(cpdag_of(members[0]))
        assert extended is not None
        assert tuple(map(tuple, map(sorted, extended))) in [tuple(map(tuple, map(sorted, dag))) for dag in members]
    for one, other in combinations([members[0] for members in classes.values()], 2):
        assert not are_equivalent(one, other)


@given(dags(most=8))
def test_an_extension_of_a_cpdag_has_that_cpdag(dag: Parents) -> None:
    net = named(dag)
    back = net.cpdag().extension()
    assert back.cpdag() == net.cpdag()
    assert net.equivalent(back)
    assert net.shd(back) == 0
    assert hash(back.cpdag()) == hash(net.cpdag())


def test_a_graph_without_an_extension() -> None:
    square = frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")})
    with pytest.raises(NetworkError, match="no consistent extension"):
        MixedGraph(tuple("abcd"), frozenset(), square).extension()


@st.composite
def triples(draw: st.DrawFn) -> list[Network]:
    n = draw(st.integers(2, 6))
    return [named(draw(dags(least=n, most=n))) for _ in range(3)]


@pytest.mark.parametrize("of", ["cpdag", "dag"])
@given(nets=triples())
def test_the_hamming_distance_is_a_metric(of: Any, nets: list[Network]) -> None:
    a, b, c = nets
    assert a.shd(b, of) == b.shd(a, of)
    assert a.shd(c, of) <= a.shd(b, of) + b.shd(c, of)
    assert (a.shd(b, of) == 0) == (a.equivalent(b) if of == "cpdag" else a.graph() == b.graph())
    found = a.compare(b, of)
    assert found.shd == len(found.missing) + len(found.extra) + len(found.misdirected)
    back = b.compare(a, of)
    assert (found.adjacency_precision, found.arrow_precision) == (back.adjacency_recall, back.arrow_recall)
    assert (found.missing == ()) == (found.adjacency_recall == 1.0)


@given(dags(most=6))
def test_separators_are_the_smallest_there_are(dag: Parents) -> None:
    net = named(dag)
    for a, b in permutations(net.variables, 2):
        others = [name for name in net.variables if name not in (a, b)]
        sets = [some for size in range(len(others) + 1) for some in combinations(others, size)]
        least = next((len(some) for some in sets if net.d_separated(a, b, some)), None)
        found = net.minimal_separator(a, b)
        assert (None if found is None else len(found)) == least
        if found is not None:
            assert net.d_separated(a, b, found)
            assert not any(net.d_separated(a, b, found - {name}) for name in found)


@given(dags(least=4, most=6), st.randoms(use_true_random=False))
def test_separators_may_have_to_hold_some_variables_and_may_not_hold_others(dag: Parents, random: Any) -> None:
    net = named(dag)
    a, b, c, *rest = random.sample(net.variables, len(net.variables))
    among = rest[: len(rest) // 2]
    sets = [{c, *some} for size in range(len(among) + 1) for some in combinations(among, size)]
    least = next((len(some) for some in sets if net.d_separated(a, b, some)), None)
    found = net.minimal_separator(a, b, given=c, among=among)
    assert (None if found is None else len(found)) == least
    assert found is None or net.d_separated(a, b, found)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Network, Network]:
    """Two networks over the same variables, the states of one in another order."""
    one = draw(networks(most=5, zeros=draw(st.booleans())))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = [one.variables[i] for i in random.permutation(len(one))]
    states = {name: tuple(one.states[name][i] for i in random.permutation(len(one.states[name]))) for name in names}
    parents = {name: names[:i][: random.integers(0, 3)] for i, name in enumerate(names)}
    tables = {}
    for name, above in parents.items():
        table = random.gamma(0.7, size=[len(states[each]) for each in (*above, name)]) + 1e-3
        if draw(st.integers(0, 3)) == 0:
            table *= random.random(table.shape) < 0.9
            table[..., -1] += table.sum(-1) == 0
        tables[name] = table / table.sum(-1, keepdims=True)
    return one, Network(parents, tables, states)


@settings(max_examples=60)
@given(pairs())
def test_the_divergence_is_that_of_the_joint_distributions(both: tuple[Network, Network]) -> None:
    one, other = both
    p, q = joint(one, {}), joint(other, {}).over(tuple(one.variables))
    p = p.over(tuple(one.variables))
    theirs = q.table
    for axis, name in enumerate(one.variables):
        theirs = theirs.take([other.states[name].index(state) for state in one.states[name]], axis)
    happens = p.table > 0
    with np.errstate(divide="ignore"):
        expected = float((p.table[happens] * np.log(p.table[happens] / theirs[happens])).sum())
    assert one.divergence(other) == pytest.approx(expected, abs=1e-9)
    assert one.divergence(other) >= 0
    assert one.divergence(one) == 0.0


def test_an_estimated_divergence_has_a_standard_error() -> None:
    one = Network.random(8, seed=1)
    other = one.with_tables({name: 0.9 * table + 0.05 for name, table in one.tables.items()})
    exact, found = one.divergence(other), one.divergence(other, method="forward", samples=20_000, seed=3)
    assert abs(found - exact) < 4 * found.standard_error  # type: ignore[attr-defined]
    assert 0 < found.standard_error < 0.02  # type: ignore[attr-defined]


def test_a_state_that_the_other_network_lacks_makes_the_divergence_infinite() -> None:
    one = Network("A", {"A": [0.5, 0.5]}, {"A": ("x", "y")})
    other = Network("A", {"A": [0.5, 0.5]}, {"A": ("x", "z")})
    assert one.divergence(other) == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_are_what_was_asked_for(seed: int) -> None:
    net = Network.random(12, 20, states=(2, 4), max_parents=3, seed=seed)
    assert sum(map(len, net.parents.values())) == 20
    assert max(map(len, net.parents.values())) <= 3
    assert {len(states) for states in net.states.values()} <= {2, 3, 4}
    assert net == Network.random(12, 20, states=(2, 4), max_parents=3, seed=seed)
    assert net != Network.random(12, 20, states=(2, 4), max_parents=3, seed=seed + 1)
    full = Network.random(["u", "v", "w"], 3, seed=seed)
    assert sorted(map(len, full.parents.values())) == [0, 1, 2]
    assert is_acyclic(((), (0,)))
    large = Network.random(2000, 3000, seed=seed)
    assert sum(map(len, large.parents.values())) == 3000


@given(dags(most=7))
def test_the_moral_graph_joins_parents_and_forgets_directions(dag: Parents) -> None:
    net = named(dag)
    near = net.moral()
    assert not near.arrows
    for a, b in combinations(net.variables, 2):
        both = {*net.children(a)} & {*net.children(b)}
        assert bool(near.mark(a, b)) == (b in net.parents[a] or a in net.parents[b] or bool(both))
