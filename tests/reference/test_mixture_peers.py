"""Mixtures beside scikit-learn's, and their approximate evidence beside the exact one of a few rows."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.blocks.block import Settings
from credo.blocks.capabilities import LogEvidence
from credo.core.em import em_steps
from credo.core.membership import Hard
from credo.data import source
from credo.families import dirichlet
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.latent.columns import hidden_blocks
from credo.models.mixture.learning import problem_of
from credo.models.mixture.moves import split_and_merged


def rows(seed: int = 0, n: int = 300, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2.0 * rng.normal(size=(3, d))[z], z


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_the_path_of_log_likelihoods_is_scikit_learns(covariance: Any) -> None:
    """From the same start, without priors."""
    from sklearn.mixture import GaussianMixture

    x, z = rows()
    problem = problem_of(credo.Mixture(3, covariance, estimate="ml"), x, None, None)
    start = problem.unfitted(3, covariance).begun(problem.sample, z.astype(np.int32))
    steps = em_steps(start, problem.rows)
    ours = [step.objective / len(x) for step, _ in zip(steps, range(25), strict=False)]
    weights = np.bincount(z) / len(z)
    means = np.array([x[z == k].mean(0) for k in range(3)])
    each = np.array([np.cov(x[z == k].T, bias=True) for k in range(3)])
    within = np.einsum("k,kij->ij", weights, each)
    precisions = {
        "full": np.linalg.inv(each),
        "tied": np.linalg.inv(within),
        "diagonal": 1 / np.diagonal(each, axis1=1, axis2=2),
    }[covariance]
    peer = GaussianMixture(
        3, covariance_type={"diagonal": "diag"}.get(covariance, covariance), reg_covar=0.0, tol=0.0, max_iter=1,
        warm_start=True, weights_init=weights, means_init=means, precisions_init=precisions, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it hasn't converged after one step
        theirs = [peer.fit(x).lower_bound_ for _ in range(25)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.slow
def test_default_settings_end_as_high_as_scikit_learn_with_ten_starts(covariance: Any) -> None:
    """In the log-likelihood of the rows; the prior takes a little of it."""
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(5)
    centres = rng.normal(size=(6, 4)) * 3
    z = rng.integers(0, 6, 3000)
    x = rng.normal(size=(3000, 4)) + centres[z]
    kind = "diag" if covariance == "diagonal" else covariance
    peer = GaussianMixture(6, covariance_type=kind, n_init=10, random_state=0).fit(x)
    ours = credo.Mixture(6, covariance, estimate="map").fit(x)
    assert ours.choices[0].log_likelihood / len(x) > peer.score(x) - 0.003


def exact_log_evidence(table: Any, views: Any, components: int, settings: Settings) -> float:
    """log Σ p(rows, assignment) over all assignments of rows to components, parameters integrated out."""
    (batch,) = source(table).batches([*views])
    conditional = Conditional(hidden_blocks(views, None, "full"), settings, "cluster")
    levels = pa.array(range(components))
    found = []
    for codes in product(range(components), repeat=batch.rows):
        member = Hard.of(np.array(codes), components)
        seen = conditional.summarise(batch, member, levels)
        likelihoods = (LogEvidence.needed(block.likelihood(seen, settings)) for block in conditional.blocks)
        columns = sum(float(each.log_evidence().sum()) for each in likelihoods)
        shares = float(dirichlet.log_evidence(np.bincount(codes, minlength=components).astype(float), np.ones(())))
        found.append(columns + shares)
    return float(np.logaddexp.reduce(found))


@pytest.mark.parametrize(
    ("table", "views"),
    [
        ({"x": [0.0, 0.3, -0.2, 9.0, 9.4, 8.8, 9.1]}, {"x": ("gaussian",)}),
        ({"x": [0.0, 1.0, -0.5, 0.7, -1.2, 0.1]}, {"x": ("gaussian",)}),
        ({"a": list("xxxyyyyx"), "b": list("uuuvvvvu")}, {"a": ("category",), "b": ("category",)}),
        ({"x": [0.0, 0.3, 8.0, 8.4, 8.2], "y": [1.0, 1.5, 6.0, 6.6, 5.9]}, {"x": ("gaussian",), "y": ("gaussian",)}),
    ],
)
@pytest.mark.parametrize("components", [1, 2])
def test_approximate_evidence_is_near_the_exact_one(table: Any, views: Any, components: int) -> None:
    """Exact for one component. Of two, it counts one of the 2! ways to name them, and is a little lower besides."""
    mixture = credo.Mixture(components, strength=1.0, tolerance=1e-12).fit(table)
    exact = exact_log_evidence(table, views, components, Settings(strength=1.0))
    assert mixture.log_evidence <= exact + 1e-6
    if components == 1:
        assert mixture.log_evidence == pytest.approx(exact, abs=1e-8)
    else:
        assert mixture.log_evidence > exact - np.log(2) - 1.5


def slanted(rows: int, seed: int, components: int = 8, d: int = 6) -> tuple[Any, Any]:
    """Rows of narrow, slanted clusters to learn from, and new ones."""
    rng = np.random.default_rng(seed)
    centres, roots = 3.0 * rng.normal(size=(components, d)), rng.normal(size=(components, d, d)) * 0.5 + np.eye(d)
    z = rng.integers(0, components, 2 * rows)
    x = centres[z] + np.einsum("ni,nij->nj", rng.normal(size=(2 * rows, d)), roots[z])
    return x[:rows], x[rows:]


def test_held_out_rows_choose_the_prior_of_predictions() -> None:
    """The evidence would choose a strength that costs 0.02 to 0.1 nats a new row."""
    for seed in range(2):
        x, new = slanted(1000, seed)
        mixture = credo.Mixture(8, starts=8).fit(x)
        found = mixture.log_prob(new).mean()
        others = [mixture.classifier.replaced(strength=s).log_prob(new).mean() for s in (1.0, 0.1, 0.01, 1e-3, 1e-4)]
        assert found > max(others) - 0.01
        assert mixture.classifier.strength < 0.03
        assert credo.Mixture(8, starts=2, strength=0.1).fit(x).classifier.strength == 0.1  # as it was asked for


def test_a_poor_optimum_is_left_by_the_move_that_promises_most() -> None:
    """Two clusters share a component, and a third has two: no start here is any better."""
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [4.0, 0.0], [20.0, 20.0]])
    z = np.arange(500) % 5
    x = rng.normal(size=(500, 2)) + centres[z]
    poor = np.where(z == 3, 0, z)
    poor[(z == 4) & (x[:, 0] > 20)] = 3
    covariances: tuple[Covariance, ...] = ("full", "tied", "diagonal")
    for covariance in covariances:
        problem = problem_of(credo.Mixture(5, covariance, strength=0.1), x, None, None)
        low = problem.on_sample([poor.astype(np.int32)], 5, covariance)
        first = split_and_merged(problem, low.shares, covariance)[0]
        assert sum(len(np.unique(first[z == k])) for k in range(5)) <= 7
        moved = problem._moved(low, covariance)
        assert moved is not None
        codes = problem.responsibilities(moved.fit.model).argmax(1)
        assert sum(np.bincount(codes[z == k]).max() for k in range(5)) > 480
        assert moved.objective > low.objective + 20.0


def test_approximate_evidence_is_near_that_of_quadrature() -> None:
    """Two columns of two values each: p(rows | π, θ) is a polynomial, of which Gauss and Legendre's rule is exact."""
    table: dict[str, Any] = {"a": list("xxxyyyyx"), "b": list("uuuvvvvu")}
    nodes, weights = np.polynomial.legendre.leggauss(5)  # exact up to degree 9, and there are 8 rows
    nodes, weights = (nodes + 1) / 2, weights / 2
    share, a1, a2, b1, b2 = np.meshgrid(*[nodes] * 5, indexing="ij")
    volume = np.prod(np.meshgrid(*[weights] * 5, indexing="ij"), axis=0)
    density = np.ones_like(share)
    for a, b in zip(np.array(table["a"]) == "x", np.array(table["b"]) == "u", strict=True):
        one = (a1 if a else 1 - a1) * (b1 if b else 1 - b1)
        other = (a2 if a else 1 - a2) * (b2 if b else 1 - b2)
        density = density * (share * one + (1 - share) * other)
    exact = float(np.log((volume * density).sum()))
    views = {"a": ("category",), "b": ("category",)}
    assert exact_log_evidence(table, views, 2, Settings(strength=1.0)) == pytest.approx(exact, abs=1e-10)
    found = credo.Mixture(2, strength=1.0, tolerance=1e-12).fit(table).log_evidence
    assert exact - np.log(2) - 1.5 < found <= exact


