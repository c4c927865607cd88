"""What each arrow adds to a network's score."""

from __future__ import annotations

from collections.abc import Mapping

from credo.networks.structure.score import Score


def node_scores(score: Score, parents: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Each variable's share of the score: log P(its column | its parents' columns), up to what the score adds."""
    place = {name: i for i, name in enumerate(score.variables)}
    return {name: float(score.family(place[name], [place[p] for p in parents[name]])) for name in parents}


def arrow_strengths(score: Score, parents: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], float]:
    """score(child | parents) - score(child | parents but one): by how much the score falls without the arrow. For a
    Bayesian score, the logarithm of a Bayes factor."""
    place = {name: i for i, name in enumerate(score.variables)}
    found: dict[tuple[str, str], float] = {}
    for child, above in parents.items():
        whole = score.family(place[child], [place[p] for p in above])
        for parent in above:
            rest = [place[p] for p in above if p != parent]
            found[parent, child] = float(whole - score.family(place[child], rest))
    return found
