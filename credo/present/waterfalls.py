"""Explanations: the prior and the weights of evidence, which add up to the log-odds."""

from __future__ import annotations

from credo.asking.protocol import Waterfall, waterfall
from credo.present.content import GAP, ColouredText, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import STRONGEST_LINES
from credo.present.numbers import CELL_CHARACTERS, count_of, one_line


def waterfall_table(found: Waterfall, top: int, noun: str, sides: tuple[str, str], form: str = "+z.3f") -> Table:
    """The prior, the strongest weights, the rest as one line, and the sum."""
    rows = [("prior", "", found.prior)]
    rows += [
        (each["name"], "missing" if each["value"] is None else each["value"], each["weight"])
        for each in found.weights[:top]
    ]
    if rest := found.weights[top:]:
        rows.append((count_of(len(rest), f"more {noun}"), "", sum(each["weight"] for each in rest)))
    names, values, weights = zip(*rows, ("log-odds", "", found.log_odds), strict=True)
    columns = [
        TableColumn("", names),
        TableColumn("value", values, longest=CELL_CHARACTERS, wraps=True),
        TableColumn(found.unit, weights, form),
    ]
    return Table(columns, Drawing("weights", weights, sides=sides))


def row_content(found: object, top: int | None = None) -> list[Content]:
    """The content of a classifier's explanation."""
    return explanation_content(waterfall(found), "", top or STRONGEST_LINES)


def explanation_content(found: Waterfall, title: str, top: int) -> list[Content]:
    """A row's explanation, with the texts in it."""
    sides = f"for {found.against}", f"for {found.of}"
    head = f"{title}: " if title else ""
    contents: list[Content] = [Paragraph(f"{head}P({one_line(found.of)}) = {found.probability:.4g}", "title"), GAP]
    contents.append(waterfall_table(found, top, "column", sides))
    for each in (text for text in found.texts if text["words"]):
        contents += [GAP, ColouredText(each["name"], found.of, found.against, each["text"], each["words"])]
        strongest = [f"{one_line(word['word'])} {word['weight']:+.2f}" for word in each["words"][:top]]
        if rest := each["words"][top:]:
            strongest.append(f"{count_of(len(rest), 'more word')} {sum(word['weight'] for word in rest):+.2f}")
        contents.append(Paragraph(", ".join(strongest), "note"))
    of, against = one_line(found.of), one_line(found.against)
    sums = f"prior + weights of evidence = the log-odds of {of} against {against}, in {found.unit}"
    return [*contents, GAP, Paragraph(sums, "note")]
