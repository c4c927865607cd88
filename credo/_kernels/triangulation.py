"""From scopes to a tree of cliques: which variable is summed out when, and what tables that takes.

Sets of variables are rows of bits, 64 in a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel, part
from credo._kernels.shapes import SCOPE, VARIABLE

Array = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

FILL, WEIGHT = 0, 1  # rules: which variable goes next


@part
def count_bits(x: np.uint64) -> Any:
    """How many bits of a word are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def list_bits(sets: Bits, row: int, found: Integers) -> int:
    """found = the members of a set, in order; how many there are."""
    size = 0
    for word in range(sets.shape[1]):
        left = sets[row, word]
        while left:
            low = left & (~left + np.uint64(1))
            found[size] = 64 * word + count_bits(low - np.uint64(1))
            size += 1
            left ^= low
    return size


@kernel
def connect_scopes(heads: Integers, axes: Integers, used: Flags, free: Flags, near: Bits) -> None:
    """near (variables, words): those that share a used factor with a variable, of the free ones."""
    one = np.uint64(1)
    for f in range(len(used)):
        if used[f]:
            for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
                a = axes[i, VARIABLE]
                if free[a]:
                    for j in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
                        b = axes[j, VARIABLE]
                        if free[b] and a != b:
                            near[a, b >> 6] |= one << np.uint64(b & 63)


@part
def score(v: int, near: Bits, log_size: Array, rule: int, costs: Array, others: Integers) -> None:
    """costs (variables, 2): what the rule says of v first, then what the other does: the new edges that it needs, and
    the logarithm of the table that it makes."""
    size, missing, weight = list_bits(near, v, others), 0, log_size[v]
    for i in range(size):
        u = others[i]
        weight += log_size[u]
        if rule == FILL:
            for word in range(near.shape[1]):
                missing += count_bits(near[v, word] & ~near[u, word])
    # each pair that isn't joined was counted twice, and u as its own neighbour once
    costs[v, 0], costs[v, 1] = (missing - size) // 2 if rule == FILL else weight, weight


@part
def goes_before(v: int, u: int, stage: Integers, costs: Array, chance: Array) -> bool:
    if stage[v] != stage[u]:
        return bool(stage[v] < stage[u])
    if costs[v, 0] != costs[u, 0]:
        return bool(costs[v, 0] < costs[u, 0])
    if costs[v, 1] != costs[u, 1]:
        return bool(costs[v, 1] < costs[u, 1])
    return bool(chance[v] < chance[u])


@part
def join_neighbours(v: int, near: Bits, rule: int, others: Integers, around: Integers, stale: Flags) -> None:
    """near: v's neighbours become each other's, and it goes; stale: whose costs aren't what they were."""
    one = np.uint64(1)
    for i in range(list_bits(near, v, others)):
        u = others[i]
        grown = False
        for word in range(near.shape[1]):
            new = near[v, word] & ~near[u, word]
            if word == u >> 6:
                new &= ~(one << np.uint64(u & 63))
            if new:
                grown = True
                near[u, word] |= new
        near[u, v >> 6] &= ~(one << np.uint64(v & 63))
        stale[u] = True
        if grown and rule == FILL:  # neighbours of both ends of a new edge have one pair less to join
            for j in range(list_bits(near, u, around)):
                stale[around[j]] = True


@kernel
def eliminate(
    near: Bits, log_size: Array, stage: Integers, rule: int, chance: Array, order: Integers, cliques: Bits, sizes: Array
) -> None:
    """order: how variables go, those of a lower stage (-1: isn't there) first; cliques: each with its neighbours then;
    sizes: the logarithm of each one's.

    By the rule, a variable goes next that needs the fewest new edges, or makes the smallest table; the other decides
    ties, then chance. near is used up.
    """
    n = len(near)
    costs, stale = np.empty((n, 2)), np.ones(n, dtype=np.bool_)
    waiting, others, around = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    left = 0
    for v in range(n):
        if stage[v] >= 0:
            waiting[left] = v
            left += 1
    for step in range(left):
        best = 0
        for i in range(left):
            v = waiting[i]
            if stale[v]:
                stale[v] = False
                score(v, near, log_size, rule, costs, others)
            if goes_before(v, waiting[best], stage, costs, chance):
                best = i
        v = waiting[best]
        left -= 1
        waiting[best] = waiting[left]
        order[step], sizes[step] = v, costs[v, 1]
        for word in range(near.shape[1]):
            cliques[step, word] = near[v, word]
        cliques[step, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
        join_neighbours(v, near, rule, others, around, stale)


@kernel
def join_cliques(
    order: Integers, cliques: Bits, stage: Integers, home: Integers, parent: Integers, made: Integers
) -> int:
    """Cliques within others join them, in one stage. How many are left, in an order that has children before parents.

    home (variables): the clique that holds a variable and its neighbours when it went; parent: of each clique that is
    left, or -1; made: the step at which it was made.
    """
    steps, n = len(order), len(home)
    others, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    above = np.empty(steps, dtype=np.int64)  # the step of the next clique on the way to the root
    size, number = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)
    holder, last = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)  # the step whose clique holds it
    for v in range(n):
        place[v] = -1
    for i in range(steps):
        place[order[i]] = i
        holder[i] = last[i] = i
        number[i] = -1
    for i in range(steps):
        size[i] = list_bits(cliques, i, others)
        first = steps
        for j in range(size[i]):
            if i < place[others[j]] < first:
                first = place[others[j]]
        above[i] = first if first < steps else -1
    for i in range(steps):
        p, h = above[i], holder[i]
        within = p >= 0 and size[p] == size[i] - 1 and stage[order[p]] == stage[order[i]]
        if within and holder[p] == p:
            holder[p], last[h] = h, p
    count = 0
    for i in range(steps):  # by the last variable that went, so that parents come after their children
        h = holder[i]
        if last[h] == i:
            number[h], made[count] = count, h
            count += 1
    for i in range(steps):
        home[order[i]] = number[holder[i]]
        if number[i] >= 0:
            p = above[last[i]]
            parent[number[i]] = number[holder[p]] if p >= 0 else -1
    return count


@kernel
def attach_to_smaller(cliques: Bits, made: Integers, sizes: Array, parent: Integers) -> None:
    """parent: the smallest clique that comes later and has all that the parent shares: a message is then multiplied
    into fewer cells. The tree stays one, since what two cliques share is in all between them."""
    for c in range(len(parent)):
        p = parent[c]
        if p < 0:
            continue
        for q in range(c + 1, len(parent)):
            if sizes[made[q]] < sizes[made[parent[c]]]:
                inside = True
                for word in range(cliques.shape[1]):
                    shared = cliques[made[c], word] & cliques[made[p], word]
                    if shared & ~cliques[made[q], word]:
                        inside = False
                        break
                if inside:
                    parent[c] = q
