"""Pictures of networks: a box for each variable with its marginal, in layers, and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credo.present.layout import Place, layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.inference.findings import Given
    from credo.networks.network import Network

MARGINAL_VARIABLES = 40  # larger networks are drawn without marginals
DRAWN_STATES = 5  # per variable
SMALLEST_FONT = 6.0  # in points: text that needs less is truncated
NAME_FONT, STATE_FONT = 13.0, 10.0  # in points, if there is room
LEAST_NAME_FONT = 9.0  # in points: names that need less don't shrink the others


Heads = Literal["child", "parent", "none", "both"]


@dataclass(frozen=True)
class Card:
    """A variable, its marginal (empty in a large network), and its place: from the left, and layers from the top."""

    name: str
    marginal: Mapping[Any, float]
    given: bool
    place: Place


@dataclass(frozen=True)
class Arrow:
    """From a parent to a child, past other layers at `bends`."""

    parent: str
    child: str
    bends: Sequence[Place]
    heads: Heads = "child"  # the ends that have an arrowhead
    width: float = 1.0  # points
    colour: str = "0.45"
    line: Literal["solid", "dashed", "dotted"] = "solid"
    label: str = ""


@dataclass(frozen=True)
class NetworkPicture:
    cards: Sequence[Card]
    arrows: Sequence[Arrow]


def network_picture(net: Network, given: Given = None) -> NetworkPicture:
    """The picture of a network, as plain data."""
    if given and net.tables:
        net.log_probability(given)  # an error for unknown findings
    marginals = net.marginals(given) if net.tables and len(net.parents) <= MARGINAL_VARIABLES else {}
    places, bends = layout(net.parents)
    cards = [Card(name, marginals.get(name, {}), name in (given or {}), place) for name, place in places.items()]
    return NetworkPicture(cards, [Arrow(*ends, way) for ends, way in bends.items()])


def plot_network(net: Network, given: Given = None, ax: Any = None) -> AnyFigure:
    """Layers from top to bottom, each variable with a bar for each state; of many variables the names alone."""
    return drawn_picture(network_picture(net, given), ax)


def drawn_picture(picture: NetworkPicture, ax: Any = None) -> AnyFigure:
    """The picture as a figure, or in the axes of one."""
    from credo.present.plotting import Figure

    places = {card.name: card.place for card in picture.cards}
    marginals = any(card.marginal for card in picture.cards)
    boxes, bends = [x for x, _ in places.values()], [x for arrow in picture.arrows for x, _ in arrow.bends]
    left, right = min([x - 0.2 for x in bends], default=0.0), max([x + 0.2 for x in bends], default=0.0)
    left, right = min(left, min(boxes) - 0.6), max(right, max(boxes) + 0.6)
    depth = max(y for _, y in places.values()) + 1
    wide, high, least = (1.8, 1.4, 3.0) if marginals else (1.35, 0.8, 1.5)  # inches between boxes; in all
    filled = (1.0, 1.0)  # the share of the figure that the axes will take
    if ax is not None:
        room = ax.get_position()
        filled = room.width, room.height
    else:
        size = max(4.0, wide * (right - left)), max(least, high * depth)
        ax = Figure(figsize=size, layout="constrained").subplots()
    ax.set_xlim(left, right)
    ax.set_ylim(-depth + 0.4, 0.6)
    ax.axis("off")
    width, height = ax.figure.get_size_inches()
    inches = 0.97 * width * filled[0] / (right - left), 0.97 * height * filled[1] / depth  # of a box's room
    half = 0.32 if marginals else 0.2  # of a box's height
    for arrow in picture.arrows:
        start, end = _at(places[arrow.parent], -half), _at(places[arrow.child], half + 0.02)
        path = _curve(start, [_at(each, 0.0) for each in arrow.bends], end, half)
        _draw_arrow(ax, arrow, path, min(10.0, 7.0 * inches[0]))
    titles = [_fitted(_cut(card.name, 40), 0.78 * inches[0], NAME_FONT, bold=True)[1] for card in picture.cards]
    title = min(max(min(titles), LEAST_NAME_FONT), 14.0 * inches[1])  # one size for all
    for card in picture.cards:
        _draw_box(ax, card, half, inches, title)
    drawn: AnyFigure = ax.figure
    return drawn


ARROW_STYLES = {"child": "-|>", "parent": "<|-", "none": "-", "both": "<|-|>"}


def _draw_arrow(ax: Any, arrow: Arrow, path: Any, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    size = scale * max(1.0, arrow.width) ** 0.5
    drawn = FancyArrowPatch(path=path, arrowstyle=ARROW_STYLES[arrow.heads], mutation_scale=size, shrinkA=0, shrinkB=0)
    drawn.set(color=arrow.colour, joinstyle="miter", zorder=1, linewidth=arrow.width, linestyle=arrow.line)
    ax.add_patch(drawn)
    if arrow.label:
        x, y = _middle(path)
        plate = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        style = {"ha": "center", "va": "center", "fontsize": 0.9 * scale, "color": "0.25", "zorder": 1.5}
        ax.text(x, y, arrow.label, bbox=plate, **style)


def _middle(path: Any) -> tuple[float, float]:
    """The point halfway along a path of curves and lines."""
    points = np.concatenate(path.to_polygons(closed_only=False))
    along = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    half = along[-1] / 2
    return float(np.interp(half, along, points[:, 0])), float(np.interp(half, along, points[:, 1]))


def _draw_box(ax: Any, card: Card, half: float, inches: tuple[float, float], title_size: float) -> None:
    """A variable's name, and a bar for each of its states, as large as fits in the box."""
    from matplotlib.patches import Rectangle

    (x, y), (wide, high) = _at(card.place, 0.0), inches
    face = "#fff3d6" if card.given else "white"
    ax.add_patch(Rectangle((x - 0.42, y - half), 0.84, 2 * half, facecolor=face, edgecolor="0.3", zorder=2))
    title, points = _fitted(_cut(card.name, 40), 0.78 * wide, title_size, bold=True)
    style = {"va": "center", "zorder": 3}
    ax.text(x, y + 0.22 if card.marginal else y, title, ha="center", fontsize=points, weight="bold", **style)
    shown = [*card.marginal.items()][:DRAWN_STATES]
    bar = 0.36 / max(1, len(shown))
    most = min(STATE_FONT, 72.0 * high * bar)
    labels = [_fitted(_cut(str(state), 40), 0.45 * wide, most, f" {p:.2f}") for state, p in shown]
    points = min((size for _, size in labels), default=STATE_FONT)
    for i, ((label, _), (_, p)) in enumerate(zip(labels, shown, strict=True)):
        top = y + 0.11 - 0.42 * i / len(shown)
        ax.add_patch(Rectangle((x + 0.1, top - bar), 0.3 * p, bar * 0.8, color="#4477aa", zorder=3))
        ax.text(x + 0.08, top - bar * 0.6, label, ha="right", fontsize=points, **style)


