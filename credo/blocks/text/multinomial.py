"""The multinomial model of text: each position is a draw from the class's distribution of words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.text.documents import add_words
from credo._kernels.text.log_odds import GRID
from credo.blocks.block import Settings
from credo.blocks.text.column import TextLikelihood, Texts, WordsLeftOut
from credo.blocks.text.few_documents import add_words_of_few, are_few
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data.word_counts import Documents
from credo.families import dirichlet
from credo.numerics.exact import Array
from credo.numerics.special import log_rising

if TYPE_CHECKING:
    from credo.blocks.tally import Tally


@dataclass(frozen=True)
class Words(Texts):
    """θ ~ Dirichlet(l) over the vocabulary for each class."""

    drawn = True  # whether positions are drawn in turn, each updating the counts

    def likelihood(self, evidence: Evidence, settings: Settings) -> WordsLikelihood:
        return WordsLikelihood(self, *self._seen(evidence), settings)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.text.tallies import WordsTally

        return WordsTally(self, evidence)


@dataclass(frozen=True)
class Binary(Words):
    """The multinomial model with each word counted once per document."""

    @property
    def label(self) -> Label:
        return self.documents

    def amounts(self, counts: Codes) -> NDArray[Any]:
        return np.broadcast_to(1.0, len(counts))


@dataclass(frozen=True)
class Logs(Words):
    """The multinomial model of log₂(1 + x) for a word's count x, with the posterior mean instead of integration."""

    drawn = False

    @property
    def label(self) -> Label:
        return Label("logs", self.name)

    def amounts(self, counts: Codes) -> NDArray[Any]:
        return np.asarray(np.floor(np.log2(np.add(counts, 1.0)) * GRID + 0.5) / GRID)


class WordsLikelihood(TextLikelihood):
    """Σ x log θ, or the Dirichlet-multinomial with θ integrated out for the estimate "bayes"."""

    block: Words

    @cached_property
    def _totals(self) -> Array:
        """The weight of each class's words. (classes,)"""
        return np.asarray(self.n[self.weights > 0].sum(0))

    @property
    def _drawn(self) -> bool:
        return self.settings.estimate == "bayes" and self.block.drawn

    @cached_property
    def _logs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.n + self._offset)

    def add_left_out(self, cells: Documents, own: Hard, out: Array) -> None:
        a, drawn = self._offset, self._drawn
        lost, tokens, gone = np.zeros_like(out), np.zeros(len(out)), np.zeros(len(out), dtype=np.int64)
        amounts = self.block.amounts(cells.counts).astype(np.float64)
        sums, found = (self.n, self._logs, self.weights, self.least, a, drawn), (out, lost, tokens, gone)
        if are_few(cells, out.shape[1]):
            add_words_of_few(cells, amounts, *sums, own, *found)
        else:
            add_words(cells.words, amounts, *sums, cells.starts, own.codes, own.weight, *found)
        total = np.maximum(self._totals - lost, 0.0) + a * (self.size - gone[:, None])
        positions = tokens[:, None]
        out -= log_rising(total, positions) if drawn else positions * np.log(np.where(total > 0, total, 1.0))

    def words_of(self, cells: Documents) -> dict[str, Array]:
        """The log-likelihood of each word; the common divisor is divided among positions."""
        at = np.flatnonzero(self.weights[cells.words] > 0)
        words, counts = cells.words[at], self.block.amounts(cells.counts[at])[:, None]
        with np.errstate(divide="ignore"):
            logs = np.log(self.n[words] + self._offset)
        total, drawn = self._totals + self._offset * self.size, self._drawn
        positions = np.array([[counts.sum()]])
        above = log_rising(self.n[words] + self._offset, counts) if drawn else counts * logs
        below = log_rising(total, positions) if drawn else positions * np.log(np.where(total > 0, total, 1.0))
        each = self.weight * (above - below * counts / max(float(positions[0, 0]), RESIDUAL_WEIGHT))
        return dict(zip(self.words.take(pa.array(words)).to_pylist(), each, strict=True))

    @property
    def shares(self) -> Array:
        above = np.where(self.weights[:, None] > 0, self.n + self._offset, 0.0)
        return dirichlet.shared_out(above, above.sum(0), self.size)

    def log_prior(self) -> float:
        """Σ (l - 1) log θ."""
        return float(dirichlet.log_kernel(self.shares[self.weights > 0], self.settings.smoothing).sum())

    def log_evidence(self) -> Array:
        """log p(texts | their classes), given the order of words. (1,)"""
        a, there = np.asarray(self.settings.smoothing), self.weights > 0
        return np.array([dirichlet.log_evidence(self.n[there].T, a).sum()])

    def log_likelihood_at(self, other: Self) -> float:
        from scipy.special import xlogy

        there = other.weights > 0
        return float(xlogy(self.n[there], other.shares[there]).sum())

    def log_evidence_left_out(self, cells: Documents, own: Hard) -> Array:
        a = np.asarray(self.settings.smoothing)
        if not a:
            return np.zeros(own.rows)
        each, gains = WordsLeftOut.of(self, cells, own), log_rising(a, self.n)
        before = gains[each.word]
        after = log_rising(a, np.maximum(self.n[each.word, each.mine] - each.taken, 0.0))
        fallen = np.where(each.gone, before.sum(1), before[np.arange(len(after)), each.mine] - after)
        lost = np.where(each.gone[:, None], self.n[each.word], 0.0)
        lost[np.arange(len(lost)), each.mine] += np.where(each.gone, 0.0, each.taken)
        size = a * (self.size - each.total(each.gone))[:, None]
        totals = np.maximum(self._totals - each.total(lost), 0.0)
        below = np.where(size > 0, log_rising(np.where(size > 0, size, 1.0), totals), 0.0).sum(1)
        return np.asarray(gains[self.weights > 0].sum() - each.total(fallen) - below)

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Words in no particular order, as many as the class's texts have on average."""
        shares, words = self.shares, np.array([*self.words.to_pylist(), None], dtype=object)[:-1]
        mean = self._totals / np.maximum(self.texts, RESIDUAL_WEIGHT)
        if not self.size:
            return {self.block.name: np.full(len(classes), None)}
        laws = shares / shares.sum(0)
        drawn = [" ".join(rng.choice(words, size=rng.poisson(mean[k]), p=laws[:, k])) for k in classes]
        return {self.block.name: np.array(drawn, dtype=object)}

    @property
    def free_parameters(self) -> int:
        return int(self.n.shape[1]) * max(self.size - 1, 0)