def annealed_log_evidence(x: Any, chains: int = 600, temperatures: int = 300) -> float:
    """log p(x) of two Gaussians by annealed importance sampling (Neal 2001): π ~ Uniform, and (μ, σ²) of each is
    normal-inverse-gamma about the pooled mean m and variance v, worth one row: σ² ~ IG(3/2, v/2), μ ~ N(m, σ²)."""
    from scipy.special import gammaln

    rng = np.random.default_rng(0)
    m, v = x.mean(), x.var()

    def log_prior(at: Any) -> Any:
        """Of logit π, μ and log σ² (chains, 5)."""
        share, mean, variance = at[:, 0], at[:, 1:3], np.exp(at[:, 3:])
        own = -0.5 * np.log(2 * np.pi * variance) - (mean - m) ** 2 / (2 * variance)
        own += 1.5 * np.log(v / 2) - gammaln(1.5) - 1.5 * np.log(variance) - v / (2 * variance)
        return own.sum(1) - np.logaddexp(0, share) - np.logaddexp(0, -share)

    def log_likelihood(at: Any) -> Any:
        log_share = np.stack([-np.logaddexp(0, -at[:, 0]), -np.logaddexp(0, at[:, 0])], axis=1)
        variance = np.exp(at[:, 3:])
        away = (x - at[:, 1:3, None]) ** 2 / variance[..., None]
        logs = log_share[..., None] - 0.5 * (away + np.log(2 * np.pi * variance)[..., None])
        return np.logaddexp(logs[:, 0], logs[:, 1]).sum(1)

    variance = v / 2 / rng.gamma(1.5, size=(chains, 2))
    share = rng.logistic(size=(chains, 1))
    at = np.concatenate([share, rng.normal(m, np.sqrt(variance)), np.log(variance)], axis=1)
    unit, weight = np.array([1.0, np.sqrt(v), np.sqrt(v), 1.0, 1.0]), np.zeros(chains)
    prior, likelihood, before = log_prior(at), log_likelihood(at), 0.0
    for power in (np.arange(1, temperatures + 1) / temperatures) ** 4:
        weight += (power - before) * likelihood
        before = power
        for _ in range(4):
            new = at + rng.normal(size=at.shape) * unit * np.exp(rng.uniform(np.log(0.02), np.log(1.5), (chains, 1)))
            its_prior, its_likelihood = log_prior(new), log_likelihood(new)
            odds = its_prior - prior + power * (its_likelihood - likelihood)
            moved = np.log(rng.random(chains)) < odds
            at[moved] = new[moved]
            prior, likelihood = np.where(moved, its_prior, prior), np.where(moved, its_likelihood, likelihood)
    return float(np.logaddexp.reduce(weight) - np.log(chains))


@pytest.mark.slow
def test_approximate_evidence_is_near_that_of_annealed_importance_sampling() -> None:
    """Of a few rows, all of whose assignments can be enumerated, and of more."""
    rng = np.random.default_rng(3)
    few = np.array([0.0, 0.3, -0.2, 9.0, 9.4, 8.8, 9.1]) + rng.normal(0, 1e-3, 7)
    exact = exact_log_evidence({"x": few}, {"x": ("gaussian",)}, 2, Settings(strength=1.0))
    assert annealed_log_evidence(few) == pytest.approx(exact, abs=0.25)
    more = np.concatenate([rng.normal(0, 1, 14), rng.normal(6, 1.5, 10)])
    annealed = annealed_log_evidence(more)
    found = credo.Mixture(2, strength=1.0, tolerance=1e-12).fit({"x": more}).log_evidence
    assert annealed - np.log(2) - 1.0 < found < annealed + 0.25
