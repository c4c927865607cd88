"""The lectures' belief network, and the message classifier as the network that they draw."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.gradient import nearest_distributions
from credo.networks.network import Network

STORM = Network.example("storm")


def test_the_campfire_table() -> None:
    for storm, bus, p in [("yes", "yes", 0.4), ("yes", "no", 0.1), ("no", "yes", 0.8), ("no", "no", 0.2)]:
        given = {"Storm": storm, "BusTourGroup": bus}
        assert STORM.query("Campfire", given)["yes"] == pytest.approx(p, abs=1e-15)


def test_the_joint_is_the_product_of_the_tables() -> None:
    names = STORM.variables
    joint = STORM.query(list(names))
    assert sum(joint.values()) == pytest.approx(1.0, abs=1e-12)
    for values in product(("yes", "no"), repeat=6):
        row = dict(zip(names, values, strict=True))
        product_of_tables = 1.0
        for name in names:
            place = tuple(STORM.states[each].index(row[each]) for each in (*STORM.parents[name], name))
            product_of_tables *= float(STORM.tables[name][place])
        assert joint[values] == pytest.approx(product_of_tables, abs=1e-15)
        assert STORM.log_probability(row) == pytest.approx(np.log(product_of_tables), abs=1e-12)


def test_thunder_is_independent_of_rain_given_lightning_and_not_otherwise() -> None:
    tables = {"Rain": 0.3, "Lightning": {"yes": 0.4, "no": 0.05}, "Thunder": {"yes": 0.9, "no": 0.1}}
    net = Network("Rain -> Lightning -> Thunder", tables)
    assert net.d_separated("Thunder", "Rain", "Lightning")
    assert not net.d_separated("Thunder", "Rain")
    for rain, lightning in product(("yes", "no"), repeat=2):
        both = net.query("Thunder", {"Rain": rain, "Lightning": lightning})
        assert both == pytest.approx(net.query("Thunder", {"Lightning": lightning}), abs=1e-15)
    assert net.query("Thunder", {"Rain": "yes"})["yes"] == pytest.approx(0.4 * 0.9 + 0.6 * 0.1)
    assert net.query("Thunder")["yes"] != pytest.approx(net.query("Thunder", {"Rain": "yes"})["yes"], abs=0.01)
    assert net.mutual_information("Thunder", "Rain", {"Lightning": "yes"}) == pytest.approx(0.0, abs=1e-15)


def test_arrows_of_the_storm() -> None:
    assert STORM.parents["ForestFire"] == ("Storm", "Lightning", "Campfire")
    assert STORM.markov_blanket("Campfire") == {"Storm", "BusTourGroup", "ForestFire", "Lightning"}
    assert STORM.ancestors("Thunder") == {"Storm", "Lightning"}
    assert STORM.descendants("Lightning") == {"Thunder", "ForestFire"}
    assert STORM.d_separated("BusTourGroup", "Storm")
    assert not STORM.d_separated("BusTourGroup", "Storm", "Campfire")  # one explains the other away
    assert "Thunder ⟂ Storm, BusTourGroup, Campfire, ForestFire | Lightning" in map(str, STORM.independencies())


def test_seeing_a_campfire_tells_of_the_weather_and_making_one_does_not() -> None:
    assert STORM.query("Storm", {"Campfire": "yes"})["yes"] == pytest.approx(0.2 * 0.25 / (0.2 * 0.25 + 0.8 * 0.5))
    assert STORM.do({"Campfire": "yes"}).query("Storm")["yes"] == pytest.approx(0.2)


MESSAGES = {
    "text": ["Lunch meeting?", "Expenses submitted EOM.", "LOL", "Meet for lunch? EOM", "LOL"],
    "kind": ["BUSINESS", "BUSINESS", "BUSINESS", "PERSONAL", "PERSONAL"],
}
WORDS = ("eom", "expenses", "for", "lol", "lunch", "meet", "meeting", "submitted")


def message_network() -> Network:
    """An arrow from the kind of a message to each word: whether it is there. Shares of the messages are its tables."""
    arrows = {"kind": (), **dict.fromkeys(WORDS, ("kind",))}
    has = [set(text.lower().replace("?", "").replace(".", "").split()) for text in MESSAGES["text"]]
    tables: dict[str, object] = {"kind": {"BUSINESS": 3 / 5, "PERSONAL": 2 / 5}}
    for word in WORDS:
        rows = {}
        for kind in ("BUSINESS", "PERSONAL"):
            own = [word in words for words, label in zip(has, MESSAGES["kind"], strict=True) if label == kind]
            rows[kind] = {"there": sum(own) / len(own), "absent": 1 - sum(own) / len(own)}
        tables[word] = rows
    return Network(arrows, tables)


def test_the_message_classifier_is_a_network() -> None:
    net = message_network()
    given = {word: "there" if word in ("lunch", "eom") else "absent" for word in WORDS}
    assert net.query("kind", given)["BUSINESS"] == pytest.approx(0.5130, abs=5e-5)
    reading = credo.Text(words="bernoulli", token_pattern=r"\w+")
    model = credo.NaiveBayes(kinds={"text": reading}, estimate="ml", class_smoothing=0.0)
    fitted = model.fit({"text": MESSAGES["text"]}, target=MESSAGES["kind"])
    (found,) = fitted.predict_proba({"text": ["Lunch? EOM"]})
    assert found[fitted.classes.index("BUSINESS")] == pytest.approx(net.query("kind", given)["BUSINESS"], abs=1e-12)


# Storm, BusTourGroup, Thunder and ForestFire are observed, Lightning and Campfire aren't


SEEN = STORM.sample(2000, seed=1).drop_columns(["Lightning", "Campfire"])
HIDDEN = {"Lightning": STORM.states["Lightning"], "Campfire": STORM.states["Campfire"]}


@pytest.mark.parametrize("method", ["em", "gradient", "lbfgs"])
def test_hidden_tables_are_fitted_and_the_likelihood_never_falls(method: Any) -> None:
    learned = STORM.fit(SEEN, hidden=HIDDEN, method=method, starts=1, tolerance=1e-9)
    assert (np.diff(learned.history) >= 0).all()
    assert learned.history[-1] > learned.history[0] + 1
    for names in (["Storm", "Thunder"], ["Storm", "ForestFire"], ["BusTourGroup", "ForestFire"]):
        rows = list(zip(*(SEEN[name].to_pylist() for name in names), strict=True))
        for states, p in learned.query(names).items():
            assert p == pytest.approx(rows.count(states) / len(rows), abs=0.01)


def test_the_gradient_is_what_the_lecture_says_and_0_where_em_ends() -> None:
    """∂ log P(D) / ∂wᵢⱼₖ = Σ P(yᵢⱼ, uᵢₖ | d) / wᵢⱼₖ: along the simplex it is 0 where it is the same for all yᵢⱼ."""
    learned = STORM.fit(SEEN, hidden=HIDDEN, prior="ml", starts=1, tolerance=0.0, steps=20_000)
    evidence = [learned.expect(rows)[0] for rows in learned.coded(SEEN)]
    for name, node in learned.nodes.items():
        expected = sum(each[node.label].n.value for each in evidence)
        slope = expected / learned.tables[name]
        assert np.ptp(slope, axis=-1) / learned.n == pytest.approx(0.0, abs=2e-3)


def test_dividing_by_the_sum_is_no_renormalisation_that_keeps_the_optimum() -> None:
    """w ← w + η n / w, divided by Σ: 80 of 100 heads lead to w = 2/3 (w ∝ √n), not to the maximum likelihood of 0.8."""
    n = np.array([80.0, 20.0])
    divided = nearest = np.array([0.5, 0.5])
    for _ in range(20_000):
        divided = divided + 1e-4 * n / divided
        divided /= divided.sum()
        nearest = nearest_distributions(nearest + 1e-4 * n / nearest)
    assert divided == pytest.approx([2 / 3, 1 / 3], abs=1e-9)
    assert nearest == pytest.approx([0.8, 0.2], abs=1e-9)
