"""What a stored file may claim: fields of their declared types, and parts that go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from itertools import combinations
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

if TYPE_CHECKING:
    from credo.evidence import Evidence, Part
    from credo.metrics import Scores
    from credo.models.classifier import Classifier
    from credo.models.tuning import Tuning
    from credo.schema import Column
    from credo.sparse import Sparse
    from credo.statistics import Statistics

_hints = cache(get_type_hints)  # evaluating them takes longer than all the rest of loading


def check(made: Any) -> None:
    """Refuse fields that aren't of their declared types, and parts that don't go together."""
    name = type(made).__name__
    hints = _hints(type(made))  # type: ignore[arg-type]
    for field in fields(made):
        value = getattr(made, field.name)
        if not _fits(value, hints[field.name]):
            raise ValueError(f"{name}.{field.name} should be {field.type}, but is a {described(value)}")
    if not _consistent(made):
        raise ValueError(f"the parts of {name} don't go together")


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        wanted = inner[:1] * len(value) if inner[-1] is ... and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype in map(np.dtype, get_args(inner[1]))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    return isinstance(value, float | int if hint is float else origin or hint)


def _consistent(made: Any) -> bool:
    checks = (_CHECKS[kind.__name__] for kind in type(made).__mro__ if kind.__name__ in _CHECKS)
    return next(checks, lambda _: True)(made)


def _summed(statistics: Statistics) -> bool:
    """Whether weights are positive, and all sums are about the same groups."""
    shapes = [each.shape for each in statistics.sums]
    alike = all(a[: len(b)] == b[: len(a)] for a, b in combinations(shapes, 2))
    return alike and bool((statistics.n.high >= 0).all())


def _evident(evidence: Evidence) -> bool:
    return all(_placed(evidence, part) for part in evidence.parts.values())


def _placed(evidence: Evidence, part: Part) -> bool:
    """Whether every axis is as long as its column has levels, in all sums that have it."""
    sizes = {column.name: len(column.levels) for column in evidence.schema if column.levels is not None}
    shapes = [each.shape for each in part.statistics.sums]
    for i, axis in enumerate(part.axes):
        found = {shape[i] for shape in shapes if len(shape) > i}
        if axis is not None and found != {sizes.get(axis)}:
            return False
    return True


def _in_rows(table: Sparse) -> bool:
    """Whether cells lie in rows one after another, by columns that there are: kernels trust it."""
    starts, columns, size = table.starts, table.columns, len(table.high)
    if starts.dtype != np.int64 or columns.dtype != np.int32 or len(columns) != size:
        return False
    if len(table.low) not in (0, size):
        return False
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
        return False
    rising = np.diff(table.rows.astype(np.int64) * max(table.width, 1) + columns) > 0
    return bool(rising.all() and (columns >= 0).all() and (columns < table.width).all())


def _scored(scores: Scores) -> bool:
    rows, size = scores.weights.shape, len(scores.classes)
    known = bool(((scores.truth >= 0) & (scores.truth < size)).all())
    return known and scores.truth.shape == rows and scores.log_probabilities.shape == (*rows, size)


def _tuned(tuning: Tuning) -> bool:
    size = len(tuning.classes)
    mixture = {len(row) for row in tuning.mixture} if len(tuning.mixture) == size else {-1}
    return len(tuning.biases) == size and (tuning.mixed is None or mixture == {size})


def _summarised(model: Classifier) -> bool:
    """Whether the evidence has the form of what the model makes of a row: kernels trust it."""
    import pyarrow as pa

    from credo.blocks.joint import Joint, known_of
    from credo.data import Batch
    from credo.selection.report import Report
    from credo.statistics import CrossMoments

    if not isinstance(model.report, Report | None):
        return False
    if model.evidence is None:
        return True
    evidence, target = model.evidence, str(model.target)
    classes = evidence.schema[target].levels
    row = Batch(0, 1, {target: classes[:1] if len(classes) else pa.nulls(1)})
    fresh = model.summarise(row, np.ones(1))
    if not all(name in evidence.parts and _alike(evidence.parts[name], part) for name, part in fresh.parts.items()):
        return False
    for _, block in model.blocks(model.views):
        for label in block.labels(evidence) if isinstance(block, Joint) else ():
            known, part = known_of(label), evidence.parts[label]
            whole = len(known) == len(block.names) and part.axes == (target,)
            moments = part.statistics
            if not whole or not isinstance(moments, CrossMoments) or moments.second.shape[1:] != (known.sum(),) * 2:
                return False
    return True


def _alike(part: Part, fresh: Part) -> bool:
    """Of one kind, with the same axes; those that don't run over levels are as long."""
    if part.axes != fresh.axes or type(part.statistics) is not type(fresh.statistics):
        return False
    for own, new in zip(part.statistics.sums, fresh.statistics.sums, strict=True):
        free = [i for i in range(new.ndim) if i >= len(fresh.axes) or fresh.axes[i] is None]
        if own.ndim != new.ndim or any(own.shape[i] != new.shape[i] for i in free):
            return False
    return True


def described(value: object) -> str:
    return f"{type(value).__qualname__} {getattr(value, 'dtype', '')}".strip()


def _levelled(column: Column) -> bool:
    return 0 <= column.declared <= (0 if column.levels is None else len(column.levels))


def _is_statistics(value: object) -> bool:
    return any(kind.__name__ == "Statistics" for kind in type(value).__mro__)


# By the name of the class, or of one that it derives from: none of them is imported before a file holds it.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Classifier": _summarised,
    "Column": _levelled,
    "Evidence": _evident,
    "Exact": lambda exact: bool(exact.high.shape == exact.low.shape),
    "Part": lambda part: _is_statistics(part.statistics),
    "Scores": _scored,
    "Sparse": _in_rows,
    "Statistics": _summed,
    "Tuning": _tuned,
}
