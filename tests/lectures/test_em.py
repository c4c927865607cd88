"""EM for the means of k Gaussians with one known variance, as the lectures have it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo import engines
from credo.errors import CredoError
from tests.processes import Processes


def two_groups(seed: int = 0, n: int = 150) -> Any:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(-2, 1, n), rng.normal(3, 1, n)])


def lectures_step(x: Any, means: Any, sd: float) -> Any:
    """The two formulas, written down as they are on the slide."""
    weights = np.exp(-((x[:, None] - means) ** 2) / (2 * sd**2))
    z = weights / weights.sum(1, keepdims=True)
    return (z * x[:, None]).sum(0) / z.sum(0)


def test_each_step_is_the_lectures() -> None:
    x, sd = two_groups(), 1.3
    found = credo.em_means(x, k=3, sd=sd, start=[-1.0, 0.0, 2.5])
    assert len(found.history) > 5
    for before, after in zip(found.history, found.history[1:], strict=False):
        np.testing.assert_allclose(after.means, lectures_step(x, before.means, sd), rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.05, 20))
def test_the_likelihood_never_falls(seed: int, k: int, sd: float) -> None:
    x = two_groups(seed, n=30)
    history = credo.em_means(x, k=k, sd=sd, steps=50).history
    grown = np.diff([step.log_likelihood for step in history])
    assert (grown >= -1e-9 * abs(history[-1].log_likelihood)).all()


def test_the_log_likelihood_is_that_of_the_mixture() -> None:
    x = two_groups()
    found = credo.em_means(x, k=2, sd=0.7)
    densities = np.exp(-0.5 * ((x[:, None] - found.means) / 0.7) ** 2) / (0.7 * np.sqrt(2 * np.pi))
    assert found.log_likelihood == pytest.approx(np.log(densities.mean(1)).sum(), rel=1e-12)


def test_the_slope_is_0_at_the_end() -> None:
    """∂ log p/∂μⱼ = Σᵢ E[zᵢⱼ] (xᵢ - μⱼ)/σ²"""
    x = two_groups()
    found = credo.em_means(x, k=2, sd=1)
    assert found.converged
    slope = (found.responsibilities * (x[:, None] - found.means)).sum(0)
    np.testing.assert_allclose(slope, 0, atol=0.01)
    np.testing.assert_allclose(found.means, [-2, 3], atol=0.25)


def test_q_has_its_maximum_at_the_m_step() -> None:
    x = two_groups()
    start = credo.em_means(x, k=2, sd=1, start=[0.0, 1.0], steps=0)
    best = credo.em_means(x, k=2, sd=1, start=[0.0, 1.0], steps=1).means
    rng = np.random.default_rng(0)
    assert all(start.q(best) >= start.q(best + rng.normal(0, 0.05, 2)) for _ in range(50))


def test_q_and_the_entropy_are_the_log_likelihood() -> None:
    """log p(X | h) = Q(h | h) + H(h | h), H being the entropy of the responsibilities."""
    found = credo.em_means(two_groups(), k=2, sd=2)
    z = found.responsibilities
    entropy = -(z * np.log(z)).sum()
    assert found.q(found.means) + entropy == pytest.approx(found.log_likelihood, rel=1e-12)


def test_equal_starts_stay_together() -> None:
    x = two_groups()
    found = credo.em_means(x, k=2, sd=1, start=[0.5, 0.5])
    np.testing.assert_allclose(found.means, x.mean(), rtol=1e-12)


def test_a_mean_that_no_observation_belongs_to_stays() -> None:
    found = credo.em_means([0.0, 1.0], k=2, sd=0.01, start=[0.5, 1e6])
    assert found.means[1] == 1e6
    assert np.isfinite(found.log_likelihood)


def test_missing_observations_are_left_out() -> None:
    x = two_groups()
    with_holes = np.insert(x, [3, 40, 200], np.nan)
    assert credo.em_means(with_holes, sd=1).means.tolist() == credo.em_means(x, sd=1).means.tolist()


def test_any_table_is_read() -> None:
    x = two_groups()
    of_array = credo.em_means(x, sd=1)
    of_table = credo.em_means({"name": ["a"] * len(x), "height": x}, sd=1, column="height")
    assert of_table.history[-1].log_likelihood == of_array.history[-1].log_likelihood


@pytest.mark.slow
def test_any_engine_finds_the_same() -> None:
    here = credo.em_means(two_groups(), sd=1)
    with Processes() as engine, engines.using(engine):
        there = credo.em_means(two_groups(), sd=1)
    assert [step.means.tolist() for step in there.history] == [step.means.tolist() for step in here.history]


def test_steps_can_be_few() -> None:
    found = credo.em_means(two_groups(), sd=1, start=[0.0, 0.1], steps=2)
    assert len(found.history) == 3
    assert not found.converged
    assert "stopped after 2 steps" in repr(found)
    assert "converged after" in repr(credo.em_means(two_groups(), sd=1))


def test_the_steps_are_drawn() -> None:
    found = credo.em_means(two_groups(), k=2, sd=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density, steps, growth = found.plot().axes
    assert len(steps.lines) == 2
    assert list(map(float, growth.lines[0].get_ydata())) == [step.log_likelihood for step in found.history]  # type: ignore[arg-type]
    assert list(map(float, steps.lines[0].get_xdata())) == [step.means[0] for step in found.history]  # type: ignore[arg-type]
    assert len(density.lines) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": [], "sd": 1}, "empty"),
        ({"x": [np.nan], "sd": 1}, "empty"),
        ({"x": [1.0, np.inf], "sd": 1}, "finite"),
        ({"x": [1.0], "sd": 0}, "sd must be positive, but is 0"),
        ({"x": [1.0], "sd": np.nan}, "sd must be"),
        ({"x": [1.0], "sd": "one"}, "sd must be positive, but is 'one'"),
        ({"x": [1.0], "sd": [1.0, 2.0]}, "sd must be"),
        ({"x": [1.0, 2.0], "sd": 1e-200}, "sd=1e-200 is too small"),
        ({"x": [1.0, 2.0], "sd": 1, "start": [1e160, 2.0]}, "standard deviations apart"),
        ({"x": [1.0], "sd": 1, "k": True}, "k must be"),
        ({"x": [1.0], "sd": 1, "start": ["a", "b"]}, "start must be 2 means"),
        ({"x": [1.0], "sd": 1, "k": 0}, "k must be"),
        ({"x": [1.0], "sd": 1, "k": 2.5}, "k must be"),
        ({"x": [1.0], "sd": 1, "steps": -1}, "steps must be"),
        ({"x": [1.0], "sd": 1, "start": [1.0]}, "start must be 2 means"),
        ({"x": [1.0], "sd": 1, "start": [1.0, np.nan]}, "start must be 2 means"),
        ({"x": {"a": [1.0], "b": [2.0]}, "sd": 1}, "2 columns"),
        ({"x": {"a": [1.0], "b": [2.0]}, "sd": 1, "column": "c"}, "'c'"),
        ({"x": {"a": ["x", "y"]}, "sd": 1}, "'a'"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CredoError, match=message):
        credo.em_means(**arguments)


def test_q_wants_as_many_means() -> None:
    with pytest.raises(CredoError, match="2 means"):
        credo.em_means([1.0, 2.0], sd=1).q([1.0])
