"""Derivatives = finite differences; one-way functions and bounds = queries with other tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import credo
from credo.errors import Notice
from credo.networks.inference.trees import Trees
from credo.networks.information import entropy
from credo.networks.network import Network
from tests.networks import evidence, networks

STEP = 1e-6


def moved(net: Network, name: str, where: tuple[int, ...], x: float) -> Network:
    """The network with one entry set to x, and the others of its row in proportion."""
    tables = {each: np.array(table) for each, table in net.tables.items()}
    row = tables[name][where[:-1]]
    rest = np.delete(row, where[-1])
    shares = rest / rest.sum() if rest.sum() > 0 else np.full(len(rest), 1 / len(rest))
    tables[name][where[:-1]] = np.insert((1 - x) * shares, where[-1], x)
    return net.with_tables(tables)


def answer(net: Network, name: str, known: dict[str, Any], value: Any) -> float:
    return net.query(name, known)[value]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Network, str, dict[str, Any], Any]:
    net = draw(networks(most=5))
    name = draw(st.sampled_from(net.variables))
    known = {each: value for each, value in draw(evidence(net)).items() if each != name}
    assume(net.log_probability(known) > -np.inf)
    return net, name, known, draw(st.sampled_from(net.states[name]))


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 2**32))
def test_derivatives_are_finite_differences(case: tuple[Network, str, dict[str, Any], Any], seed: int) -> None:
    net, name, known, value = case
    found = net.sensitivity(name, known, value)
    assert found.probability == pytest.approx(answer(net, name, known, value), abs=1e-12)
    random = np.random.default_rng(seed)
    for each in random.permutation([*net.tables])[:3]:
        table = net.tables[each]
        where = tuple(int(random.integers(size)) for size in table.shape)
        if table.shape[-1] == 1:
            assert found.derivatives[each][where] == 0
            continue
        theta = float(table[where])
        low, high = max(0.0, theta - STEP), min(1.0, theta + STEP)
        if moved(net, each, where, low).log_probability(known) < -30:
            continue  # there the answer's curve is too steep for a difference
        ends = [answer(moved(net, each, where, x), name, known, value) for x in (low, high)]
        slope = (ends[1] - ends[0]) / (high - low)
        scale = max(1.0, abs(slope))
        np.testing.assert_allclose(found.derivatives[each][where] / scale, slope / scale, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 2**32), st.floats(0.05, 0.95))
def test_a_function_of_one_entry(case: tuple[Network, str, dict[str, Any], Any], seed: int, x: float) -> None:
    net, name, known, value = case
    found, random = net.sensitivity(name, known, value), np.random.default_rng(seed)
    each = str(random.choice([*net.tables]))
    if net.tables[each].shape[-1] == 1:
        return
    where = tuple(int(random.integers(size)) for size in net.tables[each].shape)
    states = [net.states[n][i] for n, i in zip((*net.parents[each], each), where, strict=True)]
    function = found.function(each, states[-1], dict(zip(net.parents[each], states[:-1], strict=True)))
    there = moved(net, each, where, x)
    assume(there.log_probability(known) > -np.inf)
    wanted = answer(there, name, known, value)
    assert function(x) == pytest.approx(wanted, abs=1e-9)
    if abs(function(0.01) - function(0.99)) > 1e-3:
        solved = function.solve(wanted)
        assert solved is not None
        assert function(solved) == pytest.approx(wanted, abs=1e-6)


def test_two_passes_give_all_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the network's size; two more for each table with zeros."""
    passes: list[int] = []
    once = Trees.expect

    def counted(self: Trees, codes: Any, weight: float, counts: Any) -> float:
        passes.append(1)
        return once(self, codes, weight, counts)

    monkeypatch.setattr(Trees, "expect", counted)
    net = Network.random(40, states=(2, 4), max_parents=3, seed=1)
    net.sensitivity(net.variables[7], {net.variables[3]: net.states[net.variables[3]][0]}).entries()
    assert len(passes) == 2
    asia = credo.Network.example("asia")
    asia.sensitivity("LungCancer", {"XRay": "yes"}).entries()
    assert len(passes) == 2 + 2 + 2  # TuberculosisOrCancer is a function of its parents


