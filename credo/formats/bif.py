"""BIF, the interchange format of 1998, as bnlearn, JavaBayes, aGrUM and pgmpy write it.

    variable Fire { type discrete [ 2 ] { yes, no }; }
    probability ( Fire | Storm ) { (yes) 0.25, 0.75; (no) 0.01, 0.99; }

Commas are spaces. A `table` runs over the variable's own states first and its parents' then, the last one fastest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, product
from math import prod

import numpy as np

from credo.errors import suggest
from credo.formats.draft import MOST_SUGGESTIONS, Draft, DraftNode
from credo.formats.names import REMARK, cut, labels_of, quoted, unquoted
from credo.formats.noisy_max import read_alone
from credo.formats.scanner import Scanner, shown, tokens_of
from credo.networks.network import Network
from credo.numerics.exact import Array

COMMENT = r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
SIGNS = frozenset("(){}[]|;")
TOKENS = tokens_of(rf"[\s,]++|{COMMENT}", r"[(){}\[\]|;]", r'(?:[^\s,(){}\[\]|;"/]++|/(?![/*]))++')
PLAIN = re.compile(r"(?:[\w.+\-<>=%*#!?@^~$&:]|/(?![/*]))+")  # names that need no quotes


@dataclass
class Definition:
    """A probability block, with numbers as written in the file."""

    name: str
    parents: Sequence[str]
    at: int
    table: tuple[Sequence[str], int] | None = None  # its words, and the index of the first
    default: tuple[Sequence[str], int] | None = None
    function: str = ""  # "max" for a noisy-MAX, which has only some of the rows
    rows: list[tuple[Sequence[str], Sequence[str], int]] = field(default_factory=list)  # parents' states, numbers, at


def read(text: str, file: str) -> Network:
    scanner = Scanner(text, file, TOKENS)
    draft = Draft(file, scanner.fault)
    definitions = []
    while True:
        at = scanner.at
        match scanner.take():
            case "network":
                _header(scanner)
            case "variable":
                draft.add(_variable(scanner, at))
            case "probability":
                definitions.append(_definition(scanner, at))
            case "":
                break
            case word:
                raise scanner.fault(at, f"expected 'network', 'variable' or 'probability', but found {shown(word)}")
    for definition in definitions:
        _define(draft, definition, scanner)
    return draft.network()


def write(network: Network) -> str:
    labels = labels_of(network, PLAIN, PLAIN)
    blocks = ["network unknown {\n}"]
    for name in network.variables:
        states = labels.states[name]
        remark = f"  property {quoted(labels.remarks[name])} ;\n" if labels.remarks[name] else ""
        kind = f"type discrete [ {len(states)} ] {{ {', '.join(states)} }};"
        blocks.append(f"variable {labels.names[name]} {{\n  {kind}\n{remark}}}")
    for name, above in network.parents.items():
        causes = ", ".join(labels.names[parent] for parent in above)
        rows = network.tables[name].reshape(-1, len(network.states[name])).tolist()
        heads = [f"({', '.join(key)})" for key in product(*(labels.states[p] for p in above))] if above else ["table"]
        lines = [f"  {head} {', '.join(map(repr, row))};" for head, row in zip(heads, rows, strict=True)]
        given = f" | {causes}" if above else ""
        blocks.append("\n".join([f"probability ( {labels.names[name]}{given} ) {{", *lines, "}"]))
    return "\n".join(blocks) + "\n"


def _header(scanner: Scanner) -> None:
    if scanner.peek() != "{":
        scanner.word("the network's name", SIGNS)
    scanner.expect("{")
    scanner.until("}")


def _variable(scanner: Scanner, at: int) -> DraftNode:
    name = scanner.word("a variable's name", SIGNS)
    scanner.expect("{", f" after the name {cut(name)!r}")
    states: list[str] = []
    remark = ""
    while True:
        place = scanner.at
        match scanner.take():
            case "type":
                states = _states(scanner, name)
            case "property":
                text, ended = _property(scanner)
                remark = text or remark
                if ended:
                    break
            case "}":
                break
            case ";":
                continue
            case word:
                raise scanner.fault(place, f"expected 'type', 'property' or '}}', but found {shown(word)}")
    return DraftNode(name, tuple(states), at, remark=remark)


def _states(scanner: Scanner, name: str) -> list[str]:
    at = scanner.at
    if (kind := scanner.take()) != "discrete":
        raise scanner.fault(at, f"{cut(name)!r} must be 'discrete', but is {shown(kind)}")
    at, promised = scanner.at, None
    if scanner.peek() == "[":
        scanner.take()
        promised = scanner.take()
        scanner.expect("]")
    scanner.expect("{", " before the states")
    start = scanner.at
    words = scanner.until("}")
    if (sign := next((word for word in words if word in SIGNS), None)) is not None:
        raise scanner.fault(start + words.index(sign), f"expected a state of {cut(name)!r}, but found {sign!r}")
    if promised is not None and promised != str(len(words)):
        raise scanner.fault(at, f"{cut(name)!r} should have {cut(promised)} states, but has {len(words)}")
    return [unquoted(word) for word in words]


def _property(scanner: Scanner) -> tuple[str, bool]:
    """credo's remark, if the property is one; and whether the block ended after it."""
    text = unquoted(scanner.peek())
    end = scanner.skip_to({";", "}"})
    return (text if text.startswith(REMARK) else ""), end == "}"


