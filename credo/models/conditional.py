"""p(columns | group) for every group: blocks of columns that are independent given the group, and their evidence.

A classifier's classes, a mixture's components and a hidden Markov model's states are such groups; they differ in where
the membership comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.blocks.block import Block, Likelihood, Parameter, Settings, counting
from credo.blocks.capabilities import (
    Completes,
    CountsJointValues,
    Draws,
    ExpectsHidden,
    Ignored,
    LogPrior,
    LooksUp,
    ReadAgain,
    SharedFactor,
    log_base,
    read_counting_ignored,
)
from credo.blocks.joint_codes import Lookup
from credo.blocks.numbers.hidden_rows import Before
from credo.blocks.subset_averaging import averaged
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS
from credo.core.membership import Membership, Soft
from credo.core.statistics import Counts
from credo.data import Batch
from credo.data.schema import Column, Schema, unite
from credo.errors import EvidenceError
from credo.numerics.exact import Array, Exact


@dataclass(frozen=True, eq=False)
class Conditional:
    """log p(columns | group) = Σ log p(block | group)"""

    blocks: tuple[Block, ...]
    settings: Settings
    groups: str  # the evidence's column of groups
    evidence: Evidence | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct columns of all blocks."""
        return tuple(dict.fromkeys(name for block in self.blocks for name in block.names))

    def summarise(self, batch: Batch, member: Membership, levels: object) -> Evidence:
        """The evidence in a batch, under any membership; `levels` (an Arrow array) are the groups' names."""
        batch = batch.filled(self.names)
        return self._with_row_counts(
            [each.summarise(batch, member, self.groups) for each in counting(self.blocks)],
            Counts.of_rows(member),
            levels,
        )

    def expected(self, batch: Batch, member: Membership, levels: object) -> Evidence:
        """EM's E-step: the expected statistics of a batch under responsibilities of this conditional, or those EM
        starts from. Where columns covary, missing cells are expected as well (see Completes), which `summarise` leaves
        to the M-step."""
        batch, member = batch.filled(self.names), member if isinstance(member, Soft) else member.soft()
        return self._with_row_counts(self._expected(batch, member, {}), Counts.of_rows(member), levels)

    def _expected(self, batch: Batch, member: Soft, done: Mapping[Block, Evidence]) -> list[Evidence]:
        """The expected statistics of each block, except those already known."""
        now = {} if self.evidence is None else dict(zip(self.blocks, self.likelihoods, strict=True))
        found = []
        for block in counting(self.blocks):
            if block in done:
                found.append(done[block])
            elif (completes := Completes.of(block)) is not None:
                found.append(completes.expected(batch, member, self.groups, now.get(block)))
            else:
                found.append(block.summarise(batch, member, self.groups))
        return found

    def expected_hidden(self, batch: Batch, log_shares: Array, weight: Array, levels: object) -> tuple[Evidence, Array]:
        """EM's whole E-step for rows with hidden groups: the statistics under P(group | row), given the groups' shares,
        and log p(row). (rows,)"""
        rows, last = batch.filled(self.names), self._in_one_pass
        at, lookup = (None, None) if last is None else self._lookup(rows)
        others = [likelihood for i, likelihood in enumerate(self.likelihoods) if i not in (last, at)]
        logs = self._added(others, rows, None) if others else None
        if last is not None:
            block, before = self.blocks[last], Before(log_shares, weight, logs, lookup)
            found = ExpectsHidden.needed(block).expected_hidden(rows, before, self.groups, self.likelihoods[last])
            if found is not None:
                evidence, (n, log_prob) = found
                done = {block: evidence}
                if at is not None and lookup is not None:
                    counts = CountsJointValues.needed(self.blocks[at])
                    done[self.blocks[at]] = counts.of_joint_values(rows, lookup.n, self.groups)
                every = [*done.values()] if logs is None else self._expected(rows, Soft(logs), done)
                return self._with_row_counts(every, Counts(Exact.of(n[:, None])), levels), log_prob
        logs = self._added([self.likelihoods[i] for i in (at, last) if i is not None], rows, logs)
        member, log_prob = Soft.responsibilities(logs + log_shares, weight)
        return self.expected(batch, member, levels), log_prob

    def _added(self, likelihoods: Sequence[Likelihood], rows: Batch, logs: Array | None) -> Array:
        """logs, if given, plus the blocks' log-likelihoods. (rows, groups)"""
        out = np.zeros((rows.rows, len(self.weights))) if logs is None else logs
        for likelihood in likelihoods:
            _add_again(likelihood, rows, out)
        return out

    def _lookup(self, rows: Batch) -> tuple[int | None, Lookup | None]:
        """The first block with tabulated log-likelihoods, and these."""
        for i, likelihood in enumerate(self.likelihoods):
            looks = LooksUp.of(likelihood)
            found = None if looks is None else looks.lookup(rows)
            if found is not None:
                return i, found
        return None, None

    @cached_property
    def _in_one_pass(self) -> int | None:
        """The block whose kernel fuses the E-step into one pass, if there is one; it comes last."""
        return next((i for i, block in enumerate(self.blocks) if ExpectsHidden.of(block) is not None), None)

    def _with_row_counts(self, found: Sequence[Evidence], rows: Counts, levels: object) -> Evidence:
        """The evidence with the groups' row counts."""
        parts = {ROWS: Part((self.groups,), rows)}
        for evidence in found:
            parts |= evidence.parts
        groups = Schema((Column(self.groups, "category", levels),))
        return Evidence(_side_by_side([groups, *(evidence.schema for evidence in found)]), parts)

    def with_evidence(self, evidence: Evidence) -> Self:
        """The same blocks and settings, with that evidence."""
        return replace(self, evidence=evidence)

    @cached_property
    def seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError("nothing was learned yet: there is no evidence about any column")
        return self.evidence

    @property
    def weights(self) -> Array:
        """The weight of each group's rows. (groups,)"""
        return np.asarray(self.seen[ROWS].n.value[:, 0])

    @cached_property
    def likelihoods(self) -> tuple[Likelihood, ...]:
        return tuple(likelihood_of(block, self.seen, self.settings) for block in self.blocks)

    def log_likelihood(self, batch: Batch) -> Array:
        """log p(row | group); missing cells are marginalised. (rows, groups)"""
        return self.log_joint(batch, np.zeros(len(self.weights)))

    def log_joint(self, batch: Batch, log_prior: Array) -> Array:
        """log p(row, group), given the groups' prior probabilities. (rows, groups)"""
        out = np.empty((batch.rows, len(log_prior)))
        out[:] = log_prior
        add_log_likelihoods(self.likelihoods, batch.filled(self.names), out, base=True)
        return out

    def log_prior(self) -> float:
        """log p(parameters) at the estimate, up to a constant: what EM adds to the log-likelihood. 0 under "ml"."""
        if self.settings.estimate not in ("map", "ml"):
            raise EvidenceError(
                f"the prior density is that of the most probable parameters, but estimate is "
                f"{self.settings.estimate!r}: use 'map' or 'ml'"
            )
        if self.settings.estimate == "ml":
            return 0.0
        return float(sum(LogPrior.needed(likelihood).log_prior() for likelihood in self.likelihoods))

    def sample(self, codes: object, rng: np.random.Generator) -> dict[str, Any]:
        """Sampled cells for rows of these groups, by column; a column in several forms is sampled in the first."""
        drawn: dict[str, Any] = {}
        for likelihood in self.likelihoods:
            if (draws := Draws.of(likelihood)) is not None:
                drawn = draws.sample(codes, rng) | drawn
        return drawn

    def describe(self) -> list[Parameter]:
        """The parameters of all groups, as a readable list."""
        return [line for likelihood in self.likelihoods for line in likelihood.parameters()]


