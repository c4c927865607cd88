"""Engine jobs of tuning, over batches or pieces of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.blocks.capabilities import Weighable
from credo.core.learning import RowWeights
from credo.core.membership import Codes, Hard
from credo.data import Batch
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, apart, cell_prints, fingerprints, mixed
from credo.engines.partitions import Loaded
from credo.numerics.exact import Array
from credo.selection.observations import Parts

if TYPE_CHECKING:
    from credo.models.labelled import Terms

COPIES = 8  # copies of a row that are drawn together or not at all
Likelihoods = Sequence[tuple[str, Any]]  # each with its form
Grid = tuple[Sequence[float], Sequence[float]]  # values of c, and of p


@dataclass(frozen=True, eq=False)
class Piece(Loaded):
    """Some rows of a table, and the class and weight of each."""

    batch: Batch
    own: Hard  # weighted by all copies, as in the evidence
    weight: Array  # (rows,) copies count as one

    @property
    def rows(self) -> int:
        return self.batch.rows


class Drawn(NamedTuple):
    """Rows drawn from a batch, with class and weight. A row of weight 3 occurs three times."""

    batch: Batch
    codes: Codes
    weight: Array  # (rows,) this occurrence's part of the row's weight
    times: Array  # (rows,) how often the row occurs
    prints: Fingerprints
    groups: Fingerprints  # (rows,) those of the rows themselves, if there are no groups
    cells: Fingerprints  # (columns, rows)


@dataclass(frozen=True, eq=False)
class Draw:
    """Draws one in `stride` of a batch's rows that have a class and a weight, by their fingerprints.

    A row of weight w counts as w rows, or about w/unit where these are too many. A row without a group is a group.
    """

    model: Any
    names: tuple[str, ...]
    weights: RowWeights
    stride: int
    unit: float
    groups: str | None = None  # a column

    def __call__(self, batch: Batch) -> Drawn:
        own = None if self.groups is None else cell_prints(batch, [self.groups])[0]
        weight, batch = self.weights.of_rows(batch), batch.only(self.names)
        cells = cell_prints(batch, self.names)
        prints = fingerprints(cells)
        groups = prints if own is None else np.where(own == MISSING_PRINT, prints, own)
        codes = self.model.codes_of(batch)
        parts = Parts.of(np.flatnonzero((codes >= 0) & (weight > 0)), weight, self.unit)
        if self.stride > 1:
            bits = mixed(apart(prints[parts.rows], COPIES, batch.start))
            parts = parts.take(bits % np.uint64(self.stride) == 0)
        rows = parts.rows
        return Drawn(
            batch.take(rows), codes[rows], parts.weight, parts.times, prints[rows], groups[rows], cells[:, rows]
        )


@dataclass(frozen=True, eq=False)
class LeftOutTerms:
    """The terms' leave-one-out log-likelihoods of each row; log P(class), and the row's class and weight."""

    model: Any
    likelihoods: Likelihoods

    def __call__(self, piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own = piece.batch.filled(self.model.views), piece.own
        found = [Weighable.needed(each).each_nearly_left_out(each.read(batch), own) for _, each in self.likelihoods]
        return _concatenated(found, piece), self.model.log_prior_left_out(own), own.codes, piece.weight


@dataclass(frozen=True, eq=False)
class HeldOutTerms:
    """The terms' log-likelihoods of held-out rows; log P(class), and the row's class and weight."""

    model: Any
    terms: Terms

    def __call__(self, piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own, shape = piece.batch.filled(self.model.views), piece.own, (piece.rows, piece.own.groups)
        found = [Weighable.needed(each).each(each.read(batch), shape) for _, each in self.terms.likelihoods]
        return _concatenated(found, piece), np.broadcast_to(self.terms.log_prior, shape), own.codes, piece.weight


@dataclass(frozen=True, eq=False)
class GridScores:
    """The leave-one-out log-odds of each row's words at each point of a grid; the rest as `LeftOutTerms`."""

    model: Any
    likelihoods: Likelihoods
    grids: Sequence[Grid]

    def __call__(self, piece: Piece) -> tuple[NDArray[Any], ...]:
        batch, own = piece.batch.filled(self.model.views), piece.own
        pairs = zip(self.likelihoods, self.grids, strict=True)
        scores = [each.scores(each.read(batch), own, *grid) for (_, each), grid in pairs]
        return (*scores, self.model.log_prior_left_out(own), own.codes, piece.weight)


def _concatenated(found: Sequence[NDArray[Any]], piece: Piece) -> NDArray[Any]:
    """The terms of several blocks, concatenated. (rows, classes, terms)"""
    return np.concatenate([np.empty((piece.rows, piece.own.groups, 0)), *found], axis=2)
