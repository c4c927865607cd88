"""Joint counts of several variables' states, by bit planes or by rows, reduced to one score each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import kernel

Planes = NDArray[np.uint64]  # (states, words): a bit for each row

LOG_GAMMA_FROM = 10.0  # above this, the series of log Γ is exact to the last digits
FEW_FACTORS = 10  # factors of Γ(α + n)/Γ(α) that are multiplied one by one, at most


@intrinsic  # type: ignore[untyped-decorator]
def ones(_: Any, word: Any) -> Any:  # noqa: ARG001 - Numba passes types here
    """The number of set bits of a word."""
    return types.uint64(types.uint64), lambda _context, builder, _signature, args: builder.ctpop(args[0])


@kernel
def set_planes(codes: Any, starts: Integers, planes: Planes) -> None:
    """Set bit i of planes[starts_v + codes_vi]: one plane for each state of each variable."""
    variables, rows = codes.shape
    for v in range(variables):
        if starts[v + 1] > starts[v]:
            for i in range(rows):
                planes[starts[v] + codes[v, i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@kernel
def log_rising(n: float, a: float, log_gamma: float) -> float:
    """log Γ(a + n)/Γ(a), where log_gamma is log Γ(a)."""
    if n <= 0.0:
        return 0.0
    if n <= FEW_FACTORS and n == math.floor(n):
        product = a
        for i in range(1, int(n)):
            product *= a + i
        return math.log(product)
    z, shift = a + n, 1.0
    while z < LOG_GAMMA_FROM:
        shift *= z
        z += 1.0
    y = 1.0 / (z * z)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / z
    return (z - 0.5) * math.log(z) - z + 0.9189385332046727 + series - math.log(shift) - log_gamma


@kernel
def cell_value(n: float, a: float, log_gamma: float) -> float:
    """The term of a cell with count n: log Γ(a + n)/Γ(a), or n log n for a = 0."""
    if a > 0.0:
        return log_rising(n, a, log_gamma)
    return n * math.log(n) if n > 0.0 else 0.0


@kernel
def split_planes(planes: Planes, starts: Integers, members: Integers, rows: int, most: int) -> Planes:
    """The planes of all joint states of the members that rows have; empty if these are more than `most`."""
    words = planes.shape[1]
    found = np.empty((1, words), dtype=np.uint64)
    found[0] = ~np.uint64(0)
    if rows & 63:
        found[0, words - 1] = (np.uint64(1) << np.uint64(rows & 63)) - np.uint64(1)
    for v in members:
        size = starts[v + 1] - starts[v]
        if len(found) * size > 4 * most:
            return np.empty((0, words), dtype=np.uint64)
        finer = np.empty((len(found) * size, words), dtype=np.uint64)
        kept = 0
        for k in range(len(found)):
            for s in range(starts[v], starts[v + 1]):
                some = np.uint64(0)
                for w in range(words):
                    both = found[k, w] & planes[s, w]
                    finer[kept, w] = both
                    some |= both
                kept += some != 0
        if kept > most:
            return np.empty((0, words), dtype=np.uint64)
        found = finer[:kept]
    return found


@kernel
def score_by_planes(
    keys: Planes, planes: Planes, starts: Integers, others: Integers, prior: Array, log_gamma: Array, out: Array
) -> None:
    """out_j = Σ of the terms of the cells (key, others_j); the last state's counts follow from the others."""
    states, words = keys.shape
    totals = np.zeros(states, dtype=np.int64)
    for k in range(states):
        count = np.uint64(0)
        for w in range(words):
            count += ones(keys[k, w])
        totals[k] = np.int64(count)
    for j in range(len(others)):
        first, last = starts[others[j]], starts[others[j] + 1] - 1
        value = 0.0
        for k in range(states):
            left = totals[k]
            for s in range(first, last):
                count = np.uint64(0)
                for w in range(words):
                    count += ones(keys[k, w] & planes[s, w])
                left -= np.int64(count)
                value += cell_value(float(count), prior[j], log_gamma[j])
            value += cell_value(float(left), prior[j], log_gamma[j])
        out[j] = value


@kernel
def join_codes(codes: Any, sizes: Integers, members: Integers, keys: Any) -> None:
    """keys_i = the index of the members' joint state in row i, the last member's state changing fastest."""
    keys[:] = 0
    for v in members:
        size = keys.dtype.type(sizes[v])
        for i in range(len(keys)):
            keys[i] = keys[i] * size + codes[v, i]


@kernel
def compact_keys(keys: Any, states: int) -> int:
    """Renumber the keys that occur from 0 in their order; the result is their number."""
    place = np.zeros(states, dtype=np.int32)
    for i in range(len(keys)):
        place[keys[i]] = 1
    found = 0
    for k in range(states):
        if place[k]:
            place[k] = found
            found += 1
    for i in range(len(keys)):
        keys[i] = place[keys[i]]
    return found


@kernel
def score_by_rows(
    keys: Any,
    states: int,
    unusual: Any,
    rows_of: Any,
    starts: Integers,
    sizes: Integers,
    others: Integers,
    prior: Array,
    log_gamma: Array,
    out: Array,
) -> None:
    """The scores of `score_by_planes` by rows, of which only those with an uncommon state of the other variable are
    read.

    rows_of[starts_v : starts_v+1] are the rows without v's commonest state, and `unusual` has their states.
    """
    totals = np.zeros(states, dtype=np.int64)
    for i in range(len(keys)):
        totals[keys[i]] += 1
    most = 0
    for v in others:
        most = max(most, sizes[v])
    counts = np.empty(states * most, dtype=np.int64)
    for j in range(len(others)):
        v = others[j]
        size = sizes[v]
        counts[: states * size] = 0
        for i in range(starts[v], starts[v + 1]):
            counts[np.int64(keys[rows_of[i]]) * size + unusual[i]] += 1
        value = 0.0
        for k in range(states):
            left = float(totals[k])
            for s in range(size):
                n = float(counts[k * size + s])
                if n > 0.0:
                    left -= n
                    value += cell_value(n, prior[j], log_gamma[j])
            value += cell_value(left, prior[j], log_gamma[j])
        out[j] = value


@kernel
def score_by_weights(
    keys: Any,
    states: int,
    codes: Any,
    weight: Array,
    sizes: Integers,
    others: Integers,
    prior: Array,
    log_gamma: Array,
    out: Array,
) -> None:
    """The scores of `score_by_planes` for weighted rows, all of which are read."""
    most = 0
    for v in others:
        most = max(most, sizes[v])
    counts = np.empty(states * most)
    for j in range(len(others)):
        v = others[j]
        size = sizes[v]
        counts[: states * size] = 0.0
        for i in range(len(keys)):
            counts[np.int64(keys[i]) * size + codes[v, i]] += weight[i]
        value = 0.0
        for c in range(states * size):
            value += cell_value(counts[c], prior[j], log_gamma[j])
        out[j] = value
