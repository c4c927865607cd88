"""A network as a file declares it, checked before it is built: errors name the place in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log10, prod
from typing import Any

import numpy as np

from credo.errors import NetworkError, suggest
from credo.formats.names import Remark, cut, remark_in
from credo.networks.network import Network
from credo.networks.nodes.distribution import Distribution
from credo.networks.tables import UNSCALED_SUM_ERROR
from credo.notices import tell
from credo.numerics.exact import Array

FILE_SUM_TOLERANCE = 0.01  # largest deviation of a row's sum from 1: numbers in files are rounded
NOTED_SUM_ERROR = 1e-4  # larger deviations get a notice
MOST_PARENTS_IN_FILE = 63  # NumPy's arrays have at most 64 axes
MOST_SUGGESTIONS = 4  # names in an error message
LONGEST_ROW_NAME = 200  # characters of the parents' states in an error message
MOST_IMPLIED_NUMBERS = 2**24  # numbers in tables that a file implies without writing them out

Fault = Callable[[Any, str], NetworkError]  # makes an error from a place in the file and a message


@dataclass(eq=False)
class DraftNode:
    """A variable as written in the file; `at` is its place, for errors."""

    name: str
    states: tuple[Any, ...]
    at: Any
    parents: tuple[str, ...] = ()
    table: Array | None = None  # of all rows, concatenated; the last parent's state changes fastest
    remark: str = ""
    row_at: Callable[[int], Any] | None = None  # the place of a row, if known
    true: Remark = field(default_factory=Remark)
    made: Callable[..., Distribution] | None = None  # instead of a table: from parents, their states and own states


@dataclass
class Draft:
    """The variables of a file, which `network` assembles; with `weights`, rows needn't sum to 1."""

    file: str
    fault: Fault
    weights: bool = False
    nodes: dict[str, DraftNode] = field(default_factory=dict)
    room: int = field(default_factory=lambda: MOST_IMPLIED_NUMBERS)

    def add(self, node: DraftNode) -> DraftNode:
        if node.name in self.nodes:
            raise self.fault(node.at, f"{cut(node.name)!r} is declared twice")
        if not node.states:
            raise self.fault(node.at, f"{cut(node.name)!r} must have at least one state, but has none")
        self._all_different(node, node.states)
        self.nodes[node.name] = node
        return node

    def named(self, name: str, at: object) -> DraftNode:
        if name not in self.nodes:
            raise self.fault(
                at, f"unknown variable {cut(name)!r}; {suggest(cut(name), map(cut, self.nodes), MOST_SUGGESTIONS)}"
            )
        return self.nodes[name]

    def defined(self, name: str, parents: Sequence[str], at: object) -> DraftNode:
        """The variable of this name, with its parents."""
        node = self.named(name, at)
        if node.table is not None or node.parents:
            raise self.fault(at, f"{cut(name)!r} has two tables")
        node.at, node.parents = at, tuple(parents)
        return node

    def shape(self, node: DraftNode) -> tuple[int, ...]:
        """The shape of a table: (the parents' states..., own states)."""
        if len(node.parents) > MOST_PARENTS_IN_FILE:
            raise self.fault(
                node.at,
                f"{cut(node.name)!r} has {len(node.parents)} parents, more than {MOST_PARENTS_IN_FILE}",
            )
        return (*self.parent_sizes(node), len(node.states))

    def parent_sizes(self, node: DraftNode) -> tuple[int, ...]:
        """The number of states of each parent."""
        if len({*node.parents, node.name}) <= len(node.parents):
            raise self.fault(node.at, f"{cut(node.name)!r} has a parent twice, or is its own")
        return tuple(len(self.named(parent, node.at).states) for parent in node.parents)

    def make_room(self, size: int, at: object) -> None:
        """Refuse a small file that implies huge tables."""
        self.room -= size
        if self.room < 0:
            raise self.fault(at, f"tables filled by rules may have at most {MOST_IMPLIED_NUMBERS} numbers")

    def network(self) -> Network:
        if not self.nodes:
            raise NetworkError(f"{self.file} has no variables: a network must have at least one")
        rounding = _Rounding()
        tables: dict[str, Any] = {
            name: self._table(node, rounding) for name, node in self.nodes.items() if node.made is None
        }
        self._read_remarks()
        names = {name: node.name if node.true.name is None else node.true.name for name, node in self.nodes.items()}
        states = {name: node.true.states or node.states for name, node in self.nodes.items()}
        for name, node in self.nodes.items():
            if node.made is not None:
                above = node.parents
                tables[name] = node.made(
                    [names[each] for each in above], [states[each] for each in above], states[name]
                )
        order = sorted(self.nodes, key=lambda name: self.nodes[name].true.place or 0)
        try:
            made = Network(
                {names[name]: tuple(names[parent] for parent in self.nodes[name].parents) for name in order},
                {names[name]: tables[name] for name in order},
                {names[name]: states[name] for name in order},
            )
        except NetworkError as error:  # a cycle
            raise NetworkError(f"{self.file}: {error!s:.300}") from None
        rounding.report(self.file)
        return made

    def _table(self, node: DraftNode, rounding: _Rounding) -> Array:
        shape = self.shape(node)
        if node.table is None and self._is_apart(node):
            tell(f"{self.file}: {cut(node.name)!r} has no table and no arrows, and is read as uniform")
            return np.full(shape, 1 / shape[-1])
        if node.table is None:
            raise self.fault(node.at, f"{cut(node.name)!r} has no table")
        if node.table.size != prod(shape):
            wanted = f"{many(prod(shape))} numbers, but has {node.table.size}"
            raise self.fault(node.at, f"the table of {cut(node.name)!r} must have {wanted}")
        rows = node.table.reshape(-1, shape[-1])
        if not (np.isfinite(rows).all() and (rows >= 0).all()):
            bad = int(np.nonzero(~(np.isfinite(rows) & (rows >= 0)).all(1))[0][0])
            raise self._row_fault(node, bad, f"must be probabilities, but is {_listed(rows[bad])}")
        return self._scaled(node, rows, rounding).reshape(shape)

    def _is_apart(self, node: DraftNode) -> bool:
        """Whether a variable has no arrows in a network where others do."""
        above = [each.parents for each in self.nodes.values()]
        return not node.parents and any(above) and not any(node.name in each for each in above)

    def _scaled(self, node: DraftNode, rows: Array, rounding: _Rounding) -> Array:
        """The rows, each summing to 1."""
        with np.errstate(over="ignore"):
            sums = rows.sum(1)
        off = np.abs(sums - 1.0)
        worst = int(off.argmax())
        if off[worst] > FILE_SUM_TOLERANCE and not self.weights:
            raise self._row_fault(node, worst, f"must sum to 1, but sums to {sums[worst]:.9g}")
        if not (np.isfinite(sums) & (sums > 0)).all():
            bad = int(np.nonzero(~(np.isfinite(sums) & (sums > 0)))[0][0])
            raise self._row_fault(node, bad, f"can't be scaled to 1: it sums to {sums[bad]:g}")
        rounding.note(float(off[worst]), lambda: f"{self.row(node, worst)} sums to {sums[worst]:.9g}")
        return np.where(
            off[:, None] > UNSCALED_SUM_ERROR, rows / sums[:, None], rows
        )  # rows that sum to 1 stay unchanged

    def _row_fault(self, node: DraftNode, row: int, message: str) -> NetworkError:
        at = node.row_at(row) if node.row_at else node.at
        return self.fault(at, f"the row {self.row(node, row)} {message}")

    def row(self, node: DraftNode, row: int) -> str:
        """A row's name, such as P(Fire | Storm=yes)."""
        causes = ""
        for parent in reversed(node.parents):
            row, code = divmod(row, len(self.nodes[parent].states))
            causes = f"{cut(parent)}={cut(str(self.nodes[parent].states[code]))}{', ' + causes if causes else ''}"
        given = causes if len(causes) <= LONGEST_ROW_NAME else causes[:LONGEST_ROW_NAME] + "..."
        return f"P({cut(node.name)}{' | ' + given if given else ''})"

    def _read_remarks(self) -> None:
        """The original names, from remarks."""
        found: dict[str, DraftNode] = {}
        for node in self.nodes.values():
            try:
                node.true = remark_in(node.remark) or Remark()
            except ValueError as error:
                raise self.fault(node.at, f"credo's remark on {cut(node.name)!r} {error}") from None
            if node.true.states is not None:
                if len(node.true.states) != len(node.states):
                    raise self.fault(node.at, f"credo's remark on {cut(node.name)!r} has other states than the file")
                self._all_different(node, node.true.states)
            name = node.name if node.true.name is None else node.true.name
            if found.setdefault(name, node) is not node:
                raise self.fault(node.at, f"{cut(name)!r} is declared twice")

    def _all_different(self, node: DraftNode, states: Sequence[object]) -> None:
        if len(set(states)) < len(states):
            twice, _ = Counter(states).most_common(1)[0]
            raise self.fault(node.at, f"{cut(node.name)!r} has the state {cut(str(twice))!r} twice")


@dataclass
class _Rounding:
    """The row whose sum is furthest from 1."""

    most: float = 0.0
    row: str = ""

    def note(self, off: float, row: Callable[[], str]) -> None:
        if off > max(self.most, NOTED_SUM_ERROR):
            self.most, self.row = off, row()

    def report(self, file: str) -> None:
        if self.row:
            tell(f"{file}: rows that don't sum to 1 were normalised; the largest deviation: {self.row}")


def many(number: int) -> str:
    """A number for an error message, shortened if it has many digits.

    >>> many(12), many(2**63)
    ('12', 'about 10^18')
    """
    return str(number) if number < 10**15 else f"about 10^{int(log10(number))}"


def _listed(row: Array) -> str:
    return ", ".join(f"{number:g}" for number in row[:5].tolist()) + (", ..." if len(row) > 5 else "")
