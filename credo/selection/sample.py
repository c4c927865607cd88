"""The rows on which tuning is chosen: all of them, or a sample; copies of a row are one row, with their weight.

A row that was copied would foretell itself if its copies stayed behind. So copies (the same cells and class) are left
out together, and lie in one fold. Rows may also be the same by chance, as where two columns of yes and no are all there
is: these are rows like any others. By how many of them chance explains, the two are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo.core.evidence import Evidence
from credo.core.learning import Weights
from credo.core.membership import Codes, Hard
from credo.data import Batch, Source
from credo.data.fingerprints import MISSING, Fingerprints, cell_prints, fingerprints, mixed
from credo.engines import local
from credo.errors import DataError
from credo.models.forms import TEXT_FORMS
from credo.numerics.exact import Array

ROWS, CELLS = 20_000, 4_000_000  # at most, and of their scores (rows x classes x terms): more rows are sampled


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table, and the class and weight of each."""

    batch: Batch
    own: Hard  # with the weight of all copies, as the evidence has it
    weight: Array  # (rows,) copies counting as one

    @property
    def rows(self) -> int:
        return self.batch.rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that have a class, copies counted as one: parts of a table, and what is known of each row."""

    parts: tuple[Batch, ...]
    codes: Codes  # (rows,) classes
    weight: Array  # (rows,) copies counting as one
    mass: Array  # (rows,) of all copies together
    prints: Fingerprints  # (rows,)
    stride: int = 1  # one of how many distinct rows is here

    @property
    def rows(self) -> int:
        return len(self.codes)

    def take(self, chosen: NDArray[np.bool_]) -> Sample:
        """Some of the rows."""
        parts, start = [], 0
        for part in self.parts:
            rows = np.flatnonzero(chosen[start : start + part.rows])
            start += part.rows
            if len(rows):
                parts.append(part if len(rows) == part.rows else part.take(rows))
        return replace(
            self, parts=tuple(parts), codes=self.codes[chosen], weight=self.weight[chosen], mass=self.mass[chosen],
            prints=self.prints[chosen],
        )  # fmt: skip

    def thinned(self, rows: int) -> Sample:
        """About so many of them, if there are more."""
        stride = max(1, -(-self.rows // rows))
        if stride == 1:
            return self
        kept = mixed(self.prints, salt=self.stride) % np.uint64(stride) == 0  # thinned again, by other bits
        return replace(self.take(kept), stride=self.stride * stride) if kept.any() else self

    def folds(self, count: int, seed: int) -> NDArray[np.intp]:
        """Which fold each row is in: classes are spread evenly, and the rows' order doesn't matter. (rows,)"""
        order = np.lexsort((mixed(self.prints, salt=seed + 2), self.codes))
        found = np.empty(self.rows, dtype=np.intp)
        found[order] = np.arange(self.rows) % count
        return found

    def blanked(self, names: Sequence[str], seed: int) -> Sample:
        """With cells of these columns missing at random, few in some rows, many in others."""
        wanted = mixed(self.prints, salt=seed + 101) / 2.0**64  # (rows,)
        cells = np.stack([mixed(self.prints, salt=seed + 102 + j) / 2.0**64 for j in range(len(names))], axis=1)
        gone, parts, start = cells < wanted[:, None], [], 0
        for part in self.parts:
            rows = gone[start : start + part.rows]
            columns = {name: pc.if_else(pa.array(rows[:, j]), None, part.column(name)) for j, name in enumerate(names)}
            rest = part.only([name for name in part.names if name not in columns])
            parts.append(replace(rest, columns={**rest.columns, **columns}))
            start += part.rows
        return replace(self, parts=tuple(parts))

    def pieces(self, classes: int) -> list[Piece]:
        """Each part with the classes of its rows."""
        found, start = [], 0
        for part in self.parts:
            rows = slice(start, start := start + part.rows)
            found.append(Piece(part, Hard(self.codes[rows], classes, self.mass[rows]), self.weight[rows]))
        return found

    def mapped(self, of_piece: Callable[[Piece], tuple[NDArray[Any], ...]], classes: int) -> list[NDArray[Any]]:
        """What a function says of each piece, one after another."""
        return [np.concatenate(found) for found in zip(*local.mapped(of_piece, self.pieces(classes)), strict=True)]

    def evidence(self, model: Any) -> Evidence:
        """What these rows are of a model's evidence."""
        pieces = self.pieces(len(model.classes))
        found: Evidence = model.total([model.summarise(piece.batch, piece.own.weight) for piece in pieces])
        return found


