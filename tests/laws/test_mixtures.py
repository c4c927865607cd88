"""Laws of mixtures: EM never falls, weights are repeated rows, missing cells are marginalised, labels classify."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.core.em import em, em_steps
from credo.data import Source
from credo.families.normal_inverse_wishart import Covariance
from credo.models.latent.log_evidence import of_completed
from credo.models.mixture import search
from credo.models.mixture.expectation import MixtureEM
from credo.models.mixture.fitting import Problem
from credo.models.mixture.learning import problem_of
from credo.models.mixture.optima import ArrayOptimum
from credo.models.mixture.strengths import held_out_score
from credo.notices import quietly

COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "diagonal", "spherical")
Table = dict[str, Any]


def mixed_rows(rows: int = 120, missing: float = 0.2, seed: int = 0) -> tuple[Table, Any]:
    """Three clusters that numbers, a category, a count and a text tell apart; cells are missing at random."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, rows)
    x = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.6, 0], [0, 0.8, 0.2], [0, 0, 1]]) + 3.0 * z[:, None]
    x[rng.random(x.shape) < missing] = np.nan
    colour = np.array(["red", "green", "blue"], dtype=object)[np.where(rng.random(rows) < 0.8, z, 2 - z)]
    colour[rng.random(rows) < missing] = None
    visits = rng.poisson(1 + 2 * z).astype(float)
    visits[rng.random(rows) < missing] = np.nan
    said = [" ".join(rng.choice([f"{'abc'[k]}{w}" for w in ("one", "two", "six")], 3)) for k in z]
    table = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "colour": list(colour), "visits": visits, "said": said}
    return table, z


KINDS = {"visits": "count", "said": "text"}


def begun(table: Any, **settings: Any) -> Problem:
    """Quickly fitted: a few starts."""
    return problem_of(credo.Mixture(**{"components": 3, "kinds": KINDS, **settings}), table, None, None)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_the_objective_never_falls(covariance: Any, estimate: Any) -> None:
    """Of mixed columns with missing cells, at the mode and at maximum likelihood, step by step."""
    table, _ = mixed_rows()
    table = table if estimate == "bayes" else {name: table[name] for name in "abc"}
    problem = begun(table, estimate=estimate, kinds=KINDS if estimate == "bayes" else None)
    codes = np.random.default_rng(9).integers(0, 3, len(table["a"])).astype(np.int32)
    start = problem.unfitted(3, covariance).begun(problem.sample, codes)
    steps = [step.objective for step, _ in zip(em_steps(start, problem.rows), range(30), strict=False)]
    assert np.diff(steps).min() >= -1e-9 * abs(steps[-1])
    assert steps[-1] > steps[0] + 1.0


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_all_labels_known_is_the_classifier(covariance: Any) -> None:
    """With missing cells, too: completing moments in EM's E-step ends where the classifier's own EM does."""
    table, z = mixed_rows()
    labels = np.array(["x", "y", "z"])[z]
    for estimate in ("bayes", "mean", "map"):
        options = {"covariance": covariance, "estimate": estimate, "kinds": KINDS}
        fixed = credo.Mixture(3, strength=1.0, tolerance=1e-14, **options).fit(table, target=labels)
        model = credo.GaussianDiscriminant(**options).fit(table, target=labels)
        assert fixed.names == model.classes
        np.testing.assert_allclose(fixed.responsibilities(table), model.predict_proba(table), atol=2e-5)
        np.testing.assert_allclose(fixed.log_prob(table), model.log_prob(table), atol=2e-4)


