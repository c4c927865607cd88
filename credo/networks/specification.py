"""A network as users give it: arrows, states, and a table or another distribution for each variable, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import NetworkError, suggest
from credo.networks import graph
from credo.networks.factor import Factor
from credo.networks.nodes.distribution import Distribution, Family
from credo.networks.tables import States, states_of, table_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.nodes.node import DistributionNode, Node

MOST_PARENTS = 60  # with two states each, a table of more fits in no memory
Arrows = str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Specification:
    """Arrows, states, what was given for each variable, and the forms of distributions that aren't tables."""

    parents: Mapping[str, tuple[str, ...]]
    states: dict[str, tuple[Any, ...]]
    given: dict[str, Any]  # a table or a distribution with its parameters for each variable; empty: to be learned
    forms: dict[str, Distribution]  # without parameters

    @classmethod
    def of(
        cls, arrows: Arrows, given: object, states: Mapping[str, Sequence[Any]] | Sequence[Any] | None
    ) -> Specification:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        if not parents:
            raise NetworkError("a network must have at least one variable")
        graph.in_order(parents)  # refuses cycles
        if given is not None and not isinstance(given, Mapping):
            raise NetworkError(f"tables must be {{name: table}}, but are {given!r:.60}")
        tables: dict[str, Any] = dict(given or {})
        for what, named in (("table", tables), ("list of states", states if isinstance(states, Mapping) else ())):
            for unknown in (name for name in named if name not in parents):
                raise NetworkError(f"a {what} is for {unknown!r}, which isn't there; {suggest(unknown, parents)}")
        forms = {name: each for name, each in tables.items() if isinstance(each, Distribution)}
        for name in (name for name, above in parents.items() if len(above) > MOST_PARENTS and name not in forms):
            count = len(parents[name])
            raise NetworkError(f"{name!r} has {count} parents: more than {MOST_PARENTS} can't have a table")
        known = _known(parents, tables, forms)
        found: dict[str, tuple[Any, ...]] = {}
        for name in parents if tables or states else ():
            listed = states.get(name) if isinstance(states, Mapping) else states
            found[name] = states_of(name, listed, tables.get(name), parents[name])
        forms = {name: each.resolved(Family(name, parents[name], found)) for name, each in forms.items()}
        tables |= forms
        return cls(parents, found, tables if known else {}, {name: each.bare() for name, each in forms.items()})

    @property
    def nodes(self) -> dict[str, DistributionNode]:
        """Of distributions that aren't tables; refuses those that don't fit the variables."""
        given = {**self.forms, **{name: self.given[name] for name in self.forms if self.given}}
        return {name: form.node(Family(name, self.parents[name], self.states)) for name, form in given.items()}

    def parameters(self, nodes: Mapping[str, DistributionNode]) -> dict[str, Array]:
        """As given: tables, and the parameters of other distributions."""
        return {
            name: nodes[name].parameters(self.given[name])
            if name in nodes
            else table_of(name, self.given[name], above, self.states)
            for name, above in self.parents.items()
        }


def _known(parents: Mapping[str, Any], tables: Mapping[str, Any], forms: Mapping[str, Distribution]) -> bool:
    """Whether each variable has a table, or a distribution with its parameters; some of them only is an error."""
    bare = [name for name, form in forms.items() if not form.known]
    constant = [name for name in tables if name in forms and name not in bare and not forms[name].learns]
    if len(bare) + len(constant) == len(tables) and (bare or len(tables) < len(parents)):
        return False
    for missing in (name for name in parents if tables and name not in tables):
        raise NetworkError(f"{missing!r} has no table; give one for each name, or none at all")
    for name in bare:
        raise NetworkError(
            f"{name!r} is a {type(forms[name]).__name__} without parameters, and others have theirs: give these too, "
            "or give no tables and learn them with fit"
        )
    return bool(tables)


class Tables(Mapping[str, Array]):
    """{name: table} of a network, some of whose distributions aren't tables: theirs are made when they are first used,
    and refused where they don't fit in memory."""

    def __init__(self, parameters: Mapping[str, Array], nodes: Mapping[str, Node]) -> None:
        self.parameters, self._nodes = parameters, nodes
        self._made: dict[str, Array] = {}

    def first_rows(self, name: str, shape: tuple[int, ...], most: int) -> Array:
        """At most so many rows of a table, from its first configuration on. (rows, own states)"""
        node: Any = self._nodes[name]
        if not hasattr(node, "table"):
            return self.parameters[name].reshape(-1, shape[-1])[:most]
        each = np.arange(min(prod(shape[:-1]), most))
        sizes = np.array(shape[-2::-1], dtype=np.int64)  # the last parent's state changes fastest
        cells = np.empty((len(each), len(sizes)), dtype=np.int64)
        for i, size in enumerate(sizes.tolist()):
            cells[:, len(sizes) - 1 - i] = each % size
            each = each // size
        return np.asarray(node.rows(self.parameters[name], cells))

    def __getitem__(self, name: str) -> Array:
        node, own = self._nodes[name], self.parameters[name]
        expand = getattr(node, "table", None)
        if expand is None:
            return own
        if name not in self._made:
            self._made[name] = expand(own)
            self._made[name].flags.writeable = False
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tables, (self.parameters, self._nodes)


@dataclass(frozen=True, eq=False)
class Factorisation:
    """The factors of all nodes: first each variable's own, then those of auxiliary variables."""

    pieces: Mapping[str, tuple[tuple[tuple[str | int, ...], Array], ...]]  # of each node
    states: States

    @cached_property
    def auxiliary(self) -> dict[str, int]:
        """The names of auxiliary variables, and how many states each has."""
        return {
            self._names[name][i]: piece.shape[-1]
            for name, (_, *others) in self.pieces.items()
            for i, (_, piece) in enumerate(others)
        }

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """Of each node's auxiliary variables: names that no variable has."""
        found: dict[str, list[str]] = {}
        for name, (_, *others) in self.pieces.items():
            mark = "'"
            while others and any(f"{name}{mark}{i}" in self.states for i in range(len(others))):
                mark += "'"
            found[name] = [f"{name}{mark}{i}" for i in range(len(others))]
        return found

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        own = [self._factor(name, pieces[0]) for name, pieces in self.pieces.items()]
        return (*own, *(self._factor(name, each) for name, (_, *others) in self.pieces.items() for each in others))

    def _factor(self, name: str, piece: tuple[tuple[str | int, ...], Array]) -> Factor:
        scope, table = piece
        return Factor(tuple(each if isinstance(each, str) else self._names[name][each] for each in scope), table)

    def split(self, values: Sequence[Array]) -> dict[str, list[Array]]:
        """Something of each factor, by node."""
        found, at = {}, len(self.pieces)
        for i, (name, (_, *others)) in enumerate(self.pieces.items()):
            found[name] = [values[i], *values[at : at + len(others)]]
            at += len(others)
        return found
