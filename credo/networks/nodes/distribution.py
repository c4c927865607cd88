"""Node distributions as users give them: P(node | parents) in forms other than a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Self

from credo.core.records import Shown
from credo.errors import NetworkError, suggest
from credo.networks.inference.state_index import BOOLEAN_SPELLINGS

if TYPE_CHECKING:
    from credo.networks.nodes.node import DistributionNode
    from credo.networks.tables import States


@dataclass(frozen=True)
class NodeFamily:
    """A variable and its parents, with the states of each."""

    name: str
    parents: tuple[str, ...]
    states: States

    @property
    def own(self) -> tuple[Any, ...]:
        return self.states[self.name]

    @property
    def scope(self) -> tuple[str, ...]:
        return (*self.parents, self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its table."""
        return tuple(len(self.states[each]) for each in self.scope)

    @property
    def cells(self) -> int:
        """The number of entries of its table."""
        return prod(self.shape)

    def check_parent(self, name: object, what: str) -> str:
        """Refuse a name that isn't a parent's."""
        if not isinstance(name, str) or name not in self.parents:
            known = suggest(name, self.parents) if self.parents else "it has none."
            raise NetworkError(f"{self.name!r} has {what} for {name!r:.60}, which isn't a parent of it; {known}")
        return name

    def code(self, variable: str, state: object) -> int:
        """The index of a variable's state."""
        states = self.states[variable]
        if state not in states:
            raise NetworkError(f"{self.name!r} names the state {variable}={state!s:.60}; {suggest(state, states)}")
        return states.index(state)


class Distribution(Shown, ABC):
    """P(node | parents) in a form other than a table: with its parameters, or without, to be learned."""

    @property
    @abstractmethod
    def known(self) -> bool:
        """Whether its parameters are given."""

    @property
    def learns(self) -> bool:
        """Whether it has learnable parameters."""
        return True

    @property
    def named(self) -> bool:
        """Whether it names parents and states, so that their order doesn't matter."""
        return True

    @abstractmethod
    def bare(self) -> Self:
        """The same form without parameters, to be learned."""

    def unlearned(self) -> Self:
        """The form with which `fit` starts."""
        return self.bare()

    def resolved(self, family: NodeFamily) -> Distribution:  # noqa: ARG002 - for those that have more to tell
        """The form in which it is stored."""
        return self

    @abstractmethod
    def node(self, family: NodeFamily) -> DistributionNode:
        """The node of a network; an error if it doesn't fit the parents and their states."""

    @property
    def said(self) -> Mapping[str, Any]:
        """The parameters by name, for display; empty if the table shows more."""
        return {}

    @property
    def own_states(self) -> Sequence[Any] | None:
        """The node's states, if its parameters name them."""
        return None


def false_state(states: Sequence[object]) -> int:
    """The index of the negative state: False, 0, "no", "false" or the like; otherwise the last.

    >>> false_state(("yes", "no")), false_state((False, True)), false_state(("severe", "mild", "none"))
    (1, 0, 2)
    """
    words = [i for i, state in enumerate(states) if str(state).lower() in BOOLEAN_SPELLINGS[False]]
    return words[0] if len(words) == 1 else len(states) - 1


def checked_probability(what: str, given: Any) -> float:
    """A number between 0 and 1."""
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise NetworkError(f"{what} must be a probability, but is {given!r:.60}") from None
    if not 0.0 <= found <= 1.0:
        raise NetworkError(f"{what} must be a probability, between 0 and 1, but is {found:g}")
    return found
