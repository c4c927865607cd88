"""Files that are missing, broken, oddly written or oddly named: read as they are meant, or refused in a sentence."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import credo
from credo import Schema
from credo.data import source
from credo.errors import Notice
from tests.hostile.refusals import read_or_refused, refused

NOBODY = 65534
NORMAL = credo.NormalMean(0, 10, 1)
ALIKE = pa.table({"g": ["a", "b"] * 500, "x": [1.5, 2.5] * 500})


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def estimated(path: object, column: str = "x", **options: Any) -> Any:
    return credo.estimate(path, column, **options)


def mean(path: object, column: str = "x") -> float:
    found = credo.estimate(path, column, prior=NORMAL).maximum_likelihood()
    return float(found)


# Nothing to read


def test_a_missing_file(tmp_path: Path) -> None:
    write(tmp_path / "sales.csv", "x\n1\n")
    text = refused(estimated, tmp_path / "sale.csv")
    assert "there is no file" in text
    assert "Did you mean 'sales.csv'?" in text
    assert "there is no folder" in refused(estimated, tmp_path / "nowhere" / "sale.csv")
    assert "there is no file" in refused(estimated, f"{tmp_path}/*.parquet")
    assert "there is no file" in refused(estimated, "x" * 200)
    assert "there is no file" in refused(estimated, "sales\0.csv")
    assert "name too long" in refused(estimated, f"{tmp_path}/{'x' * 260}.csv").lower()
    assert "can't be opened" in refused(estimated, "~nobody-of-that-name/sales.csv")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "jsonl.gz"])
def test_an_empty_file(tmp_path: Path, suffix: str) -> None:
    content = gzip.compress(b"") if suffix.endswith("gz") else b""
    assert refused(estimated, write(tmp_path / f"a.{suffix}", content)).endswith(f"a.{suffix} is empty")


def test_a_header_only(tmp_path: Path) -> None:
    for content in ("g,x\n", "g,x", "g,x\n\n\n", "\ufeffg,x\r\n"):
        assert "has a header, but no rows" in refused(estimated, write(tmp_path / "a.csv", content))
    write(tmp_path / "b.csv", "g,x\na,1\n")
    assert mean(tmp_path / "*.csv") == 1  # of two files, one may have no rows
    assert "the data is empty" in refused(estimated, write_parquet(tmp_path / "a.parquet", ALIKE.slice(0, 0)))
    assert "the data is empty" in refused(estimated, write_arrow(tmp_path / "a.arrow", ALIKE.slice(0, 0)))
    assert "has no rows" in refused(estimated, write(tmp_path / "a.jsonl", "\n  \n"))


def write_parquet(path: Path, table: Any) -> Path:
    pq.write_table(table, path)
    return path


def write_arrow(path: Path, table: Any) -> Path:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return path


def test_a_folder(tmp_path: Path) -> None:
    assert refused(estimated, tmp_path) == f"{tmp_path} is an empty folder"
    (tmp_path / "x.csv").mkdir()
    assert "is a folder; name a file in it, or a pattern such as" in refused(estimated, tmp_path)
    assert "is an empty folder" in refused(estimated, tmp_path / "x.csv")
    assert "there is no file" in refused(estimated, f"{tmp_path}/*.csv")


def test_formats_that_credo_doesnt_read(tmp_path: Path) -> None:
    for name in ("a.xlsx", "a", "a.gz", "a.parquet.gz", "a.csv.zip", ".csv"):
        text = refused(estimated, write(tmp_path / name, "x\n1\n"))
        assert "credo reads .csv, .tsv, .jsonl, .parquet, .arrow (and .csv.gz" in text
    write(tmp_path / "b.csv", "x\n1\n")
    write(tmp_path / "b.jsonl", '{"x": 1}\n')
    assert "several formats (csv, jsonl)" in refused(estimated, f"{tmp_path}/b.*")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    assert "isn't a regular file" in refused(estimated, tmp_path / "a.csv")


@contextmanager
def as_someone_else() -> Iterator[Path]:
    """A folder of one's own, in which root's rights don't help."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        root = os.geteuid() == 0
        if root:
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            if root:
                os.seteuid(0)


