"""Scores of documents, as lists of words with counts: the words of document i are at starts[i] to starts[i + 1].

Tables are (words, classes): a document has few words, and the classes of a word are contiguous. A document of class
`own` is left out of its class, with its weight, before it is scored; -1 is a document outside the evidence.
"""

from __future__ import annotations

import math

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.core.sums import RESIDUAL_WEIGHT
from credo._kernels.jit import late_kernel_of
from credo._kernels.numerics.gamma import log_gamma

FEW_REPETITIONS = 16  # repetitions that are multiplied before a logarithm is taken, at most
STIRLING_FROM = 100.0  # counts from which Stirling's series keeps digits that a difference of log Γ would lose


@late_kernel_of(lambda words, *rest: words.size * rest[1].shape[1])
def add_words(
    words: Codes, amounts: Array, n: Array, logs: Array, weights: Array, least: float, a: float, drawn: bool,
    starts: Integers, own: Codes, weight: Array, out: Array, lost: Array, tokens: Array, gone: Integers,
) -> None:  # fmt: skip
    """out (documents, classes) += Σ x log(n + a) over a document's words with amounts x; if these are integers and
    `drawn` in turn, each updating the counts, Σ log (n + a)(n + a + 1)...(n + a + x - 1).

    n (words, classes), the logs of n + a, and weights (words,) of all classes: a word below `least` is absent. For each
    document: lost (classes) = its part of the classes' sums; gone = the number of words that no other document has;
    tokens = the number of its positions that count.
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
                elif z < STIRLING_FROM:
                    out[i, k] += log_gamma(z + x) - log_gamma(z)
                else:  # Stirling's series of both, with large terms cancelled
                    y = z + x
                    out[i, k] += (z - 0.5) * math.log1p(x / z) + x * math.log(y) - x
                    out[i, k] += (1.0 / y - 1.0 / z) / 12.0 - (1.0 / (y * y * y) - 1.0 / (z * z * z)) / 360.0


@late_kernel_of(lambda words, *rest: words.size * rest[0].shape[1])
def add_presences(
    words: Codes, n: Array, odds: Array, absent: Array, weights: Array, least: float, a: float, documents: Array,
    starts: Integers, own: Codes, weight: Array, out: Array, unseen: Integers, zeros: Integers,
) -> None:  # fmt: skip
    """out (documents, classes) += Σ log P(present)/P(absent) over a document's words.

    If d of a class's D documents contain a word, P(present) = (d + a)/(D + 2a). odds (words, classes) are the log-odds,
    and absent is log P(absent). n (words, classes) is d, documents (classes,) is D. For each document: unseen += the
    number of its words that no other document has; zeros -= the number of its words that all others of its class
    contain.
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
                unseen[i] += elsewhere < RESIDUAL_WEIGHT
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
