"""Message passing in a junction tree, with one call per query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import kernel, part
from credo._kernels.networks.junction import (
    DEPTH,
    UNDERFLOW,
    add_walk,
    make_room,
    multiply_walk,
    scale_rows,
    sum_rows,
    top_rows,
)
from credo._kernels.networks.shapes import (
    CARD,
    ENTRY,
    ENTRY_STEP,
    HOME,
    KEPT,
    LARGEST,
    MEMBERS,
    PARENT,
    PLACE,
    SCALE,
    SCOPE,
    SEPARATOR,
    SHRUNK,
    SOURCE,
    SOURCE_END,
    SOURCE_STEP,
    STEP,
    SUNK,
    TABLE,
    VALUES,
    VARIABLE,
    Plain,
)

TRUSTED = 1e-120  # a table that has shrunk by less has lost no relevant digits
FACTORS, SUMS, BELIEFS = 0, 1, 2  # where to stop: one kernel for all compiles much faster than three


class Junction(NamedTuple):
    """The structure and values that all queries share."""

    variables: Integers
    cliques: Integers  # children come before their parents
    walks: Integers  # of each clique's separator through its parent's table, then of the factors
    paths: Integers  # dimensions and maps of walks
    heads: Integers  # of factors
    axes: Integers
    values: Array
    least: Array  # (factors): the smallest value above 0
    changing: Integers  # the factors that evidence may change
    base: Array  # the product of the other factors; empty if it isn't kept
    begun: Array  # (cliques + 1, 3): the scales of the base; the last row has a logarithm to add


@part
def place_of(f: int, codes: Integers, variables: Integers, heads: Integers, axes: Integers) -> Any:
    """The position of a factor's first cell for the observed states of variables that are in no clique."""
    at = heads[f, VALUES]
    for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
        v = axes[i, VARIABLE]
        if variables[v, ENTRY] < 0:
            at += codes[v] * axes[i, STEP]
    return at


@part
def multiply_factors(codes: Integers, tree: Junction, tables: Array, scales: Array, digits: Integers) -> float:
    """tables *= the factors that evidence changes, reduced by it. The result is the log of fully observed factors and
    of scales, added to the base's one by one: it has the same bits whether or not a base is kept."""
    count = len(tree.cliques) - 1
    log_constant = tree.begun[count, SCALE]
    for f in tree.changing:
        w = count + f
        c, at = tree.walks[w, HOME], place_of(f, codes, tree.variables, tree.heads, tree.axes)
        if c < 0:
            log_constant += np.log(tree.values[at])
        else:
            log_constant += make_room(c, tree.least[f], tree.cliques, tables, scales)
            multiply_walk(tables, tree.values, at, w, tree.walks, tree.paths, digits)
    return float(log_constant)


@part
def weigh_states(v: int, code: int, weights: Array, tree: Junction, tables: Array, scales: Array, spare: int) -> float:
    """Multiply the evidence about v into a clique that contains v: its code, unless -1, and its likelihoods, if any.
    The result is the log of the scale; tables has scratch space at `spare`."""
    c, card, step = tree.variables[v, ENTRY], tree.variables[v, CARD], tree.variables[v, ENTRY_STEP]
    least = 1.0
    for k in range(card):
        x = weights[tree.variables[v, PLACE] + k] if len(weights) else 1.0
        if code >= 0 and code != k:
            x = 0.0
        if 0.0 < x < least:
            least = x
        tables[spare + k] = x
    scaled = make_room(c, least, tree.cliques, tables, scales)
    for k in range(card):
        x = tables[spare + k]
        if x != 1.0:
            for first in range(tree.cliques[c, TABLE] + k * step, tree.cliques[c + 1, TABLE], step * card):
                for t in range(first, first + step):
                    tables[t] *= x
    return scaled


@part
def enter(
    codes: Integers, weights: Array, tree: Junction, tables: Array, scales: Array, spare: int, digits: Integers
) -> float:
    """tables = the product of factors and evidence: codes of observed states or -1, and, unless empty, likelihoods of
    all states. The result is the log of fully observed factors and of scales."""
    count = len(tree.cliques) - 1
    for t in range(tree.cliques[count, TABLE]):
        tables[t] = tree.base[t] if len(tree.base) else 1.0
    for c in range(count):
        scales[c, SUNK], scales[c, SHRUNK] = tree.begun[c, SUNK], tree.begun[c, SHRUNK]
    log_constant = multiply_factors(codes, tree, tables, scales, digits)
    for v in range(len(codes)):
        if codes[v] >= 0 or len(weights):
            if tree.variables[v, ENTRY] >= 0:
                log_constant += weigh_states(v, codes[v], weights, tree, tables, scales, spare)
            elif codes[v] >= 0 and len(weights):
                log_constant += np.log(weights[tree.variables[v, PLACE] + codes[v]])
    return float(log_constant)


