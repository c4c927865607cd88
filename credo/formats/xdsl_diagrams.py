"""Influence diagrams in XDSL: decisions have states and parents, utilities a number for each state of their parents.

A node of the kind `mau` is a weighted sum of utilities: the weights are multiplied into these, since utilities add.
"""

from __future__ import annotations

from html import escape

import numpy as np

from credo.errors import NetworkError
from credo.formats.draft import Draft
from credo.formats.names import IDENTIFIER, cleaned, cut, labels_of
from credo.formats.safe_xml import Element, Markup
from credo.formats.xdsl import KNOWN_TAGS, define, named_node, node_of, nodes_of
from credo.networks.decisions.influence_diagram import InfluenceDiagram
from credo.numerics.exact import Array


def read(text: str, file: str) -> InfluenceDiagram:
    markup = Markup(text, file, "smile", KNOWN_TAGS)
    draft = Draft(file, markup.fault)
    by_kind: dict[str, list[Element]] = {"decision": [], "utility": [], "mau": [], "chance": []}
    for element in nodes_of(markup).children:
        by_kind[element.tag if element.tag in by_kind else "chance"].append(element)
    if not by_kind["utility"]:
        raise NetworkError(f"{file} has no utilities: a network is read by credo.Network.read")
    for element in by_kind["chance"]:
        draft.add(node_of(element, markup))
    for element in by_kind["decision"]:
        node = draft.add(named_node(element))
        node.table = np.full(len(node.states), 1.0 / len(node.states))  # uniform until a policy is followed
    for element in by_kind["chance"]:
        define(draft, element, markup)
    net = draft.network()
    names = {name: node.name if node.true.name is None else node.true.name for name, node in draft.nodes.items()}
    parents = dict(net.parents)
    utilities = _utilities(by_kind["utility"], by_kind["mau"], markup)
    for element in (*by_kind["decision"], *by_kind["utility"]):
        above = [draft.named(parent, element.at).name for parent in _parents(element)]
        own = element.attributes["id"]
        parents[names.get(own, own)] = tuple(names[each] for each in above)
    decisions = [names[element.attributes["id"]] for element in by_kind["decision"]]
    tables = {name: table for name, table in net.tables.items() if name not in decisions}
    try:
        return InfluenceDiagram(parents, tables, utilities, decisions, net.states)
    except NetworkError as error:
        raise NetworkError(f"{file}: {error!s:.300}") from None


def _parents(element: Element) -> list[str]:
    return " ".join(element.texts("parents")).split()


def _utilities(utilities: list[Element], sums: list[Element], markup: Markup) -> dict[str, Array]:
    """The numbers of each utility, times its weight in the sums."""
    weights = {element.attributes.get("id", ""): 1.0 for element in (*utilities, *sums)}
    if sums:
        inner = {name for element in sums for name in _parents(element)}
        weights = {name: 0.0 if name in inner else 1.0 for name in weights}
        for element in reversed(sums):  # a sum of sums comes after its terms
            own, each = weights[element.attributes.get("id", "")], _parents(element)
            numbers = element.first("weights")
            shares = np.ones(len(each)) if numbers is None else markup.numbers(numbers)
            if len(shares) != len(each) or any(name not in weights for name in each):
                raise markup.fault(element.at, "expected a weight for each utility that this node sums up")
            for name, share in zip(each, shares.tolist(), strict=True):
                weights[name] += own * share
    found: dict[str, Array] = {}
    for element in utilities:
        name, numbers = element.attributes.get("id", ""), element.first("utilities")
        if not name or numbers is None:
            raise markup.fault(element.at, f"expected an id and <utilities> in the utility {cut(name)!r}")
        if name in found:
            raise markup.fault(element.at, f"{cut(name)!r} is declared twice")
        found[name] = markup.numbers(numbers) * weights[name]
    return found


def write(diagram: InfluenceDiagram) -> str:
    """The file's text. Names and states that GeNIe can't represent are written as identifiers; remarks keep the
    variables' originals."""
    labels = labels_of(diagram.network, IDENTIFIER, IDENTIFIER, order=diagram.network.order)
    names = {**labels.names, **cleaned(tuple(diagram.utilities), IDENTIFIER, "u")}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<smile version="1.0" id="unknown">', "\t<nodes>"]
    for name in diagram.network.order:
        tag = "decision" if name in diagram.decisions else "cpt"
        lines.append(f'\t\t<{tag} id="{names[name]}">')
        lines += [f'\t\t\t<state id="{state}" />' for state in labels.states[name]]
        lines += _written_parents(diagram, name, names)
        if tag == "cpt":
            numbers = " ".join(map(repr, diagram.tables[name].ravel().tolist()))
            lines.append(f"\t\t\t<probabilities>{numbers}</probabilities>")
        if labels.remarks[name]:
            lines.append(f'\t\t\t<property id="credo">{escape(labels.remarks[name], quote=False)}</property>')
        lines.append(f"\t\t</{tag}>")
    for name, table in diagram.utilities.items():
        numbers = " ".join(map(repr, table.ravel().tolist()))
        own = [*_written_parents(diagram, name, names), f"\t\t\t<utilities>{numbers}</utilities>"]
        lines += [f'\t\t<utility id="{names[name]}">', *own, "\t\t</utility>"]
    lines += ["\t</nodes>", "\t<extensions>", '\t\t<genie version="1.0" app="credo" name="unknown">']
    lines += [f'\t\t\t<node id="{names[name]}"><name>{escape(name, quote=False)}</name></node>' for name in names]
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>", ""])


def _written_parents(diagram: InfluenceDiagram, name: str, names: dict[str, str]) -> list[str]:
    above = diagram.parents[name]
    return [f"\t\t\t<parents>{' '.join(names[parent] for parent in above)}</parents>"] if above else []
