"""EM through core.em: a two-component mixture of every family that can be weighted, whose objective never falls."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

from credo import engines
from credo.core.em import EStep, Expected, added, em
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, Label
from credo.core.membership import Soft
from credo.core.restarts import Restarts
from credo.core.statistics import Counts
from credo.data.schema import Schema
from credo.engines import local
from credo.engines.partitions import Loaded
from credo.errors import DataError, EvidenceError
from credo.families import DirichletCategorical, Family, NormalInverseGamma
from tests.laws.cases import CASES, Case

LABEL = DirichletCategorical([2.0, 2.0])
EMITTED = Label("column", "x")


@dataclass(frozen=True)
class Rows(Loaded):
    x: Any

    @property
    def rows(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class TwoComponents:
    """A mixture: the label is a category, the emission any family."""

    emission: Family
    shares: Any = None
    parameters: Any = None  # of the emission

    def expect(self, batch: Rows, /) -> Expected:
        joint = np.log(self.shares) + self.emission.log_density(batch.x, self.parameters)
        total = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return self.evidence(batch.x, Soft(np.exp(joint - total))), float(total.sum())

    def evidence(self, x: Any, member: Soft) -> Evidence:
        statistics = {ROWS: Counts.of_rows(member), EMITTED: self.emission.statistics(x, member)}
        return Evidence(Schema(()), {label: Part((None,), each) for label, each in statistics.items()})

    def with_evidence(self, evidence: Evidence, /) -> Self:
        shares = LABEL.posterior(Counts(evidence[ROWS].n[:, 0])).mode()
        return replace(self, shares=shares, parameters=self.emission.posterior(evidence[EMITTED]).mode())

    def begun(self, x: Any, member: Soft) -> Self:
        """At the mode given these responsibilities."""
        return self.with_evidence(self.evidence(x, member))

    def log_prior(self) -> float:
        return float(np.sum(LABEL.log_prior(self.shares)) + np.sum(self.emission.log_prior(self.parameters)))


MIXING = {name: case for name, case in CASES.items() if case.mixes}


@pytest.mark.parametrize("case", MIXING.values(), ids=MIXING.keys())
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_the_objective_never_falls(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.concatenate([case.draw(rng, 150), _moved(case.draw(rng, 100))])
    start = TwoComponents(case.prior).begun(x, Soft(rng.dirichlet([1, 1], len(x))))
    fitted = em(start, in_batches(x), steps=200)
    steps = np.diff(fitted.history)
    assert len(fitted.history) > 2
    assert steps.min() >= -1e-9 * abs(fitted.history[-1])
    assert fitted.history[-1] > fitted.history[0]


@dataclass(frozen=True, eq=False)
class Cut:
    """Rows in batches, as often as they are asked for; it is sent to other processes, too."""

    x: Any
    size: int

    def __call__(self) -> Iterator[Rows]:
        return (Rows(self.x[i : i + self.size]) for i in range(0, len(self.x), self.size))


def in_batches(x: Any, size: int = 64) -> Callable[[], Iterator[Rows]]:
    return Cut(x, size)


def _moved(x: Any) -> Any:
    """Other observations of the same form, as from a second component."""
    if x.dtype == np.int32:
        return np.minimum(x, 1)
    if x.ndim == 2 and (x == np.floor(x)).all():
        return x[:, ::-1]
    return x * 3 + (x == np.floor(x)) * 2


def two_gaussians() -> tuple[Any, TwoComponents]:
    """Numbers around -5 and around 5, and the mixture to be fitted to them, begun near the truth."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-5, 1, 600), rng.normal(5, 2, 400)])
    model = TwoComponents(NormalInverseGamma(0, 0.01, 1, 1))
    return x, model.begun(x, Soft(np.eye(2)[(x > 1).astype(int)]))


def test_em_finds_the_components_of_two_gaussians() -> None:
    x, start = two_gaussians()
    fitted = em(start, in_batches(x, len(x)))
    assert fitted.converged
    np.testing.assert_allclose(fitted.model.shares, [0.6, 0.4], atol=0.01)
    np.testing.assert_allclose(fitted.model.parameters.mean, [-5, 5], atol=0.2)
    np.testing.assert_allclose(np.sqrt(fitted.model.parameters.variance), [1, 2], atol=0.15)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_history_ends_with_the_model(steps: int) -> None:
    """The last objective and the evidence are those of the model that is returned, converged or not."""
    x, start = two_gaussians()
    fitted = em(start, in_batches(x), steps=steps, tolerance=0.0)
    evidence, log_likelihood = added([fitted.model.expect(batch) for batch in in_batches(x)()])
    assert len(fitted.history) == steps + 1
    assert not fitted.converged
    assert fitted.objective == fitted.history[-1]
    assert fitted.objective == pytest.approx(log_likelihood + fitted.model.log_prior(), rel=1e-14)
    for label in (ROWS, EMITTED):
        for mine, its in zip(fitted.evidence[label].sums, evidence[label].sums, strict=True):
            np.testing.assert_allclose(mine.value, its.value, rtol=1e-14)


