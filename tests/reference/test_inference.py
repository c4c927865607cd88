"""Every exact answer against counting out all cases, on random networks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo._kernels.networks import propagation
from credo.errors import EvidenceError
from credo.networks.factor import Factor
from credo.networks.inference import elimination, junction, rooted_tree, trees
from credo.networks.inference import joint_table as whole
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from tests.networks import evidence, joint, markov_networks, networks

ANY = st.one_of(networks(), networks(most=8, zeros=False), markov_networks())
CASES = settings(max_examples=60, deadline=None)


ONE, ANY_EVIDENCE, EACH = "one table", "one tree for any evidence", "a tree for each pattern"
PLAIN = "elimination without kernels"
LOGARITHMS, EACH_IN_LOGARITHMS = "the one tree in logarithms", "a tree for each pattern in logarithms"


@pytest.fixture(params=[ONE, ANY_EVIDENCE, EACH, LOGARITHMS, EACH_IN_LOGARITHMS, PLAIN], autouse=True, scope="module")
def engine(request: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        if request.param != ONE:
            patch.setattr(whole, "LARGEST_JOINT_TABLE", 0)
        if request.param == PLAIN:
            patch.setattr(elimination, "is_loaded", lambda: False)
            patch.setattr(elimination.PRICE, "pays", lambda _: False)
        if request.param in (EACH, EACH_IN_LOGARITHMS):
            patch.setattr(trees, "SMALL_TREE", 0)
            patch.setattr(trees, "MIDDLE_TREE", 0)
        if request.param in (LOGARITHMS, EACH_IN_LOGARITHMS):
            in_floats = propagation.propagate
            patch.setattr(
                junction,
                "propagate",
                lambda end, *args: np.nan if end != propagation.FACTORS else in_floats(end, *args),
            )
        yield


@CASES
@given(st.data())
def test_marginals_and_the_probability_of_evidence(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    product_of_all = joint(net, findings)
    total = float(product_of_all.table.sum())
    assert net.log_probability(findings) == pytest.approx(np.log(total) if total else -np.inf, abs=1e-9)
    if total == 0:
        with pytest.raises(EvidenceError, match="impossible"):
            net.marginals(findings)
        return
    for name, found in net.marginals(findings).items():
        others = [other for other in net.variables if other != name]
        wanted = product_of_all.sum_out(others).table / total
        assert list(found) == list(net.states[name])
        assert list(found.values()) == pytest.approx(wanted.tolist(), abs=1e-12)


@CASES
@given(st.data())
def test_joint_queries(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    names = data.draw(st.lists(st.sampled_from(net.variables), min_size=1, unique=True))
    product_of_all = joint(net, findings)
    total = float(product_of_all.table.sum())
    if total == 0:
        with pytest.raises(EvidenceError, match="impossible"):
            net.query(names, findings)
        return
    wanted = (
        product_of_all.sum_out([name for name in net.variables if name not in names]).over(tuple(names)).table / total
    )
    found = net.query(names, findings)
    assert list(found) == list(product(*(net.states[name] for name in names)))
    assert list(found.values()) == pytest.approx(wanted.reshape(-1).tolist(), abs=1e-12)


@CASES
@given(st.data())
def test_most_probable(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    names = data.draw(st.none() | st.lists(st.sampled_from(net.variables), min_size=1, unique=True))
    product_of_all = joint(net, findings)
    if not product_of_all.table.any():
        with pytest.raises(EvidenceError, match="impossible"):
            net.most_probable(names, findings)
        return
    kept = net.variables if names is None else tuple(names)
    summed = product_of_all.sum_out([name for name in net.variables if name not in kept]).over(kept)
    found = net.most_probable(names, findings)
    place = tuple(net.states[name].index(found[name]) for name in kept)
    assert summed.table[place] == pytest.approx(summed.table.max(), rel=1e-9)
    assert found.log_joint == pytest.approx(np.log(summed.table.max()), abs=1e-9)


@CASES
@given(st.data())
def test_a_smallest_conflict_is_named(data: st.DataObject) -> None:
    net = data.draw(networks())
    findings = data.draw(evidence(net))
    if joint(net, findings).table.any():
        return
    from credo.networks.inference.conflict import smallest_conflict

    def possible(some: Any) -> bool:
        return bool(joint(net, some).table.any())

    found = smallest_conflict(findings, possible)
    assert not possible(found)
    for name in found:
        assert possible({other: value for other, value in found.items() if other != name})


def test_networks_of_one_variable_and_of_none_observed() -> None:
    net = Network({"a": ()}, {"a": [0.25, 0.75]}, {"a": ("x", "y")})
    assert net.query("a") == pytest.approx({"x": 0.25, "y": 0.75}, rel=1e-14)  # exp(log x) isn't x to the last digit
    assert net.query("a", {"a": "x"}) == {"x": 1.0, "y": 0.0}
    assert net.log_probability({"a": "y"}) == pytest.approx(np.log(0.75))
    empty = MarkovNetwork({"a": (0, 1, 2)}, [])
    assert empty.query("a") == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert empty.log_probability() == pytest.approx(np.log(3))


@CASES
@given(st.data())
@pytest.mark.slow
def test_rows_with_any_cells_missing(data: st.DataObject) -> None:
    net = data.draw(ANY)
    target = data.draw(st.sampled_from(net.variables))
    product_of_all = joint(net, {})
    total = float(product_of_all.table.sum())
    if total == 0:
        return
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = [
        np.unravel_index(i, product_of_all.table.shape)
        for i in random.choice(product_of_all.table.size, 12, p=product_of_all.table.reshape(-1) / total)
    ]
    columns: dict[str, Any] = {}
    for i, name in enumerate(product_of_all.scope):
        states = [net.states[name][row[i]] for row in rows]
        columns[name] = [state if random.random() < 0.6 else None for state in states]
    if all(cell is None for column in columns.values() for cell in column):
        return
    found = net.predict_proba(target, columns)
    scores = net.log_prob(columns)
    filled = net.impute(columns).to_pydict()
    for r in range(len(rows)):
        known = {name: column[r] for name, column in columns.items() if column[r] is not None}
        assert scores[r] == pytest.approx(np.log(joint(net, known).table.sum()), abs=1e-9)
        others = {name: value for name, value in known.items() if name != target}
        assert found[r].tolist() == pytest.approx([*net.query(target, others).values()], abs=1e-12)
        best = net.most_probable(given=known)
        completed = {name: column[r] for name, column in filled.items()}
        assert {**completed, **known} == completed
        assert net.log_probability(completed) == pytest.approx(best.log_joint, abs=1e-9)


@CASES
@given(st.data())
def test_rows_that_may_be_impossible(data: st.DataObject) -> None:
    """Cells at random: what a row says is what the question says, the error included."""
    net = data.draw(networks())
    target = data.draw(st.sampled_from(net.variables))
    row = {name: data.draw(st.sampled_from([*states, None])) for name, states in net.states.items()}
    if all(value is None for value in row.values()):
        return
    known = {name: value for name, value in row.items() if value is not None}
    log_probability = net.log_probability(known)
    assert net.log_prob([row])[0] == pytest.approx(log_probability, abs=1e-9)
    others = {name: value for name, value in known.items() if name != target}
    if net.log_probability(others) == -np.inf:
        with pytest.raises(EvidenceError, match="row 1"):
            net.predict_proba(target, [row])
    else:
        assert net.predict_proba(target, [row])[0].tolist() == pytest.approx([*net.query(target, others).values()])


@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1.0, 1e300])
def test_likelihoods_of_any_size(scale: float) -> None:
    net = Network("A -> B", {"A": 0.5, "B": {"yes": 0.9, "no": 0.2}})
    soft = {"A": {"yes": scale, "no": 3 * scale}, "B": {"yes": 2 * scale, "no": scale}}
    wanted = 0.5 * 1 * (0.9 * 2 + 0.1) / (0.5 * (0.9 * 2 + 0.1) + 0.5 * 3 * (0.2 * 2 + 0.8))
    assert net.query("A", soft)["yes"] == pytest.approx(wanted)
    assert net.log_probability(soft) == pytest.approx(np.log(0.5 * 1.9 + 1.5 * 1.2) + 2 * np.log(scale), rel=1e-6)


@pytest.mark.slow
def test_rows_that_take_long_are_answered_by_a_tree_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Network.example("asia")
    table = {"XRay": ["yes", None, "no"], "Smoking": [None, "yes", "no"]}
    quick = net.predict_proba("LungCancer", table), net.log_prob(table), net.impute(table)
    for slow in ("MOST_VISITED_CELLS", "KEPT_PRODUCT"):
        monkeypatch.setattr(rooted_tree, slow, 0)
        assert net.predict_proba("LungCancer", table) == pytest.approx(quick[0], abs=1e-12)
        assert net.log_prob(table) == pytest.approx(quick[1], abs=1e-12)
        assert net.impute(table) == quick[2]


def test_a_few_rows_need_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers and errors as those of kernels, without any; other engines' workers all use kernels."""
    net = Network.example("asia")
    table = {"XRay": ["yes", None, "no", "yes"], "Smoking": [None, "yes", "no", "no"]}
    monkeypatch.setattr(elimination, "is_loaded", lambda: True)
    compiled = net.predict_proba("LungCancer", table), net.log_prob(table), net.impute(table)
    monkeypatch.setattr(elimination, "is_loaded", lambda: False)
    monkeypatch.setattr(elimination.PRICE, "pays", lambda steps: steps > 4 * 8 * elimination.NUMPY_STEP)
    monkeypatch.setattr(rooted_tree, "answer_rows", None)
    net = Network.example("asia")
    assert net.predict_proba("LungCancer", table) == pytest.approx(compiled[0], abs=1e-13)
    assert net.log_prob(table) == pytest.approx(compiled[1], abs=1e-13)
    assert net.impute(table) == compiled[2]
    impossible = {"TuberculosisOrCancer": ["yes", "no"], "LungCancer": ["yes", "yes"]}
    with pytest.raises(EvidenceError, match=r"row 2: .*impossible"):
        net.predict_proba("XRay", impossible)
    with pytest.raises(TypeError, match="not callable"), credo.engines.using(Elsewhere()):
        net.log_prob(table)
    with pytest.raises(TypeError, match="not callable"):  # more rows than are worth it
        net.log_prob({"XRay": ["yes"] * 5})


