"""Numbers in bins, without an assumed shape: a sketch of the column gives the quantiles between bins.

The sketch counts numbers truncated to 12 significant bits by class. It adds, merges and forgets exactly like other
evidence, and bins are derived from it. (Fixed logarithmic buckets: DDSketch, Masson, Rim & Lee 2019. About √n bins of
√n rows: Yang & Webb 2009.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from credo.blocks.block import Block, Parameter, Settings, column_labels
from credo.blocks.capabilities import Draws, LogEvidence, LogPrior, Points, Scored, Tabular, Tallies
from credo.blocks.categories import TableLikelihood, concentration
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Codes, Hard, Membership
from credo.core.statistics import RESIDUAL_WEIGHT, Counts, Positions
from credo.data import Batch, cells
from credo.data.arrow_arrays import number_array, numpy_array
from credo.data.schema import Column, Schema
from credo.errors import PriorError
from credo.families.dirichlet import offset, shared_out
from credo.numerics.exact import Array
from credo.numerics.special import log_rising

if TYPE_CHECKING:
    from credo.blocks.numbers.bin_scoring import BinScorer
    from credo.blocks.tally import Tally

DROPPED_BITS = 41  # of a float's 52 bits after the first
SORTED_ROWS = 1000  # up to this many rows, numbers are sorted: among more, many are equal


def cut(x: Array) -> Array:
    """Numbers truncated to 12 significant bits.

    >>> cut(np.array([4095.0, 4097.0, -0.0, 3.14159265])).tolist()
    [4095.0, 4096.0, 0.0, 3.140625]
    """
    kept = np.ascontiguousarray(x, dtype=np.float64).view(np.int64) >> DROPPED_BITS << DROPPED_BITS
    return kept.view(np.float64) + 0.0


@dataclass(frozen=True)
class Binned(Block, Tallies):
    """P(bin | class) = θ, θ ~ Dirichlet(l), for each column; fewer bins with `coarse`."""

    names: tuple[str, ...]
    coarse: bool = False

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({("binned", self.names)})

    def keeps(self, label: Label) -> bool:
        return self.keeps_column(label)

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        columns, parts = [], {}
        if isinstance(member, Hard):
            each = shortened(self.names, batch)
        else:
            each = (batch.encoded(Shortened(name)) for name in self.names)
        for name, (codes, levels) in zip(self.names, each, strict=True):
            columns.append(Column(name, "number", levels))
            parts[Label("column", name)] = Part((groups, name), Counts.of(codes, len(levels), member))
        return Evidence(Schema(tuple(columns)), parts)

    def likelihood(self, evidence: Evidence, settings: Settings) -> BinnedLikelihood:
        sketches = []
        for name in self.names:
            column, order = evidence.schema[name].ordered()
            values = column.levels.to_numpy(zero_copy_only=False)
            counts = evidence[Label("column", name)].n.value[:, order]
            sketches.append(Sketch(name, values, counts, settings, self.coarse))
        return BinnedLikelihood(tuple(sketches), settings)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.cell_tallies import BinnedTally

        columns = [evidence.schema[name] for name in self.names]
        return BinnedTally(columns, [evidence[label] for label in column_labels(self.names)], cut, most_bins)


@dataclass(frozen=True)
class Shortened:
    """Reads a column's truncated numbers: codes, -1 where a cell is missing, and the numbers of the codes."""

    name: str

    def of(self, batch: Batch) -> tuple[Codes, Any]:
        encoded = pa.array(cut(batch.numbers(self.name)), from_pandas=True).dictionary_encode()
        values = numpy_array(encoded.dictionary)
        order = np.argsort(values)
        rank = np.full(len(order) + 1, -1, dtype=np.int32)
        rank[order] = np.arange(len(order))
        return rank[cells.filled(encoded.indices)], number_array(values[order])


def shortened(names: Sequence[str], batch: Batch) -> Iterable[tuple[Codes, Any]]:
    """The truncated numbers of columns, all at once for few rows; numbers ascend, as in evidence."""
    if batch.rows > SORTED_ROWS:
        return (Shortened(name).of(batch) for name in names)
    x = cut(np.ascontiguousarray(batch.matrix(names).T))  # (columns, rows)
    order = np.argsort(x, axis=1)  # NaN last
    ordered = np.take_along_axis(x, order, axis=1)
    differs = ordered != np.roll(ordered, 1, axis=1)
    differs[:, :1], differs[np.isnan(ordered)] = True, False
    ranks = np.cumsum(differs, axis=1, dtype=np.int32) - np.int32(1)
    codes = np.empty_like(ranks)
    np.put_along_axis(codes, order, np.where(np.isnan(ordered), np.int32(-1), ranks), axis=1)
    ends = np.cumsum(differs.sum(1))[:-1]
    return zip(codes, map(number_array, np.split(ordered[differs], ends)), strict=True)


