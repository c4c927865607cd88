"""Verbs of networks with additive evidence: forget, discount, + and merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.networks.learner import NetworkLearner


class EvidenceVerbs(ABC):
    """A network that learns by adding evidence. Every verb returns a new one."""

    @property
    @abstractmethod
    def _learner(self) -> NetworkLearner[Any]:
        """The learner that adds evidence; fixed nodes are refused."""

    def forget(self, data: object, *, weight: Weight = None) -> Self:
        """Unlearn rows exactly, as if they had never been learned."""
        return self._like_it(self._learner.forget(data, weight=weight))

    def discount(self, factor: float) -> Self:
        """Multiply all evidence by a factor between 0 and 1, to fade old rows."""
        return self._like_it(self._learner.discount(factor))

    def __add__(self, other: Self) -> Self:
        """The evidence of both, the prior counted once."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._like_it(self._learner + other._learner)

    def merge(self, *others: Self) -> Self:
        """The same as `+`."""
        return self._like_it(self._learner.merge(*(other._learner for other in others)))

    def _like_it(self, learner: NetworkLearner[Any]) -> Self:
        found: Self = learner.network
        return found
