"""The Dask engine: partitions are opened by Dask's workers, and sums are added there; the driver gets their total."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar
from uuid import uuid4

import cloudpickle
import dask
from dask.delayed import Delayed, delayed

from credo.engines.dask_trees import Computed, FrameWork, RunSum, frame_tree, task_of, total_of
from credo.engines.partitions import FAN_IN, SHARDS, OfFrame, Partition, Sized, pair_total, run_total, tree
from credo.engines.remote import Done, Remote, Task, in_partition, watched
from credo.engines.sending import Placeholder, packed, unpacked
from credo.errors import CredoError, EngineError

Rows = TypeVar("Rows", bound=Sized)
Result = TypeVar("Result")
Work = TypeVar("Work", bound=tuple[Any, ...])
Begun = list[Delayed]  # nodes of Dask's graph, pending or done

WINDOW_PARTITIONS = 8 * FAN_IN  # partitions submitted at a time: whole trees, so that sums equal those of any engine
WINDOWS_AHEAD = 2  # windows in progress at a time
LARGE_OBJECT = 2**16  # bytes: larger objects are sent to the workers instead of with the graph
WORKERS_DIED = "{} can't be computed: several workers died, perhaps for lack of memory"
THREAD_SCHEDULER = "threads"  # Dask's scheduler without a cluster


class DaskPieces(Placeholder):
    """The rows of a DataFrame's partitions, computed by Dask."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

        self._nodes: dict[int, list[Delayed]] = {}

    def at(self, place: int) -> DaskPiece:
        """The rows of one partition. Nodes are listed for runs of partitions, each as long as all before it: the first
        rows need one node."""
        run = place.bit_length()
        start = 1 << run >> 1
        if run not in self._nodes:
            with partitions_kept():
                self._nodes[run] = [*self.frame.partitions[start : 1 << run].to_delayed()]
        return DaskPiece(self._nodes[run][place - start])

    @property
    def rows(self) -> Any:
        raise AssertionError("which partition is not said")


class DaskPiece(Placeholder):
    """The rows of one of them."""

    def __init__(self, node: Delayed) -> None:
        self.node = node

    def at(self, place: int) -> DaskPiece:  # noqa: ARG002 - it is one already
        return self

    @property
    def rows(self) -> Any:
        """The rows themselves, in this process: for the driver only if they are few."""
        client = _client(None)
        return self.node.compute(scheduler=THREAD_SCHEDULER) if client is None else client.compute(self.node).result()


