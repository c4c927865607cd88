"""Tasks of Dask's workers, and the tree that adds a DataFrame's partitions."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from credo.engines.partitions import FAN_IN
from credo.engines.remote import Done, Task, added_runs, in_partition
from credo.engines.sending import unpacked
from credo.errors import CredoError


class Computed:
    """A piece on the worker that has computed it."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def at(self, place: int) -> Computed:  # noqa: ARG002 - it is there
        return self


@lru_cache(2)
def task_of(sent: bytes) -> Task:
    """The task, unpickled once per worker, so that what a model derives from its evidence is derived once."""
    task: Task = pickle.loads(sent)
    return task


def total_of(sent: bytes) -> Callable[[Sequence[Any]], Any]:
    total = task_of(sent).total
    assert total is not None
    return total


@dataclass(frozen=True, eq=False)
class FrameWork:
    """The task for a frame's partitions, with one as a template for all: a worker gets it once."""

    sent: bytes
    template: bytes
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FrameLeaf:
    """The task for one computed partition."""

    token: str  # a recomputed result is a different object

    def __call__(self, frame: Any, work: FrameWork, partition_info: dict[str, int] | None = None) -> Done:
        assert partition_info is not None
        place = partition_info["number"]
        start, rows = int(work.starts[place]), int(work.counts[place])
        try:
            return task_of(work.sent)(unpacked(work.template, [Computed(frame)]).at(place, start, rows))
        except CredoError as error:
            raise in_partition(error, place) from None


def frame_tree(frame: Any, work: FrameWork) -> Any:
    """The lazy sum over a frame's partitions: by runs of 32, of these again runs of 32, as trees of pairs."""
    import pandas as pd
    from dask.dataframe.dask_expr import new_collection
    from dask.dataframe.dask_expr._reductions import TreeReduce

    shared, meta = delayed(work, pure=False, traverse=False), pd.Series([], dtype=object, name="found")
    each = frame.map_partitions(FrameLeaf(uuid4().hex), shared, meta=meta, enforce_metadata=False)
    adding = Adding(work.sent)
    return new_collection(TreeReduce(each.expr, Adding, 0, adding, adding, {}, {}, FAN_IN))


class RunSum(NamedTuple):
    """The sum of a run of partitions, or of several runs."""

    done: Done


@dataclass(frozen=True, eq=False)
class Adding:
    """Adds the results of up to 32 partitions, or up to 32 sums of them."""

    sent: bytes

    __name__ = "credo-sum"

    def __call__(self, parts: Sequence[Done | RunSum]) -> RunSum:
        runs = isinstance(parts[0], Done)
        return RunSum(
            added_runs([part.done if isinstance(part, RunSum) else part for part in parts], total_of(self.sent), runs)
        )
