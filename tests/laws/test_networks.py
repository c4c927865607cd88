"""What holds for all networks: estimates agree with what is exact, and what is the same thing twice is the same."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.graph import parse_arrows
from credo.models.network import Network
from tests.networks import evidence, joint, markov_networks, networks

ASIA = Network.example("asia")
CASES = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("method", ["likelihood-weighting", "gibbs", "forward"])
@pytest.mark.parametrize("given_", [{}, {"Dyspnoea": "yes"}, {"XRay": "yes", "Smoking": {"yes": 0.9, "no": 0.2}}])
def test_samples_are_as_far_off_as_they_say(method: Any, given_: dict[str, Any]) -> None:
    exact = ASIA.marginals(given_)
    for name, found in ASIA.marginals(given_, method=method, samples=40_000, seed=1).items():
        for state, p in found.items():
            assert p == pytest.approx(exact[name][state], abs=5 * found.standard_error[state] + 2e-3)  # type: ignore[attr-defined]
            assert found.effective_samples > 100  # type: ignore[attr-defined]
    again = ASIA.query("Dyspnoea", {"XRay": "yes"}, method=method, samples=1000, seed=3)
    assert again == ASIA.query("Dyspnoea", {"XRay": "yes"}, method=method, samples=1000, seed=3)
    assert again != ASIA.query("Dyspnoea", {"XRay": "yes"}, method=method, samples=1000, seed=4)


@pytest.mark.parametrize("method", ["likelihood-weighting", "gibbs"])
def test_standard_errors_are_honest(method: Any) -> None:
    exact = ASIA.query("Bronchitis", {"Dyspnoea": "yes", "VisitToAsia": "yes"})["yes"]
    off = []
    for seed in range(60):
        found = ASIA.query(
            "Bronchitis", {"Dyspnoea": "yes", "VisitToAsia": "yes"}, method=method, samples=2000, seed=seed
        )
        off.append((found["yes"] - exact) / found.standard_error["yes"])  # type: ignore[attr-defined]
    assert 0.6 < np.std(off) < 1.6
    assert abs(np.mean(off)) < 0.7


@CASES
@given(st.data())
def test_loopy_propagation_is_exact_in_trees(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    names = [f"a{i}" for i in range(7)]
    parents = {name: (names[random.integers(i)],) if i else () for i, name in enumerate(names)}
    tables = {name: random.dirichlet([1, 1, 1], size=3 if above else None) for name, above in parents.items()}
    net = Network(parents, tables, ("x", "y", "z"))
    findings = data.draw(evidence(net))
    if net.log_probability(findings) == -np.inf:
        return
    exact = net.marginals(findings)
    for name, found in net.marginals(findings, method="loopy").items():
        assert found == pytest.approx(exact[name], abs=1e-9)


def test_rows_are_drawn_as_the_network_says() -> None:
    for given_ in ({}, {"Dyspnoea": "yes", "VisitToAsia": "yes"}):
        rows = ASIA.sample(40_000, given_, seed=5)
        for name, exact in ASIA.marginals(given_).items():
            share = np.mean(np.array(rows[name].to_pylist()) == "yes")
            assert share == pytest.approx(exact["yes"], abs=5 * np.sqrt(exact["yes"] * exact["no"] / 4e4) + 1e-12)
        both = ASIA.query(["Smoking", "Bronchitis"], given_)[("yes", "yes")]
        together = [
            a == b == "yes" for a, b in zip(rows["Smoking"].to_pylist(), rows["Bronchitis"].to_pylist(), strict=True)
        ]
        assert np.mean(together) == pytest.approx(both, abs=5 * np.sqrt(both * (1 - both) / 4e4))


def test_rows_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("CREDO_THREADS", threads)
        found.append((ASIA.sample(200_000, seed=1), ASIA.sample(150_000, {"XRay": "yes"}, seed=1)))
    assert found[0] == found[1]
    assert ASIA.sample(10, seed=1) == ASIA.sample(20, seed=1).slice(0, 10)
    assert ASIA.sample(10, seed=1) != ASIA.sample(10, seed=2)


@CASES
@given(st.data())
def test_what_is_believed_comes_out(data: st.DataObject) -> None:
    net = data.draw(networks(zeros=False))
    name = data.draw(st.sampled_from(net.variables))
    weights = [data.draw(st.integers(0, 5)) for _ in net.states[name]]
    weights[0] += 1
    belief = {state: w / sum(weights) for state, w in zip(net.states[name], weights, strict=True)}
    assert net.query(name, net.believing({name: belief})) == pytest.approx(belief, abs=1e-9)


def test_several_beliefs_at_once() -> None:
    wanted = {"Smoking": {"yes": 0.2, "no": 0.8}, "Bronchitis": {"yes": 0.7, "no": 0.3}}
    found = ASIA.believing(wanted, {"XRay": "yes"})
    for name, belief in wanted.items():
        assert ASIA.query(name, found) == pytest.approx(belief, abs=1e-9)


@CASES
@given(st.data())
def test_weights_of_findings_add_up(data: st.DataObject) -> None:
    net = data.draw(networks(zeros=False))
    findings = data.draw(evidence(net))
    name = data.draw(st.sampled_from(net.variables))
    findings.pop(name, None)
    if len(net.states[name]) == 1 or net.log_probability(findings) == -np.inf:
        return
    found = net.explain(name, findings)
    assert found.prior + sum(each.weight for each in found.findings) == pytest.approx(found.log_odds, abs=1e-9)
    p = net.query(name, findings)[found.value]
    assert found.log_odds == pytest.approx(np.log(p / (1 - p)), abs=1e-6)
    assert found.value in repr(found)


@CASES
@given(st.data())
def test_doing_cuts_the_arrows(data: st.DataObject) -> None:
    """P(y | do(x)) = Σ over the parents' states: P(parents) P(y | x, parents)."""
    net = data.draw(networks(zeros=False))
    name, other = data.draw(st.sampled_from(net.variables)), data.draw(st.sampled_from(net.variables))
    value = data.draw(st.sampled_from(net.states[name]))
    done = net.do({name: value})
    if other == name or other in net.parents[name]:
        assert done.query(other) == pytest.approx(
            {value: 1.0} | {s: 0.0 for s in net.states[name] if s != value} if other == name else net.query(other),
            abs=1e-9,
        )
        return
    wanted = dict.fromkeys(net.states[other], 0.0)
    above = list(net.parents[name])
    for states, p in (net.query(above) if above else {(): 1.0}).items():
        given_ = {**dict(zip(above, states, strict=True)), name: value}
        for state, q in net.query(other, given_).items():
            wanted[state] += p * q
    assert done.query(other) == pytest.approx(wanted, abs=1e-9)


