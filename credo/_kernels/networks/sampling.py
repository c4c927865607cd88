"""Sampling of states: ancestral sampling, sampling from a junction tree, and Gibbs sampling.

A draw depends on its number and the seed alone, so results don't depend on chunks of rows or on threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import kernel
from credo._kernels.networks.junction import UNDERFLOW, Cliques
from credo._kernels.networks.rows import value_of
from credo._kernels.networks.shapes import Factors

StateCodes = NDArray[Any]  # integers as wide as the states need

SAMPLED_TILE = 1024  # rows whose columns stay in the cache


@kernel
def draw(seed: np.uint64, number: np.uint64) -> Any:
    """A number in [0, 1): splitmix64 of the counter (Steele, Lea and Flood, 2014)."""
    z = seed + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@kernel
def draw_forward(
    order: Integers,
    card: Integers,
    factors: Factors,
    sums: Array,
    fixed: Integers,
    weights: Array,
    places: Integers,
    seed: np.uint64,
    start: int,
    codes: StateCodes,
    log_weights: Array,
) -> None:
    """codes (variables, rows) = each variable drawn given its parents, or its fixed state; log_weights (rows) = the
    log-likelihood of the evidence. sums: cumulative sums of each row of a variable's table, which is factor v"""
    n, rows = codes.shape
    at = np.empty(SAMPLED_TILE, dtype=np.int64)
    log_weights[:] = 0.0
    for first in range(0, rows, SAMPLED_TILE):
        size = min(SAMPLED_TILE, rows - first)
        for v in order:
            own = codes[v]
            at[:size] = factors.values_at[v]
            for i in range(factors.starts[v], factors.starts[v + 1] - 1):
                above, step = codes[factors.scope[i]], factors.steps[i]
                for r in range(size):
                    at[r] += above[first + r] * step
            if fixed[v] >= 0:
                own[first : first + size] = fixed[v]
                for r in range(size):
                    log_weights[first + r] += np.log(factors.values[at[r] + fixed[v]])
            else:
                last = card[v] - 1
                base = np.uint64(start + first) * np.uint64(n) + np.uint64(v)
                for r in range(size):
                    x = draw(seed, base + np.uint64(r) * np.uint64(n))
                    k = 0
                    while k < last and x >= sums[at[r] + k]:
                        k += 1
                    own[first + r] = k
            if len(weights):
                for r in range(size):
                    log_weights[first + r] += np.log(weights[places[v] + own[first + r]])


@kernel
def draw_from_tree(
    cliques: Cliques, card: Integers, tables: Array, seed: np.uint64, start: int, codes: StateCodes
) -> None:
    """codes (variables, rows) of the variables in the tree = states drawn from the roots down, after the messages to
    the roots: the rest of each clique given the states drawn before."""
    n, rows = codes.shape
    for c in range(len(cliques.parent) - 1, -1, -1):
        begin, end = cliques.starts[c], cliques.starts[c + 1]
        split = begin + cliques.kept[c]
        rest = 1
        for i in range(split, end):
            rest *= card[cliques.members[i]]
        for r in range(rows):
            place = 0
            for i in range(begin, split):
                place = place * card[cliques.members[i]] + codes[cliques.members[i], r]
            place = cliques.tables_at[c] + place * rest
            total = tables[place : place + rest].sum()
            x = draw(seed, np.uint64(start + r) * np.uint64(n) + np.uint64(cliques.members[end - 1])) * total
            k, last = 0, 0
            for k in range(rest):
                if tables[place + k] > 0.0:
                    last = k
                    x -= tables[place + k]
                    if x < 0.0:
                        break
            for i in range(end - 1, split - 1, -1):
                v = cliques.members[i]
                codes[v, r] = last % card[v]
                last //= card[v]


