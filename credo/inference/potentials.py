"""A network's factors as kernels read them: variables and factors by number, all tables in one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.shapes import Factors
from credo.exact import Array
from credo.factor import Factor
from credo.graph import in_order

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Potentials:
    """∏ factors · exp(log_scale): each factor is scaled so that its largest value is 1."""

    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    card: Integers
    factors: Factors
    log_scale: float
    children: Integers  # (factors): whose conditional table it is; -1: it is none

    @classmethod
    def of(cls, states: Mapping[str, tuple[Any, ...]], factors: Sequence[Factor], directed: bool) -> Potentials:
        """Of a belief network if directed: then each factor is a table of the last variable in its scope."""
        number = {name: i for i, name in enumerate(states)}
        with np.errstate(divide="ignore"):
            log_scale = sum(float(np.log(factor.table)) for factor in factors if not factor.scope)
        factors = [factor for factor in factors if factor.scope]
        scopes = [[number[name] for name in factor.scope] for factor in factors]
        tables = [np.asarray(factor.table, dtype=np.float64, order="C") for factor in factors]
        tops = np.array([table.max(initial=0.0) for table in tables])
        if not directed:
            tables = [table / top if top > 0 else table for table, top in zip(tables, tops.tolist(), strict=True)]
            log_scale += float(np.log(tops[tops > 0]).sum())
        made = Factors(
            _starts([len(scope) for scope in scopes]),
            np.array([v for scope in scopes for v in scope], dtype=np.int64),
            np.array([step for table in tables for step in _steps(table.shape)], dtype=np.int64),
            _starts([table.size for table in tables]),
            np.concatenate([table.reshape(-1) for table in tables]) if tables else np.empty(0),
            np.array([table[table > 0].min(initial=1.0) for table in tables]),
        )
        children = np.array([scope[-1] if directed else -1 for scope in scopes], dtype=np.int64)
        card = np.array([len(values) for values in states.values()], dtype=np.int64)
        return cls(tuple(states), tuple(states.values()), card, made, log_scale, children)

    @property
    def directed(self) -> bool:
        """Whether each variable has a table, and rows can be drawn along the arrows."""
        return len(self.children) == len(self.card) and bool((self.children >= 0).all())

    @cached_property
    def log_card(self) -> Array:
        return np.log(self.card)

    @cached_property
    def places(self) -> Integers:
        """Where each variable's states start, if they stand one after another."""
        return _starts(self.card.tolist())

    @cached_property
    def most_states(self) -> int:
        return int(self.card.max(initial=0))

    @cached_property
    def heads(self) -> Integers:
        """(factors + 1, 2): where each one's scope starts, and its values."""
        return np.stack([self.factors.starts, self.factors.values_at], 1)

    @cached_property
    def axes(self) -> Integers:
        """(places in scopes, 2): the variable, and its step in the factor's table."""
        return np.stack([self.factors.scope, self.factors.steps], 1)

    @cached_property
    def with_zeros(self) -> Flags:
        """(factors): whether it calls something impossible."""
        at, values = self.factors.values_at, self.factors.values
        zeros = np.append(0, np.cumsum(values == 0.0))
        return np.asarray(zeros[at[1:]] > zeros[at[:-1]])

    @cached_property
    def scopes(self) -> list[list[int]]:
        """The variables of each factor."""
        at, scope = self.factors.starts.tolist(), self.factors.scope.tolist()
        return [scope[first:last] for first, last in pairwise(at)]

    def table(self, f: int) -> Array:
        """A factor's values, an axis for each variable of its scope."""
        at = self.factors.values_at
        return self.factors.values[at[f] : at[f + 1]].reshape(self.card[self.scopes[f]])

    @cached_property
    def near(self) -> tuple[Integers, Integers]:
        """Where each variable stands in scopes: of the second array, from the first array's entry to its next."""
        counts = np.bincount(self.factors.scope, minlength=len(self.card))
        return _starts(counts.tolist()), np.argsort(self.factors.scope, kind="stable").astype(np.int64)

    @cached_property
    def factor_of(self) -> Integers:
        """The factor that each place in scopes belongs to."""
        return np.repeat(np.arange(len(self.children)), np.diff(self.factors.starts))

    @cached_property
    def order(self) -> Integers:
        """The variables, parents before children."""
        parents = {child: tuple(scope[:-1]) for child, scope in zip(self.children.tolist(), self.scopes, strict=True)}
        return np.array(in_order(parents), dtype=np.int64)

    @cached_property
    def decided(self) -> Flags:
        """Variables whose parents leave no choice: each row of the table has a 1 and zeros."""
        found = np.zeros(len(self.card), dtype=np.bool_)
        for f, v in enumerate(self.children.tolist()):
            own = self.table(f)
            found[v] |= v >= 0 and len(self.scopes[f]) > 1 and bool(((own == 0.0) | (own == 1.0)).all())
        return found

    @cached_property
    def softened(self) -> Factors:
        """The same factors, with what is impossible only very improbable: a way out of impossible states."""
        return self.factors._replace(values=np.maximum(self.factors.values, 1e-6))

    def log_value(self, codes: Integers) -> float:
        """log ∏ factors, where each variable has that state."""
        at = self.factors.values_at[:-1] + np.bincount(
            self.factor_of, codes[self.factors.scope] * self.factors.steps, len(self.children)
        ).astype(np.int64)
        with np.errstate(divide="ignore"):
            return float(np.log(self.factors.values[at]).sum()) + self.log_scale

    @cached_property
    def loose(self) -> Flags:
        """Variables of which no factor says anything."""
        found = np.ones(len(self.card), dtype=np.bool_)
        found[self.factors.scope] = False
        return found

    @cached_property
    def unknown(self) -> Integers:
        """The codes of variables of which nothing is known."""
        return np.full(len(self.card), -1)

    @cached_property
    def codes(self) -> list[dict[Any, int]]:
        """{state: its number} of each variable."""
        return [{state: i for i, state in enumerate(values)} for values in self.states]

    @cached_property
    def spelt(self) -> list[dict[str, int]]:
        """{state, as text: its number}; in lower case too, where that could be no other's."""
        found = []
        for values in self.states:
            texts = [str(state) for state in values]
            lower = Counter(text.lower() for text in texts)
            own = {text.lower(): i for i, text in enumerate(texts) if lower[text.lower()] == 1}
            found.append(own | {text: i for i, text in enumerate(texts)})
        return found

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


def _steps(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis lie, the last axis being the fastest."""
    found, step = list[int](), 1
    for length in reversed(shape):
        found.append(step)
        step *= length
    return found[::-1]


def _starts(sizes: Sequence[int]) -> Integers:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)
