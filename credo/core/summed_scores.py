"""Scores of rows on a cluster, summed by the workers: only the sums are returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

from credo import engines
from credo.data import Batch
from credo.engines import Partition


class Summed(Protocol):
    """Scores of some rows, as sums."""

    @property
    def rows(self) -> int: ...

    @classmethod
    def total(cls, parts: Sequence[Any]) -> Self: ...


Sums = TypeVar("Sums", bound=Summed)
OfRows = TypeVar("OfRows")


@dataclass(frozen=True, eq=False, repr=False)
class WithoutRows(Generic[OfRows]):
    """Summed scores: reading an attribute of single rows is an error that says so."""

    of_rows: ClassVar[frozenset[str]] = frozenset()

    def instead_of_rows(self, **figures: object) -> OfRows:
        """The same with these figures; typed as the scores of single rows, in whose place users get them."""
        return cast(OfRows, replace(self, **figures))

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
