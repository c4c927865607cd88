"""Engines, the partitions that jobs run over, and the order in which results are added: the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHARDS = 16  # that results are split into by key
FAN_IN = 32  # results that are added in one go: uniting levels once for many parts costs little more than once for two


class Sized(Protocol):
    """A batch."""

    @property
    def rows(self) -> int: ...


Rows = TypeVar("Rows", bound=Sized)
Read = TypeVar("Read", bound=Sized, covariant=True)
Result = TypeVar("Result")
Node = TypeVar("Node")


class Engine(Protocol):
    """What runs jobs. Results don't depend on which engine does, nor on how many workers it has."""

    @property
    def shares_memory(self) -> bool:
        """Whether its workers are threads of this process, to which rows in memory need not be sent."""
        ...

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        """job(batch) for each batch of each partition, in their order."""
        ...

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        """The sum of these, first within each partition, then over partitions (see `added`); None of no batches."""
        ...


class Partition(Protocol[Read]):
    """Rows that one worker reads; it is pickled to get there."""

    @property
    def home(self) -> Engine | None:
        """The engine that holds the rows, and that jobs over them run on; None: any engine can open them."""
        ...

    def batches(self) -> Iterator[Read]:
        """The rows, batch by batch: what is opened is opened here."""
        ...


class AnyOfFrame(Partition[Read], Protocol[Read]):
    """Stands for all partitions of a DataFrame."""

    def at(self, place: int, start: int, rows: int | None, /) -> Partition[Read]:
        """One of them, with how many rows come before it, and how many it has, if they were counted."""
        ...


@dataclass(frozen=True, eq=False)
class OfFrame(Sequence[Partition[Any]]):
    """The partitions of a DataFrame: one stands for all and is sent once, since they differ in place and rows alone."""

    template: AnyOfFrame[Any]
    frame: Any  # of the engine
    counts: NDArray[np.int64]  # rows of each

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Rows that come before each."""
        return self.counts.cumsum() - self.counts

    def each(self, changed: Callable[[Any], Any]) -> OfFrame:
        """All of them changed in the same way."""
        return replace(self, template=changed(self.template))

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, place: int) -> Partition[Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[Partition[Any]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        return self.template.at(place, int(self.starts[place]), int(self.counts[place]))


class Split(Protocol):
    """Takes results apart by key: shards of different numbers have no key in common, and add to the whole."""

    def __call__(self, result: Any, shard: int, /) -> Any:
        """What the result has of the keys of a shard, of SHARDS in all."""
        ...


class Loaded:
    """A batch that is in memory is a partition, of itself."""

    @property
    def home(self) -> Engine | None:
        return None

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

    def by_partition() -> Iterator[Result | None]:
        reached = 0
        for place, own in groupby(results, key=itemgetter(0)):
            yield from repeat(None, place - reached)  # partitions without batches
            reached = place + 1
            yield subtotal((result for _, result in own), total)

    return added(by_partition(), total)


def subtotal(results: Iterator[Result], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of one partition's results, which is its only result, if there is one."""
    begun = [result for _, result in zip(range(2), results, strict=False)]
    if len(begun) < 2:
        return begun[0] if begun else None
    return added(chain(begun, results), total)


def added(results: Iterable[Result | None], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of results by a tree that depends on nothing but their places: runs of 32, then pairs of equal height.

    None has a place and adds nothing. At most log₂(results / 32) sums wait, and each result takes part in as many
    additions.

    >>> added("abc", "".join), added([None, "a"], "".join), added([], "".join)
    ('abc', 'a', None)
    >>> added(([1] for _ in range(100)), lambda parts: [sum(part, []) for part in [parts]][0]) == [1] * 100
    True
    """
    return tree(results, partial(run_total, total=total), partial(pair_total, total=total))


def run_total(run: Sequence[Result | None], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of up to 32 results that follow each other."""
    own = [result for result in run if result is not None]
    return total(own) if own else None


def pair_total(pair: Sequence[Result | None], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of two sums; where one of them is of nothing, the other."""
    own = [result for result in pair if result is not None]
    return total(own) if len(own) > 1 else own[0] if own else None


def tree(
    leaves: Iterable[Node],
    of_run: Callable[[Sequence[Node]], Node],
    of_pair: Callable[[Sequence[Node]], Node],
    fan_in: int = FAN_IN,
) -> Node | None:
    """The root of the tree that `added` sums by: its nodes may be results, or stand for results that are elsewhere."""
    waiting: list[Node] = []
    heights: list[tuple[int, Node]] = []  # of whole trees, the highest first
    for leaf in leaves:
        waiting.append(leaf)
        if len(waiting) == fan_in:
            height, whole = 0, of_run(waiting)
            waiting = []
            while heights and heights[-1][0] == height:
                height, whole = height + 1, of_pair([heights.pop()[1], whole])
            heights.append((height, whole))
    if waiting:
        heights.append((0, of_run(waiting)))
    if not heights:
        return None
    _, root = heights.pop()
    while heights:
        root = of_pair([heights.pop()[1], root])
    return root
