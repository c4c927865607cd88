"""DSL, the older text format of GeNIe and SMILE.

net Fires { node Fire { TYPE = CPT; PARENTS = (Storm);
    DEFINITION = { NAMESTATES = (yes, no); PROBABILITIES = (0.25, 0.75, 0.01, 0.99); }; }; };
"""

from __future__ import annotations

import re

from credo.formats.bif import COMMENT
from credo.formats.deterministic import certain_rows
from credo.formats.draft import Draft, DraftNode
from credo.formats.names import IDENTIFIER, cut, labels_of, quoted, unquoted
from credo.formats.scanner import Scanner, shown, tokens_of
from credo.networks.network import Network

SIGNS = frozenset("(){};=")
SKIPPED = rf"[\s,]++|{COMMENT}|/\#.*?(?:\#/|\Z)"  # nested /# comments #/ are not supported
TOKENS = tokens_of(SKIPPED, r"[(){};=]", r'(?:[^\s,(){};="/]++|/(?![/*#]))++')
PLAIN_STATE = re.compile(r"[A-Za-z0-9_]+")
DEEPEST_BLOCK = 100  # levels of nested blocks

Fields = dict[str, tuple[list[str], int]]  # by path, as HEADER.NAME: the words after the =, and the index of the first


def read(text: str, file: str) -> Network:
    scanner = Scanner(text, file, TOKENS)
    draft = Draft(file, scanner.fault)
    scanner.expect("net", " at the start")
    scanner.word("the net's name", SIGNS)
    scanner.expect("{")
    fields: list[Fields] = []
    while (word := scanner.take()) != "}":
        if word == "node":
            fields.append(_node(draft, scanner))
        elif not word:
            raise scanner.fault(scanner.at, "expected '}' at the net's end")
        elif word != ";":
            _skip(scanner)
    for node, given in zip(list(draft.nodes.values()), fields, strict=True):
        _define(draft, node, given, scanner)
    return draft.network()


def write(network: Network) -> str:
    labels = labels_of(network, IDENTIFIER, PLAIN_STATE, order=network.order)
    blocks = []
    for name in network.order:  # parents must come first
        remark = labels.remarks[name]
        kept = f"\t\tUSER_PROPERTIES =\n\t\t{{\n\t\t\tcredo = {quoted(remark)};\n\t\t}};\n" if remark else ""
        parents = ", ".join(labels.names[parent] for parent in network.parents[name])
        numbers = ", ".join(map(repr, network.tables[name].ravel().tolist()))
        blocks.append(
            f"\tnode {labels.names[name]}\n\t{{\n\t\tTYPE = CPT;\n"
            f"\t\tHEADER =\n\t\t{{\n\t\t\tID = {labels.names[name]};\n\t\t\tNAME = {quoted(name)};\n\t\t}};\n{kept}"
            f"\t\tPARENTS = ({parents});\n"
            f"\t\tDEFINITION =\n\t\t{{\n\t\t\tNAMESTATES = ({', '.join(labels.states[name])});\n"
            f"\t\t\tPROBABILITIES = ({numbers});\n\t\t}};\n\t}};\n"
        )
    return "net unknown\n{\n" + "\n".join(blocks) + "};\n"


def _node(draft: Draft, scanner: Scanner) -> Fields:
    at = scanner.at
    name = scanner.word("a node's name", SIGNS)
    fields = _fields(scanner)
    kind = " ".join(fields.get("TYPE", (["CPT"], 0))[0])
    if kind not in {"CPT", "TRUTHTABLE"}:
        raise scanner.fault(
            at, f"the node {cut(name)!r} is of the type {cut(kind)!r}; only CPT and TRUTHTABLE are read"
        )
    remark = unquoted(" ".join(fields["USER_PROPERTIES.credo"][0])) if "USER_PROPERTIES.credo" in fields else ""
    draft.add(DraftNode(name, tuple(_list(fields, "DEFINITION.NAMESTATES")), at, remark=remark))
    return fields


def _fields(scanner: Scanner) -> Fields:
    """The fields of a block and of its nested blocks."""
    scanner.expect("{")
    found: Fields = {}
    path: list[str] = []
    while True:
        at = scanner.at
        key = scanner.take()
        if key == "}" and not path:
            return found
        if key == "}":
            path.pop()
        elif key in SIGNS - {";"} or not key or len(path) > DEEPEST_BLOCK:
            raise scanner.fault(at, f"expected a field or '}}', but found {shown(key)}")
        elif key != ";":
            scanner.expect("=", f" after {cut(key)!r}")
            start = scanner.at
            if scanner.peek() == "{":
                scanner.take()
                path.append(key)
            else:
                found[".".join([*path, key])] = scanner.until(";"), start


def _skip(scanner: Scanner) -> None:
    """Skip a field of the net, or a block in it."""
    depth = 0
    while depth <= DEEPEST_BLOCK:
        at = scanner.at
        word = scanner.skip_to({";", "{", "}"})
        depth += (word == "{") - (word == "}")
        if depth < 0:
            raise scanner.fault(at, "expected ';' before this '}'")
        if depth == 0:
            return
    raise scanner.fault(at, f"blocks are nested more than {DEEPEST_BLOCK} deep")


def _list(fields: Fields, key: str) -> list[str]:
    return [unquoted(word) for word in fields.get(key, ([], 0))[0] if word not in "()"]


def _define(draft: Draft, node: DraftNode, fields: Fields, scanner: Scanner) -> None:
    node.parents = tuple(_list(fields, "PARENTS"))
    if "DEFINITION.PROBABILITIES" in fields:
        words, start = fields["DEFINITION.PROBABILITIES"]
        node.table = scanner.numbers(words, start.__add__, around="()")
    elif "DEFINITION.RESULTINGSTATES" in fields:
        certain_rows(draft, node, _list(fields, "DEFINITION.RESULTINGSTATES"))
