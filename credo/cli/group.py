"""The `credo` command: which commands there are, and how a run ends that can't go on."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from shlex import quote
from typing import Any

import click

from credo import __version__
from credo.errors import CredoError, Notice, suggest

COMMANDS = {
    "learn": "Learn to predict a column from the others, and say how well.",
    "predict": "The class of each row, and how probable it is.",
    "ask": "Answer questions such as P(Fire | Storm=yes).",
    "sample": "Draw rows from a network or a classifier.",
    "impute": "Fill in missing cells by a network.",
    "explain": "Why a row is taken for a class: what each column weighs.",
    "update": "Learn from more rows, as if they had been there at first.",
    "forget": "Unlearn rows: what is left is as if they had never come.",
    "merge": "What several files learned, in one.",
    "estimate": "What is believed of a column, or of each group in it.",
    "show": "What is in a file: a table, a network, or what credo saved.",
    "convert": "A network from one file format to another.",
    "demo": "A tour in a minute, on data that ships with credo.",
}

# The library's errors name its arguments; a reader of the command line looks for options.
KIND = re.compile(r"kinds=\{('[^']*'|\"[^\"]*\"): (?:'(\w+)'|\.\.\.)\}")
CHOSEN = "KIND"  # where an error leaves open which
OPTION = re.compile(r"\b(by|success|target|weight)=\.\.\.")


class Failure(click.ClickException):
    """What was wrong, in one sentence, after the name of the program."""

    def show(self, file: Any = None) -> None:
        click.echo(f"credo: {self.format_message()}", file=file or sys.stderr)


class Commands(click.Group):
    """Commands that are known by name and imported late; every error that credo means is one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"credo.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            ctx.fail(f"there is no command {args[0]!r}; {suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with notices_told():
                result = super().invoke(ctx)
            sys.stdout.flush()
        except CredoError as error:
            raise Failure(in_options(str(error), ctx.invoked_subcommand)) from None
        except KeyboardInterrupt:
            raise click.exceptions.Exit(130) from None
        except BrokenPipeError:
            _drop_output()
            raise click.exceptions.Exit(141) from None
        except MemoryError:
            raise Failure("there isn't enough memory for this") from None
        except OSError as error:
            raise Failure(": ".join(filter(None, (error.filename, error.strerror or str(error))))) from None
        return result


def in_options(sentence: str, command: str | None = "estimate") -> str:
    """An error's advice as it reads on the command line.

    >>> in_options("Say which value counts with success=...")
    'Say which value counts with --success'
    >>> in_options("use kinds={'zip code': 'category'}", "learn")
    "use --kind 'zip code=category'"
    """

    def kind(found: re.Match[str]) -> str:
        name, how = found[1][1:-1], found[2]
        if command == "estimate":
            return f"--kind {how}" if how else "--kind"
        option = f"--kind {quote(f'{name}={how or CHOSEN}')}"
        return option if command == "learn" else f"credo learn {option}"

    return OPTION.sub(r"--\1", KIND.sub(kind, sentence))


@contextmanager
def notices_told() -> Iterator[None]:
    """Notices as `note: ...` on stderr, each once; other warnings as they come."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        otherwise, told = warnings.showwarning, set[str]()

        def tell(message: Warning | str, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, Notice) and str(message) in told:
                return
            if issubclass(category, Notice):
                told.add(str(message))
                running = click.get_current_context(silent=True)
                command = running.info_name if running else "estimate"
                click.echo(f"note: {in_options(str(message), command)}", err=True)
            else:
                otherwise(message, category, *rest)

        warnings.showwarning = tell  # type: ignore[assignment]
        yield


def _drop_output() -> None:
    """Nobody reads on (as in `credo ... | head`): what Python still holds must not raise again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Threads: all cores, or as many as CREDO_THREADS says.",
)
@click.version_option(__version__, prog_name="credo")
def main() -> None:
    """Bayesian learning: beliefs are a prior and evidence.

    \b
    Start with:
      credo demo
      credo show sales.csv
      credo learn sales.csv --target returned -o sales.credo
      credo estimate sales.csv --column returned --by shop
    """
