"""Requests of folds during tuning (see lockstep): scores of terms, Bayes factors, and modes of regressions.

Given the class, columns are independent of each other. So the columns of several folds are scored as columns of one
table, in which the cells of rows outside a fold are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.blocks.block import Settings
from credo.blocks.scoring import Cells, Scorer
from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.numerics.exact import Array
from credo.numerics.logistic import TIGHT_TOLERANCE, LogisticPosterior, modes_of
from credo.selection.lockstep import Request
from credo.selection.sample import Sample
from credo.selection.terms import ChosenColumns, ColumnTerm, Forms, TermScores, Trained, TrainedByScorers, factors_of

MOST_SCORES = 2**21  # rows x classes x columns that are scored together


@dataclass(frozen=True, eq=False)
class ModeRequest(Request):
    """The most probable coefficients of a regression with weighted rows."""

    regression: LogisticPosterior
    weight: Array  # (rows,)
    start: Array | None = None
    tolerance: float = TIGHT_TOLERANCE

    turn = 2  # after all scores

    @classmethod
    def answers(cls, asked: Sequence[Self]) -> list[Array]:
        found: dict[int, Array] = {}
        for tolerance in {each.tolerance for each in asked}:
            some = [i for i, each in enumerate(asked) if each.tolerance == tolerance]
            regressions, weights, starts = zip(
                *((asked[i].regression, asked[i].weight, asked[i].start) for i in some), strict=True
            )
            found |= zip(some, modes_of(regressions, weights, starts, tolerance), strict=True)
        return [found[i] for i in range(len(asked))]


@dataclass(frozen=True, eq=False)
class BayesFactorRequest(Request):
    """log p(cells | classes)/p(cells) of each column by itself (see Trained)."""

    trained: Trained
    forms: Forms
    settings: Settings

    @classmethod
    def answers(cls, asked: Sequence[Self]) -> list[dict[ColumnTerm, float]]:
        alike = all(isinstance(each.trained, TrainedByScorers) and each.settings == asked[0].settings for each in asked)
        if len(asked) == 1 or not alike:  # one alone keeps what it finds for later, such as bins
            return [each.trained.log_bayes_factors(each.forms, each.settings) for each in asked]
        found: list[dict[ColumnTerm, float]] = [{} for _ in asked]
        trained = [each.trained for each in asked if isinstance(each.trained, TrainedByScorers)]
        for slot, (form, first) in enumerate(trained[0].scorers):
            joint = _joint(trained, slot, asked[0].settings)
            factors = None if joint is None else joint.log_bayes_factors()
            if factors is None:
                continue
            for each, own, values in zip(asked, found, factors.reshape(len(asked), -1).tolist(), strict=True):
                own.update(factors_of(form, first.names, values, each.forms))
        return found


@dataclass(frozen=True, eq=False)
class ScoreRequest(Request):
    """log p(cells | class) of each term, for rows of the evidence, each left out, or for held-out rows."""

    trained: Trained
    sample: Sample
    forms: Forms
    settings: Settings
    left_out: bool = True

    turn = 1

    @classmethod
    def answers(cls, asked: Sequence[Self]) -> list[TermScores]:
        found: dict[int, TermScores] = {}
        for some in cls._alike(asked):
            own = [asked[i] for i in some]
            found |= zip(some, _scored(own) if len(own) > 1 else [own[0].alone()], strict=True)
        return [found[i] for i in range(len(asked))]

    @classmethod
    def _alike(cls, asked: Sequence[Self]) -> list[list[int]]:
        """Requests that scorers can answer together: equal settings, and at most MOST_SCORES scores."""
        found: list[list[int]] = []
        for i, each in enumerate(asked):
            for some in found:
                first = asked[some[0]]
                alike = each.settings == first.settings and each.left_out == first.left_out
                if alike and (len(some) + 1) * max(each._size, first._size) <= MOST_SCORES:
                    some.append(i)
                    break
            else:
                found.append([i])
        return found

    @property
    def _size(self) -> int:
        """The number of scores, if all folds' rows were scored."""
        if not isinstance(self.trained, TrainedByScorers) or (self.left_out and self.sample.groups is not None):
            return MOST_SCORES
        return 2 * self.sample.rows * len(self.trained.class_weights) * sum(map(len, self.forms.values()))

    def alone(self) -> TermScores:
        """The answer to this request alone."""
        score = self.trained.left_out if self.left_out else self.trained.held_out
        return score(self.sample, self.forms, self.settings)


