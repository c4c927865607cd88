"""Words as categories with a model of spelling for unseen words.

A group's words follow a Pitman-Yor process: most of its mass is on the group's words, the rest on a base distribution,
which scores new words. The base is derived from the spellings of known words, each distinct word counting once (as in
Kneser-Ney smoothing): words with the same ending and shape tend to have the same groups, and longer endings refine
shorter ones. All of it is derived from the counts of words by group, which add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Block, Likelihood, Parameter, Settings
from credo.blocks.capabilities import ByColumn, CountsIgnored, Draws, Ignored
from credo.blocks.categories import Categories
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Codes, Membership
from credo.data import Batch, cells
from credo.data.batches import CategoryCodes
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Spelled(Block):
    """P(word | group) = (n - d [n > 0] + (l + d T) G(word | group)) / (N + l).

    The group has the word n times, N words in all, and T distinct ones; the discount d follows from the numbers of
    words that occur once and twice, and l is `smoothing`. G(word | group) = P(group | spelling) / P(group) / V for V
    distinct words. P(group | ending) = (T(ending, group) + s P(group | shorter ending)) / (T(ending) + s) with the
    strength s and the number T(ending) of distinct words with this ending and shape.
    """

    names: tuple[str, ...]  # one column
    endings: int = 5  # the number of letters of the longest ending
    strength: float = 5.0

    @property
    def _counts(self) -> Categories:
        return Categories(self.names)

    @property
    def counted(self) -> frozenset[Any]:
        return self._counts.counted

    def keeps(self, label: Label) -> bool:
        return self._counts.keeps(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        return self._counts.summarise(batch, member, groups)

    def likelihood(self, evidence: Evidence, settings: Settings) -> SpelledLikelihood:
        (name,) = self.names
        counts = evidence[Label("column", name)].n.value
        return SpelledLikelihood(self.names, evidence.schema[name].levels, counts, self, settings)


class SpelledCells(NamedTuple):
    """Codes of known words (below V), of new ones (V and above) and of missing cells (-1); and the new words."""

    codes: Codes
    new: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SpelledLikelihood(Likelihood, ByColumn, CountsIgnored, Draws):
    """log P(word | group) of known and new words."""

    names: tuple[str, ...]
    levels: pa.Array  # the known words, an Arrow array
    counts: Array  # (groups, words)
    block: Spelled
    settings: Settings

    def read(self, batch: Batch) -> SpelledCells:
        own, values = batch.encoded(CategoryCodes(self.names[0]))
        places, _ = cells.codes_among(values, self.levels)
        new = np.flatnonzero(places < 0)
        places = places.copy()
        places[new] = len(self.levels) + np.arange(len(new))
        words = tuple(str(value) for value in values.take(new.tolist()).to_pylist()) if len(new) else ()
        return SpelledCells(np.append(places, -1).astype(np.int32)[own], words)

    def read_counting_ignored(self, batch: Batch) -> tuple[SpelledCells, Ignored]:
        """Unseen words are scored by their spelling; they are only ignored without a prior."""
        found = self.read(batch)
        unseen = int((found.codes >= len(self.levels)).sum()) if self.settings.estimate == "ml" else 0
        return found, {(self.names[0], "unseen values"): unseen} if unseen else {}

    def add(self, cells: SpelledCells, out: Array) -> None:
        table = np.concatenate([self._log_known, self._log_new(cells.new), np.zeros((1, len(self.counts)))])
        out += table[cells.codes]

    def by_column(self, cells: SpelledCells, shape: tuple[int, int]) -> dict[str, Array]:
        found = np.zeros(shape)
        self.add(cells, found)
        return {self.names[0]: found}

    @cached_property
    def _spellings(self) -> EndingShares:
        words = [str(value) for value in self.levels.to_pylist()]
        return EndingShares.of(words, (self.counts > 0).T.astype(np.float64), self.block.endings, self.block.strength)

    @cached_property
    def _masses(self) -> tuple[Array, Array, Array]:
        """The discount, the base's mass and the total of each group. (groups,)"""
        if self.settings.estimate == "ml":
            zeros = np.zeros(len(self.counts))
            return zeros, zeros, np.maximum(self.counts.sum(1), np.finfo(float).tiny)
        once, twice = ((np.abs(self.counts - k) < 0.5).sum(1) for k in (1, 2))
        discount = (once + 0.5) / (once + 2.0 * twice + 1.0)  # by leave-one-out of words
        base = self.settings.smoothing + discount * (self.counts > 0).sum(1)
        return discount, base, self.counts.sum(1) + self.settings.smoothing

    @cached_property
    def shares(self) -> Array:
        """P(word | group) of known words. (groups, words)"""
        discount, base, total = (part[:, None] for part in self._masses)
        kept = np.maximum(self.counts - discount * (self.counts > 0), 0.0)
        return np.asarray((kept + base * self._spellings.known.T) / total)

    @cached_property
    def _log_known(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.log(self.shares).T)

    def _log_new(self, words: Sequence[str]) -> Array:
        """log P(word | group) of new words. (words, groups)"""
        if self.settings.estimate == "ml" or not words:
            return np.zeros((len(words), len(self.counts)))
        _, base, total = self._masses
        return np.log(base / total) + np.log(self._spellings.of_new(words))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Known words, sampled."""
        reached = np.cumsum(self.shares, axis=1)
        u = rng.random(len(classes)) * reached[classes, -1]
        drawn = [int(np.searchsorted(reached[k], each, side="right")) for k, each in zip(classes, u, strict=True)]
        values = np.array([*self.levels.to_pylist(), None], dtype=object)[:-1]
        return {self.names[0]: values[np.minimum(drawn, len(values) - 1)]}

    def parameters(self) -> list[Parameter]:
        values = self.levels.to_pylist()
        return [Parameter(self.names[0], "probability", self.shares[:, v], value) for v, value in enumerate(values)]

    @property
    def free_parameters(self) -> int:
        return int((self.counts > 0).sum())


@dataclass(frozen=True, eq=False)
class EndingShares:
    """P(group | spelling) / P(group) / V for endings of increasing length."""

    places: dict[tuple[str, str], int]  # the position of each shape and ending
    types: Array  # (endings, groups) the number of distinct words
    root: Array  # (groups,) P(group) without an ending
    average: Array  # (groups,) P(group), averaged over known words
    known: Array  # (words, groups) G of known words
    endings: int
    strength: float

    @classmethod
    def of(cls, words: Sequence[str], shown: Array, endings: int, strength: float) -> EndingShares:
        """The spellings of words. shown: (words, groups) whether a group has a word"""
        spelt = [spelling(word, endings) for word in words]
        places: dict[tuple[str, str], int] = {}
        ids = np.full((len(words), endings + 2), -1, dtype=np.intp)
        for i, keys in enumerate(spelt):
            for j, key in enumerate(keys):
                ids[i, j] = places.setdefault(key, len(places))
        types = np.zeros((len(places), shown.shape[1]))
        for own in ids.T:
            np.add.at(types, own[own >= 0], shown[own >= 0])
        groups = shown.shape[1]
        root = (shown.sum(0) + 1.0 / groups) / (shown.sum() + 1.0)
        found = _refined(ids, types, root, strength)
        average = found.mean(0) if len(words) else root
        known = found / average / (len(words) + 1.0)
        return cls(places, types, root, average, known, endings, strength)

    def of_new(self, words: Sequence[str]) -> Array:
        """G of new words. (words, groups)"""
        ids = np.full((len(words), self.endings + 2), -1, dtype=np.intp)
        for i, word in enumerate(words):
            for j, key in enumerate(spelling(word, self.endings)):
                ids[i, j] = self.places.get(key, -1)
        found = _refined(ids, self.types, self.root, self.strength)
        return np.asarray(found / self.average / (len(self.known) + 1.0))


def _refined(ids: NDArray[np.intp], types: Array, root: Array, strength: float) -> Array:
    """P(group | word), refined from no ending to the longest known one. (words, groups)"""
    found = np.repeat(root[None], len(ids), axis=0)
    for own in ids.T:
        rows = np.flatnonzero(own >= 0)
        seen = types[own[rows]]
        found[rows] = (seen + strength * found[rows]) / (seen.sum(1, keepdims=True) + strength)
    return found


def spelling(word: str, endings: int) -> list[tuple[str, str]]:
    """The word's shape alone, then with endings of increasing length; all digits are 0.

    >>> spelling("Re-1", 2)
    [('Aa0-', ''), ('Aa0-', '0'), ('Aa0-', '-0')]
    >>> spelling("of", 2)  # a short word whole
    [('a', ''), ('a', 'f'), ('a', 'of'), ('a', '^of')]
    """
    shape, lower = shape_of(word), "".join("0" if letter.isdigit() else letter for letter in word.lower())
    found = [(shape, lower[len(lower) - size :]) for size in range(min(endings, len(lower)) + 1)]
    return [*found, (shape, f"^{lower}")] if len(lower) <= endings else found


def shape_of(word: str) -> str:
    """The word's shape: whether it starts with a capital, has more capitals, digits or hyphens.

    >>> shape_of("Paris"), shape_of("NATO"), shape_of("I"), shape_of("iPod"), shape_of("1,000"), shape_of("so-called")
    ('Aa', 'AA', 'A', 'aA', '0', 'a-')
    """
    letters = [letter for letter in word if letter.isalpha()]
    first = ("A" if letters[0].isupper() else "a") if letters else ""
    upper = sum(letter.isupper() for letter in letters[1:])
    if first == "A" and len(letters) > 1:
        first = "AA" if upper == len(letters) - 1 else "Aa"
    elif first == "a" and upper:
        first = "aA"
    digit = "0" if any(letter.isdigit() for letter in word) else ""
    return first + digit + ("-" if "-" in word else "")