def test_weights_are_repeated_rows() -> None:
    table, _ = mixed_rows(60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    repeated = {name: np.repeat(np.array(values, dtype=object), weight).tolist() for name, values in table.items()}
    for covariance in COVARIANCES:
        one = problem_of(credo.Mixture(3, kinds=KINDS), table, None, weight)
        other = problem_of(credo.Mixture(3, kinds=KINDS), repeated, None, None)
        codes = np.random.default_rng(2).integers(0, 3, 60).astype(np.int32)
        starts = (
            one.unfitted(3, covariance).begun(one.sample, codes[weight > 0]),
            other.unfitted(3, covariance).begun(other.sample, np.repeat(codes, weight)),
        )
        ends = [
            [step.objective for step, _ in zip(em_steps(start, problem.rows), range(5), strict=False)]
            for start, problem in zip(starts, (one, other), strict=True)
        ]
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_missing_cells_are_integrated_out(covariance: Any) -> None:
    """p(row without a cell) = ∫ p(row) d cell, by the trapezoid rule."""
    table, _ = mixed_rows()
    numbers = {name: table[name] for name in "abc"}
    mixture = credo.Mixture(3, covariance, estimate="mean", strength=1.0, starts=2).fit(numbers)
    grid = np.linspace(-25, 35, 4001)
    row = {"a": np.full(grid.shape, 2.5), "b": grid, "c": np.full(grid.shape, 1.0)}
    whole = np.trapezoid(np.exp(mixture.log_prob(row)), grid)
    hidden = mixture.log_prob({"a": [2.5], "b": [np.nan], "c": [1.0]})
    assert np.log(whole) == pytest.approx(hidden[0], abs=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_imputed_numbers_are_means_of_the_conditional_density(covariance: Any) -> None:
    table, _ = mixed_rows()
    numbers = {name: table[name] for name in "abc"}
    mixture = credo.Mixture(3, covariance, estimate="mean", strength=1.0, starts=2).fit(numbers)
    grid = np.linspace(-25, 35, 4001)
    density = np.exp(mixture.log_prob({"a": np.full(grid.shape, 2.5), "b": grid, "c": np.full(grid.shape, 4.0)}))
    mean = np.trapezoid(grid * density, grid) / np.trapezoid(density, grid)
    filled = mixture.impute({"a": [2.5], "b": [np.nan], "c": [4.0]})
    assert filled["b"][0].as_py() == pytest.approx(mean, abs=1e-4)
    many = {"a": np.full(20_000, 2.5), "b": np.full(20_000, np.nan), "c": np.full(20_000, 4.0)}
    drawn = mixture.impute(many, draws=True, seed=1)["b"].to_numpy()
    spread = np.sqrt(np.trapezoid((grid - mean) ** 2 * density, grid) / np.trapezoid(density, grid))
    assert drawn.mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(20_000))
    assert drawn.std() == pytest.approx(spread, rel=0.05)


def test_imputing_leaves_known_cells_and_other_columns_as_they_are() -> None:
    table, _ = mixed_rows()
    mixture = credo.Mixture(3, kinds=KINDS, starts=2).fit(table)
    rows = {**table, "row": list(range(120))}
    for draws in (False, True):
        filled = mixture.impute(rows, draws=draws)
        assert filled.column_names == [*rows]
        assert not any(column.null_count for column in filled.columns)
        for name in "abc":
            known = ~np.isnan(table[name])
            assert (filled[name].to_numpy()[known] == table[name][known]).all()
        assert filled["row"].to_pylist() == rows["row"]
        colours = zip(filled["colour"].to_pylist(), table["colour"], strict=True)
        assert all(new == old for new, old in colours if old is not None)


@pytest.mark.slow
def test_rows_of_all_kinds_are_clustered_and_kept_through_a_file(tmp_path: Path) -> None:
    table, z = mixed_rows(200)
    for covariance in COVARIANCES:
        mixture = credo.Mixture(3, covariance, kinds=KINDS, starts=3).fit(table)
        found = mixture.predict(table)
        assert sum((found[z == k] == np.bincount(found[z == k]).argmax()).mean() > 0.95 for k in range(3)) == 3
        weights = [*mixture.shares.values()]
        assert weights == sorted(weights, reverse=True)
        credo.save(mixture, tmp_path / "m.credo")
        again = credo.load(tmp_path / "m.credo")
        assert isinstance(again, credo.Mixture)
        assert (again.responsibilities(table) == mixture.responsibilities(table)).all()
        assert again.history == mixture.history
        assert again.choices == mixture.choices
        assert again.update(table).n == pytest.approx(400)


@pytest.mark.slow
def test_results_depend_neither_on_the_engine_nor_on_how_rows_came(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv

    table, _ = mixed_rows(150)
    mixture = credo.Mixture(3, kinds=KINDS, starts=4).fit(table)
    with engines.using(engines.Serial()):
        serial = credo.Mixture(3, kinds=KINDS, starts=4).fit(table)
    assert serial.history == mixture.history
    pa.csv.write_csv(
        pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()}), tmp_path / "t.csv"
    )
    from_file = credo.Mixture(3, kinds=KINDS, starts=4).fit(str(tmp_path / "t.csv"))
    np.testing.assert_allclose(from_file.history, mixture.history, rtol=1e-12)


