"""The same answers about the rows of a DataFrame that lives on an engine: columns of it, made there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credo import engines
from credo.data import Batch
from credo.models.frame_columns import Likeliest, filled, for_each_class, numbers, of_classes
from credo.networks.hybrid.row_answers import RowAnswers
from credo.networks.inference.sizes import Method
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """The job of one batch: an answer about each of its rows."""

    what: Literal["log_prob", "predict_proba", "means"]
    variable: str | None
    net: HybridNetwork
    method: Method
    samples: int
    seed: int

    def __call__(self, batch: Batch) -> tuple[Array]:
        asked = () if self.variable is None else (self.variable,)
        found: Array = getattr(RowAnswers(self.net, self.method, self.samples, self.seed), self.what)(*asked, batch)
        return (found,)


@dataclass(frozen=True, eq=False)
class FillRows:
    """The job of one batch: its columns, missing cells filled in."""

    net: HybridNetwork
    method: Method

    def __call__(self, batch: Batch) -> Any:
        return RowAnswers(self.net, self.method, 1, 0).impute(batch)


class FrameAnswers(RowAnswers):
    """Of a Dask or Spark DataFrame: that frame, with columns that are computed lazily."""

    def _job(self, what: Literal["log_prob", "predict_proba", "means"], variable: str | None = None) -> AnswerRows:
        return AnswerRows(what, variable, self.net, self.method, self.samples, self.seed)

    def log_prob(self, data: object) -> Any:
        table, names = self.inference.opened(data)
        return numbers(table, names, self._job("log_prob"), "log_prob")

    def log_prob_here(self, data: object) -> Array:
        """As an array. (rows,)"""
        table, names = self.inference.opened(data)
        parts = [found for (found,) in engines.map(self._job("log_prob"), table.partitions(names))]
        return np.concatenate([np.empty(0), *parts])

    def predict_proba(self, variable: str, data: object) -> Any:
        states = self.states_of(variable)
        table, names = self.inference.opened(data)
        return for_each_class(table, names, self._job("predict_proba", variable), "P({})", states)

    def predict(self, variable: str, data: object) -> Any:
        table, names = self.inference.opened(data)
        if self.net._known(variable) in self.net.numbers:
            return numbers(table, names, self._job("means", variable))
        return of_classes(table, names, Likeliest(self._job("predict_proba", variable)), self.net.states[variable])

    def impute(self, data: object) -> Any:
        self.check_exact()
        table, names = self.inference.opened(data)
        return filled(table, FillRows(self.net, self.method), names)
