"""Which factors a question needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import kernel
from credo._kernels.shapes import SCOPE, VARIABLE

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]


@kernel
def mark_ancestors(heads: Integers, axes: Integers, children: Integers, wanted: Flags, used: Flags) -> None:
    """used: the tables of the wanted variables and of all above them; the others sum to 1, and are left out."""
    table = np.full(len(wanted), -1, dtype=np.int64)
    for f in range(len(children)):
        if children[f] < 0:
            used[f] = True
        else:
            table[children[f]] = f
    stack, size = np.empty(len(wanted), dtype=np.int64), 0
    for v in range(len(wanted)):
        if wanted[v] and table[v] >= 0:
            used[table[v]] = True
            stack[size] = v
            size += 1
    while size:
        size -= 1
        f = table[stack[size]]
        for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
            v = axes[i, VARIABLE]
            if table[v] >= 0 and not used[table[v]]:
                used[table[v]] = True
                stack[size] = v
                size += 1


@kernel
def drop_unconnected(
    heads: Integers, axes: Integers, with_zeros: Flags, targets: Flags, free: Flags, used: Flags
) -> None:
    """Factors that no chain of free variables joins to a target go, with all of their part, if none in it has zeros:
    then evidence there can't be impossible, and says nothing of the targets."""
    n, many = len(free), len(used)
    part = np.arange(n + 1)  # the last stands for all that is needed
    for f in range(many):
        if used[f]:
            first = n if with_zeros[f] else -1
            for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
                v = axes[i, VARIABLE]
                if free[v]:
                    a = root_of(part, v)
                    if first < 0:
                        first = a
                    else:
                        b = root_of(part, first)
                        part[min(a, b)] = max(a, b)
    for v in range(n):
        if targets[v]:
            part[root_of(part, v)] = n
    for f in range(many):
        if used[f]:
            needed = with_zeros[f]
            for i in range(heads[f, SCOPE], heads[f + 1, SCOPE]):
                v = axes[i, VARIABLE]
                needed = needed or (free[v] and root_of(part, v) == n)
            used[f] = needed


@kernel
def root_of(part: Integers, v: int) -> int:
    while part[v] != v:
        part[v] = part[part[v]]
        v = part[v]
    return v
