"""Networks for people: as text, and as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import counted
from credo.present.layout import layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.explanation import QueryExplanation
    from credo.networks.inference.findings import Given
    from credo.networks.network import Network

FEW, ROWS = 12, 16  # variables whose tables are shown; rows of a table
MANY = 40  # variables up to which a picture shows what is believed of each
SHOWN = 5  # states of a variable in a picture
SMALLEST = 5.0  # points of its letters, below which text is cut
WIDE = 110


def headline(net: Network) -> str:
    arrows = sum(map(len, net.parents.values()))
    return f"Network of {counted(len(net.parents), 'variable')} and {counted(arrows, 'arrow')}"


def described(net: Network, width: int = WIDE) -> str:
    """Arrows, and tables where there are few, in lines of at most so many characters.

    >>> from credo.networks.network import Network
    >>> print(Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}}))
    Network of 2 variables and 1 arrow
      Storm
      Storm -> Fire
    <BLANKLINE>
    P(Storm)
      yes  0.2
      no   0.8
    <BLANKLINE>
    P(Fire | Storm)
      Storm    yes    no
      yes     0.25  0.75
      no      0.01  0.99
    """
    lines = [headline(net)]
    for name, above in [*net.parents.items()][:MANY]:
        lines.append(f"  {', '.join(above)} -> {name}" if above else f"  {name}")
    if len(net.parents) > MANY:
        lines.append(f"  ... and {counted(len(net.parents) - MANY, 'more variable')}")
    if not net.tables:
        return "\n".join([*lines, "", "without tables"])
    for name in [*net.parents][: FEW if len(net.parents) <= FEW else 0]:
        lines += ["", *_table_lines(net, name, width)]
    return "\n".join(lines)


def _table_lines(net: Network, name: str, width: int) -> list[str]:
    above, states, table = net.parents[name], net.states[name], net.tables[name]
    title = f"P({name}{' | ' + ', '.join(above) if above else ''})"
    if not above:
        longest = max(len(str(state)) for state in states)
        return [title, *(f"  {state!s:<{longest}}  {p:.6g}" for state, p in zip(states, table.tolist(), strict=True))]
    rows = [[*above, *map(str, states)]]
    cells = table.reshape(-1, len(states))
    for i in range(min(len(cells), ROWS)):
        where = np.unravel_index(i, table.shape[:-1])
        causes = [str(net.states[parent][k]) for parent, k in zip(above, where, strict=True)]
        rows.append([*causes, *(f"{p:.6g}" for p in cells[i].tolist())])
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = [title]
    for row in rows:
        left = [f"{cell:<{w}}" for cell, w in zip(row[: len(above)], widths, strict=False)]
        right = [f"{cell:>{w}}" for cell, w in zip(row[len(above) :], widths[len(above) :], strict=True)]
        line = ("  " + "  ".join([*left, " " + "  ".join(right)])).rstrip()
        lines.append(line if len(line) <= width else f"{line[: width - 1]}…")
    return lines + ([f"  ... ({len(cells)} rows in all)"] if len(cells) > ROWS else [])


def explained(moved: QueryExplanation) -> str:
    """The findings as a table."""
    from credo.networks.inference.conflict import said

    set_to = ", ".join(f"{name} = {said(value)}" for name, value in moved.done.items())
    done = f" after do({set_to})" if set_to else ""
    lines = [f"{moved.name} = {moved.value}{done}: P = {moved.probability:.4g}, log-odds {moved.log_odds:+.3f}", ""]
    names = ["prior", *(f"{each.name} = {said(each.value)}" for each in moved.findings)]
    width = max(map(len, names))
    lines.append(f"{'':<{width}}  weight   alone  without it     P")
    p = 1.0 / (1.0 + np.exp(-moved.prior))
    lines.append(f"{'prior':<{width}}  {moved.prior:+6.3f}                      {p:.4g}")
    for name, each in zip(names[1:], moved.findings, strict=True):
        cells = f"{each.weight:+6.3f}  {each.alone:+6.3f}      {-each.missed:+6.3f}  {each.probability:.4g}"
        lines.append(f"{name:<{width}}  {cells}")
    return "\n".join(lines)


def plot_network(net: Network, given: Given = None, ax: Any = None) -> AnyFigure:
    """Layers from top to bottom, each variable with a bar for each state; of many variables the names alone."""
    from credo.present.plotting import Figure

    if given and net.tables:
        net.log_probability(given)  # which refuses what it doesn't know
    beliefs = net.marginals(given) if net.tables and len(net.parents) <= MANY else {}
    places, bends = layout(net.parents)
    across = [x for x, _ in places.values()], [x for way in bends.values() for x, _ in way]
    left, right = min([x - 0.2 for x in across[1]], default=0.0), max([x + 0.2 for x in across[1]], default=0.0)
    left, right = min(left, min(across[0]) - 0.6), max(right, max(across[0]) + 0.6)
    depth = max(y for _, y in places.values()) + 1
    wide, high, least = (1.9, 1.6, 3.0) if beliefs else (1.4, 0.9, 1.5)  # inches from a box to the next; in all
    if ax is None:
        size = max(4.0, wide * (right - left)), max(least, high * depth)
        ax = Figure(figsize=size, layout="constrained").subplots()
    ax.set_xlim(left, right)
    ax.set_ylim(-depth + 0.4, 0.6)
    ax.axis("off")
    room, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    inches = width * room.width / (right - left), height * room.height / depth  # of a box's room
    half = 0.32 if beliefs else 0.2  # of a box's height
    for (parent, name), way in bends.items():
        path = _curve(
            _at(places[parent], -half), [_at(each, 0.0) for each in way], _at(places[name], half + 0.02), half
        )
        _draw_arrow(ax, path, min(10.0, 7.0 * inches[0]))
    for name, place in places.items():
        face = "#fff3d6" if name in (given or {}) else "white"
        _draw_box(ax, _at(place, 0.0), half, face, name, beliefs.get(name, {}), inches)
    drawn: AnyFigure = ax.figure
    return drawn


def _draw_arrow(ax: Any, path: Any, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=scale, shrinkA=0, shrinkB=0)
    arrow.set(color="0.45", joinstyle="miter", zorder=1)
    ax.add_patch(arrow)


def _draw_box(
    ax: Any,
    centre: tuple[float, float],
    half: float,
    face: str,
    name: str,
    belief: Mapping[Any, float],
    inches: tuple[float, float],
) -> None:
    """A variable's name, and a bar for each of its states; all of it as large as fits in."""
    from matplotlib.patches import Rectangle

    (x, y), (wide, high) = centre, inches
    ax.add_patch(Rectangle((x - 0.42, y - half), 0.84, 2 * half, facecolor=face, edgecolor="0.3", zorder=2))
    title, points = _fitted(_cut(name, 40), 0.78 * wide, min(8.0, 12.0 * high), bold=True)
    style = {"va": "center", "zorder": 3}
    ax.text(x, y + 0.22 if belief else y, title, ha="center", fontsize=points, weight="bold", **style)
    shown = [*belief.items()][:SHOWN]
    for i, (state, p) in enumerate(shown):
        top, bar = y + 0.11 - 0.42 * i / len(shown), 0.36 / len(shown)
        ax.add_patch(Rectangle((x + 0.03, top - bar), 0.36 * p, bar * 0.8, color="#4477aa", zorder=3))
        label, points = _fitted(_cut(str(state), 40), 0.4 * wide, min(6.0, 70.0 * high * bar), f" {p:.2f}")
        ax.text(x, top - bar * 0.6, label, ha="right", fontsize=points, **style)


def _at(place: tuple[float, int], dy: float) -> tuple[float, float]:
    return place[0], -place[1] + dy


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _fitted(text: str, width: float, largest: float, end: str = "", bold: bool = False) -> tuple[str, float]:
    """Text and a size in points with which it is so many inches wide at most; cut, before its end, where it would get
    too small."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    smallest = min(SMALLEST, largest)
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
