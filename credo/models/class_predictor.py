"""Predictors of classes: the verbs that follow from log P(class | row)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo._kernels.models.shares import divide_by_total, lower_to_top
from credo.blocks.capabilities import Ignored
from credo.core.folds import FoldGroups, Groups
from credo.core.learning import RowWeights, Weight, Weights
from credo.core.membership import Codes, Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch, Source
from credo.data.fingerprints import fingerprints
from credo.errors import DataError, EvidenceError, counted
from credo.models.class_jobs import (
    Job,
    LeastLoss,
    LeftOut,
    LogProbabilities,
    MostProbableClass,
    Placed,
    Prints,
    Probabilities,
    ScoredClasses,
    WithProbabilities,
)
from credo.models.class_reader import ClassReader, Shares
from credo.models.explaining import QuestionStep, Reasons, TextContributions
from credo.models.known_columns import add_ignored
from credo.models.loss_matrix import Loss, loss_matrix
from credo.models.metrics import Scores, fold_ratio
from credo.models.repeated_rows import MOST_ROWS_SEARCHED, Repeats
from credo.notices import tell_of_columns
from credo.numerics.arrays import Stacked
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.engines import Partition
    from credo.models.explaining import Explanation
    from credo.models.summed_scores import SummedScores

NO_CLASS = "no row has a class: every cell of {!r} is missing, or has weight 0"


class ClassPredictor(ClassReader, ABC):
    """P(class | row), and the verbs that follow from it.

    A model is a frozen dataclass with the fields `target` and `class_prior`. It provides its `classes`, the weight of
    each class's rows (`class_weights`), the columns it reads (`features`), and log P(class | row) of a batch up to a
    constant (`_log_joint`).
    """

    _internal: ClassVar[tuple[str, ...]] = ("impossible", "probabilities", "streamed")

    @abstractmethod
    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        """log P(class | row) up to a constant per row, under `class_prior` if given; and the ignored cells, for a
        notice. (rows, classes)

        Columns that the batch lacks count as missing. A model that doesn't use `class_prior` itself adds
        `_prior_shift`.
        """

    @abstractmethod
    def cross_validate(
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> Scores:  # fmt: skip
        """Predictions for each row by models of the other folds. `groups`: a column, or an array; rows with the same
        value lie in one fold."""

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:  # noqa: ARG002
        """The prediction for each learned row i of a model refitted without it."""
        raise EvidenceError(
            f"a {type(self).__name__} would be refitted for every left-out row: use cross_validate(data)"
        )

    def _scores_left_out(self, data: object, target: object, weight: Weight) -> Scores:
        """The scores of `_left_out` for each learned row."""
        table = self._labelled(data, target)
        table.check_rereadable("leave-one-out reads the data once more")
        weights, how = Weights.of(weight), self._validation_name("leave-one-out")
        partitions = weights.partitions(table, self.needs(table.without(weight)))
        job = LeftOut(self, weights.of_a_row)
        if table.sums_scores:
            added = self._summed(job, partitions)
            self._check_rows(added.class_weights)
            return added.instead_of_rows(how=how, held_out_ratio=fold_ratio(added.rows))
        codes, row_weights, found = list[Codes](), list[Array](), Stacked()
        for log_shares, own, mass in engines.map(job, partitions):
            found.add(log_shares, table.rows)
            codes.append(own)
            row_weights.append(mass)
        truth, mass = np.concatenate(codes).astype(np.intp), np.concatenate(row_weights)
        self._check_rows(np.bincount(truth, mass, len(self.classes)).astype(np.float64))
        log_shares = found.whole((0, len(self.classes)))
        return Scores(self.classes, log_shares, truth, mass, how, held_out_ratio=fold_ratio(len(truth)))

    def _summed(self, job: Any, partitions: Iterable[Partition[Batch]]) -> SummedScores:
        """The scores of a frame's rows, summed by its workers. The job gives log P(class), class and weight of each
        row."""
        from credo.core.summed_scores import summed_scores
        from credo.models.summed_scores import SummedScores, summed_batch

        found = summed_scores(job, partitions, SummedScores, partial(summed_batch, self.classes))
        if found is None:
            raise DataError(NO_CLASS.format(self.target))
        return found

    def _left_out(self, weights: RowWeights, batch: Batch) -> tuple[Array, Hard]:
        """Leave-one-out log P(class | row) of the batch's labelled rows, and their classes."""
        raise NotImplementedError

    def _validation_name(self, how: str) -> str:
        """The description of leave-one-out scores."""
        return how

    def _check_rows(self, there: Array) -> None:
        """Raise an error unless the data has as many rows of each class as the evidence."""
        if not np.allclose(there, self.class_weights, rtol=1e-9):
            raise EvidenceError(
                f"leave-one-out needs the rows that were learned: the evidence has {self.n:g} of them, the data "
                f"{there.sum():g}" + ("" if there.sum() != self.n else ", of other classes")
            )

    def _alone(self, own: Hard) -> NDArray[np.intp]:
        """Which rows are the only ones of their class."""
        n = self.class_weights[own.codes]
        return np.flatnonzero(n - own.weight <= RESIDUAL_WEIGHT * n)

    def _copied(self, table: Source, weight: Weight) -> FoldGroups | None:
        """The rows that have copies; None if there are too many rows to search."""
        if table.rows is None or table.rows > MOST_ROWS_SEARCHED:
            return None
        names = tuple(self.needs(table.without(weight)))
        texts = np.array([name in self.text_columns for name in names])
        parts = engines.map(Prints(self, names), table.partitions(names))
        codes, cells = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
        known, features = codes >= 0, np.array([name != self.target for name in names])
        prints, own = fingerprints(cells)[known], cells[:, known][features]
        return FoldGroups(names, Repeats.of(prints, codes[known], own, texts[features]).copied)

    def adapt(self, data: object) -> Self:
        """The same model with class shares estimated from unlabelled rows by EM (label shift).

        >>> from credo import NaiveBayes
        >>> model = NaiveBayes().fit({"x": [0.0, 0.1, 2.0, 2.1] * 10, "y": ["a", "a", "b", "b"] * 10}, target="y")
        >>> shares = model.adapt({"x": [0.0] * 90 + [2.0] * 10}).class_prior
        >>> {value: round(share, 2) for value, share in shares.items()}
        {'a': 0.89, 'b': 0.11}
        """
        from credo.models.label_shift import shifted_shares

        shares = shifted_shares(self._collected(data, LogProbabilities(self)), self._log_prior, self._share_smoothing)
        return self.with_class_prior(dict(zip(self.classes, shares.tolist(), strict=True)))

    # Prediction

    def predict_log_proba(self, data: object, *, class_prior: Shares | None = None) -> Array:
        """log P(class | row), optionally under another class prior. (rows, classes)

        Of a Dask or Spark DataFrame: that frame, with a column log P(class) for each class.
        """
        if class_prior is not None:
            return self.with_class_prior(class_prior).predict_log_proba(data)
        found: Array = self._found(data, LogProbabilities(self), "log P({})")
        return found

    def predict_proba(self, data: object, *, class_prior: Shares | None = None) -> Array:
        """P(class | row), optionally under another class prior. (rows, classes)

        Of a Dask or Spark DataFrame: that frame, with a column P(class) for each class, computed lazily.
        """
        if class_prior is not None:
            return self.with_class_prior(class_prior).predict_proba(data)
        found: Array = self._found(data, Probabilities(self), "P({})")
        return found

    def _found(self, data: object, job: Job, form: str) -> Array:
        """An array, or for a distributed frame the frame with new columns (typed as an array, too)."""
        table = self.opened(data)
        if table.frame is None:
            return self._collected(table, job)
        from credo.models.frame_columns import for_each_class

        frame: Array = for_each_class(table, self._present(table), job, form, self.classes)
        return frame

    def probabilities(self, batch: Batch) -> Array:
        """The same for a batch, without notices about ignored cells."""
        return self._probabilities(batch, count_ignored=False)[0]

    def _probabilities(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        log_joint, ignored = self._log_joint(batch, count_ignored=count_ignored)
        if (row := lower_to_top(log_joint)) >= 0:
            raise EvidenceError(self.impossible(batch.slice(row, 1)))
        shares = np.exp(log_joint, out=log_joint)
        divide_by_total(shares)
        return shares, ignored

    def predict(self, data: object, *, class_prior: Shares | None = None) -> NDArray[Any]:
        """The most probable class of each row; of a Dask or Spark DataFrame, that frame with a column `predicted`."""
        if class_prior is not None:
            return self.with_class_prior(class_prior).predict(data)
        if (table := self.opened(data)).frame is not None:
            from credo.models.frame_columns import of_classes

            frame: NDArray[Any] = of_classes(table, self._present(table), MostProbableClass(self), self.classes)
            return frame
        return self._named(self._collected(table, MostProbableClass(self), width=1)[:, 0].astype(np.intp))

    def _named(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        return _array_of(self.classes)[codes]

    def decide(self, data: object, loss: Loss | None = None, *, reject: float | None = None) -> NDArray[Any]:
        """The decision of least expected loss for each row; None where rejecting (at that loss) is cheaper.

        loss[truth][decision] is the cost of a decision; by default 0 if it is right, else 1.
        Of a Dask or Spark DataFrame: that frame, with a column `decision`, made when it is computed.
        """
        if reject is not None and (not isinstance(reject, int | float | np.number) or np.isnan(reject)):
            raise DataError(f"reject must be a number, the loss of not deciding, but is {reject!r}")
        job = LeastLoss(self, loss_matrix(loss, self.classes), np.inf if reject is None else float(reject))
        table, decisions = self.opened(data), self.classes if reject is None else (*self.classes, None)
        if table.frame is not None:
            from credo.models.frame_columns import of_classes

            frame: NDArray[Any] = of_classes(table, self._present(table), job, decisions, "decision")
            return frame
        codes = self._collected(table, job, width=1)[:, 0].astype(np.intp)
        return np.array([*self.classes, None], dtype=object)[codes]

    def _collected(self, data: object, job: Job, width: int | None = None) -> Array:
        """A job's results for all rows, in order. (rows, width), by default one column per class"""
        table, ignored, found = self.opened(data), Ignored(), Stacked()
        shape = table.rows or 0, len(self.classes) if width is None else width
        shared = table.near and engines.current().shares_memory
        placed = Placed(job, np.empty(shape)) if shared and table.rows is not None else None
        for part, unseen in engines.map(placed or job, table.partitions(self._present(table))):
            if placed is None:
                found.add(part, table.rows)
            add_ignored(ignored, unseen)
        self._tell_ignored(ignored)
        return found.whole((0, shape[1])) if placed is None else placed.found

    def streamed(self, data: object) -> Iterator[tuple[Batch, Array]]:
        """Batches of a table with their class probabilities, in constant memory."""
        table = self.opened(data)
        self._present(table)
        ignored: Ignored = {}
        partitions = table.partitions([*table.keys, *table.names])
        for batch, probabilities, unseen in engines.map(WithProbabilities(self), partitions):
            add_ignored(ignored, unseen)
            yield batch, probabilities
        self._tell_ignored(ignored)

    def _tell_ignored(self, ignored: Ignored) -> None:
        """One notice for all columns with ignored cells."""
        for what in dict.fromkeys(what for _, what in ignored):
            of = {name: cells for (name, each), cells in ignored.items() if each == what}
            tell_of_columns((name, f"{counted(sum(of.values()), 'cell')} with {what}, ignored") for name in of)

    def impossible(self, batch: Batch) -> str:
        """The error for a row that is impossible under every class."""
        return f"row {batch.number(0)} is impossible under every class"

    # Validation

    def scores(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """Scores on labelled rows that weren't used for training. For a Dask or Spark DataFrame, the workers sum the
        scores: all figures, but no single rows."""
        table, weights = self._labelled(data, target), Weights.of(weight)
        partitions = weights.partitions(table, self.needs(table.without(weight)))
        job = ScoredClasses(self, weights.of_a_row)
        if table.sums_scores:
            return self._summed(job, partitions).instead_of_rows()
        found, codes, row_weights = zip(*engines.map(job, partitions), strict=True)
        truth = np.concatenate(codes).astype(np.intp)
        if not len(truth):
            raise DataError(NO_CLASS.format(self.target))
        return Scores(self.classes, np.concatenate(found), truth, np.concatenate(row_weights))

    # Reasons

    def explain(self, row: object, of: object = None, against: object = None, *, unit: str = "nats") -> Explanation:
        """Why the class is `of` rather than `against` (by default the two most probable).

        prior + the columns' weights of evidence = the log-odds.
        """
        from credo.models.explaining import explained

        return explained(self, row, of, against, unit)

    def _reasons(self, one: Batch) -> Reasons:
        """For a batch of one row: the prior log-odds, what each column adds, and the sum.

        By default, a column's contribution is the change when its cell is revealed after those before it.
        """
        rows = [self._uncovered(one, few) for few in range(len(self.feature_names) + 1)]
        steps = [self._log_joint(row, count_ignored=False)[0][0] for row in rows]
        logs = [each - np.logaddexp.reduce(each) for each in steps]
        terms = {name: logs[j + 1] - logs[j] for j, name in enumerate(self.feature_names)}
        return Reasons(logs[0], terms, logs[-1])

    def _uncovered(self, one: Batch, few: int) -> Batch:
        """The row with the first columns only, the others missing."""
        known = set(one.names)
        return one.only([name for name in self.feature_names[:few] if name in known]).filled(self.feature_names)

    def _word_contributions(self, one: Batch, first: int, second: int, size: float) -> TextContributions:  # noqa: ARG002
        """For a batch of one row: the words' weights for the first class against the second, by text column."""
        return {}

    def _steps(self, one: Batch, first: int, second: int, size: float) -> tuple[QuestionStep, ...]:  # noqa: ARG002
        """For a batch of one row: the steps of a model that asks about one column after another."""
        return ()

    def _unseen(self, one: Batch) -> frozenset[str]:  # noqa: ARG002 - of use to those who override
        """For a batch of one row: the columns with unseen values."""
        return frozenset()


def _array_of(classes: Sequence[object]) -> NDArray[Any]:
    """Values as an array; of objects if they end in NUL, which NumPy's string type drops."""
    found = np.array(classes)
    return found if found.tolist() == list(classes) else np.array([*classes, None], dtype=object)[:-1]
