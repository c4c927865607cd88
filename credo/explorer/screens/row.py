"""A row of a table, or a message: its class, the explanation, counterfactuals, and corrections that the model
learns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from credo.asking.protocol import waterfall
from credo.errors import DataError, suggest
from credo.explorer.screens.saved import changed, in_file
from credo.explorer.screens.screen import SLIDER_POINTS, Action, Answer, Asked, Subject, mapping_in, text_in
from credo.explorer.screens.snippets import called
from credo.models.class_predictor import ClassPredictor
from credo.models.classifier import Classifier
from credo.models.explaining import WordContribution
from credo.numerics.exact import Array
from credo.present.coloured_text import PALEST_SHARE, cut_weights
from credo.present.content import plain
from credo.present.densities import Shape, shape_of

SLIDER_VALUES = 40  # values of a category
MOST_TAUGHT = 200  # corrected rows per page before saving
DENSITY_CLASSES = 6  # with densities
WEIGHTED_WORDS = 20  # listed


@runtime_checkable
class Learns(Protocol):
    """A model that can learn further rows."""

    def update(self, data: object, /) -> Any: ...


class RowScreen:
    """A control for each column; a box for a text, whose words are coloured."""

    kind: ClassVar[str] = "row"
    title: ClassVar[str] = "Row"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.model: ClassPredictor = subject.model
        self._taught: tuple[str, ClassPredictor] = "", self.model

    def opened(self) -> Answer:
        from credo.asking import variables

        columns = [each for each in variables(self.model) if each["role"] == "column"]
        report = getattr(self.model, "report", None)
        return {
            "target": str(self.model.target),
            "classes": [str(value) for value in self.model.classes],
            "columns": [self._column(plain(each)) for each in columns],
            "rows": float(self.model.n),
            "scores": "" if report is None else repr(report.scores),
            "file": self.subject.path if in_file(self.subject) else None,
        }

    def _column(self, column: dict[str, Any]) -> dict[str, Any]:
        """A column's data for the page: a number's range, and its density in each class."""
        shape = self._shapes.get(column["name"])
        if shape is None:
            return column
        heights = [[*map(float, row)] for row in shape.heights[:DENSITY_CLASSES]]
        if shape.form == "category":
            return column | {"values": column["values"][:1000], "density": {"form": "category", "heights": heights}}
        places = [float(x) for x in shape.places]
        form = "bins" if shape.form in ("coarse", "binned") else shape.form
        density = {"form": form, "places": places, "heights": heights}
        ends = {"range": [*self._ends(column["name"], shape)], "whole": self._holds_whole_numbers(column["name"])}
        return column | ends | {"density": density}

    def _ends(self, name: str, shape: Shape) -> tuple[float, float]:
        """The ends of a number's slider; the last bin ends beyond the largest value."""
        low, high = float(shape.places[0]), float(shape.places[-1])
        known = self.model.features[name].values if shape.form in ("coarse", "binned") else ()
        return low, min(high, max(known, default=high))

    def _holds_whole_numbers(self, name: str) -> bool:
        """Whether all known numbers of a column are whole."""
        column = self.model.features[name]
        return column.kind == "number" and bool(column.values) and all(x == round(x) for x in column.values)

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        """The columns' distributions in each class; for a discriminative model, the levels of categories."""
        if isinstance(self.model, Classifier):
            found = ((name, shape_of(self.model, name)) for name in self.model.views)
            return {name: shape for name, shape in found if shape is not None}
        levels = {name: column.values for name, column in self.model.features.items() if column.kind == "category"}
        return {name: Shape("category", own, np.empty((0, len(own)))) for name, own in levels.items() if own}

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"predict": self.predict, "curve": self.curve, "changes": self.changes, "save": self.save}

    # The model, and its corrections by the page

    def _model(self, asked: Asked) -> ClassPredictor:
        """The model after the page's corrections; the last one is cached."""
        rows = self._rows(asked)
        key = json.dumps(rows, sort_keys=True)
        if self._taught[0] != key:
            self._taught = key, self._updated(self.model, rows) if rows else self.model
        return self._taught[1]

    def _updated(self, model: ClassPredictor, rows: list[dict[str, Any]]) -> ClassPredictor:
        if not isinstance(model, Learns):
            raise DataError(f"a {type(model).__name__} can't be taught further rows: fit it again")
        found: ClassPredictor = model.update(rows)
        return found

    def _rows(self, asked: Asked) -> list[dict[str, Any]]:
        given = asked.get("taught") or []
        if not isinstance(given, list) or len(given) > MOST_TAUGHT:
            raise DataError(f"'taught' must be a list of at most {MOST_TAUGHT} rows")
        return [self._row(each) | {str(self.model.target): self._class_of(each.get("class"))} for each in given]

    def _row(self, asked: Any) -> dict[str, Any]:
        """The cells of a request, by column; empty ones are missing."""
        if not isinstance(asked, Mapping):
            raise DataError("a row is an object with its cells")
        row = mapping_in(asked, "row")
        for unknown in (name for name in row if name not in self.model.features):
            raise DataError(f"there is no column {unknown!r:.60}; {suggest(unknown, self.model.feature_names)}")
        return {name: None if row.get(name) == "" else row.get(name) for name in self.model.features}

    def _class_of(self, name: object) -> Any:
        found = next((value for value in self.model.classes if str(value) == name), None)
        if found is None:
            known = [str(value) for value in self.model.classes]
            raise DataError(f"there is no class {name!r:.60}; {suggest(str(name), known)}")
        return found

    # Answers

    def predict(self, asked: Asked) -> Answer:
        """P(class | row), and the weights of evidence of columns and words."""
        model, row = self._model(asked), self._row(asked)
        of, against = (None if asked.get(each) is None else self._class_of(asked[each]) for each in ("of", "against"))
        explained = model.explain(row, of, against)
        found = waterfall(replace(explained, words={}))
        own, file = called(self.subject)
        cells = {name: value for name, value in row.items() if value is not None}
        return {
            "shares": [*explained.shares],
            "why": plain(found),
            "texts": {name: _coloured(str(row[name]), spoken) for name, spoken in explained.words.items() if row[name]},
            "words": {name: _strongest(spoken) for name, spoken in explained.words.items() if row[name]},
            "copy": {"python": f"{own}.explain({cells!r})", "cli": f"credo explain {file} row.csv"},
        }

    def curve(self, asked: Asked) -> Answer:
        """P(class | row) as a function of one column, the others fixed."""
        model, row, name = self._model(asked), self._row(asked), text_in(asked, "column")
        values = self._values(name)
        shares = model.predict_proba([row | {name: value} for value in values])
        places = {"places": [*map(day_of, values)]} if self._shapes[name].form == "date" else {}
        return {"column": name, "values": [plain(value) for value in values], "shares": shares.T.tolist()} | places

    def _values(self, name: str) -> Sequence[Any]:
        """The values of a column; a grid for a number."""
        shape = self._shapes.get(name)
        if shape is None:
            raise DataError(f"column {name!r:.60} has no curve")
        if shape.form == "category":
            return list(shape.places)[:SLIDER_VALUES]
        grid = np.geomspace if shape.form == "log" else np.linspace
        found = grid(*self._ends(name, shape), SLIDER_POINTS)
        if shape.form == "date":
            return dates(found)
        if shape.form == "count" or self._holds_whole_numbers(name):
            return [*map(int, np.unique(found.round()))]
        digits = 2 - np.floor(np.log10(np.diff(found)))  # of a grid: its smallest steps have two digits
        return [round(x, int(digits.max())) for x in found.tolist()]

    def changes(self, asked: Asked) -> Answer:
        """Counterfactuals: for each column, the value closest to the row's for which another class wins."""
        model, row = self._model(asked), self._row(asked)
        now = int(model.predict_proba([row])[0].argmax())
        found = []
        for name in self._shapes:
            values = self._values(name)
            shares = model.predict_proba([row | {name: value} for value in values])
            others = [i for i in np.flatnonzero(shares.argmax(1) != now).tolist() if values[i] != row.get(name)]
            if not others:
                continue
            i = min(others, key=lambda i: self._distance(name, row.get(name), values[i]))
            winner = int(shares[i].argmax())
            found.append(
                {
                    "column": name, "value": plain(values[i]), "class": str(model.classes[winner]),
                    "probability": float(shares[i, winner]),
                    "distance": self._distance(name, row.get(name), values[i]),
                }
            )  # fmt: skip
        return {"changes": sorted(found, key=lambda each: each["distance"])}

    def _distance(self, name: str, value: Any, other: Any) -> float:
        """The distance between two values, as a share of a number's range; 1 between categories, and from a missing
        cell."""
        shape = self._shapes[name]
        if shape.form == "date" and isinstance(value, str):
            value, other = day_of(value), day_of(other)
        if shape.form == "category" or not isinstance(value, int | float):
            return 1.0
        return float(abs(other - value)) / max(float(shape.places[-1] - shape.places[0]), 1e-300)

    def save(self, asked: Asked) -> Answer:
        """Update the model in the file with the page's corrections."""
        rows = self._rows(asked)
        if not in_file(self.subject):
            raise DataError("this model isn't in a .credo file: save it with credo.save(model, 'm.credo')")
        if not rows:
            raise DataError("nothing was taught yet")
        self.model = changed(self.subject, self.model, lambda model: self._updated(model, rows))
        self._taught = "", self.model
        return {"saved": len(rows), "rows": float(self.model.n)}


