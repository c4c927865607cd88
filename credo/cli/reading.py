"""Options of all commands that read data: missing values, delimiter and format; and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from credo.cli.engine import start
from credo.cli.options import Command, with_options

if TYPE_CHECKING:
    from credo.data import Source

STANDARD_INPUT = "-"
FORMAT_NAMES = ("csv", "tsv", "jsonl", "parquet", "arrow")
COMPRESSION_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
FORMAT_BEGINNINGS = {b"{": "jsonl", b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
READING_KEY = "credo.cli.reading"  # the options' key in the context of the command
FORMAT_BYTES = 4096  # that determine the format


def reads_data(command: Command) -> Command:
    """A decorator with the options of a command that reads data, for `opened_data`."""

    def keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
        ctx.meta.setdefault(READING_KEY, {})[param.name] = value

    options = [
        click.option(
            "--missing", multiple=True, metavar="VALUE", expose_value=False, callback=keep,
            help="Additional missing-value code, in all columns; may be repeated.",
        ),
        click.option(
            "--delimiter", metavar="CHARACTER", expose_value=False, callback=keep,
            help="The delimiter of a .csv: a character, or tab.",
        ),
        click.option(
            "--format", type=click.Choice(FORMAT_NAMES), expose_value=False, callback=keep,
            help="The format, if the file's name doesn't show it, or for - (standard input).",
        ),
    ]  # fmt: skip
    return with_options(command, options)


def opened_data(data: str) -> Source:
    """The data named by an argument, read with the command's options; `-` is standard input."""
    from credo.data.reading import read

    ctx = click.get_current_context()
    start(ctx)
    how = ctx.meta.get(READING_KEY, {})
    missing, delimiter, form = how.get("missing", ()), how.get("delimiter"), how.get("format")
    if data != STANDARD_INPUT:
        return read(data, missing=missing, delimiter=delimiter, format=form)
    return read(_saved_input(ctx, form, delimiter), missing=missing, delimiter=delimiter)


def _saved_input(ctx: click.Context, form: str | None, delimiter: str | None) -> Path:
    """A temporary file of standard input, since most readers read more than once."""
    from shutil import copyfileobj

    from credo.data.queries import opened
    from credo.errors import DataError

    if sys.stdin is None:
        raise DataError("standard input is closed")
    temporary: TemporaryDirectory[str] = TemporaryDirectory(prefix="credo-")
    folder = Path(ctx.with_resource(temporary))
    path = folder / "stdin"
    with path.open("wb") as out:
        copyfileobj(sys.stdin.buffer, out)
    with path.open("rb") as stream:
        start = stream.read(4)
    if not start:
        raise DataError("standard input is empty")
    packed = next((ending for magic, ending in COMPRESSION_MAGIC.items() if start.startswith(magic)), "")
    path = path.rename(folder / f"stdin{packed}")
    if form is None:
        try:
            with opened(path) as stream:
                head = stream.read(FORMAT_BYTES).lstrip()
        except (OSError, EOFError):
            head = b""  # reading will raise its own error
        found = (form for beginning, form in FORMAT_BEGINNINGS.items() if head.startswith(beginning))
        form = "csv" if delimiter else next(found, "csv")
    return path.rename(folder / f"stdin.{form}{packed}")
