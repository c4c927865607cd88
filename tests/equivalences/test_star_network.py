"""Naive Bayes is a star: a network with an arrow from the class to each column."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import EvidenceError

Estimate = Literal["bayes", "mean", "map", "ml"]
ESTIMATES: tuple[Estimate, ...] = ("bayes", "mean", "map", "ml")
SMOOTHING, CLASS_SMOOTHING = 1.5, 2.25
COLUMNS = {
    "sky": ("clear", "cloudy", "rain"),
    "wind": ("strong", "weak"),
    "leaves": (0, 1),
    "day": ("5-10", "a b", "x"),
}
CLASSES = ("maybe", "no", "yes")
ROWS = 60


def rows(seed: int) -> dict[str, Any]:
    """Every class and value is there at least once."""
    random = np.random.default_rng(seed)
    found = {name: np.array(values)[random.integers(len(values), size=ROWS)] for name, values in COLUMNS.items()}
    for name, values in COLUMNS.items():
        found[name][: len(values)] = values
    play = np.array(CLASSES)[random.integers(len(CLASSES), size=ROWS)]
    play[: len(CLASSES)] = CLASSES
    return {**found, "play": play}


def shares(counts: Any, smoothing: float, estimate: str) -> Any:
    """Of each value, by the formulas: n/N, (n + l - 1)/(N + J(l - 1)), (n + l)/(N + J l)."""
    added = {"ml": 0.0, "map": smoothing - 1}.get(estimate, smoothing)
    return (counts + added) / (counts + added).sum(-1, keepdims=True)


def star(data: dict[str, Any], estimate: str) -> credo.Network:
    """From the rows alone."""
    classes = np.array([(data["play"] == value).sum() for value in CLASSES], dtype=float)
    tables: dict[str, Any] = {"play": shares(classes, CLASS_SMOOTHING, estimate)}
    for name, values in COLUMNS.items():
        counts = [[((data["play"] == c) & (data[name] == v)).sum() for v in values] for c in CLASSES]
        tables[name] = shares(np.array(counts, dtype=float), SMOOTHING, estimate)
    arrows = {"play": [], **{name: ["play"] for name in COLUMNS}}
    return credo.Network(arrows, tables, {"play": CLASSES, **COLUMNS})


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[credo.NaiveBayes, credo.Network]]:
    found: dict[str, tuple[credo.NaiveBayes, credo.Network]] = {}
    for seed, estimate in enumerate(ESTIMATES):
        data = rows(seed)
        kinds = dict.fromkeys(COLUMNS, "category")
        model = credo.NaiveBayes(SMOOTHING, CLASS_SMOOTHING, estimate, kinds=kinds).fit(data, target="play")
        found[estimate] = model, star(data, estimate)
    return found


@st.composite
def questions(draw: st.DrawFn) -> str:
    """P and E of some variables, names and events, given what is said of others in all ways."""
    values: dict[str, tuple[Any, ...]] = {"play": CLASSES, **COLUMNS}
    order = draw(st.permutations(list(values)))
    count = draw(st.integers(1, 3))
    asked = [draw(_term(name, values[name], names=True)) for name in order[:count]]
    given_ = [draw(_term(name, values[name], names=False)) for name in order[count : draw(st.integers(count, 5))]]
    bar = f" | {', '.join(given_)}" if given_ else ""
    if all(" " not in each and "=" not in each for each in asked) and draw(st.booleans()):
        return f"argmax P({', '.join(asked)}{bar})"
    if draw(st.integers(0, 9)) == 0 and "leaves" not in bar:
        return f"E(leaves{bar})"
    return f"P({', '.join(asked)}{bar})"


@st.composite
def _term(draw: st.DrawFn, name: str, values: tuple[Any, ...], names: bool) -> str:
    some = draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
    if names and draw(st.booleans()):
        return name
    way = draw(st.sampled_from(["=", "!=", "in", *(["likelihood"] if not names else [])]))
    if way == "in":
        return f"{name} in {{{', '.join(map(_quoted, some))}}}"
    if way == "likelihood":
        weights = (f"{_quoted(value)}: {draw(st.sampled_from([0.25, 1, 3.5]))}" for value in some)
        return f"{name}={{{', '.join(weights)}}}"
    return f"{name} {way} {_quoted(some[0])}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if " " in str(value) else str(value)


@settings(max_examples=400, deadline=None)
@given(questions(), st.sampled_from(ESTIMATES))
def test_a_star_network_answers_as_naive_bayes(
    pairs: dict[str, tuple[credo.NaiveBayes, credo.Network]], question: str, estimate: str
) -> None:
    model, net = pairs[estimate]
    try:
        expected = credo.ask(net, question)
    except EvidenceError:  # impossible, where nothing is smoothed
        with pytest.raises(EvidenceError):
            credo.ask(model, question)
        return
    found = credo.ask(model, question)
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-12)
    elif question.startswith("argmax"):
        assert found.log_joint == pytest.approx(expected.log_joint, abs=1e-12)
        assert set(found) == set(expected)  # whose values may differ, where two are as probable
    else:
        assert list(found) == list(expected)
        assert [*found.values()] == pytest.approx([*expected.values()], abs=1e-12)


def test_all_that_is_most_probable(pairs: dict[str, tuple[credo.NaiveBayes, credo.Network]]) -> None:
    for model, net in pairs.values():
        for question in ("argmax P(*)", "argmax P(* | play=no)", "argmax P(* | wind=weak, sky!=rain)"):
            found, expected = credo.ask(model, question), credo.ask(net, question)
            assert found.log_joint == pytest.approx(expected.log_joint, abs=1e-12)
            assert set(found) == set(expected)


@pytest.mark.parametrize("estimate", ["bayes", "ml"])
@pytest.mark.parametrize("seed", range(3))
def test_a_star_network_learns_as_naive_bayes(estimate: Estimate, seed: int) -> None:
    """The same counts and priors give the same posteriors, after learning, updating and forgetting alike."""
    data, more = rows(seed), rows(seed + 10)
    kinds = dict.fromkeys(COLUMNS, "category")
    model = credo.NaiveBayes(SMOOTHING, CLASS_SMOOTHING, estimate, kinds=kinds).fit(data, target="play")
    arrows = {"play": [], **{name: ["play"] for name in COLUMNS}}
    prior: Any = "ml" if estimate == "ml" else {"play": CLASS_SMOOTHING, **dict.fromkeys(COLUMNS, SMOOTHING)}
    net = credo.Network(arrows).fit(data, prior=prior)
    expected = star(data, estimate)
    assert dict(net.states) == dict(expected.states)
    assert all(net.tables[name] == pytest.approx(expected.tables[name], rel=1e-14) for name in arrows)
    seen = {name: data[name] for name in COLUMNS}
    for one, two in (
        (model, net),
        (model.update(more), net.update(more)),
        (model.update(more).forget(data), net.update(more).forget(data)),
    ):
        assert two.predict_proba("play", seen) == pytest.approx(one.predict_proba(seen), abs=1e-12)
        assert two.log_prob(seen) == pytest.approx(one.log_prob(seen), abs=1e-11)
