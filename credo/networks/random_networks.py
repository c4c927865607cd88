"""Random networks: a random order, random arrows along it, tables drawn from a Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from credo.errors import NetworkError, check_seed, check_whole


def random_parents(names: Sequence[str], arrows: int, max_parents: int, seed: Any) -> dict[str, tuple[str, ...]]:
    """A number of arrows, drawn uniformly from the pairs of earlier and later variables in a random order.

    >>> random_parents("ABC", 3, 2, 0)
    {'A': ('C',), 'B': ('C', 'A'), 'C': ()}
    """
    random = np.random.default_rng(seed)
    n, order = len(names), random.permutation(len(names))
    pairs = n * (n - 1) // 2
    above: list[list[int]] = [[] for _ in names]
    for k in _random_pairs(random, pairs, arrows):
        late = (1 + isqrt(1 + 8 * k)) // 2  # pairs (0, 1), (0, 2), (1, 2), (0, 3), ...
        early = k - late * (late - 1) // 2
        if len(above[late]) < max_parents:
            above[late].append(early)
            arrows -= 1
        if not arrows:
            break
    place = {int(order[i]): i for i in range(n)}
    return {name: tuple(names[order[j]] for j in sorted(above[place[v]])) for v, name in enumerate(names)}


def _random_pairs(random: np.random.Generator, pairs: int, arrows: int) -> Any:
    """Pairs in random order: a few more than needed; all pairs if the number of parents is limited."""
    few = min(pairs, 2 * arrows)
    first = random.choice(pairs, few, replace=False).tolist() if few else []
    yield from first
    if few < pairs:
        seen = set(first)
        yield from (k for k in random.permutation(pairs).tolist() if k not in seen)


def random_network_parts(
    variables: int | Sequence[str],
    arrows: int | None,
    states: int | tuple[int, int],
    max_parents: int,
    concentration: float,
    seed: int,
) -> tuple[dict[str, tuple[str, ...]], dict[str, Any], dict[str, tuple[str, ...]]]:
    """Arrows, tables and states of a network; states are named s0, s1, ..., so that sampled rows are read as
    categories."""
    check_seed(seed)
    names = _names(variables)
    n = len(names)
    least, most = _range(states)
    max_parents = check_whole("max_parents", max_parents, 0)
    if not 0 < concentration < np.inf:
        raise NetworkError(f"concentration must be a number above 0, but is {concentration!r:.60}")
    room = sum(min(i, max_parents) for i in range(n))
    wanted = min(room, 3 * n // 2) if arrows is None else arrows
    if not _is_whole(wanted) or not 0 <= wanted <= room:
        limit = f"{n} variables with at most {max_parents} parents each have room for 0 to {room} arrows"
        raise NetworkError(f"{limit}, not for {arrows!r:.60}")
    random = np.random.default_rng([seed, 1])
    parents = random_parents(names, int(wanted), int(max_parents), [seed, 0])
    sizes = dict(zip(names, random.integers(least, most + 1, n).tolist(), strict=True))
    tables = {
        name: random.dirichlet(np.full(sizes[name], concentration), [sizes[parent] for parent in own])
        for name, own in parents.items()
    }
    return parents, tables, {name: tuple(f"s{k}" for k in range(size)) for name, size in sizes.items()}


def _names(variables: int | Sequence[str]) -> list[str]:
    if isinstance(variables, int | np.integer):
        if variables < 1 or isinstance(variables, bool):
            raise NetworkError(f"a network must have at least one variable, not {variables}")
        return [f"x{i}" for i in range(int(variables))]
    if isinstance(variables, str) or not hasattr(variables, "__iter__") or not [*variables]:
        raise NetworkError(f"variables must be a number or a list of names, but are {variables!r:.60}")
    if len({*variables}) < len(variables) or not all(isinstance(name, str) for name in variables):
        raise NetworkError("variables must be different names")
    return [*variables]


def _range(states: int | tuple[int, int]) -> tuple[int, int]:
    ends = tuple(states) if isinstance(states, tuple | list) else (states, states)
    if len(ends) != 2 or not all(map(_is_whole, ends)) or not 1 <= ends[0] <= ends[1]:
        raise NetworkError(f"states must be a number, or (fewest, most), of at least 1, but are {states!r:.60}")
    return int(ends[0]), int(ends[1])


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