class Dask(Remote):
    """Workers of a Dask cluster: those of `client`, of the client that is current, or else threads of this process."""

    def __init__(self, client: Any = None) -> None:
        self._given = client

    @property
    def client(self) -> Any:
        """A `distributed.Client`, or None where there is no cluster."""
        return _client(self._given)

    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        sent, name = self._sent(cloudpickle.dumps(task)), _named(task)

        def begin(place: int, window: Sequence[Partition[Any]]) -> Begun:
            return self._begin([self._leaf(sent, name, place + i, own) for i, own in enumerate(window)])

        for place, nodes in self._windows(partitions, begin):
            for i, node in enumerate(nodes):
                yield self._value(node, place + i)

    def summed(self, task: Task, partitions: Iterable[Partition[Any]]) -> list[Any]:
        """The sum, computed by the workers: the driver gets the number of rows and the sum."""
        if task.split is None and isinstance(partitions, OfFrame) and len(partitions):
            return [self._of_frame(task, partitions)]
        sent, name = self._sent(cloudpickle.dumps(task)), _named(task)
        shards = range(1 if task.split is None else SHARDS)
        sums = [Begun() for _ in shards]

        def begin(place: int, window: Sequence[Partition[Any]]) -> Begun:
            leaves = [self._leaf(sent, name, place + i, own) for i, own in enumerate(window)]
            roots = []
            for shard in shards:
                own = leaves if task.split is None else [_SHARD(sent, leaf, shard) for leaf in leaves]
                roots.append(tree(own, lambda run: _RUN(sent, run), lambda pair: _PAIR(sent, pair)))
            return self._begin([*roots, *map(_FACTS, leaves)])

        def done() -> Iterator[Done]:
            for place, nodes in self._windows(partitions, begin):
                for i, node in enumerate(nodes[len(shards) :]):
                    yield self._value(node, place + i)
                for own, root in zip(sums, nodes, strict=False):
                    own.append(root)

        for _ in watched(done(), partitions):
            pass
        whole = [tree(own, lambda one: one[0], lambda pair: _PAIR(sent, pair), fan_in=1) for own in sums]
        begun = self._begin([root for root in whole if root is not None])
        return [self._value(root).results[0] for root in begun] or [None]

    def _of_frame(self, task: Task, partitions: OfFrame) -> Any:
        """The same of a DataFrame, by one graph that Dask's scheduler spells out: what the driver does doesn't depend
        on how many partitions there are, but for two numbers of each."""
        blob = packed(partitions.template)[0]
        work = FrameWork(cloudpickle.dumps(task), blob, partitions.starts, partitions.counts)

        def done() -> Iterator[Done]:
            for (begun,) in self._ahead([(self._begun(frame_tree(partitions.frame, work)),)]):
                yield self._sum_of_frame(begun, partitions)

        (whole,) = watched(done(), partitions)
        return whole.results[0]

    def _begun(self, whole: Any) -> Any:
        client = self.client
        try:
            with partitions_kept():
                return whole if client is None else client.compute(whole)
        except CredoError:
            raise
        except Exception as error:
            raise EngineError(f"Dask failed: {_said(error)}") from error

    def _sum_of_frame(self, begun: Any, partitions: OfFrame) -> Done:
        try:
            with partitions_kept():
                whole: RunSum = begun.compute(scheduler=THREAD_SCHEDULER) if self.client is None else begun.result()
        except CredoError:
            raise
        except Exception as error:
            if not hasattr(error, "last_worker"):  # of Dask's KilledWorker: reading it again would kill others
                sent, name = cloudpickle.dumps(Task(_seen)), "credo-search"
                for place, own in enumerate(partitions):  # find out which partition failed
                    self._value(self._begin([self._leaf(sent, name, place, own)])[0], place)
                raise EngineError(f"Dask failed: {_said(error)}") from error
            place = getattr(error, "task", (0,))[-1]
            raise EngineError(
                WORKERS_DIED.format(f"partition {place + 1}" if isinstance(place, int) else "the sum")
            ) from None
        return whole.done

    def _windows(
        self, partitions: Iterable[Partition[Any]], begin: Callable[[int, Sequence[Partition[Any]]], Begun]
    ) -> Iterator[tuple[int, Begun]]:
        """The place of each window's first partition, and its nodes; further ones are begun before."""
        size = WINDOW_PARTITIONS if isinstance(partitions, Sequence) else FAN_IN  # an iterator holds local rows

        def begun() -> Iterator[tuple[int, Begun]]:
            rest, place = iter(partitions), 0
            while window := [*islice(rest, size)]:
                yield place, begin(place, window)
                place += len(window)

        return self._ahead(begun())

    def _ahead(self, begun: Iterable[Work]) -> Iterator[Work]:
        """Submitted work, whose last item is Dask's; the next is submitted before the first is awaited. Abandoned work,
        as after an error, is cancelled."""
        waiting = deque[Work]()
        try:
            for work in begun:
                waiting.append(work)
                if len(waiting) == WINDOWS_AHEAD:
                    yield waiting[0]
                    waiting.popleft()
            while waiting:
                yield waiting[0]
                waiting.popleft()
        finally:
            if waiting and (client := self.client) is not None:
                client.cancel([work[-1] for work in waiting])

    def _leaf(self, sent: Any, name: str, place: int, partition: Partition[Any]) -> Delayed:
        blob, pieces = packed(partition)
        key = f"{name}-{uuid4().hex}"
        nodes = [piece.node for piece in pieces if isinstance(piece, DaskPiece)]
        return _WORK(sent, place, self._sent(blob), nodes, dask_key_name=key)

    def _sent(self, blob: bytes) -> Any:
        client = self.client
        if client is None or len(blob) < LARGE_OBJECT:
            return blob
        return client.scatter(blob, hash=False)

    def _begin(self, nodes: Begun) -> Begun:
        client = self.client
        try:
            return [*(dask.persist(*nodes, scheduler=THREAD_SCHEDULER) if client is None else client.persist(nodes))]
        except CredoError:
            raise
        except Exception as error:
            raise EngineError(f"Dask failed: {_said(error)}") from error

    def _value(self, node: Delayed, place: int | None = None) -> Any:
        where = "the sum" if place is None else f"partition {place + 1}"
        if self.client is None:
            return node.compute(scheduler="sync")
        from distributed import KilledWorker, futures_of

        try:
            return futures_of(node)[0].result()
        except CredoError:
            raise
        except KilledWorker:
            raise EngineError(WORKERS_DIED.format(where)) from None
        except Exception as error:
            raise EngineError(f"{where} can't be computed: {_said(error)}") from error


def partitions_kept() -> Any:
    """A block in which Dask doesn't join partitions of files when few columns are read: row counts are per partition,
    whatever the columns."""
    return dask.config.set({"optimization.tune.active": False})


def _client(given: Any) -> Any:
    if given is not None:
        return given
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def _named(task: Task) -> str:
    """The name for Dask's dashboard."""
    return f"credo-{type(task.job).__name__}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.300}"


def _work(sent: bytes, place: int, blob: bytes, pieces: Sequence[Any]) -> Done:
    try:
        return task_of(sent)(unpacked(blob, [*map(Computed, pieces)]))
    except CredoError as error:
        raise in_partition(error, place) from None


def _seen(_: Any) -> None:
    """Nothing: this only checks that a partition can be computed."""


def _shard(sent: bytes, done: Done, shard: int) -> Done:
    split, whole = task_of(sent).split, done.results[0]
    assert split is not None
    return _summed(None if whole is None else split(whole, shard))


def _run(sent: bytes, run: Sequence[Done]) -> Done:
    return _summed(run_total([done.results[0] for done in run], total_of(sent)))


def _pair(sent: bytes, pair: Sequence[Done]) -> Done:
    return _summed(pair_total([done.results[0] for done in pair], total_of(sent)))


def _summed(found: Any) -> Done:
    """The sum in a class of our own: Dask takes dicts apart, and turns named tuples among their keys into plain
    ones."""
    return Done([found], 0, [])


def _facts(done: Done) -> Done:
    """The driver's facts about a partition whose sum stays on the worker."""
    return done._replace(results=[])


_WORK, _RUN, _PAIR, _FACTS, _SHARD = (delayed(each, pure=False) for each in (_work, _run, _pair, _facts, _shard))
