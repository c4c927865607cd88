"""Searches for arrows: never worse than their start, within the constraints, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import NetworkError
from credo.networks import graph
from credo.networks.network import Network
from credo.networks.structure import boss as boss_module
from credo.networks.structure.boss import VariableOrder, boss, grow_shrink_trees
from credo.networks.structure.category_scores import BDeuScore, bic
from credo.networks.structure.climbing import Climber, hill_climbing, iterated, tabu
from credo.networks.structure.constraints import Constraints
from credo.networks.structure.counting import CodedTable
from credo.networks.structure.grow_shrink import GrowShrinkTree
from credo.networks.structure.k2_search import k2_search
from credo.networks.structure.orders import first_order, precedence
from credo.networks.structure.score import Parents, Score, StructureSearch, total
from tests.dags import as_parents, empty
from tests.seeds import examples

SEARCHES: dict[str, StructureSearch] = {
    "boss": boss,
    "hill-climbing": hill_climbing,
    "tabu": lambda *asked: tabu(*asked, length=10, patience=15),
    "iterated": lambda *asked: iterated(*asked, rounds=5, changes=4),
    "k2": k2_search,
}


def sampled(name: str = "asia", rows: int = 400, seed: int = 0) -> CodedTable:
    net = Network.example(name)
    table = net.sample(rows, seed=seed)
    codes = np.stack([np.asarray(table[each].combine_chunks().indices) for each in net.variables]).astype(np.uint8)
    return CodedTable(net.variables, codes, tuple(len(states) for states in net.states.values()))


def truth(name: str) -> Parents:
    net = Network.example(name)
    number = {each: i for i, each in enumerate(net.variables)}
    return tuple(tuple(number[parent] for parent in net.parents[each]) for each in net.variables)


ASIA = sampled()
SCORE = BDeuScore(ASIA, 1.0)
NAMES = ASIA.variables


@st.composite
def constrained(draw: st.DrawFn) -> tuple[Constraints, Parents]:
    """Constraints that go together, and a start that keeps to them."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = len(NAMES)
    order = random.permutation(size).tolist()
    pairs = [(order[i], order[j]) for j in range(size) for i in range(j)]
    tiers = tuple(np.argsort(order) // 3) if draw(st.booleans()) else ()
    some = [pairs[i] for i in random.permutation(len(pairs))[:8].tolist()]
    cut = draw(st.integers(0, 4))
    required, extra = some[:cut], some[cut:]
    forbidden = [(int(a), int(b)) for a, b in random.integers(0, size, (8, 2)) if a != b and (a, b) not in required]
    most = max([3, *np.bincount([child for _, child in required], minlength=1).tolist()])
    known = Constraints(NAMES, frozenset(required), frozenset(forbidden), tuple(map(int, tiers)), most)
    arrows = [*required]
    for parent, child in extra:
        if known.allows(parent, child) and sum(x == child for _, x in arrows) < most:
            arrows.append((parent, child))
    return known, as_parents(arrows, size)


@pytest.mark.parametrize("name", SEARCHES)
@given(constrained())
@settings(max_examples=examples(12), deadline=None)
def test_searches_keep_to_constraints_and_never_lose(name: str, asked: tuple[Constraints, Parents]) -> None:
    known, start = asked
    assert known.objection(start) is None
    found = SEARCHES[name](SCORE, known, start, 0)
    assert known.objection(found) is None
    graph.in_order(dict(enumerate(found)))
    assert total(SCORE, found) >= total(SCORE, start) - 1e-7


@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_seed_gives_the_same_graph(name: str) -> None:
    one, two = (SEARCHES[name](BDeuScore(ASIA), Constraints.none(NAMES), empty(len(NAMES)), 7) for _ in range(2))
    assert one == two


# Hill climbing, as the textbook has it


def neighbours(parents: Parents, known: Constraints) -> Iterator[Parents]:
    """All graphs that are one arrow away, additions first, then deletions, then reversals."""
    size = len(parents)
    sets = [set(above) for above in parents]
    additions = [(y, x) for y in range(size) for x in range(size) if y != x and y not in sets[x]]
    arrows = sorted((y, x) for x in range(size) for y in sets[x])
    for change, pairs in (("add", additions), ("delete", arrows), ("reverse", arrows)):
        for y, x in pairs:
            new = [set(above) for above in sets]
            if change == "add":
                new[x].add(y)
            else:
                new[x].remove(y)
            if change == "reverse":
                new[y].add(x)
            made = tuple(tuple(sorted(above)) for above in new)
            try:
                graph.in_order(dict(enumerate(made)))
            except NetworkError:
                continue
            if known.objection(made) is None:
                yield made


def climbed(score: Score, known: Constraints, start: Parents) -> list[Parents]:
    """Each graph on the way up, by scoring every neighbour whole."""
    path = [start]
    while True:
        now = total(score, path[-1])
        found = [(total(score, other) - now, other) for other in neighbours(path[-1], known)]
        best = max((gain for gain, _ in found), default=0.0)
        if best <= 1e-6:
            return path
        path.append(next(other for gain, other in found if gain >= best - 1e-7))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("made", [BDeuScore, bic])
def test_hill_climbing_takes_the_textbooks_steps(made: type[BDeuScore], seed: int) -> None:
    table = sampled(rows=150, seed=seed)
    known = Constraints.of(NAMES, forbidden=[(NAMES[0], NAMES[1])], required=[(NAMES[2], NAMES[7])], max_parents=3)
    start = known.required_parents
    expected = climbed(made(table), known, start)
    climber, path = Climber(made(table), known, start), [start]
    while (move := climber.best()) is not None and move.gain > 1e-6:
        climber.step(move)
        path.append(climber.graph)
    assert path == expected
    assert hill_climbing(made(table), known, start) == expected[-1]


def test_tabu_and_perturbing_are_no_worse_than_climbing() -> None:
    for seed in range(3):
        score = bic(sampled("storm", 300, seed))
        known, start = Constraints.none(score.variables), empty(len(score.variables))
        plain = total(score, hill_climbing(score, known, start))
        assert total(score, tabu(score, known, start)) >= plain - 1e-7
        assert total(score, iterated(score, known, start, 0, rounds=10)) >= plain - 1e-7


# Best order score search


def plain_grow_shrink(score: Score, node: int, before: list[int]) -> tuple[float, set[int]]:
    kept: list[int] = []
    now = score.family(node, kept)
    while others := [v for v in before if v not in kept]:
        gains = [score.family(node, [*kept, v]) for v in others]
        if max(gains) <= now + 1e-7:
            break
        now = max(gains)
        kept.append(others[int(np.argmax(gains))])
    while len(kept) > 1:
        fewer = [score.family(node, [u for u in kept if u != v]) for v in kept]
        if max(fewer) <= now + 1e-7:
            break
        now = max(fewer)
        del kept[int(np.argmax(fewer))]
    return now, {*kept}


@given(st.permutations(range(len(NAMES))))
@settings(max_examples=examples(30), deadline=None)
def test_a_tree_grows_and_shrinks_as_without_one(order: list[int]) -> None:
    node, before = order[-1], order[: len(order) // 2 + 1]
    tree = GrowShrinkTree(SCORE, Constraints.none(NAMES), node)
    for some in (before, before[:2], []):
        flags = np.zeros(len(NAMES), dtype=bool)
        flags[[v for v in some if v != node]] = True
        found = tree.trace(flags)
        now, kept = plain_grow_shrink(SCORE, node, sorted(v for v in some if v != node))
        assert found.score == pytest.approx(now, abs=1e-9)
        assert {*found.parents} == kept


@given(st.permutations(range(len(NAMES))), st.integers(0, 2**32))
@settings(max_examples=examples(15), deadline=None)
def test_what_an_order_knows_is_what_its_trees_say(order: list[int], seed: int) -> None:
    """After moves and shakes: the traces that were kept are those of the places, and no move loses."""
    random = np.random.default_rng(seed)
    place = np.argsort(order)
    known = Constraints.none(NAMES)
    now = VariableOrder(grow_shrink_trees(SCORE, known), precedence(known), place)
    for _ in range(10):
        before, v = now.total, int(random.integers(len(NAMES)))
        gain = now.move(v)
        assert gain >= 0
        assert now.total == pytest.approx(before + gain, abs=1e-6)
        if random.random() < 0.3:
            now = now.perturbed(random, 3)
        assert sorted(now.place.tolist()) == [*range(len(NAMES))]
        for w, trace in enumerate(now.traces):
            assert trace.parents == now.trees[w].trace(now.place < now.place[w]).parents
    graph.in_order(dict(enumerate(now.graph)))


def test_a_screen_hides_nothing_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent that shows only beside another: x = (a xor b), a little of a alone."""
    random = np.random.default_rng(0)
    a, b, noise = (random.random(4000) < p for p in (0.5, 0.5, 0.05))
    x = np.where(random.random(4000) < 0.1, a, (a ^ b) ^ noise)
    others = random.random((3, 4000)) < 0.5
    table = CodedTable(tuple("abxuvw"), np.stack([a, b, x, *others]).astype(np.uint8), (2,) * 6)
    monkeypatch.setattr(boss_module, "SCREENED_VARIABLES", 0)
    found = boss(bic(table), Constraints.none(table.variables), empty(6), 0)
    neighbours_of_x = {v for v in range(6) if v in found[2] or 2 in found[v]}
    assert {0, 1} <= neighbours_of_x


@pytest.mark.parametrize("name", ["asia", "storm"])
def test_the_best_order_is_at_least_as_good_as_the_truth(name: str) -> None:
    score = bic(sampled(name, 5000, 3))
    found = boss(score, Constraints.none(score.variables), empty(len(score.variables)), 0)
    assert total(score, found) >= total(score, truth(name)) - 1e-6


# Orders and constraints


@given(constrained())
@settings(max_examples=examples(30), deadline=None)
def test_first_orders_keep_to_required_arrows_and_tiers(asked: tuple[Constraints, Parents]) -> None:
    known, start = asked
    order = first_order(start, known)
    place = {v: i for i, v in enumerate(order)}
    assert all(place[p] < place[v] for v, above in enumerate(start) for p in above)
    must = precedence(known)
    assert all(place[int(i)] < place[int(j)] for i, j in np.argwhere(must))


def test_k2_keeps_to_the_order_of_columns() -> None:
    found = k2_search(SCORE, Constraints.none(NAMES), empty(len(NAMES)), 0)
    assert all(parent < child for child, above in enumerate(found) for parent in above)


def test_tabu_search_gives_constant_columns_no_parents() -> None:
    """An arrow to a constant column changes no score, and isn't drawn."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2, (2, 600))
    rows = {"a": a, "b": b, "both": a & b, "same": np.zeros(600, dtype=int)}
    table = {name: [f"s{value}" for value in values] for name, values in rows.items()}
    found = credo.learn_structure(table, search="tabu")
    assert found.parents["same"] == ()


@pytest.mark.parametrize("seed", range(3))
def test_tabu_search_ends_no_lower_than_hill_climbing(seed: int) -> None:
    table = credo.Network.example("asia").sample(400, seed=seed)
    found = [credo.learn_structure(table, "bic", search) for search in ("hill-climbing", "tabu")]
    scores = [sum(net.score(table, "bic").values()) for net in found if isinstance(net, credo.Network)]
    assert scores[1] >= scores[0] - 1e-6


def test_the_default_is_exact_where_variables_are_few() -> None:
    """A lamp with two switches: no single arrow tells anything of it, so that greedy searches find none."""
    random = np.random.default_rng(0)
    up, down = random.integers(0, 2, (2, 1000))
    lamp = up ^ down ^ (random.random(1000) < 0.05)
    table = {name: [f"s{x}" for x in column] for name, column in (("up", up), ("down", down), ("lamp", lamp))}
    assert sum(map(len, credo.learn_structure(table).parents.values())) == 2
    assert credo.learn_structure(table) == credo.learn_structure(table, search="exact")
