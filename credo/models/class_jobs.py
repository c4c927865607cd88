"""Engine jobs of predictors of classes: predict, leave rows out, score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo._kernels.models.shares import lower_by_log_total, lower_to_top
from credo.blocks.capabilities import Ignored
from credo.core.learning import RowWeights
from credo.core.membership import Codes
from credo.data import Batch
from credo.data.fingerprints import Fingerprints, cell_prints
from credo.errors import EvidenceError
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor
    from credo.models.classifier import Classifier
    from credo.models.discriminant import GaussianDiscriminant

Job = Callable[[Batch], tuple[Array, Ignored]]  # the results for each row, and the ignored cells


@dataclass(frozen=True, eq=False)
class Placed:
    """A job for threads that share memory: it writes a batch's results to their place in one array.

    If the collecting thread copied large arrays, the others would wait for it.
    """

    job: Job
    found: Array  # (rows of the whole table, columns)

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        part, ignored = self.job(batch)
        self.found[batch.start : batch.start + len(part)] = part
        return part[:0].copy(), ignored  # no view, which would keep the rows in memory


@dataclass(frozen=True, eq=False)
class LogJoint:
    """log p(row, class), untuned."""

    model: Classifier

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        return self.model.terms.log_joint(batch.filled(self.model.views), base=True)


@dataclass(frozen=True, eq=False)
class RowLogProb:
    """log p(row), untuned."""

    model: Classifier

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        found, ignored = LogJoint(self.model)(batch)
        return np.logaddexp.reduce(found, axis=1), ignored


@dataclass(frozen=True, eq=False)
class Probabilities:
    """P(class | row)."""

    model: ClassPredictor

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        return self.model._probabilities(batch)


@dataclass(frozen=True, eq=False)
class LogProbabilities:
    """log P(class | row)."""

    model: ClassPredictor

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        log_joint, ignored = self.model._log_joint(batch)
        if (row := to_log_shares(log_joint)) >= 0:
            raise EvidenceError(self.model.impossible(batch.slice(row, 1)))
        return log_joint, ignored


@dataclass(frozen=True, eq=False)
class MostProbableClass:
    """The code of the most probable class."""

    model: ClassPredictor

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        log_joint, ignored = self.model._log_joint(batch)
        if (row := lower_to_top(log_joint)) >= 0:
            raise EvidenceError(self.model.impossible(batch.slice(row, 1)))
        return log_joint.argmax(1)[:, None].astype(np.float64), ignored


@dataclass(frozen=True, eq=False)
class LeastLoss:
    """The code of the decision of least expected loss; the number of classes where rejecting is cheaper."""

    model: ClassPredictor
    loss: Array  # (truth, decision)
    reject: float

    def __call__(self, batch: Batch) -> tuple[Array, Ignored]:
        shares, ignored = self.model._probabilities(batch)
        expected = shares @ self.loss
        codes = np.where(expected.min(1) > self.reject, len(self.loss), expected.argmin(1))
        return codes[:, None].astype(np.float64), ignored


@dataclass(frozen=True, eq=False)
class WithProbabilities:
    """The batch, and P(class | row)."""

    model: ClassPredictor

    def __call__(self, batch: Batch) -> tuple[Batch, Array, Ignored]:
        return batch, *self.model._probabilities(batch)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """For labelled rows: leave-one-out log P(class | row), the class, and the weight."""

    model: ClassPredictor
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[Array, Codes, Array]:
        log_shares, own = self.model._left_out(self.weights, batch)
        return log_shares, own.codes, own.weight


@dataclass(frozen=True, eq=False)
class ScoredClasses:
    """For labelled rows: log P(class | row), the class, and the weight."""

    model: ClassPredictor
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[Array, Codes, Array]:
        batch, own = self.model.members(batch, self.weights)
        log_shares, _ = LogProbabilities(self.model)(batch)
        return log_shares, own.codes, own.weight


@dataclass(frozen=True, eq=False)
class Prints:
    """The class of each row, and the fingerprints of its cells."""

    model: ClassPredictor
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> tuple[Codes, Fingerprints]:
        return self.model.codes_of(batch), cell_prints(batch, self.names)


@dataclass(frozen=True, eq=False)
class ClassDistances:
    """The Mahalanobis distance of each row from each class mean."""

    model: GaussianDiscriminant

    def __call__(self, batch: Batch) -> tuple[Any, Ignored]:
        likelihood = self.model._numbers()
        return likelihood.mahalanobis(likelihood.read(batch.filled(self.model.views))), {}


def to_log_shares(log_joint: Array) -> int:
    """Normalise to log P(class | row), in place; returns the first row that is impossible under every class, or -1."""
    row = lower_to_top(log_joint)
    if row < 0:
        lower_by_log_total(log_joint, np.exp(log_joint))
    return row
