"""Answers by sampling, each with its error; and by loopy propagation, where sampling isn't wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from credo._kernels.loopy import Loops, pass_messages, read_beliefs
from credo._kernels.sampling import Turns, draw_forward, draw_in_turn
from credo.errors import DataError, EvidenceError, NetworkError
from credo.exact import Array
from credo.graph import children
from credo.inference.findings import Findings
from credo.inference.potentials import Integers, Potentials
from credo.notices import tell

Codes = NDArray[np.int32]
BATCH = 2**14  # samples that are drawn at a time
CHAINS, BATCHES = 4, 25  # of Gibbs sampling: chains, and parts of each, whose means show the error
WARMING = 10  # one in so many rounds more, which are thrown away
SEARCHED = 50  # rounds of a search for a possible state, after which it is looked at
ROUNDS, SETTLED = 1000, 1e-12  # of loopy propagation


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of probabilities, the standard error of each, and how many independent samples would be as good."""

    table: Array
    error: Array
    effective: float
    method: str


def estimates(
    potentials: Potentials,
    findings: Findings,
    asked: Sequence[Sequence[int]],
    method: str,
    samples: int,
    seed: int,
) -> list[Estimate]:
    """What is believed of variables together, of each group that is asked for."""
    if method == "loopy":
        return _loopy(potentials, findings, asked)
    if not isinstance(samples, int | np.integer) or samples < 1:
        raise DataError(f"the number of samples must be whole and at least 1, but is {samples!r}")
    if method == "gibbs":
        return _gibbs(potentials, findings, asked, samples, seed)
    if (potentials.children < 0).any():
        raise NetworkError(f'a network without arrows can\'t be sampled by {method}: use method="gibbs"')
    drawn = _forward if method == "forward" else _weighted
    return _averaged(potentials, findings, drawn(potentials, findings, samples, seed), asked, method)


def running_sums(potentials: Potentials) -> Array:
    """Of each row of each variable's table, in the place of the table's values."""
    found, at = potentials.factors.values.copy(), potentials.factors.values_at
    for f, v in enumerate(potentials.children.tolist()):
        own = found[at[f] : at[f + 1]].reshape(-1, int(potentials.card[v]))
        np.cumsum(own, axis=1, out=own)
    return found


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


def mixed_seed(seed: int) -> np.uint64:
    """Seeds that are neighbours shall not draw the same numbers, one after the other."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"a seed must be a whole number of at least 0, but is {seed!r}")
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def _weighted(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Likelihood weighting: observed variables stay as they are, and a sample weighs what they are worth in it."""
    draw = drawn_forward(potentials, findings, seed)
    for start in range(0, samples, BATCH):
        codes = np.empty((len(potentials.card), min(BATCH, samples - start)), dtype=np.int32)
        yield codes, draw(start, codes)


def _forward(potentials: Potentials, findings: Findings, samples: int, seed: int) -> Iterator[tuple[Codes, Array]]:
    """Forward sampling: all variables are drawn, and what disagrees with the evidence is thrown away."""
    draw = drawn_forward(potentials, Findings(np.full(len(potentials.card), -1), findings.weights), seed)
    known = np.flatnonzero(findings.codes >= 0)
    for start in range(0, samples, BATCH):
        codes = np.empty((len(potentials.card), min(BATCH, samples - start)), dtype=np.int32)
        log_weights = draw(start, codes)
        agree = (codes[known] == findings.codes[known, None]).all(0)
        yield codes, np.where(agree, log_weights, -np.inf)


def _averaged(
    potentials: Potentials,
    findings: Findings,
    drawn: Iterator[tuple[Codes, Array]],
    asked: Sequence[Sequence[int]],
    method: str,
) -> list[Estimate]:
    """P = Σ w·1 / Σ w, with the standard error √Σ w²(1 - P)² / Σ w."""
    shapes = [tuple(potentials.card[list(group)]) for group in asked]
    sums, squares = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
    total = square = 0.0
    top = -np.inf
    for codes, log_weights in drawn:
        higher = max(top, float(log_weights.max()))
        if higher == -np.inf:
            continue
        scale = np.exp(top - higher)
        top, weights = higher, np.exp(log_weights - higher)
        total, square = total * scale + weights.sum(), square * scale**2 + (weights**2).sum()
        for i, (group, shape) in enumerate(zip(asked, shapes, strict=True)):
            cells = np.ravel_multi_index(tuple(codes[list(group)]), shape)
            size = sums[i].size
            sums[i] = sums[i] * scale + np.bincount(cells, weights, size).reshape(shape)
            squares[i] = squares[i] * scale**2 + np.bincount(cells, weights**2, size).reshape(shape)
    if total == 0.0:
        raise EvidenceError(
            f"no sample of {method} agrees with the evidence: it is impossible, or so improbable that it takes more "
            "samples=, or another method="
        )
    found, effective = [], float(total**2 / square)
    for group, part, own in zip(asked, sums, squares, strict=True):
        p = part / total
        variance = np.maximum(own * (1.0 - 2.0 * p) + p**2 * square, 0.0)
        error = _honest(np.sqrt(variance) / total, effective, findings, group)
        found.append(Estimate(p, error, effective, method))
    return found


def _honest(error: Array, effective: float, findings: Findings, group: Sequence[int]) -> Array:
    """What never or always came isn't certain for that: one more sample may be the first. What is observed is."""
    unsure = (findings.codes[list(group)] < 0).any()
    return np.maximum(error, 1.0 / (effective + 1.0)) if unsure else error


