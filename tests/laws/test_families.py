"""The laws that every family keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.core.membership import Hard
from credo.core.statistics import Statistics
from tests.laws.cases import CASES, Case

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
seeds = st.integers(0, 2**32 - 1)
GROUPS = 3


def summary(case: Case, x: Any, codes: Any, weight: Any = None) -> Statistics:
    return case.prior.statistics(x, Hard.of(codes, GROUPS, weight))


def same(a: Statistics, b: Statistics, rtol: float = 1e-15) -> None:
    for one, other in zip(a.sums, b.sums, strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=rtol, atol=0)


def drawn(case: Case, seed: int, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return case.draw(rng, n), rng.integers(-1, GROUPS, n).astype(np.int32)


@cases
@settings(max_examples=15, deadline=None)
@given(seed=seeds, cut=st.integers(0, 40))
def test_merging_parts_equals_the_whole(case: Case, seed: int, cut: int) -> None:
    x, codes = drawn(case, seed)
    parts = summary(case, x[:cut], codes[:cut]) + summary(case, x[cut:], codes[cut:])
    same(parts, summary(case, x, codes))


@cases
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_order_does_not_matter(case: Case, seed: int) -> None:
    x, codes = drawn(case, seed)
    order = np.random.default_rng(seed).permutation(len(codes))
    same(summary(case, x[order], codes[order]), summary(case, x, codes))


@cases
@settings(max_examples=15, deadline=None)
@given(seed=seeds, cut=st.integers(0, 40), scale=st.sampled_from([1.0, 0.1, 7.3]))
def test_forgetting_undoes_updating(case: Case, seed: int, cut: int, scale: float) -> None:
    if not case.forgets:
        pytest.skip("a maximum has no subtraction: see tests/hostile")
    x, codes = drawn(case, seed)
    weight = scale * np.random.default_rng(seed).integers(1, 4, len(codes))
    left = summary(case, x, codes, weight).without(summary(case, x[:cut], codes[:cut], weight[:cut]))
    assert left is not None
    same(left, summary(case, x[cut:], codes[cut:], weight[cut:]))


@cases
def test_weight_two_is_the_row_twice(case: Case) -> None:
    x, codes = drawn(case, 1)
    twice = summary(case, np.concatenate([x, x]), np.concatenate([codes, codes]))
    same(summary(case, x, codes, np.full(len(codes), 2.0)), twice)


@cases
def test_hard_membership_is_one_hot_soft_membership(case: Case) -> None:
    x, codes = drawn(case, 2)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(codes))
    hard = Hard.of(codes, GROUPS, weight)
    same(case.prior.statistics(x, hard), case.prior.statistics(x, hard.soft()), rtol=1e-12)


@cases
def test_chain_rule_gives_the_evidence(case: Case) -> None:
    """log p(x₁..xₙ) = Σ log p(xᵢ | x₁..xᵢ₋₁)"""
    x, _ = drawn(case, 3, 12)
    belief, total = case.prior, 0.0
    for i in range(len(x)):
        row = x[i : i + 1]
        whole = case.prior.statistics(x[: i + 1], Hard.whole(i + 1))[0]
        if i > 0 or not hasattr(case.prior, "precision"):
            total += float(np.ravel(belief.log_predictive(row))[0])
        else:  # a regression's first row: its weights aren't many until it is seen
            total += float(case.prior.log_evidence(whole))
        belief = case.prior.posterior(whole)
    whole = case.prior.statistics(x, Hard.whole(len(x)))[0]
    np.testing.assert_allclose(total, case.prior.log_evidence(whole), rtol=1e-10)


@cases
def test_bayes_theorem_holds_at_every_parameter(case: Case) -> None:
    """log p(θ) + log p(x | θ) - log p(θ | x) = log p(x), whatever θ is"""
    x, _ = drawn(case, 4)
    statistics = case.prior.statistics(x, Hard.whole(len(x)))
    posterior = case.prior.posterior(statistics)
    evidence = []
    for k in range(5):
        theta = _one_draw(posterior.sample(5, seed=7), k)
        likelihood = case.prior.log_density(x, theta).sum()
        evidence.append(np.sum(case.prior.log_prior(theta)) + likelihood - np.sum(posterior.log_prior(theta)))
    np.testing.assert_allclose(evidence, np.sum(case.prior.log_evidence(statistics)), rtol=1e-9)


def _one_draw(draws: Any, k: int) -> Any:
    return type(draws)(*(part[k] for part in draws)) if hasattr(draws, "_fields") else draws[k]


@cases
def test_updating_twice_is_updating_once(case: Case) -> None:
    x, codes = drawn(case, 5)
    if case.shared:  # the means' pulls are pooled: only one group's order of updates is free
        codes = np.zeros_like(codes)
    first, second = summary(case, x[:15], codes[:15]), summary(case, x[15:], codes[15:])
    at_once = case.prior.posterior(first + second)
    in_turn = case.prior.posterior(first).posterior(second)
    for name in vars(at_once):
        if isinstance(getattr(at_once, name), np.ndarray):
            np.testing.assert_allclose(getattr(in_turn, name), getattr(at_once, name), rtol=1e-10)


@cases
def test_the_mode_is_where_the_posterior_is_highest(case: Case) -> None:
    x, _ = drawn(case, 6)
    posterior = case.prior.posterior(case.prior.statistics(x, Hard.whole(len(x))))
    best = np.sum(posterior.log_prior(posterior.mode()))
    draws = posterior.sample(50, seed=1)
    others = [np.sum(posterior.log_prior(_one_draw(draws, k))) for k in range(50)]
    assert best >= max(others)
    near = [np.sum(posterior.log_prior(_between(posterior.mode(), _one_draw(draws, k), 1e-3))) for k in range(50)]
    assert best >= max(near)


def _between(a: Any, b: Any, share: float) -> Any:
    if hasattr(a, "_fields"):
        return type(a)(*(_between(one, other, share) for one, other in zip(a, b, strict=True)))
    return (1 - share) * np.asarray(a) + share * np.asarray(b)


@cases
def test_maximum_likelihood_is_where_the_likelihood_is_highest(case: Case) -> None:
    x, _ = drawn(case, 8)
    statistics = case.prior.statistics(x, Hard.whole(len(x)))
    best = case.prior.maximum_likelihood(statistics)
    highest = case.prior.log_density(x, best).sum()
    draws = case.prior.posterior(statistics).sample(50, seed=2)
    for k in range(50):
        for share in (1e-3, 1.0):
            assert highest >= case.prior.log_density(x, _between(best, _one_draw(draws, k), share)).sum() - 1e-9


@cases
def test_draws_of_the_parameters_have_the_mean(case: Case) -> None:
    x, _ = drawn(case, 9, 60)
    posterior = case.prior.posterior(case.prior.statistics(x, Hard.whole(len(x))))
    draws, mean = posterior.sample(4000, seed=3), posterior.mean()
    pairs = zip(draws, mean, strict=True) if hasattr(draws, "_fields") else [(draws, mean)]
    for drawn_values, expected in pairs:
        spread = np.std(drawn_values, axis=0) / np.sqrt(4000)
        assert (np.abs(np.mean(drawn_values, axis=0) - expected) <= 5 * spread + 1e-12).all()


@cases
def test_groups_are_what_each_alone_would_be(case: Case) -> None:
    if case.shared:
        pytest.skip("these groups share a covariance on purpose")
    x, codes = drawn(case, 10)
    together = case.prior.posterior(summary(case, x, codes))
    for k in range(GROUPS):
        own = x[codes == k]
        alone = case.prior.posterior(case.prior.statistics(own, Hard.whole(len(own)))[0])
        for name in vars(alone):
            if isinstance(getattr(alone, name), np.ndarray):
                np.testing.assert_allclose(getattr(together.group(k), name), getattr(alone, name), rtol=1e-13)


@cases
def test_intervals_hold_their_mass(case: Case) -> None:
    x, _ = drawn(case, 11)
    posterior = case.prior.posterior(case.prior.statistics(x, Hard.whole(len(x)))[0])
    for marginal in posterior.marginals():
        low, high = marginal.interval(0.9)
        np.testing.assert_allclose(np.asarray(marginal.cdf(high)) - marginal.cdf(low), 0.9, rtol=1e-9)
        shortest = marginal.highest_density(0.9)
        np.testing.assert_allclose(np.asarray(marginal.cdf(shortest[1])) - marginal.cdf(shortest[0]), 0.9, rtol=1e-9)
        assert (np.subtract(*shortest[::-1]) <= np.subtract(high, low) + 1e-12).all()


def test_a_distant_outlier_leaves_no_trace() -> None:
    """After an outlier of 10⁹, plain floats get the second digit of the variance wrong."""
    from credo.core.moments import CrossMoments, Moments

    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2))
    outlier = np.array([[1e9, -3e9]])
    kinds: list[Any] = [Moments, CrossMoments]
    for kind in kinds:
        clean = kind.of(x, Hard.whole(1000))
        dirty = kind.of(np.vstack([x[:500], outlier, x[500:]]), Hard.whole(1001))
        left = dirty.without(kind.of(outlier, Hard.whole(1)))
        assert left is not None
        np.testing.assert_allclose(left.scatter, clean.scatter, rtol=1e-12)


@pytest.mark.slow
def test_thousands_of_cycles_leave_what_a_fresh_fit_gives() -> None:
    from credo.core.moments import Moments

    rng = np.random.default_rng(1)
    x = rng.normal(1e6, 1, (200, 2)) * [1, 1e-3]
    state = Moments.of(x, Hard.whole(len(x)))
    for _ in range(5000):
        some = rng.integers(0, len(x), 3)
        part = Moments.of(x[some] * 1e3, Hard.whole(3))
        after = (state + part).without(part)
        assert after is not None
        state = after
    fresh = Moments.of(x, Hard.whole(len(x)))
    np.testing.assert_allclose(state.scatter, fresh.scatter, rtol=1e-14)
    np.testing.assert_array_equal(state.n.value, fresh.n.value)


def test_what_was_never_seen_cannot_be_taken_away() -> None:
    from credo.core.moments import Moments

    x = np.array([[1.0], [2.0]])
    seen = Moments.of(x, Hard.whole(2))
    assert seen.without(Moments.of(np.array([[1.0], [2.0], [3.0]]), Hard.whole(3))) is None
    assert seen.without(Moments.of(np.array([[1.0], [2.5]]), Hard.whole(2))) is None
    assert seen.without(Moments.of(np.array([[5.0]]), Hard.whole(1))) is None
