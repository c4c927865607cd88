"""Categories that are independent given the class: counts, with a Dirichlet prior on each distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from credo._kernels.core.sums import add_weights_soft
from credo._kernels.data.codes import add_tables, add_tables_but_own, add_tables_left_out
from credo.blocks.block import UNSEEN_VALUES, Block, Parameter, Settings, column_labels
from credo.blocks.capabilities import (
    CountsIgnored,
    CountsJointValues,
    Draws,
    Expects,
    Ignored,
    LogEvidence,
    LogPrior,
    LooksUp,
    Points,
    ReadAgain,
    Tabular,
    Tallies,
)
from credo.blocks.joint_codes import JOINED_ROWS, JointCodes, Lookup
from credo.blocks.scoring import ScoredColumns, TableScorer
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard, Membership, Soft
from credo.core.statistics import RESIDUAL_WEIGHT, Counts
from credo.data import Batch, cells
from credo.data.batches import CategoryCodes
from credo.data.schema import Column, Schema
from credo.errors import PriorError
from credo.families.dirichlet import Tables, log_kernel, offset, shared_out
from credo.numerics.exact import Array, Exact
from credo.numerics.special import log_rising

if TYPE_CHECKING:
    from credo.blocks.tally import Tally


@dataclass(frozen=True)
class Categories(Block, CountsJointValues, Tallies):
    """P(x = v | class) = θᵥ, θ ~ Dirichlet(l), or Dirichlet(m p), for each column."""

    names: tuple[str, ...]

    def keeps(self, label: Label) -> bool:
        return self.keeps_column(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        if isinstance(member, Hard) and (member.weight == 1).all():
            found = _whole_counts(batch, self.names, member)
        elif isinstance(member, Soft) and batch.rows >= JOINED_ROWS:
            joint = batch.encoded(JointCodes(self.names))
            n = np.zeros((joint.size, member.groups))
            for codes in joint.codes:
                add_weights_soft(codes, member.weights, n)
            return self.of_joint_values(batch, n, groups)
        else:
            found = [_counts(batch, name, member) for name in self.names]
        return self._evidence(found, groups)

    def of_joint_values(self, batch: Batch, n: Array, groups: str) -> Evidence:
        found: list[tuple[Any, Counts]] = []
        for joined in batch.encoded(JointCodes(self.names)).columns:
            own = Soft(n[joined.first : joined.first + joined.values.shape[1]])
            each = zip(joined.values, joined.levels, strict=True)
            found += [(levels, Counts.of(codes, len(levels), own)) for codes, levels in each]
        return self._evidence(found, groups)

    def _evidence(self, found: Sequence[tuple[Any, Counts]], groups: str) -> Evidence:
        pairs = list(zip(self.names, found, strict=True))
        columns = tuple(Column(name, "category", levels) for name, (levels, _) in pairs)
        parts = {Label("column", name): Part((groups, name), counts) for name, (_, counts) in pairs}
        return Evidence(Schema(columns), parts)

    def likelihood(self, evidence: Evidence, settings: Settings) -> CategoriesLikelihood:
        columns = tuple(evidence.schema[name] for name in self.names)
        counts = tuple(evidence[label].n.value for label in column_labels(self.names))
        prior = tuple(concentration(column, settings) for column in columns)
        return CategoriesLikelihood(columns, counts, prior, settings)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.cell_tallies import CategoriesTally

        columns = [evidence.schema[name] for name in self.names]
        return CategoriesTally(columns, [evidence[label] for label in column_labels(self.names)])


def _counts(batch: Batch, name: str, member: Membership) -> tuple[Any, Counts]:
    """A column's levels, and their counts by group."""
    codes, levels = batch.categories(name) if isinstance(member, Hard) else batch.encoded(CategoryCodes(name))
    return levels, Counts.of(codes, len(levels), member)


def _whole_counts(batch: Batch, names: Sequence[str], member: Hard) -> list[tuple[Any, Counts]]:
    """Levels and counts of each column for weights of 1: integers are counted without coding them first."""
    tiles = batch.integer_tiles(names)
    found = None if tiles is None else cells.block_counts(tiles, member.codes, member.groups)
    if found is not None:
        return [(levels, Counts(Exact.of(counts))) for levels, counts in found]
    return [_whole_counts_of(batch, name, member) for name in names]


