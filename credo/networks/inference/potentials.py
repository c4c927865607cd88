"""A network's factors in the form that kernels read: variables and factors by index, all tables in one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from credo._kernels.networks.shapes import Factors
from credo.networks.factor import Factor
from credo.networks.graph import in_order
from credo.networks.inference.state_index import StateIndex
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.tables import States


@dataclass(frozen=True, eq=False)
class Numbered:
    """∏ factors · exp(log_scale), over variables without names; no value is above 1."""

    card: Integers
    factors: Factors
    with_zeros: Flags  # (factors): whether it has zeros
    log_scale: float
    children: Integers  # (factors): the variable whose conditional table a factor is; -1: none

    @property
    def directed(self) -> bool:
        """Whether each variable has a table, and rows can be drawn along the arrows."""
        return len(self.children) == len(self.card) and bool((self.children >= 0).all())

    @cached_property
    def log_card(self) -> Array:
        return np.log(self.card)

    @cached_property
    def places(self) -> Integers:
        """Where each variable's states start in an array of all states."""
        return _starts(self.card)

    @cached_property
    def most_states(self) -> int:
        return int(self.card.max(initial=0))

    @cached_property
    def heads(self) -> Integers:
        """The starts of each factor's scope and values. (factors + 1, 2)"""
        return np.stack([self.factors.starts, self.factors.values_at], 1)

    @cached_property
    def axes(self) -> Integers:
        """The variable at each place in scopes, and its stride in the factor's table. (places, 2)"""
        return np.stack([self.factors.scope, self.factors.steps], 1)

    @cached_property
    def scopes(self) -> list[list[int]]:
        """The variables of each factor."""
        at, scope = self.factors.starts.tolist(), self.factors.scope.tolist()
        return [scope[first:last] for first, last in pairwise(at)]

    @cached_property
    def log_least(self) -> list[float]:
        """The logarithm of each factor's smallest positive value, or 0."""
        values, starts = self.factors.values, self.factors.values_at[:-1]
        least = np.minimum.reduceat(np.where(values > 0, values, 1.0), starts) if len(starts) else np.ones(0)
        found: list[float] = np.log(np.minimum(least, 1.0)).tolist()
        return found

    @cached_property
    def lengths(self) -> list[int]:
        """The number of states of each variable."""
        found: list[int] = self.card.tolist()
        return found

    def scope(self, f: int) -> list[int]:
        """The variables of one factor."""
        found: list[int] = self.factors.scope[self.factors.starts[f] : self.factors.starts[f + 1]].tolist()
        return found

    def table(self, f: int) -> Array:
        """A factor's values, with an axis for each variable of its scope."""
        at, shape = int(self.factors.values_at[f]), [self.lengths[v] for v in self.scope(f)]
        return self.factors.values[at : at + prod(shape)].reshape(shape)

    def split(self, flat: Array) -> list[Array]:
        """An array in the layout of the factors' values, split into the factors' tables."""
        at = self.factors.values_at.tolist()
        shapes = ([int(self.card[v]) for v in scope] for scope in self.scopes)
        return [flat[a:b].reshape(shape) for (a, b), shape in zip(pairwise(at), shapes, strict=True)]

    @cached_property
    def near(self) -> tuple[Integers, Integers]:
        """The places of each variable in scopes: slices of the second array, delimited by the first."""
        counts = np.bincount(self.factors.scope, minlength=len(self.card))
        return _starts(counts), np.argsort(self.factors.scope, kind="stable").astype(np.int64)

    @cached_property
    def factor_of(self) -> Integers:
        """The factor that each place in scopes belongs to."""
        return np.repeat(np.arange(len(self.children)), np.diff(self.factors.starts))

    @cached_property
    def loose(self) -> Flags:
        """Variables that are in no factor."""
        found = np.ones(len(self.card), dtype=np.bool_)
        found[self.factors.scope] = False
        return found

    @cached_property
    def unknown(self) -> Integers:
        """The codes of no evidence at all: -1 for each variable."""
        return np.full(len(self.card), -1)

    @cached_property
    def owned(self) -> Integers:
        """The factor that is each variable's conditional table; -1 for none. (variables,)"""
        found, tables = np.full(len(self.card), -1), np.flatnonzero(self.children >= 0)
        found[self.children[tables]] = tables
        return found

    @cached_property
    def unowned(self) -> Integers:
        """The factors that aren't conditional tables."""
        return np.flatnonzero(self.children < 0)

    def part(self, chosen: Integers, together: Integers) -> tuple[Numbered, Integers]:
        """Some of the factors with their variables, variables in no factor, and some more; and the variables' indices
        here. The array of values is shared."""
        starts = self.factors.starts[chosen]
        lengths = self.factors.starts[chosen + 1] - starts
        ends = np.append(0, np.cumsum(lengths))
        places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        scope, there = self.factors.scope[places], self.loose.copy()
        there[scope] = there[together] = True
        variables = np.flatnonzero(there)
        local = np.empty(len(there), dtype=np.int64)
        local[variables] = np.arange(len(variables))
        factors = Factors(
            ends,
            local[scope],
            self.factors.steps[places],
            np.append(self.factors.values_at[chosen], 0),
            self.factors.values,
            self.factors.least[chosen],
        )
        children = self.children[chosen]
        children = np.where(children >= 0, local[children], -1)
        return Numbered(self.card[variables], factors, self.with_zeros[chosen], self.log_scale, children), variables