class Elsewhere(credo.engines.Serial):
    """An engine whose workers are other processes, for all that a job knows."""

    shares_memory = False


def test_constants_that_are_zero() -> None:
    net = MarkovNetwork({"a": (0, 1)}, [Factor((), np.array(0.0)), Factor(("a",), np.ones(2))])
    assert net.log_probability() == -np.inf
    for ask in (lambda: net.query("a"), lambda: net.predict_proba("a", [{"a": 1}]), lambda: net.impute([{"a": 1}])):
        with pytest.raises(EvidenceError, match="impossible"):
            ask()


def test_sets_of_states_hold_when_sampling() -> None:
    net = MarkovNetwork({"a": (0, 1, 2), "b": (0, 1, 2)}, [Factor(("a", "b"), np.eye(3))])
    found: Any = net.query("b", {"b": [0, 1]}, method="gibbs", seed=1, samples=1000)
    assert found[2] == 0.0
    assert abs(found[0] - 0.5) < 3 * found.standard_error[0]  # zeros keep runs apart, but there are many


def test_trees_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "is_loaded", lambda: True)
    monkeypatch.setattr(trees, "CACHED_CELLS", 100)
    monkeypatch.setattr(whole, "LARGEST_JOINT_TABLE", 0)
    monkeypatch.setattr(trees, "SMALL_TREE", 0)
    monkeypatch.setattr(trees, "MIDDLE_TREE", 0)
    net = Network.example("asia")
    wanted = {name: net.query("Smoking", {name: "yes"}) for name in net.variables}
    again = {name: net.query("Smoking", {name: "yes"}) for name in net.variables}
    assert wanted == again
    held = net.trees._trees.values()
    assert 0 < sum(tree.cells for tree in held) == net.trees._cells <= 100


