"""Entries of sparse tables: sorted, and summed by cell."""

from __future__ import annotations

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import late_kernel, late_kernel_of


@late_kernel
def add_lists(rows: Codes, starts: Integers, columns: Codes, values: Array, high: Array, low: Array) -> int:
    """high + low (rows, columns) += values at their cells. The result is the number of nonzero cells; -1 if low is
    needed, but empty.

    Entries come in lists, list i from startsᵢ to startsᵢ₊₁, with different rows and the column columnsᵢ; lists with a
    negative column are ignored.
    """
    cells = 0
    for i in range(len(columns)):
        c = columns[i]
        if c < 0:
            continue
        for at in range(starts[i], starts[i + 1]):
            r, v = rows[at], values[at]
            old = high[r, c]
            cells += old == 0.0 and v != 0.0
            new = old + v
            step = new - old
            error = (old - (new - step)) + (v - step)
            if error != 0.0:
                if len(low) == 0:
                    return -1
                low[r, c] += error
            high[r, c] = new
    return cells


@late_kernel_of(lambda rows, _, weights, *__: rows.size * weights.shape[1])
def add_lists_soft(rows: Codes, starts: Integers, weights: Array, values: Array, out: Array) -> None:
    """out (rows, columns) += values · weightsᵢₖ, for entries in lists, list i from startsᵢ to startsᵢ₊₁."""
    columns = weights.shape[1]
    for i in range(len(weights)):
        for at in range(starts[i], starts[i + 1]):
            r, v = rows[at], values[at]
            for k in range(columns):
                out[r, k] += v * weights[i, k]


@late_kernel
def collect_cells(high: Array, low: Array, starts: Integers, columns: Codes, out_high: Array, out_low: Array) -> None:
    """The nonzero cells of a table, row by row; low may be empty."""
    cells = 0
    for r in range(high.shape[0]):
        for c in range(high.shape[1]):
            if high[r, c] != 0.0:
                rest = low[r, c] if len(low) else 0.0
                columns[cells] = c
                s = high[r, c] + rest
                out_low[cells] = rest - (s - high[r, c])
                out_high[cells] = s
                cells += 1
        starts[r + 1] = cells


@late_kernel
def order_by(keys: Codes, before: Integers, places: Integers, out: Integers) -> None:
    """out = the entries, stably sorted by keys. places (keys + 1,) is 0 before."""
    for i in range(len(keys)):
        places[keys[i] + 1] += 1
    for k in range(1, len(places)):
        places[k] += places[k - 1]
    for i in range(len(before)):
        entry = before[i]
        k = keys[entry]
        out[places[k]] = entry
        places[k] += 1


@late_kernel_of(lambda rows, *_: 2 * rows.size)
def add_entries(
    rows: Codes, columns: Codes, high: Array, low: Array, order: Integers,
    starts: Integers, out_columns: Codes, out_high: Array, out_low: Array,
) -> int:  # fmt: skip
    """Sums by cell, in pairs of floats (numerics.exact), of entries sorted by rows and columns. The result is the
    number of cells.

    starts (rows + 1,) is 0 before, and the start of each row's cells after.
    """
    cells = 0
    row, column = -1, -1
    for i in range(len(order)):
        entry = order[i]
        if rows[entry] != row or columns[entry] != column:
            row, column = rows[entry], columns[entry]
            starts[row + 1] += 1
            out_columns[cells] = column
            out_high[cells] = high[entry]
            out_low[cells] = low[entry]
            cells += 1
            continue
        u = out_high[cells - 1]
        v = high[entry]
        s = u + v
        t = s - u
        error = (u - (s - t)) + (v - t)
        u = out_low[cells - 1]
        v = low[entry]
        w = u + v
        t = w - u
        rest = (u - (w - t)) + (v - t)
        error += w
        w = s + error
        error = (error - (w - s)) + rest
        s = w + error
        out_high[cells - 1] = s
        out_low[cells - 1] = error - (s - w)
    for r in range(1, len(starts)):
        starts[r] += starts[r - 1]
    return cells
