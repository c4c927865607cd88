"""Folders of documents, and mail: what is read, in which order, under which label, and as which text."""

from __future__ import annotations

import base64
import gzip
import mailbox
import warnings
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.data import Batch, cutting, documents, mail, source
from credo.data.documents import DOCUMENT_BYTES
from credo.data.documents import documents as documents_of
from credo.data.mail import message_text, messages, stripped
from credo.errors import DataError, Notice, SchemaError
from credo.streaming.predictions import predictions


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def batches(data: object, *names: str) -> list[Batch]:
    table = source(data)
    return list(table.batches(names or table.names))


def column(data: object, name: str = "text") -> list[Any]:
    return [cell for batch in batches(data, name) for cell in batch.column(name).to_pylist()]


# Folders


def test_a_folder_of_folders(tmp_path: Path) -> None:
    write(tmp_path / "spam" / "2.txt", "buy")
    write(tmp_path / "spam" / "10", "sell")
    write(tmp_path / "ham" / "deep" / "er" / "x.md", "\ufeffgrüß dich")
    write(tmp_path / "ham" / "a.eml", "Subject: hi\n\nbody")
    write(tmp_path / "ham" / ".hidden", "no")
    write(tmp_path / ".git" / "config", "no")
    (tmp_path / "empty" / "nested").mkdir(parents=True)
    table = source(tmp_path)
    assert (table.names, table.rows, table.once) == (("text", "label"), 4, False)
    assert column(tmp_path) == ["hi\n\nbody", "grüß dich", "sell", "buy"]
    assert column(f"{tmp_path}/", "label") == ["ham", "ham", "spam", "spam"]
    assert [batch.names for batch in batches(tmp_path, "label", "text")] == [("label", "text")]


def test_a_folder_of_documents_only(tmp_path: Path) -> None:
    for name in ("b.txt", "a", "csv", "c.html"):
        write(tmp_path / name, name)
    (tmp_path / "empty").mkdir()
    table = source(tmp_path)
    assert (table.names, table.rows) == (("text",), 4)
    assert column(tmp_path) == ["a", "b.txt", "c.html", "csv"]


def test_messages_of_an_mbox_have_its_label(tmp_path: Path) -> None:
    write(tmp_path / "ham" / "a.mbox", mbox(b"Subject: 1\n\nx\n", b"Subject: 2\n\ny\n"))
    write(tmp_path / "ham" / "b.txt", "z")
    write(tmp_path / "spam" / "Apple.mbox" / "mbox", mbox(b"Subject: 3\n\nx\n"))
    table = source(tmp_path)
    assert table.rows is None  # only who reads the mbox knows
    assert column(table) == ["1\n\nx\n", "2\n\ny\n", "z", "3\n\nx\n"]
    assert column(table, "label") == ["ham", "ham", "ham", "spam"]


def test_files_beside_the_folders_have_no_label(tmp_path: Path) -> None:
    write(tmp_path / "ham" / "1", "x")
    write(tmp_path / "README", "y")
    with pytest.warns(Notice, match="^1 file beside the folders in .* left out: it has no label$"):
        table = source(tmp_path)
    assert column(table) == ["x"]


def test_mailboxes_beside_each_other_are_labels(tmp_path: Path) -> None:
    for name in ("ham.mbox", "Spam.MBOX"):
        write(tmp_path / name, f"From me\nSubject: {name}\n\nx\n")
    write(tmp_path / "ham.mbox.gz", gzip.compress(b"From me\nSubject: 3\n\ny\n"))
    assert column(tmp_path, "label") == ["Spam", "ham", "ham"]
    assert column(tmp_path) == ["Spam.MBOX\n\nx\n", "ham.mbox\n\nx\n", "3\n\ny\n"]
    write(tmp_path / "1.eml", "x")
    assert source(tmp_path).names == ("text",)
    for name in ("1.eml", "ham.mbox", "ham.mbox.gz"):
        (tmp_path / name).unlink()
    assert source(tmp_path).names == ("text",)  # one alone tells nothing apart


def test_how_labels_come_about_is_said_where_there_are_none(tmp_path: Path) -> None:
    write(tmp_path / "ham.mbox", "From me\nSubject: 1\n\nx\n")
    with pytest.raises(SchemaError, match=r"^no column 'label'; known: text\. These are documents: each one's label "):
        credo.NaiveBayes().fit(tmp_path, "label")


