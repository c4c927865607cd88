"""Words of a text as log-odds: how much each speaks for a class against all others, damped where that is unsure.

No likelihood, but a view of the same documents that foresees better than one: tuning chooses its two settings by
leave-one-out and weighs it beside others. What is kept are sums again: each document adds to its class's words the
logarithms of its counts, divided by their Euclidean norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from credo._kernels.odds import add_contributions, add_odds
from credo.blocks.block import Likelihood, Parameter, Settings
from credo.blocks.texts import Texts, strings
from credo.data import Batch
from credo.data.words import Documents, Vocabulary
from credo.evidence import Evidence, Part
from credo.exact import Array, Exact
from credo.membership import Hard
from credo.schema import Column, Schema
from credo.statistics import ALONE, Counts

DOUBTS, POWERS = (2.0, 4.0, 8.0, 16.0), (0.5, 1.0, 1.5)
USUAL = (2.0, 1.0)  # c and p, where nobody chose


@dataclass(frozen=True)
class Odds(Texts):
    """A column's words, by the log-odds of each class against the rest."""

    @property
    def label(self) -> str:
        return f"(odds) {self.name}"

    @property
    def documents(self) -> str:
        """What the number of documents that hold a word is called."""
        return f"(documents) {self.name}"

    def labels(self, evidence: Evidence) -> Sequence[str]:  # noqa: ARG002 - the same, whatever was seen
        return (self.label, self.documents, self.texts)

    def summarise(self, batch: Batch, member: Hard, groups: str) -> Evidence:
        documents, words = self.read(batch)
        table, holding = np.zeros((2, len(words), member.groups))
        add_contributions(
            documents.words, documents.counts, documents.starts, member.codes, member.weight, table, holding
        )
        parts = {
            self.label: Part((self.name, groups), Counts(Exact.of(table))),
            self.documents: Part((self.name, groups), Counts(Exact.of(holding))),
            self.texts: Part((groups,), Counts.of_rows(member.take(documents.known))),
        }
        return Evidence(Schema((Column(self.name, "text", words),)), parts)

    def likelihood(self, evidence: Evidence, settings: Settings) -> OddsLikelihood:
        words, table, texts = self._seen(evidence)
        holding = evidence[self.documents].n.value
        return OddsLikelihood(self, words, table, holding, float(texts.sum()), settings.odds.get(self.name, USUAL))


@dataclass(frozen=True, eq=False)
class OddsLikelihood(Likelihood):
    """Σ q f / ‖q‖, as credo._kernels.odds has it: scores of classes, not densities."""

    block: Odds
    words: Any  # Arrow strings
    table: Array  # (words, classes)
    holding: Array  # (words, classes)
    texts: float
    choice: tuple[float, float]  # c and p
    weight: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.block.name,)

    @property
    def voices(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.words, self.block.reading)

    def read(self, batch: Batch) -> Documents:
        return self.vocabulary.read(strings(batch, self.block.name))

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Documents that hold each word (0 where it is cut out), classes' sums, and [words, their documents, all]."""
        holding = self.holding.sum(1)
        holding = np.where(self.block.cuts.kept(holding), holding, 0.0)
        there = holding > 0
        everything = np.array([np.count_nonzero(there), holding.sum(), self.texts])
        return holding, np.asarray(self.table[there].sum(0)), everything

    def scores(self, cells: Documents, own: Hard, choices: Sequence[tuple[float, float]]) -> Array:
        """Under several choices of c and p. (documents, classes, choices)"""
        holding, totals, everything = self._sums
        doubts, powers = np.array(choices).T.copy()
        out = np.zeros((own.rows, self.table.shape[1], len(choices)))
        add_odds(
            cells.words, cells.counts, self.table, holding, self.block.cuts.least, totals, everything,
            doubts, powers, cells.starts, own.codes, own.weight, out,
        )  # fmt: skip
        return out

    def add(self, cells: Documents, out: Array) -> None:
        nobody = Hard(np.full(len(out), -1, dtype=np.int32), out.shape[1], np.ones(len(out)))
        out += self.weight * self.scores(cells, nobody, [self.choice])[:, :, 0]

    def add_left_out(self, cells: Documents, own: Hard, out: Array) -> None:
        out += self.scores(cells, own, [self.choice])[:, :, 0]

    def said(self, cells: Documents, shape: tuple[int, int]) -> dict[str, Array]:
        found = np.zeros(shape)
        self.add(cells, found)
        return {self.block.name: found}

    def weighted(self, weights: Array) -> OddsLikelihood:
        return replace(self, weight=float(weights[0]))

    def words_of(self, cells: Documents) -> dict[str, Array]:
        """Each word alone, over the norm of all."""
        holding, _, everything = self._sums
        at = np.flatnonzero(holding[cells.words] > 0)
        words, counts = cells.words[at], cells.counts[at]
        share = np.log1p(counts) * (np.log((everything[2] + 1) / (holding[words] + 1)) + 1) ** self.choice[1]
        norm = max(float(np.sqrt((share**2).sum())), ALONE)
        alone = Documents(np.arange(len(at) + 1), words, counts, np.ones(len(at), bool), np.zeros(len(at), np.int64))
        nobody = Hard(np.full(len(at), -1, dtype=np.int32), self.table.shape[1], np.ones(len(at)))
        each = self.scores(alone, nobody, [self.choice])[:, :, 0]
        weighed = self.weight * each * (share / norm)[:, None]
        return dict(zip(self.words.take(pa.array(words)).to_pylist(), weighed, strict=True))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        return {}  # the column's own form is what is drawn from

    def parameters(self) -> list[Parameter]:
        return []

    @property
    def free_parameters(self) -> int:
        return int(self.table.size)
