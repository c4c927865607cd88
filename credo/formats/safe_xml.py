"""A safe subset of XML: no entities but the five predefined ones, and nothing external."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from credo.errors import NetworkError
from credo.formats.names import cut
from credo.formats.scanner import floats
from credo.numerics.exact import Array

DEEPEST_ELEMENT = 100  # levels of nested elements
LONGEST_DEFAULT = 100  # characters of a default attribute: a document type adds it to every element

Place = tuple[int, int]  # line and column


@dataclass(eq=False)
class Element:
    """An element: its tag, contents and place."""

    tag: str
    attributes: dict[str, str]
    at: Place
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    unknown: str = ""  # the first unknown tag in it

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    def all(self, *tags: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag in tags)

    def first(self, *tags: str) -> Element | None:
        return next(self.all(*tags), None)

    def texts(self, *tags: str) -> list[str]:
        return [child.text for child in self.all(*tags)]


class Markup:
    """Parsed XML: its top element, with the `known` elements in it, and errors with a line and a column.

    >>> Markup("<a><b>1 &lt; 2</b><c/></a>", "x.xml", "a", {"b"}).root.texts("b")
    ['1 < 2']
    """

    root: Element

    def __init__(self, text: str, file: str, top: str, known: Collection[str]) -> None:
        self._file, self._top, self._known = file, top, known
        self._open: list[Element | None] = []  # None for unknown elements, whose contents are skipped
        self._skipped_lines = 0
        self._parse(text)

    def fault(self, at: Place, message: str) -> NetworkError:
        return NetworkError(f"{self._file}, line {at[0] + self._skipped_lines}, column {at[1] + 1}: {message}")

    def numbers(self, element: Element) -> Array:
        """The numbers in an element."""
        words = element.text.split()
        try:
            return floats(words)
        except ValueError as error:
            raise self.fault(element.at, f"expected numbers in this {element.tag}, but found {error}") from None

    def _parse(self, text: str) -> None:
        start = text.lstrip()  # whitespace before the declaration is invalid, but harmless
        self._skipped_lines = text.count("\n", 0, len(text) - len(start))
        self._parser = expat.ParserCreate("utf-8")  # ignore the declared encoding: the text is already decoded
        self._parser.buffer_text = True
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_entity
        self._parser.AttlistDeclHandler = self._check_default
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            self._parser.Parse(start.encode(errors="replace"), True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise self.fault((error.lineno, error.offset), f"this isn't XML: {reason}") from None

    @property
    def _position(self) -> Place:
        return self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST_ELEMENT:
            raise self.fault(self._position, f"elements are nested more than {DEEPEST_ELEMENT} deep")
        element = Element(tag, attributes, self._position)
        if not self._open:
            if tag != self._top:
                raise self.fault(self._position, f"expected <{self._top}> at the top, but found <{cut(tag)}>")
            self.root = element
            self._open.append(element)
            return
        above = self._open[-1]
        kept = above is not None and tag in self._known
        if above is not None and kept:
            above.children.append(element)
        elif above is not None:
            above.unknown = above.unknown or tag
        self._open.append(element if kept else None)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open and (element := self._open[-1]) is not None:
            element.pieces.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self.fault(self._position, f"the entity {cut(name)!r}: files that define entities aren't read")

    def _check_default(self, element: str, _name: str, _kind: str, default: str | None, _required: int) -> None:
        if default is not None and len(default) > LONGEST_DEFAULT:
            raise self.fault(self._position, f"the default of an attribute of {cut(element)!r} is too long")
