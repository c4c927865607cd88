"""The features of a row of a mixed table.

A number is centred; a category has an indicator for each of its levels, about its share. Where a cell is missing, or
holds an unseen value, these are 0: the cell counts as the average one. A column with missing cells also has an
indicator "is missing", so that missing cells may differ from the average.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from credo.blocks.block import UNSEEN_VALUES
from credo.blocks.capabilities import Ignored
from credo.blocks.one_hot import (
    FEATURES,
    LABEL,
    OneHotEncoding,
    feature_column,
    missing_feature,
    number_feature,
    one_hot_rows,
    value_feature,
)
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, Label
from credo.core.learning import Weight, gather
from credo.core.membership import Hard
from credo.core.moments import Moments
from credo.core.statistics import Counts, Positions
from credo.data import Batch, Source
from credo.data.schema import Column, Schema
from credo.errors import SchemaError, SizeError, suggest
from credo.models.forms import TEXT_FORMS, Views
from credo.numerics.exact import Array

READ_AS_NUMBERS, READ_AS_CATEGORIES = ("gaussian", "count", "date"), ("category", "word")
MOST_FEATURES = 5_000  # the statistics grow with the square of their number
PRODUCT_SIGN, SQUARE_SIGN = " × ", "²"
EVERY_PAIR = ("all", "squares", "quadratic")
Interactions = str | Collection[tuple[str, str]]  # "all", "squares" or "quadratic" (both); or pairs of columns


@dataclass(frozen=True)
class Readings:
    """Which columns are read, which of them as categories, and which pairs of columns interact; a number with itself is
    its square."""

    names: tuple[str, ...]
    categories: tuple[str, ...] = ()
    interactions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, views: Views, interactions: Interactions = ()) -> Readings:
        """From the columns' settled forms (models.forms), without texts."""
        first = {name: forms[0] for name, forms in views.items() if forms[0] not in TEXT_FORMS}
        for name, form in first.items():
            if form not in (*READ_AS_NUMBERS, *READ_AS_CATEGORIES):
                raise SchemaError(
                    f"kinds has {form!r} for column {name!r}: a regression reads columns as numbers or categories"
                )
        names = tuple(first)
        categories = tuple(name for name, form in first.items() if form in READ_AS_CATEGORIES)
        return cls(names, categories, pairs_of(interactions, names, categories))

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        """The sum of each feature, from which centres and shares of missing cells follow."""
        batch, member = self.checked(batch), Hard.whole(batch.rows, weight)
        features, z = one_hot_rows(batch, self.names, self.categories)
        moments = Part((None, FEATURES), Moments.of(z, member))
        return self.beside(batch, member, features, {ROWS: Part((None,), Counts.of_rows(member)), LABEL: moments})

    def checked(self, batch: Batch) -> Batch:
        """The batch with all columns; an error if there are too many features, before any is built."""
        batch = batch.filled(self.names)
        sizes = {name: len(batch.categories(name)[1]) if name in self.categories else 1 for name in self.names}
        width = sum(sizes.values()) + sum(sizes[a] * sizes[b] for a, b in self.interactions)
        check_width(width, sizes)
        return batch

    def beside(self, batch: Batch, member: Hard, features: Sequence[str], parts: Mapping[Label, Part]) -> Evidence:
        """Evidence with these parts and the counts of each category's values, from which its levels follow."""
        columns, counts = [feature_column(features)], dict[Label, Part]()
        for name in self.names:
            if name in self.categories:
                codes, levels = batch.categories(name)
                columns.append(Column(name, "category", levels))
                counts[Label("column", name)] = Part((None, name), Counts.of(codes, len(levels), member))
        return Evidence(Schema(tuple(columns)), {**parts, **counts})

    def encoding(self, evidence: Evidence) -> OneHotEncoding:
        """The features of the evidence, by column."""
        values = {name: evidence.schema[name].levels for name in self.names if name in self.categories}
        place = {feature: i for i, feature in enumerate(evidence.schema[FEATURES].values)}
        return OneHotEncoding(self.names, values, place)


