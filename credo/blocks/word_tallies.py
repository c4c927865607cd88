"""Tallies of texts: a document costs what its words touch, however large the vocabulary is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.live import (
    add_odds_of_row,
    add_presences_of_row,
    add_settled_odds_of_row,
    add_words_of_row,
    distinct,
    merged_rows,
)
from credo.blocks.block import Settings
from credo.blocks.tally import Foreseeing, Row
from credo.blocks.texts import vocabulary_of
from credo.data.tables import array_of, is_missing
from credo.errors import DataError
from credo.evidence import Evidence, Part
from credo.exact import Array
from credo.schema import Column, Schema
from credo.sparse import Sparse, WordSums
from credo.statistics import Counts

if TYPE_CHECKING:
    from credo.blocks.odds import Odds
    from credo.blocks.presences import Presences
    from credo.blocks.texts import Texts
    from credo.blocks.words import Words

Codes = NDArray[np.int32]
Rows = tuple[NDArray[np.int64], Codes, Array]  # starts, columns and values of a sparse table


class Grown:
    """A table (words, classes) of sums, and what was added to it since."""

    def __init__(self, before: Sparse) -> None:
        self.before, self._values = before, before.cells.value
        self._rows: Rows = before.starts, before.columns, self._values
        self.added: dict[int, dict[int, list[float]]] = {}  # {word: {class: high and low}}, in order of appearance
        self.totals = before.along(1)  # (classes,)

    def add(self, codes: Collection[int], k: int, values: Array) -> None:
        """To a class, so much of each word."""
        added = self.added
        for code, value in zip(codes, values.tolist(), strict=True):
            _add(added.setdefault(code, {}).setdefault(k, [0.0, 0.0]), value)
        if k >= len(self.totals):
            self.totals = np.append(self.totals, np.zeros(k + 1 - len(self.totals)))
        self.totals[k] += values.sum()

    def rows(self, codes: Codes) -> tuple[Codes, Rows]:
        """Where the rows of these words are, and in what."""
        if not self.added:
            return codes, self._rows
        each = enumerate(codes.tolist())
        more = [(i, k, high + low) for i, code in each for k, (high, low) in self.added.get(code, {}).items()]
        places, classes, values = np.array(more).reshape(-1, 3).T
        added = places.astype(np.int32), classes.astype(np.int32), np.ascontiguousarray(values)
        found = merged_rows(self._rows, codes, *added)
        return np.arange(len(codes), dtype=np.int32), found

    def since(self, classes: int) -> Sparse:
        """What was added, a row for each word that it was added to."""
        rows = [i for i, cells in enumerate(self.added.values()) for _ in cells]
        columns = [k for cells in self.added.values() for k in cells]
        pairs = np.array([pair for cells in self.added.values() for pair in cells.values()]).reshape(-1, 2)
        return Sparse.of(rows, columns, pairs[:, 0], (len(self.added), classes), pairs[:, 1])


class Numbered(Grown):
    """A table of how many documents hold each word. Few such numbers differ: sums over all words go over these."""

    def __init__(self, before: Sparse) -> None:
        super().__init__(before)
        self.sizes: list[Counter[float]] = [Counter() for _ in range(before.width)]  # for each class {documents: words}
        order = np.lexsort((self._values, before.columns))
        columns, values = before.columns[order], self._values[order]
        first = np.flatnonzero((np.diff(columns, prepend=-1) != 0) | (np.diff(values, prepend=np.nan) != 0))
        for start, end in pairwise([*first.tolist(), len(order)]):
            self.sizes[columns[start]][float(values[start])] = end - start

    def add(self, codes: Collection[int], k: int, values: Array) -> None:
        self.sizes += [Counter() for _ in range(k + 1 - len(self.sizes))]
        sizes = self.sizes[k]
        sizes.subtract(old for code in codes if (old := self._cell(code, k)))
        super().add(codes, k, values)
        sizes.update(self._cell(code, k) for code in codes)
        self.sizes[k] = +sizes  # without those that none has any more

    def _cell(self, code: int, k: int) -> float:
        high, low = self.added.get(code, {}).get(k, (0.0, 0.0))
        if code >= len(self.before.starts) - 1:
            return high + low
        start, end = self.before.starts[code : code + 2].tolist()
        at = start + int(np.searchsorted(self.before.columns[start:end], k))
        there = at < end and self.before.columns[at] == k
        return (float(self._values[at]) if there else 0.0) + high + low


class TextTally(Foreseeing):
    """Sums of words by class: beside the tables that were there before, what new documents add to them."""

    def __init__(self, block: Texts, evidence: Evidence, kind: type[Grown] = Grown) -> None:
        column = evidence.schema[block.axis]
        self._block, self._words = block, column.levels
        self._vocabulary = vocabulary_of(column, block.reading)
        self._tables = {label: kind(evidence[label].n) for label in block.tables}
        self._texts_before = np.asarray(evidence[block.texts].n.value[:, 0])
        self._texts: dict[int, list[float]] = {}  # {class: high and low}, of the documents that came
        self._new: dict[str, int] = {}
        self.weight = 1.0  # of what it says

    @property
    def exact(self) -> bool:
        """Cuts depend on all words' counts."""
        return self._block.cuts.cuts_nothing

    @property
    def _size(self) -> int:
        """Of the vocabulary."""
        return len(self._words) + len(self._new)

    def read(self, row: Row, number: int) -> None:
        text = row[self._block.name]
        if isinstance(text, int) and not isinstance(text, bool):
            text = str(text)
        if not isinstance(text, str):
            if not is_missing(text):
                what = f"column {self._block.name!r} has the value {text!r:.60} (row {number + 1}) where text is needed"
                raise DataError(f"{what}: give strings")
            text = ""
        elif not text.isascii():
            array_of([text], self._block.name, number)  # which refuses what is no whole character
        self._text: str = text

    def look(self, row: Row, number: int) -> None:
        self.read(row, number)
        if self._new:
            codes = [self._new.get(word, -1) if code < 0 else code for word, code in self._spelt()]
            self._tokens = np.array(codes, np.int32)
        else:
            self._tokens = self._vocabulary.codes_in(self._text)

    def _spelt(self) -> zip[tuple[str, int]]:
        """The text's words, and their codes in the vocabulary that was there before."""
        codes = self._vocabulary.codes_in(self._text).tolist()
        return zip(self._block.reading.words(self._text), codes, strict=True)

    def add(self, k: int, weight: float) -> None:
        if not self._text:
            return
        _add(self._texts.setdefault(k, [0.0, 0.0]), weight)
        found: Counter[int] = Counter()
        for word, code in self._spelt():
            if code >= 0:
                found[code] += 1
            elif self._block.holds(word):
                found[self._new.setdefault(word, self._size)] += 1
        counts = np.array(list(found.values()), np.int32)
        for label, values in self._block.added(counts, weight).items():
            self._tables[label].add(found, k, values)

    def texts(self, classes: int) -> Array:
        """How many each class has."""
        found = np.array(_filled(self._texts_before, classes))
        for k, pair in self._texts.items():
            found[k] += sum(pair)
        return found

    def evidence(self, classes: Column) -> Evidence:
        size, axis = len(classes.levels), self._block.axis
        tables = {label: table.since(size) for label, table in self._tables.items()}
        codes = list(next(iter(self._tables.values())).added)
        known = np.array([code for code in codes if code < len(self._words)], dtype=np.int64)
        names = dict(zip(known.tolist(), self._words.take(pa.array(known)).to_pylist(), strict=True))
        names |= {code: word for word, code in self._new.items()}
        levels = pa.array([names[code] for code in codes], pa.string())
        texts = np.array([self._texts.get(k, (0.0, 0.0)) for k in range(size)])
        parts = {label: Part((axis, classes.name), WordSums(table)) for label, table in tables.items()}
        parts[self._block.texts] = Part((classes.name,), Counts.of_pairs(texts[:, :1], texts[:, 1:]))
        return Evidence(Schema((classes, Column(axis, "text", levels))), parts)


