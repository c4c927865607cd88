"""Growing a tree level by level: the best split of each node, and the rows of its children.

Cells are codes of bins, or MISSING. An entry is a row, or part of one, in a node: a row with a missing cell goes down
all branches, with its weight divided among them. Entries of a node are adjacent.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.arrays import Array, Codes, Integers
from credo._kernels.jit import late_kernel, late_kernel_of
from credo._kernels.numerics.gamma import log_gamma

Cells = NDArray[np.uint8]
Branches = NDArray[np.int16]

MISSING = 255  # the bin of missing cells
THRESHOLD, SUBSET, EACH = 0, 1, 2  # kinds of splits: at a cut point, into two sets of levels, by each level
PLACE, GAIN, CHOICES, TOP, SUM = 0, 1, 2, 3, 4  # positions in the results of `best_cut`
FEW_LEVELS = 16  # up to this many levels, a split into sets may gain less than the code of the set
CLASS_ORDERS = 4  # orders of levels by the share of a class, at most, for more than two classes
INSERTION_BINS = 24  # up to this many bins, they are sorted by insertion
NEGLIGIBLE_GAIN = 40.0  # nats below the best gain, at which a split is negligible in a sum
INTERPOLATED_WEIGHT = 32  # above this weight, terms are interpolated
EQUAL_GAIN = 1e-10  # of the weight: gains that differ by less are equal up to the order of summation
EQUAL_SHARE = 2.0**30  # shares of a class that differ by less than 1 / EQUAL_SHARE are equal


def _cells_read(codes: Cells, truth: Codes, rows: Integers, *_: object) -> float:  # noqa: ARG001
    return 4.0 * len(codes) * len(rows)


@late_kernel_of(_cells_read)
def find_splits(
    codes: Cells,  # (columns, rows of the table)
    truth: Codes,  # (rows of the table,)
    rows: Integers,  # (entries,)
    weight: Array,  # (entries,)
    starts: Integers,  # (nodes + 1,) of entries
    kinds: Codes,  # (columns,)
    levels: Array,  # (columns, bins): the number of levels of a bin
    classes: int,
    least: float,  # the smallest weight of a branch
    prior: float,  # of a class in a leaf, if the gain is that of the evidence; 0: information gain
    each: Array,  # (integers,): terms of a class's weight
    all_: Array,  # (integers,): terms of a node's weight
    factorials: Array,  # (integers,): log factorials
    column: Codes,  # (nodes,) out: -1 without a gain
    choices: Array,  # (nodes,) out: the logarithm of the number of possible splits
    charge: Array,  # (nodes,) out: the cost of the choice, see below
    branch: Branches,  # (nodes, bins) out: the branch of a bin, -1 if it has no rows
) -> None:
    """The split of each node with the largest gain - choices, in nats.

    gain = Σ score(branch) - score(node) with score = Σₖ term(nₖ) - term(n), the maximum log-likelihood of the classes,
    or their log-evidence. For the evidence, splits of similar gain share the cost of the choice: charge = gain - log Σ
    p(split) exp(gain of the split) over all splits; otherwise charge = choices.
    """
    bins = levels.shape[1]
    counts, masses = np.zeros((bins, classes)), np.zeros(bins)
    below, above = np.zeros(classes), np.zeros(classes)
    of_below, of_above = np.zeros(classes), np.zeros(classes)  # their terms
    own = np.full(classes, -1)  # the position of a class among those of the node
    heavy, of_class = np.zeros(CLASS_ORDERS, np.int64), np.zeros(classes)
    places = np.zeros(len(rows), np.int64)  # of the entries' classes
    order, shares, found = np.zeros(bins, np.int64), np.zeros(bins), np.zeros(5)
    for node in range(len(starts) - 1):
        start, stop = starts[node], starts[node + 1]
        column[node], best, gain, usable = -1, -np.inf, 0.0, 0
        choices[node], charge[node], top, total = 0.0, 0.0, -np.inf, 0.0
        for i in range(start, stop):
            of_class[truth[rows[i]]] += weight[i]
        present = place_classes(of_class, own, heavy)
        for i in range(start, stop):
            places[i] = own[truth[rows[i]]]
        for j in range(len(codes) if present > 1 else 0):
            occupied = 0
            for i in range(start, stop):
                b = int(codes[j, rows[i]])
                if b != MISSING:
                    if masses[b] == 0.0:
                        order[occupied] = b
                        occupied += 1
                    counts[b, places[i]] += weight[i]
                    masses[b] += weight[i]
            if kinds[j] != SUBSET:
                sort_bins(order, occupied, masses)
            usable += int(occupied > 1)
            orders = 1 if kinds[j] != SUBSET or present == 2 else min(present, CLASS_ORDERS)
            for k in range(orders if occupied > 1 else 0):
                found[PLACE], found[GAIN], found[CHOICES], found[TOP], found[SUM] = -1.0, 0.0, 0.0, -np.inf, 0.0
                if kinds[j] == SUBSET:
                    sort_by_share(order, occupied, counts, masses, heavy[k], shares)
                if kinds[j] == EACH:
                    gain_of_each(counts, masses, order, occupied, present, classes, least, prior, each, all_, found)
                else:
                    best_cut(
                        counts, masses, order, occupied, present, classes, least, prior, each, all_,
                        below, above, of_below, of_above, levels, j, kinds[j], factorials, found,
                    )  # fmt: skip
                if found[TOP] > top:
                    total = total * math.exp(top - found[TOP]) + found[SUM] / orders
                    top = found[TOP]
                elif found[SUM] > 0.0:
                    total += found[SUM] / orders * math.exp(found[TOP] - top)
                if found[PLACE] >= 0.0 and found[GAIN] - found[CHOICES] > best + EQUAL_GAIN * (stop - start):
                    best, gain = found[GAIN] - found[CHOICES], found[GAIN]
                    column[node], choices[node] = j, found[CHOICES]
                    lead(branch, node, order, occupied, kinds[j], int(found[PLACE]))
            for m in range(occupied):
                masses[order[m]] = 0.0
                for k in range(present):
                    counts[order[m], k] = 0.0
        if column[node] >= 0:
            choices[node] += math.log(usable)
            charge[node] = gain - top - math.log(total) + math.log(usable) if prior > 0.0 else choices[node]
        for k in range(classes):
            of_class[k] = 0.0


@late_kernel
def place_classes(of_class: Array, own: Integers, heavy: Integers) -> int:
    """The number of classes with rows. own = their positions, in order; heavy = the positions of the heaviest"""
    present, found = 0, 0
    for k in range(len(of_class)):
        if of_class[k] > 0.0:
            own[k] = present
            present += 1
    for at in range(len(heavy)):
        most, place = 0.0, -1
        for k in range(len(of_class)):
            if of_class[k] > most * (1.0 + EQUAL_GAIN):
                known = False
                for m in range(found):
                    known = known or heavy[m] == own[k]
                if not known:
                    most, place = of_class[k], own[k]
        heavy[at] = place
        found += int(place >= 0)
    return present


@late_kernel
def lead(branch: Branches, node: int, order: Integers, size: int, kind: int, place: int) -> None:
    """branch[node] = the branch of each bin. A cut is halfway between bins with rows."""
    bins = branch.shape[1]
    for b in range(bins):
        branch[node, b] = -1 if kind != THRESHOLD else int(2 * b > order[place] + order[place + 1] - 1)
    for m in range(size if kind != THRESHOLD else 0):
        branch[node, order[m]] = m if kind == EACH else int(m > place)


@late_kernel
def sort_bins(order: Integers, size: int, masses: Array) -> None:
    """order = the bins with weight, ascending: few are sorted, many are scanned."""
    if size > INSERTION_BINS:
        found = 0
        for b in range(len(masses)):
            if masses[b] > 0.0:
                order[found] = b
                found += 1
        return
    for m in range(1, size):
        b, at = order[m], m
        while at > 0 and order[at - 1] > b:
            order[at] = order[at - 1]
            at -= 1
        order[at] = b


@late_kernel
def sort_by_share(order: Integers, size: int, counts: Array, masses: Array, k: int, shares: Array) -> None:
    """Sort bins by the share of a class, stably."""
    for m in range(size):
        shares[order[m]] = math.floor(counts[order[m], k] / masses[order[m]] * EQUAL_SHARE)
    for m in range(1, size):
        b, at = order[m], m
        while at > 0 and (
            shares[order[at - 1]] > shares[b] or (shares[order[at - 1]] == shares[b] and order[at - 1] > b)
        ):
            order[at] = order[at - 1]
            at -= 1
        order[at] = b


@late_kernel
def gain_of_each(
    counts: Array, masses: Array, order: Integers, size: int, present: int, classes: int,
    least: float, prior: float, each: Array, all_: Array, found: Array,
) -> None:  # fmt: skip
    """The gain of one branch per bin, if at least two have enough weight and the gain is positive."""
    gain, total, branches = 0.0, 0.0, 0
    for m in range(size):
        b = order[m]
        branches += int(masses[b] >= least * (1.0 - EQUAL_GAIN))
        total += masses[b]
        gain -= term(masses[b], prior * classes, all_)
        for k in range(present):
            if counts[b, k] > 0.0:
                gain += term(counts[b, k], prior, each)
    for k in range(present):
        own = 0.0
        for m in range(size):
            own += counts[order[m], k]
        gain -= term(own, prior, each)
    gain += term(total, prior * classes, all_)
    if branches > 1 and gain > EQUAL_GAIN * total:
        found[PLACE], found[GAIN], found[TOP], found[SUM] = 0.0, gain, gain, 1.0


@late_kernel
def best_cut(
    counts: Array, masses: Array, order: Integers, size: int, present: int, classes: int,
    least: float, prior: float, each: Array, all_: Array,
    below: Array, above: Array, of_below: Array, of_above: Array,
    levels: Array, j: int, kind: int, factorials: Array, found: Array,
) -> None:  # fmt: skip
    """found = PLACE, the last bin of the left branch in the order; its GAIN; the logarithm of the column's CHOICES of
    cut points or sets of levels; and TOP and SUM with log Σ exp(gain - choices) = TOP + log SUM over all cuts."""
    known, total = 0.0, 0.0
    for k in range(present):
        below[k], above[k] = 0.0, 0.0
    for m in range(size):
        b = order[m]
        known += levels[j, b]
        total += masses[b]
        for k in range(present):
            above[k] += counts[b, k]
    upper, lower = 0.0, 0.0
    for k in range(present):
        of_above[k], of_below[k] = term(above[k], prior, each), 0.0
        upper += of_above[k]
    base = upper - term(total, prior * classes, all_)
    mass, left, choices = 0.0, 0.0, math.log(size - 1.0)
    for m in range(size - 1):
        b = order[m]
        mass += masses[b]
        left += levels[j, b]
        for k in range(present):
            moved = counts[b, k]
            if moved > 0.0:
                above[k] -= moved
                below[k] += moved
                upper -= of_above[k]
                lower -= of_below[k]
                of_above[k], of_below[k] = term(above[k], prior, each), term(below[k], prior, each)
                upper += of_above[k]
                lower += of_below[k]
        if min(mass, total - mass) < least - EQUAL_GAIN * total:
            continue
        gain = lower - term(mass, prior * classes, all_) + upper - term(total - mass, prior * classes, all_) - base
        if kind == SUBSET:
            n, some = int(known), int(left)
            choices = math.log(known - 1.0) + factorials[n] - factorials[some] - factorials[n - some]
        net = gain - choices
        if net > found[TOP]:
            found[SUM] = found[SUM] * math.exp(found[TOP] - net) + 1.0
            found[TOP] = net
        elif net > found[TOP] - NEGLIGIBLE_GAIN:
            found[SUM] += math.exp(net - found[TOP])
        allowed = gain > EQUAL_GAIN * total and (kind == THRESHOLD or known <= FEW_LEVELS or net > 0.0)
        if allowed and (found[PLACE] < 0.0 or net > found[GAIN] - found[CHOICES] + EQUAL_GAIN * total):
            found[PLACE], found[GAIN], found[CHOICES] = m, gain, choices


@late_kernel
def term(x: float, prior: float, table: Array) -> float:
    """log Γ(x + prior) - log Γ(prior), or x log x without a prior; from a table for integers, by interpolation between
    large ones (with an error of at most 1/8x)."""
    whole = int(x)
    if whole + 1 < len(table):
        if whole == x:
            return float(table[whole])
        if whole >= INTERPOLATED_WEIGHT:
            return float(table[whole] + (x - whole) * (table[whole + 1] - table[whole]))
    if prior > 0.0:
        return log_gamma(x + prior) - log_gamma(prior)
    return x * math.log(x) if x > 0.0 else 0.0


@late_kernel_of(lambda _, rows, *__: 4.0 * len(rows))
def weigh_branches(
    codes: Cells, rows: Integers, weight: Array, starts: Integers, column: Codes, branch: Branches, masses: Array
) -> None:
    """masses (nodes, branches) += the weight of known cells."""
    for node in range(len(starts) - 1):
        j = column[node]
        if j >= 0:
            for i in range(starts[node], starts[node + 1]):
                b = int(codes[j, rows[i]])
                if b != MISSING:
                    masses[node, branch[node, b]] += weight[i]


@late_kernel_of(lambda _, rows, *__: 8.0 * len(rows))
def send_entries(
    codes: Cells,
    rows: Integers,
    weight: Array,
    starts: Integers,
    column: Codes,  # (nodes,)
    branch: Branches,  # (nodes, bins)
    child: Codes,  # (nodes,): the position of the first child
    share: Array,  # (nodes, branches): of rows with a missing cell
    least: Array,  # (rows of the table,): smaller parts of a row are dropped
    ends: Integers,  # (children + 1,) in: 0; out: the end of each child's entries, the first one's at 1
    sent: Integers,  # (entries,) out: rows; empty if only `ends` is wanted
    sent_weight: Array,
) -> None:
    """The entries of all children, in order: first counted, then, with `ends` shifted to the starts, written."""
    counting = len(sent) == 0
    for node in range(len(starts) - 1):
        j = column[node]
        if j < 0:
            continue
        for i in range(starts[node], starts[node + 1]):
            b = int(codes[j, rows[i]])
            low, high = 0, share.shape[1]
            if b != MISSING:
                low = branch[node, b]
                high = low + 1
            for m in range(low, high):
                part = weight[i] if b != MISSING else weight[i] * share[node, m]
                if part > least[rows[i]]:
                    to = child[node] + m
                    if not counting:
                        sent[ends[to]] = rows[i]
                        sent_weight[ends[to]] = part
                        ends[to] += 1
                    else:
                        ends[to + 1] += 1
