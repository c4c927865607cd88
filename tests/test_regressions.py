"""Regressions as users meet them: questions, explanations, pictures, commands."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import credo
from credo.cli.group import main

RNG = np.random.default_rng(0)
N = 90
ROOMS, CITY = RNG.integers(1, 7, N), np.array(["Bonn", "Kiel", "Ulm"])[np.arange(N) % 3]
PRICE = 10 + 30 * ROOMS + 20 * (CITY == "Bonn") + RNG.normal(0, 5, N)
HOUSES: dict[str, Any] = {"rooms": ROOMS.tolist(), "city": CITY.tolist(), "price": PRICE.round(2).tolist()}
MODEL = credo.LinearRegression().fit(HOUSES, target="price")


def test_questions_about_the_target() -> None:
    row = {"rooms": 3, "city": "Bonn"}
    law = MODEL.predictive(row)
    assert credo.ask(MODEL, "E(price | rooms=3, city=Bonn)") == pytest.approx(law.mean())
    assert credo.ask(MODEL, "P(price > 100 | rooms=3, city=Bonn)") == pytest.approx(1 - law.cdf(100.0))
    average = MODEL.predict({"rooms": [3], "city": [None]})[0]
    assert credo.ask(MODEL, "E(price | rooms=3)") == pytest.approx(average)
    assert credo.ask(MODEL, "explain P(price | rooms=3, city=Bonn)").prediction == pytest.approx(law.mean())


def test_questions_about_the_weights() -> None:
    assert list(credo.ask(MODEL, "E(weights)")) == ["intercept", "rooms", "city=Bonn", "city=Kiel", "city=Ulm"]
    assert credo.ask(MODEL, "P(weights[rooms] > 0)") > 0.999
    assert credo.ask(MODEL, "E(variance)") == pytest.approx(MODEL.mean().variance)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("E(cost | rooms=3)", "there is no"),
        ("E(price | floor=3)", "no feature 'floor'"),
        ("E(price | rooms=many)", "as a number"),
        ("E(price | city=Wien)", "no value 'Wien'"),
        ("P(weights[floor] > 0)", "no entry 'floor'"),
        ("explain P(rooms | city=Ulm)", "explains its target"),
    ],
)
def test_questions_that_have_no_answer(question: str, says: str) -> None:
    with pytest.raises(credo.QuestionError, match=says.replace("'", ".")):
        credo.ask(MODEL, question)


def test_an_explanation_adds_up() -> None:
    found = MODEL.explain({"rooms": 6, "city": "Bonn"})
    assert found.prediction == pytest.approx(MODEL.predict({"rooms": [6], "city": ["Bonn"]})[0])
    assert found.average == pytest.approx(np.mean(HOUSES["price"]))
    assert found.strongest[0] == ("rooms",)
    assert found.table()["column"].to_pylist() == ["(average)", "rooms", "city"]
    assert "rooms = 6" in repr(found)
    assert "unseen value, ignored" in repr(MODEL.explain({"rooms": 6, "city": "Wien"}))
    with pytest.raises(credo.DataError, match="explain takes one row, but the data has 90"):
        MODEL.explain(HOUSES)


def test_draws_scatter_as_the_posterior() -> None:
    drawn = MODEL.sample(4000, seed=0)
    np.testing.assert_allclose(drawn.weights.mean(0), MODEL.mean().weights, atol=1.0)
    np.testing.assert_allclose(drawn.weights[:, 1].std(), np.sqrt(MODEL.variance().weights[1]), rtol=0.1)
    targets = MODEL.predictive({"rooms": 3, "city": "Ulm"}).sample(4000, seed=1)
    assert targets.mean() == pytest.approx(MODEL.predict({"rooms": [3], "city": ["Ulm"]})[0], abs=1.0)


def test_pictures_and_pages() -> None:
    axes = MODEL.plot().axes[0]
    assert axes.get_yticklabels()[0].get_text() == "rooms (1 sd)"
    assert "city=Bonn" in MODEL._repr_html_()
    assert "<table" in MODEL.explain({"rooms": 6, "city": "Bonn"})._repr_html_()
    assert "not fitted yet" in credo.LinearRegression()._repr_html_()


def test_a_prior_of_numbers_is_a_family() -> None:
    """credo.estimate takes the same prior, for a line in each group."""
    table: dict[str, list[Any]] = {
        "x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
        "y": [1.0, 2.1, 2.9, 2.0, 4.1, 6.0],
        "g": ["a"] * 3 + ["b"] * 3,
    }
    lines = credo.estimate(table, ["x", "y"], by="g", prior=credo.LinearRegression(0, 0.01, 1, 1))
    alone = credo.LinearRegression(0, 0.01, 1, 1).fit({name: table[name][3:] for name in ("x", "y")}, "y")
    np.testing.assert_allclose(lines["b"].mean().weights, alone.mean().weights, rtol=1e-9)


def test_description_lengths_are_those_of_free_parameters_and_densities() -> None:
    found = credo.description_length(MODEL, HOUSES)
    free = MODEL.fitted.basis.features.free()
    assert found.parameters == pytest.approx((free + 2) / 2 * np.log2(MODEL.n))
    assert found.data == pytest.approx(-MODEL.log_prob(HOUSES).sum() / np.log(2))
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    table = {"x": x, "z": z, "y": 2 * x + rng.normal(size=400)}
    models = {"all": credo.LinearRegression(), "selected": credo.LinearRegression(select=True)}
    chosen = credo.choose(models, table, by="mdl", target="y")
    assert chosen.name == "selected"
    assert chosen["selected"].model.inclusion()["z"] < 0.5
    lengths = [credo.description_length(each.model, table) for each in chosen.ranked]
    assert [each.parameters for each in lengths] == pytest.approx([1.5 * np.log2(400), 2 * np.log2(400)])
    assert [each.structure for each in lengths] == pytest.approx([np.log2(3) + 1, 0])


def run(*args: object) -> str:
    found = CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_commands(tmp_path: Path) -> None:
    names = [tmp_path / "first.csv", tmp_path / "rest.csv"]
    for path, part in zip(names, (slice(0, 60), slice(60, None)), strict=True):
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(HOUSES)
            rows.writerows(zip(*(cells[part] for cells in HOUSES.values()), strict=True))
    first, rest = names
    model, other, both = (tmp_path / f"{name}.credo" for name in ("model", "other", "both"))
    assert "city=Bonn" in run("learn", first, "--target", "price", "--model", "linear", "-o", model)
    assert "rooms" in run("show", model)
    assert run("predict", model, rest).splitlines()[0].replace('"', "") == "rooms,city,price,predicted,low,high"
    assert "average row" in run("explain", model, rest, "--row", 2)
    assert "=" in run("ask", model, "P(price > 100 | rooms=3)")
    run("learn", rest, "--target", "price", "--model", "linear", "-o", other)
    run("merge", model, other, "-o", both)
    run("update", model, rest)
    np.testing.assert_allclose(credo.load(model).predict(HOUSES), credo.load(both).predict(HOUSES), rtol=1e-9)
    run("forget", model, rest)
    assert credo.load(model).n == 60
