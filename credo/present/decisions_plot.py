"""Pictures of influence diagrams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from credo.networks.graph import in_order
from credo.present.graph_plot import laid_out
from credo.present.network_plot import Arrow, NetworkPicture, drawn_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from credo.networks.decisions.influence_diagram import InfluenceDiagram


def diagram_picture(diagram: InfluenceDiagram) -> NetworkPicture:
    """□ decisions, coloured, and ◇ utilities; arrows that carry information are dashed."""
    signs = {**dict.fromkeys(diagram.decisions, "□ "), **dict.fromkeys(diagram.utilities, "◇ ")}
    shown = {name: f"{signs.get(name, '')}{name}" for name in diagram.parents}
    arrows: dict[tuple[str, str], Arrow] = {}
    for name, own in diagram.parents.items():
        for parent in own:
            ends = shown[parent], shown[name]
            arrows[ends] = Arrow(*ends, (), line="dashed" if name in diagram.decisions else "solid")
    picture = laid_out(shown.values(), arrows, (shown[name] for name in in_order(diagram.parents)))
    chosen = {shown[name] for name in diagram.decisions}
    return replace(picture, cards=[replace(card, given=card.name in chosen) for card in picture.cards])


def plot_diagram(diagram: InfluenceDiagram, ax: Any = None) -> Figure:
    return drawn_picture(diagram_picture(diagram), ax)
