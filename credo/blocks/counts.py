"""Counts that are independent given the class: Poisson, with a Gamma prior on each rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from credo._kernels.data.codes import add_tables
from credo.blocks.block import Block, Parameter, Settings, column_labels
from credo.blocks.capabilities import Averageable, Draws, Expects, LogEvidence, LogPrior, Points, Tallies
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard, Membership
from credo.core.statistics import RESIDUAL_WEIGHT, Counts, Totals
from credo.data import Batch
from credo.data.cells import check_positive
from credo.data.schema import Column, Schema
from credo.families import GammaPoisson
from credo.families.priors import of_counts
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.tally import Tally

COUNT_FAMILY = GammaPoisson(1, 1)
ROWS_PER_COUNT = 4  # times the largest count: a column with more rows is tabulated


@dataclass(frozen=True)
class CountColumns(Block, Tallies):
    """x | class ~ Poisson(λ), λ ~ Gamma(s, s/pooled rate), for each column."""

    names: tuple[str, ...]

    def keeps(self, label: Label) -> bool:
        return self.keeps_column(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        cells = batch.encoded(CountCells(self.names))
        parts = {
            Label("column", name): Part((groups,), cells.statistics(j, member)) for j, name in enumerate(self.names)
        }
        return Evidence(Schema(tuple(Column(name, "count") for name in self.names)), parts)

    def likelihood(self, evidence: Evidence, settings: Settings) -> CountsLikelihood:
        return CountsLikelihood(self.names, tuple(evidence[each] for each in column_labels(self.names)), settings)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.numbers.tallies import CountsTally

        return CountsTally(self.names, [evidence[label] for label in column_labels(self.names)], COUNT_FAMILY.log_base)


@dataclass(frozen=True)
class CountCells:
    """Reads columns of counts."""

    names: tuple[str, ...]

    def of(self, batch: Batch) -> CountsRead:
        found = np.empty((len(self.names), batch.rows))
        for name, x in zip(self.names, found, strict=True):
            x[:] = batch.numbers(name)
            check_positive(x, name, batch.number, whole=True)
        return CountsRead(found)


@dataclass(frozen=True, eq=False)
class CountsRead:
    """The counts of some rows, also as codes of a table."""

    x: Array  # (columns, rows), NaN where a cell is missing

    @cached_property
    def codes(self) -> Codes:
        """The counts as codes, -1 where a cell is missing. (columns, rows)"""
        return np.where(np.isnan(self.x), -1.0, np.where(self.are_small[:, None], self.x, -1.0)).astype(np.int32)

    @cached_property
    def most(self) -> Array:
        """The largest count of each column. (columns,)"""
        return np.asarray(np.where(np.isnan(self.x), 0.0, self.x).max(1, initial=0.0))

    @property
    def are_small(self) -> NDArray[np.bool_]:
        """Whether a column's counts are small enough for a table. (columns,)"""
        return np.asarray(self.most * ROWS_PER_COUNT <= self.x.shape[1])

    def statistics(self, j: int, member: Membership) -> Totals:
        """The totals of a column. Under soft membership, rows with the same count are summed first."""
        if isinstance(member, Hard) or not self.are_small[j]:
            return COUNT_FAMILY.statistics(self.x[j], member)
        weights = Counts.of(self.codes[j], int(self.most[j]) + 1, member).n.value  # (groups, values)
        values = np.arange(weights.shape[1], dtype=np.float64)
        return Totals.of_pairs(weights @ np.column_stack([np.ones(len(values)), COUNT_FAMILY.log_base(values), values]))


