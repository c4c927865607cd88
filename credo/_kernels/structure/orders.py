"""A Markov chain over orders of many variables, each with a few candidate parents.

sums[v, S] is log Σ of the families of v with parents in S, a bit mask of candidates of v. slots[u, v] is the bit of u
among the candidates of v, -1 if it is none.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import late_kernel_of
from credo._kernels.structure.subsets import LEAST_EXPONENT


@late_kernel_of(lambda order, *_: 12.0 * len(order) ** 2)
def relocate_variables(
    order: Integers, available: Integers, slots: Integers, sums: Array, draws: Array, logs: Array
) -> None:
    """Each step removes a variable from the order and draws its new position given the order of the others (Gibbs).

    draws (sweeps, steps, 2): random numbers for the variable and its position; logs (sweeps,): log P(data, order) after
    each sweep. `available[v]` are the candidates of v that precede it.
    """
    n = len(order)
    weight = np.empty(n)
    for sweep in range(draws.shape[0]):
        for step in range(draws.shape[1]):
            place = min(int(draws[sweep, step, 0] * n), n - 1)
            v = order[place]
            own = sums[v, available[v]]
            weight[place] = 0.0
            members, others = available[v], 0.0
            for q in range(place - 1, -1, -1):  # positions before the current one
                u = order[q]
                if slots[u, v] >= 0:
                    members &= ~(1 << slots[u, v])
                if slots[v, u] >= 0:
                    others += sums[u, available[u] | 1 << slots[v, u]] - sums[u, available[u]]
                weight[q] = sums[v, members] - own + others
            members, others = available[v], 0.0
            for q in range(place + 1, n):
                u = order[q]
                if slots[u, v] >= 0:
                    members |= 1 << slots[u, v]
                if slots[v, u] >= 0:
                    others += sums[u, available[u] & ~(1 << slots[v, u])] - sums[u, available[u]]
                weight[q] = sums[v, members] - own + others
            top = weight[0]
            for q in range(1, n):
                top = max(top, weight[q])
            total = 0.0
            for q in range(n):
                total += math.exp(max(weight[q] - top, LEAST_EXPONENT))
            wanted, goal, sofar = draws[sweep, step, 1] * total, n - 1, 0.0
            for q in range(n):
                sofar += math.exp(max(weight[q] - top, LEAST_EXPONENT))
                if sofar >= wanted and weight[q] - top > -700.0:
                    goal = q
                    break
            while place > goal:
                u = order[place - 1]
                order[place] = u
                if slots[u, v] >= 0:
                    available[v] &= ~(1 << slots[u, v])
                if slots[v, u] >= 0:
                    available[u] |= 1 << slots[v, u]
                place -= 1
            while place < goal:
                u = order[place + 1]
                order[place] = u
                if slots[u, v] >= 0:
                    available[v] |= 1 << slots[u, v]
                if slots[v, u] >= 0:
                    available[u] &= ~(1 << slots[v, u])
                place += 1
            order[place] = v
        log = 0.0
        for v in range(n):
            log += sums[v, available[v]]
        logs[sweep] = log


@late_kernel_of(lambda candidates, *_: 4.0 * candidates.size)
def add_arrows_of_order(candidates: Integers, available: Integers, sums: Array, arrows: Array) -> None:
    """arrows[u, v] += P(u -> v | order) = 1 - sums_v[S without u] / sums_v[S]."""
    for v in range(len(candidates)):
        members = available[v]
        for bit in range(candidates.shape[1]):
            if members >> bit & 1:
                without = sums[v, members ^ (1 << bit)] - sums[v, members]
                arrows[candidates[v, bit], v] += 1.0 - math.exp(max(without, LEAST_EXPONENT))


@late_kernel_of(lambda _, masks, *__: 2.0 * len(masks))
def draw_families(
    starts: Integers, masks: Integers, scores: Array, available: Integers, sums: Array, draws: Array, chosen: Integers
) -> None:
    """chosen[v] = a family of v whose parents precede it, drawn by its probability given the order."""
    for v in range(len(available)):
        sofar, last = 0.0, -1
        for j in range(starts[v], starts[v + 1]):
            if masks[j] & ~available[v] == 0:
                sofar += math.exp(max(scores[j] - sums[v, available[v]], LEAST_EXPONENT))
                last = j
                if sofar >= draws[v]:
                    break
        chosen[v] = last
