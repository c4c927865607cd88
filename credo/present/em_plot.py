"""A picture of EM's steps: the means, and the log-likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.plotting import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from credo.models.em_means import FittedMeans

HISTOGRAM_BINS = 40
FITTED_POINTS = 401  # of the density


def plot_means(fitted: FittedMeans) -> Figure:
    """Three panels: the observations under the fitted density, the means step by step, the log-likelihood."""
    figure = Figure(figsize=(7.0, 7.0), layout="constrained")
    density, steps, growth = figure.subplots(3, 1, height_ratios=(2, 2, 1))
    _draw_density(density, fitted)
    _draw_steps(steps, fitted)
    steps.sharex(density)
    growth.plot([step.log_likelihood for step in fitted.history], "o-", ms=3, lw=1, color="black")
    growth.set(xlabel="step", ylabel="log-likelihood")
    return figure


def _draw_density(axes: Axes, fitted: FittedMeans) -> None:
    x = np.linspace(fitted.x.min() - 2 * fitted.sd, fitted.x.max() + 2 * fitted.sd, FITTED_POINTS)
    z = (x[:, None] - fitted.means) / fitted.sd
    each = np.exp(-0.5 * z**2) / (fitted.sd * np.sqrt(2 * np.pi) * len(fitted.means))  # (points, k)
    axes.hist(fitted.x, bins=min(HISTOGRAM_BINS, max(1, len(fitted.x))), density=True, color="0.85")
    for curve in each.T:
        axes.plot(x, curve, lw=1)
    axes.plot(x, each.sum(1), color="black", lw=1.5)
    axes.set(ylabel="density", yticks=[])


def _draw_steps(axes: Axes, fitted: FittedMeans) -> None:
    """Time runs downwards, as the means move under the density."""
    path = np.array([step.means for step in fitted.history])  # (steps, k)
    for mean in path.T:
        axes.plot(mean, np.arange(len(path)), "o-", ms=3, lw=1)
    axes.invert_yaxis()
    axes.set(xlabel="x", ylabel="step")
