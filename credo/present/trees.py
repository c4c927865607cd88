"""Decision trees on a terminal: the branches, the description length, and the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.models.tree.describing import PRUNING_TITLES, outline_lines
from credo.present.content import GAP, Content, Paragraph
from credo.present.numbers import count_of, one_line, whole

if TYPE_CHECKING:
    from credo.models.tree.model import DecisionTree

TOP = 100  # nodes
CLASSES, VALUE = 6, 20  # that are named; characters


def tree_content(tree: DecisionTree, top: int | None = None) -> list[Content]:
    """What a tree has learned."""
    if tree.evidence is None:
        return [Paragraph(repr(tree))]
    target, shown = one_line(tree.target), tree.outline
    found = sorted(zip(tree.class_weights, tree.classes, strict=True), key=lambda pair: -pair[0])
    few = ", ".join(f"{one_line(value, VALUE)} {whole(n)}" for n, value in found[:CLASSES])
    more = f", ... ({len(found):,} classes)" if len(found) > CLASSES else ""
    size = f"{count_of(tree.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {tree.depth}"
    contents: list[Content] = [
        Paragraph(f"{PRUNING_TITLES[tree.prune]}: {size}", "title"),
        Paragraph(f"{target}: {count_of(tree.n, 'row')}, {few}{more}"),
    ]
    if tree.unlabelled:
        contents.append(Paragraph(f"left out: {count_of(tree.unlabelled, 'row')} without {target}"))
    if shown.note:
        contents.append(Paragraph(f"Shown is {shown.note}.", "note"))
    lines = "\n".join(outline_lines(shown, top or TOP))
    return [*contents, GAP, Paragraph(lines, "lines"), GAP, length_paragraph(tree)]


def length_paragraph(tree: DecisionTree) -> Paragraph:
    """Whether the tree pays for itself, in bits."""
    return Paragraph(f"Description: {tree.description_length()!r}.")
