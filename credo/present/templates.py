"""Dynamic networks: the arrows of a slice, and the tables of the first slice and of later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.errors import counted
from credo.present.content import Content, Paragraph
from credo.present.limits import REPR_CHARACTERS
from credo.present.networks import SMALL_NETWORK, arrow_lines, cpt_lines
from credo.present.numbers import count_of

if TYPE_CHECKING:
    from credo.networks.templates.dynamic_network import DynamicNetwork
    from credo.networks.templates.plate_network import PlateNetwork


def described(net: DynamicNetwork) -> str:
    """Arrows, and the tables of a small network.

    >>> from credo import DynamicNetwork
    >>> print(DynamicNetwork("previous(Rain) -> Rain", {"Rain": {"yes": 0.7, "no": 0.3}}, first={"Rain": 0.5}))
    DynamicNetwork of 1 variable a slice; the interface: Rain
      previous(Rain) -> Rain
    <BLANKLINE>
    P(Rain) in the first slice
      yes  0.5
      no   0.5
    <BLANKLINE>
    P(Rain | previous(Rain))
      previous(Rain)   yes   no
      yes              0.7  0.3
      no               0.3  0.7
    """
    return "\n".join(
        line if len(line) <= REPR_CHARACTERS else f"{line[: REPR_CHARACTERS - 1]}…"
        for line in [*_arrows(net), *_tables(net)]
    )


def template_content(net: DynamicNetwork) -> list[Content]:
    """The contents of a dynamic network."""
    return [Paragraph("\n".join([*_arrows(net), *_tables(net)]), "lines")]


def template_lines(net: DynamicNetwork) -> list[str]:
    """The arrows, as one text, and then each table."""
    arrows, *tables = "\n".join([*_arrows(net), *_tables(net)]).split("\n\n")
    return [arrows, *tables]


def described_plates(net: PlateNetwork) -> str:
    """Plates, arrows, and the tables of a small network."""
    plates = ", ".join(dict.fromkeys(name.partition(".")[0] for name in net.parents))
    lines = arrow_lines(f"PlateNetwork of {counted(len(net.parents), 'variable')}; plates: {plates}", net.parents)
    if net.evidence is not None and net.history:
        lines.append(f"fitted by EM: {count_of(len(net.history) - 1, 'step')}")
    for name, above in net.parents.items() if net.tables and len(net.parents) <= SMALL_NETWORK else ():
        lines += ["", *cpt_lines(name, above, net.states, net.tables[name])]
    return "\n".join(line if len(line) <= REPR_CHARACTERS else f"{line[: REPR_CHARACTERS - 1]}…" for line in lines)


def plates_content(net: PlateNetwork) -> list[Content]:
    return [Paragraph(described_plates(net), "lines")]


def _arrows(net: DynamicNetwork) -> list[str]:
    through = ", ".join(net.interface) or "none"
    title = f"DynamicNetwork of {counted(len(net.parents), 'variable')} a slice; the interface: {through}"
    lines = arrow_lines(title, net.parents)
    if net.evidence is not None:
        how = f", fitted by EM: {count_of(len(net.history) - 1, 'step')}" if net.history else ""
        lines.append(f"learned from {count_of(round(net.n, 6), 'row')}{how}")
    return lines


def _tables(net: DynamicNetwork) -> list[str]:
    from credo.networks.templates import slices

    if not net.tables:
        return ["", "without tables"]
    if len(net.parents) > SMALL_NETWORK:
        return []
    states = {**net.states, **{slices.previous(name): own for name, own in net.states.items()}}
    lines, inside = list[str](), slices.within(net.parents)
    for name, above in net.parents.items():
        if name in net.first:
            title, *rest = cpt_lines(name, inside[name], states, net.first[name])
            lines += ["", f"{title} in the first slice", *rest]
        lines += ["", *cpt_lines(name, above, states, net.tables[name])]
    return lines
