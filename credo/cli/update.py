"""credo update: learn from more rows."""

from __future__ import annotations

import click

from credo.cli.progress import shown_progress


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--weight", help="A column that says how much each row counts.")
@click.option("--output", "-o", help="A .credo file for the result; else MODEL is replaced, whole or not at all.")
def update(model: str, data: str, weight: str | None, output: str | None) -> None:
    """Learn from more rows, as if they had been there at first.

    MODEL is a .credo file: a classifier, or what `credo estimate` saved. Classes, groups and values may be new.

    \b
    Examples:
      credo update pumps.credo march.csv
      credo update ads.credo 'visits/*.parquet' -o ads2.credo
    """
    from credo.cli.saved import changed

    with shown_progress("learning"):
        said = changed(model, output, lambda before: before.update(data, weight=weight), "learned")
    click.echo(said)