@dataclass(frozen=True, eq=False)
class CountsLikelihood(Averageable, LogPrior, LogEvidence, Points, Expects, Draws):
    """log p(x | class): negative binomial with rates integrated out, otherwise Poisson."""

    names: tuple[str, ...]
    statistics: tuple[Totals, ...]  # of each column, by class
    settings: Settings
    weights: Array | None = None

    def read(self, batch: Batch) -> CountsRead:
        return batch.encoded(CountCells(self.names))

    @cached_property
    def priors(self) -> list[GammaPoisson]:
        return [of_counts(each.pooled(), self.settings.strength) for each in self.statistics]

    @cached_property
    def beliefs(self) -> list[GammaPoisson]:
        return [before.posterior(each) for before, each in zip(self.priors, self.statistics, strict=True)]

    def log_prior(self) -> float:
        """Σ log Gamma(rate) over columns and classes; a column without evidence has no rate."""
        rates = map(self._rate, self.beliefs, self.statistics)
        known = (
            prior.log_prior(rate) + (np.log(rate) if self.settings.log_rates else 0.0)
            for prior, rate, each in zip(self.priors, rates, self.statistics, strict=True)
            if each.n.value.any()
        )
        return float(sum(each.sum() for each in known))

    def _log_prob(self, x: Array, belief: GammaPoisson, statistics: Totals) -> Array:
        """log p(x | class). x: (rows, 1) -> (rows, classes)"""
        if self.settings.estimate == "bayes":
            return np.asarray(belief.predictive().log_prob(x))
        return belief.log_density(x[:, 0], self._rate(belief, statistics))

    def _rate(self, belief: GammaPoisson, statistics: Totals) -> Array:
        if self.settings.estimate == "ml":
            events, n = COUNT_FAMILY.events(statistics), COUNT_FAMILY.exposure(statistics)
            pooled = events.sum(-1, keepdims=True) / np.maximum(n.sum(-1, keepdims=True), RESIDUAL_WEIGHT)
            return np.where(n > 0, events / np.where(n > 0, n, 1.0), pooled)  # a class without rows has the pooled rate
        at_mode = self.settings.estimate == "map" and not self.settings.log_rates
        return np.asarray(belief.mode() if at_mode else belief.mean())

    def add(self, cells: CountsRead, out: Array) -> None:
        """Small counts by tables, all columns at once; columns with large counts one by one."""
        small, tables = [], []
        for j, (belief, statistics) in enumerate(zip(self.beliefs, self.statistics, strict=True)):
            weight = 1.0 if self.weights is None else self.weights[j]
            if not weight or not statistics.n.value.any():
                continue
            if cells.are_small[j]:
                values = np.arange(int(cells.most[j]) + 1, dtype=np.float64)[:, None]
                tables.append(np.pad(weight * self._log_prob(values, belief, statistics), ((1, 0), (0, 0))))
                small.append(j)
            else:
                known = ~np.isnan(cells.x[j])
                out[known] += weight * self._log_prob(cells.x[j, known, None], belief, statistics)
        if small:
            starts = np.cumsum([1, *(len(table) for table in tables[:-1])])
            codes = cells.codes if len(small) == len(self.names) else cells.codes[small]
            add_tables(codes, starts.astype(np.int64), np.concatenate(tables), out)

    def add_left_out(self, cells: CountsRead, own: Hard, out: Array) -> None:
        for j, x in enumerate(cells.x):
            known = np.flatnonzero(~np.isnan(x))
            prior, statistics, left = self._without_each(x[known], j, own.take(known))
            rows = known[left]
            if len(rows):
                out[rows] += self._log_prob(x[rows, None], prior.posterior(statistics), statistics)

    def _without_each(self, x: Array, j: int, own: Hard) -> tuple[GammaPoisson, Totals, Any]:
        """The prior (rows, 1) and the statistics (rows, classes), each row left out, for rows that leave others."""
        total = self.statistics[j]
        alone = COUNT_FAMILY.statistics(x, Hard.of(np.arange(len(x)), len(x), own.weight))
        everyone = total.pooled() - alone
        left = everyone.n.value > RESIDUAL_WEIGHT * total.n.value.sum()
        rows = np.flatnonzero(left)
        others = Totals(*(part[rows][:, None] for part in everyone.sums))
        return of_counts(others, self.settings.strength), total.leaving_out(alone[rows], own.codes[rows]), left

    def pick(self, places: Sequence[int]) -> Self:
        names, statistics = tuple(self.names[j] for j in places), tuple(self.statistics[j] for j in places)
        weights = None if self.weights is None else self.weights[places]
        return type(self)(names, statistics, self.settings, weights)

    def cells_of(self, cells: CountsRead, places: Sequence[int]) -> CountsRead:
        return CountsRead(cells.x[places])

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def as_one(self) -> Self:
        return replace(self, statistics=tuple(each.pooled() for each in self.statistics))

    def log_evidence(self) -> Array:
        prior = (of_counts(each.pooled(), self.settings.strength) for each in self.statistics)
        return np.array([before.log_evidence(e).sum() for before, e in zip(prior, self.statistics, strict=True)])

    def log_likelihood_at(self, other: Self) -> float:
        """Σ events log λ - exposure λ, up to a function of the counts alone."""
        from scipy.special import xlogy

        total = 0.0
        for own, belief, theirs in zip(self.statistics, other.beliefs, other.statistics, strict=True):
            if theirs.n.value.any():
                rate = other._rate(belief, theirs)
                total += float((xlogy(COUNT_FAMILY.events(own), rate) - COUNT_FAMILY.exposure(own) * rate).sum())
                total += float(own.log_base.value.sum())
        return total

    def expected_cells(self, cells: CountsRead, shares: Array) -> dict[str, Any]:  # noqa: ARG002 - columns are independent
        pairs = zip(self.names, self.beliefs, self.statistics, strict=True)
        known = ((name, self._rate(belief, own), own.n.value.any()) for name, belief, own in pairs)
        return {name: shares @ rate if seen else np.full(len(shares), np.nan) for name, rate, seen in known}

    def points(self, cells: CountsRead) -> Array:
        """2√x, whose variance is about 1 for a Poisson count, standardised."""
        place = 2 * np.sqrt(cells.x.T)
        known = ~np.isnan(place)
        n = np.maximum(known.sum(0), 1)
        mean = np.where(known, place, 0.0).sum(0) / n
        spread = np.sqrt(np.where(known, (place - mean) ** 2, 0.0).sum(0) / n)
        return np.asarray((place - mean) / np.where(spread > 0, spread, 1.0))

    def log_evidence_left_out(self, cells: CountsRead, own: Hard) -> Array:
        (x,) = cells.x
        found, known = np.zeros(len(x)), np.flatnonzero(~np.isnan(x))
        prior, statistics, left = self._without_each(x[known], 0, own.take(known))
        found[known[left]] = prior.log_evidence(statistics).sum(1)
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        drawn: dict[str, Any] = {}
        for name, belief, statistics in zip(self.names, self.beliefs, self.statistics, strict=True):
            if not statistics.n.value.any():
                drawn[name] = np.full(len(classes), np.nan)
                continue
            if self.settings.estimate == "bayes":
                rate = rng.gamma(np.asarray(belief.shape)[classes]) / np.asarray(belief.rate)[classes]
            else:
                rate = self._rate(belief, statistics)[classes]
            drawn[name] = rng.poisson(rate)
        return drawn

    def parameters(self) -> list[Parameter]:
        pairs = zip(self.names, self.beliefs, self.statistics, strict=True)
        return [Parameter(name, "rate", self._rate(belief, statistics)) for name, belief, statistics in pairs]

    @property
    def free_parameters(self) -> int:
        return sum(len(each.n.value) for each in self.statistics)
