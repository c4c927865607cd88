"""Default priors know the unit of numbers only from numbers that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import EvidenceError

NUMBER = {"x": "number"}


def estimated(x: list[float], by: list[str] | None = None, prior: Any = None) -> Any:
    table = {"x": x} if by is None else {"x": x, "g": by}
    return credo.estimate(table, "x", by="g" if by else None, kinds=NUMBER, prior=prior)


@pytest.mark.parametrize("x", [[19.9], [0.0], [5.0, 5.0], [0.0] * 4, [1e14 + 0.1] * 7, [0.1] * 1000, [-1e-200]])
@pytest.mark.parametrize("grouped", [False, True])
def test_numbers_that_do_not_differ_leave_the_scale_unknown(x: list[float], grouped: bool) -> None:
    belief = estimated(x, [f"g{i % 2}" for i in range(len(x))] if grouped else None)
    asked = [belief.mean, belief.interval, belief.variance, belief.mode, belief.log_evidence]
    asked += [belief.table] if grouped else [belief.predictive, belief.marginal]
    for question in asked:
        with pytest.raises(EvidenceError, match="the scale is unknown"):
            question()
    assert "the scale is unknown" in repr(belief)
    assert "the scale is unknown" in belief._repr_html_()
    assert belief.n == len(x)
    assert np.allclose(belief.maximum_likelihood().variance, 0)


@pytest.mark.parametrize("size", [1e-160, 1e-300])
def test_numbers_whose_squares_are_lost_are_said_to_be(size: float) -> None:
    """As those beyond 1e150 are refused, whose squares are infinite."""
    with pytest.raises(EvidenceError, match="underflow, so they need another unit"):
        estimated([size, 2 * size, 3 * size]).interval()
    x = np.random.default_rng(0).normal(size=(30, 2)).sum(1)
    for table in ({"x": size * x, "y": x + 1}, {"x": x, "y": size * x}):
        model = credo.LinearRegression().fit(table, target="y")
        with pytest.raises(credo.DataError, match="so small that their squares can't be told from 0"):
            model.predict(table)


def test_a_weight_is_no_second_number() -> None:
    belief = credo.estimate({"x": [19.9], "w": [40.0]}, "x", weight="w", kinds=NUMBER)
    with pytest.raises(EvidenceError, match=r"every observation is 19\.9"):
        belief.interval()


def test_a_belief_of_one_number_goes_on_learning() -> None:
    one = estimated([19.9])
    both = one.update([20.5])
    assert both.posterior == estimated([19.9, 20.5]).posterior
    assert "the scale is unknown" in repr(both.forget([20.5]))
    given = estimated([19.9], prior=credo.NormalInverseGamma(20, 1, 1, 1))
    assert given.interval().mean[1] - given.interval().mean[0] > 1


@pytest.mark.parametrize("prior", ["default", "empirical"])
@pytest.mark.parametrize("unit", [1e-12, 1e-3, 60.0, 1e9])
def test_a_change_of_units_changes_nothing_but_units(prior: str, unit: float) -> None:
    rng = np.random.default_rng(3)
    x, groups = rng.normal(3, 2, 40), [*rng.choice(["a", "b", "c"], 39).tolist(), "alone"]
    one, other = (estimated((x * u).tolist(), groups, prior) for u in (1.0, unit))
    near = 1e-9 if prior == "default" else 1e-3  # a search ends near the optimum
    for mine, its, power in zip(one.interval(), other.interval(), (1, 2), strict=True):
        np.testing.assert_allclose(np.array(mine) * unit**power, its, rtol=near)
    wide = np.subtract(*other.interval().mean[::-1])
    assert (wide > 0.1 * unit).all()  # a group with one row isn't certain


def test_counts_have_no_unit() -> None:
    for x in ([0], [7], [3, 3]):
        low, high = credo.estimate({"x": x}, "x", kinds={"x": "count"}).interval()
        assert high - low > 1


def test_an_empirical_prior_needs_numbers_that_differ_within_a_group() -> None:
    for x, groups in (([1.0, 2.0, 3.0], ["a", "b", "c"]), ([1.0, 1.0, 2.0, 2.0], ["a", "a", "b", "b"])):
        with pytest.raises(EvidenceError, match="no group has two different numbers"):
            estimated(x, groups, "empirical").interval()
