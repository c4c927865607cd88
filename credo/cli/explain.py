"""credo explain: the weights of evidence behind a prediction."""

from __future__ import annotations

import click

from credo.cli.options import top
from credo.cli.reading import opened_data, reads_data


@click.command()
@click.argument("model")
@click.argument("data")
@click.option(
    "--row", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Row number, from 1."
)
@click.option("--of", metavar="CLASS", help="The class to explain; by default the most probable one.")
@click.option("--against", metavar="CLASS", help="The class to compare it with; by default the next one.")
@click.option("--bits", is_flag=True, help="Weights in bits (logarithms to base 2) instead of nats.")
@top(15, "columns")
@reads_data
def explain(model: str, data: str, row: int, top: int, of: str | None, against: str | None, bits: bool) -> None:
    """Explain a prediction by the weight of evidence of each column.

    The prior and the columns' weights of evidence add up to the log-odds of one class against another. A positive
    weight is evidence for the first class, a negative one for the second. For a regression: the prediction for an
    average row, and how much each column of this row adds to it.

    \b
    Examples:
      credo explain pumps.credo new.csv
      credo explain pumps.credo new.csv --row 17 --of bearing --against none
    """
    from credo.asking.classifiers import explain_row
    from credo.asking.regression import explained_number
    from credo.cli.arguments import check_order
    from credo.cli.saved import as_classifier
    from credo.models.regression.linear import LinearRegression
    from credo.present.content import Paragraph
    from credo.present.numbers import one_line
    from credo.present.regression import contributions_content
    from credo.present.terminal import show
    from credo.present.waterfalls import explanation_content
    from credo.storage.files import load

    check_order("explain", model, data)
    stored, table = load(model), opened_data(data)
    if isinstance(stored, LinearRegression):
        if of is not None or against is not None or bits:
            raise click.UsageError(f"{model} predicts a number: --of, --against and --bits are about classes")
        return show(contributions_content(explained_number(stored, table, row), f"row {row} of {data}", top))
    learned = as_classifier(stored, model)
    found = explain_row(learned, table, row, of, against, "bits" if bits else "nats")
    show(explanation_content(found, f"row {row} of {data}", top))
    if learned.target in table.names:
        target = one_line(learned.target)
        show([Paragraph(f"the data has {target}: the model may have been trained on this row", "note")])
    return None
