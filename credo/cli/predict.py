"""credo predict: the class of each row, and how probable it is."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import closing
from typing import Any

import click

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.terminal import remark

HEAD = 10  # rows on a terminal


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="A file for all rows: .csv .tsv .jsonl .parquet .arrow.")
@click.option("--target", metavar="NAME", help="The variable to predict, if MODEL is a network.")
@click.option("--proba", is_flag=True, help="Add a column with each class's probability.")
@click.option("--class-prior", metavar="SHARES", help="Class shares that differ from the learned: no=0.9,yes=0.1.")
@reads_data
def predict(
    model: str, data: str, output: str | None, target: str | None, proba: bool, class_prior: str | None
) -> None:
    """Predict the class of each row, with its probability.

    MODEL is a .credo file of a classifier, or a network (.bif, .xdsl, .net, ...) with --target. DATA is a table with
    its columns (by name; one that isn't there counts as missing) or, of texts, a folder, mail, or files such as
    'new/*.txt'. What is written are DATA's own columns, then `predicted` and `probability`. Rows are streamed: a file
    may be larger than memory. Without -o, a terminal shows the first rows, and a pipe gets all of them as CSV.

    \b
    Examples:
      credo predict pumps.credo new.csv
      credo predict pumps.credo new.csv -o scored.csv
      credo predict pumps.credo 'logs/*.parquet' -o scored.parquet --proba
      credo predict pumps.credo new.csv | head
      credo predict mail.credo message.txt
      credo predict mail.credo inbox.mbox --class-prior ham=0.6,spam=0.4
      credo predict alarm.bif patients.csv --target HYPOVOLEMIA -o scored.csv
    """
    from credo.cli.arguments import check_order
    from credo.cli.output import TABLES, check, check_apart
    from credo.cli.saved import predicted

    check_order("predict", model, data)
    if output:
        check(output, TABLES)
        check_apart(output, data)
    put(predicted(model, opened_data(data), target, proba, class_prior), output, data, "predicting")


def put(tables: Generator[Any], output: str | None, data: str, task: str) -> None:
    """Tables in a file; or, without one, the first rows on a terminal, and all of them as CSV in a pipe."""
    from credo.cli.output import encoded, write_tables

    if output:
        with shown_progress(task):
            write_tables(tables, output)
        remark(f"wrote {output}")
    elif sys.stdout.isatty():
        with closing(tables):
            _print_head(next(tables), data)
    else:
        for part in encoded(tables, ".csv"):
            sys.stdout.buffer.write(part)


def _print_head(first: Any, data: str) -> None:
    from credo.cli import screen as on

    screen = on.Screen()
    shown = first.slice(0, HEAD).to_pydict()
    names, columns = _in_order(first.column_names), list[tuple[str, list[str]]]()
    for name in names:
        wider = [*columns, (on.harmless(name), [_cell(value) for value in shown[name]])]
        if on.room(screen, wider) < 0 and len(columns) > 1:
            break
        columns = wider
    words = [i for i, name in enumerate(names[: len(columns)]) if any(isinstance(cell, str) for cell in shown[name])]
    screen.print(on.table(columns, left=words))
    screen.print()
    if first.num_rows > HEAD:
        on.say(screen, f"the first {HEAD} rows of {data}: -o writes all of them", "dim")
    if len(columns) < len(names):
        on.say(screen, f"no room for {on.counted(len(names) - len(columns), 'more column')}: -o writes all", "dim")


def _in_order(names: list[str]) -> list[str]:
    """What was predicted first, if anything was: the last columns are."""
    from credo.cli.predictions import PREDICTED

    start = max((i for i, name in enumerate(names) if name.rstrip("_") == PREDICTED), default=0)
    return [*names[start:], *names[:start]]


def _cell(value: object) -> str:
    from credo.cli import screen as on

    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else on.harmless(value, 20)
