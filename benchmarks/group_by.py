"""20 million rows of 5 columns, streamed from Parquet into group-wise beliefs, beside DuckDB's own GROUP BY."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import credo
from benchmarks.timing import Limit, Line, in_turns, peak_megabytes
from credo.engines.local import workers

ROWS, PART, GROUPS = 20_000_000, 1_000_000, 1000
VALUES = ["x0", "x1", "x2", "x3"]


def write(path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([("g", pa.int64()), *((name, pa.float64()) for name in VALUES)])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(ROWS // PART):
            columns = {name: rng.normal(j, 1 + j, PART) for j, name in enumerate(VALUES)}
            part = pa.table({"g": rng.integers(0, GROUPS, PART), **columns}, schema)
            writer.write_table(part, row_group_size=250_000)


def beliefs(path: str) -> Any:
    return credo.estimate(path, VALUES, by="g", prior=credo.NormalInverseGamma(0, 1, 1, 1))


def group_by(path: str) -> list[tuple[Any, ...]]:
    averages = ", ".join(f"avg({name}), var_pop({name})" for name in VALUES)
    with duckdb.connect(config={"threads": workers()}) as connection:
        query = f"SELECT g, {averages} FROM read_parquet('{path}') GROUP BY g ORDER BY g"
        rows: list[tuple[Any, ...]] = connection.sql(query).fetchall()
        return rows


def run() -> list[Line | Limit]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path)
        found, reference = beliefs(str(path)), np.array(group_by(str(path)))
        for j, name in enumerate(VALUES):
            likely = found[name].maximum_likelihood()
            np.testing.assert_allclose(likely.mean, reference[:, 1 + 2 * j], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(likely.variance, reference[:, 2 + 2 * j], rtol=1e-9)
        times = in_turns(lambda: beliefs(str(path)), lambda: group_by(str(path)))
        memory = peak_megabytes(beliefs, str(path))
    what = f"{ROWS // 10**6}M rows x 5 from Parquet into beliefs of {GROUPS} groups"
    return [
        Line(what, "DuckDB GROUP BY, avg and var_pop", *times, target=1 / 3),
        Limit("the same: peak memory of the process", memory, 1024, "MB"),
    ]
