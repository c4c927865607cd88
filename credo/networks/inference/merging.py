"""Merging the small factors of a large clique before they are multiplied into its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log, prod

import numpy as np

from credo._kernels.networks.shapes import Factors
from credo.networks.inference.potentials import Numbered
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

LARGE_CLIQUE = 2**14  # cells of a clique's table for which merging its factors pays
LARGEST_MERGED_FACTOR = 2**10  # cells
LOG_UNDERFLOW = -300.0  # products may not have values with a smaller logarithm


def merged(held: Numbered, chosen: Iterable[int], homes: Integers, cells: Integers) -> Numbered | None:
    """The same product over the same cliques with fewer factors: chosen factors of one large clique are merged while
    their product is small. None if nothing is gained. homes: the clique of each factor; cells: of each clique's
    table."""
    by_clique: dict[int, list[int]] = {}
    for f in chosen:
        if homes[f] >= 0 and cells[homes[f]] >= LARGE_CLIQUE:
            by_clique.setdefault(int(homes[f]), []).append(f)
    groups = [group for own in by_clique.values() for group in _groups(held, own) if len(group) > 1]
    if not groups:
        return None
    gone = {f for group in groups for f in group}
    kept = [f for f in range(len(held.children)) if f not in gone]
    scopes = [held.scope(f) for f in kept] + [_union(held, group) for group in groups]
    tables = [held.table(f) for f in kept]
    tables += [_product(held, group, scope) for group, scope in zip(groups, scopes[len(kept) :], strict=True)]
    zeros = np.array([bool((table == 0).any()) for table in tables])
    return Numbered(held.card, _packed(scopes, tables), zeros, held.log_scale, np.full(len(scopes), -1))


def _groups(held: Numbered, factors: Sequence[int]) -> list[list[int]]:
    """Greedy groups: each factor joins the group that it shares most variables with, if the product stays small."""
    card, groups = held.card.tolist(), list[tuple[set[int], list[int], float]]()
    for f in sorted(factors, key=lambda f: -len(held.scope(f))):
        scope, least = {*held.scope(f)}, log(held.factors.least[f])
        fits = [
            i
            for i, (union, _, low) in enumerate(groups)
            if prod(card[v] for v in union | scope) <= LARGEST_MERGED_FACTOR and low + least > LOG_UNDERFLOW
        ]
        if not fits:
            groups.append((scope, [f], least))
            continue
        i = max(fits, key=lambda i: len(groups[i][0] & scope))
        union, own, low = groups[i]
        groups[i] = (union | scope, [*own, f], low + least)
    return [own for _, own, _ in groups]


def _union(held: Numbered, group: Sequence[int]) -> list[int]:
    return sorted({v for f in group for v in held.scope(f)})


def _product(held: Numbered, group: Sequence[int], scope: Sequence[int]) -> Array:
    found = np.ones([int(held.card[v]) for v in scope])
    for f in group:
        own = held.scope(f)
        order = sorted(range(len(own)), key=own.__getitem__)
        lengths = [int(held.card[v]) if v in own else 1 for v in scope]
        found *= held.table(f).transpose(order).reshape(lengths)
    return found


def _packed(scopes: Sequence[Sequence[int]], tables: Sequence[Array]) -> Factors:
    """All factors in one array, in the form that kernels read."""
    starts = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
    scope = np.array([v for own in scopes for v in own], dtype=np.int64)
    steps = np.array([prod(table.shape[i + 1 :]) for table in tables for i in range(table.ndim)], dtype=np.int64)
    values_at = np.cumsum([0, *(table.size for table in tables)], dtype=np.int64)
    least = np.array([np.min(table, initial=1.0, where=table > 0) for table in tables])
    return Factors(starts, scope, steps, values_at, np.concatenate([table.ravel() for table in tables]), least)