def pairs_of(
    interactions: Interactions, names: Sequence[str], categories: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that interact, each in the columns' order.

    >>> pairs_of("quadratic", ("age", "sex", "size"), ("sex",))
    (('age', 'age'), ('size', 'size'), ('age', 'sex'), ('age', 'size'), ('sex', 'size'))
    """
    if isinstance(interactions, str):
        if interactions not in EVERY_PAIR:
            raise SchemaError(
                "interactions must be pairs of columns, 'all' pairs of two columns, 'squares' of numbers, or "
                f"'quadratic' for both, but is {interactions!r:.60}"
            )
        squares = [(name, name) for name in names if name not in categories] if interactions != "all" else []
        return (*squares, *(combinations(names, 2) if interactions != "squares" else ()))
    place, found = {name: i for i, name in enumerate(names)}, dict[tuple[str, str], None]()
    for pair in interactions:
        if isinstance(pair, str) or len(pair) != 2:
            raise SchemaError(f"an interaction is a pair of columns, as ('age', 'sex'), but one is {pair!r:.60}")
        for name in pair:
            if name not in place:
                raise SchemaError(f"interactions names a column {name!r} that isn't read; {suggest(name, names)}")
        a, b = sorted(pair, key=place.__getitem__)
        if a == b and a in categories:
            raise SchemaError(f"interactions has the square of {a!r}, which is a category: only numbers have squares")
        found[a, b] = None
    return tuple(found)


def product_name(names: Sequence[str]) -> str:
    """The name of a column, of a square or of a product of two columns.

    >>> product_name(["age"]), product_name(["age", "sex"]), product_name(["age", "age"])
    ('age', 'age × sex', 'age²')
    """
    return names[0] + SQUARE_SIGN if len(names) > 1 and names[0] == names[1] else PRODUCT_SIGN.join(names)


@dataclass(frozen=True, eq=False)
class Features:
    """z(row): numbers about their means, indicators of levels about their shares, 0 where a cell is missing; then the
    indicators of missing cells, about their shares; then products of the features of two columns, and squares of
    numbers. There is no intercept here.

    >>> from credo.data import source
    >>> table = source({"age": [20.0, 40.0, None], "sex": ["f", "m", "m"]})
    >>> features = Features.of(table, Readings(("age", "sex"), ("sex",), (("age", "sex"),)))
    >>> features.names
    ('age', 'sex=f', 'sex=m', 'age is missing', 'age × sex=f', 'age × sex=m')
    >>> (batch,) = table.batches(table.names)
    >>> features.encode(batch).round(2).tolist()[0]
    [-10.0, 0.67, -0.67, -0.33, -6.67, 6.67]
    """

    schema: Schema  # the columns, with the levels of those that are categories
    centre: Array  # means of the numbers, and shares of the levels, among the known cells
    missing: Mapping[str, float]  # shares of missing cells, of columns that have any
    interactions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, table: Source, readings: Readings, weight: Weight = None) -> Features:
        """The features of a table's columns, from one pass over it."""
        present = [name for name in readings.names if name in table.names]
        found = gather(readings.summarise, table, present, weight, Evidence.total).ordered()
        return cls.of_sums(readings, found, float(found[ROWS].n.value[0, 0]), found[LABEL].first.value[0])

    @classmethod
    def of_sums(cls, readings: Readings, evidence: Evidence, rows: float, sums: Array) -> Features:
        """From the weight of the rows and the sums of the evidence's features."""
        encoding = readings.encoding(evidence)
        own, absent = (np.array([f[i] for f in encoding.features], dtype=np.intp) for i in (0, 1))
        lost = np.where(absent >= 0, sums[absent], 0.0) if len(sums) else np.zeros(len(own))
        known = np.where(rows > lost, rows - lost, 1.0)
        marked = {name: encoding.place.get(missing_feature(name), -1) for name in readings.names}
        missing = {name: float(sums[i]) / rows for name, i in marked.items() if i >= 0}
        columns = (
            Column(name, "category", encoding.values[name]) if name in readings.categories else Column(name, "number")
            for name in readings.names
        )
        return cls(Schema(tuple(columns)), np.asarray(sums[own] / known), missing, readings.interactions).checked()

    def checked(self) -> Features:
        """These features; an error if there are too many."""
        check_width(self.width, {column.name: len(_mains_of(column)) for column in self.schema})
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self._terms)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, such as `age`, `sex=female`, `age is missing`, `age × sex=female`."""
        return tuple(name for name, _ in self._terms)

    @property
    def sources(self) -> tuple[tuple[str, ...], ...]:
        """The column, or the two columns, that each feature is made of."""
        return tuple(source for _, source in self._terms)

    def free(self, sources: Iterable[tuple[str, ...]] | None = None) -> int:
        """The degrees of freedom of the features, or of those of some columns and interactions: the indicators of a
        category's levels sum to 1, so one of them is redundant."""
        levels = {column.name: 2 if column.levels is None else len(column.levels) for column in self.schema}
        own = self.groups if sources is None else sources
        marks = sum(len(each) == 1 and each[0] in self.missing for each in own)
        return marks + sum(prod(levels[name] - 1 for name in each) for each in own)

    @cached_property
    def groups(self) -> dict[tuple[str, ...], Positions]:
        """The places of the features of each column (its missing cells' among them) and of each interaction."""
        places: dict[tuple[str, ...], list[int]] = {}
        for i, source in enumerate(self.sources):
            places.setdefault(source, []).append(i)
        return {source: np.array(own, dtype=np.intp) for source, own in places.items()}

    @cached_property
    def _terms(self) -> list[tuple[str, tuple[str, ...]]]:
        found: list[tuple[str, tuple[str, ...]]] = []
        found += [(term, (column.name,)) for column in self.schema for term in _mains_of(column)]
        mains = [term for term, _ in found]
        found += [(f"{name} is missing", (name,)) for name in self.missing]
        for a, b in self.interactions:
            found += [(product_name((mains[i], mains[j])), (a, b)) for i in self.mains[a] for j in self.mains[b]]
        return found

    @cached_property
    def marks(self) -> dict[str, int]:
        """The places of the indicators of missing cells."""
        first = len(self.centre)
        return {name: first + j for j, name in enumerate(self.missing)}

    @cached_property
    def factors(self) -> list[tuple[int, ...]]:
        """The places of the features that each is the product of: itself, or two."""
        singles = [(i,) for i in range(len(self.centre) + len(self.missing))]
        products = [
            (i, j) for a, b in self.interactions for i in self.mains[a].tolist() for j in self.mains[b].tolist()
        ]
        return [*singles, *products]

    @cached_property
    def mains(self) -> dict[str, Positions]:
        """The places of each column's own features."""
        ends = np.cumsum([len(_mains_of(column)) for column in self.schema], dtype=np.intp)
        starts = np.concatenate([[0], ends[:-1]])
        return {c.name: np.arange(a, b) for c, a, b in zip(self.schema, starts, ends, strict=True)}

    @cached_property
    def encoding(self) -> OneHotEncoding:
        values = {column.name: column.levels for column in self.schema if column.levels is not None}
        features = [feature for column in self.schema for feature in features_of(column)]
        return OneHotEncoding(self.columns, values, {feature: i for i, feature in enumerate(features)})

    def encode(self, batch: Batch) -> Array:
        """(rows, width); a column that the batch doesn't have counts as missing."""
        return self.read(batch)[0]

    def read(self, batch: Batch) -> tuple[Array, Ignored]:
        """The encoded rows, and the number of cells with unseen values."""
        cells, unseen = self.encoding.read(batch.filled(self.columns))
        absent = np.isnan(cells)
        z = cells - self.centre
        if absent.any():
            z[absent] = 0.0
        marks = [absent[:, self.mains[name][0]] - share for name, share in self.missing.items()]
        products = [
            (z[:, self.mains[a], None] * z[:, None, self.mains[b]]).reshape(len(z), -1) for a, b in self.interactions
        ]
        if marks or products:
            z = np.column_stack([z, *marks, *products])
        return z, {(name, UNSEEN_VALUES): n for name, n in unseen.items() if n}


def check_width(width: int, sizes: Mapping[str, int]) -> None:
    """Raise an error if there are too many features; `sizes` are those of each column."""
    if width > MOST_FEATURES:
        widest = max(sizes, key=lambda name: sizes[name])
        raise SizeError(
            f"the columns have {width:,} terms or more, and a regression takes up to {MOST_FEATURES:,}; "
            f"column {widest!r} alone has {sizes[widest]:,}: leave it out with kinds={{{widest!r}: 'ignore'}}"
        )


def _mains_of(column: Column) -> list[str]:
    """The names of a column's own features."""
    return [column.name] if column.levels is None else [f"{column.name}={value}" for value in column.values]


def features_of(column: Column) -> list[str]:
    """The keys of the features of a column."""
    if column.levels is None:
        return [number_feature(column.name)]
    return [value_feature(column.name, value) for value in column.values]
