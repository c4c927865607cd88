"""Bad input to linear regression: an answer, or one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from tests.hostile.refusals import refused
from tests.laws.classifiers import unheard

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=30)
PLAIN, SQUARES = credo.LinearRegression(), credo.LinearRegression(ridge=0)
GOOD = {"a": X[:, 0].tolist(), "c": ["u", "v", "w"] * 10, "y": Y.tolist()}


def finite(model: credo.LinearRegression, data: object) -> None:
    low, high = model.intervals(data)
    for values in (model.predict(data), low, high, model.mean().weights):
        assert np.isfinite(values).all()
    assert repr(model)


@pytest.mark.parametrize("model", [PLAIN, SQUARES, credo.LinearRegression(select=True)])
def test_collinear_columns(model: credo.LinearRegression) -> None:
    double = np.column_stack([X, X[:, 0], 2 * X[:, 1] - X[:, 2]])
    found = model.fit(double, target=Y)
    finite(found, double)
    if model is SQUARES:
        np.testing.assert_allclose(found.predict(double), model.fit(X, target=Y).predict(X), rtol=1e-8)


def test_more_columns_than_rows() -> None:
    wide = np.random.default_rng(1).normal(size=(10, 40))
    y = wide[:, 0] * 3
    found = PLAIN.fit(wide, target=y)
    finite(found, wide)
    assert found.leave_one_out(wide, target=y).rmse < 1.2 * np.std(y)
    text = refused(lambda: SQUARES.fit(wide, target=y).predictive(wide))
    assert "at least" in text
    assert "rows are needed" in text


@pytest.mark.parametrize("value", [0.0, 3.5, 1e12])
def test_a_constant_target(value: float) -> None:
    found = PLAIN.fit(X, target=np.full(30, value))
    with pytest.warns(credo.Notice, match="the target fits exactly") as told:
        finite(found, X)
    assert told[0].filename == __file__
    np.testing.assert_allclose(found.predict(X), value, atol=1e-12)
    low, high = found.intervals(X)
    assert (high - low).max() <= 1e-12 * max(value, 1.0)


def test_a_perfect_fit() -> None:
    found = PLAIN.fit(X, target=X @ [1.0, 2.0, 3.0] + 4)
    with pytest.warns(credo.Notice, match="the target fits exactly"):
        finite(found, X)
    np.testing.assert_allclose(found.mean().weights, [4, 1, 2, 3], rtol=1e-6)


def test_a_constant_column() -> None:
    found = PLAIN.fit({**GOOD, "same": [0.1] * 30, "word": ["x"] * 30}, "y")
    finite(found, GOOD | {"same": [0.1] * 30, "word": ["x"] * 30})
    terms = found.parameters()
    assert dict(zip(terms["term"].to_pylist(), terms["weight"].to_pylist(), strict=True))["same"] == 0.0


def test_an_unknown_category_is_told_and_ignored() -> None:
    found = PLAIN.fit(GOOD, "y")
    with pytest.warns(credo.Notice, match="column 'c': 2 cells with unseen values, ignored"):
        new = found.predict({"a": [0.0, 0.0, 0.0], "c": ["new", "other", "u"]})
    assert new[0] == new[1] != new[2]


@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), 1e308])
@pytest.mark.parametrize("column", ["a", "y"])
def test_infinity(bad: float, column: str) -> None:
    cells = [*GOOD[column]]
    cells[4] = bad
    text = refused(PLAIN.fit, {**GOOD, column: cells}, "y")
    assert f"column {column!r}" in text
    assert "row 5" in text


@pytest.mark.parametrize("classes", [["yes", "no"] * 15, [True, False] * 15])
def test_a_target_of_classes(classes: list[Any]) -> None:
    text = refused(PLAIN.fit, {**GOOD, "y": classes}, "y")
    assert "column 'y' holds" in text
    assert "predicts numbers" in text
    assert "LogisticRegression" in text


def test_a_target_of_texts() -> None:
    assert "holds words" in refused(PLAIN.fit, {**GOOD, "y": [f"a fine thing, number {i}" for i in range(30)]}, "y")


def test_all_cells_of_a_column_missing() -> None:
    with pytest.warns(credo.Notice, match="'b' is ignored"):
        finite(PLAIN.fit({**GOOD, "b": [None] * 30}, "y"), GOOD)
    with pytest.warns(credo.Notice, match="'b' is ignored"):
        only = refused(PLAIN.fit, {"b": [None] * 30, "y": GOOD["y"]}, "y")
    assert "all of them are ignored" in only
    named = PLAIN.fit({**GOOD, "b": [1.0, 2.0, 3.0] * 10}, "y")
    with unheard():
        finite(named, {**GOOD, "b": [None] * 30})


def test_every_target_missing() -> None:
    with unheard():
        assert "every cell of 'y' is missing" in refused(PLAIN.fit, {**GOOD, "y": [None] * 30}, "y")


def test_one_row() -> None:
    """It is learned, and more may follow; alone it says nothing of the noise."""
    one = PLAIN.fit({"a": [1.0], "y": [2.0]}, "y")
    assert one.n == 1
    assert "1 row can't determine 1 weight and" in refused(one.predictive, {"a": 3.0})
    assert "at least 2 rows" in repr(one)
    more = one.update({"a": [2.0, 3.0, 4.0], "y": [3.0, 4.2, 5.1]})
    finite(more, {"a": [1.0, 2.0]})


def test_no_rows_and_no_columns() -> None:
    assert "empty" in refused(PLAIN.fit, {"a": [], "y": []}, "y")
    mean = PLAIN.fit({"y": [1.0, 2.0, 6.0]}, "y")
    assert mean.mean().weights.tolist() == [3.0]


def test_nothing_learned_yet() -> None:
    for ask in (lambda: PLAIN.predict(X), lambda: PLAIN.parameters(), lambda: PLAIN.forget(X)):
        assert "nothing was learned yet" in refused(ask)
    assert repr(PLAIN) == "LinearRegression, not fitted yet"
    assert "name the target column" in refused(PLAIN.update, GOOD)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ridge": -1}, "ridge must be 'evidence' or a number of at least 0, but is -1"),
        ({"ridge": "auto"}, "ridge must be"),
        ({"ridge": float("nan")}, "ridge must be"),
        ({"noise": "laplace"}, "noise must be 'gaussian' or 'student'"),
        ({"select": "yes"}, "select must be True or False"),
        ({"precision": 1.0, "ridge": 2.0}, "a whole prior"),
        ({"precision": 1.0, "noise": "student"}, "a whole prior"),
        ({"precision": -1.0}, "precision must be"),
        ({"scale": 0.0}, "scale must be positive, but is 0"),
    ],
)
def test_options_that_arent(options: dict[str, Any], says: str) -> None:
    assert says in refused(lambda: credo.LinearRegression(**options))


@pytest.mark.parametrize("exact", ["zeros", "a line"])
def test_student_noise_without_a_scale(exact: str) -> None:
    """Of rows that lie on a line exactly, the likelihood has no maximum: the scale goes to 0."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = np.where(rng.random(400) < 0.6, 0.0 if exact == "zeros" else 2 * x + 1, rng.poisson(3, 400))
    model = credo.LinearRegression(noise="student")
    assert "Student-t noise has no scale here" in refused(model.fit, {"x": x}, y)