def test_some_labels_are_enough() -> None:
    """Clusters that overlap are named, and found better, by a few labels; more components than labels may be asked."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) + np.where(z[:, None] == 0, 0.0, [2.2, 0.0])
    labels = np.where(z == 0, "low", "high").astype(object)
    labels[40:] = None
    mixture = credo.Mixture(2).fit({"x": x[:, 0], "y": x[:, 1]}, target=labels)
    assert mixture.names == ("high", "low")
    truth = np.where(z == 0, "low", "high")
    assert (mixture.predict({"x": x[:, 0], "y": x[:, 1]}) == truth).mean() > 0.8
    three = credo.Mixture(3, starts=2).fit({"x": x[:, 0], "y": x[:, 1]}, target=labels)
    assert {"high", "low"} < set(three.names)
    assert len(three.names) == 3


def test_update_continues_em() -> None:
    """Old rows stay as evidence; updating with rows of the same kind comes near to fitting all of them."""
    first, _ = mixed_rows(150, seed=1)
    second, _ = mixed_rows(150, seed=2)
    both = {name: [*first[name], *second[name]] for name in first}
    options: dict[str, Any] = {"kinds": KINDS, "strength": 1.0, "starts": 3}
    whole = credo.Mixture(3, **options).fit(both)
    updated = credo.Mixture(3, **options).fit(first).update(second)
    assert updated.n == pytest.approx(300)
    assert np.diff(updated.history).min() >= -1e-9 * abs(updated.history[-1])
    same = updated.responsibilities(both).argmax(1), whole.responsibilities(both).argmax(1)
    table = np.array([[((same[0] == a) & (same[1] == b)).sum() for b in range(3)] for a in range(3)])
    assert table.max(1).sum() >= 297
    assert updated.log_prob(both).mean() == pytest.approx(whole.log_prob(both).mean(), abs=0.02)


def test_restarts_end_no_lower_than_each_start() -> None:
    table, _ = mixed_rows(150)
    problem = begun(table, strength=0.3)
    groupings = problem.groupings(3, 4)
    best = problem.on_sample(groupings, 3, "full").fit
    for codes in groupings:
        assert problem.on_sample([codes], 3, "full").fit.objective <= best.objective + 1e-6 * abs(best.objective)


@pytest.mark.parametrize(("estimate", "apart_by"), [("bayes", 1e-7), ("ml", 1e-2)])
@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_starts_beside_each_other_climb_as_each_does(covariance: Any, estimate: Any, apart_by: float) -> None:
    """A step of all starts at once is EM's own: the same responsibilities, and objectives that differ by a constant.
    Under maximum likelihood, a thousandth of a row keeps covariances from being singular, and leads away from EM's."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + np.repeat(rng.normal(0, 4, (2, 3)), 100, axis=0)
    x[:, 0] = x[:, 0].round(1)  # rounding is modelled
    problem = begun({f"x{j}": x[:, j] for j in range(3)}, kinds=None, strength=0.3, estimate=estimate)
    groupings = problem.groupings(3, 5)
    model = problem.unfitted(3, covariance)
    starts = problem._parallel_starts(covariance)
    found = starts._stepped(starts._begun(groupings, 3))
    climbs = [
        [*islice(em_steps(model.begun(problem.sample, codes), lambda: [problem.sample]), 6)] for codes in groupings
    ]
    apart = []
    for step in range(6 if estimate == "bayes" else 2):
        for own, climb in zip(zip(found.shares, found.objective, strict=True), climbs, strict=True):
            assert np.allclose(own[0].T, problem.responsibilities(climb[step].model), atol=apart_by)
            apart.append(own[1] - climb[step].objective)
        found = starts._stepped(found.shares)
    assert np.ptp(apart) < 1e-6 * abs(np.mean(apart)) + 10 * apart_by


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_the_evidence_of_a_strength_beside_other_starts_is_that_of_the_blocks(covariance: Any) -> None:
    """Up to a constant: the unit of the points."""
    x = np.random.default_rng(6).normal(size=(90, 3)) + 4.0 * np.arange(3).repeat(30)[:, None]
    problem = begun({f"x{j}": x[:, j] for j in range(3)}, kinds=None)
    fit = problem.on_sample(problem.groupings(3, 2), 3, covariance).fit
    starts = problem._parallel_starts(covariance).evidence_of_strength(problem.responsibilities(fit.model).T)
    apart = [
        starts(strength) - of_completed(fit.model.conditional, fit.evidence, problem._integrating(strength))
        for strength in (1.0, 0.1, 0.001)
    ]
    assert np.ptp(apart) < 1e-6


