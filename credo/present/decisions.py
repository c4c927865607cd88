"""Influence diagrams and policies, as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.errors import counted
from credo.networks.inference.conflict import said
from credo.present.content import GAP, Content, Paragraph, Table, TableColumn
from credo.present.limits import REPR_LINES
from credo.present.numbers import number_form
from credo.present.plain_text import table_lines

if TYPE_CHECKING:
    from credo.networks.decisions.influence_diagram import InfluenceDiagram
    from credo.networks.decisions.information import InformationValues
    from credo.networks.decisions.policy import DecisionTable, Policy
    from credo.networks.information import InformationGains


def diagram_described(diagram: InfluenceDiagram) -> str:
    """
    >>> from credo.networks.decisions.influence_diagram import InfluenceDiagram
    >>> InfluenceDiagram("Rain, Umbrella -> Comfort", {"Rain": 0.3}, {"Comfort": [[7, 0], [2, 10]]}, ["Umbrella"])
    Influence diagram of 1 chance variable, 1 decision and 1 utility
      chance    Rain
      decision  Umbrella (yes, no)
      utility   Rain, Umbrella -> Comfort
    """
    kinds = [
        counted(len(diagram.chance), "chance variable"),
        counted(len(diagram.decisions), "decision"),
        "1 utility" if len(diagram.utilities) == 1 else f"{len(diagram.utilities)} utilities",
    ]
    lines = [f"  chance    {_node(diagram, name)}" for name in diagram.chance]
    options = {name: ", ".join(map(str, diagram.states[name])) for name in diagram.decisions}
    lines += [f"  decision  {_node(diagram, name)} ({options[name]})" for name in diagram.decisions]
    lines += [f"  utility   {_node(diagram, name)}" for name in diagram.utilities]
    more = [f"  ... and {counted(len(lines) - REPR_LINES, 'more line')}"] if len(lines) > REPR_LINES + 1 else []
    title = f"Influence diagram of {kinds[0]}, {kinds[1]} and {kinds[2]}"
    return "\n".join([title, *(lines[:REPR_LINES] if more else lines), *more])


def _node(diagram: InfluenceDiagram, name: str) -> str:
    above = ", ".join(diagram.parents[name])
    return f"{above} -> {name}" if above else name


def diagram_content(diagram: InfluenceDiagram, top: int | None = None) -> list[Content]:
    """The nodes, and the best policy."""
    title, *lines = diagram_described(diagram).split("\n")
    about: list[Content] = [Paragraph(title, "title"), Paragraph("\n".join(lines), "lines"), GAP]
    return [*about, *policy_content(diagram.policy(), top)]


def decision_table(table: DecisionTable, top: int | None = None) -> Table:
    """A row for each information state: the best option, and each option's expected utility."""
    rows = [*table.rows()][:top]
    form = number_form([u for _, _, utilities in rows for u in utilities])
    columns = [TableColumn(name, [str(states[i]) for states, _, _ in rows]) for i, name in enumerate(table.known)]
    columns.append(TableColumn(table.name, [str(choice) for _, choice, _ in rows]))
    for k, option in enumerate(table.options):
        columns.append(TableColumn(f"utility if {option}", [float(each[k]) for _, _, each in rows], form))
    return Table(columns)


def decision_title(table: DecisionTable) -> str:
    given = f", given {', '.join(table.known)}" if table.known else ""
    return f"{table.name}{given}"


def decision_described(table: DecisionTable) -> str:
    rows = sum(1 for _ in table.rows())
    more = [f"  ... and {counted(rows - REPR_LINES, 'more row')}"] if rows > REPR_LINES + 1 else []
    other = [f"  makes no difference: {', '.join(table.irrelevant)}"] if table.irrelevant else []
    lines = table_lines(decision_table(table, REPR_LINES if more else None))
    return "\n".join([decision_title(table), *lines, *more, *other])


def policy_title(policy: Policy) -> str:
    given = ", ".join(f"{name}={said(value)}" for name, value in policy.given.items() if value is not None)
    return f"Expected utility {policy.expected_utility:.6g}{f' given {given}' if given else ''}"


def policy_described(policy: Policy) -> str:
    """The expected utility, and the best option at each decision."""
    return "\n\n".join([policy_title(policy), *(decision_described(table) for table in policy.decisions)])


def policy_content(policy: Policy, top: int | None = None) -> list[Content]:
    found: list[Content] = [Paragraph(policy_title(policy), "title")]
    for table in policy.decisions:
        found += [GAP, Paragraph(decision_title(table), "step"), decision_table(table, top)]
    return found


def decision_content(table: DecisionTable, top: int | None = None) -> list[Content]:
    return [Paragraph(decision_title(table), "title"), decision_table(table, top)]


def questions_table(found: InformationValues) -> Table:
    each = found.questions
    form = number_form([x for one in each for x in (one.value, one.cost)])
    return Table(
        [
            TableColumn("ask", [one.name for one in each]),
            TableColumn("value", [one.value for one in each], form),
            TableColumn("cost", [one.cost for one in each], form),
            TableColumn("worth", [one.worth for one in each], form),
        ]
    )


def questions_described(found: InformationValues) -> str:
    best = f"ask about {found.best.name}" if found.best else "nothing is worth asking"
    return "\n".join([f"Before {found.before}: {best}", *table_lines(questions_table(found))])


def gains_table(found: InformationGains) -> Table:
    each = found.questions[:REPR_LINES]
    return Table(
        [
            TableColumn("ask", [one.name for one in each]),
            TableColumn("nats gained", [one.gain for one in each], ".4f"),
            TableColumn("cost", [one.cost for one in each], ".4g"),
            TableColumn("worth", [one.worth for one in each], ".4f"),
        ]
    )


def gains_title(found: InformationGains) -> str:
    best = f"ask about {found.best.name}" if found.best else "nothing is worth asking"
    return f"About {found.target}, entropy {found.entropy:.4f} nats: {best}"


def gains_described(found: InformationGains) -> str:
    return "\n".join([gains_title(found), *table_lines(gains_table(found))])


def gains_content(found: InformationGains) -> list[Content]:
    return [Paragraph(gains_title(found), "title"), gains_table(found)]


def questions_content(found: InformationValues) -> list[Content]:
    return [Paragraph(questions_described(found).split("\n")[0], "title"), questions_table(found)]
