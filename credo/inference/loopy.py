"""Loopy propagation: messages between factors and variables, as if the network were a tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from credo._kernels.loopy import Loops, pass_messages, read_beliefs
from credo.errors import EvidenceError, NetworkError
from credo.exact import Array
from credo.inference.asked import Asked, Estimate
from credo.inference.findings import Findings
from credo.inference.potentials import Potentials
from credo.notices import tell

ROUNDS, SETTLED = 1000, 1e-12


def loopy(potentials: Potentials, findings: Findings, asked: Sequence[Asked]) -> list[Estimate]:
    """Loopy propagation tells of one variable at a time; damped where it doesn't settle by itself."""
    if any(len({*group.variables, *group.event}) != 1 for group in asked):
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
    return [_believed(potentials, beliefs, group) for group in asked]


def _believed(potentials: Potentials, beliefs: Array, group: Asked) -> Estimate:
    (v,) = {*group.variables, *group.event}
    own = beliefs[potentials.places[v] : potentials.places[v + 1]]
    if not own.any():
        raise EvidenceError("the evidence is impossible")
    own = np.where(group.event.get(v, True), own, 0.0)
    table = own if group.variables else own.sum()
    return Estimate(np.asarray(table), np.full(np.shape(table), np.nan), np.nan, "loopy", lambda _: np.nan)
