"""Chains of samples: Gibbs sampling, in which each variable is drawn in turn, given all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from credo._kernels.sampling import Turns, draw_in_turn
from credo.errors import EvidenceError
from credo.exact import Array
from credo.graph import children
from credo.inference.asked import Asked, Codes, Estimate, floor_of
from credo.inference.findings import Findings
from credo.inference.forward import BATCH, mixed_seed, weighted
from credo.inference.potentials import Integers, Potentials
from credo.notices import tell

CHAINS, BATCHES = 4, 25  # chains, and parts of each, whose means show the error
WARMING = 10  # one in so many rounds more, which are thrown away
SEARCHED = 50  # rounds of a search for a possible state, after which it is looked at
DRAWN = 1000  # states at random, the best of which a search starts from


def gibbs(
    potentials: Potentials, findings: Findings, asked: Sequence[Asked], samples: int, seed: int
) -> list[Estimate]:
    """Each free variable in turn, given all others; the error by means of parts, since samples depend on each other."""
    turns = turns_of(potentials, findings)
    about = turns, potentials.card, potentials.factors, findings.weights, potentials.places
    rounds = max(2, samples // (CHAINS * BATCHES))
    means: list[list[Array]] = [[] for _ in asked]
    shapes = [tuple(potentials.card[list(group.variables)]) for group in asked]
    for chain in range(CHAINS):
        mixed, now = mixed_seed(seed * CHAINS + chain), _start(potentials, findings, turns, seed * CHAINS + chain)
        step = 0
        for part in range(-1, BATCHES):  # the first is thrown away
            counts = [np.zeros(int(np.prod(shape)) + 1) for shape in shapes]
            size = rounds if part >= 0 else -(-rounds * BATCHES // WARMING)
            for first in range(0, size, BATCH):
                codes = np.empty((len(potentials.card), min(BATCH, size - first)), dtype=np.int32)
                draw_in_turn(*about, mixed, step, now, codes)
                step += codes.shape[1]
                for group, count in zip(asked, counts, strict=True):
                    count += np.bincount(group.cells(potentials.card, codes), minlength=count.size)
            if part >= 0:
                for parts, count in zip(means, counts, strict=True):
                    parts.append(count[:-1] / size)
    samples = CHAINS * BATCHES * rounds
    return [
        _of_means(np.array(parts), shape, samples, findings, group)
        for group, shape, parts in zip(asked, shapes, means, strict=True)
    ]


def chains(potentials: Potentials, findings: Findings, rows: int, apart: int, seed: int) -> Iterator[Codes]:
    """(variables, rows) of each chain, rounds apart, after some that are thrown away."""
    turns = turns_of(potentials, findings)
    about = turns, potentials.card, potentials.factors, findings.weights, potentials.places
    for chain in range(CHAINS):
        mixed, now = mixed_seed(seed * CHAINS + chain), _start(potentials, findings, turns, seed * CHAINS + chain)
        found, between = np.empty((len(now), rows), dtype=np.int32), np.empty((len(now), apart), dtype=np.int32)
        warming = max(SEARCHED, rows // WARMING)
        for i in range(-warming, rows):
            draw_in_turn(*about, mixed, (i + warming) * apart, now, between)
            found[:, max(i, 0)] = now
        yield found


def turns_of(potentials: Potentials, findings: Findings) -> Turns:
    """Variables that their parents decide follow those: alone, neither could ever change."""
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
    left = np.ones(len(potentials.children), dtype=np.bool_)
    left[np.flatnonzero(decided)] = False
    if (potentials.with_zeros & left).any():
        tell("some tables have zeros: Gibbs sampling may miss states that it can't reach one variable at a time")
    return Turns(free, *_listed(followers), *_listed(factors))


def _listed(lists: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Where each list starts, and all of them one after another."""
    starts = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    return starts, np.array([value for each in lists for value in each], dtype=np.int64)


def _of_means(parts: Array, shape: tuple[int, ...], samples: int, findings: Findings, group: Asked) -> Estimate:
    p, error = parts.mean(0), error_of_means(parts)
    varying = error > 0
    effective = float(np.min((p * (1 - p))[varying] / error[varying] ** 2)) if varying.any() else float(samples)
    effective = min(effective, float(samples))
    floor = floor_of(group, findings, effective)

    def spread(x: Array) -> float:
        return max(float(error_of_means(parts @ x)), floor * float(np.ptp(x)))

    return Estimate(p.reshape(shape), np.maximum(error, floor).reshape(shape), effective, "gibbs", spread)


def error_of_means(parts: Array) -> Array:
    """The error that the means (chains' parts, ...) show, or that the chains' do, where these disagree more."""
    chains = parts.reshape(CHAINS, -1, *parts.shape[1:]).mean(1)
    shown = parts.std(0, ddof=1) / np.sqrt(len(parts)), chains.std(0, ddof=1) / np.sqrt(CHAINS)
    return np.asarray(np.maximum(*shown))


def _start(potentials: Potentials, findings: Findings, turns: Turns, seed: int) -> Integers:
    """A state that is possible: one of some drawn forward, as probable as it is, so that chains may begin apart; or the
    end of a search from there that avoids zeros."""
    starts, log_weights = starting_states(potentials, findings, BATCH, seed)
    chance = np.random.default_rng(seed).gumbel(size=len(log_weights))
    now = starts[:, (log_weights + chance).argmax()].astype(np.int64)
    codes = np.empty((len(now), SEARCHED), dtype=np.int32)
    about = turns, potentials.card, potentials.softened, findings.weights, potentials.places
    for step in range(0, 20 * SEARCHED, SEARCHED):
        if log_values(potentials, findings, now[:, None])[0] > -np.inf:
            return now
        draw_in_turn(*about, mixed_seed(seed), step, now, codes)
    raise EvidenceError("no possible state was found to start from: the evidence is improbable or impossible")


def starting_states(potentials: Potentials, findings: Findings, samples: int, seed: int) -> tuple[Codes, Array]:
    """(variables, samples) drawn forward, and how probable the evidence is with each; without arrows, at most DRAWN
    states at random, each as good as any."""
    if potentials.directed:
        ((codes, log_weights),) = weighted(potentials, findings, samples, seed)
        return codes, log_weights
    card, known = potentials.card[:, None], findings.codes[:, None]
    drawn = np.random.default_rng(seed).integers(0, card, size=(len(card), min(samples, DRAWN)), dtype=np.int32)
    return np.where(known >= 0, known, drawn).astype(np.int32), np.zeros(drawn.shape[1])


def log_values(potentials: Potentials, findings: Findings, codes: NDArray[np.signedinteger]) -> Array:
    """(columns of codes): log ∏ factors and likelihoods, where each variable has that state."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(findings.weights)
        return sums_at(potentials, np.log(potentials.factors.values), log_weights, codes) + potentials.log_scale


def sums_at(potentials: Potentials, values: Array, weights: Array, codes: NDArray[np.signedinteger]) -> Array:
    """(columns of codes): Σ of what factors and states have there."""
    factors, found = potentials.factors, np.zeros(codes.shape[1])
    if len(factors.scope):
        steps = codes[factors.scope].astype(np.int64) * factors.steps[:, None]
        found += values[np.add.reduceat(steps, factors.starts[:-1]) + factors.values_at[:-1, None]].sum(0)
    return found + weights[codes + potentials.places[:-1, None]].sum(0) if len(weights) else found
