"""Hybrid networks against enumeration with dense Gaussians, numeric integration, and pgmpy."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm

import credo
from credo.networks.hybrid.answers import JointNumbers, NumberAnswer
from credo.networks.hybrid.gaussian import FEWEST_SPARSE_UNKNOWNS
from credo.networks.hybrid.truncated_normal import both_below, log_mass, truncated_moments
from tests.hybrids import Counted, random_hybrid

GIVEN: list[dict[str, Any]] = [{}, {"c1": "s0"}, {"x2": 0.7}, {"x3": -1.0, "x1": 0.5, "c0": "s1"}]
FEVER = credo.HybridNetwork(
    "Flu -> Fever -> Pulse; Sex -> Pulse; Flu -> Cough",
    {
        "Flu": 0.1,
        "Sex": 0.5,
        "Cough": {"yes": 0.8, "no": 0.1},
        "Fever": credo.nodes.Normal({"yes": 39.0, "no": 36.8}, sd={"yes": 0.6, "no": 0.4}),
        "Pulse": credo.nodes.Normal({"yes": -200.0, "no": -210.0}, sd=5.0, weights={"Fever": {"yes": 8.0, "no": 7.0}}),
    },
)


def number(found: Any) -> NumberAnswer:
    assert isinstance(found, NumberAnswer)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("given", GIVEN)
def test_queries_are_those_of_enumeration(seed: int, given: dict[str, Any]) -> None:
    net = random_hybrid(seed)
    counted = Counted(net)
    every = net.marginals(given)
    for name in net.parents:
        if name in net.states:
            assert net.query(name, given) == pytest.approx(counted.states(name, given), abs=1e-10)
            assert every[name] == pytest.approx(counted.states(name, given), abs=1e-10)
        else:
            (mean,), ((variance,),) = counted.moments([name], given)
            for found in (number(net.query(name, given)), every[name]):
                assert found.mean() == pytest.approx(mean, abs=1e-9)
                assert found.variance() == pytest.approx(variance, abs=1e-9)
    assert net.log_probability(given) == pytest.approx(np.log(counted.evidence(given)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_several_numbers_together(seed: int) -> None:
    net = random_hybrid(seed)
    names = ["x3", "x0", "x2"]
    found = net.query(names, {"x1": 0.3})
    assert isinstance(found, JointNumbers)
    mean, covariance = Counted(net).moments(names, {"x1": 0.3})
    np.testing.assert_allclose(found.mean(), mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance(), covariance, atol=1e-9)
    one = number(net.query("x0", {"x1": 0.3}))
    assert found["x0"].log_prob(0.4) == pytest.approx(one.log_prob(0.4), abs=1e-9)
    both = net.query(["x0", "x1"], {"x1": 0.3})
    assert isinstance(both, JointNumbers)
    assert both.mean()[1] == pytest.approx(0.3, abs=1e-12)


def test_a_density_is_that_of_bayes_rule() -> None:
    """p(x | e) = p(x, e)/p(e), the joint densities by log_probability."""
    net, given = random_hybrid(7), {"x3": 0.2, "c1": "s0"}
    found = number(net.query("x0", given))
    for x in (-2.0, 0.1, 3.0):
        joint = net.log_probability({**given, "x0": x}) - net.log_probability(given)
        assert found.log_prob(x) == pytest.approx(joint, abs=1e-8)
    assert quad(lambda x: np.exp(found.log_prob(x)), -30, 30, limit=200)[0] == pytest.approx(1.0, abs=1e-7)


def fever_density(x: float, flu: int) -> float:
    return float((0.1, 0.9)[flu] * norm.pdf(x, (39.0, 36.8)[flu], (0.6, 0.4)[flu]))


def pulse_below(y: float, x: float) -> float:
    """P(Pulse < y | Fever = x), the sexes together."""
    return float(0.5 * ndtr((y + 200 - 8 * x) / 5) + 0.5 * ndtr((y + 210 - 7 * x) / 5))


@pytest.mark.parametrize("interval", [(38.0, None), (None, 37.0), (36.5, 38.5), (41.0, 42.0)])
def test_an_interval_is_numeric_integration(interval: tuple[float | None, float | None]) -> None:
    low, high = 30.0 if interval[0] is None else interval[0], 46.0 if interval[1] is None else interval[1]

    def integral(work: Any, flu: int) -> float:
        points = [p for p in (36.8, 39.0) if low < p < high]
        return float(quad(lambda x: work(x) * fever_density(x, flu), low, high, points=points or None, epsabs=1e-13)[0])

    mass = [integral(lambda _: 1.0, flu) for flu in (0, 1)]
    given = {"Fever": interval}
    assert FEVER.probability(given) == pytest.approx(sum(mass), abs=1e-9)
    assert FEVER.log_probability(given) == pytest.approx(np.log(sum(mass)), abs=1e-6)
    assert FEVER.query("Flu", given)["yes"] == pytest.approx(mass[0] / sum(mass), abs=1e-7)
    fever, pulse = number(FEVER.query("Fever", given)), number(FEVER.query("Pulse", given))
    mean = sum(integral(lambda x: x, flu) for flu in (0, 1)) / sum(mass)
    assert fever.mean() == pytest.approx(mean, abs=1e-6)
    assert fever.cdf(low) == pytest.approx(0.0, abs=1e-12)
    assert low <= float(fever.interval()[0]) <= float(fever.interval()[1]) <= high
    for y in (60.0, 100.0):
        below = sum(integral(partial(pulse_below, y), flu) for flu in (0, 1)) / sum(mass)
        assert pulse.cdf(y) == pytest.approx(below, abs=1e-6)
    assert quad(lambda y: np.exp(pulse.log_prob(y)), 20, 160, limit=300)[0] == pytest.approx(1.0, abs=1e-6)
    assert FEVER.probability({"Pulse": (100, None), "Fever": interval}) == pytest.approx(
        sum(mass) * (1 - float(pulse.cdf(100.0))), abs=1e-9
    )
    joint = FEVER.query(["Fever", "Pulse"], given)
    assert isinstance(joint, JointNumbers)
    assert joint.mean().tolist() == pytest.approx([fever.mean(), pulse.mean()], rel=1e-9)
    assert joint.variance().tolist() == pytest.approx([fever.variance(), pulse.variance()], rel=1e-9)


def test_truncated_normals() -> None:
    log_z, mean, variance = truncated_moments(np.array(1.0), np.array(4.0), 0.0, 2.0)
    x = np.linspace(0, 2, 200_001)
    p = norm.pdf(x, 1, 2)
    assert float(np.exp(log_z)) == pytest.approx(norm.cdf(2, 1, 2) - norm.cdf(0, 1, 2), abs=1e-12)
    assert float(mean) == pytest.approx(np.trapezoid(x * p, x) / np.trapezoid(p, x), abs=1e-8)
    assert float(variance) == pytest.approx(np.trapezoid((x - mean) ** 2 * p, x) / np.trapezoid(p, x), abs=1e-8)
    assert log_mass(np.array(40.0), np.array(41.0)) == pytest.approx(norm.logsf(40), abs=1e-9)
    assert log_mass(np.array(-np.inf), np.array(-40.0)) == pytest.approx(norm.logcdf(-40), abs=1e-9)


CHAIN = credo.HybridNetwork(
    "x -> y", {"x": credo.nodes.Normal(0.0, sd=1.0), "y": credo.nodes.Normal(0.0, sd=1.0, weights={"x": 1.0})}
)


@pytest.mark.parametrize("interval", [(10.0, None), (None, -12.0), (6.0, 6.5), (2.0, 2.0 + 1e-8), (-0.0, None)])
def test_improbable_intervals(interval: tuple[float | None, float | None]) -> None:
    """Their mass is lost in differences of probabilities; so are the moments inside a narrow one."""
    low, high = (-np.inf if interval[0] is None else interval[0]), (np.inf if interval[1] is None else interval[1])
    found = number(CHAIN.query("y", {"x": interval}))
    start, end = max(low, min(-9.0, high - 4.0)), min(high, max(9.0, low + 4.0))
    log_all = float(log_mass(np.array(low), np.array(high)))
    for y in (found.mean() - found.sd, found.mean(), found.mean() + 2 * found.sd):
        below = quad(lambda x, y: np.exp(norm.logpdf(x) - log_all) * ndtr(y - x), start, end, (y,), epsabs=1e-12)[0]
        assert found.cdf(y) == pytest.approx(below, abs=1e-9)
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)
    inside = number(CHAIN.query("x", {"x": interval}))
    assert all(low <= end <= high for end in inside.interval(0.95))
    assert 0 < inside.variance() <= 1.0


def test_an_interval_far_away_or_narrow() -> None:
    assert all(end > 50 for end in number(CHAIN.query("x", {"x": (50.0, None)})).interval(0.95))
    for width in (1e-6, 1e-3):  # as good as uniform
        found = number(CHAIN.query("x", {"x": (3.0, 3.0 + width)}))
        assert found.variance() == pytest.approx(width**2 / 12, rel=1e-6)
    assert CHAIN.probability({"x": (20.0, None)}) == pytest.approx(norm.sf(20.0), rel=1e-9)


def test_several_numbers_of_which_one_is_known() -> None:
    joint = CHAIN.query(["x", "y"], {"x": 1.0})
    draws = joint.sample(1000, seed=0)
    assert (draws[:, 0] == 1.0).all()
    assert draws[:, 1].mean() == pytest.approx(1.0, abs=0.1)
    with pytest.raises(credo.errors.EvidenceError, match="'x' is known, so there is no density"):
        joint.log_prob([1.0, 1.0])


def test_two_normals_below() -> None:
    from scipy.stats import multivariate_normal

    for h, k, rho in [(0.3, -1.2, 0.7), (-0.5, 0.0, -0.4), (2.0, 2.0, 0.95), (0.0, -0.3, 0.2), (-np.inf, 1.0, 0.3)]:
        joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        expected = 0.0 if h == -np.inf else joint.cdf([h, k])
        assert float(both_below(np.array(h), np.array(k), np.array(rho))) == pytest.approx(expected, abs=1e-7)


def test_estimates_are_within_their_errors() -> None:
    """Of what is exact too; and of two intervals, against the chain rule."""
    given = {"Pulse": 100.0, "Cough": "yes"}
    exact, found = FEVER.query("Flu", given), FEVER.query("Flu", given, method="likelihood-weighting", samples=20_000)
    error = found.standard_error["yes"]
    assert 0 < error < 0.02
    assert abs(found["yes"] - exact["yes"]) < 4 * error
    mean = number(FEVER.query("Fever", given)).mean()
    guess = number(FEVER.query("Fever", given, method="likelihood-weighting", samples=20_000))
    assert guess.method == "likelihood-weighting"
    assert abs(float(guess.mean()) - float(mean)) < 4 * guess.standard_error
    both = {"Fever": (38.0, None), "Pulse": (100.0, 110.0)}
    with pytest.warns(credo.Notice, match="have interval evidence"):
        flu = FEVER.query("Flu", both, samples=20_000)
    yes = FEVER.probability({**both, "Flu": "yes"}) / FEVER.probability(both)
    assert abs(flu["yes"] - yes) < 4 * flu.standard_error["yes"]
    total = FEVER.log_probability(both, method="likelihood-weighting", samples=20_000)
    assert abs(total - np.log(FEVER.probability(both))) < 5 * total.standard_error  # type: ignore[attr-defined]
    with pytest.raises(credo.SizeError):
        FEVER.query("Flu", both, method="exact")


def test_switches_that_hang_together_by_tables_are_exact() -> None:
    """Forty switches, a number below each: the forward algorithm."""
    random, size = np.random.default_rng(0), 40
    parents: dict[str, tuple[str, ...]] = {"c0": (), "x0": ("c0",)}
    nodes: dict[str, Any] = {"c0": 0.5}
    for i in range(size):
        parents[f"x{i}"] = (f"c{i}",)
        nodes[f"x{i}"] = credo.nodes.Normal({"yes": 1.0, "no": -1.0}, {"yes": 1.0, "no": 0.7})
        if i:
            parents[f"c{i}"], nodes[f"c{i}"] = (f"c{i - 1}",), {"yes": 0.8, "no": 0.1}
    net = credo.HybridNetwork(parents, nodes)
    given = {f"x{i}": float(random.normal()) for i in range(size)}
    emission = [norm.pdf(given[f"x{i}"], [1.0, -1.0], [1.0, 0.7]) for i in range(size)]
    forward = np.array([0.5, 0.5]) * emission[0]
    for i in range(1, size):
        forward = (forward @ np.array([[0.8, 0.2], [0.1, 0.9]])) * emission[i]
    assert net.log_probability(given) == pytest.approx(np.log(forward.sum()), abs=1e-9)
    last = net.query(f"c{size - 1}", given)
    assert last["yes"] == pytest.approx(forward[0] / forward.sum(), abs=1e-9)


def test_many_switches_are_estimated() -> None:
    """Thirty switches whose numbers are added up: the binomial distribution."""
    from scipy.stats import binom

    size = 30
    nodes: dict[str, Any] = {f"c{i}": 0.3 for i in range(size)}
    nodes |= {f"x{i}": credo.nodes.Normal({"yes": 1.0, "no": 0.0}, 0.5) for i in range(size)}
    nodes["s"] = credo.nodes.Normal(0.0, 1.0, {f"x{i}": 1.0 for i in range(size)})
    parents = {f"c{i}": () for i in range(size)} | {f"x{i}": (f"c{i}",) for i in range(size)}
    net = credo.HybridNetwork({**parents, "s": tuple(f"x{i}" for i in range(size))}, nodes)
    with pytest.warns(credo.Notice, match="1.07e\\+09 configurations"):
        found = net.query("c0", {"s": 15.0}, samples=4000)
    others = binom.pmf(np.arange(size), size - 1, 0.3)
    sd = np.sqrt(1 + size / 4)
    yes, no = (p * others @ norm.pdf(15.0, np.arange(size) + k, sd) for p, k in ((0.3, 1), (0.7, 0)))
    assert 0 < found.standard_error["yes"] < 0.03
    assert abs(found["yes"] - yes / (yes + no)) < 4 * found.standard_error["yes"]


LOGISTIC = credo.HybridNetwork(
    "Age -> Ill -> Temp",
    {
        "Age": credo.nodes.Normal(50.0, 15.0),
        "Ill": credo.nodes.LogisticOfNumbers(-4.0, {"Age": 0.08}),
        "Temp": credo.nodes.Normal({"yes": 38.5, "no": 36.8}, sd=0.4),
    },
)


def test_the_standard_error_of_a_mean_is_that_of_all_draws() -> None:
    """The mixture that stands for the draws has fewer parts; its mean must not be noisier than the error says."""

    def integral(work: Any) -> float:
        return float(quad(lambda a: work(a) * expit(0.08 * a - 4) * norm.pdf(a, 50, 15), -60, 160, epsabs=1e-12)[0])

    mean = integral(lambda a: a) / integral(lambda _: 1.0)
    away = []
    for seed in range(20):
        age = number(LOGISTIC.query("Age", {"Ill": "yes"}, method="likelihood-weighting", seed=seed))
        away.append((float(age.mean()) - mean) / age.standard_error)
    assert np.sqrt(np.mean(np.square(away))) < 1.5


def test_logistic_nodes_against_integration() -> None:
    def integral(work: Any) -> float:
        return float(quad(lambda a: work(a) * norm.pdf(a, 50, 15), -60, 160, epsabs=1e-12)[0])

    ill = integral(lambda a: expit(0.08 * a - 4))
    exact = LOGISTIC.query("Ill", {"Age": 60.0, "Temp": 37.5})
    odds = expit(0.8) * norm.pdf(37.5, 38.5, 0.4) / (expit(-0.8) * norm.pdf(37.5, 36.8, 0.4))
    assert exact["yes"] == pytest.approx(odds / (1 + odds), abs=1e-12)
    with pytest.warns(credo.Notice, match="logistic node"):
        guess = LOGISTIC.query("Ill")
    assert abs(guess["yes"] - ill) < 4 * guess.standard_error["yes"]
    age = number(LOGISTIC.query("Age", {"Ill": "yes"}, method="likelihood-weighting"))
    mean = integral(lambda a: a * expit(0.08 * a - 4)) / ill
    assert abs(float(age.mean()) - mean) < 4 * age.standard_error
    assert number(LOGISTIC.query("Age")).mean() == 50.0  # nothing below it is known
    assert LOGISTIC.log_prob({"Age": [60.0], "Ill": ["yes"], "Temp": [38.0]})[0] == pytest.approx(
        np.log(expit(0.8)) + norm.logpdf(60, 50, 15) + norm.logpdf(38, 38.5, 0.4), abs=1e-12
    )


def test_softmax_of_three_states() -> None:
    net = credo.HybridNetwork(
        "x -> s",
        {
            "x": credo.nodes.Normal(0.0, 1.0),
            "s": credo.nodes.LogisticOfNumbers({"b": 1.0, "c": -1.0}, {"b": {"x": 2.0}, "c": {"x": -0.5}}),
        },
        {"s": ["a", "b", "c"]},
    )
    scores = np.exp([0.0, 1.0 + 2.0 * 0.3, -1.0 - 0.5 * 0.3])
    found = net.query("s", {"x": 0.3})
    assert [*found.values()] == pytest.approx((scores / scores.sum()).tolist(), abs=1e-12)


def test_sparse_is_dense() -> None:
    """A network of more numbers than are solved densely, against the dense covariance."""
    random = np.random.default_rng(0)
    nodes: dict[str, Any] = {}
    for i in range(FEWEST_SPARSE_UNKNOWNS + 60):
        above = random.permutation(np.arange(max(0, i - 9), i))[:3]
        weights = {f"x{j}": float(random.normal(0, 0.6)) for j in above}
        nodes[f"x{i}"] = credo.nodes.Normal(float(random.normal()), float(random.uniform(0.3, 2)), weights)
    net = credo.HybridNetwork({name: [*node.weights] for name, node in nodes.items()}, nodes)
    given = {f"x{i}": float(random.normal()) for i in (3, 60, 100, 170)}
    counted = Counted(net)
    ((_, p, mean, whole),) = counted.cases(given)
    assert net.log_probability(given) == pytest.approx(np.log(p), abs=1e-8)
    every = net.marginals(given)
    for j, name in enumerate(counted.numbers):
        assert every[name].mean() == pytest.approx(mean[j], abs=1e-9)
        assert every[name].variance() == pytest.approx(whole[j, j], abs=1e-9)
    few = net.query(["x0", "x120"], given)
    assert isinstance(few, JointNumbers)
    at = [counted.numbers.index("x0"), counted.numbers.index("x120")]
    np.testing.assert_allclose(few.covariance(), whole[np.ix_(at, at)], atol=1e-9)


def test_pgmpy_predicts_the_same() -> None:
    pytest.importorskip("pgmpy")
    from benchmarks.linear_gaussian import network, one_row, pgmpy_network

    net = network(30)
    given = {"x3": 0.4, "x11": -1.0, "x29": 2.0}
    names, mean, covariance = pgmpy_network(net).predict_probability(one_row(given))
    every = net.marginals(given)
    for j, name in enumerate(names):  # pgmpy rounds means and covariances to 8 decimals before it conditions
        assert every[name].mean() == pytest.approx(float(mean[0][j]), abs=1e-6)
        assert every[name].variance() == pytest.approx(float(covariance[j][j]), abs=1e-6)


PUBLIC = Path(__file__).parents[2].parent / "shared" / "data" / "networks" / "gaussian_json"


@pytest.mark.parametrize("name", ["arth150", "ecoli70", "magic-irri", "magic-niab"])
def test_public_gaussian_networks(name: str) -> None:
    path = PUBLIC / f"{name}.json"
    if not path.is_file():
        pytest.skip("the public collections aren't beside this checkout")
    net = credo.HybridNetwork.read(path)
    assert isinstance(net, credo.HybridNetwork)
    assert len(net) == len(json.loads(path.read_text())["nodes"])
    first, *_, last = net.order
    ((_, p, mean, whole),) = Counted(net).cases({last: 0.5})
    assert net.log_probability({last: 0.5}) == pytest.approx(np.log(p), abs=1e-7)
    found, at = number(net.query(first, {last: 0.5})), Counted(net).numbers.index(first)
    assert found.mean() == pytest.approx(mean[at], abs=1e-7)
    assert found.variance() == pytest.approx(whole[at, at], abs=1e-7)
