"""The predictions of hypotheses: values, or distributions over values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.errors import DataError, counted, suggest
from credo.numerics.exact import Array

Votes = Mapping[Any, Any] | Sequence[Any] | NDArray[Any] | Callable[[Any], Any]
SUMS_TO_1 = 1e-6  # how far the sum of probabilities may be from 1: people round them


class Prediction(dict[Any, float]):
    """{value: probability}, the most probable first."""

    @property
    def best(self) -> Any:
        """The most probable value; the first if tied."""
        return next(iter(self))


def tally(votes: Votes, hypotheses: object, weights: Array) -> Prediction:
    """P(v) = Σ P(v | h) w(h)"""
    if isinstance(votes, np.ndarray):
        return _of_array(votes, weights)
    total: dict[Any, float] = {}
    for i, weight in enumerate(weights.tolist()):
        for value, p in vote_of(votes, hypotheses, i).items():
            total[value] = total.get(value, 0.0) + p * weight
    return _sorted(total)


def _of_array(votes: NDArray[Any], weights: Array) -> Prediction:
    if votes.shape != weights.shape:
        raise DataError(f"there must be a vote for each of {counted(len(weights), 'hypothesis')}, not {votes.shape}")
    values, which = np.unique(votes, return_inverse=True)
    return _sorted(dict(zip(values.tolist(), np.bincount(which, weights).tolist(), strict=True)))


def vote_of(votes: Votes, hypotheses: Any, i: int) -> Prediction:
    """P(v | h) of one hypothesis; a plain value is certain."""
    hypothesis = hypotheses[i]
    if callable(votes):
        vote = votes(hypothesis)
    elif isinstance(votes, Mapping):
        if hypothesis not in votes:
            raise DataError(f"there is no vote of {hypothesis!r:.60}; {suggest(hypothesis, [*votes][:1000])}")
        vote = votes[hypothesis]
    else:
        if len(votes) != len(hypotheses):
            wanted = counted(len(hypotheses), "hypothesis")
            raise DataError(f"there must be a vote for each of {wanted}, but there are {len(votes)}")
        vote = votes[i]
    if not isinstance(vote, Mapping):
        return Prediction({vote: 1.0})
    total = sum(vote.values())
    if not (abs(total - 1) <= SUMS_TO_1 and min(vote.values()) >= 0):
        raise DataError(f"the votes of {hypothesis!r:.60} must be probabilities that sum to 1, but sum to {total:g}")
    return _sorted(vote)


def _sorted(votes: Mapping[Any, float]) -> Prediction:
    return Prediction(sorted(votes.items(), key=lambda item: -item[1]))
