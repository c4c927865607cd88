"""credo report: a page about a saved model."""

from __future__ import annotations

import click

from credo.cli.streams import remark


@click.command()
@click.argument("model")
@click.option("--output", "-o", metavar="FILE", required=True, help="An .html file for the report.")
@click.option("--data", metavar="DATA", help="Labelled rows: the report shows a classifier's worst mistakes, and why.")
def report(model: str, output: str, data: str | None) -> None:
    """Write a report about a model or a network.

    MODEL is a .credo file, a network (.bif .xdsl .net and others) or an influence diagram (.xdsl). The report is a
    single file.

    \b
    Examples:
      credo report pumps.credo -o pumps.html
      credo report pumps.credo -o pumps.html --data pumps.csv
      credo report geyser.credo -o geyser.html
      credo report alarm.bif -o alarm.html
    """
    from credo.cli.output import PAGE, check
    from credo.cli.saved import loaded
    from credo.formats import holds_diagram, is_network, read_diagram
    from credo.present.model_page import model_page

    check(output, (PAGE,))
    found = read_diagram(model) if is_network(model) and holds_diagram(model) else loaded(model)
    if data is None:
        model_page(found, output, file=model)
    else:
        from credo.cli.reading import opened_data
        from credo.models.classifier import Classifier
        from credo.present.classifier_page import classifier_page

        if not isinstance(found, Classifier):
            raise click.UsageError(f"--data is for classifiers, and {model} is a {type(found).__name__}")
        classifier_page(found, output, examples=opened_data(data), file=data, saved=model)
    remark(f"wrote {output}")
