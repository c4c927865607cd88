"""Pictures, pages and live twins of mixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.present.classifier_page import SORTING_SCRIPT
from tests.hostile.refusals import refused
from tests.test_report_page import scripts_of


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 120)
    return {
        "x": rng.normal(size=120) + 5 * z,
        "<y>": rng.normal(size=120) * 2 - 3 * z,
        "colour": np.array(["red", "blue & green"])[z].tolist(),
    }


@pytest.fixture(scope="module")
def mixture(table: dict[str, Any]) -> credo.Mixture:
    return credo.Mixture(2, starts=2).fit(table)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical"])
def test_ellipses_lie_around_the_rows(table: dict[str, Any], covariance: Any) -> None:
    """About 86% of a Gaussian's rows lie within two standard deviations."""
    from credo.present.mixture_plot import gaussian_of

    found = credo.Mixture(2, covariance, starts=2).fit(table)
    x = np.column_stack([table["x"], table["<y>"]])
    codes = found.responsibilities(table).argmax(1)
    for k in range(2):
        mean, root = gaussian_of(found, k, ["x", "<y>"])
        away = np.linalg.solve(root, (x[codes == k] - mean).T)
        assert 0.7 < ((away**2).sum(0) < 4).mean() < 1.0
    figure = found.plot(table)
    assert len(figure.axes[0].lines) == 6  # two ellipses and a centre each


def test_profiles_show_what_sets_components_apart(mixture: credo.Mixture, table: dict[str, Any]) -> None:
    axes = mixture.plot(kind="profile").axes[0]
    assert next(label.get_text() for label in axes.get_yticklabels()) in ("x", "colour")
    categories = credo.Mixture(2, starts=2).fit({"colour": table["colour"], "x": table["x"]})
    assert "two number columns" in refused(categories.plot)
    assert "no number column 'nosuch'" in refused(mixture.plot, columns=["x", "nosuch"])


def test_the_page_escapes_names_and_runs_nothing(mixture: credo.Mixture, tmp_path: Path) -> None:
    mixture.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "&lt;y&gt;" in page
    assert "<y>" not in page
    assert "blue &amp; green" in page
    assert scripts_of(page) <= {SORTING_SCRIPT}


def test_a_live_mixture_learns_row_by_row(mixture: credo.Mixture) -> None:
    live = mixture.live()
    far = live.log_prob({"x": 20.0, "<y>": 0.0})
    for i in range(150):
        live.observe({"x": 20.0 + 0.01 * (i % 7), "<y>": None, "colour": "red"})
    grown = live.freeze()
    assert grown.n == 270
    assert mixture.n == 120
    assert live.log_prob({"x": 20.0, "<y>": 0.0}) > far
    assert sum(live.responsibilities({"x": 1.0}).values()) == pytest.approx(1.0)
    assert live.predict({"x": 20.0}) in grown.names
    assert "none of the model's columns" in refused(live.observe, {"z": 1})
    assert "a row must be a dict" in refused(live.observe, [1.0])
    assert "a weight must be" in refused(live.observe, {"x": 1.0}, -1.0)


def test_questions_are_answered_as_by_a_classifier(mixture: credo.Mixture) -> None:
    shares = mixture.responsibilities({"x": [1.0], "<y>": [None], "colour": ["red"]})[0]
    assert credo.ask(mixture, "P(cluster | x=1, colour=red)") == pytest.approx(dict(enumerate(shares)))
    assert sum(credo.ask(mixture, "P(colour | cluster=0)").values()) == pytest.approx(1.0)
    assert {each["name"] for each in credo.asking.variables(mixture)} == {"cluster", "x", "<y>", "colour"}


def test_one_strong_cell_leaves_the_others_their_shade() -> None:
    """A column that is constant in all components but one tells that one apart by thousands of nats."""
    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    table = {"x": rng.normal(3.0 * z, 1.0), "gain": np.where(z == 2, rng.normal(1e5, 10.0, 90), rng.normal(0, 0.1, 90))}
    figure = credo.Mixture(3, "diagonal").fit(table).plot(kind="profile")
    (image,) = figure.axes[0].get_images()
    cells = np.asarray(image.get_array())
    assert image.get_clim()[1] < 2.0
    assert (np.sort(cells, axis=None)[::-1][:4] > 0.3).all()
