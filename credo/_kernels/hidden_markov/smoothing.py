"""The forward-backward algorithm over a chunk of rows that may begin and end within a sequence.

Probabilities are scaled: each row's likelihoods are relative to its largest, and messages are normalised only when they
get small. If a step underflows, its row is returned, and credo._kernels.hidden_markov.log_smoothing repeats the pass in
logarithms. The same happens if all other paths become so improbable that a message lost before may matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array
from credo._kernels.jit import late_kernel_of

Starts = NDArray[np.intp]

SMALL_SUM = 1e-60  # messages with a smaller sum are normalised
SMALL_TOTAL = 1e-200  # below this, the backward pass could lose digits: its messages may be SMALL_SUM, too
SEQUENTIAL_STATES = 6  # states up to which sums run one after another; with more, they run in vector registers
LOST_MESSAGE = 1e-290  # a smaller forward message counts as 0, unless all others get as small
NEGLIGIBLE_RATIO = 1e17  # a message smaller than others by this factor is lost in rounding


@late_kernel_of(lambda likely, *_: likely.size * likely.shape[1])
def pass_forward(
    likely: Array, tops: Array, starts: Starts, continues: bool, initial: Array, transitions: Array,
    forward: Array, log_totals: Array, lost: Array,
) -> int:  # fmt: skip
    """The forward pass: forward[t + 1] ∝ P(state of row t, rows of its sequence up to t); forward[0] is that of the row
    before the first, if the chunk `continues` a sequence. log_totals[n] += log p of sequence n's rows in the chunk.

    `lost` is an upper bound of messages that were lost, kept between chunks; 0 if these are negligible. The result is
    the first row whose probability underflows, or is too small compared with `lost`; -1 without such a row.
    (rows, states), (rows,), (sequences + 1,), (states,), (states, states), (rows + 1, states), (sequences,), (1,)
    """
    states = likely.shape[1]
    ahead = np.empty(states)
    for n in range(starts.shape[0] - 1):
        total = 0.0
        for t in range(starts[n], starts[n + 1]):
            if t == starts[n] and not (n == 0 and continues):
                lost[0] = 0.0
                for j in range(states):
                    ahead[j] = initial[j]
            elif states <= SEQUENTIAL_STATES:
                for j in range(states):
                    v = forward[t, 0] * transitions[0, j]
                    for i in range(1, states):
                        v += forward[t, i] * transitions[i, j]
                    ahead[j] = v
            else:
                v = forward[t, 0]
                for j in range(states):
                    ahead[j] = v * transitions[0, j]
                for i in range(1, states):
                    v = forward[t, i]
                    for j in range(states):
                        ahead[j] += v * transitions[i, j]
            if lost[0] > 0.0:
                least = ahead[0]
                for j in range(1, states):
                    least = min(least, ahead[j])
                lost[0] = 0.0 if least > NEGLIGIBLE_RATIO * lost[0] else lost[0]
            size, underflows = 0.0, False
            for j in range(states):
                v = ahead[j] * likely[t, j]
                underflows |= v < LOST_MESSAGE and ahead[j] > 0.0
                forward[t + 1, j] = v
                size += v
            if underflows:
                lost[0] = max(lost[0], LOST_MESSAGE)
            total += tops[t]
            if lost[0] > 0.0 and not size > NEGLIGIBLE_RATIO * lost[0]:
                return t
            if size < SMALL_SUM or t == starts[n + 1] - 1:
                if not size > SMALL_TOTAL:
                    return t
                for j in range(states):
                    forward[t + 1, j] /= size
                lost[0] /= size
                total += math.log(size)
        log_totals[n] += total
    return -1


@late_kernel_of(lambda likely, *_: 2 * likely.size * likely.shape[1])
def pass_backward(
    likely: Array, starts: Starts, continues: bool, weights: Array, columns: Array,
    forward: Array, backward: Array, firsts: Array, pairs: Array,
) -> None:  # fmt: skip
    """The backward pass: forward[t + 1] becomes P(state of row t | all rows) times the sequence's weight.

    backward: in, the message from the rows after the chunk to its last row (1 at the end of a sequence); out, the
    message from the chunk to the row before it. firsts += P(state) of the sequences' first rows; pairs[i, j] += the
    expected number of transitions divided by transitions[i, j]. `columns` is transitions.T. (rows, states), (sequences
    + 1,), (sequences,), (states, states), (rows + 1, states), (states,), (states,), (states, states)
    """
    states = likely.shape[1]
    seen = np.empty(states)
    last = starts.shape[0] - 2
    for n in range(last, -1, -1):
        weight = weights[n]
        if n < last:
            for j in range(states):
                backward[j] = 1.0
        for t in range(starts[n + 1] - 1, starts[n] - 1, -1):
            size = 0.0
            for j in range(states):
                v = forward[t + 1, j] * backward[j]
                seen[j] = likely[t, j] * backward[j]
                forward[t + 1, j] = v
                size += v
            share = weight / size
            for j in range(states):
                forward[t + 1, j] *= share
            if t == starts[n] and not (n == 0 and continues):
                for j in range(states):
                    firsts[j] += forward[t + 1, j]
                continue
            if states <= SEQUENTIAL_STATES:
                for i in range(states):
                    v = seen[0] * columns[0, i]
                    for j in range(1, states):
                        v += seen[j] * columns[j, i]
                    backward[i] = v
            else:
                v = seen[0]
                for i in range(states):
                    backward[i] = v * columns[0, i]
                for j in range(1, states):
                    v = seen[j]
                    for i in range(states):
                        backward[i] += v * columns[j, i]
            size = 0.0
            for i in range(states):
                backward[i] = backward[i] if forward[t, i] > LOST_MESSAGE else 0.0
                size += backward[i] * forward[t, i]
            share = weight / size
            for i in range(states):
                v = forward[t, i] * share
                for j in range(states):
                    pairs[i, j] += v * seen[j]
            if size < SMALL_SUM:
                for i in range(states):
                    backward[i] /= size
