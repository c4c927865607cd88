"""Logistic regression and bad input: one clear sentence, or a finite answer and a notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credo
from tests.laws.classifiers import unheard
from tests.laws.test_logistic import fitted, rows_of, table


def refused(error: type[Exception], match: str, data: Any, target: Any = "y", **settings: Any) -> None:
    with unheard(), pytest.raises(error, match=match):
        credo.LogisticRegression(**settings).fit(data, target=target)


@pytest.mark.parametrize("estimate", ["bayes", "map", "ml"])
@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_have_finite_answers(classes: int, estimate: Any) -> None:
    data = {"x": np.arange(30.0), "y": np.repeat([f"c{k}" for k in range(classes)], 30 // classes)}
    with pytest.warns(credo.Notice, match="are separable") if estimate == "ml" else unheard():
        model = credo.LogisticRegression(estimate=estimate).fit(data, target="y")
    shares = model.predict_proba(data)
    assert np.isfinite(model.seen.mode).all()
    assert np.isfinite(shares).all()
    assert (model.predict(data) == data["y"]).mean() > 0.9


def test_gradient_steps_that_are_too_large_are_told_of() -> None:
    """And not taken for separable classes, though the weights are as large."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    data = {"x": x, "y": np.where(x + rng.normal(size=60) > 0, "a", "b")}
    with pytest.warns(credo.Notice) as told:
        credo.LogisticRegression(estimate="ml", method="gradient", rate=1e6, steps=50).fit(data, target="y")
    assert [str(each.message) for each in told] == [
        "the log-likelihood fell: the gradient steps are too large. Decrease rate=, or use method='newton'"
    ]


def test_collinear_columns() -> None:
    data = table(100, 2)
    twice: dict[str, Any] = {**data, "x2": data["x"], "x3": [None if v is None else 3 * v + 1 for v in data["x"]]}
    for estimate in ("bayes", "ml"):
        shares = fitted(twice, estimate=estimate).predict_proba(twice)
        assert np.isfinite(shares).all()
    once, thrice = (fitted(each, estimate="ml").predict_proba(each) for each in (data, twice))
    np.testing.assert_allclose(once, thrice, atol=1e-4)


@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_more_columns_than_rows(estimate: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 60)), np.repeat(["a", "b"], 10)
    with unheard():
        model = credo.LogisticRegression(estimate=estimate).fit(x, target=y)
    assert np.isfinite(model.predict_proba(x)).all()
    assert np.isfinite(model.seen.mode).all()


def test_a_constant_column_and_one_without_values() -> None:
    data = {**table(50, 2), "same": ["a"] * 50, "seven": [7.0] * 50, "none": [None] * 50}
    model = fitted(data, kinds={"same": "category", "seven": "number", "none": "number"})
    np.testing.assert_allclose(model.predict_proba(data), fitted(table(50, 2)).predict_proba(table(50, 2)), atol=1e-3)


def test_a_constant_target() -> None:
    rows = {"x": [1.0, 2.0], "y": ["a", "a"]}
    refused(credo.DataError, "holds one class only, 'a': there is nothing to classify", rows)


def test_no_class_at_all() -> None:
    refused(credo.DataError, "every cell of 'y' is missing", {"x": [1.0, 2.0], "y": [None, None]})


def test_infinite_cells() -> None:
    refused(credo.DataError, "inf", {"x": [1.0, np.inf, 3.0, 4.0], "y": ["a", "b", "a", "b"]})


def test_unknown_categories_are_ignored_with_a_notice() -> None:
    data = table(80, 2)
    model = fitted(data)
    with pytest.warns(credo.Notice, match="1 cell with unseen values, ignored"):
        shares = model.predict_proba({"x": [4.0], "sex": ["unheard-of"]})
    assert np.isfinite(shares).all()
    with unheard():
        assert model.explain({"x": 4.0, "sex": "unheard-of"}).unseen == {"sex"}


def test_rows_without_a_class_are_left_out() -> None:
    data = table(60, 2)
    data["y"][:5] = [None] * 5
    with pytest.warns(credo.Notice, match="5 rows without 'y' left out"):
        model = credo.LogisticRegression(strength=1.0).fit(data, target="y")
    assert model.n == 55
    assert model.unlabelled == 5
    rest = fitted(rows_of(data, range(5, 60)), strength=1.0)
    np.testing.assert_allclose(model.predict_proba(data), rest.predict_proba(data), atol=1e-6)
    assert len(model.cross_validate(data, 3).truth) == 55


def test_numbers_far_from_zero() -> None:
    data = table(100, 2)
    far = {**data, "x": [None if v is None else 1e9 + v for v in data["x"]]}
    np.testing.assert_allclose(fitted(far).predict_proba(far), fitted(data).predict_proba(data), atol=1e-5)


def test_an_iterator_is_read_only_once() -> None:
    refused(credo.DataError, "can be read only once", iter([table(20, 2)]))


def test_texts_without_shared_words() -> None:
    refused(
        credo.DataError, "texts without words", {"text": ["one two", "three four"], "y": ["a", "b"]},
        kinds={"text": "text"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 0}, "strength must be positive"),
        ({"strength": "much"}, "strength must be a number, or one of auto"),
        ({"estimate": "mean"}, "no such estimate"),
        ({"method": "sgd"}, "no such method"),
        ({"rate": -1.0}, "rate must be positive"),
        ({"steps": 0}, "steps must be"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(credo.PriorError, match=message):
        credo.LogisticRegression(**settings)


def test_before_anything_was_learned() -> None:
    model = credo.LogisticRegression()
    questions: list[Callable[[], Any]] = [lambda: model.predict({"x": [1.0]}), model.weights, lambda: model.classes]
    for question in questions:
        with pytest.raises(credo.EvidenceError, match="nothing was learned yet"):
            question()
    assert repr(model) == "LogisticRegression, not fitted yet"


def test_update_with_an_unknown_class() -> None:
    data = table(60, 2)
    with pytest.raises(credo.EvidenceError, match="'new', which was never learned: fit again"):
        fitted(data).update({**data, "y": ["new"] * 60})


def test_leave_one_out_of_other_rows() -> None:
    data = table(60, 2)
    with pytest.raises(credo.EvidenceError, match="needs the rows that were learned: they are 60, the data has 30"):
        fitted(data).leave_one_out(rows_of(data, range(30)))
