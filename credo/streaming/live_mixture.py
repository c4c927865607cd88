"""A mutable twin of a mixture, for streams of single rows: EM goes on whenever a few of them have come."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

import numpy as np

from credo.errors import DataError
from credo.models.mixture.model import Mixture
from credo.notices import quietly

ROWS = 100  # that are kept before EM goes on with them


class LiveMixture:
    """observe(row) learns a row in place, responsibilities(row) says which component it belongs to, freeze() is the
    mixture.

    Rows are dicts {column: value}; what isn't there, None and NaN are missing. Rows are learned a hundred at a time, or
    when the mixture is asked for: with what was learned before, as `update` does. Threads take turns.

    >>> live = Mixture(2).fit({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]}).live()
    >>> live.observe({"x": 0.15})
    >>> live.freeze().n
    7.0
    """

    def __init__(self, mixture: Mixture) -> None:
        _ = mixture.classifier  # refused, where nothing was learned
        self._turn, self._mixture = RLock(), mixture
        self._rows: list[dict[str, Any]] = []
        self._weights: list[float] = []

    def observe(self, row: Mapping[str, Any], weight: float = 1.0) -> None:
        """Learn a row; a weight of 0 is none."""
        if not isinstance(row, Mapping):
            raise DataError(f"a row must be a dict {{column: value}}, but is a {type(row).__name__}")
        if not (isinstance(weight, int | float | np.number) and 0 <= weight < np.inf):
            raise DataError(f"a weight must be 0 or more, but is {weight!r:.60}")
        known = (*self._mixture.columns, str(self._mixture.classifier.target))
        if not any(name in row for name in known):
            raise DataError(f"the row has none of the model's columns ({', '.join(known[:8])})")
        with self._turn:
            self._rows.append({name: row.get(name) for name in known if name in row})
            self._weights.append(float(weight))
            if len(self._rows) >= ROWS:
                self._learn()

    def responsibilities(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """P(component | row), by the components' names."""
        with self._turn, quietly():
            shares = self._mixture.responsibilities(_table([row], self._mixture.columns))[0]
            return dict(zip(self._mixture.names, shares.tolist(), strict=True))

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The most probable component."""
        shares = self.responsibilities(row)
        return max(shares, key=lambda name: shares[name])

    def log_prob(self, row: Mapping[str, Any]) -> float:
        """log p(row): low for a row unlike all that were learned."""
        with self._turn, quietly():
            return float(self._mixture.log_prob(_table([row], self._mixture.columns))[0])

    def freeze(self) -> Mixture:
        """The mixture, with all rows that were observed."""
        with self._turn:
            self._learn()
            return self._mixture

    def _learn(self) -> None:
        if not any(self._weights):
            self._rows, self._weights = [], []
            return
        names = [name for name in self._mixture.columns if any(name in row for row in self._rows)]
        target = str(self._mixture.classifier.target)
        labelled = any(row.get(target) is not None for row in self._rows)
        table = _table(self._rows, [*names, *([target] if labelled else [])])
        with quietly():
            self._mixture = self._mixture.update(table, weight=self._weights)
        self._rows, self._weights = [], []

    def __repr__(self) -> str:
        return f"live {self.freeze()!r}"


def _table(rows: list[Any], names: Any) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}
