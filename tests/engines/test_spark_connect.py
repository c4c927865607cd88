"""Spark Connect, whose driver is another process: the bits of the local engine. It can't share a process with Spark."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

import credo
from tests.engines.verbs import FEW, local, parts_of, spark_frame, table
from tests.laws.test_engines import evidence_bits


@pytest.mark.slow
@pytest.mark.spark
def test_spark_connect_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyspark", "grpc", "grpc_status", "zstandard"):
        pytest.importorskip(package, reason=f"Spark Connect isn't installed: {package}; pip install 'pyspark[connect]'")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    command = [sys.executable, "-m", "tests.engines.test_spark_connect"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert (found.returncode, found.stdout) == (0, "the same\n"), found.stderr[-2000:]


def main() -> None:
    from credo.engines.spark_session import BRIEF, LOCAL_SETTINGS, started

    parts = parts_of(table())
    with started("local[2]", {**BRIEF, **LOCAL_SETTINGS}, remote=True) as session:
        frame = spark_frame(session, parts).cache()
        assert type(frame).__module__.startswith("pyspark.sql.connect")
        there, here = (credo.NaiveBayes(kinds=FEW).fit(data, target="kind") for data in (frame, local(parts)))
        assert evidence_bits(there) == evidence_bits(here)
        answered: Any = there.predict(frame)
        named = answered.toArrow()["predicted"].to_pylist()
        assert named == here.predict(local(parts)).tolist()
    sys.stdout.write("the same\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
