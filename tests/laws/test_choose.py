"""credo.choose: figures are those of the models themselves, ties are ties, what can't be compared is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credo
from tests.hostile.refusals import refused
from tests.laws.classifiers import unheard
from tests.laws.test_description_length import table
from tests.lectures.test_concepts import SPACE, days

NETWORKS = {"star": "y -> a; y -> b", "full": "a -> b; a -> y; b -> y", "none": "a; b; y"}


def some() -> dict[str, Any]:
    return {"naive": credo.NaiveBayes(), "tied": credo.GaussianDiscriminant("tied"), "tan": credo.TreeAugmented()}


def chosen(*args: Any, **options: Any) -> Any:
    with unheard():
        return credo.choose(*args, **options)


def nets() -> tuple[dict[str, credo.Network], dict[str, Any]]:
    return {name: credo.Network(arrows) for name, arrows in NETWORKS.items()}, {k: table()[k] for k in "aby"}


def test_lengths_are_those_of_the_models() -> None:
    found = chosen(some(), table(), by="mdl", target="y")
    for line in found.ranked:
        assert line.value == credo.description_length(line.model, table()).total
        assert line.value == pytest.approx(line.details["L(h)"] + line.details["L(D|h)"])
        assert line.difference == pytest.approx(line.value - found.ranked[0].value)
    assert [line.value for line in found.ranked] == sorted(line.value for line in found.ranked)


def test_evidence_gives_the_posterior_of_models() -> None:
    models, rows = nets()
    found = chosen(models, rows, by="evidence")
    assert found.name == "full"
    logs = np.array([models[line.name].fit(rows).log_evidence() for line in found.ranked])
    np.testing.assert_allclose([-line.value for line in found.ranked], logs)
    np.testing.assert_allclose(
        [line.probability for line in found.ranked], np.exp(logs - np.logaddexp.reduce(logs)), atol=1e-12
    )
    naive = chosen([credo.NaiveBayes().fit(rows, target="y"), models["star"]], rows, by="evidence")
    assert naive.ranked[1].difference == pytest.approx(0, abs=1e-6)  # naive Bayes is the star network


def test_left_out_rows_are_compared_in_pairs() -> None:
    found = chosen(some(), table(), by="loo", target="y")
    best = found.ranked[0].model.leave_one_out(table())
    for line in found.ranked:
        scores = line.model.leave_one_out(table())
        assert line.value == pytest.approx(scores.log_loss)
        rows = np.arange(len(scores.truth))
        difference = best.log_probabilities[rows, best.truth] - scores.log_probabilities[rows, scores.truth]
        assert line.difference == pytest.approx(difference.mean(), abs=1e-12)
        error = difference.std(ddof=1) * np.sqrt(1 / len(rows) + 1 / (len(rows) - 1))  # chance of rows, and of training
        assert line.error == pytest.approx(error, abs=1e-12)
        assert line.tied == (line.difference <= 2 * line.error)
    same = chosen({"a": credo.NaiveBayes(), "b": credo.NaiveBayes()}, table(), target="y")
    assert all(line.tied for line in same.ranked)


def test_networks_and_folds() -> None:
    models, rows = nets()
    for by in ("loo", "folds", "mdl"):
        found = chosen(models, rows, by=by)
        assert [line.name for line in found.ranked] == ["full", "star", "none"]
    assert not found["none"].tied


def test_models_may_be_fitted_already_and_targets_arrays() -> None:
    rows = table()
    fitted = [model.fit(rows, target="y") for model in (credo.NaiveBayes(), credo.GaussianDiscriminant("tied"))]
    found = chosen(fitted, rows)
    assert {line.name for line in found.ranked} == {"NaiveBayes", "GaussianDiscriminant"}
    assert found.best in fitted
    labels = rows.pop("y")
    apart = chosen([credo.NaiveBayes(), credo.GaussianDiscriminant("tied")], rows, target=labels)
    assert [line.value for line in apart.ranked] == [line.value for line in found.ranked]


def test_beliefs_and_concepts() -> None:
    flips = [1] * 9 + [0]
    coins = chosen([credo.BetaBernoulli(50, 50), credo.BetaBernoulli(9, 1)], flips, by="evidence")
    assert coins.name == "BetaBernoulli 2"
    assert chosen([credo.BetaBernoulli(50, 50), credo.BetaBernoulli(9, 1)], flips, by="mdl").name == "BetaBernoulli 2"
    both = {"clean": credo.Concepts(SPACE), "noisy": credo.Concepts(SPACE, noise=0.1)}
    assert chosen(both, days(), by="mdl", target="enjoy").name == "clean"
    with unheard():
        mixed = chosen([credo.Concepts(SPACE), credo.NaiveBayes()], days(), by="mdl", target="enjoy")
    assert mixed.name == "Concepts"


def test_regressions_are_compared_with_their_like() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 80))
    rows = {"a": x[0], "b": x[1], "price": 2 * x[0] * x[1] + x[0] + rng.normal(size=80)}
    models = {"plain": credo.LinearRegression(), "crossed": credo.LinearRegression(interactions=[("a", "b")])}
    for by in ("mdl", "evidence", "loo", "folds"):
        found = chosen(models, rows, by=by, target="price")
        assert found.name == "crossed"
        assert "price" in found.about
    assert found.ranked[0].details["rmse"] < found.ranked[1].details["rmse"]


def test_it_is_shown_as_text_table_and_picture() -> None:
    for by, headers in (("mdl", "L\\(D\\|h\\)"), ("loo", "standard error"), ("evidence", "P\\(model\\)")):
        models = [credo.NaiveBayes(), credo.GaussianDiscriminant("tied")]
        found = chosen(models, table(), by=by, target="y")
        lines = repr(found).splitlines()
        assert len(lines) == 4
        assert found.name in lines[2]
        assert re.search(headers, lines[1])
        assert found._repr_html_().count("<tr>") == 3
        assert found.table().num_rows == 2
        assert [label.get_text() for label in found.plot().axes[0].get_yticklabels()][-1] == found.name
    hostile = chosen({"<b>x</b>": credo.NaiveBayes(), "y": credo.NaiveBayes()}, table(), target="y")
    assert "<b>" not in hostile._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: credo.choose([credo.NaiveBayes()], table(), target="y"), "at least two models"),
        (lambda: credo.choose(credo.NaiveBayes(), table(), target="y"), "a list of models"),  # type: ignore[arg-type]
        (lambda: credo.choose(some(), table(), by="aic", target="y"), "'mdl', 'evidence', 'loo', 'folds'"),  # type: ignore[arg-type]
        (lambda: credo.choose(some(), iter([table()]), target="y"), "not an iterator"),
        (lambda: credo.choose(some(), table()), "needs a target"),
        (lambda: credo.choose([credo.NaiveBayes(), credo.Network("a -> b")], table(), target="y"), "has no target"),
        (lambda: credo.choose(some(), table(), by="evidence", target="y"), "tan can't be compared: .*closed form"),
        (
            lambda: credo.choose([credo.Mixture(components=1)] * 2, {"x": table()["x"][:20]}, by="loo"),
            "no exact leave-one-out",
        ),
        (
            lambda: credo.choose(
                [credo.NaiveBayes(), credo.NaiveBayes(kinds={"x": credo.Number("binned")})],
                table(), "evidence", target="y",
            ),
            r"x, y\), the other p\(columns a, b, x \(binned\), y\)",
        ),
        (
            lambda: credo.choose(
                [credo.NaiveBayes().fit(table(), target="y"), credo.NaiveBayes()], table(), target="a"
            ),
            "was fitted to predict 'y', not 'a'",
        ),
        (
            lambda: credo.choose(
                [credo.NaiveBayes().fit(table(), target="y").update(table()), credo.NaiveBayes()],
                table(), "evidence", target="y",
            ),
            "has learned 600 rows, but the data has 300",
        ),
        (lambda: credo.choose([3, 4], table()), "learns from no data"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(wrong: Callable[[], Any], said: str) -> None:
    with unheard():
        message = refused(wrong)
    assert re.search(said, message), message
