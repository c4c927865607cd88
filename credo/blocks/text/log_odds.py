"""Words of a text as log-odds of each class against all others, damped where they are uncertain.

The score isn't a likelihood, but often predicts better than one. Tuning chooses its two settings by leave-one-out and
weights it with the other terms. The statistics are sums: each document adds the logarithms of its counts, divided by
their Euclidean norm, to the words of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.text.log_odds import add_odds, add_settled_odds, contribute, settle_odds
from credo.blocks.block import Parameter, Settings
from credo.blocks.capabilities import OneTerm, WordByWord
from credo.blocks.text import few_log_odds
from credo.blocks.text.column import Texts, WordReader
from credo.blocks.text.few_log_odds import OddsLeftOut, Settled, WordStatistics
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Hard
from credo.core.sparse import Sparse
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.schema import Column, Derivation
from credo.data.tokens import Tokeniser
from credo.data.word_counts import Documents
from credo.data.words import pairs_alone
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.tally import Tally

DEFAULT_ODDS = (2.0, 1.0)  # c and p without tuning


@dataclass(frozen=True)
class Odds(Texts):
    """A column's words, by the log-odds of each class against all others."""

    @property
    def label(self) -> Label:
        return Label("odds", self.name, self.derived)

    @property
    def tables(self) -> tuple[Label, ...]:
        return (self.label, self.documents)

    def terms(self, documents: Documents) -> dict[Label, NDArray[Any]]:
        if few_log_odds.hold_little(documents):
            shares = few_log_odds.shares_of_words(documents)
        else:
            shares = np.empty(len(documents.words))
            contribute(documents.counts, documents.starts, np.ones(len(documents.known)), shares)
        return dict(zip(self.tables, (shares, np.broadcast_to(1.0, len(shares))), strict=True))

    def likelihood(self, evidence: Evidence, settings: Settings) -> OddsLikelihood:
        texts = float(evidence[self.texts].n.value.sum())
        tables = evidence[self.label].n, evidence[self.documents].n
        column, holding = evidence.schema[self.axis], tables[1].along(0)
        return OddsLikelihood(self, column, *tables, holding, texts, self.choice(settings))

    def choice(self, settings: Settings) -> tuple[float, float]:
        """The settings c and p."""
        return settings.odds.get(self.axis, DEFAULT_ODDS)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.text.tallies import OddsTally

        return OddsTally(self, evidence)


@dataclass(frozen=True)
class WordPairs:
    """Reads a column's documents as lists of pairs of adjacent words."""

    name: str
    reading: Tokeniser

    def of(self, batch: Batch) -> tuple[Documents, Any]:
        return pairs_alone(*batch.encoded(WordReader(self.name, self.reading)))


@dataclass(frozen=True)
class Pairs(Odds):
    """Log-odds of pairs of adjacent words, without single words."""

    derived: ClassVar[Derivation] = "pairs"

    def read(self, batch: Batch) -> tuple[Documents, Any]:
        return batch.encoded(WordPairs(self.name, self.reading))

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.text.tallies import OddsTally

        return OddsTally(self, evidence, holds=lambda word: " " in word)


