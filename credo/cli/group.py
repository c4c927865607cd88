"""The `credo` command: its commands, and how errors and notices are printed."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from shlex import quote
from typing import Any

import click

from credo import __version__
from credo.cli.failures import Stops, in_one_sentence
from credo.cli.imports import without_pandas
from credo.cli.streams import open_streams, remark
from credo.errors import Notice, suggest

COMMANDS = {
    "learn": "Learn to predict a column from the others, and report scores.",
    "predict": "Predict the class of each row, with its probability.",
    "ask": "Answer questions such as P(Fire | Storm=yes).",
    "sample": "Draw rows from a network or a classifier.",
    "impute": "Fill in missing cells with a network or a mixture.",
    "explain": "Explain a prediction by the weight of evidence of each column.",
    "update": "Learn from more rows.",
    "forget": "Unlearn rows exactly, as if they had never been learned.",
    "merge": "Merge several models.",
    "compare": "Learning curves of a generative and a discriminative model.",
    "estimate": "Estimate a column's parameters, overall or by group.",
    "cluster": "Cluster rows, and describe the clusters.",
    "structure": "Learn the arrows and tables of a belief network from a table.",
    "show": "Show the contents of a file: a table, a network, or a saved model.",
    "explore": "Open a page about a model, a network or a table in the browser.",
    "report": "Write a report about a model or a network.",
    "convert": "Convert a network from one file format to another.",
    "demo": "A one-minute tour on data that ships with credo.",
}

# The library's errors name its arguments; on the command line these are options.
KIND_ADVICE = re.compile(r"kinds=\{('[^']*'|\"[^\"]*\"): (?:'(\w+)'|\.\.\.)\}")
KIND_PLACEHOLDER = "KIND"  # if an error names no kind
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
MISSING_ADVICE = re.compile(rf"credo\.read\(data, missing=\[((?:{QUOTED.pattern}|, )+)\]\)")
HIDDEN_ADVICE = re.compile(r"hidden=\{('[^']*'|\"[^\"]*\"): (\d+)\}")
SETTING_ADVICE = re.compile(r"\b(score|search|bins|max_parents)=['\"]?([\w-]*)['\"]?")
READING_ADVICE = re.compile(r"credo\.read\(\w+, (delimiter|format)='([^']*)'\)")
TAB = r"\t"  # as an error writes it
PHRASES = {
    "tune(data)": "`credo learn`",
    "use credo.LinearRegression": "use --model linear",
    "a network's file is read by credo.Network.read": "networks are for credo ask, sample, impute and show",
}
OPTION_ADVICE = re.compile(r"\b(by|success|target|weight)=\.\.\.")


class Commands(click.Group):
    """Commands, imported when they are run; every error of credo is one sentence."""

    stops = Stops()

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

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **settings: Any) -> Any:  # type: ignore[override]
        """As click's `main`, but a closed or full stream, or a signal, never ends in a traceback."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **settings)
        open_streams()
        if args is None:  # a process of its own
            without_pandas()
        self.stops = Stops()
        with self.stops.heard(to_the_end=args is None):
            try:
                code = super().main(args, standalone_mode=False, **settings)
            except click.ClickException as error:
                told = io.StringIO()
                error.show(told)
                if told.getvalue():
                    remark(told.getvalue().rstrip("\n"))
                code = error.exit_code
            except click.Abort:
                code = self.stops.end().exit_code
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with in_one_sentence(self.stops):
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        def said(sentence: str) -> str:
            return in_options(sentence, ctx.invoked_subcommand)

        with in_one_sentence(self.stops, said), notices_told():
            result = super().invoke(ctx)
            sys.stdout.flush()
            if self.stops.caught:
                raise KeyboardInterrupt
        return result


def in_options(sentence: str, command: str | None = "estimate") -> str:
    """An error's advice in terms of command-line options.

    >>> in_options("Say which value counts with success=...")
    'Say which value counts with --success'
    >>> in_options("use kinds={'zip code': 'category'}", "learn")
    "use --kind 'zip code=category'"
    >>> in_options("use bins=5, or search='boss' with max_parents=", "structure")
    'use --bins 5, or --search boss with --max-parents'
    >>> in_options("use credo.read(data, missing=['unknown', 'not given'])")
    "use --missing unknown --missing 'not given'"
    >>> in_options("use credo.read(data, delimiter=';') or credo.read(path, format='csv')")
    "use --delimiter ';' or --format csv"
    """

    def kind(found: re.Match[str]) -> str:
        name, how = found[1][1:-1], found[2]
        if command == "estimate":
            return f"--kind {how}" if how else "--kind"
        option = f"--kind {quote(f'{name}={how or KIND_PLACEHOLDER}')}"
        return option if command in ("learn", "structure", "cluster") else f"credo learn {option}"

    def missing(found: re.Match[str]) -> str:
        return " ".join(f"--missing {quote(value[1:-1])}" for value in QUOTED.findall(found[1]))

    if command == "structure":
        sentence = SETTING_ADVICE.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}".rstrip(), sentence)

    def reading(found: re.Match[str]) -> str:
        return f"--{found[1]} {'tab' if found[2] == TAB else quote(found[2])}"

    for phrase, said in PHRASES.items():
        sentence = sentence.replace(phrase, said)
    sentence = READING_ADVICE.sub(reading, MISSING_ADVICE.sub(missing, sentence))
    sentence = HIDDEN_ADVICE.sub(lambda found: f"--hidden {quote(f'{found[1][1:-1]}={found[2]}')}", sentence)
    return OPTION_ADVICE.sub(r"--\1", KIND_ADVICE.sub(kind, sentence))


@contextmanager
def notices_told() -> Iterator[None]:
    """A block in which notices are printed as `note: ...` on stderr, each once; other warnings as usual."""
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
                remark(f"note: {in_options(str(message), command)}")
            else:
                otherwise(message, category, *rest)

        warnings.showwarning = tell  # type: ignore[assignment]
        yield


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Threads: all cores, or the number in CREDO_THREADS.",
)
@click.version_option(__version__, prog_name="credo")
def main() -> None:
    """Bayesian learning for tables, text, sequences and networks.

    \b
    Start with:
      credo demo
      credo show sales.csv
      credo learn sales.csv --target returned -o sales.credo
      credo estimate sales.csv --column returned --by shop
    """