def most_bins(n: Array | float, coarse: bool = False) -> Array:
    """The number of bins for n rows."""
    return np.asarray(np.floor(np.clip(np.sqrt(n) / 2, 3, 10) if coarse else np.clip(np.sqrt(n), 1, 60)))


@dataclass(frozen=True, eq=False)
class Sketch:
    """The counts of each value by class, and the bins derived from them.

    A value is in bin ⌊c·B/n⌋, where c is the weight of the smaller values and B = ⌊√n⌋, at most 60 (coarse: half of
    that, 3 to 10). Frequent values have separate bins, and the numbers between them are divided evenly.
    """

    name: str
    values: Array  # (values,), ascending
    counts: Array  # (classes, values)
    settings: Settings
    coarse: bool = False

    def bins(self, below: Array, n: float) -> Array:
        """The bins of values, given the weight of smaller values and the number of rows."""
        if n <= 0:
            return below
        return np.asarray(np.floor(below * most_bins(n, self.coarse) / n))

    @cached_property
    def pooled(self) -> Array:
        """The weight of each value, rounded to 40 bits of the total: otherwise rounding of soft sums could move a value
        at an edge to another bin between steps of EM. (values,)"""
        found = self.counts.sum(0)
        n = float(found.sum())
        unit = 2.0 ** (np.floor(np.log2(n)) - 40) if n > 0 else 1.0
        return np.asarray(np.round(found / unit) * unit)

    @cached_property
    def n(self) -> float:
        return float(self.pooled.sum())

    @cached_property
    def below(self) -> Array:
        """The weight of smaller values, for each value. (values,)"""
        return np.concatenate([[0.0], np.cumsum(self.pooled)[:-1]])[: len(self.values)]

    @cached_property
    def starts(self) -> Positions:
        """The first value of each bin."""
        return np.flatnonzero(np.diff(self.bins(self.below, self.n), prepend=-1.0))

    @cached_property
    def binned(self) -> Array:
        """The counts of bins. (classes, bins)"""
        return np.add.reduceat(self.counts, self.starts, axis=1) if len(self.values) else self.counts

    def column(self) -> Column:
        """The bins as levels of a category, named by their edges."""
        edges = [f"{edge:.6g}" for edge in self.values[self.starts]]
        ends = [*edges[1:], "∞"]
        names = [f"from {a} to below {b}" for a, b in zip(edges, ends, strict=False)]  # no bins without values
        return Column(self.name, "category", pa.array([f"{i}: {name}" for i, name in enumerate(names)], pa.string()))

    def prior(self, bins: Array | float) -> Array:
        """The prior's concentration of each bin, given the number of bins."""
        m = self.settings.m
        return np.full(np.shape(bins), self.settings.smoothing) if m is None else np.asarray(m / np.maximum(bins, 1))

    def concentration(self, bins: Array | float) -> Array:
        """The pseudo-count of each bin, by the estimate."""
        a, estimate = self.prior(bins), self.settings.estimate
        if estimate == "map" and (a < 1).any():
            raise PriorError("estimate='map' of binned columns needs a smoothing of at least 1: the mode is at an end")
        return offset(a, estimate)

    @cached_property
    def each_left_out(self) -> tuple[Array, Array]:
        """The leave-one-out log-likelihoods of a row of weight 1 with each value: under other classes, and under its
        class.

        (values, classes) both
        """
        places = np.arange(len(self.values))
        return self.left_out(places, np.ones(len(places)))

    def left_out(self, place: Positions, weight: Array) -> tuple[Array, Array]:
        """The leave-one-out log-likelihoods of rows with these values and weights; 0 if no other row is left."""
        first, last, bins = self.bins_left_out(place, weight)
        reached = np.concatenate([np.zeros((len(self.counts), 1)), np.cumsum(self.counts, axis=1)], axis=1)
        inside = (reached[:, last] - reached[:, first]).T  # (rows, classes)
        a, total, w = self.concentration(bins)[:, None], self.counts.sum(1), weight[:, None]
        divisor, nobody = total + a * bins[:, None], (bins == 0)[:, None]
        left = np.where(divisor - w > RESIDUAL_WEIGHT * w, divisor - w, 0.0)
        with np.errstate(divide="ignore"):
            others = np.log(shared_out(inside + a, divisor, bins[:, None]))
            own = np.log(shared_out(np.maximum(inside - w + a, 0.0), left, bins[:, None]))
        return np.where(nobody, 0.0, others), np.where(nobody, 0.0, own)

    def bins_left_out(self, place: Positions, weight: Array) -> tuple[Positions, Positions, Array]:
        """The first and the last value of each row's bin, and the number of bins, the row left out."""
        first, last, bins = np.zeros_like(place), np.zeros_like(place), np.zeros(len(place))
        for w in np.unique(weight):
            rows = weight == w
            first[rows], last[rows], bins[rows] = self._bins_without(place[rows], float(w))
        return first, last, bins

    def _bins_without(self, place: Positions, w: float) -> tuple[Positions, Positions, Array]:
        n = self.n - w
        if n <= RESIDUAL_WEIGHT * self.n:
            nothing = np.zeros_like(place)
            return nothing, nothing, nothing.astype(float)
        before, after = self.bins(self.below, n), self.bins(np.maximum(self.below - w, 0.0), n)
        gone = self.counts.sum(0)[place] - w <= RESIDUAL_WEIGHT * w
        lower = np.where(gone, place - 1, place)  # a value without other rows counts as the one below it
        mine = np.where(lower >= 0, before[np.maximum(lower, 0)], 0.0)
        first = np.searchsorted(before, mine, "left")
        last = np.maximum(np.searchsorted(after, mine, "right"), place + 1)
        distinct_before = np.cumsum(np.diff(before, prepend=-1.0) > 0)
        distinct_after = np.append(np.cumsum(np.diff(after, append=np.inf)[::-1] > 0)[::-1], 0)
        kept = np.where(lower >= 0, distinct_before[np.maximum(lower, 0)], 0)
        next_one = np.append(after, np.inf)[place + 1]
        bins = kept + distinct_after[place + 1] - ((next_one == mine) & (lower >= 0))
        return first, last, bins.astype(float)

    def evidence_left_out(self, place: Positions, own: Hard) -> Array:
        """log p(cells | their classes), each row left out. (rows,)"""
        found = np.zeros(len(place))
        for w in np.unique(own.weight):
            rows = np.flatnonzero(own.weight == w)
            there, which = np.unique(place[rows], return_inverse=True)
            _, _, bins = self._bins_without(there, float(w))
            for a in np.unique(self.prior(bins)):  # one, unless it depends on the number of bins
                some = np.flatnonzero(self.prior(bins) == a)
                chosen = np.flatnonzero(np.isin(which, some))
                at = np.searchsorted(some, which[chosen])
                each, less = self._evidence_without(there[some], float(w), float(a))
                codes = own.codes[rows[chosen]]
                found[rows[chosen]] = each.sum(0)[at] - each[codes, at] + less[codes, at]
        return found

    def _evidence_without(self, place: Positions, w: float, a: float) -> tuple[Array, Array]:
        """log p(cells | class) of each class, a row of weight w with one of these values left out of another class, or
        of this class. (classes, rows) both

        Bins below that of the row depend on smaller values alone, bins above on larger ones alone: their sums are
        computed for all rows at once.
        """
        prior = np.asarray(a)

        def runs(ids: Array) -> tuple[Positions, Positions, Array]:
            """The starts and the ends of bins, and the cumulative sums of their log evidence."""
            starts = np.flatnonzero(np.diff(ids, prepend=-1.0))
            gained = np.cumsum(log_rising(prior, np.add.reduceat(self.counts, starts, axis=1)), axis=1)
            return starts, np.append(starts[1:], len(ids)), np.concatenate([none, gained], axis=1)

        first, last, bins = self._bins_without(place, w)
        if not bins.any():
            return (np.zeros((len(self.counts), len(place))),) * 2
        none, n = np.zeros((len(self.counts), 1)), self.n - w
        reached = np.concatenate([none, np.cumsum(self.counts, axis=1)], axis=1)
        starts, _, gained = runs(self.bins(self.below, n))
        log_evidence = gained[:, np.searchsorted(starts, first)]
        starts, ends, gained = runs(self.bins(np.maximum(self.below - w, 0.0), n))
        next_one = np.searchsorted(starts, last, "right") - 1  # the row's bin may overlap it
        taken = reached[:, ends[next_one]] - reached[:, last]
        log_evidence = log_evidence + gained[:, -1:] - gained[:, next_one + 1] + log_rising(prior, taken)
        inside, total = reached[:, last] - reached[:, first], self.counts.sum(1)[:, None]
        inside_left, total_left = np.maximum(inside - w, 0.0), np.maximum(total - w, 0.0)
        each = log_evidence + log_rising(prior, inside) - log_rising(a * bins, total)
        return each, log_evidence + log_rising(prior, inside_left) - log_rising(a * bins, total_left)


