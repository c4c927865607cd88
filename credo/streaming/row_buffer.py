"""Buffering of single rows, which are learned in small batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np

from credo.errors import DataError
from credo.notices import quietly

MOST_WAITING = 100  # rows
Model = TypeVar("Model")


class WaitingRows:
    """A buffer of rows, dicts {column: value}; a model reads the columns `known`."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = tuple(known)
        self._rows: list[dict[str, Any]] = []
        self._weights: list[float] = []

    def add(self, row: Mapping[str, object], weight: float) -> None:
        if not isinstance(row, Mapping):
            raise DataError(f"a row must be a dict {{column: value}}, but is a {type(row).__name__}")
        if not (isinstance(weight, int | float | np.number) and 0 <= weight < np.inf):
            raise DataError(f"a weight must be 0 or more, but is {weight!r:.60}")
        if not any(name in row for name in self._known):
            raise DataError(f"the row has none of the model's columns ({', '.join(self._known[:8])})")
        self._rows.append({name: row.get(name) for name in self._known if name in row})
        self._weights.append(float(weight))

    @property
    def full(self) -> bool:
        return len(self._rows) >= MOST_WAITING

    def taken(self) -> tuple[dict[str, list[Any]], list[float]] | None:
        """Empty the buffer: a table of its rows, and their weights; None if no row has a positive weight."""
        rows, weights = self._rows, self._weights
        self._rows, self._weights = [], []
        if not any(weights):
            return None
        return table_of(rows, [name for name in self._known if any(name in row for row in rows)]), weights


def table_of(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}


class LearnsInTurns(ABC, Generic[Model]):
    """A live model that learns rows a hundred at a time, or when it is needed, as by `update`. It is thread-safe."""

    def __init__(self, model: Model, columns: Sequence[str], target: str) -> None:
        self._turn, self._model, self._columns, self._target = RLock(), model, tuple(columns), target
        self._waiting = WaitingRows((*columns, target))

    def observe(self, row: Mapping[str, object], weight: float = 1.0) -> None:
        """Learn a row; one of weight 0 is ignored."""
        with self._turn:
            self._waiting.add(row, weight)
            if self._waiting.full:
                self._learn()

    def freeze(self) -> Model:
        """The model, with all rows that were observed."""
        with self._turn:
            self._learn()
            return self._model

    def _learn(self) -> None:
        if (waiting := self._waiting.taken()) is not None:
            table, weights = waiting
            with quietly():
                self._model = self._updated(table, weights)

    @abstractmethod
    def _updated(self, table: dict[str, list[Any]], weights: list[float]) -> Model: ...

    def __repr__(self) -> str:
        return f"live {self.freeze()!r}"
