"""credo cluster: the clusters of a table's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from credo.cli.options import FORM_NAMES, read_as, top, weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import remark

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

COVARIANCES = ("auto", "full", "tied", "diagonal", "spherical")


def parse_components(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    """A whole number, or auto."""
    if value == "auto":
        return value
    if not value.isdigit() or int(value) < 1:
        raise click.BadParameter(f"{value!r} isn't a whole number of at least 1, or 'auto'", ctx, param)
    return int(value)


@click.command()
@click.argument("data")
@click.option(
    "--components", "-n", default="auto", show_default=True, callback=parse_components, metavar="N|auto",
    help="Number of clusters; auto chooses by approximate evidence.",
)  # fmt: skip
@click.option(
    "--covariance", type=click.Choice(COVARIANCES), help="Of number columns.  [default: auto, or full with -n N]"
)
@click.option("--target", "-t", metavar="COLUMN", help="Column with the clusters of some of the rows.")
@weighted
@read_as("category, number, count, date, text, ignore; or a number's form, log or binned")
@top(4, "columns of each cluster")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of the starts."
)
@click.option("--output", "-o", metavar="FILE", help="A .credo file for the mixture.")
@click.option("--report", metavar="FILE", help="An .html file for a report.")
@click.option(
    "--plot", metavar="FILE", help="A .png, .svg or .pdf file for ellipses of the clusters, or their profiles."
)
@reads_data
def cluster(
    data: str, target: str | None, weight: str | None, kinds: dict[str, str], top: int, output: str | None,
    report: str | None, plot: str | None, **how: Any,
) -> None:  # fmt: skip
    """Cluster rows, and describe the clusters.

    DATA is a table (.csv .tsv .jsonl .parquet .arrow, or a pattern such as 'logs/*.csv') of categories, numbers, dates,
    counts and texts, with missing cells. Clusters are the components of a mixture, fitted by EM; their number is chosen
    by approximate evidence, unless it is given. `credo predict` assigns new rows to them.

    \b
    Examples:
      credo cluster geyser.csv -o geyser.credo
      credo cluster visitors.csv -n 5 --kind zip=category --report visitors.html
      credo cluster plants.csv --target species --plot plants.png
      credo predict geyser.credo new.csv
    """
    import credo
    from credo.cli.arguments import check_no_model
    from credo.cli.output import check_outputs
    from credo.present.mixtures import mixture_content
    from credo.present.terminal import show
    from credo.storage.files import save

    check_no_model("cluster", data)
    check_outputs(output, report, plot)
    asked = {name: credo.Number(kind) if kind in FORM_NAMES else kind for name, kind in kinds.items()}  # type: ignore[arg-type]
    with shown_progress("clustering"):
        table = opened_data(data)
        mixture = credo.Mixture(**how, kinds=asked or None).fit(table, target, weight=weight)
        if output:  # before printing, which a closed pipe may interrupt
            save(mixture, output)
        if report:
            mixture.report(report)
        if plot:
            _plot(mixture, table, plot)
    show(mixture_content(mixture, top))
    for path in filter(None, (output, report, plot)):
        remark(f"wrote {path}")


def _plot(mixture: Mixture, table: object, path: str) -> None:
    """Ellipses over the first two number columns; profiles if there aren't two."""
    from credo.present.plotting import save_figure

    numbers = [name for name, forms in mixture.classifier.views.items() if forms[0] == "gaussian"]
    save_figure(mixture.plot(table) if len(numbers) > 1 else mixture.plot(kind="profile"), path)
