"""Credible intervals under default priors cover as often as they claim: a group's own rows count only once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, t

import credo
from credo.core.membership import Hard
from credo.core.moments import Moments
from credo.core.statistics import Totals
from credo.errors import EvidenceError
from credo.families.priors import default

NUMBER, COUNT = {"x": "number"}, {"x": "count"}
DRAWS = 2000
LEAST = 0.942  # the coverage of 95% intervals where it is lowest: two groups of two rows, or rates of two groups


def noise(intervals: int) -> float:
    """Three standard errors of a coverage near 95%."""
    return 3 * float(np.sqrt(0.95 * 0.05 / intervals))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("x", [[19.9, 20.5], [1e9, 1e9 + 3, 1e9 + 4], [0.1, 0.2, 0.4, 0.1, -7.0], [1e-9, 5e-9] * 9])
def test_one_groups_mean_has_students_interval(x: list[float], grouped: bool) -> None:
    table = {"x": x, "g": ["a"] * len(x)} if grouped else {"x": x}
    belief: Any = credo.estimate(table, "x", by="g" if grouped else None, kinds=NUMBER)
    one = belief["a"] if grouped else belief
    for mass in (0.5, 0.95, 0.99):
        expected = t.interval(mass, len(x) - 1, np.mean(x), np.std(x, ddof=1) / np.sqrt(len(x)))
        np.testing.assert_allclose(one.interval(mass).mean, expected, rtol=1e-9)
        np.testing.assert_allclose(np.ravel(belief.interval(mass).mean), expected, rtol=1e-9)
    assert one.mean().mean == pytest.approx(np.mean(x))  # two rows leave a Cauchy distribution: its median
    assert not grouped or belief.table()["mean"][0].as_py() == pytest.approx(np.mean(x))


def coverage(x: np.ndarray, means: np.ndarray, mass: float = 0.95) -> float:
    """How often a group's mean lies in its interval. x: (draws, groups, rows)"""
    covered = []
    for rows, true in zip(x, means, strict=True):
        groups = np.repeat(np.arange(len(rows), dtype=np.int32), rows.shape[1])
        found = Moments.of(rows.reshape(-1, 1), Hard.of(groups, len(rows)))
        low, high = default(credo.NormalInverseGamma(0, 1, 1, 1), found).posterior(found).interval(mass).mean
        covered.append((low <= true) & (true <= high))
    return float(np.mean(covered))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 3, 20])
@pytest.mark.parametrize("rows", [2, 3, 5, 10, 30])
def test_intervals_of_means_cover(groups: int, rows: int) -> None:
    rng = np.random.default_rng(10 * groups + rows)
    for place, scale, apart in ((0.0, 1.0, 0.0), (20.0, 1e-3, 1e-3), (-1e6, 1e3, 3e3)):
        means = place + apart * rng.normal(size=(max(DRAWS // groups // 2, 200), groups))
        x = means[..., None] + scale * rng.normal(size=(*means.shape, rows))
        assert coverage(x, means) > LEAST - noise(means.size), (place, scale, apart)


def test_one_groups_rate_has_jeffreys_interval() -> None:
    for x in ([0], [1], [3, 0, 2], [7] * 12):
        found = credo.estimate({"x": x}, "x", kinds=COUNT).interval()
        np.testing.assert_allclose(found, gamma.interval(0.95, sum(x) + 0.5, scale=1 / len(x)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 3, 20])
def test_intervals_of_rates_cover(groups: int) -> None:
    """On average over rates: for one rate alone coverage jumps, since counts are whole."""
    rng = np.random.default_rng(groups)
    for rows in (2, 5):
        rates = np.exp(rng.uniform(np.log(0.2), np.log(20), (2 * DRAWS // groups, 1))) * np.ones(groups)
        events = rng.poisson(rows * rates).astype(float)
        covered = []
        for own, true in zip(events, rates, strict=True):
            cells = np.zeros((groups, rows))
            cells[:, 0] = own  # only their sum matters
            codes = np.repeat(np.arange(groups, dtype=np.int32), rows)
            found = Totals.of(cells.reshape(-1, 1), np.zeros(groups * rows), Hard.of(codes, groups))
            low, high = default(credo.GammaPoisson(1, 1), found).posterior(found).interval()
            covered.append((low <= true) & (true <= high))
        assert np.mean(covered) > LEAST - noise(rates.size), rows


def test_a_second_group_without_observations_changes_nothing() -> None:
    table = {"x": [19.9, 20.5, None], "g": ["a", "a", "b"]}
    beliefs = credo.estimate(table, "x", by="g", kinds=NUMBER)
    alone = credo.estimate({"x": [19.9, 20.5]}, "x", kinds=NUMBER)
    np.testing.assert_allclose(np.ravel(beliefs["a"].interval().mean), alone.interval().mean)
    assert np.isfinite(beliefs.interval().mean).all()  # the group without observations expects rows like the others
    new = beliefs.log_prob({"x": [20.0], "g": ["c"]})
    assert new[0] == pytest.approx(beliefs["b"].log_prob([20.0])[0])


def test_a_forgotten_group_leaves_students_interval() -> None:
    both = {"x": [19.9, 20.5, 3.0, 4.0], "g": ["a", "a", "b", "b"]}
    beliefs = credo.estimate(both, "x", by="g", kinds=NUMBER).forget({"x": [3.0, 4.0], "g": ["b", "b"]})
    alone = credo.estimate({"x": [19.9, 20.5]}, "x", kinds=NUMBER)
    np.testing.assert_allclose(beliefs["a"].interval().mean, alone.interval().mean)


def test_weights_of_one_row_in_all_tell_no_scale() -> None:
    belief = credo.estimate({"x": [1.0, 2.0], "w": [0.5, 0.5]}, "x", weight="w", kinds=NUMBER)
    with pytest.raises(EvidenceError, match="weights of the observations sum to 1, and must exceed 1"):
        belief.interval()


references = pytest.mark.parametrize(
    ("family", "numbers"), [(credo.NormalInverseGamma, (0, 0, -0.5, 0)), (credo.GammaPoisson, (0.5, 0))]
)


@references
def test_a_reference_prior_has_no_belief_of_its_own(family: Any, numbers: tuple[float, ...]) -> None:
    prior = family(*numbers)
    belief = prior.update([1, 2, 4])
    for question in (prior.mean, prior.mode, prior.interval, prior.predictive, belief.log_evidence):
        with pytest.raises(EvidenceError, match="is the reference prior, which is improper"):
            question()
    assert np.isfinite(belief.interval()).all()


@references
def test_a_belief_with_a_reference_prior_is_stored(family: Any, numbers: tuple[float, ...], tmp_path: Path) -> None:
    belief = family(*numbers).update([1, 2, 4])
    credo.save(belief, tmp_path / "b.credo")
    assert credo.load(tmp_path / "b.credo").posterior == belief.posterior
