"""Forecasts: distributions of states and columns, some steps after the last row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.column_laws import column_laws
from credo.core.records import Shown
from credo.errors import DataError, counted
from credo.models.hidden_markov.jobs import LastState
from credo.numerics.categorical import Categorical
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.hidden_markov.expecting import HiddenChain
    from credo.models.hidden_markov.model import HiddenMarkov


SHOWN_COLUMNS = 4  # columns of a forecast


@dataclass(frozen=True, eq=False)
class Forecast(Shown, Mapping[str, Any]):
    """One step ahead: P(state), and the distribution of each column: {value: probability}, or that of a number. Texts
    have none."""

    steps: int  # after the last row
    states: Categorical
    columns: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        said = [
            _said("state", self.states),
            *(_said(name, law) for name, law in [*self.columns.items()][:SHOWN_COLUMNS]),
        ]
        more = "; ..." if len(self.columns) > SHOWN_COLUMNS else ""
        return f"Forecast({counted(self.steps, 'step')} ahead: {'; '.join(said)}{more})"


def _said(name: str, law: Any) -> str:
    """The most probable value, or the mean and an interval."""
    if isinstance(law, Categorical):
        value = law.most_probable()
        return f"{name} {value} with P = {law[value]:.3g}"
    low, high = law.interval(0.95)
    return f"{name} {float(law.mean()):.4g}, 95% interval {float(low):.4g} to {float(high):.4g}"


def forecasts(model: HiddenMarkov, data: object, steps: int) -> list[Forecast]:
    """The forecasts after the last row of the only sequence."""
    last = model._collected(data, LastState(model.chain), np.empty((0, len(model.pattern.positions))))
    if len(last) != 1:
        raise DataError(f"a forecast starts from the end of one sequence, but there are {len(last)}")
    return ahead(model.names, model.chain, last[0], steps)


def ahead(names: tuple[Any, ...], chain: HiddenChain, positions: Array, steps: int) -> list[Forecast]:
    """The forecasts for each step, by repeated transitions from P(position) at the last row."""
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise DataError(f"the number of steps ahead must be whole and at least 1, but is {steps!r}")
    laws: dict[str, Any] = {}
    for likelihood in chain.emission.conditional.likelihoods:
        laws |= column_laws(likelihood)
    found = []
    for step in range(1, steps + 1):
        positions = positions @ chain.links.transitions
        states = chain.pattern.shares(positions[None])[0]
        groups = chain.emission.of_groups(states)
        columns = {name: law.mixed(groups) for name, law in laws.items()}
        found.append(Forecast(step, Categorical(names, states), columns))
    return found
