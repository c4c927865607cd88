"""Decision trees on a terminal: the branches, the description length, and the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.models.tree.describing import PRUNING_TITLES, outline_lines
from credo.present.content import GAP, Content, Paragraph
from credo.present.limits import CLASS_CHARACTERS, LISTING_LINES, NAMED_CLASSES
from credo.present.numbers import count_of, one_line, whole

if TYPE_CHECKING:
    from credo.models.tree.model import DecisionTree


def tree_content(tree: DecisionTree, top: int | None = None) -> list[Content]:
    """The contents of a fitted tree."""
    if tree.evidence is None:
        return [Paragraph(repr(tree))]
    target, shown = one_line(tree.target), tree.outline
    found = sorted(zip(tree.class_weights, tree.classes, strict=True), key=lambda pair: -pair[0])
    few = ", ".join(f"{one_line(value, CLASS_CHARACTERS)} {whole(n)}" for n, value in found[:NAMED_CLASSES])
    more = f", ... ({len(found):,} classes)" if len(found) > NAMED_CLASSES else ""
    size = f"{count_of(tree.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {tree.depth}"
    contents: list[Content] = [
        Paragraph(f"{PRUNING_TITLES[tree.prune]}: {size}", "title"),
        Paragraph(f"{target}: {count_of(tree.n, 'row')}, {few}{more}"),
    ]
    if tree.unlabelled:
        contents.append(Paragraph(f"left out: {count_of(tree.unlabelled, 'row')} without {target}"))
    if shown.note:
        contents.append(Paragraph(f"Shown is {shown.note}.", "note"))
    lines = "\n".join(outline_lines(shown, top or LISTING_LINES))
    return [*contents, GAP, Paragraph(lines, "lines"), GAP, length_paragraph(tree)]


def length_paragraph(tree: DecisionTree) -> Paragraph:
    """The description length of a tree against that of a single leaf."""
    return Paragraph(f"Description: {tree.description_length()!r}.")
