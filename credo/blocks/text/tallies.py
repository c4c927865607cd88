"""Tallies of texts: a document takes time proportional to its words, whatever the size of the vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.text.live import (
    SPARE_CELLS,
    add_odds_of_row,
    add_presences_of_row,
    add_settled_odds_of_row,
    add_to_rows,
    add_words_of_row,
    distinct,
)
from credo.blocks.block import Settings
from credo.blocks.tally import ClassWeights, PredictingTally, Row
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes
from credo.core.sparse import Sparse, WordSums
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data.conversion import array_of, is_missing
from credo.data.schema import Column, Schema
from credo.data.word_counts import Documents
from credo.errors import DataError
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.text.bernoulli import Presences
    from credo.blocks.text.column import Texts
    from credo.blocks.text.log_odds import Odds
    from credo.blocks.text.multinomial import Words

ONE_TEXT = np.ones(1, dtype=bool), np.zeros(1, dtype=np.int64)  # known, without unseen words
ROOM_GROWTH, LEAST_ROOM = 2, 1024  # of growing arrays: a multiple of the additions, and a minimum


class LiveTable:
    """A table (words, classes) of sums, and the additions to it, for credo._kernels.text.live."""

    def __init__(self, before: Sparse) -> None:
        self._before = before
        self.table = before.starts[:-1], before.starts[1:], before.columns, before.cells.value
        self.totals = before.along(1)  # (classes,)
        self.touched: dict[int, None] = {}  # changed words, in order of appearance
        self._rooms, self._since = np.zeros(0, np.int64), (np.zeros(0), np.zeros(0))
        self._used = np.array([len(before.high), len(before.high)])  # cells: before, and now

    def add(self, codes: Codes, k: int, amounts: Array) -> Array:
        """Add amounts of words to a class; the result is the amounts before."""
        first, old = 0, np.empty(len(codes))
        self._make_room(int(codes.max(initial=-1)) + 1, 0)
        while (
            first := add_to_rows(codes, first, k, amounts, self.table, self._rooms, self._since, self._used, old)
        ) < len(codes):
            start, end = (each[codes[first]] for each in self.table[:2])
            self._make_room(0, 2 * (end - start) + len(codes) * (SPARE_CELLS + 1))
        self.touched |= dict.fromkeys(codes.tolist())
        if k >= len(self.totals):
            self.totals = np.append(self.totals, np.zeros(k + 1 - len(self.totals)))
        self.totals[k] += amounts.sum()
        return old

    def _make_room(self, words: int, cells: int) -> None:
        """Make room for a number of words, and for more cells."""
        starts, ends, columns, values = self.table
        shared = not len(self._rooms)  # with the evidence, which must not change
        if shared or words > len(starts):
            size = _roomy(words, self._before.shape[0])
            starts, ends, self._rooms = (_longer(each, size) for each in (starts, ends, self._rooms))
        before, now = self._used.tolist()
        if shared or now + cells > len(columns):
            size = _roomy(now + cells, before)
            columns, values = _longer(columns, size), _longer(values, size)
            self._since = _longer(self._since[0], size - before), _longer(self._since[1], size - before)
        self.table = starts, ends, columns, values

    def since(self, classes: int) -> Sparse:
        """The additions, with a row for each changed word."""
        starts, ends = (each[list(self.touched)] for each in self.table[:2])
        sizes = ends - starts
        at = np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        high, low = (each[at - self._used[0]] for each in self._since)
        rows, added = np.repeat(np.arange(len(sizes)), sizes), high != 0
        return Sparse.of(rows[added], self.table[2][at[added]], high[added], (len(sizes), classes), low[added])


class DocumentCounts(LiveTable):
    """A table of the numbers of documents that contain each word. Sums over words use their few distinct values."""

    def __init__(self, before: Sparse) -> None:
        super().__init__(before)
        self.sizes: list[Counter[float]] = [Counter() for _ in range(before.width)]  # for each class {documents: words}
        cells = before.cells.value
        order = np.lexsort((cells, before.columns))
        columns, values = before.columns[order], cells[order]
        first = np.flatnonzero((np.diff(columns, prepend=-1) != 0) | (np.diff(values, prepend=np.nan) != 0))
        for start, end in pairwise([*first.tolist(), len(order)]):
            self.sizes[columns[start]][float(values[start])] = end - start

    def add(self, codes: Codes, k: int, amounts: Array) -> Array:
        self.sizes += [Counter() for _ in range(k + 1 - len(self.sizes))]
        sizes, old = self.sizes[k], super().add(codes, k, amounts)
        sizes.subtract(old[old != 0].tolist())
        sizes.update((old + amounts).tolist())
        self.sizes[k] = +sizes  # without empty ones
        return old


class TextTally(PredictingTally):
    """Sums of words by class: the tables of the evidence, and the additions of new documents."""

    def __init__(
        self,
        block: Texts,
        evidence: Evidence,
        tables: dict[Label, LiveTable] | None = None,
        holds: Callable[[str], bool] | None = None,
    ) -> None:
        column = evidence.schema[block.axis]
        self._block, self._words = block, column.levels
        self._holds = holds  # whether a word is counted; None: all are
        self._vocabulary = column.vocabulary(block.reading)
        self._tables = tables or {label: LiveTable(evidence[label].n) for label in block.tables}
        self._texts = ClassWeights(evidence[block.texts].n.value[:, 0])
        self._new: dict[str, int] = {}
        self.weight = 1.0  # of the log-likelihood
        self._heavy = bool((evidence[block.tables[-1]].n.along(0) >= RESIDUAL_WEIGHT).all())

    @property
    def exact(self) -> bool:
        """False if words are cut, or have tiny weights: then scores depend on the counts of all words."""
        return self._heavy and self._block.cuts.cuts_nothing

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
            array_of([text], self._block.name, number)  # raises an error for incomplete characters
        self._text: str = text

    def look(self, row: Row, number: int) -> None:
        self.read(row, number)
        known = self._vocabulary.codes_in
        self._tokens = self._recoded(lambda word: self._new.get(word, -1)) if self._new else known(self._text)

    def _recoded(self, code_of: Callable[[str], int]) -> Codes:
        """The codes of the text's words; a function gives those of new words."""
        codes = self._vocabulary.codes_in(self._text)
        if not (codes < 0).any():
            return codes
        spelt = zip(self._block.reading.words(self._text), codes.tolist(), strict=True)
        return np.array([code_of(word) if code < 0 else code for word, code in spelt], np.int32)

    def _admitted(self, word: str) -> int:
        return self._new.setdefault(word, self._size) if self._holds is None or self._holds(word) else -1

    def add(self, k: int, weight: float) -> None:
        if not self._text:
            return
        self._texts.add(k, weight)
        self._learn(*distinct(self._recoded(self._admitted)), k, weight)

    def _learn(self, codes: Codes, counts: Codes, k: int, weight: float) -> None:
        """Learn a document of class k with these counts of words."""
        self._heavy = self._heavy and weight >= RESIDUAL_WEIGHT
        alone = Documents(np.array([0, len(codes)]), codes, counts, *ONE_TEXT)
        for label, terms in self._block.terms(alone).items():
            self._tables[label].add(codes, k, weight * terms)

    def evidence(self, classes: Column) -> Evidence:
        size, axis = len(classes.levels), self._block.axis
        tables = {label: table.since(size) for label, table in self._tables.items()}
        codes = list(next(iter(self._tables.values())).touched)
        known = np.array([code for code in codes if code < len(self._words)], dtype=np.int64)
        names = dict(zip(known.tolist(), self._words.take(pa.array(known)).to_pylist(), strict=True))
        names |= {code: word for word, code in self._new.items()}
        levels = pa.array([names[code] for code in codes], pa.string())
        parts = {label: Part((axis, classes.name), WordSums(table)) for label, table in tables.items()}
        parts[self._block.texts] = Part((classes.name,), self._texts.counts(size))
        return Evidence(Schema((classes, self._block.words_column(levels))), parts)