@CASES
@given(st.data())
def test_d_separation_means_independence(data: st.DataObject) -> None:
    net = data.draw(networks(zeros=False))
    if len(net.variables) < 2:
        return
    a, b, *rest = data.draw(st.permutations(net.variables))
    known = data.draw(st.lists(st.sampled_from(rest), unique=True)) if rest else []
    whole = joint(net, {})
    kept = (a, b, *known)
    table = whole.sum_out([name for name in net.variables if name not in kept]).over(kept).table
    apart = table.sum(0, keepdims=True) * table.sum(1, keepdims=True) / table.sum((0, 1), keepdims=True)
    if net.d_separated(a, b, known):
        assert table == pytest.approx(apart, abs=1e-12)
    elif all(len(net.states[name]) > 1 for name in net.variables):
        assert np.abs(table - apart).max() > 1e-14  # random tables hide no independence


@CASES
@given(data=st.data())
def test_saved_loaded_pickled(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    net = data.draw(st.one_of(networks(), markov_networks()))
    path = tmp_path_factory.mktemp("saved") / "net.credo"
    _ = net.trees
    credo.save(net, path)
    for same in (credo.load(path), pickle.loads(pickle.dumps(net))):
        assert same.states == net.states
        for a, b in zip(same.factors, net.factors, strict=True):
            assert a.scope == b.scope
            assert (a.table == b.table).all()
        assert same.log_probability() == net.log_probability()


def test_arrows_can_be_written_in_many_ways() -> None:
    wanted = {"A": (), "B": ("A",), "C": ("A", "B")}
    for text in (
        "A -> B; A, B -> C",
        "A -> B\nA, B -> C\n",
        "B <- A; C <- A, B",
        "[A][B|A][C|A:B]",
        "A → B; A,\n B → C",
    ):
        assert parse_arrows(text) == wanted
    assert parse_arrows('"odd, name" -> "b\\"q"; e') == {"odd, name": (), 'b"q': ("odd, name",), "e": ()}
    assert parse_arrows("low-cost -> x-ray") == {"low-cost": (), "x-ray": ("low-cost",)}


def test_a_variable_tells_nothing_new_of_itself() -> None:
    p = np.array([*ASIA.query("Smoking").values()])
    assert ASIA.mutual_information("Smoking", "Smoking") == pytest.approx(-np.sum(p * np.log(p)))
    assert ASIA.mutual_information("VisitToAsia", "Smoking") == pytest.approx(0.0, abs=1e-12)


def test_a_picture(tmp_path: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    axes = ASIA.plot({"XRay": "yes"})
    assert {"Smoking", "XRay"} <= {text.get_text() for text in axes.texts}
    axes.figure.savefig(tmp_path / "asia.png")
