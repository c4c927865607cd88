"""Smallest separating sets, as a smallest vertex cut of a moral graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from itertools import pairwise

from credo.networks.graph import Parents, moral, reached

Vertex = tuple[str, int]  # a variable's entry (0) or exit (1)
UNLIMITED = 1 << 60  # a capacity above any flow


def smallest_separator(
    a: Collection[str], b: Collection[str], given: Collection[str], among: Collection[str], parents: Parents
) -> set[str] | None:
    """The fewest variables that d-separate a and b, `given` among them; None where an arrow joins a and b, or where
    other variables may not be used.

    A set separates a and b if it cuts all paths in the moral graph of the ancestors of a, b and the set (Lauritzen et
    al. 1990); some smallest set has no variables but ancestors of a, b and given (Tian, Paz and Pearl 1998).
    """
    inside = reached([*a, *b, *given], parents)
    graph = moral({name: parents[name] for name in parents if name in inside})
    near = {name: others - {*given} for name, others in graph.items() if name not in given}
    if any(near[name] & {*b} for name in a):
        return None
    free = {*among} - {*a, *b, *given}
    cut = _cut({*a}, {*b}, near, free)
    return None if cut is None else {*given} | cut


def _cut(a: set[str], b: set[str], near: Mapping[str, set[str]], free: set[str]) -> set[str] | None:
    """A smallest set of free variables that meets all paths: maximum flow with unit capacities (Menger 1927)."""
    room: dict[Vertex, dict[Vertex, int]] = {(name, side): {} for name in near for side in (0, 1)}
    for name, others in near.items():
        room[name, 0][name, 1] = 1 if name in free else UNLIMITED
        room[name, 1].setdefault((name, 0), 0)
        for other in sorted(others):
            room[name, 1][other, 0] = UNLIMITED
            room[other, 0].setdefault((name, 1), 0)
    while True:
        before = _reachable(a, room)
        end = next(((name, 0) for name in sorted(b) if (name, 0) in before), None)
        if end is None:
            return {name for name in free if (name, 0) in before and (name, 1) not in before}
        path = [end]
        while (back := before[path[-1]]) is not None:
            path.append(back)
        path.reverse()
        steps = list(pairwise(path))
        if min(room[one][two] for one, two in steps) > len(near):
            return None  # a path on which no variable may be used
        for one, two in steps:
            room[one][two] -= 1
            room[two][one] = room[two].get(one, 0) + 1


def _reachable(a: set[str], room: Mapping[Vertex, Mapping[Vertex, int]]) -> dict[Vertex, Vertex | None]:
    """Vertices reachable in the residual graph, each with its predecessor."""
    before: dict[Vertex, Vertex | None] = {(name, 1): None for name in sorted(a)}
    waiting = deque(before)
    while waiting:
        at = waiting.popleft()
        for to, left in room[at].items():
            if left > 0 and to not in before:
                before[to] = at
                waiting.append(to)
    return before
