"""The lectures' belief network, and the message classifier as the network that they draw."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import credo
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
