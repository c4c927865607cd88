"""Priors outside their domain, and rows that can't be forgotten: refused in a sentence, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import EvidenceError
from credo.families import FAMILIES, Family
from tests.hostile.refusals import read_or_refused, refused

NEVER = "can't forget what was never learned"
NAN = float("nan")


# Priors

OUTSIDE: list[tuple[Any, tuple[Any, ...], str]] = [
    (credo.BetaBernoulli, (0, 1), "a must be positive, but is 0"),
    (credo.BetaBernoulli, (1, -2), "b must be positive, but is -2"),
    (credo.BetaBernoulli, (NAN, 1), "a must be positive, but is nan"),
    (credo.BetaBernoulli, (float("inf"), 1), "a must be positive, but is inf"),
    (credo.BetaBernoulli, ("two", 1), "a must be positive, but is 'two'"),
    (credo.BetaBernoulli, (None, 1), "a must be positive, but is"),
    (
        credo.DirichletCategorical,
        ([1, 2], ("a", "b", "c")),
        "one concentration for each of the 3 values, but there are 2",
    ),
    (credo.DirichletCategorical, (0,), "concentration must be positive, but is 0"),
    (credo.DirichletCategorical, ({"a": 1, "b": -1},), "concentration must be positive, but is -1"),
    (credo.DirichletCategorical, ({"a": 1, 2: 1},), "values must be of one type, but are int and str"),
    (credo.DirichletCategorical, ({},), "there must be at least one value"),
    (credo.DirichletMultinomial, ([1, 0],), "concentration must be positive, but is 0"),
    (credo.GammaPoisson, (0, 1), "shape must be positive, but is 0"),
    (credo.GammaPoisson, (1, -1), "rate must be positive, but is -1"),
    (credo.GammaExponential, (-1, 1), "shape must be positive, but is -1"),
    (credo.GammaExponential, (1, NAN), "rate must be positive, but is nan"),
    (credo.NormalMean, (NAN, 1, 1), "must be a number, but is nan"),
    (credo.NormalMean, (0, -1, 1), "sd must be 0 or more, but is -1"),
    (credo.NormalMean, (0, 1, 0), "noise_sd must be positive, but is 0"),
    (credo.NormalInverseGamma, (0, 0, 1, 1), "strength must be positive, but is 0"),
    (credo.NormalInverseGamma, (0, 1, -1, 1), "shape must be positive, but is -1"),
    (credo.NormalInverseGamma, (0, 1, 1, 0), "scale must be positive, but is 0"),
    (credo.NormalInverseGamma, (float("inf"), 1, 1, 1), "must be a number, but is inf"),
    (credo.NormalInverseWishart, ([0, 0], 0, 4, 1), "strength must be positive, but is 0"),
    (credo.NormalInverseWishart, ([0, 0], 1, 1, 1), "degrees must be more than 1 for 2 columns, but is 1"),
    (credo.NormalInverseWishart, ([0, 0], 1, 4, [[1, 2], [2, 1]]), "scale must be"),
    (credo.NormalInverseWishart, ([0, NAN], 1, 4, 1), "must be numbers, but is nan"),
    (credo.ParetoUniform, (0, 1), "scale must be positive, but is 0"),
    (credo.ParetoUniform, (1, -3), "shape must be positive, but is -3"),
    (credo.LinearGaussian, (0, -1), "precision must be"),
    (credo.LinearGaussian, (0, 1, 0), "shape must be positive, but is 0"),
    (credo.LinearGaussian, (0, 1, 1, -1), "scale must be positive, but is -1"),
]
SIZES = {family.__name__: len(numbers) for family, numbers, _ in OUTSIDE}


@pytest.mark.parametrize(("family", "numbers", "says"), OUTSIDE, ids=lambda part: str(part)[-30:])
def test_priors_outside_their_domain(family: Any, numbers: tuple[Any, ...], says: str) -> None:
    assert says in refused(family, *numbers)


def test_every_family_is_tried() -> None:
    assert set(SIZES) == set(FAMILIES)


def test_priors_that_arent() -> None:
    for prior in ("flat", 3, [1, 1]):
        text = refused(credo.estimate, {"x": [1, 0]}, "x", prior=prior)
        assert "prior must be a family (such as BetaBernoulli(1, 1)), 'default' or 'empirical', but is" in text


def test_a_value_that_the_prior_doesnt_know() -> None:
    prior = credo.DirichletCategorical({"red": 1, "blue": 2})
    text = refused(prior.update, ["red", "blu"])
    assert text == "the prior has no concentration for 'blu'; known: red, blue. Did you mean 'blue'?"
    assert "the prior has no concentration for" in refused(prior.update, [1, 2])


def test_priors_that_differ_dont_merge() -> None:
    a, b = credo.BetaBernoulli(1, 1).update([1]), credo.BetaBernoulli(2, 1).update([1])
    assert "these don't merge: the priors differ" in refused(a.merge, b)
    x = {"g": ["a", "b"], "x": [1, 0]}
    first, second = (credo.estimate(x, "x", by="g", prior=credo.BetaBernoulli(n, 1)) for n in (1, 2))
    assert "these don't merge" in refused(first.merge, second)


# Forgetting

LEARNED: dict[str, tuple[Family, list[Any], Any]] = {  # and a row that was never among them
    "coin": (credo.BetaBernoulli(1, 1), [1, 1, 1], 0),
    "values": (credo.DirichletCategorical(1), ["a", "b", "a"], "c"),
    "counts": (credo.GammaPoisson(1, 1), [1, 2, 2], 9),
    "waits": (credo.GammaExponential(1, 1), [0.5, 1.5], 9.0),
    "mean": (credo.NormalMean(0, 1, 1), [1.5, 1.25, 2.0], 50.0),
    "normal": (credo.NormalInverseGamma(0, 1, 1, 1), [1.5, 1.25, 2.0], 50.0),
}


def same(one: Any, other: Any) -> bool:
    """Whether two beliefs hold the same evidence, to the last bit."""
    mine, its = one.evidence, other.evidence
    schemas = [[(c.name, c.kind, c.values) for c in evidence.schema] for evidence in (mine, its)]
    sums = [[x.value for part in evidence.parts.values() for x in part.statistics.sums] for evidence in (mine, its)]
    return schemas[0] == schemas[1] and all(map(np.array_equal, *sums))


@pytest.mark.parametrize("case", LEARNED)
def test_rows_never_seen_arent_forgotten(case: str) -> None:
    prior, rows, other = LEARNED[case]
    belief = prior.update(rows)
    before = repr(belief)
    for never in ([other], rows + rows, [*rows, other]):
        assert NEVER in refused(belief.forget, never)
    assert NEVER in refused(belief.forget, rows[:1], weight=[1.5 * len(rows)])
    assert repr(belief) == before
    assert same(belief, prior.update(rows))
    assert same(belief.forget(rows[:1]), prior.update(rows[1:]))


@pytest.mark.parametrize("case", LEARNED)
def test_another_value_as_often(case: str) -> None:
    """As many rows, but not those: what would be left is no rows with something in them."""
    prior, rows, other = LEARNED[case]
    assert NEVER in refused(prior.update(rows).forget, [other] * len(rows))


def test_another_group_or_value_isnt_forgotten() -> None:
    data = {"g": ["a", "a", "b"], "x": [1.5, 2.5, 3.5]}
    beliefs = credo.estimate(data, "x", by="g", prior=credo.NormalInverseGamma(0, 1, 1, 1))
    before = beliefs.table()
    assert "column 'g' has no 'c'" in refused(beliefs.forget, {"g": ["c"], "x": [1.5]})
    assert NEVER in refused(beliefs.forget, {"g": ["b"], "x": [1.5]})
    assert NEVER in refused(beliefs.forget, {"g": ["b", "b"], "x": [3.5, 3.5]})
    assert NEVER in refused(beliefs.forget, {"g": [None], "x": [3.5]})
    assert "no column 'g'" in refused(beliefs.forget, {"x": [3.5]})
    assert beliefs.table().equals(before)


def test_the_only_row_of_a_level_takes_it_along() -> None:
    sky = credo.DirichletCategorical(1).update(["sun", "fog", "sun", "rain"])
    assert same(sky.forget(["fog"]), credo.DirichletCategorical(1).update(["sun", "sun", "rain"]))
    assert set(sky.forget(["fog"]).mean()) == {"rain", "sun"}
    declared = credo.DirichletCategorical({"sun": 1, "fog": 1, "rain": 1}).update(["sun", "fog"])
    assert set(declared.forget(["fog"]).mean()) == {"sun", "fog", "rain"}

    data = {"g": ["a", "b", "a"], "x": [1.5, 2.5, 3.5]}
    for prior in ("default", credo.NormalInverseGamma(0, 1, 1, 1)):
        every = credo.estimate(data, "x", by="g", prior=prior)
        without = credo.estimate({"g": ["a", "a"], "x": [1.5, 3.5]}, "x", by="g", prior=prior)
        left = every.forget({"g": ["b"], "x": [2.5]})
        assert same(left, without)
        assert left.table().equals(without.table())


def test_everything_may_be_forgotten() -> None:
    for prior, rows, _ in LEARNED.values():
        left = prior.update(rows).forget(rows)
        assert left.n == 0
        assert repr(left.posterior) == repr(prior.update(rows[:0] or [None]).posterior)
        assert same(left.update(rows), prior.update(rows))


def test_nothing_to_forget() -> None:
    text = refused(credo.BetaBernoulli(1, 1).belief().forget, [1])
    assert text == "there is nothing to forget: no rows were learned yet"


def test_a_maximum_isnt_forgotten() -> None:
    uniform = credo.ParetoUniform(1, 1).update([2.0, 4.0])
    text = refused(uniform.forget, [2.0])
    assert text.startswith("a maximum can't be unlearned")
    assert "Refit without those rows" in text
    with pytest.raises(EvidenceError):
        uniform.forget([4.0])
    assert same(uniform, credo.ParetoUniform(1, 1).update([2.0, 4.0]))


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=4),
)
@settings(deadline=None, max_examples=100)
def test_what_is_forgotten_was_learned(rows: list[tuple[str, int]], others: list[tuple[str, int]]) -> None:
    """Of categories by group: exactly the rows that were learned can be forgotten, whatever is asked."""

    def table(pairs: list[tuple[str, int]]) -> dict[str, list[Any]]:
        return {"g": [g for g, _ in pairs], "x": [f"v{x}" for _, x in pairs]}

    prior = credo.DirichletCategorical(1)
    beliefs = credo.estimate(table(rows), "x", by="g", prior=prior)
    if not Counter(others) <= Counter(rows):
        assert NEVER in refused(beliefs.forget, table(others))
        return
    left = list((Counter(rows) - Counter(others)).elements())
    kept = beliefs.forget(table(others))
    assert kept.rows.sum() == len(left)
    assert not left or same(kept, credo.estimate(table(left), "x", by="g", prior=prior))


# Other numbers


def test_discounts_and_masses() -> None:
    belief = credo.BetaBernoulli(1, 1).update([1, 0])
    for factor in (0, -1, 1.5, NAN):
        assert "a discount must be above 0 and at most 1, but is" in refused(belief.discount, factor)
    for mass in (0, 1, -0.5, 95, NAN):
        assert "between 0 and 1" in refused(belief.interval, mass)


def test_counts_given_as_a_mapping() -> None:
    coin = credo.BetaBernoulli(1, 1)
    assert "a weight must be 0 or more" in refused(coin.update, {1: -3, 0: 2})
    assert "a weight must be 0 or more" in refused(coin.update, {1: NAN, 0: 2})
    assert "where yes or no is needed" in refused(coin.update, {"heads": 3, "tails": 2})
    assert "counts are weights already" in refused(coin.update, {1: 3, 0: 2}, weight=[1, 1])
    assert "empty" in refused(coin.update, {})


@given(st.sampled_from(sorted(SIZES)), st.lists(st.floats() | st.integers(-3, 3), min_size=4, max_size=4))
@settings(deadline=None, max_examples=200)
def test_any_numbers_make_a_prior_or_are_refused(family: str, numbers: list[float]) -> None:
    read_or_refused(FAMILIES[family], *numbers[: SIZES[family]])


def test_the_only_column_needs_no_name() -> None:
    assert credo.estimate([19.9, 20.5]).mean() == credo.estimate([19.9, 20.5], "x").mean()
    with pytest.raises(credo.DataError, match="must be a name"):
        credo.estimate({"a": [1.5], "b": [2.5]})


def test_one_value_alone_is_told() -> None:
    """A distribution over one value has probability 1: that is an assumption, not what the rows say."""
    with pytest.warns(credo.Notice, match="a single value, 'red'.*levels="):
        assert credo.estimate({"x": ["red", "red"]}, "x").mean() == {"red": 1.0}
