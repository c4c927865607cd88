"""Messages in a tree of cliques. One array has all tables and then all separators; the axes of a clique's separator
come first in its table.

A walk gives the position in a smaller table for each cell of a larger one: runs of equal length have the same pattern
(one cell, consecutive cells, even steps, or a map), and an odometer gives the start of the next run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import fast_kernel, kernel, part
from credo._kernels.networks.shapes import BEGIN, CARD, DIMENSIONS, FIRST, KIND, MAP, RUN, SHRUNK, SUNK, TABLE

ONE, ROW, STEPPED, MAPPED = 0, 1, 2, 3  # patterns of a run: one cell, consecutive cells, even steps, a map
LONG_DIMENSION, SHORT_RUN, LONGEST_MAP = (
    8,
    64,
    256,
)  # a long dimension is a run; short ones are mapped, up to LONGEST_MAP
UNDERFLOW = 1e-150  # smaller products are scaled, and the log of the scale is kept
DEPTH = 64  # dimensions at most: a table with more fits in no memory


class Cliques(NamedTuple):
    """A tree for sampling; children come before their parents."""

    parent: Integers
    starts: Integers  # of each clique's members
    members: Integers
    kept: Integers  # the number of leading members, which are the separator
    tables_at: Integers


# Walks


@part
def write_walk(
    members: Integers,
    begin: int,
    end: int,
    variables: Integers,
    step: Integers,
    w: int,
    at: int,
    walks: Integers,
    paths: Integers,
) -> Any:
    """Write walk w through a table over the members from begin to end, for a smaller table in which a variable has this
    step, or 0; its path starts at `at`. The result is the end of the path."""
    walks[w, BEGIN] = at
    depth = 0  # from the last axis, merging contiguous neighbours
    lengths, steps = np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH, dtype=np.int64)
    for i in range(end - 1, begin - 1, -1):
        v = members[i]
        if variables[v, CARD] == 1:
            continue
        if depth and step[v] == steps[depth - 1] * lengths[depth - 1]:
            lengths[depth - 1] *= variables[v, CARD]
        else:
            lengths[depth], steps[depth] = variables[v, CARD], step[v]
            depth += 1
    if not depth:
        lengths[0], steps[0], depth = 1, 0, 1
    whole = 1
    for d in range(depth):
        whole = min(whole * lengths[d], LONGEST_MAP + 1)
    inner, run = 1, lengths[0]
    mapped = whole <= LONGEST_MAP or run < LONG_DIMENSION  # a small table is one run
    while (
        inner < depth and mapped and (run < SHORT_RUN or whole <= LONGEST_MAP) and run * lengths[inner] <= LONGEST_MAP
    ):
        run *= lengths[inner]
        inner += 1
    walks[w, RUN], walks[w, DIMENSIONS] = run, depth - inner
    for d in range(depth - 1, inner - 1, -1):
        paths[at], paths[at + depth - inner] = lengths[d], steps[d]
        at += 1
    at += depth - inner
    if inner == 1:
        walks[w, KIND], walks[w, MAP] = min(steps[0], STEPPED), steps[0]
        return at
    walks[w, KIND], walks[w, MAP] = MAPPED, at
    filled = 1
    paths[at] = 0
    for d in range(inner):  # the first dimension is the fastest
        for i in range(filled, filled * lengths[d]):
            paths[at + i] = paths[at + i - filled] + steps[d]
        filled *= lengths[d]
    return at + run


@part
def next_run(digits: Integers, at: int, begin: int, depth: int, paths: Integers) -> Any:
    """The start of the next run in the smaller table; -1 after the last."""
    for d in range(depth - 1, -1, -1):
        length, step = paths[begin + d], paths[begin + depth + d]
        digits[d] += 1
        at += step
        if digits[d] < length:
            return at
        at -= step * length
        digits[d] = 0
    return -1


@kernel
def multiply_walk(
    table: Array, small: Array, at: int, w: int, walks: Integers, paths: Integers, digits: Integers
) -> None:
    """table *= small, cell by cell, along the walk."""
    first, begin, depth = walks[w, FIRST], walks[w, BEGIN], walks[w, DIMENSIONS]
    run, kind, place = walks[w, RUN], walks[w, KIND], walks[w, MAP]
    for d in range(depth):
        digits[d] = 0
    while at >= 0:
        if kind == ONE:
            x = small[at]
            for t in range(first, first + run):
                table[t] *= x
        elif kind == ROW:
            for t in range(run):
                table[first + t] *= small[at + t]
        elif kind == STEPPED:
            for t in range(run):
                table[first + t] *= small[at + t * place]
        else:
            for t in range(run):
                table[first + t] *= small[at + paths[place + t]]
        first += run
        at = next_run(digits, at, begin, depth, paths)


@fast_kernel
def add_walk(table: Array, small: Array, at: int, w: int, walks: Integers, paths: Integers, digits: Integers) -> None:
    """small += table, cell by cell, along the walk."""
    first, begin, depth = walks[w, FIRST], walks[w, BEGIN], walks[w, DIMENSIONS]
    run, kind, place = walks[w, RUN], walks[w, KIND], walks[w, MAP]
    for d in range(depth):
        digits[d] = 0
    while at >= 0:
        if kind == ONE:
            total = 0.0
            for t in range(first, first + run):
                total += table[t]
            small[at] += total
        elif kind == ROW:
            for t in range(run):
                small[at + t] += table[first + t]
        elif kind == STEPPED:
            for t in range(run):
                small[at + t * place] += table[first + t]
        else:
            for t in range(run):
                small[at + paths[place + t]] += table[first + t]
        first += run
        at = next_run(digits, at, begin, depth, paths)


# Rows of a table: the cells for each cell of its separator


@part
def sum_rows(table: Array, first: int, rest: int, start: int, stop: int) -> None:
    """The cells from start to stop = the sums of consecutive rows of `rest` cells, beginning at `first`."""
    for s in range(start, stop):
        x = 0.0
        for t in range(first, first + rest):
            x += table[t]
        table[s] = x
        first += rest


@part
def top_rows(table: Array, first: int, rest: int, start: int, stop: int) -> None:
    """The cells from start to stop = the maxima of consecutive rows of `rest` cells, beginning at `first`."""
    for s in range(start, stop):
        x = 0.0
        for t in range(first, first + rest):
            x = max(x, table[t])
        table[s] = x
        first += rest


@part
def scale_rows(table: Array, first: int, rest: int, start: int, stop: int) -> None:
    """Multiply consecutive rows of `rest` cells, beginning at `first`, by the cells from start to stop."""
    for s in range(start, stop):
        x = table[s]
        for t in range(first, first + rest):
            table[t] *= x
        first += rest


@kernel
def make_room(c: int, least: float, cliques: Integers, tables: Array, scales: Array) -> float:
    """Scale a clique's table before it is multiplied by numbers of at least `least`, if the product of all factors
    could underflow. The result is the log of the scale.

    A number below UNDERFLOW times the largest may be lost from then on, which matters only if the largest shrinks.
    """
    if scales[c, SUNK] * least > UNDERFLOW:
        scales[c, SUNK] *= least
        return 0.0
    scales[c, SUNK] = least
    top, low = 0.0, np.inf
    for t in range(cliques[c, TABLE], cliques[c + 1, TABLE]):
        x = tables[t]
        top = max(top, x)
        if 0.0 < x < low:
            low = x
    if not top > 0.0:
        return 0.0
    if scales[c, SHRUNK] > 0.0:
        scales[c, SHRUNK] = max(scales[c, SHRUNK] * top, UNDERFLOW)  # unreliable, but not 0
    elif low < UNDERFLOW * top or least < UNDERFLOW:
        scales[c, SHRUNK] = 1.0
    for t in range(cliques[c, TABLE], cliques[c + 1, TABLE]):
        tables[t] /= top
    return float(np.log(top))
