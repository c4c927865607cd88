"""Arrays whose rows are distributions: coordinates in which EM can be extrapolated, and random rows."""

from __future__ import annotations

import numpy as np

from credo.numerics.exact import Array

LEAST_AMPLITUDE = 0.1  # share of √θ that extrapolated EM keeps at least


def amplitudes(rows: Array) -> Array:
    """√θ: the Euclidean length of a step is then its length in Fisher's metric.

    With log θ, entries that EM moves towards 0 would dominate the length, and extrapolation would take them to 10⁻¹⁰⁰.
    """
    return np.sqrt(rows).reshape(-1)


def squares(coordinates: Array, rows: Array) -> Array:
    """Rows in proportion to squared amplitudes; no entry becomes much smaller than it was."""
    found = np.maximum(coordinates.reshape(rows.shape), LEAST_AMPLITUDE * np.sqrt(rows)) ** 2
    return np.asarray(found / found.sum(-1, keepdims=True))


def random_rows(shape: tuple[int, ...], random: np.random.Generator) -> Array:
    return random.dirichlet(np.ones(shape[-1]), shape[:-1])
