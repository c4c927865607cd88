"""The forward-backward algorithm in logarithms: slower, and exact for rows of any probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array
from credo._kernels.jit import late_kernel_of

Starts = NDArray[np.intp]

EXP_STEPS = 10  # steps of plain Python for an exponential


@late_kernel_of(lambda logs, *_: EXP_STEPS * logs.size * logs.shape[1])
def pass_forward_log(
    logs: Array, starts: Starts, continues: bool, log_initial: Array, log_transitions: Array,
    forward: Array, log_totals: Array,
) -> int:  # fmt: skip
    """forward[t + 1] = log P(state of row t | rows of its sequence up to t); forward[0] is that of the row before the
    first, if the chunk `continues` a sequence. log_totals[n] += log p of sequence n's rows in the chunk.

    The result is the first impossible row, or -1. (rows, states), (sequences + 1,), (states,), (states, states),
    (rows + 1, states), (sequences,)
    """
    states = logs.shape[1]
    for n in range(starts.shape[0] - 1):
        for t in range(starts[n], starts[n + 1]):
            highest = -math.inf
            for j in range(states):
                if t == starts[n] and not (n == 0 and continues):
                    ahead = log_initial[j]
                else:
                    top = -math.inf
                    for i in range(states):
                        v = forward[t, i] + log_transitions[i, j]
                        top = v if v > top else top
                    size = 0.0
                    if top > -math.inf:
                        for i in range(states):
                            size += math.exp(forward[t, i] + log_transitions[i, j] - top)
                    ahead = top + math.log(size) if size > 0.0 else -math.inf
                v = ahead + logs[t, j]
                forward[t + 1, j] = v
                highest = v if v > highest else highest
            if highest == -math.inf:
                return t
            size = 0.0
            for j in range(states):
                size += math.exp(forward[t + 1, j] - highest)
            total = highest + math.log(size)
            for j in range(states):
                forward[t + 1, j] -= total
            log_totals[n] += total
    return -1


@late_kernel_of(lambda logs, *_: 2 * EXP_STEPS * logs.size * logs.shape[1])
def pass_backward_log(
    logs: Array, starts: Starts, continues: bool, weights: Array, log_transitions: Array,
    forward: Array, backward: Array, firsts: Array, pairs: Array,
) -> None:  # fmt: skip
    """forward[t + 1] becomes P(state of row t | all rows) times the sequence's weight; the rest is as in
    smoothing.pass_backward, but `backward` has logarithms, and `pairs` has expected numbers of transitions."""
    states = logs.shape[1]
    seen = np.empty(states)
    last = starts.shape[0] - 2
    for n in range(last, -1, -1):
        if n < last:
            for j in range(states):
                backward[j] = 0.0
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            top = -math.inf
            for j in range(states):
                seen[j] = logs[t, j] + backward[j]
                v = forward[t + 1, j] + backward[j]
                forward[t + 1, j] = v
                top = v if v > top else top
            size = 0.0
            for j in range(states):
                size += math.exp(forward[t + 1, j] - top)
            for j in range(states):
                forward[t + 1, j] = weights[n] * math.exp(forward[t + 1, j] - top) / size
            if t == starts[n] and not (n == 0 and continues):
                for j in range(states):
                    firsts[j] += forward[t + 1, j]
                continue
            highest = -math.inf
            for i in range(states):
                top = -math.inf
                for j in range(states):
                    v = log_transitions[i, j] + seen[j]
                    top = v if v > top else top
                size = 0.0
                if top > -math.inf:
                    for j in range(states):
                        size += math.exp(log_transitions[i, j] + seen[j] - top)
                backward[i] = top + math.log(size) if size > 0.0 else -math.inf
                v = forward[t, i] + backward[i]
                highest = v if v > highest else highest
            size = 0.0
            for i in range(states):
                size += math.exp(forward[t, i] + backward[i] - highest)
            total = highest + math.log(size)
            for i in range(states):
                for j in range(states):
                    pairs[i, j] += weights[n] * math.exp(forward[t, i] + log_transitions[i, j] + seen[j] - total)
            for i in range(states):
                backward[i] -= total
