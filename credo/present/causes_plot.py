"""Pictures of causal graphs and effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.networks.graph import in_order
from credo.present.graph_plot import laid_out
from credo.present.network_plot import Arrow, NetworkPicture, drawn_picture
from credo.present.plotting import Figure, unmathed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.causes.causal_graph import CausalGraph
    from credo.networks.causes.effect import Effect

CONFOUNDED_COLOUR = "#aa3377"
EFFECT_BARS = 60


def causal_picture(graph: CausalGraph) -> NetworkPicture:
    """The observed variables: arrows, and hidden common causes as dashed arrows with two heads."""
    seen = graph.projection
    arrows = {(parent, name): Arrow(parent, name, ()) for name, own in seen.parents.items() for parent in own}
    place = {name: i for i, name in enumerate(in_order(seen.parents))}
    for pair in seen.confounded:
        a, b = sorted(pair, key=place.__getitem__)
        if (a, b) in arrows:  # one line for both: the arrow, marked for its common cause
            arrows[a, b] = Arrow(a, b, (), "child", 1.5, CONFOUNDED_COLOUR, label="hidden common cause")
        else:
            arrows[a, b] = Arrow(a, b, (), "both", 1.0, CONFOUNDED_COLOUR, "dashed")
    return laid_out(seen.parents, arrows, place)


def plot_causal_graph(graph: CausalGraph, ax: Any = None) -> AnyFigure:
    return drawn_picture(causal_picture(graph), ax)


def plot_effect(effect: Effect, ax: Any = None) -> AnyFigure:
    """A point for each intervention and outcome, with its interval; a hollow one for the association."""
    found = effect.identification
    cells = [(i, k) for i in range(len(effect.cause_states)) for k in effect.shown_states][:EFFECT_BARS]
    if ax is None:
        ax = Figure(figsize=(5.0, 0.9 + 0.3 * len(cells)), layout="constrained").add_subplot()
    rows = np.arange(len(cells))[::-1]
    p = np.array([effect.table[each] for each in cells])
    if effect.draws is not None:
        low, high = np.quantile(effect.draws, [0.025, 0.975], axis=0)
        ends = [np.array([side[each] for each in cells]) for side in (low, high)]
        ax.hlines(rows, *ends, color="tab:blue", linewidth=2)
    ax.plot(p, rows, "o", color="tab:blue", label="done")
    ax.plot([effect.seen[each] for each in cells], rows, "o", mfc="none", color="0.5", label="seen")
    names = [f"do({', '.join(found.causes)}={effect.cause_states[i]}): {effect.outcome_states[k]}" for i, k in cells]
    ax.set_yticks(rows, [unmathed(name) for name in names])
    ax.set(xlabel=unmathed(f"P({', '.join(found.outcomes)})"), xlim=(0, 1), ylim=(-0.6, len(cells) - 0.4))
    ax.legend(frameon=False, fontsize=8)
    drawn: AnyFigure = ax.figure
    return drawn
