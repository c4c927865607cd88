"""A hybrid network's nodes: from the forms in which users give them to arrays, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from credo.errors import NetworkError, suggest
from credo.networks.graph import Parents
from credo.networks.hybrid.number_node import LogisticNode, NumberNode
from credo.networks.nodes.logistic_of_numbers import LogisticOfNumbers
from credo.networks.nodes.normal import Normal
from credo.networks.tables import states_of, table_of
from credo.numerics.exact import Array


class Declared(NamedTuple):
    """States of categories, and the node of each variable."""

    states: dict[str, tuple[Any, ...]]
    tables: dict[str, Array]
    number_nodes: dict[str, NumberNode]
    logistic: dict[str, LogisticNode]


def declared(parents: Parents, nodes: Mapping[str, Any], given: Mapping[str, Sequence[Any]] | None) -> Declared:
    """Of nodes that users give: tables, Normal and LogisticOfNumbers, one for each variable."""
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
        table = None if isinstance(node, LogisticOfNumbers | LogisticNode) else node
        states[name] = states_of(name, (given or {}).get(name), table, categories)
    found = Declared(states, {}, {}, {})
    for name, above in parents.items():
        _add(found, name, nodes[name], above, numbers)
    return found


def _add(found: Declared, name: str, node: Any, above: Sequence[str], numbers: set[str]) -> None:
    of_categories, of_numbers = split_parents(above, numbers)
    match node:
        case NumberNode():
            found.number_nodes[name] = _fitting(node, of_categories, of_numbers)
        case LogisticNode():
            found.logistic[name] = _fitting(node, of_categories, of_numbers)
        case Normal():
            found.number_nodes[name] = node.node(name, of_categories, of_numbers, found.states)
        case LogisticOfNumbers():
            found.logistic[name] = node.node(name, of_categories, of_numbers, found.states)
        case _ if of_numbers:
            raise NetworkError(
                f"{name!r} is a category with the number {of_numbers[0]!r} as a parent, so that it needs no table but "
                "a credo.nodes.LogisticOfNumbers (or turn the arrow round)"
            )
        case _:
            found.tables[name] = table_of(name, node, of_categories, found.states)
            found.tables[name].flags.writeable = False


def split_parents(above: Sequence[str], numbers: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Category parents and number parents."""
    return tuple(name for name in above if name not in numbers), tuple(name for name in above if name in numbers)


def _fitting(node: Any, categories: tuple[str, ...], numbers: tuple[str, ...]) -> Any:
    if (node.categories, node.numbers) != (categories, numbers):
        raise NetworkError(f"the node of {node.name!r} has other parents than its arrows say")
    return node
