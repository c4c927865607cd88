"""Simulated annealing: the most probable joint state, if no exact answer fits in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from credo._kernels.networks.sampling import Turns, draw_in_turn, follow, log_chance
from credo.errors import EvidenceError, SizeError
from credo.networks.inference.annealed_importance import (
    SAMPLES_PER_ROUND,
    SOFT_ZERO,
    log_values,
    starting_states,
    turns_of,
)
from credo.networks.inference.approximate import estimates, log_total
from credo.networks.inference.estimate import JointQuery, Total, check_samples, no_sample
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings
from credo.networks.inference.forward import mixed_seed
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.sizes import Sampling
from credo.numerics.arrays import Integers

if TYPE_CHECKING:
    from credo.networks.inference.elimination import Elimination
    from credo.networks.inference.joint_table import JointTable
    from credo.networks.inference.trees import Trees

CHAINS = 4
RANDOM_STARTS = 1000  # random states, the best of which starts a chain
FEWEST_ROUNDS = 20  # per temperature
TEMPERATURES = 40
FIRST_INVERSE_TEMPERATURE, LAST_INVERSE_TEMPERATURE = 0.5, 20.0
TRIED_STATES, LARGEST_TRIED_TABLE = 4, 2**12  # most probable joint states tried, from a table of at most 2**12 cells
CLIMBING_ROUNDS, LEAST_CLIMBING_GAIN = 20, 1e-12


def best_found(potentials: Potentials, findings: Findings, samples: int, seed: int) -> tuple[Integers, float]:
    """A probable joint state and its log-probability: by simulated annealing, then by hill climbing."""
    check_samples(samples)
    turns = turns_of(potentials, findings)
    soft_weights = np.maximum(findings.weights, SOFT_ZERO)
    rounds = max(FEWEST_ROUNDS, samples // (2 * SAMPLES_PER_ROUND * CHAINS * TEMPERATURES))
    best, top = np.empty(0, dtype=np.int64), -np.inf
    for chain in range(CHAINS):
        starts, _ = starting_states(potentials, findings, RANDOM_STARTS, seed * CHAINS + chain)
        now = starts[:, log_values(potentials, findings, starts).argmax()].astype(np.int64)
        mixed, codes = mixed_seed(seed * CHAINS + chain), np.empty((len(now), rounds), dtype=np.int32)
        start, seen = now.copy(), float(log_values(potentials, findings, now[:, None])[0])
        for level, power in enumerate(np.geomspace(FIRST_INVERSE_TEMPERATURE, LAST_INVERSE_TEMPERATURE, TEMPERATURES)):
            bent = potentials.factors._replace(values=potentials.softened.values**power)
            about = turns, potentials.card, bent, soft_weights**power, potentials.places
            draw_in_turn(*about, mixed, level * rounds, now, codes, NO_LIKELIHOODS)
            values = log_values(potentials, findings, codes)
            if values.max() > seen:
                start, seen = codes[:, values.argmax()].astype(np.int64), float(values.max())
        climbed, value = _climbed(potentials, findings, turns, start)
        if value > top:
            best, top = climbed, value
    if top == -np.inf:
        raise no_sample("annealing")
    return best, top


def best_of_some(
    potentials: Potentials,
    exact: JointTable | Trees | Elimination,
    findings: Findings,
    asked: Sequence[int],
    samples: int,
    seed: int,
) -> tuple[Integers, float | Total]:
    """Marginal MAP: the best of several candidates (the states found for all variables, and each variable's own best),
    scored exactly if that fits in memory, then improved by hill climbing."""
    places, cards = list(asked), [int(potentials.card[v]) for v in asked]
    sampling, (codes, _) = Sampling("auto", samples, seed), best_found(potentials, findings, samples, seed)
    *shares, together = estimates(potentials, findings, _joint_queries(asked, cards), sampling)
    starts = [codes[places], *([[int(each.table.argmax()) for each in shares]] if shares else [])]
    if not shares:
        likeliest = np.argsort(-together.table, axis=None)[:TRIED_STATES]
        starts += [*np.stack(np.unravel_index(likeliest, cards), 1)]
    found = list[tuple[Integers, float | Total]]()
    for start in np.unique(np.array(starts), axis=0):
        chosen = findings.codes.copy()
        chosen[places] = start
        try:
            found.append(_climbed_exactly(exact, findings, asked, chosen))
        except SizeError:
            try:
                total = log_total(potentials, Findings(chosen, findings.weights), sampling)
            except EvidenceError:  # these states may be jointly impossible
                continue
            found.append((chosen, total))
    if not found:
        raise no_sample("annealing")
    return max(found, key=lambda each: each[1].log_value if isinstance(each[1], Total) else each[1])


def _joint_queries(asked: Sequence[int], cards: Sequence[int]) -> list[JointQuery]:
    """One joint query if its table is small; else one for each variable."""
    if prod(cards) <= LARGEST_TRIED_TABLE:
        return [JointQuery(asked)]
    return [*(JointQuery([v]) for v in asked), JointQuery([])]


def _climbed_exactly(
    exact: JointTable | Trees | Elimination, findings: Findings, asked: Sequence[int], start: Integers
) -> tuple[Integers, float]:
    """Hill climbing: each queried variable's best state, given the others, until none changes."""
    chosen, top = start.copy(), exact.log_total(start, findings.weights)
    for _ in range(CLIMBING_ROUNDS if top > -np.inf else 0):
        before = top
        for v in (v for v in asked if findings.codes[v] < 0):
            without = chosen.copy()
            without[v] = -1
            table, total = exact.joint(without, findings.weights, [v])
            chosen[v], top = int(table.argmax()), total + float(np.log(table.max()))
        if top <= before + LEAST_CLIMBING_GAIN:
            break
    return chosen, exact.log_total(chosen, findings.weights)


def _climbed(potentials: Potentials, findings: Findings, turns: Turns, start: Integers) -> tuple[Integers, float]:
    """Hill climbing: each free variable's best state, given all others, until none changes."""
    now, factors, changed = start.copy(), potentials.factors, True
    for _ in range(CLIMBING_ROUNDS):
        if not changed:
            break
        changed = False
        for j, v in enumerate(turns.free.tolist()):
            followers, old = turns.followers[turns.followers_at[j] : turns.followers_at[j + 1]], int(now[v])
            chances = np.empty(int(potentials.card[v]))
            for now[v] in range(len(chances)):
                follow(followers, potentials.card, factors, now)
                chances[now[v]] = log_chance(j, v, followers, turns, factors, findings.weights, potentials.places, now)
            now[v] = best = int(chances.argmax()) if chances.max() > chances[old] + LEAST_CLIMBING_GAIN else old
            follow(followers, potentials.card, factors, now)
            changed |= best != old
    return now, float(log_values(potentials, findings, now[:, None])[0])
