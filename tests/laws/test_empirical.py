"""The empirical prior: where the evidence of all groups is highest, between 1/n and n rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo


def clicks(pairs: list[tuple[float, float]], prior: Any = "empirical") -> Any:
    rows = {
        "ad": [f"ad{i}" for i, _ in enumerate(pairs) for _ in range(2)],
        "clicked": ["yes", "no"] * len(pairs),
        "times": [float(n) for pair in pairs for n in pair],
    }
    return credo.estimate(rows, "clicked", by="ad", prior=prior, weight="times")


@pytest.mark.parametrize("scale", [1e-300, 1e-13, 1e-3])
def test_weights_of_next_to_nothing(scale: float) -> None:
    found = clicks([(scale, 2 * scale), (3 * scale, scale)])
    assert 0 < float(found.prior.a) <= 1
    assert (np.subtract(*found.interval()[::-1]) > 0.5).all()


def test_groups_that_are_alike_are_believed_as_all_rows_together() -> None:
    """The optimum is infinite: the common share is known from 400 rows, no better."""
    found = clicks([(60, 40)] * 4)
    assert float(found.prior.a + found.prior.b) == pytest.approx(400)
    pooled = credo.BetaBernoulli(1, 1).update({1: 240, 0: 160})
    width = np.subtract(*pooled.interval()[::-1])
    ratio = np.subtract(*found.interval()[::-1]) / width
    assert ((ratio > 0.85) & (ratio < 1.0)).all()


def test_groups_of_one_kind_each_leave_a_doubt() -> None:
    found = clicks([(7, 0), (3, 0), (0, 5)])
    assert float(found.prior.a + found.prior.b) == pytest.approx(1 / 15)
    assert 0.99 < found.mean()[1] < 0.999


def test_an_optimum_in_between_is_found() -> None:
    found = clicks([(20, 80), (35, 65), (50, 50), (42, 58), (2, 0)])
    best = found.log_evidence()
    a, b = float(found.prior.a), float(found.prior.b)
    for factor in (0.9, 1.1):
        for prior in (credo.BetaBernoulli(a * factor, b), credo.BetaBernoulli(a, b * factor)):
            others = clicks([(20, 80), (35, 65), (50, 50), (42, 58), (2, 0)], prior)
            assert others.log_evidence() < best


def test_the_dirichlet_slope_leads_to_the_optimum() -> None:
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([2, 1, 0.5, 4], 30)
    values = [(f"g{k}", "abcd"[v]) for k, p in enumerate(shares) for v in rng.choice(4, rng.integers(1, 40), p=p)]
    table = {"g": [g for g, _ in values], "v": [v for _, v in values]}
    found = credo.estimate(table, "v", by="g", prior="empirical")
    prior: Any = found.prior
    best, alpha = found.log_evidence(), prior.concentration
    assert alpha.sum() == pytest.approx(7.5, rel=0.5)
    for j in range(4):
        for factor in (0.95, 1.05):
            moved = alpha.copy()
            moved[j] *= factor
            prior = credo.DirichletCategorical(dict(zip("abcd", moved.tolist(), strict=True)))
            assert credo.estimate(table, "v", by="g", prior=prior).log_evidence() < best