def test_a_text_file_is_a_document(tmp_path: Path) -> None:
    for name in ("1.txt", "2.TXT", "3.txt"):
        write(tmp_path / name, name)
    write(tmp_path / "4.txt.gz", gzip.compress(b"packed"))
    assert column(tmp_path / "2.TXT") == ["2.TXT"]
    assert column(f"{tmp_path}/*.txt") == ["1.txt", "3.txt"]
    assert column(tmp_path / "4.txt.gz") == ["packed"]


def test_binary_files_are_left_out(tmp_path: Path) -> None:
    for name in ("1.txt", "2.txt"):
        write(tmp_path / "a" / name, name)
    write(tmp_path / "a" / "1.png", b"\x89PNG\0")
    write(tmp_path / "b" / "2.jpg", b"\xff\xd8\0")
    told = rf"^2 binary files in {tmp_path} left out, the first of them {tmp_path}/a/1.png$"
    with pytest.warns(Notice, match=told):
        table = source(tmp_path)
    assert (table.rows, column(table), column(table, "label")) == (2, ["1.txt", "2.txt"], ["a", "a"])
    with pytest.warns(Notice, match=r"^1 binary file in .*/a/\*"):
        assert column(documents_of(f"{tmp_path}/a/*")) == ["1.txt", "2.txt"]


def test_what_documents_look_like(tmp_path: Path) -> None:
    write(tmp_path / "ham" / "1", "x")
    assert repr(documents_of(tmp_path)) == "<a table of 1 row: text, label>"


def test_only_the_columns_that_are_wanted_are_read(tmp_path: Path) -> None:
    paths = [write(tmp_path / label / "1", "text") for label in ("a", "b")]
    table = source(tmp_path)
    for path in paths:
        path.unlink()
    assert column(table, "label") == ["a", "b"]
    assert [batch.rows for batch in table.read([])] == [2]
    assert column(table.beside("x", [1, 2]), "x") == [1, 2]


def test_documents_are_read_when_they_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches by what they weigh: long documents after short ones don't lie in memory together."""
    for module in (cutting, documents):
        monkeypatch.setattr(module, "BATCH_BYTES", 10_000)
    monkeypatch.setattr("credo.data.cutting.BATCH_TEXT_BYTES", 20_000)
    for i in range(2000):
        write(tmp_path / "a" / f"{i:04}", f"short {i}")
    for i in range(50):
        write(tmp_path / "b" / f"{i:02}", f"{i} " * 2000)
    table = source(tmp_path)
    found = batches(table)
    assert sum(batch.rows for batch in found) == table.rows == 2050
    assert [batch.start for batch in found] == [sum(batch.rows for batch in found[:i]) for i in range(len(found))]
    assert max(sum(map(len, batch.column("text").to_pylist())) for batch in found) <= 20_000
    assert column(table) == [f"short {i}" for i in range(2000)] + [f"{i} " * 2000 for i in range(50)]
    reading = iter(table.batches(table.names))
    next(reading)
    (tmp_path / "b" / "49").unlink()
    with pytest.raises(DataError, match="49 no longer exists: it was removed meanwhile"):
        list(reading)


