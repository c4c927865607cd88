"""When a mean gain is clear: it exceeds a multiple of its standard error."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.numerics.exact import Array
from credo.numerics.spread import effective_rows

CLEAR_ERRORS = 2.0  # standard errors that a clear gain exceeds


def clear_gain(gain: Array, weight: Array, errors: float = 1.0, held_out_ratio: float = 0.0) -> Any:
    """Whether the mean gain of rows exceeds `errors` standard errors: the best of many looks good by chance.

    gain: (..., rows); held_out_ratio: the ratio of held-out to training rows (see `variance_of_mean`)
    """
    share = weight / weight.sum()
    mean = gain @ share
    return mean > errors * np.sqrt(
        (1 + held_out_ratio) * ((gain - mean[..., None]) ** 2 @ share) / effective_size(weight)
    )


def effective_size(weight: Array) -> float:
    """Kish's effective sample size of weighted rows: (Σw)²/Σw²."""
    return effective_rows(weight.sum(), (weight**2).sum())
