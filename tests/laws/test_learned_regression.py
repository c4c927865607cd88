"""credo.learn of a number, and credo.compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import credo
from credo.cli.group import main
from credo.models.regression.scores import NumberScores
from credo.selection.comparison import CurveComparison
from credo.selection.regression import _clearly_better, _of_rows
from credo.selection.significance import clear_gain_but_for_tails

Table = dict[str, Any]


def houses(rows: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    size, city = rng.normal(100, 30, rows), rng.choice(["Aa", "Bb"], rows)
    price = 2 * size + 40 * (city == "Bb") + rng.normal(0, 10, rows)
    return {"size": size, "city": city, "price": price}


def test_a_number_is_predicted_by_regression(tmp_path: Path) -> None:
    learned = credo.learn(houses(200), target="price", model="linear")
    report, new = learned.report, houses(2000, seed=1)
    assert isinstance(learned, credo.LinearRegression)
    assert report.scores.rmse == pytest.approx(10, rel=0.15)
    assert abs(learned.scores(new).log_loss - report.scores.log_loss) < 3 * report.scores.log_loss_error
    assert [each.log_loss for each in report.tried] == sorted(each.log_loss for each in report.tried)
    assert sum(each.chosen for each in report.tried) == 1
    assert "the mean alone" in report.why
    credo.save(learned, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    assert again.report.why == report.why
    assert np.array_equal(again.predict(new), learned.predict(new))
    assert learned.update(new).report is None
    same = credo.learn(houses(200), target="price")
    assert np.array_equal(same.predict(new), learned.predict(new))


@pytest.mark.slow
def test_options_are_chosen_where_they_pay() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    product = credo.learn({"a": a, "b": b, "y": a * b + 0.1 * rng.normal(size=300)}, target="y", model="linear")
    assert product.interactions == "all"
    heavy = credo.learn({"a": a, "b": b, "y": a + rng.standard_t(1.5, 300)}, target="y", model="linear")
    assert heavy.noise == "student"
    plain = credo.learn({"a": a, "b": b, "y": a + b + rng.normal(size=300)}, target="y", model="linear")
    assert (plain.noise, plain.interactions, plain.select) == ("gaussian", (), False)


def test_squares_are_tried() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    bent = credo.learn({"a": a, "b": b, "y": a**2 + b + 0.3 * rng.normal(size=300)}, target="y", model="linear")
    assert bent.interactions == (("a", "a"), ("b", "b"))
    assert bent.report.scores.rmse < 0.4
    both = a**2 + a * b + 0.3 * rng.normal(size=300)
    curved = credo.learn({"a": a, "b": b, "y": both}, target="y", model="linear")
    assert curved.interactions == (("a", "a"), ("b", "b"), ("a", "b"))
    skewed = np.exp(2 * a)  # a parabola in it would be nonsense at the next outlier
    without = credo.learn({"a": skewed, "b": b, "y": a + b**2}, target="y", model="linear")
    assert without.interactions == (("b", "b"),)


@pytest.mark.parametrize("rows", [20, 40, 100])
def test_as_many_losses_as_gains_are_made_less_extreme(rows: int) -> None:
    gain = np.linspace(0.5, 1.5, rows)
    for outlier in (-0.4 * rows, 10.0 * rows):
        gain[3] = outlier
        assert clear_gain_but_for_tails(gain, np.ones(rows), 2.0)
        assert not clear_gain_but_for_tails(-gain, np.ones(rows), 2.0)


@pytest.mark.parametrize("outlier", [0.0, 1e3, 1e6])
def test_an_outlier_doesnt_hide_that_noise_has_heavy_tails(outlier: float) -> None:
    """The larger it is, the larger the gain, and its standard error."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + rng.standard_t(2, 300)
    y[7] += outlier
    assert credo.learn({"x": x, "y": y}, target="y", model="linear").noise == "student"


