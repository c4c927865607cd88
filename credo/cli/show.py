"""credo show: what is in a file, and how credo reads it."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data

if TYPE_CHECKING:
    from rich.console import Console

    from credo.cli.screen import Columns
    from credo.data.profile import Profile

HEAD = 10  # groups of a saved table


@click.command()
@click.argument("file")
@reads_data
def show(file: str) -> None:
    """What is in a file: a table, a network, or what credo saved.

    Of a table (.csv .tsv .jsonl .parquet .arrow, or a pattern such as 'logs/*.csv'): each column's kind, how many cells
    are missing, and some values. Of a .credo file: what was learned, from which columns, with which prior. Of a network
    (.bif .xdsl .net and others, see `credo convert --help`): its arrows, and its tables where there are few.

    \b
    Examples:
      credo show ads.csv
      credo show 'logs/*.parquet'
      credo show ads.credo
      credo show alarm.bif
    """
    from credo.formats import FORMATS

    if file.lower().endswith(".credo"):
        _show_saved(file)
    elif file.lower().removesuffix(".gz").endswith(tuple(FORMATS)):
        _show_network(file)
    else:
        _show_table(file)


def _show_table(file: str) -> None:
    from credo.cli import screen as on
    from credo.data.profile import profile

    with shown_progress("reading"):
        profiles = profile(opened_data(file))
    screen = on.Screen()
    rows = next(iter(profiles.values())).rows
    on.say(screen, f"{file}: {on.counted(rows, 'row')}, {on.counted(len(profiles), 'column')}", "bold")
    screen.print()
    screen.print(on.table(profile_columns(profiles), left=(0, 1, 3), yielding=3))
    screen.print()
    if any(each.kind == "text" for each in profiles.values()):
        label = next((name for name, each in profiles.items() if each.kind == "category"), None)
        if label is not None:
            on.say(screen, f"To learn {on.harmless(label)} from the texts:", "dim")
            on.say(screen, f"  credo learn {quote(file)} --target {quote(label)}", "dim")
        return
    name = next((name for name, each in profiles.items() if each.kind != "category"), next(iter(profiles)))
    on.say(screen, "Kinds are found out from all rows. To have a column read in another way:", "dim")
    on.say(screen, f"  credo estimate {quote(file)} --column {quote(name)} --kind category", "dim")
    on.say(screen, f"  credo.estimate({file!r}, {name!r}, kinds={{{name!r}: 'category'}})", "dim")


def _show_network(file: str) -> None:
    from credo.cli import screen as on
    from credo.cli.saved import loaded_network

    on.say(on.Screen(), repr(loaded_network(file)))


def profile_columns(profiles: Mapping[str, Profile]) -> Columns:
    """How each column is read."""
    from credo.cli.screen import harmless, share

    found = profiles.values()
    return [
        ("column", [harmless(name) for name in profiles]),
        ("kind", [each.kind for each in found]),
        ("missing", [share(each.missing_share) for each in found]),
        ("values", [_values(each) for each in found]),
    ]


def _values(found: Profile) -> str:
    import pyarrow.compute as pc

    from credo.cli import screen as on

    if not found.known:
        return "every cell is missing"
    if not len(found.values):
        return f"{found.values.type}, which credo doesn't read"
    if found.kind == "number":
        ends = pc.min_max(found.values).as_py()
        return f"{on.number(ends['min'])} to {on.number(ends['max'])}"
    if found.kind == "date":  # as ISO has it, words are in the order of dates
        ends = pc.min_max(found.values).as_py()
        return f"{ends['min']} to {ends['max']}"
    few = on.listed(found.values.slice(0, on.FEW).to_pylist(), len(found.values), "or more" if found.full else "in all")
    return f"names of rows, as {few}" if found.identifies else few


def _show_saved(file: str) -> None:
    from credo.cli import screen as on
    from credo.cli.classifiers import is_classifier, print_classifier
    from credo.storage import describe, load

    with shown_progress("reading"):
        header, model = describe(file), load(file)
    screen = on.Screen()
    on.say(screen, f"{file}: {header['kind']}, saved by credo {header['credo']}", "bold")
    screen.print()
    if is_classifier(model):
        print_classifier(screen, model)
        return
    _print_schema(screen, model)
    if header["kind"] == "Beliefs":
        _print_beliefs(screen, model)
    else:
        on.say(screen, repr(model))


def _print_schema(screen: Console, model: Any) -> None:
    from credo.cli import screen as on

    evidence = getattr(model, "evidence", None)
    if evidence is None:
        return
    columns = [
        ("column", [on.harmless(column.name) for column in evidence.schema]),
        ("kind", [column.kind for column in evidence.schema]),
        ("values", [_levels(column) for column in evidence.schema]),
    ]
    screen.print(on.table(columns, left=(0, 1, 2), yielding=2))
    screen.print()


def _levels(column: Any) -> str:
    from credo.cli import screen as on

    if column.levels is None:
        return ""
    return on.listed(column.levels.slice(0, on.FEW).to_pylist(), len(column.levels))


def _print_beliefs(screen: Console, beliefs: Any) -> None:
    from credo.cli import tables

    with shown_progress("estimating"):
        groups = tables.chosen(beliefs, beliefs.table(), "rows", HEAD)
    tables.print_beliefs(screen, beliefs, groups, 0.95)
