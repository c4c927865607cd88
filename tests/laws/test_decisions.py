"""Influence diagrams = the best of all policies, one by one; information is never worth less than nothing."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.networks.decisions.influence_diagram import InfluenceDiagram
from credo.networks.network import Network

OIL = InfluenceDiagram(
    "Oil, Test -> Seismic; Test, Seismic -> Drill; Oil, Drill -> Profit; Test -> Cost",
    tables={
        "Oil": {"dry": 0.5, "wet": 0.3, "soaking": 0.2},
        "Seismic": {
            ("dry", "do"): {"none": 0.6, "open": 0.3, "closed": 0.1, "not done": 0.0},
            ("wet", "do"): {"none": 0.3, "open": 0.4, "closed": 0.3, "not done": 0.0},
            ("soaking", "do"): {"none": 0.1, "open": 0.4, "closed": 0.5, "not done": 0.0},
            ("dry", "skip"): {"none": 0.0, "open": 0.0, "closed": 0.0, "not done": 1.0},
            ("wet", "skip"): {"none": 0.0, "open": 0.0, "closed": 0.0, "not done": 1.0},
            ("soaking", "skip"): {"none": 0.0, "open": 0.0, "closed": 0.0, "not done": 1.0},
        },
    },
    utilities={
        "Profit": {
            ("dry", "drill"): -70, ("wet", "drill"): 50, ("soaking", "drill"): 200,
            ("dry", "leave"): 0, ("wet", "leave"): 0, ("soaking", "leave"): 0,
        },
        "Cost": {"do": -10, "skip": 0},
    },
    decisions={"Test": ["do", "skip"], "Drill": ["drill", "leave"]},
)  # fmt: skip


@st.composite
def diagrams(draw: st.DrawFn) -> InfluenceDiagram:
    """Up to two decisions, four chance variables and two utilities, with random arrows; some probabilities are 0."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = ["c", "d", *draw(st.lists(st.sampled_from("cccd"), min_size=1, max_size=3))]
    kinds = [kind for i, kind in enumerate(kinds) if kind == "c" or kinds[:i].count("d") < 2]
    order = [f"{kind}{i}" for i, kind in enumerate(random.permutation(kinds).tolist())]
    parents = {name: tuple(x for x in order[:i] if random.random() < 0.45) for i, name in enumerate(order)}
    decisions = [name for name in order if name[0] == "d"]
    if len(decisions) == 2 and decisions[0] not in parents[decisions[1]]:
        parents[decisions[1]] = (*parents[decisions[1]], decisions[0])
    parents |= {f"u{i}": tuple(x for x in order if random.random() < 0.6) for i in range(draw(st.integers(1, 2)))}
    states = {name: tuple(range(int(random.integers(2, 4 if name[0] == "c" else 3)))) for name in order}
    sizes = {name: [len(states[each]) for each in own] for name, own in parents.items()}
    tables = {}
    for name in (name for name in order if name[0] == "c"):
        table = random.dirichlet(np.ones(len(states[name])), sizes[name]) * (random.random([*sizes[name], 1]) < 0.9)
        table[..., 0] += 1 - table.sum(-1)
        tables[name] = table
    utilities = {name: random.normal(size=sizes[name]).round(2) * 10 for name in parents if name[0] == "u"}
    return InfluenceDiagram(parents, tables, utilities, decisions, states)


def utility(diagram: InfluenceDiagram, net: Network, known: dict[str, Any]) -> float:
    """The expected utility where decisions are variables of a network."""
    total = 0.0
    for name, table in diagram.utilities.items():
        own = [*diagram.parents[name]]
        weights = np.array([*net.query(own, known).values()]) if own else np.ones(1)
        total += float(weights @ table.reshape(-1))
    return total


