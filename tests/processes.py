"""An engine whose workers are other processes: every job and every partition is pickled, as on other machines."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from credo.data import cutting
from credo.engines import Partition
from credo.engines.remote import Done, Remote, Task


class Processes(Remote):
    """Workers that live as long as the engine, and take their orders through pipes."""

    def __init__(self, workers: int = 2, batch_rows: int = cutting.BATCH_ROWS) -> None:
        self.workers, self.tasks = workers, 0
        self.pool = ProcessPoolExecutor(workers, get_context("spawn"), _cut_at, (batch_rows,))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def run(self, task: Task, partitions: Iterable[Partition[Any]]) -> Iterator[Done]:
        sent, waiting = pickle.dumps(task), deque[Future[bytes]]()
        try:
            for partition in partitions:
                self.tasks += 1
                waiting.append(self.pool.submit(_run, sent, pickle.dumps(partition)))
                if len(waiting) > 2 * self.workers:
                    yield pickle.loads(waiting.popleft().result())
            while waiting:
                yield pickle.loads(waiting.popleft().result())
        finally:
            for future in waiting:
                future.cancel()


def _cut_at(rows: int) -> None:
    """Workers cut batches as the process does that started them, though a test may have changed their size there."""
    cutting.BATCH_ROWS = rows


def _run(task: bytes, partition: bytes) -> bytes:
    return pickle.dumps(pickle.loads(task)(pickle.loads(partition)))
