"""XMLBIF 0.3: variables and definitions, whose tables run over the GIVENs and then the FOR, the last index changing
fastest."""

from __future__ import annotations

import re
from html import escape

from credo.formats.draft import Draft, DraftNode
from credo.formats.names import REMARK, cut, labels_of
from credo.formats.safe_xml import Element, Markup
from credo.networks.network import Network

KNOWN_TAGS = {"NETWORK", "VARIABLE", "NAME", "OUTCOME", "VALUE", "PROPERTY"}
KNOWN_TAGS |= {"DEFINITION", "PROBABILITY", "FOR", "GIVEN", "TABLE"}
# What XML preserves: no control characters or surrogates, no whitespace that a reader strips.
VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]++"
PLAIN = re.compile(rf"{VISIBLE}(?: {VISIBLE})*")


def read(text: str, file: str) -> Network:
    markup = Markup(text, file, "BIF", KNOWN_TAGS)
    draft = Draft(file, markup.fault)
    top = markup.root.first("NETWORK")
    if top is None:
        raise markup.fault(markup.root.at, "expected a <NETWORK> in this <BIF>")
    for element in top.all("VARIABLE"):
        draft.add(_variable(element, markup))
    for element in top.all("DEFINITION", "PROBABILITY"):
        _define(draft, element, markup)
    return draft.network()


def write(network: Network) -> str:
    labels = labels_of(network, PLAIN, PLAIN)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    for name in network.variables:
        lines += ['<VARIABLE TYPE="nature">', _line("NAME", labels.names[name])]
        lines += [_line("OUTCOME", state) for state in labels.states[name]]
        if labels.remarks[name]:
            lines.append(_line("PROPERTY", labels.remarks[name]))
        lines.append("</VARIABLE>")
    for name, above in network.parents.items():
        lines += ["<DEFINITION>", _line("FOR", labels.names[name])]
        lines += [_line("GIVEN", labels.names[parent]) for parent in above]
        lines += [_line("TABLE", " ".join(map(repr, network.tables[name].ravel().tolist()))), "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _line(tag: str, text: str) -> str:
    return f"\t<{tag}>{escape(text, quote=False)}</{tag}>"


def _variable(element: Element, markup: Markup) -> DraftNode:
    name = element.first("NAME")
    if name is None:
        raise markup.fault(element.at, "expected a NAME in this VARIABLE")
    kind = element.attributes.get("TYPE", "nature")
    if kind != "nature":
        raise markup.fault(
            element.at, f"the variable {cut(name.text)!r} is of the type {cut(kind)!r}; only 'nature' is read"
        )
    remark = next((text for text in element.texts("PROPERTY") if text.startswith(REMARK)), "")
    return DraftNode(name.text, tuple(element.texts("OUTCOME", "VALUE")), element.at, remark=remark)


def _define(draft: Draft, element: Element, markup: Markup) -> None:
    names, table = element.texts("FOR"), element.first("TABLE")
    if len(names) != 1 or table is None:
        raise markup.fault(element.at, f"expected one FOR and a TABLE in this {element.tag}")
    node = draft.defined(names[0], element.texts("GIVEN"), table.at)
    node.table = markup.numbers(table)
