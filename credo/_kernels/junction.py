"""Messages in a tree of cliques: tables lie one after another in one array, a clique's separator leading in it.

A walk says where the cells of a smaller table are while one goes through a larger one: runs of equal length lie there
alike (in one cell, in a row, at even steps, or by a map), and where the next starts is counted as an odometer does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.jit import fast_kernel, kernel
from credo._kernels.shapes import Factors
from credo._kernels.triangulation import list_bits

Array = NDArray[np.float64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Map = NDArray[np.int32]

ONE, ROW, STEPPED, MAPPED = 0, 1, 2, 3  # how a run lies
LONG, SHORT, LONGEST = 8, 64, 256  # a run is one dimension if that is so long; else it has a map, of at most LONGEST
FAINT = 1e-150  # products that get smaller are scaled, and a logarithm kept
DEPTH = 64  # dimensions that a table may have: with more, even of two states each, it fits in no memory


class Walks(NamedTuple):
    starts: Integers  # of each walk's dimensions
    lengths: Integers
    steps: Integers  # in the smaller table
    runs: Integers  # the length of a run
    kinds: Integers
    places: Integers  # where its map starts, or its step
    maps: Map


class Cliques(NamedTuple):
    """A compiled tree: children come before their parents."""

    parent: Integers
    starts: Integers  # of each clique's members
    members: Integers
    kept: Integers  # how many of them lead, and are the separator
    tables_at: Integers
    separators_at: Integers
    largest: Flags  # whether the rest is maximised, not summed out
    entry: Integers  # (variables): a clique that has the variable, or -1
    entry_step: Integers
    sources: Integers  # (variables): the smallest table that has it, cliques first, then separators; or -1
    source_step: Integers
    homes: Integers  # (factors): the clique that a factor goes into; -1: all of it is observed, -2: it isn't used
    touched: Integers  # factors with an observed variable


@kernel
def lay_out(
    cliques: Bits, made: Integers, parent: Integers, card: Integers, starts: Integers, members: Integers, kept: Integers
) -> None:
    """members of each clique, in the order of its table's axes: what its parent has too (`kept` so many), in the
    parent's order, then the rest; those in many children's separators first."""
    count, n = len(parent), len(card)
    size = 0
    others, uses, inside = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    for c in range(count):
        starts[c] = size
        size += list_bits(cliques[made[c]], others)
    starts[count] = size
    first, following = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)  # lists of children
    for c in range(count):
        if parent[c] >= 0:
            following[c], first[parent[c]] = first[parent[c]], c
    for c in range(count - 1, -1, -1):
        size = list_bits(cliques[made[c]], others)
        for i in range(size):
            inside[others[i]], uses[others[i]] = True, 0
        at = starts[c]
        p = parent[c]
        if p >= 0:
            for i in range(starts[p], starts[p + 1]):
                v = members[i]
                if inside[v]:
                    members[at] = v
                    inside[v] = False
                    at += 1
        kept[c] = at - starts[c]
        child = first[c]
        while child >= 0:
            own = cliques[made[child]]
            for i in range(size):
                v = others[i]
                if (own[v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
                    uses[v] += 1
            child = following[child]
        for i in range(size):  # by insertion: few are left
            v = others[i]
            if inside[v]:
                inside[v] = False
                j = at
                while j > starts[c] + kept[c] and uses[members[j - 1]] < uses[v]:
                    members[j] = members[j - 1]
                    j -= 1
                members[j] = v
                at += 1


@kernel
def write_walk(large: Integers, card: Integers, step: Integers, w: int, at: Integers, walks: Walks) -> None:
    """Walk number w, through a table over the variables `large`, of one in which a variable has that step, or 0.

    at: where the next dimension and the next map may be written.
    """
    lengths, steps = np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH, dtype=np.int64)
    depth = 0  # from the last axis on, neighbours that go on alike being one
    for i in range(len(large) - 1, -1, -1):
        v = large[i]
        if card[v] == 1:
            continue
        if depth and step[v] == steps[depth - 1] * lengths[depth - 1]:
            lengths[depth - 1] *= card[v]
        else:
            lengths[depth], steps[depth] = card[v], step[v]
            depth += 1
    whole = 1
    for d in range(depth):
        whole = min(whole * lengths[d], LONGEST + 1)
    inner, run = min(depth, 1), lengths[0] if depth else 1
    mapped = whole <= LONGEST or lengths[0] < LONG  # a small table is one run
    while inner < depth and mapped and (run < SHORT or whole <= LONGEST) and run * lengths[inner] <= LONGEST:
        run *= lengths[inner]
        inner += 1
    walks.runs[w] = run
    if inner > 1:
        walks.kinds[w], walks.places[w] = MAPPED, at[1]
        write_map(lengths[:inner], steps[:inner], walks.maps[at[1] : at[1] + run])
        at[1] += run
    else:
        step_of = steps[0] if depth else 0
        walks.kinds[w], walks.places[w] = (min(step_of, STEPPED), step_of)
    walks.starts[w] = at[0]
    for d in range(depth - 1, inner - 1, -1):
        walks.lengths[at[0]], walks.steps[at[0]] = lengths[d], steps[d]
        at[0] += 1
    walks.starts[w + 1] = at[0]


@kernel
def write_map(lengths: Integers, steps: Integers, out: Map) -> None:
    """Where the cells of a run lie, the first dimension being the fastest."""
    filled = 1
    out[0] = 0
    for d in range(len(lengths)):
        for k in range(1, lengths[d]):
            for i in range(filled):
                out[k * filled + i] = out[i] + k * steps[d]
        filled *= lengths[d]


@kernel
def go_on(digits: Integers, at: int, begin: int, end: int, walks: Walks) -> Any:
    """Where the next run starts in the smaller table; -1 after the last."""
    d = end - 1
    while d >= begin:
        digits[d - begin] += 1
        at += walks.steps[d]
        if digits[d - begin] < walks.lengths[d]:
            return at
        at -= walks.steps[d] * walks.lengths[d]
        digits[d - begin] = 0
        d -= 1
    return -1


@kernel
def multiply_walk(table: Array, first: int, small: Array, at: int, w: int, walks: Walks, digits: Integers) -> None:
    """table *= small, cell by cell, along the walk."""
    begin, end = walks.starts[w], walks.starts[w + 1]
    run, kind, place = walks.runs[w], walks.kinds[w], walks.places[w]
    for d in range(end - begin):
        digits[d] = 0
    while at >= 0:
        if kind == ONE:
            x = small[at]
            for t in range(first, first + run):
                table[t] *= x
        elif kind == ROW:
            for t in range(run):
                table[first + t] *= small[at + t]
        elif kind == STEPPED:
            for t in range(run):
                table[first + t] *= small[at + t * place]
        else:
            for t in range(run):
                table[first + t] *= small[at + walks.maps[place + t]]
        first += run
        at = go_on(digits, at, begin, end, walks)


@fast_kernel
def add_walk(table: Array, first: int, small: Array, at: int, w: int, walks: Walks, digits: Integers) -> None:
    """small += table, cell by cell, along the walk."""
    begin, end = walks.starts[w], walks.starts[w + 1]
    run, kind, place = walks.runs[w], walks.kinds[w], walks.places[w]
    for d in range(end - begin):
        digits[d] = 0
    while at >= 0:
        if kind == ONE:
            total = 0.0
            for t in range(first, first + run):
                total += table[t]
            small[at] += total
        elif kind == ROW:
            for t in range(run):
                small[at + t] += table[first + t]
        elif kind == STEPPED:
            for t in range(run):
                small[at + t * place] += table[first + t]
        else:
            for t in range(run):
                small[at + walks.maps[place + t]] += table[first + t]
        first += run
        at = go_on(digits, at, begin, end, walks)


@kernel
def place_of(f: int, codes: Integers, factors: Factors) -> Any:
    """Where a factor's cells for the observed states start."""
    at = factors.values_at[f]
    for i in range(factors.starts[f], factors.starts[f + 1]):
        if codes[factors.scope[i]] > 0:
            at += codes[factors.scope[i]] * factors.steps[i]
    return at


