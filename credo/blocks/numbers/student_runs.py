"""Runs of columns of which Student's t takes one logarithm: that of a product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

RUN = 60  # columns whose squared distances are multiplied before a logarithm is taken


def ends_of_runs(power: Array) -> NDArray[np.bool_]:
    """After which columns a logarithm is taken: where the power changes, and from time to time."""
    columns = power.shape[1]
    ends = np.ones(columns, dtype=bool)
    ends[:-1] = (power[:, 1:] != power[:, :-1]).any(0)
    run = 0
    for j in range(columns):
        run += 1
        ends[j] |= run == RUN
        run = 0 if ends[j] else run
    return ends
