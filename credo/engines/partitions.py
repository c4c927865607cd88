"""Partitions, which jobs run over, and the order in which their results are added: the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Protocol, Self, TypeVar

FAN_IN = 32  # results that are added in one go: uniting levels once for many parts costs little more than once for two


class Sized(Protocol):
    """A batch."""

    @property
    def rows(self) -> int: ...


Rows = TypeVar("Rows", bound=Sized)
Read = TypeVar("Read", bound=Sized, covariant=True)
Result = TypeVar("Result")


class Partition(Protocol[Read]):
    """Rows that one worker reads; it is pickled to get there."""

    def batches(self) -> Iterator[Read]:
        """The rows, batch by batch: what is opened is opened here."""
        ...


class Loaded:
    """A batch that is in memory is a partition, of itself."""

    def batches(self) -> Iterator[Self]:
        return iter((self,))


def opened(partitions: Iterable[Partition[Rows]]) -> Generator[tuple[int, Rows]]:
    """Each batch, and the place of its partition; what is open is closed with it."""
    try:
        for place, partition in enumerate(partitions):
            for batch in partition.batches():
                yield place, batch
    finally:
        if isinstance(partitions, Generator):
            partitions.close()


def sums(results: Iterable[tuple[int, Result]], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of results, each with the place of its partition: what `Engine.reduce` gives."""
    by_partition = (subtotal((result for _, result in own), total) for _, own in groupby(results, key=itemgetter(0)))
    return added((found for each in by_partition for found in each), total)


def subtotal(results: Iterator[Result], total: Callable[[Sequence[Result]], Result]) -> list[Result]:
    """The sum of one partition's results, which is its only result, if there is one."""
    begun = [result for _, result in zip(range(2), results, strict=False)]
    if len(begun) < 2:
        return begun
    whole = added(chain(begun, results), total)
    return [] if whole is None else [whole]


def added(results: Iterable[Result], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of results by a tree that depends on nothing but their number: runs of 32, then pairs of equal height.

    So at most log₂(results / 32) sums wait, and each result takes part in as many additions.

    >>> added("abc", "".join), added([], "".join)
    ('abc', None)
    >>> added(([1] for _ in range(100)), lambda parts: [sum(part, []) for part in [parts]][0]) == [1] * 100
    True
    """
    waiting: list[Result] = []
    heights: list[tuple[int, Result]] = []  # of whole trees, the highest first
    for result in results:
        waiting.append(result)
        if len(waiting) == FAN_IN:
            height, whole = 0, total(waiting)
            waiting = []
            while heights and heights[-1][0] == height:
                height, whole = height + 1, total([heights.pop()[1], whole])
            heights.append((height, whole))
    rest = [whole for _, whole in heights] + waiting
    if not rest:
        return None
    return rest[0] if len(rest) == 1 and heights else total(rest)
