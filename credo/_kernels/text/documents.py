"""Documents as lists of words with counts (the words of document i are at starts[i] to starts[i + 1]): counted, scored.

Tables are (words, classes): a document touches few words, and for each of them all classes lie side by side. A document
of class `own` is left out of its class before it is scored, with its weight; -1 means that it wasn't learned.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel_of
from credo._kernels.numerics.gamma import log_gamma

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]

NOTHING = 1e-12  # a weight that is left of a word when its last document goes
FEW_REPETITIONS = 16  # repetitions that are multiplied before a logarithm is taken


@late_kernel_of(lambda words, *rest: words.size * rest[1].shape[1])
def add_words(
    words: Codes, amounts: Array, n: Array, logs: Array, weights: Array, least: float, a: float, drawn: bool,
    starts: Integers, own: Codes, weight: Array, out: Array, lost: Array, tokens: Array, gone: Integers,
) -> None:  # fmt: skip
    """out (documents, classes) += Σ x log(n + a), of words of which a document holds the amount x; where these are
    whole and `drawn` one after another, each added to what is known, Σ log (n + a)(n + a + 1)...(n + a + x - 1).

    n (words, classes), the logs of n + a, weights (words,) of all classes together: a word below `least` is absent. For
    each document: lost (classes), what goes out of the classes' sums with it; gone, how many words are no longer there;
    tokens, how many of its positions count.
    """
    classes = n.shape[1]
    for i in range(len(starts) - 1):
        mine = own[i]
        for at in range(starts[i], starts[i + 1]):
            v, x = words[at], amounts[at]
            if weights[v] < least:
                continue
            taken = weight[i] * x if mine >= 0 else 0.0
            if weights[v] - taken < least:
                gone[i] += 1
                for k in range(classes):
                    lost[i, k] += n[v, k]
                continue
            tokens[i] += x
            for k in range(classes):
                z = n[v, k] + a
                if k == mine:
                    lost[i, k] += taken
                    z = max(z - taken, a)
                elif x == 1.0 or not drawn:
                    out[i, k] += x * logs[v, k]
                    continue
                if z <= 0.0:
                    out[i, k] = -math.inf
                elif x == 1.0 or not drawn:
                    out[i, k] += x * math.log(z)
                elif x <= FEW_REPETITIONS:
                    product = z
                    for t in range(1, int(x)):
                        product *= z + t
                    out[i, k] += math.log(product)
                elif z < 100.0:
                    out[i, k] += log_gamma(z + x) - log_gamma(z)
                else:  # Stirling's series of both, in which what is large cancels beforehand
                    y = z + x
                    out[i, k] += (z - 0.5) * math.log1p(x / z) + x * math.log(y) - x
                    out[i, k] += (1.0 / y - 1.0 / z) / 12.0 - (1.0 / (y * y * y) - 1.0 / (z * z * z)) / 360.0


@late_kernel_of(lambda words, *rest: words.size * rest[0].shape[1])
def add_presences(
    words: Codes, n: Array, odds: Array, absent: Array, weights: Array, least: float, a: float, documents: Array,
    starts: Integers, own: Codes, weight: Array, out: Array, unseen: Integers, zeros: Integers,
) -> None:  # fmt: skip
    """out (documents, classes) += what a document's words say beyond their absence.

    d of a class's D documents hold a word: it is there with (d + a)/(D + 2a). odds (words, classes) are the logarithms
    of that over those of its absence, absent the latter. n (words, classes) is d, documents (classes,) D. For each
    document: unseen += how many of its words are in no other one; zeros -= those of its words that all the others of
    its class hold.
    """
    classes = n.shape[1]
    for i in range(len(starts) - 1):
        mine, w = own[i], weight[i]
        for at in range(starts[i], starts[i + 1]):
            v = words[at]
            alone = mine >= 0 and weights[v] - w < least
            if alone:
                elsewhere = -w
                for k in range(classes):
                    elsewhere += n[v, k]
                unseen[i] += elsewhere < NOTHING
            if weights[v] < least:
                continue
            for k in range(classes):
                if k != mine:
                    out[i, k] += -absent[v, k] if alone else odds[v, k]
                    continue
                here, others = n[v, k] - w + a, documents[k] - n[v, k] + a - w
                size = math.log(documents[k] - w + 2.0 * a)
                zeros[i] -= others == 0.0
                out[i, k] -= (math.log(others) if others > 0.0 else 0.0) - size
                if not alone:
                    out[i, k] += (math.log(here) if here > 0.0 else -math.inf) - size
