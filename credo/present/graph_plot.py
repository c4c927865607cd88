"""Pictures of graphs: arrows and undirected edges, and where two graphs differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from credo.errors import NetworkError
from credo.networks.equivalence import extension_of
from credo.networks.mixed_graph import Edge, MixedGraph
from credo.present.layout import layout
from credo.present.network_plot import Arrow, Card, NetworkPicture, drawn_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.comparison import GraphComparison

SHARED_COLOUR, MISSING_COLOUR, EXTRA_COLOUR, MISDIRECTED_COLOUR = "0.45", "#aa3377", "#ccaa22", "#4477aa"
TURNED_HEADS = {"->": "child", "<-": "parent", "-": "none", "": "none"}


def graph_picture(graph: MixedGraph) -> NetworkPicture:
    """The picture of a graph, as plain data."""
    arrows = {edge: Arrow(*edge, (), heads="child") for edge in graph.arrows}
    edges = {edge: Arrow(*edge, (), heads="none") for edge in graph.edges}
    return laid_out(graph.variables, {**arrows, **edges}, _order(graph))


def plot_graph(graph: MixedGraph, ax: Any = None) -> AnyFigure:
    """Layers from top to bottom, arrows with heads and edges without."""
    return drawn_picture(graph_picture(graph), ax)


def comparison_picture(found: GraphComparison) -> NetworkPicture:
    """The guess in grey where it is right; what is missing dashed, what is extra dotted, misdirected ones in blue."""
    arrows: dict[Edge, Arrow] = {}
    for a, mark, b in found.guess.listed():
        known = found.truth.mark(a, b)
        colour, line = (SHARED_COLOUR if known == mark else MISDIRECTED_COLOUR), "solid"
        if not known:
            colour, line = EXTRA_COLOUR, "dotted"
        arrows[a, b] = Arrow(a, b, (), TURNED_HEADS[mark], 1.5, colour, line)  # type: ignore[arg-type]
    for a, mark, b in found.truth.listed():
        if not found.guess.mark(a, b):
            arrows[a, b] = Arrow(a, b, (), TURNED_HEADS[mark], 1.5, MISSING_COLOUR, "dashed")  # type: ignore[arg-type]
    return laid_out(found.truth.variables, arrows, _order(found.truth))


def plot_comparison(found: GraphComparison, ax: Any = None) -> AnyFigure:
    """Both graphs in one picture, with a legend of what they share and where they differ."""
    from matplotlib.lines import Line2D

    figure = drawn_picture(comparison_picture(found), ax)
    wrong = len(found.missing), len(found.extra), len(found.misdirected)
    shared = len(found.guess.arrows) + len(found.guess.edges) - len(found.extra) - len(found.misdirected)
    kinds: list[tuple[str, str, Any]] = [
        (f"in both ({shared})", SHARED_COLOUR, "solid"),
        (f"missing ({wrong[0]})", MISSING_COLOUR, "dashed"),
        (f"extra ({wrong[1]})", EXTRA_COLOUR, "dotted"),
        (f"misdirected ({wrong[2]})", MISDIRECTED_COLOUR, "solid"),
    ]
    lines = [Line2D([], [], color=colour, linestyle=line, linewidth=1.5, label=label) for label, colour, line in kinds]
    axes = ax if ax is not None else figure.axes[0]
    axes.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False, fontsize=7)
    return figure


def laid_out(variables: Iterable[str], arrows: Mapping[Edge, Arrow], order: Iterable[str]) -> NetworkPicture:
    """Arrows of any kind between variables, in layers: lines lead down from those that come first in the order."""
    names, place = [*variables], {name: i for i, name in enumerate(order)}
    above: dict[str, list[str]] = {name: [] for name in names}
    for a, b in arrows:
        early, late = (a, b) if place[a] < place[b] else (b, a)
        above[late].append(early)
    places, bends = layout({name: tuple(own) for name, own in above.items()})
    made = [_along(arrow, bends, place) for arrow in arrows.values()]
    return NetworkPicture([Card(name, {}, False, at) for name, at in places.items()], made)


def _order(graph: MixedGraph) -> tuple[str, ...]:
    """Parents first, where the graph has a consistent extension."""
    from credo.networks.graph import in_order

    try:
        return in_order(extension_of(graph))
    except NetworkError:
        return graph.variables


def _along(arrow: Arrow, bends: Mapping[Edge, Any], place: Mapping[str, int]) -> Arrow:
    """The edge drawn from its upper to its lower end, with its heads unchanged."""
    from dataclasses import replace

    if place[arrow.parent] < place[arrow.child]:
        return replace(arrow, bends=bends[arrow.parent, arrow.child])
    turned = {"child": "parent", "parent": "child"}.get(arrow.heads, arrow.heads)
    a, b = arrow.child, arrow.parent
    return replace(arrow, parent=a, child=b, bends=bends[a, b], heads=turned)  # type: ignore[arg-type]
