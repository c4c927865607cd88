"""The ground network of plates: components of copies that are connected through unknown ones.

Known copies separate the copies on either side. The rest divides into components, most of which have the same
structure: one network serves all of these, with a row for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.engines.partitions import Loaded
from credo.networks import graph
from credo.networks.inference.coding import CodedRows
from credo.networks.network import Network
from credo.networks.tables import States
from credo.networks.templates.plates import Parents, Places, Plates, plate_of
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

Family = tuple[int, tuple[int, ...]]  # a variable's index, -1 - index if it is given; its parents, by place
Structure = tuple[Family, ...]
Shapes = NDArray[np.uint64]
ODD_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64
)


@dataclass(frozen=True, eq=False)
class Ground:
    """Every variable of every member, by index: those of variable v begin at `offsets[v]`."""

    parents: Parents
    states: States
    plates: Plates

    @cached_property
    def offsets(self) -> dict[str, int]:
        sizes = [self.plates.by_name[plate_of(name)].size for name in self.parents]
        return dict(zip(self.parents, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))

    @cached_property
    def codes(self) -> Codes:
        return np.concatenate([self.plates.codes[name] for name in self.parents])

    @cached_property
    def families(self) -> dict[str, Places]:
        """The indices of each copy's parents, and its own. (members, parents + 1)"""
        found = {}
        for name in self.parents:
            columns = [self.offsets[each] + place for each, place in self.plates.family(name, self.parents)]
            found[name] = np.stack(columns, 1)
        return found

    @cached_property
    def components(self) -> Places:
        """The component of each copy; -1 if it is known."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        unknown, size = self.codes < 0, len(self.codes)
        ends = [np.empty((0, 2), dtype=np.intp)]
        for own in self.families.values():
            for i in range(own.shape[1]):
                for j in range(i):
                    pairs = own[:, [i, j]]
                    ends.append(pairs[unknown[pairs].all(1)])
        left, right = np.concatenate(ends).T
        links = coo_matrix((np.ones(len(left), dtype=np.int8), (left, right)), shape=(size, size))
        labels = connected_components(links, directed=False)[1].astype(np.intp)
        return np.where(unknown, labels, -1)

    def component_of_family(self, name: str) -> Places:
        """The component of the unknown copies in each copy's table; -1 if all are known. (members,)"""
        found: Places = self.components[self.families[name]].max(1)
        return found

    @cached_property
    def shapes(self) -> Shapes:
        """A hash of the subtree below each copy, from products of odd numbers: equal hashes nearly always mean equal
        shapes. Sorting siblings by it makes equal structures more frequent; nothing else depends on it."""
        found: Shapes = np.where(self.codes < 0, ODD_MULTIPLIERS[0], ODD_MULTIPLIERS[1])
        for v, name in enumerate(reversed(graph.in_order(self.parents))):
            families = self.families[name][self.component_of_family(name) >= 0]
            own = (found[families[:, -1]] + np.uint64(v)) * ODD_MULTIPLIERS[2]
            for k in range(families.shape[1] - 1):
                np.add.at(
                    found, families[:, k], (own ^ (own >> np.uint64(31))) * (ODD_MULTIPLIERS[3] + np.uint64(2 * k))
                )
        return found

    def named(self, number: int) -> str:
        """The name of a copy."""
        name = self.variable_of(number)
        plate = self.plates.by_name[plate_of(name)]
        return f"{name}[{plate.members[number - self.offsets[name]]}]"

    def variable_of(self, number: int) -> str:
        return self._names[int(np.searchsorted(self._starts, number, side="right")) - 1]

    @cached_property
    def _names(self) -> list[str]:
        return [name for name in self.offsets if self.plates.by_name[plate_of(name)].size]

    @cached_property
    def _starts(self) -> Places:
        return np.array([self.offsets[name] for name in self._names], dtype=np.intp)

    def copies(self, components: Iterable[int] | None = None) -> list[Copies]:
        """The components, all or some, grouped by structure."""
        wanted = None if components is None else np.array(sorted({*components}), dtype=np.intp)
        order = graph.in_order(self.parents)
        number = {name: v for v, name in enumerate(order)}
        growing: dict[int, Assembly] = {}
        for v, name in enumerate(order):
            place = self.component_of_family(name)
            mine = np.flatnonzero(place >= 0 if wanted is None else np.isin(place, wanted))
            above = [number[parent] for parent in self.parents[name]]
            families: dict[int, list[list[int]]] = {}
            for component, family in zip(place[mine].tolist(), self.families[name][mine].tolist(), strict=True):
                families.setdefault(component, []).append(family)
            for component, own in families.items():
                growing.setdefault(component, Assembly(self.shapes)).add(v, above, own)
        groups: dict[Structure, list[list[int]]] = {}
        for each in growing.values():
            groups.setdefault(tuple(each.structure), []).append(each.numbers)
        return [
            Copies(order, self.states, structure, np.array(numbers, dtype=np.intp), self.codes[np.array(numbers)].T)
            for structure, numbers in groups.items()
        ]