@dataclass(frozen=True, eq=False)
class Potentials(Numbered, StateIndex):
    """All factors of a network, with the names of its variables and states. Auxiliary variables, which have no name
    here, come after the network's own: they can't be queried."""

    @classmethod
    def of(
        cls, states: States, factors: Sequence[Factor], directed: bool, auxiliary: Mapping[str, int] | None = None
    ) -> Potentials:
        """From factors; in a directed network each factor is the table of the last variable in its scope."""
        sizes = {**{name: len(values) for name, values in states.items()}, **(auxiliary or {})}
        number = {name: i for i, name in enumerate(sizes)}
        with np.errstate(divide="ignore"):
            log_scale = sum(float(np.log(factor.table)) for factor in factors if not factor.scope)
        factors = [factor for factor in factors if factor.scope]
        lengths = np.array([len(factor.scope) for factor in factors], dtype=np.int64)
        scope = np.array([number[name] for factor in factors for name in factor.scope], dtype=np.int64)
        card = np.array([*sizes.values()], dtype=np.int64)
        starts, steps = _starts(lengths), _steps(card[scope], lengths)
        values_at = _starts((card[scope] * steps)[starts[:-1]])
        values = np.concatenate([np.empty(0), *(factor.table.ravel() for factor in factors)])
        cuts = values_at[:-1]  # each table has at least one value, so no segment is empty
        if not directed and len(cuts):
            tops = np.maximum.reduceat(values, cuts)
            tops[tops == 0] = 1.0
            values /= np.repeat(tops, np.diff(values_at))
            log_scale += float(np.log(tops).sum())
        least, zeros = _extremes(values, cuts)
        made = Factors(starts, scope, steps, values_at, values, least)
        children = scope[starts[1:] - 1] if directed else np.full(len(factors), -1)
        return cls(tuple(states), tuple(states.values()), card, made, zeros, log_scale, children)

    def with_values(self, values: Array) -> Potentials:
        """The same factors with other values of at most 1; the structure is shared."""
        least, zeros = _extremes(values, self.factors.values_at[:-1])
        return replace(self, factors=self.factors._replace(values=values, least=least), with_zeros=zeros)

    @cached_property
    def order(self) -> Integers:
        """The variables, parents before children."""
        parents = {child: tuple(scope[:-1]) for child, scope in zip(self.children.tolist(), self.scopes, strict=True)}
        return np.array(in_order(parents), dtype=np.int64)

    @cached_property
    def decided(self) -> Flags:
        """Deterministic variables: each row of the table has a 1 and zeros."""
        found = np.zeros(len(self.card), dtype=np.bool_)
        for f, v in enumerate(self.children.tolist()):
            own = self.table(f)
            found[v] |= v >= 0 and len(self.scopes[f]) > 1 and bool(((own == 0.0) | (own == 1.0)).all())
        return found

    @property
    def own(self) -> int:
        """The number of variables that aren't auxiliary."""
        return len(self.names)

    @cached_property
    def is_decided(self) -> bool:
        """Whether the auxiliary variables, if there are any, are functions of the others: tables of 0 and 1."""
        tables = (self.table(f) for f, child in enumerate(self.children.tolist()) if child >= self.own)
        return all(bool(((own == 0.0) | (own == 1.0)).all()) for own in tables)

    @cached_property
    def _implied(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        return {}

    def implied(self, v: int, code: int) -> list[tuple[int, int]]:
        """Auxiliary variables whose state is implied by a variable's state: if a noisy-OR is false, no cause had an
        effect. The other variables in their factors are then independent."""
        found = self._implied.get((v, code))
        if found is None:
            found = self._implied[v, code] = self._implied_by(v, code)
        return found

    def _implied_by(self, v: int, code: int) -> list[tuple[int, int]]:
        found, possible = list[tuple[int, int]](), np.arange(self.card[v]) == code
        while True:
            f = int(self.owned[v])
            above = [u for u in self.scope(f)[:-1] if u >= self.own]
            if len(above) != 1:  # the auxiliary variables of a node form a chain
                return found
            ways = self.table(f)[..., possible] > 0
            axis = self.scope(f).index(above[0])
            v, possible = above[0], ways.any(tuple(i for i in range(ways.ndim) if i != axis))
            if possible.all():  # and so are all before it: each row of a table has a positive entry
                return found
            if possible.sum() == 1:
                found.append((v, int(possible.argmax())))

    @cached_property
    def softened(self) -> Factors:
        """The same factors with zeros replaced by small values, so that a chain can leave impossible states."""
        return self.factors._replace(values=np.maximum(self.factors.values, 1e-6))


def _steps(lengths: Integers, counts: Integers) -> Integers:
    """The strides of many tables in C order, `counts` axes each."""
    found, left, at = np.ones(len(lengths), dtype=np.int64), counts - 2, np.cumsum(counts) - 2
    while len(at := at[left >= 0]):  # from the second-to-last axis
        left = left[left >= 0]
        found[at] = found[at + 1] * lengths[at + 1]
        at, left = at - 1, left - 1
    return found


def _starts(sizes: Integers) -> Integers:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def _extremes(values: Array, starts: Integers) -> tuple[Array, Flags]:
    """The smallest positive value of each factor, and whether it has zeros."""
    if not len(starts):
        return np.empty(0), np.empty(0, dtype=np.bool_)
    return np.minimum.reduceat(np.where(values > 0, values, 1.0), starts), np.logical_or.reduceat(values == 0, starts)
