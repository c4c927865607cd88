"""Runs of columns for which Student's t takes one logarithm, that of a product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

RUN_COLUMNS = 60  # columns whose squared distances are multiplied before a logarithm is taken, at most


def ends_of_runs(power: Array) -> NDArray[np.bool_]:
    """Whether a run ends after a column: where the power changes, and after RUN_COLUMNS columns."""
    columns = power.shape[1]
    ends = np.ones(columns, dtype=bool)
    ends[:-1] = (power[:, 1:] != power[:, :-1]).any(0)
    run = 0
    for j in range(columns):
        run += 1
        ends[j] |= run == RUN_COLUMNS
        run = 0 if ends[j] else run
    return ends