@kernel
def make_room(c: int, least: float, cliques: Cliques, tables: Array, sunk: Array) -> float:
    """Before a clique's table is multiplied by numbers the smallest of which is `least`: scale it, if the product of
    all that came could get too small for a float; the logarithm of that. sunk: how small its largest cell may be."""
    if sunk[c] * least > FAINT:
        sunk[c] *= least
        return 0.0
    sunk[c] = least
    own = tables[cliques.tables_at[c] : cliques.tables_at[c + 1]]
    top = own.max()
    if not top > 0.0:
        return 0.0
    for t in range(len(own)):
        own[t] /= top
    return float(np.log(top))


@kernel
def multiply_factors(
    which: Integers, codes: Integers, factors: Factors, cliques: Cliques, walks: Walks, tables: Array, sunk: Array
) -> float:
    """tables *= the factors, where the observed variables have those codes. The logarithm of those that all is known
    of, and of what tables were scaled by."""
    digits = np.empty(DEPTH, dtype=np.int64)
    log_constant = 0.0
    for f in which:
        c = cliques.homes[f]
        if c == -1:
            log_constant += np.log(factors.values[place_of(f, codes, factors)])
        elif c >= 0:
            log_constant += make_room(c, factors.least[f], cliques, tables, sunk)
            w = len(cliques.parent) + f
            multiply_walk(tables, cliques.tables_at[c], factors.values, place_of(f, codes, factors), w, walks, digits)
    return log_constant


