"""Cross-validation of trees: each is grown again, without the fold that it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.core.learning import FoldDraw, Weight
from credo.data import Source
from credo.errors import DataError
from credo.models.forms import Views
from credo.models.metrics import Scores, fold_ratio
from credo.models.tree.prunings import learned
from credo.models.tree.sampling import Sample, sampled
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.tree.model import DecisionTree


def fold_log_probabilities(tree: DecisionTree, sample: Sample, views: Views, folds: Positions) -> Array:
    """log P(class | row) of each row, by the tree that is grown from the rows of other folds. (rows, classes)

    Cut points, levels, branches, pruning and averaging know nothing of the fold that they predict. NaN: the class of a
    row that no other fold has.
    """
    classes = len(sample.levels[sample.target].levels)
    found = np.empty((len(folds), classes))
    for fold in np.unique(folds):
        rows, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        trained = sample.take(others)
        columns = trained.bins(views)
        encoded = trained.encoded(columns, tree.growth.gain, classes)
        prunings = learned(encoded, tree.growth, tree.prune).prunings(tree.growth.prior(classes))
        cells = sample.take(rows).cells_of(columns, prunings.structure.asked)
        log_shares = np.log(prunings.structure.spread(cells, prunings.predictions))
        unknown = np.bincount(trained.truth, minlength=classes) == 0
        own = sample.truth[rows]
        log_shares[unknown[own], own[unknown[own]]] = np.nan
        found[rows] = log_shares
    return found


def cross_validated(tree: DecisionTree, table: Source, weight: Weight, draw: FoldDraw) -> Scores:
    """Of up to a million rows; of more, those that trees are grown from."""
    sample = sampled(table, str(tree.target), tree.views, weight, draw)
    assert sample.folds is not None
    if len(sample.truth) < draw.folds:
        raise DataError(f"{draw.folds} folds need at least {draw.folds} rows")
    found = fold_log_probabilities(tree, sample, tree.views, sample.folds)
    classes = tuple(sample.levels[sample.target].values)
    how, held_out_ratio = f"{draw.folds}-fold, grown again", fold_ratio(draw.folds)
    return Scores(classes, found, sample.truth.astype(np.intp), sample.weight, how, held_out_ratio=held_out_ratio)
