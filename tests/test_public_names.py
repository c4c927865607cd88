"""The public names: those of the contract, each loaded from where it is defined, with the whole exception tree."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import credo
from credo import errors

ERRORS = [
    "CredoError",
    "DataError",
    "EngineError",
    "EvidenceError",
    "NetworkError",
    "PriorError",
    "QuestionError",
    "SchemaError",
    "SizeError",
    "StorageError",
    "UnsupportedError",
]
NAMES = [
    *ERRORS,
    "BDeu",
    "Belief",
    "Beliefs",
    "BetaBernoulli",
    "CausalGraph",
    "Classifier",
    "Concepts",
    "DecisionTree",
    "DirichletCategorical",
    "DirichletMultinomial",
    "DynamicNetwork",
    "GammaExponential",
    "GammaPoisson",
    "GaussianDiscriminant",
    "HiddenMarkov",
    "HybridNetwork",
    "Hypotheses",
    "InfluenceDiagram",
    "KDependence",
    "LinearGaussian",
    "LinearRegression",
    "LogisticRegression",
    "MarkovNetwork",
    "Mixture",
    "ModelAverage",
    "NaiveBayes",
    "Network",
    "NetworkClassifier",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalMean",
    "Notice",
    "Number",
    "Numeric",
    "OneDependence",
    "ParetoUniform",
    "PlateNetwork",
    "Schema",
    "Text",
    "TreeAugmented",
    "TunedClassifier",
    "Word",
    "ask",
    "average",
    "bayes_factor",
    "bayes_rule",
    "choose",
    "compare",
    "description_length",
    "documents",
    "edge_confidence",
    "em_means",
    "estimate",
    "explore",
    "learn",
    "learn_structure",
    "load",
    "product_rule",
    "read",
    "save",
    "sum_rule",
    "total_probability",
]


def test_the_public_names_are_these() -> None:
    """A name that comes or goes is a decision: it is made here, and in the changelog."""
    assert credo.__all__ == sorted(NAMES)
    assert set(dir(credo)) == {*NAMES, "__version__"}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_loaded_from_where_it_is_defined(name: str) -> None:
    found = getattr(credo, name)
    module = inspect.getmodule(found)
    assert module is not None
    assert module.__name__ == credo._PUBLIC[name]
    assert inspect.getdoc(found)


def test_each_is_in_the_reference() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
    assert {f"::: {credo._PUBLIC[name]}.{name}" for name in NAMES} <= {*page.splitlines()}


def test_every_error_is_public_and_a_credo_error() -> None:
    defined = [
        name for name, each in vars(errors).items() if inspect.isclass(each) and each.__module__ == "credo.errors"
    ]
    assert sorted(defined) == sorted([*ERRORS, "Notice"])
    assert all(issubclass(getattr(credo, name), credo.CredoError) for name in ERRORS)
    assert issubclass(credo.Notice, UserWarning)


def test_what_is_raised_and_told_is_what_is_public() -> None:
    with pytest.raises(credo.DataError):
        credo.BetaBernoulli(1, 1).update([3])
    with pytest.raises(credo.PriorError):
        credo.BetaBernoulli(-1, 1)
    with pytest.raises(credo.EvidenceError):
        credo.BetaBernoulli(1, 1).update([1]).forget([0])
    with pytest.raises(credo.QuestionError):
        credo.ask(credo.BetaBernoulli(1, 1), "P(")
    with pytest.raises(credo.StorageError):
        credo.load("no such file.credo")
    with pytest.warns(credo.Notice):
        credo.NaiveBayes().fit({"a": ["x", "y"], "b": [None, None], "y": ["u", "v"]}, target="y")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = credo.nothing


VERBS = {"cross_validate", "discount", "evidence", "explore", "forget", "merge", "n", "update"}
ABOUT_CLASSES = {
    "adapt", "class_prior", "class_smoothing", "class_weights", "classes", "decide", "description_length", "explain",
    "fit", "kinds", "learning_curve", "leave_one_out", "live", "log_evidence", "log_joint", "log_prob",
    "n_parameters", "parameters", "plain", "plot", "predict", "predict_log_proba", "predict_proba", "report", "sample",
    "scores", "target", "top_words", "tune", "tuning", "unlabelled", "untuned", "with_class_prior", "without_class",
}  # fmt: skip
TABLE = {"x": [1.0, 2.0, 3.0, 4.0] * 5, "y": ["a", "b", "a", "b"] * 5}


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (credo.NaiveBayes(), {"average", "estimate", "m", "p", "smoothing", "strength"}),
        (
            credo.GaussianDiscriminant("tied"),
            {"covariance", "estimate", "linear_weights", "mahalanobis", "smoothing", "strength"},
        ),
    ],
)
def test_dir_shows_what_users_call(model: credo.Classifier, own: set[str]) -> None:
    fitted = model.fit(TABLE, target="y")
    assert {name for name in dir(fitted) if not name.startswith("_")} == VERBS | ABOUT_CLASSES | own
    tuned = fitted.tune(TABLE)
    assert {name for name in dir(tuned) if not name.startswith("_")} == VERBS | ABOUT_CLASSES


def test_dir_of_a_network_shows_no_machinery() -> None:
    shown = set(dir(credo.Network.example("asia")))
    assert {"query", "fit", "belief", "cpdag", "tables", "parents", "write"} <= shown
    assert not shown & {"potentials", "trees", "structures", "expectations", "coded", "nodes"}


def test_constructors_take_settings_alone() -> None:
    kinds = [kind for name in NAMES if inspect.isclass(kind := getattr(credo, name)) and name not in ERRORS]
    kinds.remove(credo.TunedClassifier)  # a model, its tuning and the report on both: it wraps them
    kinds.remove(credo.Notice)
    assert len(kinds) > 30
    for kind in kinds:
        assert not {"evidence", "history", "report", "tuning", "views"} & set(inspect.signature(kind).parameters), kind


def test_load_says_what_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "coin.credo"
    credo.save(credo.BetaBernoulli(1, 1).update([1]), path)
    assert credo.load(path, credo.Belief).mean() == 2 / 3
    with pytest.raises(credo.StorageError, match="holds a Belief, not a Classifier"):
        credo.load(path, credo.Classifier)


def test_rooms_are_there_without_an_import() -> None:
    """`except credo.errors.SizeError`, whatever was loaded before."""
    for name in ("engines", "errors", "nodes"):
        assert credo.__getattr__(name).__name__.startswith("credo.")
