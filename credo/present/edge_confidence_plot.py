"""A picture of edge confidence: line widths proportional to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.networks.mixed_graph import Edge
from credo.present.graph_plot import laid_out
from credo.present.network_plot import Arrow, Heads, NetworkPicture, drawn_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.structure.confidence import EdgeConfidence

WIDEST_LINE = 2.5  # in points, for a certain edge
CLEAR_DIRECTION = 0.9  # share of one direction above which the other isn't drawn


def confidence_picture(found: EdgeConfidence, least: float = 0.1) -> NetworkPicture:
    """One line between two variables, as wide as either direction is probable, labelled with P(arrow); both heads, and
    both probabilities, where neither direction is clear. Variables that lead to others are above them."""
    lead = (found.paths - found.paths.T).sum(1)
    order = [found.variables[i] for i in np.argsort(-lead, kind="stable")]
    arrows: dict[Edge, Arrow] = {}
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            if (either := found.edge(a, b)) >= least:
                arrows[a, b] = _line(found, a, b, either)
    return laid_out(found.variables, arrows, order)


def _line(found: EdgeConfidence, upper: str, lower: str, either: float) -> Arrow:
    down, up = found[upper, lower], found[lower, upper]
    heads: Heads = (
        "child" if down >= CLEAR_DIRECTION * either else "parent" if up >= CLEAR_DIRECTION * either else "both"
    )
    label = f"{_short(down)}↓ {_short(up)}↑" if heads == "both" else _short(max(down, up))
    grey = f"{0.75 - 0.55 * min(either, 1.0):.2f}"
    return Arrow(upper, lower, (), heads, 0.5 + WIDEST_LINE * either, grey, "solid", label)


def _short(p: float) -> str:
    """
    >>> _short(0.973), _short(0.9999)
    ('.97', '1.0')
    """
    return "1.0" if p >= 0.995 else f"{p:.2f}".removeprefix("0")


def plot_confidence(found: EdgeConfidence, least: float = 0.1, ax: Any = None) -> AnyFigure:
    return drawn_picture(confidence_picture(found, least), ax)
