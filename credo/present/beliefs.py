"""Beliefs: one by its parameters, many by their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.data.schema import Schema
from credo.errors import counted
from credo.families import GammaExponential, LinearGaussian
from credo.families.dirichlet import Dirichlet
from credo.present.content import GAP, TOP_HINT, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of, number_form, one_line, percent
from credo.present.tables import schema_table

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.estimation.belief import Belief
    from credo.estimation.beliefs import Beliefs
    from credo.estimation.numeric import Numeric

SUMMARY_VALUES = 12  # values of a categorical belief
INTERVAL_CHARACTERS = 40  # of an interval's picture
INTERVALS_CHARACTERS = 120  # of one or several intervals as text


# Summaries


def summary_rows(belief: Belief) -> list[tuple[str, str, str, str]]:
    """Each parameter's name, mean, mode and 95% interval; none if the values aren't known yet."""
    if not _has_known_weights(belief):
        return []
    mean, mode, interval = belief.mean(), belief.mode(), belief.interval()
    if isinstance(mean, dict):
        return [(f"P({v})", _shown(mean[v]), _shown(mode[v]), _ends(interval[v])) for v in list(mean)[:SUMMARY_VALUES]]
    if not hasattr(mean, "_fields"):
        return [(parameter_name(belief), _shown(mean), _shown(mode), _ends(interval))]
    return [
        (name, _shown(each), _shown(best), _ends(ends))
        for name, each, best, ends in zip(mean._fields, mean, mode, interval, strict=True)
    ]


def _has_known_weights(belief: Belief) -> bool:
    if isinstance(belief.family, Dirichlet):
        known = belief.evidence is not None or belief.family.levels is not None or belief.family.concentration.ndim > 0
        return known and belief.posterior.alpha.size > 0  # type: ignore[attr-defined]
    if belief.evidence is not None:
        return True
    return not isinstance(belief.family, LinearGaussian) or belief.family.precision.ndim > 1


def parameter_name(belief: Belief) -> str:
    """The parameter's name, for a family with one."""
    if belief.success is not None:
        return f"P({belief.success})"
    names = {"truth": "probability", "count": "rate", "number": "mean"}
    return "rate" if isinstance(belief.family, GammaExponential) else names.get(belief.family.reads, "upper end")


def _shown(value: object) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return _digits(float(array))
    text = np.array2string(array, precision=4, separator=", ", threshold=20)
    return " ".join(text.split())


def _ends(ends: tuple[Any, Any]) -> str:
    low, high = ends
    if np.ndim(low) == 0:
        return f"[{_digits(float(low))}, {_digits(float(high))}]"
    return " ".join(f"[{_digits(a)}, {_digits(b)}]" for a, b in zip(np.ravel(low), np.ravel(high), strict=True))


def _digits(x: float) -> str:
    """A number with four significant digits.

    >>> _digits(0.123456), _digits(646912.3)
    ('0.1235', '646,900')
    """
    return f"{float(f'{x:.4g}'):,.0f}" if 1e4 <= abs(x) < 1e9 else f"{x:.4g}"


def headline(belief: Belief) -> str:
    return f"{belief.posterior}, after {counted(belief.n, 'observation')}"


def describe(belief: Belief) -> str:
    lines = [headline(belief)]
    for name, mean, mode, ends in summary_rows(belief):
        expected = mean if name == "mean" else f"mean {mean}"
        lines.append(f"  {name}: {expected}, mode {mode}, 95% interval {ends}")
    return "\n".join(lines)


# Tables


def parameter_table(belief: Belief, mass: float) -> pa.Table:
    """An Arrow table: each parameter's estimates."""
    import pyarrow as pa

    mean, mode, interval = belief.mean(), belief.mode(), belief.interval(mass)
    likely = belief.maximum_likelihood() if belief.n else None
    if isinstance(mean, dict):
        names: Sequence[str] = [f"P({value})" for value in mean]
        mean, mode, interval, likely = (x and list(x.values()) for x in (mean, mode, interval, likely))
    elif hasattr(mean, "_fields"):
        names = mean._fields
    else:
        names = [parameter_name(belief)]
        mean, mode, interval, likely = [mean], [mode], [interval], [likely]
    return pa.table(
        {
            "parameter": list(names),
            "mean": list(mean),
            "mode": list(mode),
            "maximum_likelihood": pa.array(likely or [None] * len(names), pa.float64()),
            "low": [low for low, _ in interval],
            "high": [high for _, high in interval],
            "n": [belief.n] * len(names),
        }
    )


def belief_content(belief: Belief, table: Any, title: str, mass: float, top: int) -> list[Content]:
    """The estimates of one belief, from `parameter_table`."""
    columns = table.slice(0, top).to_pydict()
    form = number_form(columns["mean"])
    contents: list[Content] = [
        Paragraph(f"{title}: {count_of(belief.n, 'observation')}", "title"),
        GAP,
        Table(
            [
                TableColumn(" ", columns["parameter"]),
                TableColumn("mean", columns["mean"], form),
                TableColumn("mode", columns["mode"], form),
                TableColumn("max. likelihood", columns["maximum_likelihood"], form),
                TableColumn(f"{percent(mass)} interval", [*zip(columns["low"], columns["high"], strict=True)], form),
            ]
        ),
        GAP,
        Paragraph(f"prior  {belief.prior}", "note"),
    ]
    if table.num_rows > top:
        rest = count_of(table.num_rows - top, "more value")
        return [*contents, Paragraph(rest, hint=f"{TOP_HINT}, -o writes all")]
    return [*contents, Paragraph(f"belief {belief.posterior}", "note")]


