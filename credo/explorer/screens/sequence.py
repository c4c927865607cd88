"""A sequence: its decoded states, their probabilities, and forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from credo.data import source
from credo.errors import DataError
from credo.explorer.screens.contents import tabled
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, number_in
from credo.explorer.screens.snippets import called
from credo.models.hidden_markov.forecasting import Forecast
from credo.models.hidden_markov.model import HiddenMarkov
from credo.present.content import plain
from credo.present.hidden_markov import emission_table

SEQUENCE_ROWS = 20_000  # per request
FORECAST_STEPS = 24  # rows ahead
PLOTTED_ROWS, PLOTTED_COLUMNS = 600, 4  # of number columns
NUMERIC_COLUMN_FORMS = ("gaussian", "log", "count", "binned", "coarse")  # forms of columns of numbers


class SequenceScreen:
    """States of a hidden Markov model, and a sequence decoded by it."""

    kind: ClassVar[str] = "sequence"
    title: ClassVar[str] = "Sequences"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.model: HiddenMarkov = subject.model

    def opened(self) -> Answer:
        seen = emission_table(self.model)
        return {
            "states": [str(name) for name in self.model.names],
            "transitions": self.model.transition_shares.tolist(),
            "columns": [*self.model.classifier.views],
            "seen": None if seen is None else tabled(seen),
            "has_rows": self.subject.data is not None,
        }

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"decode": self.decode}

    def decode(self, asked: Asked) -> Answer:
        """The most probable path, P(state) of each row, and forecasts, for the rows of the request or the given
        ones."""
        rows = asked.get("rows")
        data: Any = rows if rows else self.subject.data
        if data is None:
            raise DataError("give rows, or start with `credo explore m.credo --data rows.csv`")
        if isinstance(rows, list) and len(rows) > SEQUENCE_ROWS:
            raise DataError(f"a sequence on this page may have {SEQUENCE_ROWS:,} rows")
        smooth, path = self.model.smooth(data), self.model.decode(data)
        places = {name: k for k, name in enumerate(self.model.names)}
        codes = [places[each] for each in np.ravel(path).tolist()[:SEQUENCE_ROWS]]
        found: Answer = {"path": codes, "smooth": smooth[:SEQUENCE_ROWS].T.tolist(), "total": len(smooth)}
        steps = int(number_in(asked, "steps", FORECAST_STEPS))
        try:
            ahead = self.model.forecast(data, max(1, min(steps, 200)))
            found["forecast"] = [[float(p) for p in each.states.probabilities] for each in ahead]
        except DataError as error:  # several sequences have several ends
            ahead, found["no_forecast"] = [], str(error)
        found["series"] = [self._series(data, name, ahead) for name in self._numbers]
        own, file = called(self.subject)
        found["copy"] = {"python": f"{own}.decode(data)", "cli": f"credo predict {file} rows.csv"}
        return found

    @property
    def _numbers(self) -> list[str]:
        views = self.model.classifier.views
        return [name for name, forms in views.items() if forms[0] in NUMERIC_COLUMN_FORMS][:PLOTTED_COLUMNS]

    def _series(self, data: Any, name: str, ahead: Sequence[Forecast]) -> Answer:
        """A column's first numbers, and those ahead: means and 95% intervals."""
        batch = next(iter(source(data).batches([name])))
        ends = [tuple(map(float, each[name].interval(0.95))) for each in ahead]
        return {
            "name": name,
            "values": plain(batch.column(name)[:PLOTTED_ROWS].to_pylist()),
            "mean": [float(each[name].mean()) for each in ahead],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
