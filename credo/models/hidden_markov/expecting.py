"""A hidden Markov model at some parameters: its E-step and M-step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.blocks.capabilities import Ignored
from credo.core.em import Expected
from credo.core.evidence import Evidence
from credo.core.learning import RowWeights
from credo.core.membership import Hard, Membership, Soft
from credo.core.statistics import Counts
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.data.sequences import SequenceBatch
from credo.errors import DataError, EvidenceError
from credo.families.dirichlet import Estimate
from credo.models.hidden_markov.chain import ChainPrior, Shares, chain_parts, seen_in
from credo.models.hidden_markov.emission import Emission
from credo.models.hidden_markov.given import Given
from credo.models.hidden_markov.passes import Counted, Impossible, Links, Passes, Stretch, stretches_of
from credo.models.hidden_markov.pattern import Pattern
from credo.numerics.exact import Array

STRETCH_ROWS = 60_000  # of a stretch
EQUAL_WEIGHTS = RowWeights()


@dataclass(frozen=True)
class Pieces:
    """A batch's rows, read in stretches."""

    rows: int = STRETCH_ROWS

    def of(self, batch: Batch) -> tuple[Batch, ...]:
        if batch.rows <= self.rows:
            return (batch,)
        return tuple(batch.slice(at, self.rows) for at in range(0, batch.rows, self.rows))


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """p(rows, states) = P(first state) Π P(state | state before) Π p(row | state), at some parameters."""

    emission: Emission
    prior: ChainPrior
    column: str  # the evidence's column of states
    estimate: Estimate  # of the chain's shares
    evidence: Evidence | None = None
    given: Given | None = None
    weights: RowWeights = EQUAL_WEIGHTS

    @property
    def pattern(self) -> Pattern:
        return self.prior.pattern

    @cached_property
    def shares(self) -> Shares:
        assert self.evidence is not None
        return self.prior.shares(seen_in(self.evidence), self.estimate)

    @cached_property
    def links(self) -> Links:
        return Links(*self.pattern.of_positions(*self.shares))

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, evidence=evidence, emission=self.emission.with_evidence(evidence))

    def log_prior(self) -> float:
        if self.estimate == "ml":
            return 0.0
        return self.prior.log_prior(self.shares) + self.emission.log_prior()

    # Inference

    def log_likelihood(self, batch: Batch, ignored: Ignored | None = None) -> Array:
        """log p(row | position), of positions that the row's given state allows. (rows, positions)"""
        logs = self.emission.log_likelihood(batch, ignored)
        if self.given is not None:
            self.given.apply(batch, logs)
        return logs if self.pattern.plain else np.ascontiguousarray(logs[:, self.pattern.positions])

    def pieces(self, batch: SequenceBatch) -> tuple[tuple[Batch, ...], list[Stretch]]:
        parts = batch.batch.encoded(Pieces())
        edges = np.cumsum([0, *(part.rows for part in parts)]).tolist()
        return parts, stretches_of(batch.starts, edges)

    def passes(self, batch: SequenceBatch) -> Passes:
        """The forward pass over a batch's sequences."""
        parts, stretches = self.pieces(batch)
        try:
            return Passes.forward(self.links, lambda k: self.log_likelihood(parts[k]), stretches)
        except Impossible as wrong:
            raise EvidenceError(self.impossible(batch, wrong.row)) from None

    def smoothed(self, batch: SequenceBatch) -> Array:
        """P(state | all rows of the sequence). (rows, states)"""
        found = np.empty((batch.rows, self.pattern.states))
        passes, counted = self.passes(batch), self._nothing()
        for k, shares in passes.smoothed(np.ones(len(batch.starts) - 1), counted):
            own = passes.stretches[k]
            found[own.a : own.b] = self.pattern.shares(shares)
        return found

    def filtered(self, batch: SequenceBatch) -> Array:
        """P(state | the rows up to this one). (rows, states)"""
        each = [self.pattern.shares(shares) for shares in self.passes(batch).filtered()]
        return np.concatenate(each)

    def impossible(self, batch: SequenceBatch, row: int) -> str:
        n = int(np.searchsorted(batch.starts, row, side="right")) - 1
        number = batch.batch.number(row)
        if row == batch.starts[n]:
            return f"row {number} is impossible: no state that a sequence may begin in allows it"
        return (
            f"row {number} is impossible after those before it, from row {batch.batch.number(batch.starts[n])} on: no "
            "state that may follow allows it. Allow more transitions, or use another estimate than 'ml' and 'map'"
        )

    def _nothing(self) -> Counted:
        size = len(self.pattern.positions)
        return Counted(np.zeros(size), np.zeros((size, size)))

    # Learning

    def expect(self, batch: SequenceBatch, /) -> Expected:
        """The E-step: expected beginnings, transitions and statistics of columns, by forward-backward."""
        weights = self.sequence_weights(batch)
        passes, counted, found = self.passes(batch), self._nothing(), list[Evidence]()
        parts, _ = self.pieces(batch)
        for k, shares in passes.smoothed(weights, counted):
            member = self.emission.member(parts[k], self.pattern.shares(shares))
            found.append(self.emission.expect(parts[k], member))
        chain = self._chain_evidence(*self.pattern.of_states(counted.firsts, counted.pairs))
        return together([*found[::-1]], chain), float(weights @ passes.totals)

    def counted(self, batch: SequenceBatch) -> Evidence:
        """The evidence of sequences whose states are all given: nothing is hidden, so it is exact."""
        assert self.given is not None
        member = self.given.member(batch.batch, self.weights.of_rows(batch.batch))
        self._check_given(batch, member)
        return together([self.emission.count(batch.batch, member)], self._counted_chain(batch, member))

    def _check_given(self, batch: SequenceBatch, member: Membership) -> None:
        """Raise an error for given states that the pattern doesn't allow."""
        if isinstance(member, Soft) or (self.pattern.step.all() and self.pattern.first.all()):
            return
        codes, begins = member.codes, np.zeros(member.rows, dtype=bool)
        begins[batch.starts[:-1]] = True
        before = np.append(-1, codes[:-1])
        known = (codes >= 0) & (begins | (before >= 0))
        allowed = np.where(begins, self.pattern.first[codes], self.pattern.step[before, codes])
        wrong = np.flatnonzero(known & ~allowed)
        if len(wrong):
            row, names = int(wrong[0]), self.emission.levels.to_pylist()
            what = "begin a sequence" if begins[row] else f"follow {names[before[row]]!r}"
            raise EvidenceError(
                f"row {batch.batch.number(row)} has the state {names[codes[row]]!r}, which can't {what}: the model's "
                "transitions don't allow it"
            )

    def begun(self, batch: SequenceBatch, member: Membership, rng: np.random.Generator) -> Evidence:
        """The evidence of rows with given memberships, before any parameters are known."""
        own = self.emission.expect(batch.batch, self.emission.begun(member, rng))
        return together([own], self._counted_chain(batch, member))

    def _counted_chain(self, batch: SequenceBatch, member: Membership) -> Evidence:
        """Counts of first states and transitions, as if the rows' memberships were independent."""
        firsts, pairs = counted_pairs(batch.starts, member)
        return self._chain_evidence(firsts, pairs)

    def _chain_evidence(self, firsts: Any, pairs: Any) -> Evidence:
        schema = Schema((Column(self.column, "category", self.emission.levels),))
        return Evidence(schema, chain_parts(firsts, pairs, self.column))

    def sequence_weights(self, batch: SequenceBatch) -> Array:
        """The weight of each sequence; its rows must agree."""
        if self.weights.column is None and batch.batch.weight is None:
            return np.full(len(batch.starts) - 1, self.weights.every)
        rows = self.weights.of_rows(batch.batch)
        first = rows[batch.starts[:-1]]
        wrong = np.flatnonzero(rows != np.repeat(first, np.diff(batch.starts)))
        if len(wrong):
            number = batch.batch.number(int(wrong[0]))
            raise DataError(
                f"the rows of a sequence have one weight, but that of row {number} is {rows[wrong[0]]:g}, and the "
                "sequence began with another"
            )
        return np.asarray(first, dtype=np.float64)