def _whole_counts_of(batch: Batch, name: str, member: Hard) -> tuple[Any, Counts]:
    x = batch.integers(name)
    found = None if x is None else cells.narrow_counts(x, member.codes, member.groups)
    return _counts(batch, name, member) if found is None else (found[0], Counts(Exact.of(found[1])))


def concentration(column: Column, settings: Settings) -> Array:
    """The prior's concentration of each level."""
    shares: Mapping[Any, float] | None = settings.p.get(column.name)
    levels = len(column.levels)
    if settings.m is None:
        return np.full(levels, settings.smoothing)
    if shares is None:
        return np.full(levels, settings.m / max(levels, 1))
    if unknown := [value for value in column.values if value not in shares]:
        raise PriorError(f"p has no share for {unknown[0]!r} in column {column.name!r}")
    found = np.array([shares[value] for value in column.values], dtype=np.float64)
    if not ((found >= 0).all() and found.sum() <= 1 + 1e-9):
        raise PriorError(f"p must be shares that sum to 1, but for column {column.name!r} is {dict(shares)!r:.80}")
    return settings.m * found


@dataclass(frozen=True, eq=False)
class TableLikelihood(ScoredColumns, Tabular, LogPrior, LogEvidence, Points):
    """log θ of each value: θ = (n + a)/Σ(n + a), where a is the concentration, minus 1 for the mode, 0 for ML."""

    columns: tuple[Column, ...]
    counts: tuple[Array, ...]  # (classes, levels) each
    concentrations: tuple[Array, ...]  # (levels,) each
    settings: Settings
    weights: Array | None = None
    depends: Array | None = None  # P(the column depends on the class), for averages

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def read(self, batch: Batch) -> Codes:
        """Codes, -1 where a cell is missing or unseen. (columns, rows)"""
        return self._coded(batch)[0]

    def _coded(self, batch: Batch) -> tuple[Codes, Sequence[int] | NDArray[np.int64]]:
        """The codes, and the number of unseen cells of each column."""
        known = self._integers
        block = batch.integer_block(self.names) if known else None
        if known is not None and block is not None:
            return known.codes(block)
        codes = np.empty((len(self.columns), batch.rows), dtype=np.int32)
        unseen = []
        for j, column in enumerate(self.columns):
            x, found = batch.integers(column.name), None
            if x is not None:
                found = known.codes_of(j, x) if known else cells.integers_among(x, column.levels)
            codes[j], others = found or batch.codes_among(column.name, column.levels)
            unseen.append(others)
        return codes, unseen

    @cached_property
    def _integers(self) -> cells.IntegerLevels | None:
        return cells.IntegerLevels.of([column.levels for column in self.columns])

    @cached_property
    def tables(self) -> Tables:
        """The tables of all columns."""
        sizes = np.array([n.shape[1] for n in self.counts], dtype=np.intp)
        return Tables(np.concatenate(self.counts, axis=1), np.concatenate(self.concentrations), sizes)

    @cached_property
    def _offsets(self) -> Array:
        return offset(self.tables.concentration, self.settings.estimate)

    @cached_property
    def _shares(self) -> Array:
        """θ of each value. (classes, values)"""
        own = self.tables.shares(self._offsets)
        if self.depends is None:
            return own
        w = self.depends[self.tables.column]
        return np.asarray(w * own + (1 - w) * self.tables.pooled().shares(self._offsets))

    @property
    def shares(self) -> list[Array]:
        """θ of each column. (classes, levels)"""
        return np.split(self._shares, self.tables.starts[1:], axis=1)

    def log_prior(self) -> float:
        """Σ (a - 1) log θ."""
        return float(log_kernel(self._shares, self.tables.concentration).sum())

    def averaging(self, depends: Array) -> Self:
        return replace(self, depends=depends)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The start of each column's rows in the kernels' tables, after a row for its missing cells."""
        return (self.tables.starts + np.arange(len(self.counts)) + 1).astype(np.int64)

    def _rows(self, values: Array) -> Array:
        """The kernels' tables: a row for each value, and zeros for missing cells. (values + columns, ...)"""
        return np.ascontiguousarray(np.insert(values.T, self.tables.starts, 0.0, axis=0))

    @cached_property
    def _logs(self) -> Array:
        """log θ of each value. (classes, values)"""
        with np.errstate(divide="ignore"):
            return np.log(self._shares)

    @cached_property
    def _weighted_tables(self) -> Array:
        if self.weights is None:
            return self._rows(self._logs)
        w = self.weights[self.tables.column]
        return self._rows(np.where(w != 0, np.where(w != 0, w, 1.0) * self._logs, 0.0))

    def add(self, cells: Codes, out: Array) -> None:
        add_tables(cells, self._starts, self._weighted_tables, out)

    @cached_property
    def _evidence_tables(self) -> tuple[Array, Array, Array, Array]:
        """Tables, counts, offsets and divisors, for the kernel."""
        n, tables = self.tables.counts, self.tables
        counts = self._rows(np.concatenate([n, n.sum(0, keepdims=True)]))
        divisors = tables.summed(np.maximum(n + self._offsets, 0.0))
        sizes = np.log(np.maximum(tables.sizes, 1))  # at the end: of uniform distributions
        return self._rows(self._logs), counts, np.append(self._rows(self._offsets), sizes), divisors.T.copy()

    @cached_property
    def _tables_without_one(self) -> tuple[Array, Array]:
        """log θ with a row of weight 1 left out: for the other classes, and for the row's class.

        A value that no other row has is ignored.
        """
        tables, n, a = self.tables, self.tables.counts, self._offsets
        above, left, alone = np.maximum(n + a, 0.0), np.maximum(n - 1 + a, 0.0), n.sum(0) <= 1 + RESIDUAL_WEIGHT
        total = tables.summed(above)[:, tables.column] - above + left
        with np.errstate(divide="ignore"):
            mine = np.log(shared_out(left, total, tables.sizes[tables.column], RESIDUAL_WEIGHT))
        return self._rows(np.where(alone, 0.0, self._logs)), self._rows(np.where(alone, 0.0, mine))

    def add_left_out(self, cells: Codes, own: Hard, out: Array) -> None:
        if (own.weight == 1).all():
            add_tables_but_own(cells, own.codes, self._starts, *self._tables_without_one, out)
            return
        tables, counts, offsets, divisors = self._evidence_tables
        add_tables_left_out(cells, own.codes, own.weight, self._starts, tables, counts, offsets, divisors, out)

    def scorer(self) -> TableScorer | None:
        if self.settings.estimate not in ("bayes", "mean") or self.depends is not None:
            return None
        counts, sizes = self.tables.counts, self.tables.sizes
        declared = [np.arange(len(column.levels)) < column.declared for column in self.columns]
        shares = None
        if self.settings.m is not None:
            given = [column.name in self.settings.p for column in self.columns]
            pairs = zip(given, self.concentrations, strict=True)
            shares = np.concatenate([a / self.settings.m if own else np.full(len(a), np.nan) for own, a in pairs])
        return TableScorer(self.names, counts, sizes, self.settings, np.concatenate(declared), shares, self)

    def cells_to_score(self, cells: Codes) -> Codes:
        return cells.T

    def pick(self, places: Sequence[int]) -> Self:
        return replace(
            self,
            columns=tuple(self.columns[j] for j in places),
            counts=tuple(self.counts[j] for j in places),
            concentrations=tuple(self.concentrations[j] for j in places),
            weights=None if self.weights is None else self.weights[places],
            depends=None if self.depends is None else self.depends[places],
        )

    def cells_of(self, cells: Codes, places: Sequence[int]) -> Codes:
        return cells[places]

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def as_one(self) -> Self:
        return replace(self, counts=tuple(n.sum(0, keepdims=True) for n in self.counts))

    def log_evidence(self) -> Array:
        """log p(column's cells | their classes). (columns,)"""
        return np.asarray(self.tables.log_evidence().sum(0))

    def log_likelihood_at(self, other: Self) -> float:
        from scipy.special import xlogy

        return float(xlogy(self.tables.counts, other._shares).sum())

    def points(self, cells: Codes) -> Array:
        """Indicators of values, scaled so that different values are as far apart as two numbers on average, √2
        deviations."""
        found = []
        for codes, column in zip(cells, self.columns, strict=True):
            indicators = (codes[:, None] == np.arange(len(column.levels))).astype(np.float64)
            found.append(np.where(codes[:, None] < 0, np.nan, indicators))
        return np.concatenate(found, axis=1)

    def log_evidence_left_out(self, cells: Codes, own: Hard) -> Array:
        """The log evidence of a single column, each row left out, by the chain rule. (rows,)"""
        n, a, v = self.counts[0], self.concentrations[0], np.maximum(cells[0], 0)
        if not len(a):
            return np.zeros(own.rows)
        left = np.maximum(n[own.codes, v] - own.weight, 0.0)
        total = np.maximum(n.sum(1)[own.codes] - own.weight, 0.0)
        if (own.weight == 1).all():
            gained = np.log((left + a[v]) / (total + a.sum()))
        else:
            gained = log_rising(left + a[v], own.weight) - log_rising(total + a.sum(), own.weight)
        return np.where(cells[0] >= 0, self.log_evidence()[0] - gained, 0.0)

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(column.name, "probability", share[:, v], value)
            for column, share in zip(self.columns, self.shares, strict=True)
            for v, value in enumerate(column.values)
        ]

    @property
    def free_parameters(self) -> int:
        return sum(n.shape[0] * max(n.shape[1] - 1, 0) for n in self.counts)


