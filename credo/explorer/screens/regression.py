"""A regression: a control for each column, the predictive distribution of the target, and what each column adds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, suggest
from credo.explorer.screens.screen import SLIDER_POINTS, Action, Answer, Asked, Subject, mapping_in, text_in
from credo.explorer.screens.snippets import called
from credo.models.regression.linear import LinearRegression
from credo.models.regression.scores import NumberScores
from credo.present.content import plain

PREDICTIVE_POINTS = 81  # points of the predictive density
SLIDER_DEVIATIONS = 3.0  # from the mean to either end of a column's slider
LISTED_TERMS = 200  # that are listed
PICTURED_ROWS = 2000  # held-out rows that are drawn


class RegressionScreen:
    """The prediction for a row, with its uncertainty."""

    kind: ClassVar[str] = "regression"
    title: ClassVar[str] = "Regression"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.model: LinearRegression = subject.model

    def opened(self) -> Answer:
        from credo.asking import variables

        columns = [plain(each) for each in variables(self.model) if each["role"] == "column"]
        table = self.model.parameters()
        terms = table.to_pylist()
        return {
            "target": str(self.model.target),
            "rows": float(self.model.n),
            "columns": [each | self._range(each["name"]) for each in columns],
            "terms": plain(terms[:LISTED_TERMS]),
            "more": max(0, len(terms) - LISTED_TERMS),
            "held_out": self._held_out(),
        }

    @cached_property
    def _ranges(self) -> dict[str, list[float]]:
        """The sliders' ranges of number columns, about their means."""
        basis, found, place = self.model.fitted.basis, dict[str, list[float]](), 0
        for column in basis.features.schema:
            if column.levels is None:
                middle, scale = float(basis.features.centre[place]), SLIDER_DEVIATIONS * float(basis.scales[place])
                found[column.name] = [middle - scale, middle + scale]
            place += 1 if column.levels is None else len(column.levels)
        return found

    def _range(self, name: str) -> dict[str, Any]:
        return {"range": self._ranges[name]} if name in self._ranges else {}

    def _scores(self) -> NumberScores | None:
        """Scores of the given rows, or of the held-out rows in the report."""
        if self.subject.data is not None:
            return self.model.leave_one_out(self.subject.data)
        report = getattr(self.model, "report", None)
        return None if report is None else report.scores

    def _held_out(self) -> dict[str, Any] | None:
        scores = self._scores()
        if scores is None:
            return None
        known = np.flatnonzero(scores.known)
        some = known[:: max(1, len(known) // PICTURED_ROWS)]
        points = np.stack([scores.predicted[some], scores.truth[some]], axis=1)
        return {"said": repr(scores), "points": points.tolist()}

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"predict": self.predict, "curve": self.curve}

    def _row(self, asked: Asked) -> dict[str, Any]:
        names = self.model.fitted.basis.features.schema.names
        row = mapping_in(asked, "row")
        for unknown in (name for name in row if name not in names):
            raise DataError(f"there is no column {unknown!r:.60}; {suggest(unknown, names)}")
        return {name: None if row.get(name) == "" else row.get(name) for name in names}

    def predict(self, asked: Asked) -> Answer:
        """The predictive distribution of the target, and what each column adds to the prediction for an average row."""
        row = self._row(asked)
        found, why = self.model.predictive(row), self.model.explain(row)
        low, high = found.interval(0.999)
        x = np.linspace(float(low), float(high), PREDICTIVE_POINTS)
        own, file = called(self.subject)
        cells = {name: value for name, value in row.items() if value is not None}
        return {
            "prediction": why.prediction,
            "interval": [*map(float, why.interval)],
            "density": {"x": x.tolist(), "y": np.exp(found.log_prob(x)).tolist()},
            "average": why.average,
            "adds": [
                {"columns": [*name], "cells": [why.cell(each) for each in name], "adds": float(why.columns[name])}
                for name in why.strongest
            ],
            "copy": {"python": f"{own}.explain({cells!r})", "cli": f"credo explain {file} row.csv"},
        }

    def curve(self, asked: Asked) -> Answer:
        """The prediction and its interval as a function of one column, the others fixed."""
        row, name = self._row(asked), text_in(asked, "column")
        schema = self.model.fitted.basis.features.schema
        if name not in schema.names:
            raise DataError(f"there is no column {name!r:.60}; {suggest(name, schema.names)}")
        ends = self._ranges.get(name)
        values = [*schema[name].values] if ends is None else np.linspace(ends[0], ends[1], SLIDER_POINTS).tolist()
        found = self.model.predictive([row | {name: value} for value in values])
        mean, low, high = (np.atleast_1d(each).tolist() for each in (found.mean(), *found.interval(0.95)))
        return {"column": name, "values": plain(values), "mean": mean, "low": low, "high": high}
