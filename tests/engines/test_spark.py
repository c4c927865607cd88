"""On Spark, with two Python workers: the bits of the local engine for the same partitions."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo import engines
from credo.engines.partitions import FAN_IN
from tests.engines.verbs import LONG, QUICK, local, parts_of, spark_frame, table
from tests.laws.test_engines import VERBS, as_form, evidence_bits

pytest.importorskip("pyspark", reason="Spark isn't installed: pip install 'credo-bayes[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::credo.Notice"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
]
FRAMES = ["fitted", "weighed", "estimated", "mixed", "incomplete", "structured"]


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(table())


@pytest.mark.parametrize("verb", FRAMES)
def test_a_frame_gives_the_same_bits(verb: str, parts: list[pd.DataFrame], spark: Any) -> None:
    run = {**QUICK, **LONG}[verb]
    assert run(spark_frame(spark, parts)) == run(local(parts))


def test_whole_sequences_give_the_same_bits(spark: Any) -> None:
    rows = table()
    parts = parts_of(rows, (0, 153, 477, 477, 700))
    assert LONG["sequential"](spark_frame(spark, parts)) == LONG["sequential"](local(parts))
    with pytest.raises(credo.DataError, match="repartition"):
        LONG["sequential"](spark_frame(spark, parts_of(rows)))


@pytest.mark.parametrize("verb", ["fitted", "networked"])
def test_files_give_the_same_bits(verb: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.BYTES", 1)
    data = as_form("csv", tmp_path)
    here = VERBS[verb](data)
    with engines.using(engines.Spark(spark)):
        assert VERBS[verb](data) == here


def test_many_partitions_are_added_by_the_workers(spark: Any) -> None:
    """A tree of three levels, with empty partitions in it; the driver adds few sums."""
    rows = table()
    cuts = [*np.unique(np.linspace(0, len(rows), 2 * FAN_IN + 9).astype(int)), len(rows), len(rows)]
    parts = parts_of(rows[["z"]], [0, 0, *cuts])
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    here, there = (credo.estimate(data, "z", prior=prior) for data in (local(parts), spark_frame(spark, parts)))
    assert evidence_bits(there) == evidence_bits(here)


def test_predictions_are_columns_of_the_frame(parts: list[pd.DataFrame], spark: Any) -> None:
    whole = pd.concat(parts)
    model: Any = credo.NaiveBayes(kinds={"run": "ignore"}).fit(whole, target="kind")
    found = model.predict_proba(spark_frame(spark, parts))
    assert found.columns == [*whole.columns, "P(a)", "P(b)", "P(c)"]
    here = found.toArrow()
    own = np.column_stack([here[f"P({value})"] for value in "abc"])
    np.testing.assert_array_equal(own, model.predict_proba(local(parts)))
    named = model.predict(spark_frame(spark, parts)).toArrow()
    assert named["predicted"].to_pylist() == model.predict(whole).tolist()
    assert named["note"].to_pylist() == whole["note"].tolist()


def test_a_killed_worker_changes_no_bit(tmp_path: Path, spark: Any, parts: list[pd.DataFrame]) -> None:
    """Python workers killed while rows are counted, in a fit and in iterations of EM."""
    for verb, when in (("fitted", 3), ("mixed", 5)):
        marks = tmp_path / verb
        frame = spark_frame(spark, parts)
        deadly = frame.mapInArrow(_deadly(str(marks), when), frame.schema)
        assert {**QUICK, **LONG}[verb](deadly) == {**QUICK, **LONG}[verb](local(parts))
        assert marks.stat().st_size > when


def _deadly(marks: str, when: int) -> Any:
    def passed(batches: Any) -> Any:
        from pyspark import TaskContext

        if TaskContext.get().partitionId() == 3:
            with Path(marks).open("ab") as file:
                file.write(b".")
            if Path(marks).stat().st_size == when:
                os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    return passed


def test_a_bad_partition_is_one_clear_error(parts: list[pd.DataFrame], spark: Any) -> None:
    wrong = parts[3].assign(mass=[*parts[3]["mass"][:-2], -1.0, 1.0])
    frame = spark_frame(spark, [*parts[:3], wrong, *parts[4:]])
    with pytest.raises(credo.DataError, match=r"that of row 479 is -1 \(partition 4\)"):
        credo.estimate(frame, "z", prior=credo.NormalMean(0, 1, 1), weight="mass")

    def broken(batches: Any) -> Any:
        raise OSError(f"block 7 of {batches} is corrupt")

    with pytest.raises(credo.EngineError, match=r"Spark can't do the work: OSError: block 7"):
        credo.estimate(frame.mapInArrow(broken, frame.schema), "z", prior=credo.NormalMean(0, 1, 1))
