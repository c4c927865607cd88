"""What commands read: standard input, packed files, other delimiters, and what else means a missing cell."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import credo
from credo.cli.group import in_options, main

ROWS = [{"sky": "sun", "wind": 3.5, "play": "yes"}, {"sky": "rain", "wind": 7.25, "play": "no"}] * 20


def run(*args: object, data: bytes | None = None) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [str(arg) for arg in args], input=data)


def as_csv(delimiter: str = ",") -> bytes:
    lines = [[*ROWS[0]], *([str(cell) for cell in row.values()] for row in ROWS)]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


def as_parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def as_arrow(stream: bool) -> bytes:
    table, out = pa.Table.from_pylist(ROWS), pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


AS_JSON = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
INPUTS = {
    "csv": as_csv(),
    "tab": as_csv("\t"),
    "jsonl": AS_JSON,
    "blank line": b"\n" + AS_JSON,
    "csv.gz": gzip.compress(as_csv()),
    "jsonl.zst": zstd(AS_JSON),
    "parquet": as_parquet(),
    "arrow": as_arrow(False),
    "arrow stream": as_arrow(True),
}


@pytest.mark.parametrize("form", INPUTS)
def test_standard_input(form: str) -> None:
    found = run("estimate", "-", "--column", "wind", "--by", "sky", "--prior", "5,1,2,2", data=INPUTS[form])
    assert found.exit_code == 0, found.stderr
    assert "2 beliefs" in found.output or "rain" in found.output


def test_every_command_reads_standard_input(tmp_path: Path) -> None:
    model, out = tmp_path / "m.credo", tmp_path / "out.csv"
    assert run("learn", "-", "-t", "play", "-o", model, data=as_csv()).exit_code == 0
    assert run("show", "-", data=AS_JSON).exit_code == 0
    assert run("predict", model, "-", "-o", out, data=as_csv(";")).exit_code == 0
    assert out.read_text().splitlines()[1].startswith('"sun",3.5,"yes","yes"')
    assert run("explain", model, "-", "--row", "2", data=as_csv()).exit_code == 0
    assert "40 rows learned" in run("update", model, "-", data=as_csv()).output
    assert "40 rows forgotten" in run("forget", model, "-", data=AS_JSON).output


@pytest.mark.parametrize(
    ("data", "options", "sentence"),
    [
        (b"", (), "standard input is empty"),
        (b"\n\n", (), "the first line is empty"),
        (b"sep=;\n", (), "the line after sep= is empty"),
        (b"a,b\n", (), "has a header, but no rows"),
        (b"\x1f\x8b\x08\x00oops", (), "can't be unpacked"),
        (b"\x28\xb5\x2f\xfdoops", (), "can't be unpacked"),
        (as_csv(), ("--format", "jsonl"), "isn't JSON"),
        (AS_JSON, ("--format", "csv"), "no column 'wind'"),
        (as_csv(), ("--delimiter", "||"), "a delimiter is one character"),
    ],
)
def test_bad_standard_input(data: bytes, options: tuple[str, ...], sentence: str) -> None:
    found = run("estimate", "-", "--column", "wind", *options, data=data)
    assert found.exit_code != 0
    assert sentence in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("name", ["a.csv.zst", "a.CSV.ZST", "a.jsonl.zst", "a.tsv.zst", "a.csv.gz"])
def test_packed_files(name: str, tmp_path: Path) -> None:
    content = AS_JSON if "json" in name else as_csv("\t" if "tsv" in name else ",")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else zstd(content))
    found = run("show", path)
    assert found.exit_code == 0, found.stderr
    assert "40 rows, 3 columns" in found.output
    path.write_bytes(path.read_bytes()[:-4])
    assert "can't be unpacked" in run("show", path).stderr


def test_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id|of|the|row,wind|speed\na|b|c,1.5\nd,2.5\n")
    assert "2 rows, 2 columns" in run("show", path).output
    path.write_text("a|b,c|d\n1|2,3|4\n5|6,7|8\n")  # cut into three by |, into two by ,
    assert "2 rows, 3 columns" in run("show", path).output
    assert "2 rows, 2 columns" in run("show", path, "--delimiter", ",").output
    path.write_text("a b\n1 2\n")
    assert "1 row, 2 columns" in run("show", path, "--delimiter", "space").output
    plain = tmp_path / "iris.data"
    plain.write_bytes(as_csv())
    assert "credo reads .csv" in run("show", plain).stderr
    assert "40 rows, 3 columns" in run("show", plain, "--format", "csv").output
    assert "40 rows, 3 columns" in run("show", plain, "--delimiter", ",").output
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(AS_JSON)
    assert "a delimiter is for .csv and .tsv files" in run("show", lines, "--delimiter", ",").stderr


@pytest.mark.parametrize("first", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "\ufeffsep=;\n"])
def test_the_first_line_of_excel(first: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    end = "\r\n" if "\r" in first else "\n"
    path.write_text(first + "a,b;c\n1,5;2\n2,5;3\n".replace("\n", end), encoding="utf-8", newline="")
    found = run("estimate", path, "--column", "c")
    assert found.exit_code == 0, found.stderr
    path.write_text("sep=;\na;b\n1;2\n3;4;5\n")
    assert "line 4: 3 fields, but the header has 2" in run("show", path).stderr
    path.write_text("sep=\n1\n2\n")  # a column of that name
    assert "2 rows, 1 column" in run("show", path).output


def test_missing_by_other_names(tmp_path: Path) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "m.credo"
    cells = [("unknown" if i % 5 == 0 else i % 7, "?" if i % 4 == 0 else "n", "ab"[i % 7 > 3]) for i in range(60)]
    rows = "".join(f"{x},{v},{y}\n" for x, v, y in cells)
    path.write_text("x,v,y\n" + rows)
    shown = run("show", path, "--missing", "unknown", "--missing", "?").output
    assert _line(shown, "x") == ["x", "number", "20.0%", "0", "to", "6"]
    assert _line(shown, "v")[:3] == ["v", "category", "25.0%"]
    asked = ("--missing", "unknown", "--missing", "?")
    assert run("learn", path, "-t", "y", "-o", model, *asked).exit_code == 0
    refused = run("predict", model, path, "-o", tmp_path / "out.csv").stderr
    assert "has the value 'unknown' (row 1) where a number is needed" in refused
    assert "If it means a missing cell, say so with --missing unknown" in refused
    for command in (("predict", "-o", tmp_path / "out.csv"), ("explain",), ("update",), ("forget",)):
        found = run(command[0], model, path, *command[1:], *asked)
        assert found.exit_code == 0, found.stderr


def test_a_notice_on_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1.5,a\nNA,b\n2.5,a\n" * 10)
    found = run("learn", path, "-t", "y")
    assert found.stderr.count("note: 10 cells read as missing: 'NA' (10) among the numbers of column 'x'") == 1


def _line(output: str, first: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if line.split()[:1] == [first])


# Files of another kind


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("comma.tsv", "If ',' is the delimiter, use --delimiter ,"),
        ("book.xlsx", "save the sheet as .csv"),
        ("rows.json", "write one JSON object per line, as .jsonl"),
        ("rows.dat", "read a file of another name with --format csv"),
    ],
)
def test_the_error_says_how_to_read_the_file(tmp_path: Path, name: str, advice: str) -> None:
    path = tmp_path / name
    path.write_bytes(as_csv())
    found = run("learn", path, "--target", "play")
    assert found.exit_code == 1
    assert found.output.endswith(f"{advice}\n")


def test_nested_columns_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(json.dumps({**row, "at": {"x": 1}}) + "\n" for row in ROWS), encoding="utf-8")
    assert "leave it out with --kind at=ignore" in run("learn", path, "--target", "play").output
    found = run("learn", path, "--target", "play", "--kind", "at=ignore")
    assert found.exit_code == 0, found.output


def test_another_kind_is_suggested_only_for_a_column_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"sky": "sun", "at": {"x": 1}}\n{"sky": "rain", "at": {"x": 2}}\n', encoding="utf-8")
    assert "--kind category" not in run("show", path).output


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("tune(data) again with all rows", "`credo learn` again with all rows"),
        ("or use credo.LinearRegression", "or use --model linear"),
        ("x.bif is not a credo file: a network's file is read by credo.Network.read", "credo ask, sample, impute"),
        ("use credo.read(data, delimiter='\\t')", "use --delimiter tab"),
    ],
)
def test_advice_in_python_becomes_a_command(sentence: str, said: str) -> None:
    assert said in in_options(sentence, "learn")


def test_what_explains_a_network_is_named(tmp_path: Path) -> None:
    path, rows = tmp_path / "asia.credo", tmp_path / "rows.csv"
    credo.save(credo.Network.example("asia"), path)
    rows.write_bytes(as_csv())
    assert "credo ask explains a network" in run("explain", path, rows).output
    explained = run("ask", path, "explain P(LungCancer=yes | Smoking=yes)")
    assert explained.exit_code == 0, explained.output
