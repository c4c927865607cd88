"""Nodes that aren't tables: answers against those of the expanded tables, and against pyAgrum."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import pytest

import credo
from credo import nodes
from credo.errors import SizeError
from credo.networks.inference.elimination import EliminationRun
from credo.networks.network import Network
from credo.networks.nodes.chain import Chain
from tests.node_distributions import CAUSES, cases, either_table, expanded, layered, noisy_max, strengths

CASES = cases()
FINDINGS: list[dict[str, Any]] = [
    {},
    {"z": "yes"},
    {"c0": "yes", "c3": "no", "z": "no"},
    {"z": {"yes": 0.2, "no": 0.9}, "c5": {"yes": 0.7, "no": 0.1}},
]
kinds = pytest.mark.parametrize("kind", CASES)


@kinds
def test_tables_are_those_of_the_formula(kind: str) -> None:
    net, flat = CASES[kind]
    assert net.tables["y"] == pytest.approx(flat.tables["y"], abs=1e-14)
    rows, count = net.table_rows("y", 5)
    assert count == 2**CAUSES
    assert rows == pytest.approx(flat.tables["y"].reshape(count, -1)[:5], abs=1e-14)


@kinds
@pytest.mark.parametrize("given", FINDINGS, ids=range(len(FINDINGS)))
def test_queries_are_those_of_the_table(kind: str, given: dict[str, Any]) -> None:
    net, flat = CASES[kind]
    found, wanted = net.marginals(given), flat.marginals(given)
    assert [*found] == [*wanted]
    for name in wanted:
        assert found[name] == pytest.approx(wanted[name], abs=1e-12)
    pair = net.query(["y", "c6"], given)
    assert pair == pytest.approx(flat.query(["y", "c6"], given), abs=1e-12)
    assert net.log_probability(given) == pytest.approx(flat.log_probability(given), abs=1e-12)
    possible = [state for state, p in flat.query("y", given).items() if p > 0]
    for state in (possible[0], possible[-1]):
        known = {**given, "y": state}
        assert net.query("c1", known) == pytest.approx(flat.query("c1", known), abs=1e-12)
        assert net.log_probability(known) == pytest.approx(flat.log_probability(known), abs=1e-12)


@kinds
@pytest.mark.parametrize("given", [{}, {"y": -1}, {"z": "yes"}], ids=range(3))
def test_most_probable_states_sum_over_auxiliary_variables(kind: str, given: dict[str, Any]) -> None:
    net, flat = CASES[kind]
    given = {name: net.states[name][state] if name == "y" else state for name, state in given.items()}
    found, wanted = net.most_probable(given=given), flat.most_probable(given=given)
    assert found.log_joint == pytest.approx(wanted.log_joint, abs=1e-12)
    assert flat.log_probability(dict(found)) == pytest.approx(wanted.log_joint, abs=1e-12)
    some = net.most_probable(["y", "c2"], given)
    assert some.log_joint == pytest.approx(flat.most_probable(["y", "c2"], given).log_joint, abs=1e-12)
    assert {*found} == {*net.variables}


@kinds
def test_rows_with_missing_cells(kind: str) -> None:
    net, flat = CASES[kind]
    table = net.sample(60, seed=4).to_pandas().astype(object)
    lost = np.random.default_rng(5).random(table.shape) < 0.3
    rows = table.where(~lost, None)
    assert net.log_prob(rows) == pytest.approx(flat.log_prob(rows), abs=1e-11)
    assert net.predict_proba("y", rows) == pytest.approx(flat.predict_proba("y", rows), abs=1e-11)
    mine, theirs = net.impute(rows), flat.impute(rows)
    assert mine.column_names == theirs.column_names
    assert flat.log_prob(mine) == pytest.approx(flat.log_prob(theirs), abs=1e-9)  # as probable, where there are ties


@kinds
def test_samples_have_the_variables_alone(kind: str) -> None:
    net, flat = CASES[kind]
    for given in ({}, {"z": "yes"}):
        drawn = net.sample(4000, given, seed=3)
        assert drawn.column_names == [*net.variables]
        wanted = flat.marginals(given)["y"]
        for state, p in wanted.items():
            share = np.mean([value == state for value in drawn["y"].to_pylist()])
            assert share == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 4000) + 1e-9)


@kinds
def test_elimination_in_numpy_agrees(kind: str) -> None:
    net, flat = CASES[kind]
    findings = net._findings({"z": "yes"})
    held = net.potentials
    run = EliminationRun(held, findings.codes, findings.weights, {f: held.scope(f) for f in range(len(held.children))})
    run.work(set())
    assert run.summed([]) == pytest.approx(flat.log_probability({"z": "yes"}), abs=1e-12)


@kinds
def test_interventions_and_explanations(kind: str) -> None:
    net, flat = CASES[kind]
    assert net.do({"c1": "yes"}).query("z") == pytest.approx(flat.do({"c1": "yes"}).query("z"), abs=1e-12)
    state = net.states["y"][0]
    assert net.do({"y": state}).query("z") == pytest.approx(flat.do({"y": state}).query("z"), abs=1e-12)
    assert net.explain("c0", {"z": "yes"}).log_odds == pytest.approx(
        flat.explain("c0", {"z": "yes"}).log_odds, abs=1e-10
    )
    assert net.d_separated("c0", "z", given=["y", "c1"]) == flat.d_separated("c0", "z", given=["y", "c1"])
    assert net.mutual_information("y", "c3") == pytest.approx(flat.mutual_information("y", "c3"), abs=1e-12)


@pytest.mark.parametrize("causes", [1, 2, 3, 12])
def test_noisy_nodes_of_many_sizes(causes: int) -> None:
    random = np.random.default_rng(causes)
    parents: dict[str, Any] = {f"c{i}": () for i in range(causes)}
    tables: dict[str, Any] = {name: random.dirichlet([1, 1]) for name in parents}
    parents["y"] = tuple(parents)
    given = strengths(causes)
    for child, table, own in (
        (nodes.NoisyOr(given, 0.02), either_table(given, 0.02, 0, 0), ("yes", "no")),
        (nodes.NoisyAnd(given), either_table(given, 0.0, 1, 1), ("yes", "no")),
        (*noisy_max(causes), ("severe", "mild", "none")),
    ):
        states = {**dict.fromkeys(parents, ("yes", "no")), "y": own}
        net, flat = (Network(parents, {**tables, "y": each}, states) for each in (child, table))
        assert net.tables["y"] == pytest.approx(table, abs=1e-13)
        for state in own:
            found, wanted = net.marginals({"y": state}), flat.marginals({"y": state})
            for name in parents:
                assert found[name] == pytest.approx(wanted[name], abs=1e-12)


def test_parents_of_many_states_and_other_neutral_ones() -> None:
    burn = {"big": [0.6, 0.3, 0.1], "small": [0.1, 0.5, 0.4]}
    pain = nodes.NoisyMax({"Burn": burn, "Cut": {"deep": [0.2, 0.2, 0.6]}}, neutral={"Cut": "none"})
    states = {"Burn": ("big", "small", "none"), "Cut": ("none", "deep"), "Pain": ("severe", "mild", "none")}
    net = Network("Burn -> Pain <- Cut", {"Burn": [0.1, 0.2, 0.7], "Cut": [0.8, 0.2], "Pain": pain}, states)
    table = net.tables["Pain"]
    assert table[2, 0].tolist() == [0.0, 0.0, 1.0]
    assert table[1, 1].tolist() == pytest.approx([1 - 0.9 * 0.8, 0.9 * 0.8 - 0.4 * 0.6, 0.4 * 0.6])
    swapped = nodes.NoisyOr({"A": 0.7}, leak=0.1)
    yes_first, no_first = (
        Network("A -> B", {"A": table_a, "B": swapped}, states)
        for table_a, states in (([0.3, 0.7], (True, False)), ([0.7, 0.3], (False, True)))
    )
    assert yes_first.query("B") == pytest.approx(no_first.query("B"))


def test_estimates_agree() -> None:
    net, flat = CASES["noisy-or"]
    wanted = flat.query("c1", {"z": "yes"})["yes"]
    for method in ("likelihood-weighting", "gibbs"):
        found: Any = net.query("c1", {"z": "yes"}, method=method, samples=20_000, seed=1)
        assert found["yes"] == pytest.approx(wanted, abs=6 * found.standard_error["yes"] + 5e-3)


def wide(causes: int) -> Network:
    parents: dict[str, Any] = {f"c{i}": () for i in range(causes)}
    tables: dict[str, Any] = dict.fromkeys(parents, 0.05)
    parents["y"] = tuple(parents)
    return Network(parents, {**tables, "y": nodes.NoisyOr(strengths(causes), leak=0.01)})


def test_a_hundred_causes() -> None:
    """P(cⱼ | y) by the formula: P(y = no) is a product."""
    net, given = wide(100), strengths(100)
    spared = 0.99 * np.prod([1 - 0.05 * p for p in given.values()])
    assert net.query("y")["no"] == pytest.approx(spared, rel=1e-12)
    found = net.query("c3", {"y": "yes"})["yes"]
    p = given["c3"]
    assert found == pytest.approx(0.05 * (1 - spared / (1 - 0.05 * p) * (1 - p)) / (1 - spared), rel=1e-12)
    best = net.most_probable(given={"y": "no"})
    assert best.method == "exact"
    assert {*best.values()} == {"no"}
    begun = time.process_time()
    for _ in range(10):
        net.query("c7", {"y": "yes"})
    assert time.process_time() - begun < 1.0
    with pytest.raises(SizeError, match="the table of 'y' has"):
        net.tables["y"]
    assert "NoisyOr" in repr(net.distributions["y"])
    assert len(repr(net)) < 3000


def test_findings_of_a_noisy_or_that_is_false_cut_it_apart() -> None:
    """A layer of diseases and one of findings, most of which are absent: exact, though it has loops everywhere."""
    random = np.random.default_rng(1)
    parents: dict[str, Any] = {f"d{i}": () for i in range(40)}
    tables: dict[str, Any] = dict.fromkeys(parents, 0.02)
    for j in range(60):
        above = tuple(f"d{i}" for i in random.choice(40, 6, replace=False))
        parents[f"f{j}"] = above
        tables[f"f{j}"] = nodes.NoisyOr({name: float(random.uniform(0.1, 0.9)) for name in above}, leak=0.01)
    net = Network(parents, tables)
    given = {f"f{j}": "yes" if j < 4 else "no" for j in range(60)}
    strength = np.zeros((60, 40))  # (findings, diseases)
    for j in range(60):
        for name, p in tables[f"f{j}"].causes.items():
            strength[j, int(name[1:])] = p

    def probability(without: int | None) -> float:
        """Inclusion and exclusion over the findings that are present (Heckerman 1989), of a disease being absent."""
        prior = np.where(np.arange(40) == without, 0.0, 0.02)
        total = 0.0
        for absent in product([False, True], repeat=4):
            gone = np.array([*absent, *[True] * 56])
            spared = np.prod(1 - strength[gone], axis=0)
            term = 0.99 ** gone.sum() * np.prod(1 - prior + prior * spared)
            total += (-1) ** sum(absent) * term
        return float(total)

    found = net.query("d5", given, method="exact")["no"]
    assert found == pytest.approx(0.98 * probability(5) / probability(None), rel=1e-8)


def test_pyagrum_agrees() -> None:
    gum = pytest.importorskip("pyagrum")
    given = strengths(5)
    alone = {name: 0.08 + (1 - 0.08) * p for name, p in given.items()}  # the leak counted in: compound parameters
    for add, weights in (("addNoisyORNet", given), ("addNoisyORCompound", alone)):
        theirs = gum.BayesNet()
        for name in given:
            theirs.add(gum.LabelizedVariable(name, name, 2))
            theirs.cpt(name).fillWith([0.6, 0.4])
        effect = gum.LabelizedVariable("y", "y", 2)
        getattr(theirs, add)(effect, 0.08)
        for name, p in weights.items():
            theirs.addWeightedArc(name, "y", p)
        parents: dict[str, Any] = {**dict.fromkeys(given, ()), "y": tuple(given)}
        mine = Network(parents, {**dict.fromkeys(given, (0.6, 0.4)), "y": nodes.NoisyOr(given, leak=0.08)}, (0, 1))
        engine = gum.LazyPropagation(theirs)
        for known in ({}, {"y": 1}, {"y": 0, "c2": 1}):
            engine.setEvidence(known)
            for name in given:
                if name not in known:
                    assert [*mine.query(name, known).values()] == pytest.approx(
                        engine.posterior(name).tolist(), abs=1e-6
                    )


def test_questions_and_equality() -> None:
    net, flat = CASES["noisy-max"]
    question = "P(y=severe | c0=yes, z=no)"
    assert credo.ask(net, question) == pytest.approx(credo.ask(flat, question))
    assert layered(noisy_max()[0], {"y": ("severe", "mild", "none")}) == net
    assert expanded(net, net.tables["y"]) == net


def random_child(random: np.random.Generator, above: list[str]) -> Any:
    """Any kind, for parents of two states."""
    kind = random.integers(6)
    given = {name: float(random.random()) for name in above}
    if kind == 0:
        return nodes.NoisyOr(given, leak=float(random.random()) / 5)
    if kind == 1:
        return nodes.NoisyAnd(given, leak=float(random.random()) / 5)
    if kind == 2:
        rule = "".join(random.choice(["{} and ", "{} or ", "{} xor ", "not {} or "]).format(name) for name in above[1:])
        return nodes.Deterministic(f"{rule}{above[0]}")
    if kind == 3:
        keys = [tuple(("yes", "no", None)[k] for k in random.integers(3, size=len(above))) for _ in range(3)]
        keys.sort(key=lambda key: key.count(None))  # special ones first
        rows = {key if len(above) > 1 else key[0]: float(random.random()) for key in keys}
        return nodes.DefaultTable(float(random.random()), rows)
    if kind == 4:
        tree: Any = float(random.random())
        for name in random.permutation(above).tolist():
            branches = [tree, float(random.random())]
            tree = {name: {"yes": branches[k := random.integers(2)], "no": branches[1 - k]}}
        return nodes.TreeTable(tree)
    return nodes.Logistic(float(random.normal()), {name: float(random.normal()) for name in above})


@pytest.mark.parametrize("seed", range(25))
def test_random_networks_read_in_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even nodes of two parents are read in steps; evidence of all sorts, against tables."""
    monkeypatch.setattr(Chain, "is_small", property(lambda chain: len(chain.steps) == 1))
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(8)]
    parents: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for i, name in enumerate(names):
        parents[name] = tuple(random.permutation(names[:i])[: random.integers(0, 5)].tolist())
        tables[name] = random_child(random, [*parents[name]]) if parents[name] else float(random.random())
    net = Network(parents, tables)
    flat = Network(parents, dict(net.tables))
    sure = net.sample(1, seed=seed).to_pylist()[0]
    known = random.choice(names, 3, replace=False).tolist()
    given: dict[str, Any] = {known[0]: sure[known[0]], known[1]: {"yes": 0.3, "no": 0.8}}
    for some in ({}, given, {**given, known[2]: sure[known[2]]}):
        found, wanted = net.marginals(some), flat.marginals(some)
        for name in names:
            assert found[name] == pytest.approx(wanted[name], abs=1e-10)
        assert net.log_probability(some) == pytest.approx(flat.log_probability(some), abs=1e-10)
        best, theirs = net.most_probable(given=some), flat.most_probable(given=some)
        assert best.log_joint == pytest.approx(theirs.log_joint, abs=1e-10)
    drawn = net.sample(20, seed=seed).to_pandas().astype(object)
    rows = drawn.where(random.random(drawn.shape) > 0.3, None)
    assert net.log_prob(rows) == pytest.approx(flat.log_prob(rows), abs=1e-10)
    assert net.predict_proba("v3", rows) == pytest.approx(flat.predict_proba("v3", rows), abs=1e-10)
