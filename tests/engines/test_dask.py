"""On Dask, with two worker processes: the bits of the local engine for the same partitions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo import engines
from credo.engines.remote import partition_progress
from tests.engines.verbs import LONG, QUICK, dask_frame, local, parts_of, table
from tests.laws.test_engines import VERBS, as_form

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
pytestmark = [pytest.mark.filterwarnings("ignore::credo.Notice"), pytest.mark.usefixtures("small")]


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(table())


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in (*QUICK, *LONG) if name != "fitted"]


@pytest.mark.parametrize("verb", ["fitted", *SLOW])
def test_a_frame_gives_the_same_bits(verb: str, parts: list[pd.DataFrame], dask_client: Any) -> None:
    run = {**QUICK, **LONG}[verb]
    assert dask_client.scheduler_info()["n_workers"] == 2
    assert run(dask_frame(parts)) == run(local(parts))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_files_give_the_same_bits(verb: str, tmp_path: Path, dask_client: Any) -> None:
    data = as_form("parquet", tmp_path)
    here = VERBS[verb](data)
    with engines.using(engines.Dask(dask_client)):
        assert VERBS[verb](data) == here


def test_predictions_are_columns_of_the_frame(parts: list[pd.DataFrame], dask_client: Any) -> None:
    """Lazily, with the input's columns and index; nothing is computed, or brought here, unless asked for."""
    frame, whole = dask_frame(parts), pd.concat(parts)
    assert dask_client.scheduler_info()["n_workers"] == 2
    model: Any = credo.NaiveBayes(kinds={"run": "ignore"}).fit(whole, target="kind")
    found = model.predict_proba(frame)
    assert list(found.columns) == [*whole.columns, "P(a)", "P(b)", "P(c)"]
    assert found.npartitions == frame.npartitions
    here = found.compute()
    pd.testing.assert_index_equal(here.index, whole.index)
    np.testing.assert_array_equal(here[["P(a)", "P(b)", "P(c)"]].to_numpy(), model.predict_proba(local(parts)))
    assert here["z"].tolist() == whole["z"].tolist()
    named = model.predict(frame).compute()
    assert named["predicted"].tolist() == model.predict(whole).tolist()
    assert named.dtypes["predicted"] == model.predict(frame).dtypes["predicted"]
    again = model.predict(named.rename(columns={"predicted": "Predicted"}))
    assert len(again) == len(whole)
    log = model.predict_log_proba(frame, class_prior={"a": 0.2, "b": 0.3, "c": 0.5}).compute()
    np.testing.assert_allclose(np.exp(log[["log P(a)", "log P(b)", "log P(c)"]]).sum(axis=1), 1)


def test_progress_counts_partitions(tmp_path: Path, dask_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bars show: each partition of files as it is done; of a frame, all that one sum is of."""
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    parts, prior = parts_of(table()), credo.NormalMean(0, 1, 1)
    for i, part in enumerate(parts):
        part[["z"]].to_parquet(tmp_path / f"{i}.parquet")
    seen = list[tuple[int, int | None]]()
    token = partition_progress.set(lambda done, count: seen.append((done, count)))
    try:
        with engines.using(engines.Dask(dask_client)):
            credo.estimate(str(tmp_path / "*.parquet"), "z", prior=prior)
        by_file = seen.copy()
        credo.estimate(dask_frame(parts), "z", prior=prior)
    finally:
        partition_progress.reset(token)
    count = by_file[-1][1]
    assert count is not None
    assert by_file[-count:] == [(done, count) for done in range(1, count + 1)]
    assert seen[-1] == (len(parts), len(parts))


def test_the_core_imports_neither_engine() -> None:
    code = (
        "import sys, credo; credo.NaiveBayes().fit({'x': ['a', 'b'], 'y': ['c', 'd']}, target='y'); "
        "print({name.partition('.')[0] for name in sys.modules} & {'dask', 'distributed', 'pyspark', 'py4j'})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
