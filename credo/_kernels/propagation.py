"""What a tree of cliques is asked: each question in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel
from credo._kernels.junction import (
    Cliques,
    Walks,
    collect,
    decode,
    distribute,
    multiply_factors,
    read_marginals,
    weigh_states,
)
from credo._kernels.shapes import Factors

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class Junction(NamedTuple):
    """All that stays as it is from one question to the next."""

    card: Integers
    places: Integers  # where each variable's states start, if they stand one after another
    factors: Factors
    cliques: Cliques
    walks: Walks
    base: Array  # the product of the factors that don't change; empty: none is kept
    sunk: Array  # (cliques): how small the largest cell in it may be
    log_base: float  # what it is to be multiplied by, too
    changing: Integers  # the other factors


class Room(NamedTuple):
    """What a question is worked out in."""

    tables: Array
    separators: Array
    scales: Array
    spare: Array
    sunk: Array


Plain = tuple[Any, ...]  # a Junction or a Room as a plain tuple of such: Numba takes those from Python much faster


@kernel
def named(tree: Plain) -> Junction:
    factors, cliques, walks = Factors(*tree[2]), Cliques(*tree[3]), Walks(*tree[4])
    return Junction(tree[0], tree[1], factors, cliques, walks, tree[5], tree[6], tree[7], tree[8])


@kernel
def fill_tables(which: Integers, factors: Factors, cliques: Cliques, walks: Walks, tables: Array, sunk: Array) -> float:
    """tables = the product of some factors, none of which is touched by evidence; the logarithm of its scale."""
    tables[:] = 1.0
    sunk[:] = 1.0
    return multiply_factors(which, np.full(len(cliques.entry), -1), factors, cliques, walks, tables, sunk)


@kernel
def enter(codes: Integers, weights: Array, tree: Junction, tables: Array, sunk: Array) -> float:
    """tables = the factors with the evidence: codes of observed states, -1 where there are none, and (unless empty)
    weights of all states; the logarithm of what all is known of, and of what they were scaled by."""
    if len(tree.base):
        for t in range(len(tables)):
            tables[t] = tree.base[t]
    else:
        tables[:] = 1.0
    for c in range(len(sunk)):
        sunk[c] = tree.sunk[c]
    log_constant = tree.log_base
    log_constant += multiply_factors(tree.changing, codes, tree.factors, tree.cliques, tree.walks, tables, sunk)
    for v in range(len(codes)):
        first, last = tree.places[v], tree.places[v + 1]
        if tree.cliques.entry[v] < 0:
            if len(weights) and codes[v] >= 0:
                log_constant += np.log(weights[first + codes[v]])
            continue
        if codes[v] >= 0:
            only = np.zeros(last - first)
            only[codes[v]] = 1.0
            log_constant += weigh_states(v, only, tree.cliques, tables, sunk)
        if len(weights) and (weights[first:last] != 1.0).any():
            log_constant += weigh_states(v, weights[first:last], tree.cliques, tables, sunk)
    return log_constant


@kernel
def send_up(codes: Integers, weights: Array, tree: Junction, room: Room) -> float:
    """The logarithm of the sum of all (or, where variables are maximised, of the largest)."""
    log_constant = enter(codes, weights, tree, room.tables, room.sunk)
    if log_constant == -np.inf:
        return log_constant
    return log_constant + collect(tree.cliques, tree.walks, room.tables, room.separators, room.scales, room.sunk)


@kernel
def propagate_up(codes: Integers, weights: Array, plain: Plain, space: Plain) -> float:
    """The same, as it is asked."""
    return send_up(codes, weights, named(plain), Room(*space))


@kernel
def propagate_all(codes: Integers, weights: Array, plain: Plain, space: Plain, out: Array) -> float:
    """The same; out: what is believed of each variable, those that are observed being in their states."""
    tree, room = named(plain), Room(*space)
    found = send_up(codes, weights, tree, room)
    if found == -np.inf:
        return found
    distribute(tree.cliques, tree.walks, room.tables, room.separators, room.scales, room.spare)
    read_marginals(tree.cliques, tree.card, room.tables, room.separators, tree.places, out)
    for v in range(len(codes)):
        if tree.cliques.entry[v] < 0 and codes[v] >= 0:
            out[tree.places[v] : tree.places[v + 1]] = 0.0
            out[tree.places[v] + codes[v]] = 1.0
    return found


@kernel
def propagate_best(codes: Integers, weights: Array, plain: Plain, space: Plain, chosen: Integers) -> float:
    """The logarithm of the largest; chosen: the states of the maximised variables there."""
    tree, room = named(plain), Room(*space)
    found = send_up(codes, weights, tree, room)
    if found > -np.inf:
        decode(tree.cliques, tree.card, room.tables, chosen)
    return found
