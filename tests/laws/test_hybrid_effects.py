"""Hybrid networks: effects under do, what to ask, hidden categories, rows that are estimated."""

from __future__ import annotations

from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.causes.effect import Effect
from credo.networks.hybrid import rows as hybrid_rows
from credo.networks.hybrid.effects import NumberEffect

DRUG = credo.HybridNetwork(
    "Gender -> Drug, Pressure, Well; Drug -> Pressure, Well",
    {
        "Gender": {"m": 0.5, "f": 0.5},
        "Drug": {"m": 0.75, "f": 0.25},
        "Pressure": credo.nodes.Normal({("m", "yes"): 120, ("m", "no"): 140, ("f", "yes"): 110, ("f", "no"): 120}, 5.0),
        "Well": {("m", "yes"): 0.6, ("m", "no"): 0.7, ("f", "yes"): 0.2, ("f", "no"): 0.3},
    },
)


def test_the_effect_of_a_category_on_a_number_adjusts_for_its_causes() -> None:
    found = DRUG.effect("Drug", "Pressure")
    assert isinstance(found, NumberEffect)
    assert found["yes"].mean() == pytest.approx(115.0)  # (120 + 110) / 2
    assert found["no"].mean() == pytest.approx(130.0)
    assert found.difference() == pytest.approx(-15.0)
    assert found.seen[0] is not None
    assert found.seen[0].mean() == pytest.approx(0.75 * 120 + 0.25 * 110)  # of those who take it, most are men
    assert "mean of Pressure" in repr(found)
    assert "<table" in found._repr_html_()


def test_the_effect_of_a_category_on_a_category() -> None:
    found = DRUG.effect("Drug", "Well")
    table = credo.Network(
        "Gender -> Drug, Well; Drug -> Well", {name: DRUG.tables[name] for name in DRUG.states}, DRUG.states
    ).effect("Drug", "Well")
    assert isinstance(found, Effect)
    assert found["yes"] == pytest.approx(table["yes"])
    assert found.difference() == pytest.approx(table.difference())
    among = DRUG.effect("Drug", "Pressure", given={"Gender": "m"})
    assert isinstance(among, NumberEffect)
    assert among["yes"].mean() == pytest.approx(120.0)


def test_effects_that_cant_be() -> None:
    with pytest.raises(credo.NetworkError, match="isn't identifiable"):
        DRUG.effect("Drug", "Well", hidden="Gender")
    with pytest.raises(credo.SchemaError, match="'Pressure' is a number"):
        DRUG.effect("Pressure", "Well")
    with pytest.raises(credo.SchemaError, match="there is no variable 'Drugs'"):
        DRUG.effect("Drugs", "Well")


def test_information_is_that_of_the_joint_table() -> None:
    p = DRUG.query(["Well", "Drug"], {"Pressure": 118.0})
    own, other = (
        {s: sum(v for k, v in p.items() if k[i] == s) for s in DRUG.states[name]}
        for i, name in enumerate(("Well", "Drug"))
    )
    nats = sum(p[w, d] * log(p[w, d] / own[w] / other[d]) for w, d in product(own, other))
    found = DRUG.what_to_ask("Well", {"Pressure": 118.0})
    assert {each.name for each in found.questions} == {"Gender", "Drug"}
    assert next(each.gain for each in found.questions if each.name == "Drug") == pytest.approx(nats)
    assert DRUG.mutual_information("Well", "Drug", {"Pressure": 118.0}) == pytest.approx(nats)
    with pytest.raises(credo.SchemaError, match="what_to_ask is about categories"):
        DRUG.what_to_ask("Pressure")


def test_the_impact_of_findings_about_numbers() -> None:
    found = DRUG.evidence_impact("Gender", {"Pressure": 138.0, "Well": "yes"})
    assert [each.name for each in found.findings] == ["Pressure", "Well"]
    assert found.after == pytest.approx(DRUG.query("Gender", {"Pressure": 138.0, "Well": "yes"}))
    assert found.findings[0].without == pytest.approx(DRUG.query("Gender", {"Well": "yes"}))


# Rows


def test_rows_beyond_the_limit_are_queries_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"Gender": [None, "f", None], "Drug": [None, "yes", "no"], "Well": [None, None, None],
            "Pressure": [118.0, 111.0, None]}  # fmt: skip
    exact = DRUG.log_prob(rows), DRUG.predict_proba("Drug", rows), DRUG.predict("Pressure", rows)
    filled = DRUG.impute(rows)
    monkeypatch.setattr(hybrid_rows, "MOST_JOINT_STATES", 1)
    np.testing.assert_allclose(DRUG.log_prob(rows), exact[0])
    np.testing.assert_allclose(DRUG.predict_proba("Drug", rows, method="exact"), exact[1])
    np.testing.assert_allclose(DRUG.predict("Pressure", rows), exact[2])
    again = DRUG.impute(rows)
    assert again.drop(["Pressure"]) == filled.drop(["Pressure"])
    np.testing.assert_allclose(again["Pressure"].to_numpy(), filled["Pressure"].to_numpy())


