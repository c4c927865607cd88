"""credo compare: learning curves of a generative and a discriminative model, and which to prefer at which size."""

from __future__ import annotations

import click

from credo.cli.learn import as_kinds, parse_kinds
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import remark


@click.command()
@click.argument("data")
@click.option("--target", "-t", metavar="COLUMN", help="The column that holds the classes.  [required]")
@click.option("--weight", metavar="COLUMN", help="Column of row weights.")
@click.option(
    "--kind", "-k", "kinds", multiple=True, callback=parse_kinds, metavar="COLUMN=KIND",
    help="How to read a column: category, number, count, date, text or ignore.",
)  # fmt: skip
@click.option(
    "--draws", metavar="N", type=click.IntRange(min=2), default=10, show_default=True,
    help="Number of random splits.",
)  # fmt: skip
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--plot", metavar="FILE", help="A .png, .svg or .pdf file for the two learning curves.")
@reads_data
def compare(
    data: str, target: str | None, weight: str | None, kinds: dict[str, str], draws: int, seed: int, plot: str | None
) -> None:
    """Learning curves of a generative and a discriminative model.

    Gaussian discriminant analysis with one covariance (naive Bayes, unless all columns are numbers) estimates how
    columns are distributed in each class; logistic regression fits the classes' probabilities alone. The first often
    needs fewer rows; the second wins where the first one's assumptions don't hold and rows are many. Both learn from
    more and more rows, and are scored on a third that is withheld, in several draws.

    \b
    Examples:
      credo compare pumps.csv --target fault
      credo compare iris.csv --target Species --draws 20 --plot curves.png
    """
    from credo.cli.arguments import check_no_model, column_asked_for
    from credo.cli.output import PICTURES, check
    from credo.present.comparison import comparison_content
    from credo.present.terminal import show
    from credo.selection.comparison import compare as compared

    check_no_model("compare", data)
    target = column_asked_for(data, target, "--target", "which column holds the classes")
    if plot:
        check(plot, PICTURES)
    with shown_progress("comparing"):
        found = compared(
            opened_data(data), target, draws=draws, kinds=as_kinds(kinds) or None, weight=weight, seed=seed
        )
        if plot:
            from credo.present.plotting import save_figure

            save_figure(found.plot(), plot)
    show(comparison_content(found, data))
    if plot:
        remark(f"wrote {plot}")