def _definition(scanner: Scanner, at: int) -> Definition:
    scanner.expect("(", " after 'probability'")
    start = scanner.at
    words = scanner.until(")")
    if len(words) > 1 and words[1] != "|":
        raise scanner.fault(
            start + 1, f"expected '|' between the variable and its parents, but found {shown(words[1])}"
        )
    names = words[:1] + words[2:]
    if not names or not SIGNS.isdisjoint(names):
        raise scanner.fault(start, "expected the variable's name, or its name, '|' and its parents' names")
    found = Definition(unquoted(names[0]), [unquoted(name) for name in names[1:]], at)
    scanner.expect("{")
    while (word := scanner.take()) != "}":
        start = scanner.at
        if word == "(":
            states = scanner.until(")")
            start = scanner.at
            found.rows.append((states, scanner.until(";"), start))
        elif word in {"table", "default"} and getattr(found, word) is not None:
            raise scanner.fault(start - 1, f"{cut(found.name)!r} has a second {word!r}")
        elif word == "table":
            found.table = scanner.until(";"), start
        elif word == "default":
            found.default = scanner.until(";"), start
        elif word == "property":
            if scanner.peek() == "function":
                scanner.take()
                found.function = scanner.peek()
            if _property(scanner)[1]:
                break
        elif word != ";":
            raise scanner.fault(start - 1, f"expected a row, 'table', 'default' or '}}', but found {shown(word)}")
    return found


def _define(draft: Draft, definition: Definition, scanner: Scanner) -> None:
    node = draft.defined(definition.name, definition.parents, definition.at)
    if definition.function == "max" and node.parents and definition.table is None and definition.default is None:
        read_alone(draft, node, _max_rows(draft, node, definition, scanner))
        return
    shape = draft.shape(node)
    if definition.table is None:
        node.table = _filled(draft, node, definition, scanner)
        return
    words, start = definition.table
    if definition.rows or definition.default:
        raise scanner.fault(start, f"{cut(node.name)!r} has both a table and rows")
    node.table = scanner.numbers(words, start.__add__)
    node.row_at = start.__add__
    if node.table.size == prod(shape):  # own states come first
        node.table = np.moveaxis(node.table.reshape(shape[-1], *shape[:-1]), 0, -1).ravel()


def _max_rows(draft: Draft, node: DraftNode, definition: Definition, scanner: Scanner) -> dict[tuple[int, ...], Array]:
    """The rows of a noisy-MAX, by the indices of the parents' states."""
    sizes, places = draft.parent_sizes(node), _places(draft, node)
    found: dict[tuple[int, ...], Array] = {}
    for states, numbers, at in definition.rows:
        codes = _codes(scanner, node, places, states, at)
        own, row = len(node.states), draft.row(node, int(np.ravel_multi_index(codes, sizes)))
        if codes in found:
            raise scanner.fault(at, f"the row {row} is given twice")
        if len(numbers) != own:
            raise scanner.fault(at, f"the row {row} must have {own} numbers, but has {len(numbers)}")
        found[codes] = scanner.numbers(numbers, at.__add__)
    return found


def _places(draft: Draft, node: DraftNode) -> list[dict[str, int]]:
    """The indices of each parent's states."""
    return [{state: i for i, state in enumerate(draft.nodes[parent].states)} for parent in node.parents]


def _filled(draft: Draft, node: DraftNode, definition: Definition, scanner: Scanner) -> Array:
    """The rows in the parents' order, with the default row where one is missing."""
    shape = draft.shape(node)
    own, total = shape[-1], prod(shape[:-1])
    places = _places(draft, node)
    starts: dict[int, int] = {}
    words: list[str] = []
    for states, numbers, at in definition.rows:
        row = 0
        for known, code in zip(places, _codes(scanner, node, places, states, at), strict=True):
            row = row * len(known) + code
        if row in starts:
            raise scanner.fault(at, f"the row {draft.row(node, row)} is given twice")
        if len(numbers) != own:
            raise scanner.fault(at, f"the row {draft.row(node, row)} must have {own} numbers, but has {len(numbers)}")
        starts[row] = at
        words += numbers
    order = list(starts)
    node.row_at = lambda row: starts.get(row, node.at)
    values = scanner.numbers(words, lambda i: starts[order[i // own]] + i % own).reshape(-1, own)
    if definition.default is not None:
        given, at = definition.default
        if len(given) != own:
            raise scanner.fault(at, f"the default of {cut(node.name)!r} must have {own} numbers, but has {len(given)}")
        draft.make_room(total * own, at)
        table = np.tile(scanner.numbers(given, at.__add__), (total, 1))
    elif len(order) < total:
        missing = next(row for row in count() if row not in starts)
        rule = f"; the function {cut(definition.function)!r} isn't read" if definition.function else ""
        raise scanner.fault(node.at, f"{cut(node.name)!r} has no row {draft.row(node, missing)}, and no default{rule}")
    else:
        table = np.empty((total, own))
    table[order] = values
    return table.ravel()


def _codes(
    scanner: Scanner, node: DraftNode, places: Sequence[dict[str, int]], states: Sequence[str], at: int
) -> tuple[int, ...]:
    """The indices of the parents' states in a row."""
    if len(states) != len(places):
        raise scanner.fault(at, f"a row of {cut(node.name)!r} names {len(states)} states of {len(places)} parents")
    codes = list[int]()
    for parent, known, word in zip(node.parents, places, states, strict=True):
        code = known.get(word)
        if code is None:
            code = known.get(unquoted(word))
        if code is None:
            raise scanner.fault(
                at,
                f"{cut(parent)!r} has no state {shown(word)}; {suggest(cut(word), map(cut, known), MOST_SUGGESTIONS)}",
            )
        codes.append(code)
    return tuple(codes)
