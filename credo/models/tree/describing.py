"""The outline of a tree as plain data, and its description length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.description import LN2, DescriptionLength, bits
from credo.errors import counted
from credo.models.explaining import cell_text
from credo.models.tree.binning import Bins, LevelBins, NumberBins
from credo.models.tree.prunings import Prune, Prunings, exception_bits, label_bits, leaf_bits, split_bits
from credo.numerics.arrays import Positions

if TYPE_CHECKING:
    from credo.models.tree.model import DecisionTree

PRINTED_LEVELS = 4  # levels of a branch
SHOWN_CLASSES, SHOWN_NODES = 8, 60
PRUNING_TITLES = {
    None: "DecisionTree",
    "average": "averaged DecisionTree",
    "mdl": "DecisionTree pruned by description length",
    "evidence": "DecisionTree pruned by evidence",
}
PRUNING_CODES = {
    None: "a bit a node, the split among the choices; leaves name their class and their exceptions",
    "mdl": "a bit a node, the split among the choices; leaves name their class and their exceptions",
    "evidence": "a bit a node, the split by its probability; classes by their evidence in the leaves",
    "average": "the mixture of all prunings",
}


@dataclass(frozen=True)
class OutlineNode:
    """A node of a tree: the answer that leads to it, its number of rows, and its prediction."""

    depth: int
    parent: int  # its position in the outline; -1 for the root
    answer: str  # that leads to it; "" for the root
    column: str | None  # that it asks about; None for a leaf
    rows: float
    shares: tuple[float, ...]  # P(class)

    @property
    def is_leaf(self) -> bool:
        return self.column is None


@dataclass(frozen=True)
class Outline:
    """A tree for display, in preorder."""

    target: str
    classes: tuple[Any, ...]
    nodes: tuple[OutlineNode, ...]
    note: str = ""


def outlined(target: str, classes: Sequence[object], columns: Sequence[Bins], prunings: Prunings, note: str) -> Outline:
    """The outline of the tree, or of an average's most probable pruning."""
    tree, found = prunings.structure, list[OutlineNode]()
    stops = prunings.most_probable() if prunings.stop is not None else tree.column < 0
    waiting = [(0, 0, -1, "")]
    while waiting:
        node, depth, parent, answer = waiting.pop()
        asked = None if stops[node] or tree.column[node] < 0 else columns[tree.column[node]]
        shares = tuple(prunings.shares[node].tolist())
        rows = float(prunings.counts[node].sum())
        found.append(OutlineNode(depth, parent, answer, asked and asked.name, rows, shares))
        if asked is not None:
            place = len(found) - 1
            branches = [(child, depth + 1, place, answer_text(asked, bins)) for child, bins in tree.branches(node)]
            waiting += reversed(branches)
    return Outline(target, tuple(classes), tuple(found), note)


def answer_text(column: Bins, bins: Positions) -> str:
    """The condition of a branch, such as `age > 30` or `sky = sun`."""
    if isinstance(column, NumberBins):
        low = bins[0] == 0
        cut = column.cuts[bins[-1] if low else bins[0] - 1]
        return f"{column.name} {'≤' if low else '>'} {cell_text(float(cut))}"
    assert isinstance(column, LevelBins)
    values = column.levels.filter(np.isin(column.bins, bins)).to_pylist()
    few = [cell_text(value) for value in values[:PRINTED_LEVELS]]
    more = f", ... ({len(values)} values)" if len(values) > PRINTED_LEVELS else ""
    return f"{column.name} = {few[0]}" if len(values) == 1 else f"{column.name} in {', '.join(few)}{more}"