class WordsTally(TextTally):
    """The tally of the multinomial model."""

    _block: Words

    def score(self, settings: Settings, out: Array) -> None:
        codes, counts = distinct(self._tokens)
        if not len(codes):
            return
        table = self._tables[self._block.label]
        totals = table.totals if len(table.totals) == len(out) else np.array(_filled(table.totals, len(out)))
        amounts, drawn = self._block.amounts(counts).astype(np.float64), self._block.drawn
        smoothed = float(settings.smoothing), self._size
        add_words_of_row(table.table, codes, amounts, totals, smoothed, drawn, self.weight, out)


class PresencesTally(TextTally):
    """The tally of the Bernoulli model."""

    _block: Presences

    def __init__(self, block: Texts, evidence: Evidence) -> None:
        self._documents = DocumentCounts(evidence[block.label].n)
        super().__init__(block, evidence, {block.label: self._documents})
        self._settled: tuple[float, int, Array, Array] | None = None
        self._sums: dict[tuple[float, int], float] = {}  # {smoothing, class: Σ log (D - d + a)/(D + a) over words}

    def add(self, k: int, weight: float) -> None:
        super().add(k, weight)
        self._settled = None
        self._sums = {key: value for key, value in self._sums.items() if key[1] != k}

    def score(self, settings: Settings, out: Array) -> None:
        if not self._text:
            return
        a = float(settings.smoothing)
        texts, absent = self._absent(a, len(out))
        codes, unseen = distinct(self._tokens)[0], bool((self._tokens < 0).any())
        add_presences_of_row(self._documents.table, codes, texts, absent, a, unseen, self.weight, out)

    def _absent(self, a: float, classes: int) -> tuple[Array, Array]:
        """The number of texts, and log p(no word of the vocabulary is present | class). (classes,) both"""
        if self._settled is None or self._settled[:2] != (a, classes):
            texts = self._texts.value(classes)
            absent = self._size * np.log(texts + a) - (self._size + 1) * np.log(texts + 2 * a)
            for k, sizes in enumerate(self._documents.sizes):
                if (a, k) not in self._sums:
                    numbers, words = np.array(list(sizes)), np.array(list(sizes.values()))
                    self._sums[a, k] = (words * (np.log(texts[k] - numbers + a) - np.log(texts[k] + a))).sum()
                absent[k] += self._sums[a, k]
            self._settled = a, classes, texts, absent
        return self._settled[2:]


