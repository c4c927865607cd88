"""Pruning of factors that are irrelevant to a query."""

from __future__ import annotations

from credo._kernels.arrays import Flags, Integers
from credo._kernels.jit import kernel
from credo._kernels.networks.shapes import SCOPE, VARIABLE


@kernel
def find_ancestors(
    heads: Integers, axes: Integers, owned: Integers, wanted: Integers, used: Flags, found: Integers, size: int
) -> int:
    """found, from `size`: the tables of the wanted variables and their ancestors; the result is their end. Barren
    tables sum to 1 and are left out. used: whether a table is found; owned: each variable's table, or -1"""
    done = size
    for v in wanted:
        f = owned[v]
        if f >= 0 and not used[f]:
            used[f], found[size] = True, f
            size += 1
    while done < size:
        f = found[done]
        done += 1
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            g = owned[axes[i, VARIABLE]]
            if g >= 0 and not used[g]:
                used[g], found[size] = True, g
                size += 1
    return size


@kernel
def drop_unconnected(
    heads: Integers, axes: Integers, with_zeros: Flags, targets: Integers, free: Flags, found: Integers, part: Integers
) -> int:
    """Drop components of factors that no path of free variables connects to a target, if none in them has zeros:
    evidence there can't be impossible, and is irrelevant. The result is the number of remaining factors, first in
    found.

    part: zeros (variables + 1); the last is for the component that is needed
    """
    n = len(free)
    for f in found:
        first = n if with_zeros[f] else -1
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            if free[v]:
                a = root_of(part, v)
                if first < 0:
                    first = a
                else:
                    b = root_of(part, first)
                    if a != b:
                        part[min(a, b)] = max(a, b) + 1
    for v in targets:
        a = root_of(part, v)
        if a != n:
            part[a] = n + 1
    kept = 0
    for f in found:
        needed = with_zeros[f]
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            needed = needed or (free[v] and root_of(part, v) == n)
        if needed:
            found[kept] = f
            kept += 1
    return kept


@kernel
def root_of(part: Integers, v: int) -> int:
    """The representative of v's component (union-find); part: 1 + another member, or 0 for the representative."""
    while part[v]:
        above = part[v] - 1
        if part[above]:
            part[v] = part[above]
        v = above
    return v
