"""A dynamic network as a chain over the joint states of its interface (Murphy 2002), with likelihoods of slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.engines.partitions import Loaded
from credo.networks.factor import Factor
from credo.networks.templates import slices
from credo.networks.templates.contraction import Scope, spread
from credo.networks.templates.slice_factors import Likelihoods, SliceFactors, SlicePart, distinct
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.tables import States

Places = NDArray[np.intp]
MOST_KEPT_CASES = 256  # evidence patterns of a part for which all tables are computed once and kept
MOST_KEPT_NUMBERS = 2**16  # numbers in the kept transitions


@dataclass(frozen=True, eq=False)
class CodedSlices(Loaded):
    """Sequences as state codes: sequence n is rows starts[n] to starts[n + 1].

    A code beyond the states is one of `likelihoods`: virtual evidence.
    """

    start: int | None  # the number of the first row in the table
    names: Scope
    codes: Codes  # (names, rows), -1 where a cell is missing
    starts: Places  # (sequences + 1,)
    weight: Array  # (sequences,)
    likelihoods: Mapping[str, Array]  # (codes beyond the states, states)
    log_scale: float = 0.0  # log of the factor by which likelihoods were divided

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all cells of a sequence are known. (sequences,)"""
        missing = np.append(0, np.cumsum((self.codes < 0).any(0)))
        return np.asarray(missing[self.starts[1:]] == missing[self.starts[:-1]])

    def only(self, chosen: Places) -> CodedSlices:
        """The same for some of the sequences."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.append(0, np.cumsum(lengths))
        rows = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return CodedSlices(None, self.names, self.codes[:, rows], starts, self.weight[chosen], {}, 0.0)


@dataclass(frozen=True, eq=False)
class EvidenceCases:
    """The distinct evidence on a part's variables, and the case of each row."""

    part: SlicePart
    rows: Places
    which: Places  # (rows,)
    codes: Mapping[str, Codes]  # (cases,)
    every: bool  # whether these are all possible cases


@dataclass(frozen=True, eq=False)
class SliceLikelihoods:
    """The likelihoods log P(evidence | interface state) of rows, and the transitions."""

    logs: Array  # (rows, states)
    keys: Places  # (rows,)
    transitions: Array  # (keys, states, states)
    cases: tuple[EvidenceCases, ...]  # cases of the parts that depend on the slice's own interface
    coupled: tuple[EvidenceCases, ...]  # cases of parts that also depend on the previous interface: one for each key
    likelihoods: Likelihoods


