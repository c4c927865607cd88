"""`--engine`: the same files as without it; whole, or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import credo
from credo.cli.group import main
from credo.streaming.predictions import predictions, write_predictions
from tests.engines.verbs import table


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = table().drop(columns=["seen", "note", "run", "mass"])
    for i in range(4):
        rows.iloc[i * 175 : i * 175 + 175].to_parquet(tmp_path / f"{i}.parquet")
    credo.save(credo.NaiveBayes().fit(rows, target="kind"), tmp_path / "m.credo")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "credo", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_an_unknown_engine_is_refused(files: Path) -> None:
    found = CliRunner().invoke(main, ["estimate", str(files / "0.parquet"), "-c", "z", "--engine", "ray"])
    assert found.exit_code == 2
    assert "'ray' is neither dask nor spark" in found.output


def test_a_folder_of_predictions_is_whole_or_not_there(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.BYTES", 1)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", 175)
    model, data = credo.load(files / "m.credo"), str(files / "*.parquet")
    assert write_predictions(model, data, files / "out", each=True) == 700
    assert len([*(files / "out").iterdir()]) == 4
    whole = pq.read_table(files / "out")
    assert whole.column_names[-5:] == ["predicted", "probability", "P(a)", "P(b)", "P(c)"]
    found = (part["predicted"].to_pylist() for part in predictions(model, data))
    assert whole["predicted"].to_pylist() == [*chain.from_iterable(found)]
    with pytest.raises(credo.DataError, match="is there already"):
        write_predictions(model, data, files / "out")
    (files / "2.parquet").write_bytes((files / "2.parquet").read_bytes().replace(b"green", b"gr\xff\xffn"))
    with pytest.raises(credo.CredoError):
        write_predictions(model, data, files / "broken")
    assert not (files / "broken").exists()
    assert not [*files.glob(".credo-*")]


@pytest.mark.slow
def test_estimate_and_predict_on_dask(files: Path) -> None:
    pytest.importorskip("distributed", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    here = run(files, "estimate", "*.parquet", "-c", "z", "--by", "word")
    there = run(files, "estimate", "*.parquet", "-c", "z", "--by", "word", "--engine", "dask")
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout == here.stdout
    found = run(files, "predict", "m.credo", "*.parquet", "-o", "out", "--engine", "dask", "--proba")
    assert (found.returncode, found.stderr) == (0, "wrote out\n")
    assert pq.read_table(files / "out").num_rows == 700


@pytest.mark.slow
def test_a_driver_that_is_interrupted_leaves_nothing(files: Path) -> None:
    """Ctrl-C at any moment: no output, and no unfinished folder."""
    pytest.importorskip("distributed", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    command = [sys.executable, "-m", "credo", "predict", "m.credo", "*.parquet", "-o", "out", "--engine", "dask"]
    for seconds in (2.0, 9.0):
        process = subprocess.Popen(command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGINT)
        said = process.communicate(timeout=120)[1]
        if process.returncode == 0:  # it was done before
            assert pq.read_table(files / "out").num_rows == 700
            break
        assert "Traceback" not in said
        assert not (files / "out").exists()
        assert not [*files.glob(".credo-*")]
