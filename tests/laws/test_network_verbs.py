"""One verb, one meaning, over all kinds of networks: what a verb gives, or one sentence about why it can't."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import CredoError, UnsupportedError
from credo.networks.factor import Factor
from credo.notices import quietly
from credo.present.models import model_content

ROWS = {"S": ["yes", "no", "no", "yes", "no", "no"], "F": ["yes", "no", "no", "no", "yes", "no"]}
MORE = {"S": ["yes", "no"], "F": ["no", "yes"]}
HEAT = {"Flu": ["yes", "no", "no", "yes", "no", "yes"], "Fever": [39.1, 36.8, 36.5, 38.2, 37.3, 39.9]}
HEAT_MORE = {"Flu": ["no", "yes"], "Fever": [37.0, 38.8]}
DAYS = {"R": ["yes", "yes", "no", "no", "yes"], "U": ["yes", "no", "no", "no", "yes"]}
DAYS_MORE = {"R": ["no", "yes"], "U": ["no", "yes"]}
CLINIC = {
    "W": {"ward": [1, 2], "O": ["yes", "no"]},
    "P": {"patient": ["ann", "bob", "cy"], "ward": [1, 1, 2], "I": ["yes", "no", "no"]},
}
CLINIC_MORE = {
    "W": {"ward": [3, 4], "O": ["no", "yes"]},
    "P": {"patient": ["dan", "eve"], "ward": [3, 4], "I": ["yes", "no"]},
}


@dataclass(frozen=True)
class Case:
    """A network, what its verbs are called with, and which of them it refuses."""

    net: Any  # with numbers that are given
    asked: str = ""  # a variable
    event: dict[str, Any] = field(default_factory=dict)
    impossible: Any = None  # evidence, or rows
    rows: Any = None
    question: str = ""
    bare: Any = None  # arrows alone
    data: Any = None
    more: Any = None
    refused: tuple[str, ...] = ()


LEARNING = ("fit", "update", "forget", "discount", "merge")
CASES = {
    "Network": Case(
        credo.Network("S -> F", {"S": 0.2, "F": {"yes": 0.25, "no": 0.0}}), "F", {"F": "yes"},
        {"S": ["no"], "F": ["yes"]}, ROWS, "P(F=yes)", credo.Network("S -> F"), ROWS, MORE,
    ),
    "MarkovNetwork": Case(
        credo.MarkovNetwork({"a": (0, 1), "b": (0, 1)}, [Factor(("a", "b"), np.array([[3.0, 1.0], [0.0, 4.0]]))]), "b",
        {"b": 1}, {"a": [1], "b": [0]}, {"a": [0, 1], "b": [0, 1]}, "P(b=1)",
        refused=(*LEARNING, "do", "effect", "sensitivity", "plot", "d_separated", "cross_validate", "belief"),
    ),
    "HybridNetwork": Case(
        credo.HybridNetwork(
            "Flu -> Fever; Flu -> Test",
            {"Flu": 0.1, "Fever": credo.nodes.Normal({"yes": 39.0, "no": 36.8}, 0.5), "Test": {"yes": 1.0, "no": 0.2}},
        ),
        "Flu", {"Flu": "yes"}, {"Flu": ["yes"], "Test": ["no"], "Fever": [38.0]},
        {"Flu": ["yes", "no"], "Test": ["yes", "no"], "Fever": [39.0, 36.5]}, "P(Flu=yes)",
        credo.HybridNetwork("Flu -> Fever"), HEAT, HEAT_MORE,
        ("sensitivity", "counterfactual", "believing", "divergence", "log_evidence"),
    ),
    "DynamicNetwork": Case(
        credo.DynamicNetwork(
            "previous(R) -> R -> U", {"R": {"yes": 0.7, "no": 0.3}, "U": {"yes": 0.9, "no": 0.0}}, first={"R": 0.5}
        ),
        "R[1]", {"R[1]": "yes"}, {"R": ["yes", "no"], "U": ["yes", "yes"]}, DAYS, "P(R[1]=yes)",
        credo.DynamicNetwork("previous(R) -> R -> U"), DAYS, DAYS_MORE,
        ("marginals", "most_probable", "impute", "explain", "do", "effect", "cross_validate", "write", "read"),
    ),
    "PlateNetwork": Case(
        credo.PlateNetwork(
            "W.O -> P.I", {"W.O": 0.1, "P.I": {"yes": 0.5, "no": 0.02}}, keys={"W": "ward", "P": "patient"}
        ),
        bare=credo.PlateNetwork("W.O -> P.I", keys={"W": "ward", "P": "patient"}), data=CLINIC, more=CLINIC_MORE,
        refused=("query", "marginals", "probability", "log_prob", "sample", "predict", "impute", "do", "write"),
    ),
    "InfluenceDiagram": Case(
        credo.InfluenceDiagram("A, D -> U", {"A": 0.3}, {"U": [[1, 2], [3, 4]]}, ["D"]),
        refused=(*LEARNING, "query", "marginals", "probability", "log_prob", "sample", "explain", "do"),
    ),
}  # fmt: skip
ANSWERING = [name for name, case in CASES.items() if case.asked]
ALL_MARGINALS = [name for name in ANSWERING if "marginals" not in CASES[name].refused]
LEARNERS = [name for name, case in CASES.items() if case.bare is not None]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=ANSWERING)
def answering(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


# Questions


def test_query_is_a_distribution_whose_events_have_these_probabilities(answering: Case) -> None:
    net, (name, state) = answering.net, next(iter(answering.event.items()))
    found = net.query(answering.asked)
    assert sum(found.values()) == pytest.approx(1.0)
    assert net.probability({name: state}) == pytest.approx(found[state])
    assert np.exp(net.log_probability({name: state}) - net.log_probability()) == pytest.approx(found[state])
    assert credo.ask(net, answering.question) == pytest.approx(found[state])


@pytest.mark.parametrize("name", ALL_MARGINALS)
def test_marginals_are_the_queries_of_all(name: str) -> None:
    net = CASES[name].net
    found = net.marginals()
    assert {*found} == {*net.variables}
    assert found[CASES[name].asked] == pytest.approx(net.query(CASES[name].asked))


def test_log_prob_of_what_is_impossible_is_minus_infinity(answering: Case) -> None:
    assert answering.net.log_prob(answering.impossible).tolist() == [-np.inf]
    assert np.isfinite(answering.net.log_prob(answering.rows)).all() or answering.net.directed


@pytest.mark.parametrize("name", ALL_MARGINALS)
def test_rows_take_a_method_samples_and_a_seed(name: str) -> None:
    case = CASES[name]
    column = case.asked
    for verb in (case.net.log_prob, case.net.impute):
        first, second = (verb(case.rows, method="exact", samples=10, seed=seed) for seed in (0, 1))
        assert first.tolist() == second.tolist() if isinstance(first, np.ndarray) else first == second
    shares = case.net.predict_proba(column, case.rows, method="exact", samples=10, seed=1)
    assert shares.sum(1) == pytest.approx(1.0)
    states = np.array(case.net.states[column])
    assert case.net.predict(column, case.rows, method="exact").tolist() == states[shares.argmax(1)].tolist()


def test_samples_follow_the_network(answering: Case) -> None:
    name, state = next(iter(answering.event.items()))
    if "[" in name:  # rows of one slice after the other
        rows = answering.net.sample([2] * 2000, seed=1).to_pydict()
        drawn = np.array(rows["R"])[1::2]
    else:
        drawn = np.array(answering.net.sample(2000, seed=1).to_pydict()[name])
    p = answering.net.query(name)[state]
    assert (drawn == state).mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 2000))


# Learning


def _numbers(net: Any) -> dict[str, Any]:
    if net.__class__.__name__ != "HybridNetwork":
        return dict(net.tables)
    lines = {name: np.concatenate([node.intercept, node.variance]) for name, node in net.numbers.items()}
    return {**net.tables, **lines}


def _close(one: Any, two: Any) -> None:
    a, b = _numbers(one), _numbers(two)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=1e-9, rtol=1e-9)


def test_fit_update_and_forget(learner: Case) -> None:
    fitted = learner.bare.fit(learner.data)
    both = fitted.update(learner.more)
    assert both.n == pytest.approx(fitted.n + learner.bare.fit(learner.more).n)
    _close(both.forget(learner.more), fitted)


def test_evidence_adds(learner: Case) -> None:
    one, two = learner.bare.fit(learner.data), learner.bare.fit(learner.more)
    whole = one.update(learner.more)
    _close(one + two, whole)
    _close(one.merge(two), whole)
    assert one.discount(0.5).n == pytest.approx(0.5 * one.n)


def test_what_is_given_needs_no_rows_and_takes_none(learner: Case) -> None:
    with pytest.raises(CredoError, match="fixed"):
        learner.net.update(learner.data)


# Refusals


def test_a_verb_that_cant_be_is_one_sentence(case: Case) -> None:
    for verb in case.refused:
        with pytest.raises(UnsupportedError, match=f"has no {verb}: .{{20}}"):
            getattr(case.net, verb)
        assert not hasattr(case.net, verb)
        assert verb not in dir(case.net)
    if "fit" in case.refused:
        with pytest.raises(UnsupportedError, match="no evidence that could be added"):
            case.net + case.net
    with pytest.raises(AttributeError, match="no attribute 'marginal'"):
        _ = case.net.marginal


# Storage and presentation


def test_stored_and_pickled_networks_are_the_same(case: Case, tmp_path: Path) -> None:
    credo.save(case.net, tmp_path / "n.credo")
    for again in (credo.load(tmp_path / "n.credo"), pickle.loads(pickle.dumps(case.net))):
        assert type(again) is type(case.net)
        assert again == case.net
        assert hash(again) == hash(case.net)
    assert case.net != 1
    if case.bare is not None:
        fitted = case.bare.fit(case.data)
        assert pickle.loads(pickle.dumps(fitted)) == fitted
        assert fitted != case.net


def test_networks_are_shown(case: Case) -> None:
    assert repr(case.net).strip()
    assert "<" in case.net._repr_html_()
    assert model_content(case.net)


READS: dict[str, tuple[Callable[[], Any], str]] = {
    "Network": (lambda: CASES["Network"].net, "n.bif"),
    "MarkovNetwork": (lambda: CASES["MarkovNetwork"].net, "n.uai"),
    "HybridNetwork": (lambda: credo.HybridNetwork("x -> y", {
        "x": credo.nodes.Normal(1.0, sd=2.0), "y": credo.nodes.Normal(0.0, 1.0, {"x": 3.0})}), "n.json"),
    "InfluenceDiagram": (lambda: CASES["InfluenceDiagram"].net, "n.xdsl"),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_a_class_reads_what_it_writes_and_nothing_else(name: str, tmp_path: Path) -> None:
    made, file = READS[name]
    with quietly():
        made().write(tmp_path / file)
    again = getattr(credo, name).read(tmp_path / file)
    assert type(again).__name__ == name
    assert len(again.states) == len(made().states)
    for other in READS:
        if other != name:
            with pytest.raises(credo.NetworkError):
                getattr(credo, other).read(tmp_path / file)