@pytest.mark.parametrize("digits", [15, 1])
@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_optima_on_arrays_have_the_evidence_of_their_fits(covariance: Any, digits: int) -> None:
    """Up to a constant, the unit of the points, whatever the number of components."""
    x = np.random.default_rng(6).normal(size=(90, 3)) + 4.0 * np.arange(5).repeat(18)[:, None]
    problem = begun({f"x{j}": x[:, j].round(digits) for j in range(3)}, kinds=None, tolerance=1e-12)
    optima = [problem.on_sample([codes], k, covariance) for k in (2, 3, 4) for codes in problem.groupings(k, 2)]
    assert all(isinstance(each, ArrayOptimum) for each in optima)
    apart = [each.log_evidence - problem.log_evidence(each.fit) for each in optima]
    assert np.ptp(apart) < 1e-4
    assert np.ptp([each.log_evidence for each in optima]) > 1.0
    for each in optima:
        assert len(each.fit.history) == 2  # EM agrees that this is an end


@pytest.mark.parametrize("digits", [15, 1])
def test_held_out_rows_score_the_same_on_arrays(digits: int) -> None:
    """Up to a constant."""
    x = np.random.default_rng(7).normal(size=(90, 3)) + 3.0 * np.arange(3).repeat(30)[:, None]
    problem = begun({f"x{j}": x[:, j].round(digits) for j in range(3)}, kinds=None)
    fit = problem.on_sample(problem.groupings(3, 2), 3, "full").fit
    scores = (
        held_out_score(problem, fit),
        problem._parallel_starts("full").held_out(problem.responsibilities(fit.model).T),
    )
    apart = [scores[0](strength) - scores[1](strength) for strength in (1.0, 0.1, 1e-3)]
    assert np.ptp(apart) < 1e-6
    assert np.ptp([scores[0](strength) for strength in (1.0, 0.1, 1e-3)]) > 0.1


def test_the_best_of_starts_beside_each_other() -> None:
    x = np.random.default_rng(5).normal(size=(150, 2)) + 6.0 * np.arange(3).repeat(50)[:, None]
    problem = begun({"a": x[:, 0], "b": x[:, 1]}, kinds=None, strength=0.3)
    groupings = problem.groupings(3, 8)
    best = problem.on_sample(groupings, 3, "full").fit.objective
    model = problem.unfitted(3, "full")
    for codes in groupings:
        each = em(model.begun(problem.sample, codes), lambda: [problem.sample]).objective
        assert each <= best + 1e-5 * abs(best)