def test_estimated_rows_are_told() -> None:
    rows = {"Gender": ["m"], "Drug": [None], "Well": [None], "Pressure": [118.0]}
    with pytest.warns(credo.Notice, match="1 row"):
        found = DRUG.predict_proba("Drug", rows, method="likelihood-weighting", samples=20_000, seed=1)
    np.testing.assert_allclose(found, DRUG.predict_proba("Drug", rows), atol=0.02)


def test_a_logistic_node_of_a_missing_number_is_estimated() -> None:
    net = credo.HybridNetwork(
        "x -> y", {"x": credo.nodes.Normal(0.0, 1.0), "y": credo.nodes.LogisticOfNumbers(0.0, {"x": 2.0})}
    )
    with pytest.warns(credo.Notice, match="estimated by likelihood-weighting"):
        found = net.predict_proba("y", {"x": [None, 1.0], "y": [None, None]}, seed=1)
    assert found[0, 0] == pytest.approx(0.5, abs=0.02)
    assert found[1, 0] == pytest.approx(1 / (1 + np.exp(-2.0)))
    with pytest.raises(credo.SizeError):
        net.predict_proba("y", {"x": [None], "y": [None]}, method="exact")


# Kinds


def test_whole_numbers_of_two_values_are_categories_with_a_notice() -> None:
    data = {"a": [0, 1, 1, 0, 1, 0], "b": [1.5, 2.5, 2.0, 1.0, 3.0, 1.2]}
    with pytest.warns(credo.Notice, match="'a': whole numbers of at most two values are read as categories"):
        net = credo.HybridNetwork("a -> b").fit(data)
    assert "a" in net.states
    as_number = net.fit(data, kinds={"a": "number"})  # what was learned is dropped, and so is what it looked like
    assert "a" in as_number.numbers
    with pytest.raises(credo.SchemaError, match="its node or its states say a category"):
        credo.HybridNetwork("a -> b", states={"a": (0, 1)}).fit(data, kinds={"a": "number"})


# Hidden categories


def _two_groups(rows: int) -> dict[str, list[object]]:
    random = np.random.default_rng(3)
    group = random.random(rows) < 0.3
    x = np.where(group, 5.0, 0.0) + random.standard_normal(rows)
    y = np.where(group, -3.0, 3.0) + 0.5 * random.standard_normal(rows)
    z = np.where(random.random(rows) < np.where(group, 0.9, 0.2), "yes", "no")
    return {"x": x.tolist(), "y": y.tolist(), "z": z.tolist()}


def test_a_hidden_category_is_found_by_em() -> None:
    data = _two_groups(300)
    net = credo.HybridNetwork("H -> x, y, z").fit(data, hidden={"H": 2}, starts=3, seed=1)
    assert net.states["H"] == (0, 1)
    assert all(b >= a - 1e-9 * abs(a) for a, b in zip(net.history, net.history[1:], strict=False))
    share = net.query("H")
    assert min(share.values()) == pytest.approx(0.3, abs=0.07)
    few = min(share, key=lambda state: share[state])
    assert net.query("x", {"H": few}).mean() == pytest.approx(5.0, abs=0.4)
    assert net.query("z", {"H": few})["yes"] == pytest.approx(0.9, abs=0.1)
    with pytest.raises(credo.EvidenceError, match="fitted by EM"):
        net.forget(data)


def test_a_hidden_cause_of_numbers_is_a_mixture() -> None:
    """log p of each row, under its own nodes, is that of the mixture that they are."""
    data = {name: own for name, own in _two_groups(120).items() if name != "z"}
    net = credo.HybridNetwork("H -> x, y").fit(data, hidden={"H": ["a", "b"]}, starts=2)
    h = net.tables["H"]
    total = np.zeros(120)
    for i in range(2):
        part = np.full(120, h[i])
        for name in ("x", "y"):
            node = net.numbers[name]
            away = (np.array(data[name]) - node.intercept[i]) / np.sqrt(node.variance[i])
            part *= np.exp(-0.5 * away**2) / np.sqrt(2 * np.pi * node.variance[i])
        total += part
    np.testing.assert_allclose(net.log_prob(data), np.log(total), rtol=1e-9)


def test_hidden_beside_missing_cells() -> None:
    data = _two_groups(150)
    data["x"][:20] = [None] * 20
    data["z"][10:30] = [None] * 20
    net = credo.HybridNetwork("H -> x, y, z").fit(data, hidden={"H": 2}, starts=2)
    assert min(net.query("H").values()) == pytest.approx(0.3, abs=0.1)


def test_bad_hidden_variables() -> None:
    data = _two_groups(20)
    net = credo.HybridNetwork("H -> x, y, z")
    wrong: tuple[tuple[Any, str], ...] = (
        (None, "hidden={'H': 2}"),
        ({"H": 0}, "at least one state"),
        ({"G": 2}, "it isn't a variable"),
        ({"H": 2, "x": 2}, "have a column of it"),
        (3, "must be {variable: number of states}"),
    )
    for hidden, said in wrong:
        with pytest.raises(credo.errors.CredoError, match=said.replace("{", r"\{")):
            net.fit(data, hidden=hidden)
