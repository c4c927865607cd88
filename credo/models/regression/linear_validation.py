"""Validation of linear regression: scores of held-out rows, of rows left out one by one, and of folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from credo.core.learning import Weight, Weights, fold_job, fold_scores
from credo.core.summed_scores import summed_scores
from credo.data import Batch, Source
from credo.engines import Partition
from credo.errors import DataError, EvidenceError
from credo.models.drawn_folds import DrawnFolds
from credo.models.metrics import fold_ratio
from credo.models.regression.jobs import ScoredNumbers
from credo.models.regression.row_results import collected, tell_unseen
from credo.models.regression.scores import NumberScores, SummedNumberScores
from credo.notices import quietly
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

NO_TARGET = "no row has a target: every cell of {!r} is missing, or has weight 0"


def scores_of_table(model: LinearRegression, table: Source, weight: Weight) -> NumberScores:
    """The scores of rows that weren't used for training."""
    return _scores(model, table, weight, "given", left_out=False)


def scores_left_out(model: LinearRegression, table: Source, weight: Weight) -> NumberScores:
    """The scores of the training rows, each left out."""
    table.check_rereadable("leave-one-out reads the data once more")
    found = _scores(model, table, weight, "leave-one-out", left_out=True)
    if not np.isclose(found.n, model.n, rtol=1e-9):
        raise EvidenceError(
            f"leave-one-out needs the rows that were learned: the evidence has {model.n:g} of them, the data "
            f"{found.n:g}"
        )
    return found


def _scores(model: LinearRegression, table: Source, weight: Weight, how: str, left_out: bool) -> NumberScores:
    weights, names = Weights.of(weight), model.needs(table.without(weight))
    job = ScoredNumbers(model.fitted, str(model.target), weights.of_a_row, left_out)
    partitions = weights.partitions(table, names)
    if table.sums_scores:
        added = _summed(job, partitions, SummedNumberScores.of, model.target)
        return added.instead_of_rows(how=how, held_out_ratio=fold_ratio(added.rows) if left_out else 0.0)
    found = collected(job, partitions)
    if not len(found):
        raise DataError(NO_TARGET.format(model.target))
    return NumberScores.of_columns(found, how, fold_ratio(len(found)) if left_out else 0.0)


def fold_scores_of(model: LinearRegression, drawn: DrawnFolds, weight: Weight, seed: int) -> NumberScores:
    """Each fold is predicted from the other folds' sums: there are no refits."""
    table, folds = drawn.table, drawn.folds
    if table.sums_scores:
        job, partitions, _ = fold_job(model, table, folds, weight, seed, _scores_of_batch, drawn.together)
        added = _summed(job, partitions, SummedNumberScores.of_fold, model.target)
        return added.instead_of_rows(how=drawn.how, held_out_ratio=fold_ratio(folds))
    found, _ = fold_scores(model, table, folds, weight, seed, _scores_of_batch, together=drawn.together)
    return drawn.scores_of_numbers(found[0], weight)


def _scores_of_batch(model: LinearRegression, batch: Batch, weights: Array) -> tuple[Array]:
    with quietly():  # the fit of all rows tells its own notices
        fitted = model.fitted
    job = ScoredNumbers(fitted, str(model.target), Weights().of_a_row)
    return (job(replace(batch, weight=weights))[0],)


def _summed(
    job: Callable[[Batch], Iterable[object]], partitions: Iterable[Partition[Batch]],
    added: Callable[..., SummedNumberScores], target: str | None,
) -> SummedNumberScores:  # fmt: skip
    """The scores of a frame's rows, summed by its workers; one notice for unseen values."""
    found = summed_scores(job, partitions, SummedNumberScores, added)
    if found is None:
        raise DataError(NO_TARGET.format(target))
    tell_unseen(found.ignored)
    return found
