"""Nodes that aren't tables, learned: optima, the verbs, EM where cells are missing, storage, files."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import credo
from credo import nodes
from credo.cli import main
from credo.errors import EvidenceError, SizeError
from credo.networks.network import Network
from credo.networks.nodes import chain
from credo.notices import quietly
from credo.numerics.exact import Array
from tests.node_distributions import GRADES, YES_NO, cases, layered

CAUSES = 4
NAMES = tuple(f"c{i}" for i in range(CAUSES))
STRENGTHS = dict(zip(NAMES, (0.9, 0.6, 0.3, 0.1), strict=True))
ROWS = dict(zip(NAMES, ([0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.2, 0.1, 0.7], [0.0, 0.5, 0.5]), strict=True))
WEIGHTS = {"c0": {"severe": {"yes": 2.0}}, "c2": {"none": {"yes": 1.0}}}
TREE = {"c1": {"yes": 0.9, "no": {"c3": {"yes": 0.5, "no": 0.1}}}}
EXCEPTIONS = {("yes", None, "no", None): 0.9, (None, "no", "no", "yes"): 0.4}


def star(child: Any, own: tuple[Any, ...] = YES_NO) -> Network:
    """Causes without arrows between them, the child, and a child of that."""
    parents: dict[str, Any] = {**dict.fromkeys(NAMES, ()), "y": NAMES, "z": ("y",)}
    random = np.random.default_rng(3)
    tables: dict[str, Any] = dict.fromkeys(NAMES, 0.4)
    tables |= {"y": child, "z": random.dirichlet([2, 2], len(own))}
    return Network(parents, tables, {**dict.fromkeys(parents, YES_NO), "y": own})


LEARNED: dict[str, Network] = {
    "noisy-or": star(nodes.NoisyOr(STRENGTHS, leak=0.05)),
    "noisy-and": star(nodes.NoisyAnd(STRENGTHS, leak=0.1)),
    "noisy-max": star(nodes.NoisyMax(ROWS, leak=[0.02, 0.08, 0.9]), GRADES),
    "tree": star(nodes.TreeTable(TREE)),
    "default": star(nodes.DefaultTable(0.15, EXCEPTIONS)),
    "logistic": star(nodes.Logistic(-1.0, dict(zip(NAMES, (2.0, -1.0, 0.5, 0.0), strict=True)))),
    "softmax": star(nodes.Softmax({"mild": 0.5}, WEIGHTS), GRADES),
    "rule": star(nodes.Deterministic("(c0 or c1) and (c2 xor c3)")),
}  # fmt: skip
kinds = pytest.mark.parametrize("kind", LEARNED)


def unlearned(net: Network) -> Network:
    return Network(net.parents, {"y": net.forms["y"].bare()}, net.states)


def lost(net: Network, size: int, share: float, seed: int = 7) -> Any:
    """Rows as a data frame, some cells missing."""
    table = net.sample(size, seed=seed).to_pandas().astype(object)
    return table.where(np.random.default_rng(seed).random(table.shape) >= share, None)


def flat(net: Network) -> Network:
    return Network(net.parents, dict(net.tables), net.states)


@kinds
def test_fits_find_the_distribution_behind_rows(kind: str) -> None:
    net = LEARNED[kind]
    found = unlearned(net).fit(net.sample(4000, seed=1))
    assert found.tables["y"] == pytest.approx(net.tables["y"], abs=0.08)
    assert found.n == pytest.approx(4000)
    assert not found.history


@kinds
def test_the_verbs_are_exact(kind: str) -> None:
    net = LEARNED[kind]
    bare, rows = unlearned(net), net.sample(600, seed=2)
    whole = bare.fit(rows)
    first, rest = rows.slice(0, 250), rows.slice(250)
    assert bare.fit(first).update(rest) == whole
    assert (bare.fit(first) + bare.fit(rest)) == whole
    assert whole.forget(rest) == bare.fit(first)
    twice = bare.fit(rows, weight=np.full(600, 2.0))
    assert twice.tables["y"] == pytest.approx(whole.update(rows).tables["y"], abs=1e-9)
    assert bare.fit(rows).discount(0.5).n == pytest.approx(300)
    with pytest.raises(EvidenceError):
        bare.fit(first).forget(net.sample(400, seed=9))


@kinds
def test_fits_of_rows_with_missing_cells(kind: str) -> None:
    """EM never falls (an error says so), finds the distribution, and ends where the posterior has its mode."""
    net = LEARNED[kind]
    rows = lost(net, 1500, 0.15)
    found = unlearned(net).fit(rows)
    assert len(found.history) > 2
    assert (np.diff(found.history) >= -1e-9 * abs(found.history[-1])).all()
    assert found.tables["y"] == pytest.approx(net.tables["y"], abs=0.15)
    assert found.n == pytest.approx(1500, rel=1e-6)


def objective(net: Network, rows: Any) -> float:
    """log P(rows) + Σ log θ: the prior Dirichlet(1) of log-odds, of strengths and of the leak."""
    child = net.distributions["y"]
    assert isinstance(child, nodes.NoisyOr)
    free = np.array([*child.causes.values(), child.leak])
    return float(np.sum(flat(net).log_prob(rows)) + np.log(free * (1 - free)).sum())


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_noisy_or_is_learned_to_its_mode(share: float) -> None:
    """No strength can be changed so that the posterior of log-odds grows."""
    net = LEARNED["noisy-or"]
    rows = lost(net, 400, share)
    found = unlearned(net).fit(rows, tolerance=1e-14)
    best, child = objective(found, rows), found.distributions["y"]
    assert isinstance(child, nodes.NoisyOr)
    for name, step in product([*NAMES, None], [-0.05, 0.05]):
        old = child.leak if name is None else child.causes[name]
        new = 1 / (1 + np.exp(-(np.log(old / (1 - old)) + step)))
        moved = replace(child, leak=new) if name is None else replace(child, causes={**child.causes, name: new})
        assert objective(Network(found.parents, {**found.tables, "y": moved}, found.states), rows) < best
    by_hand = _concave_mode(rows) if share == 0.0 else None
    if by_hand is not None:
        assert [*child.causes.values(), child.leak] == pytest.approx(by_hand, abs=1e-4)


def _concave_mode(rows: Any) -> Array:
    """The same by SciPy, in log-odds."""
    from scipy.optimize import minimize

    x = (rows[[*NAMES]] == "yes").to_numpy().astype(float)
    y = (rows["y"] == "yes").to_numpy()

    def cost(logits: Array) -> float:
        p = 1 / (1 + np.exp(-logits))
        spared = (1 - p[-1]) * np.prod(1 - p[:-1] * x, axis=1)
        return -float(np.log(np.where(y, 1 - spared, spared)).sum() + np.log(p * (1 - p)).sum())

    found = minimize(cost, np.zeros(CAUSES + 1), method="BFGS", options={"gtol": 1e-7})
    return np.asarray(1 / (1 + np.exp(-found.x)))


@pytest.mark.parametrize("kind", ["noisy-or", "noisy-max", "tree"])
def test_expected_counts_through_the_chain_are_those_of_the_table(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is read in steps learns from incomplete rows what one learns whose table is one factor."""
    net, _ = cases()[kind]
    rows = lost(net, 120, 0.25)
    bare = Network(net.parents, {"y": net.forms["y"].bare()}, net.states)
    assert len(net.factors) > len(net.variables)
    with quietly():
        stepwise = bare.fit(rows, steps=8)
        monkeypatch.setattr(chain, "LARGEST_SINGLE_FACTOR", 2**20)
        whole = bare.fit(rows, steps=8)
    assert len(whole.factors) == len(whole.variables)
    assert whole.tables["y"] == pytest.approx(stepwise.tables["y"], abs=1e-7)
    assert [*whole.history] == pytest.approx([*stepwise.history], abs=1e-6)


