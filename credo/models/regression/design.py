"""Additive sums over the rows of a regression, from which the moments of its features follow.

The stored sums are moments about 0 of the raw cells (numbers, indicators, marks of missing cells, products of these,
and the target), which don't depend on other rows. Features are centred, and centres do depend on other rows: each
feature is a sum of a few such cells, z = u - c + c·e with u = 0 and e = 1 where a cell is missing, and so their moments
are sums of moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from credo.blocks.one_hot import FEATURES, LABEL, missing_feature, number_feature, one_hot_rows
from credo.core.evidence import Evidence, Part
from credo.core.labels import UNLABELLED, Label
from credo.core.membership import Hard
from credo.core.moments import CrossMoments
from credo.core.statistics import Counts, Positions
from credo.data import Batch
from credo.data.cells import LARGEST_NUMBER
from credo.errors import DataError
from credo.models.regression.features import Features, Readings, features_of
from credo.numerics.exact import Array, Exact

TARGET_KEY = json.dumps(["target"])  # not the key of any column's feature
CONSTANT_KEY = ""  # the key of the constant 1
SMALLEST_SQUARES = 2.0**10 * float(np.finfo(np.float64).tiny)  # smaller sums of squares have lost digits to underflow
CONSTANT_VARIANCE = 1e-28  # relative to the mean square: a column with less variance is constant
INDICATOR_SCALE = np.sqrt(0.5)  # levels then differ as much as numbers two deviations apart

Cells = Mapping[str, float]  # a feature as a linear combination of cells


def product_key(a: str, b: str) -> str:
    """The key of the product of two cells."""
    return a if b == CONSTANT_KEY else b if a == CONSTANT_KEY else json.dumps(["product", a, b])


@dataclass(frozen=True)
class Design:
    """The columns and the target of a regression."""

    readings: Readings
    target: str

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        """The moments of a batch's rows; rows without a target are only counted."""
        y = batch.numbers(self.target)
        lost = np.isnan(y)
        unlabelled = Part((None,), Counts.of_rows(Hard.whole(int(lost.sum()), weight[lost])))
        if lost.any():
            kept = np.flatnonzero(~lost)
            batch, y, weight = batch.take(kept), y[kept], weight[kept]
        return self.moments(batch, y, weight, {UNLABELLED: unlabelled})

    def moments(self, batch: Batch, y: Array, weight: Array, beside: Mapping[Label, Part]) -> Evidence:
        batch, member = self.readings.checked(batch), Hard.whole(batch.rows, weight)
        lanes = self._lanes(batch, y)
        moments = None if lanes is None else CrossMoments.of_lanes(lanes, member)
        keys = [*map(number_feature, self.readings.names)]
        if moments is None:
            keys, cells = one_hot_rows(batch, self.readings.names, self.readings.categories)
            keys, cells = with_products(keys, cells, self.readings, batch)
            moments = CrossMoments.of(np.column_stack([cells, y]), member)
        part = Part((None, FEATURES, FEATURES), moments)
        return self.readings.beside(batch, member, [*keys, TARGET_KEY], {**beside, LABEL: part})

    def _lanes(self, batch: Batch, y: Array) -> Array | None:
        """(1, x, y) of each row, column by column in memory (columns, rows), if all columns are numbers."""
        names = self.readings.names
        if self.readings.categories or self.readings.interactions or not names or not batch.rows:
            return None
        found = np.empty((len(names) + 2, batch.rows))
        found[0], found[-1] = 1.0, y
        batch.lanes(names, found[1:-1])
        return found

    def complete(self, evidence: Evidence) -> bool:
        """Whether the evidence has sums for the target, each number and each level, consistent with the levels'
        counts."""
        place = {key: i for i, key in enumerate(evidence.schema[FEATURES].values)}
        numbers = (name for name in self.readings.names if name not in self.readings.categories)
        if not {TARGET_KEY, *map(number_feature, numbers)} <= place.keys():
            return False
        first = evidence[LABEL].first.value[0]
        for name in self.readings.categories:
            keys, counts = features_of(evidence.schema[name]), evidence[Label("column", name)].n.value[0]
            if not set(keys) <= place.keys() or not np.allclose(first[[place[key] for key in keys]], counts):
                return False
        return True

    def features(self, evidence: Evidence) -> Features:
        moments = evidence[LABEL]
        return Features.of_sums(self.readings, evidence, float(moments.n.value[0]), moments.first.value[0])

    def sums(self, evidence: Evidence, features: Features) -> CrossMoments:
        """The moments of the centred features and of the uncentred target. (1, width + 1)"""
        n, first, second = (part[0] for part in evidence[LABEL].sums)
        place = {key: i + 1 for i, key in enumerate(evidence.schema[FEATURES].values)}
        terms = [*cells_of(features), {TARGET_KEY: 1.0}]
        known = place | {CONSTANT_KEY: 0}  # cells that no batch had are 0 in all rows
        return _transformed(
            _bordered(n, first, second), [{known[k]: v for k, v in term.items() if k in known} for term in terms]
        )


def with_products(keys: list[str], cells: Array, readings: Readings, batch: Batch) -> tuple[list[str], Array]:
    """The cells, and the products of cells of columns that interact."""
    if not readings.interactions:
        return keys, cells
    owner = [json.loads(key)[1] for key in keys]
    own = {name: [j for j, whose in enumerate(owner) if whose == name] for name in readings.names}
    parts, found = [cells], [*keys]
    for a, b in readings.interactions:
        found += [product_key(keys[i], keys[j]) for i in own[a] for j in own[b]]
        products = cells[:, own[a], None] * cells[:, None, own[b]]
        parts.append(products.reshape(batch.rows, products.shape[1] * products.shape[2]))
    return found, np.hstack(parts)


