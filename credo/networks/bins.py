"""Bins of numbers as states: each is a name, and knows its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

FEWEST_CUT_DIGITS, MOST_CUT_DIGITS = 6, 17  # digits of cut points in names: enough to keep the names distinct


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Bin(str):
    """The numbers low ≤ x < high. The bin itself is its name.

    >>> small = Bin("below 3", -np.inf, 3.0)
    >>> small, small == "below 3", small.high
    ('below 3', True, 3.0)
    """

    name: str
    low: float
    high: float

    def __new__(cls, name: str, low: float, high: float) -> Self:
        made = super().__new__(cls, name)
        made.__dict__.update(name=name, low=float(low), high=float(high))
        return made

    def __getnewargs__(self) -> tuple[str, float, float]:  # type: ignore[override]
        return self.name, self.low, self.high


def bins_between(cuts: Sequence[float]) -> tuple[Bin, ...]:
    """The bins between ascending cut points; a cut point belongs to the bin above it.

    >>> bins_between([3.0, 5.0])
    ('below 3', '3 to 5', '5 and above')
    """
    if not len(cuts):
        return (Bin("all", -np.inf, np.inf),)
    digits = range(FEWEST_CUT_DIGITS, MOST_CUT_DIGITS + 1)
    shown = next(texts for each in digits if len({*(texts := [f"{cut:.{each}g}" for cut in cuts])}) == len(cuts))
    names = [f"below {shown[0]}", *(f"{a} to {b}" for a, b in pairwise(shown)), f"{shown[-1]} and above"]
    ends = [-np.inf, *cuts, np.inf]
    return tuple(Bin(name, low, high) for name, (low, high) in zip(names, pairwise(ends), strict=True))


def cuts_of(states: Sequence[object]) -> Array | None:
    """The cut points, if the states are consecutive bins.

    >>> cuts_of(bins_between([3.0, 5.0])), cuts_of(("yes", "no"))
    (array([3., 5.]), None)
    """
    bins = [state for state in states if isinstance(state, Bin)]
    if len(bins) < len(states) or any(a.high != b.low for a, b in pairwise(bins)):
        return None
    return np.array([each.low for each in bins[1:]])


def bin_codes(cuts: Array, x: Array) -> NDArray[np.int32]:
    """The index of each number's bin, -1 for missing numbers."""
    return np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right")).astype(np.int32)