def drawn(model: Any, table: Source, weights: Weights, terms: int) -> Sample:
    """The rows of a table, or a sample of them where there are many: drawn by their fingerprints, with all copies."""
    most = min(ROWS, max(100, CELLS // (len(model.classes) * max(terms, 1))))
    stride = max(1, -(-row_count(model, table, weights) // most))
    names = model.needs(table.without(weights.column))

    def of_batch(batch: Batch) -> tuple[Batch, Codes, Array, Fingerprints, Fingerprints]:
        weight, batch = weights.of_rows(batch), batch.only(names)
        cells = cell_prints(batch, names)
        prints = fingerprints(cells)
        codes = model.codes_of(batch)
        kept = (codes >= 0) & (weight > 0)
        if stride > 1:
            kept &= mixed(prints) % np.uint64(stride) == 0
        rows = np.flatnonzero(kept)
        return batch.take(rows), codes[rows], weight[rows], prints[rows], cells[:, rows]

    found_in = local.mapped(of_batch, table.batches(weights.beside(names)))
    parts, codes, weight, prints, cells = zip(*found_in, strict=True)
    joined = [np.concatenate(each) for each in (codes, weight, prints)]
    found = Sample(tuple(part for part in parts if part.rows), joined[0], joined[1], joined[1], joined[2], stride)
    if not found.rows:
        raise DataError("no row has a class and a weight above 0")
    texts = np.array([any(form in TEXT_FORMS for form in model.views.get(name, ())) for name in names])
    return _without_copies(found, np.concatenate(cells, axis=1), texts)


def _without_copies(sample: Sample, cells: Fingerprints, texts: NDArray[np.bool_]) -> Sample:
    """Copies as one row; rows that are the same by chance stay as they are."""
    _, first, which, count = np.unique(sample.prints, return_index=True, return_inverse=True, return_counts=True)
    if len(first) == sample.rows:
        return sample
    times = int(np.gcd.reduce(count))  # the whole table, so often
    count = count // times
    alike = sample.stride / times * _same_by_chance(sample.codes, cells, texts)[first]
    left = np.where(count - 1 > 2 * (alike + np.sqrt(alike)), 1, count)
    chosen = _earlier(which) < left[which]
    mass = np.bincount(which, sample.weight) / left
    return replace(sample, mass=np.asarray(mass[which], dtype=np.float64)).take(chosen)


def _earlier(which: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many rows before each are of the same group."""
    order = np.argsort(which, kind="stable")
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    found = np.empty(len(which), dtype=np.intp)
    found[order] = np.arange(len(which)) - np.repeat(starts, np.diff(np.append(starts, len(which))))
    return found


def _same_by_chance(codes: Codes, cells: Fingerprints, texts: NDArray[np.bool_]) -> Array:
    """How many other rows would be the same as each by chance, columns being independent given the class. (rows,)

    (n - 1) Π (the share of its class's n rows that have the same cell); no two texts are the same by chance.
    """
    n = np.bincount(codes)[codes]
    log_share = np.log(np.maximum(n - 1, 1e-9))
    for column, text in zip(cells, texts, strict=True):
        pairs = mixed(column) ^ mixed(codes.astype(np.uint64), salt=3)
        _, which, count = np.unique(pairs, return_inverse=True, return_counts=True)
        shared = np.log(count[which] / n)
        log_share += np.where(column == MISSING, shared, -np.inf) if text else shared
    return np.asarray(np.exp(log_share))


def row_count(model: Any, table: Source, weights: Weights) -> int:
    """How many rows there are, whatever they weigh."""
    if table.rows is not None:
        return table.rows
    if weights == Weights():
        learned: int = round(model.n + model.unlabelled)
        return learned
    return sum(batch.rows for batch in table.batches([str(model.target)]))
