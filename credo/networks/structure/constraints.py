"""Background knowledge: required and forbidden arrows, temporal tiers, maximum parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.errors import NetworkError, check_whole, suggest
from credo.networks import graph
from credo.networks.equivalence import Parents as Parents

Arrow = tuple[int, int]  # (parent, child)
Named = str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]]  # arrows as users give them


@dataclass(frozen=True)
class Constraints:
    """Background knowledge that restricts the allowed graphs. Contradictions are errors that name the arrows.

    >>> names = ["Storm", "Fire", "Smoke"]
    >>> known = Constraints.of(names, required="Fire -> Smoke", tiers=[["Storm"], ["Fire", "Smoke"]])
    >>> known.allows(0, 1), known.allows(1, 0), known.allows(2, 1)  # backwards in time; against a required arrow
    (True, False, False)
    """

    variables: tuple[str, ...]
    required: frozenset[Arrow] = frozenset()
    forbidden: frozenset[Arrow] = frozenset()
    tiers: tuple[int, ...] = ()  # of each variable; arrows lead to the same or a later tier. (): a single tier
    max_parents: int | None = None
    _checked: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self._checked:
            self._check()

    @classmethod
    def of(
        cls,
        variables: Sequence[str],
        *,
        required: Named = (),
        forbidden: Named = (),
        tiers: Sequence[str | Iterable[str]] | None = None,
        max_parents: int | None = None,
    ) -> Constraints:
        """Constraints by name. If there are tiers, each variable is in one."""
        number = {name: i for i, name in enumerate(variables)}
        return cls(
            tuple(variables),
            _arrows(required, number, "required"),
            _arrows(forbidden, number, "forbidden"),
            _tiers(tiers, number),
            max_parents,
        )

    @classmethod
    def none(cls, variables: Sequence[str]) -> Constraints:
        return cls(tuple(variables), _checked=True)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Whether an arrow from i to j is allowed, in row i and column j."""
        found = ~np.eye(len(self.variables), dtype=bool)
        if self.tiers:
            tier = np.array(self.tiers)
            found &= tier[:, None] <= tier[None, :]
        for parent, child in self.forbidden:
            found[parent, child] = False
        for parent, child in self.required:
            found[child, parent] = False
        return found

    def allows(self, parent: int, child: int) -> bool:
        """Whether an arrow from one variable to another is allowed."""
        return bool(self.allowed[parent, child])

    @cached_property
    def required_parents(self) -> Parents:
        """The smallest graph that is allowed."""
        above: list[list[int]] = [[] for _ in self.variables]
        for parent, child in sorted(self.required):
            above[child].append(parent)
        return tuple(map(tuple, above))

    @property
    def most(self) -> int:
        """The largest allowed number of parents."""
        return len(self.variables) if self.max_parents is None else self.max_parents

    def objection(self, parents: Parents) -> str | None:
        """Why a graph isn't allowed; None if it is."""
        arrows = {(parent, child) for child, above in enumerate(parents) for parent in above}
        for arrow in sorted(self.required - arrows):
            return f"the required arrow {self._shown(arrow)} isn't in it"
        for arrow in sorted(arrows):
            if not self.allows(*arrow):
                return f"its arrow {self._shown(arrow)} is forbidden, or against a required one or the tiers"
        for child, above in enumerate(parents):
            if len(above) > self.most:
                return f"{self.variables[child]!r} has {len(above)} parents, more than max_parents={self.most}"
        return None

    def checked(self, parents: Parents) -> Parents:
        """A starting graph, if it is allowed."""
        if what := self.objection(parents):
            raise NetworkError(f"the starting network contradicts the constraints: {what}")
        return parents

    def _shown(self, arrow: Arrow) -> str:
        return f"{self.variables[arrow[0]]!r} -> {self.variables[arrow[1]]!r}"

    def _check(self) -> None:
        for arrow in sorted(self.required & self.forbidden):
            raise NetworkError(f"the arrow {self._shown(arrow)} is both required and forbidden")
        if self.max_parents is not None:
            check_whole("max_parents", self.max_parents, 0)
        above = {name: list[str]() for name in self.variables}
        for parent, child in sorted(self.required):
            tiers = (self.tiers[parent], self.tiers[child]) if self.tiers else (0, 0)
            if tiers[0] > tiers[1]:
                raise NetworkError(
                    f"the required arrow {self._shown((parent, child))} leads back in time: "
                    f"from tier {tiers[0] + 1} to tier {tiers[1] + 1}"
                )
            above[self.variables[child]].append(self.variables[parent])
        try:
            graph.in_order({name: tuple(own) for name, own in above.items()})
        except NetworkError as error:
            raise NetworkError(f"the required arrows contradict each other: {error}") from None
        for name, own in above.items():
            if len(own) > self.most:
                raise NetworkError(f"{name!r} has {len(own)} required parents, but max_parents={self.most}")


def _arrows(given: Named, number: Mapping[str, int], what: str) -> frozenset[Arrow]:
    """Arrows by index, from text, {child: parents} or pairs of a parent and a child."""
    if isinstance(given, str):
        given = graph.parse_arrows(given)
    if not isinstance(given, Iterable):
        raise NetworkError(
            f"{what} arrows are text, as in 'A -> B', pairs of a parent and a child, or {{child: its parents}}, "
            f"but are {given!r:.60}"
        )
    if isinstance(given, Mapping):
        for child, above in given.items():
            if isinstance(above, str) or not isinstance(above, Iterable):
                raise NetworkError(f"{what} parents of {child!r:.60} must be a list of names, but are {above!r:.60}")
        pairs: list[Any] = [(parent, child) for child, above in given.items() for parent in above]
    else:
        pairs = list(given)
    found = set[Arrow]()
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise NetworkError(f"{what} arrows are pairs of a parent and a child, but one is {pair!r:.60}")
        for unknown in (name for name in pair if not isinstance(name, str) or name not in number):
            known = suggest(unknown, number)
            raise NetworkError(f"a {what} arrow names {unknown!r:.60}, which isn't a column; {known}")
        if pair[0] == pair[1]:
            raise NetworkError(f"a {what} arrow leads from {pair[0]!r} to itself")
        found.add((number[pair[0]], number[pair[1]]))
    return frozenset(found)


def _tiers(given: Sequence[str | Iterable[str]] | None, number: Mapping[str, int]) -> tuple[int, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise NetworkError(f"tiers are lists of names, the earliest first, but are {given!r:.60}")
    found: dict[str, int] = {}
    for tier, named in enumerate(given):
        if not isinstance(named, Iterable):
            raise NetworkError(f"a tier is a list of names, but tier {tier + 1} is {named!r:.60}")
        for name in [named] if isinstance(named, str) else named:
            if not isinstance(name, str) or name not in number:
                raise NetworkError(f"tier {tier + 1} names {name!r:.60}, which isn't a column; {suggest(name, number)}")
            if name in found:
                raise NetworkError(f"{name!r} is in two tiers, {found[name] + 1} and {tier + 1}")
            found[name] = tier
    for name in (name for name in number if name not in found):
        raise NetworkError(f"{name!r} is in no tier; the tiers must name each column once, the earliest first")
    return tuple(found[name] for name in number)