@kernel
def weigh_states(v: int, weights: Array, cliques: Cliques, tables: Array, sunk: Array) -> float:
    """A clique that has v *= how likely the finding is in each of its states; the logarithm of its scale."""
    c, step, card = cliques.entry[v], cliques.entry_step[v], len(weights)
    least = 1.0
    for k in range(card):
        if weights[k] > 0.0:
            least = min(least, weights[k])
    scaled = make_room(c, least, cliques, tables, sunk)
    for first in range(cliques.tables_at[c], cliques.tables_at[c + 1], step * card):
        for k in range(card):
            x = weights[k]
            for t in range(first + k * step, first + (k + 1) * step):
                tables[t] *= x
    return scaled


@fast_kernel
def sum_rows(table: Array, first: int, rest: int, out: Array) -> None:
    """out: the sums of rows of so many cells. Rows of two or three are spelt out: most are so short."""
    if rest == 2:
        for s in range(len(out)):
            out[s] = table[first + 2 * s] + table[first + 2 * s + 1]
    elif rest == 3:
        for s in range(len(out)):
            out[s] = table[first + 3 * s] + table[first + 3 * s + 1] + table[first + 3 * s + 2]
    else:
        for s in range(len(out)):
            x = 0.0
            for t in range(first + s * rest, first + (s + 1) * rest):
                x += table[t]
            out[s] = x


@kernel
def top_rows(table: Array, first: int, rest: int, out: Array) -> None:
    """out: the largest of each row of so many cells."""
    for s in range(len(out)):
        out[s] = 0.0
        for t in range(first + s * rest, first + (s + 1) * rest):
            out[s] = max(out[s], table[t])


@kernel
def scale_rows(table: Array, first: int, rest: int, by: Array) -> None:
    """Each row of so many cells, times its number."""
    if rest == 2:
        for s in range(len(by)):
            table[first + 2 * s] *= by[s]
            table[first + 2 * s + 1] *= by[s]
    elif rest == 3:
        for s in range(len(by)):
            table[first + 3 * s] *= by[s]
            table[first + 3 * s + 1] *= by[s]
            table[first + 3 * s + 2] *= by[s]
    else:
        for s in range(len(by)):
            x = by[s]
            for t in range(first + s * rest, first + (s + 1) * rest):
                table[t] *= x


