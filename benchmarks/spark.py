"""Spark: naive Bayes of texts beside MLlib's, on the same DataFrame: time on drawn documents, log-loss on real ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import credo
from benchmarks import corpora
from benchmarks.scale import all_cpu, seconds
from benchmarks.timing import Limit, Line

DOCUMENTS, LENGTH, VOCABULARY = 120_000, 60, 20_000
WARM, TIMED = 2, 3  # runs of each side


def run() -> Iterator[Line | Limit]:
    """The same DataFrame of documents, kept in memory, cut into words and learned; the log-loss of other documents."""
    from credo.engines.spark_session import LOCAL_SETTINGS, started

    learned, other = (_documents(seed, rows) for seed, rows in ((1, DOCUMENTS), (2, 20_000)))
    _compile_kernels(learned)
    with started("local[2]", {**LOCAL_SETTINGS, "spark.driver.memory": "3g"}) as session:
        frame = session.createDataFrame(learned).repartition(4).cache()
        frame.count()
        pipeline = _mllib()
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
        own, theirs_loss = found["ours"].scores(other).log_loss, _loss(found["theirs"], session, other)
        yield Limit("log-loss of other documents, drawn from naive Bayes, credo's / MLlib's", own / theirs_loss, 1, "")
        frame.unpersist()
        if corpora.FOLDER.exists():
            yield from _on_newsgroups(session)


def _mllib() -> Any:
    """As its guide puts them together."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import CountVectorizer, StringIndexer, Tokenizer

    words = Tokenizer(inputCol="text", outputCol="words")
    counts = CountVectorizer(inputCol="words", outputCol="features")
    label = StringIndexer(inputCol="y", outputCol="label")
    return Pipeline(stages=[words, counts, label, NaiveBayes()])


def _loss(model: Any, session: Any, rows: pa.Table) -> float:
    """MLlib's log-loss, from its log P(class, words): its probabilities underflow."""
    found = model.transform(session.createDataFrame(rows)).select("rawPrediction", "label").collect()
    joint = np.array([row.rawPrediction.toArray() for row in found])
    truth = joint[np.arange(len(found)), [int(row.label) for row in found]]
    return float(np.mean(np.logaddexp.reduce(joint, axis=1) - truth))


def _on_newsgroups(session: Any) -> Iterator[Limit]:
    """The log-loss on a random third of 20 Newsgroups, learned from the same DataFrame of the others."""
    texts, labels = corpora.newsgroups()
    held_out = np.random.default_rng(0).random(len(texts)) < 1 / 3
    learned, other = (pa.table({"text": texts[own], "y": labels[own]}) for own in (~held_out, held_out))
    frame = session.createDataFrame(learned).repartition(4).cache()
    theirs = _loss(_mllib().fit(frame), session, other)
    plain = credo.NaiveBayes(kinds={"text": "text"}).fit(frame, target="y")
    models = {
        "naive Bayes": plain,
        "tuned naive Bayes": plain.tune(frame),
        "credo.learn": credo.learn(frame, target="y"),
    }
    for name, model in models.items():
        loss = model.scores(other).log_loss
        yield Limit(f"log-loss on 20 Newsgroups, {name} on Spark {loss:.3f} / MLlib {theirs:.3f}", loss / theirs, 1, "")


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