def groups_content(
    beliefs: Beliefs, table: Any, mass: float, top: int, sort: str = "mean", writes: bool = True
) -> list[Content]:
    """A row for each group of `Beliefs.table`: the first by their mean, their rows or their names."""
    estimates = _estimates(beliefs, table)
    shown = _first(table, {"mean": estimates[0], "rows": "rows", "name": beliefs.by}[sort], beliefs.by, top)
    columns = [TableColumn(beliefs.by, shown[beliefs.by])]
    columns += [TableColumn(name, shown[name], "cell") for name in ("value",) if name in shown]
    columns += [TableColumn(name, shown[name], "count") for name in ("rows", "missing") if name in shown]
    for i, name in enumerate(estimates):
        form = number_form(shown[name])
        ends = [*zip(shown[f"{name}_low"], shown[f"{name}_high"], strict=True)]
        columns.append(TableColumn(name, shown[name], form, rank=min(i, 1)))
        columns.append(TableColumn(f"{percent(mass)} interval", ends, form, rank=2))
    drawing = None
    if len(estimates) == 1:
        cells = [(mean, *each) for mean, each in zip(shown[estimates[0]], columns[-1].cells, strict=True)]
        drawing = Drawing("intervals", cells, widest=INTERVAL_CHARACTERS)
    elsewhere = "-o writes all" if writes else "a wider window shows more"
    what = ", ".join(beliefs.columns)
    counted_as = "" if beliefs.success is None else f" = {one_line(beliefs.success)}"
    contents: list[Content] = [
        Paragraph(f"{what}{counted_as} by {beliefs.by}: {count_of(len(beliefs), 'group')}", "title"),
        GAP,
        Table(columns, drawing, ("more value", "interval"), elsewhere),
        GAP,
    ]
    if table.num_rows > top:
        noun = "more group" if table.num_rows == len(beliefs) else "more pair"
        hint = f"{TOP_HINT}, -o writes all" if writes else TOP_HINT
        contents.append(Paragraph(count_of(table.num_rows - top, noun), hint=hint))
    contents.append(Paragraph(f"prior ({beliefs.rule}) {beliefs.prior}", "note"))
    if absent := _absent(beliefs):
        contents.append(Paragraph(f"left out {absent}", "note"))
    return contents


def _estimates(beliefs: Beliefs, table: Any) -> list[str]:
    """The columns with an interval; for categories, the commonest value first."""
    import pyarrow.compute as pc

    names = table.column_names
    found = [name for name in names if f"{name}_low" in names and f"{name}_high" in names]
    if isinstance(beliefs.family, Dirichlet):
        found = sorted(found, key=lambda name: -(pc.mean(table[name]).as_py() or 0))
    return found


def _first(table: Any, key: str, by: str, top: int) -> dict[str, list[Any]]:
    """The rows with the largest keys, or the first names if the key is the name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sortable = pa.table({"key": table[key], "name": table[by]})
    order = [("key", "ascending" if key == by else "descending"), ("name", "ascending")]
    found: dict[str, list[Any]] = table.take(pc.sort_indices(sortable, sort_keys=order).slice(0, top)).to_pydict()
    return found


def _absent(beliefs: Beliefs) -> str:
    """The numbers of rows that no belief has learned from."""
    unknown = float((beliefs.rows - beliefs.statistics.weight).sum())
    reasons = {beliefs.by: beliefs.ungrouped, " or ".join(beliefs.columns): unknown}
    return ", ".join(f"{count_of(rows, 'row')} without {name}" for name, rows in reasons.items() if rows)


# Saved beliefs


def saved_belief_content(belief: Belief) -> list[Content]:
    """The estimates of a saved belief's parameters."""
    rows = summary_rows(belief)
    if not rows:
        return [Paragraph(repr(belief)), *_schema(belief)]
    names, *figures = zip(*rows, strict=True)
    columns = [TableColumn(" ", names)]
    columns += [
        TableColumn(title, own, longest=INTERVALS_CHARACTERS)
        for title, own in zip(("mean", "mode", "95% interval"), figures, strict=True)
    ]
    return [Paragraph(headline(belief), "title"), Table(columns), *_schema(belief)]


def numeric_content(belief: Numeric) -> list[Content]:
    """The mean and the interval of each parameter."""
    ends = np.reshape(belief.interval(), (-1, 2)).tolist()
    names = ["parameter"] if len(ends) == 1 else [f"parameter {i + 1}" for i in range(len(ends))]
    columns = [TableColumn(" ", names), TableColumn("mean", np.atleast_1d(belief.mean()).tolist(), ".4g")]
    columns.append(TableColumn("95% interval", [(low, high) for low, high in ends], ".4g"))
    return [Paragraph(f"Numeric, after {count_of(belief.n, 'observation')}", "title"), Table(columns)]


def saved_groups_content(beliefs: Beliefs, top: int | None = None) -> list[Content]:
    return [*groups_content(beliefs, beliefs.table(), 0.95, top or TABLE_LINES, writes=False), *_schema(beliefs)]


def _schema(model: Belief | Beliefs) -> list[Content]:
    """The table of columns; empty for the default column x."""
    found = () if model.evidence is None else tuple(model.evidence.schema)
    if model.columns is not None and len(model.columns) == 1:
        found = tuple(replace(each, name=model.columns[0]) if each.name == "x" else each for each in found)
    told = any(column.name != "x" or column.levels is not None for column in found)
    return [GAP, schema_table(Schema(found))] if told else []