def dates(days: Array) -> list[str]:
    """Dates from days since 1970."""
    return [*map(str, np.unique(days.round()).astype("datetime64[D]"))]


def day_of(date: str) -> int:
    """Days since 1970."""
    return int(np.datetime64(date, "D").astype(np.int64))


def _coloured(text: str, spoken: Sequence[WordContribution]) -> dict[str, list[Any]]:
    """The lengths of the text's pieces, and the weight of each; those too pale to be seen are joined, and weigh 0. The
    page has the text itself."""
    cuts, weights = cut_weights(len(text), [(each.weight, each.places) for each in spoken])
    seen = np.abs(weights) >= PALEST_SHARE * np.abs(weights).max(initial=0.0)
    kept = np.append(seen[1:] | seen[:-1], True) if len(seen) else seen  # cuts after pieces
    kept_cuts = cuts[1:][kept]
    shown = np.where(seen, weights, 0.0)[kept].round(4)
    return {"lengths": np.diff(kept_cuts, prepend=0).tolist(), "weights": shown.tolist()}


def _strongest(spoken: Sequence[WordContribution]) -> list[dict[str, Any]]:
    """The words and pairs of words that weigh most."""
    return [{"word": each.word, "weight": each.weight} for each in spoken[:WEIGHTED_WORDS]]
