"""What a stored file may claim: fields of their declared types, and parts that go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import combinations
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

if TYPE_CHECKING:
    from credo.blocks.numbers.gaussian import Joint
    from credo.core.evidence import Evidence, Part
    from credo.core.sparse import Sparse
    from credo.core.statistics import Statistics
    from credo.data.schema import Column
    from credo.estimation.belief import Belief
    from credo.estimation.beliefs import Beliefs
    from credo.families import Family
    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores
    from credo.models.tuning import Tuning
    from credo.networks.network import Network

ROUNDING = 1e-6  # by which log P may seem to be above 0

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
    """Whether all sums are finite and about the same groups, and some rows have them."""
    shapes = [each.shape for each in statistics.sums]
    alike = all(a[: len(b)] == b[: len(a)] for a, b in combinations(shapes, 2))
    finite = all(np.isfinite(half).all() for each in statistics.sums for half in _halves(each))
    return alike and finite and bool((statistics.n.high >= 0).all()) and statistics.possible()


def _halves(sums: Any) -> list[Any]:
    return [getattr(sums, half) for half in ("high", "low") if hasattr(sums, half)]


def _evident(evidence: Evidence) -> bool:
    """Whether columns, and the levels of each, differ from each other and are known, and all sums are about them."""
    names, levels = evidence.schema.names, [column.levels for column in evidence.schema if column.levels is not None]
    return (
        len(set(names)) == len(names)
        and all(not each.null_count and len(each.unique()) == len(each) for each in levels)
        and all(_placed(evidence, part) for part in evidence.parts.values())
    )


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
    weighed = bool(((scores.weights >= 0) & np.isfinite(scores.weights)).all())
    shares = not (scores.log_probabilities > ROUNDING).any()  # which NaN isn't, either
    shaped = scores.truth.shape == rows and scores.log_probabilities.shape == (*rows, size)
    return known and weighed and shares and shaped


def _tuned(tuning: Tuning) -> bool:
    size = len(tuning.classes)
    mixture = {len(row) for row in tuning.mixture} if len(tuning.mixture) == size else {-1}
    return len(tuning.biases) == size and (tuning.mixed is None or mixture == {size})


def _classifies(model: Classifier) -> bool:
    """Whether the evidence has the form of what the model makes of a row: kernels trust it."""
    import pyarrow as pa

    from credo.blocks.numbers.gaussian import Joint
    from credo.data import Batch
    from credo.selection.report import Report

    if not isinstance(model.report, Report | None) or not _views_known(model):
        return False
    if model.evidence is None:
        return model.tuning is None and model.report is None
    evidence, target = model.evidence, str(model.target)
    classes = evidence.schema[target].levels
    row = Batch(0, 1, {target: classes[:1] if len(classes) else pa.nulls(1)})
    fresh = model.summarise(row, np.ones(1))
    patterns: dict[str, Part] = {}
    for _, block in model.blocks(model.views):
        if isinstance(block, Joint):
            patterns |= {label: evidence.parts[label] for label in block.labels(evidence)}
            if not all(_joint(label, part, block, target) for label, part in patterns.items()):
                return False
    return _learned(evidence, fresh, patterns) and model.crowded(evidence) is None


def _views_known(model: Classifier) -> bool:
    """Whether columns are read in forms that there are, and tuning speaks of these."""
    forms = dict(model.views) if model.tuning is None else dict(model.tuning.forms)
    counted = {form for form, _ in model.blocks(model.views)}
    return (
        (model.target is None) == (not model.views) == (model.evidence is None)
        and model.target not in model.views
        and all(own and set(own) <= counted for own in model.views.values())
        and all(set(own) <= set(model.views.get(name, ())) for name, own in forms.items())
    )


def _joint(label: str, part: Part, block: Joint, target: str) -> bool:
    """Whether a pattern of missing cells has the moments of the columns that it knows."""
    from credo.blocks.numbers.gaussian import known_of
    from credo.core.statistics import CrossMoments

    known = known_of(label)
    d, whole = known.sum(), len(known) == len(block.names) and part.axes == (target,)
    shapes = [each.shape[1:] for each in part.statistics.sums]
    return bool(whole and isinstance(part.statistics, CrossMoments) and shapes == [(), (d,), (d, d)])


def _believed(belief: Belief) -> bool:
    """Whether the prior is that of one group, and the evidence what it makes of observations."""
    import pyarrow as pa

    from credo.data import Batch
    from credo.estimation.belief import VALUES

    width = belief.family.width or 1
    names = (VALUES,) if belief.columns is None and not width > 1 else belief.columns or tuple(map(str, range(width)))
    fresh = belief.summarise(Batch(0, 0, {name: pa.nulls(0) for name in names}), np.ones(0))
    if belief.evidence is None:
        return _of_one_group(belief.family, fresh[VALUES], names)
    return _learned(belief.evidence, fresh) and _of_one_group(belief.family, belief.evidence[VALUES], names)


def _grouped(beliefs: Beliefs) -> bool:
    import pyarrow as pa

    from credo.data import Batch

    names = (*beliefs.columns, beliefs.by)
    if not beliefs.columns or len(set(names)) < len(names):
        return False
    fresh = beliefs.summarise(Batch(0, 0, {name: pa.nulls(0) for name in names}), np.ones(0))
    if beliefs.evidence is None:
        return False  # nothing makes such groups
    return (
        _learned(beliefs.evidence, fresh)
        and _of_one_group(beliefs.family, fresh[beliefs.label].pooled(), beliefs.columns)
        and beliefs.crowded(beliefs.evidence) is None
    )


def _learned_tables(network: Network) -> bool:
    """Whether prior and evidence are those of the network's nodes."""
    from credo.networks.table_priors import TablePriors

    if not isinstance(network.prior, TablePriors | None):
        return False
    if network.evidence is None:
        return True
    from credo.networks.learning import is_evidence_of

    return is_evidence_of(network, network.evidence)


