"""Rows of a mixed table as features of a regression: numbers and categories side by side, and the words of texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Settings
from credo.blocks.capabilities import Ignored
from credo.blocks.one_hot import LABEL
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, UNLABELLED
from credo.core.membership import Hard
from credo.core.statistics import Counts
from credo.data import Batch
from credo.data.schema import Schema
from credo.models.conditional import Conditional
from credo.models.forms import Text
from credo.models.regression.features import Features, Readings
from credo.models.regression.tf_idf import TextFeatures, block_of
from credo.models.targets import class_codes
from credo.numerics.exact import Array, Exact
from credo.numerics.softmax import FeatureRows, SparseRows

FAR_MEAN = 1e4  # a mean this many standard deviations from 0 costs precision
COLUMNS_GROUP = ""  # the group of all features but those of texts; each text is its own group


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """The pass before encoding: classes, means and levels of columns, words of texts."""

    target: str
    readings: Readings
    texts: dict[str, Text]

    def __call__(self, batch: Batch, weight: Array) -> Evidence:
        codes, levels = class_codes(batch, self.target)
        lost = codes < 0
        unlabelled = Part((None,), Counts.of_rows(Hard.whole(int(lost.sum()), weight[lost])))
        if lost.any():
            kept = np.flatnonzero(~lost)
            batch, codes, weight = batch.take(kept), codes[kept], weight[kept]
        blocks = tuple(block_of(name, how) for name, how in self.texts.items())
        found = Conditional(blocks, Settings(), self.target).summarise(batch, Hard(codes, len(levels), weight), levels)
        parts, schema = {UNLABELLED: unlabelled, **found.parts}, found.schema
        if self.readings.names:
            own = self.readings.summarise(batch, weight)
            parts, schema = {**own.parts, **parts}, Schema((*own.schema, *schema))
        return Evidence(schema, parts)

    def encoding(self, evidence: Evidence) -> RowEncoding:
        texts = tuple(TextFeatures.of(name, how, evidence) for name, how in self.texts.items())
        if not self.readings.names:
            return RowEncoding(None, np.zeros(0), texts)
        rows = float(evidence[ROWS].n.value.sum())
        features = Features.of_sums(self.readings, evidence, rows, evidence[LABEL].first.value[0])
        return RowEncoding(features, _scales(self.readings, features, evidence, rows), texts)


def _scales(readings: Readings, features: Features, evidence: Evidence, rows: float) -> Array:
    """The scale of each feature: the standard deviation of a number, 1 for an indicator, the product for an
    interaction."""
    moments, encoding = evidence[LABEL], readings.encoding(evidence)
    own, absent = (np.array([f[i] for f in encoding.features], dtype=np.intp) for i in (0, 1))
    first, second = (Exact(sums.high[0, own], sums.low[0, own]) for sums in (moments.first, moments.second))
    lost = np.where(absent >= 0, moments.first.value[0, absent], 0.0)
    known = np.maximum(rows - lost, np.finfo(float).tiny)
    variance = np.maximum((second - first * (first / Exact.of(known))).value / known, 0.0)
    mains = np.array([column.levels is None for column in features.schema for _ in _mains(column)])
    large = variance > 1e-24 * np.maximum((second.value / known), np.finfo(float).tiny)
    scale = np.where(mains & large, np.sqrt(variance), 1.0)
    products = [np.outer(scale[features.mains[a]], scale[features.mains[b]]).ravel() for a, b in features.interactions]
    return np.concatenate([scale, np.ones(len(features.missing)), *products])


def _mains(column: Any) -> Any:
    return (None,) if column.levels is None else range(len(column.levels))


@dataclass(frozen=True, eq=False)
class RowEncoding:
    """z(row): the features of numbers and categories, then those of each text column's words."""

    features: Features | None  # None if all columns are texts
    scale: Array  # the standard deviation of a number, else 1
    texts: tuple[TextFeatures, ...] = ()

    @property
    def width(self) -> int:
        return len(self.scale) + sum(text.width for text in self.texts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's columns that are read."""
        own = () if self.features is None else self.features.columns
        return (*own, *(text.name for text in self.texts))

    @cached_property
    def names(self) -> list[str]:
        """The features' names."""
        own = [] if self.features is None else list(self.features.names)
        return own + [f"{text.name}: {word}" for text in self.texts for word in text.words.to_pylist()]

    @cached_property
    def places(self) -> dict[tuple[str, ...], slice | NDArray[np.intp]]:
        """The places of the features of each column, and of each pair of columns that interact."""
        found: dict[tuple[str, ...], slice | NDArray[np.intp]] = dict(
            {} if self.features is None else self.features.groups
        )
        at = len(self.scale)
        for text in self.texts:
            found[(text.name,)] = slice(at, at + text.width)
            at += text.width
        return found

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of features; each group has its own prior strength."""
        return (*((COLUMNS_GROUP,) if self.features is not None else ()), *(text.name for text in self.texts))

    @property
    def group_of(self) -> NDArray[np.intp]:
        """The group of each feature."""
        own = [len(self.scale)] if self.features is not None else []
        sizes = [*own, *(text.width for text in self.texts)]
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def scales(self) -> Array:
        """The scales of all features; those of texts are 1."""
        return np.concatenate([self.scale, np.ones(self.width - len(self.scale))])

    @cached_property
    def _uncentred(self) -> bool:
        """Whether all features are numbers, near enough to 0 to skip centring: rows needn't be copied."""
        own = self.features
        if own is None or own.missing or own.interactions or any(column.levels is not None for column in own.schema):
            return False
        return bool((np.abs(own.centre) <= FAR_MEAN * self.scale).all())

    def rows(self, batch: Batch, own: Hard | None = None) -> tuple[FeatureRows, Ignored]:
        """A batch's encoded rows, with their classes if known, and the ignored cells."""
        batch = batch.filled(self.columns)
        sparse, ignored = self._words(batch)
        if own is None:
            own = Hard(np.zeros(batch.rows, dtype=np.int32), 1, np.ones(batch.rows))
        if self.features is None:
            return FeatureRows(np.zeros((batch.rows, 0)), sparse, own.codes, own.weight), ignored
        if self._uncentred:
            x = batch.matrix(self.features.columns)
            if not np.isnan(x.sum()):
                return FeatureRows(x, sparse, own.codes, own.weight, centre=self.features.centre), ignored
        dense, unseen = self.features.read(batch)
        return FeatureRows(dense, sparse, own.codes, own.weight), ignored | unseen

    def _words(self, batch: Batch) -> tuple[SparseRows | None, Ignored]:
        sparse, ignored = None, dict[tuple[str, str], int]()
        for text in self.texts:
            own, unseen = text.read(batch)
            sparse = own if sparse is None else sparse.beside(own)
            ignored |= unseen
        return sparse, ignored
