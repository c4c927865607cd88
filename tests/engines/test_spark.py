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
from credo.engines.partitions import FAN_IN, SHARDS
from credo.engines.remote import partition_progress
from tests.engines.files import check_files_that_differ
from tests.engines.verbs import ESTIMATES, FEW, LONG, QUICK, local, many_groups, parts_of, spark_frame, table
from tests.laws.test_engines import VERBS, as_form, evidence_bits

pytest.importorskip("pyspark", reason="Spark isn't installed: pip install 'credo-bayes[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::credo.Notice"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
]
# Sequences have a test of their own; credo.learn, hundreds of jobs, is tested on Dask, by the same code.
FRAMES = [verb for verb in (*QUICK, *LONG) if verb not in ("sequential", "learned")]


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(table())


@pytest.fixture(scope="module")
def frame(parts: list[pd.DataFrame], spark: Any) -> Any:
    """Kept by Spark: where other Python workers make the rows, those who want the first ones end them all."""
    return spark_frame(spark, parts).cache()


@pytest.mark.parametrize("verb", FRAMES)
def test_a_frame_gives_the_same_bits(verb: str, parts: list[pd.DataFrame], frame: Any) -> None:
    run = {**QUICK, **LONG}[verb]
    assert run(frame) == run(local(parts))


def test_whole_sequences_give_the_same_bits(spark: Any) -> None:
    rows = table()
    parts = parts_of(rows, (0, 153, 477, 477, 700))
    assert LONG["sequential"](spark_frame(spark, parts).cache()) == LONG["sequential"](local(parts))
    with pytest.raises(credo.DataError, match="repartition"):
        LONG["sequential"](spark_frame(spark, parts_of(rows)))


