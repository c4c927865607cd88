"""Approximate inference: by sampling, with standard errors, and by loopy propagation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from credo.errors import EvidenceError, NetworkError
from credo.networks.inference.annealed_importance import SAMPLES_PER_ROUND, annealed
from credo.networks.inference.estimate import Estimate, JointQuery, Total, check_samples, floor_of, mean_of, no_sample
from credo.networks.inference.findings import Findings
from credo.networks.inference.forward import forward, most_weight, weighted
from credo.networks.inference.gibbs import gibbs
from credo.networks.inference.loopy import loopy
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.sizes import Sampling
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

FEWEST_WEIGHTED_SAMPLES = 100  # effective samples: with fewer, Gibbs sampling replaces likelihood weighting
FEWEST_EFFECTIVE_SAMPLES = 10  # effective samples: with fewer, standard errors are unreliable


def estimates(
    potentials: Potentials, findings: Findings, asked: Sequence[JointQuery], sampling: Sampling
) -> list[Estimate]:
    """P(variables, event | findings) of each joint query. "auto" is likelihood weighting; Gibbs sampling, where its
    effective sample size is small."""
    method, samples, seed = sampling
    if method == "loopy":
        return loopy(potentials, findings, asked)
    check_samples(samples)
    directed = potentials.directed
    if method == "auto":
        try:
            weighting = sampling._replace(method="likelihood-weighting")
            found = estimates(potentials, findings, asked, weighting) if directed else []
        except EvidenceError:
            found = []
        if found and found[0].sure >= min(FEWEST_WEIGHTED_SAMPLES, samples):
            return found
        return gibbs(potentials, findings, asked, -(-samples // SAMPLES_PER_ROUND), seed)
    if method == "gibbs":
        return gibbs(potentials, findings, asked, samples, seed)
    if not directed:
        raise NetworkError(f'a network without arrows can\'t be sampled by {method}: use method="gibbs"')
    drawn = forward if method == "forward" else weighted
    return _averaged(potentials, findings, drawn(potentials, findings, samples, seed), asked, method)


def log_total(potentials: Potentials, findings: Findings, sampling: Sampling) -> Total:
    """log P(evidence), for a Markov network log Z. "auto" is likelihood weighting; annealed importance sampling, where
    its effective sample size is small."""
    method, samples, seed = sampling
    if method == "loopy":
        raise NetworkError("loopy propagation doesn't give the probability of evidence: sample")
    check_samples(samples)
    if method in ("auto", "likelihood-weighting", "forward") and potentials.directed:
        drawn = forward if method == "forward" else weighted
        weights = np.concatenate([each for _, each in drawn(potentials, findings, samples, seed)])
        if method != "auto":
            found = mean_of(weights, method)
            return replace(found, reliable=found.effective >= FEWEST_EFFECTIVE_SAMPLES)
        heaviest = most_weight(potentials, findings)
        if np.exp(weights - heaviest).sum() >= FEWEST_WEIGHTED_SAMPLES:
            return mean_of(weights, "likelihood-weighting")
    elif method not in ("auto", "gibbs"):
        raise NetworkError(f'a network without arrows can\'t be sampled by {method}: use method="gibbs"')
    return annealed(potentials, findings, samples, seed)


def _averaged(
    potentials: Potentials,
    findings: Findings,
    drawn: Iterator[tuple[Codes, Array]],
    asked: Sequence[JointQuery],
    method: str,
) -> list[Estimate]:
    """P = Σ w·1 / Σ w; of E = Σ x·P, the standard error is √Σ w²(x - E)² / Σ w."""
    shapes = [tuple(potentials.card[list(group.variables)]) for group in asked]
    sums = [np.zeros(int(np.prod(shape)) + 1) for shape in shapes]  # the last cell: the event doesn't happen
    squares = [np.zeros_like(each) for each in sums]
    total = square = 0.0
    top = -np.inf
    for codes, log_weights in drawn:
        higher = max(top, float(log_weights.max()))
        if higher == -np.inf:
            continue
        scale = np.exp(top - higher)
        top, weights = higher, np.exp(log_weights - higher)
        total, square = total * scale + weights.sum(), square * scale**2 + (weights**2).sum()
        for i, group in enumerate(asked):
            cells, size = group.cells(potentials.card, codes), sums[i].size
            sums[i] = sums[i] * scale + np.bincount(cells, weights, size)
            squares[i] = squares[i] * scale**2 + np.bincount(cells, weights**2, size)
    if total == 0.0:
        raise no_sample(method)
    found, effective = [], float(total**2 / square)
    unseen = Findings(np.full_like(findings.codes, -1), findings.weights) if method == "forward" else findings
    sure = float(total * np.exp(top - most_weight(potentials, unseen)))
    for group, shape, part, own in zip(asked, shapes, sums, squares, strict=True):
        p, own = part[:-1] / total, own[:-1]
        certain, usual = (floor_of(group, findings, size) for size in (sure, effective))
        floors = np.where((p == 0.0) | (p == 1.0), certain, usual)
        floor = float(floors[p.argmax()])

        def spread(x: Array, p: Array = p, own: Array = own, floor: float = floor) -> float:
            mean = x @ p
            variance = float(x**2 @ own - 2.0 * mean * (x @ own) + mean**2 * square)
            return max(sqrt(max(variance, 0.0)) / total, floor * float(np.ptp(x)))

        variance = np.maximum(own * (1.0 - 2.0 * p) + p**2 * square, 0.0)
        error = np.maximum(np.sqrt(variance) / total, floors)
        reliable = effective >= FEWEST_EFFECTIVE_SAMPLES or not group.unsure(findings)
        found.append(Estimate(p.reshape(shape), error.reshape(shape), effective, method, spread, sure, reliable))
    return found
