"""Causal graphs and effects, as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import counted
from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import REPR_LINES
from credo.present.plain_text import table_lines

if TYPE_CHECKING:
    from credo.networks.causes.causal_graph import CausalGraph
    from credo.networks.causes.effect import Effect
    from credo.networks.hybrid.effects import NumberEffect


def graph_lines(graph: CausalGraph) -> list[str]:
    """A line for each variable, its causes before it; hidden common causes as arrows with two heads."""
    pairs = [tuple(sorted(pair)) for pair in graph.projection.confounded]
    above = graph.projection.parents
    lines = [f"  {', '.join(own)} -> {name}" if own else f"  {name}" for name, own in above.items()]
    return [*lines, *(f"  {a} <-> {b}" for a, b in sorted(pairs))]


def graph_described(graph: CausalGraph) -> str:
    """
    >>> from credo.networks.causes.causal_graph import CausalGraph
    >>> CausalGraph("Gender -> Drug, Recovery; Drug -> Recovery", hidden="Gender")
    Causal graph of 2 observed variables; hidden: Gender
      Drug
      Drug -> Recovery
      Drug <-> Recovery
    """
    hidden = f"; hidden: {', '.join(graph.hidden)}" if graph.hidden else ""
    lines = graph_lines(graph)
    more = [f"  ... and {counted(len(lines) - REPR_LINES, 'more line')}"] if len(lines) > REPR_LINES + 1 else []
    title = f"Causal graph of {counted(len(graph.observed), 'observed variable')}{hidden}"
    return "\n".join([title, *(lines[:REPR_LINES] if more else lines), *more])


def graph_content(graph: CausalGraph, top: int | None = None) -> list[Content]:
    title, *lines = graph_described(graph).split("\n")
    return [Paragraph(title, "title"), Paragraph("\n".join(lines[:top] if top else lines), "lines")]


def effect_described(effect: Effect) -> str:
    """The estimand, its justification, and the probabilities under intervention and observation."""
    found = effect.identification
    about = [found.formula, f"  {found.reason}", *_among(effect)]
    return "\n".join([*about, "", *table_lines(effect_table(effect))])


def _among(effect: Effect | NumberEffect) -> list[str]:
    """The states in the evidence."""
    told = ", ".join(f"{name}={value}" for name, value in effect.given.items())
    return [f"  among {told}"] if told else []


def effect_table(effect: Effect) -> Table:
    """A row for each intervention and state of the outcome; only one of two states."""
    found = effect.identification
    cells = [(i, k) for i in range(len(effect.cause_states)) for k in effect.shown_states]
    causes = [_parts(effect.cause_states[i], len(found.causes)) for i, _ in cells]
    outcomes = [_parts(effect.outcome_states[k], len(found.outcomes)) for _, k in cells]
    columns = [TableColumn(f"do({name})", [each[j] for each in causes]) for j, name in enumerate(found.causes)]
    columns += [TableColumn(name, [each[j] for each in outcomes]) for j, name in enumerate(found.outcomes)]
    columns.append(TableColumn("P", [float(effect.table[i, k]) for i, k in cells], ".4f"))
    drawing = None
    if effect.draws is not None:
        low, high = np.quantile(effect.draws, [0.025, 0.975], axis=0)
        ends = [(float(low[i, k]), float(high[i, k])) for i, k in cells]
        columns.append(TableColumn("95% interval", ends, ".4f"))
        drawing = Drawing("intervals", [(float(effect.table[i, k]), *ends[n]) for n, (i, k) in enumerate(cells)])
    columns.append(TableColumn("P when seen", [_finite(effect.seen[i, k]) for i, k in cells], ".4f"))
    return Table(columns, drawing)


def _parts(state: object, count: int) -> list[str]:
    return [str(state)] if count == 1 else [*map(str, state)]  # type: ignore[call-overload]


def _finite(p: float) -> float | None:
    return None if np.isnan(p) else float(p)


def effect_content(effect: Effect) -> list[Content]:
    found = effect.identification
    title = f"Effect of {', '.join(found.causes)} on {', '.join(found.outcomes)}"
    about = [Paragraph(found.formula), Paragraph(found.reason, "note"), *map(Paragraph, _among(effect))]
    return [Paragraph(title, "title"), *about, GAP, effect_table(effect)]


def number_effect_described(effect: NumberEffect) -> str:
    """The justification, and the outcome's mean and spread under intervention and observation."""
    (cause,), (outcome,) = effect.identification.causes, effect.identification.outcomes
    about = [f"p({outcome} | do({cause}))", f"  {effect.identification.reason}", *_among(effect)]
    return "\n".join([*about, "", *table_lines(number_effect_table(effect))])


def number_effect_table(effect: NumberEffect) -> Table:
    """A row for each intervention."""
    (cause,), (outcome,) = effect.identification.causes, effect.identification.outcomes
    ends = [(float(low), float(high)) for low, high in (each.interval(0.95) for each in effect.done)]
    columns = [
        TableColumn(f"do({cause})", [*map(str, effect.cause_states)]),
        TableColumn(f"mean of {outcome}", [float(each.mean()) for each in effect.done], ".5g"),
        TableColumn("sd", [each.sd for each in effect.done], ".4g"),
        TableColumn("95% of values", ends, ".5g"),
        TableColumn("mean when seen", [None if each is None else float(each.mean()) for each in effect.seen], ".5g"),
    ]
    return Table(columns, None)


def number_effect_content(effect: NumberEffect) -> list[Content]:
    (cause,), (outcome,) = effect.identification.causes, effect.identification.outcomes
    about = [Paragraph(effect.identification.reason, "note"), *map(Paragraph, _among(effect))]
    return [Paragraph(f"Effect of {cause} on {outcome}", "title"), *about, GAP, number_effect_table(effect)]
