"""Scores of predicted probabilities: accuracy, log-loss, Brier score, calibration, confusion matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.errors import DataError
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array
from credo.numerics.spread import effective_rows, variance_by_rows

if TYPE_CHECKING:
    from credo.present.plotting import Figure

CALIBRATION_BINS = 15  # equal-width bins of the top probability


class ClassScores(NamedTuple):
    """The scores of one class."""

    value: object
    rows: float
    precision: float | None  # of the rows predicted to be of this class, the share that is
    recall: float | None  # of the rows of this class, the share that was predicted to be


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


def variance_of_mean(
    x: Array, weight: Array, held_out_ratio: float = 0.0, least: float = 0.0, groups: Positions | None = None
) -> float:
    """The variance of a weighted mean over m rows, each predicted by a model trained on t others: s² (1/m + 1/t), ratio
    m/t.

    1/m alone holds for new rows and a given model. In cross-validation each scored row is also a training row for
    others: if two rows are equal by chance, each is predicted better by the other, and chance counts twice (Nadeau &
    Bengio 2003, "Inference for the generalization error"). Rows of one group may be alike: then groups are the
    observations, if that makes it larger. NaN where it can't be known.

    >>> x, weight = np.array([1.0, 3.0]), np.ones(2)
    >>> variance_of_mean(x, weight), variance_of_mean(x, weight, held_out_ratio=1)
    (1.0, 2.0)
    >>> twice, pairs = np.repeat(x, 2), np.array([0, 0, 1, 1])
    >>> round(variance_of_mean(twice, np.ones(4)), 3), variance_of_mean(twice, np.ones(4), groups=pairs)
    (0.333, 1.0)
    """
    if len(x) < 2 or not np.isfinite(x).all():
        return float("nan")
    spread = np.average((x - np.average(x, weights=weight)) ** 2, weights=weight)
    by_rows = variance_by_rows(float(spread), effective_rows(weight.sum(), (weight**2).sum()), held_out_ratio, least)
    return by_rows if groups is None else max(by_rows, (1 + held_out_ratio) * _variance_by_groups(x, weight, groups))


def _variance_by_groups(x: Array, weight: Array, groups: Positions) -> float:
    """The variance of a weighted mean m: G/(G - 1) Σ over G groups of (Σ w (x - m))² / (Σ w)²; NaN for one group."""
    total = np.bincount(groups, weight * (x - np.average(x, weights=weight)))
    count = len(np.unique(groups))
    return float(count / (count - 1) * (total**2).sum() / weight.sum() ** 2) if count > 1 else float("nan")


def fold_ratio(folds: int) -> float:
    """The ratio of held-out to training rows, over all folds; leave-one-out has n folds.

    >>> fold_ratio(5)
    1.25
    """
    return folds / max(folds - 1, 1)


def of_bins(binned: Array) -> tuple[Array, Array, Array]:
    """The mean probability, the fraction correct and the weight of each non-empty bin."""
    weight, stated, right = binned[:, binned[0] > 0]
    return stated / weight, right / weight, weight


class ScoreFigures(ABC):
    """Figures of predicted class probabilities, from scored rows or from sums over them."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def classes(self) -> tuple[Any, ...]: ...

        @property
        def how(self) -> str: ...

        @property
        def rows(self) -> int:
            """The number of scored rows."""

        @property
        def n(self) -> float:
            """The weight of the scored rows."""

        @property
        def unknown(self) -> int:
            """The number of rows whose class was unknown to the model."""

    @property
    @abstractmethod
    def class_weights(self) -> Array:
        """The weight of the rows of each class."""

    @property
    @abstractmethod
    def pairs(self) -> tuple[NDArray[np.int64], Array]:
        """The cells of the confusion matrix that occur, as true class · classes + predicted class; their weights."""

    @property
    @abstractmethod
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one; a row of an unknown class counts as an error."""

    @property
    @abstractmethod
    def log_loss(self) -> float:
        """The mean of -log P(truth), in nats, over rows of classes that the model knew; NaN if there are none."""

    @property
    @abstractmethod
    def log_loss_error(self) -> float:
        """The standard error of the log-loss (see `variance_of_mean`); NaN where it can't be known.

        The losses' variance is at least what the predicted probabilities imply: a sample of well predicted rows says
        little about the size of rare large losses.
        """

    @property
    @abstractmethod
    def log_likelihood(self) -> float:
        """Σ w log P(truth); NaN if a row has a class that the model didn't know."""

    @property
    @abstractmethod
    def brier(self) -> float:
        """The mean of Σₖ (pₖ - [k is the truth])²"""

    @abstractmethod
    def reliability(self) -> tuple[Array, Array, Array]:
        """For each non-empty bin of the top probability: its mean, the fraction correct, and the weight of its rows."""

    def by_class(self) -> list[ClassScores]:
        """Precision and recall of each class; None where no row was predicted, or is, of that class.

        >>> log_probabilities = np.log([[0.8, 0.2], [0.4, 0.6]])
        >>> Scores(("no", "yes"), log_probabilities, np.array([0, 0]), np.ones(2)).by_class()[0]
        ClassScores(value='no', rows=2.0, precision=1.0, recall=0.5)
        """
        confusion = self.confusion
        right, true, predicted = np.diagonal(confusion), confusion.sum(1), confusion.sum(0)
        return [
            ClassScores(value, float(n), _share(hit, m), _share(hit, n))
            for value, hit, n, m in zip(self.classes, right, true, predicted, strict=True)
        ]

    @property
    def confusion(self) -> Array:
        """The confusion matrix: the weight of rows by true class (rows) and predicted class (columns)."""
        size, (keys, weight) = len(self.classes), self.pairs
        found = np.zeros(size * size)
        found[keys] = weight
        return found.reshape(size, size)

    def most_confused(self, few: int) -> list[tuple[Any, Any, float]]:
        """The most frequent confusions: true class, predicted class, weight of the rows."""
        keys, weight = self.pairs
        true, predicted = np.divmod(keys, len(self.classes))
        wrong = np.flatnonzero(true != predicted)
        order = wrong[np.argsort(-weight[wrong], kind="stable")[:few]]
        return [(self.classes[true[i]], self.classes[predicted[i]], float(weight[i])) for i in order]

    @property
    def commonest(self) -> tuple[Any, float]:
        """The most frequent class, and its share: the accuracy of always predicting it."""
        weight = self.class_weights
        return self.classes[int(weight.argmax())], float(weight.max() / weight.sum())

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean gap between probability and frequency, over 15 equal-width bins."""
        stated, right, weight = self.reliability()
        return float(np.average(np.abs(stated - right), weights=weight))

    def plot(self) -> Figure:
        """A reliability diagram: the fraction correct by predicted probability."""
        from credo.present.score_plot import plot_scores

        return plot_scores(self)

    def _repr_html_(self) -> str:
        from credo.present.classifiers import scores_content
        from credo.present.html import contents_html, notebook_html

        return notebook_html(contents_html(scores_content(self)))

    def summary(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("accuracy", "log_loss", "brier", "ece")}

    def __repr__(self) -> str:
        shown = {name.replace("_", "-"): f"{value:.4f}" for name, value in self.summary().items()}
        if np.isfinite(self.log_loss_error):
            shown["log-loss"] += f" ± {self.log_loss_error:.4f}"
        figures = ", ".join(f"{name} {value}" for name, value in shown.items())
        return f"{self.how}, {self.rows} rows{self.unknown_noted()}: {figures}"

    def unknown_noted(self) -> str:
        """A remark about rows whose class the model didn't know, if any."""
        if not self.unknown:
            return ""
        return f" ({self.unknown} of classes that no other row showed: counted as wrong, left out of the log-loss)"


