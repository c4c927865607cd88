"""Every form of data that credo takes gives the same kinds and, to the last bit, the same beliefs."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from numpy.typing import NDArray

import credo
from credo import Schema
from credo.data import BATCH_BYTES, BATCH_ROWS, Batch, batch_rows, recut, source
from credo.errors import DataError

SIZE = 120
RNG = np.random.default_rng(2)
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in RNG.integers(0, 9, SIZE)]
COLUMNS: dict[str, list[Any]] = {
    "ad": [None if i % 17 == 0 else f"ad {'abc'[i % 3]}" for i in range(SIZE)],
    "x": [None if i % 13 == 0 else float(x) for i, x in enumerate(RNG.normal(1e3, 2, SIZE).round(3))],
    "visits": [int(n) for n in RNG.poisson(3, SIZE)],
    "bought": [None if i % 11 == 0 else int(b) for i, b in enumerate(RNG.integers(0, 2, SIZE))],
    "day": DAYS,
}
KINDS = {"ad": "category", "x": "number", "visits": "number", "bought": "category", "day": "date"}
QUESTIONS: list[dict[str, Any]] = [
    {"column": "x", "by": "ad"},
    {"column": "x", "by": "visits"},
    {"column": "x", "by": "day"},
    {"column": "bought", "by": "ad"},
    {"column": "ad", "by": "bought"},
    {"column": "visits", "by": "ad", "kinds": {"visits": "count"}},
]
TABLE = pa.table(COLUMNS)


def rows() -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in zip(*COLUMNS.values(), strict=True)]


def text(value: Any) -> str:
    return "" if value is None else str(value)


def write_csv(path: Path, delimiter: str = ",", only: slice = slice(None), **words: str) -> Path:
    lines = [delimiter.join(COLUMNS)]
    lines += [delimiter.join(text(cell) or words.get("missing", "") for cell in row.values()) for row in rows()[only]]
    content = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def write_jsonl(path: Path, only: slice = slice(None)) -> Path:
    content = "".join(json.dumps(row, default=str) + "\n" for row in rows()[only]).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_parquet(path: Path, only: slice = slice(None)) -> Path:
    pq.write_table(pa.Table.from_pylist(rows()[only], TABLE.schema), path, row_group_size=50)
    return path


def write_arrow(path: Path, only: slice = slice(None), stream: bool = False) -> Path:
    table = pa.Table.from_pylist(rows()[only], TABLE.schema)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=37)
    return path


def encoded_table() -> Any:
    return pa.table(
        {
            name: column.combine_chunks().dictionary_encode()
            for name, column in zip(TABLE.column_names, TABLE.columns, strict=True)
        }
    )


def typed_table() -> Any:
    types = {
        "ad": pa.large_string(),
        "x": pa.decimal128(12, 3),
        "visits": pa.uint8(),
        "bought": pa.int8(),
        "day": pa.date64(),
    }
    return pa.table({name: pa.array(map_cells(name, types[name]), types[name]) for name in COLUMNS})


def map_cells(name: str, kind: Any) -> list[Any]:
    as_decimal = pa.types.is_decimal(kind)
    return [Decimal(str(cell)) if as_decimal and cell is not None else cell for cell in COLUMNS[name]]


def pandas_object_table() -> Any:
    missing = {"ad": pd.NA, "x": float("nan"), "visits": None, "bought": pd.NA, "day": None}
    cells = {name: [missing[name] if cell is None else cell for cell in column] for name, column in COLUMNS.items()}
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})


def pandas_categorical_table() -> Any:
    table = pd.DataFrame(COLUMNS)
    table["ad"] = pd.Categorical(table["ad"], categories=["never", "ad c", "ad a", "ad b", "", "nor this"])
    table["day"] = pd.to_datetime(table["day"])
    return table


Form = Callable[[Path], Any]
FORMS: dict[str, Form] = {
    "csv": lambda tmp: str(write_csv(tmp / "a.csv")),
    "path": lambda tmp: write_csv(tmp / "a.csv"),
    "capital": lambda tmp: write_csv(tmp / "A.CSV"),
    "csv.gz": lambda tmp: write_csv(tmp / "a.csv.gz"),
    "semicolons": lambda tmp: write_csv(tmp / "a.csv", ";"),
    "pipes": lambda tmp: write_csv(tmp / "a.csv", "|"),
    "tabs": lambda tmp: write_csv(tmp / "a.csv", "\t"),
    "tsv": lambda tmp: write_csv(tmp / "a.tsv", "\t"),
    "tsv.gz": lambda tmp: write_csv(tmp / "a.tsv.gz", "\t"),
    "quoted empty": lambda tmp: write_csv(tmp / "a.csv", missing='""'),
    "jsonl": lambda tmp: write_jsonl(tmp / "a.jsonl"),
    "jsonl.gz": lambda tmp: write_jsonl(tmp / "a.jsonl.gz"),
    "parquet": lambda tmp: write_parquet(tmp / "a.parquet"),
    "arrow": lambda tmp: write_arrow(tmp / "a.arrow"),
    "arrow stream": lambda tmp: write_arrow(tmp / "a.arrow", stream=True),
    "pyarrow": lambda _: TABLE,
    "pyarrow chunks": lambda _: pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7)]),
    "pyarrow dictionary": lambda _: encoded_table(),
    "pyarrow narrow types": lambda _: typed_table(),
    "record batch": lambda _: TABLE.combine_chunks().to_batches()[0],
    "polars": lambda _: pl.DataFrame(COLUMNS, strict=False),
    "polars categorical": lambda _: pl.DataFrame(COLUMNS, strict=False).with_columns(pl.col("ad").cast(pl.Categorical)),
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas nullable": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas arrow": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda _: pandas_object_table(),
    "pandas categorical": lambda _: pandas_categorical_table(),
    "duckdb": lambda _: duckdb.from_arrow(TABLE),
    "columns": lambda _: COLUMNS,
    "arrays": lambda _: {name: np.array(column, dtype=object) for name, column in COLUMNS.items()},
    "series": lambda _: {name: pl.Series(column, strict=False) for name, column in COLUMNS.items()},
    "rows": lambda _: rows(),
    "rows without keys": lambda _: [{k: v for k, v in row.items() if v is not None} for row in rows()],
    "glob": lambda tmp: cut_up(tmp, write_csv, "csv"),
    "glob jsonl": lambda tmp: cut_up(tmp, write_jsonl, "jsonl"),
    "glob parquet": lambda tmp: cut_up(tmp, write_parquet, "parquet"),
    "glob arrow": lambda tmp: cut_up(tmp, write_arrow, "arrow"),
}  # fmt: skip
ONCE: dict[str, Callable[[], Any]] = {
    "reader": lambda: TABLE.to_reader(max_chunksize=7),
    "tables": lambda: iter([TABLE.slice(0, 50), TABLE.slice(50)]),
    "forms": lambda: iter([TABLE.slice(0, 50), TABLE.slice(50, 20).to_pandas(), pl.from_arrow(TABLE.slice(70))]),
    "generator of rows": lambda: (row for row in rows()),
    "generator of columns": lambda: (table.to_pydict() for table in (TABLE.slice(0, 3), TABLE.slice(3))),
}


def cut_up(tmp: Path, write: Callable[..., Path], suffix: str) -> str:
    for i, (start, stop) in enumerate([(0, 1), (1, 40), (40, 41), (41, SIZE)]):
        write(tmp / f"part{i}.{suffix}", only=slice(start, stop))
    return f"{tmp}/part*.{suffix}"


def answers(data: Any, **question: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = credo.estimate(data, **question).table().to_pydict()
    return found


def as_words(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """A table whose groups are dates or numbers in one form, and the words for them in another."""
    return {name: [str(v) if name == "day" else v for v in values] for name, values in table.items()}


@pytest.fixture(scope="module")
def expected() -> list[dict[str, list[Any]]]:
    return [answers(COLUMNS, **question) for question in QUESTIONS]


@pytest.mark.parametrize("form", FORMS)
def test_forms_agree(form: str, tmp_path: Path, expected: list[dict[str, list[Any]]]) -> None:
    data = FORMS[form](tmp_path)
    schema = Schema.infer(data)
    assert schema.kinds == KINDS
    assert schema["ad"].values == ("ad a", "ad b", "ad c")
    assert schema["bought"].values == (0, 1)
    named = Schema.infer(data, {"day": "category"})
    assert named["day"].values == tuple(sorted({str(day) for day in DAYS}))
    for question, answer in zip(QUESTIONS, expected, strict=True):
        assert answers(data, **question) == answer, question


@pytest.mark.parametrize("form", ONCE)
def test_iterators_agree(form: str) -> None:
    priors = {"x": credo.NormalInverseGamma(1e3, 1, 1, 1), "bought": credo.BetaBernoulli(1, 1)}
    for column, prior in priors.items():
        question: dict[str, Any] = {"column": column, "by": "ad", "prior": prior}
        assert answers(ONCE[form](), **question) == answers(COLUMNS, **question)


MATRIX: NDArray[np.float64] = RNG.integers(-40, 40, (300, 4)) + np.array([0.0, 0.0, 0.0, 80.0])  # int8 holds them, too
MATRICES: dict[str, Callable[[], Any]] = {
    "C": lambda: MATRIX,
    "F": lambda: np.asfortranarray(MATRIX),
    "strided": lambda: np.repeat(MATRIX, 2, axis=0)[::2],
    "float32": lambda: MATRIX.astype(np.float32),
    "float16": lambda: MATRIX.astype(np.float16),
    "big-endian": lambda: MATRIX.astype(">f8"),
    "int8": lambda: MATRIX.astype(np.int8),
    "int64": lambda: MATRIX.astype(np.int64),
    "object": lambda: MATRIX.astype(object),
    "masked": lambda: np.ma.masked_array(MATRIX, np.zeros(MATRIX.shape, dtype=bool)),
    "csr": lambda: scipy.sparse.csr_matrix(MATRIX),
    "csc": lambda: scipy.sparse.csc_array(MATRIX),
    "coo": lambda: scipy.sparse.coo_array(MATRIX),
    "lists": lambda: MATRIX.tolist(),
    "tuples": lambda: [tuple(row) for row in MATRIX.tolist()],
    "columns": lambda: {f"x{j}": MATRIX[:, j] for j in range(4)},
    "iterator": lambda: iter([MATRIX[:100], MATRIX[100:150].astype(np.float32), MATRIX[150:]]),
}


@pytest.mark.parametrize("form", MATRICES)
def test_matrices_agree(form: str) -> None:
    prior = credo.NormalInverseWishart(np.zeros(4), 1, 6, np.eye(4))
    belief = prior.update(MATRICES[form]())
    assert np.array_equal(belief.mean().mean, prior.update(MATRIX).mean().mean)
    assert np.array_equal(belief.mean().covariance, prior.update(MATRIX).mean().covariance)
    single = credo.NormalMean(0, 10, 1)
    assert credo.estimate(MATRICES[form](), "x2", prior=single).mean() == single.update(MATRIX[:, 2]).mean()


def test_a_masked_cell_is_missing() -> None:
    masked = np.ma.masked_array([[1.0, 5.0], [2.0, 1e9], [3.0, 7.0]], [[False, False], [False, True], [False, False]])
    assert credo.estimate(masked, "x1").n == 2
    assert credo.estimate(masked[:, 1], "x").n == 2


VALUES = [1.5, None, 2.5, 4.0, float("nan")]
SERIES: dict[str, Callable[[], Any]] = {
    "list": lambda: VALUES,
    "tuple": lambda: tuple(VALUES),
    "array": lambda: np.array(VALUES, dtype=float),
    "float32": lambda: np.array(VALUES, dtype=np.float32),
    "big-endian": lambda: np.array(VALUES, dtype=">f8"),
    "objects": lambda: np.array(VALUES, dtype=object),
    "strings": lambda: ["1.5", "", " 2.5", "4", None],
    "string array": lambda: np.array(["1.5", "", "2.5", "4.0", ""]),
    "bytes array": lambda: np.array([b"1.5", b"", b"2.5", b"4.0", b""]),
    "array of any strings": lambda: np.array(["1.5", "", "2.5", "4.0", ""], dtype=np.dtypes.StringDType()),
    "pandas": lambda: pd.Series(VALUES, name="y"),
    "pandas objects": lambda: pd.Series([1.5, pd.NA, 2.5, 4, None], dtype=object),
    "pandas sparse": lambda: pd.Series(pd.arrays.SparseArray([1.5, float("nan"), 2.5, 4])),
    "pandas nullable": lambda: pd.Series([1.5, pd.NA, 2.5, 4, None], dtype="Float64"),
    "polars": lambda: pl.Series(VALUES),
    "pyarrow": lambda: pa.array(VALUES),
    "pyarrow chunks": lambda: pa.chunked_array([VALUES[:2], VALUES[2:]]),
    "pyarrow views": lambda: pa.array(["1.5", "", "2.5", "4.0", None], pa.string_view()),
    "column": lambda: np.array(VALUES, dtype=float)[:, None],
    "iterator": lambda: iter([VALUES[:2], VALUES[2:]]),
}


@pytest.mark.parametrize("form", SERIES)
def test_single_columns_agree(form: str) -> None:
    belief = credo.NormalInverseGamma(0, 1, 1, 1).update(SERIES[form]())
    assert belief.n == 3
    assert belief.mean() == credo.NormalInverseGamma(0, 1, 1, 1).update([1.5, 2.5, 4]).mean()


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize(
    "kind", [*INTEGERS, pa.float16(), pa.float32(), pa.decimal128(21, 2), pa.decimal256(40, 0)], ids=str
)
def test_numbers_of_every_width(kind: Any) -> None:
    column = pa.array([1, 5, None, 5, 7]).cast(kind)
    assert Schema.infer({"x": column}).kinds == {"x": "number"}
    assert Schema.infer({"x": column}, {"x": "category"})["x"].values == (1, 5, 7)
    assert credo.NormalMean(0, 1, 1).update(column).mean() == credo.NormalMean(0, 1, 1).update([1, 5, 5, 7]).mean()


def test_integers_beyond_floats_stay_apart() -> None:
    ids = [2**53, 2**53 + 1, 2**53 + 1]
    assert list(credo.estimate({"id": ids, "x": [1.0, 2.0, 3.0]}, "x", by="id")) == ids[:2]
    large = pa.array([2**64 - 1, 2**64 - 2, 5], pa.uint64())
    assert list(credo.estimate({"id": large, "x": [1.0, 2.0, 3.0]}, "x", by="id")) == [5, 2**64 - 2, 2**64 - 1]
    assert credo.NormalMean(0, 1, 1).update(pa.array([2**60 + 1])).n == 1
    assert credo.NormalMean(0, 1, 1).update(large).n == 3


def test_integers_beyond_floats_stay_apart_in_files(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id,x\n9007199254740993,1\n9007199254740992,2\n")
    assert len(credo.estimate(tmp_path / "ids.csv", "x", by="id", prior=credo.NormalMean(0, 1, 1))) == 2
    (tmp_path / "long.csv").write_text("id,x\n12345678901234567890,1\n12345678901234567891,2\n")
    assert len(credo.estimate(tmp_path / "long.csv", "x", by="id", prior=credo.NormalMean(0, 1, 1))) == 2
    (tmp_path / "long.jsonl").write_text('{"id": 12345678901234567890, "x": 1}\n{"id": 12345678901234567891, "x": 2}\n')
    assert len(credo.estimate(tmp_path / "long.jsonl", "x", by="id", prior=credo.NormalMean(0, 1, 1))) == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_in_any_unit(unit: str) -> None:
    moments = pa.array([dt.datetime(2024, 1, 5), dt.datetime(2024, 1, 5, 12, 30, 10), None], pa.timestamp(unit))
    assert Schema.infer({"t": moments})["t"].values == ("2024-01-05", "2024-01-05 12:30:10")


def test_booleans_in_every_form(tmp_path: Path) -> None:
    table = pa.table({"x": [True, False, None, True]})
    pq.write_table(table, tmp_path / "a.parquet")
    write_words(tmp_path / "a.csv", "x", ["true", "false", "", "true"])
    write_words(tmp_path / "b.csv", "x", ["Yes", "No", "", "Yes"])
    write_words(tmp_path / "c.csv", "x", ["1", "0", "", "1"])
    (tmp_path / "a.jsonl").write_text('{"x": true}\n{"x": false}\n{}\n{"x": true}\n')
    frame = pd.DataFrame({"x": pd.array([True, False, None, True], dtype="boolean")})
    files = [tmp_path / name for name in ("a.parquet", "a.csv", "b.csv", "c.csv", "a.jsonl")]
    for form in (table, frame, frame.astype(object), pl.from_arrow(table), [True, False, None, True], *files):
        assert Schema.infer(form).kinds == {"x": "category"}
        assert repr(credo.estimate(form, "x").posterior) == "BetaBernoulli(a=3, b=2)"


def write_words(path: Path, name: str, words: list[str]) -> None:
    path.write_text("\n".join([name, *words]) + "\n")


def test_an_enum_of_duckdb_is_a_category() -> None:
    relation = duckdb.sql(
        "SELECT unnest(['a', 'b', 'a'])::ENUM('z', 'b', 'a') AS g, unnest([1.5, 2.5, 3.5]) AS \"my x\""
    )
    assert Schema.infer(relation)["g"].values == ("a", "b")
    assert credo.estimate(relation, "my x", by="g").rows.tolist() == [2, 1]


def test_a_relation_whose_reading_stops_frees_its_connection() -> None:
    connection = duckdb.connect()
    relation = connection.sql(
        "SELECT CASE WHEN i < 500000 THEN 'a' ELSE 'b' END AS g, i::VARCHAR || 'x' AS x FROM range(900000) t(i)"
    )
    with suppress(DataError):
        credo.estimate(relation, "x", by="g", prior=credo.NormalMean(0, 1, 1))
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


# Batches


def test_an_array_reaches_the_batch_as_it_lies() -> None:
    x = RNG.normal(size=(3 * BATCH_ROWS // 2, 3))
    batches = list(source(x).batches(["x0", "x1", "x2"]))
    assert [batch.rows for batch in batches] == [BATCH_ROWS, BATCH_ROWS // 2]
    for batch in batches:
        block = batch.matrix(["x0", "x1", "x2"])
        assert np.shares_memory(block, x)
        assert block.flags.c_contiguous
        assert np.shares_memory(batch.numbers("x1"), x)
    assert np.shares_memory(batches[0].only(["x0", "x1", "x2"]).matrix(["x0", "x1", "x2"]), x)
    assert np.array_equal(batches[1].matrix(["x2", "x0"]), x[BATCH_ROWS:][:, [2, 0]])


def test_a_float_column_reaches_the_batch_as_it_lies() -> None:
    x = RNG.normal(size=BATCH_ROWS + 5)
    frame, polar = pd.DataFrame({"x": x}), pl.DataFrame({"x": x})
    for form, memory in (({"x": x}, x), (pa.table({"x": x}), x), (frame, frame["x"]), (polar, polar["x"]), (x, x)):
        assert all(np.shares_memory(batch.numbers("x"), np.asarray(memory)) for batch in source(form).batches(["x"]))


@pytest.mark.parametrize("sizes", [[10], [1] * 10, [3, 7, 0, 5], [0, 0, 4]], ids=str)
def test_batches_dont_depend_on_how_rows_came(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", 4)
    total, cuts = sum(sizes), np.cumsum([0, *sizes])
    parts = [Batch(0, n, {"x": pa.array(range(at, at + n))}) for at, n in zip(cuts, sizes, strict=False)]
    batches = list(recut(parts))
    assert [batch.start for batch in batches] == list(range(0, total, 4))
    assert [batch.rows for batch in batches] == [min(4, total - at) for at in range(0, total, 4)]
    assert [x for batch in batches for x in batch.column("x").to_pylist()] == list(range(total))
    blocks = [
        Batch(0, n, {}, np.arange(at, at + n, dtype=float)[:, None], ("x",)) for at, n in zip(cuts, sizes, strict=False)
    ]
    assert [list(batch.numbers("x")) for batch in recut(blocks)] == [list(batch.numbers("x")) for batch in batches]


def test_wide_rows_make_short_batches() -> None:
    assert batch_rows(8) == BATCH_ROWS
    assert batch_rows(80_000) * 80_000 <= BATCH_BYTES
    wide = scipy.sparse.csr_array((2000, 100_000))
    sizes = {batch.rows for batch in source(wide).batches(source(wide).names)}
    assert max(sizes) * 800_000 <= BATCH_BYTES
    texts = source({"x": ["word " * 2000] * 10_000})
    assert max(batch.rows for batch in texts.batches(["x"])) * 10_000 <= BATCH_BYTES


def test_files_are_read_batch_by_batch(tmp_path: Path) -> None:
    n = 6 * BATCH_ROWS
    table = pa.table({"x": np.arange(n), "word": pa.array(["a word"] * n)})
    pa.csv.write_csv(table, tmp_path / "a.csv")
    pq.write_table(table, tmp_path / "a.parquet")
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        batches = source(path).batches(["x", "word"])
        first = next(batches)
        assert (first.start, first.rows) == (0, BATCH_ROWS)
        assert first.column("x").to_pylist() == list(range(BATCH_ROWS))
        batches.close()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as one file and as several, in three formats; enough of them for some batches."""
    folder = tmp_path_factory.mktemp("halves")
    rng, n = np.random.default_rng(7), 3 * BATCH_ROWS + 100
    table = pa.table({"g": [f"g{k}" for k in rng.integers(0, 50, n)], "x": rng.normal(1e6, 1, n)})
    json_lines = [f'{{"g": "{g}", "x": {x!r}}}\n' for g, x in zip(*table.to_pydict().values(), strict=True)]
    for i, (start, stop) in enumerate([(0, n), (0, 1), (1, 70_001), (70_001, n)]):
        stem = "whole" if i == 0 else f"part{i}"
        part = table.slice(start, stop - start)
        pa.csv.write_csv(part, folder / f"{stem}.csv")
        pq.write_table(part, folder / f"{stem}.parquet", row_group_size=10_000 * (i + 1))
        (folder / f"{stem}.jsonl").write_text("".join(json_lines[start:stop]))
    return folder


