"""The factors of a slice, in parts that are independent given the previous interface and its own.

T(i, j) = P(interface = j, evidence | previous interface = i) = base(i, j) · ∏ Σ ∏ factors of a part: the parts of most
models are single variables, so few distinct cases are summed out, however long the sequence is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo.errors import SizeError
from credo.networks.factor import Factor
from credo.networks.templates.contraction import CaseFactor, Scope, cases_at_once, contract, spread
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

Likelihoods = Mapping[str, Array]  # likelihoods by variable: (codes, states); the last code is a missing cell
MOST_INTERFACE_STATES = 2**12  # joint states
LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class SlicePart:
    """Variables of a slice that are independent of the others given the boundary: names of this or the previous
    interface."""

    names: Scope
    boundary: Scope
    factors: tuple[Factor, ...]

    def cases(self, codes: Mapping[str, Codes], likelihoods: Likelihoods, cases: slice) -> list[CaseFactor]:
        """Its factors, and the evidence on its variables in each case."""
        seen: list[CaseFactor] = [((name,), likelihoods[name][codes[name][cases]]) for name in self.names]
        return [*((factor.scope, factor.table[None]) for factor in self.factors), *seen]

    def summed(self, codes: Mapping[str, Codes], likelihoods: Likelihoods, keep: Scope, *, best: bool = False) -> Array:
        """Σ (or max) ∏ factors of each case, over the names that aren't kept. (cases, kept...)"""
        found = []
        for own, factors in self._chunks(codes, likelihoods, keep, None):
            table = contract(factors, keep, best=best)
            found.append(np.broadcast_to(table, (own.stop - own.start, *table.shape[1:])))
        return np.concatenate(found)

    def totals(self, codes: Mapping[str, Codes], likelihoods: Likelihoods, keep: Scope, also: CaseFactor) -> Array:
        """The sum over all cases, with a weight for each state of the boundary. (kept...)"""
        chunks = self._chunks(codes, likelihoods, keep, also)
        return np.sum([contract(factors, keep).sum(0) for _, factors in chunks], axis=0)  # type: ignore[no-any-return]

    def _chunks(
        self, codes: Mapping[str, Codes], likelihoods: Likelihoods, keep: Scope, also: CaseFactor | None
    ) -> Iterator[tuple[slice, list[CaseFactor]]]:
        cases = len(codes[self.names[0]])
        one = self.cases(codes, likelihoods, slice(0, 1)) + ([(also[0], also[1][:1])] if also else [])
        size = cases_at_once(one, keep)
        for start in range(0, cases, size):
            own = slice(start, min(cases, start + size))
            yield own, self.cases(codes, likelihoods, own) + ([(also[0], also[1][own])] if also else [])


@dataclass(frozen=True, eq=False)
class SliceFactors:
    """The tables of one slice, given the previous interface, which the first slice doesn't have."""

    before: Scope  # previous(...) of each name of the interface; () in the first slice
    interface: Scope
    sizes: Mapping[str, int]  # the number of states of each name
    factors: Mapping[str, Factor]  # of each variable

    @property
    def boundary(self) -> Scope:
        return self.before + self.interface

    @cached_property
    def base_factors(self) -> Mapping[str, Factor]:
        """The factors over the boundary alone."""
        known = {*self.boundary}
        return {name: factor for name, factor in self.factors.items() if known.issuperset(factor.scope)}

    @cached_property
    def parts(self) -> tuple[SlicePart, ...]:
        """The parts: variables outside the boundary, joined if they share a factor."""
        known, group = {*self.boundary}, dict[str, set[str]]()
        for factor in self.factors.values():
            inner = {name for name in factor.scope if name not in known}
            joined = {other for name in inner for other in group.get(name, {name})}
            for name in joined:
                group[name] = joined
        found = {min(group[name]): group[name] for name in self.factors if name in group}
        return tuple(self._part(own) for own in found.values())

    def _part(self, own: set[str]) -> SlicePart:
        factors = tuple(factor for factor in self.factors.values() if own.intersection(factor.scope))
        scopes = {name for factor in factors for name in factor.scope}
        names = tuple(name for name in self.factors if name in own)
        return SlicePart(names, tuple(name for name in self.boundary if name in scopes), factors)

    @cached_property
    def emissions(self) -> tuple[SlicePart, ...]:
        """Parts that depend on the slice's own interface alone."""
        return tuple(part for part in self.parts if not {*part.boundary} & {*self.before})

    @cached_property
    def couplings(self) -> tuple[SlicePart, ...]:
        """Parts that also depend on the previous interface."""
        return tuple(part for part in self.parts if {*part.boundary} & {*self.before})

    @cached_property
    def coupled(self) -> Scope:
        """The variables of couplings."""
        return tuple(name for part in self.couplings for name in part.names)

    @cached_property
    def states(self) -> int:
        """The number of joint states of the interface."""
        return prod(self.sizes[name] for name in self.interface)

    @cached_property
    def base(self) -> Array:
        """∏ of the factors of the boundary alone. (states before, states)"""
        sizes = [self.sizes[name] for name in self.boundary]
        if self.states > MOST_INTERFACE_STATES:
            names = ", ".join(self.interface[:5]) + (", ..." if len(self.interface) > 5 else "")
            raise SizeError(
                f"the interface between slices ({names}) has {self.states:,} joint states, and exact filtering takes "
                f"a table of their pairs: at most {MOST_INTERFACE_STATES:,} are possible"
            )
        table = np.ones((1, *sizes))
        for factor in self.base_factors.values():
            table = table * spread(factor.table[None], factor.scope, self.boundary, self.sizes)
        return table.reshape(-1, self.states)


def distinct(codes: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Distinct columns: the first occurrence of each, and the distinct column that each equals.

    >>> distinct([np.array([0, 1, 0], np.int32), np.array([2, -1, 2], np.int32)], [2, 3])
    (array([0, 1]), array([0, 1, 0]))
    """
    keys = np.zeros(len(codes[0]) if codes else 0, dtype=np.int64)
    width = 1
    for own, size in zip(codes, sizes, strict=True):
        if width * (size + 1) > LARGEST_KEY:
            _, keys = np.unique(keys, return_inverse=True)
            width = int(keys.max(initial=0)) + 1
        keys = keys * (size + 1) + (own % (size + 1))
        width *= size + 1
    if width <= max(2**16, len(keys)):  # counting is faster than sorting
        first = np.full(width, -1, dtype=np.intp)
        first[keys[::-1]] = np.arange(len(keys))[::-1]
        there = np.flatnonzero(first >= 0)
        place = np.empty(width, dtype=np.intp)
        place[there] = np.arange(len(there))
        return first[there], place[keys]
    _, at, which = np.unique(keys, return_index=True, return_inverse=True)
    return at, which
