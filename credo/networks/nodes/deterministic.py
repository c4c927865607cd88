"""Deterministic nodes: the state is a function of the parents' states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from numbers import Real
from typing import Any, Self

import numpy as np

from credo.errors import NetworkError, SizeError, suggest
from credo.networks.fixed import Fixed
from credo.networks.nodes.automaton import AutomatonNode, ParentAutomaton
from credo.networks.nodes.distribution import Distribution, NodeFamily, false_state
from credo.networks.nodes.logic import Count, Extreme, Parser, Rule, given_state, parents_of
from credo.networks.nodes.rows_by_case import RowsByCase, check_parents
from credo.numerics.exact import Array

MOST_CASES = 2**16  # configurations for which a user's function is called


@dataclass(frozen=True)
class Deterministic(RowsByCase):
    """y = f(x): by a rule, a function of the parents' states, or {(states of the parents, ...): state}.

    A rule is made of parents' names, `and`, `or`, `not`, `xor`, ==, !=, in, at_least(k, A, B, ...), at_most, exactly;
    count(A, B, ...) is a number; max and min are of graded states. A parent's name alone is true if its state is
    affirmative: not no, False or 0, and not the last of other states. Names that aren't identifiers stand in
    `backquotes`. Rules are evaluated parent by parent, so there may be hundreds of parents.

    >>> from credo.networks.network import Network
    >>> lamp = Deterministic("Power and (Left xor Right)")
    >>> net = Network({"Power": [], "Left": [], "Right": [], "Lamp": ["Power", "Left", "Right"]},
    ...               {"Power": 0.9, "Left": 0.5, "Right": 0.5, "Lamp": lamp})
    >>> round(net.query("Lamp")["yes"], 4)
    0.45
    """

    rule: str | Mapping[Any, Any] | Callable[..., Any]

    def __post_init__(self) -> None:
        if isinstance(self.rule, Mapping):
            object.__setattr__(self, "rule", Fixed(self.rule))
        elif not isinstance(self.rule, str) and not callable(self.rule):
            raise NetworkError(f"a rule must be text, a function or a mapping, but is {self.rule!r:.60}")

    @property
    def known(self) -> bool:
        return True

    @property
    def learns(self) -> bool:
        return False

    def bare(self) -> Self:
        return self

    def resolved(self, family: NodeFamily) -> Distribution:
        """The rule with a function replaced by its values: functions can't be stored."""
        if isinstance(self.rule, str | Mapping):
            return self
        check_parents(family, "Deterministic")
        if prod(family.shape[:-1]) > MOST_CASES:
            raise SizeError(
                f"the function of {family.name!r} has {prod(family.shape[:-1]):.3g} cases, too many to call it: "
                "give a rule, such as 'at_least(2, A, B, C)'"
            )
        cases = product(*(family.states[parent] for parent in family.parents))
        return replace(self, rule={case: self._value(family, case) for case in cases})

    def _value(self, family: NodeFamily, case: tuple[Any, ...]) -> Any:
        assert callable(self.rule)
        shown = ", ".join(f"{parent}={state}" for parent, state in zip(family.parents, case, strict=True))
        try:
            found = self.rule(*case)
        except Exception as error:  # a user's function may raise anything
            raise NetworkError(f"the function of {family.name!r} fails for {shown:.80}: {error}") from None
        return found

    def node(self, family: NodeFamily) -> AutomatonNode:
        check_parents(family, "Deterministic")
        own = len(family.own)
        reading = self._by_rule(family) if isinstance(self.rule, str) else self._by_cases(family)
        return AutomatonNode(family, self, reading, own, np.eye(own))

    def _by_cases(self, family: NodeFamily) -> ParentAutomaton:
        assert isinstance(self.rule, Mapping)
        shape = family.shape[:-1]
        if prod(shape) > MOST_CASES:
            raise SizeError(f"{family.name!r} has {prod(shape):.3g} cases: give a rule as text")
        codes = np.full(shape, -1, dtype=np.int64)
        for key, value in self.rule.items():
            states = key if isinstance(key, tuple) and len(key) == len(shape) else (key,)
            if len(states) != len(shape):
                raise NetworkError(f"a case of {family.name!r} must name a state of each parent, but is {key!r:.60}")
            where = tuple(family.code(parent, state) for parent, state in zip(family.parents, states, strict=True))
            codes[where] = _own_code(family, value)
        if (codes < 0).any():
            where = tuple(np.argwhere(codes < 0)[0])
            shown = ", ".join(f"{p}={family.states[p][i]}" for p, i in zip(family.parents, where, strict=True))
            raise NetworkError(f"the rule of {family.name!r} has no case for {shown}")
        size = codes.itemsize

        def move(i: int, place: bytes, x: int) -> bytes:
            """The rest of the table: states with the same rest lead to one automaton state."""
            rest = prod(shape[i + 1 :]) * size
            return place[x * rest : (x + 1) * rest]

        def final(place: bytes) -> int:
            return int(np.frombuffer(place, np.int64)[0])

        return ParentAutomaton.of(codes.tobytes(), [*enumerate(shape)], move, final, family.name)

    def _by_rule(self, family: NodeFamily) -> ParentAutomaton:
        assert isinstance(self.rule, str)
        ends = _grades(family)
        rule = Parser(
            family.name,
            family.parents,
            lambda parent: frozenset(range(len(family.states[parent]))) - {false_state(family.states[parent])},
            family.code,
            lambda parent: tuple(ends.index(_own_code(family, state)) for state in family.states[parent]),
        ).read(self.rule)
        about = parents_of(rule)
        for unread in (parent for i, parent in enumerate(family.parents) if i not in about):
            raise NetworkError(f"the rule of {family.name!r} doesn't depend on its parent {unread!r}")
        steps = [*enumerate(family.shape[:-1])]
        state = _final(family, rule, ends)
        return ParentAutomaton.of(rule, steps, lambda i, place, x: given_state(place, i, x), state, family.name)

    def rows(self, node: AutomatonNode) -> Array:
        return np.eye(node.leaves)

    def with_rows(self, node: AutomatonNode, rows: Array) -> Self:  # noqa: ARG002 - nothing is learned
        return self


