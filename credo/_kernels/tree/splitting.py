"""Growing a tree, a level at a time: the best split of each node, and the rows of its children.

Cells are codes of bins, MISSING where there is none. An entry is a row, or part of one, in a node: with a missing cell,
the row goes down all branches, its weight divided among them. Entries of a node follow each other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import late_kernel, late_kernel_of
from credo._kernels.numerics.gamma import log_gamma

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Cells = NDArray[np.uint8]
Branches = NDArray[np.int16]

MISSING = 255  # the bin of missing cells
THRESHOLD, SUBSET, EACH = 0, 1, 2  # how a column is split: at a cut point, into two sets of levels, by each level
PLACE, GAIN, CHOICES, TOP, SUM = 0, 1, 2, 3, 4  # what is found of a column's splits, see `best_cut`
FEW_LEVELS = 16  # up to which a split into sets of levels may gain less than naming the set takes
ORDERS = 4  # of levels by the share of a class: as many classes, where there are more than two
FEW_BINS = 24  # that are sorted by insertion
NEGLIGIBLE = 40.0  # nats: what gains so much less than the best adds nothing to a sum
LARGE = 32  # weights above which terms are interpolated
TIE = 1e-10  # of the weight: gains that differ by less are the same, in whatever order sums were added
ALIKE = 2.0**30  # shares of a class that differ by less than 1 over this are the same


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
    levels: Array,  # (columns, bins): how many levels a bin stands for
    classes: int,
    least: float,  # weight of a branch
    prior: float,  # of a class in a leaf, where the gain is the evidence's; 0: the information's
    each: Array,  # (whole numbers,): terms of a class's weight
    all_: Array,  # and of a node's
    factorials: Array,  # their logarithms
    column: Codes,  # (nodes,) out: -1 where nothing is gained
    choices: Array,  # (nodes,) out: the logarithm of how many splits there were to choose from
    charge: Array,  # (nodes,) out: what the choice costs, see below
    branch: Branches,  # (nodes, bins) out: which branch a bin is in, -1 where it has no rows
) -> None:
    """The split of each node with the largest gain less choices, in nats.

    gain = Σ score(branch) - score(node), with score = Σₖ term(nₖ) - term(n): the log-likelihood of the classes at its
    maximum, or their log-evidence. Where it is the evidence, splits that gain about as much share the cost of the
    choice: charge = gain - log Σ p(split) exp(gain of the split), over all splits; else charge = choices.
    """
    bins = levels.shape[1]
    counts, masses = np.zeros((bins, classes)), np.zeros(bins)
    below, above = np.zeros(classes), np.zeros(classes)
    of_below, of_above = np.zeros(classes), np.zeros(classes)  # their terms
    own = np.full(classes, -1)  # the place of a class among those of the node
    heavy, of_class = np.zeros(ORDERS, np.int64), np.zeros(classes)
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
            orders = 1 if kinds[j] != SUBSET or present == 2 else min(present, ORDERS)
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
                if found[PLACE] >= 0.0 and found[GAIN] - found[CHOICES] > best + TIE * (stop - start):
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
    """How many classes have rows. own: their places, in order; heavy: the places of the heaviest."""
    present, found = 0, 0
    for k in range(len(of_class)):
        if of_class[k] > 0.0:
            own[k] = present
            present += 1
    for at in range(len(heavy)):
        most, place = 0.0, -1
        for k in range(len(of_class)):
            if of_class[k] > most * (1.0 + TIE):
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
    """branch[node]: which one each bin leads to. A cut lies in the middle between the bins that have rows."""
    bins = branch.shape[1]
    for b in range(bins):
        branch[node, b] = -1 if kind != THRESHOLD else int(2 * b > order[place] + order[place + 1] - 1)
    for m in range(size if kind != THRESHOLD else 0):
        branch[node, order[m]] = m if kind == EACH else int(m > place)


@late_kernel
def sort_bins(order: Integers, size: int, masses: Array) -> None:
    """Bins that have weight, in order: a few are sorted, many are found one after another."""
    if size > FEW_BINS:
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
    """Bins in the order of a class's share; those of the same share in their own order."""
    for m in range(size):
        shares[order[m]] = math.floor(counts[order[m], k] / masses[order[m]] * ALIKE)
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
    """Of a branch for each bin, if at least two have enough weight and something is gained."""
    gain, total, branches = 0.0, 0.0, 0
    for m in range(size):
        b = order[m]
        branches += int(masses[b] >= least * (1.0 - TIE))
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
    if branches > 1 and gain > TIE * total:
        found[PLACE], found[GAIN], found[TOP], found[SUM] = 0.0, gain, gain, 1.0


@late_kernel
def best_cut(
    counts: Array, masses: Array, order: Integers, size: int, present: int, classes: int,
    least: float, prior: float, each: Array, all_: Array,
    below: Array, above: Array, of_below: Array, of_above: Array,
    levels: Array, j: int, kind: int, factorials: Array, found: Array,
) -> None:  # fmt: skip
    """found: PLACE, the last one of the left branch in the order; its GAIN, and the logarithm of the column's CHOICES,
    as cut points between bins, or as sets of levels; and over all cuts, log Σ exp(gain - choices) = TOP + log SUM."""
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
        if min(mass, total - mass) < least - TIE * total:
            continue
        gain = lower - term(mass, prior * classes, all_) + upper - term(total - mass, prior * classes, all_) - base
        if kind == SUBSET:
            n, some = int(known), int(left)
            choices = math.log(known - 1.0) + factorials[n] - factorials[some] - factorials[n - some]
        net = gain - choices
        if net > found[TOP]:
            found[SUM] = found[SUM] * math.exp(found[TOP] - net) + 1.0
            found[TOP] = net
        elif net > found[TOP] - NEGLIGIBLE:
            found[SUM] += math.exp(net - found[TOP])
        allowed = gain > TIE * total and (kind == THRESHOLD or known <= FEW_LEVELS or net > 0.0)
        if allowed and (found[PLACE] < 0.0 or net > found[GAIN] - found[CHOICES] + TIE * total):
            found[PLACE], found[GAIN], found[CHOICES] = m, gain, choices


@late_kernel
def term(x: float, prior: float, table: Array) -> float:
    """log Γ(x + prior) - log Γ(prior), or x log x where the prior is 0; from a table of whole numbers, if x is one of
    them, or lies between two that are large (then it is off by 1/8x at most, of no weight where x is)."""
    whole = int(x)
    if whole + 1 < len(table):
        if whole == x:
            return float(table[whole])
        if whole >= LARGE:
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
    child: Codes,  # (nodes,): the place of the first child
    share: Array,  # (nodes, branches): of rows whose cell is missing
    least: Array,  # (rows of the table,): less of a row isn't sent on
    ends: Integers,  # (children + 1,) in: 0; out: where each child's entries end, the first one's at 1
    sent: Integers,  # out: (as many,) rows; empty where only `ends` is wanted
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
