"""What several kernels take: arrays with names, and the names of columns. Nothing here needs Numba.

Numbers of one kind stand in one array, a row for each clique, walk, variable or factor: each array that a kernel takes
costs time, when it is compiled and whenever it is called.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Plain = tuple[Any, ...]  # a named tuple of arrays as a plain one: Numba takes those from Python much faster

# (factors + 1): where a factor's scope starts, and its values
SCOPE, VALUES = 0, 1
# (places in scopes): a variable of a factor's scope, and its step in the factor's table
VARIABLE, STEP = 0, 1
# (cliques + 1): its parent, -1 if it has none; where its members start, and how many of them lead and are its
# separator; where its table and its separator start; whether what isn't the separator's is maximised, not summed out
PARENT, MEMBERS, KEPT, TABLE, SEPARATOR, LARGEST = 0, 1, 2, 3, 4, 5
# (variables): its states, and where they start if all stand one after another; a clique that has it (-1: none), and its
# step there; where the smallest table that has it starts and ends (-1: none), and its step there
CARD, PLACE, ENTRY, ENTRY_STEP, SOURCE, SOURCE_END, SOURCE_STEP = 0, 1, 2, 3, 4, 5, 6
# (walks): where the larger table starts; where the lengths and then the steps of so many dimensions are; the length of
# a run, how it lies, and where its map is, or its step; the clique whose table is the larger (-1: there is none, all of
# a factor being observed or not needed)
FIRST, BEGIN, DIMENSIONS, RUN, KIND, MAP, HOME = 0, 1, 2, 3, 4, 5, 6
# (cliques): what its message was divided by; how small the numbers may have become that its table was multiplied by
# since it was scaled; by how much it has shrunk since numbers in it were too small to be kept, 0 if all are
SCALE, SUNK, SHRUNK = 0, 1, 2


class Factors(NamedTuple):
    """The factors of a network, one after another."""

    starts: Integers  # of each one's scope
    scope: Integers
    steps: Integers  # of each variable of the scope, in the factor's table
    values_at: Integers
    values: Array
    least: Array  # the smallest value above 0 of each


class Families(NamedTuple):
    """The factors in each clique: from `of_clique[c]` to `of_clique[c + 1]`."""

    of_clique: Integers
    values_at: Integers  # where a factor's values start
    starts: Integers  # of its steps
    steps: Integers  # in a factor's table, of each member of its clique; 0: the factor doesn't have it
