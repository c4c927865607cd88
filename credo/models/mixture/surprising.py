"""Outliers: how surprising rows are, and which of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo import engines
from credo.data import Batch
from credo.errors import DataError
from credo.models.class_jobs import LogJoint
from credo.models.discriminant import GaussianDiscriminant
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture


def surprise(mixture: Mixture, data: object) -> pa.Table:
    """Rows, counted from 1, the most surprising first.

    `column` is the one whose surprise exceeds its mean over these rows most, by `excess` nats; empty if no column
    exceeds its mean.
    """
    model = mixture.classifier
    table = model.opened(data)
    parts = [*engines.map(Surprise(model), table.partitions(model._present(table)))]
    if not parts:
        raise DataError("the data is empty: there are no rows to look at")
    total, codes, each = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(-total, kind="stable")
    excess = each - each.mean(0)
    worst = excess.argmax(1)
    by = excess[np.arange(len(worst)), worst]
    names = np.array([*model.terms_by_column(_no_rows(model)), ""], dtype=object)
    columns = names[np.where(by > 0, worst, len(names) - 1)]
    return pa.table(
        {
            "row": pa.array(order + 1),
            "surprise": total[order],
            str(model.target): pa.array(model.classes).take(pa.array(codes[order])),
            "column": pa.array(columns[order].tolist(), type=pa.string()),
            "excess": np.maximum(by, 0.0)[order],
        }
    )


@dataclass(frozen=True, eq=False)
class Surprise:
    """The job of one batch: -log p(row), the most probable component, and -log p(cell | components) of each column."""

    model: GaussianDiscriminant

    def __call__(self, batch: Batch) -> tuple[Array, Any, Array]:
        log_joint, _ = LogJoint(self.model)(batch)
        total = np.logaddexp.reduce(log_joint, axis=1)
        shares = np.exp(log_joint - total[:, None])
        each = self.model.terms_by_column(batch)
        columns = [-np.einsum("nk,nk->n", shares, said) for said in each.values()]
        return -total, log_joint.argmax(1), np.stack(columns, axis=1)


def _no_rows(model: GaussianDiscriminant) -> Batch:
    return Batch(0, 0, {name: pa.nulls(0) for name in model.views})
