"""A network as a product of factors, of which some may be over auxiliary variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from credo.networks.factor import Factor
from credo.networks.tables import States
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.nodes.node import NodeFactor


@dataclass(frozen=True, eq=False)
class Factorisation:
    """The factors of all nodes: first each variable's own, then those of auxiliary variables."""

    node_factors: Mapping[str, tuple[NodeFactor, ...]]  # by node; its own factor comes first
    states: States

    @cached_property
    def auxiliary(self) -> dict[str, int]:
        """The names of auxiliary variables, and how many states each has."""
        return {
            self._names[name][i]: table.shape[-1]
            for name, (_, *others) in self.node_factors.items()
            for i, (_, table) in enumerate(others)
        }

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """Names for each node's auxiliary variables, different from those of all variables."""
        found: dict[str, list[str]] = {}
        for name, (_, *others) in self.node_factors.items():
            mark = "'"
            while others and any(f"{name}{mark}{i}" in self.states for i in range(len(others))):
                mark += "'"
            found[name] = [f"{name}{mark}{i}" for i in range(len(others))]
        return found

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        own = [self._factor(name, first) for name, (first, *_) in self.node_factors.items()]
        return (
            *own,
            *(self._factor(name, each) for name, (_, *others) in self.node_factors.items() for each in others),
        )

    def _factor(self, name: str, own: NodeFactor) -> Factor:
        scope, table = own
        names = self._names[name]
        return Factor(tuple([names[each] if isinstance(each, int) else each for each in scope]), table)

    def split(self, values: Sequence[Array]) -> dict[str, list[Array]]:
        """Items given for each factor, grouped by node."""
        found, at = {}, len(self.node_factors)
        for i, (name, (_, *others)) in enumerate(self.node_factors.items()):
            found[name] = [values[i], *values[at : at + len(others)]]
            at += len(others)
        return found
