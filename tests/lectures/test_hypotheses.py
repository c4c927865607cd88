"""Hypothesis spaces: Bayes' rule, MAP and ML hypotheses, the Bayes-optimal and the Gibbs classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo.errors import CredoError

TEST = {"cancer": 0.98, "healthy": 0.03}
UNEVEN: Any = [0.5, [0.5]]
WORD: Any = "often"


def people() -> credo.Hypotheses:
    return credo.Hypotheses({"cancer": 0.008, "healthy": 0.992})


def test_the_cancer_test() -> None:
    tested = people().update(TEST)
    assert tested.posterior["cancer"] == pytest.approx(0.008 * 0.98 / (0.008 * 0.98 + 0.992 * 0.03), rel=1e-12)
    assert round(tested.posterior["cancer"], 4) == 0.2085
    assert tested.most_probable() == "healthy"
    assert tested.maximum_likelihood() == "cancer"
    assert round(tested.update(TEST)["cancer"], 3) == 0.896
    assert people().total_probability(TEST) == pytest.approx(0.0376)
    assert np.exp(tested.log_evidence()) == pytest.approx(0.0376)


def test_bayes_optimal_and_map_disagree() -> None:
    three = credo.Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
    votes = {"h1": "+", "h2": "-", "h3": "-"}
    assert three.most_probable() == "h1"
    found = three.classify(votes)
    assert found == pytest.approx({"-": 0.6, "+": 0.4})
    assert found.best == "-"
    assert three.classify(np.array(["+", "-", "-"])) == pytest.approx(found)
    assert three.classify(["+", "-", "-"]) == pytest.approx(found)
    assert three.classify(lambda h: votes[h]) == pytest.approx(found)
    doubtful = {"h1": {"+": 1.0}, "h2": {"+": 0.1, "-": 0.9}, "h3": {"-": 1.0}}
    assert three.classify(doubtful) == pytest.approx({"-": 0.57, "+": 0.43})


def test_gibbs_follows_the_posterior() -> None:
    three = credo.Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
    drawn = [three.gibbs({"h1": "+", "h2": "-", "h3": "-"}, seed=seed) for seed in range(2000)]
    assert drawn.count("+") / 2000 == pytest.approx(0.4, abs=0.035)
    assert three.gibbs(["+", "-", "-"], seed=3) == three.gibbs({"h1": "+", "h2": "-", "h3": "-"}, seed=3)


def test_gibbs_errs_at_most_twice_as_often() -> None:
    """Targets drawn from the prior: thresholds on a line, learned from a few labelled points."""
    rng = np.random.default_rng(0)
    thresholds = np.arange(11)
    errors = {"optimal": 0, "gibbs": 0}
    for run in range(1500):
        target = rng.choice(thresholds)
        x = rng.integers(0, 11, size=2)
        space = credo.Hypotheses(thresholds)
        for each in x:
            space = space.update((each >= thresholds) == (each >= target))
        new = rng.integers(0, 11)
        votes = new >= thresholds
        errors["optimal"] += space.classify(votes).best != (new >= target)
        errors["gibbs"] += space.gibbs(votes, seed=run) != (new >= target)
    assert 0 < errors["optimal"] <= errors["gibbs"] <= 2 * errors["optimal"]


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.integers(0, 10**6))
def test_order_does_not_matter_and_data_add(prior: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.array(prior) / sum(prior)
    space = credo.Hypotheses(list(range(len(p))), p)
    likelihoods = rng.random((4, len(p)))
    by_hand = p * likelihoods.prod(0)
    one = space
    for each in likelihoods:
        one = one.update(each)
    np.testing.assert_allclose(one.probabilities, by_hand / by_hand.sum(), rtol=1e-12)
    half = space.update(likelihoods[3]).update(likelihoods[1])
    other = space.update(likelihoods[0]).update(likelihoods[2])
    np.testing.assert_allclose((half + other).probabilities, one.probabilities, rtol=1e-12)
    back = one.forget(likelihoods[2]).forget(likelihoods[3])
    np.testing.assert_allclose(back.probabilities, space.update(likelihoods[0]).update(likelihoods[1]).probabilities)


def test_what_was_impossible_can_be_forgotten() -> None:
    space = credo.Hypotheses(["a", "b"])
    ruled_out = space.update([0.0, 0.5])
    assert ruled_out.posterior == {"a": 0.0, "b": 1.0}
    assert ruled_out.forget([0.0, 0.5]).posterior == {"a": 0.5, "b": 0.5}


def test_functions_over_data() -> None:
    """A coin of unknown bias, on a grid: the Beta posterior, as the grid becomes fine."""
    flips = [1, 1, 0, 1, 1, 1, 0]

    def likelihood(flip: int, bias: Any) -> Any:
        return bias if flip else 1 - bias

    grid = credo.Hypotheses(np.linspace(0, 1, 20_001)).update(likelihood, flips)
    exact = credo.BetaBernoulli(1, 1).update(flips)
    assert grid.most_probable() == pytest.approx(exact.mode(), abs=1e-4)
    assert grid.probability(lambda bias: bias > 0.5) == pytest.approx(
        1 - exact.posterior.marginals()[0].cdf(0.5), abs=1e-3
    )
    few = credo.Hypotheses([0.2, 0.5, 0.9]).update(likelihood, flips)
    many = credo.Hypotheses(np.array([0.2, 0.5, 0.9])).update(likelihood, flips)
    np.testing.assert_array_equal(few.probabilities, many.probabilities)
    assert few.n == 7


def test_a_million_hypotheses() -> None:
    space = credo.Hypotheses(np.arange(1_000_000)).update(lambda d, h: np.where(h % d == 0, 1.0, 0.0), [2, 3, 5])
    assert space.probability(lambda h: h % 30 == 0) == pytest.approx(1)
    assert space.classify(np.arange(1_000_000) % 60 == 0)[True] == pytest.approx(0.5, abs=1e-4)


def test_a_mapping_of_many_likelihoods_takes_one_look_each() -> None:
    names = [f"h{i}" for i in range(200_000)]
    space = credo.Hypotheses(dict.fromkeys(names, 1 / len(names))).update(dict.fromkeys(names, 0.5))
    assert space["h7"] == pytest.approx(1 / len(names))


def test_the_posterior_evolves() -> None:
    evolution = people().evolution([TEST, TEST])
    assert len(evolution) == 3
    assert evolution[0] == pytest.approx({"cancer": 0.008, "healthy": 0.992})
    assert evolution[1]["cancer"] == pytest.approx(0.2085, abs=1e-4)
    assert evolution.table().column_names == ["data", "cancer", "healthy"]
    flips = credo.Hypotheses([0.2, 0.8]).evolution([1, 1, 0], lambda flip, bias: bias if flip else 1 - bias)
    assert flips[3][0.8] == pytest.approx(0.8)
    assert len(flips.plot().axes) == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: credo.Hypotheses({}), "no hypotheses"),
        (lambda: credo.Hypotheses({"a": 0.5, "b": 0.6}), "sum to 1, but sums to 1.1"),
        (lambda: credo.Hypotheses({"a": -0.5, "b": 1.5}), "between 0 and 1"),
        (lambda: credo.Hypotheses(["a", "a"]), "'a' is given twice"),
        (lambda: credo.Hypotheses(np.array([3, 1, 3])), "two hypotheses are the same"),
        (lambda: credo.Hypotheses([["a"], ["b"]]), "hashable"),
        (lambda: credo.Hypotheses(["a", "b"], prior={"a": 1.0}), "no prior for 'b'"),
        (lambda: credo.Hypotheses(["a", "b"], prior=[1.0]), "2 hypotheses"),
        (lambda: people().update({"cancer": 0.5}), "no likelihood for 'healthy'"),
        (lambda: people().update({**TEST, "heathy": 0.5}), "'heathy'.*healthy"),
        (lambda: people().update([0.5]), "each of 2 hypotheses"),
        (lambda: people().update([0.5, -0.1]), "'healthy' is -0.1"),
        (lambda: people().update([0.5, np.nan]), "'healthy' is nan"),
        (lambda: people().update([0.0, 0.0]), "impossible"),
        (lambda: people().update("often"), "must be numbers, but are 'often'"),
        (lambda: people().update(UNEVEN), "must be numbers"),
        (lambda: people().update(max), "needs data"),
        (lambda: people().update(TEST, [1]), "function"),
        (lambda: people().forget(TEST), "weren't learned"),
        (lambda: people().maximum_likelihood(), "without data"),
        (lambda: people()["flu"], "'flu'"),
        (lambda: people().classify({"cancer": "+"}), "no vote of 'healthy'"),
        (lambda: people().classify(["+"]), "each of 2 hypotheses"),
        (lambda: people().classify({"cancer": {"+": 0.5}, "healthy": "-"}), "sum to 0.5"),
        (lambda: people().gibbs(["+", "-"], seed=-1), "seed"),
        (lambda: people() + credo.Hypotheses(["a"]), "different hypotheses"),
        (lambda: people() + credo.Hypotheses(["cancer", "healthy"]), "different priors"),
        (lambda: credo.sum_rule(0.5, 0.5, 0.6), "above"),
        (lambda: credo.sum_rule(0.9, 0.9, 0.1), "above 1"),
        (lambda: credo.product_rule(1.5, 0.5), "between 0 and 1"),
        (lambda: credo.total_probability([0.5], [0.5]), "sum to 1"),
        (lambda: credo.total_probability([0.5], [0.5, 0.5]), "each case"),
        (lambda: credo.total_probability({"a": 0.5}, {"b": 1.0}), "the same names"),
        (lambda: credo.total_probability({"a": 0.5}, [1.0]), "the same names"),
        (lambda: credo.product_rule(WORD, 0.5), "must be a number between 0 and 1, but is 'often'"),
        (lambda: credo.bayes_rule(0.0, 1.0, 0.0), "impossible"),
    ],
)
def test_bad_input_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(CredoError, match=message):
        wrong()


def test_the_rules_agree_with_the_hypotheses() -> None:
    assert credo.bayes_rule(0.008, likelihood=0.98, otherwise=0.03) == pytest.approx(people().update(TEST)["cancer"])
    assert credo.total_probability([0.98, 0.03], [0.008, 0.992]) == pytest.approx(people().total_probability(TEST))
    by_name = credo.total_probability(TEST, {"healthy": 0.992, "cancer": 0.008})
    assert by_name == pytest.approx(people().total_probability(TEST))
    assert credo.sum_rule(0.5, 0.5, credo.product_rule(0.5, 0.5)) == 0.75


def test_the_repr_shows_the_most_probable_first() -> None:
    assert repr(people().update(TEST)).splitlines() == [
        "2 hypotheses, after 1 observation", "  healthy: 0.7915", "  cancer: 0.2085",
    ]  # fmt: skip
    assert "... 95 more" in repr(credo.Hypotheses(range(100)))
