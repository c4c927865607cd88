"""Directed acyclic graphs of a few numbers: all of them, or random ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st

from credo.errors import NetworkError
from credo.networks.graph import in_order

Parents = tuple[tuple[int, ...], ...]


def empty(size: int) -> Parents:
    """The graph without arrows."""
    return ((),) * size


def as_parents(arrows: Iterable[tuple[int, int]], size: int) -> Parents:
    """A graph from pairs of a parent and a child."""
    above: list[list[int]] = [[] for _ in range(size)]
    for parent, child in arrows:
        above[child].append(parent)
    return tuple(tuple(sorted(own)) for own in above)


@cache
def all_dags(n: int) -> tuple[Parents, ...]:
    """Every directed acyclic graph: 1, 3, 25, 543, 29281 of 1 to 5 variables."""
    return tuple(dag for dag in _graphs(n) if is_acyclic(dag))


def _graphs(n: int) -> Iterator[Parents]:
    pairs = [(a, b) for b in range(n) for a in range(b)]
    for marks in product((0, 1, 2), repeat=len(pairs)):
        above: list[list[int]] = [[] for _ in range(n)]
        for (a, b), mark in zip(pairs, marks, strict=True):
            if mark:
                above[b if mark == 1 else a].append(a if mark == 1 else b)
        yield tuple(map(tuple, above))


def is_acyclic(parents: Parents) -> bool:
    try:
        in_order(dict(enumerate(parents)))
    except NetworkError:
        return False
    return True


def orders_of(parents: Parents) -> int:
    """The number of topological orders."""

    @cache
    def count(placed: int) -> int:
        if placed == (1 << len(parents)) - 1:
            return 1
        ready = [v for v, own in enumerate(parents) if not placed >> v & 1 and all(placed >> p & 1 for p in own)]
        return sum(count(placed | 1 << v) for v in ready)

    return count(0)


def has_path(parents: Parents, a: int, b: int) -> bool:
    """Whether a directed path of at least one arrow leads from a to b."""
    return any(parent == a or has_path(parents, a, parent) for parent in parents[b])


def random_dag(n: int, share: float, random: np.random.Generator) -> Parents:
    order = random.permutation(n)
    above: list[tuple[int, ...]] = [()] * n
    for i, v in enumerate(order.tolist()):
        above[v] = tuple(sorted(int(order[j]) for j in range(i) if random.random() < share))
    return tuple(above)


@st.composite
def dags(draw: st.DrawFn, least: int = 2, most: int = 8) -> Parents:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_dag(draw(st.integers(least, most)), draw(st.sampled_from([0.1, 0.3, 0.5, 0.8])), random)
