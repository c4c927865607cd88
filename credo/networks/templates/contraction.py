"""Variable elimination for many cases at once: factors have a first axis over cases, of length 1 if all are equal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from credo.errors import SizeError
from credo.numerics.exact import Array

Scope = tuple[str, ...]
CaseFactor = tuple[Scope, Array]  # (cases or 1, states of each name in the scope...)
LARGEST_CASE_TABLE = 2**26  # numbers in a table of one case
NUMBERS_AT_ONCE = 2**22  # numbers in the tables of the cases treated together


def contract(factors: Sequence[CaseFactor], keep: Scope, *, best: bool = False) -> Array:
    """Σ ∏ factors over all names but those kept, or max ∏ factors. (cases or 1, states of each kept name...)

    >>> rain, wet = np.array([[0.2, 0.8]]), np.array([[[0.9, 0.1], [0.3, 0.7]]])
    >>> contract([(("rain",), rain), (("rain", "wet"), wet)], ("wet",)).round(2)
    array([[0.42, 0.58]])
    """
    order, _ = plan_of(factors, keep)
    left = list(factors)
    for name in order:
        near = [factor for factor in left if name in factor[0]]
        scope, table = _product(near)
        axis = 1 + scope.index(name)
        left = [factor for factor in left if name not in factor[0]]
        reduced = table.max(axis) if best else table.sum(axis)
        left.append((scope[: axis - 1] + scope[axis:], reduced))
    scope, table = _product([(keep, np.ones((1,) * (1 + len(keep)))), *left])
    sizes = sizes_of(factors)
    return np.broadcast_to(table, (len(table), *(sizes.get(name, 1) for name in scope)))


def cases_at_once(factors: Sequence[CaseFactor], keep: Scope) -> int:
    """The number of cases treated together, so that tables stay small."""
    _, largest = plan_of(factors, keep)
    if largest > LARGEST_CASE_TABLE:
        raise SizeError(
            f"summing out the variables of a slice takes a table of {largest:.3g} numbers, and "
            f"{LARGEST_CASE_TABLE:.3g} are allowed: fewer parents make it smaller"
        )
    return max(1, NUMBERS_AT_ONCE // max(1, largest))


def sizes_of(factors: Sequence[CaseFactor]) -> dict[str, int]:
    """The number of states of each name."""
    return {name: size for scope, table in factors for name, size in zip(scope, table.shape[1:], strict=True)}


def plan_of(factors: Sequence[CaseFactor], keep: Scope) -> tuple[Scope, int]:
    """The elimination order, and the size of the largest intermediate table."""
    sizes = tuple(sorted(sizes_of(factors).items()))
    return _plan(tuple(scope for scope, _ in factors), keep, sizes)


@lru_cache(maxsize=1024)
def _plan(scopes: tuple[Scope, ...], keep: Scope, sizes: tuple[tuple[str, int], ...]) -> tuple[Scope, int]:
    """A greedy order: the name with the smallest product of factors comes next."""
    size, order = dict(sizes), list[str]()
    left = [{*scope} for scope in scopes]
    waiting = {name for scope in left for name in scope} - {*keep}
    largest = prod(size[name] for name in keep if name in size)
    while waiting:
        joined = {name: _joined(name, left) for name in waiting}
        name = min(waiting, key=lambda each: (prod(size[one] for one in joined[each]), each))
        largest = max(largest, prod(size[one] for one in joined[name]))
        left = [scope for scope in left if name not in scope] + [joined[name] - {name}]
        waiting.remove(name)
        order.append(name)
    return tuple(order), largest


def _joined(name: str, scopes: Collection[set[str]]) -> set[str]:
    return {other for scope in scopes if name in scope for other in scope}


def _product(factors: Sequence[CaseFactor]) -> CaseFactor:
    scope = tuple(dict.fromkeys(name for own, _ in factors for name in own))
    table: Array | None = None
    for own, values in sorted(factors, key=lambda factor: factor[1].size):
        lifted = _lifted(own, values, scope)
        table = lifted if table is None else table * lifted
    assert table is not None
    return scope, table


def _lifted(own: Scope, values: Array, scope: Scope) -> Array:
    """The table with an axis for each name of a wider scope."""
    there = [name for name in scope if name in own]
    ordered = values.transpose([0, *(1 + own.index(name) for name in there)])
    shape = dict(zip(there, ordered.shape[1:], strict=True))
    return ordered.reshape(len(values), *(shape.get(name, 1) for name in scope))


def marginal(table: Array, scope: Scope, keep: Scope) -> Array:
    """Sum out all names but the kept ones, in the kept order. (cases, states of each...)"""
    axes = tuple(1 + i for i, name in enumerate(scope) if name not in keep)
    left = [name for name in scope if name in keep]
    return np.asarray(table.sum(axes).transpose([0, *(1 + left.index(name) for name in keep)]))


def spread(table: Array, own: Scope, scope: Scope, sizes: Mapping[str, int]) -> Array:
    """The table repeated for all states of further names. (cases, states of each name of the scope...)"""
    return np.broadcast_to(_lifted(own, table, scope), (len(table), *(sizes[name] for name in scope)))
