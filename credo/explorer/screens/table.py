"""A table: how each column is read, and the commands that use it."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import ClassVar

from credo.data import Source
from credo.data.profile import profile
from credo.explorer.screens.screen import Action, Answer, Asked, Lines, Subject, text_in
from credo.present.content import plain
from credo.present.tables import HEAD_ROWS, profile_content


class TableScreen:
    """Columns with their kinds, missing cells and values, the first rows, and the commands that learn from them."""

    kind: ClassVar[str] = "table"
    title: ClassVar[str] = "Table"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.table: Source = subject.model

    def opened(self) -> Answer:
        found = profile(self.table)
        columns = plain(profile_content(found, self.subject.title, top=1000))
        return {
            "columns": next(each for each in columns if each["type"] == "Table")["columns"],
            "rows": next(iter(found.values())).rows,
            "head": self._head(),
            "kinds": {name: each.kind for name, each in found.items()},
        }

    def _head(self) -> dict[str, list[str]]:
        batch = next(iter(self.table.batches(self.table.names)), None)
        if batch is None:
            return {}
        return {name: [_shown(cell) for cell in batch.column(name)[:HEAD_ROWS].to_pylist()] for name in batch.names}

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"lines": self.lines}

    def lines(self, asked: Asked) -> Answer:
        """Code that learns to predict a column, and that estimates it."""
        name, path = text_in(asked, "column"), self.subject.path or "data.csv"
        learn: Lines = {
            "python": f"credo.learn({path!r}, target={name!r}).explore(data={path!r})",
            "cli": f"credo learn {quote(path)} --target {quote(name)} -o m.credo && credo explore m.credo",
        }
        estimate: Lines = {
            "python": f"credo.estimate({path!r}, {name!r})",
            "cli": f"credo estimate {quote(path)} --column {quote(name)}",
        }
        return {"learn": learn, "estimate": estimate}


def _shown(cell: object) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)[:200]
