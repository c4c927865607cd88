"""Tuning: settings inferred from held-out rows, stored apart from the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc

from credo.blocks.block import ALL, Settings
from credo.blocks.capabilities import Ignored
from credo.data import Batch
from credo.data.arrow_arrays import number_array, scalar
from credo.data.schema import Axis
from credo.numerics.exact import Array
from credo.selection.linear_terms import DiscriminativeTerm

FAR = "numbers far outside the learned range"


@dataclass(frozen=True)
class Tuning:
    """Which forms each column is read in, the weight of each, biases, label noise, and what the priors are worth."""

    forms: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Mapping[str, float]]  # {form: {term: weight}}
    classes: tuple[Any, ...]
    biases: tuple[float, ...]
    smoothing: float
    strength: float
    rows: float  # the weight of the rows that it was chosen on
    log_loss: float  # on held-out rows, used neither to fit nor to tune
    mixed: str | None = None  # the form whose log-likelihoods are mixed between classes
    mixture: tuple[tuple[float, ...], ...] = ()
    odds: Mapping[Axis, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: c and p}
    shrinkage: float = 1.0  # of the covariance of columns together
    discount: float = 0.0  # (the share of cells that are known)^discount is what a row's evidence is worth
    backoff: float = 5.0  # of pairs of cells: rows that p(cell | class) is worth
    label_noise: float = 0.0  # the share of rows whose class has nothing to do with their cells
    parts: tuple[DiscriminativeTerm, ...] = ()  # logistic regression and a tree, as they were fitted to the rows
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of the numbers of each column

    def applied_to(self, settings: Settings) -> Settings:
        own = {name: getattr(self, name) for name in ("smoothing", "strength", "odds", "shrinkage", "backoff")}
        return replace(settings, **own)

    def weights_of(self, form: str, terms: Sequence[str]) -> Array:
        own = self.weights.get(form, {})
        return np.array([own.get(term, own.get(ALL, 0.0)) for term in terms])

    def biases_of(self, classes: Sequence[Any]) -> Array:
        """A class that came later has none."""
        own = dict(zip(self.classes, self.biases, strict=True))
        return np.array([own.get(value, 0.0) for value in classes])

    def mixture_of(self, classes: Sequence[Any]) -> Array:
        """None if a class came later: it would be at a disadvantage."""
        place = {value: k for k, value in enumerate(self.classes)}
        if not set(classes) <= place.keys():
            return np.zeros((len(classes), len(classes)))
        kept = [place[value] for value in classes]
        return np.array(self.mixture)[np.ix_(kept, kept)]

    def read_as(self, name: str) -> tuple[str, ...]:
        """The forms of a column, and the parts that read it, too."""
        return (*self.forms.get(name, ()), *(form for form, names in self._read_by_parts if name in names))

    @cached_property
    def _read_by_parts(self) -> list[tuple[str, frozenset[str]]]:
        return [(part.form, frozenset(part.names)) for part in self.parts]

    def within(self, batch: Batch) -> tuple[Batch, Ignored]:
        """Numbers beyond a column's range by more than half its width are missing; they are counted if chance doesn't
        explain so many.

        No row told the weights what such numbers mean, as no row told what an unseen category means. Of rows like those
        that were learned, at most 2 in n + 1 lie outside a column's range at all.
        """
        columns, ignored = dict[str, object](), dict[tuple[str, str], int]()
        there = set(batch.names)
        names = [name for name in self.ranges if name in there]
        low, high = np.array([self.ranges[name] for name in names]).reshape(-1, 2).T
        with np.errstate(invalid="ignore", over="ignore"):  # halves can't overflow
            beyond = np.abs(batch.matrix(names) / 2 - (low / 4 + high / 4)) > high / 2 - low / 2
        for j in np.flatnonzero(beyond.any(0)).tolist():
            name, far = names[j], np.ascontiguousarray(beyond[:, j])
            columns[name] = pc.if_else(number_array(far), scalar(None, (own := batch.column(name)).type), own)
            if far.sum() > 2 * batch.rows / (self.rows + 1):
                ignored[name, FAR] = int(far.sum())
        return (batch.with_columns(columns) if columns else batch), ignored

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(name for name, forms in self.forms.items() if forms)

    def described(self, rows: float) -> str:
        noise = f"label noise {self.label_noise:.2g}, " if self.label_noise else ""
        older = "" if np.isclose(rows, self.rows) else f" (on {self.rows:g} rows: older than the evidence)"
        each = [weight for weights in self.weights.values() for weight in weights.values() if weight] or [0.0]
        return (
            f"smoothing {self.smoothing:g}, strength {self.strength:g}, weights {min(each):.3g} to {max(each):.3g}, "
            f"{noise}log-loss {self.log_loss:.4f}{older}"
        )


def worth(missing: Array, discount: Array | float) -> Array:
    """(1 - missing)^discount: by how much the evidence of rows is multiplied of whose cells such shares are missing.

    Columns that covary fill in for each other. Weights that were found on whole rows don't know that.
    """
    return np.asarray((1 - missing) ** discount)
