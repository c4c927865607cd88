"""Checks for arguments that are probably mistaken, with suggestions."""

from __future__ import annotations

import re
from shlex import quote

import click

from credo.cli.output import MODEL
from credo.errors import CredoError

NAMED_COLUMNS = 12  # in an error
TABLES_TOO = (".json", ".xml")  # a table may be in such a file, though credo doesn't read it
QUESTION_START = re.compile(r"\s*(P|E|argmax|explain)\b.*\(")


def check_order(command: str, model: str, data: str) -> None:
    """Raise an error if the data comes before the model, which may be a network's file."""
    if _is_model(data) and not _is_model(model):
        raise click.UsageError(f"the model comes first: credo {command} {quote(data)} {quote(model)}")


def _is_model(path: str) -> bool:
    from credo.formats import is_network

    return path.lower().endswith(MODEL) or is_network(path)


def check_question_order(file: str, questions: tuple[str, ...]) -> None:
    if QUESTION_START.match(file) and len(questions) == 1 and not QUESTION_START.match(questions[0]):
        raise click.UsageError(f"the file comes first: credo ask {quote(questions[0])} {quote(file)}")


def check_no_model(command: str, data: str) -> None:
    """Raise an error for a model or a network where a table is needed."""
    if _is_model(data) and not data.lower().endswith(TABLES_TOO):
        what = "model" if data.lower().endswith(MODEL) else "network"
        raise click.UsageError(
            f"{data} is a {what}: credo {command} needs a table. To see its contents: credo show {quote(data)}"
        )


def column_asked_for(data: str, name: str | None, option: str, what: str) -> str:
    """The column; an error that lists the columns if none was named."""
    if name is not None:
        return name
    from credo.data import source
    from credo.notices import quietly

    try:
        with quietly():
            names = source(data).names
    except CredoError:  # reading the data will raise its own error
        names = ()
    more = f", ... ({len(names)} in all)" if len(names) > NAMED_COLUMNS else ""
    known = f"; the columns are {', '.join(map(str, names[:NAMED_COLUMNS]))}{more}" if names else ""
    raise click.UsageError(f"use {option} to say {what}{known}")