def _own_code(family: NodeFamily, value: object) -> int:
    if value in family.own:
        return family.own.index(value)
    if isinstance(value, bool | np.bool_) and len(family.own) == 2:
        lowest = false_state(family.own)
        return 1 - lowest if value else lowest
    raise NetworkError(f"the rule of {family.name!r} gives {value!r:.60}, no state of it; {suggest(value, family.own)}")


def _grades(family: NodeFamily) -> tuple[int, ...]:
    """The node's states from the lowest grade: numbers by size, others from the last or negative state."""
    own = family.own
    if all(isinstance(state, Real) and not isinstance(state, bool) for state in own):
        return tuple(sorted(range(len(own)), key=own.__getitem__))
    lowest = false_state(own)
    return (lowest, *(i for i in reversed(range(len(own))) if i != lowest))


def _final(family: NodeFamily, rule: Rule, grades: tuple[int, ...]) -> Callable[[Rule], int]:
    """The own state for what remains of the rule at the end."""
    if isinstance(rule, Extreme):
        return lambda left: grades[int(left)]  # type: ignore[arg-type]
    if isinstance(rule, Count):
        numbers = {str(state): i for i, state in enumerate(family.own)}

        def counted(left: Rule) -> int:
            if str(left) not in numbers:
                raise NetworkError(f"{family.name!r} counts to {left}, which isn't a state of it")
            return numbers[str(left)]

        return counted
    if len(family.own) != 2:
        raise NetworkError(f"the rule of {family.name!r} is true or false, but it has {len(family.own)} states, not 2")
    lowest = false_state(family.own)
    return lambda left: 1 - lowest if left else lowest