class ScoredRows:
    """The figures that follow from the log-probability of each row's truth, for classes and numbers alike."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def weights(self) -> Array: ...

        @property
        def held_out_ratio(self) -> float: ...

        @property
        def groups(self) -> Positions | None: ...

        @property
        def known(self) -> NDArray[np.bool_]: ...

        @property
        def of_truth(self) -> Array: ...

    @property
    def rows(self) -> int:
        return len(self.weights)

    @property
    def n(self) -> float:
        return float(self.weights.sum())

    @property
    def unknown(self) -> int:
        return int((~self.known).sum())

    @property
    def log_likelihood(self) -> float:
        return float(self.weights @ self.of_truth)

    def _variance_of_loss(self, least: float = 0.0) -> float:
        loss, weight = -self.of_truth[self.known], self.weights[self.known]
        groups = None if self.groups is None else self.groups[self.known]
        return variance_of_mean(loss, weight, self.held_out_ratio, least, groups)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ScoredRows, ScoreFigures):
    """Predicted class probabilities and the true classes.

    >>> log_probabilities = np.log([[0.8, 0.2], [0.4, 0.6]])
    >>> scores = Scores(("no", "yes"), log_probabilities, np.array([0, 0]), np.ones(2))
    >>> scores.accuracy, round(scores.log_loss, 4), round(scores.brier, 4)
    (0.5, 0.5697, 0.4)
    """

    classes: tuple[Any, ...]
    log_probabilities: Array  # (rows, classes); NaN at the truth of a row whose class the model didn't know
    truth: NDArray[np.intp]  # (rows,) codes
    weights: Array  # (rows,)
    how: str = "given"  # how the predictions were made
    estimated: float = 0.0  # variance of the log-loss due to parameters estimated once for all rows
    held_out_ratio: float = 0.0  # the ratio of held-out to training rows; 0: the model was given
    groups: Positions | None = None  # (rows,) the group of each row, where groups are held out whole

    @property
    def class_weights(self) -> Array:
        return np.bincount(self.truth, self.weights, len(self.classes)).astype(np.float64)

    @property
    def pairs(self) -> tuple[NDArray[np.int64], Array]:
        keys, which = np.unique(self.truth * len(self.classes) + self.predicted, return_inverse=True)
        return keys.astype(np.int64), np.bincount(which, self.weights, len(keys)).astype(np.float64)

    @cached_property
    def probabilities(self) -> Array:
        """P(class | row); 0 for classes unknown to the model."""
        return np.nan_to_num(np.exp(self.log_probabilities), nan=0.0)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a class known to the model; a left-out row that is the only one of its class doesn't."""
        return ~np.isnan(self.of_truth)

    @property
    def of_truth(self) -> Array:
        return self.log_probabilities[np.arange(len(self.truth)), self.truth]

    @property
    def right(self) -> NDArray[np.bool_]:
        return np.asarray((self.predicted == self.truth) & self.known)

    @property
    def predicted(self) -> NDArray[np.intp]:
        return np.asarray(self.probabilities.argmax(1))

    def _mean(self, values: Array | NDArray[np.bool_]) -> float:
        return float(np.average(values, weights=self.weights))

    @property
    def accuracy(self) -> float:
        return self._mean(self.right)

    @property
    def log_loss(self) -> float:
        if not self.known.any():
            return float("nan")
        loss = -float(np.average(self.of_truth[self.known], weights=self.weights[self.known]))
        return 0.0 if loss <= 0 else loss  # neither -0.0 nor negative by rounding

    @property
    def log_loss_error(self) -> float:
        return float(np.sqrt(self._variance_of_loss(self._implied_variance) + self.estimated))

    @property
    def _implied_variance(self) -> float:
        """The variance of -log P(truth) if each truth is drawn from the predicted probabilities."""
        weight = self.weights[self.known]
        if not weight.sum() > 0:
            return 0.0
        mean, square = (np.average(each, weights=weight) for each in self.implied)
        return float(square - mean**2)

    @property
    def implied(self) -> tuple[Array, Array]:
        """The expected loss and squared loss of each row of a known class, under the predicted probabilities."""
        p = self.probabilities[self.known]
        loss = -np.log(np.where(p > 0, p, 1.0))
        return (p * loss).sum(1), (p * loss**2).sum(1)

    def log_loss_difference(self, other: Scores) -> tuple[float, float]:
        """This log-loss minus another on the same rows, and the standard error of the paired difference.

        >>> both = [np.log([[p, 1 - p], [0.5, 0.5]]) for p in (0.5, 0.8)]
        >>> one, two = (Scores(("no", "yes"), each, np.zeros(2, int), np.ones(2)) for each in both)
        >>> [round(x, 3) for x in one.log_loss_difference(two)]
        [0.235, 0.235]
        """
        if not np.array_equal(self.truth, other.truth):
            raise DataError("scores can be compared only on the same rows, but these are of different rows")
        both = self.known & other.known
        loss, weight = (other.of_truth - self.of_truth)[both], self.weights[both]
        mean = float(np.average(loss, weights=weight)) if weight.sum() > 0 else float("nan")
        ratio, groups = max(self.held_out_ratio, other.held_out_ratio), self.groups
        own = None if groups is None else groups[both]
        return mean, float(np.sqrt(variance_of_mean(loss, weight, ratio, groups=own)))

    @property
    def brier(self) -> float:
        return self._mean(self.squares)

    @property
    def squares(self) -> Array:
        """Σₖ (pₖ - [k is the truth])² of each row."""
        own = self.probabilities[np.arange(len(self.truth)), self.truth]
        return np.asarray((self.probabilities**2).sum(1) - 2 * own + 1)

    def reliability(self, bins: int = CALIBRATION_BINS) -> tuple[Array, Array, Array]:
        return of_bins(self.binned(bins))

    def binned(self, bins: int = CALIBRATION_BINS) -> Array:
        """The weight of the rows whose top probability is in each bin, that times the top probability, and the weight
        of those predicted right. (3, bins)"""
        top = self.probabilities.max(1)
        place = np.minimum((top * bins).astype(np.intp), bins - 1)
        each = self.weights, self.weights * top, self.weights * self.right
        return np.stack([np.bincount(place, own, bins) for own in each])
