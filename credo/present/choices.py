"""Models side by side: the table of credo.choose as text, HTML and Arrow, and its picture."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.present.content import Table, TableColumn
from credo.present.html import table as html_table
from credo.present.numbers import written

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.selection.choose import Compared, Comparison

SCORE_HEADERS = {"mdl": "bits", "evidence": "log evidence", "loo": "log-loss", "folds": "log-loss"}
TITLE_CHARACTERS = 80  # of a line of a picture's title
CRITERION_TITLES = {
    "mdl": "By description length, in bits",
    "evidence": "By evidence, in nats",
    "loo": "By leave-one-out log-loss, in nats per row",
    "folds": "By the log-loss of held-out folds, in nats per row",
}


def choice_content(found: Comparison) -> Table:
    """A row for each model, the best first."""
    lines, decimals = found.ranked, ".4f" if found.by in ("loo", "folds") else ".2f"
    sign = -1.0 if found.by == "evidence" else 1.0
    columns = [
        TableColumn("model", [each.name for each in lines], longest=60),
        TableColumn(SCORE_HEADERS[found.by], [sign * each.value for each in lines], decimals),
        *(TableColumn(what, [each.details[what] for each in lines], decimals) for what in lines[0].details),
        TableColumn("difference", [sign * each.difference + 0.0 for each in lines], decimals),
    ]
    if lines[0].error is not None:
        columns.append(TableColumn("standard error", [each.error for each in lines], decimals))
        columns.append(TableColumn("", [_verdict(each, k) for k, each in enumerate(lines)]))
    if lines[0].probability is not None:
        columns.append(TableColumn("P(model)", [each.probability for each in lines], ".4f"))
    return Table(columns)


def _verdict(line: Compared, place: int) -> str:
    if place == 0:
        return "best"
    return "a tie" if line.tied else ""


def title(found: Comparison) -> str:
    return f"{CRITERION_TITLES[found.by]}, of {found.about} ({found.rows:g} rows)"


def described(found: Comparison) -> str:
    """The table as lines of text."""
    columns = [[column.header, *written(column)] for column in choice_content(found).columns]
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    lines = [
        "  ".join(
            cell.ljust(width) if j in (0, len(widths)) else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([title(found), *(f"  {line.rstrip()}" for line in lines)])


def choice_html(found: Comparison) -> str:
    from html import escape

    return f"<p>{escape(title(found))}</p>{html_table(choice_content(found))}"


def choice_table(found: Comparison) -> pa.Table:
    """The models as an Arrow table."""
    import pyarrow as pa

    columns = [column for column in choice_content(found).columns if column.header]
    made = {column.header: [*column.cells] for column in columns}
    if found.ranked[0].error is not None:
        made["tied"] = [each.tied for each in found.ranked]
    return pa.table(made)


def plot_choice(found: Comparison) -> Any:
    """Description lengths as bars of their two parts; else differences from the best, with their standard errors."""
    from credo.present.plotting import Figure

    lines = found.ranked[::-1]
    figure = Figure(figsize=(6.4, 1.1 + 0.4 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(lines))
    if found.by == "mdl":
        model, data = ([each.details[part] for each in lines] for part in ("L(h)", "L(D|h)"))
        axes.barh(places, model, color="tab:orange", label="L(h)")
        axes.barh(places, data, left=model, color="tab:blue", label="L(D|h)")
        axes.legend()
        axes.set_xlabel("bits")
    else:
        errors = None if lines[0].error is None else [2 * (each.error or 0.0) for each in lines]
        axes.errorbar([each.difference for each in lines], places, xerr=errors, fmt="o", capsize=3)
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set_xlabel("nats more than the best" + (", ± 2 standard errors" if errors else ""))
    axes.set_yticks(places, [each.name for each in lines])
    axes.set_title(fill(title(found), TITLE_CHARACTERS), fontsize="small", loc="left")
    return figure
