"""A dynamic network: filtered and smoothed marginals of each slice, and forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, suggest
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, number_in
from credo.explorer.screens.snippets import called
from credo.networks.templates.dynamic_network import DynamicNetwork
from credo.present.templates import template_lines

REQUEST_SLICES = 20_000  # slices per request
PLOTTED_SLICES = 600  # drawn
DEFAULT_SLICES_AHEAD, MOST_SLICES_AHEAD = 12, 200  # ahead


class SlicesScreen:
    """Findings of each slice, filtered or smoothed beliefs over time, and forecasts."""

    kind: ClassVar[str] = "slices"
    title: ClassVar[str] = "Slices"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.net: DynamicNetwork = subject.model
        if not self.net.tables:
            raise DataError("the network has no tables: fit it, or give them")

    def opened(self) -> Answer:
        arrows, *tables = template_lines(self.net)
        return {
            "variables": [
                {"name": name, "states": [str(each) for each in self.net.states[name]], "parents": [*own]}
                for name, own in self.net.parents.items()
            ],
            "arrows": arrows,
            "tables": tables,
            "has_rows": self.subject.data is not None,
            "rows": None if self.subject.data is None else self._first_rows(),
        }

    def _first_rows(self) -> list[dict[str, Any]]:
        """The first of the given rows, as text."""
        from credo.data import source

        table = source(self.subject.data)
        names = [name for name in self.net.parents if name in table.names]
        rows: list[dict[str, Any]] = []
        for batch in table.batches(names):
            columns = [batch.column(name).to_pylist()[: PLOTTED_SLICES - len(rows)] for name in names]
            rows += [
                {name: str(value) for name, value in zip(names, row, strict=True) if value is not None}
                for row in zip(*columns, strict=True)
            ]
            if len(rows) >= PLOTTED_SLICES:
                break
        return rows

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"beliefs": self.beliefs}

    def beliefs(self, asked: Asked) -> Answer:
        """P(state) of each variable in each slice: filtered, smoothed, and forecast."""
        rows = asked.get("rows")
        data: Any = self.subject.data if rows is None else self._findings(rows)
        if data is None:
            raise DataError("give findings of slices, or start with `credo explore m.credo --data rows.csv`")
        steps = int(min(max(number_in(asked, "steps", DEFAULT_SLICES_AHEAD), 1), MOST_SLICES_AHEAD))
        filtered, smoothed = self.net.filter(data), self.net.smooth(data)
        found: Answer = {
            "filtered": {name: _turned(each) for name, each in filtered.items()},
            "smoothed": {name: _turned(each) for name, each in smoothed.items()},
            "slices": len(next(iter(filtered.values()))),
            "log_probability": float(np.sum(self.net.log_prob(data))),
        }
        try:
            ahead = self.net.forecast(data, steps)
            found["forecast"] = {name: [[*map(float, each[name].values())] for each in ahead] for name in filtered}
        except DataError as error:  # several sequences have several ends
            found["no_forecast"] = str(error)
        own, file = called(self.subject)
        given = "data" if rows is None else repr(data)
        cli = "" if rows is None else self._question(file, data)
        return {**found, "copy": {"python": f"{own}.smooth({given})", "cli": cli}}

    def _findings(self, rows: Any) -> list[dict[str, Any]]:
        """The findings of each slice, from the states' texts."""
        if not isinstance(rows, list) or not 1 <= len(rows) <= REQUEST_SLICES:
            raise DataError(f"'rows' must be a list of 1 to {REQUEST_SLICES:,} slices")
        found = []
        for row in rows:
            if not isinstance(row, Mapping):
                raise DataError("a slice is an object with its findings")
            found.append({name: self._state(name, text) for name, text in row.items() if text not in (None, "")})
        return found

    def _state(self, name: str, text: object) -> Any:
        if name not in self.net.states:
            raise DataError(f"there is no variable {name!r:.60}; {suggest(name, [*self.net.states])}")
        states = self.net.states[name]
        known = next((each for each in states if str(each) == str(text)), None)
        if known is None:
            raise DataError(f"{name!r:.60} has no state {text!r:.60}; {suggest(str(text), [*map(str, states)])}")
        return known

    def _question(self, file: str, data: list[dict[str, Any]]) -> str:
        """A question about the first variable of the interface, in the last slice."""
        from credo.explorer.screens.snippets import question, word

        name = next((each for each in (*self.net.interface, *self.net.parents) if each not in data[-1]), None)
        if name is None:
            return ""
        seen = {f"{each}[{t}]": value for t, row in enumerate(data) for each, value in row.items() if value is not None}
        return question(file, f"P({word(f'{name}[{len(data) - 1}]')})", {}, seen)


def _turned(shares: object) -> list[list[float]]:
    """The shares transposed: a list over the drawn slices for each state."""
    found: list[list[float]] = np.asarray(shares)[:PLOTTED_SLICES].T.tolist()
    return found
