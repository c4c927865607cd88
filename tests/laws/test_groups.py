"""Rows of one group, as of one patient, are held out together: `groups=` of learn and of cross_validate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import credo
from credo.cli import main
from credo.core.folds import FoldDraw, grouped_by
from credo.data import source
from credo.models.metrics import variance_of_mean
from credo.selection.sample import _by_size
from tests.laws.classifiers import unheard

FEATURES = tuple(f"x{j}" for j in range(6))


def visits(seed: int, patients: int = 40, each: int = 20, spread: float = 0.2) -> dict[str, Any]:
    """Many visits of each patient, all much alike; P(sick) depends on x0 of the patient."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(patients, len(FEATURES)))
    sick = centre[:, 0] + rng.normal(size=patients) > 0
    who = np.repeat(np.arange(patients), each)
    cells = centre[who] + spread * rng.normal(size=(len(who), len(FEATURES)))
    columns: dict[str, Any] = {name: cells[:, j] for j, name in enumerate(FEATURES)}
    return {
        **columns, "patient": [f"p{i}" for i in who], "sick": np.where(sick[who], "yes", "no").tolist(),
        "severity": 2 * centre[who, 0] + rng.normal(size=patients)[who] + 0.1 * rng.normal(size=len(who)),
    }  # fmt: skip


def without(table: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: cells for name, cells in table.items() if name not in names}


def folds_of_patients(table: dict[str, Any], folds: int, seed: int) -> Any:
    opened = source(table)
    draw = FoldDraw(folds, seed, grouped_by(opened, "patient", folds))
    return np.concatenate([draw.of(batch) for batch in opened.batches(["patient"])])


MODELS: dict[str, Any] = {
    "naive Bayes": credo.NaiveBayes,
    "discriminant": credo.GaussianDiscriminant,
    "tree": credo.DecisionTree,
    "logistic": lambda: credo.LogisticRegression(strength=1.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_folds_are_refits_without_the_groups(name: str) -> None:
    table = visits(1, 12, 5, spread=1.0)
    cells = without(table, "patient", "severity")
    model = MODELS[name]().fit(cells, "sick")
    folds = folds_of_patients(table, 3, 7)
    with unheard():
        scores = model.cross_validate(table, 3, seed=7, groups="patient")
        for k in range(3):
            others, own = ({n: np.asarray(c)[here] for n, c in cells.items()} for here in (folds != k, folds == k))
            again = MODELS[name]().fit(others, "sick")
            if name != "logistic":  # whose scales are held fixed
                found = again.predict_log_proba(own)
                np.testing.assert_allclose(scores.log_probabilities[folds == k], found, atol=1e-9)
    assert "by groups" in scores.how
    assert scores.groups is not None
    assert len(np.unique(scores.groups)) == 12


def test_folds_of_a_regression_are_refits_without_the_groups() -> None:
    table = visits(2, 12, 6, spread=1.0)
    cells, folds = without(table, "patient", "sick"), folds_of_patients(table, 3, 0)
    with unheard():
        asked = credo.LinearRegression()
        scores = asked.cross_validate(cells, 3, target="severity", groups=table["patient"])
        others, own = ({n: np.asarray(c)[here] for n, c in cells.items()} for here in (folds != 1, folds == 1))
        again = credo.LinearRegression().fit(others, "severity").scores(own)
    np.testing.assert_allclose(scores.predicted[folds == 1], again.predicted, rtol=1e-7)


def test_robust_regression_holds_out_groups() -> None:
    """A fold is the same, whatever the values of its rows' groups are called; other groups make other folds."""
    table = visits(2, 12, 6, spread=1.0)
    cells, folds = without(table, "patient", "sick"), folds_of_patients(table, 3, 0)
    model = credo.LinearRegression(noise="student").fit(cells, "severity")
    by_patient, by_row = (model.cross_validate(cells, 3, groups=g) for g in (table["patient"], None))
    changed = dict(cells, severity=np.where(folds == 1, 5.0, cells["severity"]))  # only the others teach
    again = model.cross_validate(changed, 3, groups=table["patient"])
    np.testing.assert_allclose(again.predicted[folds == 1], by_patient.predicted[folds == 1], rtol=1e-6)
    assert not np.allclose(again.predicted[folds != 1], by_patient.predicted[folds != 1], rtol=1e-3)
    assert not np.allclose(by_row.predicted, by_patient.predicted, rtol=1e-3)


def test_an_average_holds_out_groups() -> None:
    table = visits(3, 12, 5, spread=1.0)
    cells = without(table, "patient", "severity")
    both = credo.average([credo.NaiveBayes().fit(cells, "sick"), credo.GaussianDiscriminant("tied").fit(cells, "sick")])
    folds = folds_of_patients(table, 3, 0)
    scores = both.cross_validate(without(table, "severity"), 3, groups="patient")
    others, own = ({n: np.asarray(c)[here] for n, c in cells.items()} for here in (folds != 2, folds == 2))
    np.testing.assert_allclose(scores.log_probabilities[folds == 2], both.fit(others).predict_log_proba(own), atol=1e-9)


def test_learning_by_rows_is_fooled_and_by_groups_isnt() -> None:
    """New patients aren't like any of these: rows predict others of the same patient, and nobody else's."""
    fooled, honest = list[tuple[float, ...]](), list[tuple[float, ...]]()
    for seed in range(3):
        table, new = visits(seed), without(visits(100 + seed, patients=300, each=1), "patient", "severity")
        for groups, found in ((None, fooled), ("patient", honest)):
            model = credo.learn(without(table, "severity", *(() if groups else ["patient"])), "sick", groups=groups)
            scores = model.scores(new)
            found.append((scores.log_loss, model.report.scores.log_loss, model.report.scores.log_loss_error))
    true, reported, error = np.array(fooled).T
    assert (true > reported + 2 * error).all()
    true, reported, error = np.array(honest).T
    assert (np.abs(true - reported) < 2 * error).all()
    assert true.mean() < 0.7 < np.array(fooled)[:, 0].mean()


@pytest.mark.parametrize("form", ["column", "array"])
def test_the_column_of_groups_is_no_feature(form: str) -> None:
    table = without(visits(4, 20, 5), "severity")
    groups: Any = "patient" if form == "column" else table["patient"]
    model = credo.learn(table if form == "column" else without(table, "patient"), "sick", groups=groups)
    assert set(model.views) == set(FEATURES)
    assert "patient" not in {read.name for read in model.report.columns}
    assert "by groups" in model.report.scores.how
    model.predict(without(table, "patient", "sick"))


def test_both_forms_learn_the_same() -> None:
    table = without(visits(4, 20, 5), "severity")
    one, two = credo.learn(table, "sick", groups="patient"), credo.learn(
        without(table, "patient"), "sick", groups=table["patient"]
    )  # fmt: skip
    cells = without(table, "patient", "sick")
    np.testing.assert_allclose(one.predict_proba(cells), two.predict_proba(cells), atol=1e-12)


def test_groups_of_one_row_are_rows() -> None:
    """Each row by itself: the same model as by rows, but for how it is tuned (in folds, not row by row)."""
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=200), "y": rng.choice(["a", "b"], 200).tolist()}
    scores = credo.NaiveBayes().fit(table, "y").cross_validate(table, 5, groups=np.arange(200))
    assert scores.groups is not None
    error = np.sqrt(variance_of_mean(-scores.of_truth, scores.weights, scores.held_out_ratio))
    np.testing.assert_allclose(scores.log_loss_error, error, rtol=0.05)


