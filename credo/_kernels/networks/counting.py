"""Counting of complete rows: codes of strings, and counts for all tables of a network in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Codes, Integers
from credo._kernels.jit import late_kernel_of

Bytes = NDArray[np.uint8]


@late_kernel_of(lambda ends, *_: 4.0 * len(ends))
def code_strings(ends: Integers, text: Bytes, state_ends: Integers, states: Bytes, out: Codes) -> int:
    """out (rows) = the state of each row's string, -1 if it is none. The result is the number of these.

    String i is text[ends[i] : ends[i + 1]]; states are stored in the same way.
    """
    unknown = 0
    for i in range(len(out)):
        start, size = ends[i], ends[i + 1] - ends[i]
        code = -1
        for s in range(len(state_ends) - 1):
            at = state_ends[s]
            if state_ends[s + 1] - at != size:
                continue
            k = 0
            while k < size and text[start + k] == states[at + k]:
                k += 1
            if k == size:
                code = s
                break
        out[i] = code
        unknown += code < 0
    return unknown


@late_kernel_of(lambda codes, heads, *_: 2.0 * codes.shape[1] * heads[-1])
def count_families(
    codes: Codes, heads: Integers, members: Integers, steps: Integers, starts: Integers, out: Integers
) -> None:
    """out[starts_f + Σ steps · codes] += 1 for each row and each node f with its parents. codes: (variables, rows)"""
    for f in range(len(starts)):
        for i in range(codes.shape[1]):
            cell = starts[f]
            for m in range(heads[f], heads[f + 1]):
                cell += steps[m] * codes[members[m], i]
            out[cell] += 1