@kernel
def follow(followers: Integers, card: Integers, factors: Factors, now: Integers) -> None:
    """now = the states of deterministic variables, in order."""
    for v in followers:
        at = factors.values_at[v]
        for i in range(factors.starts[v], factors.starts[v + 1] - 1):
            at += now[factors.scope[i]] * factors.steps[i]
        for k in range(card[v]):
            if factors.values[at + k] > 0.5:
                now[v] = k


class Turns(NamedTuple):
    """The order of Gibbs sampling: free variables, the deterministic ones that follow from each, and their factors."""

    free: Integers
    followers_at: Integers  # of the free ones
    followers: Integers
    near_at: Integers
    near: Integers


@kernel
def log_chance(
    j: int, v: int, followers: Integers, turns: Turns, factors: Factors, weights: Array, places: Integers, now: Integers
) -> float:
    """The log of the product of all factors and weights that depend on free variable j, which is v, or its
    followers."""
    product, log_product = 1.0, 0.0
    if len(weights):
        product = weights[places[v] + now[v]]
        for d in followers:
            product *= weights[places[d] + now[d]]
    for i in range(turns.near_at[j], turns.near_at[j + 1]):
        product *= value_of(turns.near[i], now, factors)
        if product < UNDERFLOW:
            log_product, product = log_product + np.log(product), 1.0
    return log_product + float(np.log(product))


@kernel
def draw_one(
    j: int,
    turns: Turns,
    card: Integers,
    factors: Factors,
    weights: Array,
    places: Integers,
    x: float,
    now: Integers,
    chances: Array,
) -> None:
    """now = free variable j drawn from its full conditional by x in [0, 1), and the deterministic variables that
    follow; chances = the full conditional. If all states are impossible, the state doesn't change."""
    v = turns.free[j]
    followers = turns.followers[turns.followers_at[j] : turns.followers_at[j + 1]]
    own, top, old, total = chances[: card[v]], -np.inf, now[v], 0.0
    for k in range(len(own)):
        now[v] = k
        follow(followers, card, factors, now)
        own[k] = log_chance(j, v, followers, turns, factors, weights, places, now)
        top = max(top, own[k])
    now[v] = old
    for k in range(len(own)):
        own[k] = np.exp(own[k] - top) if top > -np.inf else 1.0 if k == old else 0.0
        total += own[k]
    x *= total
    for k in range(len(own)):
        if own[k] > 0.0:
            now[v] = k
            x -= own[k]
            if x < 0.0:
                break
    for k in range(len(own)):
        own[k] /= total
    follow(followers, card, factors, now)


@kernel
def draw_in_turn(
    turns: Turns,
    card: Integers,
    factors: Factors,
    weights: Array,
    places: Integers,
    seed: np.uint64,
    start: int,
    now: Integers,
    codes: StateCodes,
    shares: Array,
) -> None:
    """codes (variables, rows) = the states after each round of Gibbs sampling; now is the chain's state. Unless it is
    empty, shares (all states) += the full conditional of each draw."""
    chances = np.empty(card.max())
    for r in range(codes.shape[1]):
        number = np.uint64(start + r) * np.uint64(len(card))
        for j in range(len(turns.free)):
            draw_one(j, turns, card, factors, weights, places, draw(seed, number), now, chances)
            number += np.uint64(1)
            if len(shares):
                v = turns.free[j]
                for k in range(card[v]):
                    shares[places[v] + k] += chances[k]
        for v in range(len(card)):
            codes[v, r] = now[v]


@kernel
def draw_runs(
    turns: Turns,
    card: Integers,
    factors: Factors,
    weights: Array,
    places: Integers,
    seeds: NDArray[np.uint64],
    start: int,
    now: Integers,
) -> None:
    """now (runs, variables) = the states of each run after one round."""
    chances = np.empty(card.max())
    for r in range(len(now)):
        number = np.uint64(start) * np.uint64(len(card))
        for j in range(len(turns.free)):
            draw_one(j, turns, card, factors, weights, places, draw(seeds[r], number), now[r], chances)
            number += np.uint64(1)
