"""Scores of rows that stay on a cluster: each batch's are added up where they are, and their figures come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from credo import engines
from credo.data import Batch
from credo.engines import Partition
from credo.numerics.exact import Array
from credo.numerics.spread import Spread


class Summed(Protocol):
    """Scores of some rows, as sums."""

    @property
    def rows(self) -> int: ...

    @classmethod
    def total(cls, parts: Sequence[Any]) -> Self: ...


Sums = TypeVar("Sums", bound=Summed)


class WithoutRows:
    """Figures whose rows were added up: to ask for what rows have is an error that says so."""

    of_rows: ClassVar[frozenset[str]] = frozenset()

    def __getattr__(self, name: str) -> Any:
        if name in self.of_rows:
            raise AttributeError(
                f"the scores of a frame's rows were added up on the workers, and have no {name!r}: bring rows here to "
                "see it, as with frame.compute() or frame.toArrow()"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class SumScores(Generic[Sums]):
    """The job of one batch: what a job finds of its rows, added up."""

    job: Callable[[Any], Iterable[Any]]
    added: Callable[..., Sums]

    def __call__(self, batch: Any) -> Sums:
        return self.added(*self.job(batch))


def summed_scores(
    job: Callable[[Batch], Iterable[Any]], partitions: Iterable[Partition[Batch]], kind: type[Sums],
    added: Callable[..., Sums],
) -> Sums | None:  # fmt: skip
    """The scores of all rows, given how those of one batch are added up; None if there are none."""
    found = engines.reduce(SumScores(job, added), partitions, kind.total)
    return found if found is not None and found.rows else None


@dataclass(frozen=True, eq=False)
class SummedValidation(WithoutRows):
    """The figures of `Validation`, without the rows."""

    rows: int
    n: float  # the weight of all rows
    fold_count: int
    loss: Spread  # of -log p(row), over the rows that aren't missing

    of_rows = frozenset({"log_probabilities", "weights", "folds"})

    @classmethod
    def of(cls, log_probabilities: Array, weights: Array, folds: Any = ()) -> SummedValidation:
        known = ~np.isnan(log_probabilities)
        loss = Spread.of(-log_probabilities[known], weights[known])
        return cls(len(weights), float(weights.sum()), int(np.max(folds, initial=-1)) + 1, loss)

    @classmethod
    def total(cls, parts: Sequence[SummedValidation]) -> SummedValidation:
        loss = Spread.total([part.loss for part in parts])
        rows, n = sum(part.rows for part in parts), sum(part.n for part in parts)
        return cls(rows, n, max(part.fold_count for part in parts), loss)

    @property
    def log_loss(self) -> float:
        return self.loss.known_mean

    def __repr__(self) -> str:
        return f"Validation({self.rows} rows, {self.fold_count} folds, log-loss {self.log_loss:.4f})"