def _gibbs(
    potentials: Potentials, findings: Findings, asked: Sequence[Sequence[int]], samples: int, seed: int
) -> list[Estimate]:
    """Each free variable in turn, given all others; the error by means of parts, since samples depend on each other."""
    turns = _turns(potentials, findings)
    about = turns, potentials.card, potentials.factors, findings.weights, potentials.places
    rounds = max(2, samples // (CHAINS * BATCHES))
    means: list[list[Array]] = [[] for _ in asked]
    shapes = [tuple(potentials.card[list(group)]) for group in asked]
    for chain in range(CHAINS):
        mixed, now = mixed_seed(seed * CHAINS + chain), _start(potentials, findings, turns, seed * CHAINS + chain)
        step = 0
        for part in range(-1, BATCHES):  # the first is thrown away
            counts = [np.zeros(shape) for shape in shapes]
            size = rounds if part >= 0 else -(-rounds * BATCHES // WARMING)
            for first in range(0, size, BATCH):
                codes = np.empty((len(potentials.card), min(BATCH, size - first)), dtype=np.int32)
                draw_in_turn(*about, mixed, step, now, codes)
                step += codes.shape[1]
                for group, shape, count in zip(asked, shapes, counts, strict=True):
                    cells = np.ravel_multi_index(tuple(codes[list(group)]), shape)
                    count += np.bincount(cells, minlength=count.size).reshape(shape)
            if part >= 0:
                for parts, count in zip(means, counts, strict=True):
                    parts.append(count / size)
    samples = CHAINS * BATCHES * rounds
    return [_of_means(np.array(parts), samples, findings, group) for group, parts in zip(asked, means, strict=True)]


def _turns(potentials: Potentials, findings: Findings) -> Turns:
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


def _of_means(parts: Array, samples: int, findings: Findings, group: Sequence[int]) -> Estimate:
    """The error that the parts' means show, or that the chains' do, where these disagree more."""
    p, chains = parts.mean(0), parts.reshape(CHAINS, BATCHES, *parts.shape[1:]).mean(1)
    error = np.maximum(parts.std(0, ddof=1) / np.sqrt(len(parts)), chains.std(0, ddof=1) / np.sqrt(CHAINS))
    varying = error > 0
    effective = float(np.min((p * (1 - p))[varying] / error[varying] ** 2)) if varying.any() else float(samples)
    effective = min(effective, float(samples))
    return Estimate(p, _honest(error, effective, findings, group), effective, "gibbs")


def _start(potentials: Potentials, findings: Findings, turns: Turns, seed: int) -> Integers:
    """A state that is possible: the best of some drawn forward; without arrows, of a search that avoids zeros."""
    if (potentials.children >= 0).all():
        for codes, log_weights in _weighted(potentials, findings, BATCH, seed):
            if log_weights.max() > -np.inf:
                return np.asarray(codes[:, log_weights.argmax()], dtype=np.int64)
        raise EvidenceError("no possible state was found to start from: the evidence is improbable or impossible")
    now = np.random.default_rng(seed).integers(0, potentials.card)
    now = np.where(findings.codes >= 0, findings.codes, now)
    for v in np.flatnonzero(findings.codes < 0) if len(findings.weights) else ():
        now[v] = findings.weights[potentials.places[v] : potentials.places[v + 1]].argmax()
    codes = np.empty((len(now), SEARCHED), dtype=np.int32)
    about = turns, potentials.card, potentials.softened, findings.weights, potentials.places
    for step in range(0, 20 * SEARCHED, SEARCHED):
        if potentials.log_value(now) > -np.inf and _allowed(potentials, findings, now):
            return now
        draw_in_turn(*about, mixed_seed(seed), step, now, codes)
    raise EvidenceError("no possible state was found to start from: the evidence is improbable or impossible")


def _allowed(potentials: Potentials, findings: Findings, codes: Integers) -> bool:
    """Whether what is known leaves these states possible."""
    return not len(findings.weights) or bool((findings.weights[potentials.places[:-1] + codes] > 0).all())


def _loopy(potentials: Potentials, findings: Findings, asked: Sequence[Sequence[int]]) -> list[Estimate]:
    """Loopy propagation tells of one variable at a time; damped where it doesn't settle by itself."""
    if any(len(group) > 1 for group in asked):
        raise NetworkError("loopy propagation tells of one variable at a time: ask for each, or sample")
    factors, card = potentials.factors, potentials.card
    at = np.append(0, np.cumsum(card[factors.scope]))
    local = findings.weights.copy() if len(findings.weights) else np.ones(int(potentials.places[-1]))
    for v in np.flatnonzero(findings.codes >= 0):
        first, own = potentials.places[v], np.zeros(int(card[v]))
        own[findings.codes[v]] = local[first + findings.codes[v]]
        local[first : potentials.places[v + 1]] = own
    loops = Loops(card, potentials.places, factors, *potentials.near, at[:-1])
    messages, change = np.ones(int(at[-1])), np.inf
    for i in range(ROUNDS):
        change = pass_messages(loops, local, 0.0 if i < isqrt(ROUNDS) * 3 else 0.5, messages)
        if change < SETTLED:
            break
    else:
        tell(f"loopy propagation didn't settle: its messages still change by {change:.1g}")
    beliefs = np.empty_like(local)
    read_beliefs(loops, local, messages, beliefs)
    found = [beliefs[potentials.places[v] : potentials.places[v + 1]] for (v,) in asked]
    if not all(own.any() for own in found):
        raise EvidenceError("the evidence is impossible")
    return [Estimate(own, np.full(own.shape, np.nan), np.nan, "loopy") for own in found]