@kernel
def collect(cliques: Cliques, walks: Walks, tables: Array, separators: Array, scales: Array, sunk: Array) -> float:
    """Messages towards the roots, each scaled so that its largest number is 1; the logarithm of all. scales: 1 / what
    each was divided by; -inf: nothing is left."""
    digits = np.empty(DEPTH, dtype=np.int64)
    log_total, product = 0.0, 1.0
    for c in range(len(cliques.parent)):
        first, last = cliques.tables_at[c], cliques.tables_at[c + 1]
        start, stop = cliques.separators_at[c], cliques.separators_at[c + 1]
        rest, own = (last - first) // (stop - start), separators[start:stop]
        if cliques.largest[c]:
            top_rows(tables, first, rest, own)
        else:
            sum_rows(tables, first, rest, own)
        top, least = 0.0, np.inf
        for s in range(stop - start):
            x = own[s]
            top = max(top, x)
            if x > 0.0:
                least = min(least, x)
        if not top > 0.0:
            return -np.inf
        product *= top
        if not FAINT < product < 1.0 / FAINT:  # one logarithm for many
            log_total, product = log_total + np.log(product), 1.0
        scales[c] = 1.0 / top
        for s in range(stop - start):
            own[s] *= scales[c]
        p = cliques.parent[c]
        if p >= 0:
            log_total += make_room(p, least * scales[c], cliques, tables, sunk)
            multiply_walk(tables, cliques.tables_at[p], separators, start, c, walks, digits)
    return log_total + float(np.log(product))


@kernel
def distribute(cliques: Cliques, walks: Walks, tables: Array, separators: Array, scales: Array, spare: Array) -> None:
    """Messages from the roots: each table becomes what is believed of its variables, each separator too."""
    digits = np.empty(DEPTH, dtype=np.int64)
    for c in range(len(cliques.parent) - 1, -1, -1):
        first, last = cliques.tables_at[c], cliques.tables_at[c + 1]
        start, stop = cliques.separators_at[c], cliques.separators_at[c + 1]
        p = cliques.parent[c]
        if p < 0:
            for t in range(first, last):
                tables[t] *= scales[c]
            continue
        size = stop - start
        for s in range(size):
            spare[s] = 0.0
        add_walk(tables, cliques.tables_at[p], spare, 0, c, walks, digits)
        for s in range(size):
            new, old = spare[s], separators[start + s]
            separators[start + s] = new
            spare[s] = new / old * scales[c] if old > 0.0 else 0.0
        scale_rows(tables, first, (last - first) // size, spare[:size])


@fast_kernel
def read_marginals(
    cliques: Cliques, card: Integers, tables: Array, separators: Array, at: Integers, out: Array
) -> None:
    """out: what is believed of each variable, from the smallest table that has it; a variable's from `at` on."""
    count = len(cliques.parent)
    for v in range(len(card)):
        source, step, k = cliques.sources[v], cliques.source_step[v], card[v]
        if source < 0:
            continue
        held = tables if source < count else separators
        c = source % count
        first, last = cliques.tables_at[c], cliques.tables_at[c + 1]
        if source >= count:
            first, last = cliques.separators_at[c], cliques.separators_at[c + 1]
        own = out[at[v] : at[v] + k]
        own[:] = 0.0
        while first < last:
            for i in range(k):
                x = 0.0
                for t in range(first, first + step):
                    x += held[t]
                own[i] += x
                first += step
        total = own.sum()
        for i in range(k):
            own[i] /= total


@kernel
def decode(cliques: Cliques, card: Integers, tables: Array, codes: Integers) -> None:
    """codes of the maximised variables: from the roots, the best of the rest for what was chosen before."""
    for c in range(len(cliques.parent) - 1, -1, -1):
        if not cliques.largest[c]:
            continue
        begin, end = cliques.starts[c], cliques.starts[c + 1]
        first, rest = 0, 1
        for i in range(begin, begin + cliques.kept[c]):
            first = first * card[cliques.members[i]] + codes[cliques.members[i]]
        for i in range(begin + cliques.kept[c], end):
            rest *= card[cliques.members[i]]
        first = cliques.tables_at[c] + first * rest
        best = 0
        for t in range(1, rest):
            if tables[first + t] > tables[first + best]:
                best = t
        for i in range(end - 1, begin + cliques.kept[c] - 1, -1):
            v = cliques.members[i]
            codes[v] = best % card[v]
            best //= card[v]
