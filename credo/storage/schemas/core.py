"""How evidence is stored: schemas of tables, sums, and statistics over levels."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.string_labels import with_labels
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.core.evidence import Evidence, Part
    from credo.core.sparse import Sparse
    from credo.core.statistics import Statistics
    from credo.data.schema import Column


def _has_levels(column: Column) -> bool:
    """Whether levels are an Arrow array, with at least as many values as are declared."""
    import pyarrow as pa

    levels = column.levels
    if levels is None:
        return column.declared == 0
    return isinstance(levels, pa.Array) and 0 <= column.declared <= len(levels)


def _possible(statistics: Statistics) -> bool:
    """Whether these can be sums over rows: finite, over the same groups, with non-negative counts."""
    shapes = [each.shape for each in statistics.sums]
    alike = all(a[: len(b)] == b[: len(a)] for a, b in combinations(shapes, 2))
    finite = all(np.isfinite(half).all() for each in statistics.sums for half in _halves(each))
    return alike and finite and bool((statistics.n.high >= 0).all()) and statistics.possible()


def _halves(sums: Any) -> list[Any]:
    return [getattr(sums, half) for half in ("high", "low") if hasattr(sums, half)]


def _rows_in_order(table: Sparse) -> bool:
    """Whether the cells of a sparse table are ordered and within bounds, as kernels require."""
    starts, columns, size = table.starts, table.columns, len(table.high)
    if len(columns) != size or len(table.low) not in (0, size):
        return False
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
        return False
    rising = np.diff(table.rows.astype(np.int64) * max(table.width, 1) + columns) > 0
    return bool(rising.all() and (columns >= 0).all() and (columns < table.width).all())


def _over_its_schema(evidence: Evidence) -> bool:
    """Whether columns, and the levels of each, are distinct and not null, and all statistics run over them."""
    axes = [column.axis for column in evidence.schema]
    levels = [column.levels for column in evidence.schema if column.levels is not None]
    return (
        len(set(axes)) == len(axes)
        and all(not each.null_count and len(each.unique()) == len(each) for each in levels)
        and all(_over_levels(evidence, part) for part in evidence.parts.values())
    )


def _over_levels(evidence: Evidence, part: Part) -> bool:
    """Whether every axis is as long as its column has levels, in all sums that have the axis."""
    sizes = {column.axis: len(column.levels) for column in evidence.schema if column.levels is not None}
    shapes = [each.shape for each in part.statistics.sums]
    for i, axis in enumerate(part.axes):
        found = {shape[i] for shape in shapes if len(shape) > i}
        if axis is not None and found != {sizes.get(axis)}:
            return False
    return True


STATISTICS = t.class_at("credo.core.statistics:Statistics")
DERIVATION = t.one_of("", "pairs", "weekday", "month", "hour", "features", "cells", "currency")

DERIVED = Stored("Derived", "credo.data.schema:Derived", {"what": DERIVATION, "column": t.TEXT})
AXIS = t.either(t.TEXT, DERIVED.type)
LABEL = Stored(
    "Label",
    "credo.core.labels:Label",
    {"counted": t.TEXT, "name": t.TEXT, "derived": DERIVATION, "pattern": t.tuple_of(t.FLAG)},
)

COLUMN = Stored(
    "Column",
    "credo.data.schema:Column",
    {
        "name": t.TEXT,
        "kind": t.one_of("category", "number", "count", "date", "text", "ignore"),
        "levels": t.ANYTHING,
        "declared": t.WHOLE,
        "derived": DERIVATION,
    },
    upgrades=(lambda values: {**values, "derived": ""},),
    consistent=_has_levels,
)
SCHEMA = Stored("Schema", "credo.data.schema:Schema", {"columns": t.tuple_of(COLUMN.type)})
EXACT = Stored(
    "Exact",
    "credo.numerics.exact:Exact",
    {"high": t.FLOATS, "low": t.FLOATS},
    consistent=lambda exact: bool(exact.high.shape == exact.low.shape),
)
LARGEST = Stored("Largest", "credo.numerics.exact:Largest", {"value": t.FLOATS})
SPARSE = Stored(
    "Sparse",
    "credo.core.sparse:Sparse",
    {"starts": t.INTEGERS, "columns": t.CODES, "high": t.FLOATS, "low": t.FLOATS, "width": t.WHOLE},
    consistent=_rows_in_order,
)
PART = Stored("Part", "credo.core.evidence:Part", {"axes": t.tuple_of(t.optional(AXIS)), "statistics": STATISTICS})
EVIDENCE = Stored(
    "Evidence",
    "credo.core.evidence:Evidence",
    {"schema": SCHEMA.type, "parts": t.mapping(LABEL.type, PART.type)},
    upgrades=(with_labels,),
    consistent=_over_its_schema,
)
MOMENTS = {"n": EXACT.type, "first": EXACT.type, "second": EXACT.type}

SCHEMAS = (
    DERIVED,
    LABEL,
    COLUMN,
    SCHEMA,
    EXACT,
    LARGEST,
    SPARSE,
    PART,
    EVIDENCE,
    Stored("Counts", "credo.core.statistics:Counts", {"n": EXACT.type}, consistent=_possible),
    Stored("PairCounts", "credo.core.statistics:PairCounts", {"n": EXACT.type}, consistent=_possible),
    Stored("FamilyCounts", "credo.core.statistics:FamilyCounts", {"n": EXACT.type}, consistent=_possible),
    Stored("Moments", "credo.core.moments:Moments", MOMENTS, consistent=_possible),
    Stored("CrossMoments", "credo.core.moments:CrossMoments", MOMENTS, consistent=_possible),
    Stored(
        "Totals",
        "credo.core.statistics:Totals",
        {"n": EXACT.type, "total": EXACT.type, "log_base": EXACT.type},
        consistent=_possible,
    ),
    Stored(
        "Extremes", "credo.core.statistics:Extremes", {"n": EXACT.type, "largest": LARGEST.type}, consistent=_possible
    ),
    Stored(
        "GroupCounts", "credo.core.sparse:GroupCounts", {"n": t.either(EXACT.type, SPARSE.type)}, consistent=_possible
    ),
    Stored("WordSums", "credo.core.sparse:WordSums", {"n": SPARSE.type}, consistent=_possible),
)