@dataclass(frozen=True, eq=False)
class BinnedLikelihood(Tabular, Scored, LogPrior, LogEvidence, Points, Draws):
    """log θ of each number's bin."""

    sketches: tuple[Sketch, ...]
    settings: Settings
    weights: Array | None = None
    depends: Array | None = None  # P(the column depends on the class), for averages

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sketch.name for sketch in self.sketches)

    @cached_property
    def bins(self) -> TableLikelihood:
        """The bins as categories."""
        columns = tuple(sketch.column() for sketch in self.sketches)
        counts = tuple(sketch.binned for sketch in self.sketches)
        prior = tuple(concentration(column, self.settings) for column in columns)
        return TableLikelihood(columns, counts, prior, self.settings, self.weights, self.depends)

    def read(self, batch: Batch) -> Array:
        """Truncated numbers. (columns, rows)"""
        return cut(np.stack([batch.numbers(name) for name in self.names]))

    def _coded(self, cells: Array) -> Codes:
        codes = np.full(cells.shape, -1, dtype=np.int32)
        for j, sketch in enumerate(self.sketches):
            if len(sketch.values):
                known = ~np.isnan(cells[j])
                edges = sketch.values[sketch.starts]
                codes[j, known] = np.maximum(np.searchsorted(edges, cells[j, known], "right") - 1, 0)
        return codes

    def add(self, cells: Array, out: Array) -> None:
        self.bins.add(self._coded(cells), out)

    def log_prior(self) -> float:
        return self.bins.log_prior()

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        for j, sketch in enumerate(self.sketches):
            rows = np.flatnonzero(~np.isnan(cells[j]))
            if not len(rows):
                continue
            place, codes = np.searchsorted(sketch.values, cells[j, rows]), own.codes[rows]
            if (own.weight == 1).all():
                others, mine = (table[place] for table in sketch.each_left_out)
            else:
                others, mine = sketch.left_out(place, own.weight[rows])
            others[np.arange(len(rows)), codes] = mine[np.arange(len(rows)), codes]
            out[rows] += others

    def scorer(self) -> BinScorer | None:
        from credo.blocks.numbers.bin_scoring import BinScorer
        from credo.blocks.scoring import whole_numbers

        counts = [sketch.counts for sketch in self.sketches]
        usual = self.settings.estimate in ("bayes", "mean") and self.depends is None
        if not usual or not whole_numbers(counts):
            return None
        values = tuple(sketch.values for sketch in self.sketches)
        table = np.concatenate(counts, axis=1)
        codes, places = np.nonzero(table)
        entries = codes, places, table[codes, places]
        return BinScorer(self.names, len(table), values, table.sum(0), entries, self.settings, self.sketches[0].coarse)

    def each(self, cells: Array, shape: tuple[int, int]) -> Array:
        return self.bins.each(self._coded(cells), shape)

    def each_nearly_left_out(self, cells: Array, own: Hard) -> Array:
        """The scores of left-out rows, with fixed bins."""
        return self.bins.each_nearly_left_out(self._coded(cells), own)

    def pick(self, places: Sequence[int]) -> Self:
        weights, depends = (None if part is None else part[places] for part in (self.weights, self.depends))
        return replace(self, sketches=tuple(self.sketches[j] for j in places), weights=weights, depends=depends)

    def averaging(self, depends: Array) -> Self:
        return replace(self, depends=depends)

    def cells_of(self, cells: Array, places: Sequence[int]) -> Array:
        return cells[places]

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def as_one(self) -> Self:
        sketches = (replace(sketch, counts=sketch.counts.sum(0, keepdims=True)) for sketch in self.sketches)
        return replace(self, sketches=tuple(sketches))

    def log_evidence(self) -> Array:
        return self.bins.log_evidence()

    def log_likelihood_at(self, other: Self) -> float:
        return self.bins.log_likelihood_at(other.bins)

    def points(self, cells: Array) -> Array:
        return self.bins.points(self._coded(cells))

    def log_evidence_left_out(self, cells: Array, own: Hard) -> Array:
        found, known = np.zeros(cells.shape[1]), ~np.isnan(cells[0])
        place = np.searchsorted(self.sketches[0].values, cells[0, known])
        found[known] = self.sketches[0].evidence_left_out(place, own.take(known))
        return found

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """A value of a sampled bin, in proportion to its counts."""
        drawn = {}
        for sketch in self.sketches:
            values = np.full(len(classes), np.nan)
            share = self.bins.shares[self.names.index(sketch.name)]
            pooled = sketch.counts.sum(0)
            for k in np.unique(classes) if len(sketch.values) else ():
                rows = np.flatnonzero(classes == k)
                size = np.diff(np.append(sketch.starts, len(sketch.values)))
                heavy = np.repeat(np.add.reduceat(pooled, sketch.starts), size)
                within = np.divide(pooled, heavy, out=np.zeros_like(pooled), where=heavy > 0)
                law = within * np.repeat(share[k], size)
                if law.sum() > 0:
                    values[rows] = rng.choice(sketch.values, len(rows), p=law / law.sum())
            drawn[sketch.name] = values
        return drawn

    def parameters(self) -> list[Parameter]:
        return self.bins.parameters()

    @property
    def free_parameters(self) -> int:
        return self.bins.free_parameters
