"""A learned structure on a terminal: its arrows, how strong they are, and whether their direction is compelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from credo.errors import counted
from credo.present.content import GAP, TOP_HINT, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, distinguishable

if TYPE_CHECKING:
    from credo.networks.comparison import GraphComparison
    from credo.networks.directed_graph import DirectedGraph
    from credo.networks.structure.confidence import EdgeConfidence

ARROW_LINES = 30  # arrows
ARROW_CHARACTERS = 60  # of an arrow
ARROW = " -> "
COMPELLED, REVERSIBLE = "compelled", "reversible"
NAMED_ISOLATED = 12  # variables without arrows that are named


def structure_content(
    net: DirectedGraph,
    title: str,
    strengths: Mapping[tuple[str, str], float],
    confidence: EdgeConfidence | None = None,
    compelled: Collection[tuple[str, str]] | None = None,
    top: int = ARROW_LINES,
) -> list[Content]:
    """Arrows, the strongest first. By default, arrows of all equivalent networks are compelled; `compelled` may name
    more, as constraints do."""
    compelled = net.cpdag().arrows if compelled is None else compelled
    arrows = sorted(strengths, key=lambda arrow: -strengths[arrow])
    shown = arrows[:top]
    columns = [
        TableColumn("arrow", _named(shown), longest=ARROW_CHARACTERS),
        TableColumn("strength", [strengths[arrow] for arrow in shown], ",.1f"),
    ]
    if confidence is not None:
        columns.append(TableColumn("probability", [confidence[arrow] for arrow in shown], ".3f"))
        columns.append(TableColumn("either direction", [confidence.edge(*arrow) for arrow in shown], ".3f"))
    else:
        directions = [COMPELLED if arrow in compelled else REVERSIBLE for arrow in shown]
        columns.append(TableColumn("direction", directions, rank=1))
    drawing = Drawing("bars", [max(0.0, strengths[arrow]) for arrow in shown], widest=20)
    contents: list[Content] = [Paragraph(title, "title"), GAP]
    if arrows:
        contents += [Table(columns, drawing, ("more column",), "a wider terminal shows all"), GAP]
    if len(arrows) > top:
        contents.append(Paragraph(count_of(len(arrows) - top, "weaker arrow"), hint=TOP_HINT))
    contents += [Paragraph(text, "note") for text in _notes(net, arrows, shown, confidence, compelled)]
    return contents


def _notes(
    net: DirectedGraph,
    arrows: Sequence[tuple[str, str]],
    shown: Sequence[tuple[str, str]],
    confidence: EdgeConfidence | None,
    compelled: Collection[tuple[str, str]],
) -> list[str]:
    from credo.present.edge_confidence import how

    notes = list[str]()
    if arrows:
        notes.append("Strength: the loss of score without the arrow, in nats.")
    if confidence is not None:
        notes.append(f"{how(confidence)}.")
    elif any(arrow not in compelled for arrow in shown):
        notes.append("Reversible: an equivalent network that the constraints allow has the arrow reversed.")
    alone = [name for name in net.parents if not any(name in arrow for arrow in arrows)]
    if alone and arrows:
        names = ", ".join(alone[:NAMED_ISOLATED]) + (", ..." if len(alone) > NAMED_ISOLATED else "")
        notes.append(f"{counted(len(alone), 'variable')} without arrows: {names}.")
    if not arrows:
        notes.append("No arrow raises the score: the columns look independent of each other.")
    return notes


def graph_comparison_content(found: GraphComparison, top: int | None = None) -> list[Content]:
    """A row for each edge in which two graphs differ, and how many of them agree."""
    kinds = {"missing": found.missing, "extra": found.extra, "misdirected": found.misdirected}
    rows = [(kind, a, b) for kind, edges in kinds.items() for a, b in edges]
    title = f"Structural Hamming distance {found.shd}: " + ", ".join(
        f"{len(own)} {kind}" for kind, own in kinds.items()
    )
    shares = (
        f"adjacencies: precision {found.adjacency_precision:.3f}, recall {found.adjacency_recall:.3f}; "
        f"arrows: precision {found.arrow_precision:.3f}, recall {found.arrow_recall:.3f}"
    )
    shown = rows[: top or ARROW_LINES]
    names = ("", "variable", "variable ")
    table = [Table([TableColumn(name, [row[j] for row in shown]) for j, name in enumerate(names)])] if rows else []
    more = [Paragraph(count_of(len(rows) - len(shown), "more edge"), "note")] if len(rows) > len(shown) else []
    return [Paragraph(title, "title"), *table, *more, Paragraph(shares, "note")]


def _named(arrows: Sequence[tuple[str, str]]) -> list[str]:
    """Each arrow by the names of its ends, both shortened if an arrow is too long: the second would be cut off."""
    if all(len(a) + len(b) + len(ARROW) <= ARROW_CHARACTERS for a, b in arrows):
        return [f"{a}{ARROW}{b}" for a, b in arrows]
    names = sorted({name for arrow in arrows for name in arrow})
    short = dict(zip(names, distinguishable(names, (ARROW_CHARACTERS - len(ARROW)) // 2), strict=True))
    return [f"{short[a]}{ARROW}{short[b]}" for a, b in arrows]
