"""Mail: the messages of an mbox, and the text of a message's subject and body in any encoding.

Only single header fields are left to the email package: its parser calls itself for every level of a message, and with
the modern policy takes milliseconds for each. html.parser takes a minute for 60 kB of `<a ` and fails on `<![`.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.header import decode_header
from email.message import Message
from html import unescape
from itertools import chain, pairwise
from typing import Any

from credo.errors import DataError

CHUNK_BYTES = 2**20  # bytes of an mbox that are read at a time
MOST_NESTED = 20  # nested parts; mail programs nest four or five
MOST_PARTS = 250  # of a message: further parts are ignored
HEADER_BYTES = 2**20  # searched for header fields
FIELD_BYTES = 2**11  # of a field: the email package takes quadratic time for some

# After an empty line, and before a field such as `Date:`; elsewhere it is a sentence that begins with From.
FROM_LINE = re.compile(rb"\n\r?\nFrom [^\n]{0,1000}\n(?=[!-9;-~]{1,100}[ \t]{0,10}:)")
FROM_BYTES = 2000  # enough to recognise such a line
FIRST_LINE = re.compile(rb"\s*+From [^\n]*+")
LAST_LINE = re.compile(rb"(?<=\n)\r?\n\Z")
QUOTED_FROM = re.compile(rb"\n>(>*+From )")

FIELD_NAME = re.compile(rb"[!-9;-~]+[ \t]*:")
FIELDS = re.compile(
    rb"^(subject|content-(?:type|transfer-encoding|disposition))[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.I | re.M
)
MESSAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:>?From [^\n]*\n)?")
BLANK_LINE = re.compile(rb"\n\r?\n")
BASE64 = re.compile(rb"[A-Za-z0-9+/=\s]*+")

# Charsets that senders name, and the supersets that they mean; browsers do the same.
ACTUAL_CHARSETS = {"iso8859-1": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
# Useless here: the first is the default, the next two take quadratic time, the others aren't charsets.
UNUSABLE_CHARSETS = {"ascii", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}

# An unclosed tag hides the rest, as in browsers: so every tag ends, and nothing is scanned twice.
TAG_END = r"""[^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^>=]*+)*+(?:>|\Z)"""
TAG = re.compile(
    rf"<(?:!--.*?(?:-->|\Z)|(?P<hidden>script|style)(?=[\s/>]){TAG_END}.*?(?:</(?P=hidden){TAG_END}|\Z)"
    rf"|/?(?P<name>[a-z][^\s/>]*+){TAG_END}|[!?/][^>]*+(?:>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
INLINE_TAGS = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "mark", "o:p", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
}  # fmt: skip
LONG_NUMBER = re.compile(r"&#[0-9]{1000,}+;?")  # html.unescape fails on thousands of digits


def messages(stream: Any, name: str, largest: int) -> Iterator[bytes]:
    """One message of an mbox after another, without the line `From ...` before each."""
    waiting: bytes = stream.read(CHUNK_BYTES)
    first = FIRST_LINE.match(waiting)
    if not first:
        if waiting.strip():
            raise DataError(f"{name} isn't an mbox file: its first line doesn't begin with 'From '")
        return
    waiting, searched = waiting[first.end() :], 0
    while waiting:
        start = 0
        for line in FROM_LINE.finditer(waiting, searched):
            yield QUOTED_FROM.sub(rb"\n\1", waiting[start : line.start() + 1])
            start = line.end()
        waiting = waiting[start:]
        if len(waiting) > largest:
            raise DataError(f"{name} has a message of over {largest // 2**20} MB")
        searched = max(0, len(waiting) - FROM_BYTES)
        if not (chunk := stream.read(max(CHUNK_BYTES, len(waiting)))):  # doubling, so that no byte is copied often
            blank = LAST_LINE.search(waiting, max(0, len(waiting) - 2))  # belongs to the separator, not to the message
            yield QUOTED_FROM.sub(rb"\n\1", waiting[: blank.start() if blank else None])
            return
        waiting += chunk


def message_text(message: bytes) -> str:
    """The subject, an empty line, the body.

    >>> message_text(b"Subject: =?utf-8?q?caf=C3=A9?=\\n\\nAt noon?")
    'café\\n\\nAt noon?'
    """
    beginning = MESSAGE_START.match(message)
    whole = _part(message, beginning.end() if beginning else 0, len(message))
    return _whole_characters(_with_subject(whole, iter(range(MOST_PARTS)), 0))


def _with_subject(whole: MailPart, budget: Iterator[int], depth: int) -> str:
    subject, body = _subject(whole.field("Subject")), _text(whole, budget, depth)
    return f"{subject}\n\n{body}" if subject else body


@dataclass(frozen=True)
class MailPart:
    """A message or a part of one: some fields of its header, and where in the message its body lies."""

    message: bytes
    header: Message
    start: int
    end: int

    def field(self, name: str) -> str:
        return str(self.header.get(name, ""))

    @property
    def kind(self) -> str:
        return self.header.get_content_type()

    @property
    def encoding(self) -> str:
        return self.field("Content-Transfer-Encoding").lower()

    @property
    def charset(self) -> str | None:
        with suppress(Exception):  # the email package may raise anything on a malformed field
            return self.header.get_content_charset()
        return None

    @property
    def boundary(self) -> bytes:
        with suppress(Exception):
            return (self.header.get_boundary() or "").encode("latin-1")
        return b""


def _part(message: bytes, start: int, end: int) -> MailPart:
    """The part between two positions; it has a header only if its first line is a field."""
    header = Message()
    if not FIELD_NAME.match(message, start, end):
        blank_first = next((line for line in (b"\r\n", b"\n") if message.startswith(line, start, end)), b"")
        return MailPart(message, header, start + len(blank_first), end)
    blank = BLANK_LINE.search(message, start, end)
    head_end, body = blank.span() if blank else (end, end)
    for name, value in FIELDS.findall(message[start : min(head_end, start + HEADER_BYTES)]):
        if name.decode() not in header:  # the first of several
            header[name.decode()] = re.sub(r"[\r\n]+", "", value[:FIELD_BYTES].decode("latin-1")).strip()
    return MailPart(message, header, body, end)


def _text(part: MailPart, budget: Iterator[int], depth: int) -> str:
    """The visible text of a part: no attachments, and the plainest non-empty one of several alternatives."""
    kind = part.kind
    if depth > MOST_NESTED or part.field("Content-Disposition").lower().startswith("attachment"):
        return ""
    if kind.startswith("multipart/") and (inside := _inside(part, budget)):
        if kind == "multipart/alternative":
            forms = (_text(form, budget, depth + 1) for form in sorted(inside, key=_plainness))
            return next((text for text in forms if text and not text.isspace()), "")
        return "\n".join(filter(None, (_text(one, budget, depth + 1) for one in inside)))
    if kind == "message/rfc822":  # a forwarded message
        packed = part.encoding in ("quoted-printable", "base64")
        content = _unpacked(part) if packed else part.message
        start, end = (0, len(content)) if packed else (part.start, part.end)
        return _with_subject(_part(content, start, end), budget, depth + 1)
    if not kind.startswith(("text/", "multipart/")):
        return ""
    text = _decoded(_unpacked(part), part.charset)
    return stripped(text) if kind == "text/html" else text.replace("\r\n", "\n")


def _plainness(part: MailPart) -> int:
    kind = part.kind
    return 0 if kind == "text/plain" else 1 if kind.startswith("multipart/") else 2 if kind == "text/html" else 3


def _inside(part: MailPart, budget: Iterator[int]) -> list[MailPart]:
    """The parts between lines `--boundary`, if any."""
    boundary = part.boundary
    marks = chain(_boundaries(part, b"--" + boundary) if boundary else (), [(part.end, -1)])
    spans = ((start, end) for (_, start), (end, _) in pairwise(marks) if start >= 0)
    return [_part(part.message, start, max(start, end)) for (start, end), _ in zip(spans, budget, strict=False)]


def _boundaries(part: MailPart, mark: bytes) -> Iterator[tuple[int, int]]:
    """For each boundary: the end of the text before it and the start of the text after it (-1 after `--boundary--`)."""
    message, at = part.message, part.start - 1  # the line end before it
    while (at := message.find(b"\n" + mark, at, part.end)) >= 0:
        after = at + 1 + len(mark)
        line_end = message.find(b"\n", after, part.end)
        rest = message[after : line_end if line_end >= 0 else part.end][:FIELD_BYTES].strip()
        before = at - message.endswith(b"\r", part.start, at)
        if rest == b"--":
            yield before, -1
            return
        if not rest:
            yield before, line_end + 1 or part.end
        at = after


def _unpacked(part: MailPart) -> bytes:
    body = part.message[part.start : part.end]
    if part.encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    return _from_base64(body) if part.encoding == "base64" else body


def _from_base64(body: bytes) -> bytes:
    """Decoded base64, followed by undecoded text: mailing lists append lines, and some messages have nothing else."""
    letters = BASE64.match(body)
    end = letters.end() if letters else 0
    end = end if end == len(body) else body.rfind(b"\n", 0, end) + 1
    packed = body[:end].translate(None, b"= \t\r\n\v\f")
    packed = packed[: len(packed) - (len(packed) % 4 == 1)]  # a single letter isn't a byte
    return binascii.a2b_base64(packed + b"=" * (-len(packed) % 4)) + body[end:]


def _decoded(content: bytes, charset: str | None) -> str:
    """Decoded with the named charset if it exists, else as UTF-8 or, failing that, Windows-1252."""
    with suppress(LookupError, ValueError):
        name = codecs.lookup(charset or "ascii").name
        if name not in UNUSABLE_CHARSETS:
            return content.decode(ACTUAL_CHARSETS.get(name, name), "replace")
    with suppress(UnicodeDecodeError):
        return content.decode()
    return content.decode("cp1252", "replace")


def _subject(field: str) -> str:
    """On one line; words may be encoded, each in a charset of its own."""
    words: list[tuple[Any, str | None]] = [(field, None)]
    with suppress(Exception):  # a malformed subject stays as it is
        words = decode_header(field)
    parts = ((word.encode("latin-1") if isinstance(word, str) else word, charset) for word, charset in words)
    return " ".join("".join(_decoded(word, charset) for word, charset in parts).split())


def _whole_characters(text: str) -> str:
    """The text without lone surrogates, which UTF-7 can encode but UTF-8 can't."""
    with suppress(UnicodeEncodeError):
        text.encode()
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def stripped(html: str) -> str:
    """The text between the tags, without scripts and styles.

    >>> stripped("<style>b {}</style><p>1 &lt; 2,<br>so <b>th</b>is")
    '1 < 2,\\nso this'
    """
    text = unescape(LONG_NUMBER.sub("\ufffd", TAG.sub(_between, html)))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _between(tag: re.Match[str]) -> str:
    """A line break for block tags; nothing for inline tags, which don't separate words."""
    name = tag["name"] or tag["hidden"]
    return "\n" if name and name.lower() not in INLINE_TAGS else ""