def cells_of(features: Features) -> list[Cells]:
    """Each feature as a sum of cells: z = u - c + c·e; a mark is e - share; products are multiplied out."""
    mains: dict[str, list[Cells]] = {}
    centre = iter(features.centre.tolist())
    for column in features.schema:
        marked = column.name in features.missing
        mains[column.name] = [
            {key: 1.0, CONSTANT_KEY: -c} | ({missing_feature(column.name): c} if marked else {})
            for key, c in zip(features_of(column), centre, strict=False)
        ]
    missing = features.missing.items()
    marks: list[Cells] = [{missing_feature(name): 1.0, CONSTANT_KEY: -share} for name, share in missing]
    products = [_product(u, v) for a, b in features.interactions for u in mains[a] for v in mains[b]]
    return [*(cells for own in mains.values() for cells in own), *marks, *products]


def _product(a: Cells, b: Cells) -> Cells:
    found: dict[str, float] = {}
    for (i, x), (j, y) in product(a.items(), b.items()):
        key = product_key(i, j)
        found[key] = found.get(key, 0.0) + x * y  # in a square, a cell meets the constant twice
    return found


def _bordered(n: Exact, first: Exact, second: Exact) -> Exact:
    """Σ(1, x)(1, x)′"""
    whole = Exact.zeros((len(first.high) + 1,) * 2)
    for part in ("high", "low"):
        sums = getattr(whole, part)
        sums[0, 0], sums[1:, 1:] = getattr(n, part), getattr(second, part)
        sums[0, 1:] = sums[1:, 0] = getattr(first, part)
    return whole


def _transformed(sums: Exact, terms: Sequence[Mapping[int, float]]) -> CrossMoments:
    """The moments of sums of cells: M Σ(1, x)(1, x)′ M′, M being sparse. Sums are kept in pairs of floats because terms
    cancel."""
    most = max(len(term) for term in terms)
    places, numbers = np.zeros((most, len(terms)), dtype=np.intp), np.zeros((most, len(terms)))
    for i, term in enumerate(terms):
        places[: len(term), i], numbers[: len(term), i] = list(term), list(term.values())
    half = _weighted(sums, places, numbers[:, :, None], 0)
    whole = _weighted(half, places, numbers, 1)
    second = Exact(*(np.tril(part) + np.tril(part, -1).T for part in (whole.high, whole.low)))
    return CrossMoments(sums[:1, 0], half[:, 0][None], second[None])


def _weighted(sums: Exact, places: Positions, numbers: Array, axis: int) -> Exact:
    found: Exact = sums.take(axis, places[0]) * numbers[0]
    for own, times in zip(places[1:], numbers[1:], strict=True):
        found = found + sums.take(axis, own) * times
    return found


def require_squares(features: Features, sums: CrossMoments, target: str) -> None:
    """Raise an error for numbers whose squares underflow."""
    scatter = np.einsum("ii->i", sums.scatter[0])
    first: dict[str, int] = {}
    for i, (name, *others) in enumerate(features.sources):
        if not others:
            first.setdefault(name, i)
    numbers = {column.name: first[column.name] for column in features.schema if column.levels is None}
    centres = {name: float(features.centre[i]) for name, i in numbers.items()}
    centres[target], numbers[target] = float(sums.mean[0, -1]), len(scatter) - 1
    for name, i in numbers.items():
        lost = 0 < scatter[i] < SMALLEST_SQUARES if scatter[i] else 0 < abs(centres[name]) < 1 / LARGEST_NUMBER
        if lost:
            raise DataError(
                f"the numbers of column {name!r} are about {centres[name]:.3g}, so small that their squares can't be "
                "told from 0: give them in another unit"
            )


def scales_of(features: Features, sums: CrossMoments) -> tuple[Array, Array]:
    """The scale of each feature, which makes weights comparable (a number's standard deviation, one constant for
    indicators, the product of both for an interaction), and which features vary."""
    n, squares = float(sums.n.value[0]), np.einsum("ii->i", sums.second.value[0])[:-1]
    scatter = np.einsum("ii->i", sums.scatter[0])[:-1]
    mains: dict[str, Array] = {}
    varying, start = np.zeros(features.width, dtype=bool), 0
    for column in features.schema:
        size = 1 if column.levels is None else len(column.levels)
        own = slice(start, start + size)
        known = n * (1 - features.missing.get(column.name, 0.0))
        varying[own] = scatter[own] > CONSTANT_VARIANCE * known * features.centre[own] ** 2
        if column.levels is None:
            spread = float(np.sqrt(squares[start] / known)) if known > 0 else 0.0
            mains[column.name] = np.array([spread if varying[start] else 1.0])
        else:
            mains[column.name] = np.full(size, INDICATOR_SCALE)
        start += size
    marks = np.full(len(features.missing), INDICATOR_SCALE)
    varying[start : start + len(marks)] = scatter[start : start + len(marks)] > 0
    products = [np.outer(mains[a], mains[b]).ravel() for a, b in features.interactions]
    scales = np.concatenate([*mains.values(), marks, *products])
    rest = slice(start + len(marks), None)
    varying[rest] = scatter[rest] > CONSTANT_VARIANCE * n * scales[rest] ** 2
    return scales, varying
