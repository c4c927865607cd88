"""NumPy's log-likelihoods of a few numbers, and the kernel's: the same bits, so that it doesn't matter who is asked."""

from __future__ import annotations

import numpy as np
import pytest

from credo._kernels.blocks.gaussians import add_normals
from credo._kernels.jit import forced
from credo.blocks.numbers.few_normals import add_normals_of_few
from credo.core.membership import Soft


@pytest.mark.parametrize("columns", [1, 3, 4, 6, 9])
def test_the_same_bits_as_the_kernel(columns: int) -> None:
    rng = np.random.default_rng(columns)
    x, shift = rng.normal(3.0, 2.0, (150, columns)), rng.normal(3.0, 1.0, columns)
    centre, half, constant = (
        rng.normal(size=(5, columns)),
        rng.uniform(0.1, 9, (5, columns)),
        rng.normal(size=(5, columns)),
    )
    found, expected = np.ones((2, 150, 5))
    add_normals_of_few(x, shift, centre, half, constant, found)
    with forced("compiled"):
        add_normals(x, shift, centre, half, constant, expected)
    assert (found == expected).all()


@pytest.mark.parametrize("groups", [1, 3, 9, 20])
def test_responsibilities_of_few_rows_have_the_same_bits(groups: int) -> None:
    rng = np.random.default_rng(groups)
    logs, weight = 30.0 * rng.normal(size=(200, groups)), rng.random(200)
    logs[5], logs[7, 0] = -np.inf, -np.inf
    found, log_prob = Soft._of_few(logs.copy(), weight)
    with forced("compiled"):
        expected, expected_log_prob = Soft.responsibilities(logs.copy(), weight)
    assert (found.weights == expected.weights).all()
    assert (log_prob == expected_log_prob).all()
    assert not found.weights[5].any()