def _at(place: tuple[float, int], dy: float) -> tuple[float, float]:
    return place[0], -place[1] + dy


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _fitted(text: str, width: float, largest: float, end: str = "", bold: bool = False) -> tuple[str, float]:
    """A text and a font size that fit into so many inches; the text is cut, before its end, where the font would be too
    small."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    smallest = min(SMALLEST_FONT, largest)
    while True:
        whole = f"{text}{end}"
        letters = TextPath((0, 0), whole.replace("$", "S"), size=10, prop=font).vertices
        wide = float(np.ptp(letters[:, 0])) / 10 if len(letters) else 0.0
        if wide * smallest <= 72 * width or len(text) < 3:
            return whole.replace("$", r"\$"), min(largest, 72 * width / max(wide, 1e-9))
        text = text.removesuffix("…")[:-1] + "…"


def _curve(
    start: tuple[float, float], bends: Sequence[tuple[float, float]], end: tuple[float, float], half: float
) -> Any:
    """From box to box: straight down where it passes a layer, curved in between, so that it crosses no box."""
    from matplotlib.path import Path

    points, codes = [start], [Path.MOVETO]
    stops = [*((x, y + half, y - half) for x, y in bends), (*end, end[1])]
    for x, above, below in stops:
        middle = (points[-1][1] + above) / 2
        points += [(points[-1][0], middle), (x, middle), (x, above)]
        codes += [Path.CURVE4] * 3
        if below < above:
            points.append((x, below))
            codes.append(Path.LINETO)
    return Path(points, codes)
