"""Every plot() returns one kind of figure, which shows itself in a notebook whatever was imported there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import credo
from credo.present.plotting import Figure
from credo.selection.learning_curve import LearningCurve

COIN = credo.BetaBernoulli(2, 2)


def curve() -> LearningCurve:
    rows = {"x": [0.0, 1.0] * 30, "y": ["a", "b"] * 30}
    return credo.NaiveBayes().fit(rows, "y").learning_curve(rows, sizes=[10, 20])


@pytest.mark.parametrize(
    "made",
    [
        COIN.plot,
        COIN.update({1: 7, 0: 2}).plot,
        credo.DirichletCategorical(1.0).update(["a", "b", "a"]).plot,
        credo.NormalInverseGamma(0, 1, 1, 1).update([1.0, 2.0]).plot,
        credo.Numeric(lambda x, t: np.log(t) - x * t, lambda t: 0 * t, support=(0, 10)).update([2, 3]).plot,
        credo.Network.example("sprinkler").plot,
        lambda: curve().plot(),
    ],
)
def test_all_plots_are_figures_that_notebooks_show(made: object) -> None:
    figure = made()  # type: ignore[operator]
    assert type(figure) is Figure
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_no_plot_needs_or_leaves_a_state_of_pyplot() -> None:
    code = (
        "import sys, credo\n"
        "figure = credo.Network.example('sprinkler').plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert figure._repr_png_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_prior_without_bound_leaves_the_posterior_its_height() -> None:
    figure = credo.NormalInverseGamma(0, 1, 1, 1).update(np.linspace(15, 25, 30)).plot()
    variance = figure.axes[1]
    heights = {line.get_label(): np.nanmax(line.get_ydata()) for line in variance.lines}
    assert heights["posterior"] > 0.7 * variance.get_ylim()[1] < heights["prior"]


def test_axes_of_ones_own_are_drawn_in() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert credo.Network.example("sprinkler").plot(ax=right) is figure
    assert len(left.texts) == 0
    assert len(right.texts) > 0
    assert np.isfinite(figure.get_size_inches()).all()
