"""Streaming mixtures: a mutable model that learns single rows, by EM in small batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.models.mixture.model import Mixture
from credo.notices import quietly
from credo.streaming.row_buffer import LearnsInTurns, table_of


class LiveMixture(LearnsInTurns[Mixture]):
    """observe(row) learns a row in place, responsibilities(row) gives P(component | row), freeze() is the
    mixture.

    Rows are dicts {column: value}; absent cells, None and NaN are missing. Rows are learned a hundred at a time, or
    when the mixture is needed, as by `update`. It is thread-safe.

    >>> live = Mixture(2).fit({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]}).live()
    >>> live.observe({"x": 0.15})
    >>> live.freeze().n
    7.0
    """

    def __init__(self, mixture: Mixture) -> None:
        classifier = mixture.classifier  # an error if nothing was learned
        super().__init__(mixture, mixture.columns, str(classifier.target))

    def responsibilities(self, row: Mapping[str, object]) -> dict[Any, float]:
        """P(component | row), by the components' names."""
        with self._turn, quietly():
            shares = self._model.responsibilities(table_of([row], self._model.columns))[0]
            return dict(zip(self._model.names, shares.tolist(), strict=True))

    def predict(self, row: Mapping[str, object]) -> Any:
        """The most probable component."""
        shares = self.responsibilities(row)
        return max(shares, key=lambda name: shares[name])

    def log_prob(self, row: Mapping[str, object]) -> float:
        """log p(row): low for an outlier."""
        with self._turn, quietly():
            return float(self._model.log_prob(table_of([row], self._model.columns))[0])

    def _updated(self, table: dict[str, list[Any]], weights: list[float]) -> Mixture:
        if all(label is None for label in table.get(self._target, ())):
            table.pop(self._target, None)
        return self._model.update(table, weight=weights)
