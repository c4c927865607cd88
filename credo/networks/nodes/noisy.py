"""The common base of noisy-OR, noisy-AND and noisy-MAX: independent causes and a leak."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Self

from credo.errors import NetworkError
from credo.networks.fixed import Fixed
from credo.networks.nodes.distribution import Distribution, NodeFamily, checked_probability, false_state
from credo.networks.nodes.independent_causes import CausesNode
from credo.numerics.exact import Array


@dataclass(frozen=True)
class NoisyDistribution(Distribution):
    """The maximum of the effects of each cause and of the leak."""

    causes: Mapping[str, Any] = field(default_factory=dict)
    leak: Any = None  # None: no leak if causes are given; learned with the causes unless it is 0
    neutral: Mapping[str, Any] = field(default_factory=dict)  # states without effect, if not the default

    called: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.causes, Mapping):
            raise NetworkError(f"the causes of a {self.called} are {{parent: strength}}, not {self.causes!r:.60}")
        if not isinstance(self.neutral, Mapping):
            raise NetworkError(f"neutral must be {{parent: state without effect}}, but is {self.neutral!r:.60}")
        object.__setattr__(self, "causes", Fixed(self.causes))
        object.__setattr__(self, "neutral", Fixed(self.neutral))

    @property
    def known(self) -> bool:
        return bool(self.causes)

    @property
    def leaks(self) -> bool:
        """Whether a leak may be learned."""
        return self.leak is None

    def bare(self) -> Self:
        return replace(self, causes={}, leak=0.0 if self.is_tight else None)

    @property
    def is_tight(self) -> bool:
        """Whether a leak is ruled out, so that none is learned."""
        return isinstance(self.leak, Real) and self.leak == 0

    def kept_leak(self, leak: float, given: object) -> Any:
        """The leak as users read it. Without one, it stays as it was: ruled out, or to be learned."""
        return given if leak > 0 else self.leak

    @property
    def said(self) -> Mapping[str, Any]:
        return {**self.causes, **({} if self.leak is None else {"leak": self.leak})}

    @abstractmethod
    def rows(self, node: CausesNode) -> Array:
        """The parameters, checked."""

    @abstractmethod
    def with_rows(self, node: CausesNode, rows: Array) -> Self:
        """The distribution with these parameters."""

    def neutral_states(self, family: NodeFamily, default: Callable[[tuple[Any, ...]], int]) -> tuple[int, ...]:
        """The index of each parent's neutral state."""
        for name in self.neutral:
            family.check_parent(name, "a neutral state")
        return tuple(
            family.code(parent, self.neutral[parent]) if parent in self.neutral else default(family.states[parent])
            for parent in family.parents
        )

    def _check_family(self, family: NodeFamily) -> None:
        if not family.parents:
            raise NetworkError(f"{family.name!r} is a {self.called}, but has no parents: give it a table")
        for name in self.causes:
            family.check_parent(name, "a strength")
        for missing in (parent for parent in family.parents if self.causes and parent not in self.causes):
            raise NetworkError(f"{family.name!r} has no strength for its parent {missing!r}; give one for each")


class TwoGraded(NoisyDistribution):
    """A noisy node of two states: a strength for each state of a parent that has an effect."""

    def rows(self, node: CausesNode) -> Array:
        found, family = node.start(), node.family
        leak = checked_probability(f"the leak of {family.name!r}", self.leak or 0.0)
        found[0] = 1.0 - leak, leak
        for parent, at, neutral in zip(node.parents, node.starts, node.neutral, strict=False):
            given = self.causes[parent]
            if isinstance(given, float) and 0.0 <= given <= 1.0 and len(family.states[parent]) == 2:
                found[at + 1 - neutral] = 1.0 - given, given
                continue
            rows = given if isinstance(given, Mapping) else None
            for state, strength in by_state(family, parent, neutral, rows, given, "strength").items():
                p = checked_probability(f"the strength of {parent}={state} in {family.name!r}", strength)
                found[at + family.code(parent, state)] = 1.0 - p, p
        return found

    def with_rows(self, node: CausesNode, rows: Array) -> Self:
        causes: dict[str, Any] = {}
        for parent, at, neutral in zip(node.parents, node.starts, node.neutral, strict=False):
            states = node.family.states[parent]
            each = {state: float(rows[at + i, 1]) for i, state in enumerate(states) if i != neutral}
            causes[parent] = each if len(each) > 1 else next(iter(each.values()), 0.0)
        leak = float(rows[0, 1])
        return replace(self, causes=causes, leak=self.kept_leak(leak, leak))

    def _checked(self, family: NodeFamily) -> None:
        self._check_family(family)
        if len(family.own) != 2:
            raise NetworkError(f"{family.name!r} is a {self.called} of {len(family.own)} states, not 2: use a NoisyMax")


def by_state(
    family: NodeFamily, parent: str, neutral: int, rows: Mapping[Any, Any] | None, given: object, what: str
) -> dict[Any, Any]:
    """{state: strength or row} for each state of a parent except the neutral one; if not given by state (None), there
    must be one such state."""
    states = family.states[parent]
    acting = [state for i, state in enumerate(states) if i != neutral]
    if rows is None:
        if len(acting) != 1:
            named = ", ".join(map(str, acting))
            raise NetworkError(f"{family.name!r} must have a {what} for each of {parent}={named}, in a mapping")
        return {acting[0]: given}
    for state in rows:
        family.code(parent, state)
    if states[neutral] in rows:
        raise NetworkError(f"{family.name!r} has a {what} for {parent}={states[neutral]}, the state without effect")
    for missing in (state for state in acting if state not in rows):
        raise NetworkError(f"{family.name!r} has no {what} for {parent}={missing}")
    return dict(rows)


def true_state(states: tuple[object, ...]) -> int:
    """The first state that isn't negative."""
    return next((i for i in range(len(states)) if i != false_state(states)), 0)
