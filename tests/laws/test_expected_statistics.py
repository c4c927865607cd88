"""What EM expects of a batch: with missing cells filled in, of many rows by kernels, of few by NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pytest

from credo.blocks import capabilities, joint_codes
from credo.blocks.block import Block, Settings
from credo.blocks.categories import Categories
from credo.blocks.numbers import completed_rows, gaussian
from credo.blocks.numbers.gaussian import COMPLETED, Joint
from credo.blocks.numbers.gaussian_likelihood import JointLikelihood
from credo.blocks.numbers.independent import Numbers
from credo.blocks.numbers.patterns import patterns, runs_of
from credo.blocks.numbers.spherical import Spherical
from credo.core import soft_sums
from credo.core.em import Expected, em
from credo.core.evidence import Evidence
from credo.core.membership import Hard, Soft
from credo.core.moments import CrossMoments, Moments
from credo.data import Batch
from credo.models.conditional import Conditional
from tests.laws.test_conditional import LIKELIHOODS, SETTINGS, halves
from tests.laws.test_conditional import Mixture as Summarising
from tests.laws.test_soft_membership import check_same
from tests.laws.test_soft_membership import drawn as cells

COLUMNS = ("x", "y", "z", "w", "v")
LEVELS = pa.array("abc")
Covariance = Literal["full", "tied"]
COVARIANCES: tuple[Covariance, ...] = ("full", "tied")


@dataclass(frozen=True, eq=False)
class Mixture(Summarising):
    """The same, by expected statistics."""

    def evidence(self, batch: Batch, member: Any) -> Evidence:
        return self.conditional.expected(batch, member.soft() if isinstance(member, Hard) else member, self.levels)


def numbers(rows: int, missing: float, seed: int, columns: int = len(COLUMNS)) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns)) + 3 * rng.integers(0, 3, (rows, 1))
    x[:, 0] += 1e6
    return np.where(rng.random(x.shape) < missing, np.nan, x)


def shares(rows: int, seed: int) -> Soft:
    return Soft(np.random.default_rng(seed).dirichlet(np.ones(3), rows))


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for few rows."""
    for module in (soft_sums, completed_rows, gaussian):
        monkeypatch.setattr(module, "FEW_SOFT_SUMS", 0)


