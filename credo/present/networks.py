"""Networks: arrows, states and tables, and the effect of findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import counted
from credo.present.content import GAP, TOP_HINT, Content, Paragraph, Table, TableColumn
from credo.present.limits import LIST_CHARACTERS, LISTING_LINES, REPR_CHARACTERS, REPR_LINES
from credo.present.numbers import count_of, listed

if TYPE_CHECKING:
    from credo.networks.explanation import QueryExplanation
    from credo.networks.network import Network
    from credo.networks.tables import States
    from credo.numerics.exact import Array

SMALL_NETWORK, SMALL_TABLE_ROWS = 12, 16  # networks whose tables are printed; rows of such a table


def headline(net: Network) -> str:
    arrows = sum(map(len, net.parents.values()))
    return f"Network of {counted(len(net.parents), 'variable')} and {counted(arrows, 'arrow')}"


def described(net: Network) -> str:
    """Arrows, and the tables of a small network.

    >>> from credo.networks.network import Network
    >>> print(Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}}))
    Network of 2 variables and 1 arrow
      Storm
      Storm -> Fire
    <BLANKLINE>
    P(Storm)
      yes  0.2
      no   0.8
    <BLANKLINE>
    P(Fire | Storm)
      Storm    yes    no
      yes     0.25  0.75
      no      0.01  0.99
    """
    return "\n".join(
        [
            *arrow_lines(headline(net), net.parents),
            *(line if len(line) <= REPR_CHARACTERS else f"{line[: REPR_CHARACTERS - 1]}…" for line in _tables(net)),
        ]
    )


def learned_from(net: Network) -> list[str]:
    """The rows and the prior behind the tables, and how they were fitted; nothing if they are fixed."""
    if net.evidence is None:
        return []
    lines = [f"learned from {count_of(net.n, 'row')}, {_prior_said(net)}"]
    if net.history:
        steps = count_of(len(net.history) - 1, "step")
        lines.append(
            f"fitted where cells are missing: {steps}, log-posterior {net.history[0]:.6g} to {net.history[-1]:.6g}"
        )
    return lines


def _prior_said(net: Network) -> str:
    """
    >>> from credo.networks.network import Network
    >>> _prior_said(Network("A -> B").fit({"A": ["x"], "B": ["u"]}))
    'prior Dirichlet(1)'
    """
    priors = [net.prior[node.label.name] for node in net.nodes.values()]
    first = priors[0]
    if any(prior != first for prior in priors):
        return "a prior for each table"
    if first is None:
        return "maximum likelihood"
    size = getattr(first, "sample_size", None)
    if size is not None:
        return f"prior BDeu({size:g})"
    return f"prior Dirichlet({first.concentration:g})" if not first.concentration.ndim else f"prior {first}"


def arrow_lines(title: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    """A title, and the arrows into each of the first variables."""
    lines = [f"  {', '.join(above)} -> {name}" if above else f"  {name}" for name, above in parents.items()]
    more = [f"  ... and {counted(len(lines) - REPR_LINES, 'more variable')}"] if len(lines) > REPR_LINES else []
    return [title, *lines[:REPR_LINES], *more]


def _tables(net: Network) -> list[str]:
    if not net.tables:
        return ["", "without tables"]
    names = [*net.parents] if len(net.parents) <= SMALL_NETWORK else []
    lines = list[str]()
    for name in names:
        form = type(net.forms[name]).__name__ if name in net.forms else ""
        said = net.distributions[name].said if form else {}
        if said:
            lines += ["", *_parameter_lines(f"P({name} | {', '.join(net.parents[name])}): {form}", said)]
            continue
        lines += ["", *row_lines(name, net.parents[name], net.states, *net.table_rows(name, SMALL_TABLE_ROWS), form)]
    return lines


def _parameter_lines(title: str, said: Mapping[str, object]) -> list[str]:
    """A title, and a line for each parameter.

    >>> _parameter_lines("P(y | a): NoisyOr", {"a": 0.8, "leak": 0.25})
    ['P(y | a): NoisyOr', '  a     0.8', '  leak  0.25']
    """
    longest = max(map(len, said))
    lines = [f"  {name:<{longest}}  {_number(value)}" for name, value in said.items()]
    more = [f"  ... ({len(lines)} parameters in all)"] if len(lines) > SMALL_TABLE_ROWS else []
    return [title, *lines[:SMALL_TABLE_ROWS], *more]


def _number(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{state}: {_number(each)}" for state, each in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def cpt_lines(name: str, above: Sequence[str], all_states: States, table: Array) -> list[str]:
    """A title, and a line for each row of a conditional probability table. (the parents' states..., own states)"""
    rows = table.reshape(-1, table.shape[-1])
    return row_lines(name, above, all_states, rows[:SMALL_TABLE_ROWS], len(rows), "")


def row_lines(name: str, above: Sequence[str], all_states: States, table: Array, count: int, form: str) -> list[str]:
    """The same from the first rows of a table with `count` rows, and the name of its form, if any."""
    states = all_states[name]
    title = f"P({name}{' | ' + ', '.join(above) if above else ''})"
    if form:
        title += f": {form}"
    if not above:
        longest = max(len(str(state)) for state in states)
        own = zip(states, table[0].tolist(), strict=True)
        return [title, *(f"  {state!s:<{longest}}  {p:.6g}" for state, p in own)]
    rows = [[*above, *map(str, states)]]
    configurations = product(*(map(str, all_states[parent]) for parent in above))
    for causes, shares in zip(configurations, table.tolist(), strict=False):
        rows.append([*causes, *(f"{p:.6g}" for p in shares)])
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = [title]
    for row in rows:
        left = [f"{cell:<{w}}" for cell, w in zip(row[: len(above)], widths, strict=False)]
        right = [f"{cell:>{w}}" for cell, w in zip(row[len(above) :], widths[len(above) :], strict=True)]
        lines.append(("  " + "  ".join([*left, " " + "  ".join(right)])).rstrip())
    return lines + ([f"  ... ({count} rows in all)"] if count > SMALL_TABLE_ROWS else [])


def network_content(net: Network, top: int | None = None) -> list[Content]:
    """Each variable's states and parents; the tables of a small network."""
    top = top or LISTING_LINES
    if len(net.parents) <= SMALL_NETWORK:
        learned = [GAP, Paragraph("\n".join(learned_from(net)), "note")] if net.evidence is not None else []
        return [
            Paragraph("\n".join(arrow_lines(headline(net), net.parents))),
            *learned,
            Paragraph("\n".join(_tables(net)), "lines"),
        ]
    names = [*net.parents][:top]
    states = [net.states.get(name, ()) for name in names]  # nothing without tables
    table = Table(
        [
            TableColumn("variable", names),
            TableColumn("states", [listed(each, len(each)) for each in states], longest=LIST_CHARACTERS, wraps=True),
            TableColumn(
                "parents", [", ".join(net.parents[name]) for name in names], longest=LIST_CHARACTERS, wraps=True
            ),
        ]
    )
    rest = [GAP, Paragraph(count_of(len(net.parents) - top, "more variable"), hint=TOP_HINT)]
    lines = [Paragraph(line, "note") for line in learned_from(net)]
    return [Paragraph(headline(net), "title"), *lines, GAP, table, *(rest if len(net.parents) > top else [])]


def explained(moved: QueryExplanation) -> str:
    """The findings as a table of text."""
    from credo.networks.inference.conflict import said

    set_to = ", ".join(f"{name} = {said(value)}" for name, value in moved.done.items())
    done = f" after do({set_to})" if set_to else ""
    lines = [f"{moved.name} = {moved.value}{done}: P = {moved.probability:.4g}, log-odds {moved.log_odds:+.3f}", ""]
    names = ["prior", *(f"{each.name} = {said(each.value)}" for each in moved.findings)]
    width = max(map(len, names))
    lines.append(f"{'':<{width}}  weight   alone  without it     P")
    p = 1.0 / (1.0 + np.exp(-moved.prior))
    lines.append(f"{'prior':<{width}}  {moved.prior:+6.3f}                      {p:.4g}")
    for name, each in zip(names[1:], moved.findings, strict=True):
        cells = f"{each.weight:+6.3f}  {each.alone:+6.3f}      {-each.missed:+6.3f}  {each.probability:.4g}"
        lines.append(f"{name:<{width}}  {cells}")
    return "\n".join(lines)
