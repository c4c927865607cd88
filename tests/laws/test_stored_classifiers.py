"""A classifier that is loaded is the one that was saved, in every bit, and it goes on learning."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from inspect import isabstract
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.models.classifier import Classifier
from credo.storage.schemas import BY_NAME
from tests.laws.classifiers import CASES, TARGET, Case, learned_in_every_form, unheard
from tests.laws.test_storage import same, through

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.credo"


def same_predictions(one: Classifier, other: Classifier, rows: Any) -> bool:
    with unheard():
        alike = np.array_equal(one.predict_proba(rows), other.predict_proba(rows))
        return alike and np.array_equal(one.log_joint(rows), other.log_joint(rows))


@cases
def test_what_was_learned_is_the_same(case: Case, path: Path) -> None:
    model, rows = case.fit(case.table(0)), case.table(1)
    model.predict_proba(rows)  # cached values are no part of what is stored
    loaded = through(model, path)
    assert same(loaded, model)
    assert set(vars(loaded)) == {field.name for field in dataclasses.fields(loaded)}
    assert same_predictions(loaded, model, rows)
    assert repr(loaded) == repr(model)


@cases
def test_it_goes_on_learning(case: Case, path: Path) -> None:
    model, more = case.fit(case.table(2)), case.table(3)
    loaded = through(model, path)
    assert same(loaded.update(more), model.update(more))
    assert same(loaded.update(more).forget(more), model.update(more).forget(more))
    assert same((loaded + model).evidence, (model + model).evidence)


@pytest.mark.parametrize("case", [case for case in CASES.values() if not case.missing and case.estimate == "bayes"])
@pytest.mark.slow
def test_tuning_is_kept(case: Case, path: Path) -> None:
    rows = case.table(4)
    model = case.fit(rows).tune(rows)
    loaded = through(model, path)
    assert same(loaded, model)
    assert same_predictions(loaded, model, rows)


def test_what_credo_learn_found_is_kept_with_its_report(path: Path) -> None:
    rows = CASES["mixed, cells missing"].table(5, 200)
    with unheard():
        model = credo.learn(rows, TARGET)
    loaded = through(model, path)
    assert same(loaded, model)
    assert same_predictions(loaded, model, rows)
    assert repr(loaded.report) == repr(model.report)
    assert loaded.report.scores.ece == model.report.scores.ece


def test_categories_alone_that_are_read_together(path: Path) -> None:
    rng = np.random.default_rng(8)
    one, two = rng.integers(0, 2, (2, 300))
    rows = {"one": one.astype(str), "two": two.astype(str), TARGET: np.where(one | two, "on", "off")}
    model: Any = learned_in_every_form(rows, TARGET)
    assert all("tied" in forms for forms in model.views.values())
    loaded = through(model, path)
    assert same(loaded, model)
    assert same_predictions(loaded, model, rows)


@pytest.mark.parametrize("model", [credo.NaiveBayes(smoothing=0.5), credo.GaussianDiscriminant("tied", strength=2.0)])
def test_one_that_has_learned_nothing_yet(model: Classifier, path: Path) -> None:
    rows = CASES["full"].table(6)
    loaded = through(model, path)
    assert same(loaded, model)
    assert same(loaded.fit(rows, TARGET), model.fit(rows, TARGET))


@pytest.mark.parametrize(
    ("classes", "kind"),
    [(["a", "b"], object), ([0, 1], int), ([False, True], bool), ([-7, 2**40], int), ([2**63, 2**64 - 1], np.uint64)],
    ids=str,
)
def test_classes_of_every_type_and_their_priors(classes: list[Any], kind: Any, path: Path) -> None:
    rows = {"x": [1.0, 2.0, 3.0, 4.0], "y": np.array([*classes, *classes], dtype=kind)}
    model = credo.NaiveBayes(class_prior={classes[0]: 0.25, classes[1]: 0.75}).fit(rows, "y")
    loaded = through(model, path)
    assert same(loaded, model)
    assert loaded.class_prior == model.class_prior
    assert loaded.classes == tuple(classes)
    assert [type(value) for value in loaded.classes] == [type(value) for value in classes]
    assert same_predictions(loaded, model, rows)


def test_a_model_whose_rows_are_all_forgotten(path: Path) -> None:
    case = CASES["mixed, cells missing"]
    rows = case.table(7)
    model = case.fit(rows).forget(rows)
    loaded = through(model, path)
    assert same(loaded, model)
    assert same_predictions(loaded.update(rows), case.fit(rows), rows)


def test_many_classes_and_values(path: Path) -> None:
    rng = np.random.default_rng(0)
    words, n = [f"value {i}" for i in range(3000)], 3000
    rows: dict[str, Any] = {"x": words, "z": rng.normal(size=n), "y": np.arange(n) // 2}
    model = credo.NaiveBayes(kinds={"x": "category", "y": "category"}).fit(rows, "y")
    loaded = through(model, path)
    assert loaded.classes == model.classes
    few = {name: column[:20] for name, column in rows.items()}
    assert same_predictions(loaded, model, few)


def every_kind(kind: Any) -> Iterator[Any]:
    yield kind
    for each in kind.__subclasses__():
        yield from every_kind(each)


def test_every_classifier_can_be_stored() -> None:
    known = {kind.__name__ for kind in every_kind(Classifier) if not isabstract(kind)}
    assert {"NaiveBayes", "GaussianDiscriminant"} < known <= set(BY_NAME)
