"""Laws of logistic regression: rows and weights, batches and engines, folds, what is saved, what explains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import credo
from credo import engines
from credo.core.folds import FoldDraw
from credo.models.regression import logistic_fitting, table_rows
from credo.models.regression.laplace import integrated_log_shares
from credo.numerics.softmax import FeatureRows, SparseRows, SumLikelihood, TimesCurvature, curvature, to_log_shares
from tests.laws.classifiers import unheard
from tests.laws.test_storage import same, through

WORDS = np.array(["red", "green", "blue", "soft", "hard", "warm", "cold", "wet", "dry", "old", "new", "big"])


def table(rows: int = 300, classes: int = 3, seed: int = 0, texts: bool = False) -> dict[str, Any]:
    """Mixed columns, some cells of which are missing, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    x, sex = rng.normal(5, 2, rows), rng.integers(0, 3, rows)
    logits = np.outer(x - 5, np.linspace(-1, 1, classes)) + (sex[:, None] == np.arange(classes))
    words = [[*rng.choice(WORDS, 4)] for _ in range(rows)]
    if texts:
        logits[:, -1] += 2.0 * np.array(["red" in each for each in words])
    found: dict[str, Any] = {
        "x": [None if rng.random() < 0.1 else value for value in x.tolist()],
        "sex": [None if rng.random() < 0.05 else "fmo"[k] for k in sex],
        "y": [f"class {k}" for k in (logits + rng.gumbel(size=logits.shape)).argmax(1)],
    }
    return {**found, "text": [" ".join(each) for each in words]} if texts else found


def fitted(data: Any, weight: Any = None, **settings: Any) -> credo.LogisticRegression:
    with unheard():
        return credo.LogisticRegression(**settings).fit(data, target="y", weight=weight)


def rows_of(data: dict[str, Any], places: Any) -> dict[str, Any]:
    return {name: [values[i] for i in places] for name, values in data.items()}


CASES = [
    pytest.param(2, {}, False, id="two classes"),
    pytest.param(3, {}, False, id="three classes"),
    pytest.param(3, {"strength": 0.5, "estimate": "map", "interactions": "all"}, False, id="interactions"),
    pytest.param(3, {"strength": 0.5, "estimate": "map", "interactions": "quadratic"}, False, id="squares"),
    pytest.param(2, {"strength": 0.1}, True, id="text"),
]
cases = pytest.mark.parametrize(("classes", "settings", "texts"), CASES)


@cases
def test_weight_two_is_the_row_twice(classes: int, settings: dict[str, Any], texts: bool) -> None:
    data = table(120, classes, texts=texts)
    weight = np.random.default_rng(1).integers(1, 3, 120)
    once = fitted(data, weight=weight, **settings)
    twice = fitted(rows_of(data, np.repeat(np.arange(120), weight)), **settings)
    np.testing.assert_allclose(once.predict_proba(data), twice.predict_proba(data), atol=1e-7)
    assert once.n == twice.n == weight.sum()
    assert np.isclose(once.log_likelihood, twice.log_likelihood, rtol=1e-8)


@cases
def test_batches_and_engines_give_the_same(
    classes: int, settings: dict[str, Any], texts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table(200, classes, texts=texts)
    whole = fitted(data, **settings)
    with engines.using(engines.Serial()):
        assert np.array_equal(fitted(data, **settings).seen.mode, whole.seen.mode)
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)  # rows are read again for every sum
    assert np.array_equal(fitted(data, **settings).seen.mode, whole.seen.mode)


@cases
def test_saved_and_loaded(classes: int, settings: dict[str, Any], texts: bool, tmp_path: Path) -> None:
    data = table(150, classes, texts=texts)
    model = fitted(data, **settings)
    loaded = through(model, tmp_path / "model.credo")
    assert same(loaded, model)
    assert repr(loaded) == repr(model)
    with unheard():
        assert np.array_equal(loaded.predict_proba(data), model.predict_proba(data))
        assert same(loaded.update(data), model.update(data))


@cases
def test_reasons_add_up_to_the_log_odds(classes: int, settings: dict[str, Any], texts: bool) -> None:
    data = table(150, classes, texts=texts)
    model = fitted(data, **settings)
    for prior in (None, dict.fromkeys(model.classes, 1 / classes)):
        shifted = model if prior is None else model.with_class_prior(prior)
        row = rows_of({name: values for name, values in data.items() if name != "y"}, [7])
        found = shifted.explain(row)
        shares = shifted.predict_proba(row)[0]
        of, against = (model.classes.index(value) for value in (found.of, found.against))
        assert np.isclose(found.log_odds, np.log(shares[of] / shares[against]))
        assert np.isclose(found.probability, shares[of])
        for name, words in found.words.items():
            assert np.isclose(sum(each.weight for each in words), found.weights[name])


