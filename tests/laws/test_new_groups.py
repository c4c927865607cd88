"""What a belief says of a row is what the row adds to the evidence, in a group that is known or new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.estimation.beliefs import Beliefs
from tests.laws.cases import CASES, Case

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def table(x: Any, group: list[str]) -> dict[str, Any]:
    columns = {"x": x} if x.ndim == 1 else {f"x{j}": x[:, j] for j in range(x.shape[1])}
    return {name: list(values.tolist()) for name, values in columns.items()} | {"g": group}


def columns_of(x: Any) -> tuple[str, ...]:
    return ("x",) if x.ndim == 1 else tuple(f"x{j}" for j in range(x.shape[1]))


@cases
def test_log_prob_is_what_a_row_adds_to_the_evidence(case: Case) -> None:
    rng = np.random.default_rng(12)
    x = case.draw(rng, 33)
    groups = [*rng.choice(["a", "b", "c"], 30).tolist(), "a", "c", "new"]
    prior = case.prior
    if isinstance(prior, credo.DirichletCategorical):
        prior = credo.DirichletCategorical(dict(zip(range(3), prior.concentration.tolist(), strict=True)))
    before = Beliefs(columns_of(x), "g", prior).update(table(x[:30], groups[:30]))
    rows = table(x[30:], groups[30:])
    for i, said in enumerate(before.log_prob(rows)):
        after = before.update({name: values[i : i + 1] for name, values in rows.items()})
        assert said == pytest.approx(after.log_evidence() - before.log_evidence(), rel=1e-9), groups[30 + i]


def test_the_end_of_another_group_is_none_of_a_new_one() -> None:
    """log s/((s + 1) m) of the prior Pareto(m = 1, s = 1)"""
    ends = credo.estimate({"g": ["a"], "x": [90.0]}, "x", by="g", prior=credo.ParetoUniform(1, 1))
    assert ends.log_prob({"g": ["b"], "x": [0.5]})[0] == pytest.approx(np.log(1 / 2))
