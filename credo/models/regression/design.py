"""Sums over the rows of a regression: they add, and the moments of its features follow from them.

What is kept are moments about 0 of cells as they are (numbers, indicators, marks of missing cells, products of these,
and the target), since these don't depend on other rows. Features are about centres, which do: each is a sum of a few
such cells, z = u - c + c·e with u = 0 and e = 1 where a cell is missing, and so their moments are sums of moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from credo.blocks.one_hot import FEATURES, LABEL, missing_feature, number_feature, one_hot_rows
from credo.core.evidence import Evidence, Part
from credo.core.labels import UNLABELLED, Label
from credo.core.membership import Hard
from credo.core.moments import CrossMoments
from credo.core.statistics import Counts, Positions
from credo.data import Batch
from credo.data.cells import LARGEST
from credo.errors import DataError
from credo.models.regression.features import Features, Readings, features_of
from credo.numerics.exact import Array, Exact

TARGET = json.dumps(["target"])  # no column's feature is called so
ONE = ""  # the key of what is 1 in every row
LOST = 2.0**10 * float(np.finfo(np.float64).tiny)  # sums of squares below it have lost digits
SMALL = 1e-28  # of its mean square: a variance below it is rounding, and the column constant
INDICATOR = np.sqrt(0.5)  # the scale of an indicator: two levels then differ as much as numbers two deviations apart

Cells = Mapping[str, float]  # a feature as a sum of cells, each times a number


def product_key(a: str, b: str) -> str:
    """The cell that is the product of two others."""
    return a if b == ONE else b if a == ONE else json.dumps(["product", a, b])


@dataclass(frozen=True)
class Design:
    """Which columns explain which target."""

    readings: Readings
    target: str

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        """The moments of a batch's rows; those without a target are counted, and left out."""
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
        return self.readings.beside(batch, member, [*keys, TARGET], {**beside, LABEL: part})

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
        """Whether there are sums for the target, each number and each level, as often as the level was counted."""
        place = {key: i for i, key in enumerate(evidence.schema[FEATURES].values)}
        numbers = (name for name in self.readings.names if name not in self.readings.categories)
        if not {TARGET, *map(number_feature, numbers)} <= place.keys():
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
        """The moments of the features, about their centres, and of the target, as it is. (1, width + 1)"""
        n, first, second = (part[0] for part in evidence[LABEL].sums)
        place = {key: i + 1 for i, key in enumerate(evidence.schema[FEATURES].values)}
        terms = [*cells_of(features), {TARGET: 1.0}]
        known = place | {ONE: 0}  # cells of which no batch had any are 0 in all rows
        return _transformed(
            _bordered(n, first, second), [{known[k]: v for k, v in term.items() if k in known} for term in terms]
        )


def with_products(keys: list[str], cells: Array, readings: Readings, batch: Batch) -> tuple[list[str], Array]:
    """With a cell for each product of a cell of one column with one of the other, of columns that interact."""
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
            {key: 1.0, ONE: -c} | ({missing_feature(column.name): c} if marked else {})
            for key, c in zip(features_of(column), centre, strict=False)
        ]
    marks: list[Cells] = [{missing_feature(name): 1.0, ONE: -share} for name, share in features.missing.items()]
    products = [_product(u, v) for a, b in features.interactions for u in mains[a] for v in mains[b]]
    return [*(cells for own in mains.values() for cells in own), *marks, *products]


def _product(a: Cells, b: Cells) -> Cells:
    return {product_key(i, j): x * y for i, x in a.items() for j, y in b.items()}


def _bordered(n: Exact, first: Exact, second: Exact) -> Exact:
    """Σ(1, x)(1, x)′"""
    whole = Exact.zeros((len(first.high) + 1,) * 2)
    for part in ("high", "low"):
        sums = getattr(whole, part)
        sums[0, 0], sums[1:, 1:] = getattr(n, part), getattr(second, part)
        sums[0, 1:] = sums[1:, 0] = getattr(first, part)
    return whole


def _transformed(sums: Exact, terms: Sequence[Mapping[int, float]]) -> CrossMoments:
    """The moments of sums of cells: M Σ(1, x)(1, x)′ M′, M having few entries in a row. In pairs: it cancels."""
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
    """Refuse numbers whose squares underflow, as those beyond 1e150 are refused."""
    scatter = np.einsum("ii->i", sums.scatter[0])
    first: dict[str, int] = {}
    for i, (name, *others) in enumerate(features.sources):
        if not others:
            first.setdefault(name, i)
    numbers = {column.name: first[column.name] for column in features.schema if column.levels is None}
    centres = {name: float(features.centre[i]) for name, i in numbers.items()}
    centres[target], numbers[target] = float(sums.mean[0, -1]), len(scatter) - 1
    for name, i in numbers.items():
        lost = 0 < scatter[i] < LOST if scatter[i] else 0 < abs(centres[name]) < 1 / LARGEST
        if lost:
            raise DataError(
                f"the numbers of column {name!r} are about {centres[name]:.3g}, so small that their squares can't be "
                "told from 0: give them in another unit"
            )


def scales_of(features: Features, sums: CrossMoments) -> tuple[Array, Array]:
    """What each feature is divided by, so that weights are comparable: a number's standard deviation, the same for
    every indicator, a product for a product; and which features vary at all."""
    n, squares = float(sums.n.value[0]), np.einsum("ii->i", sums.second.value[0])[:-1]
    scatter = np.einsum("ii->i", sums.scatter[0])[:-1]
    mains: dict[str, Array] = {}
    varying, start = np.zeros(features.width, dtype=bool), 0
    for column in features.schema:
        size = 1 if column.levels is None else len(column.levels)
        own = slice(start, start + size)
        known = n * (1 - features.missing.get(column.name, 0.0))
        varying[own] = scatter[own] > SMALL * known * features.centre[own] ** 2
        if column.levels is None:
            spread = float(np.sqrt(squares[start] / known)) if known > 0 else 0.0
            mains[column.name] = np.array([spread if varying[start] else 1.0])
        else:
            mains[column.name] = np.full(size, INDICATOR)
        start += size
    marks = np.full(len(features.missing), INDICATOR)
    varying[start : start + len(marks)] = scatter[start : start + len(marks)] > 0
    products = [np.outer(mains[a], mains[b]).ravel() for a, b in features.interactions]
    scales = np.concatenate([*mains.values(), marks, *products])
    rest = slice(start + len(marks), None)
    varying[rest] = scatter[rest] > SMALL * n * scales[rest] ** 2
    return scales, varying
