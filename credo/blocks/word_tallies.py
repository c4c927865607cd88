"""Tallies of texts: a document costs what its words touch, however large the vocabulary is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo.blocks.block import Settings
from credo.blocks.tally import Foreseeing, Row
from credo.data.tables import array_of, is_missing
from credo.errors import DataError
from credo.evidence import Evidence, Part
from credo.exact import Array
from credo.schema import Column, Schema
from credo.sparse import Sparse, WordSums
from credo.statistics import Counts

if TYPE_CHECKING:
    from credo.blocks.texts import Texts


class WordsTally(Foreseeing):
    """How often each class shows each word: beside the table that was there before, what new documents add to it."""

    def __init__(self, block: Texts, words: Any, before: Array, texts: Array) -> None:
        self._block, self._words, self._before = block, words, before
        self._totals = before.sum(0)
        self._texts = [[0.0] * len(texts), [0.0] * len(texts)]  # high and low, of the documents that came
        self._added: dict[int, list[list[float]]] = {}  # {word: high and low of each class}, in order of appearance
        self._new: list[str] = []

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self._words.to_pylist())}

    @property
    def exact(self) -> bool:
        """Cuts depend on all words' counts."""
        return self._block.cuts.cuts_nothing

    def read(self, row: Row, number: int) -> None:
        text = row[self._block.name]
        if not isinstance(text, str):
            if not is_missing(text):
                what = f"column {self._block.name!r} has the value {text!r:.60} (row {number + 1}) where text is needed"
                raise DataError(f"{what}: give strings")
            text = ""
        elif not text.isascii():
            array_of([text], self._block.name, number)  # which refuses what is no whole character
        self._known, self._found = bool(text), Counter(self._block.reading.words(text))

    look = read

    def add(self, k: int, weight: float) -> None:
        if k >= len(self._totals):
            self._totals = np.append(self._totals, np.zeros(k + 1 - len(self._totals)))
        if self._known:
            _add(self._texts, k, weight)
        for word, count in self._found.items():
            code = self._codes.get(word)
            if code is None:
                code = self._codes[word] = len(self._words) + len(self._new)
                self._new.append(word)
            p = weight * (1.0 if self._block.once else count)
            _add(self._added.setdefault(code, [[], []]), k, p)
            self._totals[k] += p

    def evidence(self, classes: Column) -> Evidence:
        size = len(classes.levels)
        known = np.array([code for code in self._added if code < len(self._words)], dtype=np.int64)
        names = dict(zip(known.tolist(), self._words.take(pa.array(known)).to_pylist(), strict=True))
        names |= {len(self._words) + i: word for i, word in enumerate(self._new)}
        pairs = np.array([[_filled(part, size) for part in each] for each in self._added.values()])
        high, low = pairs.reshape(-1, 2, size).swapaxes(0, 1)
        texts = np.array([_filled(part, size) for part in self._texts])
        levels = pa.array([names[code] for code in self._added], pa.string())
        schema = Schema((classes, Column(self._block.name, "text", levels)))
        parts = {
            self._block.label: Part((self._block.name, classes.name), WordSums(Sparse.dense(high, low))),
            self._block.texts: Part((classes.name,), Counts.of_pairs(texts[0][:, None], texts[1][:, None])),
        }
        return Evidence(schema, parts)

    def score(self, settings: Settings, out: Array) -> None:
        """That of a Dirichlet-multinomial, over the words that are known."""
        from credo._kernels.live import add_words_of_row

        codes, counts = [], []
        for word, count in self._found.items():
            if (code := self._codes.get(word)) is not None:
                codes.append(code)
                counts.append(count)
        if not codes:
            return
        n, rows = self._before, np.array(codes)
        if self._added or len(out) > n.shape[1]:
            n, rows = np.array([self._row(code, len(out)) for code in codes]), np.arange(len(codes))
        totals = self._totals if len(self._totals) == len(out) else np.array(_filled(self._totals, len(out)))
        size = len(self._words) + len(self._new)
        add_words_of_row(n, rows, np.array(counts), totals, float(settings.smoothing), size, out)

    def _row(self, code: int, classes: int) -> list[float]:
        """A word's counts in all classes."""
        row = _filled(self._before[code].tolist() if code < len(self._words) else [], classes)
        for part in self._added.get(code, ()):
            for k, value in enumerate(part):
                row[k] += value
        return row


def _add(pair: list[list[float]], k: int, value: float) -> None:
    """high + low at k += value (see credo.exact), with room for classes that are new."""
    high, low = pair
    while k >= len(high):
        high.append(0.0)
        low.append(0.0)
    old = high[k]
    new = old + value
    step = new - old
    low[k] += (old - (new - step)) + (value - step)
    high[k] = new


def _filled(values: Sequence[float] | Array, size: int) -> list[float]:
    return [*values, *[0.0] * (size - len(values))]
