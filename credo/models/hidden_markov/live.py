"""A hidden Markov model for streams: one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, EvidenceError, counted
from credo.models.hidden_markov.forecasting import Forecast, ahead
from credo.numerics.categorical import Categorical
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.hidden_markov.model import HiddenMarkov


class LiveStates:
    """P(state | the rows so far), row by row. Mutable; the model stays as it is.

    >>> from credo import HiddenMarkov
    >>> weather = {"walk": ["yes", "yes", "no", "no"] * 5, "sky": ["sun", "sun", "rain", "rain"] * 5}
    >>> live = HiddenMarkov().fit(weather, target="sky").live()
    >>> live.observe({"walk": "no"}).most_probable()
    'rain'
    """

    def __init__(self, model: HiddenMarkov) -> None:
        self.model, self.chain = model, model.chain
        self.restart()

    def restart(self) -> None:
        """A new sequence begins."""
        self.rows, self.log_prob = 0, 0.0  # log p of the rows so far
        self._positions: Array | None = None

    def observe(self, row: Mapping[str, Any]) -> Categorical:
        """P(state) after one more row; cells that aren't given are missing."""
        if not isinstance(row, Mapping):
            raise DataError(f"a row is {{column: value}}, but is {row!r:.60}")
        known = {name: value for name, value in row.items() if name in self.model.views}
        cells = {name: [value] for name, value in known.items()} or {next(iter(self.model.views)): [None]}
        table = self.model.opened(cells)
        (batch,) = table.batches(table.names)
        logs = self.chain.log_likelihood(batch.filled(self.model.views))
        self._learn(logs[0])
        return self.states

    def _learn(self, logs: Array) -> None:
        links, before = self.chain.links, self._positions
        expected = links.initial if before is None else before @ links.transitions
        with np.errstate(divide="ignore"):
            joint = np.log(expected) + logs
        total = np.logaddexp.reduce(joint)
        if np.isneginf(total):
            raise EvidenceError(f"row {self.rows + 1} is impossible after the rows before it: no state allows it")
        self._positions = np.exp(joint - total)
        self.rows, self.log_prob = self.rows + 1, self.log_prob + float(total)

    @property
    def states(self) -> Categorical:
        """P(state | the rows so far); before the first, P(first state)."""
        positions = self.chain.links.initial if self._positions is None else self._positions
        return Categorical(self.model.names, self.chain.pattern.shares(positions[None])[0])

    def forecast(self, steps: int = 1) -> list[Forecast]:
        """What comes next."""
        if self._positions is None:
            raise EvidenceError("nothing was observed yet: a forecast starts from the last row")
        return ahead(self.model.names, self.chain, self._positions, steps)

    def __repr__(self) -> str:
        return f"LiveStates({counted(self.rows, 'row')}, {self.states})"
