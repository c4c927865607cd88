"""A mutable twin of a mixture, for streams of single rows: EM goes on whenever a few of them have come."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

from credo.models.mixture.model import Mixture
from credo.notices import quietly
from credo.streaming.waiting_rows import WaitingRows, table_of


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
        self._waiting = WaitingRows((*mixture.columns, str(mixture.classifier.target)))

    def observe(self, row: Mapping[str, Any], weight: float = 1.0) -> None:
        """Learn a row; a weight of 0 is none."""
        with self._turn:
            self._waiting.add(row, weight)
            if self._waiting.full:
                self._learn()

    def responsibilities(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """P(component | row), by the components' names."""
        with self._turn, quietly():
            shares = self._mixture.responsibilities(table_of([row], self._mixture.columns))[0]
            return dict(zip(self._mixture.names, shares.tolist(), strict=True))

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The most probable component."""
        shares = self.responsibilities(row)
        return max(shares, key=lambda name: shares[name])

    def log_prob(self, row: Mapping[str, Any]) -> float:
        """log p(row): low for a row unlike all that were learned."""
        with self._turn, quietly():
            return float(self._mixture.log_prob(table_of([row], self._mixture.columns))[0])

    def freeze(self) -> Mixture:
        """The mixture, with all rows that were observed."""
        with self._turn:
            self._learn()
            return self._mixture

    def _learn(self) -> None:
        waiting = self._waiting.taken()
        if waiting is None:
            return
        table, weights = waiting
        target = str(self._mixture.classifier.target)
        if all(label is None for label in table.get(target, ())):
            table.pop(target, None)
        with quietly():
            self._mixture = self._mixture.update(table, weight=weights)

    def __repr__(self) -> str:
        return f"live {self.freeze()!r}"
