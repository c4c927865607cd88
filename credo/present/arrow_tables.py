"""Arrow tables in notebooks, as HTML tables (Arrow itself prints its buffers)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.present.content import Content, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_html(table: pa.Table) -> str:
    """The first rows of a table, and its size.

    >>> import pyarrow as pa
    >>> "<td>a7</td>" in arrow_html(pa.table({"ad": ["a7"], "mean": [0.25]}))
    True
    """
    from credo.present.html import contents_html, notebook_html

    first = table.slice(0, TABLE_LINES)
    columns = [TableColumn(name, first.column(j).to_pylist(), "cell") for j, name in enumerate(first.column_names)]
    size = f"{count_of(table.num_rows, 'row')}, {count_of(table.num_columns, 'column')}"
    contents: list[Content] = [Table(columns)] if columns else []
    return notebook_html(contents_html([*contents, Paragraph(size, "note")]))


def show_arrow_tables(shell: Any) -> None:
    """Register the HTML form with IPython, unless the user has registered another."""
    if shell is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    if "pyarrow.lib.Table" not in map(_key, (*html.type_printers, *html.deferred_printers)):
        html.for_type_by_name("pyarrow.lib", "Table", arrow_html)


def _key(registered: Any) -> str:
    """The key of a class, or of (module name, class name)."""
    names = registered if isinstance(registered, tuple) else (registered.__module__, registered.__qualname__)
    return ".".join(names)
