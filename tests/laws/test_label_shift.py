"""Classes with other shares than among the rows that were learned: Bayes' rule, and EM for shares that aren't known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import credo
from credo.cli import main
from credo.errors import PriorError
from credo.models.label_shift import shifted_shares


def rows(seed: int, size: int, share: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.random(size) < share
    sky = np.where(rng.random(size) < 0.2, "fog", np.where(truth, "sun", "rain"))
    return {"x": rng.normal(1.5 * truth), "sky": sky.astype(object), "y": np.where(truth, "yes", "no")}


MODELS = [
    credo.NaiveBayes(),
    credo.NaiveBayes(estimate="mean", average=True),
    credo.GaussianDiscriminant("tied"),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_is_bayes_rule(model: Any) -> None:
    table, other = rows(0, 300, 0.5), {"no": 0.9, "yes": 0.1}
    learned = model.fit(table, "y")
    before = learned.predict_log_proba(table)
    shifted = before - learned.terms.log_prior + np.log([0.9, 0.1])
    shifted -= np.logaddexp.reduce(shifted, axis=1, keepdims=True)
    np.testing.assert_allclose(learned.predict_log_proba(table, class_prior=other), shifted, atol=1e-12)
    np.testing.assert_allclose(learned.predict_proba(table, class_prior=other), np.exp(shifted), atol=1e-12)
    names = np.array(["no", "yes"])[shifted.argmax(1)]
    assert learned.predict(table, class_prior=other).tolist() == names.tolist()
    own = dict(zip(learned.classes, np.exp(learned.terms.log_prior), strict=True))
    np.testing.assert_allclose(learned.predict_log_proba(table, class_prior=own), before, atol=1e-12)


def test_the_prior_that_holds_is_better() -> None:
    learned, new = credo.learn(rows(1, 600, 0.5), target="y"), rows(2, 2000, 0.1)
    before = learned.scores(new).log_loss
    given = learned.with_class_prior({"no": 0.9, "yes": 0.1}).scores(new).log_loss
    adapted = learned.adapt({"x": new["x"], "sky": new["sky"]})
    assert given < before - 0.05
    assert adapted.scores(new).log_loss == pytest.approx(given, abs=0.01)
    assert adapted.class_prior is not None
    assert adapted.class_prior["yes"] == pytest.approx(0.1, abs=0.03)
    assert adapted.evidence is learned.evidence


def test_shares_are_where_the_likelihood_is_greatest() -> None:
    rng = np.random.default_rng(3)
    log_likelihood, prior = rng.normal(size=(200, 3)), np.log([0.2, 0.3, 0.5])
    log_probabilities = log_likelihood + prior
    log_probabilities -= np.logaddexp.reduce(log_probabilities, axis=1, keepdims=True)
    shares = shifted_shares(log_probabilities, prior, 0.0)

    def fit(own: Any) -> float:
        return float(np.logaddexp.reduce(log_likelihood + np.log(own), axis=1).sum())

    for _ in range(50):
        other = rng.dirichlet(100 * shares + 1e-3)
        assert fit(shares) >= fit(other) - 1e-6


def test_what_is_no_prior_is_refused() -> None:
    learned = credo.NaiveBayes().fit(rows(4, 40, 0.5), "y")
    for wrong in ({"no": 0.5}, {"no": 0.5, "yes": 0.6}, {"no": -0.5, "yes": 1.5}):
        with pytest.raises(PriorError, match="class_prior"):
            learned.predict_proba(rows(4, 3, 0.5), class_prior=wrong)


def test_the_command(tmp_path: Path) -> None:
    from pyarrow import csv

    table, model, out = tmp_path / "t.csv", tmp_path / "m.credo", tmp_path / "out.csv"
    columns = rows(5, 60, 0.5)
    csv.write_csv(pa.table({name: cells.tolist() for name, cells in columns.items()}), table)
    learned = credo.NaiveBayes().fit(table, "y")
    credo.save(learned, model)

    def run(*more: str) -> Any:
        return CliRunner().invoke(main, ["predict", str(model), str(table), "-o", str(out), "--proba", *more])

    assert run("--class-prior", "no=0.9,yes=0.1").exit_code == 0
    found = csv.read_csv(out)
    wanted = learned.predict_proba(table, class_prior={"no": 0.9, "yes": 0.1})
    np.testing.assert_allclose(found["P(yes)"].to_numpy(), wanted[:, 1], rtol=1e-6)
    assert "no class" in run("--class-prior", "nay=0.9,yes=0.1").stderr
    assert "must be probabilities" in run("--class-prior", "no=x,yes=0.1").stderr
    assert "sum to 1" in run("--class-prior", "no=0.9,yes=0.2").stderr
