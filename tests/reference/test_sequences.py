"""Batches of whole sequences: against a loop over rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credo import DataError, engines
from credo.data import source
from credo.data.sequences import SequenceBatch
from credo.errors import SchemaError


def read(data: Any, by: str | None = "id", order: str | None = None) -> list[SequenceBatch]:
    table = source(data)
    names = [name for name in table.names if name not in (by, order)]
    return [batch for partition in table.sequences(names, by=by, order=order) for batch in partition.batches()]


def sequences(data: Any, by: str | None = "id", order: str | None = None, name: str = "x") -> list[list[Any]]:
    found = []
    for own in read(data, by, order):
        values = own.batch.column(name).to_pylist()
        assert own.starts[0] == 0
        assert own.starts[-1] == own.rows == len(values)
        found += [values[a:b] for a, b in zip(own.starts[:-1], own.starts[1:], strict=True)]
    return found


def random_rows(seed: int, lengths: list[int]) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    names = np.repeat([f"s{i}" for i in rng.permutation(len(lengths))], lengths)
    return {"id": names.tolist(), "x": list(range(len(names))), "t": rng.permutation(len(names)).tolist()}


def expected(rows: dict[str, Any], order: str | None = None) -> list[list[Any]]:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for i, name in enumerate(rows["id"]):
        found.setdefault(name, []).append((0 if order is None else rows[order][i], rows["x"][i]))
    return [[x for _, x in sorted(own)] for own in found.values()]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", 8)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("order", [None, "t"])
@pytest.mark.parametrize("lengths", [[3, 5, 2], [1] * 30, [8, 8, 8], [40], [2, 50, 3, 1, 20], [7, 1, 8, 9, 16, 1]])
def test_no_batch_ends_within_a_sequence(lengths: list[int], order: str | None) -> None:
    """One of them is longer than several batches of 8 rows."""
    rows = random_rows(0, lengths)
    assert sequences(rows, order=order) == expected(rows, order)
    assert sequences(iter([rows]), order=order) == expected(rows, order)
    assert max(own.rows for own in read(rows, order=order)) <= max(lengths) + 8


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "one"])
@pytest.mark.parametrize("lengths", [[3, 5, 2, 9], [30, 1, 1, 40], [60], [1] * 25])
def test_sequences_in_files(lengths: list[int], form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence may go on in the next file, and through whole files, each of them a partition of its own."""
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    rows = random_rows(1, lengths)
    frame = pl.DataFrame(rows)
    ends = [0, 2, 11, 12, 30, 31, max(len(frame), 32)]
    for i, (a, b) in enumerate(pairwise(ends)):
        part = frame[a:b]
        if form == "csv":
            part.write_csv(tmp_path / f"{i}.csv")
        elif form == "jsonl" and len(part):
            part.write_ndjson(tmp_path / f"{i}.jsonl")
        elif form == "arrow":
            with pa.ipc.new_file(tmp_path / f"{i}.arrow", part.to_arrow().schema) as file:
                file.write_table(part.to_arrow())
        elif form == "parquet":
            pq.write_table(part.to_arrow(), tmp_path / f"{i}.parquet")
    if form == "one":
        pq.write_table(frame.to_arrow(), tmp_path / "all.parquet", row_group_size=5)
    path = str(tmp_path / ("all.parquet" if form == "one" else f"*.{form}"))
    for order in (None, "t"):
        assert sequences(path, order=order) == expected(rows, order)
    with engines.using(engines.Serial()):
        assert sequences(path) == expected(rows)


def test_tables_are_sequences() -> None:
    tables: list[Any] = [{"x": [1.0, 2.0]}, {"x": [3.0]}, {"x": [4.0, 5.0, 6.0]}]
    values = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]
    assert sequences(tables, by=None) == values
    assert sequences([pa.table(each) for each in tables], by=None) == values
    assert sequences([pl.DataFrame(each) for each in tables], by=None) == values
    assert sequences([np.array(own)[:, None] for own in values], by=None, name="x0") == values
    assert source(tables).rows == 6


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    "lengths", [[3, 5, 2], [1] * 30, [8, 8, 8], [40], [2, 50, 0, 3, 1, 20], [0, 7, 1, 8, 9, 16, 1, 0]]
)
def test_tables_of_several_batches_are_sequences(lengths: list[int]) -> None:
    """One of them is longer than several batches of 8 rows; those without rows are none."""
    ends = np.cumsum([0, *lengths])
    tables: list[Any] = [{"x": np.arange(a, b, dtype=float)} for a, b in pairwise(ends)]
    assert sequences(tables, by=None) == [table["x"].tolist() for table in tables if len(table["x"])]


def test_a_list_of_rows_is_still_a_table() -> None:
    assert source([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]).rows == 2
    assert not source([{"x": 1}]).lengths


@pytest.mark.usefixtures("_small")
def test_rows_are_called_by_their_numbers_after_they_are_put_in_order() -> None:
    found = read({"id": ["a", "a", "b"], "x": [1, 2, 3], "t": [2, 1, 0]}, order="t")
    assert [own.batch.number(row) for own in found for row in range(own.rows)] == [2, 1, 3]


@pytest.mark.usefixtures("_small")
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = {"id": ["a"] * 5 + ["b"] * 5 + ["a"], "x": range(11)}
    text = "sequence 'a' of column 'id' continues in row 11, after other sequences: sort the rows by 'id'"
    with pytest.raises(DataError, match=text):
        read(again)
    with pytest.raises(DataError, match="column 'id' has no value in row 2: every row must belong to a sequence"):
        read({"id": ["a", None, "a"], "x": [1, 2, 3]})
    with pytest.raises(DataError, match="column 't' has no value in row 3: rows can't be put in order by it"):
        read({"id": ["a", "a", "b"], "x": [1, 2, 3], "t": [1.0, 2.0, None]}, order="t")
    with pytest.raises(
        DataError, match=r"name the column that identifies sequences, by=\.\.\., or give a list of tables"
    ):
        read({"x": [1]}, by=None)
    with pytest.raises(SchemaError, match="table 2 and the first have different columns: x, y"):
        source([{"x": [1]}, {"y": [1]}])
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    for i, part in enumerate((slice(0, 6), slice(6, 10), slice(10, 11))):
        pl.DataFrame({name: list(values)[part] for name, values in again.items()}).write_csv(tmp_path / f"{i}.csv")
    with pytest.raises(DataError, match="sequence 'a' of column 'id' continues in row 11 or later, after other"):
        read(str(tmp_path / "*.csv"))