@dataclass(frozen=True, eq=False)
class OddsLikelihood(OneTerm, WordByWord):
    """Σ q f / ‖q‖ (see credo._kernels.text.log_odds): scores of classes, not densities."""

    block: Odds
    column: Column  # of words
    table: Sparse  # (words, classes)
    documents: Sparse  # (words, classes)
    holding: Array  # (words,) documents
    texts: float
    choice: tuple[float, float]  # c and p
    weight: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.block.name,)

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def reading(self) -> Tokeniser:
        return self.block.reading

    def read(self, batch: Batch) -> Documents:
        return self.block.looked_up(batch, self.column)

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Documents that contain each word (0 for words that are cut), classes' sums, and [words, their documents,
        all]."""
        holding = np.where(self.block.cuts.kept(self.holding), self.holding, 0.0)
        there = holding > 0
        everything = np.array([np.count_nonzero(there), holding.sum(), self.texts])
        spoken = self.table if there.all() else self.table.take(0, np.flatnonzero(there))
        return holding, spoken.along(1), everything

    @property
    def _word_sums(self) -> WordStatistics:
        holding, totals, everything = self._sums
        return WordStatistics(self.table, holding, self.block.cuts.least, totals, everything)

    def scores(self, cells: Documents, own: Hard, damping: Sequence[float], powers: Sequence[float]) -> Array:
        """The leave-one-out scores for each damping c and power p. (documents, classes, damping, powers)"""
        if few_log_odds.are_few_scores(cells, self.table, len(damping) * len(powers)):
            words = self._odds_left_out(cells, own, keep=len(damping) * len(powers) > 1)
            return few_log_odds.scores_left_out(words, np.array(damping), np.array(powers))
        holding, totals, everything = self._sums
        out = np.zeros((own.rows, self.table.width, len(damping), len(powers)))
        table = self.table.starts, self.table.columns, self.table.high
        add_odds(
            cells.words, cells.counts, *table, holding, self.block.cuts.least, totals, everything,
            np.array(damping), np.array(powers), cells.starts, own.codes, own.weight, out,
        )  # fmt: skip
        return out

    def _odds_left_out(self, cells: Documents, own: Hard, keep: bool) -> OddsLeftOut:
        """The log-odds of few documents before damping, cached for a grid: a fine grid follows a coarse one."""
        for before, member, found in self._latest:
            same = np.array_equal(member.codes, own.codes) and np.array_equal(member.weight, own.weight)
            if before is cells and same:
                return found
        found = few_log_odds.odds_left_out(cells, own, self._word_sums)
        self._latest[:] = [(cells, own, found)] if keep else []
        return found

    @cached_property
    def _latest(self) -> list[tuple[Documents, Hard, OddsLeftOut]]:
        return []

    @cached_property
    def settled(self) -> tuple[Array, Array, Array, Array, Array]:
        """For each word, idf and log-odds for classes without it; for each class, its base; for each cell, its
        log-odds."""
        holding, totals, everything = self._sums
        words, mass = len(holding), totals.sum()
        rarity, never, nothing = np.zeros((3, words))
        more = np.zeros(len(self.table.high))
        if not mass > 0:
            return rarity, never, nothing, np.zeros_like(totals), more
        a = 0.1 * mass / everything[1]
        room = a * everything[0]
        base = np.log((totals + room) / (mass - totals + room))
        if few_log_odds.is_small(self.table):
            return few_log_odds.settled(self._word_sums, base, a, self.choice)
        settle_odds(
            self.table.starts, self.table.columns, self.table.high, holding, self.block.cuts.least, base, everything,
            a, *self.choice, rarity, never, nothing, more,
        )  # fmt: skip
        return rarity, never, nothing, base, more

    def add(self, cells: Documents, out: Array) -> None:
        out += self.weight * self._of_new(cells)

    def _of_new(self, cells: Documents) -> Array:
        """The scores of documents outside the evidence."""
        if few_log_odds.are_few_scores(cells, self.table):
            return few_log_odds.scores_of_new(cells, self.table, Settled(*self.settled), self.choice[0])
        found, table = np.zeros((len(cells.known), self.table.width)), (self.table.starts, self.table.columns)
        lists = cells.words, cells.counts, cells.starts
        add_settled_odds(*lists, *table, *self.settled, self.choice[0], found)
        return found

    def add_left_out(self, cells: Documents, own: Hard, out: Array) -> None:
        out += self.scores(cells, own, *((one,) for one in self.choice))[:, :, 0, 0]

    def by_column(self, cells: Documents, shape: tuple[int, int]) -> dict[str, Array]:
        found = np.zeros(shape)
        self.add(cells, found)
        return {self.block.name: found}

    def weighted(self, weights: Array) -> OddsLikelihood:
        return replace(self, weight=float(weights[0]))

    def words_of(self, cells: Documents) -> dict[str, Array]:
        """The score of each word, divided by the document's norm."""
        holding, _, everything = self._sums
        at = np.flatnonzero(holding[cells.words] > 0)
        words, counts = cells.words[at], cells.counts[at]
        share = np.log1p(counts) * (np.log((everything[2] + 1) / (holding[words] + 1)) + 1) ** self.choice[1]
        norm = max(float(np.sqrt((share**2).sum())), RESIDUAL_WEIGHT)
        alone = Documents(np.arange(len(at) + 1), words, counts, np.ones(len(at), bool), np.zeros(len(at), np.int64))
        weighed = self.weight * self._of_new(alone) * (share / norm)[:, None]
        return dict(zip(self.column.levels.take(pa.array(words)).to_pylist(), weighed, strict=True))

    def scores_for(self, k: int, others: Array) -> Array:
        """The score of each word for class k against the shares `others`, in all texts of the class. (words,)

        Σ w q f/‖q‖ over these texts. Their norms aren't stored: the sums contain 1/‖log(1 + x)‖, and the effect of idf
        on norms is approximated by its root mean square over words, weighted by t²/d for the sum t and d documents.
        """
        rarity, never, nothing, base, more = self.settled
        found, cells = np.zeros(len(rarity)), np.flatnonzero(self.table.columns == k)
        words = self.table.rows[cells]
        if not len(words):
            return found
        lead = never[words]

        def damped(j: int) -> Array:
            odds = lead - base[j]
            sure = odds * odds * nothing[words]
            return np.asarray(odds * sure / (sure + self.choice[0]))

        against = np.bincount(self.table.rows, others[self.table.columns] * more, len(rarity))[words]
        for j in np.flatnonzero(others):
            against += others[j] * damped(int(j))
        often = self.table.along(0) ** 2 / np.maximum(self.holding, RESIDUAL_WEIGHT)
        length = np.sqrt((often * rarity**2).sum() / max(float(often[rarity > 0].sum()), RESIDUAL_WEIGHT))
        own = damped(k) + more[cells] - against
        found[words] = self.weight * rarity[words] * own * self.table.high[cells] / max(float(length), RESIDUAL_WEIGHT)
        return found

    def texts_of(self, k: int) -> Array:
        """The number of texts of class k that contain each word. (words,)"""
        found, cells = np.zeros(len(self.holding)), np.flatnonzero(self.documents.columns == k)
        found[self.documents.rows[cells]] = self.documents.high[cells]
        return found

    def parameters(self) -> list[Parameter]:
        return []

    @property
    def free_parameters(self) -> int:
        return len(self.table.high)