def test_sampled_starts_lead_to_an_optimum_of_all_rows() -> None:
    """More rows than the sample has: EM goes on with all of them, and its objective never falls."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 4, 30_000)
    x = rng.normal(size=(30_000, 3)) + np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6]])[z]
    mixture = credo.Mixture(4, starts=3).fit(x)
    assert mixture.n == pytest.approx(30_000)
    found = mixture.predict(x)
    assert sum((found[z == k] == np.bincount(found[z == k]).argmax()).mean() > 0.99 for k in range(4)) == 4
    assert np.diff(mixture.history).min() >= -1e-9 * abs(mixture.history[-1])


def test_all_rows_decide_between_optima_of_the_sample() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12_000, 2)) + 8.0 * np.array([[0, 0], [1, 0], [0, 1]])[np.arange(12_000) % 3]
    problem = begun({"a": x[:, 0], "b": x[:, 1]}, kinds=None, strength=0.3)
    place = problem.sample.matrix(("a", "b"))
    good = np.where(place[:, 0] > 4, 1, np.where(place[:, 1] > 4, 2, 0)).astype(np.int32)
    poor = np.where(good == 0, (place[:, 0] > 0).astype(np.int32), 2).astype(np.int32)
    low, high = (problem.on_sample([codes], 3, "full").fit for codes in (poor, good))
    assert problem.sampled
    assert low.objective < high.objective - 100.0
    alone, both = problem.on_all(low), problem.on_all(low, rivals=[high.model])
    assert both.objective > alone.objective + 100.0
    assert both.objective == pytest.approx(problem.on_all(high).objective, rel=1e-6)


def test_surprise_puts_outliers_first() -> None:
    rng = np.random.default_rng(0)
    table = {"x": np.append(rng.normal(size=99), 30.0), "y": rng.normal(size=100)}
    found = credo.Mixture(1).fit(table).surprise(table)
    assert found["row"][0].as_py() == 100
    assert found["column"][0].as_py() == "x"
    assert np.allclose(np.sort(-credo.Mixture(1).fit(table).log_prob(table))[::-1], found["surprise"].to_numpy())


def test_what_sets_components_apart_is_described() -> None:
    table, _ = mixed_rows(200)
    text = repr(credo.Mixture(3, kinds=KINDS, starts=3).fit(table).describe())
    assert "cluster 0" in text
    assert "says" in text
    assert "higher" in text


def test_dates_and_alike_components_are_described() -> None:
    when = np.array(["2020-01-01", "2020-01-05", "2021-01-01", "2021-01-03"] * 5, dtype="datetime64[D]")
    rows = credo.Mixture(2).fit({"when": when}).describe().table().to_pylist()
    early, late = sorted(rows, key=lambda row: row["here"])
    assert (early["here"][:19], early["elsewhere"]) == ("earlier: 2020-01-03", "2021-01-02")
    assert late["here"].startswith("later: 2021-01-02 ± ")
    assert late["here"].endswith(" days")
    alike = credo.Mixture(3).fit({"c": ["a", "b", "a"]}).describe().table()  # more components than values
    assert {here[:2] for here in alike["here"].to_pylist()} == {"a:"}


def test_large_numbers_are_described_in_full() -> None:
    """In every digit that their deviations show, without exponents, and far from 0, too, as higher or lower."""
    rng = np.random.default_rng(0)
    upper = np.repeat([0.0, 1.0], 50)
    rows = {
        "at": 1234560.0 + 7.0 * upper + rng.normal(0, 0.5, 100),
        "salary": rng.normal(20000 + 30000 * upper, 3000.0),
    }
    description = credo.Mixture(2).fit(rows).describe()
    said = {trait.column: trait.here for each in description.components for trait in each.traits}
    assert said["at"].removeprefix("higher: ")[:7] == "1234567"
    assert re.fullmatch(r"higher: [45]\d{4} ± \d{4}", said["salary"])


def test_numbers_that_hardly_differ_are_neither_higher_nor_lower() -> None:
    """Measured by their deviation: means near 0 differ by many times themselves."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 400)
    table = {"x": rng.normal(8.0 * z, 1.0), "y": rng.normal(size=400)}
    table["y"] -= np.where(z == 1, table["y"][z == 1].mean() - 0.02, table["y"][z == 0].mean())
    traits = credo.Mixture(2, "diagonal").fit(table).describe().table().to_pylist()
    said = {row["column"]: row["here"].split(":")[0] for row in traits if row["cluster"] == 0}
    assert said["x"] in ("higher", "lower")
    assert said["y"] not in ("higher", "lower")


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6])
def test_distant_rows_leave_the_others_as_they_are(far: float) -> None:
    """They have components of their own, and the prior, which knows the pooled variance, gives way to the evidence."""
    x = np.append(np.random.default_rng(5).normal(size=300), [far, far * 1.01, -far, -far * 1.01])
    mixture = credo.Mixture().fit({"x": x})
    assert len(mixture.names) > 1
    (deviations,) = (line for line in mixture.classifier.terms.likelihoods[0][1].parameters() if line.name == "sd")
    assert deviations.estimates[0] < 1.3


