"""credo compare: learning curves of a generative and a discriminative model, and which to prefer at which size."""

from __future__ import annotations

import click

from credo.cli.options import as_kinds, read_as, weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import remark


@click.command()
@click.argument("data")
@click.option("--target", "-t", metavar="COLUMN", help="The column that holds the classes.  [required]")
@weighted
@read_as("category, number, count, date, text or ignore")
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

    Gaussian discriminant analysis with one covariance (naive Bayes, unless all columns are numbers) models the columns
    in each class; logistic regression models P(class | columns) only. The first often needs fewer rows; the second wins
    with many rows if the first one's assumptions don't hold. Both are fitted to growing samples and scored on a
    held-out third, in several random splits.

    \b
    Examples:
      credo compare pumps.csv --target fault
      credo compare iris.csv --target Species --draws 20 --plot curves.png
    """
    from credo.cli.arguments import check_no_model, column_asked_for
    from credo.cli.output import PICTURE_ENDINGS, check
    from credo.present.comparison import comparison_content
    from credo.present.terminal import show
    from credo.selection.comparison import compare as compared

    check_no_model("compare", data)
    target = column_asked_for(data, target, "--target", "which column holds the classes")
    if plot:
        check(plot, PICTURE_ENDINGS)
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
