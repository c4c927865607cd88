"""Folders and mail that are broken, endless or meant to do harm: a text, or one sentence; and soon."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from contextlib import suppress
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from credo.data import documents, source
from credo.data.documents import documents as documents_of
from credo.data.mail import message_text, messages, stripped
from credo.errors import DataError, Notice
from tests.hostile.refusals import refused
from tests.hostile.test_files import as_someone_else
from tests.work import guarded

MB = 2**20


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def texts(data: object) -> list[Any]:
    table = source(data)
    return [cell for batch in table.batches(["text"]) for cell in batch.column("text").to_pylist()]


# Folders


def test_folders_without_documents(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    write(tmp_path / "a" / ".hidden", "x")
    assert "is a folder; name a file in it, or a pattern such as" in refused(texts, tmp_path)
    assert refused(documents_of, tmp_path) == f"there are no documents in {tmp_path}"
    write(tmp_path / "a" / "x.csv", "x\n1\n")
    assert "is a folder; name a file in it, or a pattern such as" in refused(texts, tmp_path)
    write(tmp_path / "a" / "x.txt", "x")
    text = refused(texts, tmp_path)
    assert text.startswith(f"{tmp_path} holds documents and the table {tmp_path}/a/x.csv: name the table, or a pattern")


def test_what_isnt_asked_for_rightly(tmp_path: Path) -> None:
    invalid: Any = "ignore"
    assert refused(documents_of, tmp_path, invalid=invalid) == "invalid must be 'replace' or 'refuse', but is 'ignore'"
    assert "there is no file" in refused(documents_of, tmp_path / "x.txt")
    assert "there is no file" in refused(texts, tmp_path / "x.mbox")
    assert "there is no file" in refused(texts, "x\0.eml")
    assert "can't be opened" in refused(texts, "~nobody-of-that-name/x.eml")
    assert refused(documents_of, write(tmp_path / "x.csv", "x")) == f"{tmp_path}/x.csv is a table, not a document"
    for name in ("x.eml", "x.mbox", "x.txt"):
        assert refused(documents_of, write(tmp_path / name, "")) == f"{tmp_path / name} is empty"


def test_binary_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1", bytes(range(256)) * 100)
    assert refused(texts, tmp_path) == f"{path} is a binary file, not text: remove it"
    write(path, "word\0")
    assert "is a binary file" in refused(texts, tmp_path)
    write(path, "wörd".encode("utf-16"))
    assert texts(tmp_path) == ["wörd"]
    write(path, "wörd".encode("utf-16") + b"\0\xd8")
    with pytest.warns(Notice, match="not UTF-8 text"):
        assert texts(tmp_path) == ["wörd\ufffd"]
    path.rename(path.with_name("1.eml"))
    assert len(texts(tmp_path)) == 1  # mail holds all sorts of bytes


def test_an_empty_document_is_a_missing_cell(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1", "")
    write(tmp_path / "a" / "2.eml", "")
    write(tmp_path / "a" / "3.mbox", "")
    assert texts(tmp_path) == ["", ""]


def test_an_mbox_without_from(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mbox", "Subject: x\n\nFrom me\n")
    assert refused(texts, path) == f"{path} isn't an mbox file: its first line doesn't begin with 'From '"
    assert "isn't an mbox file" in refused(texts, write(path, os.urandom(100_000)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_links_that_lead_nowhere(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.eml")
    assert "isn't a regular file" in refused(texts, tmp_path)
    assert "isn't a regular file" in refused(texts, tmp_path / "x.eml")
    (tmp_path / "x.eml").unlink()
    (tmp_path / "y").symlink_to(tmp_path / "nowhere")
    assert "is a broken link: remove it" in refused(texts, tmp_path)
    (tmp_path / "y").unlink()
    (tmp_path / "z").symlink_to(tmp_path / "z")
    assert refused(texts, tmp_path).startswith(f"{tmp_path}/z can't be read: ")


def test_links_in_circles(tmp_path: Path) -> None:
    write(tmp_path / "a" / "deep" / "1", "x")
    write(tmp_path / "b" / "2", "y")
    (tmp_path / "a" / "deep" / "up").symlink_to(tmp_path)
    for folder in ("a", "b"):
        for i in range(20):  # followed each time, they'd be more paths than atoms
            (tmp_path / folder / f"link{i}").symlink_to(tmp_path)
    (tmp_path / "b" / "a").symlink_to(tmp_path / "a")
    with guarded():
        assert texts(tmp_path) == ["x", "y"]
    linked = tmp_path / "elsewhere"
    linked.symlink_to(tmp_path / "b")
    with pytest.warns(Notice, match="1 file beside the folders"):
        assert texts(linked) == ["x"]


def test_what_may_not_be_read() -> None:
    with as_someone_else() as folder:
        path = write(folder / "a" / "1", "x")
        mail = write(folder / "a.eml", "x")
        for closed in (path, mail):
            closed.chmod(0)
        assert refused(texts, mail) == f"{mail} can't be read: permission denied"
        mail.unlink()
        assert refused(texts, folder) == f"{path} can't be read: permission denied"
        path.parent.chmod(0)
        assert refused(texts, folder) == f"{path.parent} can't be read: permission denied"
        path.parent.chmod(0o700)


def test_names_that_arent_unicode(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/f\xff"))
    try:
        write(folder / "1", "x")
    except OSError:
        pytest.skip("such names can't be here")
    text = refused(texts, tmp_path)
    assert text.endswith("f\\udcff' isn't UTF-8; rename it")
    assert text.isascii()
    assert texts(folder) == ["x"]
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/f\xff/\xfe\n.txt"))
    write(odd, "y\0")
    with pytest.warns(Notice, match=r"^1 binary file in .* left out, the first of them .*udcfe.*txt.$"):
        assert texts(folder) == ["x"]
    write(odd, b"\xff")
    with pytest.warns(Notice, match="not UTF-8 text: 1 document in .*udcfe"):
        assert texts(folder) == ["x", "\ufffd"]


def test_files_that_vanish(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1", "x")
    table = source(tmp_path)
    (tmp_path / "a" / "1").unlink()
    assert refused(texts, table) == f"{tmp_path}/a/1 no longer exists: it was removed meanwhile"
    (tmp_path / "a" / "1").mkdir()
    assert "isn't a regular file" in refused(texts, table)


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"From a@b\nSubject: x\n\n" + os.urandom(10_000))
    for name in ("a.mbox.gz", "a.eml.gz", "a.txt.gz"):
        for content in (b"garbage" * 50, whole[: len(whole) // 2], whole[:-4]):
            path = write(tmp_path / "a" / name, content)
            assert refused(texts, tmp_path).startswith(f"{path} can't be read: ")
        path.unlink()


@pytest.mark.slow
def test_documents_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "DOCUMENT_BYTES", 4 * MB)
    bombs = {"a.txt.gz": b"x", "a.eml.gz": b"x", "a.mbox.gz": b"From x\n"}
    for name, start in bombs.items():
        path = write(tmp_path / name, gzip.compress(start + b"x" * (100 * MB), compresslevel=1))
        tracemalloc.start()
        assert "4 MB" in refused(texts, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 30 * MB
        tracemalloc.stop()
        path.unlink()


@pytest.mark.slow
def test_a_large_document(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1", "größe " * (100 * MB // 8))
    write(tmp_path / "a" / "2", "small")
    with guarded():
        assert [len(text) for text in texts(tmp_path)] == [6 * (100 * MB // 8), 5]


def test_an_mbox_is_never_in_memory_whole(tmp_path: Path) -> None:
    message = b"From a@b Thu Jan  1\nSubject: x\n\n" + b"line\n" * 20_000 + b"\n"
    path = write(tmp_path / "a.mbox", message * 1000)  # 100 MB
    tracemalloc.start()
    assert sum(batch.rows for batch in source(path).batches(["text"])) == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * MB


# Messages that take long, or go deep


def nested(levels: int) -> bytes:
    opened = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(levels))
    return b"".join(opened) + b"\nat last\n" + b"".join(b"--b%d--\n" % i for i in reversed(range(levels)))


def test_messages_that_are_nested_deep() -> None:
    assert message_text(nested(15)) == "at last"
    with guarded():
        for levels in (100, 1000, 20_000):
            assert message_text(b"Subject: x\n" + nested(levels)) == "x\n\n"
        same = b"Content-Type: multipart/mixed; boundary=b\n\n"
        assert message_text((same + b"--b\n") * 20_000) == ""
        assert len(message_text(same + b"--b\n\nx\n" * 300_000)) < 10_000
        forwarded = b"Content-Type: message/rfc822\n\n"
        assert message_text(forwarded * 15 + b"Subject: x\n\nat last") == "x\n\nat last"
        assert message_text(forwarded * 100_000) == ""
        message_text(same + (b"--b\nContent-Type: text/plain" + b";\xff" * 5000 + b"\n\nx\n") * 1000)


LONG_HEADERS = [
    b"Subject: " + b"a" * (10 * MB),
    b"Subject: " + b"=?a?q?" * (2 * MB),
    b"Subject: " + b"=?utf-8?q?a?=\n " * (MB // 2),
    b"Subject: x\n" * MB,
    b"Subject: x\n" + b" y\n" * (3 * MB),
    b"Content-Type: text/plain" + b'; a="b' * MB,
    b"Content-Type: text/plain; charset*" + b"9" * (10 * MB) + b"=x",
    b"Content-Type: text/plain" + b'; charset*0*="' * MB,
    b"Content-Type: multipart/mixed; boundary=" + b"b" * (10 * MB),
    b"Content-Disposition: " + b"(" * (10 * MB),
    b"x" * (10 * MB) + b": y",
]


@pytest.mark.parametrize("header", LONG_HEADERS, ids=lambda header: ascii(header[:30]))
def test_headers_of_ten_megabytes(header: bytes) -> None:
    with guarded():
        text = message_text(header + b"\n\nbody")
    assert text.endswith("body")
    assert len(text) < 10_000


BODIES = [
    (b"quoted-printable", b"=\n" * MB),
    (b"quoted-printable", b"=" * MB),
    (b"quoted-printable", b" " * MB + b"x"),
    (b"base64", b"=" * MB),
    (b"base64", b"A\n" * MB),
    (b"base64", b"\0" * MB),
    (b"x-unknown", b"\xff\0" * MB),
    (b"8bit", b"\n" * MB),
]


@pytest.mark.parametrize(("encoding", "body"), BODIES, ids=lambda value: ascii(value[:20]))
def test_bodies_that_arent_what_they_say(encoding: bytes, body: bytes) -> None:
    for charset in (b"utf-8", b"utf-16", b"utf-7", b"punycode", b"idna", b"unicode_escape", b"zlib", b"hz"):
        with guarded():
            header = b"Content-Type: text/plain; charset=%s\nContent-Transfer-Encoding: %s\n\n" % (charset, encoding)
            message_text(header + body).encode()


BOMBS = [
    "<", "<a ", "<a", "<a>", "<div>", "</", "</a", "<!", "<!--", "<!-->", "<![", "<?", '<a "', "<a b='", '<a b="',
    "<a b=", "<script>", "<script", "<style></style>", "</script", "=", "&", "&#", "&#9", "&#x", "&amp;", "&lt",
    "&a" * 20, " ", "\n ", "\v", "\x85",
]  # fmt: skip


@pytest.mark.parametrize("piece", BOMBS, ids=ascii)
@pytest.mark.slow
def test_html_bombs(piece: str) -> None:
    with guarded():
        stripped(piece * (2 * MB // len(piece)))
        stripped("<a " + piece * (2 * MB // len(piece)) + ">" + "</a>" * 1000)


def test_a_million_nested_tags() -> None:
    with guarded():
        assert stripped("<div>" * 1_000_000 + "word" + "</div>" * 1_000_000) == "word"


# Whatever else there may be


def real_looking() -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ä <a@b.c>", "größe und 日本"
    message.set_content("Plain größe = 5\n" * 3, cte="quoted-printable")
    message.add_alternative(
        "<html><style>p {}</style><p class='x'>größe &amp; &#xe9;</html>", subtype="html", cte="base64"
    )
    message.add_attachment(b"\x89PNG" * 10, maintype="image", subtype="png", filename="größe.png")
    message.set_boundary("=-outer")
    return message.as_bytes()


REAL = real_looking()
PIECES = [
    b"\n", b"\r\n", b"\0", b"\xff", b"--=-outer\n", b"--=-outer--\n", b"Content-Type: ", b"multipart/mixed; boundary=",
    b"text/html; charset=", b"charset*0*=utf-8''%", b"utf-7", b"=?utf-8?b?", b"?=", b"From ", b"\n\nFrom x\nA:",
    b"<!--", b"<script ", b"&#", b"Subject: ", b"Content-Transfer-Encoding: base64\n\n", b";", b'"', b"=", b"'", b"*",
    b"=\xc3", b"(", b"\\",
]  # fmt: skip


def read(content: bytes) -> None:
    """A message, and an mbox if it is one."""
    with guarded():
        assert message_text(content).encode() is not None  # whole characters, as Arrow needs them
        with suppress(DataError):
            for part in messages(BytesIO(content), "x", MB):
                message_text(part)


@given(st.binary(max_size=2000))
@example(b"Content-Type: text/plain; charset*=x'\n\n\x80")
@example(b"Content-Type: multipart/mixed; boundary*=utf-8''%\n\n--\xff")
@example(b"Content-Type: multipart/mixed; boundary*0*=\xff''a\n\n")
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_a_message(content: bytes) -> None:
    read(content)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=20)), max_size=60).map(b"".join))
@settings(deadline=None, max_examples=300)
def test_any_pieces_are_a_message(content: bytes) -> None:
    read(content)
    read(b"From x\n" + content)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_messages(seed: int) -> None:
    random, content = Random(seed), bytearray(REAL)
    for _ in range(random.randint(1, 20)):
        at = random.randrange(len(content))
        content[at : at + random.randint(0, 30)] = random.choice([*PIECES, random.randbytes(3), content[:at][-200:]])
    read(bytes(content))


def test_the_message_that_is_damaged_reads_well() -> None:
    assert message_text(REAL) == "größe und 日本\n\n" + "Plain größe = 5\n" * 3


@given(st.lists(st.sampled_from([piece.decode("latin-1") for piece in PIECES] + BOMBS), max_size=60).map("".join))
@settings(deadline=None, max_examples=300)
def test_any_html_is_stripped(html: str) -> None:
    stripped(html)
