"""Dask and Spark: rows a second beside the local engine, what moves, and what the driver needs as partitions grow.

CREDO_SCALE_ROWS makes the table smaller than 20 million rows, CREDO_SCALE_SPARK=0 leaves Spark out.
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
PARTITIONS = 64, 256
KINDS = {f"x{j}": "number" for j in range(NUMBERS)} | {f"w{j}": "category" for j in range(WORDS)}
DOCUMENTS, LENGTH, VOCABULARY = 40_000, 60, 20_000


def run() -> Iterator[Line | Limit | Least]:
    with TemporaryDirectory(prefix="credo-scale-") as folder:
        _write(Path(folder))
        data = f"{folder}/*.parquet"
        yield from _moved(data)
        with _dask() as client:
            yield from _beside_local(data, client)
            yield from _weak_scaling(client)
    if os.environ.get("CREDO_SCALE_SPARK", "1") != "0":
        yield from _beside_mllib()


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


def _seconds(work: Callable[[], Any], times: int = 2) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def _cpu() -> float:
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
        before = _cpu()
        wall[work].append(_seconds(work, 1))
        cpu[work].append(_cpu() - before)
    there = min(wall[on_dask])
    what = f"naive Bayes of {ROWS:,} rows x 20, Parquet: Dask, two workers"
    yield Line(what, "local engine", there, min(wall[here]), 1 / 1.5)
    times = min(cpu[on_dask]) / min(cpu[here])
    yield Limit("the same: CPU time of all processes, times the local engine's", times, 1.5, "")
    yield Least("the same on Dask: rows a second", ROWS / there, 0)


def _part(seed: int) -> Any:
    import pandas as pd

    return pd.DataFrame({"x": np.random.default_rng(seed).normal(size=1000)})


def _weak_scaling(client: Any) -> Iterator[Limit]:
    """Four times the partitions, of as many rows each. Dask's scheduler, a process of its own on most clusters, runs in
    another thread here: it isn't the driver's time."""
    import dask.dataframe as dd

    prior, cost = credo.NormalInverseGamma(0, 1, 1, 1), dict[int, tuple[float, float]]()
    for count in (FAN_IN, *PARTITIONS):
        frame = dd.from_map(_part, [*range(count)], meta=_part(0).iloc[:0])
        before = time.thread_time()
        credo.estimate(frame, "x", prior=prior)  # rows are counted in a pass of their own
        seconds = time.thread_time() - before
        table = source(frame)
        table.partitions(["x"])
        tracemalloc.start()
        credo.estimate(table, "x", prior=prior)
        cost[count] = seconds, tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    (few, many), times = (cost[count] for count in PARTITIONS), PARTITIONS[1] // PARTITIONS[0]
    yield Limit(f"{PARTITIONS[1]:,} partitions on Dask: driver's CPU time", many[0] * 1e3, 500, "ms")
    yield Limit(f"rows and partitions times {times}: driver's CPU time, times", many[0] / few[0], 2, "")
    yield Limit(f"rows and partitions times {times}: peak memory, scheduler's too, times", many[1] / few[1], times, "")
    assert client.status == "running"


def _beside_mllib() -> Iterator[Line | Limit]:
    """Text: the same DataFrame of documents, cut into words and learned; the log-loss of other documents."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import CountVectorizer, StringIndexer, Tokenizer

    from credo.engines.spark_session import HERE, started

    with started("local[2]", HERE) as session:
        learned, other = (_documents(seed) for seed in (1, 2))
        frame = session.createDataFrame(learned).repartition(4).cache()
        frame.count()
        words = Tokenizer(inputCol="text", outputCol="words")
        counts = CountVectorizer(inputCol="words", outputCol="features")
        label = StringIndexer(inputCol="y", outputCol="label")
        pipeline = Pipeline(stages=[words, counts, label, NaiveBayes()])
        found, wall, cpu = dict[str, Any](), dict[str, float](), dict[str, float]()

        def ours() -> None:
            found["ours"] = credo.NaiveBayes(kinds={"text": "text"}).fit(frame, target="y")

        def theirs() -> None:
            found["theirs"] = pipeline.fit(frame)

        for work in (ours, ours, theirs, theirs):  # the first warms up; Spark ends workers that wait a minute
            before = _cpu()
            wall[work.__name__] = _seconds(work, 1)
            cpu[work.__name__] = _cpu() - before
        line = "naive Bayes of 40,000 documents on Spark"
        yield Line(line, "MLlib", wall["ours"], wall["theirs"], 5)
        yield Line(f"{line}: CPU time of all processes", "MLlib", cpu["ours"], cpu["theirs"], 5)
        rows = found["theirs"].transform(session.createDataFrame(other)).select("probability", "label").collect()
        loss = -np.mean([np.log(max(row.probability[int(row.label)], 1e-300)) for row in rows])
        own = found["ours"].scores(other).log_loss
        yield Limit("log-loss of other documents, credo's / MLlib's", own / loss, 1, "")


def _documents(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    shares = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.05), 4)
    kind = rng.integers(0, 4, DOCUMENTS)
    texts = np.empty(DOCUMENTS, dtype=object)
    for k in range(4):
        own = np.flatnonzero(kind == k)
        words = rng.choice(VOCABULARY, (len(own), LENGTH), p=0.3 * shares[k] + 0.7 / VOCABULARY)
        texts[own] = [" ".join(f"w{word}" for word in row) for row in words]
    return pa.table({"text": pa.array(texts, pa.string()), "y": pa.array(np.char.add("c", kind.astype(str)))})