@pytest.mark.parametrize("verb", ["fitted", "networked"])
def test_files_give_the_same_bits(verb: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    data = as_form("csv", tmp_path)
    here = VERBS[verb](data)
    with engines.using(engines.Spark(spark)):
        assert VERBS[verb](data) == here


def test_many_partitions_are_added_by_the_workers(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of two levels, with empty partitions in it; the driver adds nothing."""
    monkeypatch.setattr("credo.engines.spark.FEW_SUMS", 1)
    rows = table()[["z"]]
    cuts = np.linspace(0, len(rows), FAN_IN).astype(int)
    parts = parts_of(rows, [0, 0, *cuts, len(rows), len(rows)])
    assert len(parts) > FAN_IN
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    here, there = (credo.estimate(data, "z", prior=prior) for data in (local(parts), spark_frame(spark, parts).cache()))
    assert evidence_bits(there) == evidence_bits(here)


@pytest.mark.parametrize("what", ["number", "category"])
def test_shards_of_groups_give_the_same_bits(what: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most rows have a group of their own: shards of groups are added up by themselves, by the workers."""
    monkeypatch.setattr("credo.estimation.beliefs.GROUPED_ROWS", 200)
    monkeypatch.setattr("credo.engines.spark.FEW_SUMS", 1)
    parts, shards = parts_of(many_groups()), list[int]()

    def watched(engine: engines.Spark, task: Any, partitions: Any) -> list[Any]:
        found = summed(engine, task, partitions)
        shards.append(len(found))
        return found

    summed = engines.Spark.summed
    monkeypatch.setattr(engines.Spark, "summed", watched)
    there, here = (ESTIMATES[what](data) for data in (spark_frame(spark, parts).cache(), local(parts)))
    assert SHARDS in shards
    assert there.groups.to_pylist() == here.groups.to_pylist()
    assert (evidence_bits(there), there.ungrouped) == (evidence_bits(here), here.ungrouped)


def test_models_answer_with_frames(parts: list[pd.DataFrame], frame: Any) -> None:
    here = local(parts)
    mix = credo.Mixture(components=2, kinds={**FEW, "kind": "ignore", "mass": "ignore"}, starts=1, steps=4).fit(here)
    found: Any = mix.responsibilities(frame)  # whose type doesn't tell that it is a frame
    shares = found.toArrow()
    own = np.column_stack([shares[f"P({each})"] for each in mix.names])
    np.testing.assert_array_equal(own, mix.responsibilities(here))
    net = credo.Network("kind -> seen; kind -> word").fit(here)
    whole = net.impute(frame)
    assert whole.schema == frame.schema
    assert whole.toArrow()["seen"].to_pylist() == net.impute(here)["seen"].to_pylist()
    line = credo.LinearRegression(kinds={**FEW, "mass": "ignore"}).fit(here, target="z")
    numbers: Any = line.predict(frame)
    np.testing.assert_array_equal(numbers.toArrow()["predicted"], line.predict(here))


def test_decisions_and_hidden_states_are_columns(spark: Any) -> None:
    """Decisions that may be withheld; states of whole sequences, whose rows are put in order."""
    rows = table().assign(when=np.random.default_rng(0).permutation(700))
    parts = parts_of(rows, (0, 153, 477, 477, 700))
    frame, here = spark_frame(spark, parts).cache(), local(parts)
    model: Any = credo.GaussianDiscriminant("tied", kinds={**FEW, "word": "ignore", "mass": "ignore", "when": "ignore"})
    model, costs = model.fit(here, target="kind"), {"loss": {"a": {"b": 5.0}}, "reject": 0.3}
    found = model.decide(frame, **costs).toArrow()["decision"].to_pylist()
    assert found == model.decide(here, **costs).tolist()
    assert None in found
    kinds = {"note": "ignore", "seen": "ignore", "kind": "ignore"}
    hmm: Any = credo.HiddenMarkov(states=2, kinds=kinds, starts=1, steps=4).fit(here, sequence="run", order="when")
    assert hmm.decode(frame).toArrow()["predicted"].to_pylist() == hmm.decode(here).tolist()
    shares = hmm.smooth(frame).toArrow()
    np.testing.assert_array_equal(np.column_stack([shares[f"P({each})"] for each in hmm.names]), hmm.smooth(here))


def test_workers_do_not_search_modules_for_garbage(frame: Any) -> None:
    """After each task: what a worker imported is left out from the first task on."""

    def probed(batches: Any) -> Any:
        import gc

        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.record_batch({"spared": pa.array([gc.get_freeze_count()])})

    credo.NaiveBayes(kinds=FEW).fit(frame, target="kind")
    assert max(frame.mapInArrow(probed, "spared long").toArrow()["spared"].to_pylist()) > 10_000


def test_progress_counts_partitions(parts: list[pd.DataFrame], frame: Any) -> None:
    seen = list[tuple[int, int | None]]()
    token = partition_progress.set(lambda done, count: seen.append((done, count)))
    try:
        credo.estimate(frame, "z", prior=credo.NormalMean(0, 1, 1))
    finally:
        partition_progress.reset(token)
    assert seen[-1] == (len(parts), len(parts))


def test_networks_with_numbers_answer_with_columns(parts: list[pd.DataFrame], frame: Any) -> None:
    here = local(parts)
    net = credo.HybridNetwork("kind -> x; z -> x; kind -> seen").fit(here, steps=3)
    found = net.predict_proba("kind", frame).toArrow()
    own = np.column_stack([found[f"P({state})"] for state in net.states["kind"]])
    np.testing.assert_array_equal(own, net.predict_proba("kind", here))
    assert net.impute(frame).toArrow()["seen"].to_pylist() == net.impute(here)["seen"].to_pylist()


def test_it_listens_on_this_machine_alone(frame: Any) -> None:
    """Java, and the Python workers that it starts."""
    import psutil

    assert frame.count() == 700
    own = psutil.Process().children(recursive=True)
    listening = {each.laddr.ip for one in own for each in one.net_connections("inet") if each.status == "LISTEN"}
    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_predictions_are_columns_of_the_frame(parts: list[pd.DataFrame], frame: Any) -> None:
    whole = pd.concat(parts)
    model: Any = credo.NaiveBayes(kinds={"run": "ignore"}).fit(whole, target="kind")
    found = model.predict_proba(frame)
    assert found.columns == [*whole.columns, "P(a)", "P(b)", "P(c)"]
    here = found.toArrow()
    own = np.column_stack([here[f"P({value})"] for value in "abc"])
    np.testing.assert_array_equal(own, model.predict_proba(local(parts)))
    named = model.predict(frame).toArrow()
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
        from pyspark import TaskContext

        for batch in batches:
            if TaskContext.get().partitionId() == 3:
                raise OSError(f"block 7 of {batch.num_rows} rows is corrupt")
            yield batch

    with pytest.raises(credo.EngineError, match=r"partition 4 can't be computed: OSError: block 7"):
        credo.estimate(frame.mapInArrow(broken, frame.schema), "z", prior=credo.NormalMean(0, 1, 1))


def test_a_file_that_differs_is_one_clear_error(
    parts: list[pd.DataFrame], spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    with engines.using(engines.Spark(spark)):
        check_files_that_differ(parts, tmp_path)