def test_squares_belong_to_their_number() -> None:
    found = fitted(table(200, 2), interactions="quadratic").explain({"x": 3.0, "sex": "f"})
    assert {*found.weights} == {"x", "sex", "x × sex", "allowance for uncertain weights"}


def test_another_class_prior_is_bayes_rule() -> None:
    data = table(200, 3)
    model = fitted(data)
    shares = dict(zip(model.classes, (0.2, 0.3, 0.5), strict=True))
    odds = model.predict_proba(data) / (model.class_weights / model.n) * [0.2, 0.3, 0.5]
    np.testing.assert_allclose(model.predict_proba(data, class_prior=shares), odds / odds.sum(1, keepdims=True))
    assert set(model.adapt(data).class_prior or ()) == set(model.classes)


@pytest.mark.parametrize("classes", [2, 3])
def test_units_and_order_of_columns_make_no_difference(classes: int) -> None:
    data = table(200, classes)
    other = {"y": data["y"], "sex": data["sex"], "x": [None if v is None else 32 + 1.8e3 * v for v in data["x"]]}
    np.testing.assert_allclose(fitted(other).predict_proba(other), fitted(data).predict_proba(data), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_update_is_near_the_fit_of_all_rows(classes: int) -> None:
    data = table(1200, classes)
    first, rest = rows_of(data, range(900)), rows_of(data, range(900, 1200))
    whole = fitted(data, strength=1.0)
    with unheard():
        updated = fitted(first, strength=1.0).update(rest)
    assert updated.n == whole.n
    assert np.abs(updated.predict_proba(data) - whole.predict_proba(data)).max() < 0.02
    assert abs(updated.log_evidence - whole.log_evidence) < 1.0


def test_what_has_no_sums_is_refused() -> None:
    data = table(60, 2)
    model = fitted(data)
    with pytest.raises(credo.EvidenceError, match="refit without"):
        model.forget(data)
    with pytest.raises(credo.EvidenceError, match="fit all rows together"):
        _ = model + model


# Validation


@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_is_near_a_refit(classes: int) -> None:
    data = table(60, classes)
    model = fitted(data, strength=1.0)
    found = model.leave_one_out(data)
    for row in (0, 17, 41):
        others = rows_of(data, [i for i in range(60) if i != row])
        with unheard():
            exact = fitted(others, strength=model.strengths[""]).predict_log_proba(rows_of(data, [row]))[0]
        assert np.abs(np.exp(found.log_probabilities[row]) - np.exp(exact)).max() < 0.02


@pytest.mark.parametrize(("classes", "texts"), [(2, False), (3, False), (2, True)])
def test_folds_are_refits_of_the_others(classes: int, texts: bool) -> None:
    data = table(90, classes, texts=texts)
    model = fitted(data, strength=0.3)
    with unheard():
        found = model.cross_validate(data, 3)
        draw = FoldDraw(3, 0)
        (batch,) = credo.data.source(data).batches(["x"])
        inside = draw.of(batch) == 1
        fold = logistic_fitting.LogisticFit(model, model._labelled(data, None), np.where(inside, 0.0, 1.0))
        mode = fold.mode(fold.prior, fold.start)
        posterior = fold.posterior(mode, fold.prior, flat_intercept=True)
        rows, _ = model.encoding.rows(next(model.opened(data).batches(model.feature_names)))
        expected = posterior.log_shares(rows, model.integrates)
    np.testing.assert_allclose(found.log_probabilities[inside], expected[inside], atol=1e-5)
    assert "strength held fixed" in repr(found)


def test_a_class_that_other_folds_lack_is_unknown() -> None:
    data = table(40, 2)
    data["y"][3] = "lonely"
    with unheard():
        found = fitted(data, strength=1.0).cross_validate(data, 4)
    assert not found.known[3]
    assert found.known.sum() == 39
    assert np.isfinite(found.log_loss)


# Derivatives and products


def some_rows(columns: int, rng: np.random.Generator) -> FeatureRows:
    rows, values = 30, rng.normal(size=(30, 7)) * (rng.random((30, 7)) < 0.3)
    starts = np.append(0, np.cumsum((values != 0).sum(1))).astype(np.int64)
    sparse = SparseRows(starts, np.nonzero(values)[1].astype(np.int32), values[values != 0], 7)
    codes = rng.integers(0, max(columns, 2), rows).astype(np.int32)
    return FeatureRows(rng.normal(3, 1, (rows, 4)), sparse, codes, rng.random(rows) + 0.1, centre=np.full(4, 3.0))


@pytest.mark.parametrize("columns", [1, 3])
def test_sums_and_their_derivatives(columns: int) -> None:
    rng = np.random.default_rng(2)
    rows, theta = some_rows(columns, rng), rng.normal(size=(12, columns))
    assert rows.sparse is not None
    z = np.hstack([np.ones((30, 1)), rows.dense - 3.0, rows.sparse.dense()])

    def value(flat: NDArray[np.float64]) -> float:
        log_shares = to_log_shares(z @ flat.reshape(theta.shape))
        return float(rows.weight @ log_shares[np.arange(30), rows.codes])

    found = SumLikelihood(theta, "curvature")(rows)
    assert np.isclose(found.value, value(theta.ravel()))
    steps = np.eye(theta.size) * 1e-6
    slope = [(value(theta.ravel() + e) - value(theta.ravel() - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(found.gradient.ravel(), slope, atol=1e-6)
    bend = [
        (SumLikelihood((theta.ravel() + e).reshape(theta.shape))(rows).gradient - found.gradient) / 1e-6 for e in steps
    ]
    assert found.curvature is not None
    np.testing.assert_allclose(found.curvature, -np.array([each.ravel() for each in bend]), atol=1e-4)
    diagonal = SumLikelihood(theta, "diagonal")(rows).curvature
    assert diagonal is not None
    np.testing.assert_allclose(diagonal.ravel(), np.diag(found.curvature))
    direction = rng.normal(size=theta.shape)
    times = TimesCurvature(theta, direction)(rows)
    np.testing.assert_allclose(times.ravel(), found.curvature @ direction.ravel())
    assert curvature(rows.take(np.arange(0)), np.zeros((0, columns))).shape == found.curvature.shape


def test_sparse_rows_side_by_side() -> None:
    rng = np.random.default_rng(3)
    one, two = (some_rows(1, rng).sparse for _ in range(2))
    assert one is not None
    assert two is not None
    both = one.beside(two)
    np.testing.assert_array_equal(both.dense(), np.hstack([one.dense(), two.dense()]))
    places = np.array([4, 4, 29, 0])
    np.testing.assert_array_equal(both.take(places).dense(), both.dense()[places])
    np.testing.assert_array_equal(both.part(slice(5, 9)).dense(), both.dense()[5:9])


# Integrating the weights out


@pytest.mark.parametrize(("logit", "variance"), [(0.5, 0.2), (2.0, 1.0), (-1.0, 4.0), (4.0, 9.0)])
def test_two_classes_are_near_the_integral(logit: float, variance: float) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    exact = (weights / weights.sum()) @ (1 / (1 + np.exp(-(logit + np.sqrt(variance) * nodes))))
    found = np.exp(integrated_log_shares(np.array([[logit]]), np.array([[[variance]]])))[0, 1]
    assert abs(found - exact) < 0.015


def test_more_classes_are_near_the_integral() -> None:
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(20):
        logits, root = rng.normal(0, 1.5, 4), rng.normal(0, 0.7, (4, 4))
        draws = logits + rng.normal(size=(20_000, 4)) @ root.T
        exact = np.exp(to_log_shares(draws)).mean(0)
        found = np.exp(integrated_log_shares(logits[None], (root @ root.T)[None]))[0]
        assert np.isclose(found.sum(), 1)
        plug_in = np.exp(to_log_shares(logits[None]))[0]
        assert np.abs(found - exact).max() <= np.abs(plug_in - exact).max() + 0.01
        worst = max(worst, float(np.abs(found - exact).max()))
    assert worst < 0.06


def test_integrated_predictions_are_less_sure() -> None:
    data = table(40, 2)
    integrated, mode = fitted(data, strength=0.1), fitted(data, strength=0.1, estimate="map")
    sure = [np.abs(model.predict_proba(data)[:, 0] - 0.5) for model in (integrated, mode)]
    assert (sure[0] <= sure[1] + 1e-12).all()
    assert (sure[0] < sure[1] - 1e-3).any()
