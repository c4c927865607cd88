"""credo show: the contents of a file, and how credo reads it."""

from __future__ import annotations

import click

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data


@click.command()
@click.argument("file")
@click.option(
    "--top", metavar="N", type=click.IntRange(min=1),
    help="Number of columns, variables or groups to print.  [default: 100; 20 groups]",
)  # fmt: skip
@reads_data
def show(file: str, top: int | None) -> None:
    """Show the contents of a file: a table, a network, or a saved model.

    For a table (.csv .tsv .jsonl .parquet .arrow, or a pattern such as 'logs/*.csv'): each column's kind, the share of
    missing cells, and some values. For a .credo file: what was learned, from which columns, with which prior; groups
    are in the order of `credo estimate`, the largest mean first. For a network (.bif .xdsl .net and others, see `credo
    convert --help`): each variable's states and parents, and the tables of a small network; for
    an influence diagram (.xdsl), its best policy.

    \b
    Examples:
      credo show ads.csv
      credo show 'logs/*.parquet'
      credo show ads.credo
      credo show alarm.bif
    """
    from credo.cli.saved import loaded_network
    from credo.data.profile import profile, tell_of_words
    from credo.formats import holds_diagram, is_network, read_diagram
    from credo.present.content import GAP, Paragraph
    from credo.present.models import model_content
    from credo.present.tables import profile_content
    from credo.present.terminal import show as show_content
    from credo.storage.files import describe, load

    with shown_progress("reading"):
        if file.lower().endswith(".credo"):
            header = describe(file)
            title = Paragraph(f"{file}: {header['kind']}, saved by credo {header['credo']}", "title")
            contents = [title, GAP, *model_content(load(file), top)]
        elif is_network(file):
            read = read_diagram if holds_diagram(file) else loaded_network
            contents = model_content(read(file), top)
        else:
            found = profile(opened_data(file))
            tell_of_words(found)
            contents = profile_content(found, file, top)
    show_content(contents)
