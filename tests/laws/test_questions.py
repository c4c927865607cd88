"""One protocol for questions: every model lists its variables, answers about them, and all of it is JSON-able."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from math import isclose
from typing import Any

import numpy as np
import pytest

import credo
from credo.asking import answer_data, parse, protocol, variables, waterfall
from credo.asking.protocol import ADAPTERS, WATERFALLS
from credo.errors import DataError

ROWS: dict[str, list[Any]] = {
    "play": ["yes", "no", "yes", "no", "yes", "no", "yes", "yes"],
    "wind": ["weak", "strong", "weak", "strong", "weak", "weak", "strong", "weak"],
    "heat": [21.5, 3.0, 24.0, 6.5, 19.0, 8.0, 11.5, 26.0],
    "note": ["sun and light", "rain and cold", "sun again", "cold rain", "light wind", "rain", "sun", "a light sun"],
}
FIRE = credo.Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})


def uniform(x: Any, theta: Any) -> Any:
    return np.where(x <= theta, -np.log(theta), -np.inf)


MODELS: dict[str, Any] = {
    "network": FIRE,
    "Markov network": credo.MarkovNetwork(FIRE.states, FIRE.factors),
    "naive Bayes": credo.NaiveBayes(kinds={"note": "text"}).fit(ROWS, target="play"),
    "tuned": credo.learn({name: cells * 3 for name, cells in ROWS.items()}, "play", kinds={"note": "text"}),
    "discriminant": credo.GaussianDiscriminant().fit({"heat": ROWS["heat"], "play": ROWS["play"]}, target="play"),
    "coin": credo.BetaBernoulli(1, 1).update([1, 0, 1]),
    "colours": credo.DirichletCategorical(1).update(["red", "blue", "red"]),
    "rows": credo.NormalInverseWishart([0, 0], 1, 4, np.eye(2)).update({"x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 2.0]}),
    "counts": credo.GammaPoisson(1, 1).update([3, 4, 5]),
    "prior": credo.NormalInverseGamma(0, 1, 2, 1),
    "numeric": credo.Numeric(uniform, lambda theta: 0 * theta, support=(0, 10)).update([2, 4, 7, 8]),
    "groups": credo.estimate(ROWS, "play", by="wind"),
    "columns": credo.estimate(ROWS, ["play", "wind"]),
}


def asked_of(model: Any) -> list[str]:
    """A question about each variable that can be asked for, given a group where there are groups."""
    found = variables(model)
    group = next((each for each in found if each["role"] == "group"), None)
    given = "" if group is None else f" | {group['name']}={group['values'][0]}"
    return [f"P({each['name']}{given})" for each in found if each["asked"]]


@pytest.mark.parametrize("name", MODELS)
def test_variables_are_plain_data(name: str) -> None:
    found = variables(MODELS[name])
    assert found
    assert json.loads(json.dumps(found, default=pytest.fail))
    for each in found:
        assert each.keys() >= {"name", "kind", "role", "asked"}
        assert each["kind"] != "category" or each["values"]
        if "range" in each:
            assert each["range"][0] < each["range"][1]


@pytest.mark.parametrize("name", MODELS)
def test_each_variable_has_an_answer_and_that_is_plain_data(name: str) -> None:
    model = MODELS[name]
    questions = asked_of(model)
    assert questions
    for text in questions:
        data = answer_data(parse(text), credo.ask(model, text))
        assert json.loads(json.dumps(data, default=pytest.fail))
        assert len(data.keys() & {"probabilities", "distribution"}) == 1, text
        if "probabilities" in data:
            assert isclose(sum(line["probability"] for line in data["probabilities"]), 1)


@pytest.mark.parametrize("name", ["network", "Markov network", "naive Bayes", "tuned", "discriminant"])
def test_values_are_those_that_can_be_given(name: str) -> None:
    model, found = MODELS[name], variables(MODELS[name])
    target = next((each for each in found if each["role"] == "target"), found[-1])
    example = {"number": 20.0, "text": "sun"}
    for each in found:
        for value in each.get("values") or [example[each["kind"]]]:
            if each is not target:
                assert sum(credo.ask(model, f"P({target['name']} | {each['name']}={value})").values()) == pytest.approx(
                    1
                )


@pytest.mark.parametrize("name", ["network", "naive Bayes", "tuned", "discriminant"])
def test_a_waterfall_adds_up(name: str) -> None:
    question = "explain P(Fire | Storm=yes)" if name == "network" else "explain P(play | heat=20)"
    found = waterfall(credo.ask(MODELS[name], question))
    assert found.prior + sum(each["weight"] for each in found.weights) == pytest.approx(found.log_odds)
    assert json.loads(json.dumps(asdict(found), default=pytest.fail))
    explained = answer_data(parse(question), credo.ask(MODELS[name], question))["explanation"]
    assert explained["of"] == found.title
    assert explained["log_odds"] == found.log_odds


def test_texts_of_a_waterfall_have_their_words_in_place() -> None:
    found = waterfall(MODELS["naive Bayes"].explain({"note": "sun and cold rain", "wind": None, "heat": None}))
    (text,) = found.texts
    assert (text["name"], text["text"]) == ("note", "sun and cold rain")
    assert {text["text"][start:end] for word in text["words"] for start, end in word["places"]} >= {"sun", "rain"}
    weight = next(each["weight"] for each in found.weights if each["name"] == "note")
    assert sum(word["weight"] for word in text["words"]) == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("places", [ADAPTERS, WATERFALLS])
def test_every_registered_name_is_there(places: dict[str, str]) -> None:
    from importlib import import_module

    for one, other in places.items():
        for path in (one, other):
            module, _, name = path.rpartition(".")
            assert callable(getattr(import_module(module), name)), path


def test_a_new_kind_of_model_is_one_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, f"{__name__}.Die", f"{__name__}.DieAdapter")
    assert credo.ask(LoadedDie(), "P(face)") == {1: 0.5, 6: 0.5}
    assert variables(LoadedDie())[0]["values"] == [1, 6]
    with pytest.raises(DataError, match="a LoadedDie answers exactly"):
        credo.ask(LoadedDie(), "P(face)", method="gibbs")
    with pytest.raises(DataError, match="of type set"):
        protocol.adapter({1})


class Die:
    pass


class LoadedDie(Die):
    """Its base class's adapter is its own."""


class DieAdapter:
    estimates = False

    def __init__(self, die: Die) -> None:
        self.die = die

    def variables(self) -> list[protocol.Variable]:
        return [{"name": "face", "kind": "category", "role": "variable", "values": [1, 6], "asked": True}]

    def query(self, question: Any) -> Any:
        assert (question.names, question.inference.method) == (["face"], "auto")
        return {1: 0.5, 6: 0.5}


@pytest.mark.parametrize(
    ("statement", "unneeded"),
    [
        ("credo.ask(credo.Network.example('asia'), 'P(XRay)')", ("credo.models", "credo.estimation", "credo.blocks")),
        ("credo.ask(credo.BetaBernoulli(1, 1), 'P(theta > 0.5)')", ("credo.models", "credo.blocks", "credo.selection")),
    ],
)
def test_a_question_loads_the_adapter_of_its_model_alone(statement: str, unneeded: tuple[str, ...]) -> None:
    code = f"import sys, credo; {statement}; print([n for n in sys.modules if n.startswith({unneeded!r})])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"
