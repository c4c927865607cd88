"""A picture of how sure the arrows are: lines as wide as edges are probable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.networks.mixed_graph import Edge
from credo.present.graph_plot import laid_out
from credo.present.network_plot import Arrow, NetworkPicture, drawn_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.structure.confidence import EdgeConfidence

WIDEST = 4.0  # points of a certain edge
CLEAR = 0.9  # share of one direction from which on the other isn't drawn


def confidence_picture(found: EdgeConfidence, least: float = 0.1) -> NetworkPicture:
    """One line between two variables, as wide as either direction is probable, labelled with P(arrow); both heads, and
    both probabilities, where neither direction is clear."""
    arrows: dict[Edge, Arrow] = {}
    names = found.variables
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            either = found.edge(a, b)
            if either < least:
                continue
            parent, child = (a, b) if found[a, b] >= found[b, a] else (b, a)
            clear = found[parent, child] >= CLEAR * either
            label = _short(found[parent, child])
            label = label if clear else f"{label}↓ {_short(found[child, parent])}↑"
            grey = f"{0.75 - 0.6 * min(either, 1.0):.2f}"
            heads = "child" if clear else "both"
            arrows[parent, child] = Arrow(parent, child, (), heads, 0.4 + WIDEST * either, grey, "solid", label)  # type: ignore[arg-type]
    lead = (found.paths - found.paths.T).sum(1)  # variables that lead to others more probably than the reverse: first
    return laid_out(names, arrows, [names[i] for i in np.argsort(-lead, kind="stable")])


def _short(p: float) -> str:
    """
    >>> _short(0.973), _short(0.9999)
    ('.97', '1.0')
    """
    return "1.0" if p >= 0.995 else f"{p:.2f}".removeprefix("0")


def plot_confidence(found: EdgeConfidence, least: float = 0.1, ax: Any = None) -> AnyFigure:
    return drawn_picture(confidence_picture(found, least), ax)
