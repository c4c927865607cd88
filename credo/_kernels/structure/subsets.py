"""Sums and maxima over all subsets of a few variables, as bit masks: best graphs, and sums over orders.

A table over the sets without a variable i has half as many cells: bit i is removed from the mask.
"""

from __future__ import annotations

import math

from credo._kernels.arrays import Array, Integers
from credo._kernels.jit import late_kernel_of

LOG_ZERO = -1.0e300  # finite, so that plain Python can add it
LEAST_EXPONENT = -745.0  # exp of less is 0


@late_kernel_of(lambda m, *_: 8.0 * m * 2.0**m)
def find_best_sinks(m: int, starts: Integers, masks: Integers, scores: Array, total: Array, family: Integers) -> None:
    """total[U] = max over i ∈ U of total[U \\ i] + the best score of i with parents in U \\ i; family: the best one.

    The families of i are at starts[i] to starts[i + 1], the best first.
    """
    total[0] = 0.0
    for members in range(1, 1 << m):
        best, which = LOG_ZERO, -1
        for i in range(m):
            if not members >> i & 1:
                continue
            rest = members ^ (1 << i)
            for j in range(starts[i], starts[i + 1]):
                value = total[rest] + scores[j]
                if value <= best:
                    break
                if masks[j] & ~rest == 0:
                    best, which = value, j
                    break
        total[members] = best
        family[members] = which


@late_kernel_of(lambda table, bits: 4.0 * bits * len(table))
def add_subsets(table: Array, bits: int) -> None:
    """table[U] = log Σ over S ⊆ U of exp table[S], for each U, in place."""
    for b in range(bits):
        for members in range(len(table)):
            if members >> b & 1:
                x, y = table[members], table[members ^ (1 << b)]
                if y > x:
                    x, y = y, x
                if x > LOG_ZERO:
                    table[members] = x + math.log1p(math.exp(y - x))


@late_kernel_of(lambda n, *_: 12.0 * n * 2.0**n)
def add_orders(n: int, sums: Array, forward: Array, backward: Array) -> None:
    """log Σ over the orders of U (forward) and of its complement (backward): forward[U] = Σ forward[U \\ i] sums_i[U \\
    i].

    sums[i, U without bit i] is log Σ of the families of i with parents in U.
    """
    whole = (1 << n) - 1
    forward[0] = 0.0
    for members in range(1, whole + 1):
        top, total = LOG_ZERO, 0.0
        for i in range(n):
            if members >> i & 1:
                rest = members ^ (1 << i)
                low = rest & ((1 << i) - 1)
                x = forward[rest] + sums[i, low | rest >> (i + 1) << i]
                if x > top:
                    total = total * math.exp(max(top - x, LEAST_EXPONENT)) + 1.0
                    top = x
                elif x > LOG_ZERO:
                    total += math.exp(max(x - top, LEAST_EXPONENT))
        forward[members] = top + math.log(total) if total > 0.0 else LOG_ZERO
    backward[whole] = 0.0
    for members in range(whole - 1, -1, -1):
        top, total = LOG_ZERO, 0.0
        for i in range(n):
            if not members >> i & 1:
                low = members & ((1 << i) - 1)
                x = backward[members | 1 << i] + sums[i, low | members >> (i + 1) << i]
                if x > top:
                    total = total * math.exp(max(top - x, LEAST_EXPONENT)) + 1.0
                    top = x
                elif x > LOG_ZERO:
                    total += math.exp(max(x - top, LEAST_EXPONENT))
        backward[members] = top + math.log(total) if total > 0.0 else LOG_ZERO


@late_kernel_of(lambda n, *_: 4.0 * n * n * 2.0**n)
def add_arrows_over_orders(n: int, sums: Array, forward: Array, backward: Array, arrows: Array) -> None:
    """arrows[u, v] = Σ over U ∌ v of P(U precedes v) (1 - sums_v[U \\ u] / sums_v[U])."""
    whole = (1 << n) - 1
    for v in range(n):
        for members in range(whole + 1):
            if members >> v & 1:
                continue
            at = (members & ((1 << v) - 1)) | members >> (v + 1) << v
            x = forward[members] + backward[members | 1 << v] + sums[v, at] - forward[whole]
            if x < -45.0:
                continue
            weight = math.exp(x)
            for u in range(n):
                if members >> u & 1:
                    bit = 1 << (u if u < v else u - 1)
                    without = sums[v, at ^ bit] - sums[v, at]
                    arrows[u, v] += weight * (1.0 - math.exp(max(without, LEAST_EXPONENT)))


@late_kernel_of(lambda n, *_: 8.0 * n * 3.0**n)
def add_paths_over_orders(
    n: int, source: int, sums: Array, forward: Array, powers: Integers, states: Array, paths: Array
) -> None:
    """paths[source, t] = P(a directed path leads from source to t) (Parviainen and Koivisto 2011).

    A state is a set U and its members T that descend from the source, in base 3: 0 not in U, 1 in U, 2 in T.
    The next variable i descends, too, if it has a parent in T: sums_i[U] - sums_i[U \\ T].
    """
    count = len(states)
    for state in range(count):
        states[state] = LOG_ZERO
    members, below = 0, 0
    for state in range(count):
        members, below, left = 0, 0, state
        for i in range(n):
            digit = left % 3
            left = left // 3
            if digit > 0:
                members |= 1 << i
            if digit == 2:
                below |= 1 << i
        if below == 0:
            if members >> source & 1:
                continue
            value = forward[members]
        elif not below >> source & 1:
            continue
        else:
            value = states[state]
        if value <= LOG_ZERO:
            continue
        for i in range(n):
            if members >> i & 1 or (below == 0 and i != source):
                continue
            at = (members & ((1 << i) - 1)) | members >> (i + 1) << i
            if i == source:
                to, x = state + 2 * powers[i], value + sums[i, at]
                if states[to] > x:
                    states[to] += math.log1p(math.exp(max(x - states[to], LEAST_EXPONENT)))
                elif x > LOG_ZERO:
                    states[to] = x + math.log1p(math.exp(max(states[to] - x, LEAST_EXPONENT)))
                continue
            apart = members & ~below
            apart_at = (apart & ((1 << i) - 1)) | apart >> (i + 1) << i
            for digit in range(1, 3):
                to, x = state + digit * powers[i], value + sums[i, apart_at]
                if digit == 2:
                    share = 1.0 - math.exp(max(sums[i, apart_at] - sums[i, at], LEAST_EXPONENT))
                    if share <= 0.0:
                        continue
                    x = value + sums[i, at] + math.log(share)
                if states[to] > x:
                    states[to] += math.log1p(math.exp(max(x - states[to], LEAST_EXPONENT)))
                elif x > LOG_ZERO:
                    states[to] = x + math.log1p(math.exp(max(states[to] - x, LEAST_EXPONENT)))
    whole = (1 << n) - 1
    for state in range(count):
        if states[state] <= LOG_ZERO:
            continue
        members, below, left = 0, 0, state
        for i in range(n):
            digit = left % 3
            left = left // 3
            if digit > 0:
                members |= 1 << i
            if digit == 2:
                below |= 1 << i
        if members == whole:
            p = math.exp(max(states[state] - forward[whole], LEAST_EXPONENT))
            for t in range(n):
                if below >> t & 1:
                    paths[source, t] += p