class WordsTally(TextTally):
    """Of words as draws."""

    _block: Words

    def score(self, settings: Settings, out: Array) -> None:
        own, counts = distinct(self._tokens)
        if not len(own):
            return
        table = self._tables[self._block.label]
        codes, rows = table.rows(own)
        totals = table.totals if len(table.totals) == len(out) else np.array(_filled(table.totals, len(out)))
        amounts, drawn = self._block.amounts(counts).astype(np.float64), self._block.drawn
        smoothed = float(settings.smoothing), self._size
        add_words_of_row(rows, codes, amounts, totals, smoothed, drawn, self.weight, out)


class PresencesTally(TextTally):
    """Of words that are there or not."""

    _block: Presences

    def __init__(self, block: Texts, evidence: Evidence) -> None:
        super().__init__(block, evidence, Numbered)
        self._settled: tuple[float, int, Array, Array] | None = None

    def add(self, k: int, weight: float) -> None:
        super().add(k, weight)
        self._settled = None

    def score(self, settings: Settings, out: Array) -> None:
        if not self._text:
            return
        a = float(settings.smoothing)
        texts, absent = self._absent(a, len(out))
        codes, rows = self._tables[self._block.label].rows(distinct(self._tokens)[0])
        strange = bool((self._tokens < 0).any())
        add_presences_of_row(rows, codes, texts, absent, a, strange, self.weight, out)

    def _absent(self, a: float, classes: int) -> tuple[Array, Array]:
        """Texts of each class, and what it says that no word of the vocabulary is there. (classes,) both"""
        if self._settled is None or self._settled[:2] != (a, classes):
            table, texts = self._tables[self._block.label], self.texts(classes)
            assert isinstance(table, Numbered)
            said = self._size * np.log(texts + a)
            for k, sizes in enumerate(table.sizes):
                numbers, words = np.array(list(sizes)), np.array(list(sizes.values()))
                said[k] += (words * (np.log(texts[k] - numbers + a) - np.log(texts[k] + a))).sum()
            self._settled = a, classes, texts, said - (self._size + 1) * np.log(texts + 2 * a)
        return self._settled[2:]