@pytest.mark.slow
def test_threads_share_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Different patterns and values at once, of trees that several threads use and that make room for others."""
    monkeypatch.setattr(elimination, "is_loaded", lambda: True)
    monkeypatch.setattr(trees, "CACHED_CELLS", 2000)
    names = [f"x{i}" for i in range(12)]
    random = np.random.default_rng(3)
    above = {name: tuple(names[max(0, i - 3) : i]) for i, name in enumerate(names)}
    tables: dict[str, Any] = {name: random.dirichlet([1, 1], [2] * len(above[name])) for name in names}
    states = dict.fromkeys(names, ("a", "b"))
    given = [{str(name): "ab"[i % 2] for name in random.choice(names, 1 + i % 4)} for i in range(40)]

    def answers(net: Network, findings: dict[str, str]) -> Any:
        free = [name for name in names if name not in findings]
        asked = net.marginals(findings), net.query(free[:2], findings), net.most_probable(given=findings)
        return [*map(dict, asked)], net.log_probability(findings)

    alone, shared = Network(above, tables, states), Network(above, tables, states)
    wanted = [answers(alone, findings) for findings in given]
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(answers, [shared] * 400, given * 10)]
    assert found == wanted * 10


def test_numbers_too_small_for_one_table() -> None:
    """Products beyond what a float holds, and numbers that are hardly more than 0."""
    names = [f"x{i}" for i in range(11)]
    rows = {"yes": {"a": 1e-30, "b": 1 - 1e-30}, "no": {"a": 3e-30, "b": 1 - 3e-30}}
    net = Network({"C": (), **dict.fromkeys(names, ("C",))}, {"C": 0.5, **dict.fromkeys(names, rows)})
    seen = dict.fromkeys(names, "a")
    assert net.query("C", seen)["yes"] == pytest.approx(1 / (1 + 3.0**11))
    assert net.log_probability(seen) == pytest.approx(11 * np.log(1e-30) + np.log((1 + 3.0**11) / 2))
    faint = Network("A -> B", {"A": 0.5, "B": {"yes": [1e-310, 1], "no": [3e-310, 1]}})
    for found in (faint.query("A", {"B": "yes"})["yes"], faint.predict_proba("A", {"B": ["yes"]})[0, 0]):
        assert found == pytest.approx(0.25)
    assert faint.trees.joint(np.array([-1, 0]), np.empty(0), [0])[0] == pytest.approx([0.25, 0.75])
