"""Gibbs sampling: each variable is drawn in turn, given all others. The disagreement of many independent, annealed runs
gives the standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from credo._kernels.networks.sampling import draw_in_turn
from credo.errors import EvidenceError
from credo.networks.inference.annealed_importance import (
    EFFORTS,
    FEWEST_RUNS,
    LEAST_EFFECTIVE,
    RUNS,
    AnnealingPath,
    in_threads,
    run,
    runs_of,
    schedule,
)
from credo.networks.inference.estimate import Estimate, JointQuery, floor_of, widened
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings
from credo.networks.inference.loopy import settled_beliefs
from credo.networks.inference.potentials import Potentials
from credo.numerics.arrays import Codes, Flags, Integers
from credo.numerics.exact import Array

ROUNDS_PER_BURN_IN = 5  # one round in five is burn-in
STATES_AT_ONCE = 2**20  # states of all variables in one batch
LARGEST_BETWEEN_RUNS = 0.2  # share of a probability's variance between runs above which the runs disagree
LARGEST_LOOPY_DIFFERENCE = 0.2  # between loopy propagation and a state that no run ever left
VARIANCE_ROUNDING = 1e-12


def gibbs(
    potentials: Potentials, findings: Findings, asked: Sequence[JointQuery], samples: int, seed: int
) -> list[Estimate]:
    """Runs of growing length, until the estimates are reliable or the longest are done."""
    path = AnnealingPath(potentials, findings)
    found, cells = list[Estimate](), int(potentials.places[-1]) + sum(_cells(potentials, group) for group in asked)
    for effort in EFFORTS:
        count, rounds = runs_of(cells, samples * effort)
        powers = schedule(path, rounds, seed)
        runs = RunStatistics.joined(
            [*in_threads(partial(_run_statistics, path, asked, count, powers, seed), count)], path
        )
        found = [runs.estimate(i, group, count * rounds) for i, group in enumerate(asked)]
        if all(each.reliable for each in found):
            break
    return found


def chains(potentials: Potentials, findings: Findings, rows: int, apart: int, seed: int) -> tuple[Codes, Array]:
    """Thinned rows of each run (runs, variables, rows), and the runs' importance weights, which sum to 1."""
    path, count = AnnealingPath(potentials, findings), min(RUNS, max(2, rows))
    each = -(-rows // count)
    powers = schedule(path, max(each * apart, RUNS), seed)

    def drawn(first: int, last: int) -> tuple[Codes, Array]:
        begun = run(path, count, powers, seed, first, last)
        found = np.empty((last - first, len(potentials.card), each), dtype=np.int32)
        between = np.empty((len(potentials.card), apart), dtype=np.int32)
        for r in range(last - first):
            for i in range(each):
                step = begun.steps + i * apart
                draw_in_turn(*path.at(1.0), begun.seeds[r], step, begun.now[r], between, NO_LIKELIHOODS)
                found[r, :, i] = begun.now[r]
        return found, begun.log_weights

    parts = [*in_threads(drawn, count)]
    log_weights = np.concatenate([own for _, own in parts])
    there = log_weights > -np.inf
    return np.concatenate([codes for codes, _ in parts])[there], weights_of(log_weights[there])


def weights_of(log_weights: Array) -> Array:
    """Normalised importance weights."""
    if not len(log_weights):
        raise EvidenceError("no possible state was found to start from: the evidence is improbable or impossible")
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """Statistics of the runs after annealing, for each half of a run."""

    path: AnnealingPath
    log_weights: Array  # (runs): importance weights
    shares: Array  # (2, runs, states of all variables): mean full conditionals
    seen: Flags  # (states of all variables): whether any run visited it
    counts: Sequence[Array]  # for queries about several variables: (2, runs, cells)

    @classmethod
    def joined(cls, parts: Sequence[RunStatistics], path: AnnealingPath) -> RunStatistics:
        """The statistics of all runs, without those that end in an impossible state."""
        log_weights = np.concatenate([part.log_weights for part in parts])
        there = log_weights > -np.inf
        shares = np.concatenate([part.shares for part in parts], axis=1)[:, there]
        counts = [np.concatenate(each, axis=1)[:, there] for each in zip(*(part.counts for part in parts), strict=True)]
        seen = np.logical_or.reduce([part.seen for part in parts])
        return cls(path, log_weights[there], shares, seen, counts)

    @cached_property
    def weights(self) -> Array:
        return weights_of(self.log_weights)

    def estimate(self, number: int, group: JointQuery, rounds: int) -> Estimate:
        """The runs' mean: equally weighted if they agree, else by importance weights if enough runs are effective."""
        halves, moved = self._query_means(number, group)
        runs, effective_runs = len(self.weights), 1.0 / float(self.weights @ self.weights)
        agree, weighed = agreed(halves.mean(0)), not self._all_agree and effective_runs >= LEAST_EFFECTIVE * runs
        reliable = (agree or weighed) and runs >= FEWEST_RUNS and not self._contradicts_loopy(group, halves, moved)
        pooled = PooledRuns(
            self.weights if weighed else np.full(runs, 1.0 / runs),
            biased=not (weighed or self._all_agree),
            unreliable=not reliable,
        )
        p, error = pooled.mean(halves), pooled.error(halves)
        varying = (error > 0) & moved
        effective = float(np.min((p * (1 - p))[varying] / error[varying] ** 2)) if varying.any() else np.inf
        effective = min(effective, float(rounds), np.inf if moved.all() else pooled.effective_runs)
        findings, sure = self.path.findings, effective if self._all_agree else min(effective, pooled.effective_runs)
        floors = np.where(moved, floor_of(group, findings, sure), floor_of(group, findings, pooled.effective_runs))
        shape = tuple(self.path.potentials.card[list(group.variables)])

        def spread(x: Array) -> float:
            return max(float(pooled.error(halves @ x)), float(floors.max()) * float(np.ptp(x)))

        error = np.maximum(error, floors)
        return Estimate(p.reshape(shape), error.reshape(shape), effective, "gibbs", spread, reliable=reliable)

    def _query_means(self, number: int, group: JointQuery) -> tuple[Array, Flags]:
        """The means of a query in each half-run (2, runs, cells); and the cells that some run both entered and left."""
        v = _single_variable(group)
        if v is None:
            found = self.counts[number]
            return found, np.asarray((found.sum((0, 1)) > 0) & ((1.0 - found).sum((0, 1)) > 0))
        own, seen = self.shares[..., self._states(v)], self.seen[self._states(v)]
        allowed = group.event.get(v, np.ones(len(seen), dtype=np.bool_))
        if not group.variables:
            return own[..., allowed].sum(-1, keepdims=True), np.array([seen[allowed].any() and seen[~allowed].any()])
        return own * allowed, seen & allowed & (seen.sum() > 1)

    def _states(self, v: int) -> slice:
        return slice(*self.path.potentials.places[v : v + 2].tolist())

    @cached_property
    def _all_agree(self) -> bool:
        return agreed(self.shares.mean(0))

    @cached_property
    def _loopy(self) -> Array | None:
        return settled_beliefs(self.path.potentials, self.path.findings)

    def _contradicts_loopy(self, group: JointQuery, halves: Array, moved: Flags) -> bool:
        """Whether no run left a state that is less certain by loopy propagation."""
        v = _single_variable(group)
        if v is None or moved.any() or not group.variables or not group.unsure(self.path.findings):
            return False
        return self._loopy is not None and bool(
            (np.abs(self._loopy[self._states(v)] - halves.mean((0, 1)))[~moved] > LARGEST_LOOPY_DIFFERENCE).any()
        )


@dataclass(frozen=True, eq=False)
class PooledRuns:
    """Means of independent runs, and their standard errors."""

    weights: Array  # (runs), which sum to 1
    biased: bool  # whether runs disagree on other queries, which may bias these
    unreliable: bool  # whether runs disagree on this query: it is unreliable

    @property
    def effective_runs(self) -> float:
        return 1.0 / float(self.weights @ self.weights)

    def mean(self, halves: Array) -> Array:
        return np.asarray(self.weights @ halves.mean(0))

    def error(self, halves: Array) -> Array:
        """√Σ w²(x - E)², wider for few runs and if runs disagree."""
        x, apart = halves.mean(0), (halves[0] - halves[1]) / 2.0  # the difference that noise alone would cause
        off = (x - self.weights @ x) ** 2
        if self.unreliable:
            return np.asarray(np.sqrt(self.weights @ off))
        n = len(x)
        variance = self.weights**2 @ off * (n / max(n - 1, 1)) * widened(self.effective_runs) ** 2
        if self.biased:
            variance = variance + np.maximum(x.var(0) - apart.var(0), 0.0)
        return np.asarray(np.sqrt(variance))


def agreed(means: Array) -> bool:
    """Whether little of each probability's variance is between the runs (the intraclass correlation)."""
    between, within = means.var(0, ddof=1 if len(means) > 1 else 0), (means * (1.0 - means)).mean(0)
    return bool((between <= LARGEST_BETWEEN_RUNS * (between + within) + VARIANCE_ROUNDING).all())


def _single_variable(group: JointQuery) -> int | None:
    """The variable of a query about a single variable; None for others."""
    about = {*group.variables, *group.event}
    return about.pop() if len(about) == 1 else None


def _cells(potentials: Potentials, group: JointQuery) -> int:
    """The size of the table that counts joint states: 0 for one variable, whose full conditionals are averaged
    instead."""
    return 0 if _single_variable(group) is not None else int(np.prod(potentials.card[list(group.variables)]))


def _run_statistics(
    path: AnnealingPath, asked: Sequence[JointQuery], count: int, powers: Array, seed: int, first: int, last: int
) -> RunStatistics:
    """The statistics of some runs, annealed and then continued for the given number of rounds."""
    rounds = len(powers) - 1
    warming = rounds // ROUNDS_PER_BURN_IN
    half = max(1, (rounds - warming) // 2)
    begun, held = run(path, count, powers, seed, first, last), path.potentials
    card, cells = held.card, int(held.places[-1])
    shares, seen = np.zeros((2, last - first, cells)), np.zeros(cells, dtype=np.bool_)
    counts = [np.zeros((2, last - first, _cells(held, group) + 1)) for group in asked]  # last: the event fails
    others = np.setdiff1d(np.arange(len(card)), path.turns.free)
    for r in np.flatnonzero(begun.log_weights > -np.inf).tolist():
        step = begun.steps
        for part_of in (-1, 0, 1):
            own, size = np.zeros(cells), half if part_of >= 0 else warming
            for codes in _rounds(path, begun.seeds[r], step, begun.now[r], size, own):
                if part_of < 0:
                    continue
                visits = np.bincount((codes + held.places[:-1, None]).ravel(), minlength=cells)
                seen |= visits > 0
                for v in others.tolist():
                    own[held.places[v] : held.places[v + 1]] += visits[held.places[v] : held.places[v + 1]]
                for group, table in zip(asked, counts, strict=True):
                    if table.shape[-1] > 1:
                        table[part_of, r] += np.bincount(group.cells(card, codes), minlength=table.shape[-1]) / size
            step += size
            if part_of >= 0:
                shares[part_of, r] = own / size
    return RunStatistics(path, begun.log_weights, shares, seen, [table[..., :-1] for table in counts])


def _rounds(
    path: AnnealingPath, seed: np.uint64, step: int, now: Integers, size: int, shares: Array
) -> Iterator[Codes]:
    """States in chunks of rounds. (variables, rounds)"""
    most = max(1, STATES_AT_ONCE // len(now))
    for first in range(0, size, most):
        codes = np.empty((len(now), min(most, size - first)), dtype=np.int32)
        draw_in_turn(*path.at(1.0), seed, step + first, now, codes, shares)
        yield codes
