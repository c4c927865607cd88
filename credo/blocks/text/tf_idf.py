"""tf-idf: rare words have more weight, and texts are normalised by length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array


def idf(texts: float, holding: NDArray[Any]) -> Array:
    """1 + log (1 + n)/(1 + df), where df of n texts contain the word.

    >>> idf(9.0, np.array([9.0, 0.0])).round(4).tolist()
    [1.0, 3.3026]
    """
    return np.asarray(1.0 + np.log((1.0 + texts) / (1.0 + holding)))


def to_unit_length(values: Array, starts: NDArray[np.integer[Any]]) -> Array:
    """The values of each text's words, divided by their Euclidean norm. starts: the start of each text, and the end

    >>> to_unit_length(np.array([3.0, 4.0, 5.0]), np.array([0, 2, 2, 3])).tolist()
    [0.6, 0.8, 1.0]
    """
    sizes = np.diff(starts)
    text = np.repeat(np.arange(len(sizes)), sizes)
    return np.asarray(values / np.sqrt(np.bincount(text, values * values, len(sizes)))[text])
