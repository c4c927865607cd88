"""Columns of strings that are numbers, but for cells which say that nothing is known: found over all rows, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo.data import Batch, Reading, Source, cells
from credo.data.spelling import ALL_WORDS, Spelling, Spelt, also_missing, among, as_numbers, without_tokens
from credo.errors import counted
from credo.notices import tell

FEW = 5  # names and tokens in a notice
WORDS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def typed(table: Source, missing: Collection[object] = (), words: Collection[str] = ()) -> Source:
    """The table, with cells missing that are one of `missing`, in any column; and of columns that are numbers or dates
    apart from tokens such as NA and ?, with these missing. A notice counts the latter.

    Rows that can be read only once are looked at part by part. Columns in `words` stay as they are written.
    """
    table = table.as_words(words)
    known, whole, lost = dict[str, Spelt](), dict[str, Any](), set[str]()  # the latter: columns with one of `missing`
    known.update(dict.fromkeys(words, "words"))

    def raw(wanted: Sequence[str]) -> Iterator[Batch]:
        parts = table.read(wanted)
        return (_lacking(part, missing, lost) for part in _asked(parts, missing)) if missing else parts

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        if new := [name for name in wanted if name not in known]:
            found = _spellings(raw(new), new)
            known.update({name: _settled(spelling, name in lost) for name, spelling in found.items()})
            _tell({name: each for name, each in found.items() if known[name] != "words"})
            _tell_commas(found)
        chosen = {name: known[name] for name in wanted if known[name] != "words"}
        if not chosen:
            yield from raw(wanted)
            return
        for part in raw(wanted):
            if table.near and part.rows == table.rows:  # the parse is kept, as the table is
                for name, kind in chosen.items():
                    if name in part.columns and name not in whole:
                        whole[name] = _read_as(part.columns[name], name, kind)
                yield _with(part, {name: whole[name] for name in chosen if name in whole})
            else:
                yield _with(part, {n: _read_as(part.columns[n], n, k) for n, k in chosen.items() if n in part.columns})

    def read_once(wanted: Sequence[str]) -> Iterator[Batch]:
        total: dict[str, Spelling] = {}
        for part in raw(wanted):
            found = _spellings([part], wanted)
            kinds = {name: known.get(name) or _settled(each, name in lost) for name, each in found.items()}
            for name, each in found.items():
                if kinds[name] != "words" or each.unclear:
                    total[name] = total.get(name, Spelling()) + each
            chosen = {name: kind for name, kind in kinds.items() if kind != "words"}
            yield _with(part, {name: _read_as(part.columns[name], name, kind) for name, kind in chosen.items()})
        _tell({name: each for name, each in total.items() if each.kind != "words"})
        _tell_commas(total)

    def spelt(names: Collection[str]) -> Reading:
        return typed(table, missing, names).read

    return replace(table, read=read_once if table.once else read, spelt=spelt)


def _settled(spelling: Spelling, lost: bool) -> Spelt:
    """Strings that spell nothing but numbers stay strings: whoever made them so wanted them so. With a token among
    them, or decimal commas, they are strings because of it."""
    settled = spelling.tokens or spelling.kind == "comma" or (lost and spelling.kind != "date")
    return spelling.kind if settled else "words"


def _spellings(parts: Iterable[Batch], names: Sequence[str]) -> dict[str, Spelling]:
    """Of the columns of strings, as far as it is open what they are."""
    found = {name: Spelling() for name in names}
    for part in parts:
        for name, before in found.items():
            if not before.is_words:
                array = part.columns.get(name)
                if array is None or not any(is_one(array.type) for is_one in WORDS):
                    if array is None or not pa.types.is_null(array.type):
                        found[name] = ALL_WORDS
                    continue
                found[name] = before + Spelling.of(cells.entered(array, name))
        if all(spelling.is_words for spelling in found.values()):
            break
    return found


def _read_as(array: Any, name: str, kind: Spelt) -> Any:
    if not any(is_one(array.type) for is_one in WORDS):
        return array
    words = cells.entered(array, name)
    return without_tokens(words) if kind == "date" else as_numbers(words, kind)


def _with(part: Batch, columns: Mapping[str, Any]) -> Batch:
    return replace(part, columns={**part.columns, **columns}, memo={}) if columns else part


def _asked(parts: Iterator[Batch], missing: Collection[object]) -> Iterator[Batch]:
    """The parts, made by those who know of `missing`: Python's numbers and strings may stand in one column."""
    words = frozenset(str(each).strip() for each in missing)
    while True:
        before = also_missing.set(words)
        try:
            part = next(parts, None)
        finally:
            also_missing.reset(before)
        if part is None:
            return
        yield part


def _lacking(part: Batch, missing: Collection[object], lost: set[str]) -> Batch:
    """Without the cells that are one of those; `lost` notes the columns that have some."""
    columns = {name: _without(array, missing) for name, array in part.columns.items()}
    lost |= {name for name, array in columns.items() if array is not part.columns[name]}
    block: Any = part.block
    if block is not None and (found := among(pa.array(block.ravel()), missing)) is not None:
        block = np.where(np.asarray(found).reshape(block.shape), np.nan, block)
    return replace(part, columns=columns, block=block, memo={})


def _without(array: Any, missing: Collection[object]) -> Any:
    """The array itself, if none of its cells is one of those."""
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
        kept = pc.if_else(found.take(array.indices), pa.scalar(None, array.indices.type), array.indices)
        return pa.DictionaryArray.from_arrays(kept, array.dictionary)
    found = among(array, missing)
    if found is None:
        return array
    words = array.cast(pa.string()) if pa.types.is_string_view(array.type) else array
    return pc.if_else(found, pa.scalar(None, words.type), words)


def _tell(found: Mapping[str, Spelling]) -> None:
    """One notice for all columns."""
    having = {name: each for name, each in found.items() if each.tokens}
    if not having:
        return
    tokens = sum((each.tokens for each in having.values()), Counter[str]())
    which = ", ".join(f"{token!r} ({n:,})" for token, n in tokens.most_common(FEW)) + _more(len(tokens))
    dates = any(each.kind == "date" for each in having.values())
    numbers = any(each.kind != "date" for each in having.values())
    what = " and ".join(word for word, there in (("numbers", numbers), ("dates", dates)) if there)
    where = ", ".join(map(repr, [*having][:FEW])) + _more(len(having))
    columns = "column" if len(having) == 1 else "columns"
    tell(f"{counted(tokens.total(), 'cell')} read as missing: {which} among the {what} of {columns} {where}")


def _tell_commas(found: Mapping[str, Spelling]) -> None:
    """One notice for columns whose commas are decimal, one for those of which nobody can tell."""
    for names, what in (
        ([name for name, each in found.items() if each.kind == "comma"], "read as numbers with decimal commas"),
        (
            [name for name, each in found.items() if each.unclear],
            "cells such as '1,234' are read as words: write 1234, or 1.234 for a decimal",
        ),
    ):
        if names:
            columns = "column" if len(names) == 1 else "columns"
            tell(f"{columns} {', '.join(map(repr, names[:FEW]))}{_more(len(names))}: {what}")


def _more(n: int) -> str:
    return f", ... ({n} in all)" if n > FEW else ""