class OddsTally(TextTally):
    """The tally of log-odds."""

    _block: Odds

    def __init__(self, block: Texts, evidence: Evidence, holds: Callable[[str], bool] | None = None) -> None:
        super().__init__(block, evidence, holds=holds)
        self._table, self._documents = (self._tables[label] for label in block.tables)
        self._holding = evidence[block.tables[1]].n.along(0)
        self._evidence, self._learned = evidence, False
        self._settled: tuple[Any, ...] | None = None
        self._unchanging: tuple[Any, ...] | None = None

    def add(self, k: int, weight: float) -> None:
        super().add(k, weight)
        self._learned, self._settled, self._unchanging = True, None, None

    def _learn(self, codes: Codes, counts: Codes, k: int, weight: float) -> None:
        super()._learn(codes, counts, k, weight)
        if self._size > len(self._holding):
            self._holding = _longer(self._holding, _roomy(self._size, len(self._words)))
        self._holding[codes] += weight

    def score(self, settings: Settings, out: Array) -> None:
        if not len(self._tokens):
            return
        if self._learned:
            self._score_learned(settings, out)
            return
        if self._settled is None:
            likelihood = self._block.likelihood(self._evidence, settings)
            table = likelihood.table
            self._settled = (table.starts, table.columns), likelihood.settled, likelihood.choice[0]
        rows, settled, doubt = self._settled
        add_settled_odds_of_row(self._tokens, rows, settled, doubt, self.weight, out)

    def _score_learned(self, settings: Settings, out: Array) -> None:
        """The score with all learned rows: each word's log-odds are computed again."""
        codes, counts = distinct(self._tokens)
        if self._unchanging is None or len(self._unchanging[0]) != len(out):
            self._unchanging = self._same_for_all(settings, len(out))
        add_odds_of_row(self._table.table, codes, counts, self._holding, self._unchanging, self.weight, out)

    def _same_for_all(self, settings: Settings, classes: int) -> tuple[Any, ...]:
        """The kernel's arguments that are the same for all texts, until one is learned."""
        everything = np.array([self._size, self._documents.totals.sum(), self._texts.value(classes).sum()])
        totals = np.array(_filled(self._table.totals, classes))
        return totals, everything, self._block.cuts.least, *(np.array([x]) for x in self._block.choice(settings))


def _roomy(needed: int, before: int) -> int:
    return before + ROOM_GROWTH * max(needed - before, LEAST_ROOM)


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy padded with zeros."""
    found = np.zeros(size, array.dtype)
    found[: len(array)] = array
    return found


def _filled(values: Sequence[float] | Array, size: int) -> list[float]:
    return [*values, *[0.0] * (size - len(values))]
