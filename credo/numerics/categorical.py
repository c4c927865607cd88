"""A distribution over a few values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.errors import DataError, suggest
from credo.numerics.distributions import Real, Seed, checked_mass, plain
from credo.numerics.exact import Array


@dataclass(frozen=True, repr=False, eq=False)
class Categorical(Mapping[Hashable, float]):
    """A distribution over a few values: a mapping {value: probability}.

    >>> Categorical(("no", "yes"), np.array([0.25, 0.75]))
    {'no': 0.25, 'yes': 0.75}
    """

    values_: Sequence[Hashable]
    probabilities: Array  # (levels,)

    def __getitem__(self, value: Hashable) -> float:
        return float(self.probabilities[self._position(value)])

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{value!r}: {float(f'{p:.6g}')}" for value, p in self.items()) + "}"

    def _repr_html_(self) -> str:
        from credo.present.models import in_notebook

        return in_notebook(self)

    def _position(self, value: Hashable) -> int:
        try:
            return list(self.values_).index(value)
        except ValueError:
            raise DataError(f"no category {value!r}; {suggest(value, self.values_)}") from None

    def log_prob(self, value: Hashable | Sequence[Hashable] | NDArray[np.generic]) -> Real:
        """log P of one value, or of each in a list."""
        many = isinstance(value, list | np.ndarray)
        positions = [self._position(v) for v in value] if many else self._position(value)  # type: ignore[union-attr,arg-type]
        with np.errstate(divide="ignore"):
            return plain(np.log(self.probabilities)[positions])

    def most_probable(self) -> Hashable:
        return self.values_[int(np.argmax(self.probabilities))]

    def sample(self, size: int, seed: Seed = None) -> list[Hashable]:
        drawn = np.random.default_rng(seed).choice(len(self.values_), size, p=self.probabilities)
        return [self.values_[i] for i in drawn]

    def mean(self) -> float:
        """The mean of values that are numbers (0 and 1, say)."""
        return float(np.dot(np.asarray(self._numbers()), self.probabilities))

    def variance(self) -> float:
        return float(np.dot((self._numbers() - self.mean()) ** 2, self.probabilities))

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval of values that are numbers."""
        numbers = self._numbers()
        order = np.argsort(numbers)
        tail = (1 - checked_mass(mass)) / 2
        reached = np.searchsorted(np.cumsum(self.probabilities[order]), [tail, 1 - tail])
        low, high = numbers[order][np.minimum(reached, len(order) - 1)]
        return float(low), float(high)

    def _numbers(self) -> Array:
        try:
            return np.asarray([float(v) for v in self.values_])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise DataError("these categories aren't numbers: they have no mean and no interval") from None
