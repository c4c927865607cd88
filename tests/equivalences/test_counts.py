"""Sameness claims among beliefs about counts."""

from __future__ import annotations

import numpy as np

import credo


def test_two_categories_are_a_coin() -> None:
    coin = credo.BetaBernoulli(2, 3).update({1: 7, 0: 4})
    pair = credo.DirichletCategorical({0: 3, 1: 2}).update({1: 7, 0: 4})
    assert pair.mean()[1] == coin.mean()
    np.testing.assert_allclose(pair.log_evidence(), coin.log_evidence(), rtol=1e-13)
    np.testing.assert_allclose(pair.interval()[1], coin.interval(), rtol=1e-10)


def test_rows_of_one_trial_are_categories() -> None:
    codes = np.random.default_rng(0).integers(0, 3, 40)
    rows = credo.DirichletMultinomial([1, 2, 3]).update(np.eye(3)[codes])
    values = credo.DirichletCategorical({0: 1, 1: 2, 2: 3}).update(codes)
    np.testing.assert_allclose(list(rows.mean().values()), list(values.mean().values()), rtol=1e-13)
    np.testing.assert_allclose(rows.log_evidence(), values.log_evidence(), rtol=1e-13)


def test_counted_weighted_and_listed_observations_are_the_same() -> None:
    listed = credo.GammaPoisson(1, 1).update([0, 0, 1, 3])
    counted = credo.GammaPoisson(1, 1).update({0: 2, 1: 1, 3: 1})
    weighted = credo.GammaPoisson(1, 1).update([0, 1, 3], weight=[2, 1, 1])
    assert listed.log_evidence() == counted.log_evidence() == weighted.log_evidence()


def test_waits_and_counts_of_one_process_agree() -> None:
    """n waits that last T in all say of the rate what a count of n in a time T does."""
    waits = [0.5, 1.5, 2.0]
    by_waits = credo.GammaExponential(2, 3).update(waits).posterior
    by_count = credo.GammaPoisson(2, 3).update([3], weight=None).posterior
    assert by_waits.marginals()[0].mean() == (2 + 3) / (3 + sum(waits))
    assert by_count.marginals()[0].mean() == (2 + 3) / (3 + 1)


def test_shrinkage_lies_between_the_group_and_the_crowd() -> None:
    rng = np.random.default_rng(1)
    rates, sizes = rng.beta(20, 80, 200), rng.integers(1, 200, 200)
    group = np.repeat(np.arange(200), sizes)
    hit = rng.random(len(group)) < rates[group]
    beliefs = credo.estimate({"g": group, "hit": hit}, "hit", by="g", prior="empirical")
    prior = beliefs.prior.marginals()[0]
    np.testing.assert_allclose(prior.mean(), 0.2, atol=0.02)
    own = beliefs.maximum_likelihood()
    low, high = np.minimum(own, prior.mean()), np.maximum(own, prior.mean())
    assert ((beliefs.mean() >= low) & (beliefs.mean() <= high)).all()
    error = np.abs(beliefs.mean() - rates).mean()
    assert error < 0.8 * np.abs(own - rates).mean()
