"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

KIND_NAMES = ("category", "number", "count", "date", "text", "ignore")
FORM_NAMES = ("log", "binned")  # of a number column
WORD_KIND = "word"  # a category whose unseen values are predicted from their spelling


class Option(Protocol):
    """A decorator that adds an option to a command."""

    def __call__(self, command: Command, /) -> Command: ...


def with_options(command: Command, options: Sequence[Option]) -> Command:
    """A decorator that adds options, listed in this order."""
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
    """The option --top: the number of lines to print."""
    return click.option(
        "--top", metavar="N", type=click.IntRange(min=1), default=default, show_default=True,
        help=f"Number of {what} to print.",
    )  # fmt: skip


def read_as(kinds: str) -> Option:
    """The option --kind, with the kinds that make sense for the command."""
    return click.option(
        "--kind", "-k", "kinds", multiple=True, callback=parse_kinds, metavar="COLUMN=KIND",
        help=f"How to read a column: {kinds}.",
    )  # fmt: skip


def parse_kinds(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Kinds, each as column=kind; the column's name may contain =."""
    asked: dict[str, str] = {}
    for value in values:
        name, _, kind = value.rpartition("=")
        if not name or kind not in (*KIND_NAMES, *FORM_NAMES, WORD_KIND):
            known = ", ".join((*KIND_NAMES, *FORM_NAMES, WORD_KIND))
            message = f"{value!r} isn't a column and a kind, as in zip=category; the kinds are {known}"
            raise click.BadParameter(message, ctx, param)
        asked[name] = kind
    return asked


def as_kinds(kinds: dict[str, str]) -> dict[str, Any]:
    """Kinds with names of forms replaced by their objects."""
    import credo

    forms = {form: credo.Number(form) for form in FORM_NAMES}  # type: ignore[arg-type]
    return {name: credo.Word() if kind == WORD_KIND else forms.get(kind, kind) for name, kind in kinds.items()}
