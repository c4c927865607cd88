"""What is done with a table on every engine, and the bits that come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import credo
from credo.data import Source
from credo.data.partitions import Held, TablePartition, numbered
from credo.data.string_columns import typed
from credo.data.tables import open_table
from tests.laws.test_engines import bits, evidence_bits

ROWS, CUTS = 700, (0, 150, 151, 151, 480, 700)  # where partitions begin; one is empty, one has a row
SMALL = 60  # rows of a batch: a partition has several


def table(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Numbers and words with gaps, texts, classes; and sequences, three of which go on in the next partition."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], rows)
    shift = (kind == "a") * 1.5
    words = np.where(kind == "b", rng.choice(["red", "blue"], rows), rng.choice(["blue", "green"], rows)).astype(object)
    seen = words.copy()
    seen[rng.random(rows) < 0.2] = None
    return pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) + shift),
            "z": rng.normal(size=rows) - shift,
            "word": words,
            "seen": seen,
            "note": [f"{k} {rng.choice(['wet', 'dry'])} day number {i % 40}" for i, k in enumerate(kind)],
            "mass": rng.choice([0.0, 0.5, 1.0, 3.0], rows),
            "run": np.repeat(np.arange(-(-rows // 9)), 9)[:rows].astype(str),
            "kind": kind,
        }
    )


def many_groups() -> pd.DataFrame:
    """The same with groups, most of which have one or two rows, in any partitions; some rows have none."""
    number = np.random.default_rng(3).permutation(ROWS) % 500
    who = pd.Series(number).map(lambda n: None if n < 5 else f"user {n}")
    return table().assign(who=who, number=number)


def parts_of(frame: pd.DataFrame, cuts: Sequence[int] = CUTS) -> list[pd.DataFrame]:
    return [frame.iloc[start:end] for start, end in pairwise(cuts)]


def local(parts: Sequence[pd.DataFrame]) -> Source:
    """The same partitions in this process."""
    held = [Held(tuple(open_table(part).read([*part.columns]))) for part in parts]
    rows = [each.count() for each in held]
    names = tuple(parts[0].columns)
    return typed(
        Source.of_files(names, lambda wanted: numbered([TablePartition(own, tuple(wanted)) for own in held], rows))
    )


def dask_frame(parts: Sequence[pd.DataFrame]) -> Any:
    """The same partitions on Dask."""
    import dask
    import dask.dataframe as dd

    each = [dask.delayed(part, pure=False) for part in parts]
    return dd.from_delayed(each, meta=parts[0].iloc[:0], verify_meta=False)


def spark_frame(session: Any, parts: Sequence[pd.DataFrame]) -> Any:
    """The same partitions on Spark, each made by its own task."""
    import pyarrow as pa

    tables = [pa.Table.from_pandas(part, preserve_index=False) for part in parts]
    schema = session.createDataFrame(tables[0]).schema

    def made(batches: Any) -> Any:
        from pyspark import TaskContext

        for _ in batches:
            pass
        yield from tables[TaskContext.get().partitionId()].to_batches()

    return session.range(0, len(parts), 1, len(parts)).mapInArrow(made, schema)


FEW = {"note": "ignore", "run": "ignore", "seen": "ignore"}


def fitted(data: Any) -> Any:
    model = credo.NaiveBayes().fit(data, target="kind")
    return evidence_bits(model), model.classes


def score_bits(scores: Any) -> Any:
    """Of scores that were added up."""
    arrays = scores.cells, scores.cell_weights, scores.implied, scores.bins
    return [*map(bits, arrays)], scores.loss, scores.right, scores.squares, scores.rows, scores.n


def weighed(data: Any) -> Any:
    model = credo.GaussianDiscriminant("full", kinds=FEW).fit(data, target="kind", weight="mass")
    with patch.object(Source, "sums_scores", True):  # as those of frames are, by the same tree
        scores = model.leave_one_out(data, weight="mass")
    return evidence_bits(model), score_bits(scores)


def validated(data: Any) -> Any:
    model = credo.NaiveBayes(kinds=FEW).fit(data, target="kind")
    with patch.object(Source, "sums_scores", True):
        scores = [model.cross_validate(data, folds=5, seed=3), model.scores(data)]
    more = model.update(data).forget(data)
    return [*map(score_bits, scores)], evidence_bits(more)


def estimated(data: Any) -> Any:
    found = credo.estimate(data, "z", by="word")
    weights = np.random.default_rng(5).random(ROWS)
    one = credo.estimate(data, "x", prior=credo.NormalInverseGamma(0, 1, 1, 1), weight=weights)
    return bits(found.mean()), evidence_bits(one)


def regressed(data: Any) -> Any:
    """Newton's method: each step sums gradients and curvatures over the partitions."""
    kinds = {**FEW, "mass": "ignore"}
    steep = credo.LogisticRegression(kinds=kinds).fit(data, target="kind")
    line = credo.LinearRegression(kinds=kinds).fit(data, target="z")
    return bits(steep.predict_proba(table())), bits(line.predict(table()))


