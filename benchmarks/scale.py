"""Dask beside the local engine: rows a second, what moves, and what the driver needs as partitions grow.

CREDO_SCALE_ROWS makes the table smaller than 20 million rows.
"""

from __future__ import annotations

import os
import pickle
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import credo
from benchmarks.timing import Least, Limit, Line
from credo import engines
from credo.core.learning import RowWeights, Summarise
from credo.data import source
from credo.engines.partitions import FAN_IN
from credo.engines.remote import Task
from credo.engines.sending import packed

ROWS, NUMBERS, WORDS = int(os.environ.get("CREDO_SCALE_ROWS", 20_000_000)), 15, 5
FILES = 8
PARTITIONS, MANY, REPEATS = (64, 256), 1024, 3
LOGARITHM = 1 + 2 / 6  # log₂ 256 / log₂ 64
KINDS = {f"x{j}": "number" for j in range(NUMBERS)} | {f"w{j}": "category" for j in range(WORDS)}


def run() -> Iterator[Line | Limit | Least]:
    with TemporaryDirectory(prefix="credo-scale-") as folder:
        _write(Path(folder))
        data = f"{folder}/*.parquet"
        yield from _moved(data)
        with _dask() as client:
            yield from _beside_local(data, client)
    yield from _weak_scaling()


def _write(folder: Path) -> None:
    """Files of the same rows: what is read and summed takes as long as if they differed."""
    rng, rows = np.random.default_rng(0), ROWS // FILES
    kind = rng.integers(0, 4, rows)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=rows) + kind * (j % 3) for j in range(NUMBERS)}
    words = np.array([f"v{i}" for i in range(12)], dtype=object)
    for j in range(WORDS):
        columns[f"w{j}"] = pa.array(words[(kind + rng.integers(0, 9, rows)) % 12])
    columns["y"] = pa.array(np.array([f"c{k}" for k in range(4)], dtype=object)[kind])
    pq.write_table(pa.table(columns), folder / "0.parquet")
    for i in range(1, FILES):
        copyfile(folder / "0.parquet", folder / f"{i}.parquet")


def _fitted(data: object) -> Any:
    return credo.NaiveBayes(kinds=KINDS).fit(data, target="y")


def _moved(data: str) -> Iterator[Limit]:
    """Bytes to a worker, and back from it."""
    partitions = [*source(data).partitions([*KINDS, "y"])]
    model = _fitted(data)
    task = Task(Summarise(model.summarise, (*KINDS, "y"), RowWeights()), model.total)
    sent, done = len(packed(partitions[0])[0]), len(pickle.dumps(task(partitions[0])))
    rows = partitions[0].rows or 0  # type: ignore[attr-defined]
    what = f"a partition of {rows:,} rows x 21 ({rows * 21 * 8 / 1e6:.0f} MB of cells)"
    yield Limit(f"{what}: bytes that describe it to a worker", sent, 10_000, "B")
    yield Limit(f"{what}: bytes of its statistics", done, 200_000, "B")


@contextmanager
def _dask() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    own = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**own, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


def seconds(work: Callable[[], Any], times: int = 2) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def all_cpu() -> float:
    """CPU time of this process and of those that it started."""
    from psutil import Process

    own = Process()
    return sum(sum(each.cpu_times()[:2]) for each in (own, *own.children(recursive=True)))


def _beside_local(data: str, client: Any) -> Iterator[Line | Limit | Least]:
    def on_dask(files: str = data) -> None:
        with engines.using(engines.Dask(client)):
            _fitted(files)

    def here(files: str = data) -> None:
        _fitted(files)

    for work in (on_dask, here):  # workers have their kernels
        work(data.replace("*", "0"))
    wall: dict[Callable[..., None], list[float]] = {here: [], on_dask: []}
    cpu: dict[Callable[..., None], list[float]] = {here: [], on_dask: []}
    for work in (here, on_dask) * 2:  # one after the other, so that both see the same load
        before = all_cpu()
        wall[work].append(seconds(work, 1))
        cpu[work].append(all_cpu() - before)
    there = min(wall[on_dask])
    what = f"naive Bayes of {ROWS:,} rows x 20, Parquet: Dask, two workers"
    yield Line(what, "local engine", there, min(wall[here]), 1 / 1.5)
    times = min(cpu[on_dask]) / min(cpu[here])
    yield Limit("the same: CPU time of all processes, times the local engine's", times, 1.5, "")
    yield Least("the same on Dask: rows a second", ROWS / there, 0)


