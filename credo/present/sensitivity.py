"""Sensitivity of answers, as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.core.description import LN2
from credo.networks.inference.conflict import said
from credo.networks.information import entropy
from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn
from credo.present.plain_text import table_lines

if TYPE_CHECKING:
    from credo.networks.sensitivity.evidence_impact import EvidenceImpact
    from credo.networks.sensitivity.sensitivity import Sensitivity
    from credo.networks.sensitivity.tornado import Tornado

ENTRY_LINES = 10  # in a repr
ENTRY_CHARACTERS = 80  # of an entry's name


def sensitivity_title(found: Sensitivity) -> str:
    given = ", ".join(f"{name}={said(value)}" for name, value in found.given.items())
    return f"P({found.name}={found.value}{f' | {given}' if given else ''}) = {found.probability:.4g}"


def sensitivity_table(found: Sensitivity, top: int) -> Table:
    entries = found.entries(top)
    slopes = [each.derivative for each in entries]
    columns = [
        TableColumn("entry", [str(each) for each in entries], longest=ENTRY_CHARACTERS),
        TableColumn("value", [each.value for each in entries], ".4f"),
        TableColumn("derivative", slopes, "+.4f"),
    ]
    return Table(columns, Drawing("weights", slopes))


def sensitivity_described(found: Sensitivity) -> str:
    """The entries that the answer is most sensitive to."""
    return "\n".join([f"{sensitivity_title(found)} moves with", *table_lines(sensitivity_table(found, ENTRY_LINES))])


def sensitivity_content(found: Sensitivity, top: int | None = None) -> list[Content]:
    return [Paragraph(sensitivity_title(found), "title"), sensitivity_table(found, top or ENTRY_LINES)]


def tornado_table(found: Tornado, top: int | None = None) -> Table:
    bars = found.bars[:top]
    columns = [
        TableColumn("entry", [str(bar.entry) for bar in bars], longest=ENTRY_CHARACTERS),
        TableColumn("value", [bar.entry.value for bar in bars], ".4f"),
        TableColumn("range", [(bar.low, bar.high) for bar in bars], ".4f"),
        TableColumn(found.title, [(bar.at_low, bar.at_high) for bar in bars], ".4f", longest=ENTRY_CHARACTERS),
    ]
    ends = [(found.probability, *sorted((bar.at_low, bar.at_high))) for bar in bars]
    return Table(columns, Drawing("intervals", ends))


def tornado_title(found: Tornado) -> str:
    return f"{found.title} = {found.probability:.4g}, each entry alone within {found.within}"


def tornado_described(found: Tornado) -> str:
    return "\n".join([tornado_title(found), *table_lines(tornado_table(found, ENTRY_LINES))])


def tornado_content(found: Tornado, top: int | None = None) -> list[Content]:
    return [Paragraph(tornado_title(found), "title"), tornado_table(found, top)]


def impact_table(found: EvidenceImpact) -> Table:
    """The probability of the state that is most probable with all findings."""
    best = max(found.after, key=lambda each: found.after[each])
    each = found.findings
    return Table(
        [
            TableColumn("finding", [f"{one.name}={said(one.value)}" for one in each], longest=ENTRY_CHARACTERS),
            TableColumn(f"P({best}) alone", [one.alone[best] for one in each], ".4f"),
            TableColumn("without it", [one.without[best] for one in each], ".4f"),
            TableColumn("entropy without it", [entropy(one.without) / LN2 for one in each], ".4f"),
            TableColumn("bits moved", [one.divergence for one in each], ".4f"),
        ]
    )


def impact_title(found: EvidenceImpact) -> str:
    best = max(found.after, key=lambda each: found.after[each])
    moved = f"P({found.name}={best}) {found.before[best]:.4f} to {found.after[best]:.4f}"
    return f"{moved}, entropy {entropy(found.before) / LN2:.4f} to {entropy(found.after) / LN2:.4f} bits"


def impact_described(found: EvidenceImpact) -> str:
    return "\n".join([impact_title(found), *table_lines(impact_table(found))])


def impact_content(found: EvidenceImpact) -> list[Content]:
    return [Paragraph(impact_title(found), "title"), impact_table(found)]
