"""Default tables: one row for all configurations of the parents except a few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Self

from credo.errors import NetworkError
from credo.networks.fixed import Fixed
from credo.networks.nodes.automaton import AutomatonNode, ParentAutomaton
from credo.networks.nodes.distribution import NodeFamily
from credo.networks.nodes.rows_by_case import RowsByCase, check_parents, named_row, stacked
from credo.numerics.exact import Array


@dataclass(frozen=True)
class DefaultTable(RowsByCase):
    """A default row, and rows for exceptions: {(state of each parent, ...): row}, None standing for any state
    (Friedman and Goldszmidt 1996).

    The first exception that matches is used. Rows of None are learned by `fit`.

    >>> from credo.networks.network import Network
    >>> risk = DefaultTable(0.01, {("yes", "yes"): 0.9, ("yes", None): 0.2})
    >>> net = Network("Fuel -> Fire <- Spark", {"Fuel": 0.5, "Spark": 0.1, "Fire": risk})
    >>> net.tables["Fire"][..., 0]
    array([[0.9 , 0.2 ],
           [0.01, 0.01]])
    """

    default: Any = None
    exceptions: Mapping[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.exceptions, Mapping):
            raise NetworkError(f"exceptions must be {{states: row}}, but are {self.exceptions!r:.60}")
        object.__setattr__(self, "exceptions", Fixed(self.exceptions))

    @property
    def known(self) -> bool:
        return self.default is not None and all(row is not None for row in self.exceptions.values())

    @property
    def named(self) -> bool:
        return False

    def bare(self) -> Self:
        return replace(self, default=None, exceptions=dict.fromkeys(self.exceptions))

    def node(self, family: NodeFamily) -> AutomatonNode:
        check_parents(family, "DefaultTable")
        patterns = [_pattern(family, key) for key in self.exceptions]
        _check_reached(family, [*self.exceptions], patterns)
        steps = [*enumerate(family.shape[:-1])]

        def move(i: int, place: tuple[int, ...], x: int) -> tuple[int, ...]:
            """The exceptions that still match."""
            return tuple(e for e in place if patterns[e][i] in (None, x))

        reading = ParentAutomaton.of(
            tuple(range(len(patterns))), steps, move, lambda place: place[0] if place else len(patterns), family.name
        )
        return AutomatonNode(family, self.bare(), reading, len(patterns) + 1)

    def rows(self, node: AutomatonNode) -> Array:
        return stacked(node.family, self._given())

    def _given(self) -> Iterator[tuple[str, Any]]:
        for key, row in self.exceptions.items():
            yield f" given {key!r}", row
        yield " by default", self.default

    def with_rows(self, node: AutomatonNode, rows: Array) -> Self:
        *special, default = (named_row(node.family.own, row) for row in rows)
        return replace(self, default=default, exceptions=dict(zip(self.exceptions, special, strict=True)))


def _pattern(family: NodeFamily, key: Any) -> tuple[int | None, ...]:
    states = key if isinstance(key, tuple) and len(family.parents) > 1 else (key,)
    if len(states) != len(family.parents):
        named = ", ".join(family.parents)
        raise NetworkError(f"an exception of {family.name!r} must name a state of each of {named}, but is {key!r:.60}")
    pairs = zip(family.parents, states, strict=True)
    return tuple(None if state is None else family.code(parent, state) for parent, state in pairs)


def _check_reached(family: NodeFamily, keys: Sequence[Any], patterns: Sequence[tuple[int | None, ...]]) -> None:
    """Refuse an exception that is never reached: the first match is used, so the order is wrong."""
    for (i, above), (j, own) in combinations(enumerate(patterns), 2):
        if all(a is None or a == b for a, b in zip(above, own, strict=True)):
            raise NetworkError(
                f"the exception {keys[j]!r:.60} of {family.name!r} is never reached: {keys[i]!r:.60} before it matches "
                "whenever it does; list specific exceptions first"
            )
