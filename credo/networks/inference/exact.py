"""What every kind of exact inference answers, about the variables of potentials by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from credo.numerics.arrays import Integers
from credo.numerics.exact import Array


class ExactInference(Protocol):
    """codes: each variable's state, -1 if it isn't observed; weights: likelihoods of all states, or empty."""

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log P(evidence), for a Markov network log Z; -inf if the evidence is impossible."""

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """P(variables | evidence), an axis for each; and a log that is -inf if the evidence is impossible."""

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        """The most probable joint state of some variables (None: of all), and the log of its joint probability."""
