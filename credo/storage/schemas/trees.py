"""How decision trees are stored: settings, how cells become bins, branches, and the evidence in the leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.learned import learned
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.models.tree.binning import LevelBins, NumberBins
    from credo.models.tree.model import DecisionTree
    from credo.models.tree.structure import Structure

MOST_TREE_BINS = 255
SHARE_ERROR = 1e-9


def _cuts_hold(bins: NumberBins) -> bool:
    ascending = bins.cuts.ndim == 1 and bool((np.diff(bins.cuts) > 0).all() and np.isfinite(bins.cuts).all())
    return ascending and len(bins.cuts) < MOST_TREE_BINS


def _levels_hold(bins: LevelBins) -> bool:
    """Whether each level has a bin, and each bin a level."""
    if bins.bins.shape != (len(bins.levels),) or bins.levels.null_count:
        return False
    used = np.unique(bins.bins)
    distinct = len(bins.levels.unique()) == len(bins.levels)
    return distinct and len(used) <= MOST_TREE_BINS and np.array_equal(used, np.arange(len(used)))


def _structure_holds(tree: Structure) -> bool:
    """Whether nodes are in the order that kernels require, and every branch leads to a child."""
    arrays = tree.column, tree.first, tree.ways, tree.route, tree.share, tree.choices, tree.charge
    if len({each.shape for each in arrays}) != 1 or tree.column.ndim != 1 or not tree.size or tree.routes.ndim != 1:
        return False
    inner = tree.column >= 0
    if (tree.column < -1).any() or (tree.ways[inner] < 1).any() or tree.ways[~inner].any():
        return False
    before = np.cumsum(tree.ways) - tree.ways
    if tree.size != 1 + tree.ways.sum() or (tree.first[inner] != 1 + before[inner]).any():
        return False
    if (tree.first[inner] <= np.flatnonzero(inner)).any():
        return False
    starts = tree.route[inner]
    if len(starts) and (starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(tree.routes)):
        return False
    most = np.repeat(tree.ways[inner], tree.route_sizes[inner])
    if len(most) != len(tree.routes) or (tree.routes < -1).any() or (tree.routes >= most).any():
        return False
    shared = np.bincount(tree.parent[1:], tree.share[1:], tree.size)[inner]
    finite = all(np.isfinite(each).all() for each in (tree.share, tree.choices, tree.charge))
    return finite and bool((tree.share >= 0).all()) and np.allclose(shared, 1.0, rtol=0, atol=SHARE_ERROR)


def _tree_holds(model: DecisionTree) -> bool:
    """Whether branches test existing columns, and leaves have the form of evidence that the model produces."""
    import pyarrow as pa

    from credo.data import Batch

    tree = model.structure
    if tree is None:
        return model.evidence is None and not model.columns and not model.views
    if [each.name for each in model.columns] != [*model.views] or model.target is None:
        return False
    if model.stop is not None and not 0 < model.stop < 1:
        return False
    inner = np.flatnonzero(tree.column >= 0)
    if (tree.column >= len(model.columns)).any():
        return False
    sizes = np.array([len(each.sizes) for each in model.columns], dtype=np.intp)
    if (tree.route_sizes[inner] != sizes[tree.column[inner]]).any() or (model.prune == "average") != (
        model.stop is not None
    ):
        return False
    if model.evidence is None:
        return True
    classes = model.evidence.schema[model.target].levels
    row = Batch(0, 1, {model.target: classes[:1] if len(classes) else pa.nulls(1)})
    return learned(model.evidence, model.summarise(row, np.ones(1))) and model.crowded(model.evidence) is None


BINS = t.class_at("credo.models.tree.binning:Bins")
STRUCTURE = Stored(
    "TreeStructure",
    "credo.models.tree.structure:Structure",
    {
        "column": t.CODES,
        "first": t.CODES,
        "ways": t.CODES,
        "route": t.CODES,
        "routes": t.CODES,
        "share": t.FLOATS,
        "choices": t.FLOATS,
        "charge": t.FLOATS,
    },
    consistent=_structure_holds,
)
LEARNED = {
    "target": t.optional(t.TEXT),
    "views": t.NAMES_BY_NAME,
    "columns": t.tuple_of(BINS),
    "structure": t.optional(STRUCTURE.type),
    "stop": t.optional(t.NUMBER),
    "evidence": t.optional(EVIDENCE.type),
}
SCHEMAS = (
    STRUCTURE,
    Stored(
        "NumberBins",
        "credo.models.tree.binning:NumberBins",
        {"name": t.TEXT, "kind": t.one_of("number", "count", "date"), "cuts": t.FLOATS},
        consistent=_cuts_hold,
    ),
    Stored(
        "LevelBins",
        "credo.models.tree.binning:LevelBins",
        {"name": t.TEXT, "levels": t.ANYTHING, "bins": t.CODES},
        consistent=_levels_hold,
    ),
    Stored(
        "DecisionTree",
        "credo.models.tree.model:DecisionTree",
        {
            "prune": t.optional(t.one_of("average", "mdl", "evidence")),
            "gain": t.optional(t.one_of("information", "evidence")),
            "smoothing": t.optional(t.NUMBER),
            "min_rows": t.NUMBER,
            "max_depth": t.optional(t.WHOLE),
            "kinds": t.KINDS,
            "class_prior": t.CLASS_PRIOR,
            **LEARNED,
        },
        learned=tuple(LEARNED),
        consistent=_tree_holds,
    ),
)
