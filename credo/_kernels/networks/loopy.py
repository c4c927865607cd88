"""Loopy belief propagation: exact in trees, an approximation in graphs with loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import kernel
from credo._kernels.networks.junction import DEPTH
from credo._kernels.networks.shapes import Factors


class Loops(NamedTuple):
    """The factor graph, and the positions of messages."""

    card: Integers
    places: Integers  # the start of each variable's states
    factors: Factors
    near_at: Integers  # the start of each variable's positions in scopes
    near: Integers
    at: Integers  # (positions in scopes): the start of the message from the factor to the variable


@kernel
def pass_messages(loops: Loops, local: Array, damping: float, messages: Array) -> float:
    """One round of messages from factors to variables. The result is the largest change.

    local: the likelihood of each state of each variable.
    """
    card, factors, change = loops.card, loops.factors, 0.0
    new, heard = np.empty(card.max()), np.empty((DEPTH, card.max()))
    digits = np.empty(DEPTH, dtype=np.int64)
    for f in range(len(factors.values_at) - 1):
        first, last = factors.starts[f], factors.starts[f + 1]
        for i in range(first, last):
            listen(factors.scope[i], i, loops, local, messages, heard[i - first])
        for i in range(first, last):
            own = new[: card[factors.scope[i]]]
            own[:] = 0.0
            digits[: last - first] = 0
            for cell in range(factors.values_at[f], factors.values_at[f + 1]):
                x = factors.values[cell]
                for j in range(first, last):
                    if j != i:
                        x *= heard[j - first, digits[j - first]]
                own[digits[i - first]] += x
                for j in range(last - first - 1, -1, -1):
                    digits[j] += 1
                    if digits[j] < card[factors.scope[first + j]]:
                        break
                    digits[j] = 0
            total = own.sum()
            for k in range(len(own)):
                x = own[k] / total if total > 0.0 else 0.0
                x = damping * messages[loops.at[i] + k] + (1.0 - damping) * x
                change = max(change, abs(x - messages[loops.at[i] + k]))
                messages[loops.at[i] + k] = x
    return change


@kernel
def listen(v: int, place: int, loops: Loops, local: Array, messages: Array, out: Array) -> None:
    """out = a variable's likelihood times the messages from all factors but the one at this position of the scopes."""
    size = loops.card[v]
    for k in range(size):
        out[k] = local[loops.places[v] + k]
    for j in range(loops.near_at[v], loops.near_at[v + 1]):
        i = loops.near[j]
        if i != place:
            total = 0.0
            for k in range(size):
                out[k] *= messages[loops.at[i] + k]
                total += out[k]
            for k in range(size):
                out[k] = out[k] / total if total > 0.0 else 0.0


@kernel
def read_beliefs(loops: Loops, local: Array, messages: Array, out: Array) -> None:
    """out = the marginals of all states; 0 if no state is possible."""
    for v in range(len(loops.card)):
        own = out[loops.places[v] : loops.places[v + 1]]
        listen(v, -1, loops, local, messages, own)
        total = own.sum()
        for k in range(len(own)):
            own[k] = own[k] / total if total > 0.0 else 0.0
