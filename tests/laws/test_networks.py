"""What holds for all networks: estimates agree with what is exact, and what is the same thing twice is the same."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import EvidenceError, QuestionError, SchemaError
from credo.networks.graph import parse_arrows
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
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
    assert str(found.value) in repr(found)


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


@CASES
@given(st.data())
def test_conditional_mutual_information(data: st.DataObject) -> None:
    """I(a; b | c) = Σ P(c) I(a; b | c = what it may be); and the chain rule, I(a; bc) = I(a; c) + I(a; b | c)."""
    net = data.draw(networks())
    if len(net.variables) < 3:
        return
    a, b, *rest = data.draw(st.permutations(net.variables))
    known = data.draw(st.lists(st.sampled_from(rest), unique=True, min_size=1))
    found = net.mutual_information(a, b, given=known)
    each = ((dict(zip(known, states, strict=True)), p) for states, p in net.query(known).items() if p > 0)
    assert found == pytest.approx(sum(p * net.mutual_information(a, b, some) for some, p in each), abs=1e-9)
    assert found == pytest.approx(net.mutual_information(b, a, known), abs=1e-9)
    own = net.mutual_information(a, a, known[0])  # H(a | c) = H(a) - I(a; c)
    assert own == pytest.approx(net.mutual_information(a, a) - net.mutual_information(a, known[0]), abs=1e-9)


@pytest.mark.parametrize("in_trees", [False, True])
@CASES
@given(data=st.data())
def test_events(in_trees: bool, data: st.DataObject) -> None:
    """P(names, event | given) = Σ of the joint table where the event happens / Σ of all of it."""
    net = data.draw(st.one_of(networks(), markov_networks()))
    if in_trees:
        net.__dict__["exact"] = net.trees
    findings = data.draw(evidence(net))
    whole = joint(net, findings)
    if whole.table.sum() == 0:
        return
    event = {
        name: data.draw(st.lists(st.sampled_from(own), min_size=1, unique=True))
        for name, own in net.states.items()
        if data.draw(st.booleans())
    }
    both = joint(net, findings) * joint(MarkovNetwork(net.states, []), event)
    total, happens = whole.table.sum(), both.over(whole.scope).table
    assert net.probability(event, findings) == pytest.approx(happens.sum() / total, abs=1e-9)
    name = data.draw(st.sampled_from(net.variables))
    own = both.sum_out([other for other in whole.scope if other != name]).table / total
    assert [*net.query(name, findings, event=event).values()] == pytest.approx(own.tolist(), abs=1e-9)


def test_mutual_information_is_estimated_with_an_error() -> None:
    exact = ASIA.mutual_information("Bronchitis", "Dyspnoea", "Smoking")
    found = ASIA.mutual_information("Bronchitis", "Dyspnoea", "Smoking", method="forward", samples=20_000)
    assert found == pytest.approx(exact, abs=4 * found.standard_error)  # type: ignore[attr-defined]
    with pytest.raises(SchemaError, match="'Smoking' is named twice"):
        ASIA.mutual_information("Bronchitis", "Smoking", "Smoking")


@CASES
@given(st.data())
def test_equal_in_any_order(data: st.DataObject) -> None:
    net = data.draw(networks())
    parents = {
        name: data.draw(st.permutations(net.parents[name])) for name in data.draw(st.permutations(net.variables))
    }
    states = {name: data.draw(st.permutations(own)) for name, own in net.states.items()}
    tables = {}
    for name, above in parents.items():
        table = net.factors[net.variables.index(name)].over((*above, name)).table
        for axis, each in enumerate((*above, name)):
            table = table.take([net.states[each].index(state) for state in states[each]], axis)
        tables[name] = table
    same = Network(parents, tables, states)
    assert same == net
    assert hash(same) == hash(net)
    name = data.draw(st.sampled_from(net.variables))
    if len(states[name]) > 1:
        tables[name] = np.roll(tables[name], 1, axis=-1)
        assert (Network(parents, tables, states) == net) == np.array_equal(tables[name], same.tables[name])
    assert net != net.parents
    markov = MarkovNetwork(net.states, net.factors)
    assert markov == MarkovNetwork(net.states, net.factors) != MarkovNetwork(net.states, net.factors[1:])
    assert markov != net


def test_what_a_network_holds() -> None:
    assert len(ASIA) == 8
    assert "Smoking" in ASIA
    assert "smoking" not in ASIA
    assert ASIA.children("Smoking") == ("LungCancer", "Bronchitis")
    assert ASIA.children("XRay") == ()
    assert Network("A -> B") == Network({"B": ["A"], "A": []}) != Network("B -> A")
    assert Network("A", {"A": 0.5}) != Network("A")
    with pytest.raises(SchemaError, match="Did you mean 'Smoking'"):
        ASIA.children("Smokin")


def test_setting_by_chance() -> None:
    """P(y | do(x ~ q)) = Σ q(x) P(y | do(x))"""
    share = {"yes": 0.3, "no": 0.7}
    wanted = sum(p * ASIA.do({"Smoking": value}).query("Dyspnoea")["yes"] for value, p in share.items())
    assert ASIA.do({"Smoking": share}).query("Dyspnoea")["yes"] == pytest.approx(wanted)
    assert ASIA.do({"LungCancer": share}).parents["LungCancer"] == ()
    assert credo.ask(ASIA, "P(Dyspnoea=yes | do(Smoking={yes: 0.3, no: 0.7}))") == pytest.approx(wanted)
    with pytest.raises(EvidenceError, match="probabilities that sum to 1"):
        ASIA.do({"Smoking": {"yes": 0.3, "no": 0.3}})
    with pytest.raises(QuestionError, match="must sum to 1"):
        credo.ask(ASIA, "P(Dyspnoea=yes | do(Smoking={yes: 0.3}))")


def test_findings_weigh_as_much_as_in_the_network_after_do() -> None:
    found = ASIA.explain("Bronchitis", {"Dyspnoea": "yes"}, "yes", do={"Smoking": "yes"})
    after = ASIA.do({"Smoking": "yes"}).explain("Bronchitis", {"Dyspnoea": "yes"}, "yes")
    assert found == replace(after, done={"Smoking": "yes"})
    assert repr(found).startswith("Bronchitis = yes after do(Smoking = yes): P = ")
    assert found.prior == pytest.approx(np.log(0.6 / 0.4))


def test_a_picture(tmp_path: Any) -> None:
    from matplotlib.figure import Figure

    figure = ASIA.plot({"XRay": "yes"})
    assert {"Smoking", "XRay"} <= {text.get_text() for text in figure.axes[0].texts}
    figure.savefig(tmp_path / "asia.png")
    own = Figure()
    assert ASIA.plot(ax=own.subplots()) is own


@pytest.mark.parametrize(("seed", "n"), [(0, 12), (1, 30), (2, 80)])
@pytest.mark.slow
def test_pictures_can_be_read(seed: int, n: int) -> None:
    """Boxes stand apart, each text is in its box, and arrows pass between boxes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.patches import FancyArrowPatch, Rectangle
    from matplotlib.transforms import Bbox

    random = np.random.default_rng(seed)
    names = [f"Variable{'WM' * int(random.integers(0, 12))}{i}" for i in range(n)]
    parents = {name: [names[j] for j in {*random.integers(0, i + 1, 3)} - {i}] for i, name in enumerate(names)}
    tables = {name: random.dirichlet([1, 1], size=[2] * len(above)) for name, above in parents.items()}
    net = Network(parents, tables, ("a state of many words", "no"))
    figure = net.plot()
    axes: Any = figure.axes[0]
    drawn = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw(drawn)
    boxes = [p.get_window_extent(drawn) for p in axes.patches if isinstance(p, Rectangle) and p.get_zorder() == 2]
    assert len(boxes) == n
    assert not any(Bbox.intersection(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    for text in axes.texts:
        own = text.get_window_extent(drawn)
        assert any(box.x0 <= own.x0 and own.x1 <= box.x1 and box.containsy(own.y0) for box in boxes), text.get_text()
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == sum(map(len, parents.values()))
    low, high = np.array([box.min for box in boxes]) + 1, np.array([box.max for box in boxes]) - 1
    for arrow in arrows:
        way = axes.transData.transform_path(arrow.get_path()).to_polygons(closed_only=False)[0]
        points = np.concatenate([np.linspace(a, b, 5) for a, b in pairwise(way)])[:, None]
        assert not ((points > low) & (points < high)).all(-1).any()
