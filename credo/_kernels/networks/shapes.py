"""Arguments of several kernels: named tuples of arrays, and names of columns. Nothing here needs Numba.

One array has all integers of a kind, with a row for each clique, walk, variable or factor: each argument of a kernel
adds to the time of compiling and of calling it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from credo._kernels.arrays import Array, Integers

Plain = tuple[Any, ...]  # a named tuple of arrays as a plain tuple, which Numba converts much faster

# (factors + 1): the start of a factor's scope, and of its values
SCOPE, VALUES = 0, 1
# (positions in scopes): a variable of a factor's scope, and its stride in the factor's table
VARIABLE, STEP = 0, 1
# (cliques + 1): its parent, -1 for a root; the start of its members, and the number of leading ones, its separator; the
# starts of its table and of its separator; whether the other members are maximised instead of summed out
PARENT, MEMBERS, KEPT, TABLE, SEPARATOR, LARGEST = 0, 1, 2, 3, 4, 5
# (variables): its number of states, and their start among all states; a clique that contains it (-1: none), and its
# stride there; the start and the end of the smallest table that contains it (-1: none), and its stride there
CARD, PLACE, ENTRY, ENTRY_STEP, SOURCE, SOURCE_END, SOURCE_STEP = 0, 1, 2, 3, 4, 5, 6
# (walks): the start of the larger table; the start of the lengths and strides of its dimensions, and their number; the
# length of a run, its pattern, and the start of its map, or its stride; the clique with the larger table (-1: none, for
# a factor that is fully observed or not needed)
FIRST, BEGIN, DIMENSIONS, RUN, KIND, MAP, HOME = 0, 1, 2, 3, 4, 5, 6
# (cliques): the divisor of its message; a lower bound of the product of numbers that its table was multiplied by since
# it was scaled; the factor by which it has shrunk since numbers in it underflowed, 0 if none has
SCALE, SUNK, SHRUNK = 0, 1, 2


class Factors(NamedTuple):
    """The factors of a network."""

    starts: Integers  # of each factor's scope
    scope: Integers
    steps: Integers  # the stride of each variable of the scope in the factor's table
    values_at: Integers
    values: Array
    least: Array  # the smallest value above 0 of each


class CliqueFactors(NamedTuple):
    """The factors of each clique, from `of_clique[c]` to `of_clique[c + 1]`."""

    of_clique: Integers
    values_at: Integers  # the start of a factor's values
    starts: Integers  # the start of its strides
    steps: Integers  # the stride of each member of its clique in a factor's table; 0: the factor lacks it