def together(columns: list[Evidence], chain: Evidence) -> Evidence:
    """The expected statistics of columns and of the chain as one evidence."""
    found = Evidence.total(columns)
    schema = found.schema if chain.schema.names[0] in found.schema.names else Schema((*found.schema, *chain.schema))
    return Evidence(schema, {**found.parts, **chain.parts})


def counted_pairs(starts: NDArray[np.intp], member: Membership) -> tuple[Any, Any]:
    """Counts of initial states and transitions; rows without a state are ignored."""
    begins = np.zeros(member.rows, dtype=bool)
    begins[starts[:-1]] = True
    if isinstance(member, Soft):
        weight = member.weights.sum(1)
        inner = np.flatnonzero(~begins)
        above = member.weights[inner] / np.where(weight[inner] > 0, weight[inner], 1.0)[:, None]
        return member.weights[begins].sum(0), member.weights[inner - 1].T @ above
    codes, size = member.codes.astype(np.int64), member.groups
    first = Hard(member.codes[begins], size, member.weight[begins])
    both = ~begins[1:] & (codes[1:] >= 0) & (codes[:-1] >= 0)
    cells = np.where(both, codes[:-1] * size + codes[1:], -1)
    steps = Counts.of_rows(Hard.of(cells, size * size, member.weight[1:])).n
    return Counts.of_rows(first).n[:, 0], steps.reshape((size, size))
