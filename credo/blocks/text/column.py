"""A column of texts: documents split into words, and the common part of the text models.

The statistics are a sparse table (words, classes) of sums, and the number of texts of each class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.block import Block, Parameter, Settings
from credo.blocks.capabilities import (
    Averageable,
    CountsIgnored,
    Draws,
    Ignored,
    Limits,
    LogEvidence,
    LogPrior,
    Points,
    Prunes,
    Tallies,
    WordByWord,
)
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard, Membership, Soft
from credo.core.sparse import Sparse, WordSums
from credo.core.statistics import RESIDUAL_WEIGHT, Counts, exceeds
from credo.data import Batch
from credo.data.schema import Axis, Column, Derivation, Schema
from credo.data.tokens import Tokeniser
from credo.data.word_counts import Documents
from credo.data.words import Vocabulary, learned, of_some
from credo.errors import DataError
from credo.families.dirichlet import offset
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array

PRUNING_FACTOR = 8  # times max_words: above this many words, the rarest are dropped
MOST_TEXT_WORDS = 2**31  # words of a text, at most: Arrow's strings have no more bytes
DIRECTIONS = 16  # of the random projection of documents to points
NEW_WORDS = "no known word"


@dataclass(frozen=True)
class Cuts:
    """The words that are used: those seen at least min_count times, without the commonest, at most max_words."""

    min_count: int = 1
    drop_most_common: int = 0
    max_words: int | None = None

    @property
    def least(self) -> float:
        """The weight below which a word is absent."""
        return self.min_count - 1e-9 if self.min_count > 1 else RESIDUAL_WEIGHT

    @property
    def cuts_nothing(self) -> bool:
        return self.min_count <= 1 and not self.drop_most_common and self.max_words is None

    def kept(self, weights: Array) -> Flags:
        """Whether words are used, given their weights; among equal ones, earlier words count as commoner. (words,)"""
        kept = weights >= self.least
        if self.drop_most_common or self.max_words is not None:
            order = np.argsort(-weights, kind="stable")
            kept[order[: self.drop_most_common]] = False
            if self.max_words is not None:
                kept[order[kept[order]][self.max_words :]] = False
        return np.asarray(kept)


@dataclass(frozen=True)
class Texts(Block, Limits, Prunes, Tallies):
    """A column of texts, split into words: a table (words, classes) of sums, and the number of texts of each class."""

    name: str
    reading: Tokeniser
    cuts: Cuts

    derived: ClassVar[Derivation] = ""  # how its words are derived from the column

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def tables(self) -> tuple[Label, ...]:
        """The labels of its tables of words."""
        return (self.label,)

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset((table, self.reading) for table in self.tables)

    def words_column(self, words: object) -> Column:
        """The column of the evidence whose levels are the words."""
        return Column(self.name, "text", words, derived=self.derived)

    @property
    def axis(self) -> Axis:
        return self.words_column(None).axis

    @property
    def label(self) -> Label:
        """The label of the table."""
        return Label("column", self.name)

    @property
    def texts(self) -> Label:
        """The label of the number of texts."""
        return Label("texts", self.name)

    @property
    def documents(self) -> Label:
        """The label of the numbers of documents that contain each word."""
        return Label("documents", self.name, self.derived)

    def keeps(self, label: Label) -> bool:
        return label in (*self.tables, self.texts)

    def crowded(self, evidence: Evidence, slack: float) -> Label | None:
        """A part with impossible sums: words without texts, too long texts, or more documents with a word than
        texts."""
        texts = evidence[self.texts].weight
        for label in self.tables:
            table = evidence[label].n
            words = table.along(1)
            too_long = bool(((words > slack) & (words > MOST_TEXT_WORDS * texts)).any())
            if too_long or (label == self.documents and exceeds(table.largest(), texts, slack)):
                return label
        return None

    def read(self, batch: Batch) -> tuple[Documents, Any]:
        """The batch's documents and their words, split once for all blocks that count them."""
        return batch.encoded(WordReader(self.name, self.reading))

    def looked_up(self, batch: Batch, column: Column) -> Documents:
        """The batch's documents by known words, looked up once for all blocks with the same vocabulary."""
        return batch.encoded(KnownWords(self.name, column.vocabulary(self.reading)))

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        documents, words = self.read(batch)
        parts = {
            label: Part((self.axis, groups), WordSums(_word_sums(documents, len(words), terms, member)))
            for label, terms in self.terms(documents).items()
        }
        parts[self.texts] = Part((groups,), Counts.of_rows(member.take(documents.known)))
        return Evidence(Schema((self.words_column(words),)), parts)

    def terms(self, documents: Documents) -> dict[Label, NDArray[Any]]:
        """The contribution of each word of each document to each table, at weight 1."""
        return {self.label: self.amounts(documents.counts)}

    def amounts(self, counts: Codes) -> NDArray[Any]:
        """The contribution of a word to the table, given its count in a document."""
        return counts

    def pruned(self, evidence: Evidence) -> Evidence:
        """The evidence without the rarest words, if there are many more than max_words: a stream takes bounded
        memory."""
        most, levels = self.cuts.max_words, evidence.schema[self.axis].levels
        if most is None or len(levels) <= PRUNING_FACTOR * most:
            return evidence
        order = np.argsort(-evidence[self.label].n.along(0), kind="stable")
        return evidence.only_levels(self.axis, np.sort(order[: PRUNING_FACTOR * most // 2]))

    def _seen(self, evidence: Evidence) -> tuple[Column, Array, Array]:
        """The words, their table, and the number of texts."""
        texts = np.asarray(evidence[self.texts].n.value[:, 0])
        return evidence.schema[self.axis], evidence[self.label].n.value, texts


def _word_sums(documents: Documents, words: int, terms: NDArray[Any], member: Membership) -> Sparse:
    """Σᵢ wᵢₖ termᵢᵥ over the documents i that contain word v. (words, groups)"""
    lists, shape = (documents.words, documents.starts), (words, member.groups)
    if isinstance(member, Soft):
        return Sparse.of_soft_lists(*lists, member.weights, np.ascontiguousarray(terms, dtype=np.float64), shape)
    each = np.repeat(member.weight, np.diff(documents.starts))
    each *= terms  # rounded as when it is subtracted
    return Sparse.of_lists(*lists, member.codes, each, shape)


@dataclass(frozen=True)
class WordReader:
    """Reads a column's documents as lists of their words."""

    name: str
    reading: Tokeniser

    def of(self, batch: Batch) -> tuple[Documents, Any]:
        if batch.inside is not None:
            documents, words = batch.inside.whole.encoded(self)
            return of_some(documents.take(batch.inside.rows), words)
        with _utf8(self.name):
            return learned(strings(batch, self.name), self.reading)


@dataclass(frozen=True)
class KnownWords:
    """Reads a column's documents as lists of known words."""

    name: str
    vocabulary: Vocabulary

    def of(self, batch: Batch) -> Documents:
        own = WordReader(self.name, self.vocabulary.how)
        if batch.inside is not None:  # held-out rows and the others have the same vocabulary
            batch.inside.whole.encoded(own)
            return batch.inside.whole.encoded(self).take(batch.inside.rows)
        if own in batch.encodings:
            return self.vocabulary.recoded(*batch.encoded(own))
        with _utf8(self.name):
            return self.vocabulary.read(strings(batch, self.name))


@contextmanager
def _utf8(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"column {name!r} holds bytes that aren't UTF-8 ({error.reason}): it isn't text") from None


def strings(batch: Batch, name: str) -> pa.Array:
    """The column as Arrow strings."""
    array = batch.column(name)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if pa.types.is_integer(array.type):
        return array.cast(pa.string())
    if not pa.types.is_string(array.type):
        value = next(cell.as_py() for cell in array if cell.is_valid) if array.null_count < len(array) else None
        if value is not None:
            raise DataError(f"column {name!r} has the value {value!r:.60} where text is needed: give strings")
        array = array.cast(pa.string())
    return array


@dataclass(frozen=True, eq=False)
class TextLikelihood(Averageable, LogPrior, LogEvidence, Points, CountsIgnored, WordByWord, Draws):
    """The common part of the multinomial and the Bernoulli model."""

    block: Texts
    column: Column  # of words
    n: Array  # (words, classes)
    texts: Array  # (classes,)
    settings: Settings
    weight: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.block.name,)

    @property
    def words(self) -> pa.Array:
        return self.column.levels

    def read(self, batch: Batch) -> Documents:
        return self.block.looked_up(batch, self.column)

    def read_counting_ignored(self, batch: Batch) -> tuple[Documents, Ignored]:
        """Texts often have unseen words: only texts without any known word are counted."""
        documents = self.read(batch)
        unseen = int(((documents.unseen > 0) & (np.diff(documents.starts) == 0)).sum())
        return documents, {(self.block.name, NEW_WORDS): unseen} if unseen else {}

    @property
    def reading(self) -> Tokeniser:
        return self.block.reading

    @cached_property
    def weights(self) -> Array:
        """The weight of each word in all classes; 0 for words that are cut. (words,)"""
        found = self.n.sum(1)
        return np.where(self.block.cuts.kept(found), found, 0.0)

    @property
    def least(self) -> float:
        return self.block.cuts.least

    @cached_property
    def size(self) -> int:
        """The size of the vocabulary."""
        return int(np.count_nonzero(self.weights))

    @property
    def _offset(self) -> float:
        """The pseudo-count of each word."""
        return max(float(offset(self.settings.smoothing, self.settings.estimate)), 0.0)

    def add(self, cells: Documents, out: Array) -> None:
        nobody = Hard(np.full(len(cells.known), -1, dtype=np.int32), self.n.shape[1], np.ones(len(cells.known)))
        unweighted = np.zeros_like(out)
        self.add_left_out(cells, nobody, unweighted)
        out += self.weight * unweighted

    def pick(self, places: Sequence[int]) -> Self:
        assert [*places] == [0], "there is but one column"
        return self

    def cells_of(self, cells: Documents, places: Sequence[int]) -> Documents:
        assert [*places] == [0], "there is but one column"
        return cells

    def weighted(self, weights: Array) -> Self:
        return replace(self, weight=float(weights[0]))

    def as_one(self) -> Self:
        return replace(self, n=self.n.sum(1, keepdims=True), texts=self.texts.sum(keepdims=True))

    @property
    @abstractmethod
    def shares(self) -> Array:
        """P(word | class), or P(present | class); 0 for words that are cut. (words, classes)"""

    def for_class(self, k: int) -> Array:
        """log P(word | class k)/P(word | the other classes), always smoothed; -∞ for words that are cut. (words,)"""
        a, there = max(self.settings.smoothing, RESIDUAL_WEIGHT), self.weights > 0
        own, others = self.n[:, k], self.n.sum(1) - self.n[:, k]
        totals = [max((each[there] + a).sum(), RESIDUAL_WEIGHT) for each in (own, others)]
        return np.where(there, np.log((own + a) / totals[0]) - np.log((others + a) / totals[1]), -np.inf)

    def points(self, cells: Documents) -> Array:
        """A random projection of tf-idf weighted logarithmic counts; documents have length 1. (documents,
        directions)"""
        with np.errstate(divide="ignore"):
            log_weights = np.log(np.maximum(self.weights, RESIDUAL_WEIGHT))
            rare = np.where(self.weights > 0, np.log1p(self.texts.sum()) - log_weights, 0.0)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(rare), DIRECTIONS))
        rows = np.repeat(np.arange(len(cells.known)), np.diff(cells.starts))
        amounts = np.log1p(cells.counts) * np.maximum(rare[cells.words], 0.0)
        found = np.zeros((len(cells.known), DIRECTIONS))
        np.add.at(found, rows, amounts[:, None] * signs[cells.words])
        length = np.sqrt(np.bincount(rows, amounts**2, len(found)))
        found /= np.where(length > 0, length, 1.0)[:, None]
        return np.where(cells.known[:, None], found, np.nan)

    def parameters(self) -> list[Parameter]:
        shares, words = self.shares, self.words.to_pylist()
        return [Parameter(self.block.name, "probability", shares[v], words[v]) for v in np.flatnonzero(self.weights)]


@dataclass(frozen=True, eq=False)
class WordsLeftOut:
    """The words of all documents, with their document left out."""

    row: NDArray[np.intp]  # the document of each word
    word: NDArray[np.int32]
    mine: NDArray[np.int32]  # the class of their document
    taken: Array  # the weight that is removed with it
    gone: Flags  # whether no other document has the word
    rows: int

    @classmethod
    def of(cls, likelihood: TextLikelihood, cells: Documents, own: Hard) -> WordsLeftOut:
        row = np.repeat(np.arange(own.rows), np.diff(cells.starts))
        there = likelihood.weights[cells.words] > 0
        row, word, counts = row[there], cells.words[there], cells.counts[there]
        taken = own.weight[row] * likelihood.block.amounts(counts)
        gone = likelihood.weights[word] - taken < likelihood.least
        return cls(row, word, own.codes[row], taken, gone, own.rows)

    def total(self, values: NDArray[Any]) -> Array:
        """The sum over the words of each document."""
        out = np.zeros((self.rows, *values.shape[1:]))
        np.add.at(out, self.row, values)
        return out
