"""Columns of strings that are numbers apart from missing-value tokens: found over all rows, with a notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo import engines
from credo.data import cells
from credo.data.arrow_arrays import scalar
from credo.data.batches import Batch, Encodings
from credo.data.partitions import EachPart
from credo.data.sources import PartReader, Planned, Source
from credo.data.spelling import ALL_WORDS, Spelling, Spelt, also_missing, among, as_numbers, without_tokens
from credo.errors import counted
from credo.notices import tell

NOTICE_NAMES = 5  # names and tokens in a notice
SPELLING_ROWS = 4096  # first rows that settle most columns of words
STRING_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def typed(table: Source, missing: Collection[object] = (), words: Collection[str] = ()) -> Source:
    """The table, with cells missing that are one of `missing`, in any column; and of columns that are numbers or dates
    apart from tokens such as NA and ?, with these missing. A notice counts the latter.

    Rows that can be read only once are looked at part by part. Columns in `words` stay as they are written.
    """
    table, asked = table.as_words(words), tuple(missing)
    if asked:
        table = replace(table, read=partial(_asked, table.read, asked))
    known: dict[str, Spelt] = dict.fromkeys(words, "words")
    signs: dict[str, str] = {}
    whole: dict[str, Any] = {}  # the parsed columns of a table in memory

    def plan(wanted: Sequence[str]) -> Planned:
        if new := [name for name in wanted if name not in known]:
            seen = _spellings(table, new, asked)
            known.update({name: _settled(spelling, name in seen.lost) for name, spelling in seen.found.items()})
            signs.update({n: each.sign for n, each in seen.found.items() if each.sign and known[n] != "words"})
            _tell({name: each for name, each in seen.found.items() if known[name] != "words"})
            _tell_commas(seen.found)
        chosen = {name: known[name] for name in wanted if known[name] != "words"}
        if not chosen and not asked:
            return wanted, None
        return wanted, Kept(asked, chosen, table.rows, whole) if table.near else ReadAs(asked, chosen)

    def signs_of(wanted: Sequence[str]) -> Mapping[str, str]:
        there = set(table.names)
        plan([name for name in wanted if name in there])
        return {name: signs[name] for name in wanted if name in signs}

    if table.once:
        found = table.then(lambda wanted: (wanted, ReadOnce(asked, frozenset(words))))
    else:
        found = replace(table.then(plan), signs=signs_of)
    return replace(found, spelt=lambda names: typed(table, missing, names))


@dataclass(frozen=True, eq=False)
class ReadAs(EachPart):
    """Cells missing that are one of `missing`; and columns read as what they spell."""

    missing: tuple[object, ...]
    kinds: Mapping[str, Spelt]

    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]:
        return map(self.of, parts)

    def of(self, part: Batch) -> Batch:
        part = _lacking(part, self.missing)[0] if self.missing else part
        there = {name: kind for name, kind in self.kinds.items() if name in part.columns}
        return part.with_columns({name: self.column(part, name, kind) for name, kind in there.items()})

    def column(self, part: Batch, name: str, kind: Spelt) -> pa.Array:
        return _read_as(part.columns[name], name, kind)


@dataclass(frozen=True, eq=False)
class Kept(ReadAs):
    """The same for a table in memory: its parsed columns are kept."""

    rows: int | None
    whole: dict[str, Any]

    def column(self, part: Batch, name: str, kind: Spelt) -> pa.Array:
        if part.rows != self.rows:
            return super().column(part, name, kind)
        if name not in self.whole:
            self.whole[name] = super().column(part, name, kind)
        return self.whole[name]


@dataclass(frozen=True, eq=False)
class ReadOnce(EachPart):
    """The same of rows that can be read only once: each part as its own cells are spelt."""

    missing: tuple[object, ...]
    words: frozenset[str]

    def over(self, parts: Iterator[Batch], /) -> Iterator[Batch]:
        total: dict[str, Spelling] = {}
        for part in parts:
            seen = SpelledColumns(part.names, self.missing)(part)
            kinds = {name: _settled(each, name in seen.lost) for name, each in seen.found.items()}
            kinds |= dict.fromkeys(self.words, "words")
            others = [name for name, each in seen.found.items() if name in total and _other_sign(each, total[name])]
            kinds |= dict.fromkeys(others, "words")
            for name, each in seen.found.items():
                if kinds[name] != "words" or each.unclear:
                    total[name] = total.get(name, Spelling()) + each
            yield ReadAs(self.missing, {name: kind for name, kind in kinds.items() if kind != "words"}).of(part)
        _tell({name: each for name, each in total.items() if each.kind != "words"})
        _tell_commas(total)


def _other_sign(spelling: Spelling, before: Spelling) -> bool:
    """Whether amounts are in another currency than before: an error where numbers are needed."""
    return bool(spelling.cells and before.cells) and spelling.sign != before.sign


def _settled(spelling: Spelling, lost: bool) -> Spelt:
    """Whether a column of strings stays as it is. If all strings spell plain numbers, the user made them strings; with
    a token, commas or a currency sign among them, they had to be strings."""
    commas = spelling.kind in ("comma", "thousands")
    settled = spelling.tokens or commas or spelling.sign or (lost and spelling.kind != "date")
    return spelling.kind if settled else "words"


@dataclass(frozen=True)
class Seen:
    """How columns are spelt, and which of them have cells to be read as missing."""

    found: Mapping[str, Spelling]
    lost: frozenset[str] = frozenset()

    def __add__(self, other: Seen) -> Seen:
        return Seen({name: each + other.found[name] for name, each in self.found.items()}, self.lost | other.lost)

    @property
    def undecided(self) -> list[str]:
        return [name for name, each in self.found.items() if not each.is_words]


@dataclass(frozen=True)
class SpelledColumns:
    """The spelling of a batch's string columns."""

    names: tuple[str, ...]
    missing: tuple[object, ...]

    def __call__(self, batch: Batch) -> Seen:
        batch, lost = _lacking(batch, self.missing) if self.missing else (batch, frozenset())
        return Seen({name: self._of(batch.columns.get(name), name) for name in self.names}, lost)

    def _of(self, array: pa.Array, name: str) -> Spelling:
        if array is not None and pa.types.is_null(array.type):
            return Spelling()
        if array is None or not any(is_one(array.type) for is_one in STRING_TYPES):
            return ALL_WORDS
        return Spelling.of(cells.entered(array, name))