@dataclass(eq=False)
class Assembly:
    """A component under construction: parents before children, and siblings ordered by parents and shapes."""

    shapes: Shapes
    numbers: list[int] = field(default_factory=list)
    structure: list[Family] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)

    def add(self, v: int, above: Sequence[int], families: Sequence[Sequence[int]]) -> None:
        """Add the tables of one variable. Parents that aren't there yet are known copies."""
        shapes = self.shapes[[family[-1] for family in families]].tolist()
        keyed = [
            (tuple(self.place.get(parent, -1) for parent in family[:-1]), shape, family)
            for family, shape in zip(families, shapes, strict=True)
        ]
        for _, _, family in sorted(keyed):
            *parents, own = family
            for variable, parent in zip(above, parents, strict=True):
                if parent not in self.place:
                    self._append(parent, (-1 - variable, ()))
            self._append(own, (v, tuple(self.place[parent] for parent in parents)))

    def _append(self, number: int, family: Family) -> None:
        self.place[number] = len(self.numbers)
        self.numbers.append(number)
        self.structure.append(family)


@dataclass(frozen=True, eq=False)
class Copies(Loaded):
    """Components of one structure: a network, and a row of known states for each."""

    order: tuple[str, ...]  # the variables, by index
    states: States
    structure: Structure
    numbers: Places  # indices of the copies, in each row. (rows, copies)
    codes: Codes  # (copies, rows)

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def coded(self) -> CodedRows:
        return CodedRows(None, np.ascontiguousarray(self.codes), np.ones(self.rows))

    def variable(self, place: int) -> str:
        """The variable of a copy."""
        v, _ = self.structure[place]
        return self.order[v if v >= 0 else -1 - v]

    def tables(self, tables: Mapping[str, Array]) -> list[Array]:
        """The tables of the copies; those of known copies, which don't matter, are uniform."""
        return [
            tables[self.order[v]] if v >= 0 else np.full(len(self.states_at(i)), 1.0 / len(self.states_at(i)))
            for i, (v, _) in enumerate(self.structure)
        ]

    def states_at(self, place: int) -> tuple[Any, ...]:
        return self.states[self.variable(place)]

    def network(self, tables: Mapping[str, Array]) -> Network:
        """The network over the copies, by index; copies of one variable share its table."""
        own = dict(zip(self.compiled.parents, self.tables(tables), strict=True))
        return self.compiled.with_tables(own)

    @cached_property
    def compiled(self) -> Network:
        """The network with arbitrary tables, whose compiled trees serve all."""
        names = [str(i) for i in range(len(self.structure))]
        parents = {names[i]: tuple(names[p] for p in above) for i, (_, above) in enumerate(self.structure)}
        states = {name: self.states_at(i) for i, name in enumerate(names)}
        tied = {names[i]: self.order[v] for i, (v, _) in enumerate(self.structure) if v >= 0}
        uniform = {name: _uniform([len(states[each]) for each in (*parents[name], name)]) for name in names}
        return Network(parents, uniform, states, tied)

    @cached_property
    def log_known(self) -> float:
        """log P of the known copies under their uniform tables, in each row."""
        return -float(sum(np.log(len(self.states_at(i))) for i, (v, _) in enumerate(self.structure) if v < 0))


def _uniform(shape: Sequence[int]) -> Array:
    return np.full(shape, 1.0 / shape[-1])
