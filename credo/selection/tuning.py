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

OUT_OF_RANGE = "numbers far outside the learned range"


@dataclass(frozen=True)
class Tuning:
    """The forms of columns, the weights of terms, biases, label noise, and the strengths of priors."""

    forms: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Mapping[str, float]]  # {form: {term: weight}}
    classes: tuple[Any, ...]
    biases: tuple[float, ...]
    smoothing: float
    strength: float
    rows: float  # the weight of the rows that were used for tuning
    log_loss: float  # on held-out rows, used neither to fit nor to tune
    mixed: str | None = None  # the form whose log-likelihoods are mixed between classes
    mixture: tuple[tuple[float, ...], ...] = ()
    odds: Mapping[Axis, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: c and p}
    shrinkage: float = 1.0  # of covariances
    discount: float = 0.0  # a row's evidence is multiplied by (share of known cells)^discount
    backoff: float = 5.0  # of pairs of cells: rows by which p(cell | class) is weighted
    label_noise: float = 0.0  # the share of rows whose class is independent of their cells
    parts: tuple[DiscriminativeTerm, ...] = ()  # a fitted logistic regression and a tree
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of the numbers of each column

    def applied_to(self, settings: Settings) -> Settings:
        own = {name: getattr(self, name) for name in ("smoothing", "strength", "odds", "shrinkage", "backoff")}
        return replace(settings, **own)

    def weights_of(self, form: str, terms: Sequence[str]) -> Array:
        own = self.weights.get(form, {})
        return np.array([own.get(term, own.get(ALL, 0.0)) for term in terms])

    def biases_of(self, classes: Sequence[Any]) -> Array:
        """The biases of classes; 0 for a class that came later."""
        own = dict(zip(self.classes, self.biases, strict=True))
        return np.array([own.get(value, 0.0) for value in classes])

    def mixture_of(self, classes: Sequence[Any]) -> Array:
        """The mixture between classes; 0 if a class came later, which would be at a disadvantage."""
        place = {value: k for k, value in enumerate(self.classes)}
        if not set(classes) <= place.keys():
            return np.zeros((len(classes), len(classes)))
        kept = [place[value] for value in classes]
        return np.array(self.mixture)[np.ix_(kept, kept)]

    def read_as(self, name: str) -> tuple[str, ...]:
        """The forms of a column, and the discriminative parts that read it."""
        return (*self.forms.get(name, ()), *(form for form, names in self._read_by_parts if name in names))

    @cached_property
    def _read_by_parts(self) -> list[tuple[str, frozenset[str]]]:
        return [(part.form, frozenset(part.names)) for part in self.parts]

    def within(self, batch: Batch) -> tuple[Batch, Ignored]:
        """The batch with numbers beyond a column's range by more than half its width missing, and their counts.

        Such numbers are ignored like unseen categories: no row says what they mean. They are counted if there are more
        than expected: of new rows like the n learned ones, 2 in n + 1 lie outside a column's range.
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
                ignored[name, OUT_OF_RANGE] = int(far.sum())
        return (batch.with_columns(columns) if columns else batch), ignored

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The columns that the tuning uses."""
        return tuple(name for name, forms in self.forms.items() if forms)

    def described(self, rows: float) -> str:
        noise = f"label noise {self.label_noise:.2g}, " if self.label_noise else ""
        older = "" if np.isclose(rows, self.rows) else f" (on {self.rows:g} rows: older than the evidence)"
        each = [weight for weights in self.weights.values() for weight in weights.values() if weight] or [0.0]
        loss = "no held-out log-loss" if np.isnan(self.log_loss) else f"log-loss {self.log_loss:.4f}"
        return (
            f"smoothing {self.smoothing:g}, strength {self.strength:g}, weights {min(each):.3g} to {max(each):.3g}, "
            f"{noise}{loss}{older}"
        )


def discount_factor(missing: Array, discount: Array | float) -> Array:
    """(1 - missing)^discount, the factor of a row's evidence given its share of missing cells.

    Weights are fitted to complete rows, in which correlated columns share the evidence; with missing cells they don't
    sum to the same evidence.
    """
    return np.asarray((1 - missing) ** discount)
