"""The best tree (Chow and Liu 1968): a maximum spanning tree of mutual information; given a class, of TAN's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.errors import NetworkError, suggest
from credo.networks.structure.score import Constraints, Parents, Score
from credo.numerics.exact import Array
from credo.numerics.spanning_tree import maximum_branching
from credo.numerics.spanning_tree import spanning_tree as tree_parents

SAME_GAIN = 1e-7  # the gains of an arrow and of its reverse may differ by this much, from rounding


def chow_liu_search(score: Score, constraints: Constraints, start: Parents, seed: int) -> Parents:  # noqa: ARG001
    """The tree or forest with the highest score: arrows without a gain are left out.

    The gain of an arrow, score(b | a) - score(b), is the same both ways for score-equivalent scores: n times the mutual
    information, minus a penalty. If constraints or the score distinguish directions, the maximum branching is the best
    forest. The start and the seed don't matter.
    """
    n, required = len(score.variables), constraints.required_parents
    for node in (node for node, own in enumerate(required) if len(own) > 1):
        names = " and ".join(repr(score.variables[parent]) for parent in required[node])
        raise NetworkError(
            f'search="chow-liu" finds a tree, in which {score.variables[node]!r} can\'t have both required parents '
            f'{names}: use "boss", "tabu" or "exact"'
        )
    if constraints.most < 1:
        return ((),) * n
    gains = np.zeros((n, n))
    for node in range(n):
        others = [v for v in range(n) if v != node]
        gains[others, node] = score.grown(node, (), others) - score.family(node, ())
    if constraints.allowed.sum() == n * (n - 1) and np.allclose(gains, gains.T, rtol=SAME_GAIN, atol=SAME_GAIN):
        return spanning_tree((gains + gains.T) / 2, least=0.0)
    gains[~constraints.allowed] = -np.inf
    roots = np.zeros(n)
    for parent, node in constraints.required:
        roots[node] = -np.inf
        gains[np.arange(n) != parent, node] = -np.inf
    return tuple((int(parent),) if parent >= 0 else () for parent in maximum_branching(gains, roots))


def spanning_tree(weights: Array, least: float = -np.inf) -> Parents:
    """The parents in a maximum spanning tree of symmetric weights (Prim 1957), directed away from the first variable.

    Edges of weight `least` or below are left out, so the result may be a forest.

    >>> spanning_tree(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]]))
    ((), (0,), (1,))
    """
    return tuple((int(parent),) if parent >= 0 else () for parent in tree_parents(weights, least=least))


def conditional_information(score: Score, target: int, others: Sequence[int]) -> Array:
    """The gain of an arrow between each two other variables if all have the target as a parent.

    For the log-likelihood it is n I(a; b | target), the weight in tree-augmented naive Bayes (Friedman et al. 1997).
    """
    n = len(others)
    gains = np.zeros((n, n))
    for j, node in enumerate(others):
        rest = [i for i in range(n) if i != j]
        base = (target,)
        gains[rest, j] = score.grown(node, base, [others[i] for i in rest]) - score.family(node, base)
    return (gains + gains.T) / 2


def tan_search(
    score: Score,
    constraints: Constraints,
    start: Parents,  # noqa: ARG001
    seed: int = 0,  # noqa: ARG001
    *,
    target: str,
) -> Parents:
    """Tree-augmented naive Bayes: the target is a parent of all others, which form the best tree given it. (Friedman,
    Geiger and Goldszmidt 1997)"""
    if target not in score.variables:
        raise NetworkError(f"the target {target!r} isn't a column; {suggest(target, score.variables)}")
    if constraints.required or constraints.forbidden or constraints.tiers or constraints.most < 2:
        raise NetworkError(
            'search="tan" decides all arrows itself: leave required, forbidden, tiers and max_parents out'
        )
    root = score.variables.index(target)
    others = [v for v in range(len(score.variables)) if v != root]
    tree = spanning_tree(conditional_information(score, root, others), least=0.0) if others else ()
    above = {v: (root, *(others[parent] for parent in own)) for v, own in zip(others, tree, strict=True)}
    return tuple(tuple(sorted(above.get(v, ()))) for v in range(len(score.variables)))