@dataclass(frozen=True, eq=False)
class SliceChain:
    """P(first slice) and P(slice | previous interface), as products of parts."""

    names: Scope
    sizes: Mapping[str, int]
    first: SliceFactors
    later: SliceFactors
    starting: Scope  # variables with a separate table in the first slice

    @classmethod
    def of(
        cls, parents: Mapping[str, Scope], states: States, first: Mapping[str, Array], later: Mapping[str, Array]
    ) -> SliceChain:
        """The chain from the tables of each variable in the first slice and in later ones."""
        own = slices.interface(parents)
        sizes = {name: len(states[name]) for name in parents} | {
            slices.previous(name): len(states[name]) for name in own
        }
        inside = slices.within(parents)
        begun = {name: Factor((*inside[name], name), first[name]) for name in parents}
        followed = {name: Factor((*parents[name], name), later[name]) for name in parents}
        before = tuple(map(slices.previous, own))
        start, rest = SliceFactors((), own, sizes, begun), SliceFactors(before, own, sizes, followed)
        return cls(tuple(parents), sizes, start, rest, slices.starting(parents))

    def label(self, name: str, model: SliceFactors) -> str:
        """The label of a variable's table, in the first slice or in later ones."""
        return slices.first(name) if model is self.first and name in self.starting else name

    @property
    def states(self) -> int:
        return self.later.states

    @cached_property
    def log_initial(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.first.base[0]))

    def likelihoods_of(self, coded: CodedSlices) -> Likelihoods:
        """P(evidence | state) by code; the last row, code -1, is for a missing cell."""
        more = coded.likelihoods
        if not more:
            return self._of_states
        return {name: _by_code(self.sizes[name], more.get(name)) for name in self.names}

    @cached_property
    def _of_states(self) -> Likelihoods:
        return {name: _by_code(self.sizes[name], None) for name in self.names}

    @cached_property
    def _cached_tables(self) -> dict[tuple[str, Scope, bool], Array]:
        """Cached tables of parts with few cases, for all cases: by slice (first or later), names, and sum or
        maximum."""
        return {}

    def read(
        self, coded: CodedSlices, a: int, b: int, *, continues: bool = False, best: bool = False
    ) -> SliceLikelihoods:
        """The likelihoods of rows a to b; continues: row a continues a sequence; best: maximise over other variables
        instead of summing."""
        likelihoods, codes = self.likelihoods_of(coded), dict(zip(coded.names, coded.codes[:, a:b], strict=True))
        begins = np.zeros(b - a, dtype=np.bool_)
        inside = coded.starts[:-1][(coded.starts[:-1] >= a) & (coded.starts[:-1] < b)]
        begins[inside - a] = True
        begins[:1] &= not continues
        logs, found = np.zeros((b - a, self.states)), list[EvidenceCases]()
        with np.errstate(divide="ignore"):
            for name in self.later.interface:
                if (codes[name] >= 0).any():
                    table = spread(likelihoods[name], (name,), self.later.interface, self.sizes)
                    logs += np.log(table.reshape(len(table), -1))[codes[name]]
        first, later = np.flatnonzero(begins), np.flatnonzero(~begins)
        for which, model, rows in (("first", self.first, first), ("later", self.later, later)):
            for part in model.emissions if len(rows) else ():
                cases = _cases(part, part.names, rows, codes, likelihoods)
                logs[rows] += self._log_emission(which, cases, likelihoods, best)[cases.which]
                found.append(cases)
        keys, transitions, coupled = self._transitions(later, b - a, codes, likelihoods, best)
        return SliceLikelihoods(logs, keys, transitions, tuple(found), coupled, likelihoods)

    def _log_emission(self, which: str, cases: EvidenceCases, likelihoods: Likelihoods, best: bool) -> Array:
        """log P(evidence | interface state) of each case. (cases, states)"""
        key = which, cases.part.names, best
        if cases.every and key in self._cached_tables:
            return self._cached_tables[key]
        table = cases.part.summed(cases.codes, likelihoods, cases.part.boundary, best=best)
        wide = spread(table, cases.part.boundary, self.later.interface, self.sizes)
        with np.errstate(divide="ignore"):
            found = np.log(wide.reshape(len(wide), -1))
        if cases.every:
            self._cached_tables[key] = found
        return found

    def _transitions(
        self, rows: Places, size: int, codes: Mapping[str, Codes], likelihoods: Likelihoods, best: bool
    ) -> tuple[Places, Array, tuple[EvidenceCases, ...]]:
        """The transition into each row, and the distinct transitions."""
        model, keys = self.later, np.zeros(size, dtype=np.intp)
        transitions = model.base.reshape(1, self.states, -1) if model.before else np.ones((1, 1, 1))
        if not model.couplings or not len(rows):
            return keys, transitions, ()
        of_all = _cases(
            model.couplings[0], model.coupled, rows, codes, likelihoods, MOST_KEPT_NUMBERS // self.states**2
        )
        keys[rows] = of_all.which
        each = [{name: of_all.codes[name] for name in part.names} for part in model.couplings]
        found = tuple(
            EvidenceCases(part, rows, of_all.which, own, of_all.every)
            for part, own in zip(model.couplings, each, strict=True)
        )
        key = "coupled", model.coupled, best
        if of_all.every and key in self._cached_tables:
            return keys, self._cached_tables[key], found
        for cases in found:
            table = cases.part.summed(cases.codes, likelihoods, cases.part.boundary, best=best)
            wide = spread(table, cases.part.boundary, model.boundary, self.sizes)
            transitions = transitions * wide.reshape(len(wide), self.states, self.states)
        if of_all.every:
            self._cached_tables[key] = transitions
        return keys, transitions, found


def _by_code(size: int, more: Array | None) -> Array:
    """P(evidence | state) for each code: states, virtual evidence, and a missing cell."""
    beyond = np.empty((0, size)) if more is None else more
    return np.concatenate([np.eye(size), beyond, np.ones((1, size))])


def _cases(
    part: SlicePart,
    names: Scope,
    rows: Places,
    codes: Mapping[str, Codes],
    likelihoods: Likelihoods,
    most: int = MOST_KEPT_CASES,
) -> EvidenceCases:
    """The distinct cases; or all possible ones, if they are few and their tables can be kept."""
    own, sizes = [codes[name][rows] for name in names], [len(likelihoods[name]) - 1 for name in names]
    hard = all(likelihoods[name].shape == (size + 1, size) for name, size in zip(names, sizes, strict=True))
    if hard and prod(size + 1 for size in sizes) <= min(most, MOST_KEPT_CASES):
        which = np.zeros(len(rows), dtype=np.intp)
        for each, size in zip(own, sizes, strict=True):
            which = which * (size + 1) + each % (size + 1)
        return EvidenceCases(part, rows, which, every_case(names, tuple(sizes)), every=True)
    first, which = distinct(own, sizes)
    return EvidenceCases(
        part, rows, which, {name: each[first] for name, each in zip(names, own, strict=True)}, every=False
    )


@lru_cache(maxsize=1024)
def every_case(names: Scope, sizes: tuple[int, ...]) -> Mapping[str, Codes]:
    """The codes of all cases, in the order of their numbers; the last of each variable, -1, is a missing cell.

    >>> every_case(("rain",), (2,))
    {'rain': array([ 0,  1, -1], dtype=int32)}
    """
    grid = np.indices([size + 1 for size in sizes]).reshape(len(sizes), -1)
    known = np.where(grid == np.array(sizes)[:, None], -1, grid).astype(np.int32)
    return dict(zip(names, known, strict=True))
