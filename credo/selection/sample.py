"""The rows for tuning: all rows or a sample; copies of a row are one row with their total weight.

Copies are in one fold and held out together (see `observations`); so are rows of one group, if groups are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo import engines
from credo.blocks.capabilities import Scored
from credo.blocks.scoring import Cells, Scorer, whole_numbers
from credo.core.evidence import Evidence
from credo.core.learning import Weights
from credo.core.membership import Codes, Hard
from credo.core.statistics import WEIGHT_ROUNDING
from credo.data import Batch, Source
from credo.data.arrow_arrays import number_array, scalar
from credo.data.fingerprints import MISSING_PRINT, Fingerprints, apart, mixed
from credo.errors import DataError
from credo.models.forms import TEXT_FORMS
from credo.notices import tell
from credo.numerics.exact import Array
from credo.selection.design import LinearDesign
from credo.selection.jobs import Draw, Piece
from credo.selection.observations import Observations
from credo.selection.tree_terms import TreeRows

if TYPE_CHECKING:
    import pyarrow as pa

SHARED_WORDS_ROWS = 2000  # rows of a part, up to which its texts are split into words once for all folds
SAMPLE_ROWS, SAMPLE_SCORES = 20_000, 4_000_000  # rows of a sample, and scores (rows x classes x terms), at most
UNSTRATIFIED_CLASSES = 20  # with this many classes or more, folds aren't stratified
REPEATED_TEXTS = 0.05  # the share of rows that share their text with others, above which a notice is issued
DEPENDENCE_ROWS = 10_000  # rows of a sample at most, if pairs of columns are scored: that takes as long as all else


@dataclass(frozen=True, eq=False)
class Encoded:
    """The cells of a sample, encoded once for its scorers."""

    scorers: tuple[tuple[str, Scorer], ...]  # of the whole evidence, each with its form
    arrays: tuple[Cells, ...]  # (rows, ...)
    which: tuple[int, ...]  # the array that each scorer reads
    missing: NDArray[np.bool_]  # (rows, columns)
    names: Mapping[str, int]  # the position of each column

    @property
    def cells(self) -> tuple[Cells, ...]:
        """The cells that each scorer reads."""
        return tuple(self.arrays[i] for i in self.which)

    def take(self, rows: NDArray[np.bool_]) -> Encoded:
        return replace(self, arrays=tuple(each[rows] for each in self.arrays), missing=self.missing[rows])

    def blanked(self, names: Sequence[str], gone: NDArray[np.bool_]) -> Encoded:
        """The cells with those of some columns missing, too. gone: (rows, names)"""
        places, arrays = {name: j for j, name in enumerate(names)}, []
        for i, own in enumerate(self.arrays):
            _, scorer = self.scorers[self.which.index(i)]
            pairs = [(j, places[name]) for j, name in enumerate(scorer.names) if name in places]
            inside, which = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
            arrays.append(scorer.blanked(own, inside, gone[:, which]))
        missing = self.missing.copy()
        missing[:, [self.names[name] for name in names]] |= gone
        return replace(self, arrays=tuple(arrays), missing=missing)


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows, copies counted as one: parts of a table, and the class, weight and fingerprint of each row."""

    source: tuple[Batch, ...]
    codes: Codes  # (rows,) classes
    weight: Array  # (rows,) copies count as one
    mass: Array  # (rows,) the weight of all copies
    prints: Fingerprints  # (rows,)
    stride: int = 1  # one in `stride` distinct rows was drawn
    groups: Fingerprints | None = None  # (rows,) rows of a group are held out together
    chosen: NDArray[np.intp] | None = None  # positions of the rows in the source, if not all
    encoded: Encoded | None = None
    design: LinearDesign | None = None  # the features of logistic regression
    trees: TreeRows | None = None  # the cells that trees read

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def places(self) -> NDArray[np.intp]:
        """The positions of the rows in the source."""
        return np.arange(self.rows) if self.chosen is None else self.chosen

    @cached_property
    def parts(self) -> tuple[Batch, ...]:
        """The batches of the chosen rows."""
        if self.chosen is None:
            return self.source
        ends = np.cumsum([part.rows for part in self.source])
        found = []
        for part, end in zip(self.source, ends, strict=True):
            first, last = np.searchsorted(self.chosen, [end - part.rows, end])
            if last > first:
                rows = self.chosen[first:last] - (end - part.rows)
                taken = part.part if part.rows <= SHARED_WORDS_ROWS else part.take
                found.append(part if len(rows) == part.rows else taken(rows))
        return tuple(found)

    def take(self, chosen: NDArray[np.bool_]) -> Sample:
        """The chosen rows."""
        places = np.flatnonzero(chosen) if self.chosen is None else self.chosen[chosen]
        return replace(
            self, codes=self.codes[chosen], weight=self.weight[chosen], mass=self.mass[chosen],
            prints=self.prints[chosen], chosen=places, encoded=self.encoded and self.encoded.take(chosen),
            groups=None if self.groups is None else self.groups[chosen],
            design=self.design and self.design.take(chosen), trees=self.trees and self.trees.take(chosen),
        )  # fmt: skip

    def member(self, classes: int) -> Hard:
        """The class of each row, weighted by all copies, as in the evidence."""
        return Hard(self.codes, classes, self.mass)

    def thinned(self, rows: int) -> Sample:
        """A sample of about this many rows, if there are more."""
        stride = max(1, -(-self.rows // rows))
        if stride == 1:
            return self
        bits = apart(self.prints) if self.groups is None else self.groups  # groups stay whole
        kept = mixed(bits, salt=self.stride) % np.uint64(stride) == 0  # thinned again, by other bits
        return replace(self.take(kept), stride=self.stride * stride) if kept.any() else self

    def folds(self, count: int, seed: int) -> NDArray[np.intp]:
        """The fold of each row, whatever the order of rows. (rows,)

        Folds are stratified by few classes. Training rows then have the class shares of held-out rows, which lowers the
        log-loss by up to (K - 1)/n for K classes and n rows; so folds of many classes aren't stratified. Groups are
        assigned by size, the largest first, each to the fold with the fewest rows.
        """
        if self.groups is not None:
            return _folds_of_groups(self.groups, count, seed)
        bits = mixed(self.prints, salt=seed + 2)
        many = len(np.unique(self.codes)) >= UNSTRATIFIED_CLASSES
        order = np.lexsort((self.codes, bits) if many else (bits, self.codes))
        found = np.empty(self.rows, dtype=np.intp)
        found[order] = np.arange(self.rows) % count
        return found

    def blanked(self, names: Sequence[str], seed: int) -> Sample:
        """The sample with cells of these columns missing at random, at a rate that differs between rows."""
        prints = apart(self.prints)
        wanted = mixed(prints, salt=seed + 101) / 2.0**64  # (rows,)
        cells = np.stack([mixed(prints, salt=seed + 102 + j) / 2.0**64 for j in range(len(names))], axis=1)
        gone, parts, start = cells < wanted[:, None], list[Batch](), 0
        design = None if self.design is None else self.design.blanked(names, gone)
        trees = None if self.trees is None else self.trees.blanked(names, gone)
        if self.encoded is not None:
            return replace(self, encoded=self.encoded.blanked(names, gone), design=design, trees=trees)
        for part in self.parts:
            rows = gone[start : start + part.rows]
            pairs = zip(names, map(number_array, rows.T), strict=True)
            columns = {name: _without(part.column(name), absent) for name, absent in pairs}
            rest = part.only([name for name in part.names if name not in columns])
            parts.append(replace(rest, columns={**rest.columns, **columns}))
            start += part.rows
        return replace(self, source=tuple(parts), chosen=None, design=design, trees=trees)

    def pieces(self, classes: int) -> list[Piece]:
        """The parts with the classes of their rows."""
        found, start = [], 0
        for part in self.parts:
            rows = slice(start, start := start + part.rows)
            found.append(Piece(part, Hard(self.codes[rows], classes, self.mass[rows]), self.weight[rows]))
        return found

    def mapped(self, job: Callable[[Piece], tuple[NDArray[Any], ...]], classes: int) -> list[NDArray[Any]]:
        """The results of a job for all pieces, concatenated."""
        found = engines.map(job, self.pieces(classes))
        return [np.concatenate(each) for each in zip(*found, strict=True)]

    def evidence(self, model: Any) -> Evidence:
        """The evidence of these rows for a model."""
        pieces = self.pieces(len(model.classes))
        found: Evidence = model.total([model.summarise(piece.batch, piece.own.weight) for piece in pieces])
        return found


def _folds_of_groups(groups: Fingerprints, count: int, seed: int) -> NDArray[np.intp]:
    """The fold of each row's group. (rows,)"""
    each, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    found, rows = np.empty(len(each), dtype=np.intp), np.zeros(count)
    for place in np.lexsort((mixed(each, salt=seed + 2), -sizes)):
        found[place] = rows.argmin()
        rows[found[place]] += sizes[place]
    return np.asarray(found[which])


def drawn(model: Any, table: Source, weights: Weights, terms: int, groups: str | None = None) -> Sample:
    """The rows of a table, or a sample of many rows, drawn by fingerprint with all copies. groups: a column."""
    most = min(
        DEPENDENCE_ROWS if model.counts_cells else SAMPLE_ROWS,
        max(100, SAMPLE_SCORES // (len(model.classes) * max(terms, 1))),
    )
    stride = max(1, -(-row_count(model, table, weights) // most))
    names = model.needs(table.without(weights.column))

    job = Draw(model, tuple(names), weights.of_a_row, stride, max(1.0, model.n / most), groups)
    read = names if groups is None else [*names, groups]
    found_in = engines.map(job, weights.partitions(table, read))
    parts, *others, cells = zip(*found_in, strict=True)
    codes, weight, times, prints, own_groups = (np.concatenate(each) for each in others)
    found = Sample(tuple(part for part in parts if part.rows), codes, weight, weight, prints, stride)
    found = found if groups is None else replace(found, groups=own_groups)
    if not found.rows:
        raise DataError("no row has a class and a weight above 0")
    texts = np.array([any(form in TEXT_FORMS for form in model.views.get(name, ())) for name in names])
    features = np.array([name != model.target for name in names])
    own = np.concatenate(cells, axis=1)[features]
    chosen, mass, weight = Observations.of(weight, times, prints, codes, own, texts[features], stride)
    if groups is None:
        known = [name for name, each in zip(names, features, strict=True) if each]
        repeated = {known[j]: own[j, chosen] for j in np.flatnonzero(texts[features])}
        _tell_of_repeated_texts(repeated, codes[chosen], stride)
    if stride > 1 and not whole_numbers([mass]):  # it must not exceed the sums of rows in the evidence
        mass = mass * (1 - WEIGHT_ROUNDING)
    return replace(found if chosen.all() else found.take(chosen), mass=mass, weight=weight)


def _tell_of_repeated_texts(cells: Mapping[str, Fingerprints], codes: Codes, stride: int) -> None:
    """A notice of texts in rows of one class that differ otherwise: if these are copies, they predict each other."""
    for name, prints in cells.items():
        with_class = mixed(prints) ^ codes.astype(np.uint64)
        count = np.unique(with_class[prints != MISSING_PRINT], return_counts=True)[1]
        repeated, rows = int(count[count > 1].sum()), len(prints)
        if repeated * stride > REPEATED_TEXTS * rows:  # a sample has one in `stride` of a text's rows
            tell(
                f"column {name!r}: {repeated:,} of {rows:,} rows share their text and class with rows that differ in "
                "other cells. If these are copies, the scores are too optimistic; "
                f"groups=data[{name!r}] holds them out together"
            )


def encoded(model: Any, sample: Sample) -> Sample:
    """The sample with encoded cells, if all blocks of the model have scorers and weights are whole numbers."""
    if model.refits or not whole_numbers([sample.mass, model.class_weights]):
        return sample
    scorers, readers, which = list[tuple[str, Scorer]](), list[Scorer](), list[int]()
    for form, likelihood in model.terms_of(model.views, model.settings).likelihoods:
        scored = Scored.of(likelihood)
        scorer = None if scored is None else scored.scorer()
        if scorer is None:
            return sample
        scorers.append((form, scorer))
        which.append(next((i for i, each in enumerate(readers) if scorer.reads_like(each)), len(readers)))
        readers += [scorer] if which[-1] == len(readers) else []
    batches = [part.filled(model.views) for part in sample.parts]
    names = {name: j for j, name in enumerate(model.views)}
    missing = np.concatenate([[batch.column(name).is_null() for name in names] for batch in batches], axis=1).T
    arrays = tuple(np.concatenate([scorer.read(batch) for batch in batches]) for scorer in readers)
    return replace(sample, encoded=Encoded(tuple(scorers), arrays, tuple(which), missing, names))


def _without(array: Any, absent: object) -> pa.Array:
    return pc.if_else(absent, scalar(None, array.type), array)


def row_count(model: Any, table: Source, weights: Weights) -> int:
    """The number of rows of the table, whatever their weights."""
    if table.rows is not None:
        return table.rows
    if weights.column is None and weights.values is None and weights.every == 1:
        learned: int = round(model.n + model.unlabelled)
        return learned
    return table.count(str(model.target))