@part
def collect(tree: Junction, tables: Array, scales: Array, digits: Integers) -> float:
    """Messages to the roots, each scaled to a maximum of 1. The result is the log of the sum; -inf for impossible
    evidence, NaN if it may have underflowed."""
    cliques = tree.cliques
    log_total, product = 0.0, 1.0
    for c in range(len(cliques) - 1):
        first, last = cliques[c, TABLE], cliques[c + 1, TABLE]
        start, stop = cliques[c, SEPARATOR], cliques[c + 1, SEPARATOR]
        rest = (last - first) // (stop - start)
        if cliques[c, LARGEST]:
            top_rows(tables, first, rest, start, stop)
        else:
            sum_rows(tables, first, rest, start, stop)
        top, least = 0.0, np.inf
        for s in range(start, stop):
            x = tables[s]
            top = max(top, x)
            if 0.0 < x < least:
                least = x
        lost = scales[c, SHRUNK] > 0.0
        if lost and scales[c, SHRUNK] * top < TRUSTED:
            return np.nan
        if not top > 0.0:
            return -np.inf
        product *= top
        if not UNDERFLOW < product < 1.0 / UNDERFLOW:  # one logarithm for many factors
            log_total, product = log_total + np.log(product), 1.0
        scales[c, SCALE] = top
        for s in range(start, stop):
            tables[s] /= top
        p = cliques[c, PARENT]
        if p >= 0:
            if lost and not scales[p, SHRUNK] > 0.0:
                scales[p, SUNK] = 0.0  # scaled now, to know by how much it shrinks
            log_total += make_room(p, least / top, cliques, tables, scales)
            if lost and not scales[p, SHRUNK] > 0.0:
                scales[p, SHRUNK] = 1.0
            multiply_walk(tables, tables, start, c, tree.walks, tree.paths, digits)
    return log_total + float(np.log(product))


@part
def distribute(tree: Junction, tables: Array, scales: Array, spare: int, digits: Integers) -> None:
    """Messages from the roots: each table and separator becomes P(its variables | evidence)."""
    cliques = tree.cliques
    for c in range(len(cliques) - 2, -1, -1):
        first, last = cliques[c, TABLE], cliques[c + 1, TABLE]
        start, stop = cliques[c, SEPARATOR], cliques[c + 1, SEPARATOR]
        if cliques[c, PARENT] < 0:
            for t in range(first, last):
                tables[t] /= scales[c, SCALE]
            continue
        size = stop - start
        for s in range(size):
            tables[spare + s] = 0.0
        add_walk(tables, tables, spare, c, tree.walks, tree.paths, digits)
        for s in range(size):
            new, old = tables[spare + s], tables[start + s]
            tables[start + s] = new
            tables[spare + s] = new / old / scales[c, SCALE] if old > 0.0 else 0.0
        scale_rows(tables, first, (last - first) // size, spare, spare + size)


@part
def read_marginals(codes: Integers, variables: Integers, tables: Array, out: Array) -> None:
    """out = P(variable | evidence), from the smallest table with the variable; variables in no table are observed."""
    for v in range(len(codes)):
        first, last, step = variables[v, SOURCE], variables[v, SOURCE_END], variables[v, SOURCE_STEP]
        at, end = variables[v, PLACE], variables[v, PLACE] + variables[v, CARD]
        for i in range(at, end):
            out[i] = 0.0
        if first < 0:
            if codes[v] >= 0:
                out[at + codes[v]] = 1.0
            continue
        total = 0.0
        while first < last:
            for i in range(at, end):
                x = 0.0
                for t in range(first, first + step):
                    x += tables[t]
                out[i] += x
                total += x
                first += step
        for i in range(at, end):
            out[i] /= total


@kernel
def propagate(
    end: int, codes: Integers, weights: Array, plain: Plain, tables: Array, scales: Array, out: Array
) -> float:
    """FACTORS: multiply them; SUMS: messages to the roots, too; BELIEFS: and back, with out = P(variable | evidence).

    The result is the log of the sum, or of the maximum if variables are maximised; NaN if floats underflow, and
    messages in logarithms are needed. tables: space for those of cliques, for separators, and for the largest separator
    or any variable's states; scales (cliques, 3)
    """
    tree, digits = Junction(*plain), np.empty(DEPTH, dtype=np.int64)
    spare = tree.cliques[len(tree.cliques) - 1, SEPARATOR]
    found = enter(codes, weights, tree, tables, scales, spare, digits)
    if end >= SUMS and found > -np.inf:
        found += collect(tree, tables, scales, digits)
    if end >= BELIEFS and found > -np.inf:
        distribute(tree, tables, scales, spare, digits)
        read_marginals(codes, tree.variables, tables, out)
    return found


@kernel
def add_families(codes: Integers, weight: float, plain: Plain, tables: Array, counts: Array) -> None:
    """counts += weight · P(factor's variables | codes) of each factor, in the layout of the factors' values. The tables
    must be calibrated and sum to 1; they are multiplied by the weight."""
    tree, digits = Junction(*plain), np.empty(DEPTH, dtype=np.int64)
    count = len(tree.cliques) - 1
    for t in range(tree.cliques[count, TABLE]):
        tables[t] *= weight
    for f in range(len(tree.heads) - 1):
        w, at = count + f, place_of(f, codes, tree.variables, tree.heads, tree.axes)
        if tree.walks[w, HOME] < 0:
            counts[at] += weight
        else:
            add_walk(tables, counts, at, w, tree.walks, tree.paths, digits)


@kernel
def decode(cliques: Integers, members: Integers, card: Integers, tables: Array, codes: Integers) -> None:
    """Decode the maximised variables: from the roots, the best states given those chosen before."""
    for c in range(len(cliques) - 2, -1, -1):
        if not cliques[c, LARGEST]:
            continue
        begin, end = cliques[c, MEMBERS], cliques[c + 1, MEMBERS]
        split = begin + cliques[c, KEPT]
        first, rest = 0, 1
        for i in range(begin, split):
            first = first * card[members[i]] + codes[members[i]]
        for i in range(split, end):
            rest *= card[members[i]]
        first = cliques[c, TABLE] + first * rest
        best = 0
        for t in range(1, rest):
            if tables[first + t] > tables[first + best]:
                best = t
        for i in range(end - 1, split - 1, -1):
            v = members[i]
            codes[v] = best % card[v]
            best //= card[v]