def _spellings(table: Source, names: Sequence[str], missing: tuple[object, ...]) -> Seen:
    """The spellings over all rows; the first rows settle most columns of words."""
    first = table.first(names, SPELLING_ROWS)
    if first is None:
        return Seen({name: Spelling() for name in names})
    seen = SpelledColumns(tuple(names), missing)(first)
    if not seen.undecided or first.rows == table.rows:
        return seen
    others = {name: each for name, each in seen.found.items() if each.is_words}
    job, seen = SpelledColumns(tuple(seen.undecided), missing), Seen({name: Spelling() for name in seen.undecided})
    for own in engines.map(job, table.partitions(job.names)):
        seen += own
        if not seen.undecided:
            break
    return Seen({**others, **seen.found}, seen.lost)


def _read_as(array: pa.Array, name: str, kind: Spelt) -> pa.Array:
    if not any(is_one(array.type) for is_one in STRING_TYPES):
        return array
    words = cells.entered(array, name)
    return without_tokens(words) if kind == "date" else as_numbers(words, kind)


def _asked(read: PartReader, missing: tuple[object, ...], wanted: Sequence[str]) -> Iterator[Batch]:
    """The parts, read with `missing` set: then a column may mix numbers and strings."""
    words, parts = frozenset(str(each).strip() for each in missing), read(wanted)
    while True:
        before = also_missing.set(words)
        try:
            part = next(parts, None)
        finally:
            also_missing.reset(before)
        if part is None:
            return
        yield part


def _lacking(part: Batch, missing: tuple[object, ...]) -> tuple[Batch, frozenset[str]]:
    """The batch with those values as missing cells, and the columns that had some."""
    columns = {name: _without(array, missing) for name, array in part.columns.items()}
    lost = frozenset(name for name, array in columns.items() if array is not part.columns[name])
    block: Any = part.block
    if block is not None and (found := among(pa.array(block.ravel()), missing)) is not None:
        block = np.where(np.asarray(found).reshape(block.shape), np.nan, block)
    return replace(part, columns=columns, block=block, encodings=Encodings()), lost


def _without(array: pa.Array, missing: Collection[object]) -> pa.Array:
    """The array with those values as nulls; the array itself if there are none."""
    if isinstance(array, pa.ChunkedArray):
        chunks = [_without(chunk, missing) for chunk in array.chunks]
        changed = any(new is not old for new, old in zip(chunks, array.chunks, strict=True))
        if not changed:
            return array
        kind = pa.string() if pa.types.is_string_view(array.type) else array.type
        return pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)
    if pa.types.is_dictionary(array.type):
        found = among(array.dictionary, missing)
        if found is None:
            return array
        kept = pc.if_else(found.take(array.indices), scalar(None, array.indices.type), array.indices)
        return pa.DictionaryArray.from_arrays(kept, array.dictionary)
    found = among(array, missing)
    if found is None:
        return array
    words = array.cast(pa.string()) if pa.types.is_string_view(array.type) else array
    return pc.if_else(found, scalar(None, words.type), words)


def _tell(found: Mapping[str, Spelling]) -> None:
    """One notice for all columns."""
    having = {name: each for name, each in found.items() if each.tokens}
    if not having:
        return
    tokens = sum((each.tokens for each in having.values()), Counter[str]())
    which = ", ".join(f"{token!r} ({n:,})" for token, n in tokens.most_common(NOTICE_NAMES)) + _more(len(tokens))
    dates = any(each.kind == "date" for each in having.values())
    numbers = any(each.kind != "date" for each in having.values())
    what = " and ".join(word for word, there in (("numbers", numbers), ("dates", dates)) if there)
    where = ", ".join(map(repr, [*having][:NOTICE_NAMES])) + _more(len(having))
    columns = "column" if len(having) == 1 else "columns"
    tell(f"{counted(tokens.total(), 'cell')} read as missing: {which} among the {what} of {columns} {where}")


def _tell_commas(found: Mapping[str, Spelling]) -> None:
    """One notice for columns with decimal commas, one for ambiguous ones, and one for amounts."""
    signed = [(name, each.sign) for name, each in found.items() if each.sign and each.kind != "words"]
    for names, what in (
        ([name for name, _ in signed], f"read as numbers, without {', '.join(dict.fromkeys(s for _, s in signed))}"),
        ([name for name, each in found.items() if each.kind == "comma"], "read as numbers with decimal commas"),
        ([name for name, each in found.items() if each.kind == "thousands"], "read as numbers, without the commas"),
        (
            [name for name, each in found.items() if each.unclear],
            "cells such as '1,234' are read as words: write 1234, or 1.234 for a decimal",
        ),
    ):
        if names:
            columns = "column" if len(names) == 1 else "columns"
            tell(f"{columns} {', '.join(map(repr, names[:NOTICE_NAMES]))}{_more(len(names))}: {what}")


def _more(n: int) -> str:
    return f", ... ({n} in all)" if n > NOTICE_NAMES else ""
