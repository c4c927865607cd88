"""Nodes that read their parents one by one and end at a row of probabilities: trees, rules, default tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence, Part
from credo.core.membership import Codes, Hard
from credo.core.statistics import Counts
from credo.errors import EvidenceError, SizeError
from credo.networks.nodes.chain import Chain, every_cell
from credo.networks.nodes.family_node import ChainNode
from credo.networks.nodes.node import Prior, Sizes
from credo.networks.nodes.table import ConditionalTable
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.nodes.rows_by_case import RowsByCase

Place = TypeVar("Place")
Moves = NDArray[np.int64]  # (states before, states of the parent) -> the state after
MOST_AUTOMATON_STATES = 2**10


@dataclass(frozen=True, eq=False)
class ParentAutomaton:
    """A finite automaton: its next state follows from its state and the state of a parent."""

    reads: tuple[int, ...]  # the parent of each step
    moves: tuple[Moves, ...]

    @classmethod
    def of(
        cls,
        start: Place,
        steps: Sequence[tuple[int, int]],
        move: Callable[[int, Place, int], Place],
        final: Callable[[Place], int],
        name: str,
    ) -> ParentAutomaton:
        """Built from the start, the parent of each step and its number of states, the transition function, and the row
        of each final state."""
        moves, places = list[Moves](), [start]
        for i, (_, size) in enumerate(steps):
            number: dict[Place, int] = {}
            table = np.array(
                [[number.setdefault(move(i, place, x), len(number)) for x in range(size)] for place in places],
                dtype=np.int64,
            )
            places = [*number]
            if len(places) > MOST_AUTOMATON_STATES:
                raise SizeError(
                    f"the rule of {name!r} must remember more than {MOST_AUTOMATON_STATES} cases of the parents read"
                )
            moves.append(table)
        rows = np.array([final(place) for place in places], dtype=np.int64)
        moves[-1] = rows[moves[-1]]
        return cls(tuple(parent for parent, _ in steps), tuple(moves))

    def row(self, codes: Sequence[Codes]) -> NDArray[np.int64]:
        """The row that each configuration of the parents selects."""
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for parent, table in zip(self.reads, self.moves, strict=True):
            place = table[place, codes[parent]]
        return place

    def steps(self, rows: Array) -> tuple[Array, ...]:
        """The steps of a chain; the last one leads to own states by the rows."""
        found = list[Array]()
        for table, after in zip(self.moves[:-1], self.moves[1:], strict=True):
            found.append(np.eye(len(after))[table])
        return (*found, rows[self.moves[-1]])


@dataclass(frozen=True, eq=False)
class AutomatonNode(ChainNode):
    """P(y | x) = θ[row(x), y]: a table with fewer rows than the parents have configurations, learned by counting."""

    form: RowsByCase
    reading: ParentAutomaton
    leaves: int  # rows of probabilities
    fixed: Array | None = None  # fixed rows

    @property
    def axes(self) -> tuple[str | None, ...]:
        return (None, None)

    @property
    def is_rule(self) -> bool:
        return self.fixed is not None

    @property
    def has_rows(self) -> bool:
        return True

    def row(self, codes: Sequence[Codes]) -> tuple[Codes, ...]:
        return (self.reading.row(codes).astype(np.int32),)

    @property
    def free_numbers(self) -> int:
        return 0 if self.fixed is not None else self.leaves * (len(self.family.own) - 1)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:  # noqa: ARG002 - its states are declared
        return self.leaves, len(self.family.own)

    def fits(self, part: Part, sizes: Sizes) -> bool:
        return self._table.fits(part, sizes) and part.statistics.n.shape == self.shape(sizes)

    @cached_property
    def _table(self) -> _Rows:
        """The rows as a conditional table."""
        return _Rows(self.name, ("row",), self.name, (self.leaves, len(self.family.own)))

    def summarise(self, codes: Mapping[str, Codes], sizes: Sizes, weight: Array) -> Counts:  # noqa: ARG002
        rows = self.reading.row([codes[parent] for parent in self.parents])
        counts = Counts.of(codes[self.name], len(self.family.own), Hard.of(rows.astype(np.int32), self.leaves, weight))
        if self.fixed is not None and (bad := np.argwhere((counts.n.value > 0) & (self.fixed == 0.0))).size:
            row, state = bad[0].tolist()
            own, expected = self.family.own, self.fixed[row].argmax()
            raise EvidenceError(f"a row has {self.name}={own[state]}, where its rule says {own[expected]}")
        return counts

    # Inference

    def parameters(self, given: RowsByCase) -> Array:
        return given.rows(self) if self.fixed is None else self.fixed

    def distribution(self, parameters: Array) -> RowsByCase:
        return self.form if self.fixed is not None else self.form.with_rows(self, parameters)

    def chain(self, parameters: Array) -> Chain:
        family = self.family
        return Chain(self.name, self.parents, family.shape[:-1], self.reading.reads, self.reading.steps(parameters))

    # Learning

    def expected(self, counts: Sequence[Array], parameters: Array) -> Part:
        chain, found = self.chain(parameters), np.zeros((self.leaves, len(self.family.own)))
        if chain.is_small:
            cells = every_cell(chain.sizes)
            np.add.at(found, self.reading.row([*cells.T]), counts[0].reshape(len(cells), -1))
        else:
            np.add.at(found, self.reading.moves[-1], counts[0])
        return Part(self.axes, Counts(Exact.of(found)))

    def counts(self, evidence: Evidence, parameters: Array) -> Array:
        return self._table.counts(evidence, parameters)

    def log_likelihood(self, evidence: Evidence, parameters: Array) -> float:
        return self._table.log_likelihood(evidence, parameters)

    def mode(self, prior: Prior, counts: Array) -> Array:
        return self._table.mode(prior, counts) if self.fixed is None else self.fixed

    def estimate(self, prior: Prior, evidence: Evidence) -> Array:
        return self._table.estimate(prior, evidence) if self.fixed is None else self.fixed

    def log_prior(self, prior: Prior, parameters: Array) -> float:
        return self._table.log_prior(prior, parameters) if self.fixed is None else 0.0

    def weight(self, evidence: Evidence) -> float:
        return self._table.weight(evidence)

    def drawn(self, parameters: Array, random: np.random.Generator) -> Array:
        return self._table.drawn(parameters, random) if self.fixed is None else self.fixed

    def coordinates(self, parameters: Array) -> Array:
        return self._table.coordinates(parameters)

    def at(self, coordinates: Array, parameters: Array) -> Array:
        return self._table.at(coordinates, parameters) if self.fixed is None else self.fixed


@dataclass(frozen=True)
class _Rows(ConditionalTable):
    """A conditional table given the selected row."""

    size: tuple[int, int] = (0, 0)

    def shape(self, sizes: Any) -> tuple[int, ...]:  # noqa: ARG002
        return self.size
