"""The most probable paths of states: the Viterbi algorithm, and the k best paths of one sequence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels.hidden_markov.smoothing import SEQUENTIAL_STATES
from credo._kernels.jit import late_kernel, late_kernel_of

Array = NDArray[np.float64]
Starts = NDArray[np.intp]
Codes = NDArray[np.int32]


@late_kernel_of(lambda logs, *_: 2 * logs.size * logs.shape[1])
def pass_best(
    logs: Array, starts: Starts, continues: bool, log_initial: Array, log_transitions: Array,
    reached: Array, came_from: NDArray[Any], ends: Codes, log_best: Array,
) -> None:  # fmt: skip
    """The Viterbi pass over a chunk of rows: reached[j] = log p of the best path to state j, kept between chunks;
    came_from[t, j] is the state before it. ends[n] is the state of sequence n's best path at its last row of the
    chunk, and log_best[n] the path's log p; ties go to the first."""
    states = logs.shape[1]
    best, place = np.empty(states), np.zeros(states)
    for n in range(starts.shape[0] - 1):
        for t in range(starts[n], starts[n + 1]):
            if t == starts[n] and not (n == 0 and continues):
                for j in range(states):
                    reached[j] = log_initial[j] + logs[t, j]
                continue
            if states <= SEQUENTIAL_STATES:
                for j in range(states):
                    most, at = reached[0] + log_transitions[0, j], 0
                    for i in range(1, states):
                        w = reached[i] + log_transitions[i, j]
                        if w > most:
                            most, at = w, i
                    best[j] = most
                    came_from[t, j] = at
            else:
                v = reached[0]
                for j in range(states):
                    best[j] = v + log_transitions[0, j]
                    place[j] = 0.0
                for i in range(1, states):
                    v, own = reached[i], float(i)  # as wide as the sums, so that both run in vector registers
                    for j in range(states):
                        w, b, p = v + log_transitions[i, j], best[j], place[j]
                        place[j] = own if w > b else p
                        best[j] = w if w > b else b
                for j in range(states):
                    came_from[t, j] = int(place[j])
            for j in range(states):
                reached[j] = best[j] + logs[t, j]
        top = 0
        for j in range(1, states):
            top = j if reached[j] > reached[top] else top
        ends[n], log_best[n] = top, reached[top]


@late_kernel
def trace_back(path: Codes, starts: Starts, ends: Codes, came_from: NDArray[Any]) -> None:
    """path = the states of each sequence's best path, traced back from its end."""
    for n in range(starts.shape[0] - 1):
        state = ends[n]
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            path[t] = state
            if t > starts[n]:
                state = came_from[t, state]


@late_kernel_of(lambda logs, _, __, paths, *___: 4 * logs.size * logs.shape[1] * paths.shape[0])
def find_best_paths(logs: Array, log_initial: Array, log_transitions: Array, paths: Codes, log_best: Array) -> None:
    """The most probable paths of one sequence, best first: paths[k] and its log p, -∞ if there are no more.
    (rows, states), (states,), (states, states), (k, rows), (k,)"""
    (rows, states), kept = logs.shape, paths.shape[0]
    reached, best = np.full((states, kept), -math.inf), np.empty(kept)
    new = np.full((states, kept), -math.inf)
    came_from = np.zeros((rows, states, kept), dtype=np.int32)  # state · kept + rank
    place = np.zeros(kept, dtype=np.int64)
    for j in range(states):
        reached[j, 0] = log_initial[j] + logs[0, j]
    for t in range(1, rows):
        for j in range(states):
            for r in range(kept):
                best[r], place[r] = -math.inf, 0
            for i in range(states):
                for r in range(kept):
                    v = reached[i, r] + log_transitions[i, j]
                    if not v > best[kept - 1]:
                        break
                    at = kept - 1
                    while at > 0 and v > best[at - 1]:
                        best[at], place[at] = best[at - 1], place[at - 1]
                        at -= 1
                    best[at], place[at] = v, i * kept + r
            for r in range(kept):
                new[j, r] = best[r] + logs[t, j]
                came_from[t, j, r] = place[r]
        for j in range(states):
            for r in range(kept):
                reached[j, r] = new[j, r]
    for r in range(kept):
        best[r], place[r] = -math.inf, 0
    for j in range(states):
        for q in range(kept):
            v, at = reached[j, q], kept
            while at > 0 and v > best[at - 1]:
                at -= 1
            for r in range(kept - 1, at, -1):
                best[r], place[r] = best[r - 1], place[r - 1]
            if at < kept:
                best[at], place[at] = v, j * kept + q
    for r in range(kept):
        log_best[r] = best[r]
        if best[r] > -math.inf:
            node = place[r]
            for t in range(rows - 1, -1, -1):
                paths[r, t] = node // kept
                node = came_from[t, node // kept, node % kept]
