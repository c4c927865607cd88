"""The tree of maximal cliques of an elimination order."""

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import kernel
from credo._kernels.networks.triangulation import STAGE


@kernel
def join_cliques(
    order: Integers,
    starts: Integers,
    members: Integers,
    nodes: Integers,
    home: Integers,
    parent: Integers,
    made: Integers,
) -> int:
    """Merge cliques that are contained in others of the same stage. The result is the number of maximal cliques, which
    are ordered with children before parents.

    home (variables): the clique with a variable and its neighbours at its elimination; parent: of each maximal clique,
    or -1; made: the elimination step of each maximal clique
    """
    steps, n = len(order), len(home)
    place = np.empty(n, dtype=np.int64)
    above = np.empty(steps, dtype=np.int64)  # the step of the next clique on the way to the root
    number = np.empty(steps, dtype=np.int64)
    holder, last = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)  # the step whose clique contains it
    for i in range(steps):
        place[order[i]] = i
        holder[i] = last[i] = i
        number[i] = -1
    for i in range(steps):
        first = steps
        for j in range(starts[i] + 1, starts[i + 1]):
            first = min(first, place[members[j]])
        above[i] = first if first < steps else -1
    for i in range(steps):
        p, h = above[i], holder[i]
        within = p >= 0 and starts[p + 1] - starts[p] == starts[i + 1] - starts[i] - 1
        if within and holder[p] == p and nodes[order[p], STAGE] == nodes[order[i], STAGE]:
            holder[p], last[h] = h, p
    count = 0
    for i in range(steps):  # by the last eliminated variable, so that parents come after children
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
def attach_to_smaller(
    by_size: Integers,
    sizes: Array,
    made: Integers,
    starts: Integers,
    members: Integers,
    parent: Integers,
    having: Integers,
    held: Integers,
    tries: int,
) -> None:
    """parent = the smallest later clique with all variables that a clique shares with its parent, among `tries`
    cliques: a message is then multiplied into fewer cells. The tree keeps the running intersection property.

    by_size: the cliques, smallest first. having, held: scratch for the starts of each variable's cliques (variables
    + 1), and for these cliques
    """
    count, n = len(parent), len(having) - 2
    for c in range(count):
        for i in range(starts[made[c]], starts[made[c] + 1]):
            having[members[i] + 2] += 1
    for v in range(n):
        having[v + 2] += having[v + 1]
    for c in by_size:
        for i in range(starts[made[c]], starts[made[c] + 1]):
            held[having[members[i] + 1]] = c
            having[members[i] + 1] += 1
    seen = np.full(n, -1, dtype=np.int64)
    for c in range(count):
        p = parent[c]
        if p < 0:
            continue
        for i in range(starts[made[p]], starts[made[p] + 1]):
            seen[members[i]] = c
        shared, rarest = 0, -1
        for i in range(starts[made[c]], starts[made[c] + 1]):
            v = members[i]
            if seen[v] == c:
                seen[v] = count + c
                shared += 1
                if rarest < 0 or having[v + 1] - having[v] < having[rarest + 1] - having[rarest]:
                    rarest = v
        for k in range(having[rarest], min(having[rarest + 1], having[rarest] + tries)):
            q = held[k]
            if sizes[made[q]] >= sizes[made[p]]:
                break
            if q > c:
                both = 0
                for i in range(starts[made[q]], starts[made[q] + 1]):
                    both += seen[members[i]] == count + c
                if both == shared:
                    parent[c] = q
                    break
