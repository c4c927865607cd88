"""Mean and scatter of numbers far from 0: as exact arithmetic has them, however the rows came and went."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.labels import Label
from credo.core.membership import Hard
from credo.core.moments import CrossMoments, Moments

KINDS: list[Any] = [Moments, CrossMoments]
kinds = pytest.mark.parametrize("kind", KINDS)
SIZES = (1.0, 1e6, 1e9, 1e12, 1e14)


def exact_scatter(x: np.ndarray) -> float:
    cells = [Fraction(value) for value in x.tolist()]
    return float(sum(value * value for value in cells) - sum(cells) ** 2 / len(cells))


def near(mean: float) -> float:
    """Sums of squares have 106 bits; n rows of the mean take 2 log₂ mean of them."""
    return max(1e-12, 2.0**-103 * mean**2)


def scatters(statistics: Any) -> np.ndarray:
    found = np.atleast_1d(statistics.scatter)
    return np.diagonal(found, axis1=-2, axis2=-1) if found.ndim == 3 else found


def of(kind: Any, x: np.ndarray, groups: np.ndarray | None = None) -> Any:
    return kind.of(x[:, None], Hard.whole(len(x)) if groups is None else Hard.of(groups, int(groups.max()) + 1))


@kinds
@pytest.mark.parametrize("mean", SIZES)
@pytest.mark.parametrize("rows", [5, 9, 3000])
def test_numbers_far_from_0_keep_their_variance(kind: Any, mean: float, rows: int) -> None:
    x = mean + np.random.default_rng(0).normal(size=rows)
    np.testing.assert_allclose(scatters(of(kind, x))[0, 0], exact_scatter(x), rtol=near(mean))


def test_the_issues_column() -> None:
    x = 1e14 + np.array([-1.5, -0.5, 0.5, 1.5])
    belief = credo.estimate({"x": x}, "x", kinds={"x": "number"})
    assert belief.maximum_likelihood().variance == pytest.approx(1.25, rel=1e-3)


@kinds
@pytest.mark.parametrize("mean", SIZES)
def test_groups_far_apart(kind: Any, mean: float) -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 3, 600).astype(np.int32)
    x = np.array([mean, -3.0, mean * 1e-3])[groups] + rng.normal(size=600)
    found = scatters(of(kind, x, groups))
    for k, centre in enumerate((mean, 3.0, mean * 1e-3)):
        np.testing.assert_allclose(found[k, 0], exact_scatter(x[groups == k]), rtol=near(centre))


@kinds
@pytest.mark.parametrize("mean", SIZES)
def test_parts_and_what_is_forgotten(kind: Any, mean: float) -> None:
    rng = np.random.default_rng(2)
    x = mean + rng.normal(size=500)
    whole = of(kind, x[:100])
    for start in range(100, 500, 50):
        whole = whole + of(kind, x[start : start + 50])
    np.testing.assert_allclose(scatters(whole)[0, 0], exact_scatter(x), rtol=8 * near(mean))
    for start in range(100, 500, 50):
        whole = whole.without(of(kind, x[start : start + 50]))
        assert whole is not None
    np.testing.assert_allclose(scatters(whole)[0, 0], exact_scatter(x[:100]), rtol=40 * near(mean))


@pytest.mark.parametrize("value", [0.1, 3.7, 1e12 + 0.1, 1e14 + 0.1, -1e-3, 1e100])
def test_numbers_that_are_alike_have_no_variance(value: float) -> None:
    x = np.full(20_000, value)
    parts = [of(Moments, x), of(Moments, x[:50]), of(Moments, x[:3])]
    whole = parts[0] + parts[1] + parts[2]
    for part in (*parts, whole, whole.without(parts[1]), whole * 0.3):
        assert scatters(part)[0, 0] == 0


def test_rows_one_by_one_are_as_exact() -> None:
    rng = np.random.default_rng(3)
    start = {"alike": [0.1, 0.1], "far": [1e12, 1e12 + 1], "y": ["a", "b"]}
    model = credo.NaiveBayes(kinds={"alike": "number", "far": "number"}).fit(start, target="y")
    far = 1e12 + rng.normal(size=4000)
    live = model.live()
    for value in far.tolist():
        live.observe({"alike": 0.1, "far": value, "y": "a"})
    evidence = live.freeze().evidence
    assert evidence is not None
    moments = evidence[Label("numbers")]
    assert moments.scatter[0, 0] == 0
    np.testing.assert_allclose(moments.scatter[0, 1], exact_scatter(np.append(far, 1e12)), rtol=1e-6)