@dataclass(frozen=True, repr=False)
class TreeLength(DescriptionLength):
    """The bits of a tree, of its exceptions, and of a single leaf instead."""

    alone: float = 0.0

    @property
    def tree(self) -> float:
        """L(h): the bits of the branches and of the leaves' classes."""
        return self.model

    @property
    def exceptions(self) -> float:
        """L(D | h)"""
        return self.data

    @property
    def saved(self) -> float:
        """The bits saved against a single leaf; negative if the tree takes more than it saves."""
        return self.alone - self.total

    @property
    def pays(self) -> bool:
        """Whether the tree pays for itself: a single leaf would take more bits."""
        return self.saved > 0

    def __repr__(self) -> str:
        parts = f"{self.total:.1f} bits for {self.coded}: tree {self.tree:.1f} + exceptions {self.exceptions:.1f}"
        if self.saved == 0:
            return f"{parts}; it is a single leaf"
        verdict = "pays for itself" if self.pays else "doesn't pay for itself"
        return f"{parts}; a single leaf takes {self.alone:.1f}: the tree {verdict}"


def tree_length(target: str, prunings: Prunings, prune: Prune | None) -> TreeLength:
    """The length by the code of the tree's pruning rule; by that of "mdl" for an unpruned tree."""
    tree, counts = prunings.structure, prunings.counts
    leaves, inner = tree.leaves, tree.column >= 0
    coded, n, how = f"column {target!r} given the others", float(counts[0].sum()), PRUNING_CODES[prune]
    if prune in (None, "mdl"):
        structure = float(split_bits(tree)[inner].sum()) + len(leaves)
        labels = float(label_bits(counts)[leaves].sum()) - len(leaves)
        exceptions = float(exception_bits(counts[leaves]).sum())
        return TreeLength(coded, structure, labels, exceptions, n, how, float(leaf_bits(counts[:1])[0]))
    alone = bits(float(prunings.log_evidence[0]))
    if prune == "average":
        mass = prunings.log_prior_mass
        return TreeLength(coded, bits(mass), 0.0, bits(float(prunings.log_weighted[0]) - mass), n, how, alone)
    prior = tree.size + float(tree.charge.sum()) / LN2
    evidence = bits(float(prunings.log_evidence[leaves].sum()))
    return TreeLength(coded, prior, 0.0, evidence, n, how, 1.0 + alone)


def described(model: DecisionTree) -> str:
    """A summary of a tree, and its outline."""
    name = PRUNING_TITLES[model.prune]
    if model.evidence is None:
        return f"{name}, not fitted yet"
    order = np.argsort(-model.class_weights)[:SHOWN_CLASSES]
    classes = ", ".join(f"{model.classes[k]} {model.class_weights[k]:g}" for k in order)
    more = f", ... ({len(model.classes)} in all)" if len(model.classes) > len(order) else ""
    shown = model.outline
    note = f" ({shown.note})" if shown.note else ""
    lines = [f"{name} of {model.target}, after {counted(model.n, 'row')}: {classes}{more}{note}"]
    return "\n".join([*lines, *outline_lines(shown)])


def outline_lines(outline: Outline, most: int = SHOWN_NODES) -> list[str]:
    """A line for each node, parents first; only the upper part of a large tree."""
    deepest = max(node.depth for node in outline.nodes)
    while sum(node.depth <= deepest for node in outline.nodes) > most and deepest > 1:
        deepest -= 1
    shown = [node for node in outline.nodes if node.depth <= deepest][:most]
    lines = [
        f"{'  ' * max(node.depth, 1)}{node_text(outline, node, deepest)}"
        for node in shown
        if node.depth or node.is_leaf
    ]
    rest = len(outline.nodes) - len(shown)
    return [*lines, f"  ... {counted(rest, 'more node')}"] if rest else lines


def node_text(outline: Outline, node: OutlineNode, deepest: int) -> str:
    ends = node.is_leaf or node.depth == deepest
    if not ends:
        return node.answer
    best = int(np.argmax(node.shares))
    rows = counted(float(f"{node.rows:.4g}"), "row")
    said = f"{outline.classes[best]} ({node.shares[best]:.2f}, {rows})"
    return f"{node.answer}: {said}" if node.answer else said
