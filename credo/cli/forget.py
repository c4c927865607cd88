"""credo forget: unlearn rows."""

from __future__ import annotations

import click

from credo.cli.options import weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import echo_done


@click.command()
@click.argument("model")
@click.argument("data")
@weighted
@click.option("--output", "-o", help="A .credo file for the result; else MODEL is replaced atomically.")
@reads_data
def forget(model: str, data: str, weight: str | None, output: str | None) -> None:
    """Unlearn rows exactly, as if they had never been learned.

    MODEL is a .credo file: a classifier, a network whose rows were complete, or what `credo estimate` saved. DATA holds
    the rows, as they were learned, with all columns that the model reads. Rows that can't have been learned are
    refused, and nothing changes.

    \b
    Examples:
      credo forget pumps.credo withdrawn.csv
      credo forget ads.credo bots.csv -o clean.credo
    """
    from credo.cli.arguments import check_order
    from credo.cli.repeated_updates import digest_of
    from credo.cli.saved import changed

    check_order("forget", model, data)
    with shown_progress("forgetting"):
        table = opened_data(data)
        digest = digest_of(table)
        change = changed(
            model, output, lambda before: before.forget(table, weight=weight), "forgotten",
            lambda known: remaining(known, digest),
        )  # fmt: skip
    echo_done(change.said)


def remaining(updates: list[str], forgotten: str | None) -> list[str]:
    """The record of updates without the forgotten one. If other rows were forgotten, no record is kept: no trace must
    stay."""
    if forgotten not in updates:
        return []
    place = updates.index(forgotten)
    return [*updates[:place], *updates[place + 1 :]]
