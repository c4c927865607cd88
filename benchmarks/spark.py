"""Spark: naive Bayes of texts beside MLlib's, on the same DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import credo
from benchmarks.scale import all_cpu, seconds
from benchmarks.timing import Limit, Line

DOCUMENTS, LENGTH, VOCABULARY = 120_000, 60, 20_000
WARM, TIMED = 2, 3  # runs of each side


def run() -> Iterator[Line | Limit]:
    """The same DataFrame of documents, kept in memory, cut into words and learned; the log-loss of other documents."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import CountVectorizer, StringIndexer, Tokenizer

    from credo.engines.spark_session import HERE, started

    learned, other = (_documents(seed, rows) for seed, rows in ((1, DOCUMENTS), (2, 20_000)))
    _compile_kernels(learned)
    with started("local[2]", {**HERE, "spark.driver.memory": "3g"}) as session:
        frame = session.createDataFrame(learned).repartition(4).cache()
        frame.count()
        words = Tokenizer(inputCol="text", outputCol="words")
        counts = CountVectorizer(inputCol="words", outputCol="features")
        label = StringIndexer(inputCol="y", outputCol="label")
        pipeline = Pipeline(stages=[words, counts, label, NaiveBayes()])
        found, wall, cpu = dict[str, Any](), dict[str, list[float]](), dict[str, list[float]]()

        def ours() -> None:
            found["ours"] = credo.NaiveBayes(kinds={"text": "text"}).fit(frame, target="y")

        def theirs() -> None:
            found["theirs"] = pipeline.fit(frame)

        for turn in range(WARM + TIMED):  # Java compiles what runs often, and Python workers import credo
            for work in (ours, theirs):
                before, taken = all_cpu(), seconds(work, 1)
                if turn >= WARM:
                    wall.setdefault(work.__name__, []).append(taken)
                    cpu.setdefault(work.__name__, []).append(all_cpu() - before)
        line = f"naive Bayes of {DOCUMENTS:,} documents on Spark"
        yield Line(line, "MLlib", min(wall["ours"]), min(wall["theirs"]), 5)
        yield Line(f"{line}: CPU time of all processes", "MLlib", min(cpu["ours"]), min(cpu["theirs"]), 5)
        rows = found["theirs"].transform(session.createDataFrame(other)).select("probability", "label").collect()
        loss = -np.mean([np.log(max(row.probability[int(row.label)], 1e-300)) for row in rows])
        own = found["ours"].scores(other).log_loss
        yield Limit("log-loss of other documents, credo's / MLlib's", own / loss, 1, "")


def _compile_kernels(documents: Any) -> None:
    """Once, into the cache that workers read."""
    for _ in range(3):
        credo.NaiveBayes(kinds={"text": "text"}).fit(documents, target="y")


def _documents(seed: int, rows: int) -> Any:
    """Drawn from naive Bayes itself: which of four topics, then words."""
    rng = np.random.default_rng(seed)
    shares = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.05), 4)
    kind = rng.integers(0, 4, rows)
    texts = np.empty(rows, dtype=object)
    for k in range(4):
        own = np.flatnonzero(kind == k)
        words = rng.choice(VOCABULARY, (len(own), LENGTH), p=0.3 * shares[k] + 0.7 / VOCABULARY)
        texts[own] = [" ".join(f"w{word}" for word in row) for row in words]
    return pa.table({"text": pa.array(texts, pa.string()), "y": pa.array(np.char.add("c", kind.astype(str)))})
