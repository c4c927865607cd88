"""Rounded numbers in mixtures: how finely columns are recorded, and that no component is narrower than that."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import credo
from credo.blocks.block import Block, Settings
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.blocks.numbers.spherical import Spherical
from credo.core.em import Expected, em
from credo.core.evidence import Evidence
from credo.core.membership import Soft
from credo.data import Batch
from credo.models.conditional import Conditional
from credo.models.latent.columns import at_mode
from credo.models.latent.resolution import Recorded, lattice_step
from credo.numerics.exact import Array
from tests.laws.test_conditional import Mixture as Summarising

COLUMNS = ("x", "y")
LEVELS = pa.array("ab")
BLOCKS = (Numbers(COLUMNS), Spherical(COLUMNS), Joint(COLUMNS, "full"), Joint(COLUMNS, "tied"))
CASES: tuple[tuple[str, float], ...] = (
    ("ages", 1.0), ("tenths", 0.1), ("fives", 5.0), ("drawn", 0.0), ("one far away", 0.0),
)  # fmt: skip


def column(case: str, rows: int = 400) -> Array:
    x = np.random.default_rng(0).normal(40, 12, rows)
    rounded = {"ages": np.round(x), "tenths": np.round(x / 10, 1), "fives": np.round(x / 5) * 5, "drawn": x}
    rounded["one far away"] = np.append(x[1:], -1e9)  # beside which all others seem to lie in one place
    return np.asarray(rounded[case])


@pytest.mark.parametrize(("case", "step"), CASES)
def test_the_resolution_of_a_column(case: str, step: float) -> None:
    x = column(case)
    assert Recorded.of(x).resolution == pytest.approx(step, rel=1e-9)
    assert Recorded.of(np.repeat(x, 3)).resolution == Recorded.of(x).resolution
    assert Recorded.of(2.54 * x - 7).resolution == pytest.approx(2.54 * step, rel=1e-9)
    for cut in (1, 5, 200):
        parts = Recorded.of(x[:cut]) + Recorded.of(np.append(x[cut:], np.nan))
        assert parts.resolution == pytest.approx(step, rel=1e-9)
        assert (parts.known, parts.missing, parts.ends) == (400, 1, (x.min(), x.max()))


def test_few_numbers_may_lie_on_a_lattice_by_chance() -> None:
    assert Recorded.of(np.array([1.3, 2.7])).resolution == 0.0
    assert Recorded.of(np.array([1.0, 2.0, 4.0])).resolution == 0.0
    assert Recorded.of(np.full(30, 7.0)).resolution == 0.0
    assert Recorded.of(np.full(3, np.nan)).resolution == 0.0
    assert lattice_step(np.empty(0)) == np.inf


class Mixture(Summarising):
    """By expected statistics."""

    def evidence(self, batch: Batch, member: Any) -> Evidence:
        return self.conditional.expected(batch, member, self.levels)

    def expect(self, batch: Batch, /) -> Expected:
        weights = self.conditional.weights + 1
        log_shares = np.log(weights / weights.sum())
        evidence, log_prob = self.conditional.expected_hidden(batch, log_shares, np.ones(batch.rows), self.levels)
        return evidence, float(log_prob.sum())


def heaped(rows: int = 300) -> Batch:
    """Half of the rows are equal."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal([[40.0, 20.0]], [[9.0, 6.0]], (rows, 2)))
    x[: rows // 2] = 40.0, 20.0
    return Batch(0, rows, {}, x, COLUMNS)


@pytest.mark.parametrize("estimate", ["map", "ml"])
@pytest.mark.parametrize("block", BLOCKS)
def test_em_climbs_and_no_component_is_narrower_than_the_rounding(block: Any, estimate: Literal["map", "ml"]) -> None:
    """em itself refuses an objective that falls. Without the rounding, a component of equal rows has no variance."""
    batch, settings = heaped(), at_mode(Settings(estimate=estimate, strength=0.01))
    rounded: Block = block.rounded({"x": 1.0, "y": 1.0})
    model = Mixture(Conditional((rounded,), settings, "group"), LEVELS)
    first = np.linspace(1.0, 0.0, batch.rows)[:, None]
    start = model.with_evidence(model.evidence(batch, Soft(np.hstack([0.9 * first + 0.05, 0.95 - 0.9 * first]))))
    fitted = em(start, lambda: [batch], steps=200, tolerance=0.0)
    deviations = [line.estimates for line in fitted.model.conditional.describe() if line.name == "sd"]
    assert np.min(deviations) >= 0.999 * np.sqrt(1 / 12)
    if estimate == "ml" and isinstance(block, Numbers):
        assert np.min(deviations) == pytest.approx(np.sqrt(1 / 12), rel=0.05)  # rows beside them belong to it, too


@pytest.mark.parametrize("estimate", ["map", "ml"])
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_rounded_numbers_that_covary_where_cells_are_missing(covariance: Any, estimate: Literal["map", "ml"]) -> None:
    """em refuses an objective that falls; the variance of a missing cell follows from that of the known one."""
    whole = heaped().block
    assert whole is not None
    holes = np.random.default_rng(2).random(whole.shape) < [[0.3, 0.1]]
    batch = Batch(0, len(whole), {}, np.where(holes, np.nan, whole), COLUMNS)
    settings = at_mode(Settings(estimate=estimate, strength=0.01))
    rounded = Joint(COLUMNS, covariance).rounded({"x": 1.0, "y": 1.0})
    model = Mixture(Conditional((rounded,), settings, "group"), LEVELS)
    first = np.linspace(1.0, 0.0, batch.rows)[:, None]
    start = model.with_evidence(model.evidence(batch, Soft(np.hstack([0.9 * first + 0.05, 0.95 - 0.9 * first]))))
    fitted = em(start, lambda: [batch], steps=100, tolerance=0.0)
    deviations = [line.estimates for line in fitted.model.conditional.describe() if line.name == "sd"]
    assert np.min(deviations) >= (0.999 if estimate == "ml" else 0.98) * np.sqrt(1 / 12)  # the mode is a little below
    if (covariance, estimate) == ("full", "ml"):
        assert np.min(deviations) == pytest.approx(np.sqrt(1 / 12), rel=1e-6)  # of the rows that are equal


@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0, 5.0])
def test_the_density_is_a_bound_of_the_probability_of_the_interval(spread: float) -> None:
    """log N(x) - δ²/24σ² ≤ log P(x - δ/2 < y < x + δ/2)/δ, and close to it where δ is small."""
    x = np.arange(-6.0, 7.0)
    bound = norm.logpdf(x, 0.3, spread) - 1 / (24 * spread**2)
    with np.errstate(divide="ignore"):
        mass = np.log(norm.cdf(x + 0.5, 0.3, spread) - norm.cdf(x - 0.5, 0.3, spread))
    inside = np.isfinite(mass)
    assert (bound[inside] <= mass[inside] + 1e-6 * np.abs(mass[inside])).all()
    if spread >= 5:
        np.testing.assert_allclose(bound, mass, atol=0.01)


def test_one_rounded_gaussian_is_one_component() -> None:
    """Numbers of some twenty values each: without their rounding, nine components were more probable."""
    rng = np.random.default_rng(0)
    table = {"x": np.round(rng.normal(40, 2.5, 1000)), "y": np.round(rng.normal(0, 2.5, 1000))}
    assert len(credo.Mixture("auto", covariance="full", most_components=12).fit(table).names) == 1
