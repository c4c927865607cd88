"""Streaming regressions: mutable models that learn single rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from credo.models.regression.linear import LinearRegression
from credo.models.regression.logistic import LogisticRegression
from credo.notices import quietly
from credo.numerics.distributions import StudentT
from credo.streaming.row_buffer import LearnsInTurns

Model = TypeVar("Model", LinearRegression, LogisticRegression)


class _LiveModel(LearnsInTurns[Model]):
    """A live model that ignores rows without a target."""

    def _updated(self, table: dict[str, list[Any]], weights: list[float]) -> Model:
        known = any(cell is not None for cell in table.get(self._target, ()))
        return self._model.update(table, weight=weights) if known else self._model

    def _cells(self, row: Mapping[str, object]) -> dict[str, Any]:
        return {name: row.get(name) for name in self._columns}


class LiveRegression(_LiveModel[LinearRegression]):
    """observe(row) learns a row in place, predict(row) and predictive(row) predict its target, freeze() is the model.

    Rows are dicts {column: value}; absent cells, None and NaN are missing. The evidence is that of `update` with the
    same rows.

    >>> rooms = {"rooms": [1, 2, 3, 4], "price": [11.0, 18.0, 32.0, 39.0]}
    >>> live = LinearRegression(ridge=0).fit(rooms, target="price").live()
    >>> live.observe({"rooms": 5, "price": 52.0})
    >>> round(live.predict({"rooms": 6}), 2)
    61.3
    """

    def __init__(self, model: LinearRegression) -> None:
        _ = model.fitted  # refused, where nothing was learned
        super().__init__(model, (model.columns or ())[:-1], str(model.target))

    def predict(self, row: Mapping[str, object]) -> float:
        """The mean of the row's target."""
        return float(self.predictive(row).mean())

    def predictive(self, row: Mapping[str, object]) -> StudentT:
        """The distribution of the row's target."""
        model = self.freeze()
        with quietly():
            return model.predictive(self._cells(row))


class LiveLogistic(_LiveModel[LogisticRegression]):
    """observe(row) learns a row in place, predict_proba(row) and predict(row) predict its class, freeze() is the model.

    The Gaussian posterior is the prior of new rows: see `update`. The classes are those of the model.

    >>> hours = {"hours": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "passed": ["no", "no", "yes", "no", "yes", "yes"]}
    >>> live = LogisticRegression(strength=1).fit(hours, target="passed").live()
    >>> live.observe({"hours": 7.0, "passed": "yes"})
    >>> live.predict({"hours": 6.0}), live.freeze().n
    ('yes', 7.0)
    """

    def __init__(self, model: LogisticRegression) -> None:
        _ = model.seen  # refused, where nothing was learned
        super().__init__(model, model.feature_names, str(model.target))

    def predict_proba(self, row: Mapping[str, object]) -> dict[Any, float]:
        """{class: P(class | row)}"""
        model = self.freeze()
        with quietly():
            shares = model.predict_proba([self._cells(row)])[0]
        return dict(zip(model.classes, shares.tolist(), strict=True))

    def predict(self, row: Mapping[str, object]) -> Any:
        """The most probable class."""
        shares = self.predict_proba(row)
        return max(shares, key=lambda value: shares[value])
