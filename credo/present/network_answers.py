"""Answers of networks as tables: explanations, most probable states, distributions of numbers, identified effects; and
the distributions of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.asking.protocol import waterfall
from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of
from credo.present.waterfalls import waterfall_table

if TYPE_CHECKING:
    from credo.networks.answers import Marginals, MostProbable
    from credo.networks.causes.identification import Identification
    from credo.networks.explanation import QueryExplanation
    from credo.networks.hybrid.answers import JointNumbers, MixedMarginals, NumberAnswer


def query_explanation_content(found: QueryExplanation, top: int | None = None) -> list[Content]:
    """prior + weights of the findings = log-odds"""
    told = waterfall(found)
    title = f"P({told.of}) = {told.probability:.4g}"
    sides = f"against {told.of}", f"for {told.of}"
    return [Paragraph(title, "title"), waterfall_table(told, top or TABLE_LINES, "finding", sides)]


def most_probable_content(found: MostProbable, top: int | None = None) -> list[Content]:
    """A row for each variable."""
    shown = [*found.items()][: top or TABLE_LINES]
    values = [f"{value:.6g}" if isinstance(value, float) else str(value) for _, value in shown]
    title = f"The most probable states, log P(states, evidence) = {float(found.log_joint):.4f}"
    more = len(found) - len(shown)
    rest = [Paragraph(count_of(more, "more variable"), "note")] if more else []
    table = Table([TableColumn("variable", [name for name, _ in shown]), TableColumn("state", values)])
    return [Paragraph(title, "title"), table, *rest]


def marginals_content(found: Marginals, top: int | None = None) -> list[Content]:
    """A row for each state of each variable."""
    shown = [*found.items()][: top or TABLE_LINES]
    rows = [(name, state, float(p)) for name, posterior in shown for state, p in posterior.items()]
    first = [name if not i or rows[i - 1][0] != name else "" for i, (name, _, _) in enumerate(rows)]
    columns = [
        TableColumn("variable", first),
        TableColumn("state", [str(state) for _, state, _ in rows]),
        TableColumn("P", [p for _, _, p in rows], ".4f"),
    ]
    more = len(found) - len(shown)
    rest = [Paragraph(count_of(more, "more variable"), "note")] if more else []
    return [Table(columns, Drawing("bars", [p for _, _, p in rows], most=1.0, widest=20)), *rest]


def mixed_marginals_content(found: MixedMarginals, top: int | None = None) -> list[Content]:
    """A row for each state of a category; of a number its mean, standard deviation and 95% interval."""
    rows: list[tuple[str, str, float | None, tuple[float, float] | None]] = []
    for name, law in [*found.items()][: top or TABLE_LINES]:
        if isinstance(law, Mapping):
            rows += [(name, str(state), float(p), None) for state, p in law.items()]
        else:
            low, high = (float(end) for end in law.interval(0.95))
            rows.append((name, f"{float(law.mean()):.5g} ± {law.sd:.3g}", None, (low, high)))
    first = [name if not i or rows[i - 1][0] != name else "" for i, (name, *_) in enumerate(rows)]
    columns = [
        TableColumn("variable", first),
        TableColumn("state, or mean ± sd", [state for _, state, _, _ in rows]),
        TableColumn("P", [p for _, _, p, _ in rows], ".4f"),
        TableColumn("95% interval", [ends for *_, ends in rows], ".5g"),
    ]
    more = len(found) - len({name for name, *_ in rows})
    rest = [Paragraph(count_of(more, "more variable"), "note")] if more else []
    return [Table(columns, Drawing("bars", [p or 0.0 for _, _, p, _ in rows], most=1.0, widest=20)), *rest]


def number_content(found: NumberAnswer) -> list[Content]:
    """Mean, standard deviation and interval."""
    low, high = (float(end) for end in found.interval(0.95))
    columns = [TableColumn("mean", [float(found.mean())], ".6g"), TableColumn("sd", [found.sd], ".4g")]
    if found.method != "exact":
        columns.append(TableColumn("standard error of the mean", [found.standard_error], ".1g"))
    columns.append(TableColumn("95% interval", [(low, high)], ".6g"))
    return [Paragraph(found.form, "title"), Table(columns)]


def joint_numbers_content(found: JointNumbers, top: int | None = None) -> list[Content]:
    """A row for each number, and the correlations."""
    names = [*found.names][: top or TABLE_LINES]
    means, sds = found.mean()[: len(names)], np.sqrt(found.variance())[: len(names)]
    columns = [TableColumn("number", names), TableColumn("mean", means.tolist(), ".6g")]
    columns.append(TableColumn("sd", sds.tolist(), ".4g"))
    correlations = found.correlation()[: len(names), : len(names)]
    columns += [TableColumn(f"r with {name}", correlations[:, j].tolist(), ".3f") for j, name in enumerate(names)]
    return [Paragraph(f"{len(found.names)} numbers together", "title"), GAP, Table(columns)]


def identification_content(found: Identification) -> list[Content]:
    """The formula, and why it holds or why there is none."""
    title = f"Effect of {', '.join(found.causes)} on {', '.join(found.outcomes)}"
    if not found.identifiable:
        return [Paragraph(title, "title"), Paragraph(repr(found))]
    return [Paragraph(title, "title"), Paragraph(found.formula), Paragraph(found.reason, "note")]


def node_content(node: Any, top: int | None = None) -> list[Content]:
    """A node's distribution, as it was given: a row for each parameter, or for each of its entries.

    >>> from credo import nodes
    >>> [each.cells for each in node_content(nodes.NoisyOr({"Flu": 0.8, "Cold": 0.4}, leak=0.01))[1].columns]
    [['causes', 'causes', 'leak'], ['Flu', 'Cold', ''], ['0.8', '0.4', '0.01']]
    """
    rows = [row for each in fields(node) for row in _entries(each.name, getattr(node, each.name))][: top or TABLE_LINES]
    columns = [TableColumn(title, [row[j] for row in rows]) for j, title in enumerate(("parameter", "of", "value"))]
    return [Paragraph(type(node).__name__, "title"), Table(columns)]


def _entries(name: str, value: Any) -> list[tuple[str, str, str]]:
    if value is None or (isinstance(value, Sized) and not len(value)):
        return []
    if isinstance(value, Mapping):
        return [(name, _cell(key), _cell(each)) for key, each in value.items()]
    return [(name, "", _cell(value))]


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_cell, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
