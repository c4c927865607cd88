"""EM through learning.em: a two-component mixture of every family that can be weighted, whose objective never falls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from credo.core.labels import ROWS, Label
from credo.core.learning import Expected, em
from credo.core.membership import Soft
from credo.core.statistics import Counts, Statistics
from credo.families import DirichletCategorical, Family
from tests.laws.cases import CASES, Case

LABEL = DirichletCategorical([2.0, 2.0])


class Parameters(NamedTuple):
    shares: Any
    emission: Any


@dataclass(frozen=True)
class Rows:
    x: Any

    @property
    def rows(self) -> int:
        return len(self.x)


EMITTED = Label("column", "x")


@dataclass(frozen=True)
class TwoComponents:
    """A mixture: the label is a category, the emission any family."""

    emission: Family

    def expect(self, batch: Rows, parameters: Parameters) -> Expected:
        joint = np.log(parameters.shares) + self.emission.log_density(batch.x, parameters.emission)
        total = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return Expected(self.statistics(batch.x, Soft(np.exp(joint - total))), float(total.sum()))

    def statistics(self, x: Any, member: Soft) -> dict[Label, Statistics]:
        label = Counts.of_rows(member)
        return {ROWS: Counts(label.n.take(1, np.zeros(1, dtype=np.intp))), EMITTED: self.emission.statistics(x, member)}

    def maximise(self, statistics: Mapping[Label, Statistics]) -> Parameters:
        shares = LABEL.posterior(Counts(statistics[ROWS].n[:, 0])).mode()
        return Parameters(shares, self.emission.posterior(statistics[EMITTED]).mode())

    def log_prior(self, parameters: Parameters) -> float:
        return float(np.sum(LABEL.log_prior(parameters.shares)) + np.sum(self.emission.log_prior(parameters.emission)))


MIXING = {name: case for name, case in CASES.items() if case.mixes}


@pytest.mark.parametrize("case", MIXING.values(), ids=MIXING.keys())
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_falls(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.concatenate([case.draw(rng, 150), _moved(case.draw(rng, 100))])
    model = TwoComponents(case.prior)
    start = model.maximise(model.statistics(x, Soft(rng.dirichlet([1, 1], len(x)))))

    def batches() -> Iterator[Rows]:
        return (Rows(x[i : i + 64]) for i in range(0, len(x), 64))

    fitted = em(model, batches, start, steps=200)
    steps = np.diff(fitted.objective)
    assert len(fitted.objective) > 2
    assert steps.min() >= -1e-9 * abs(fitted.objective[-1])
    assert fitted.objective[-1] > fitted.objective[0]


def _moved(x: Any) -> Any:
    """Other observations of the same form, as from a second component."""
    if x.dtype == np.int32:
        return np.minimum(x, 1)
    if x.ndim == 2 and (x == np.floor(x)).all():
        return x[:, ::-1]
    return x * 3 + (x == np.floor(x)) * 2


def test_em_finds_the_components_of_two_gaussians() -> None:
    from credo.families import NormalInverseGamma

    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-5, 1, 600), rng.normal(5, 2, 400)])
    model = TwoComponents(NormalInverseGamma(0, 0.01, 1, 1))
    start = model.maximise(model.statistics(x, Soft(np.eye(2)[(x > 1).astype(int)])))
    fitted = em(model, lambda: iter([Rows(x)]), start)
    assert fitted.converged
    np.testing.assert_allclose(fitted.parameters.shares, [0.6, 0.4], atol=0.01)
    np.testing.assert_allclose(fitted.parameters.emission.mean, [-5, 5], atol=0.2)
    np.testing.assert_allclose(np.sqrt(fitted.parameters.emission.variance), [1, 2], atol=0.15)
