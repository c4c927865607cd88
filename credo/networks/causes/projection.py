"""Latent projections: graphs of the observed variables, with hidden common causes as bidirected arrows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from credo.networks.graph import Parents, children, in_order, reached

Component = frozenset[str]


@dataclass(frozen=True)
class Projection:
    """The latent projection of a graph with hidden variables (Verma 1993): it has an arrow a -> b where a directed path
    leads from a to b through hidden variables alone, and a <-> b where two such paths lead to a and b from one hidden
    variable."""

    parents: Parents
    confounded: frozenset[frozenset[str]]  # pairs with a hidden common cause

    @classmethod
    def of(cls, parents: Parents, hidden: Collection[str]) -> Projection:
        """
        >>> found = Projection.of({"U": (), "X": ("U",), "Y": ("X", "U")}, {"U"})
        >>> found.parents, [sorted(pair) for pair in found.confounded]
        ({'X': (), 'Y': ('X',)}, [['X', 'Y']])
        """
        below = children(parents)
        through = {name: [each for each in own if each in hidden] for name, own in below.items()}
        above: dict[str, dict[str, None]] = {name: {} for name in parents if name not in hidden}
        pairs: set[frozenset[str]] = set()
        for name in parents:
            ways = reached([name], through)
            ends = list(dict.fromkeys(end for each in parents if each in ways for end in below[each]))
            seen = [end for end in ends if end not in hidden]
            if name in hidden:
                pairs |= {frozenset(pair) for pair in combinations(seen, 2)}
            else:
                for end in seen:
                    above[end][name] = None
        place = {name: i for i, name in enumerate(parents)}
        ordered = {name: tuple(sorted(own, key=place.__getitem__)) for name, own in above.items()}
        return cls(ordered, frozenset(pairs))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables, parents first."""
        return in_order(self.parents)

    def ancestors(self, names: Iterable[str], inside: Collection[str] | None = None) -> frozenset[str]:
        """These variables and their ancestors within a part of the graph."""
        allowed = {*self.parents} if inside is None else {*inside}
        along = {name: [each for each in self.parents[name] if each in allowed] for name in allowed}
        return frozenset(reached([name for name in names if name in allowed], along))

    def components(self, inside: Collection[str]) -> list[Component]:
        """The c-components of a part of the graph: variables connected by bidirected arrows."""
        near: dict[str, list[str]] = {name: [] for name in inside}
        for one, two in (tuple(pair) for pair in self.confounded if pair <= {*inside}):
            near[one].append(two)
            near[two].append(one)
        found, left = list[Component](), [name for name in self.order if name in near]
        while left:
            own = frozenset(reached(left[:1], near))
            found.append(own)
            left = [name for name in left if name not in own]
        return found

    def pillow(self, name: str) -> tuple[str, ...]:
        """What a variable depends on among those before it in the order: its c-component and the parents of that (Tian
        and Pearl 2002)."""
        before = self.order[: self.order.index(name) + 1]
        own = next(each for each in self.components(before) if name in each)
        wide = {*own, *(parent for each in own for parent in self.parents[each])} - {name}
        return tuple(each for each in before if each in wide)

    def observed_parents(self) -> dict[str, tuple[str, ...]]:
        """A directed graph of the observed variables that can represent every distribution of them."""
        return {name: self.pillow(name) for name in self.order}