def test_convergence_is_relative() -> None:
    """EM ends where the objective grows by at most tolerance of its size, and not before."""
    x, _ = two_gaussians()
    member = Soft(np.random.default_rng(1).dirichlet([1, 1], len(x)))
    start = TwoComponents(NormalInverseGamma(0, 0.01, 1, 1)).begun(x, member)
    loose, tight = (em(start, in_batches(x), tolerance=tolerance) for tolerance in (1e-3, 1e-12))
    assert loose.converged
    assert tight.converged
    assert len(loose.history) < len(tight.history)
    *_, before, after = loose.history
    assert after - before <= 1e-3 * abs(after)


class Pickling(engines.Serial):
    """An engine that sends each job, each batch and each result through pickle, as one on other machines does."""

    def reduce(self, job: Any, partitions: Any, total: Any, /) -> Any:
        job, total = pickle.loads(pickle.dumps(job)), pickle.loads(pickle.dumps(total))
        sent = (pickle.loads(pickle.dumps(partition)) for partition in partitions)
        done = [pickle.loads(pickle.dumps(job(batch))) for partition in sent for batch in partition.batches()]
        return total(done) if done else None


@pytest.mark.parametrize("engine", [engines.Serial(), Pickling()], ids=["serial", "pickled"])
def test_any_engine_finds_the_same(engine: Any) -> None:
    x, start = two_gaussians()
    here = em(start, in_batches(x), steps=10)
    with engines.using(engine):
        there = em(start, in_batches(x), steps=10)
    assert there.history == here.history
    assert isinstance(pickle.loads(pickle.dumps(EStep(start))), EStep)


def test_progress_tells_the_rows_of_every_step() -> None:
    x, start = two_gaussians()
    seen: list[int] = []
    token = local.progress.set(seen.append)
    try:
        fitted = em(start, in_batches(x), steps=4, tolerance=0.0)
    finally:
        local.progress.reset(token)
    assert sum(seen) == len(x) * len(fitted.history)


def test_the_best_of_several_starts() -> None:
    rng = np.random.default_rng(2)
    x, good = two_gaussians()
    poor = good.begun(x, Soft(np.full((len(x), 2), 0.5)))  # a saddle point, which EM never leaves
    starts = [poor, good, good.begun(x, Soft(rng.dirichlet([1, 1], len(x))))]
    alone = [em(start, in_batches(x)).objective for start in starts]
    for finalists in (1, 3):  # a few steps from each, and the best continued; or all of them to their ends
        restarts = Restarts(em, in_batches(x), len(x), steps=500, tolerance=1e-10, finalists=finalists)
        found = restarts.best(starts)
        assert found.objective == pytest.approx(max(alone), rel=1e-9)
        assert found.objective > alone[0] + 100
        assert found.converged
        assert (np.diff(found.history) >= -1e-9 * abs(found.objective)).all()
    only = Restarts(em, in_batches(x), len(x), steps=500, tolerance=1e-10, finalists=1, favoured=1)
    assert only.best(starts).objective == pytest.approx(alone[0])
    with pytest.raises(EvidenceError, match="start"):
        restarts.best([])


class Falling(TwoComponents):
    """Its M-step moves away from the mode."""

    def with_evidence(self, evidence: Evidence, /) -> Self:
        found = super().with_evidence(evidence)
        return replace(found, parameters=found.parameters._replace(mean=found.parameters.mean + 1))


def test_an_objective_that_falls_is_an_error() -> None:
    x, start = two_gaussians()
    worse = Falling(start.emission, start.shares, start.parameters)
    with pytest.raises(EvidenceError, match="fell by"):
        em(worse, in_batches(x))


class Impossible(TwoComponents):
    def expect(self, batch: Rows, /) -> Expected:
        return super().expect(batch)[0], -np.inf


def test_an_objective_that_is_no_number_is_an_error() -> None:
    x, start = two_gaussians()
    with pytest.raises(EvidenceError, match="impossible"):
        em(Impossible(start.emission, start.shares, start.parameters), in_batches(x))


def test_no_rows() -> None:
    _, start = two_gaussians()
    with pytest.raises(DataError, match="no rows"):
        em(start, lambda: iter([]))