def _of_one_group(family: Family, statistics: Statistics, names: Sequence[str]) -> bool:
    """Whether hyperparameters are those of one prior, about as many columns as there are."""
    with np.errstate(all="ignore"):
        return family.width in (None, len(names)) and np.ndim(family.log_evidence(statistics[0])) == 0


def _learned(evidence: Evidence, fresh: Evidence, beside: Mapping[str, Part] | None = None) -> bool:
    """Whether evidence has the form of what a model makes of few rows: the same columns and parts, of one kind each."""
    own, new = ({column.name: column for column in each.schema} for each in (evidence, fresh))
    own = {name: column for name, column in own.items() if name in new or column.levels is not None}  # others are spare
    parts = evidence.parts.keys() - (beside or {}).keys()
    return (
        own.keys() == new.keys()
        and parts == fresh.parts.keys() - (beside or {}).keys()
        and all(_same_column(own[name], column) for name, column in new.items())
        and all(_alike(evidence.parts[name], fresh.parts[name]) for name in parts)
    )


def _same_column(own: Column, fresh: Column) -> bool:
    """Of one kind; values that the prior declares come first."""
    if (own.levels is None) != (fresh.levels is None) or (own.kind, own.declared) != (fresh.kind, fresh.declared):
        return False
    return own.levels is None or own.values[: own.declared] == fresh.values[: own.declared]


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
    """Whether levels are an Arrow array, and there are as many as are declared."""
    import pyarrow as pa

    levels = column.levels
    if levels is None:
        return column.declared == 0
    return isinstance(levels, pa.Array) and 0 <= column.declared <= len(levels)


def _is_statistics(value: object) -> bool:
    return any(kind.__name__ == "Statistics" for kind in type(value).__mro__)


# By the name of the class, or of one that it derives from: none of them is imported before a file holds it.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Belief": _believed,
    "Beliefs": _grouped,
    "Classifier": _classifies,
    "Column": _levelled,
    "Evidence": _evident,
    "Exact": lambda exact: bool(exact.high.shape == exact.low.shape),
    "Network": _learned_tables,
    "Part": lambda part: _is_statistics(part.statistics),
    "Scores": _scored,
    "Sparse": _in_rows,
    "Statistics": _summed,
    "Tuning": _tuned,
}