def scored(data: Any) -> Any:
    """Scores of numbers, of classes by logistic regression, and of whole rows, added up."""
    kinds = {**FEW, "mass": "ignore"}
    line = credo.LinearRegression(kinds=kinds).fit(data, target="z")
    steep = credo.LogisticRegression(kinds=kinds).fit(data, target="kind")
    net = credo.Network("kind -> word").fit(data)
    gaps: Any = {"folds": 2, "steps": 3}
    with patch.object(Source, "sums_scores", True):
        numbers: list[Any] = [line.leave_one_out(data), line.cross_validate(data, folds=3), line.scores(data)]
        classes = [steep.leave_one_out(data), steep.cross_validate(data, folds=2)]
        rows: list[Any] = [net.leave_one_out(data), net.cross_validate(data, folds=3)]
        rows.append(credo.Network("kind -> seen; kind -> word").cross_validate(data, **gaps))
    spreads = [(each.truth_spread, each.squared_error, each.absolute_error, each.loss) for each in numbers]
    return spreads, [*map(score_bits, classes)], [(each.rows, each.n, each.fold_count, each.loss) for each in rows]


def tuned(data: Any) -> Any:
    model = credo.NaiveBayes(kinds={"note": "text", "run": "ignore"}).fit(data, target="kind").tune(data)
    return evidence_bits(model), bits(model.predict_proba(table()))


def worded(data: Any) -> Any:
    """Words pruned, and words hashed, in every sum of the tree."""
    found = []
    for text in (credo.Text(max_words=5), credo.Text(hashed=16)):
        model: Any = credo.NaiveBayes(kinds={"note": text, "run": "ignore"}).fit(data, target="kind")
        found.append((evidence_bits(model), model.evidence.size))
    return found


def mixed(data: Any) -> Any:
    mix = credo.Mixture(components=2, kinds={**FEW, "kind": "ignore"}, starts=2, steps=6).fit(data)
    return bits(mix.history), evidence_bits(mix)


def incomplete(data: Any) -> Any:
    net = credo.Network("kind -> seen; kind -> word").fit(data, steps=4)
    hidden = credo.Network("h -> seen; h -> word").fit(data, hidden={"h": 2}, starts=1, steps=4)
    return net.history, bits(net.tables["seen"]), hidden.history, bits(hidden.tables["word"])


def sequential(data: Any) -> Any:
    kinds = {"note": "ignore", "seen": "ignore", "kind": "ignore"}
    hmm = credo.HiddenMarkov(states=2, kinds=kinds, starts=2, steps=5).fit(data, sequence="run")
    return bits(hmm.history), evidence_bits(hmm)


def structured(data: Any) -> Any:
    """Numbers in bins and missing cells; and complete categories, whose different rows or joint tables are counted."""
    binned = credo.learn_structure(data, bins=3, kinds={"note": "ignore", "run": "ignore", "mass": "ignore"})
    kinds = {"note": "ignore", "run": "ignore", "seen": "ignore", "mass": "ignore", "x": "ignore", "z": "ignore"}
    found = [credo.learn_structure(data, kinds=kinds)]
    with patch("credo.networks.structure.frame_columns.MOST_DISTINCT_BYTES", 0):
        hows: list[dict[str, Any]] = [{}, {"score": "k2"}, {"search": "pc"}]
        found += [credo.learn_structure(data, kinds=kinds, **how) for how in hows]
    return dict(binned.parents), [(dict(each.parents), evidence_bits(each)) for each in found]


def lined(data: Any) -> Any:
    """Arrows between numbers, and between numbers and categories, from sums; and lines where cells are missing."""
    kinds = {**FEW, "x": "ignore"}
    found = [credo.learn_structure(data, kinds={**kinds, "word": "ignore", "kind": "ignore"})]
    found += [credo.learn_structure(data, kinds=kinds), credo.HybridNetwork("z -> mass; kind -> mass").fit(data)]
    scored = found[1].score(data)
    gaps = credo.HybridNetwork("z -> x; seen -> x").fit(data, steps=3)
    return [(dict(each.parents), evidence_bits(each)) for each in found], scored, gaps.history, evidence_bits(gaps)


def learned(data: Any) -> Any:
    model = credo.learn(data, target="kind", kinds={"note": "text", "run": "ignore"})
    return model.report.scores.log_loss, evidence_bits(model)


def learned_number(data: Any) -> Any:
    model = credo.learn(data, target="z", kinds={**FEW, "mass": "ignore"})
    return evidence_bits(model), bits(model.predict(table()))


QUICK: dict[str, Callable[[Any], Any]] = {
    each.__name__: each for each in (fitted, weighed, validated, estimated, worded)
}
LONG = {
    each.__name__: each
    for each in (regressed, scored, tuned, mixed, incomplete, sequential, structured, lined, learned)
}
ESTIMATES: dict[str, Callable[[Any], Any]] = {
    "number": lambda data: credo.estimate(data, "z", by="who", prior=credo.NormalInverseGamma(0, 1, 1, 1)),
    "category": lambda data: credo.estimate(data, "word", by="who", prior="empirical"),
    "whole number": lambda data: credo.estimate(data, "z", by="number", prior=credo.NormalMean(0, 1, 1)),
    "weights": lambda data: credo.estimate(data, "z", by="who", prior=credo.NormalMean(0, 1, 1), weight="mass"),
}