def best_of_all(diagram: InfluenceDiagram, known: dict[str, Any]) -> float:
    """Every function from all that is known to an option, for all decisions, one by one."""
    found, left = -np.inf, [name for name in diagram.decisions if name not in known]
    rows = {d: [*product(*(diagram.states[name] for name in diagram.known_before(d)))] for d in left}
    for choice in product(*(range(len(diagram.states[d])) for d in left for _ in rows[d])):
        at, parents, tables = 0, dict(diagram.network.parents), dict(diagram.network.tables)
        for d in left:
            own = choice[at : at + len(rows[d])]
            at += len(rows[d])
            parents[d] = diagram.known_before(d)
            shape = [*(len(diagram.states[name]) for name in parents[d]), len(diagram.states[d])]
            tables[d] = np.eye(len(diagram.states[d]))[[*own]].reshape(shape)
        found = max(found, utility(diagram, Network(parents, tables, diagram.states), known))
    return found


def histories(diagram: InfluenceDiagram) -> int:
    sizes = [len(diagram.states[d]) ** np.prod([len(diagram.states[n]) for n in diagram.known_before(d)], dtype=int)
             for d in diagram.decisions]  # fmt: skip
    return int(np.prod(sizes, dtype=float))


@settings(max_examples=60, deadline=None)
@given(diagrams())
def test_the_best_of_all_policies(diagram: InfluenceDiagram) -> None:
    policy = diagram.policy()
    np.testing.assert_allclose(utility(diagram, diagram.following(policy), {}), policy.expected_utility, atol=1e-9)
    if histories(diagram) <= 300:
        np.testing.assert_allclose(policy.expected_utility, best_of_all(diagram, {}), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(diagrams(), st.integers(0, 10))
def test_given_evidence(diagram: InfluenceDiagram, pick: int) -> None:
    """Of variables before all decisions: a state, or a set of states."""
    early = [name for name in diagram.chance if not diagram.network.ancestors(name) & {*diagram.decisions}]
    if not early:
        return
    name = early[pick % len(early)]
    states = diagram.states[name]
    known: dict[str, Any] = {name: states[pick % len(states)] if pick % 2 else [*states[1:]]}
    if diagram.network.log_probability(known) == -np.inf:
        with pytest.raises(credo.EvidenceError, match="impossible"):
            diagram.policy(known)
        return
    policy = diagram.policy(known)
    np.testing.assert_allclose(utility(diagram, diagram.following(policy), known), policy.expected_utility, atol=1e-9)
    if histories(diagram) <= 100:
        np.testing.assert_allclose(policy.expected_utility, best_of_all(diagram, known), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(diagrams())
def test_decisions_that_were_taken(diagram: InfluenceDiagram) -> None:
    """The best first option is the one after which the expected utility is largest, if nothing is known before it."""
    first = diagram.decisions[0]
    if diagram.known_before(first):
        return
    each = {option: diagram.expected_utility({first: option}) for option in diagram.states[first]}
    policy = diagram.policy()
    np.testing.assert_allclose(max(each.values()), policy.expected_utility, atol=1e-9)
    np.testing.assert_allclose(each[policy.choose(first)], policy.expected_utility, atol=1e-9)
    np.testing.assert_allclose([*policy[first].expected_utilities().values()], [*each.values()], atol=1e-9)


def test_what_is_given_as_none_is_unknown() -> None:
    diagram = InfluenceDiagram("A -> U; D -> U", {"A": 0.5}, {"U": [[1.0, 0.0], [0.0, 1.0]]}, ["D"])
    assert diagram.value_of_information("A", given={"A": None}) == diagram.value_of_information("A") == 0.5
    assert [each.name for each in diagram.what_to_ask(given={"A": None}).questions] == ["A"]


@settings(max_examples=40, deadline=None)
@given(diagrams())
def test_information_is_never_worth_less_than_nothing(diagram: InfluenceDiagram) -> None:
    found = diagram.what_to_ask()
    for each in found.questions:
        assert each.value >= 0
        perfect = diagram.value_of_information(each.name)
        assert perfect == each.value
        rows = len(diagram.states[each.name])
        blurred = diagram.value_of_information(each.name, test=np.full((rows, rows), 0.2 / rows) + 0.8 * np.eye(rows))
        assert blurred <= perfect + 1e-9  # a test never tells more than the state itself
        useless = diagram.value_of_information(each.name, test=np.full((rows, 2), 0.5))
        assert useless == pytest.approx(0.0, abs=1e-9)


def test_the_oil_wildcatter() -> None:
    """Raiffa's: 22.5, by testing first and drilling unless there is no structure (Shenoy 1992)."""
    policy = OIL.policy()
    assert policy.expected_utility == pytest.approx(22.5)
    assert policy.choose("Test") == "do"
    drilled = [policy.choose("Drill", {"Test": "do", "Seismic": s}) for s in ("none", "open", "closed")]
    assert drilled == ["leave", "drill", "drill"]
    assert policy["Test"].expected_utilities() == pytest.approx({"do": 22.5, "skip": 20.0})
    assert OIL.value_of_information("Oil", "Drill") == pytest.approx(32.5)  # 55 with perfect information, no test
    asked = OIL.what_to_ask({"Oil": 40.0}, before="Drill")
    assert asked.best is None
    assert "nothing is worth asking" in repr(asked)
    assert OIL.expected_utility({"Test": "do", "Seismic": "closed"}) == pytest.approx(87.5 - 10, abs=0.5)
    assert "Seismic" in repr(policy)
    assert "not done" not in [row[0][0] for row in policy["Drill"].rows() if row[0][-1] == "do"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a utility with children": ({"arrows": "A, D -> U; U -> B"}, "the utility 'U' has the child 'B'"),
    "a cycle": ({"arrows": "A -> B -> A; A, D -> U"}, "a cycle"),
    "no order": ({"arrows": "A, D, E -> U; B", "decisions": ["D", "E"], "utilities": {"U": np.zeros((2, 2, 2))}},
                 "the decisions 'D' and 'E' have no order"),
    "no utility": ({"arrows": "A; B; D", "utilities": {}}, "at least one utility"),
    "no kind": ({"arrows": "A, D -> U; B; X"}, "'X' has no table, no utilities and no options"),
    "two kinds": ({"decisions": ["D", "A"]}, "'A' is given as table and decision"),
    "unknown": ({"utilities": {"W": 1}}, "a utility is for 'W', which isn't there"),
    "few numbers": ({"utilities": {"U": [1, 2]}}, "must be 2 x 2 numbers"),
    "no number": ({"utilities": {"U": {("yes", "yes"): "much"}}}, "must be a number"),
    "a missing row": ({"utilities": {"U": {("yes", "yes"): 1}}}, "isn't given for A=yes, D=no"),
    "nan": ({"utilities": {"U": [[1, 2], [3, float("nan")]]}}, "must be finite"),
    "no options": ({"decisions": {"D": []}}, "must have at least one state"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_diagrams(case: str) -> None:
    changed, message = BAD[case]
    good: dict[str, Any] = {
        "arrows": "A, D -> U; B", "tables": {"A": 0.2, "B": 0.5}, "utilities": {"U": [[1, 2], [3, 4]]},
        "decisions": ["D"],
    }  # fmt: skip
    assert InfluenceDiagram(**good).expected_utility() == pytest.approx(0.2 * 2 + 0.8 * 4)
    with pytest.raises(credo.NetworkError, match=message):
        InfluenceDiagram(**{**good, **changed})


def test_bad_questions() -> None:
    with pytest.raises(credo.EvidenceError, match="depends on the decision 'Test', which isn't taken yet"):
        OIL.policy({"Seismic": "open"})
    with pytest.raises(credo.EvidenceError, match="'Test', which is taken before it, isn't"):
        OIL.policy({"Drill": "drill"})
    with pytest.raises(credo.EvidenceError, match="depends on the decision 'Test', and can't be known"):
        OIL.value_of_information("Seismic", "Test")
    with pytest.raises(credo.NetworkError, match="no decision 'Drll'"):
        OIL.value_of_information("Oil", "Drll")
    with pytest.raises(credo.NetworkError, match="no chance variable 'Profit'"):
        OIL.value_of_information("Profit")
    with pytest.raises(credo.EvidenceError, match="depends on 'Seismic': give its state"):
        OIL.policy().choose("Drill", {"Test": "do"})
    with pytest.raises(credo.EvidenceError, match="all decisions were taken"):
        OIL.what_to_ask(given={"Test": "skip", "Drill": "leave"})
    with pytest.raises(credo.NetworkError, match="must be a number"):
        OIL.what_to_ask({"Oil": "dear"})  # type: ignore[dict-item]
    with pytest.raises(credo.EvidenceError, match="one of its options"):
        OIL.policy({"Test": ["do"]})


def test_files(tmp_path: Path) -> None:
    """Written as GeNIe writes them, saved and loaded: the same."""
    odd = InfluenceDiagram(
        {"rain today": (), "take it?": ("rain today",), "comfort": ("rain today", "take it?")},
        {"rain today": {"a lot": 0.25, "<5": 0.75}}, {"comfort": [[7, 0], [2, 10]]}, {"take it?": ["yes!", "no"]},
    )  # fmt: skip
    for diagram in (OIL, odd):
        diagram.write(tmp_path / "d.xdsl")
        back = InfluenceDiagram.read(tmp_path / "d.xdsl")
        assert back.expected_utility() == pytest.approx(diagram.expected_utility(), abs=1e-12)
        assert (back.states, back.decisions, back.utilities.keys()) == (
            diagram.states, diagram.decisions, diagram.utilities.keys(),
        )  # fmt: skip
        credo.save(diagram, tmp_path / "d.credo")
        assert credo.load(tmp_path / "d.credo") == diagram
    graph = credo.CausalGraph("X -> M -> Y; X <-> Y; U -> M", hidden="U")
    credo.save(graph, tmp_path / "g.credo")
    assert credo.load(tmp_path / "g.credo") == graph


GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Invest" numsamples="1000">
  <nodes>
    <cpt id="Market"><state id="up"/><state id="down"/><probabilities>0.4 0.6</probabilities></cpt>
    <cpt id="Expert">
      <state id="good"/><state id="bad"/><parents>Market</parents><probabilities>0.8 0.2 0.3 0.7</probabilities>
    </cpt>
    <decision id="Invest"><state id="yes"/><state id="no"/><parents>Expert</parents></decision>
    <utility id="Gain"><parents>Market Invest</parents><utilities>10 1 -5 1</utilities></utility>
    <utility id="Fee"><parents>Invest</parents><utilities>1 0</utilities></utility>
    <mau id="Total"><parents>Gain Fee</parents><weights>2 -1</weights></mau>
  </nodes>
  <extensions><genie version="1.0" app="GeNIe" name="Invest"/></extensions>
</smile>
"""


def test_a_genie_file(tmp_path: Path) -> None:
    (tmp_path / "invest.xdsl").write_text(GENIE)
    diagram = InfluenceDiagram.read(tmp_path / "invest.xdsl")
    # P(good) = .5, P(up | good) = .64: 2(.64 * 10 - .36 * 5) - 1 = 8.2; P(up | bad) = .16: leave, 2
    assert diagram.expected_utility() == pytest.approx(0.5 * 8.2 + 0.5 * 2)
    assert [row[:2] for row in diagram.policy()["Invest"].rows()] == [(("good",), "yes"), (("bad",), "no")]
    with pytest.raises(credo.NetworkError, match=r"'Invest' is of the kind 'decision'.*InfluenceDiagram.read"):
        credo.Network.read(tmp_path / "invest.xdsl")
    bad = {
        "<utilities>10 1 -5 1</utilities>": ("<utilities>10 1</utilities>", "must be 2 x 2 numbers"),
        "<parents>Gain Fee</parents>": ("<parents>Gain</parents>", "a weight for each utility"),
        "<parents>Market Invest</parents>": ("<parents>Market Inve</parents>", "unknown variable 'Inve'"),
        "<parents>Expert</parents></decision>": ("<parents>Gain</parents></decision>", "unknown variable 'Gain'"),
    }
    for old, (new, message) in bad.items():
        (tmp_path / "bad.xdsl").write_text(GENIE.replace(old, new))
        with pytest.raises(credo.NetworkError, match=message):
            InfluenceDiagram.read(tmp_path / "bad.xdsl")
    credo.Network.example("asia").write(tmp_path / "asia.xdsl")
    with pytest.raises(credo.NetworkError, match="has no utilities"):
        InfluenceDiagram.read(tmp_path / "asia.xdsl")
    with pytest.raises(credo.NetworkError, match="must end in"):
        diagram.write(tmp_path / "d.bif")
