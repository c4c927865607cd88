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

SHARDS = 16  # of results with many keys
FAN_IN = 32  # results added at once: uniting the levels of many parts costs little more than of two


class Sized(Protocol):
    """A batch."""

    @property
    def rows(self) -> int: ...


Rows = TypeVar("Rows", bound=Sized)
Read = TypeVar("Read", bound=Sized, covariant=True)
Result = TypeVar("Result")
Node = TypeVar("Node")


class Engine(Protocol):
    """Runs jobs. Results depend neither on the engine nor on its number of workers."""

    @property
    def shares_memory(self) -> bool:
        """Whether the workers are threads of this process and share its memory."""
        ...

    def map(self, job: Callable[[Rows], Result], partitions: Iterable[Partition[Rows]], /) -> Iterator[Result]:
        """job(batch) for each batch of each partition, in order."""
        ...

    def reduce(
        self,
        job: Callable[[Rows], Result],
        partitions: Iterable[Partition[Rows]],
        total: Callable[[Sequence[Result]], Result],
        /,
    ) -> Result | None:
        """The sum of job(batch), within each partition and then over partitions (see `added`); None without batches."""
        ...


class Partition(Protocol[Read]):
    """Rows that one worker reads; picklable."""

    @property
    def home(self) -> Engine | None:
        """The engine that holds the rows and runs jobs over them; None: any engine can open them."""
        ...

    def batches(self) -> Iterator[Read]:
        """The rows in batches; files are opened here."""
        ...


class AnyOfFrame(Partition[Read], Protocol[Read]):
    """A template for all partitions of a DataFrame."""

    def at(self, place: int, start: int, rows: int | None, /) -> Partition[Read]:
        """One partition, with its start and its number of rows, if counted."""
        ...


@dataclass(frozen=True, eq=False)
class OfFrame(Sequence[Partition[Any]]):
    """The partitions of a DataFrame, sent once as a template: they differ only in place and rows."""

    template: AnyOfFrame[Any]
    frame: Any  # of the engine
    counts: NDArray[np.int64]  # rows of each

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The number of rows before each partition."""
        return self.counts.cumsum() - self.counts

    def each(self, changed: Callable[[Any], Any]) -> OfFrame:
        """The partitions with a changed template."""
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
    """Splits results by key into disjoint shards, which add up to the whole."""

    def __call__(self, result: Any, shard: int, /) -> Any:
        """The part of the result in one of SHARDS shards."""
        ...


class Loaded:
    """A batch in memory as a partition."""

    @property
    def home(self) -> Engine | None:
        return None

    def batches(self) -> Iterator[Self]:
        return iter((self,))


def opened(partitions: Iterable[Partition[Rows]]) -> Generator[tuple[int, Rows]]:
    """Each batch with the place of its partition; closing the generator closes open files."""
    try:
        for place, partition in enumerate(partitions):
            for batch in partition.batches():
                yield place, batch
    finally:
        if isinstance(partitions, Generator):
            partitions.close()


def sums(results: Iterable[tuple[int, Result]], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of results, each with the place of its partition, as `Engine.reduce` gives it."""

    def by_partition() -> Iterator[Result | None]:
        reached = 0
        for place, own in groupby(results, key=itemgetter(0)):
            yield from repeat(None, place - reached)  # partitions without batches
            reached = place + 1
            yield subtotal((result for _, result in own), total)

    return added(by_partition(), total)


def subtotal(results: Iterator[Result], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of one partition's results; a single result is itself the sum. None without results."""
    begun = [result for _, result in zip(range(2), results, strict=False)]
    if len(begun) < 2:
        return begun[0] if begun else None
    return added(chain(begun, results), total)


def added(results: Iterable[Result | None], total: Callable[[Sequence[Result]], Result]) -> Result | None:
    """The sum of results by a tree that depends only on their places: runs of 32, then pairs of equal height.

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
    """The sum of two sums, either of which may be None."""
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
