"""credo.sklearn against scikit-learn's own checks, in its pipelines and searches, and against the credo models."""

from __future__ import annotations

import pickle
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

import credo
from credo.errors import DataError, Notice, PriorError, SchemaError
from credo.families.normal_inverse_wishart import Covariance
from credo.sklearn import (
    GaussianDiscriminantClassifier,
    LinearRegressor,
    LogisticClassifier,
    MixtureClusterer,
    NaiveBayesClassifier,
    TreeClassifier,
)

COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "diagonal", "spherical")
CLASSIFIERS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(average=True),
    *(GaussianDiscriminantClassifier(covariance) for covariance in COVARIANCES),
]
each_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        *CLASSIFIERS,
        MixtureClusterer(2, "diagonal", starts=2),
        LogisticClassifier(strength=1.0),
        TreeClassifier(),
        LinearRegressor(),
    ]
)
@pytest.mark.slow
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@each_classifier
def test_column_names_are_checked(classifier: Any) -> None:
    check_dataframe_column_names_consistency(type(classifier).__name__, classifier)


def weather(rows: int = 120) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Strings, categories, booleans, integers and numbers, with missing cells; and what they are about."""
    rng = np.random.default_rng(7)
    play = rng.choice(["no", "yes"], rows, p=[0.4, 0.6])
    fair = play == "yes"
    table = pd.DataFrame(
        {
            "wind": np.where(rng.random(rows) < 0.2 + 0.5 * fair, "weak", "strong"),
            "sky": pd.Categorical(rng.choice(["sunny", "rain", "fog"], rows)),
            "warm": rng.random(rows) < 0.3 + 0.4 * fair,
            "birds": rng.integers(0, 2, rows) + fair,
            "humidity": rng.normal(60 - 10 * fair, 10),
        }
    )
    table.loc[::9, "wind"] = None
    table.loc[::7, "humidity"] = np.nan
    return table, play


WEATHER, PLAY = weather()
NUMBERS = WEATHER[["birds", "humidity"]]


@each_classifier
def test_tables_are_read_by_their_columns_types(classifier: Any) -> None:
    fitted = clone(classifier).fit(WEATHER, PLAY)
    forms = {name: views[0] for name, views in fitted.model_.views.items()}
    assert forms == {
        "wind": "category", "sky": "category", "warm": "category", "birds": "gaussian", "humidity": "gaussian",
    }  # fmt: skip
    assert fitted.feature_names_in_.tolist() == list(WEATHER)
    assert fitted.n_features_in_ == 5
    assert fitted.score(WEATHER, PLAY) > 0.7


@pytest.mark.parametrize("form", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_tables_of_other_libraries(form: Any) -> None:
    here, there = (NaiveBayesClassifier().fit(table, PLAY) for table in (WEATHER, form(WEATHER)))
    assert there.feature_names_in_.tolist() == list(WEATHER)
    np.testing.assert_allclose(there.predict_proba(form(WEATHER)), here.predict_proba(WEATHER), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("classifier", "model"),
    [
        (NaiveBayesClassifier(smoothing=0.5, strength=2.0), credo.NaiveBayes(smoothing=0.5, strength=2.0)),
        (NaiveBayesClassifier(average=True), credo.NaiveBayes(average=True)),
        (NaiveBayesClassifier(estimate="mean"), credo.NaiveBayes(estimate="mean")),
        (
            NaiveBayesClassifier(class_prior={"no": 0.9, "yes": 0.1}),
            credo.NaiveBayes(class_prior={"no": 0.9, "yes": 0.1}),
        ),
        (
            NaiveBayesClassifier(kinds={"humidity": credo.Number("binned"), 3: "ignore"}),
            credo.NaiveBayes(kinds={"humidity": credo.Number("binned"), "birds": "ignore"}),
        ),
        *((GaussianDiscriminantClassifier(each), credo.GaussianDiscriminant(each)) for each in COVARIANCES),
        (LogisticClassifier(), credo.LogisticRegression()),
        (TreeClassifier(prune="mdl"), credo.DecisionTree(prune="mdl")),
    ],
    ids=str,
)
def test_the_answers_are_the_credo_models(classifier: Any, model: Any, weighted: bool) -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(PLAY)) if weighted else None
    fitted = clone(classifier).fit(WEATHER, PLAY, sample_weight=weight)
    learned = model.fit(WEATHER.assign(play=PLAY), target="play", weight=weight)
    assert fitted.classes_.tolist() == list(learned.classes)
    np.testing.assert_allclose(fitted.predict_proba(WEATHER), learned.predict_proba(WEATHER), rtol=1e-12)
    np.testing.assert_allclose(fitted.predict_log_proba(WEATHER), learned.predict_log_proba(WEATHER), rtol=1e-12)
    assert (fitted.predict(WEATHER) == learned.predict(WEATHER)).all()


def test_a_regression_predicts_what_the_credo_model_does() -> None:
    y = np.random.default_rng(3).normal(size=len(WEATHER)) + WEATHER["birds"].to_numpy()
    fitted = LinearRegressor().fit(WEATHER, y)
    kinds = {"birds": "number", "humidity": "number", "sky": "category"}
    learned = credo.LinearRegression(kinds=kinds).fit(WEATHER.assign(y=y), target="y")
    mean, deviation = fitted.predict(WEATHER, return_std=True)
    np.testing.assert_allclose(mean, learned.predict(WEATHER), rtol=1e-12)
    np.testing.assert_allclose(deviation, np.sqrt(learned.predictive(WEATHER).variance()), rtol=1e-12)
    parts = LinearRegressor()
    for rows in np.array_split(np.arange(len(y)), 3):
        parts.partial_fit(WEATHER.iloc[rows], y[rows])
    np.testing.assert_allclose(parts.predict(WEATHER), mean, rtol=1e-9)


@each_classifier
def test_partial_fit_is_fit(classifier: Any) -> None:
    whole, parts = clone(classifier).fit(WEATHER, PLAY), clone(classifier)
    order = np.argsort(PLAY, kind="stable")  # the first parts hold one class only
    for rows in np.array_split(order, 5):
        parts.partial_fit(WEATHER.iloc[rows], PLAY[rows], classes=["yes", "no"])
        assert parts.predict_proba(WEATHER).shape == (len(PLAY), 2)
    assert parts.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(parts.predict_proba(WEATHER), whole.predict_proba(WEATHER), rtol=1e-9)


def test_classes_may_be_announced_or_come_as_a_surprise() -> None:
    model = NaiveBayesClassifier().partial_fit([[1.0], [2.0]], ["b", "b"], classes=["c", "b"])
    assert model.classes_.tolist() == ["b", "c"]
    assert 0 < model.predict_proba([[1.5]])[0, 1] < 0.5
    model.partial_fit([[9.0], [8.0]], ["another", "another"])
    assert model.classes_.tolist() == ["another", "b", "c"]
    assert model.predict([[8.5]]).tolist() == ["another"]


def test_a_class_without_weight_is_not_there() -> None:
    fitted = NaiveBayesClassifier().fit(WEATHER, PLAY, sample_weight=PLAY == "yes")
    assert fitted.classes_.tolist() == ["yes"]
    assert (fitted.predict(WEATHER) == "yes").all()


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float32, "U8", object])
def test_labels_keep_their_type(kind: Any) -> None:
    labels = (PLAY if kind in ("U8", object) else PLAY == "yes").astype(kind)
    fitted = GaussianDiscriminantClassifier("tied").fit(NUMBERS, labels)
    assert fitted.classes_.dtype == fitted.predict(NUMBERS).dtype == labels.dtype
    assert fitted.classes_.tolist() == np.unique(labels).tolist()


@pytest.mark.parametrize("labels", [pd.Series(PLAY), pd.Series(PLAY, dtype="category"), pl.Series(PLAY), list(PLAY)])
def test_labels_come_in_any_form(labels: Any) -> None:
    assert NaiveBayesClassifier().fit(WEATHER, labels).classes_.tolist() == ["no", "yes"]


# Kinds


def test_columns_of_arrays_are_numbers_unless_kinds_says_otherwise() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (40, 3))
    y = codes[:, 0] ^ codes[:, 1]
    plain = NaiveBayesClassifier().fit(codes, y)
    assert plain.model_.views == {"x0": ("gaussian",), "x1": ("gaussian",), "x2": ("gaussian",)}
    asked = NaiveBayesClassifier(kinds={0: "category", "x2": "ignore"}).fit(codes, y)
    assert asked.model_.views == {"x0": ("category",), "x1": ("gaussian",)}


def test_arrays_of_objects_hold_strings_where_kinds_says_so() -> None:
    cells = WEATHER[["wind", "humidity"]].to_numpy()
    fitted = NaiveBayesClassifier(kinds={0: "category"}).fit(cells, PLAY)
    table = NaiveBayesClassifier().fit(WEATHER[["wind", "humidity"]], PLAY)
    np.testing.assert_allclose(
        fitted.predict_proba(cells), table.predict_proba(WEATHER[["wind", "humidity"]]), rtol=1e-12
    )
    with pytest.raises(ValueError, match="could not convert string to float"):
        NaiveBayesClassifier().fit(cells, PLAY)


@each_classifier
def test_arrays_sparse_matrices_and_tables_say_the_same(classifier: Any) -> None:
    array = np.nan_to_num(NUMBERS.to_numpy())
    table = pd.DataFrame(array, columns=["birds", "humidity"])
    by_array, by_table = clone(classifier).fit(array, PLAY), clone(classifier).fit(table, PLAY)
    expected = by_array.predict_proba(array)
    np.testing.assert_allclose(by_array.predict_proba(sparse.csc_array(array)), expected, rtol=1e-12)
    np.testing.assert_allclose(by_table.predict_proba(table), expected, rtol=1e-12)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_allclose(by_table.predict_proba(array), expected, rtol=1e-12)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_allclose(by_array.predict_proba(table), expected, rtol=1e-12)


# In scikit-learn's world


@each_classifier
def test_cross_validation_and_pickle(classifier: Any) -> None:
    assert cross_val_score(classifier, WEATHER, PLAY).mean() > 0.65
    fitted = clone(classifier).fit(WEATHER, PLAY)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(WEATHER) == fitted.predict_proba(WEATHER)).all()


def test_values_that_a_fold_never_saw_pass_in_silence() -> None:
    rare = WEATHER.assign(wind=[f"{word}{i % 40}" for i, word in enumerate(WEATHER["wind"])])
    assert cross_val_predict(NaiveBayesClassifier(), rare, PLAY, method="predict_proba").shape == (len(PLAY), 2)


def test_columns_that_are_left_out_are_told() -> None:
    names = WEATHER.assign(name=[f"day{i}" for i in range(len(PLAY))])
    with pytest.warns(Notice, match="'name' is ignored"):
        fitted = NaiveBayesClassifier().fit(names, PLAY)
    assert "name" not in fitted.model_.views
    assert (fitted.predict(names) == NaiveBayesClassifier().fit(WEATHER, PLAY).predict(WEATHER)).all()


def test_pipelines() -> None:
    X, y = load_iris(return_X_y=True)
    scaled = make_pipeline(StandardScaler(), GaussianDiscriminantClassifier("tied"))
    assert cross_val_score(scaled, X, y).mean() > 0.96
    plain = GaussianDiscriminantClassifier("tied").fit(X, y)
    np.testing.assert_allclose(scaled.fit(X, y).predict_proba(X), plain.predict_proba(X), rtol=1e-8)

    encoded = make_column_transformer(
        (OrdinalEncoder(), ["wind", "sky", "warm"]), (StandardScaler(), ["birds", "humidity"])
    )
    kinds = dict.fromkeys(range(3), "category")
    by_position = make_pipeline(encoded, NaiveBayesClassifier(kinds=kinds)).fit(WEATHER, PLAY)
    passed = make_pipeline(FunctionTransformer(), NaiveBayesClassifier()).fit(WEATHER, PLAY)
    np.testing.assert_allclose(by_position.predict_proba(WEATHER), passed.predict_proba(WEATHER), rtol=1e-8)

    tables = make_column_transformer(
        (StandardScaler(), ["birds", "humidity"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    by_name = make_pipeline(tables, NaiveBayesClassifier()).fit(WEATHER, PLAY)
    np.testing.assert_allclose(by_name.predict_proba(WEATHER), passed.predict_proba(WEATHER), rtol=1e-8)


def test_grid_search_over_pipelines_and_kinds() -> None:
    grid = {
        "naivebayesclassifier__smoothing": [0.1, 1.0],
        "naivebayesclassifier__average": [False, True],
        "naivebayesclassifier__kinds": [None, {"humidity": credo.Number("binned")}],
    }
    pipeline = make_pipeline(FunctionTransformer(), NaiveBayesClassifier())
    search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3, error_score="raise").fit(WEATHER, PLAY)
    assert len(search.cv_results_["params"]) == 8
    assert -0.69 < search.best_score_ < 0
    assert search.best_estimator_.predict_proba(WEATHER).shape == (len(PLAY), 2)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(method: str) -> None:
    calibrated = CalibratedClassifierCV(NaiveBayesClassifier(), method=method, cv=3)
    calibrated.fit(WEATHER, PLAY, sample_weight=np.ones(len(PLAY)))
    assert calibrated.classes_.tolist() == ["no", "yes"]
    assert calibrated.score(WEATHER, PLAY) > 0.7


# Bad input


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (lambda: NaiveBayesClassifier(smoothing=-1).fit(WEATHER, PLAY), PriorError, "smoothing must be"),
        (lambda: GaussianDiscriminantClassifier(smoothing=-1).fit(WEATHER, PLAY), PriorError, "smoothing must be"),
        (lambda: GaussianDiscriminantClassifier("round").fit(WEATHER, PLAY), PriorError, "no such covariance"),  # type: ignore[arg-type]
        (lambda: NaiveBayesClassifier(kinds={7: "category"}).fit(WEATHER, PLAY), SchemaError, "column 7 that isn't"),
        (lambda: NaiveBayesClassifier(kinds={"humidty": "count"}).fit(WEATHER, PLAY), SchemaError, "mean 'humidity'"),
        (lambda: NaiveBayesClassifier(class_prior={"no": 1}).fit(WEATHER, PLAY).predict(WEATHER), PriorError, "'yes'"),
        (lambda: NaiveBayesClassifier().fit(WEATHER, np.where(PLAY == "no", "", PLAY)), DataError, "the class ''"),
        (lambda: NaiveBayesClassifier().fit(WEATHER, PLAY[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda: NaiveBayesClassifier().fit(WEATHER[:0], PLAY[:0]), ValueError, "empty"),
        (lambda: NaiveBayesClassifier().fit(WEATHER.assign(humidity=np.inf), PLAY), DataError, "must be finite"),
        (lambda: NaiveBayesClassifier().fit(WEATHER, pd.Series(PLAY).mask(PLAY == "no")), ValueError, "NaN"),
        (lambda: NaiveBayesClassifier().fit(WEATHER, PLAY, sample_weight=-np.ones(120)), ValueError, "Negative"),
        (lambda: NaiveBayesClassifier().fit(WEATHER, PLAY).partial_fit(WEATHER, [1] * 120), SchemaError, "string"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_a_sentence(bad: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        bad()


def test_without_scikit_learn_the_import_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "credo.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ImportError, match=r"^credo\.sklearn needs scikit-learn 1\.6 or later"):
        import_module("credo.sklearn")


def test_the_core_never_imports_scikit_learn() -> None:
    imports = re.compile(r"^\s*(from|import) (sklearn|credo\.sklearn)\b", re.MULTILINE)
    package = Path(credo.__file__).parent
    having = [path.name for path in package.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert having == ["sklearn.py"]
