"""Samples along the arrows: a variable is drawn after its parents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from credo._kernels.networks.sampling import draw_forward
from credo.errors import check_seed
from credo.networks.inference.estimate import Codes
from credo.networks.inference.findings import Findings
from credo.networks.inference.potentials import Potentials
from credo.numerics.exact import Array

BATCH = 2**14  # samples that are drawn at a time
TINY = 1e-300


def drawn_forward(
    potentials: Potentials, findings: Findings, seed: int
) -> Callable[[int, NDArray[np.signedinteger]], Array]:
    """What draws rows from a first one on into codes (variables, rows), and says the logarithms of their weights."""
    sums, mixed = running_sums(potentials), mixed_seed(seed)

    def draw(start: int, codes: NDArray[np.signedinteger]) -> Array:
        log_weights = np.empty(codes.shape[1])
        about = potentials.order, potentials.card, potentials.factors, sums
        fixed = findings.codes, findings.weights, potentials.places
        draw_forward(*about, *fixed, mixed, start, codes, log_weights)
        return log_weights

    return draw


def running_sums(potentials: Potentials) -> Array:
    """Of each row of each variable's table, in the place of the table's values."""
    found, at = potentials.factors.values.copy(), potentials.factors.values_at
    for f, v in enumerate(potentials.children.tolist()):
        own = found[at[f] : at[f + 1]].reshape(-1, int(potentials.card[v]))
        np.cumsum(own, axis=1, out=own)
    return found


def mixed_seed(seed: int) -> np.uint64:
    """Seeds that are neighbours shall not draw the same numbers, one after the other."""
    return np.uint64(np.random.SeedSequence(check_seed(seed)).generate_state(1, np.uint64)[0])


def weighted(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Likelihood weighting: observed variables stay as they are, and a sample weighs what they are worth in it."""
    draw = drawn_forward(potentials, findings, seed)
    for start in range(0, samples, BATCH):
        codes = np.empty((len(potentials.card), min(BATCH, samples - start)), dtype=np.int32)
        yield codes, draw(start, codes)


def most_weight(potentials: Potentials, findings: Findings) -> float:
    """The logarithm of what a weighted sample can weigh at most: what has never come may be worth that."""
    found = 0.0
    for f, v in enumerate(potentials.children.tolist()):
        if findings.codes[v] >= 0:
            found += float(np.log(potentials.table(f)[..., findings.codes[v]].max(initial=TINY)))
        if len(findings.weights):
            found += float(np.log(findings.weights[potentials.places[v] : potentials.places[v + 1]].max(initial=TINY)))
    return found


def forward(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Forward sampling: all variables are drawn, and what disagrees with the evidence is thrown away."""
    draw = drawn_forward(potentials, Findings(np.full(len(potentials.card), -1), findings.weights), seed)
    known = np.flatnonzero(findings.codes >= 0)
    for start in range(0, samples, BATCH):
        codes = np.empty((len(potentials.card), min(BATCH, samples - start)), dtype=np.int32)
        log_weights = draw(start, codes)
        agree = (codes[known] == findings.codes[known, None]).all(0)
        yield codes, np.where(agree, log_weights, -np.inf)