def test_a_tornado_of_fitted_tables() -> None:
    """The ends of each bar = queries with the entry at the ends of its credible interval."""
    rows = credo.Network.example("sprinkler").sample(200, seed=0)
    net = Network(credo.Network.example("sprinkler").parents).fit(rows)
    found = net.sensitivity("Rain", {"WetGrass": "yes"}, "yes").tornado(0.9)
    assert found.within == "90% credible intervals"
    widths = [bar.width for bar in found.bars]
    assert widths == sorted(widths, reverse=True)
    for bar in found.bars:
        belief = net.belief(bar.entry.name, bar.entry.given)
        assert belief.interval(0.9)[bar.entry.state] == pytest.approx((bar.low, bar.high), abs=1e-9)
        where = tuple(
            net.states[n].index(s)
            for n, s in (
                *((p, bar.entry.given[p]) for p in net.parents[bar.entry.name]),
                (bar.entry.name, bar.entry.state),
            )
        )
        for x, p in ((bar.low, bar.at_low), (bar.high, bar.at_high)):
            there = moved(net, bar.entry.name, where, x)
            assert answer(there, "Rain", {"WetGrass": "yes"}, "yes") == pytest.approx(p, abs=1e-9)
    fixed = credo.Network.example("sprinkler").sensitivity("Rain", {"WetGrass": "yes"}).tornado(change=0.2, top=3)
    assert len(fixed.bars) == 3
    assert fixed.bars[0].high == pytest.approx(min(1.0, 1.2 * fixed.bars[0].entry.value))
    assert fixed.plot().axes


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_bounds_of_two_intervals_hold_everywhere_between(seed: int) -> None:
    random = np.random.default_rng(seed)
    net = Network.random(5, states=(2, 3), seed=int(random.integers(1000)))
    names = [str(each) for each in random.permutation(net.variables)]
    known = {names[0]: net.states[names[0]][0]}
    found, intervals = net.sensitivity(names[1], known), list[Any]()
    places: list[tuple[str, tuple[int, ...]]] = []
    for name in random.choice(net.variables, 2):
        where = tuple(int(random.integers(size)) for size in net.tables[name].shape)
        if (name, where[:-1]) in [(other, at[:-1]) for other, at in places]:
            continue
        low, high = sorted(random.uniform(0.05, 0.95, 2))
        above = {p: net.states[p][i] for p, i in zip(net.parents[name], where[:-1], strict=True)}
        intervals.append((str(name), net.states[name][where[-1]], above, low, high))
        places.append((str(name), where))
    bounds, inside = found.bounds(intervals), []
    for _ in range(20):
        there = net
        for (name, where), (*_, low, high) in zip(places, intervals, strict=True):
            there = moved(there, name, where, random.choice([low, high, random.uniform(low, high)]))
        inside.append(answer(there, names[1], known, found.value))
    assert bounds.low - 1e-12 <= min(inside)
    assert max(inside) <= bounds.high + 1e-12
    assert len(bounds.at_low) == len(intervals)


def test_bounds_within_one_row() -> None:
    """Three states, all known as intervals: the row sums to 1."""
    net = Network("A -> B", {"A": {"x": 0.2, "y": 0.3, "z": 0.5}, "B": [0.9, 0.5, 0.1]})
    found = net.sensitivity("B", value="yes")
    bounds = found.bounds([("A", "x", None, 0.1, 0.4), ("A", "y", {}, 0.2, 0.4), ("A", "z", None, 0.3, 0.6)])
    assert bounds.high == pytest.approx(0.4 * 0.9 + 0.3 * 0.5 + 0.3 * 0.1)
    assert bounds.low == pytest.approx(0.1 * 0.9 + 0.3 * 0.5 + 0.6 * 0.1)
    assert bounds.at_high["P(A=x)"] == pytest.approx(0.4)


