"""A model remembers the currency of amounts, and refuses another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo

pytestmark = pytest.mark.filterwarnings("ignore::credo.Notice")
RNG = np.random.default_rng(0)
PRICE = RNG.integers(1, 100, 60)
EUROS, DOLLARS = [f"{each} €" for each in PRICE], [f"${each}" for each in PRICE]
Y = PRICE + RNG.normal(size=60)


def classes(prices: Any) -> Any:
    return {"price": prices, "y": np.where(Y > 50, "dear", "cheap")}


def numbers(prices: Any) -> Any:
    return {"price": prices, "y": Y}


LEARNED = [
    pytest.param(credo.NaiveBayes().fit, classes, id="naive Bayes"),
    pytest.param(credo.GaussianDiscriminant().fit, classes, id="discriminant"),
    pytest.param(credo.learn, classes, id="learn"),
    pytest.param(credo.LinearRegression().fit, numbers, id="linear regression"),
    pytest.param(credo.learn, numbers, id="learn a number"),
    pytest.param(credo.LogisticRegression().fit, classes, id="logistic regression"),
    pytest.param(credo.DecisionTree().fit, classes, id="tree"),
]
HIDDEN = [
    pytest.param(credo.Mixture(2, starts=1).fit, "log_prob", id="mixture"),
    pytest.param(credo.HiddenMarkov(2, starts=1).fit, "log_prob", id="hidden Markov"),
    pytest.param(partial(credo.HiddenMarkov().fit, target="y"), "predict", id="given states"),
]


@pytest.mark.parametrize(("learn", "table"), LEARNED)
def test_amounts_in_another_currency_are_refused(learn: Any, table: Any, tmp_path: Path) -> None:
    model = learn(table(EUROS), "y")
    credo.save(model, tmp_path / "m.credo")
    for known in (model, credo.load(tmp_path / "m.credo")):
        assert np.array_equal(known.predict({"price": EUROS}), model.predict({"price": PRICE}))
        for asked in (known.predict, known.update, known.scores):
            with pytest.raises(credo.CredoError, match=r"'price' has amounts with the sign '\$'.* had '€'"):
                asked(table(DOLLARS))
        assert known.update(table(EUROS)).n == known.update(table(PRICE)).n == 120


@pytest.mark.parametrize(("learn", "verb"), HIDDEN)
def test_hidden_variables_refuse_another_currency(learn: Any, verb: str, tmp_path: Path) -> None:
    table = classes if isinstance(learn, partial) else lambda prices: {"price": prices}
    model = learn(table(EUROS))
    credo.save(model, tmp_path / "m.credo")
    for known in (model, credo.load(tmp_path / "m.credo")):
        assert np.array_equal(getattr(known, verb)({"price": EUROS}), getattr(model, verb)({"price": PRICE}))
        for asked in (getattr(known, verb), known.update):
            with pytest.raises(credo.CredoError, match=r"'price' has amounts with the sign '\$'.* had '€'"):
                asked(table(DOLLARS))
        assert known.update(table(EUROS)).n == 120


def test_models_of_different_currencies_do_not_merge() -> None:
    one, two = (credo.NaiveBayes().fit(classes(prices), "y") for prices in (EUROS, DOLLARS))
    with pytest.raises(credo.CredoError, match="sign"):
        _ = one + two
    assert (one + credo.NaiveBayes().fit(classes(PRICE), "y")).n == 120
