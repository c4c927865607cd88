"""A mutable twin of a linear regression, for streams of single rows."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

from credo.models.regression.linear import LinearRegression
from credo.notices import quietly
from credo.numerics.distributions import StudentT
from credo.streaming.waiting_rows import WaitingRows, table_of


class LiveRegression:
    """observe(row) learns a row in place, predict(row) and predictive(row) predict its target, freeze() is the model.

    Rows are dicts {column: value}; what isn't there, None and NaN are missing. The evidence is that of `update` with
    the same rows; they are added a hundred at a time, or when somebody asks. Threads take turns.

    >>> rooms = {"rooms": [1, 2, 3, 4], "price": [11.0, 18.0, 32.0, 39.0]}
    >>> live = LinearRegression(ridge=0).fit(rooms, target="price").live()
    >>> live.observe({"rooms": 5, "price": 52.0})
    >>> round(live.predict({"rooms": 6}), 2)
    61.3
    """

    def __init__(self, model: LinearRegression) -> None:
        _ = model.fitted  # refused, where nothing was learned
        assert model.columns is not None
        self._turn, self._model = RLock(), model
        self._waiting = WaitingRows(model.columns)

    def observe(self, row: Mapping[str, Any], weight: float = 1.0) -> None:
        """Learn a row; a weight of 0 is none."""
        with self._turn:
            self._waiting.add(row, weight)
            if self._waiting.full:
                self._learn()

    def predict(self, row: Mapping[str, Any]) -> float:
        """The mean of the row's target."""
        return float(self.predictive(row).mean())

    def predictive(self, row: Mapping[str, Any]) -> StudentT:
        """The distribution of the row's target."""
        model = self.freeze()
        names = [name for name in (model.columns or ())[:-1] if name in row]
        with quietly():
            found = model.predictive(table_of([row], names))
        return StudentT(found.degrees, float(found.location[0]), float(found.scale[0]))

    def freeze(self) -> LinearRegression:
        """The regression, with all rows that were observed."""
        with self._turn:
            self._learn()
            return self._model

    def _learn(self) -> None:
        waiting = self._waiting.taken()
        if waiting is None:
            return
        table, weights = waiting
        target = str(self._model.target)
        if target in table:
            with quietly():
                self._model = self._model.update(table, weight=weights)

    def __repr__(self) -> str:
        return f"live {self.freeze()!r}"
