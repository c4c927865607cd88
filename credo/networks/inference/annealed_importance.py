"""Annealed importance sampling: runs move in small steps from a distribution that is easy to sample to the network's;
the mean of their importance weights estimates P(evidence)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from credo._kernels.networks.sampling import Turns, draw_runs
from credo._kernels.networks.shapes import Factors
from credo.engines import local
from credo.networks.graph import children
from credo.networks.inference.estimate import Total, mean_of, widened
from credo.networks.inference.findings import Findings
from credo.networks.inference.forward import mixed_seed, weighted
from credo.networks.inference.potentials import Potentials
from credo.numerics.arrays import Codes, Flags, Integers
from credo.numerics.exact import Array

RUNS, FEWEST_RUNS = 100, 8  # runs of an estimate
ROUNDS_PER_RUN = 20  # rounds that each run should have
FEWEST_TEMPERATURES = 5  # of a run
PILOT_RUNS = 20  # runs that choose the temperatures
PILOT_DOUBLING = 50  # most steps in which a pilot run doubles β
LEAST_PILOT_STEP = 1e-4  # smallest step of β in a pilot run
SAMPLES_PER_ROUND = 10  # one round through all variables counts as this many samples
EFFORTS = (1, 4)  # multiples of the rounds, tried until the estimate is reliable
LEAST_EFFECTIVE = 0.15  # share of effective runs below which an estimate is unreliable
SOFT_ZERO = 1e-6  # replaces 0 at intermediate temperatures, so that chains can leave impossible states
MOST_STORED_NUMBERS = 2**24  # numbers stored by all runs together

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class AnnealingPath:
    """f₀, ..., f₁: in a Markov network from the uniform distribution to ∏ factors^β; in a belief network from the
    prior, with the evidence raised to the power β. Zeros are replaced by small values on the way."""

    potentials: Potentials
    findings: Findings

    @cached_property
    def turns(self) -> Turns:
        return turns_of(self.potentials, self.findings)

    def at(self, power: float) -> tuple[Turns, Integers, Factors, Array, Integers]:
        """The factors of Gibbs sampling at β."""
        held, findings = self.potentials, self.findings
        if power == 1.0:
            return self.turns, held.card, held.factors, findings.weights, held.places
        bent = held.factors._replace(values=np.where(self._counts, self._soft**power, held.factors.values))
        return self.turns, held.card, bent, self._soft_weights**power, held.places

    def log_values(self, now: Integers) -> Array:
        """log f₁ - log f₀ with zeros replaced by small values. (runs,)"""
        return sums_at(self.potentials, *self._log_soft, now.T)

    def log_last(self, now: Integers) -> Array:
        """log f₁ - log f₀, exactly."""
        return sums_at(self.potentials, *self._log_hard, now.T)

    @property
    def log_first(self) -> float:
        """log Σ f₀"""
        held = self.potentials
        return 0.0 if held.directed else float(held.log_card[self.findings.codes < 0].sum())

    @cached_property
    def _counts(self) -> Flags:
        """The cells of factors that are raised to the power β."""
        held = self.potentials
        bent = (self.findings.codes[held.children] >= 0) | (not held.directed)
        return np.repeat(bent, np.diff(held.factors.values_at))

    @cached_property
    def _soft(self) -> Array:
        return np.where(self._counts, np.maximum(self.potentials.factors.values, SOFT_ZERO), 1.0)

    @cached_property
    def _soft_weights(self) -> Array:
        return np.maximum(self.findings.weights, SOFT_ZERO)

    @cached_property
    def _log_soft(self) -> tuple[Array, Array]:
        return np.log(self._soft), np.log(self._soft_weights)

    @cached_property
    def _log_hard(self) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            hard = np.where(self._counts, self.potentials.factors.values, 1.0)
            return np.log(hard), np.log(self.findings.weights)


@dataclass(frozen=True, eq=False)
class AnnealedRuns:
    """now (runs, variables): where they end; log_weights (runs): log ∏ fₜ(xₜ₋₁) / fₜ₋₁(xₜ₋₁) Σ f₀, whose mean is that
    of Σ f₁; -inf where a run ends in an impossible state."""

    now: Integers
    log_weights: Array
    seeds: NDArray[np.uint64]
    steps: int


def annealed(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Total:
    """Annealed importance sampling (Neal, 2001), with more steps while the runs' weights differ too much."""
    path = AnnealingPath(potentials, findings)
    for effort in EFFORTS:
        count, steps = runs_of(1, samples * effort)
        made = [*in_threads(partial(run, path, count, schedule(path, steps, seed), seed), count)]
        found = total_of(np.concatenate([each.log_weights for each in made]))
        if found.reliable:
            break
    return Total(found.log_value + potentials.log_scale, found.error, found.effective, found.method, found.reliable)


def total_of(log_weights: Array) -> Total:
    """The log of the mean weight. It is unreliable where few large weights dominate; the mean of few weights is mostly
    too small, by about half of its variance. Even if all weights agree, the next one may differ."""
    found = mean_of(log_weights, "annealing")
    there = log_weights[log_weights > -np.inf]
    error = max(found.error, float(there.std() / np.sqrt(len(there)))) * widened(found.effective)
    error = max(float(np.hypot(error, found.error**2 / 2.0)), 1.0 / (len(log_weights) + 1.0))
    return Total(
        found.log_value, error, found.effective, found.method, found.effective >= LEAST_EFFECTIVE * len(log_weights)
    )


