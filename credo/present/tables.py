"""Tables of data: how each column is read, and the first rows."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

import pyarrow.compute as pc

from credo.data.profile import Profile
from credo.data.schema import Schema
from credo.data.sources import Source
from credo.data.spelling import dates
from credo.present.content import GAP, TOP_HINT, Content, Paragraph, Table, TableColumn
from credo.present.limits import LIST_CHARACTERS, LISTING_LINES
from credo.present.numbers import EXAMPLE_VALUES, count_of, listed, number, one_line

HEAD_ROWS = 10  # first rows of a table


def profile_content(profiles: Mapping[str, Profile], file: str, top: int | None = None) -> list[Content]:
    names, found, top = [*profiles], [*profiles.values()], top or LISTING_LINES
    shown = found[:top]
    table = Table(
        [
            TableColumn("column", names[:top]),
            TableColumn("kind", [each.kind for each in shown]),
            TableColumn("missing", [each.missing_share for each in shown], "share"),
            TableColumn("values", [_values(each) for each in shown], longest=LIST_CHARACTERS, wraps=True),
        ]
    )
    title = f"{file}: {count_of(found[0].rows, 'row')}, {count_of(len(found), 'column')}"
    contents: list[Content] = [Paragraph(title, "title"), GAP, table, GAP]
    if len(found) > top:
        contents.append(Paragraph(count_of(len(found) - top, "more column"), hint=TOP_HINT))
    return [*contents, *_advice(profiles, file)]


def _advice(profiles: Mapping[str, Profile], file: str) -> list[Content]:
    """Suggested next commands."""
    if any(each.kind == "text" for each in profiles.values()):
        label = next((name for name, each in profiles.items() if each.kind == "category"), None)
        if label is None:
            return []
        command = Paragraph(f"  credo learn {quote(file)} --target {quote(label)}", "command")
        return [Paragraph(f"To learn {one_line(label)} from the texts:", "note"), command]
    others = [name for name, each in profiles.items() if each.kind not in ("category", "ignore")]
    others += [name for name, each in profiles.items() if each.kind == "ignore" and each.known and len(each.values)]
    if not others:
        return [Paragraph("Kinds are inferred from all rows.", "note")]
    name = others[0]
    return [
        Paragraph("Kinds are inferred from all rows. To read a column as another kind:", "note"),
        Paragraph(f"  credo estimate {quote(file)} --column {quote(name)} --kind category", "command"),
        Paragraph(f"  credo.estimate({file!r}, {name!r}, kinds={{{name!r}: 'category'}})", "command"),
    ]


def _values(found: Profile) -> str:
    if not found.known:
        return "every cell is missing"
    if not len(found.values):
        return f"{found.values.type}, which credo doesn't read"
    if found.kind == "number":
        ends: Any = pc.min_max(found.values).as_py()
        return f"{number(ends['min'])} to {number(ends['max'])}"
    if found.kind == "date":
        in_time = found.values.take(pc.array_sort_indices(dates(found.values)))
        return f"{in_time[0]} to {in_time[-1]}"
    few = listed(
        found.values.slice(0, EXAMPLE_VALUES).to_pylist(), len(found.values), "or more" if found.full else "in all"
    )
    return f"identifiers of rows, such as {few}" if found.identifies else few


def head_content(first: Any, data: str, predicted: str) -> list[Content]:
    """The first rows of an Arrow table; predictions, which are its last columns, come first."""
    names: list[str] = first.column_names
    start = max((i for i, name in enumerate(names) if name.rstrip("_") == predicted), default=0)
    shown = first.slice(0, HEAD_ROWS).to_pydict()
    order = [*names[start:], *names[:start]]
    columns = [TableColumn(name, shown[name], "cell", rank=int(i > 1)) for i, name in enumerate(order)]
    contents: list[Content] = [Table(columns, ranks=("more column",), elsewhere="-o writes all"), GAP]
    if first.num_rows > HEAD_ROWS:
        contents.append(Paragraph(f"the first {HEAD_ROWS} rows of {data}: -o writes all of them", "note"))
    return contents


def source_content(table: Source, top: int | None = None) -> list[Content]:
    """The first rows of a local table that can be read again; otherwise the column names."""
    size = f", {count_of(table.rows, 'row')}" if table.rows is not None else ""
    title = Paragraph(f"{count_of(len(table.names), 'column')}{size}", "title")
    batch = None if table.once or table.frame is not None else next(iter(table.batches(table.names)), None)
    if batch is None:
        return [title, Paragraph(", ".join(table.names), "note")]
    cells = [TableColumn(name, batch.column(name)[: top or HEAD_ROWS].to_pylist(), "cell") for name in table.names]
    return [title, Table(cells)]


def schema_content(schema: Schema) -> list[Content]:
    return [schema_table(schema)]


def schema_table(schema: Schema) -> Table:
    """The columns of a model's schema."""
    values = [
        "" if column.levels is None else listed(column.levels.slice(0, EXAMPLE_VALUES).to_pylist(), len(column.levels))
        for column in schema
    ]
    return Table(
        [
            TableColumn("column", [column.name for column in schema]),
            TableColumn("kind", [column.kind for column in schema]),
            TableColumn("values", values, longest=LIST_CHARACTERS, wraps=True),
        ]
    )