@pytest.mark.parametrize("components", ["auto", 3])
@pytest.mark.parametrize(("far", "distant"), [(1e6, 1), (1e6, 3), (1e6, 20)])
def test_distant_rows_join_no_clusters(far: float, distant: int, components: Any) -> None:
    """Under a prior of a millionth of the pooled variance, clusters at a distance of six deviations would be one."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(0, 1, (300, 2)), rng.normal(6, 1, (300, 2)), far * (1 + 0.1 * rng.random((distant, 2)))]
    mixture = credo.Mixture(components).fit(np.concatenate(rows))
    (deviations, _) = (line for line in mixture.classifier.terms.likelihoods[0][1].parameters() if line.name == "sd")
    assert sorted(deviations.estimates)[1] < 1.2
    codes = mixture.predict(np.concatenate(rows))
    assert len({*codes[:300]}) == len({*codes[300:600]}) == 1
    assert len({codes[0], codes[300], codes[600]}) == 3


@pytest.mark.parametrize("components", ["auto", 3])
@pytest.mark.parametrize("far", [1e6, 1e8])
@pytest.mark.parametrize("columns", [2, 3])
def test_distant_rows_on_a_line_end_no_search(components: Any, far: float, columns: int) -> None:
    """Sums of squares as large as theirs, less those along the line, leave rounding errors: the objective may fall by
    a little."""
    for seed in (1, 3):
        rng = np.random.default_rng(seed)
        line = far * np.array([[1.0], [2.0], [3.0]]) * np.ones(columns)
        x = np.concatenate([rng.normal(0, 1, (150, columns)), rng.normal(8, 1, (150, columns)), line])
        mixture = credo.Mixture(components).fit(x)
        codes = mixture.predict(x)
        assert len({*codes[:150]}) == len({*codes[150:300]}) == 1
        assert codes[0] != codes[302]
        assert np.isfinite(mixture.update(x).log_prob(x)).all()


def test_clusters_of_clusters() -> None:
    """Four clusters, in two pairs ten thousand deviations apart."""
    rng = np.random.default_rng(1)
    z = np.repeat(np.arange(4), 50)
    x = np.array([0.0, 10.0, 1e5, 1e5 + 10.0])[z] + rng.normal(size=200)
    mixture = credo.Mixture().fit({"x": x})
    assert len(mixture.names) == 4
    assert len({*zip(z.tolist(), mixture.predict({"x": x}).tolist(), strict=True)}) == 4


def test_numbers_of_few_values_are_categories() -> None:
    """A year would be a cluster each: the density of a Gaussian that settles on one value has no bound."""
    rng = np.random.default_rng(0)
    rows = {"height": rng.normal(170, 8, 300), "year": rng.integers(2007, 2010, 300)}
    said = "column 'year': few distinct numbers, read as a category; kinds={'year': 'number'} reads it as a number"
    with pytest.warns(credo.Notice, match=said):
        mixture = credo.Mixture().fit(rows)
    assert len(mixture.names) == 1
    assert mixture.classifier.views["year"] == ("category",)
    asked = credo.Mixture(1, kinds={"year": "number"}).fit(rows)
    assert asked.classifier.views["year"] != ("category",)


# Ctrl-C


ALL_ROWS = 12_000  # more than the sample that starts are tried on


def interrupted_after(count: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ctrl-C in the E-step of all rows with this number, counted from 1; the numbers of those that ran."""
    expect, calls = MixtureEM.expect, list[int]()

    def interrupted(self: Any, batch: Any) -> Any:
        if batch.rows == ALL_ROWS:
            calls.append(len(calls) + 1)
            if len(calls) == count:
                raise KeyboardInterrupt
        return expect(self, batch)

    monkeypatch.setattr(MixtureEM, "expect", interrupted)
    return calls


