"""credo.learn and columns that depend on each other: it reads pairs of them where that clearly pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.models.forms import CELL_FORMS
from credo.selection import nested_validation
from credo.selection.candidates import DEPENDENCE_CANDIDATES
from credo.selection.tuned import TunedClassifier
from tests.laws.classifiers import pick


def dependent(n: int, seed: int = 0) -> dict[str, Any]:
    """The class is whether a number lies in a category's own intervals, which no Gaussian tells."""
    rng = np.random.default_rng(seed)
    a, x = rng.choice(3, n, p=[0.6, 0.2, 0.2]), rng.uniform(0, 6, n)
    inside = np.where(rng.random(n) < 0.1, rng.random(n) < 0.5, a == np.floor(x) % 3)
    return {
        "a": np.array(["u", "v", "w"], dtype=object)[a],
        "b": np.array(["u", "v", "w"], dtype=object)[(a + rng.integers(0, 2, n)) % 3],
        "x": x,
        "y": np.where(inside, "yes", "no").astype(object),
    }


def independent(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    columns = {name: np.array(["u", "v", "w"], dtype=object)[(y + rng.integers(0, 2, n)) % 3] for name in "abc"}
    return {**columns, "y": np.where(y, "yes", "no").astype(object)}


def forms_of(model: TunedClassifier) -> set[str]:
    return {form for own in model.tuning.forms.values() for form in own}


@pytest.fixture(scope="module")
def learned() -> TunedClassifier:
    return credo.learn(dependent(1100), target="y")


def test_pairs_are_read_where_they_tell_of_the_class(learned: TunedClassifier) -> None:
    assert forms_of(learned) & set(CELL_FORMS)
    naive = credo.learn(dependent(1100), target="y", model="naive-bayes")
    assert learned.report.scores.log_loss < 0.85 * naive.report.scores.log_loss
    fresh = dependent(2000, seed=2)
    assert learned.scores(fresh).log_loss == pytest.approx(learned.report.scores.log_loss, abs=0.06)


def test_the_simpler_model_stands_where_the_gain_is_not_clear() -> None:
    model = credo.learn(independent(1100), target="y")
    tried = [each for each in model.report.tried if each.name.split(" (stopped")[0] in DEPENDENCE_CANDIDATES]
    assert tried
    assert not any(each.share for each in tried)
    assert not forms_of(model) & set(CELL_FORMS)
    assert not any(set(CELL_FORMS) & set(forms) for forms in model.views.values()), "nor is their evidence kept"


def test_pairs_without_hope_are_given_up_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = independent(1100)
    early = credo.learn(table, target="y")
    assert sum("(stopped after 1 of 5 folds)" in each.name for each in early.report.tried) >= 2
    monkeypatch.setattr(nested_validation, "FUTILITY_LOOKS", 0)
    whole = credo.learn(table, target="y")
    assert DEPENDENCE_CANDIDATES & {each.name for each in whole.report.tried}
    np.testing.assert_allclose(early.predict_proba(table), whole.predict_proba(table), rtol=0, atol=1e-6)
    assert early.report.scores.log_loss == pytest.approx(whole.report.scores.log_loss, abs=1e-6)


def test_no_pairs_are_tried_where_rows_are_few() -> None:
    model = credo.learn(dependent(300), target="y")
    assert not DEPENDENCE_CANDIDATES & {each.name for each in model.report.tried}


def test_a_learned_model_has_all_verbs(learned: TunedClassifier, tmp_path: Any) -> None:
    more = dependent(50, seed=3)
    rows = {name: more[name] for name in "abx"}
    credo.save(learned, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(again.predict_proba(rows), learned.predict_proba(rows))
    np.testing.assert_allclose(
        learned.update(more).forget(more).predict_proba(rows), learned.predict_proba(rows), rtol=0, atol=1e-9
    )
    live = learned.live()
    for i in range(5):
        live.observe({name: cells[i] for name, cells in more.items()})
    updated = learned.update(pick(more, slice(0, 5)))
    np.testing.assert_allclose(live.freeze().predict_proba(rows), updated.predict_proba(rows), rtol=0, atol=1e-12)
    why = learned.explain({name: cells[0] for name, cells in rows.items()})
    assert why.log_odds == pytest.approx(np.log(why.probability / (1 - why.probability)), abs=1e-6)


@pytest.mark.parametrize("kind", ["tan", "aode", "kdb"])
def test_one_kind_may_be_asked_for(kind: Any) -> None:
    table = dependent(1500)
    model = credo.learn(table, target="y", model=kind)
    assert len(forms_of(model)) == 1
    assert forms_of(model) <= set(CELL_FORMS)
    assert model.report.scores.log_loss < 0.55
    assert model.predict({"a": ["u"], "b": ["u"], "x": [0.5]}).tolist() == ["yes"]
    kinds: dict[str, Any] = {"tan": credo.TreeAugmented, "aode": credo.OneDependence, "kdb": credo.KDependence}
    tuned = kinds[kind]().fit(table, target="y").tune(table)
    assert tuned.tuning.forms == model.tuning.forms
