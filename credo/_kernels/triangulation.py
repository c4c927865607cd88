"""From scopes to a tree of cliques: which variable is summed out when, and what tables that takes.

Sets of variables are rows of bits, 64 in a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel

Array = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

FILL, WEIGHT = 0, 1  # rules: which variable goes next


@kernel
def count_bits(x: np.uint64) -> Any:
    """How many bits of a word are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def list_bits(bits: Bits, found: Integers) -> int:
    """found = the members of a set, in order; how many there are."""
    size = 0
    for word in range(len(bits)):
        left = bits[word]
        while left:
            low = left & (~left + np.uint64(1))
            found[size] = 64 * word + count_bits(low - np.uint64(1))
            size += 1
            left ^= low
    return size


@kernel
def connect_scopes(starts: Integers, scope: Integers, used: Flags, free: Flags, near: Bits) -> None:
    """near (variables, words): those that share a used factor with a variable, of the free ones."""
    one = np.uint64(1)
    for f in range(len(used)):
        if used[f]:
            for i in range(starts[f], starts[f + 1]):
                a = scope[i]
                if free[a]:
                    for j in range(starts[f], starts[f + 1]):
                        b = scope[j]
                        if free[b] and a != b:
                            near[a, b >> 6] |= one << np.uint64(b & 63)


@kernel
def missing_edges(near: Bits, v: int, others: Integers) -> int:
    """How many pairs of v's neighbours aren't neighbours of each other."""
    missing = 0
    size = list_bits(near[v], others)
    for i in range(size):
        u = others[i]
        for word in range(near.shape[1]):
            missing += count_bits(near[v, word] & ~near[u, word])
    return (missing - size) // 2  # each was counted twice, and u as its own neighbour once


@kernel
def eliminate(
    near: Bits, log_size: Array, stage: Integers, rule: int, chance: Array, order: Integers, cliques: Bits
) -> Array:
    """order: how variables go, those of a lower stage (-1: isn't there) first; cliques: each with its neighbours then.

    By the rule, a variable goes next that needs the fewest new edges, or makes the smallest table; the other decides
    ties, then chance. near is used up. log of each clique's size.
    """
    n, words = near.shape
    one = np.uint64(1)
    cost, weight, stale = np.empty(n), np.empty(n), np.ones(n, dtype=np.bool_)
    waiting, others, around = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    left = 0
    for v in range(n):
        if stage[v] >= 0:
            waiting[left] = v
            left += 1
    sizes = np.empty(left)
    for step in range(len(sizes)):
        best = -1
        for i in range(left):
            v = waiting[i]
            if stale[v]:
                stale[v] = False
                weight[v] = log_size[v]
                size = list_bits(near[v], others)
                for j in range(size):
                    weight[v] += log_size[others[j]]
                cost[v] = missing_edges(near, v, others) if rule == FILL else weight[v]
            if best < 0:
                best = i
                continue
            u = waiting[best]
            if stage[v] != stage[u]:
                better = stage[v] < stage[u]
            elif cost[v] != cost[u]:
                better = cost[v] < cost[u]
            elif rule == FILL and weight[v] != weight[u]:
                better = weight[v] < weight[u]
            else:
                better = chance[v] < chance[u]
            if better:
                best = i
        v = waiting[best]
        left -= 1
        waiting[best] = waiting[left]
        order[step], sizes[step] = v, weight[v]
        for word in range(words):
            cliques[step, word] = near[v, word]
        cliques[step, v >> 6] |= one << np.uint64(v & 63)
        size = list_bits(near[v], others)
        for i in range(size):
            u = others[i]
            grown = False
            for word in range(words):
                new = near[v, word] & ~near[u, word]
                if word == u >> 6:
                    new &= ~(one << np.uint64(u & 63))
                if new:
                    grown = True
                    near[u, word] |= new
            near[u, v >> 6] &= ~(one << np.uint64(v & 63))
            stale[u] = True
            if grown and rule == FILL:  # neighbours of both ends of a new edge have one pair less to join
                found = list_bits(near[u], around)
                for j in range(found):
                    stale[around[j]] = True
    return sizes


@kernel
def join_cliques(
    order: Integers, cliques: Bits, stage: Integers, home: Integers, parent: Integers, made: Integers
) -> int:
    """Cliques within others join them, in one stage. How many are left, in an order that has children before parents.

    home (variables): the clique that holds a variable and its neighbours when it went; parent: of each clique that is
    left, or -1; made: the step at which it was made.
    """
    steps = len(order)
    place = np.full(len(home), -1, dtype=np.int64)
    for i in range(steps):
        place[order[i]] = i
    above = np.full(steps, -1, dtype=np.int64)  # the step of the next clique on the way to the root
    size = np.empty(steps, dtype=np.int64)
    others = np.empty(len(home), dtype=np.int64)
    for i in range(steps):
        size[i] = list_bits(cliques[i], others)
        first = steps
        for j in range(size[i]):
            if place[others[j]] > i:
                first = min(first, place[others[j]])
        above[i] = first if first < steps else -1
    holder = np.arange(steps)  # the step whose clique holds that of a step
    last = np.arange(steps)
    for i in range(steps):
        p, h = above[i], holder[i]
        within = p >= 0 and size[p] == size[i] - 1 and stage[order[p]] == stage[order[i]]
        if within and holder[p] == p:
            holder[p], last[h] = h, p
    count = 0
    number = np.full(steps, -1, dtype=np.int64)
    for i in range(steps):  # by the last variable that went, so that parents come after their children
        h = holder[i]
        if last[h] == i:
            number[h], made[count] = count, h
            count += 1
    for i in range(steps):
        home[order[i]] = number[holder[i]]
    for h in range(steps):
        if number[h] >= 0:
            p = above[last[h]]
            parent[number[h]] = number[holder[p]] if p >= 0 else -1
    return count


@kernel
def attach_to_smaller(cliques: Bits, made: Integers, sizes: Array, parent: Integers) -> None:
    """parent: the smallest clique that comes later and has all that the parent shares: a message is then multiplied
    into fewer cells. The tree stays one, since what two cliques share is in all between them."""
    words = cliques.shape[1]
    shared = np.empty(words, dtype=np.uint64)
    for c in range(len(parent)):
        if parent[c] < 0:
            continue
        for word in range(words):
            shared[word] = cliques[made[c], word] & cliques[made[parent[c]], word]
        for q in range(c + 1, len(parent)):
            if sizes[made[q]] < sizes[made[parent[c]]]:
                inside = True
                for word in range(words):
                    if shared[word] & ~cliques[made[q], word]:
                        inside = False
                        break
                if inside:
                    parent[c] = q
