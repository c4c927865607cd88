"""credo.average against its definition: weights, mixtures, rows left out by true refits, and the classifiers' verbs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import credo
from tests.hostile.refusals import refused
from tests.laws.classifiers import unheard
from tests.laws.test_description_length import table
from tests.laws.test_storage import same, through

ROWS = {name: cells[:60] for name, cells in table().items()}


def generative() -> list[Any]:
    return [credo.NaiveBayes(), credo.GaussianDiscriminant("tied")]


def made(by: str) -> credo.ModelAverage:
    with unheard():
        more = [] if by == "evidence" else [credo.TreeAugmented()]
        return credo.average(generative() + more, ROWS, by=by, target="y")  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["evidence", "loo", "folds"])
def test_it_is_the_mixture_of_its_models(by: str) -> None:
    average = made(by)
    by_hand = sum(w * model.predict_proba(ROWS) for w, model in zip(average.weights, average.models, strict=True))
    np.testing.assert_allclose(average.predict_proba(ROWS), by_hand, rtol=1e-12)
    np.testing.assert_allclose(np.exp(average.predict_log_proba(ROWS)), by_hand, rtol=1e-12)
    assert average.weights.sum() == pytest.approx(1)
    assert (average.predict(ROWS) == np.array(average.classes)[by_hand.argmax(1)]).all()
    assert average.decide(ROWS, {"yes": {"no": 100.0}}).tolist().count("yes") >= (average.predict(ROWS) == "yes").sum()
    assert average.n == 60
    assert average.scores(ROWS).log_loss == pytest.approx(
        -np.log(by_hand[np.arange(60), (ROWS["y"] == "yes").astype(int)]).mean()
    )


def test_weights_by_evidence_are_posterior_probabilities() -> None:
    average = made("evidence")
    logs = np.array([model.log_evidence() for model in average.models])
    np.testing.assert_allclose(average.weights, np.exp(logs) / np.exp(logs).sum())
    assert average.log_evidence() == pytest.approx(np.log(np.exp(logs).mean()))
    fitted = [model.fit(ROWS, target="y") for model in generative()]
    np.testing.assert_array_equal(credo.average(fitted).weights, average.weights)
    space = credo.Hypotheses(["naive", "tied"]).update(np.exp(logs))  # the same as hypotheses, and their votes
    p = [model.predict_proba(ROWS)[0] for model in average.models]
    votes = [dict(zip(("no", "yes"), own.tolist(), strict=True)) for own in p]
    assert space.classify(votes)["yes"] == pytest.approx(average.predict_proba(ROWS)[0, 1])


def test_stacked_weights_are_the_best_mixture_of_left_out_scores() -> None:
    average = made("loo")
    logs = []
    for model in average.models:
        scores = model.leave_one_out(ROWS)
        logs.append(scores.log_probabilities[np.arange(60), scores.truth])
    p = np.exp(np.stack(logs, axis=1))

    def loss(free: Any) -> float:  # Dirichlet(2): each model is worth one row
        shares = np.exp(free - np.logaddexp.reduce(free))
        return -float(np.log(p @ shares).sum() + np.log(shares).sum())

    best = minimize(loss, np.zeros(3), method="BFGS").x
    np.testing.assert_allclose(average.weights, np.exp(best - np.logaddexp.reduce(best)), atol=1e-4)
    left_out = average.leave_one_out(ROWS)
    assert left_out.log_loss == pytest.approx(-np.log(p @ average.weights).mean())
    assert "weights held fixed" in left_out.how


def test_rows_left_out_by_evidence_are_those_of_true_refits() -> None:
    few = {name: cells[:24] for name, cells in table().items()}
    average = credo.average(generative(), few, by="evidence", target="y")
    scores = average.leave_one_out(few)
    for i in range(24):
        others = {name: np.delete(cells, i) for name, cells in few.items()}
        again = credo.average([model.fit(others, target="y") for model in generative()])
        p = again.predict_log_proba({name: cells[i : i + 1] for name, cells in few.items()})
        np.testing.assert_allclose(scores.log_probabilities[i], p[0], atol=1e-9)


@pytest.mark.parametrize("by", ["evidence", "loo"])
def test_folds_are_predicted_by_averages_of_the_others(by: str) -> None:
    average = made(by)
    with unheard():
        found = average.cross_validate(ROWS, folds=3, seed=5)
        fold = np.random.default_rng(5).permutation(60) % 3
        for k in range(3):
            train, test = ({name: cells[rows] for name, cells in ROWS.items()} for rows in (fold != k, fold == k))
            again = average.fit(train)
            np.testing.assert_allclose(found.log_probabilities[fold == k], again.predict_log_proba(test), atol=1e-9)


@pytest.mark.parametrize("by", ["evidence", "loo"])
def test_it_learns_and_forgets(by: str) -> None:
    average, more = made(by), {name: cells[60:90] for name, cells in table().items()}
    with unheard():
        grown = average.update(more)
        assert grown.n == 90
        np.testing.assert_allclose(grown.forget(more).predict_proba(ROWS), average.predict_proba(ROWS), atol=1e-9)
    if by == "evidence":
        both = {name: cells[:90] for name, cells in table().items()}
        whole = credo.average(generative(), both, by="evidence", target="y")
        np.testing.assert_allclose(grown.weights, whole.weights, rtol=1e-6)
        np.testing.assert_allclose(grown.predict_proba(ROWS), whole.predict_proba(ROWS), rtol=1e-6)
    else:
        np.testing.assert_array_equal(grown.weights, average.weights)


def test_averages_merge_and_lose_classes() -> None:
    one, two = ({name: cells[part] for name, cells in table().items()} for part in (slice(0, 60), slice(60, 120)))
    both = {name: cells[:120] for name, cells in table().items()}
    parts = [credo.average(generative(), rows, by="evidence", target="y") for rows in (one, two)]
    whole = credo.average(generative(), both, by="evidence", target="y")
    for found in (parts[0] + parts[1], parts[0].merge(parts[1])):
        np.testing.assert_allclose(found.weights, whole.weights, rtol=1e-6)
        np.testing.assert_allclose(found.predict_proba(ROWS), whole.predict_proba(ROWS), rtol=1e-6)
    with pytest.raises(credo.EvidenceError, match="don't merge: their by differ"):
        parts[0] + credo.average(generative(), two, by="loo", target="y")
    three = {**both, "y": np.where(both["x"] > 2, "far", both["y"])}
    less = credo.average(generative(), three, by="evidence", target="y").without_class("far")
    assert less.classes == ("no", "yes")
    assert less.n == (three["y"] != "far").sum()


def test_any_predictor_of_classes_can_be_averaged() -> None:
    models = {"logistic": credo.LogisticRegression(), "tree": credo.DecisionTree(), "naive": credo.NaiveBayes()}
    with unheard():
        average = credo.average(models, ROWS, target="y")
        found = credo.choose(models | {"average": average}, ROWS, by="loo", target="y")
        lengths = credo.choose(models, ROWS, by="mdl", target="y")
        given = credo.choose([models["logistic"], models["tree"]], ROWS, by="evidence", target="y")
    assert average.names == ("logistic", "tree", "naive")
    assert found["average"].value <= found["naive"].value
    logistic = lengths["logistic"].model
    assert lengths["logistic"].details["L(h)"] == pytest.approx(logistic.n_parameters / 2 * np.log2(logistic.n))
    assert given.about == "p(y given the other columns)"
    message = refused(credo.average, [models["logistic"], models["naive"]], ROWS, "evidence", target="y")
    assert "of p(y given the other columns), and of p(columns a, b, x, y)" in message


@pytest.mark.parametrize("by", ["evidence", "loo"])
def test_it_has_the_other_verbs(by: str, tmp_path: Path) -> None:
    average = made(by)
    assert same(through(average, tmp_path / "m.credo"), average)
    row = {name: ROWS[name][:1] for name in ("a", "b", "x")}
    reasons = average.explain(row)
    assert reasons.prior + sum(reasons.weights.values()) == pytest.approx(reasons.log_odds)
    p = average.predict_proba(row)[0]
    assert reasons.log_odds == pytest.approx(abs(np.log(p[1] / p[0])))
    asked = credo.ask(average, f"P(y=yes | a={ROWS['a'][0]}, b={ROWS['b'][0]}, x={float(ROWS['x'][0])!r})")
    assert asked == pytest.approx(p[1])
    shifted = average.predict_proba(row, class_prior={"no": 0.01, "yes": 0.99})[0]
    assert shifted[1] > p[1]
    with credo.engines.using(credo.engines.Serial()):
        np.testing.assert_array_equal(average.predict_proba(ROWS), made(by).predict_proba(ROWS))
    assert repr(average).splitlines()[0].startswith(f"Average of {len(average.models)} models of 'y'")
    assert sum(name in repr(average) for name in average.names) == len(average.models)
    length = credo.description_length(average, ROWS)
    assert length.coded == "column 'y' given the others"
    unknown = {"a": [ROWS["a"][0], None], "b": [None, None], "x": [None, None]}
    assert average.predict_proba(unknown).shape == (2, 2)


def test_it_is_compared_with_its_models() -> None:
    average = made("loo")
    with unheard():
        found = credo.choose({"average": average, "naive": average.models[0]}, ROWS, by="loo")
    assert found.name == "average"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: credo.average([credo.NaiveBayes()], ROWS, target="y"), "at least two models"),
        (lambda: credo.average("ab"), "a list of models"),
        (lambda: credo.average(generative()), "has learned nothing yet"),
        (lambda: credo.average(generative(), ROWS, by="votes", target="y"), "'evidence', 'loo', 'folds'"),  # type: ignore[arg-type]
        (lambda: credo.average([credo.NaiveBayes(), credo.Mixture(components=2)], ROWS, target="y"), "doesn't predict"),
        (lambda: credo.average([m.fit(ROWS, target="y") for m in generative()], by="loo"), "needs the data"),
        (
            lambda: credo.average([credo.NaiveBayes().fit(ROWS, target="y"), credo.NaiveBayes().fit(ROWS, target="a")]),
            "they predict 'y' and 'a'",
        ),
        (
            lambda: credo.average([credo.NaiveBayes().fit(r, target="y") for r in (ROWS, table())]),
            "have learned 60 and 300 rows",
        ),
        (
            lambda: credo.average([credo.NaiveBayes(), credo.OneDependence()], ROWS, by="evidence", target="y"),
            "closed form",
        ),
        (
            lambda: credo.average(
                [credo.NaiveBayes(), credo.NaiveBayes(kinds={"x": "ignore"})], ROWS, by="evidence", target="y"
            ),
            "can't be compared: of .*use by='loo'",
        ),
        (lambda: made("loo").log_evidence(), "no evidence"),
    ],
)
def test_what_cannot_be_averaged_is_refused(wrong: Callable[[], Any], said: str) -> None:
    with unheard():
        message = refused(wrong)
    assert re.search(said, message), message
