"""When a mean gain is clear: it exceeds a multiple of its standard error."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.numerics.exact import Array
from credo.numerics.spread import effective_rows

CLEAR_ERRORS = 2.0  # standard errors that a clear gain exceeds
TAIL = 0.05  # the share of the rows on either side whose gains are taken to be those of the next row


def clear_gain(gain: Array, weight: Array, errors: float = 1.0, held_out_ratio: float = 0.0) -> Any:
    """Whether the mean gain of rows exceeds `errors` standard errors: the best of many looks good by chance.

    gain: (..., rows); held_out_ratio: the ratio of held-out to training rows (see `variance_of_mean`)
    """
    share = weight / weight.sum()
    mean = gain @ share
    return mean > errors * np.sqrt(
        (1 + held_out_ratio) * ((gain - mean[..., None]) ** 2 @ share) / effective_size(weight)
    )


def clear_gain_but_for_tails(gain: Array, weight: Array, errors: float = 1.0, held_out_ratio: float = 0.0) -> bool:
    """Whether there is a gain, and a clear one if the largest gains and losses are made less extreme (winsorised: Yuen
    1974, "The two-sample trimmed t for unequal population variances").

    One outlier may hide any gain: it raises the mean by x/n and its standard error by about as much. gain: (rows,)

    >>> gain, weight = np.append(np.linspace(0.5, 1.5, 99), 1000.0), np.ones(100)
    >>> bool(clear_gain(gain, weight, 2.0)), clear_gain_but_for_tails(gain, weight, 2.0)
    (False, True)
    """
    order = np.argsort(gain)
    ends = [own[np.searchsorted(np.cumsum(weight[own]), TAIL * weight.sum(), "right")] for own in (order, order[::-1])]
    usual = np.clip(gain, *gain[ends])
    return bool(gain @ weight > 0 and clear_gain(usual, weight, errors / (1 - 2 * TAIL), held_out_ratio))


def effective_size(weight: Array) -> float:
    """Kish's effective sample size of weighted rows: (Σw)²/Σw²."""
    return effective_rows(weight.sum(), (weight**2).sum())
