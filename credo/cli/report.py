"""credo report: a page about a saved model."""

from __future__ import annotations

import click

from credo.cli.streams import remark


@click.command()
@click.argument("model")
@click.option("--output", "-o", metavar="FILE", required=True, help="An .html file for the page.")
def report(model: str, output: str) -> None:
    """Write a page about a model or a network.

    MODEL is a .credo file, or a network (.bif .xdsl .net and others). The page loads nothing else.

    \b
    Examples:
      credo report pumps.credo -o pumps.html
      credo report geyser.credo -o geyser.html
      credo report alarm.bif -o alarm.html
    """
    from credo.cli.output import PAGE, check
    from credo.cli.saved import loaded
    from credo.present.model_page import model_page

    check(output, (PAGE,))
    model_page(loaded(model), output)
    remark(f"wrote {output}")