def test_what_isnt_utf8_is_replaced_and_told_once(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1", "größe".encode("latin-1"))
    write(tmp_path / "a" / "2", "größe")
    write(tmp_path / "b" / "3", b"\xef\xbb\xbfx\xff")
    table = source(tmp_path)
    with pytest.warns(Notice) as told:
        assert column(table) == ["gr\ufffd\ufffde", "größe", "x\ufffd"]
    assert [str(one.message) for one in told] == [
        f"not UTF-8 text: 2 documents in {tmp_path}, the first of them {tmp_path}/a/1; "
        "bytes that can't be read were replaced"
    ]
    assert told[0].filename == __file__
    assert len(column(table)) == 3  # a second reading has no news


def test_what_isnt_utf8_is_refused_if_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1", b"\xef\xbb\xbfabc\xff")
    with pytest.raises(DataError, match=f"^{path} isn't UTF-8 text, from byte 6 on: save it as UTF-8"):
        column(documents_of(tmp_path, invalid="refuse"))
    write(path, "größe")
    assert column(documents_of(tmp_path, invalid="refuse")) == ["größe"]


def test_files_by_name_and_by_pattern(tmp_path: Path) -> None:
    write(tmp_path / "b.eml", "Subject: b\n\n2")
    write(tmp_path / "a.EML", "Subject: a\n\n1")
    write(tmp_path / "c.mbox", mbox(b"Subject: c\n\n3\n", b"Subject: d\n\n4\n"))
    write(tmp_path / "d.mbox.gz", gzip.compress(mbox(b"Subject: e\n\n5\n")))
    write(tmp_path / "f.txt", "6")
    assert column(tmp_path / "a.EML") == ["a\n\n1"]
    assert source(tmp_path / "c.mbox").names == ("text",)
    assert column(tmp_path / "c.mbox") == ["c\n\n3\n", "d\n\n4\n"]
    assert column(tmp_path / "*.eml") == ["b\n\n2"]
    assert column(f"{tmp_path}/*.mbox") == ["c\n\n3\n", "d\n\n4\n"]
    assert column(tmp_path / "d.mbox.gz") == ["e\n\n5\n"]
    assert column(documents_of(tmp_path / "*.txt")) == ["6"]


# The mbox


def mbox(*contents: bytes) -> bytes:
    return b"".join(b"From a@b Thu Jan  1 00:00:00 1970\n" + content + b"\n" for content in contents)


def split(content: bytes) -> list[bytes]:
    return list(messages(BytesIO(content), "x.mbox", DOCUMENT_BYTES))


def test_messages_begin_at_from_lines() -> None:
    first, second = b"Subject: 1\n\nOne.\n\nFrom here on\nit is a sentence.\n", b"Subject: 2\r\n\r\nTwo.\r\n"
    assert [one.lstrip() for one in split(mbox(first, second))] == [first, second]
    assert [one.lstrip() for one in split(b"\n\n" + mbox(first, second).removesuffix(b"\n"))] == [first, second]
    windows = mbox(first, second).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    assert [message_text(one) for one in split(windows)] == [message_text(one) for one in (first, second)]
    quoted = b"Subject: x\n\n>From me\n>>From you\n> From\n>Fromage\n"
    assert message_text(split(mbox(quoted))[0]) == "x\n\nFrom me\n>From you\n> From\n>Fromage\n"
    assert split(b"\n \n") == []


@given(st.lists(st.sampled_from(["Hello", "", "From me", ">From you", "From: x", "x" * 300]), max_size=40))
@settings(deadline=None, max_examples=60)
def test_an_mbox_is_split_as_the_standard_library_does(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("mail") / "a.mbox"
    box = mailbox.mbox(path)
    for i in range(3):
        message = EmailMessage()
        message["Subject"] = str(i)
        message.set_content("\n".join(lines))
        box.add(message)
    box.flush()
    wanted = [message_text(bytes(one)).replace("\n>From ", "\nFrom ") for one in box]
    box.close()
    assert [text.rstrip("\n") for text in column(path)] == [text.rstrip("\n") for text in wanted]


@pytest.mark.parametrize("size", [64, 65, 100, 1000])
def test_it_doesnt_matter_where_chunks_end(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    content = mbox(*(b"Subject: %d\n\n" % i + b"line\n" * i for i in range(60)))
    whole = split(content)
    assert len(whole) == 60
    monkeypatch.setattr(mail, "CHUNK_BYTES", size)
    assert split(content) == whole


# Messages


def reference(message: bytes) -> str:
    """Of a message with a plain body, by the standard library."""
    parsed = message_from_bytes(message, policy=policy.default)
    body: Any = parsed.get_body(("plain",))
    return f"{' '.join(str(parsed['Subject']).split())}\n\n{body.get_content()}"


LETTERS = {
    "utf-8": "aé日ß😀€ ",
    "iso-8859-1": "aéßÿ ¿",
    "iso-8859-15": "aé€ž ",
    "windows-1252": "a“”€ž ",
    "koi8-r": "aбЯж ",
    "shift_jis": "a日本ｱ ",
    "iso-2022-jp": "a日本 ",
    "euc-kr": "a한국 ",
    "gb2312": "a中国 ",
    "big5": "a中國 ",
    "us-ascii": "ab= ",
}


@st.composite
def well_formed(draw: st.DrawFn) -> EmailMessage:
    """With attachments, alternatives, charsets and encodings of all sorts."""
    charset = draw(st.sampled_from(sorted(LETTERS)))
    text = st.text(st.sampled_from([*LETTERS[charset], "=", "x", "\n"]), max_size=200)
    encoding = draw(st.sampled_from(["quoted-printable", "base64", None]))
    message = EmailMessage(policy=draw(st.sampled_from([policy.default, policy.SMTP])))
    message["Subject"] = "about " + draw(st.text(st.sampled_from("aé日 =?_xyz"), max_size=60))
    message.set_content("body " + draw(text), charset=charset, cte=encoding)
    if draw(st.booleans()):
        message.add_alternative(f"<p>{draw(text)}</p>", subtype="html")
        if draw(st.booleans()):
            message.get_payload()[1].add_related(b"GIF", "image", "gif", cid="<1@x>")  # type: ignore[index, union-attr]
    if draw(st.booleans()):
        message.add_attachment(draw(text), filename="notes.txt")
    if draw(st.booleans()):
        message.add_attachment(draw(st.binary(max_size=100)), maintype="image", subtype="png", filename="größe.png")
    if draw(st.booleans()):
        inner = EmailMessage()
        inner.set_content("an attached message")
        message.add_attachment(inner)
    return message


@pytest.mark.slow
@given(well_formed())
@settings(deadline=None, max_examples=300)
def test_messages_read_as_by_the_standard_library(message: EmailMessage) -> None:
    content = message.as_bytes()
    assert message_text(content) == reference(content).replace("\r\n", "\n")


def test_of_alternatives_the_plain_one_that_says_something() -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("<p>Rich &amp; <b>bold</b></p>", subtype="html")
    assert message_text(message.as_bytes()) == "x\n\nRich & bold"
    message.make_alternative()
    message.add_alternative("\n", subtype="plain")
    assert message_text(message.as_bytes()) == "x\n\nRich & bold"
    message.add_alternative("Plain & simple", subtype="plain")
    assert message_text(message.as_bytes()) == "x\n\nPlain & simple\n"


def test_a_message_that_is_forwarded() -> None:
    inner = b"Subject: inner\nContent-Type: text/html\n\n<p>Hello <b>you</b>"
    head = b"Subject: outer\nContent-Type: message/rfc822\n"
    assert message_text(head + b"\n" + inner) == "outer\n\ninner\n\nHello you"
    packed = b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(inner)
    assert message_text(head + packed) == "outer\n\ninner\n\nHello you"
    assert message_text(head + b"Content-Disposition: attachment; filename=x.eml\n\n" + inner) == "outer\n\n"
    parts = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n--b\nContent-Type: message/rfc822\n\n"
    assert message_text(parts + inner + b"\n--b--\n") == "See below.\ninner\n\nHello you"


def test_texts_that_follow_each_other_are_one_body() -> None:
    parts = b"--b\n\nOne.\n--b\nContent-Type: text/html\n\n<p>Two.\n--b\nContent-Type: image/png\n\nno\n--b--\nafter"
    message = b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\nbefore\n" + parts
    assert message_text(message) == "x\n\nOne.\nTwo."


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (b"plain", "plain"),
        (b"=?utf-8?q?caf=C3=A9?= =?iso-8859-1?b?4Q==?= x", "caféá x"),
        (b"a\n\t=?utf-8?Q?b_c?=\n d", "a b c d"),
        (b"=?gb2312?B?1tC5+g==?=", "中国"),
        (b"=?utf-8?b?5pel?==?utf-8?b?5pys?=", "日本"),
        (b"=?x-unknown?q?caf=C3=A9?=", "café"),
        (b"=?utf-8?b?A?= x", "=?utf-8?b?A?= x"),
        ("größe".encode(), "größe"),
        ("größe".encode("latin-1"), "größe"),
        (b"=?utf-8?q?unfinished", "=?utf-8?q?unfinished"),
    ],
)  # fmt: skip
def test_subjects(subject: bytes, text: str) -> None:
    assert message_text(b"From: x\nSUBJECT: " + subject + b"\nTo: y\n\nbody") == f"{text}\n\nbody"


@pytest.mark.parametrize(
    "charset", ["x-unknown", "us-ascii", '""', "punycode", "idna", "unicode_escape", "hex", "\\\0"]
)
def test_charsets_that_arent(charset: str) -> None:
    header = f"Content-Type: text/plain; charset={charset}\n\n".encode()
    assert message_text(header + "größe, \\d".encode()) == "größe, \\d"
    assert message_text(header + "größe, \\d“".encode("cp1252")) == "größe, \\d“"


def test_charsets_that_lie() -> None:
    header = b"Content-Type: text/plain; charset=%s\n\n"
    assert message_text(header % b"utf-8" + "größe".encode("latin-1")) == "gr\ufffd\ufffde"
    assert message_text(header % b"iso-8859-1" + "“größe”".encode("cp1252")) == "“größe”"
    assert message_text(header % b"gb2312" + "鎔基".encode("gb18030")) == "鎔基"
    assert message_text(header % b"utf-7" + b"a+2AA-b").encode()  # half a character


def test_base64_that_is_and_isnt() -> None:
    header = b"Content-Transfer-Encoding: BASE64\n\n"
    assert message_text(header + b"SGVs\nbG8g\ndGhlcmU=\n____\nlist footer\n") == "Hello there____\nlist footer\n"
    assert message_text(header + b"This, it turns out, is plain.") == "This, it turns out, is plain."
    assert message_text(header + b"SGVsbG8") == "Hello"
    assert message_text(header + b"SGVsb") == "Hel"


def test_messages_as_they_are_found() -> None:
    assert message_text(b"") == ""
    assert message_text(b"no header at all\n") == "no header at all\n"
    assert message_text(b"\xef\xbb\xbf\nFrom a@b Thu Jan  1\nSubject: x\n\ny") == "x\n\ny"
    assert message_text(b"Subject: x") == "x\n\n"
    assert message_text(b"Subject: x\nSubject: y\n\nz") == "x\n\nz"
    assert message_text(b"Content-Type: multipart/mixed\n\nno boundary") == "no boundary"
    assert (
        message_text(b"Content-Type: multipart/mixed; boundary=b\n\nnor such a line\n--bb\n")
        == "nor such a line\n--bb\n"
    )
    assert message_text(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nnever closed") == "never closed"
    assert message_text(b"Subject: x\nContent-Type: application/pdf\n\n%PDF") == "x\n\n"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("<p>one<p>two", "one\ntwo"),
        ("V<b>iag</b>r<!-- x > y -->a", "Viagra"),
        ("a<script>if (x < y) '</p>'</script >b<STYLE type='x'>p {}</style>c", "a\nb\nc"),
        ('<a title="x > y" href=\'z"\'>link</a>', "link"),
        ("1 < 2 &lt; 3 &amp;lt; &#65;&#x42;&eacute;&nbsp;&#xD800;", "1 < 2 < 3 &lt; ABé \ufffd"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("<!DOCTYPE html><?xml?><![CDATA[x]]>y", "y"),
        ("shown<!-- not closed", "shown"),
        ("shown<a href='x", "shown"),
        ("shown<script>hidden", "shown"),
        ("<td>1</td>  <td>2</td>\n\n\n<br/>3", "1\n2\n3"),
    ],
)  # fmt: skip
def test_html(html: str, text: str) -> None:
    assert stripped(html) == text


@pytest.fixture(autouse=True)
def _no_other_notices() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_predictions_name_the_file(tmp_path: Path) -> None:
    for label, text in (("ham", "see you at home"), ("spam", "win a free prize")):
        write(tmp_path / "mail" / label / "1.txt", text)
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(tmp_path / "mail", "label")
    paths = [str(write(tmp_path / "new" / name, "free at home")) for name in ("a.txt", "b.txt")]
    (found,) = predictions(model, tmp_path / "new")
    assert found.column_names == ["file", "text", "predicted", "probability"]
    assert found["file"].to_pylist() == paths
    assert source(str(tmp_path / "mail")).names == ("text", "label")  # nothing to learn from


def test_documents_are_the_texts_whatever_the_column_is_called(tmp_path: Path) -> None:
    table = {"question": ["see you at home", "win a free prize"], "label": ["ham", "spam"]}
    model = credo.NaiveBayes(kinds={"question": credo.Text()}).fit(table, "label")
    path = write(tmp_path / "new" / "ham" / "1.txt", "a prize at home")
    for data in (path, tmp_path / "new"):
        assert model.predict_proba(data).tolist() == model.predict_proba(["a prize at home"]).tolist()
    assert model.update(tmp_path / "new").n == 3