def test_regression_is_learned_by_groups() -> None:
    table = without(visits(5), "sick")
    new = without(visits(105, patients=300, each=1), "sick", "patient")
    by_rows = credo.learn(without(table, "patient"), "severity", model="linear")
    by_groups = credo.learn(table, "severity", groups="patient", model="linear")
    assert by_groups.report is not None
    assert by_rows.report is not None
    truth = by_groups.scores(new).log_loss
    assert abs(by_groups.report.scores.log_loss - truth) < 2 * by_groups.report.scores.log_loss_error
    assert by_groups.report.scores.log_loss_error > 2 * by_rows.report.scores.log_loss_error
    assert "nested 10-fold by groups" in repr(by_groups.report.scores)


def test_many_rows_are_sampled_and_groups_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.selection.sample.ROWS", 300)
    monkeypatch.setattr("credo.selection.sample.ROWS_IN_CELLS", 300)
    table = without(visits(6), "severity")
    model = credo.learn(table, "sick", groups="patient")
    assert model.n == 800
    assert model.report.scores.rows < 500
    truth = model.scores(without(visits(106, patients=300, each=1), "patient", "severity")).log_loss
    assert abs(model.report.scores.log_loss - truth) < 2 * model.report.scores.log_loss_error


def test_rows_without_a_group_are_groups_by_themselves() -> None:
    table = without(visits(7, 12, 5), "severity")
    table["patient"] = [None if i % 2 else p for i, p in enumerate(table["patient"])]
    scores = credo.NaiveBayes().fit(without(table, "patient"), "sick").cross_validate(table, 4, groups="patient")
    assert scores.groups is not None
    assert len(np.unique(scores.groups)) == 12 + 30


def test_folds_of_groups_have_about_as_many_rows() -> None:
    groups = np.repeat(np.arange(30, dtype=np.uint64), np.arange(1, 31))
    folds = _by_size(groups, 5, seed=0)
    assert all(len(np.unique(folds[groups == g])) == 1 for g in range(30))
    assert np.ptp(np.bincount(folds)) <= 3


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ("nobody", "no column 'nobody'"),
        ("sick", "can't be both the target and the groups"),
        ([1, 2], "2 values"),
        (["one"] * 60, "2 folds need at least 2 groups|all rows are of one group"),
    ],
)
def test_bad_groups(groups: Any, match: str) -> None:
    table = without(visits(8, 12, 5), "severity")
    with pytest.raises(credo.CredoError, match=match):
        credo.learn(table, "sick", groups=groups)


def test_more_folds_than_groups_are_refused() -> None:
    table = without(visits(8, 4, 5), "severity")
    model = credo.NaiveBayes().fit(without(table, "patient"), "sick")
    with pytest.raises(credo.DataError, match="10 folds need at least 10 groups, but column 'patient' has 4"):
        model.cross_validate(table, groups="patient")


def test_scores_by_groups_are_stored(tmp_path: Any) -> None:
    model = credo.learn(without(visits(9, 20, 5), "severity"), "sick", groups="patient")
    credo.save(model, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    assert again.report.scores.log_loss_error == model.report.scores.log_loss_error


@pytest.mark.parametrize("model", ["auto", "tree"])
def test_the_command_line(tmp_path: Any, model: str) -> None:
    import pyarrow as pa
    import pyarrow.csv

    path = tmp_path / "visits.csv"
    pyarrow.csv.write_csv(pa.table(without(visits(9, 20, 5), "severity")), path)
    found = CliRunner().invoke(main, ["learn", str(path), "-t", "sick", "--groups", "patient", "--model", model])
    assert found.exit_code == 0, found.output
    assert "by groups" in found.output
