"""Description lengths, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn

if TYPE_CHECKING:
    from credo.core.description import DescriptionLength


def length_content(found: DescriptionLength) -> list[Content]:
    """Bits of the structure, of the parameters, and of the data given both."""
    parts = {"structure": found.structure, "parameters": found.parameters, "data, given the model": found.data}
    bits = [*parts.values()]
    columns = [TableColumn("", [*parts, "total"]), TableColumn("bits", [*bits, found.total], ",.1f")]
    how = [Paragraph(f"parameters: {found.how}", "note")] if found.how else []
    return [
        Paragraph(f"{found.total:,.1f} bits for {found.coded}", "title"),
        Table(columns, Drawing("bars", [*bits, 0.0])),
        *how,
    ]