def likelihood_of(block: Block, evidence: Evidence, settings: Settings) -> Likelihood:
    """log p(block | group) given the evidence; optionally averaged over subsets of its columns."""
    found = block.likelihood(evidence, settings)
    return averaged(found) if settings.average else found


def add_log_likelihoods(
    likelihoods: Iterable[Likelihood], batch: Batch, out: Array, *, base: bool = False, count_ignored: bool = True
) -> Ignored:
    """out (rows, groups) += Σ log p(block | group), up to a constant per row unless `base`; returns the ignored
    cells."""
    ignored: Ignored = {}
    for likelihood in likelihoods:
        cells, own = read_counting_ignored(likelihood, batch) if count_ignored else (likelihood.read(batch), {})
        likelihood.add(cells, out)
        if base and SharedFactor.of(likelihood):
            out += log_base(likelihood, cells)
        ignored |= own
    return ignored


def _add_again(likelihood: Likelihood, batch: Batch, out: Array) -> None:
    """out (rows, groups) += log p(block | group), for rows that EM reads in every step."""
    again = ReadAgain.of(likelihood)
    if again is None:
        add_log_likelihoods([likelihood], batch, out, base=True)
    else:
        again.add_again(batch, out)


def _side_by_side(schemas: Sequence[Schema]) -> Schema:
    """The schema of all columns; a column in several schemas (in several forms) has the levels of all."""
    columns = tuple(column for schema in schemas for column in schema)
    return Schema(columns) if len({column.axis for column in columns}) == len(columns) else unite(schemas)[0]
