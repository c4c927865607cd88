"""`--engine`: the same files as without it; whole, or not there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import credo
from credo import engines
from credo.cli.group import main
from credo.streaming.predictions import UNFINISHED_PREFIX, predictions, write_predictions
from tests.engines.conftest import need_spark
from tests.engines.verbs import table
from tests.laws.test_engines import evidence_bits


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = table().drop(columns=["seen", "note", "run", "mass"])
    for i in range(4):
        rows.iloc[i * 175 : i * 175 + 175].to_parquet(tmp_path / f"{i}.parquet")
    credo.save(credo.NaiveBayes().fit(rows, target="kind"), tmp_path / "m.credo")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "credo", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command that can be interrupted, even where this process ignores that, as in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = [sys.executable, "-m", "credo", *arguments]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_unknown_engine_is_refused(files: Path) -> None:
    found = CliRunner().invoke(main, ["estimate", str(files / "0.parquet"), "-c", "z", "--engine", "ray"])
    assert found.exit_code == 2
    assert "'ray' is neither dask nor spark" in found.output


def test_a_folder_of_predictions_is_whole_or_not_there(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", 175)
    model, data = credo.load(files / "m.credo"), str(files / "*.parquet")
    assert write_predictions(model, data, files / "out", each=True) == 700
    assert len([*(files / "out").iterdir()]) == 4
    whole = pq.read_table(files / "out")
    assert whole.column_names[-5:] == ["predicted", "probability", "P(a)", "P(b)", "P(c)"]
    found = (part["predicted"].to_pylist() for part in predictions(model, data))
    assert whole["predicted"].to_pylist() == [*chain.from_iterable(found)]
    with pytest.raises(credo.DataError, match="already exists"):
        write_predictions(model, data, files / "out")
    (files / "2.parquet").write_bytes((files / "2.parquet").read_bytes().replace(b"green", b"gr\xff\xffn"))
    with pytest.raises(credo.CredoError):
        write_predictions(model, data, files / "broken")
    assert not (files / "broken").exists()
    assert not [*files.glob(".credo-*")]


class Repeating(engines.Serial):
    """Runs each task twice, as clusters do where one is slow or its worker seems lost; the first attempt dies."""

    def map(self, job: Any, partitions: Any, /) -> Iterator[Any]:
        for found in super().map(job, [own for own in partitions for _ in range(2)]):
            (Path(job.folder) / f"{UNFINISHED_PREFIX}of a worker that died").write_text("half")
            yield found / 2


def test_repeated_tasks_write_each_row_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", 175)
    model, data = credo.load(files / "m.credo"), str(files / "*.parquet")
    with engines.using(Repeating()):
        assert write_predictions(model, data, files / "out") == 700
    assert sorted(each.name[:5] for each in (files / "out").iterdir()) == ["part-"] * 4
    found = pq.read_table(files / "out")["predicted"].to_pylist()
    assert found == model.predict(data).tolist()


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
@pytest.mark.usefixtures("bounded")
def test_learn_on_dask(files: Path) -> None:
    """What is learned is that of the same command without a cluster."""
    pytest.importorskip("distributed", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    learn, found = ("learn", "*.parquet", "--target", "kind", "--model", "naive-bayes"), []
    for name, more in (("here", ()), ("there", ("--engine", "dask"))):
        done = run(files, *learn, "-o", f"{name}.credo", *more)
        assert done.returncode == 0, done.stderr
        found.append((done.stdout, evidence_bits(credo.load(files / f"{name}.credo"))))
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.usefixtures("bounded")
def test_a_cluster_of_dask_by_its_address(files: Path, dask_client: Any) -> None:
    address = dask_client.scheduler.address.replace("tcp://", "dask://")
    arguments = ("estimate", "*.parquet", "-c", "z", "--by", "word")
    found = run(files, *arguments, "--engine", address)
    assert (found.returncode, found.stdout) == (0, run(files, *arguments).stdout), found.stderr
    assert dask_client.scheduler_info()["n_workers"] == 2  # a cluster that others started goes on


@pytest.mark.slow
@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("writing", [False, True])
def test_a_driver_that_is_interrupted_leaves_nothing(writing: bool, files: Path) -> None:
    """Ctrl-C while the cluster starts, and once predictions are being written: no output, no unfinished folder."""
    pytest.importorskip("distributed", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    process = begun(files, "predict", "m.credo", "*.parquet", "-o", "out", "--engine", "dask")
    if writing:
        wait_until_written(process, files)
    else:
        time.sleep(2)
    os.kill(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode != 0
    assert "Traceback" not in said
    assert not (files / "out").exists()
    assert not [*files.glob(".credo-*")]


def wait_until_written(process: subprocess.Popen[str], folder: Path) -> None:
    """Until the folder is there that becomes the output when it is whole."""
    while process.poll() is None and not [*folder.glob(".credo-*")]:
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.spark
def test_predict_on_spark(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, or after Ctrl-C not there; and neither Java nor Python workers are left behind."""
    need_spark()
    import psutil

    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    found = run(files, "predict", "m.credo", "*.parquet", "-o", "out", "--engine", "spark", "--proba")
    assert found.returncode == 0, found.stderr
    assert "wrote out" in found.stderr
    here = credo.load(files / "m.credo").predict(str(files / "*.parquet")).tolist()
    assert pq.read_table(files / "out")["predicted"].to_pylist() == here
    process = begun(files, "predict", "m.credo", "*.parquet", "-o", "other", "--engine", "spark")
    wait_until_written(process, files)
    started = psutil.Process(process.pid).children(recursive=True)
    assert started
    os.kill(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode != 0
    assert "Traceback" not in said
    assert not (files / "other").exists()
    assert not [*files.glob(".credo-*")]
    assert not psutil.wait_procs(started, timeout=60)[1]


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_of_spark_by_its_address(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A master and a worker of their own, as on several machines."""
    need_spark()
    import pyspark

    from credo.engines import java

    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("SPARK_DAEMON_JAVA_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    port, started = free_port(), list[subprocess.Popen[bytes]]()

    def start(role: str, *arguments: str) -> None:
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        started.append(subprocess.Popen(command, cwd=files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    with java.provided():
        try:
            start("master.Master", "--port", str(port))
            wait_for(port)
            start("worker.Worker", "--cores", "2", "--memory", "1g", f"spark://127.0.0.1:{port}")
            arguments = ("estimate", "*.parquet", "-c", "z", "--by", "word")
            found = run(files, *arguments, "--engine", f"spark://127.0.0.1:{port}")
            assert (found.returncode, found.stdout) == (0, run(files, *arguments).stdout), found.stderr
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(timeout=60)


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as own:
            if own.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens on port {port}")
