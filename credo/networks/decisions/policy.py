"""Policies: the best option of each decision given the information at that point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.core.records import Shown
from credo.errors import EvidenceError, NetworkError, suggest
from credo.networks.network import Network
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.answers import Posterior
    from credo.networks.decisions.influence_diagram import InfluenceDiagram


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTable(Shown):
    """The expected utility of each option in each information state, later decisions being optimal.

    Utilities settled before the decision are excluded.
    """

    name: str
    options: tuple[Any, ...]
    known: tuple[str, ...]  # what the decision depends on
    known_states: tuple[tuple[Any, ...], ...]
    irrelevant: tuple[str, ...]  # known but irrelevant
    utilities: Array  # (information states..., options)
    possible: NDArray[np.bool_] | None = None  # (information states...); None: all are possible

    @property
    def best(self) -> NDArray[np.int64]:
        """The number of the best option; the first if tied."""
        return np.asarray(self.utilities.argmax(-1))

    def choose(self, known: Mapping[str, object] | None = None) -> Any:
        """The best option, given the information."""
        return self.options[int(self.best[self._row(known or {})])]

    def expected_utilities(self, known: Mapping[str, object] | None = None) -> Posterior:
        """{option: expected utility}, given the information."""
        return dict(zip(self.options, self.utilities[self._row(known or {})].tolist(), strict=True))

    def rows(self) -> Iterator[tuple[tuple[Any, ...], Any, list[float]]]:
        """The possible information states, the best option, and each option's expected utility."""
        for where in product(*(range(len(states)) for states in self.known_states)):
            if self.possible is None or self.possible[where]:
                states = tuple(own[i] for own, i in zip(self.known_states, where, strict=True))
                yield states, self.options[int(self.best[where])], self.utilities[where].tolist()

    def _row(self, known: Mapping[str, object]) -> tuple[int, ...]:
        where = []
        for name, states in zip(self.known, self.known_states, strict=True):
            if known.get(name) is None:
                raise EvidenceError(f"the decision {self.name!r} depends on {name!r}: give its state")
            spelt = [str(state) for state in states]
            if str(known[name]) not in spelt:
                raise EvidenceError(f"{name!r} has no state {known[name]!r}; {suggest(known[name], states)}")
            where.append(spelt.index(str(known[name])))
        return tuple(where)

    def __repr__(self) -> str:
        from credo.present.decisions import decision_described

        return decision_described(self)


@dataclass(frozen=True, eq=False, repr=False)
class Policy(Shown):
    """The best policy: a table for each decision, and the expected utility of following them."""

    expected_utility: float
    decisions: tuple[DecisionTable, ...]
    given: Mapping[str, object] = field(default_factory=dict)

    def __getitem__(self, name: str) -> DecisionTable:
        for table in self.decisions:
            if table.name == name:
                return table
        known = [table.name for table in self.decisions]
        raise NetworkError(f"there is no decision {name!r} to take; {suggest(name, known)}")

    def choose(self, decision: str, known: Mapping[str, object] | None = None) -> Any:
        """The best option of a decision, given the information at that point."""
        return self[decision].choose(known)

    def __repr__(self) -> str:
        from credo.present.decisions import policy_described

        return policy_described(self)


def policy_network(diagram: InfluenceDiagram, policy: Policy) -> Network:
    """The network in which each decision is a function of its information; decisions already taken are fixed."""
    parents, tables = dict(diagram.network.parents), dict(diagram.network.tables)
    for table in policy.decisions:
        parents[table.name] = table.known
        tables[table.name] = np.eye(len(table.options))[table.best]
    taken = {name: value for name, value in policy.given.items() if name in diagram.decisions}
    return Network(parents, tables, diagram.states).do(taken) if taken else Network(parents, tables, diagram.states)
