"""Layered graph drawing, after Sugiyama, Tagawa and Toda (1981): layers, an order in each, distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isqrt

import numpy as np

from credo.networks import graph
from credo.networks.graph import Parents

ORDERING_SWEEPS, IDLE_SWEEPS = 24, 8  # and sweeps without improvement before it stops
PASSING_WIDTH = 0.3  # of an arrow that passes a layer, relative to a box
STRAIGHT, TIGHT = 3, 0.97  # weight of such arrows; shrinkage of positions

Place = tuple[float, int]
LayoutNode = str | tuple[str, str, int]  # a variable, or the point where an arrow passes a layer


def layout(parents: Parents) -> tuple[dict[str, Place], dict[tuple[str, str], list[Place]]]:
    """The position of each variable, and the points where the arrow from each parent passes other layers."""
    layer = _layers(parents)
    rows: list[list[LayoutNode]] = [[] for _ in range(max(layer.values()) + 1)]
    for name, y in layer.items():
        rows[y].append(name)
    above: dict[LayoutNode, list[LayoutNode]] = {}
    ways: dict[tuple[str, str], list[LayoutNode]] = {}
    for name, own in parents.items():
        above.setdefault(name, [])
        for parent in own:
            between = range(layer[parent] + 1, layer[name])
            ways[parent, name] = [(parent, name, y) for y in between]
            for node, y in zip(ways[parent, name], between, strict=True):
                rows[y].append(node)
            way = [parent, *ways[parent, name], name]
            for before, after in pairwise(way):
                above.setdefault(after, []).append(before)
    below: dict[LayoutNode, list[LayoutNode]] = {node: [] for row in rows for node in row}
    for node, near in above.items():
        for other in near:
            below[other].append(node)
    x = _distances(_ordered(rows, above, below), above, below)
    places = {name: (x[name], y) for name, y in layer.items()}
    return places, {
        arrow: [(x[node], layer[arrow[0]] + 1 + i) for i, node in enumerate(way)] for arrow, way in ways.items()
    }


def _layers(parents: Parents) -> dict[str, int]:
    """One below the lowest parent; variables with more children than parents move down to their children."""
    order, below = graph.in_order(parents), graph.children(parents)
    layer: dict[str, int] = {}
    for name in order:
        layer[name] = 1 + max((layer[parent] for parent in parents[name]), default=-1)
    for name in reversed(order):
        if len(below[name]) > len(parents[name]):
            layer[name] = min(layer[child] for child in below[name]) - 1
    widest, y = max(8, isqrt(2 * len(layer))), 0
    while y <= max(layer.values()):  # variables without children may move down, too
        row = [name for name, own in layer.items() if own == y]
        for name in [name for name in row if not below[name]][: max(0, len(row) - widest)]:
            layer[name] += 1
        y += 1
    return layer


def _ordered(
    rows: list[list[LayoutNode]],
    above: Mapping[LayoutNode, list[LayoutNode]],
    below: Mapping[LayoutNode, list[LayoutNode]],
) -> list[list[LayoutNode]]:
    """Rows sorted by the barycentres of their neighbours, down and up again; the order with the fewest crossings."""
    best, fewest = rows, _crossings(rows, above)
    for sweep in range(ORDERING_SWEEPS):
        rows = [[*row] for row in rows]
        for near, order in ((above, rows[1:]), (below, rows[-2::-1])):
            for row in order:
                place = {node: i / max(1, len(each) - 1) for each in rows for i, node in enumerate(each)}
                middle = {
                    node: float(np.mean([place[other] for other in near[node]])) if near[node] else place[node]
                    for node in row
                }
                row.sort(key=middle.__getitem__)
        crossings = _crossings(rows, above)
        if crossings < fewest:
            best, fewest = rows, crossings
        elif sweep > IDLE_SWEEPS and crossings >= fewest:
            break
    return best


def _crossings(rows: Sequence[Sequence[LayoutNode]], above: Mapping[LayoutNode, list[LayoutNode]]) -> int:
    """How many pairs of arrows cross."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: i for i, node in enumerate(upper)}
        pairs = np.array([(place[other], i) for i, node in enumerate(lower) for other in above[node]])
        if len(pairs):
            apart = pairs[:, None] - pairs[None]
            total += int((apart[..., 0] * apart[..., 1] < 0).sum()) // 2
    return total


def _distances(
    rows: Sequence[Sequence[LayoutNode]],
    above: Mapping[LayoutNode, list[LayoutNode]],
    below: Mapping[LayoutNode, list[LayoutNode]],
) -> dict[LayoutNode, float]:
    """Horizontal positions: each node near the barycentre of its neighbours, in order and without overlaps."""
    from scipy.optimize import isotonic_regression

    offsets = []
    for row in rows:
        widths = np.array([1.0 if isinstance(node, str) else PASSING_WIDTH for node in row])
        offsets.append(np.cumsum(widths) - widths / 2)
    x = {
        node: float(at - offset[-1] / 2)
        for row, offset in zip(rows, offsets, strict=True)
        for node, at in zip(row, offset, strict=True)
    }
    for _ in range(ORDERING_SWEEPS):
        for row, offset in zip(rows, offsets, strict=True):
            wanted = np.array([_middle(node, (*above[node], *below[node]), x) for node in row])
            for node, at in zip(row, isotonic_regression(wanted - offset).x + offset, strict=True):
                x[node] = float(at)
    first = min(x.values())
    return {node: at - first for node, at in x.items()}


def _middle(node: LayoutNode, near: Sequence[LayoutNode], x: Mapping[LayoutNode, float]) -> float:
    """The barycentre of the neighbours; arrows that pass several layers are kept straight."""
    if not near:
        return x[node]
    weights = [
        (1 if isinstance(node, str) else STRAIGHT) * (1 if isinstance(other, str) else STRAIGHT) for other in near
    ]
    return float(np.average([x[other] for other in near], weights=weights)) * TIGHT
