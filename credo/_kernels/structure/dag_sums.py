"""Sums over all directed acyclic graphs of a few variables, as bit masks, by inclusion and exclusion of sinks.

G(S) = Σ over T ⊆ S, T not empty, of (-1)^(|T|+1) G(S \\ T) Π over j ∈ T of sums_j[S \\ T]: T are some of the sinks
(Robinson 1973; Tian and He 2009). sums[j, U without bit j] is log Σ of the families of j with parents in U.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.arrays import Array
from credo._kernels.jit import late_kernel_of
from credo._kernels.structure.subsets import LEAST_EXPONENT, LOG_ZERO


@late_kernel_of(lambda n, *_: 12.0 * 3.0**n)
def add_graphs(n: int, sums: Array, product: Array, tops: Array, graphs: Array) -> None:
    """graphs[S] = log G(S). `product` and `tops` are scratch, with a cell for each set."""
    whole = (1 << n) - 1
    for members in range(whole + 1):
        tops[members] = LOG_ZERO
        graphs[members] = 0.0
    tops[0] = 0.0
    graphs[0] = 1.0
    for above in range(whole + 1):
        graphs[above] = tops[above] + math.log(graphs[above]) if graphs[above] > 0.0 else LOG_ZERO
        if graphs[above] <= LOG_ZERO:
            continue
        free = whole & ~above
        product[0] = 0.0
        odd = 0
        some = (0 - free) & free
        while some:
            low = some & -some
            j = 0
            while not low >> j & 1:
                j += 1
            at = (above & ((1 << j) - 1)) | above >> (j + 1) << j
            product[some] = product[some ^ low] + sums[j, at]
            x = graphs[above] + product[some]
            odd, left = 0, some
            while left:
                left &= left - 1
                odd ^= 1
            sign = 1.0 if odd else -1.0
            to = above | some
            if x > tops[to]:
                graphs[to] = graphs[to] * math.exp(max(tops[to] - x, LEAST_EXPONENT)) + sign
                tops[to] = x
            elif x > LOG_ZERO:
                graphs[to] += sign * math.exp(max(x - tops[to], LEAST_EXPONENT))
            some = (some - free) & free


@late_kernel_of(lambda n, *_: 8.0 * n * 3.0**n)
def add_arrows_over_graphs(n: int, sums: Array, product: Array, graphs: Array, rest: Array, arrows: Array) -> None:
    """arrows[u, v] = P(u -> v); rest[U] = log Σ over the parents of all variables outside U.

    P(u -> v) sums the derivative of log G(all) by log sums_v[U] times the share of v's families in U that contain u.
    """
    whole = (1 << n) - 1
    rest[whole] = 0.0
    weight = np.zeros(n)
    for above in range(whole - 1, -1, -1):
        free = whole & ~above
        product[0] = 0.0
        top, total = LOG_ZERO, 0.0
        for v in range(n):
            weight[v] = 0.0
        some = (0 - free) & free
        while some:
            low = some & -some
            j = 0
            while not low >> j & 1:
                j += 1
            at = (above & ((1 << j) - 1)) | above >> (j + 1) << j
            product[some] = product[some ^ low] + sums[j, at]
            x = product[some] + rest[above | some]
            odd, left = 0, some
            while left:
                left &= left - 1
                odd ^= 1
            sign = 1.0 if odd else -1.0
            if x > top:
                total = total * math.exp(max(top - x, LEAST_EXPONENT)) + sign
                top = x
            elif x > LOG_ZERO:
                total += sign * math.exp(max(x - top, LEAST_EXPONENT))
            share = graphs[above] + x - graphs[whole]
            if share > -45.0:
                p = sign * math.exp(share)
                for v in range(n):
                    if some >> v & 1:
                        weight[v] += p
            some = (some - free) & free
        rest[above] = top + math.log(total) if total > 0.0 else LOG_ZERO
        for v in range(n):
            if weight[v] == 0.0:
                continue
            at = (above & ((1 << v) - 1)) | above >> (v + 1) << v
            for u in range(n):
                if above >> u & 1:
                    bit = 1 << (u if u < v else u - 1)
                    arrows[u, v] += weight[v] * (1.0 - math.exp(max(sums[v, at ^ bit] - sums[v, at], LEAST_EXPONENT)))


@late_kernel_of(lambda n, *_: 12.0 * 4.0 ** (n - 1))
def add_paths_over_graphs(
    n: int, source: int, sums: Array, graphs: Array, product: Array, tops: Array, below: Array, paths: Array
) -> None:
    """paths[source, t] = P(a directed path leads from source to t).

    Let D be the source and its descendants. Variables outside D and the source have parents outside D, and each other
    member of D has at least one parent in D: a graph of D whose only root is the source, counted by its sinks.
    """
    whole, start = (1 << n) - 1, 1 << source
    others = whole & ~start
    family = others
    while True:  # family: the descendants
        apart = others & ~family
        some = family
        while True:  # clear the sets within the family
            below[some] = 0.0
            tops[some] = LOG_ZERO
            if some == 0:
                break
            some = (some - 1) & family
        at = (apart & (start - 1)) | apart >> (source + 1) << source
        tops[0] = sums[source, at]
        below[0] = 1.0
        placed = 0
        while True:
            below[placed] = tops[placed] + math.log(below[placed]) if below[placed] > 0.0 else LOG_ZERO
            if below[placed] > LOG_ZERO and placed != family:
                free = family & ~placed
                known = apart | placed | start
                product[0] = 0.0
                some = (0 - free) & free
                while some:
                    low = some & -some
                    j = 0
                    while not low >> j & 1:
                        j += 1
                    with_some = sums[j, (known & ((1 << j) - 1)) | known >> (j + 1) << j]
                    without = sums[j, (apart & ((1 << j) - 1)) | apart >> (j + 1) << j]
                    share = 1.0 - math.exp(max(without - with_some, LEAST_EXPONENT))
                    x = LOG_ZERO
                    if share > 0.0 and product[some ^ low] > LOG_ZERO:
                        x = product[some ^ low] + with_some + math.log(share)
                    product[some] = x
                    if x > LOG_ZERO:
                        x += below[placed]
                        odd, left = 0, some
                        while left:
                            left &= left - 1
                            odd ^= 1
                        sign = 1.0 if odd else -1.0
                        to = placed | some
                        if x > tops[to]:
                            below[to] = below[to] * math.exp(max(tops[to] - x, LEAST_EXPONENT)) + sign
                            tops[to] = x
                        else:
                            below[to] += sign * math.exp(max(x - tops[to], LEAST_EXPONENT))
                    some = (some - free) & free
            if placed == family:
                break
            placed = (placed - family) & family
        if below[family] > LOG_ZERO:
            p = math.exp(max(graphs[apart] + below[family] - graphs[whole], LEAST_EXPONENT))
            for t in range(n):
                if family >> t & 1:
                    paths[source, t] += p
        if family == 0:
            break
        family = (family - 1) & others
