"""update, merge, forget, discount and cross_validate through the public names, over every family."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo import engines
from credo.core.learning import cross_validate
from credo.errors import DataError, EvidenceError, SchemaError
from credo.estimation.belief import Belief
from tests.laws.cases import CASES, Case

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def data(case: Case, seed: int, n: int = 30) -> Any:
    return case.draw(np.random.default_rng(seed), n)


def assert_same(a: Belief, b: Belief) -> None:
    for name in vars(a.posterior):
        one, other = getattr(a.posterior, name), getattr(b.posterior, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        else:
            assert one == other
    np.testing.assert_allclose(a.log_evidence(), b.log_evidence(), rtol=1e-12)


@cases
def test_streams_merges_and_whole_agree(case: Case) -> None:
    x = data(case, 1)
    whole = case.belief.update(x)
    streamed = case.belief.update(x[:7]).update(x[7:])
    merged = case.belief.update(x[7:]) + case.belief.update(x[:7])
    assert_same(streamed, whole)
    assert_same(merged, whole)
    assert whole.n == len(x)


@cases
def test_forget_gives_what_never_saw_the_rows(case: Case) -> None:
    if not case.forgets:
        pytest.skip("a maximum has no subtraction: see tests/hostile")
    x = data(case, 2)
    assert_same(case.belief.update(x).forget(x[:11]), case.belief.update(x[11:]))


@cases
def test_discount_scales_the_evidence(case: Case) -> None:
    x = data(case, 3)
    weighted = case.belief.update(x, weight=np.full(len(x), 0.5))
    assert_same(case.belief.update(x).discount(0.5), weighted)


@cases
def test_the_old_belief_is_unchanged(case: Case) -> None:
    x = data(case, 4)
    belief = case.belief.update(x)
    before = repr(belief)
    belief.update(x)
    belief.discount(0.5)
    if case.forgets:
        belief.forget(x[:3])
    assert repr(belief) == before


@cases
def test_cross_validation_equals_refitting(case: Case) -> None:
    x = data(case, 5, 40)
    report = case.belief.cross_validate(x, folds=4, seed=3)
    for k in range(4):
        inside = report.folds == k
        refitted = case.belief.update(x[~inside])
        np.testing.assert_allclose(report.log_probabilities[inside], refitted.log_prob(x[inside]), rtol=1e-9)
    assert report.log_loss == -report.log_probabilities.mean()


def test_priors_that_differ_do_not_merge() -> None:
    with pytest.raises(EvidenceError, match="priors differ"):
        credo.BetaBernoulli(1, 1).update([1]) + credo.BetaBernoulli(2, 2).update([1])


words = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["u", "v", None, "w"])), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(rows=words, cut=st.integers(0, 30))
def test_grouped_beliefs_keep_the_laws(rows: list[tuple[str, str | None]], cut: int) -> None:
    cut = min(cut, len(rows) - 1)

    def table(part: list[tuple[str, str | None]]) -> dict[str, list[Any]]:
        return {"g": [g for g, _ in part], "x": [x for _, x in part]}

    def fit(part: list[tuple[str, str | None]]) -> credo.Beliefs:
        beliefs = credo.estimate(table(part), "x", by="g", prior=credo.DirichletCategorical(1))
        assert isinstance(beliefs, credo.Beliefs)
        return beliefs

    whole = fit(rows)
    if cut:
        assert (fit(rows[cut:]) + fit(rows[:cut])).table() == whole.table()
        assert whole.forget(table(rows[:cut])).table() == fit(rows[cut:]).table()
    assert fit(rows[::-1]).table() == whole.table()


def test_a_grouped_belief_is_the_belief_of_the_group() -> None:
    rng = np.random.default_rng(0)
    table = {"g": rng.integers(0, 5, 200), "x": rng.normal(size=200)}
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    beliefs = credo.estimate(table, "x", by="g", prior=prior)
    for g in range(5):
        assert_same(beliefs[g], prior.update(table["x"][table["g"] == g]))


def test_grouped_cross_validation_equals_refitting() -> None:
    rng = np.random.default_rng(1)
    table = {"g": rng.integers(0, 3, 60), "x": rng.integers(0, 2, 60)}
    beliefs = credo.estimate(table, "x", by="g", prior=credo.BetaBernoulli(1, 1))
    report = cross_validate(beliefs, table, folds=5)
    for k in range(5):
        inside = report.folds == k
        others, held_out = ({n: v[rows] for n, v in table.items()} for rows in (~inside, inside))
        refitted = credo.estimate(others, "x", by="g", prior=credo.BetaBernoulli(1, 1))
        np.testing.assert_allclose(report.log_probabilities[inside], refitted.log_prob(held_out), rtol=1e-12)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_results_do_not_depend_on_the_workers(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(1e6, 1, 300_000)
    monkeypatch.setenv("CREDO_THREADS", "1")
    one = credo.NormalInverseGamma(0, 1, 1, 1).update(x)
    monkeypatch.setenv("CREDO_THREADS", threads)
    many = credo.NormalInverseGamma(0, 1, 1, 1).update(x)
    assert many.log_evidence() == one.log_evidence()


@pytest.mark.parametrize("factor", [1e-6, 1000.0])
@pytest.mark.parametrize("prior", ["default", "empirical"])
def test_the_units_do_not_matter_to_priors_that_are_found(factor: float, prior: Any) -> None:
    rng = np.random.default_rng(3)
    group = rng.integers(0, 6, 300)
    x = rng.normal(5 + group, 2)
    plain = credo.estimate({"g": group, "x": x}, "x", by="g", prior=prior)
    scaled = credo.estimate({"g": group, "x": x * factor}, "x", by="g", prior=prior)
    np.testing.assert_allclose(scaled.mean().mean, plain.mean().mean * factor, rtol=1e-4)
    np.testing.assert_allclose(scaled.mean().variance, plain.mean().variance * factor**2, rtol=1e-3)


def test_estimate_stays_a_function_whatever_is_imported() -> None:
    assert credo.Beliefs.__name__ == "Beliefs"
    assert callable(credo.estimate)


def test_priors_differ_in_any_digit() -> None:
    a, b = credo.NormalInverseWishart([0, 0], 1, 3, 1), credo.NormalInverseWishart([0, 0], 1, 3, 50)
    assert a == credo.NormalInverseWishart([0, 0], 1, 3, 1)
    assert a != b
    with pytest.raises(EvidenceError, match="priors differ"):
        a.update([[1.0, 2.0]]) + b.update([[1.0, 2.0]])


def test_a_value_of_the_held_out_rows_alone_is_no_certainty() -> None:
    report = credo.DirichletCategorical(1).cross_validate([f"v{i}" for i in range(40)], folds=4)
    assert report.log_loss > 3  # each of 40 values was foreseen with about 1/70


def test_a_default_prior_knows_the_scale_without_groups_too() -> None:
    belief = credo.estimate({"b": [1000.0, 2000.0, 3000.0]}, "b")
    assert belief.mean().mean == 2000
    kinds = {"b": "number"}  # one or two whole numbers would be a category
    parts = [credo.estimate({"b": part}, "b", kinds=kinds) for part in ([1000.0], [2000.0, 3000.0])]
    assert (parts[0] + parts[1]).posterior == belief.posterior


def test_one_number_is_compared_with_too() -> None:
    coin = credo.BetaBernoulli(1, 1)
    assert coin.update({1: 1, 0: 1}).probability_greater(0.5) == 0.5
    np.testing.assert_allclose(coin.update([1]).probability_greater(0.5), 0.75)


def test_a_column_of_weights_is_not_data() -> None:
    table = {"x": [1, 0], "w": [3, 1]}
    assert credo.BetaBernoulli(1, 1).update(table, weight="w").mean() == 4 / 6


def test_groups_that_are_alike_make_no_endless_prior() -> None:
    table = {"g": ["a", "a", "b", "b"] * 10, "x": [1, 0, 1, 0] * 10}
    prior: Any = credo.estimate(table, "x", by="g", prior="empirical").prior
    assert prior.a + prior.b <= 40.0001


def test_features_may_go_by_their_names() -> None:
    line = credo.LinearRegression(precision=1e-9).update({"x": [1, 2, 3], "y": [3, 5, 7]}, target="y")
    by_name, by_place = line.predictive({"x": 4}), line.predictive([4])
    assert by_name.mean() == by_place.mean()
    assert by_name.mean() == pytest.approx(9)
    assert np.shape(line.predictive({"x": [4, 5]}).mean()) == (2,)


def test_missing_observations_are_not_foreseen() -> None:
    flips = [1, 0, 1, 1, 0, 0, 1, 0]
    known = credo.BetaBernoulli(1, 1).update(flips).log_prob([1, None, 0])
    assert np.isnan(known).tolist() == [False, True, False]
    report = credo.BetaBernoulli(1, 1).cross_validate(flips * 5 + [None] * 60, folds=4)
    assert 0.6 < report.log_loss < 0.8


def test_scoring_many_groups_does_not_take_for_ever() -> None:
    rng = np.random.default_rng(5)
    table = {"g": rng.integers(0, 5000, 20_000), "x": rng.integers(0, 2, 20_000)}
    beliefs = credo.estimate(table, "x", by="g", prior=credo.BetaBernoulli(1, 1))
    scores = beliefs.log_prob({"g": [*table["g"][:3], 9999], "x": [*table["x"][:3], 1]})
    np.testing.assert_allclose(scores[3], np.log(0.5))
    for g, x, score in zip(table["g"][:3], table["x"][:3], scores, strict=False):
        np.testing.assert_allclose(score, beliefs[int(g)].predictive().log_prob(int(x)))
    assert len(beliefs.log_prob(table)) == 20_000


def test_a_group_column_may_be_called_anything() -> None:
    beliefs = credo.estimate({"rows": ["a", "b"], "x": [1, 0]}, "x", by="rows", prior=credo.BetaBernoulli(1, 1))
    assert beliefs.table()["rows"].to_pylist() == ["a", "b"]
    assert beliefs.table()["rows_"].to_pylist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["rows", "(rows)", "(rows without a group)"])
def test_what_is_estimated_may_be_called_rows(name: str) -> None:
    beliefs = credo.estimate({"g": ["a", "a", "b"], name: [1, 0, 1]}, name, by="g", prior=credo.BetaBernoulli(1, 1))
    assert beliefs.rows.tolist() == [2.0, 1.0]
    assert beliefs.mean().tolist() == [0.5, 2 / 3]


def test_columns_go_by_name_not_by_place() -> None:
    joint = credo.NormalInverseWishart([0, 0], 1, 4, 1).update({"a": [1.0, 2.0], "b": [100.0, 90.0]})
    turned = joint.update({"b": [80.0], "a": [3.0]})
    assert_same(turned, credo.NormalInverseWishart([0, 0], 1, 4, 1).update({"a": [1.0, 2, 3], "b": [100.0, 90, 80]}))
    votes = credo.DirichletMultinomial({"a": 1, "b": 1}).update({"b": 0, "a": 9})
    assert votes.mean()["a"] == 10 / 11
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    y = x @ [2.0, -1.0]
    line = credo.LinearRegression(precision=1e-6).update({"u": x[:10, 0], "v": x[:10, 1], "y": y[:10]}, target="y")
    line = line.update({"y": y[10:], "v": x[10:, 1], "u": x[10:, 0]})
    np.testing.assert_allclose(line.mean().weights, [0, 2, -1], atol=1e-5)
    with pytest.raises(EvidenceError, match="columns differ"):
        joint + credo.NormalInverseWishart([0, 0], 1, 4, 1).update({"c": [1.0], "d": [2.0]})


def test_a_prior_of_another_width_is_refused() -> None:
    with pytest.raises(SchemaError, match="2 columns, but the table has 1"):
        credo.NormalInverseWishart([0, 0], 1, 4, 1).update([1.0, 2.0])
    with pytest.raises(SchemaError, match="3 columns, but the table has 2"):
        credo.DirichletMultinomial([1, 1, 1]).update([[1, 2]])


def test_success_does_not_change_midway() -> None:
    won = credo.BetaBernoulli(1, 1).update(["won", "lost"], success="won")
    with pytest.raises(EvidenceError, match="can't count"):
        won.update(["lost"], success="lost")
    with pytest.raises(EvidenceError, match="counts as success"):
        won + credo.BetaBernoulli(1, 1).update(["won"], success="lost")


def test_weight_nought_is_no_row() -> None:
    prior = credo.DirichletCategorical(1)
    assert_same(prior.update(["a", "b", "c"], weight=[1, 0, 1]), prior.update(["a", "c"]))


def test_least_squares_far_from_nought() -> None:
    rng = np.random.default_rng(2)
    x = 1e4 + np.arange(10.0)
    y = 3 * x + rng.normal(size=10)
    line = credo.LinearRegression().update({"x": x, "y": y}, target="y").maximum_likelihood()
    slope, intercept = np.polyfit(x - x.mean(), y, 1)
    np.testing.assert_allclose(line.weights, [intercept - slope * x.mean(), slope], rtol=1e-9)


def test_the_next_row_of_counts() -> None:
    belief = credo.DirichletMultinomial([1.0, 2.0, 3.0]).update([[3, 1, 1], [0, 2, 4]])
    row = belief.predictive(5)
    rows = np.array([[a, b, 5 - a - b] for a in range(6) for b in range(6 - a)])
    mass = np.exp(row.log_prob(rows))
    np.testing.assert_allclose(mass.sum(), 1)
    np.testing.assert_allclose(row.mean(), mass @ rows)
    np.testing.assert_allclose(row.variance(), mass @ (rows - row.mean()) ** 2)
    low, high = row.interval(0.9)
    for j in range(3):
        reached = np.cumsum(np.bincount(rows[:, j], mass, 6))
        assert low[j] == np.searchsorted(reached, 0.05)
        assert high[j] == np.searchsorted(reached, 0.95)
    assert row.sample(100, seed=0).sum(axis=1).tolist() == [5.0] * 100


def test_equal_certainties_are_not_greater() -> None:
    sure = credo.NormalMean(1, 0, 1).belief()
    assert sure.probability_greater(sure) == 0


def test_a_broad_prior_stays_a_number() -> None:
    broad = credo.NormalMean(0, 1e160, 1).update([1.0, 3.0])
    assert broad.mean() == 2
    assert np.isfinite(broad.log_evidence())


def test_bayes_factors_weigh_what_was_foreseen() -> None:
    flips = {1: 60, 0: 40}
    fair, loaded = credo.BetaBernoulli(1e9, 1e9).update(flips), credo.BetaBernoulli(1, 1).update(flips)
    # (1/101) / (C(100, 60) / 2^100)
    np.testing.assert_allclose(credo.bayes_factor(loaded, fair), 1 / 101 / 0.010843866711637989, rtol=1e-5)
    with pytest.raises(EvidenceError, match="same observations"):
        credo.bayes_factor(fair, credo.BetaBernoulli(1, 1).update({1: 1}))


def test_an_empirical_prior_is_where_the_evidence_is_highest() -> None:
    rng = np.random.default_rng(4)
    group = rng.integers(0, 40, 800)
    table = {"g": group, "x": rng.random(800) < rng.beta(3, 9, 40)[group]}
    beliefs = credo.estimate(table, "x", by="g", prior="empirical")
    best, prior = beliefs.log_evidence(), cast(Any, beliefs.prior)
    for a, b in ((1.02, 1), (0.98, 1), (1, 1.02), (1, 0.98), (1.05, 1.05), (0.95, 0.95)):
        other = credo.BetaBernoulli(prior.a * a, prior.b * b)
        assert credo.estimate(table, "x", by="g", prior=other).log_evidence() < best


@cases
def test_every_belief_can_be_drawn_and_shown(case: Case) -> None:
    belief = case.belief.update(data(case, 6, 40))
    assert len(belief.plot().axes) >= 1
    assert "<table" in belief._repr_html_()
    assert f"after {len(data(case, 6, 40))} observations" in repr(belief)


def test_several_columns_come_from_one_pass() -> None:
    rows = ({"a": i % 2, "b": float(i)} for i in range(10))
    found = credo.estimate(rows, ["a", "b"], prior=credo.NormalInverseGamma(0, 1, 1, 1))
    assert {name: belief.n for name, belief in found.items()} == {"a": 10, "b": 10}


def test_learning_runs_on_any_engine() -> None:
    calls = []

    class Counting(engines.Serial):
        def reduce(self, job: Any, partitions: Any, total: Any, /) -> Any:
            calls.append(1)
            return super().reduce(job, partitions, total)

    x = np.random.default_rng(7).normal(size=1000)
    with engines.using(Counting()):
        serial = credo.NormalInverseGamma(0, 1, 1, 1).update(x)
        serial.cross_validate(x)
    assert len(calls) == 2
    assert_same(serial, credo.NormalInverseGamma(0, 1, 1, 1).update(x))


def test_weighted_rows_are_validated_by_their_weight() -> None:
    x = [1, 0, 1, 1, 0, 1]
    once = credo.BetaBernoulli(1, 1).cross_validate(x, folds=3)
    doubled = credo.BetaBernoulli(1, 1).cross_validate({"x": x, "w": [2.0] * 6}, folds=3, weight="w")
    assert doubled.weights.tolist() == [2.0] * 6
    assert doubled.log_loss != once.log_loss  # what the others teach counts twice


def test_the_public_names_are_those_of_the_contract() -> None:
    for name in credo.__all__:
        assert getattr(credo, name) is not None
    assert set(credo.__all__) <= set(dir(credo))


def test_a_regression_is_validated_by_its_target() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=60)
    table = {"y": 1 + 2 * x + 0.1 * rng.normal(size=60), "x": x}
    report = credo.LinearRegression(precision=0.01, scale=0.1).cross_validate(table, folds=5, target="y")
    assert report.log_loss < 0


def test_a_success_that_never_comes_is_a_slip() -> None:
    with pytest.raises(DataError, match="no value 'head'"):
        credo.estimate({"x": ["heads", "tails"]}, "x", success="head", prior=credo.BetaBernoulli(1, 1))
