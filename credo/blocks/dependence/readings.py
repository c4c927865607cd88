"""The ways to read columns that depend on each other, by counts of pairs of their cells."""

from __future__ import annotations

from credo.blocks.dependence.likelihood import DependenceLikelihood, OneDependenceLikelihood, TreeLikelihood
from credo.blocks.dependence.pairwise import PairwiseLikelihood

READINGS: dict[str, type[DependenceLikelihood]] = {
    "tree": TreeLikelihood,
    "one-dependence": OneDependenceLikelihood,
    "pairwise": PairwiseLikelihood,
}
