"""Columns by conjugate families with given priors, as emissions of hidden Markov models and in mixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import expon, norm, poisson

import credo
from credo.blocks.block import Settings
from credo.blocks.conjugate import ConjugateColumn, ConjugateLikelihood
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS
from credo.core.membership import Soft
from credo.core.statistics import Counts
from credo.data import Batch
from tests.hostile.refusals import refused

FAMILIES: dict[str, Any] = {
    "n": credo.GammaPoisson(2, 0.5),
    "wait": credo.GammaExponential(2, 1),
    "z": credo.NormalInverseGamma(0, 1, 2, 1),
    "y": credo.NormalMean(0, 3, noise_sd=1),
}


def sequence(rows: int = 300) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(0)
    state = np.repeat(rng.integers(0, 2, rows // 10), 10)
    table = {
        "n": rng.poisson(np.where(state, 9.0, 2.0)).astype(float),
        "wait": rng.exponential(np.where(state, 4.0, 0.5)),
        "z": rng.normal(np.where(state, 1.5, -1.0), 1.0),
        "y": rng.normal(np.where(state, 1.0, -1.5), 1.0),
    }
    return table, state


def agreement(found: Any, state: Any) -> float:
    """Up to the states' names."""
    same = float((found == state).mean())
    return max(same, 1 - same)


@pytest.mark.parametrize("name", FAMILIES)
def test_any_family_is_an_emission(name: str, tmp_path: Path) -> None:
    """em refuses an objective that falls."""
    table, state = sequence()
    own = {name: table[name]}
    model = credo.HiddenMarkov(2, emission=FAMILIES[name]).fit(own)
    assert agreement(model.decode(own), state) > 0.9
    assert np.isfinite(model.log_prob(own)).all()
    (law,) = model.forecast(own, 1)
    assert np.isfinite(law[name].mean())
    assert model.sample(20, seed=0).num_rows == 20
    credo.save(model, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    assert again.emission == FAMILIES[name]
    np.testing.assert_array_equal(again.smooth(own), model.smooth(own))


def test_columns_of_several_families_with_missing_cells() -> None:
    table, state = sequence()
    rng = np.random.default_rng(1)
    holes = {name: np.where(rng.random(300) < 0.2, np.nan, x) for name, x in table.items()}
    model = credo.HiddenMarkov(2, emission={**FAMILIES, "n": "count"}).fit(holes)
    assert agreement(model.decode(holes), state) > 0.97
    mixture = credo.Mixture(2, kinds=FAMILIES).fit(holes)
    assert agreement(mixture.predict(holes), state) > 0.95
    whole = mixture.impute(holes)
    assert all(whole[name].null_count == 0 for name in FAMILIES)
    assert "wait" in str(mixture.explain({name: x[0] for name, x in table.items()}))


def test_counts_with_the_pooled_prior_are_the_kind_count() -> None:
    """The kind's prior is Gamma(s, s/pooled rate)."""
    table, start = sequence()
    own = {"n": table["n"]}
    kind = credo.HiddenMarkov(2, emission="count").fit(own, start=start)
    prior = credo.GammaPoisson(1, 1 / table["n"].mean())
    family = credo.HiddenMarkov(2, emission=prior).fit(own, start=start)
    np.testing.assert_allclose(family.smooth(own), kind.smooth(own), atol=1e-9)
    np.testing.assert_allclose(family.history, kind.history, rtol=1e-9)


def density(name: str, x: Any, point: Any) -> Any:
    """By SciPy."""
    match name:
        case "n":
            return poisson.logpmf(x, point)
        case "wait":
            return expon.logpdf(x, scale=1 / point)
        case "z":
            return norm.logpdf(x, point.mean, np.sqrt(point.variance))
    return norm.logpdf(x, point, 1.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_likelihood_of_statistics(name: str) -> None:
    """By Bayes' rule, and by the density of each cell."""
    x, member = sequence()[0][name], Soft(np.random.default_rng(2).dirichlet([1, 1], 300))
    block = ConjugateColumn((name,), FAMILIES[name])
    found = block.summarise(Batch(0, 300, {}, x[:, None], (name,)), member, "state")
    evidence = Evidence(found.schema, {ROWS: Part(("state",), Counts.of_rows(member)), **found.parts})
    for estimate in ("map", "mean", "ml"):
        own = block.likelihood(evidence, Settings(estimate=estimate, log_rates=True))
        assert isinstance(own, ConjugateLikelihood)
        out = np.zeros((300, 2))
        own.add(x, out)
        assert own.log_likelihood_at(own) == pytest.approx(float((member.weights * out).sum()), rel=1e-9)
        np.testing.assert_allclose(out, density(name, x[:, None], own.point), rtol=1e-9)


@pytest.mark.parametrize(
    ("emission", "message"),
    [
        (credo.BetaBernoulli(1, 1), "isn't about one column of numbers"),
        (credo.ParetoUniform(1, 1), "isn't about one column of numbers"),
        ("poisson", "no such emission"),
        (3, "a family such as"),
        ({"n": "cuont"}, "no such kind"),
    ],
)
def test_emissions_that_are_refused(emission: Any, message: str) -> None:
    assert message in refused(credo.HiddenMarkov, 2, emission=emission)


def test_cells_and_kinds_that_are_refused() -> None:
    counts = credo.HiddenMarkov(2, emission=credo.GammaPoisson(1, 1))
    assert "where a count" in refused(counts.fit, {"n": [1.5, 2.0, 3.0]})
    mixture = credo.Mixture(2, kinds={"n": credo.BetaBernoulli(1, 1)})
    assert "kinds of 'n'" in refused(mixture.fit, {"n": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("hidden", [True, False])
def test_discounted_evidence(hidden: bool) -> None:
    table, state = sequence()
    model = credo.HiddenMarkov(2).fit(table, **({} if hidden else {"target": state}))
    half = model.discount(0.5)
    assert half.n == pytest.approx(model.n / 2)
    np.testing.assert_array_equal(half.decode(table), model.decode(table))
    if not hidden:
        assert (half + half).log_prob(table) == pytest.approx(model.log_prob(table), rel=1e-12)
    assert "discount" in refused(model.discount, 0.0)
