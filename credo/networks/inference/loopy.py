"""Loopy propagation: messages between factors and variables, as if the network were a tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from credo._kernels.networks.loopy import Loops, pass_messages, read_beliefs
from credo.errors import EvidenceError, NetworkError
from credo.networks.inference.estimate import Estimate, JointQuery
from credo.networks.inference.findings import Findings
from credo.networks.inference.potentials import Potentials
from credo.notices import tell
from credo.numerics.exact import Array

MOST_LOOPY_ROUNDS, CONVERGED_CHANGE = 1000, 1e-12
COMPARED_ROUNDS, COMPARED_CHANGE = 100, 1e-3  # the same limits when Gibbs sampling compares its result


def loopy(potentials: Potentials, findings: Findings, asked: Sequence[JointQuery]) -> list[Estimate]:
    """Marginals of single variables; damped where messages don't converge."""
    if any(len({*group.variables, *group.event}) != 1 for group in asked):
        raise NetworkError("loopy propagation answers one variable at a time: query each, or sample")
    beliefs, change = _propagated(potentials, findings, MOST_LOOPY_ROUNDS)
    if change >= CONVERGED_CHANGE:
        tell(f"loopy propagation didn't converge: its messages still change by {change:.1g}")
    return [_believed(potentials, beliefs, group, change < CONVERGED_CHANGE) for group in asked]


def settled_beliefs(potentials: Potentials, findings: Findings) -> Array | None:
    """Marginals of all states in one array; None if messages don't converge soon."""
    beliefs, change = _propagated(potentials, findings, COMPARED_ROUNDS)
    return beliefs if change < COMPARED_CHANGE else None


def _propagated(potentials: Potentials, findings: Findings, rounds: int) -> tuple[Array, float]:
    """Marginals of all states, and the last change of the messages."""
    factors, card = potentials.factors, potentials.card
    at = np.append(0, np.cumsum(card[factors.scope]))
    local = findings.weights.copy() if len(findings.weights) else np.ones(int(potentials.places[-1]))
    for v in np.flatnonzero(findings.codes >= 0):
        first, own = potentials.places[v], np.zeros(int(card[v]))
        own[findings.codes[v]] = local[first + findings.codes[v]]
        local[first : potentials.places[v + 1]] = own
    loops = Loops(card, potentials.places, factors, *potentials.near, at[:-1])
    messages, change = np.ones(int(at[-1])), np.inf
    for i in range(rounds):
        change = pass_messages(loops, local, 0.0 if i < isqrt(rounds) * 3 else 0.5, messages)
        if change < CONVERGED_CHANGE:
            break
    beliefs = np.empty_like(local)
    read_beliefs(loops, local, messages, beliefs)
    return beliefs, change


def _believed(potentials: Potentials, beliefs: Array, group: JointQuery, settled: bool) -> Estimate:
    (v,) = {*group.variables, *group.event}
    own = beliefs[potentials.places[v] : potentials.places[v + 1]]
    if not own.any():
        raise EvidenceError("the evidence is impossible")
    own = np.where(group.event.get(v, True), own, 0.0)
    table = np.asarray(own if group.variables else own.sum())
    unknown = np.full(np.shape(table), np.nan)
    return Estimate(table, unknown, np.nan, "loopy", lambda _: np.nan, reliable=settled)