@dataclass(frozen=True, eq=False)
class CategoriesLikelihood(TableLikelihood, CountsIgnored, ReadAgain, LooksUp, Expects, Draws):
    """Category columns of the data: unseen values are counted, and values can be sampled."""

    def add_again(self, batch: Batch, out: Array) -> None:
        table = self.lookup(batch)
        if table is None:
            self.add(self.read(batch), out)
        else:
            add_tables(table.codes, np.zeros(len(table.codes), dtype=np.int64), table.logs, out)

    def lookup(self, batch: Batch) -> Lookup | None:
        if batch.rows < JOINED_ROWS:
            return None
        joint = batch.encoded(JointCodes(self.names))
        logs, n = np.zeros((2, joint.size, self._weighted_tables.shape[1]))
        for joined in joint.columns:
            own = slice(joined.start, joined.start + len(joined.levels))
            each = zip(joined.values, joined.levels, self.columns[own], strict=True)
            values = np.stack([cells.recoded(codes, known, column.levels)[0] for codes, known, column in each])
            part = logs[joined.first : joined.first + values.shape[1]]
            add_tables(values, self._starts[own], self._weighted_tables, part)
        return Lookup(joint.codes, logs, n)

    def read_counting_ignored(self, batch: Batch) -> tuple[Codes, Ignored]:
        codes, unseen = self._coded(batch)
        return codes, {(name, UNSEEN_VALUES): int(n) for name, n in zip(self.names, unseen, strict=True) if n}

    def expected_cells(self, cells: Codes, shares: Array) -> dict[str, Any]:  # noqa: ARG002 - columns are independent
        found: dict[str, Any] = {}
        for column, share in zip(self.columns, self.shares, strict=True):
            values = np.array([*column.values, None], dtype=object)
            best = (shares @ share).argmax(1) if share.shape[1] else np.zeros(len(shares), dtype=np.intp)
            found[column.name] = values[best]
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        drawn: dict[str, Any] = {}
        for column, share in zip(self.columns, self.shares, strict=True):
            if not share.shape[1]:
                drawn[column.name] = np.full(len(classes), None)
                continue
            reached = np.cumsum(share, axis=1)
            level = (rng.random((len(classes), 1)) * reached[classes, -1:] >= reached[classes]).sum(1)
            values = np.array([*column.values, None], dtype=object)[:-1]
            drawn[column.name] = values[np.minimum(level, share.shape[1] - 1)]
        return drawn
