"""The default search: exact for few variables, best order score search for more."""

from __future__ import annotations

from credo.networks.structure.boss import boss
from credo.networks.structure.exact import exact_search
from credo.networks.structure.score import Constraints, Parents, Score

EXACT_VARIABLES = 10  # up to here, exact search is as fast as best order score search


def default_search(score: Score, constraints: Constraints, start: Parents, seed: int = 0) -> Parents:
    """The best graph, by exact search or best order score search."""
    if chosen_search("auto", len(start)) == "exact":
        return exact_search(score, constraints, start, seed)
    return boss(score, constraints, start, seed)


def chosen_search(asked: str, variables: int) -> str:
    """The search that "auto" stands for.

    >>> chosen_search("auto", 4), chosen_search("auto", 37), chosen_search("tabu", 4)
    ('exact', 'boss', 'tabu')
    """
    if asked != "auto":
        return asked
    return "exact" if variables <= EXACT_VARIABLES else "boss"
