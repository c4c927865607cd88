"""Pictures of graphs: every edge is drawn, with the heads that it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.mixed_graph import MixedGraph
from credo.networks.structure.confidence import EdgeConfidence
from credo.present.edge_confidence_plot import confidence_picture
from credo.present.graph_plot import comparison_picture, graph_picture
from credo.present.network_plot import NetworkPicture

ASIA = credo.Network.example("asia")


def ends(picture: NetworkPicture) -> set[tuple[str, str, str]]:
    """Each line as (from, to, heads), arrows from parent to child."""
    found = set[tuple[str, str, str]]()
    for arrow in picture.arrows:
        a, b = arrow.parent, arrow.child
        a, b = (b, a) if arrow.heads == "parent" else (a, b)
        found.add((a, b, "none" if arrow.heads == "none" else "both" if arrow.heads == "both" else "child"))
    return found


def test_a_graph_has_heads_where_it_has_arrows() -> None:
    graph = ASIA.cpdag()
    drawn = ends(graph_picture(graph))
    assert {(a, b) for a, b, heads in drawn if heads == "child"} == graph.arrows
    assert {frozenset((a, b)) for a, b, heads in drawn if heads == "none"} == {*map(frozenset, graph.edges)}
    assert {card.name for card in graph_picture(graph).cards} == {*ASIA.variables}


def test_lines_lead_down() -> None:
    places = {card.name: card.place[1] for card in graph_picture(ASIA.cpdag()).cards}
    assert all(places[arrow.parent] < places[arrow.child] for arrow in graph_picture(ASIA.cpdag()).arrows)


def test_a_graph_with_a_cycle_is_drawn_too() -> None:
    cycle = MixedGraph(tuple("abc"), frozenset({("a", "b"), ("b", "c"), ("c", "a")}))
    assert ends(graph_picture(cycle)) == {("a", "b", "child"), ("b", "c", "child"), ("c", "a", "child")}


def test_a_comparison_shows_what_is_missing_extra_and_misdirected() -> None:
    truth, guess = credo.Network("A -> B <- C; D -> C"), credo.Network("B -> A; C -> B; A -> D")
    found = truth.compare(guess, of="dag")
    lines = {frozenset((arrow.parent, arrow.child)): arrow for arrow in comparison_picture(found).arrows}
    assert lines[frozenset("DC")].line == "dashed"
    assert lines[frozenset("AD")].line == "dotted"
    assert lines[frozenset("AB")].colour != lines[frozenset("BC")].colour
    assert len(lines) == 4
    figure = found.plot()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "in both (1)", "missing (1)", "extra (1)", "misdirected (1)",
    ]  # fmt: skip


def test_widths_and_labels_are_probabilities() -> None:
    arrows = np.array([[0.0, 0.95, 0.3], [0.01, 0.0, 0.02], [0.4, 0.03, 0.0]])
    sure = EdgeConfidence(("a", "b", "c"), arrows, arrows, "exact", "orders")
    lines = {frozenset((arrow.parent, arrow.child)): arrow for arrow in confidence_picture(sure).arrows}
    assert {*lines} == {frozenset("ab"), frozenset("ac")}  # 0.05 is below the least
    assert lines[frozenset("ab")].label == ".95"
    assert lines[frozenset("ab")].heads == "child"
    assert {*lines[frozenset("ac")].label.split()} in ({".30↓", ".40↑"}, {".40↓", ".30↑"})
    assert lines[frozenset("ab")].width > lines[frozenset("ac")].width


@pytest.mark.parametrize("draw", [ASIA.cpdag().plot, ASIA.moral().plot, ASIA.compare(ASIA).plot])
def test_figures_are_drawn_in_axes_that_are_given(draw: Any) -> None:
    from credo.present.plotting import Figure

    ax = Figure().subplots()
    assert draw(ax=ax) is ax.figure
    assert len(ax.patches) > 8