def runs_of(cells: int, rounds: int) -> tuple[int, int]:
    """The number of runs, given the numbers that each stores, and the steps of each: half of all rounds."""
    most = max(FEWEST_RUNS, min(RUNS, MOST_STORED_NUMBERS // cells))
    count = max(FEWEST_RUNS, min(most, rounds // ROUNDS_PER_RUN))
    return count, max(FEWEST_TEMPERATURES, rounds // (2 * count))


def schedule(path: AnnealingPath, steps: int, seed: int) -> Array:
    """β₀ = 0, ..., 1, so that each step changes the weights equally: dβ ∝ 1 / σ of log f, estimated by a few pilot
    runs."""
    starts, _ = starting_states(path.potentials, path.findings, PILOT_RUNS, seed)
    now = np.ascontiguousarray(starts.T, dtype=np.int64)
    seeds = np.array([mixed_seed(seed * PILOT_RUNS + r) for r in range(PILOT_RUNS)], dtype=np.uint64)
    powers, lengths = [0.0], [0.0]
    while powers[-1] < 1.0:
        sigma = max(float(path.log_values(now).std()), 1e-12)
        step = max(1.0 / sigma, powers[-1] / PILOT_DOUBLING, LEAST_PILOT_STEP)
        powers.append(min(powers[-1] + min(step, 1.0 / FEWEST_TEMPERATURES), 1.0))
        lengths.append(lengths[-1] + sigma * (powers[-1] - powers[-2]) + 1.0 / PILOT_DOUBLING)
        draw_runs(*path.at(powers[-1]), seeds, len(powers), now)
    return np.interp(np.linspace(0.0, lengths[-1], steps + 1), lengths, powers)


def run(path: AnnealingPath, count: int, powers: Array, seed: int, first: int, last: int) -> AnnealedRuns:
    """Some of `count` runs: E ∏ fₜ(xₜ₋₁) / fₜ₋₁(xₜ₋₁) is the sum of the last f over that of the first."""
    starts, _ = starting_states(path.potentials, path.findings, count, seed)
    now = np.ascontiguousarray(starts[:, first:last].T, dtype=np.int64)
    seeds = np.array([mixed_seed(seed * RUNS + r) for r in range(first, last)], dtype=np.uint64)
    log_weights = np.full(len(now), path.log_first)
    for step in range(1, len(powers) - 1):
        log_weights += (powers[step] - powers[step - 1]) * path.log_values(now)
        draw_runs(*path.at(float(powers[step])), seeds, step, now)
    log_weights += path.log_last(now) - powers[-2] * path.log_values(now)
    return AnnealedRuns(now, log_weights, seeds, len(powers))


def in_threads(work: Callable[[int, int], Result], count: int) -> Iterator[Result]:
    """work(first, last) for parts of the runs, in order; a run's draws don't depend on the partition."""
    workers = local.workers()
    size = -(-count // min(workers, count))
    parts = [(first, min(first + size, count)) for first in range(0, count, size)]
    if len(parts) == 1:
        yield work(*parts[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda part: work(*part), parts)


def turns_of(potentials: Potentials, findings: Findings) -> Turns:
    """The blocks of variables that are resampled together: a deterministic variable with its parents, since neither
    could change alone."""
    decided = potentials.decided & (findings.codes < 0)
    free = np.flatnonzero((findings.codes < 0) & ~decided)
    below = children({v: tuple(scope[:-1]) for v, scope in enumerate(potentials.scopes)} if decided.any() else {})
    place = {v: i for i, v in enumerate(potentials.order.tolist())} if decided.any() else {}
    near_at, near = potentials.near
    factors_of = potentials.factor_of[near]
    followers, factors = list[list[int]](), list[list[int]]()
    for v in free.tolist():
        found, waiting = set[int](), [v]
        while waiting and decided.any():
            new = [child for child in below[waiting.pop()] if decided[child] and child not in found]
            found.update(new)
            waiting += new
        followers.append(sorted(found, key=place.__getitem__))
        own = {int(f) for each in (v, *found) for f in factors_of[near_at[each] : near_at[each + 1]]}
        factors.append(sorted(own - found))
    return Turns(free, *_listed(followers), *_listed(factors))


def _listed(lists: list[list[int]]) -> tuple[Integers, Integers]:
    """The start of each list, and the lists concatenated."""
    starts = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    return starts, np.array([value for each in lists for value in each], dtype=np.int64)


def starting_states(potentials: Potentials, findings: Findings, samples: int, seed: int) -> tuple[Codes, Array]:
    """Samples drawn forward (variables, samples) and their log-weights; in a Markov network, uniformly drawn states."""
    if potentials.directed:
        ((codes, log_weights),) = weighted(potentials, findings, samples, seed)
        return codes, log_weights
    card, known = potentials.card[:, None], findings.codes[:, None]
    drawn = np.random.default_rng(seed).integers(0, card, size=(len(card), samples), dtype=np.int32)
    return np.where(known >= 0, known, drawn).astype(np.int32), np.zeros(samples)


def log_values(potentials: Potentials, findings: Findings, codes: NDArray[np.signedinteger]) -> Array:
    """log ∏ factors and likelihoods of each column of codes."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(findings.weights)
        return sums_at(potentials, np.log(potentials.factors.values), log_weights, codes) + potentials.log_scale


def sums_at(potentials: Potentials, values: Array, weights: Array, codes: NDArray[np.signedinteger]) -> Array:
    """Σ of the factors' and the states' entries, for each column of codes."""
    factors, found = potentials.factors, np.zeros(codes.shape[1])
    if len(factors.scope):
        steps = codes[factors.scope].astype(np.int64) * factors.steps[:, None]
        found += values[np.add.reduceat(steps, factors.starts[:-1]) + factors.values_at[:-1, None]].sum(0)
    return found + weights[codes + potentials.places[:-1, None]].sum(0) if len(weights) else found