def _part(seed: int) -> Any:
    import pandas as pd

    return pd.DataFrame({"x": np.random.default_rng(seed).normal(size=1000)})


def _weak_scaling() -> Iterator[Line | Limit]:
    """Four times the partitions, of as many rows each. Dask's scheduler is a process of its own here, as on a cluster:
    what it spends on each partition isn't the driver's."""
    import dask.dataframe as dd
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    prior, cost = credo.NormalInverseGamma(0, 1, 1, 1), dict[int, tuple[float, float, float, float]]()
    bare = dict[int, float]()  # of Dask alone
    own = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "silence_logs": 50}
    with SubprocessCluster(**own) as cluster, Client(cluster) as client:
        for count in (FAN_IN, *PARTITIONS, MANY):
            seconds, all_threads, alone, begun = list[float](), list[float](), list[float](), _scheduler_cpu(client)
            for _ in range(REPEATS):
                frame = dd.from_map(_part, range(count), meta=_part(0).iloc[:0])
                before, before_all = time.thread_time(), time.process_time()
                credo.estimate(frame, "x", prior=prior)  # rows are counted in a pass of their own
                seconds.append(time.thread_time() - before)
                all_threads.append(time.process_time() - before_all)
            each = (_scheduler_cpu(client) - begun) / REPEATS / count
            for _ in range(REPEATS):
                alone.append(_bare_passes(dd.from_map(_part, range(count), meta=_part(0).iloc[:0])))
            bare[count] = min(alone)
            tracemalloc.start()
            credo.estimate(frame, "x", prior=prior)
            cost[count] = min(seconds), tracemalloc.get_traced_memory()[1] / 1e6, each, min(all_threads)
            tracemalloc.stop()
    (few, many), times = (cost[count] for count in PARTITIONS), PARTITIONS[1] // PARTITIONS[0]
    what = f"rows and partitions times {times}, {PARTITIONS[1]:,} partitions of a DataFrame on Dask"
    yield Limit(f"{what}: driver's CPU time", many[0] * 1e3, 500, "ms")
    yield Limit(f"{what}: driver's CPU time, times", many[0] / few[0], LOGARITHM, "")
    yield Limit(f"{what}: driver's peak memory", many[1], 100, "MB")
    yield Limit(f"{what}: driver's peak memory, times", many[1] / few[1], LOGARITHM, "")
    yield Limit(f"{what}: all threads of the driver's process, with Dask's own, times", many[3] / few[3], 2, "")
    yield Line(
        f"{what}: all threads of the driver's process", "Dask's own frame.sum(), twice", many[3], bare[PARTITIONS[1]], 0
    )
    yield Limit(f"{what}: Dask's own frame.sum(), all threads, times", bare[PARTITIONS[1]] / bare[PARTITIONS[0]], 4, "")
    yield Limit(f"{what}: Dask's scheduler, CPU time a partition", many[2] * 1e3, 50, "ms")
    what, logarithm = f"{MANY:,} partitions, times {PARTITIONS[1]}", float(np.log2(MANY) / np.log2(PARTITIONS[1]))
    yield Limit(f"{what}: driver's CPU time", cost[MANY][0] / many[0], logarithm, "")
    yield Limit(f"{what}: driver's peak memory", cost[MANY][1] / many[1], logarithm, "")
    yield Limit(f"{what}: all threads of the driver's process, with Dask's own", cost[MANY][3] / many[3], 4, "")
    yield Limit(f"{what}: Dask's own frame.sum(), all threads", bare[MANY] / bare[PARTITIONS[1]], 4, "")


def _bare_passes(frame: Any) -> float:
    """CPU time of all threads for as many passes over a frame as a fit makes, by Dask's own sum: a task for each
    partition, and a tree of sums."""
    before = time.process_time()
    for _ in range(2):
        frame.sum(split_every=FAN_IN).compute()
    return time.process_time() - before


def _scheduler_cpu(client: Any) -> float:
    found: float = client.run_on_scheduler(time.process_time)
    return found