def test_the_mean_of_skewed_numbers_is_predicted() -> None:
    """Student-t noise about a line below the mean has the higher density, and predicts worse than the mean."""
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 600))
    table = {"x": x, "wait": np.exp(0.1 * x + 1.5 * noise)}
    learned = credo.learn(table, target="wait", model="linear")
    assert abs(np.mean(learned.predict(table)) - table["wait"].mean()) < 0.3
    assert learned.report.scores.r2 > -0.02


@pytest.mark.parametrize("zeros", [0.5, 0.55, 0.7, 0.9])
def test_numbers_that_are_mostly_one_are_learned(zeros: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = np.where(rng.random(400) < zeros, 0.0, np.exp(1 + x + rng.normal(size=400)))
    learned = credo.learn({"x": x, "y": y}, target="y", model="linear")
    low, high = learned.intervals({"x": x}, 0.95)
    assert np.mean((low <= y) & (y <= high)) > 0.9


@pytest.mark.slow
def test_the_reported_figure_is_that_of_the_choice() -> None:
    rng = np.random.default_rng(3)
    noise = {f"x{j}": rng.normal(size=60) for j in range(20)}
    report = credo.learn({**noise, "y": rng.normal(size=60)}, target="y", model="linear").report
    assert report.scores.r2 < 0.1
    assert report.scores.log_loss > report.scores.baseline_log_loss - 0.05


def test_copies_are_held_out_together() -> None:
    """A row that stays behind in a copy would predict itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1030, 8))
    table = {**{f"x{j}": x[:, j] for j in range(8)}, "y": x[:, 0] + rng.normal(size=1030)}
    few, new = ({name: cells[part] for name, cells in table.items()} for part in (slice(30), slice(30, None)))
    repeated = credo.learn({name: np.repeat(cells, 5) for name, cells in few.items()}, target="y", model="linear")
    weighed = credo.learn(few, target="y", model="linear", weight=np.full(30, 5.0))
    scores = repeated.report.scores
    assert abs(repeated.scores(new).log_loss - scores.log_loss) < 2 * scores.log_loss_error
    assert scores.log_loss == pytest.approx(weighed.report.scores.log_loss, rel=1e-9)


def test_a_table_of_counts_is_its_rows_repeated() -> None:
    counts: dict[str, list[Any]] = {"size": ["s", "s", "m", "m", "l"], "price": [1.5, 2.5, 2.5, 3.5, 4.0]}
    times = np.array([30, 10, 40, 20, 25])
    repeated = credo.learn({name: np.repeat(cells, times) for name, cells in counts.items()}, "price", model="linear")
    counted = credo.learn(counts, "price", model="linear", weight=times)
    new = {"size": ["s", "m", "l"]}
    np.testing.assert_allclose(counted.predict(new), repeated.predict(new), rtol=1e-9)
    np.testing.assert_allclose(counted.predict(new), [1.75, 170 / 60, 4.0], atol=0.05)
    assert counted.report.scores.log_loss == pytest.approx(repeated.report.scores.log_loss, rel=1e-9)
    assert len(counted.report.scores.truth) == 125


@pytest.mark.parametrize(("held_out_ratio", "better"), [(0.0, True), (10 / 9, False)])
def test_choices_count_the_rows_that_taught(held_out_ratio: float, better: bool) -> None:
    """A gain of 2.5 standard errors of new rows is one of 1.7 where the held-out rows trained the models, too."""
    truth, gain = np.zeros(100), np.tile([-1.0, 1.0], 50) + 0.25
    plain, other = (
        NumberScores(truth, truth, logs, np.ones(100), held_out_ratio=held_out_ratio) for logs in (np.zeros(100), gain)
    )
    assert _clearly_better(other, plain) == better
    assert _clearly_better(_of_rows(other, gain < 9), _of_rows(plain, gain < 9)) == better


def test_whole_numbers_are_classes_where_few_else_quantities() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    few, many = np.clip(np.round(x), -2, 2).astype(int), np.round(30 * x).astype(int)
    assert credo.learn({"x": x, "y": few}, target="y").classes == (-2, -1, 0, 1, 2)
    with pytest.warns(
        credo.Notice, match="distinct whole numbers: it is predicted as a quantity.*kinds={'y': 'category'}"
    ):
        assert isinstance(credo.learn({"x": x, "y": many}, target="y"), credo.LinearRegression)
    number: Any = credo.learn({"x": x, "y": few}, target="y", kinds={"y": "number"})
    assert isinstance(number, credo.LinearRegression)
    missing = np.where(rng.random(400) < 0.1, np.nan, x)
    with pytest.warns(credo.Notice, match="without 'y' left out"):
        partly: Any = credo.learn({"x": rng.normal(size=400), "y": missing}, target="y")
    assert partly.report.unlabelled == np.isnan(missing).sum()


@pytest.mark.parametrize(
    ("data", "how", "says"),
    [
        ({"x": [1.0, 2.0, 3.0], "y": [1.5, 1.5, 1.5]}, {}, "one number only, 1.5"),
        (
            {"x": [1.0, 2.0], "y": ["a", "b"]},
            {"model": "linear"},
            "'linear' predicts numbers, but column 'y' has the value 'a'",
        ),
        ({"x": [1.0], "y": [0.5]}, {}, "at least three different rows"),
        ({"x": [1.0, 2.0], "y": [0.5, 1.5]}, {}, "at least three different rows"),
    ],
)
def test_what_can_t_be_predicted(data: Table, how: Table, says: str) -> None:
    with pytest.raises(credo.CredoError, match=says):
        credo.learn(data, target="y", **how)


def crossing(losses: Any) -> CurveComparison:
    found = np.array(losses, dtype=float)
    draws = found[:, None, :] + 0.001 * np.arange(4)[None, :, None]
    return CurveComparison("y", ("NaiveBayes", "LogisticRegression"), (10, 20, 40), draws, 1 - draws, 50)


def test_advice_says_which_to_prefer_at_which_size() -> None:
    found = crossing([[0.3, 0.3, 0.3], [0.5, 0.3, 0.1]])
    assert found.preferred == (0, None, 1)
    assert found.advice == (
        "Up to 10 rows prefer NaiveBayes (generative); at 20 rows there is no clear difference; "
        "from 40 rows prefer LogisticRegression (discriminative)."
    )
    always = crossing([[0.3, 0.3, 0.3], [0.5, 0.4, 0.6]])
    assert always.advice == "Prefer NaiveBayes (generative) at every size from 10 to 40 rows."
    assert always.table().num_rows == 3
    assert len(always.plot().axes) == 2


def test_both_learn_from_the_same_draws() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 2
    x = rng.normal(size=(240, 6)) + 0.8 * truth[:, None]
    table = {**{f"x{j}": x[:, j] for j in range(6)}, "y": np.array(["a", "b"])[truth]}
    found = credo.compare(table, target="y", draws=4, sizes=[10, 80])
    assert found.names == ("GaussianDiscriminant", "LogisticRegression")
    assert (found.log_loss[:, 1] < found.log_loss[:, 0]).all()
    assert found.withheld == 80
    again = credo.compare(table, target="y", draws=4, sizes=[10, 80])
    assert np.array_equal(found.log_losses, again.log_losses)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"draws": 1}, "draws must be"),
        ({"withheld": 2}, "withheld must be a share"),
        ({"sizes": [1]}, "sizes must be whole numbers from 4"),
    ],
)
def test_comparisons_that_can_t_be_made(how: Table, says: str) -> None:
    with pytest.raises(credo.CredoError, match=says):
        credo.compare({"x": np.arange(40.0), "y": np.arange(40) % 2}, target="y", **how)


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = houses(60)
    lines = [f"{s:.1f},{c},{p:.1f}" for s, c, p in zip(*table.values(), strict=True)]
    Path("houses.csv").write_text("\n".join(["size,city,price", *lines]), encoding="utf-8")
    learned = CliRunner().invoke(main, ["learn", "houses.csv", "--target", "price", "-o", "m.credo"])
    assert learned.exit_code == 0, learned.output
    assert "root mean squared error" in learned.output
    predicted = CliRunner().invoke(main, ["predict", "m.credo", "houses.csv"])
    assert predicted.output.splitlines()[0].replace('"', "") == "size,city,price,predicted,low,high"
    explained = CliRunner().invoke(main, ["explain", "m.credo", "houses.csv", "--row", "2"])
    assert "average row" in explained.output
    assert "rmse" in CliRunner().invoke(main, ["show", "m.credo"]).output
    written = ["--report", "r.html", "--plot", "w.svg"]
    again = CliRunner().invoke(main, ["learn", "houses.csv", "--target", "price", *written])
    assert again.exit_code == 0, again.output
    assert "root mean squared error" in Path("r.html").read_text(encoding="utf-8")
    assert "<svg" in Path("w.svg").read_text(encoding="utf-8")
    refused = CliRunner().invoke(main, ["learn", "houses.csv", "--target", "price", "--learning-curve"])
    assert "predicted by regression, which has no --learning-curve" in refused.output
    compared = CliRunner().invoke(main, ["compare", "houses.csv", "-t", "city", "--draws", "2", "--plot", "c.svg"])
    assert compared.exit_code == 0, compared.output
    assert "GaussianDiscriminant (generative)" in compared.output
    assert Path("c.svg").is_file()


def test_single_kinds_of_models_are_fitted_as_they_are() -> None:
    table = houses(60)
    logistic = credo.learn(table, target="city", model="logistic")
    tree = credo.learn(table, target="city", model="tree")
    for learned, alone in ((logistic, credo.LogisticRegression()), (tree, credo.DecisionTree())):
        assert np.array_equal(learned.predict_proba(table), alone.fit(table, "city").predict_proba(table))


def test_live_rows_are_those_of_an_update() -> None:
    first, more = houses(50), houses(150, seed=1)
    model = credo.LinearRegression().fit(first, target="price")
    live = model.live()
    rows = [dict(zip(more, cells, strict=True)) for cells in zip(*more.values(), strict=True)]
    for row in rows:
        live.observe(row)
    new, updated = {"size": 80.0, "city": "Bb"}, model.update(more)
    assert live.predict(new) == pytest.approx(float(updated.predict([new])[0]), rel=1e-12)
    assert live.predictive(new).interval(0.9) == pytest.approx(updated.predictive(new).interval(0.9))
    assert live.freeze().n == 200
    assert model.n == 50
    live.observe({"size": 1.0})  # whose price nobody knows
    live.observe({"price": 3.0}, weight=0)
    assert live.freeze().n == 200
    with pytest.raises(credo.DataError, match="none of the model's columns"):
        live.observe({"rooms": 3})
    with pytest.raises(credo.EvidenceError):
        credo.LinearRegression().live()


def test_live_rows_of_a_logistic_regression_are_those_of_an_update() -> None:
    first, more = houses(80), houses(30, seed=1)
    model = credo.LogisticRegression(strength=1.0).fit(first, target="city")
    live = model.live()
    for cells in zip(*more.values(), strict=True):
        live.observe(dict(zip(more, cells, strict=True)))
    new, updated = {"size": 80.0, "price": 210.0}, model.update(more)
    shares = dict(zip(updated.classes, updated.predict_proba([new])[0].tolist(), strict=True))
    assert live.predict_proba(new) == pytest.approx(shares)
    assert live.predict(new) == max(shares, key=lambda city: shares[city])
    assert (live.freeze().n, model.n) == (110, 80)


def test_weights_are_no_column_that_held_out_rows_are_predicted_from() -> None:
    random = np.random.default_rng(0)
    x, mass = random.normal(size=300), random.choice([1.0, 2.0, 3.0], 300)
    rows = {"x": x, "mass": mass, "y": x + 3 * mass + random.normal(size=300)}
    model = credo.learn(rows, target="y", weight="mass", model="linear")
    assert model.report.scores.rmse > 2  # what x leaves; with the weights as a column it would be 1
