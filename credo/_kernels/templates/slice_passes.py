"""Forward, backward and Viterbi passes over slices, whose transitions may depend on the evidence in a slice.

Messages are logarithms; each step uses probabilities relative to the largest, and logarithms for states whose sum would
underflow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes
from credo._kernels.jit import late_kernel, late_kernel_of

Starts = NDArray[np.intp]

SMALL_SLICE_SUM = 1e-150  # smaller sums are computed again in logarithms
EXP_LOG_STEPS = 12  # steps of plain Python for an exponential and a logarithm


@late_kernel_of(lambda logs, *_: logs.size * (logs.shape[1] + EXP_LOG_STEPS))
def pass_forward(
    logs: Array, starts: Starts, continues: bool, log_initial: Array, keys: Starts, transitions: Array,
    forward: Array, log_totals: Array,
) -> int:  # fmt: skip
    """forward[t + 1] = log P(state of slice t | slices of its sequence up to t); forward[0] is that of the slice before
    the first, if the chunk `continues` a sequence. log_totals[n] += log p of sequence n's slices in the chunk. The
    transition into slice t is transitions[keys[t]].

    The result is the first impossible slice, or -1. (slices, states), (sequences + 1,), (states,), (slices,),
    (keys, states, states), (slices + 1, states), (sequences,)
    """
    states = logs.shape[1]
    ahead = np.empty(states)
    for n in range(starts.shape[0] - 1):
        for t in range(starts[n], starts[n + 1]):
            if t == starts[n] and not (n == 0 and continues):
                for j in range(states):
                    forward[t + 1, j] = log_initial[j] + logs[t, j]
            else:
                k = keys[t]
                top = -math.inf
                for i in range(states):
                    top = forward[t, i] if forward[t, i] > top else top
                for j in range(states):
                    ahead[j] = 0.0
                for i in range(states):
                    mass = math.exp(forward[t, i] - top)
                    if mass > 0.0:
                        for j in range(states):
                            ahead[j] += mass * transitions[k, i, j]
                for j in range(states):
                    if ahead[j] >= SMALL_SLICE_SUM:
                        forward[t + 1, j] = top + math.log(ahead[j]) + logs[t, j]
                        continue
                    highest = -math.inf
                    for i in range(states):
                        if transitions[k, i, j] > 0.0:
                            v = forward[t, i] + math.log(transitions[k, i, j])
                            highest = v if v > highest else highest
                    if highest == -math.inf:
                        forward[t + 1, j] = -math.inf
                        continue
                    size = 0.0
                    for i in range(states):
                        if transitions[k, i, j] > 0.0:
                            size += math.exp(forward[t, i] + math.log(transitions[k, i, j]) - highest)
                    forward[t + 1, j] = highest + math.log(size) + logs[t, j]
            top = -math.inf
            for j in range(states):
                top = forward[t + 1, j] if forward[t + 1, j] > top else top
            if top == -math.inf:
                return t
            size = 0.0
            for j in range(states):
                size += math.exp(forward[t + 1, j] - top)
            total = top + math.log(size)
            for j in range(states):
                forward[t + 1, j] -= total
            log_totals[n] += total
    return -1


@late_kernel_of(lambda logs, *_: 2 * logs.size * (logs.shape[1] + EXP_LOG_STEPS))
def pass_backward(
    logs: Array, starts: Starts, continues: bool, weights: Array, keys: Starts, transitions: Array,
    forward: Array, after: Array, backward: Array, pairs: Array,
) -> None:  # fmt: skip
    """backward[t] = log p(later slices of the sequence | state of slice t), up to a constant.

    after: in, the message from the slices after the chunk to its last one (0 at the end of a sequence); out, the
    message from the chunk to the slice before it. pairs[k, i, j] += the expected weight of transitions i to j with key
    k, unless it is empty. (slices, states), (sequences + 1,), (sequences,), (slices,), (keys, states, states), (slices
    + 1, states), (states,), (slices, states), (keys, states, states)
    """
    states = logs.shape[1]
    seen, rest = np.empty(states), np.empty(states)
    last = starts.shape[0] - 2
    for n in range(last, -1, -1):
        if n < last:
            for j in range(states):
                after[j] = 0.0
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            for j in range(states):
                backward[t, j] = after[j]
            if t == starts[n] and not (n == 0 and continues):
                continue
            k = keys[t]
            top = -math.inf
            for j in range(states):
                v = logs[t, j] + after[j]
                seen[j] = v
                top = v if v > top else top
            for j in range(states):
                rest[j] = math.exp(seen[j] - top)
            for i in range(states):
                size = 0.0
                for j in range(states):
                    size += transitions[k, i, j] * rest[j]
                if size >= SMALL_SLICE_SUM:
                    after[i] = top + math.log(size)
                    continue
                highest = -math.inf
                for j in range(states):
                    if transitions[k, i, j] > 0.0:
                        v = seen[j] + math.log(transitions[k, i, j])
                        highest = v if v > highest else highest
                after[i] = highest
                if highest > -math.inf:
                    size = 0.0
                    for j in range(states):
                        if transitions[k, i, j] > 0.0:
                            size += math.exp(seen[j] + math.log(transitions[k, i, j]) - highest)
                    after[i] = highest + math.log(size)
            highest = -math.inf
            for i in range(states):
                v = forward[t, i] + after[i]
                highest = v if v > highest else highest
            size = 0.0
            for i in range(states):
                size += math.exp(forward[t, i] + after[i] - highest)
            total = highest + math.log(size)
            if pairs.shape[0] > 0:
                for i in range(states):
                    if forward[t, i] > -math.inf:
                        own = math.exp(min(700.0, forward[t, i] + top - total))
                        deep = forward[t, i] + top - total > 700.0
                        for j in range(states):
                            p = transitions[k, i, j]
                            if p > 0.0 and not deep and rest[j] >= SMALL_SLICE_SUM:
                                pairs[k, i, j] += weights[n] * own * p * rest[j]
                            elif p > 0.0 and seen[j] > -math.inf:
                                pairs[k, i, j] += weights[n] * math.exp(forward[t, i] + seen[j] - total + math.log(p))
            for i in range(states):
                after[i] -= total


@late_kernel_of(lambda logs, *_: 2 * logs.size * logs.shape[1])
def pass_best(
    logs: Array, starts: Starts, continues: bool, log_initial: Array, keys: Starts, log_transitions: Array,
    reached: Array, came_from: Codes, ends: Codes, log_best: Array,
) -> None:  # fmt: skip
    """The Viterbi pass over a chunk of slices: reached[j] = log p of the best path to state j, kept between chunks;
    came_from[t, j] is the state before it. ends[n] is the state of sequence n's best path at its last slice of the
    chunk, and log_best[n] the path's log p; ties go to the first."""
    states = logs.shape[1]
    best = np.empty(states)
    for n in range(starts.shape[0] - 1):
        for t in range(starts[n], starts[n + 1]):
            if t == starts[n] and not (n == 0 and continues):
                for j in range(states):
                    reached[j] = log_initial[j] + logs[t, j]
                continue
            k = keys[t]
            for j in range(states):
                most, place = reached[0] + log_transitions[k, 0, j], 0
                for i in range(1, states):
                    v = reached[i] + log_transitions[k, i, j]
                    if v > most:
                        most, place = v, i
                best[j] = most + logs[t, j]
                came_from[t, j] = place
            for j in range(states):
                reached[j] = best[j]
        top = 0
        for j in range(1, states):
            top = j if reached[j] > reached[top] else top
        ends[n], log_best[n] = top, reached[top]


@late_kernel
def trace_back(path: Codes, starts: Starts, ends: Codes, came_from: Codes) -> None:
    """path = the states of each sequence's best path, traced back from its end."""
    for n in range(starts.shape[0] - 1):
        state = ends[n]
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            path[t] = state
            if t > starts[n]:
                state = came_from[t, state]
