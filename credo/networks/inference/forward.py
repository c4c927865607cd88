"""Ancestral sampling: each variable is drawn after its parents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import Price
from credo.errors import check_seed
from credo.networks.inference.elimination import KERNELS
from credo.networks.inference.findings import Findings
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.sizes import SAMPLES_AT_ONCE
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

SMALLEST_WEIGHT = 1e-300  # replaces 0 where a logarithm is taken
# the cost of the kernel that draws, in steps of plain Python, and that of comparing a cell with a state in NumPy
PRICE, NUMPY_STEP = Price(KERNELS, "sampling.draw_forward-", compiling=6e6), 0.1


def drawn_forward(
    potentials: Potentials, findings: Findings, seed: int
) -> Callable[[int, NDArray[np.signedinteger]], Array]:
    """A function that samples rows into codes (variables, rows), and returns their log-weights.

    A few rows without evidence are drawn in NumPy, which gives the same rows as the kernel.
    """
    sums, mixed = running_sums(potentials), mixed_seed(seed)

    def draw(start: int, codes: NDArray[np.signedinteger]) -> Array:
        steps = NUMPY_STEP * codes.shape[1] * int(potentials.places[-1])
        if not findings.any and not PRICE.pays(steps):
            draw_in_numpy(potentials, sums, mixed, start, codes)
            PRICE.spend(steps)
            return np.zeros(codes.shape[1])
        from credo._kernels.networks.sampling import draw_forward

        log_weights = np.empty(codes.shape[1])
        about = potentials.order, potentials.card, potentials.factors, sums
        fixed = findings.codes, findings.weights, potentials.places
        draw_forward(*about, *fixed, mixed, start, codes, log_weights)
        return log_weights

    return draw


def draw_in_numpy(
    potentials: Potentials, sums: Array, seed: np.uint64, start: int, codes: NDArray[np.signedinteger]
) -> None:
    """codes (variables, rows) = each variable drawn given its parents."""
    held, (n, rows) = potentials.factors, codes.shape
    first = np.arange(start, start + rows, dtype=np.uint64) * np.uint64(n)
    for v in potentials.order.tolist():
        at = np.full(rows, held.values_at[v])
        for i in range(held.starts[v], held.starts[v + 1] - 1):
            at += codes[held.scope[i]] * held.steps[i]
        x, own = uniform(seed, first + np.uint64(v)), np.zeros(rows, dtype=codes.dtype)
        for k in range(int(potentials.card[v]) - 1):
            own += x >= sums[at + k]
        codes[v] = own


def uniform(seed: np.uint64, numbers: NDArray[np.uint64]) -> Array:
    """Numbers in [0, 1), as the kernel `draw` gives them."""
    z = seed + (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def running_sums(potentials: Potentials) -> Array:
    """Cumulative sums of each row of each table, in the layout of the values."""
    found, at = potentials.factors.values.copy(), potentials.factors.values_at
    for f, v in enumerate(potentials.children.tolist()):
        own = found[at[f] : at[f + 1]].reshape(-1, int(potentials.card[v]))
        np.cumsum(own, axis=1, out=own)
    return found


def mixed_seed(seed: int) -> np.uint64:
    """A hash of the seed, so that consecutive seeds don't give overlapping sequences."""
    return np.uint64(np.random.SeedSequence(check_seed(seed)).generate_state(1, np.uint64)[0])


def weighted(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Likelihood weighting: observed variables are fixed, and a sample's weight is their likelihood."""
    draw = drawn_forward(potentials, findings, seed)
    for start in range(0, samples, SAMPLES_AT_ONCE):
        codes = np.empty((len(potentials.card), min(SAMPLES_AT_ONCE, samples - start)), dtype=np.int32)
        yield codes, draw(start, codes)


def most_weight(potentials: Potentials, findings: Findings) -> float:
    """The log of the largest possible weight of a sample."""
    found = 0.0
    for f, v in enumerate(potentials.children.tolist()):
        if findings.codes[v] >= 0:
            found += float(np.log(potentials.table(f)[..., findings.codes[v]].max(initial=SMALLEST_WEIGHT)))
        if len(findings.weights):
            found += float(
                np.log(findings.weights[potentials.places[v] : potentials.places[v + 1]].max(initial=SMALLEST_WEIGHT))
            )
    return found


def forward(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Forward sampling with rejection of samples that contradict the evidence."""
    draw = drawn_forward(potentials, Findings(np.full(len(potentials.card), -1), findings.weights), seed)
    known = np.flatnonzero(findings.codes >= 0)
    for start in range(0, samples, SAMPLES_AT_ONCE):
        codes = np.empty((len(potentials.card), min(SAMPLES_AT_ONCE, samples - start)), dtype=np.int32)
        log_weights = draw(start, codes)
        agree = (codes[known] == findings.codes[known, None]).all(0)
        yield codes, np.where(agree, log_weights, -np.inf)
