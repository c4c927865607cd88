"""Exact search: the graph with the highest score of all, by dynamic programming over sets of variables.

In any graph some variable is a sink. So best(U) = max over i ∈ U of best(U - i) + the best family of i with parents in
U - i (Silander and Myllymäki 2006). Families that a smaller one dominates are dropped first. The remaining candidate
parents then divide the variables into strongly connected components, which are searched separately (Fan, Malone and
Yuan 2014).
"""

from __future__ import annotations

import numpy as np

from credo._kernels.structure.subsets import find_best_sinks
from credo.errors import SizeError
from credo.networks.inference.sizes import available, size_text
from credo.networks.structure.families import ScoredFamilies
from credo.networks.structure.score import Constraints, Parents, Score
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

MASK_BITS = 63
MOST_IN_COMPONENT = 30
BYTES_PER_SET = 16  # memory for each set of variables


def exact_search(score: Score, constraints: Constraints, start: Parents, seed: int) -> Parents:  # noqa: ARG001
    """The best graph that the constraints allow; the start and the seed don't matter."""
    if len(score.variables) > MASK_BITS:
        raise SizeError(
            f'exact search is for up to about 25 variables, not {len(score.variables)}: use search="boss" or "tabu"'
        )
    families = ScoredFamilies.of(score, constraints, "exact search").pruned()
    found: list[tuple[int, ...]] = [()] * len(families)
    for members in components(families):
        for node, mask in _best(families, members).items():
            found[node] = bits(mask)
    return tuple(found)


def bits(mask: int) -> tuple[int, ...]:
    """The members of a set.

    >>> bits(0b1010)
    (1, 3)
    """
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def components(families: ScoredFamilies) -> list[list[int]]:
    """The strongly connected components of the graph of candidate parents, in topological order."""
    candidates = [int(np.bitwise_or.reduce(masks)) if len(masks) else 0 for masks in families.masks]
    above = [*candidates]
    for middle in range(len(above)):  # Warshall 1962
        for node in range(len(above)):
            if above[node] >> middle & 1:
                above[node] |= above[middle]
    groups: dict[int, list[int]] = {}
    for node in range(len(above)):
        same = next((m for m in groups if above[node] >> m & 1 and above[m] >> node & 1), node)
        groups.setdefault(same, []).append(node)
    return sorted(groups.values(), key=lambda members: (above[members[0]] | 1 << members[0]).bit_count())


def _best(families: ScoredFamilies, members: list[int]) -> dict[int, int]:
    """The best parents, as masks, of the members of a component; variables outside it may always be parents."""
    m = len(members)
    if len(members) == 1:
        node = members[0]
        return {node: int(families.masks[node][families.scores[node].argmax()])}
    need = BYTES_PER_SET * 2.0**m
    if m > MOST_IN_COMPONENT or need > available():
        raise SizeError(
            f"exact search needs {size_text(need)} for {m} variables that may be in one cycle of candidate parents; "
            f'{size_text(available())} may be used: lower max_parents=, forbid arrows, or use search="boss"'
        )
    starts, local, scores, whole = _arranged(families, members)
    total, family = np.empty(1 << m), np.empty(1 << m, dtype=np.int64)
    find_best_sinks(m, starts, local, scores, total, family)
    found, left = dict[int, int](), (1 << m) - 1
    while left:
        j = int(family[left])
        i = int(np.searchsorted(starts, j, side="right")) - 1
        found[members[i]] = int(whole[j])
        left ^= 1 << i
    return found


def _arranged(families: ScoredFamilies, members: list[int]) -> tuple[Integers, Integers, Array, Integers]:
    """The start of each member's families; each family's parents within the component, by local index; scores, the best
    first; all parents."""
    starts, local, scores, whole = [0], list[Integers](), list[Array](), list[Integers]()
    for node in members:
        masks, own = families.masks[node], families.scores[node]
        order = np.argsort(-own, kind="stable")
        inside = np.zeros(len(masks), dtype=np.int64)
        for place, other in enumerate(members):
            inside |= (masks >> other & 1) << place
        _, first = np.unique(inside[order], return_index=True)  # the best with the same parents in the component
        order = order[np.sort(first)]
        starts.append(starts[-1] + len(order))
        local.append(inside[order])
        scores.append(own[order])
        whole.append(masks[order])
    return np.array(starts), np.concatenate(local), np.concatenate(scores), np.concatenate(whole)
