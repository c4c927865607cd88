"""What several kernels take: arrays with names. Nothing here needs Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class Factors(NamedTuple):
    """The factors of a network, one after another."""

    starts: Integers  # of each one's scope
    scope: Integers
    steps: Integers  # of each variable of the scope, in the factor's table
    values_at: Integers
    values: Array
    least: Array  # the smallest value above 0 of each
