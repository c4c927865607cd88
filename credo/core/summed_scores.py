"""Scores of rows on a cluster, summed by the workers: only the sums are returned."""

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
    """Summed scores: reading an attribute of single rows is an error that says so."""

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
    """The job of one batch: another job's scores of its rows, summed."""

    job: Callable[[Any], Iterable[Any]]
    added: Callable[..., Sums]

    def __call__(self, batch: Any) -> Sums:
        return self.added(*self.job(batch))


def summed_scores(
    job: Callable[[Batch], Iterable[Any]], partitions: Iterable[Partition[Batch]], kind: type[Sums],
    added: Callable[..., Sums],
) -> Sums | None:  # fmt: skip
    """The summed scores of all rows; None without rows. added: sums the scores of one batch"""
    found = engines.reduce(SumScores(job, added), partitions, kind.total)
    return found if found is not None and found.rows else None


@dataclass(frozen=True, eq=False)
class SummedValidation(WithoutRows):
    """The scores of `Validation`, summed over rows."""

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