def test_no_leak_is_learned_where_it_is_0() -> None:
    net = star(nodes.NoisyOr(STRENGTHS, leak=0.0))
    found = Network(net.parents, {"y": nodes.NoisyOr(leak=0)}, net.states).fit(net.sample(2000, seed=1))
    assert found.distributions["y"].leak == 0.0  # type: ignore[attr-defined]
    assert found.tables["y"][1, 1, 1, 1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("leak", [None, 0.0])
@pytest.mark.parametrize("kind", [nodes.NoisyOr, nodes.NoisyMax])
def test_a_stored_network_learns_a_leak_where_the_first_does(kind: Any, leak: Any, tmp_path: Path) -> None:
    causes: Any = {"a": 0.5} if kind is nodes.NoisyOr else {"a": [0.5, 0.5]}
    net = Network("a -> y", {"a": 0.5, "y": kind(causes, leak=leak)})
    credo.save(net, tmp_path / "net.credo")
    rows = {"a": ["yes", "no"] * 4, "y": ["yes", "yes", "no", "no"] * 2}
    again = credo.load(tmp_path / "net.credo")
    assert again.distributions == net.distributions
    if leak is None:
        assert again.fit(rows) == net.fit(rows)
        assert again.fit(rows).tables["y"][1, 0] > 0.1
    else:
        with pytest.raises(EvidenceError):
            again.fit(rows)


def test_a_tree_is_grown_by_the_evidence_of_its_leaves() -> None:
    net = LEARNED["tree"]
    bare = Network(net.parents, {"y": nodes.TreeTable()}, net.states)
    for rows in (net.sample(3000, seed=1), lost(net, 4000, 0.1)):
        child = bare.fit(rows).distributions["y"]
        assert isinstance(child, nodes.TreeTable)
        assert child.grown
        assert [*child.tree] == ["c1"]
        assert [*child.tree["c1"]["no"]] == ["c3"]
    grown = bare.fit(net.sample(3000, seed=1))
    assert grown.fit(net.sample(3000, seed=1)) == grown
    odd = star(nodes.Deterministic(lambda a, b, c, d: (a == "yes") != (c == "yes")))  # noqa: ARG005
    child = bare.fit(odd.sample(400, seed=2)).distributions["y"]
    assert {*str(child.tree).split("'")} & {*NAMES} == {"c0", "c2"}  # type: ignore[attr-defined]
    with pytest.raises(credo.errors.NetworkError, match="isn't grown yet"):
        bare.nodes["y"].estimate(None, grown.evidence)


def test_a_tree_may_be_a_single_leaf(tmp_path: Path) -> None:
    bare = Network("a -> y", {"y": nodes.TreeTable()})
    rows = {"a": ["yes", "no"] * 10, "y": ["yes", "yes", "no", "no"] * 5}
    found = bare.fit(rows)
    assert found.tables["y"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert found.update(rows).forget(rows) == found
    assert found.fit(rows) == found
    credo.save(found, tmp_path / "net.credo")
    assert credo.load(tmp_path / "net.credo").update(rows) == found.update(rows)
    with quietly():
        assert bare.fit({"a": [*rows["a"], None], "y": [*rows["y"], "yes"]}).query("y", {"a": "yes"})["yes"] > 0.5


@kinds
def test_storage_and_pickles(kind: str, tmp_path: Path) -> None:
    net = LEARNED[kind]
    fitted = unlearned(net).fit(net.sample(200, seed=1))
    with quietly():
        emmed = unlearned(net).fit(lost(net, 100, 0.2), steps=5)
    for each in (net, fitted, emmed, unlearned(net)):
        credo.save(each, tmp_path / "net.credo")
        again = credo.load(tmp_path / "net.credo")
        assert again == each
        assert dict(again.forms) == dict(each.forms)
        assert pickle.loads(pickle.dumps(each)) == each
    more = net.sample(100, seed=5)
    credo.save(fitted, tmp_path / "net.credo")
    assert credo.load(tmp_path / "net.credo").update(more) == fitted.update(more)


@kinds
def test_files_have_the_tables(kind: str, tmp_path: Path, recwarn: Any) -> None:  # noqa: ARG001 - notices
    net = LEARNED[kind]
    for ending in ("xdsl", "bif", "json", "net"):
        net.write(tmp_path / f"net.{ending}")
        again = Network.read(tmp_path / f"net.{ending}")
        assert isinstance(again, Network)
        assert again.tables["y"] == pytest.approx(net.tables["y"], abs=1e-12)


def test_xdsl_keeps_noisy_nodes(tmp_path: Path) -> None:
    for kind in ("noisy-or", "noisy-max"):
        net = LEARNED[kind]
        net.write(tmp_path / "net.xdsl")
        again = Network.read(tmp_path / "net.xdsl")
        assert isinstance(again, Network)
        assert isinstance(again.distributions["y"], nodes.NoisyMax)
        again.write(tmp_path / "again.xdsl")
        assert Network.read(tmp_path / "again.xdsl") == again
    names = tuple(f"c{i}" for i in range(70))
    parents: dict[str, Any] = {**dict.fromkeys(names, ()), "y": names}
    many = Network(parents, {**dict.fromkeys(names, 0.1), "y": nodes.NoisyOr(dict.fromkeys(names, 0.5))})
    many.write(tmp_path / "many.xdsl")
    again = Network.read(tmp_path / "many.xdsl")
    assert again.query("y") == pytest.approx(many.query("y"))
    with pytest.raises(SizeError, match="a NoisyOr of 70 parents; its table would have"):
        many.write(tmp_path / "many.bif")


GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="n" numsamples="1000">
<nodes>
<cpt id="A"><state id="low"/><state id="high"/><probabilities>0.4 0.6</probabilities></cpt>
<cpt id="B"><state id="on"/><state id="off"/><probabilities>0.5 0.5</probabilities></cpt>
<noisymax id="N"><state id="severe"/><state id="mild"/><state id="none"/><parents>A B</parents>
<strengths>{strengths}</strengths><parameters>{parameters}</parameters></noisymax>
</nodes>
</smile>
"""


def test_strengths_of_genie_say_which_state_has_no_effect(tmp_path: Path) -> None:
    """Of A, the state high is the strongest. Columns stand by strength or by state: both are read."""
    by_strength = "0.5 0.3 0.2 0 0 1 0.1 0.2 0.7 0 0 1 0.05 0.05 0.9"
    by_state = "0 0 1 0.5 0.3 0.2 0.1 0.2 0.7 0 0 1 0.05 0.05 0.9"
    for parameters in (by_strength, by_state):
        (tmp_path / "n.xdsl").write_text(GENIE.format(strengths="1 0 0 1", parameters=parameters))
        net = Network.read(tmp_path / "n.xdsl")
        assert isinstance(net, Network)
        assert net.tables["N"][0, 1] == pytest.approx([0.05, 0.05, 0.9])  # by the leak
        assert net.tables["N"][1, 0, 2] == pytest.approx(0.2 * 0.7 * 0.9)


def test_a_strength_of_cases_is_a_prior_of_causes() -> None:
    net = LEARNED["noisy-or"]
    sure = net.with_strength(1000)
    assert sure.tables["y"] == pytest.approx(net.tables["y"], abs=1e-6)
    other = star(nodes.NoisyOr(dict.fromkeys(NAMES, 0.5), leak=0.5)).sample(100, seed=1)
    moved = sure.update(other).distributions["y"]
    assert 0.05 < moved.leak < 0.3  # type: ignore[attr-defined]


def test_what_has_no_closed_form_says_so() -> None:
    net = LEARNED["noisy-or"]
    rows = net.sample(50, seed=1)
    fitted = unlearned(net).fit(rows)
    for refused in (
        lambda: fitted.leave_one_out(rows),
        lambda: fitted.belief("y", {}),
        lambda: fitted.log_evidence(),
        lambda: fitted.query("y", tables="sampled"),
    ):
        with pytest.raises(EvidenceError, match="'y'"):
            refused()
    assert len(fitted.cross_validate(rows, folds=5).log_probabilities) == 50
    assert fitted.description_length(rows).total > 0
    with pytest.raises(credo.errors.NetworkError, match="is for tables"):
        unlearned(net).fit(lost(net, 40, 0.2), method="lbfgs")


def test_hidden_causes() -> None:
    """A cause that isn't a column: EM from several starts, each with other strengths."""
    net = layered(nodes.NoisyOr({f"c{i}": 0.5 for i in range(7)}, leak=0.05))
    rows = net.sample(150, seed=1).drop_columns(["c6"])
    bare = Network(net.parents, {"y": nodes.NoisyOr()}, net.states)
    with pytest.warns(credo.Notice):
        found = bare.fit(rows, starts=2, steps=10)
    assert found.n == pytest.approx(150)
    assert 0 < found.query("c6")["yes"] < 1


def test_beliefs_about_leaves() -> None:
    """Those of a table whose rows are the leaves; tables drawn from their posterior have them, too."""
    net = LEARNED["tree"]
    fitted = unlearned(net).fit(net.sample(300, seed=1))
    given = {"c0": "no", "c1": "no", "c2": "yes", "c3": "yes"}
    found = fitted.belief("y", given)
    assert found.mean()["yes"] == pytest.approx(fitted.query("y", given)["yes"])
    low, high = found.interval(0.95)["yes"]
    assert low < 0.5 < high
    averaged: Any = fitted.query("y", {"c1": "yes"}, tables="sampled", samples=200, seed=1)
    assert averaged["yes"] == pytest.approx(fitted.query("y", {"c1": "yes"})["yes"], abs=0.02)
    rule = LEARNED["rule"]
    known: Any = unlearned(rule).fit(rule.sample(100, seed=1)).query("y", tables="sampled", samples=50, seed=1)
    assert 0 < known["yes"] < 1


@kinds
def test_updates_after_em(kind: str) -> None:
    net = LEARNED[kind]
    with quietly():
        found = unlearned(net).fit(lost(net, 300, 0.2)).update(net.sample(100, seed=3)).update(lost(net, 100, 0.2, 8))
    assert found.n == pytest.approx(500)
    assert found.tables["y"] == pytest.approx(net.tables["y"], abs=0.35)
    with pytest.raises(EvidenceError, match="can't forget rows exactly"):
        found.forget(net.sample(100, seed=3))


@pytest.mark.parametrize("kind", ["noisy-or", "noisy-max", "tree", "default", "rule"])
def test_strengths_of_cases_and_missing_cells(kind: str) -> None:
    net = LEARNED[kind]
    sure = net.with_strength(500)
    assert sure.tables["y"] == pytest.approx(net.tables["y"], abs=1e-5)
    assert sure.update(lost(net, 100, 0.2)).tables["y"] == pytest.approx(net.tables["y"], abs=0.2)


def test_weights_have_no_strength_of_cases() -> None:
    with pytest.raises(credo.errors.PriorError, match="'y' is a Logistic: a number of cases is no prior"):
        LEARNED["logistic"].with_strength(50)


def test_equal_networks_may_have_their_parents_in_other_orders() -> None:
    net = LEARNED["default"]
    turned = {**net.parents, "y": ("c1", "c0", "c2", "c3")}
    same = Network(turned, {**net.fixed_tables, "y": net.tables["y"].transpose(1, 0, 2, 3, 4)}, net.states)
    other = Network(turned, {**net.fixed_tables, "y": net.distributions["y"]}, net.states)
    assert same == net
    assert other != net
    noisy = LEARNED["noisy-or"]
    assert Network(turned, {**noisy.fixed_tables, "y": noisy.distributions["y"]}, noisy.states) == noisy


def test_it_is_shown_and_asked_on_the_command_line(tmp_path: Path) -> None:
    names = tuple(f"c{i}" for i in range(30))
    parents: dict[str, Any] = {**dict.fromkeys(names, ()), "y": names}
    wide = Network(parents, {**dict.fromkeys(names, 0.1), "y": nodes.NoisyOr(dict.fromkeys(names, 0.5))})
    for net in (wide, LEARNED["noisy-max"]):
        credo.save(net, tmp_path / "net.credo")
        for arguments in (["show"], ["ask", "P(y | c0=yes)"]):
            done = CliRunner().invoke(main, [arguments[0], str(tmp_path / "net.credo"), *arguments[1:]])
            assert done.exit_code == 0, done.output
    assert "NoisyMax" in repr(LEARNED["noisy-max"])


def test_priors_of_strengths() -> None:
    """Dirichlet(a, b) over the states is Beta(a, b) of each strength: with no rows, its mean."""
    prior = {"y": credo.DirichletCategorical([3.0, 1.0])}
    net = Network(LEARNED["noisy-or"].parents, {"y": nodes.NoisyOr()})
    rows = {name: ["no"] for name in (*NAMES, "y", "z")}
    found = net.fit(rows, prior=prior).distributions["y"]
    assert isinstance(found, nodes.NoisyOr)
    assert found.causes["c0"] == pytest.approx(0.75, abs=1e-6)  # 3 / (3 + 1)
    assert found.leak == pytest.approx(0.6, abs=1e-6)  # 3 / (3 + 1 + 1): the row had no effect


def test_rules_of_hundreds_of_parents() -> None:
    names = tuple(f"v{i}" for i in range(300))
    parents: dict[str, Any] = {**dict.fromkeys(names, ()), "y": names}
    odd = Network(parents, {**dict.fromkeys(names, 0.01), "y": nodes.Deterministic(" xor ".join(names))})
    assert odd.query("y")["yes"] == pytest.approx(0.5 - 0.5 * 0.98**300, rel=1e-9)


@pytest.mark.parametrize("kind", ["tree", "default", "rule"])
def test_leaving_a_row_out_is_a_refit_without_it(kind: str) -> None:
    net = LEARNED[kind]
    rows = net.sample(40, seed=1)
    fitted = unlearned(net).fit(rows)
    found = fitted.leave_one_out(rows).log_probabilities
    for i in range(0, 40, 7):
        row = rows.slice(i, 1)
        assert found[i] == pytest.approx(float(fitted.forget(row).log_prob(row)[0]), abs=1e-12)


def test_a_trees_bdeu_score_is_that_of_structures() -> None:
    """A tree of one leaf scores as a node without parents, the full tree as a table."""
    from credo.networks.nodes.distribution import NodeFamily
    from credo.networks.nodes.tree_growing import _log_evidence
    from credo.networks.structure.category_scores import BDeuScore as StructureScore
    from credo.networks.structure.counting import CodedTable

    random = np.random.default_rng(2)
    codes = np.array([random.integers(0, 2, 40), random.integers(0, 3, 40), random.integers(0, 2, 40)], dtype=np.uint8)
    codes[2] = np.where(random.random(40) < 0.9, codes[0], codes[2])
    score = StructureScore(CodedTable(("a", "b", "y"), codes, (2, 3, 2)), 2.5)
    family = NodeFamily("y", ("a", "b"), {"a": (0, 1), "b": (0, 1, 2), "y": (0, 1)})
    prior = credo.BDeu(2.5)

    def scored(rows: Any, left: tuple[int, ...]) -> float:
        return _log_evidence(family, np.bincount(codes[2][rows == 1], minlength=2).astype(np.float64), left, prior)

    every, a, b = np.ones(40), codes[0], codes[1]
    assert scored(every, (0, 1)) == pytest.approx(score.family(2, ()))
    leaves = [scored((a == i) & (b == k), ()) for i in range(2) for k in range(3)]
    assert sum(leaves) == pytest.approx(score.family(2, (0, 1)))
    halves = [scored(a == i, (1,)) for i in range(2)]
    assert sum(halves) == pytest.approx(score.family(2, (0,)))
