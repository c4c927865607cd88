"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

KINDS = ("category", "number", "count", "date", "text", "ignore")
FORMS = ("log", "binned")  # of a number
WORD = "word"  # a category whose new values are judged by their spelling


class Option(Protocol):
    """What adds an option to a command."""

    def __call__(self, command: Command, /) -> Command: ...


def with_options(command: Command, options: Sequence[Option]) -> Command:
    """The command with options that are listed in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def weighted(command: Command) -> Command:
    return click.option("--weight", metavar="COLUMN", help="Column of row weights.")(command)


def grouped(command: Command) -> Command:
    return click.option(
        "--groups", metavar="COLUMN", help="Column whose rows of one value are held out together, as of one patient."
    )(command)


def top(default: int, what: str) -> Option:
    """How many lines of something to print."""
    return click.option(
        "--top", metavar="N", type=click.IntRange(min=1), default=default, show_default=True,
        help=f"Number of {what} to print.",
    )  # fmt: skip


def read_as(kinds: str) -> Option:
    """How columns are read; the kinds that make sense for the command."""
    return click.option(
        "--kind", "-k", "kinds", multiple=True, callback=parse_kinds, metavar="COLUMN=KIND",
        help=f"How to read a column: {kinds}.",
    )  # fmt: skip


def parse_kinds(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """column=kind, as often as needed; the column's name may have = in it, too."""
    asked: dict[str, str] = {}
    for value in values:
        name, _, kind = value.rpartition("=")
        if not name or kind not in (*KINDS, *FORMS, WORD):
            known = ", ".join((*KINDS, *FORMS, WORD))
            message = f"{value!r} isn't a column and a kind, as in zip=category; the kinds are {known}"
            raise click.BadParameter(message, ctx, param)
        asked[name] = kind
    return asked


def as_kinds(kinds: dict[str, str]) -> dict[str, Any]:
    """Names of forms as what they stand for."""
    import credo

    forms = {form: credo.Number(form) for form in FORMS}  # type: ignore[arg-type]
    return {name: credo.Word() if kind == WORD else forms.get(kind, kind) for name, kind in kinds.items()}