@pytest.mark.parametrize("rows", [0, 1, 127, 128, 400])
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_kernels_sum_as_numpy_does(rows: int, missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x, member = numbers(rows, missing, 1), shares(rows, 2)
    whole = np.where(np.isnan(x), 1.5, x)
    found = []
    for small in (2**30, 0):
        monkeypatch.setattr(soft_sums, "FEW_SOFT_SUMS", small)
        found.append((Moments.of(x, member), CrossMoments.of(whole, member)))
    for one, other in zip(*found, strict=True):
        check_same(one, other)


def test_sums_of_a_tight_group_beside_one_far_away_keep_their_digits() -> None:
    """About the mean of all rows, a variance of 1e-6 beside a distance of 1e6 would be lost."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1e-3, (2000, 2)) + 1e6 * np.repeat([0, 1], 1000)[:, None]
    member = Hard.of(np.repeat([0, 1], 1000), 2)
    order = rng.permutation(2000)
    for of in (Moments.of, CrossMoments.of):
        hard, soft = of(x[order], member.take(order)), of(x[order], member.take(order).soft())
        np.testing.assert_allclose(soft.scatter, hard.scatter, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("columns", [3, 70])
def test_runs_are_rows_that_miss_the_same_cells(columns: int) -> None:
    x = numbers(300, 0.02 if columns > 10 else 0.3, 4, columns)
    order, ends = runs_of(x)
    absent = np.isnan(x)
    assert sorted(order.tolist()) == list(range(300))
    runs = np.split(order, ends[:-1])
    assert all((absent[rows] == absent[rows[0]]).all() for rows in runs)
    assert len(runs) == len(np.unique(absent, axis=0))
    assert sum(len(rows) for _, rows in patterns(x)) == 300


def learned(covariance: Covariance, settings: Settings, seed: int = 5) -> JointLikelihood:
    x = numbers(300, 0.2, seed)
    conditional = Conditional((Joint(COLUMNS, covariance),), settings, "group")
    batch = Batch(0, 300, {}, x, COLUMNS)
    (likelihood,) = conditional.with_evidence(conditional.expected(batch, shares(300, 6), LEVELS)).likelihoods
    assert isinstance(likelihood, JointLikelihood)
    return likelihood


@pytest.mark.slow
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("estimate", ["map", "ml", "mean"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_kernels_give_the_log_densities_of_each_pattern(
    covariance: Covariance, estimate: Any, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    likelihood = learned(covariance, replace(SETTINGS, estimate=estimate))
    x = numbers(500, missing, 7)
    x[3] = np.nan
    found = []
    for small in (2**30, 0):
        monkeypatch.setattr(gaussian, "FEW_SOFT_SUMS", small)
        found.append(np.zeros((500, 3)))
        likelihood.add(x, found[-1])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)
    assert not found[1][3].any()


def test_kernels_complete_rows_as_each_pattern_does(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, x, member = learned("full", SETTINGS), numbers(700, 0.4, 8), shares(700, 9)
    found = []
    for small in (2**30, 0):
        monkeypatch.setattr(completed_rows, "FEW_SOFT_SUMS", small)
        found.append(likelihood.completed_moments(x, member))
    check_same(*found)
    np.testing.assert_allclose(found[1].scatter, found[0].scatter, rtol=1e-8, atol=1e-8)


def test_a_missing_cell_is_its_regression_on_the_known_ones() -> None:
    """One row, of which one cell is missing: by hand, from the covariance."""
    likelihood = learned("full", SETTINGS)
    row = numbers(1, 0.0, 10)
    row[0, 2] = np.nan
    found = likelihood.completed_moments(row, Soft(np.array([[0.0, 1.0, 0.0]])))
    mean, covariance = (part[1] for part in likelihood.gaussians)
    given = [0, 1, 3, 4]
    slope = np.linalg.solve(covariance[np.ix_(given, given)], covariance[given, 2])
    filled = mean[2] + slope @ (row[0, given] - likelihood.shift[given] - mean[given])
    assert found.mean[1, 2] - likelihood.shift[2] == pytest.approx(filled, rel=1e-9)
    assert found.scatter[1, 2, 2] == pytest.approx(covariance[2, 2] - slope @ covariance[given, 2], rel=1e-6)
    assert found.n.value.tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.slow
def test_em_by_expected_statistics_never_falls(name: str) -> None:
    """`em` refuses an objective that falls."""
    batch = cells(120, 0.3, 1)
    start = Mixture(Conditional((LIKELIHOODS[name],), SETTINGS, "group"), LEVELS)
    fitted = em(start.with_evidence(start.evidence(batch, shares(120, 2))), halves(batch), steps=25)
    assert fitted.history[-1] > fitted.history[0]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("estimate", ["map", "ml"])
@pytest.mark.usefixtures("kernels")
def test_em_by_kernels_never_falls_either(covariance: Covariance, estimate: Any) -> None:
    batch = Batch(0, 900, {}, numbers(900, 0.3, 11), COLUMNS)
    settings = replace(SETTINGS, estimate=estimate)
    start = Mixture(Conditional((Joint(COLUMNS, covariance),), settings, "group"), LEVELS)
    fitted = em(start.with_evidence(start.evidence(batch, shares(900, 12))), halves(batch), steps=40)
    assert fitted.history[-1] > fitted.history[0]
    assert {*fitted.evidence.parts} >= {COMPLETED}


def test_both_ways_end_at_the_same_parameters() -> None:
    """Patterns kept for the M-step, or cells expected in the E-step: the same objective, and the same maximum."""
    rng = np.random.default_rng(13)
    own = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 2)) @ np.array([[1.0, 0.7], [0.0, 1.0]]) + 8.0 * own[:, None]
    batch = Batch(0, 150, {}, np.where(rng.random(x.shape) < 0.15, np.nan, x), COLUMNS[:2])
    found = []
    for kind, steps in ((Summarising, 25), (Mixture, 150)):
        start = kind(Conditional((Joint(COLUMNS[:2], "full"),), SETTINGS, "group"), LEVELS)
        begun = start.with_evidence(Summarising.evidence(start, batch, Soft(np.eye(3)[own] * 0.7 + 0.1)))
        found.append(em(begun, lambda: iter([batch]), steps=steps, tolerance=1e-12))
    assert found[1].history[0] == pytest.approx(found[0].history[0], rel=1e-12)
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-7)


@dataclass(frozen=True, eq=False)
class OneGroup:
    """EM over missing cells alone."""

    conditional: Conditional

    def expect(self, batch: Batch, /) -> Expected:
        member = Soft(np.ones((batch.rows, 1)))
        return self.conditional.expected(batch, member, pa.array(["a"])), float(
            self.conditional.log_likelihood(batch).sum()
        )

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, conditional=self.conditional.with_evidence(evidence))

    def log_prior(self) -> float:
        return self.conditional.log_prior()


def test_known_groups_end_where_the_classifier_is() -> None:
    """A classifier's evidence keeps patterns, which its own EM completes: the same mode."""
    batch = Batch(0, 250, {}, numbers(250, 0.25, 15), COLUMNS)
    conditional = Conditional((Joint(COLUMNS, "full"),), SETTINGS, "group")
    whole = conditional.with_evidence(conditional.summarise(batch, Hard.whole(250), pa.array(["a"])))
    model = OneGroup(conditional)
    begun = model.with_evidence(conditional.expected(batch, Soft(np.ones((250, 1))), pa.array(["a"])))
    fitted = em(begun, halves(batch), steps=2000, tolerance=1e-14)
    one, other = (each.likelihoods[0] for each in (whole, fitted.model.conditional))
    assert isinstance(one, JointLikelihood)
    assert isinstance(other, JointLikelihood)
    np.testing.assert_allclose(other.gaussians.mean, one.gaussians.mean, atol=1e-4)
    np.testing.assert_allclose(other.gaussians.covariance, one.gaussians.covariance, rtol=1e-3, atol=1e-3)


def test_columns_without_variance_and_rows_without_cells() -> None:
    x = numbers(200, 0.3, 16)
    x[:, 3] = np.where(np.isnan(x[:, 3]), np.nan, 7.0)
    x[5] = np.nan
    batch = Batch(0, 200, {}, x, COLUMNS)
    start = Mixture(Conditional((Joint(COLUMNS, "full"),), SETTINGS, "group"), LEVELS)
    fitted = em(start.with_evidence(start.evidence(batch, shares(200, 17))), halves(batch), steps=10)
    assert np.isfinite(fitted.objective)
    assert not fitted.model.conditional.log_likelihood(batch)[5].any()
    np.testing.assert_allclose(fitted.evidence[COMPLETED].mean[:, 3], 7.0)


def test_responsibilities_are_shares_of_the_joint() -> None:
    log_joint = np.log(np.random.default_rng(18).dirichlet(np.ones(4), 50)) - 800.0
    log_joint[7] = -np.inf
    weight = np.linspace(0.5, 2.0, 50)
    total = np.logaddexp.reduce(log_joint, axis=1)
    expected = np.exp(log_joint - np.where(np.isfinite(total), total, 0.0)[:, None]) * weight[:, None]
    member, log_prob = Soft.responsibilities(log_joint.copy(), weight)
    np.testing.assert_allclose(member.weights, expected, rtol=1e-12)
    np.testing.assert_allclose(log_prob, total, rtol=1e-14)
    assert log_prob[7] == -np.inf
    assert not member.weights[7].any()


STEPS = dict.fromkeys(COLUMNS, 0.5)  # of rounded numbers
BLOCKS = (Numbers(COLUMNS), Spherical(COLUMNS), Joint(COLUMNS, "tied"), Joint(COLUMNS, "full"))


@pytest.mark.parametrize("beside", [(), (Categories(("letter",)),)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("block", [*BLOCKS, *(block.rounded(STEPS) for block in BLOCKS)])
def test_one_pass_expects_what_responsibilities_and_sums_expect(
    block: Block, missing: float, beside: tuple[Block, ...]
) -> None:
    """Of numbers far from 0. A tied covariance takes from its rows the sum of all groups' products alone."""
    size, weight = 2**17 // len(COLUMNS), np.random.default_rng(19).uniform(0.5, 2.0, 2**17 // len(COLUMNS))
    letters = pa.array(np.random.default_rng(22).choice([*"uvw", None], size).tolist())
    batch = Batch(0, size, {"letter": letters}, numbers(size, missing, 20) + 1e6, COLUMNS)
    conditional = Conditional((*beside, block), SETTINGS, "group")
    now = conditional.with_evidence(conditional.expected(batch, shares(size, 21), LEVELS))
    log_shares = np.log(np.linspace(1, 2, len(LEVELS)) / np.linspace(1, 2, len(LEVELS)).sum())
    member, log_prob = Soft.responsibilities(now.log_joint(batch, log_shares), weight)
    plain = now.expected(batch, member, LEVELS)
    found, found_log_prob = now.expected_hidden(batch, log_shares, weight, LEVELS)
    np.testing.assert_allclose(found_log_prob, log_prob, rtol=1e-11)
    assert found.parts.keys() == plain.parts.keys()
    one, other = (now.with_evidence(evidence).describe() for evidence in (found, plain))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.estimates, b.estimates, rtol=1e-9, atol=1e-9)
    for label in plain.parts:
        np.testing.assert_allclose(found[label].n.value, plain[label].n.value, rtol=1e-11)


def test_joint_values_are_counted_and_scored_as_single_ones() -> None:
    """Of columns with few values, with many, with unseen values and with missing cells."""
    size, rng = 3 * joint_codes.JOINED_ROWS, np.random.default_rng(23)
    few = pa.array(rng.choice([*"uvw", None], size).tolist())
    digits = pa.array(np.where(rng.random(size) < 0.2, np.nan, rng.integers(0, 9, size)), from_pandas=True)
    many, flag = pa.array(rng.integers(0, 5000, size)), pa.array(rng.random(size) < 0.3)
    batch = Batch(0, size, {"few": few, "digits": digits, "many": many, "flag": flag})
    block, member = Categories(("few", "digits", "many", "flag")), shares(size, 24)
    joined = batch.encoded(joint_codes.JointCodes(block.names))
    assert [len(each.levels) for each in joined.columns] == [2, 1, 1]
    conditional = Conditional((block,), SETTINGS, "group")
    parts = [batch.slice(start, joint_codes.JOINED_ROWS - 1) for start in range(0, size, joint_codes.JOINED_ROWS - 1)]
    each = [conditional.expected(part, Soft(member.weights[part.start :][: part.rows]), LEVELS) for part in parts]
    single, whole = Evidence.total(each).ordered(), conditional.expected(batch, member, LEVELS).ordered()
    assert single.schema == whole.schema
    for label in single.parts:
        np.testing.assert_allclose(whole[label].n.value, single[label].n.value, rtol=1e-10)
    (now,) = conditional.with_evidence(each[0]).likelihoods  # of some rows: other values are unseen
    plain, again = np.zeros((2, size, len(LEVELS)))
    now.add(now.read(batch), plain)
    capabilities.ReadAgain.needed(now).add_again(batch, again)
    np.testing.assert_allclose(again, plain, rtol=1e-12)
