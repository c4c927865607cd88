"""The most probable paths of states: the Viterbi algorithm, and the k best paths of one sequence."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes
from credo._kernels.jit import late_kernel_of

Starts = NDArray[np.intp]

SEQUENTIAL_MAXIMA = 6  # states up to which maxima are taken one after another; with more, in vector registers


@late_kernel_of(lambda logs, *_: 2 * logs.size * logs.shape[1])
def pass_best(logs: Array, starts: Starts, continues: bool, log_initial: Array, log_transitions: Array) -> None:
    """The Viterbi pass over a chunk of rows: logs[t, j] becomes log p of the best path to state j of row t. It is so
    already for the chunk's first row, if that `continues` a sequence. (rows, states), (sequences + 1,), (states,)"""
    states = logs.shape[1]
    best = np.empty(states)
    for n in range(starts.shape[0] - 1):
        if n > 0 or not continues:
            for j in range(states):
                logs[starts[n], j] += log_initial[j]
        for t in range(starts[n] + 1, starts[n + 1]):
            if states <= SEQUENTIAL_MAXIMA:
                for j in range(states):
                    most = logs[t - 1, 0] + log_transitions[0, j]
                    for i in range(1, states):
                        w = logs[t - 1, i] + log_transitions[i, j]
                        most = w if w > most else most
                    logs[t, j] += most
                continue
            for j in range(states):
                best[j] = -math.inf
            fours = states // 4 * 4
            for i in range(0, fours, 4):  # four at a time: a quarter of the stores
                k, m, p, q = logs[t - 1, i], logs[t - 1, i + 1], logs[t - 1, i + 2], logs[t - 1, i + 3]
                for j in range(states):
                    u, v = k + log_transitions[i, j], m + log_transitions[i + 1, j]
                    w, x = p + log_transitions[i + 2, j], q + log_transitions[i + 3, j]
                    u, w, b = u if u > v else v, w if w > x else x, best[j]
                    u = u if u > w else w
                    best[j] = u if u > b else b
            for i in range(fours, states):
                k = logs[t - 1, i]
                for j in range(states):
                    u, b = k + log_transitions[i, j], best[j]
                    best[j] = u if u > b else b
            for j in range(states):
                logs[t, j] += best[j]


@late_kernel_of(lambda reached, *_: 2 * reached.size)
def trace_best(
    reached: Array, starts: Starts, log_transitions: Array, after: int, path: Codes, log_best: Array
) -> None:
    """path = the states of each sequence's best path, traced back through pass_best's results; log_best = its log p.
    Ties go to the first state. `after` is the state after the chunk, -1 at the end of a sequence. (rows, states),
    (sequences + 1,), (states, states), (rows,), (sequences,)"""
    states = reached.shape[1]
    for n in range(starts.shape[0] - 2, -1, -1):
        if n < starts.shape[0] - 2:
            after = -1
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            place = 0
            if after < 0:
                for j in range(1, states):
                    place = j if reached[t, j] > reached[t, place] else place
                log_best[n] = reached[t, place]
            else:
                most = reached[t, 0] + log_transitions[0, after]
                for i in range(1, states):
                    w = reached[t, i] + log_transitions[i, after]
                    place = i if w > most else place
                    most = w if w > most else most
            path[t] = place
            after = place


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