def overlapping(rows: int = ALL_ROWS) -> dict[str, Any]:
    """Two clusters on which EM takes many steps."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, 2)) + 2.0 * rng.integers(0, 2, rows)[:, None]
    return {"a": x[:, 0], "b": x[:, 1]}


def test_ctrl_c_keeps_the_last_whole_step(monkeypatch: pytest.MonkeyPatch) -> None:
    mixture = credo.Mixture(2, covariance="full", starts=1, strength=1.0, steps=30, tolerance=0.0)
    with quietly():
        whole = mixture.fit(overlapping())
    interrupted_after(6, monkeypatch)  # the first step from the sample's parameters, its E-step, and those of three
    with pytest.warns(credo.Notice) as told:
        found = mixture.fit(overlapping())
    assert [str(each.message) for each in told] == [
        "EM was interrupted: the parameters of the last complete step are kept"
    ]
    assert found.history == whole.history[:4]
    assert found.n == ALL_ROWS


@pytest.mark.filterwarnings("ignore:EM was interrupted")
def test_ctrl_c_ends_the_search_for_the_number_of_components(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = interrupted_after(4, monkeypatch)
    found = credo.Mixture(tolerance=1e-12).fit(overlapping())
    assert calls == [1, 2, 3, 4]
    assert found.n == pytest.approx(ALL_ROWS)
    assert sum(choice.whole for choice in found.choices) == 1


def test_ctrl_c_keeps_the_best_number_of_components_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all rows are searched, each fit is one of all rows."""
    add = search.BestFits.add

    def interrupted(self: Any, problem: Any, k: int, groupings: Any) -> None:
        if k == 3:
            raise KeyboardInterrupt
        add(self, problem, k, groupings)

    monkeypatch.setattr(search.BestFits, "add", interrupted)
    x = np.random.default_rng(0).normal(size=(60, 2)) + 9.0 * (np.arange(60) % 2)[:, None]
    with pytest.warns(credo.Notice, match="the search was interrupted: the best fit so far is kept"):
        found = credo.Mixture().fit(x)
    assert len(found.names) == 2
    assert {choice.covariance for choice in found.choices} == {"diagonal"}
    monkeypatch.setattr(search.BestFits, "add", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        credo.Mixture().fit(x)


def test_files_that_are_read_in_each_step_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, _ = mixed_rows(300)
    rows = pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()})
    for k in range(3):
        pq.write_table(rows.slice(100 * k, 100), tmp_path / f"part{k}.parquet", row_group_size=30)
    mixture, files = credo.Mixture(3, kinds=KINDS, starts=3), str(tmp_path / "*.parquet")
    held = mixture.fit(files)
    monkeypatch.setattr(Source, "held", lambda self: self)
    again = mixture.fit(files)
    np.testing.assert_allclose(again.history, held.history, rtol=1e-9)
    np.testing.assert_allclose(again.responsibilities(files), mixture.fit(rows).responsibilities(rows), atol=1e-6)
