"""XDSL, the XML format of GeNIe and SMILE: tables run over the parents in order, the own states fastest.

A variable's name is its id; the display name of GeNIe isn't read.
"""

from __future__ import annotations

from html import escape

from credo.formats.deterministic import certain_rows
from credo.formats.draft import Draft, DraftNode
from credo.formats.names import IDENTIFIER, REMARK, cut, labels_of
from credo.formats.noisy_max import noisy_columns, read_noisy
from credo.formats.safe_xml import Element, Markup
from credo.networks.network import Network
from credo.numerics.exact import Array

CHANCE = {"cpt", "deterministic", "noisymax"}
DECISIONS = {"decision", "utility", "mau"}
OTHER_KINDS = {"noisyadder", "equation"}
KNOWN_TAGS = {"nodes", "state", "parents", "probabilities", "resultingstates", "property", "dynamic", "strengths",
         "parameters"}  # fmt: skip
KNOWN_TAGS |= CHANCE | OTHER_KINDS | DECISIONS | {"utilities", "weights"}
NOT_IN_XML = {chr(code) for code in (*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF)}  # characters


def read(text: str, file: str) -> Network:
    markup = Markup(text, file, "smile", KNOWN_TAGS)
    draft = Draft(file, markup.fault)
    nodes = nodes_of(markup)
    for element in nodes.children:
        draft.add(node_of(element, markup))
    for element in nodes.children:
        define(draft, element, markup)
    return draft.network()


def nodes_of(markup: Markup) -> Element:
    nodes = markup.root.first("nodes")
    if nodes is None:
        raise markup.fault(markup.root.at, "expected <nodes> in this <smile>")
    if dynamic := markup.root.first("dynamic"):
        raise markup.fault(dynamic.at, "dynamic networks aren't read")
    if nodes.unknown:
        raise markup.fault(nodes.at, f"there is a node of an unknown kind, {cut(nodes.unknown)!r}")
    return nodes


def keeps(network: Network, name: str) -> bool:
    """Whether a distribution that isn't a table can be written in this format."""
    return noisy_columns(network, name) is not None


def write(network: Network) -> str:
    labels = labels_of(network, IDENTIFIER, IDENTIFIER, order=network.order)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<smile version="1.0" id="unknown">', "\t<nodes>"]
    for name in network.order:  # parents must come first
        noisy = noisy_columns(network, name) if name in network.forms else None
        kind = "cpt" if noisy is None else "noisymax"
        lines.append(f'\t\t<{kind} id="{labels.names[name]}">')
        lines += [f'\t\t\t<state id="{state}" />' for state in labels.states[name]]
        if network.parents[name]:
            lines.append(f"\t\t\t<parents>{' '.join(labels.names[p] for p in network.parents[name])}</parents>")
        if noisy is None:
            lines.append(f"\t\t\t<probabilities>{_numbers(network.tables[name])}</probabilities>")
        else:
            lines.append(f"\t\t\t<strengths>{' '.join(map(str, noisy[0]))}</strengths>")
            lines.append(f"\t\t\t<parameters>{_numbers(noisy[1])}</parameters>")
        if labels.remarks[name]:
            lines.append(f'\t\t\t<property id="credo">{escape(labels.remarks[name], quote=False)}</property>')
        lines.append(f"\t\t</{kind}>")
    lines += ["\t</nodes>", "\t<extensions>", '\t\t<genie version="1.0" app="credo" name="unknown">']
    for name in network.order:
        shown = escape("".join("_" if sign in NOT_IN_XML else sign for sign in name), quote=False)
        lines.append(f'\t\t\t<node id="{labels.names[name]}"><name>{shown}</name></node>')
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>", ""])


def _numbers(table: Array) -> str:
    return " ".join(map(repr, table.ravel().tolist()))


def node_of(element: Element, markup: Markup) -> DraftNode:
    name = element.attributes.get("id", "")
    if element.tag in DECISIONS:
        what = f"the node {cut(name)!r} is of the kind {element.tag!r}, which networks don't have"
        raise markup.fault(element.at, f"{what}: credo.InfluenceDiagram.read reads it")
    if element.tag in OTHER_KINDS:
        known = ", ".join(sorted(CHANCE))
        raise markup.fault(element.at, f"the node {cut(name)!r} is of the kind {element.tag!r}; only {known} are read")
    if element.tag not in CHANCE or not name:
        raise markup.fault(element.at, f"expected a cpt with an id, but found {element.tag!r}")
    return named_node(element)


def named_node(element: Element) -> DraftNode:
    """A variable's name and states."""
    name = element.attributes.get("id", "")
    remark = next((text for text in element.texts("property") if text.startswith(REMARK)), "")
    states = tuple(state.attributes.get("id", "") for state in element.all("state"))
    return DraftNode(name, states, element.at, remark=remark)


def define(draft: Draft, element: Element, markup: Markup) -> None:
    node = draft.nodes[element.attributes["id"]]
    node.parents = tuple(" ".join(element.texts("parents")).split())
    if element.tag == "noisymax":
        parameters = element.first("parameters")
        if parameters is None:
            raise markup.fault(element.at, f"the noisy-MAX {cut(node.name)!r} has no parameters")
        read_noisy(draft, node, " ".join(element.texts("strengths")).split(), markup.numbers(parameters))
    elif table := element.first("probabilities"):
        node.table = markup.numbers(table)
    elif results := element.first("resultingstates"):
        certain_rows(draft, node, results.text.split())
