"""Concept learning as the lecture has it: EnjoySport, Find-S, candidate elimination, posteriors that evolve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo

NAMES = ["sky", "air", "humidity", "wind", "water", "forecast", "enjoy"]
DAYS = """Sunny Warm Normal Strong Warm Same yes
Sunny Warm High Strong Warm Same yes
Rainy Cold High Strong Warm Change no
Sunny Warm High Strong Cool Change yes"""
SPACE = {
    "sky": ["Sunny", "Cloudy", "Rainy"],
    "air": ["Warm", "Cold"],
    "humidity": ["Normal", "High"],
    "wind": ["Strong", "Weak"],
    "water": ["Warm", "Cool"],
    "forecast": ["Same", "Change"],
}


def days() -> list[dict[str, Any]]:
    return [dict(zip(NAMES, day.split(), strict=True)) for day in DAYS.splitlines()]


def day(values: str) -> dict[str, Any]:
    return dict(zip(NAMES, values.split(), strict=False))


def learned(**settings: Any) -> credo.Concepts:
    return credo.Concepts(SPACE, target="enjoy", **settings).update(days())


def test_the_space_has_973_concepts_written_in_5120_ways() -> None:
    space = credo.Concepts(SPACE, target="enjoy")
    assert space.size == 973
    assert space.attributes is not None
    assert space.attributes.written == 5120


def test_enjoy_sport() -> None:
    space = learned().version_space
    assert repr(learned().find_s()) == "<Sunny, Warm, ?, Strong, ?, ?>"
    assert repr(space.specific) == "<Sunny, Warm, ?, Strong, ?, ?>"
    assert [*map(repr, space.general)] == ["<Sunny, ?, ?, ?, ?, ?>", "<?, Warm, ?, ?, ?, ?>"]
    assert space.size == 6
    assert {*map(repr, space)} == {
        "<Sunny, Warm, ?, Strong, ?, ?>", "<Sunny, ?, ?, Strong, ?, ?>", "<Sunny, Warm, ?, ?, ?, ?>",
        "<?, Warm, ?, Strong, ?, ?>", "<Sunny, ?, ?, ?, ?, ?>", "<?, Warm, ?, ?, ?, ?>",
    }  # fmt: skip
    assert all(general >= each >= space.specific for each in space for general in space.general if general >= each)


def test_the_posterior_is_one_over_the_version_space_and_find_s_is_map() -> None:
    model = learned()
    assert model.posterior(model.find_s()) == pytest.approx(1 / 6)
    assert model.posterior({"sky": "Sunny"}) == pytest.approx(1 / 6)
    assert model.posterior({"sky": "Rainy"}) == 0
    assert model.posterior(model.most_probable()) == max(map(model.posterior, model.version_space))
    assert model.most_probable() == model.find_s()
    assert np.exp(model.log_evidence()) == pytest.approx(6 / 973)


def test_the_version_space_votes_as_the_lecture_counts() -> None:
    model = learned()
    rows = [
        day("Sunny Warm Normal Strong Cool Change"),  # all six say yes
        day("Rainy Cold Normal Weak Warm Same"),  # none does
        day("Sunny Warm Normal Weak Warm Same"),  # three do
        day("Sunny Cold Normal Strong Warm Same"),  # two do
    ]
    assert model.predict_proba(rows)[:, 1] == pytest.approx([1, 0, 1 / 2, 1 / 3])
    assert model.classes == ("no", "yes")
    assert model.predict(rows).tolist() == ["yes", "no", "no", "no"]
    assert model.vote(rows[3]).best == "no"


def test_the_best_query_halves_the_version_space() -> None:
    model = learned()
    query = model.most_informative()
    assert model.vote(query)["yes"] == 0.5
    for label in ("yes", "no"):
        assert model.update([{**query, "enjoy": label}]).version_space.size == 3
    among = model.most_informative([day("Rainy Cold Normal Weak Warm Same"), day("Sunny Cold Normal Strong Warm Same")])
    assert among["sky"] == "Sunny"


def test_boundaries_and_posteriors_evolve_as_the_lecture_draws_them() -> None:
    evolution = credo.Concepts(SPACE, target="enjoy").evolution(days())
    assert [space.size for space in evolution.version_spaces] == [973, 64, 32, 28, 6]
    table = evolution.table().to_pylist()
    assert table[0]["S"] == "<∅, ∅, ∅, ∅, ∅, ∅>"
    assert table[3]["G"] == ["<Sunny, ?, ?, ?, ?, ?>", "<?, Warm, ?, ?, ?, ?>", "<?, ?, ?, ?, ?, Same>"]
    p = evolution.posteriors.probabilities
    assert p.shape == (5, 973)
    for n, space in enumerate(evolution.version_spaces):  # flat over the concepts that are left
        assert np.unique(p[n][p[n] > 0]) == pytest.approx([1 / space.size])
    assert len(evolution.plot().axes) == 5
    assert "<Sunny, Warm, ?, Strong, ?, ?>" in repr(evolution)


def test_label_noise_lets_rows_contradict_each_other() -> None:
    wrong = [*days(), {**days()[0], "enjoy": "no"}]
    noisy = credo.Concepts(SPACE, target="enjoy", noise=0.1).update(wrong)
    assert noisy.vote(day("Sunny Warm High Strong Warm Same")).best == "yes"
    assert 0 < noisy.posterior(learned().find_s()) < 1
    with pytest.raises(credo.EvidenceError, match=r"rows 1 and 5 contradict.*Normal.*'yes' and 'no'"):
        learned().update([{**days()[0], "enjoy": "no"}])


def test_the_repr_shows_the_boundaries() -> None:
    assert repr(learned()).splitlines() == [
        "973 concepts over 6 attributes, after 4 rows",
        "  S = <Sunny, Warm, ?, Strong, ?, ?>",
        "  G = {<Sunny, ?, ?, ?, ?, ?>, <?, Warm, ?, ?, ?, ?>}",
        "  version space: 6 concepts",
    ]
    assert "label noise 0.1" in repr(learned(noise=0.1))


def test_questions_are_answered_by_the_vote() -> None:
    model, row = learned(), "sky=Sunny, air=Warm, humidity=Normal, wind=Weak, water=Warm, forecast=Same"
    assert credo.ask(model, f"P(enjoy=yes | {row})") == pytest.approx(0.5)
    assert credo.ask(model, f"P(enjoy | {row})") == pytest.approx({"yes": 0.5, "no": 0.5})
    assert credo.ask(model, f"argmax P(enjoy | {row.replace('Weak', 'Strong')})") == {"enjoy": "yes"}
    for question, says in (
        ("P(enjoy | sky=Sunny)", "give one value of air, as in air=Warm"),
        (f"P(enjoy | {row}, sky=Rainy)", "leaves sky no possible value"),
        (f"P(sky | {row})", "about the label, not 'sky'"),
        (f"P(enjoy | {row}, moon=full)", "no attribute 'moon'"),
        (f"explain P(enjoy | {row})", "see version_space"),
    ):
        with pytest.raises(credo.CredoError, match=says):
            credo.ask(model, question)