class OddsTally(TextTally):
    """Of words by their odds."""

    _block: Odds

    def __init__(self, block: Texts, evidence: Evidence) -> None:
        super().__init__(block, evidence)
        self._table, self._documents = (self._tables[label] for label in block.tables)
        self._holding = self._documents.before.along(0)
        self._evidence, self._grown = evidence, False
        self._settled: tuple[Any, ...] | None = None
        self._unchanging: tuple[Any, ...] | None = None

    def add(self, k: int, weight: float) -> None:
        super().add(k, weight)
        self._grown, self._settled, self._unchanging = True, None, None

    def score(self, settings: Settings, out: Array) -> None:
        if not len(self._tokens):
            return
        if self._grown:
            self._score_grown(settings, out)
            return
        if self._settled is None:
            likelihood = self._block.likelihood(self._evidence, settings)
            table = likelihood.table
            self._settled = (table.starts, table.columns), likelihood.settled, likelihood.choice[0]
        rows, settled, doubt = self._settled
        add_settled_odds_of_row(self._tokens, rows, settled, doubt, self.weight, out)

    def _score_grown(self, settings: Settings, out: Array) -> None:
        """With what was learned since: each word's odds anew."""
        own, counts = distinct(self._tokens)
        codes, rows = self._table.rows(own)
        holding = np.array([self._held(code) for code in own.tolist()])
        if self._unchanging is None or len(self._unchanging[0]) != len(out):
            self._unchanging = self._same_for_all(settings, len(out))
        add_odds_of_row(rows, codes, counts, holding, self._unchanging, self.weight, out)

    def _held(self, code: int) -> float:
        """By how many documents."""
        since = sum(map(sum, self._documents.added.get(code, {}).values()))
        return since + (float(self._holding[code]) if code < len(self._holding) else 0.0)

    def _same_for_all(self, settings: Settings, classes: int) -> tuple[Any, ...]:
        """What the kernel must know that is the same for all texts, until one is learned."""
        everything = np.array([self._size, self._documents.totals.sum(), self.texts(classes).sum()])
        totals = np.array(_filled(self._table.totals, classes))
        return totals, everything, self._block.cuts.least, *(np.array([x]) for x in self._block.choice(settings))


def _add(pair: list[float], value: float) -> None:
    """high + low += value (see credo.exact)."""
    old = pair[0]
    new = old + value
    step = new - old
    pair[1] += (old - (new - step)) + (value - step)
    pair[0] = new


def _filled(values: Sequence[float] | Array, size: int) -> list[float]:
    return [*values, *[0.0] * (size - len(values))]