BAD: dict[str, tuple[list[Any], str]] = {
    "empty": ([("A", "yes", None, 0.5, 0.4)], "is empty: 0.5 is above 0.4"),
    "outside": ([("A", "yes", None, 0.5, 1.4)], "must be within 0 and 1"),
    "no row": (
        [("A", "yes", None, 0.5, 0.6), ("A", "no", None, 0.5, 0.6), ("A", "maybe", None, 0.5, 0.6)],
        "are empty",
    ),
    "twice": ([("A", "yes", None, 0.1, 0.2), ("A", "yes", None, 0.1, 0.3)], "has two intervals"),
    "no parent": ([("A", "yes", {"B": "yes"}, 0.1, 0.2)], "'B' isn't a parent of 'A'"),
    "no state": ([("B", "yes", None, 0.1, 0.2)], "needs the state of each parent, and 'A' has none"),
    "no such state": ([("A", "perhaps", None, 0.1, 0.2)], "no state 'perhaps'"),
    "no table": ([("C", "yes", None, 0.1, 0.2)], "no table of 'C'"),
    "none": ([], "at least one interval"),
    "a pair": ([("A", 0.2)], "an interval is"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_intervals(case: str) -> None:
    intervals, message = BAD[case]
    net = Network("A -> B", {"A": {"yes": 0.2, "no": 0.3, "maybe": 0.5}, "B": [0.9, 0.5, 0.1]})
    with pytest.raises(credo.CredoError, match=message):
        net.sensitivity("B").bounds(intervals)


def test_bad_questions() -> None:
    net = credo.Network.example("sprinkler")
    with pytest.raises(credo.EvidenceError, match="'Rain' is given"):
        net.sensitivity("Rain", {"Rain": "yes"})
    with pytest.raises(credo.SchemaError, match="no variable 'Rainn'"):
        net.sensitivity("Rainn")
    with pytest.raises(credo.EvidenceError, match="no state 'perhaps'"):
        net.sensitivity("Rain", value="perhaps")
    with pytest.raises(credo.DataError, match="change must be a share"):
        net.sensitivity("Rain").tornado(change=2.0)
    with pytest.raises(credo.EvidenceError, match="must be a number, but is 'x'"):
        net.sensitivity("Rain").function("Rain", "yes", {"Cloudy": "yes"}).solve("x")  # type: ignore[arg-type]
    with pytest.raises(credo.EvidenceError, match="no findings"):
        net.evidence_impact("Rain", {})
    wide = Network(
        {f"a{i}": () for i in range(13)} | {"b": ("a0",)}, {f"a{i}": 0.5 for i in range(13)} | {"b": [0.1, 0.9]}
    )
    with pytest.raises(credo.SizeError, match="13 intervals take"):
        wide.sensitivity("b").bounds([(f"a{i}", "yes", None, 0.1, 0.2) for i in range(13)])


def test_impact_of_findings() -> None:
    net = credo.Network.example("asia")
    known = {"XRay": "yes", "Smoking": "yes", "VisitToAsia": "yes"}
    found = net.evidence_impact("LungCancer", known)
    assert found.after == pytest.approx(net.query("LungCancer", known))
    assert [one.divergence for one in found.findings] == sorted(
        (one.divergence for one in found.findings), reverse=True
    )
    assert found.findings[0].name == "XRay"
    without = net.query("LungCancer", {"Smoking": "yes", "VisitToAsia": "yes"})
    assert found.findings[0].without == pytest.approx(without)
    assert entropy(without) == pytest.approx(-sum(p * np.log(p) for p in without.values()))
    assert "XRay=yes" in repr(found)


def test_tied_tables_are_moved_one_at_a_time_and_a_notice_says_so() -> None:
    step = {"yes": 0.9, "no": 0.2}
    net = Network("A -> B -> C", {"A": 0.5, "B": step, "C": step}, ["yes", "no"], tied={"B": "step", "C": "step"})
    with pytest.warns(Notice, match="tied nodes share a table"):
        net.sensitivity("C")