def test_what_may_not_be_read() -> None:
    with as_someone_else() as folder:
        closed = folder / "closed"
        closed.mkdir()
        path = write(closed / "a.csv", "x\n1\n")
        path.chmod(0)
        assert refused(estimated, path) == f"{path} can't be read: permission denied"
        path.chmod(0o600)
        closed.chmod(0)
        assert refused(estimated, path) == f"{path} can't be read: permission denied"
        assert refused(estimated, closed) == f"{closed} can't be read: permission denied"
        assert "permission denied" in refused(estimated, f"{closed}/*.csv")
        closed.chmod(0o700)


# Text that isn't what it should be


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("g,x,y\na,1,2\nb,2\nc,3,4\n", 3, 2),
        ("g,x,y\na,1,2\nb,2,3,4\n", 3, 4),
        ('g,x,y\n"two\nlines",1,2\n\nb,2\n', 5, 2),
        ("g,x,y\n" + "a,1,2\n" * 300_000 + "b,1\n", 300_002, 2),
    ],
)
def test_ragged_rows(tmp_path: Path, content: str, line: int, found: int) -> None:
    path = write(tmp_path / "a.csv", content)
    assert refused(estimated, path, by="g") == f"{path}, line {line}: {found} fields, but the header has 3"
    path = write(tmp_path / "a.csv.gz", gzip.compress(content.encode()))
    assert refused(estimated, path) == f"{path}, line {line}: {found} fields, but the header has 3"


def test_quotes_that_dont_close(tmp_path: Path) -> None:
    for content in ('g,x\n"a,1\nb,2\n', 'g,x\n"a"b,1\nb,2\n'):
        text = refused(estimated, write(tmp_path / "a.csv", content), "g")
        assert "line 2: a quote is opened and not closed" in text


@pytest.mark.parametrize("line", ['ham\t"hi" she said', 'ham\t"hi there', 'ham\t"hi there\nspam\tx"', '"ham\tx'])
@pytest.mark.parametrize("packed", [False, True])
def test_quotes_in_a_tsv_that_are_characters(tmp_path: Path, line: str, packed: bool) -> None:
    content = f"label\ttext\n{line}\nham\tno\n"
    path = write(tmp_path / "a.tsv", content)
    if packed:
        path = write(tmp_path / "a.tsv.gz", gzip.compress(content.encode()))
    with pytest.warns(Notice, match=r"a\.tsv.*: unbalanced quotes are read as ordinary characters"):
        table = source(path)
    rows = [tuple(each.split("\t")) for each in content.splitlines()[1:]]
    batches = list(table.batches(table.names))
    assert [row for b in batches for row in zip(*(b.column(n).to_pylist() for n in b.names), strict=True)] == rows


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('label\ttext\nham\t"two\nlines"\nham\tx\n', ["two\nlines", "x"]),
        ('label\ttext\nham\t"a ""b"""\n', ['a "b"']),
        ('"label"\t"text"\nham\t"a\tb"\n', ["a\tb"]),
        ('label\ttext\nham\tsay "hi"\n', ['say "hi"']),
        ('text\n"two\nlines"\n', ["two\nlines"]),
    ],
)
def test_quotes_in_a_tsv_that_pair(tmp_path: Path, content: str, texts: list[str]) -> None:
    table = source(write(tmp_path / "a.tsv", content))
    assert [cell for batch in table.batches(["text"]) for cell in batch.column("text").to_pylist()] == texts


def test_a_tsv_that_is_ragged_either_way(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", 'label\ttext\nham\t"hi\nspam\n')
    assert "line 2: a quote is opened and not closed" in refused(lambda: list(source(path).batches(["text"])))


def test_a_text_in_place_of_a_path() -> None:
    advice = 'A string is a path: for one text write ["..."]'
    assert refused(source, "Free prize") == f"there is no file 'Free prize'. {advice}"
    assert refused(source, "Free prize! " * 1000).endswith(advice)
    assert refused(source, "no such.csv") == "there is no file 'no such.csv'"


def test_mixed_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "g,x\r\na,1\nb,2\r\n")
    assert "several ways: save it with one kind of line end" in refused(estimated, path)


def test_a_binary_file_named_csv(tmp_path: Path) -> None:
    assert "is a binary file, not text" in refused(estimated, write(tmp_path / "a.csv", bytes(range(256)) * 100))
    path = write_parquet(tmp_path / "b.parquet", ALIKE).rename(tmp_path / "b.csv")
    assert "is a binary file, not text" in refused(estimated, path)
    noise = bytes(range(128, 256)) * 10
    assert "line 1 isn't UTF-8 text" in refused(estimated, write(tmp_path / "c.csv", noise))
    packed = write(tmp_path / "d.csv", gzip.compress(b"g,x\na,1\n"))
    assert "is a binary file" in refused(estimated, packed)


