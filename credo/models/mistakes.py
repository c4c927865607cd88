"""The rows that a model predicts worst, with explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.data import Source
from credo.errors import DataError, EvidenceError

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor
    from credo.models.metrics import Scores


@dataclass(frozen=True)
class Mistake:
    """A row, counted from 1 among the labelled ones, and its prediction."""

    row: int
    truth: object
    predicted: object
    of_truth: float  # P(truth)
    top: float  # P(predicted)


def held_out_scores(model: ClassPredictor, data: object) -> Scores:
    """Leave-one-out scores of learned rows (or by folds where leave-one-out is refused); plain scores of other rows."""
    from credo.models.classifier import Classifier

    if not isinstance(model, Classifier):
        return model.cross_validate(data)
    try:
        return model.leave_one_out(data)
    except EvidenceError:  # these aren't the rows that it learned
        return model.scores(data)


def worst_first(scores: Scores, some: NDArray[np.intp], most: int) -> list[Mistake]:
    """The row numbers (from 0) of some rows, the least probable true class first."""
    of_truth = scores.probabilities[some, scores.truth[some]]
    order = some[np.argsort(of_truth, kind="stable")][:most].tolist()
    found = scores.probabilities
    return [
        Mistake(
            i + 1, scores.classes[scores.truth[i]], scores.classes[int(found[i].argmax())],
            float(found[i, scores.truth[i]]), float(found[i].max()),
        )
        for i in order
    ]  # fmt: skip


def wrong(scores: Scores) -> NDArray[np.intp]:
    """The rows whose most probable class isn't the true one."""
    return np.flatnonzero(scores.predicted != scores.truth)


def explained_rows(model: ClassPredictor, data: object, rows: Sequence[int]) -> dict[int, Any]:
    """The explanations of rows, which are counted from 1 among the labelled ones."""
    table = model._labelled(data, None)
    wanted, found, seen = {*rows}, dict[int, Any](), 0
    for batch in table.batches(model.needs(table)):
        places = np.flatnonzero(model.codes_of(batch) >= 0)
        for row in sorted(row for row in wanted if seen < row <= seen + len(places)):
            found[row] = model.explain(Source.of_batch(batch.slice(int(places[row - 1 - seen]), 1)))
        seen += len(places)
        if len(found) == len(wanted):
            return found
    raise DataError(f"there is no row {min(wanted - found.keys())}: {seen:,} rows have a class")
