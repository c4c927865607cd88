"""The evidence of a binned column without each row = that of the other rows alone, whose bins are their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from credo.blocks.block import Settings
from credo.blocks.numbers.binned import BinnedLikelihood, Sketch
from credo.core.membership import Hard


def sketch(x: Any, own: Any, weight: Any, settings: Settings, coarse: bool) -> Sketch:
    values = np.unique(x)
    counts = np.zeros((3, len(values)))
    np.add.at(counts, (own, np.searchsorted(values, x)), weight)
    return Sketch("x", values, counts, settings, coarse)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("settings", [Settings(), Settings(smoothing=0.5), Settings(m=4.0)], ids=["1", "0.5", "m"])
@pytest.mark.parametrize("rows", [2, 3, 17, 60])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_each_row_left_out(rows: int, digits: int, settings: Settings, coarse: bool) -> None:
    rng = np.random.default_rng(rows)
    x = np.round(rng.normal(0, 3, rows), digits)
    own, weight = rng.integers(0, 3, rows).astype(np.int32), rng.choice([1.0, 1.0, 2.5], rows)
    whole = sketch(x, own, weight, settings, coarse)
    found = whole.evidence_left_out(np.searchsorted(whole.values, x), Hard(own, 3, weight))
    for i in range(rows):
        rest = np.arange(rows) != i
        others = sketch(x[rest], own[rest], weight[rest], settings, coarse)
        (expected,) = BinnedLikelihood((others,), settings).log_evidence()
        np.testing.assert_allclose(found[i], expected, rtol=1e-12, atol=1e-11)
