"""credo report: a page about a saved model."""

from __future__ import annotations

import click

from credo.cli.streams import remark


@click.command()
@click.argument("model")
@click.option("--output", "-o", metavar="FILE", required=True, help="An .html file for the page.")
def report(model: str, output: str) -> None:
    """Write a page about a classifier or a mixture.

    MODEL is a .credo file that `credo learn` or `credo cluster` saved. The page loads nothing else.

    \b
    Examples:
      credo report pumps.credo -o pumps.html
      credo report geyser.credo -o geyser.html
    """
    from credo.cli.output import PAGE, check
    from credo.cli.saved import as_classifier
    from credo.errors import StorageError
    from credo.models.classifier import Classifier
    from credo.models.mixture.model import Mixture
    from credo.present.page import classifier_page
    from credo.storage.files import load

    check(output, (PAGE,))
    found = load(model)
    if isinstance(found, Mixture):
        found.report(output)
    elif isinstance(learned := as_classifier(found, model), Classifier):
        classifier_page(learned, output)
    else:
        raise StorageError(f"{model} holds a {type(found).__name__}, which has no report; `credo show` prints it")
    remark(f"wrote {output}")
