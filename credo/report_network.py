"""Networks for people: as text, and as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo import graph
from credo.errors import counted

if TYPE_CHECKING:
    from credo.inference.findings import Given
    from credo.models.moved import Moved
    from credo.models.network import Network

FEW, ROWS = 12, 16  # variables whose tables are shown; rows of a table
MANY = 40  # variables up to which a picture shows what is believed of each
SHOWN = 5  # states of a variable in a picture
WIDE = 110


def described(net: Network) -> str:
    """Arrows, and tables where there are few.

    >>> from credo.models.network import Network
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
    arrows = sum(map(len, net.parents.values()))
    lines = [f"Network of {counted(len(net.parents), 'variable')} and {counted(arrows, 'arrow')}"]
    for name, above in [*net.parents.items()][: 3 * FEW]:
        lines.append(f"  {', '.join(above)} -> {name}" if above else f"  {name}")
    if len(net.parents) > 3 * FEW:
        lines.append(f"  ... ({len(net.parents)} in all)")
    if not net.tables:
        return "\n".join([*lines, "", "without tables"])
    for name in [*net.parents][: FEW if len(net.parents) <= FEW else 0]:
        lines += ["", *_table_lines(net, name)]
    return "\n".join(lines)


def _table_lines(net: Network, name: str) -> list[str]:
    above, states, table = net.parents[name], net.states[name], net.tables[name]
    title = f"P({name}{' | ' + ', '.join(above) if above else ''})"
    if not above:
        width = max(len(str(state)) for state in states)
        return [title, *(f"  {state!s:<{width}}  {p:.6g}" for state, p in zip(states, table.tolist(), strict=True))]
    rows = [[*above, *map(str, states)]]
    cells = table.reshape(-1, len(states))
    for i in range(min(len(cells), ROWS)):
        where = np.unravel_index(i, table.shape[:-1])
        causes = [str(net.states[parent][k]) for parent, k in zip(above, where, strict=True)]
        rows.append([*causes, *(f"{p:.6g}" for p in cells[i].tolist())])
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = [title]
    for row in rows:
        left = [f"{cell:<{width}}" for cell, width in zip(row[: len(above)], widths, strict=False)]
        right = [f"{cell:>{width}}" for cell, width in zip(row[len(above) :], widths[len(above) :], strict=True)]
        lines.append(("  " + "  ".join([*left, " " + "  ".join(right)]))[:WIDE].rstrip())
    return lines + ([f"  ... ({len(cells)} rows in all)"] if len(cells) > ROWS else [])


def explained(moved: Moved) -> str:
    """The findings as a table."""
    from credo.inference.conflict import said

    lines = [f"{moved.name} = {moved.value}: P = {moved.probability:.4g}, log-odds {moved.log_odds:+.3f}", ""]
    names = ["prior", *(f"{each.name} = {said(each.value)}" for each in moved.findings)]
    width = max(map(len, names))
    lines.append(f"{'':<{width}}  weight   alone  without it     P")
    p = 1.0 / (1.0 + np.exp(-moved.prior))
    lines.append(f"{'prior':<{width}}  {moved.prior:+6.3f}                      {p:.4g}")
    for name, each in zip(names[1:], moved.findings, strict=True):
        cells = f"{each.weight:+6.3f}  {each.alone:+6.3f}      {-each.missed:+6.3f}  {each.probability:.4g}"
        lines.append(f"{name:<{width}}  {cells}")
    return "\n".join(lines)


def plot_network(net: Network, given: Given = None, ax: Any = None) -> Any:
    """Layers from top to bottom, each variable with a bar for each state."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyArrowPatch, Rectangle

    places = _places(net)
    width = max(x for x, _ in places.values()) + 1
    depth = max(y for _, y in places.values()) + 1
    if ax is None:
        _, ax = plt.subplots(figsize=(max(4.0, 1.9 * width), max(3.0, 1.6 * depth)), layout="constrained")
    beliefs = net.marginals(given) if net.tables and len(net.parents) <= MANY else {}
    known = set(given or {})
    for name, above in net.parents.items():
        for parent in above:
            ax.add_patch(
                FancyArrowPatch(
                    _at(places[parent], -0.32),
                    _at(places[name], 0.34),
                    arrowstyle="-|>",
                    mutation_scale=10,
                    color="0.45",
                    shrinkA=0,
                    shrinkB=0,
                    zorder=1,
                )
            )
    for name, place in places.items():
        x, y = _at(place, 0.0)
        face = "#fff3d6" if name in known else "white"
        ax.add_patch(Rectangle((x - 0.42, y - 0.32), 0.84, 0.64, facecolor=face, edgecolor="0.3", zorder=2))
        ax.text(x, y + 0.22, _cut(name, 16), ha="center", va="center", fontsize=8, weight="bold", zorder=3)
        for i, (state, p) in enumerate([*beliefs.get(name, {}).items()][:SHOWN]):
            top = y + 0.11 - 0.42 * i / min(SHOWN, len(beliefs[name]))
            height = 0.36 / min(SHOWN, len(beliefs[name]))
            ax.add_patch(Rectangle((x - 0.06, top - height), 0.44 * p, height * 0.8, color="#4477aa", zorder=3))
            label = f"{_cut(str(state), 9)} {p:.2f}"
            ax.text(x - 0.09, top - height * 0.6, label, ha="right", va="center", fontsize=6, zorder=3)
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(-depth + 0.4, 0.6)
    ax.axis("off")
    return ax


def _at(place: tuple[float, int], dy: float) -> tuple[float, float]:
    return place[0], -place[1] + dy


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _places(net: Network) -> dict[str, tuple[float, int]]:
    """Each variable's layer is one below its lowest parent's; in a layer, near the middle of its parents."""
    layer: dict[str, int] = {}
    for name in graph.in_order(net.parents):
        layer[name] = 1 + max((layer[parent] for parent in net.parents[name]), default=-1)
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for name, y in layer.items():
        rows[y].append(name)
    x = {name: float(i) for row in rows for i, name in enumerate(row)}
    below = graph.children(net.parents)
    for _ in range(8):  # down by the parents, up by the children
        for near, order in ((net.parents, rows), (below, rows[::-1])):
            for row in order:
                middle = {name: np.mean([x[other] for other in near[name]]) if near[name] else x[name] for name in row}
                for i, name in enumerate(sorted(row, key=lambda name: float(middle[name]))):
                    x[name] = float(i)
    widest = max(map(len, rows))
    return {name: (x[name] + (widest - len(rows[y])) / 2, y) for name, y in layer.items()}
