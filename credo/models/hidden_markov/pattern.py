"""The allowed transitions of a hidden chain, minimum durations, and the resulting prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.errors import PriorError, SchemaError, suggest
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array

Transitions = Any  # "any", "left-to-right", {state: [states that may follow]}, or a matrix of 0 and 1
NAMED_PATTERNS = ("any", "left-to-right")
LONGEST_DURATION = 10_000  # rows of a minimum duration


@dataclass(frozen=True, eq=False)
class Pattern:
    """The states that sequences may begin in, the transitions that are possible, and the fewest rows that each state
    lasts before another may follow (a sequence may end before)."""

    first: Flags  # (states,)
    step: Flags  # (states, states)
    durations: NDArray[np.intp]  # (states,)

    @property
    def states(self) -> int:
        return len(self.first)

    @property
    def free_parameters(self) -> int:
        return int(self.first.sum() - 1 + (self.step.sum(1) - 1).sum())

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """A state that lasts at least d rows is a chain of d positions: here, the state of each. (positions,)"""
        return np.repeat(np.arange(self.states), self.durations)

    @property
    def plain(self) -> bool:
        """Whether each state is one position."""
        return len(self.positions) == self.states

    @cached_property
    def _ends(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first and the last position of each state."""
        last = np.cumsum(self.durations) - 1
        return last - self.durations + 1, last

    def of_positions(self, first: Array, step: Array) -> tuple[Array, Array]:
        """The chain over positions: from a state's last position it stays there, or begins another state."""
        if self.plain:
            return first, step
        begin, last = self._ends
        size = len(self.positions)
        initial, transitions = np.zeros(size), np.zeros((size, size))
        initial[begin] = first
        inner = np.setdiff1d(np.arange(size), last)
        transitions[inner, inner + 1] = 1.0
        transitions[last[:, None], begin] = step
        stay = self.durations > 1
        transitions[last[stay], begin[stay]] = 0.0
        transitions[last, last] = np.diagonal(step)
        return initial, transitions

    def of_states(self, firsts: Array, pairs: Array) -> tuple[Array, Array]:
        """Counts of initial positions and transitions as those of states: forced steps are ignored."""
        if self.plain:
            return firsts, pairs
        begin, last = self._ends
        step = pairs[last[:, None], begin]
        np.fill_diagonal(step, pairs[last, last])
        return firsts[begin], step

    def shares(self, positions: Array) -> Array:
        """P(state) from P(position). (rows, positions) -> (rows, states)"""
        return positions if self.plain else np.add.reduceat(positions, self._ends[0], axis=1)


def plain_transitions(transitions: Transitions) -> Transitions:
    """Transitions in stored form: a name, tuples, or a mapping to tuples."""
    if isinstance(transitions, Mapping):
        plain = {state: tuple(own) if isinstance(own, _LISTS) else own for state, own in transitions.items()}
        return dict(plain)
    if transitions is None or isinstance(transitions, str):
        return transitions or "any"
    try:
        rows = np.asarray(transitions, dtype=np.float64)
    except (TypeError, ValueError):
        raise PriorError(f"transitions must be a matrix of 0 and 1, but are {transitions!r:.60}") from None
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
        raise PriorError(f"transitions must be a square matrix, but have shape {rows.shape}")
    if not np.isin(rows, (0.0, 1.0)).all():
        wrong = rows[~np.isin(rows, (0.0, 1.0))][0]
        raise PriorError(f"transitions say which are possible, by 0 and 1, but hold {wrong:g}")
    return tuple(tuple(int(flag) for flag in row) for row in rows.tolist())


_LISTS = (list, tuple, set, frozenset)


def pattern_of(
    transitions: Transitions, initial: Sequence[Any] | None, duration: int | Mapping[Any, int], states: Sequence[Any]
) -> Pattern:
    """The pattern from the model's settings; `states` are the states' names."""
    size = len(states)
    step, first = np.ones((size, size), dtype=bool), np.ones(size, dtype=bool)
    if isinstance(transitions, str):
        if transitions not in NAMED_PATTERNS:
            raise PriorError(f"no such transitions, {transitions!r}; {suggest(transitions, NAMED_PATTERNS)}")
        if transitions == "left-to-right":
            step, first = np.triu(step), np.arange(size) == 0
    elif isinstance(transitions, Mapping):
        step = _listed(transitions, states)
    elif transitions is not None:
        step = _matrix(transitions, size)
    if initial is not None:
        first = np.isin(np.arange(size), [_place(state, states, "initial") for state in initial])
    durations = _durations(duration, states)
    alone = np.flatnonzero(~step.any(1))
    if len(alone):
        raise PriorError(f"no transition leads on from state {states[alone[0]]!r}: allow one, if only to itself")
    if not first.any():
        raise PriorError("sequences may begin in no state: initial is empty")
    return Pattern(first, step, durations)


def _matrix(transitions: object, size: int) -> Flags:
    found = np.asarray(transitions, dtype=bool)
    if found.shape != (size, size):
        raise PriorError(f"transitions of {size} states are a matrix of {size} by {size}, but have shape {found.shape}")
    return found


def _listed(transitions: Mapping[Any, Any], states: Sequence[object]) -> Flags:
    """The allowed transitions; a state that isn't listed may be followed by any."""
    step = np.ones((len(states), len(states)), dtype=bool)
    for state, following in transitions.items():
        if not isinstance(following, _LISTS):
            raise PriorError(f"transitions[{state!r}] must be a list of states, but is {following!r:.60}")
        row = _place(state, states, "transitions")
        step[row] = np.isin(np.arange(len(states)), [_place(each, states, "transitions") for each in following])
    return step


def _durations(duration: int | Mapping[Any, int], states: Sequence[Any]) -> NDArray[np.intp]:
    given = dict(duration) if isinstance(duration, Mapping) else dict.fromkeys(states, duration)
    found = np.ones(len(states), dtype=np.intp)
    for state, rows in given.items():
        if not isinstance(rows, int | np.integer) or isinstance(rows, bool) or not 1 <= rows <= LONGEST_DURATION:
            raise PriorError(f"duration must be a whole number from 1 to {LONGEST_DURATION:,}, but is {rows!r:.60}")
        found[_place(state, states, "duration")] = rows
    return found


def _place(state: object, states: Sequence[object], what: str) -> int:
    for k, known in enumerate(states):
        if known == state and isinstance(known, bool) == isinstance(state, bool):
            return k
    raise SchemaError(f"{what} names the state {state!r:.60}, which isn't one; {suggest(state, states)}")
