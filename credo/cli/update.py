"""credo update: learn from more rows."""

from __future__ import annotations

from shlex import quote

import click

from credo.cli.options import weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import echo_done, remark


@click.command()
@click.argument("model")
@click.argument("data")
@weighted
@click.option("--output", "-o", help="A .credo file for the result; else MODEL is replaced atomically.")
@reads_data
def update(model: str, data: str, weight: str | None, output: str | None) -> None:
    """Learn from more rows.

    MODEL is a .credo file: a classifier, a learned network, a mixture, or what `credo estimate` saved. New classes,
    groups and values are allowed. The result equals learning all rows at once; with hidden variables or missing cells,
    EM continues.

    \b
    Examples:
      credo update pumps.credo march.csv
      credo update ads.credo 'visits/*.parquet' -o ads2.credo
    """
    from credo.cli.arguments import check_order
    from credo.cli.repeated_updates import digest_of, repeats
    from credo.cli.saved import changed

    check_order("update", model, data)
    with shown_progress("learning"):
        table = opened_data(data)
        digest = digest_of(table)
        change = changed(
            model, output, lambda before: before.update(table, weight=weight), "learned",
            lambda known: [*known, digest] if digest else known,
        )  # fmt: skip
    echo_done(change.said)
    undo = f"To undo it: credo forget {quote(output or model)} {quote(data)}"
    if repeats(change.before, change.after):
        remark(f"note: {model} had learned these rows before; each counts twice now. {undo}")
    elif digest in change.updates:
        remark(f"note: an earlier update of {model} had learned these rows; they count once more now. {undo}")
