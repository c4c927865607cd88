"""The Bernoulli model of text: each word of the vocabulary is present or absent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo._kernels.text.documents import add_presences
from credo.blocks.block import Settings
from credo.blocks.capabilities import Ignored
from credo.blocks.text.column import TextLikelihood, Texts, WordsLeftOut
from credo.blocks.text.few_documents import add_presences_of_few, are_few
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.word_counts import Documents
from credo.families.beta_bernoulli import log_evidence
from credo.families.dirichlet import log_kernel
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.tally import Tally

UNKNOWN, ABSENT = "(words never seen before)", "(words that aren't there)"


@dataclass(frozen=True)
class Presences(Texts):
    """P(a word is present) = θ ~ Beta(l, l) for each class; all new words count as one word, UNKNOWN."""

    @property
    def label(self) -> Label:
        return self.documents

    def amounts(self, counts: Codes) -> NDArray[Any]:
        return np.broadcast_to(1.0, len(counts))

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.text.tallies import PresencesTally

        return PresencesTally(self, evidence)

    def likelihood(self, evidence: Evidence, settings: Settings) -> PresencesLikelihood:
        return PresencesLikelihood(self, *self._seen(evidence), settings)


class PresencesLikelihood(TextLikelihood):
    """Σ log θ over present words + Σ log (1 - θ) over absent words, UNKNOWN included."""

    def read_counting_ignored(self, batch: Batch) -> tuple[Documents, Ignored]:
        """UNKNOWN words are only ignored without a prior."""
        return (self.read(batch), {}) if self._offset else super().read_counting_ignored(batch)

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """log θ/(1 - θ) and log (1 - θ); 0 for words that are cut, the latter also for words that must be present."""
        a, there = self._offset, (self.weights > 0)[:, None]
        others = np.maximum(self.texts - self.n + a, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.log(self.texts + 2 * a)
            here = np.log(self.n + a)
            absent = np.where(there & (others > 0), np.log(others) - size, 0.0)
            return np.where(there & (self.texts + 2 * a > 0), here - size, 0.0) - absent, absent

    @cached_property
    def _certain(self) -> NDArray[np.bool_] | None:
        """Words that all texts of a class contain, without a prior for their absence; None if there are none.
        (words, classes)"""
        if self._offset:
            return None
        found = (self.weights > 0)[:, None] & (self.texts > 0) & (self.n >= self.texts)
        return found if found.any() else None

    def _lacking(self, cells: Documents, own: Hard) -> NDArray[np.bool_]:
        """Whether a document lacks a word that all texts of another class contain. (documents, classes)"""
        certain = self._certain
        if certain is None:
            return np.zeros((1, 1), dtype=bool)
        held = np.zeros((own.rows, self.n.shape[1]), dtype=np.int64)
        np.add.at(held, np.repeat(np.arange(own.rows), np.diff(cells.starts)), certain[cells.words])
        lacking: NDArray[np.bool_] = held < certain.sum(0)
        rows = np.flatnonzero(own.codes >= 0)
        lacking[rows, own.codes[rows]] = False  # the kernel handles the document's class
        return lacking

    def add_left_out(self, cells: Documents, own: Hard, out: Array) -> None:
        odds, absent = self._tables
        unseen, zeros = cells.unseen.copy(), np.zeros(len(out), dtype=np.int64)
        scores = np.repeat(absent.sum(0)[None], len(out), axis=0)
        rows = np.flatnonzero(own.codes >= 0)
        scores[rows, own.codes[rows]], zeros[rows] = self._nothing_there(own.take(rows))
        sums = self.n, odds, absent, self.weights, self.least, self._offset, self.texts
        found = scores, unseen, zeros
        if are_few(cells, out.shape[1]):
            add_presences_of_few(cells, *sums, own, *found)
        else:
            add_presences(cells.words, *sums, cells.starts, own.codes, own.weight, *found)
        scores[rows[zeros[rows] > 0], own.codes[rows[zeros[rows] > 0]]] = -np.inf
        scores = np.where(self._lacking(cells, own), -np.inf, scores)
        scores += self._unknown(unseen, own)
        out[cells.known] += scores[cells.known]

    def _nothing_there(self, own: Hard) -> tuple[Array, NDArray[np.int64]]:
        """log p(no word is present | the row's class, the row left out), and the number of words that all others
        contain, which are excluded."""
        a, there = self._offset, self.weights > 0
        found, zeros = np.empty(own.rows), np.empty(own.rows, dtype=np.int64)
        pairs, place = np.unique(np.column_stack([own.codes, own.weight]), axis=0, return_inverse=True)
        for i, (k, weight) in enumerate(pairs):
            others = (self.texts[int(k)] - weight + a) - self.n[there, int(k)]
            left = max(self.texts[int(k)] - weight + 2 * a, RESIDUAL_WEIGHT)
            found[place == i] = np.log(others[others > 0]).sum() - self.size * np.log(left)
            zeros[place == i] = np.count_nonzero(others == 0)
        return found, zeros

    def _unknown(self, unseen: NDArray[np.int64], own: Hard) -> Array:
        """log p(UNKNOWN is present, or absent | class). (documents, classes)"""
        a = self._offset
        if not a:
            return np.zeros((len(unseen), 1))
        texts = np.repeat(self.texts[None], len(unseen), axis=0)
        rows = np.flatnonzero(own.codes >= 0)
        left = texts[rows, own.codes[rows]] - own.weight[rows]
        texts[rows, own.codes[rows]] = np.maximum(left, 0.0)  # missing texts aren't counted
        return np.asarray(np.log(np.where((unseen > 0)[:, None], a, texts + a)) - np.log(texts + 2 * a))

    def words_of(self, cells: Documents) -> dict[str, Array]:
        odds, absent = self._tables
        if not cells.known[0]:
            return {}
        words = cells.words[self.weights[cells.words] > 0]
        found = dict(zip(self.words.take(pa.array(words)).to_pylist(), self.weight * odds[words], strict=True))
        nobody = Hard(np.array([-1], dtype=np.int32), self.n.shape[1], np.ones(1))
        unknown, none = (self._unknown(np.array([n]), nobody)[0] for n in (cells.unseen[0], 0))
        if cells.unseen[0]:
            found[UNKNOWN] = self.weight * (unknown - none)
        return found | {ABSENT: self.weight * (absent.sum(0) + none)}

    @property
    def shares(self) -> Array:
        a = self._offset
        return np.where(self.weights[:, None] > 0, (self.n + a) / np.maximum(self.texts + 2 * a, RESIDUAL_WEIGHT), 0.0)

    def for_class(self, k: int) -> Array:
        """log θ/(1 - θ) of class k minus that of the other classes, pooled; -∞ for words that are cut. (words,)"""
        a, there = max(self.settings.smoothing, RESIDUAL_WEIGHT), self.weights > 0
        own, texts = self.n[:, k], self.texts[k]
        others, rest = self.n.sum(1) - own, self.texts.sum() - texts
        odds = np.log(own + a) - np.log(np.maximum(texts - own, 0.0) + a)
        return np.where(there, odds - np.log(others + a) + np.log(np.maximum(rest - others, 0.0) + a), -np.inf)

    def log_prior(self) -> float:
        """Σ (l - 1) log θ (1 - θ), over the words and UNKNOWN."""
        shares = np.concatenate([self.shares[self.weights > 0], self._unknown_share[None]])
        return float(sum(log_kernel(each, self.settings.smoothing).sum() for each in (shares, 1 - shares)))

    @property
    def _unknown_share(self) -> Array:
        """P(UNKNOWN is present). (classes,)"""
        a = self._offset
        return np.asarray(a / np.maximum(self.texts + 2 * a, RESIDUAL_WEIGHT))

    def log_likelihood_at(self, other: Self) -> float:
        from scipy.special import xlog1py, xlogy

        there, shares = other.weights > 0, other.shares
        words = xlogy(self.n[there], shares[there]) + xlog1py(self.texts - self.n[there], -shares[there])
        return float(words.sum() + xlog1py(self.texts, -other._unknown_share).sum())

    def log_evidence(self) -> Array:
        """log p(the sets of words of texts | their classes) with parameters integrated out. (1,)"""
        a, there = self.settings.smoothing, self.weights > 0
        if not a:
            return np.zeros(1)
        each = log_evidence(self.n[there], self.texts - self.n[there], a, a)
        return np.array([each.sum() + log_evidence(np.zeros(1), self.texts, a, a).sum()])

    def log_evidence_left_out(self, cells: Documents, own: Hard) -> Array:
        a, there = self.settings.smoothing, self.weights > 0
        if not a:
            return np.zeros(own.rows)
        each, known = WordsLeftOut.of(self, cells, own), cells.known

        def fit(n: Array, texts: Array) -> Array:
            """The log evidence of a word in n of the texts; 0 for n > texts, which the left-out row explains."""
            inside = texts - n + a > 0
            return np.where(inside, log_evidence(n, np.where(inside, texts - n, 0.0), a, a), 0.0)

        found = np.repeat(fit(self.n[there], self.texts).sum(0)[None], own.rows, axis=0)
        found += fit(np.zeros_like(self.texts), self.texts)
        pairs, place = np.unique(np.column_stack([own.codes, own.weight]), axis=0, return_inverse=True)
        for i, (k, weight) in enumerate(pairs):
            left = np.asarray(self.texts[int(k)] - weight)
            rows = np.flatnonzero((place == i) & known)
            found[rows, int(k)] = fit(self.n[there, int(k)], left).sum() + fit(np.zeros(()), left)
        n, mine = self.n[each.word], each.mine
        left = self.texts[mine] - own.weight[each.row]
        own_n = n[np.arange(len(n)), mine]
        change = fit(np.maximum(own_n - own.weight[each.row], 0.0), left) - fit(own_n, left)
        others = fit(n, self.texts).sum(1) - fit(own_n, self.texts[mine]) + fit(own_n, left)
        return np.asarray(found.sum(1) + each.total(np.where(each.gone, -others, change)))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """The present words, in no particular order."""
        shares, words = self.shares, np.array([*self.words.to_pylist(), None], dtype=object)[:-1]
        drawn = [" ".join(words[rng.random(len(words)) < shares[:, k]]) for k in classes]
        return {self.block.name: np.array(drawn, dtype=object)}

    @property
    def free_parameters(self) -> int:
        return int(self.n.shape[1]) * self.size
