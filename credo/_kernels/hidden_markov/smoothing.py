"""Forward-backward over a stretch of rows that may begin and end within a sequence.

Probabilities are scaled: each row's likelihoods are relative to its largest, and the messages are normalised only when
they get small, with the logarithms of the scales kept. Where one step loses more digits than floats have, the row is
reported: then credo._kernels.hidden_markov.log_smoothing does the same in logarithms. So is a row up to which all other
paths have become so improbable that one whose message was lost before may matter again.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel_of

Array = NDArray[np.float64]
Starts = NDArray[np.intp]

SMALL_SUM = 1e-60  # sums of messages below it are normalised
SMALL_TOTAL = 1e-200  # below it, the backward pass could lose digits: its messages may be SMALL_SUM, too
FEW_STATES = 6  # states up to which sums are taken one after another; those of more run in vector registers
LOST = 1e-290  # a forward message below it: its state is as good as impossible, unless the others become so, too
BESIDE = 1e17  # times less than others: nothing beside them


@late_kernel_of(lambda likely, *_: likely.size * likely.shape[1])
def pass_forward(
    likely: Array, tops: Array, starts: Starts, continues: bool, initial: Array, transitions: Array,
    forward: Array, log_totals: Array, lost: Array,
) -> int:  # fmt: skip
    """forward[t + 1] ∝ P(state of row t, rows of its sequence up to t); forward[0] is that of the row before the
    first, where the stretch `continues` a sequence. log_totals[n] += log p of sequence n's rows in the stretch.

    `lost`, from stretch to stretch, bounds what messages would be that were lost before; 0 if that is nothing beside
    the message of any state. The first row whose probability is too small for floats, or for what was lost, else -1.
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
            elif states <= FEW_STATES:
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
                lost[0] = 0.0 if least > BESIDE * lost[0] else lost[0]
            size, underflows = 0.0, False
            for j in range(states):
                v = ahead[j] * likely[t, j]
                underflows |= v < LOST and ahead[j] > 0.0
                forward[t + 1, j] = v
                size += v
            if underflows:
                lost[0] = max(lost[0], LOST)
            total += tops[t]
            if lost[0] > 0.0 and not size > BESIDE * lost[0]:
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
    """forward[t + 1] becomes P(state of row t | all rows) times the sequence's weight.

    backward: in, the backward message from the rows after the stretch to its last row (1 where its sequence ends
    there); out, the stretch's backward message to the row before it. firsts += P(state) of the sequences' first rows;
    pairs[i, j] += what, times transitions[i, j], is the expected number of such transitions. `columns` is
    transitions.T. (rows, states), (sequences + 1,), (sequences,), (states, states), (rows + 1, states), (states,),
    (states,), (states, states)
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
            if states <= FEW_STATES:
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
                backward[i] = backward[i] if forward[t, i] > LOST else 0.0
                size += backward[i] * forward[t, i]
            share = weight / size
            for i in range(states):
                v = forward[t, i] * share
                for j in range(states):
                    pairs[i, j] += v * seen[j]
            if size < SMALL_SUM:
                for i in range(states):
                    backward[i] /= size
