"""Folds that are tuned in lockstep find what each finds alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import credo
from credo.core.learning import Weights
from credo.data import source
from credo.selection import nested_validation
from credo.selection.candidate_forms import with_candidate_forms, with_joint_forms
from credo.selection.fold_requests import BayesFactorRequest, ScoreRequest
from credo.selection.lockstep import Request, Run, run_alone, run_in_lockstep
from credo.selection.sample import drawn, encoded
from credo.selection.terms import trained


@dataclass(frozen=True)
class Square(Request):
    of: int
    asked_together: ClassVar[list[int]] = []

    @classmethod
    def answers(cls, asked: Sequence[Self]) -> list[int]:
        cls.asked_together.append(len(asked))
        return [each.of**2 for each in asked]


@dataclass(frozen=True)
class Half(Request):
    of: int
    turn = 1

    @classmethod
    def answers(cls, asked: Sequence[Self]) -> list[int]:
        return [each.of // 2 for each in asked]


def halved(number: int) -> Run[list[int]]:
    """Some take more steps than others."""
    found = []
    while number > 1:
        number = yield Half(number)
        found.append(number)
    square = yield Square(number + 3)
    return [*found, square]


def test_runs_return_what_they_return_alone() -> None:
    numbers = [1, 9, 2, 40]
    assert run_in_lockstep([halved(number) for number in numbers]) == [run_alone(halved(number)) for number in numbers]


def test_a_run_may_ask_for_nothing() -> None:
    assert run_in_lockstep([halved(1)]) == [[16]]
    assert run_in_lockstep([]) == []


def table(rows: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    own = rng.integers(0, 3, rows)
    x = rng.normal(own, 1.5, (3, rows))
    x[:, rng.random(rows) < 0.1] = np.nan
    columns: dict[str, Any] = {f"x{j}": column for j, column in enumerate(x)}
    columns["many equal"] = rng.poisson(own + 1.0).astype(float)
    columns["colour"] = [None if i % 11 == 0 else "rgb"[(k + i % 2) % 3] for i, k in enumerate(own)]
    columns["noise"] = [f"v{v}" for v in rng.integers(0, 5, rows)]
    return {**columns, "y": [f"c{k}" for k in own]}


def test_learning_in_step_is_learning_fold_by_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table()
    one = credo.learn(data, "y")
    monkeypatch.setattr(nested_validation, "LOCKSTEP_SCORES", 0)
    other = credo.learn(data, "y")
    np.testing.assert_allclose(one.predict_proba(data), other.predict_proba(data), rtol=1e-6)
    assert one.report.scores.log_loss == pytest.approx(other.report.scores.log_loss, rel=1e-6)
    assert one.tuning.forms == other.tuning.forms


@pytest.mark.parametrize("left_out", [True, False])
@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_scores_of_several_folds_are_those_of_each(left_out: bool, smoothing: float) -> None:
    data = table()
    model: Any = credo.NaiveBayes().fit(data, "y")
    model = with_joint_forms(with_candidate_forms(model, source(data), None), source(data), None)
    sample = encoded(model, drawn(model, source(data), Weights(), 10))
    learned, fold = trained(model, sample), sample.folds(4, seed=0)
    settings = model.replaced(smoothing=smoothing).settings
    asked = []
    for k in range(4):
        forms = {name: views if k else views[:1] for name, views in model.choices.items()}
        part = sample.take(fold != k if left_out else fold == k)
        asked.append(ScoreRequest(learned.without(sample, fold == k), part, forms, settings, left_out))
    for one, each in zip(ScoreRequest.answers(asked), asked, strict=True):
        expected = each.alone()
        assert one.terms == expected.terms
        np.testing.assert_allclose(one.log_likelihood, expected.log_likelihood, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(one.log_prior, expected.log_prior)
    factors = [BayesFactorRequest(each.trained, each.forms, settings) for each in asked]
    for found, factor in zip(BayesFactorRequest.answers(factors), factors, strict=True):
        assert found == pytest.approx(factor.trained.log_bayes_factors(factor.forms, settings), rel=1e-9, abs=1e-9)
