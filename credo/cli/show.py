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

TOP = 100  # columns or variables
GROUPS = 20


@click.command()
@click.argument("file")
@click.option(
    "--top", metavar="N", type=click.IntRange(min=1),
    help=f"How many columns, variables or groups to print.  [default: {TOP}; {GROUPS} groups]",
)  # fmt: skip
@reads_data
def show(file: str, top: int | None) -> None:
    """Show what is in a file: a table, a network, or a saved model.

    Of a table (.csv .tsv .jsonl .parquet .arrow, or a pattern such as 'logs/*.csv'): each column's kind, how many cells
    are missing, and some values. Of a .credo file: what was learned, from which columns, with which prior; groups are
    in the order of `credo estimate`, the largest mean first. Of a network (.bif .xdsl .net and others, see `credo
    convert --help`): each variable's states and parents, and the tables of a small one.

    \b
    Examples:
      credo show ads.csv
      credo show 'logs/*.parquet'
      credo show ads.credo
      credo show alarm.bif
    """
    from credo.formats import FORMATS

    if file.lower().endswith(".credo"):
        _show_saved(file, top)
    elif file.lower().removesuffix(".gz").endswith(tuple(FORMATS)):
        _show_network(file, top or TOP)
    else:
        _show_table(file, top or TOP)


def _show_table(file: str, top: int) -> None:
    from itertools import islice

    from credo.cli import screen as on
    from credo.data.profile import profile

    with shown_progress("reading"):
        profiles = profile(opened_data(file))
    screen = on.Screen()
    rows = next(iter(profiles.values())).rows
    on.say(screen, f"{file}: {on.counted(rows, 'row')}, {on.counted(len(profiles), 'column')}", "bold")
    screen.print()
    screen.print(on.table(profile_columns(dict(islice(profiles.items(), top))), left=(0, 1, 3), yielding=(3,)))
    screen.print()
    if len(profiles) > top:
        on.say(screen, f"{on.counted(len(profiles) - top, 'more column')}: --top prints more")
    if any(each.kind == "text" for each in profiles.values()):
        label = next((name for name, each in profiles.items() if each.kind == "category"), None)
        if label is not None:
            on.say(screen, f"To learn {on.harmless(label)} from the texts:", "dim")
            on.say(screen, f"  credo learn {quote(file)} --target {quote(label)}", "dim", command=True)
        return
    name = next((name for name, each in profiles.items() if each.kind != "category"), next(iter(profiles)))
    on.say(screen, "Kinds are inferred from all rows. To read a column as another kind:", "dim")
    on.say(screen, f"  credo estimate {quote(file)} --column {quote(name)} --kind category", "dim", command=True)
    on.say(screen, f"  credo.estimate({file!r}, {name!r}, kinds={{{name!r}: 'category'}})", "dim", command=True)


def _show_network(file: str, top: int) -> None:
    from credo.cli import screen as on
    from credo.cli.saved import loaded_network

    print_network(on.Screen(), loaded_network(file), top)


def print_network(screen: Console, net: Any, top: int) -> None:
    """Each variable's states and parents; of a small network, what its repr shows: the tables."""
    from credo.cli import screen as on
    from credo.networks.network import Network
    from credo.present.networks import FEW, described, headline

    if not isinstance(net, Network):  # one without arrows
        on.say(screen, repr(net))
        return
    if len(net.parents) <= FEW:
        on.say(screen, described(net, screen.width))
        return
    on.say(screen, headline(net), "bold")
    screen.print()
    names = [*net.parents][:top]
    columns = [
        ("variable", [on.harmless(name) for name in names]),
        ("states", [on.listed(net.states[name], len(net.states[name])) for name in names]),
        ("parents", [", ".join(map(on.harmless, net.parents[name])) for name in names]),
    ]
    screen.print(on.table(columns, left=(0, 1, 2), yielding=(1, 2)))
    if len(net.parents) > top:
        screen.print()
        on.say(screen, f"{on.counted(len(net.parents) - top, 'more variable')}: --top prints more")


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


def _show_saved(file: str, top: int | None) -> None:
    from credo.cli import screen as on
    from credo.cli.classifiers import MOST, is_classifier, print_classifier
    from credo.networks.graphical_model import GraphicalModel
    from credo.storage.files import describe, load

    with shown_progress("reading"):
        header, model = describe(file), load(file)
    screen = on.Screen()
    on.say(screen, f"{file}: {header['kind']}, saved by credo {header['credo']}", "bold")
    screen.print()
    if is_classifier(model):
        print_classifier(screen, model, top or MOST)
        return
    if isinstance(model, GraphicalModel):
        print_network(screen, model, top or TOP)
        return
    _print_schema(screen, model)
    if header["kind"] == "Beliefs":
        _print_beliefs(screen, model, top or GROUPS)
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
    screen.print(on.table(columns, left=(0, 1, 2), yielding=(2,)))
    screen.print()


def _levels(column: Any) -> str:
    from credo.cli import screen as on

    if column.levels is None:
        return ""
    return on.listed(column.levels.slice(0, on.FEW).to_pylist(), len(column.levels))


def _print_beliefs(screen: Console, beliefs: Any, top: int) -> None:
    from credo.cli import tables

    with shown_progress("estimating"):
        groups = tables.chosen(beliefs, beliefs.table(), "mean", top)
    tables.print_beliefs(screen, beliefs, groups, 0.95, writes=False)
