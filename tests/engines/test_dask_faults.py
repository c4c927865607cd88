"""Workers that are killed, and partitions that can't be read: the same bits, or one clear error."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import credo
from credo import engines
from tests.engines.files import check_files_that_differ
from tests.engines.verbs import LONG, QUICK, local, parts_of, table

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
pytestmark = [pytest.mark.filterwarnings("ignore::credo.Notice"), pytest.mark.usefixtures("small")]


def deadly(part: pd.DataFrame, marks: str, when: int) -> pd.DataFrame:
    """A partition; the worker that computes it for the n-th time is killed, then and there."""
    with Path(marks).open("ab") as file:
        file.write(b".")
    if Path(marks).stat().st_size == when:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def frame_of(parts: Sequence[pd.DataFrame], each: Any) -> Any:
    import dask
    import dask.dataframe as dd

    made = [dask.delayed(each.get(i, lambda part: part), pure=False)(part) for i, part in enumerate(parts)]
    return dd.from_delayed(made, meta=parts[0].iloc[:0], verify_meta=False)


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "when"), [("fitted", 1), ("fitted", 3), ("mixed", 9), ("sequential", 6)])
def test_a_killed_worker_changes_no_bit(verb: str, when: int, tmp_path: Path, dask_client: Any) -> None:
    """In the middle of counting rows, of a fit, and of iterations of EM; no row counts twice."""
    parts, marks = parts_of(table()), tmp_path / "marks"
    frame = frame_of(parts, {3: partial(deadly, marks=str(marks), when=when)})
    before = {info["pid"] for info in dask_client.run(_self).values()}
    assert {**QUICK, **LONG}[verb](frame) == {**QUICK, **LONG}[verb](local(parts))
    assert marks.stat().st_size > when
    dask_client.wait_for_workers(2)
    assert {info["pid"] for info in dask_client.run(_self).values()} != before


def _self() -> dict[str, int]:
    return {"pid": os.getpid()}


def broken(part: pd.DataFrame) -> pd.DataFrame:
    raise OSError(f"block 7 of {len(part)} rows is corrupt")


def other_columns(part: pd.DataFrame) -> pd.DataFrame:
    return part.rename(columns={"z": "zz"})


def bad_cell(part: pd.DataFrame) -> pd.DataFrame:
    return part.assign(mass=[*part["mass"][:-2], -1.0, 1.0])


def fewer(part: pd.DataFrame, marks: str) -> pd.DataFrame:
    """Each time that it is computed, one row less."""
    with Path(marks).open("ab") as file:
        file.write(b".")
    return part.iloc[Path(marks).stat().st_size :]


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        (broken, credo.EngineError, r"partition 4 can't be computed: OSError: block 7 of 329 rows is corrupt"),
        (other_columns, credo.EngineError, r"partition 4 can't be computed: KeyError: .*'z'"),
        (bad_cell, credo.DataError, r"that of row 479 is -1 \(partition 4\)"),
    ],
)
def test_a_bad_partition_is_one_clear_error(how: Any, kind: Any, text: str, dask_client: Any) -> None:
    frame = frame_of(parts_of(table()), {3: how})
    with pytest.raises(kind, match=text):
        credo.estimate(frame, "z", prior=credo.NormalMean(0, 1, 1), weight="mass")
    assert dask_client.scheduler_info()["n_workers"] == 2


@pytest.mark.slow
def test_a_file_that_differs_is_one_clear_error(tmp_path: Path, dask_client: Any) -> None:
    with engines.using(engines.Dask(dask_client)):
        check_files_that_differ(parts_of(table()), tmp_path)


def test_a_frame_whose_rows_change_is_refused(tmp_path: Path, dask_client: Any) -> None:
    frame = frame_of(parts_of(table()), {3: partial(fewer, marks=str(tmp_path / "marks"))})
    with pytest.raises(credo.DataError, match=r"when they were counted.*frame.persist.*\(partition 4\)"):
        credo.estimate(frame, "z", prior=credo.NormalMean(0, 1, 1))
    assert dask_client.status == "running"


def test_errors_of_predictions_name_the_partition(dask_client: Any) -> None:
    parts = parts_of(table())
    model: Any = credo.NaiveBayes(estimate="ml", kinds={"note": "ignore", "run": "ignore"}).fit(
        pd.concat(parts), target="word"
    )
    impossible = partial(pd.DataFrame.assign, kind="b", seen="green")
    frame = frame_of(parts, {3: impossible})
    with pytest.raises(credo.EvidenceError, match=r"row 1 is impossible.*\(partition 4\)"):
        model.predict_proba(frame).compute()
    assert dask_client.status == "running"
