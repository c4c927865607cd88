"""Cross-validation of trees: each fold is predicted by a tree grown without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.core.learning import Weight
from credo.errors import DataError
from credo.models.drawn_folds import DrawnFolds
from credo.models.forms import Views
from credo.models.metrics import Scores, fold_ratio
from credo.models.tree.prunings import learned
from credo.models.tree.sampling import TreeSample, sampled
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.tree.model import DecisionTree


def fold_log_probabilities(tree: DecisionTree, sample: TreeSample, views: Views, folds: Positions) -> Array:
    """log P(class | row) of each row by a tree grown from the other folds. (rows, classes)

    Cut points, levels, branches, pruning and averaging come from the other folds alone. NaN at a row's class if no
    other fold has it.
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


def cross_validated(tree: DecisionTree, drawn: DrawnFolds, weight: Weight, seed: int) -> Scores:
    """Scores of all rows, or of a sample of about a million."""
    sample = sampled(drawn.table, str(tree.target), tree.views, weight, drawn.draw(seed))
    assert sample.folds is not None
    if len(sample.truth) < drawn.folds:
        raise DataError(f"{drawn.folds} folds need at least {drawn.folds} rows")
    found = fold_log_probabilities(tree, sample, tree.views, sample.folds)
    classes = tuple(sample.levels[sample.target].values)
    truth, how, held_out_ratio = sample.truth.astype(np.intp), f"{drawn.how}, grown again", fold_ratio(drawn.folds)
    return Scores(classes, found, truth, sample.weight, how, 0.0, held_out_ratio, drawn.codes(weight, len(truth)))
