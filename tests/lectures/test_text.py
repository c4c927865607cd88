"""The lectures' two ways to learn from text, with their worked numbers."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest

import credo

MESSAGES = {
    "message": ["Lunch meeting?", "Expenses submitted EOM.", "LOL", "Meet for lunch? EOM", "LOL"],
    "kind": ["BUSINESS", "BUSINESS", "BUSINESS", "PERSONAL", "PERSONAL"],
}
WORDS = {
    "BUSINESS": ["lunch", "meeting", "expenses", "submitted", "eom", "lol"],
    "PERSONAL": ["meet", "for", "lunch", "eom", "lol"],
}
VOCABULARY = set().union(*WORDS.values())


def learned(words: Any, **options: Any) -> credo.NaiveBayes:
    """The class prior is the share of messages."""
    return credo.NaiveBayes(class_smoothing=0, kinds={"message": credo.Text(words)}, **options).fit(MESSAGES, "kind")


def test_learn_naive_bayes_text() -> None:
    """P(w | v) = (n_k + 1)/(n + |Vocabulary|), P(v) = |docs_v|/|Examples|."""
    model = learned("multinomial", estimate="mean")
    table = model.parameters()
    for name, words in WORDS.items():
        found = {row["parameter"]: row[name] for row in table.to_pylist() if row["column"] == "message"}
        expected = {f"P({w})": (words.count(w) + 1) / (len(words) + len(VOCABULARY)) for w in VOCABULARY}
        assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(np.exp(model.log_joint({"message": ["?"]})), [[3 / 5, 2 / 5]])


def test_classify_naive_bayes_text() -> None:
    """Only positions whose token is in the vocabulary count."""
    model = learned("multinomial", estimate="mean")
    known, with_others = model.predict_proba({"message": ["Lunch? EOM", "lunch, lunches & LUNCHEON: eom!"]})
    assert known[0] == pytest.approx(0.5640, abs=5e-5)
    np.testing.assert_allclose(with_others, known, rtol=1e-12)
    joint = [
        share * prod((words.count(w) + 1) / (len(words) + len(VOCABULARY)) for w in ("lunch", "eom", "eom"))
        for share, words in zip((3 / 5, 2 / 5), WORDS.values(), strict=True)
    ]
    np.testing.assert_allclose(np.exp(model.log_joint({"message": ["eom lunch eom"]}))[0], joint, rtol=1e-12)


def test_bernoulli_by_maximum_likelihood() -> None:
    """A message is the set of its words; absent words count. (The slide has 16/243, 1/90 for 1/80, and 0.78.)"""
    model = learned("bernoulli", estimate="ml")
    joint = np.exp(model.log_joint({"message": ["Lunch? EOM"]}))[0]
    assert joint[0] == pytest.approx(float(Fraction(3, 5) * Fraction(16, 729)), rel=1e-12)
    assert joint[1] == pytest.approx(float(Fraction(2, 5) * Fraction(1, 32)), rel=1e-12)
    assert joint[1] == pytest.approx(1 / 80, rel=1e-12)
    assert model.predict_proba({"message": ["Lunch? EOM"]})[0, 0] == pytest.approx(0.5130, abs=5e-5)
    assert model.predict_proba({"message": ["Meeting?"]}).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(("message", "share"), [("Meeting?", 0.8788), ("Lunch? EOM", 0.6169)])
@pytest.mark.parametrize("estimate", ["mean", "bayes"])
def test_bernoulli_with_a_uniform_prior(message: str, share: float, estimate: Any) -> None:
    """Beta(1, 1) for each word, and one more for UNKNOWN."""
    model = learned("bernoulli", estimate=estimate)
    assert model.predict_proba({"message": [message]})[0, 0] == pytest.approx(share, abs=5e-5)


def test_an_unknown_word_has_its_place() -> None:
    """It is there with 1/(n + 2), as a word that none of a class's n messages had; several are one."""
    model = learned("bernoulli", estimate="mean")
    without, once, twice = np.exp(model.log_joint({"message": ["LOL", "LOL, budget!", "budget lol offsite"]}))
    for k, n in enumerate((3, 2)):
        assert once[k] / without[k] == pytest.approx((1 / (n + 2)) / (1 - 1 / (n + 2)), rel=1e-12)
    np.testing.assert_allclose(twice, once, rtol=1e-12)


def test_words_are_drawn_one_after_another() -> None:
    """estimate="bayes": what is seen of a word in a message makes it more probable there once more."""
    model = learned("multinomial")
    total, size = len(WORDS["BUSINESS"]), len(VOCABULARY)
    expected = 3 / 5 * (1 + 1) / (total + size) * (1 + 2) / (total + size + 1)
    assert np.exp(model.log_joint({"message": ["lunch lunch"]}))[0, 0] == pytest.approx(expected, rel=1e-12)