def test_threads_and_cuts_dont_matter(halves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    beliefs = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("CREDO_THREADS", threads)
        patterns = [f"{stem}.{suffix}" for stem in ("whole", "part*") for suffix in ("csv", "parquet", "jsonl")]
        beliefs += [credo.estimate(halves / pattern, "x", by="g", prior=prior) for pattern in patterns]
    first = beliefs[0]
    for other in beliefs[1:]:
        assert other.table().equals(first.table())
        for mine, its in zip(first.statistics.sums, other.statistics.sums, strict=True):
            assert np.array_equal(mine.high, its.high)
            assert np.array_equal(mine.low, its.low)


def test_types_are_those_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,3\n")
    (tmp_path / "b.csv").write_text("y,x\n2.5,many\n4,3\n")
    schema = Schema.infer(tmp_path / "*.csv", {"x": "category"})
    assert schema["x"].values == ("1", "2", "3", "many")
    assert schema["y"].kind == "number"
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    (tmp_path / "b.jsonl").write_text('{"x": "many", "new": 1.5}\n')
    schema = Schema.infer(tmp_path / "*.jsonl", {"x": "category"})
    assert schema["x"].values == ("1", "2", "many")
    assert schema["new"].kind == "number"


@pytest.mark.parametrize("seed", range(20))
def test_batches_of_texts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their sizes don't depend on how the rows came, and no batch of several rows is too long."""
    monkeypatch.setattr("credo.data.cutting.BATCH_TEXT_BYTES", 50)
    rng = np.random.default_rng(seed)
    texts = ["x" * n if n < 70 else None for n in rng.integers(0, 75 if seed % 2 else 20, 40).tolist()]

    def sizes(cuts: list[int]) -> list[tuple[int, int]]:
        parts = [texts[start:end] for start, end in pairwise([0, *cuts, len(texts)])]
        batches = (Batch(0, len(part), {"t": pa.array(part, pa.string())}) for part in parts)
        return [(batch.start, batch.rows) for batch in recut(batches)]

    whole = sizes([])
    assert sum(rows for _, rows in whole) == len(texts)
    assert all(rows == 1 or sum(len(t or "") for t in texts[at : at + rows]) <= 50 for at, rows in whole)
    for _ in range(5):
        assert sizes(sorted(rng.integers(0, len(texts) + 1, rng.integers(0, 6)).tolist())) == whole


@pytest.mark.parametrize("lengths", [[3], [0, 5, 0], [60_000, 1, 0, 59_999, 70_000, 7], [1] * 1000])
def test_arrays_below_each_other_are_one_array(lengths: list[int]) -> None:
    """In batches of one size, wherever one array ends and the next begins."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 2)) for n in lengths]
    found, whole = source(arrays), np.concatenate(arrays)
    assert (found.rows, found.lengths) == (len(whole), tuple(lengths))
    for names, columns in ((("x0", "x1"), whole), (("x1",), whole[:, 1:])):
        batches = [*found.batches(names)]
        assert [batch.rows for batch in batches[:-1]] == [60_000] * (len(batches) - 1)
        np.testing.assert_array_equal(np.concatenate([batch.matrix(names) for batch in batches]), columns)
