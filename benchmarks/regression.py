"""Linear regression of a million rows, end to end, against scikit-learn: least squares by sums that can be updated.

Processor seconds of one thread on each side, BLAS included, measured in turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import credo
from benchmarks.logistic import seconds
from benchmarks.timing import Line, Ratio, one_thread

ROWS, COLUMNS, TIMES = 1_000_000, 50, 5
FASTER = 3.0


def run() -> Iterator[Any]:
    with one_thread():
        yield from _lines()


def _lines() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS))
    y = x @ rng.normal(size=COLUMNS) + rng.normal(size=ROWS)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(COLUMNS)])
    whole = frame.assign(y=y)
    size = f"linear regression, 1M x {COLUMNS}"
    fits = seconds(
        lambda: credo.LinearRegression().fit(x, target=y).mean(), lambda: LinearRegression().fit(x, y), TIMES
    )
    yield Line(f"{size}, NumPy array", "scikit-learn", *fits, FASTER)
    fits = seconds(
        lambda: credo.LinearRegression().fit(whole, target="y").mean(), lambda: LinearRegression().fit(frame, y), TIMES
    )
    yield Line(f"{size}, DataFrame", "scikit-learn", *fits, FASTER)
    model, peer = credo.LinearRegression(ridge=0).fit(x, target=y), LinearRegression().fit(x, y)
    apart = float(np.abs(model.mean().weights[1:] - peer.coef_).max())
    yield Ratio("largest difference of a weight from scikit-learn's", apart, 1e-9)
