"""Scores of families: as counted by hand, plain or compiled; equal for Markov-equivalent graphs."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import comb, lgamma, log, pi, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo._kernels.jit import forced
from credo.networks.structure import counting, normalised_likelihood
from credo.networks.structure.category_families import K2, BDs
from credo.networks.structure.category_scores import MDL, QNML, BDeuScore, aic, bic
from credo.networks.structure.conditional_gaussian import ConditionalGaussian, MixedTable
from credo.networks.structure.counting import CodedTable, Counter
from credo.networks.structure.normalised_likelihood import Regret
from credo.networks.structure.number_scores import BGe, GaussianBIC, NumberTable
from credo.networks.structure.score import Parents, Score, total

SIZES = (2, 3, 2, 4, 3)
FAMILIES = [(0, ()), (0, (1,)), (3, (0, 4)), (4, (0, 1, 2, 3)), (1, (4, 2, 0))]
CATEGORY: dict[str, Callable[[CodedTable], Score]] = {
    "bdeu": lambda table: BDeuScore(table, 3.0),
    "bds": lambda table: BDs(table, 3.0),
    "k2": K2,
    "bic": bic,
    "aic": aic,
    "mdl": MDL,
    "qnml": QNML,
}
EQUIVALENT = ("bdeu", "bic", "aic", "mdl", "qnml")


def coded(rows: int = 120, seed: int = 0, weight: str = "none", sizes: Sequence[int] = SIZES) -> CodedTable:
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(0, size, rows) for size in sizes]).astype(np.uint8)
    codes[1] = np.where(random.random(rows) < 0.7, codes[0], codes[1])  # some dependence
    weights: dict[str, Any] = {
        "none": None,
        "whole": random.integers(1, 4, rows) * 1.0,
        "parts": random.uniform(0.2, 2.0, rows),
    }
    return CodedTable(tuple("abcdefgh"[: len(sizes)]), codes, tuple(sizes), weights[weight])


def numbers(rows: int = 60, seed: int = 0) -> NumberTable:
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 4)) @ random.normal(size=(4, 4)) * [1.0, 100.0, 0.01, 3.0] + [5.0, -3.0, 0.0, 1e3]
    return NumberTable(tuple("wxyz"), x)


def reference(name: str, table: CodedTable, node: int, parents: Sequence[int]) -> float:
    """Each score as its paper has it, from counts in a dictionary."""
    weight = np.ones(table.rows) if table.weight is None else table.weight
    n: Tally[tuple[tuple[int, ...], int]] = Tally()
    for i in range(table.rows):
        n[tuple(int(table.codes[p, i]) for p in parents), int(table.codes[node, i])] += weight[i]
    r, q = table.sizes[node], prod(table.sizes[p] for p in parents)
    configurations = [*product(*(range(table.sizes[p]) for p in parents))]
    rows = {j: sum(n[j, k] for k in range(r)) for j in configurations}
    if name == "k2":
        return sum(lgamma(r) - lgamma(r + rows[j]) + sum(lgamma(n[j, k] + 1) for k in range(r)) for j in rows)
    if name in ("bdeu", "bds"):
        if name == "bds":
            configurations = [j for j in configurations if rows[j] > 0]
            q = len(configurations)
        a, b = 3.0 / q, 3.0 / (q * r)
        return sum(
            lgamma(a) - lgamma(a + rows[j]) + sum(lgamma(b + n[j, k]) - lgamma(b) for k in range(r))
            for j in configurations
        )
    likelihood = sum(count * log(count / rows[j]) for (j, _), count in n.items() if count)
    if name == "qnml":
        return likelihood - regret(round(table.n), q * r) + regret(round(table.n), q)
    per_parameter = 1.0 if name == "aic" else 0.5 * log(table.n)
    naming = len(parents) * log(len(table.sizes)) if name == "mdl" else 0.0
    return likelihood - per_parameter * q * (r - 1) - naming


def regret(n: int, states: int) -> float:
    """By the definition, adding one state at a time: C(n, k + 1) = Σₕ ways · likelihood · C(h, k)."""
    terms = np.ones(n + 1)  # C(m, 1) for all m
    for _ in range(states - 1):
        terms = np.array(
            [
                1.0
                if m == 0
                else sum(comb(m, h) * (h / m) ** h * ((m - h) / m) ** (m - h) * terms[h] for h in range(m + 1))
                for m in range(n + 1)
            ]
        )
    return log(terms[n])


@pytest.mark.parametrize("choice", ["plain", "compiled"])
@pytest.mark.parametrize("weight", ["none", "whole", "parts"])
@pytest.mark.parametrize("name", [name for name in CATEGORY if name != "qnml"])
def test_families_of_categories_are_as_counted_by_hand(name: str, weight: str, choice: str) -> None:
    table = coded(weight=weight)
    with forced(choice):
        score = CATEGORY[name](table)
        for node, parents in FAMILIES:
            assert score.family(node, parents) == pytest.approx(reference(name, table, node, parents), rel=1e-10)


def test_qnml_is_as_counted_by_hand() -> None:
    table = coded(20, sizes=(2, 3, 2))
    for node, parents in ((0, ()), (0, (1,)), (1, (0, 2))):
        expected = reference("qnml", table, node, parents)
        assert QNML(table).family(node, parents) == pytest.approx(expected, rel=1e-10)


def test_the_approximate_regret_goes_on_where_the_exact_one_ends() -> None:
    exact, near = Regret(5000.0), Regret(5000.0)._approximate
    assert near(2000) == pytest.approx(exact(2000), rel=1e-4)
    assert near(500) == pytest.approx(exact(500), rel=1e-4)


@pytest.mark.parametrize("n", [1e4, 1e5])
def test_the_regret_of_two_states_goes_on_where_it_is_summed_no_more(n: float, monkeypatch: pytest.MonkeyPatch) -> None:
    summed = Regret(n)
    monkeypatch.setattr(normalised_likelihood, "MOST_SUMMED_ROWS", 0)
    series = Regret(n)
    for states in (2, 3, 10, 100):
        assert series(states) == pytest.approx(summed(states), abs=1e-6)


def test_the_regret_does_not_jump() -> None:
    assert Regret(100_001.0)(2) - Regret(100_000.0)(2) == pytest.approx(0.5e-5, rel=0.01)  # ½ log n


@pytest.mark.parametrize("name", CATEGORY)
def test_many_at_once_are_the_same_as_one_by_one(name: str) -> None:
    table = coded()
    one, two, three = (CATEGORY[name](table) for _ in range(3))
    others = [0, 3, 4]
    expected = [one.family(2, (1, other)) for other in others]
    assert two.grown(2, (1,), others).tolist() == pytest.approx(expected, abs=1e-9)
    assert three.families(2, [(other, 1) for other in others]).tolist() == pytest.approx(expected, abs=1e-9)
    assert three.families(2, []).shape == (0,)


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(1, (2, 2, 2)), (64, (2, 2, 2)), (65, (1, 2, 3)), (3000, (2, 300, 5)), (500, (40, 40, 40)), (4000, (2, 17, 2))],
)
@pytest.mark.parametrize("prior", [0.0, 0.25])
def test_kernels_count_as_numpy_does(rows: int, sizes: tuple[int, ...], prior: float) -> None:
    """Bit planes, rows and sorted cells: 1 row, whole words, one state, many states, more cells than rows."""
    random = np.random.default_rng(1)
    codes = np.stack([(random.random(rows) ** 2 * size).astype(np.int32) for size in sizes])
    table = CodedTable(tuple("abc"), codes, sizes)
    found = []
    for choice in ("plain", "compiled"):
        with forced(choice):
            counter = Counter(table)
            a = np.full(2, prior)
            found.append(
                [*counter.sums((), [0, 1], a), *counter.sums((0,), [1, 2], a), *counter.sums((0, 1), [2, 2], a)]
            )
    assert found[1] == pytest.approx(found[0], rel=1e-12, abs=1e-10)


def test_rows_that_occur_often_are_counted_once() -> None:
    table = coded(5000, sizes=(2, 2, 2))
    assert Counter(table).table.rows == 8
    assert bic(table).family(0, (1, 2)) == pytest.approx(reference("bic", table, 0, (1, 2)), rel=1e-10)


def test_a_weight_of_two_is_the_row_twice() -> None:
    table = coded(50)
    twice = CodedTable(table.variables, np.repeat(table.codes, 2, axis=1), table.sizes)
    doubled = CodedTable(table.variables, table.codes, table.sizes, np.full(50, 2.0))
    for name, made in CATEGORY.items():
        assert made(twice).family(3, (0, 1)) == pytest.approx(made(doubled).family(3, (0, 1)), rel=1e-12), name


# Numbers


def bge_reference(table: NumberTable, members: Sequence[int], equivalent: float) -> float:
    """log p of some variables (Kuipers, Moffa and Heckerman 2014, equations 1 to 4), in their own units."""
    n, d, k = len(table.x), len(table.variables), len(members)
    if not k:
        return 0.0
    freedom = d + equivalent + 1
    t = equivalent * (freedom - d - 1) / (equivalent + 1)
    centred = table.x - table.x.mean(0)
    prior = t * np.diag((centred**2).mean(0))
    posterior = prior + centred.T @ centred
    own = np.ix_(members, members)

    def log_gamma(x: float) -> float:
        return k * (k - 1) / 4 * log(pi) + sum(lgamma(x - i / 2) for i in range(k))

    a, b = (freedom - d + k) / 2, (n + freedom - d + k) / 2
    determinants = a * np.linalg.slogdet(prior[own])[1] - b * np.linalg.slogdet(posterior[own])[1]
    mean = k / 2 * log(equivalent / (n + equivalent)) - n * k / 2 * log(pi)
    return float(mean + log_gamma(b) - log_gamma(a) + determinants)


@pytest.mark.parametrize("equivalent", [1.0, 4.0])
def test_bge_is_as_in_the_paper(equivalent: float) -> None:
    table = numbers()
    score = BGe(table, equivalent)
    for node, parents in ((0, ()), (1, (0,)), (2, (0, 3)), (3, (0, 1, 2))):
        expected = bge_reference(table, [node, *parents], equivalent) - bge_reference(table, parents, equivalent)
        assert score.family(node, parents) == pytest.approx(expected, rel=1e-10)


def test_gaussian_bic_is_that_of_linear_regressions() -> None:
    table = numbers()
    score, n = GaussianBIC(table), len(table.x)
    for node, parents in ((0, ()), (1, (0,)), (3, (0, 1, 2))):
        design = np.column_stack([np.ones(n), table.x[:, list(parents)]])
        left = table.x[:, node] - design @ np.linalg.lstsq(design, table.x[:, node], rcond=None)[0]
        likelihood = -n / 2 * (log(2 * pi * (left @ left) / n) + 1)
        expected = likelihood - 0.5 * log(n) * (len(parents) + 2)
        assert score.family(node, parents) == pytest.approx(expected, rel=1e-8)


def test_units_of_numbers_do_not_matter() -> None:
    table = numbers()
    other = NumberTable(table.variables, table.x * [1000.0, 0.1, 7.0, 1.0] + 50.0)
    for made in (BGe, GaussianBIC):
        gains = [made(each).family(1, (0, 2)) - made(each).family(1, ()) for each in (table, other)]
        assert gains[0] == pytest.approx(gains[1], rel=1e-8)


def test_a_number_that_others_determine_is_never_their_child() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 3))
    x[:, 2] = x[:, 0] - 2 * x[:, 1]
    score = GaussianBIC(NumberTable(("a", "b", "c"), x))
    assert score.family(2, (0, 1)) == -np.inf
    assert score.grown(2, (0,), [1]).tolist() == [-np.inf]
    assert np.isfinite(BGe(NumberTable(("a", "b", "c"), x)).family(2, (0, 1)))


# Mixed tables


def mixed(rows: int = 80) -> MixedTable:
    categories, floats = coded(rows), numbers(rows)
    return MixedTable(("w", "a", "x", "b", "y", "c", "z", "d", "e"), categories, floats)


def test_a_mixed_table_scores_categories_as_bdeu_and_numbers_as_bge() -> None:
    table = mixed()
    score = ConditionalGaussian(table, 2.0)
    assert score.family(3, (1, 5)) == pytest.approx(BDeuScore(table.categories, 2.0).family(1, (0, 2)), rel=1e-12)
    assert score.family(4, (0, 2)) == pytest.approx(BGe(table.numbers, 2.0).family(2, (0, 1)), rel=1e-9)
    assert score.family(1, (0,)) == -np.inf  # a number isn't a parent of a category


def test_numbers_given_a_category_are_scored_within_its_states() -> None:
    """By hand: in each state a normal-Wishart prior with mean 0 in standard units."""
    table = mixed()
    z = (table.numbers.x[:, 0] - table.numbers.x[:, 0].mean()) / table.numbers.x[:, 0].std()
    expected = -len(z) * log(table.numbers.x[:, 0].std())
    for state in range(2):
        own = z[table.categories.codes[0] == state]
        n, a = len(own), 1.0
        scale = a * a / (a + 1) + ((own - own.mean()) ** 2).sum() + n * a / (n + a) * own.mean() ** 2
        expected += 0.5 * log(a / (n + a)) - n / 2 * log(pi) + lgamma((n + a + 2) / 2) - lgamma((a + 2) / 2)
        expected += (a + 2) / 2 * log(a * a / (a + 1)) - (n + a + 2) / 2 * log(scale)
    assert ConditionalGaussian(table).family(0, (1,)) == pytest.approx(expected, rel=1e-10)


# Equivalent graphs


def dags(size: int) -> st.SearchStrategy[Parents]:
    def made(flags: list[bool], order: Sequence[int]) -> Parents:
        above: list[list[int]] = [[] for _ in range(size)]
        pairs = [(i, j) for j in range(size) for i in range(j)]
        for (i, j), flag in zip(pairs, flags, strict=True):
            if flag:
                above[order[j]].append(order[i])
        return tuple(tuple(sorted(own)) for own in above)

    count = size * (size - 1) // 2
    return st.builds(made, st.lists(st.booleans(), min_size=count, max_size=count), st.permutations(range(size)))


def covered_reversals(parents: Parents) -> Iterator[Parents]:
    """Graphs with one arrow y -> x reversed where x's other parents are y's: all equivalent. (Chickering 1995)"""
    for x, above in enumerate(parents):
        for y in above:
            if {*above} - {y} == {*parents[y]}:
                changed = [*map(list, parents)]
                changed[x].remove(y)
                changed[y].append(x)
                yield tuple(map(tuple, changed))


@given(dags(5))
@settings(max_examples=40, deadline=None)
def test_equivalent_graphs_of_categories_have_equal_scores(parents: Parents) -> None:
    for name in EQUIVALENT:
        score = CATEGORY[name](coded(200))
        for other in covered_reversals(parents):
            assert total(score, parents) == pytest.approx(total(score, other), rel=1e-11), name


@given(dags(4))
@settings(max_examples=40, deadline=None)
def test_equivalent_graphs_of_numbers_have_equal_scores(parents: Parents) -> None:
    for made in (BGe, GaussianBIC):
        score = made(numbers())
        for other in covered_reversals(parents):
            assert total(score, parents) == pytest.approx(total(score, other), rel=1e-9)


def test_how_many_threads_count_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(counting, "THREAD_NANOSECONDS", 1.0)
    for threads in ("1", "3"):
        monkeypatch.setenv("CREDO_THREADS", threads)
        with forced("compiled"):
            found.append(bic(coded(5000)).grown(0, (1,), [2, 3, 4]).tolist())
    assert found[0] == found[1]
