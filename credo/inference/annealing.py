"""Annealing: from what is easy to draw, step by step, to how probable the evidence is."""

from __future__ import annotations

import numpy as np

from credo._kernels.sampling import draw_in_turn
from credo.inference.asked import Total, mean_of
from credo.inference.chains import starting_states, sums_at, turns_of
from credo.inference.findings import Findings
from credo.inference.forward import mixed_seed
from credo.inference.potentials import Potentials
from credo.notices import quietly

RUNS, FEWEST = 50, 100  # that tell a sum, and the fewest steps of each
SWEPT = 10  # samples that a round through all variables counts for, where nobody asked for rounds


def annealed(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Total:
    """Annealed importance sampling (Neal, 2001): E ∏ fₜ(xₜ₋₁) / fₜ₋₁(xₜ₋₁) is the sum of the last f over that of the
    first, which is known: 1 along the arrows, else the number of all states. On the way evidence counts as f^β, and
    what is impossible is only very improbable."""
    with quietly():  # zeros that can't be passed make the error larger, not the answer wrong
        turns = turns_of(potentials, findings)
    directed = potentials.directed
    factors, sizes = potentials.factors, np.diff(potentials.factors.values_at)
    counts = np.repeat((findings.codes[potentials.children] >= 0) | (not directed), sizes)  # cells that f^β is of
    soft, soft_weights = np.where(counts, potentials.softened.values, 1.0), np.maximum(findings.weights, 1e-6)
    log_soft, log_weights = np.log(soft), np.log(soft_weights)
    now = np.ascontiguousarray(
        starting_states(potentials, findings, RUNS, seed)[0].T, dtype=np.int64
    )  # (runs, variables)
    log_total = np.full(RUNS, 0.0 if directed else potentials.log_card[findings.codes < 0].sum())
    seeds = [mixed_seed(seed * RUNS + run) for run in range(RUNS)]
    row, steps = np.empty((len(potentials.card), 1), dtype=np.int32), max(FEWEST, samples // (SWEPT * RUNS))
    powers = np.linspace(0.0, 1.0, steps + 1) ** 2
    for step in range(1, steps):
        log_total += (powers[step] - powers[step - 1]) * sums_at(potentials, log_soft, log_weights, now.T)
        bent = factors._replace(values=np.where(counts, soft ** powers[step], factors.values))
        about = turns, potentials.card, bent, soft_weights ** powers[step], potentials.places
        for run in range(RUNS):
            draw_in_turn(*about, seeds[run], step, now[run], row)
    with np.errstate(divide="ignore"):
        hard = np.log(np.where(counts, factors.values, 1.0)), np.log(findings.weights)
    log_total += sums_at(potentials, *hard, now.T) - powers[-2] * sums_at(potentials, log_soft, log_weights, now.T)
    found = mean_of(log_total, "annealing")
    there = log_total[log_total > -np.inf]
    error = max(found.error, float(there.std() / np.sqrt(len(there))))  # few large weights hide how far off they are
    return Total(found.log_value + potentials.log_scale, error, found.effective, found.method)