def test_columns_that_arent() -> None:
    assert "no column 'z'" in refused(PLAIN.fit, GOOD, "z")
    assert "interactions names a column 'z'" in refused(
        credo.LinearRegression(interactions=[("a", "z")]).fit, GOOD, "y"
    )
    assert "kinds has 'log' for column 'a'" in refused(
        credo.LinearRegression(kinds={"a": credo.Number("log")}).fit, GOOD, "y"
    )
    assert "for the target 'y', which must be a number" in refused(
        credo.LinearRegression(kinds={"y": "category"}).fit, GOOD, "y"
    )
    found = PLAIN.fit(GOOD, "y")
    assert "none of the model's columns" in refused(found.predict, {"q": [1]})
    assert "so far, not in 'a'" in refused(lambda: found.update(GOOD, target="a"))
    assert "'c' is absent" in refused(found.forget, {"a": GOOD["a"], "y": GOOD["y"]})
    assert "1 features" not in refused(lambda: found.predictive([1.0, 2.0, 3.0]))


def test_rows_that_were_never_learned() -> None:
    found = PLAIN.fit(GOOD, "y")
    assert "never learned" in refused(found.forget, {"a": [1e3], "c": ["u"], "y": [5.0]} | {"c": ["new"]})
    assert "needs the rows that were learned" in refused(found.leave_one_out, {k: v[:9] for k, v in GOOD.items()})
    assert "don't merge" in refused(lambda: found + PLAIN.fit({"a": GOOD["a"], "y": GOOD["y"]}, "y"))
    assert "don't merge" in refused(lambda: found + credo.LinearRegression(ridge=3.0).fit(GOOD, "y"))


def test_texts_are_ignored_with_a_notice() -> None:
    texts = [f"words of a long note about thing number {i}" for i in range(30)]
    with pytest.warns(credo.Notice, match="doesn't read texts"):
        assert "note" not in PLAIN.fit({**GOOD, "note": texts}, "y").parameters()["term"].to_pylist()


def test_far_and_tiny_numbers() -> None:
    """Digits that the numbers have aren't lost."""
    x = 1e9 + np.arange(20.0)
    y = 3 * np.arange(20.0) + 5e8 + RNG.normal(size=20) * 1e-3
    found = SQUARES.fit({"x": x}, target=y)
    slope = np.polyfit(np.arange(20.0), y - 5e8, 1)[0]
    np.testing.assert_allclose(found.mean().weights[1], slope, rtol=1e-9)
    small = PLAIN.fit({"x": np.arange(20.0) * 1e-150}, target=y)
    np.testing.assert_allclose(small.predict({"x": np.arange(20.0) * 1e-150}), found.predict({"x": x}), rtol=1e-8)


@pytest.mark.parametrize(
    ("model", "target"), [(credo.LinearRegression, "y"), (credo.LogisticRegression, "c")], ids=["linear", "logistic"]
)
def test_a_category_of_too_many_levels_is_refused_before_it_is_written_out(model: Any, target: str) -> None:
    """Indicators of all levels in all rows would take 20 GB."""
    rows = 50_000
    table = {"zip": [f"z{i}" for i in range(rows)], "y": np.arange(rows) / 7, "c": np.arange(rows) % 2}
    with pytest.raises(credo.SizeError, match="column 'zip' alone has 50,000: leave it out with kinds="):
        model(kinds={"zip": "category"}).fit(table, target=target)
