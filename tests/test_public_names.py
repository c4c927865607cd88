"""The public names: those of the contract, each loaded from where it is defined, with the whole exception tree."""

from __future__ import annotations

import inspect

import pytest

import credo
from credo import errors

ERRORS = [
    "CredoError",
    "DataError",
    "EvidenceError",
    "NetworkError",
    "PriorError",
    "QuestionError",
    "SchemaError",
    "SizeError",
    "StorageError",
]
NAMES = [
    *ERRORS,
    "BDeu",
    "Belief",
    "Beliefs",
    "BetaBernoulli",
    "DirichletCategorical",
    "DirichletMultinomial",
    "GammaExponential",
    "GammaPoisson",
    "GaussianDiscriminant",
    "LinearRegression",
    "MarkovNetwork",
    "NaiveBayes",
    "Network",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalMean",
    "Notice",
    "Number",
    "Numeric",
    "ParetoUniform",
    "Schema",
    "Text",
    "ask",
    "bayes_factor",
    "documents",
    "edge_confidence",
    "estimate",
    "learn",
    "learn_structure",
    "load",
    "read",
    "save",
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
