"""The likelihoods of columns that depend on each other by counts of pairs of cells, by form."""

from __future__ import annotations

from credo.blocks.dependence.likelihood import DependenceLikelihood, OneDependenceLikelihood, TreeLikelihood
from credo.blocks.dependence.pairwise import PairwiseLikelihood

LIKELIHOODS: dict[str, type[DependenceLikelihood]] = {
    "tree": TreeLikelihood,
    "one-dependence": OneDependenceLikelihood,
    "pairwise": PairwiseLikelihood,
}