def _scored(asked: Sequence[ScoreRequest]) -> list[TermScores]:
    """The answers to several requests: scorer by scorer, with the columns of all folds side by side."""
    trained = [each.trained for each in asked if isinstance(each.trained, TrainedByScorers)]
    chosen = [one.chosen(each.sample, each.forms, each.settings) for one, each in zip(trained, asked, strict=True)]
    rows, own = _common_rows(asked)
    found: list[dict[int, Array]] = [{} for _ in asked]
    for slot in sorted({slot for each in chosen for slot in each}):
        some = [f for f, each in enumerate(chosen) if slot in each]
        joint = _joint([trained[f] for f in some], slot, asked[0].settings)
        parts = _slot_scores(joint, [chosen[f][slot] for f in some], [rows[f] for f in some], own, asked[0].left_out)
        for f, part in zip(some, parts, strict=True):
            found[f][slot] = part
    return [
        one.scores_of(each.sample, list(here.values()), list(scores.values()), each.left_out)
        for one, each, here, scores in zip(trained, asked, chosen, found, strict=True)
    ]


def _joint(trained: Sequence[TrainedByScorers], slot: int, settings: Settings) -> Scorer | None:
    """One scorer for the columns of all folds, side by side."""
    joint = trained[0].joined([each.scorers[slot][1] for each in trained])
    return joint if joint is None or settings == trained[0].model.settings else joint.under(settings)


def _common_rows(asked: Sequence[ScoreRequest]) -> tuple[list[Positions], Hard]:
    """The positions of each request's rows among all rows, and the classes of all: left-out rows may be in several."""
    samples = [each.sample for each in asked]
    classes = len(asked[0].trained.class_weights)
    if asked[0].left_out:
        every = [each.places for each in samples]
        _, first, inverse = np.unique(np.concatenate(every), return_index=True, return_inverse=True)
        rows = np.split(inverse, np.cumsum([len(each) for each in every])[:-1])
    else:
        sizes = [each.rows for each in samples]
        first = np.arange(sum(sizes))
        rows = np.split(first, np.cumsum(sizes)[:-1])
    codes, mass = (np.concatenate(each)[first] for each in zip(*((s.codes, s.mass) for s in samples), strict=True))
    return rows, Hard(codes, classes, mass)


def _slot_scores(
    joint: Scorer | None, chosen: Sequence[ChosenColumns], rows: Sequence[Positions], own: Hard, left_out: bool
) -> list[Array]:
    """The scores of each fold by one of its scorers. (rows, classes, terms) each"""
    if joint is None:
        return [
            each.scorer.each_left_out(each.cells, own.take(at), each.places) if left_out
            else each.scorer.each(each.cells, each.places)
            for each, at in zip(chosen, rows, strict=True)
        ]  # fmt: skip
    width = len(chosen[0].base.names)
    cells: Cells = np.full((own.rows, len(chosen) * width), joint.missing, dtype=chosen[0].cells.dtype)
    for f, (each, at) in enumerate(zip(chosen, rows, strict=True)):
        cells[at, f * width : (f + 1) * width] = each.base.moved(each.cells, f)
    places = np.concatenate([f * width + each.places for f, each in enumerate(chosen)])
    scores = joint.each_left_out(cells, own, places) if left_out else joint.each(cells, places)
    ends = np.cumsum([len(each.places) for each in chosen])
    return [
        scores[at, :, end - len(each.places) : end] for each, at, end in zip(chosen, rows, ends.tolist(), strict=True)
    ]
