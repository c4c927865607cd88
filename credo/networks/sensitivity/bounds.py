"""Bounds of an answer when table entries are known only up to intervals.

The answer is a ratio of two functions that are linear in the entries of one row, whatever the others are. Such a ratio
has its extremes at vertices of the row's feasible set, so combinations of vertices give exact bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from credo.errors import EvidenceError, SizeError
from credo.networks.sensitivity.sensitivity import Sensitivity
from credo.numerics.exact import Array

MOST_CORNERS = 4096  # combinations of interval ends that are tried: 12 entries
SIMPLEX_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Bounds:
    """The least and largest answer, and the entries at which it has them."""

    low: float
    high: float
    at_low: Mapping[str, float]
    at_high: Mapping[str, float]

    def __repr__(self) -> str:
        return f"{self.low:.6g} to {self.high:.6g}"


class Row(NamedTuple):
    """A row of a table, and the intervals of some of its entries."""

    name: str
    where: tuple[int, ...]
    ends: dict[int, tuple[float, float]]


def bounds_of(
    found: Sensitivity, intervals: Sequence[tuple[str, object, Mapping[str, object] | None, float, float]]
) -> Bounds:
    """The bounds, over all combinations of vertices."""
    net, rows = found.net, _rows(found, intervals)
    corners = [[*vertices(net.tables[row.name][row.where], row.ends)] for row in rows]
    for row, own in zip(rows, corners, strict=True):
        if not own:
            what = found.entry_at(row.name, int(np.ravel_multi_index((*row.where, 0), net.tables[row.name].shape)))
            given = f" | {', '.join(f'{p}={s}' for p, s in what.given.items())}" if what.given else ""
            raise EvidenceError(f"the intervals are empty: no row P({row.name}{given}) that sums to 1 is within them")
    if prod(map(len, corners)) > MOST_CORNERS:
        raise SizeError(
            f"exact bounds of {len(intervals)} intervals take {prod(map(len, corners)):.3g} queries: at most "
            f"{MOST_CORNERS} are made, about 12 entries"
        )
    answers: list[tuple[float, tuple[Array, ...]]] = []
    for chosen in product(*corners):
        tables = {row.name: np.array(net.tables[row.name]) for row in rows}
        for row, values in zip(rows, chosen, strict=True):
            tables[row.name][row.where] = values
        moved = net._like(parameters={**net.parameters, **tables})
        if moved.log_probability(found.given) == -np.inf:
            raise EvidenceError("the evidence is impossible at the end of an interval: the answer has no bounds there")
        answers.append((moved.query(found.name, found.given, method="exact")[found.value], chosen))
    low, high = min(answers, key=lambda each: each[0]), max(answers, key=lambda each: each[0])
    return Bounds(low[0], high[0], _entries_at(found, rows, low[1]), _entries_at(found, rows, high[1]))


def vertices(row: Array, ends: Mapping[int, tuple[float, float]]) -> Iterator[Array]:
    """The vertices of the rows whose entries are within these intervals; the other entries share the rest as before.

    >>> [[round(float(x), 4) for x in each] for each in vertices(np.array([0.2, 0.2, 0.6]), {0: (0.1, 0.3)})]
    [[0.1, 0.225, 0.675], [0.3, 0.175, 0.525]]
    """
    places, others = [*ends], [i for i in range(len(row)) if i not in ends]
    points = {values for values in product(*(ends[i] for i in places)) if others}
    for free, place in enumerate(places):  # an entry that takes the remaining probability
        rest = [ends[i] if i != place else (0.0,) for i in places]
        for values in product(*rest):
            left = 1.0 - sum(values)
            if ends[place][0] - SIMPLEX_TOLERANCE <= left <= ends[place][1] + SIMPLEX_TOLERANCE:
                points.add((*values[:free], left, *values[free + 1 :]))
    for values in sorted(points):
        left = 1.0 - sum(values)
        if left < -SIMPLEX_TOLERANCE:
            continue
        made, mass = np.zeros(len(row)), row[others].sum()
        made[places] = values
        if others:
            shares = row[others] / mass if mass > 0 else np.full(len(others), 1.0 / len(others))
            made[others] = max(0.0, left) * shares
        yield made / made.sum()


def _rows(found: Sensitivity, intervals: Sequence[object]) -> list[Row]:
    rows: dict[tuple[str, tuple[int, ...]], dict[int, tuple[float, float]]] = {}
    for each in intervals:
        if not isinstance(each, tuple | list) or len(each) != 5:
            raise EvidenceError(
                f"an interval is (name, state, parents' states, low, high), as in ('Fire', 'yes', {{'Storm': 'yes'}}, "
                f"0.1, 0.3), but is {each!r:.60}"
            )
        name, value, given, low, high = each
        *where, own = found.place_of(name, value, given)
        entry = f"P({name}={value})"
        if not all(isinstance(x, float | int | np.number) and 0 <= x <= 1 for x in (low, high)):
            raise EvidenceError(f"the interval of {entry} must be within 0 and 1, but is from {low!r} to {high!r}")
        if low > high:
            raise EvidenceError(f"the interval of {entry} is empty: {low!r} is above {high!r}")
        ends = rows.setdefault((name, tuple(where)), {})
        if own in ends:
            raise EvidenceError(f"{entry} has two intervals")
        ends[own] = float(low), float(high)
    if not rows:
        raise EvidenceError("bounds need at least one interval")
    return [Row(name, where, ends) for (name, where), ends in rows.items()]


def _entries_at(found: Sensitivity, rows: Sequence[Row], chosen: Sequence[Array]) -> dict[str, float]:
    said: dict[str, float] = {}
    for row, values in zip(rows, chosen, strict=True):
        shape = found.net.tables[row.name].shape
        for own in row.ends:
            entry = found.entry_at(row.name, int(np.ravel_multi_index((*row.where, own), shape)))
            said[str(entry)] = float(values[own])
    return said
