"""How a posterior over hypotheses changes as data come: bars, a panel for each number of data."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.numerics.exact import Array
from credo.present.plotting import Figure

if TYPE_CHECKING:
    from credo.models.hypotheses import Evolution

PANELS, ACROSS = 12, 4  # in all; in a row
LEGIBLE_HYPOTHESES = 12  # with more, names are left out
BARRED_HYPOTHESES = 200  # with more, bars become lines


def plot_evolution(evolution: Evolution, titles: Sequence[str] = ()) -> Figure:
    """A panel for each number of data, evenly spaced if there are many."""
    steps = np.unique(np.linspace(0, len(evolution) - 1, min(PANELS, len(evolution))).round().astype(int)).tolist()
    across = min(ACROSS, len(steps))
    figure = Figure(figsize=(2.4 * across, 2.0 * ceil(len(steps) / across)), layout="constrained")
    names = [str(each) for each in evolution.hypotheses] if len(evolution.hypotheses) <= LEGIBLE_HYPOTHESES else None
    top = 1.05 * float(evolution.probabilities[steps].max())
    for panel, step in enumerate(steps):
        axes = figure.add_subplot(ceil(len(steps) / across), across, panel + 1)
        if len(evolution.hypotheses) <= BARRED_HYPOTHESES:
            axes.bar(np.arange(len(evolution.hypotheses)), evolution.probabilities[step], color="tab:blue")
        else:
            _draw_lines(axes, evolution.probabilities[step])
        axes.set(title=titles[step] if titles else f"after {step}" if step else "prior", ylim=(0, top))
        axes.set_xticks(np.arange(len(names)) if names else [], names or [], rotation=30)
        axes.set_ylabel("probability" if panel % across == 0 else "")
    return figure


def _draw_lines(axes: Any, p: Array) -> None:
    """A line for each hypothesis that is still possible, all in one path."""
    places = np.flatnonzero(p > 0)
    axes.vlines(places, 0, p[places], color="tab:blue", linewidth=0.6)
    axes.set_xlim(-1, len(p))
