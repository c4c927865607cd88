"""Pictures of decision trees: what each node asks, the answers on its branches, and the class shares of the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.present.numbers import one_line, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.models.tree.describing import Outline

DRAWN_LEAVES = 40  # of a larger tree, the upper part is drawn
ANSWER_WIDTH = 22  # characters of an answer on a branch
CLASS_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")


@dataclass(frozen=True)
class TreeBox:
    """A node: its place (from the left, in leaves; and its depth), what it asks, or the class shares of a leaf."""

    x: float
    depth: int
    parent: int
    answer: str
    text: str
    rows: float
    shares: Sequence[float]  # empty for an inner node


@dataclass(frozen=True)
class TreePicture:
    classes: Sequence[str]
    boxes: Sequence[TreeBox]


def tree_picture(outline: Outline) -> TreePicture:
    """The picture of a tree, as plain data."""
    deepest = max(node.depth for node in outline.nodes)
    while sum(_ends(node, deepest) for node in outline.nodes) > DRAWN_LEAVES and deepest > 1:
        deepest -= 1
    shown = {i: node for i, node in enumerate(outline.nodes) if node.depth <= deepest}
    place = {old: new for new, old in enumerate(shown)}
    x, leaves = dict.fromkeys(shown, 0.0), [i for i, node in shown.items() if _ends(node, deepest)]
    x |= {node: float(order) for order, node in enumerate(leaves)}
    for i in reversed(list(shown)):
        below = [x[j] for j, node in shown.items() if node.parent == i]
        x[i] = (min(below) + max(below)) / 2 if below else x[i]
    boxes = []
    for i, node in shown.items():
        ends = _ends(node, deepest)
        text = one_line(outline.classes[int(np.argmax(node.shares))] if ends else node.column, ANSWER_WIDTH)
        answer = (
            one_line(_short(node.answer, outline.nodes[node.parent].column or ""), ANSWER_WIDTH) if node.answer else ""
        )
        parent = place[node.parent] if node.parent >= 0 else -1
        boxes.append(TreeBox(x[i], node.depth, parent, answer, text, node.rows, node.shares if ends else ()))
    return TreePicture([one_line(value) for value in outline.classes], boxes)


def _ends(node: Any, deepest: int) -> bool:
    return bool(node.depth <= deepest and (node.is_leaf or node.depth == deepest))


def _short(answer: str, column: str) -> str:
    """An answer without the column's name, which is above it."""
    return answer.removeprefix(f"{column} ").removeprefix("= ").removeprefix("in ")


def plot_tree(outline: Outline, ax: Any = None) -> AnyFigure:
    """The tree from the root down; each leaf with a bar of its class shares."""
    found = tree_picture(outline)
    width = 1.0 + max(box.x for box in found.boxes)
    depth = max(box.depth for box in found.boxes)
    if ax is None:
        from credo.present.plotting import Figure

        ax = Figure(figsize=(max(4.0, 1.3 * width), max(2.5, 1.1 * (depth + 1))), layout="constrained").subplots()
    for box in found.boxes:
        if box.parent >= 0:
            above = found.boxes[box.parent]
            ax.plot([above.x, box.x], [-above.depth - 0.15, -box.depth + 0.15], color="0.6", linewidth=1, zorder=1)
            middle = (above.x + box.x) / 2, -(above.depth + box.depth) / 2
            ax.text(*middle, box.answer, ha="center", va="center", fontsize=7, color="0.3", backgroundcolor="white")
        _draw(ax, box, found.classes)
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(-depth - 0.5, 0.4)
    ax.set_axis_off()
    _key(ax, found.classes)
    figure: AnyFigure = ax.figure
    return figure


def _key(ax: Any, classes: Sequence[str]) -> None:
    """The legend of the classes' colours."""
    from matplotlib.patches import Patch

    from credo.present.plotting import unmathed

    colours = [Patch(color=colour, label=unmathed(name)) for colour, name in zip(CLASS_COLOURS, classes, strict=False)]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": min(len(colours), 4)}
    ax.legend(handles=colours, frameon=False, fontsize=8, **place)


def _draw(ax: Any, box: TreeBox, classes: Sequence[str]) -> None:
    if not box.shares:
        style = {"boxstyle": "round", "facecolor": "#f2f2f2", "edgecolor": "0.5"}
        ax.text(box.x, -box.depth, box.text, ha="center", va="center", fontsize=9, bbox=style, zorder=3)
        return
    left = box.x - 0.4
    for k, share in enumerate(box.shares[: len(classes)]):
        ax.barh(-box.depth - 0.2, 0.8 * share, 0.1, left, color=CLASS_COLOURS[k % len(CLASS_COLOURS)], zorder=2)
        left += 0.8 * share
    ax.text(box.x, -box.depth, box.text, ha="center", va="center", fontsize=9, weight="bold", zorder=3)
    ax.text(box.x, -box.depth - 0.36, whole(box.rows), ha="center", va="center", fontsize=7, color="0.4")
