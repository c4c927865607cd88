"""The nodes of a hybrid network as users give them: checked, and converted to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from credo.errors import NetworkError, suggest
from credo.networks.graph import Parents
from credo.networks.hybrid.number_node import LogisticNode, NumberNode
from credo.networks.network import Network
from credo.networks.nodes.distribution import Distribution
from credo.networks.nodes.logistic_of_numbers import LogisticOfNumbers
from credo.networks.nodes.normal import Normal
from credo.networks.tables import States, states_of, table_of
from credo.numerics.exact import Array

Node = Array | NumberNode | LogisticNode


class Declared(NamedTuple):
    """States of categories, and the node of each variable: a table, a line, or a logistic node."""

    states: dict[str, tuple[Any, ...]]
    nodes: dict[str, Node]


def declared(parents: Parents, nodes: Mapping[str, Any], given: Mapping[str, Sequence[object]] | None) -> Declared:
    """The specification from the users' nodes: tables, Normal and LogisticOfNumbers, one for each variable."""
    for unknown in (name for name in nodes if name not in parents):
        raise NetworkError(f"a node is for {unknown!r}, which isn't there; {suggest(unknown, parents)}")
    for missing in (name for name in parents if name not in nodes):
        raise NetworkError(f"{missing!r} has no node; give one for each name, or none at all")
    numbers = {name for name, node in nodes.items() if isinstance(node, Normal | NumberNode)}
    for name in (name for name in given or {} if name in numbers or name not in parents):
        raise NetworkError(f"states are declared for {name!r}, which is {'a number' if name in numbers else 'unknown'}")
    states: dict[str, tuple[Any, ...]] = {}
    for name in (name for name in parents if name not in numbers):
        node = nodes[name]
        categories = [each for each in parents[name] if each not in numbers]
        table = None if isinstance(node, LogisticOfNumbers | LogisticNode | Distribution) else node
        states[name] = states_of(name, (given or {}).get(name), table, categories)
    return Declared(states, {name: _node(name, nodes[name], above, states, numbers) for name, above in parents.items()})


def _node(name: str, node: Any, above: Sequence[str], states: States, numbers: set[str]) -> Node:
    of_categories, of_numbers = split_parents(above, numbers)
    match node:
        case NumberNode() | LogisticNode():
            if (node.categories, node.numbers) != (of_categories, of_numbers):
                raise NetworkError(f"the node of {node.name!r} has other parents than the arrows")
            return node
        case Normal() | LogisticOfNumbers():
            return node.node(name, of_categories, of_numbers, states)
        case Distribution() if not of_numbers:
            return _expanded(name, node, of_categories, states)
        case _ if of_numbers:
            raise NetworkError(
                f"{name!r} is a category with the number {of_numbers[0]!r} as a parent, so instead of a table it needs "
                "a credo.nodes.LogisticOfNumbers (or turn the arrow round)"
            )
    table = table_of(name, node, of_categories, states)
    table.flags.writeable = False
    return table


def _expanded(name: str, node: Distribution, above: tuple[str, ...], states: States) -> Array:
    """The table of a noisy-OR or another distribution over categories."""
    family = (*above, name)
    tables: dict[str, Any] = {each: np.full(len(states[each]), 1.0 / len(states[each])) for each in above}
    own = Network({each: () if each != name else above for each in family}, tables | {name: node}, {
        each: states[each] for each in family
    })  # fmt: skip
    table = np.array(own.tables[name])
    table.flags.writeable = False
    return table


def split_parents(above: Sequence[str], numbers: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Category parents and number parents."""
    return tuple(name for name in above if name not in numbers), tuple(name for name in above if name in numbers)
