"""Hugin's NET language: nodes, and potentials with their numbers in nested parentheses.

node Fire { states = ("yes" "no"); }
    potential (Fire | Storm) { data = ((0.25 0.75) (0.01 0.99)); }

A row's numbers are weights: Hugin normalises them itself. The identifier is the name; labels are for display, and
aren't read.
"""

from __future__ import annotations

from collections.abc import Sequence

from credo.formats.draft import Draft, DraftNode
from credo.formats.names import ANY_NAME, IDENTIFIER, cut, labels_of, quoted, unquoted
from credo.formats.scanner import Scanner, shown, tokens_of
from credo.networks.network import Network

SIGNS = frozenset("(){}|;=:")
TOKENS = tokens_of(r"[\s,]++|%[^\n]*+", r"[(){}|;=:]", r'[^\s,(){}|;=:"%]++')
CHANCE = {"discrete", "chance"}
OTHER_KINDS = {"continuous", "decision", "utility", "function", "instance", "temporal"}

Attributes = dict[str, tuple[list[str], int]]  # the words after the =, and the index of the first


def read(text: str, file: str) -> Network:
    scanner = Scanner(text, file, TOKENS)
    draft = Draft(file, scanner.fault, weights=True)
    potentials = []
    inside = False  # a class, which may contain all
    while True:
        at = scanner.at
        match scanner.take():
            case "":
                break
            case "net":
                _attributes(scanner)
            case "class" if not inside:
                scanner.take()
                scanner.expect("{")
                inside = True
            case "}" if inside:
                inside = False
            case "node":
                draft.add(_node(scanner, at))
            case kind if kind in CHANCE:
                continue
            case kind if kind in OTHER_KINDS:
                raise scanner.fault(at, _refusal(scanner, kind))
            case "potential":
                potentials.append(_potential(scanner, at))
            case _ if scanner.peek() == "=":
                scanner.until(";")
            case word:
                raise scanner.fault(at, f"expected 'net', 'node' or 'potential', but found {shown(word)}")
    for name, parents, at, attributes in potentials:
        _define(draft.defined(name, parents, at), attributes, scanner)
    return draft.network()


def write(network: Network) -> str:
    labels = labels_of(network, IDENTIFIER, ANY_NAME)
    blocks = ["net\n{\n}"]
    for name in network.variables:
        states = " ".join(map(quoted, labels.states[name]))
        lines = [f"    label = {quoted(name)};", f"    states = ({states});"]
        if labels.remarks[name]:
            lines.append(f"    credo = {quoted(labels.remarks[name])};")
        blocks.append("\n".join([f"node {labels.names[name]}", "{", *lines, "}"]))
    for name, above in network.parents.items():
        given = " | " + " ".join(labels.names[parent] for parent in above) if above else ""
        data = _nested(network.tables[name].reshape(-1, len(network.states[name])).tolist(), network.tables[name].shape)
        blocks.append(f"potential ({labels.names[name]}{given})\n{{\n    data = {data};\n}}")
    return "\n\n".join(blocks) + "\n"


def _nested(rows: list[list[float]], shape: Sequence[int]) -> str:
    """Rows in parentheses, nested by parent.

    >>> _nested([[0.25, 0.75], [0.0, 1.0]], (2, 2))
    '((0.25 0.75)\\n\\t(0.0 1.0))'
    """
    texts = [f"({' '.join(map(repr, row))})" for row in rows]
    for length in reversed(shape[:-1]):
        texts = ["(" + "\n\t".join(texts[i : i + length]) + ")" for i in range(0, len(texts), length)]
    return texts[0]


def _attributes(scanner: Scanner) -> Attributes:
    scanner.expect("{")
    found: Attributes = {}
    while True:
        at = scanner.at
        key = scanner.take()
        if key == "}":
            return found
        if key in SIGNS or not key:
            raise scanner.fault(at, f"expected an attribute or '}}', but found {shown(key)}")
        scanner.expect("=", f" after {cut(key)!r}")
        start = scanner.at
        found[key] = scanner.until(";"), start


def _node(scanner: Scanner, at: int) -> DraftNode:
    name = scanner.word("a node's name", SIGNS)
    attributes = _attributes(scanner)
    words, _ = attributes.get("states") or attributes.get("state_values") or ([], 0)
    remark = unquoted("".join(attributes["credo"][0])) if "credo" in attributes else ""
    states = tuple(unquoted(word) for word in words if word not in SIGNS)
    return DraftNode(name, states, at, remark=remark)


def _refusal(scanner: Scanner, kind: str) -> str:
    while (name := scanner.take()) in {"node", *CHANCE, *OTHER_KINDS}:
        pass
    return f"the node {shown(name)} is of the kind {kind!r}; only discrete chance nodes are read"


def _potential(scanner: Scanner, at: int) -> tuple[str, list[str], int, Attributes]:
    scanner.expect("(", " after 'potential'")
    start = scanner.at
    words = scanner.until(")")
    child, bar, parents = words[:1], words[1:2], words[2:]
    if not child or bar not in ([], ["|"]) or any(word in SIGNS for word in (*child, *parents)):
        raise scanner.fault(start, "expected a name, or a name, '|' and its parents")
    return unquoted(child[0]), [unquoted(word) for word in parents], at, _attributes(scanner)


def _define(node: DraftNode, attributes: Attributes, scanner: Scanner) -> None:
    if "data" not in attributes:
        raise scanner.fault(node.at, f"the potential of {cut(node.name)!r} has no 'data', the only field that is read")
    words, start = attributes["data"]
    if words.count("(") != words.count(")"):
        raise scanner.fault(start, f"the parentheses in the data of {cut(node.name)!r} don't match")
    node.table = scanner.numbers(words, start.__add__, around="()")