def test_other_encodings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "g,x\nä,1\n".encode("latin-1"))
    assert refused(estimated, path) == f"{path}, line 2 isn't UTF-8 text: save the file as UTF-8"
    path = write(tmp_path / "b.csv", ("g,x\n" + "a,1\n" * 50_000 + "ä,1\n").encode("latin-1"))
    assert refused(estimated, path, by="g") == f"{path}, line 50002 isn't UTF-8 text: save the file as UTF-8"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        marked = encoding in ("utf-16", "utf-32")
        text = refused(estimated, write(tmp_path / "c.csv", "g,x\na,1\n".encode(encoding)))
        assert ("is UTF-16 text: save it as UTF-8" if marked else "is a binary file") in text
    path = write(tmp_path / "a.jsonl", '{"x": "ä"}\n'.encode("latin-1"))
    assert refused(estimated, path) == f"{path}, line 1 isn't UTF-8 text: save the file as UTF-8"


def test_names_given_twice(tmp_path: Path) -> None:
    for header in ("x,x", "x,g, x ", '"x",x'):
        path = write(tmp_path / "a.csv", f"{header}\n1,2,3\n")
        assert refused(estimated, path) == f"{path}: two columns are named 'x'; rename one of them"
    twice = pa.Table.from_arrays([[1], [2]], names=["x", "x"])
    assert "two columns are named 'x'" in refused(estimated, write_arrow(tmp_path / "a.arrow", twice))
    assert "two columns are named 'x'" in refused(estimated, write_parquet(tmp_path / "a.parquet", twice))
    upper = write_parquet(tmp_path / "b.parquet", pa.table({"x": [1], "X": [2]}))
    assert "doesn't distinguish upper and lower case" in refused(estimated, upper)
    upper = write(tmp_path / "b.jsonl", '{"x": 1, "X": 2}\n')
    assert "the columns 'X' and 'x' differ only in case" in refused(estimated, upper)
    assert "duplicate key" in refused(estimated, write(tmp_path / "c.jsonl", '{"x": 1, "x": 2}\n'))
    fine = write(tmp_path / "d.jsonl", '{"x": 1, "x_1": 5}\n')
    assert mean(fine, "x_1") == 5
    fine = write(tmp_path / "d.csv", "x,X\n1,5\n")
    assert (mean(fine, "x"), mean(fine, "X")) == (1, 5)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_garbage_and_truncation(tmp_path: Path, suffix: str) -> None:
    name = {"parquet": "Parquet", "arrow": "Arrow"}[suffix]
    whole = {"parquet": write_parquet, "arrow": write_arrow}[suffix](tmp_path / f"a.{suffix}", ALIKE).read_bytes()
    path = tmp_path / f"b.{suffix}"
    for content in (b"garbage" * 50, whole[:-5], whole[: len(whole) // 2], whole[:20], b"\0", b"ARROW1"):
        text = refused(estimated, write(path, content))
        assert text.startswith(f"{path} isn't a valid {name} file: ")


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_never_crash(tmp_path: Path, seed: int) -> None:
    """A few bytes changed anywhere: read, or refused; a wrong length inside mustn't lead out of the file."""
    random = Random(seed)
    table = ALIKE.append_column("w", ALIKE["g"].combine_chunks().dictionary_encode())
    path = write_arrow(tmp_path / "a.arrow", table) if seed % 2 else write_parquet(tmp_path / "a.parquet", table)
    content = bytearray(path.read_bytes())
    for _ in range(random.randint(1, 8)):
        content[random.randrange(len(content))] = random.randrange(256)
    write(path, bytes(content))
    read_or_refused(estimated, path, by="g", prior=NORMAL)
    read_or_refused(estimated, path, by="w", prior=NORMAL)


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"g,x\n" + b"a,1\n" * 10_000, compresslevel=0)
    wrong = bytearray(whole)
    wrong[100] ^= 1  # unpacks, but isn't what was packed
    for content in (b"garbage" * 50, whole[: len(whole) // 2], whole[:-4], bytes(wrong), whole + b"garbage"):
        for suffix in ("csv", "jsonl"):
            assert "can't be unpacked" in refused(estimated, write(tmp_path / f"a.{suffix}.gz", content))
    assert mean(write(tmp_path / "b.csv.gz", whole + gzip.compress(b"b,1\n"))) == 1  # several members are one file


def test_jsonl_that_isnt(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for before, wrong in ((1, "not json"), (1, '{"x":'), (5000, '{"x": 1')):
        text = refused(estimated, write(path, '{"x": 1}\n' * before + f"{wrong}\n"))
        assert text.startswith(f"{path}, line {before + 1} isn't JSON: ")
    for content in ("[1, 2]\n", "1\n", '"x"\n'):
        assert f"line 1: {content.strip()!r} isn't a JSON object" in refused(estimated, write(path, content))
    assert "line 2: '[1, 2]' isn't a JSON object" in refused(estimated, write(path, '{"x": 1}\n[1, 2]\n{"x": 2}\n'))
    assert "needs a name" in refused(estimated, write(path, '{"": 1}\n'))
    assert "needs a name" in refused(estimated, write(path, "{}\n{}\n"))
    assert "byte order mark" in refused(estimated, write(path, '\ufeff{"x": 1}\n'))
    assert "isn't JSON" in refused(estimated, write(path, '{"x": 1}{"x": 2}\n'))
    assert mean(write(path, '{"x": 1}\r\n\r\n{"x": 3, "y": null}\n\n')) == 2


def test_files_with_different_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "g,x\na,1\n")
    write(tmp_path / "b.csv", "g,y\na,1\n")
    text = refused(estimated, f"{tmp_path}/*.csv")
    assert text == f"{tmp_path}/b.csv and {tmp_path}/a.csv have different columns: x, y"


# Text that is oddly written, but well


@pytest.mark.parametrize(
    "content",
    [
        'g,x\n"two\nlines",1\nb,3\n',
        'g,x\n"say ""hi""",1\nb,3\n',
        "g,x\r\na,1\r\nb,3\r\n",
        "g,x\ra,1\rb,3\r",
        "\ufeffg,x\na,1\nb,3\n",
        "\ufeff\"g\",x\na,1\nb,3\n",
        "g;x\na;1\nb;3\n",
        "g\tx\na\t1\nb\t3\n",
        "g|x\na|1\nb|3\n",
        '"g,h,i";x\na;1\nb;3\n',
        "g,x\na,1\nb,3",
        "g,x\na,1\nb,3\n\n\n\n",
        "g,x\na,1\n\nb,3\n",
        "g, x \na, 1\nb, 3\n",
        'g,x\na,"1"\nb,"3"\n',
        "g,x\na,1\nb,\nc,3\n",
        'g,x\na,1\nb,""\nc,3\n',
        "x\n1\n3\n",
        "x\n1\n\n3\n\n",
        'x\n1\n""\n3\n',
        "x,\n1,\n3,\n",
        "g,x\n#,1\n# b,3\n",
        "g,x\n\u2028,1\n\x0b\x1c,3\n",
        f"g,x\n{'y' * 1_000_000},1\nb,3\n",
        f"g,x\n\"{'long, ' * 500_000}\",1\nb,3\n",
        f"g,{','.join(f'column {j}' for j in range(2000))},x\na,{',' * 1999},1\nb,{',' * 1999},3\n",
        "g,x\na,1e0\nb,+3.0\n",
    ],
    ids=lambda content: ascii(content[:25]),
)  # fmt: skip
def test_csv_as_it_is_written(tmp_path: Path, content: str) -> None:
    assert mean(write(tmp_path / "a.csv", content)) == 2
    assert mean(write(tmp_path / "a.csv.gz", gzip.compress(content.encode()))) == 2


def test_lines_longer_than_that(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"g,x\n{'y' * 20_000_000},1\nb,3\n")
    assert "line 2: it is longer than 16 MB" in refused(estimated, path)


def test_headers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a b,"say ""x""",größe,,"x, y","two\nlines",\'; DROP TABLE t; --\n1,2,3,4,5,6,7\n')
    names = ("a b", 'say "x"', "größe", "column3", "x, y", "two\nlines", "'; DROP TABLE t; --")
    assert Schema.infer(path).names == names
    assert [mean(path, name) for name in names] == [1, 2, 3, 4, 5, 6, 7]
    for content in ("\ng,x\na,1\n", "  \ng,x\na,1\n", ",\n1,2\n"):
        text = refused(estimated, write(tmp_path / "b.csv", content))
        assert "the first line is empty; it must hold the names of the columns" in text
    path = write(tmp_path / "a.jsonl", '{"a b": 1, "say \\"x\\"": 2, "größe": 3, "it\'s": 4}\n')
    assert [mean(path, name) for name in ("a b", 'say "x"', "größe", "it's")] == [1, 2, 3, 4]
    path = write_parquet(tmp_path / "a.parquet", pa.table({'say "x"': [1], "a b": [2], "": [3]}))
    assert [mean(path, name) for name in ('say "x"', "a b")] == [1, 2]


@pytest.mark.parametrize(
    "stem",
    ["a b", "it's", 'say "x"', "a[1]", "größe", "a*b", "a?b", "{a,b}", "%20", "#a", "a.b", "-a", "$(ls)", "a\nb"],
)
def test_file_names(tmp_path: Path, stem: str) -> None:
    for other in ("a1", "aXb", "a"):
        write(tmp_path / f"{other}.csv", "x\n99\n")
    path = write(tmp_path / f"{stem}.csv", "x\n7\n")
    assert mean(path) == mean(str(path)) == 7
    assert mean(write(tmp_path / f"{stem}.jsonl", '{"x": 7}\n')) == 7
    assert mean(write_parquet(tmp_path / f"{stem}.parquet", pa.table({"x": [7]}))) == 7
    assert mean(write_arrow(tmp_path / f"{stem}.arrow", pa.table({"x": [7]}))) == 7


def test_a_pattern(tmp_path: Path) -> None:
    for i in range(12):
        write(tmp_path / f"a{i}.csv", f"x\n{i}\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    write(tmp_path / "deep" / "er" / "a.csv", "x\n100\n")
    assert credo.estimate(f"{tmp_path}/a*.csv", "x").n == 12
    assert mean(f"{tmp_path}/a[12].csv") == 1.5
    assert mean(tmp_path / "a1?.csv") == 10.5
    assert credo.estimate(f"{tmp_path}/**/*.csv", "x").n == 13


# Cells


def test_a_word_among_numbers_in_a_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "g,x\na,1\nb,2\nc,gone\nd,4\n")
    text = refused(estimated, path, prior=NORMAL)
    assert "column 'x' has the value 'gone' (row 3) where a number is needed" in text
    assert "say so with credo.read(data, missing=['gone']); if the column holds names" in text
    assert "use kinds={'x': 'category'}" in text
    assert text == refused(estimated, path, kinds={"x": "number"})
    late = write(tmp_path / "b.csv", "x\n" + "1\n" * 200_000 + "seven\n")
    assert "'seven' (row 200001)" in refused(estimated, late, prior=NORMAL)


def test_nested_cells_are_refused_only_where_used(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 3], "list": [[1], [2, 3]], "struct": [{"a": 1}, {"a": 2}]})
    for path in (
        write(
            tmp_path / "a.jsonl",
            '{"x": 1, "list": [1], "struct": {"a": 1}}\n{"x": 3, "list": [2], "struct": {"a": 2}}\n',
        ),
        write_parquet(tmp_path / "a.parquet", table),
        write_arrow(tmp_path / "a.arrow", table),
    ):
        assert mean(path) == 2
        for column in ("list", "struct"):
            text = refused(estimated, path, column)
            assert f"column '{column}' holds {column}<" in text
            assert "make it one of these, or leave it out" in text
            assert f"column '{column}' holds" in refused(estimated, path, by=column, prior=NORMAL)


# Whatever else there may be

CELLS = st.text(st.sampled_from('ab1.,-;|\t "\n\r\0é\u2028#\\e0+_'), max_size=6)


@given(st.text(st.sampled_from('abx1.,;|\t "\n\r\0é\u2028#0+_'), max_size=60))
@example('x\n"')
@example("x\n\r\n1\r")
@example('"\n')
@example("a,b\n,\n")
@settings(deadline=None, max_examples=100)
def test_any_text_is_read_or_refused(content: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.csv", content)
        read_or_refused(estimated, path)
        read_or_refused(Schema.infer, path)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), max_size=5))
@settings(deadline=None, max_examples=60)
@pytest.mark.slow
def test_any_cells_are_read_or_refused(rows: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.csv", "a,b\n" + "\n".join(map(",".join, rows)))
        read_or_refused(estimated, path, "a")
        read_or_refused(estimated, path, "a", by="b")
        read_or_refused(Schema.infer, path)
