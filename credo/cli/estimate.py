"""credo estimate: a belief about a column's parameters, overall or by group."""

from __future__ import annotations

from typing import Any

import click

from credo.cli.engine import runs_on_engines
from credo.cli.options import top, weighted
from credo.cli.prior import PRIOR_NUMBERS, asked_kinds, class_name, parse_prior, with_numbers
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import remark


@click.command()
@click.argument("data")
@click.option("--column", "-c", metavar="COLUMN", help="The column to estimate.  [required]")
@click.option("--by", "-b", metavar="COLUMN", help="Estimate for each value of this column.")
@click.option(
    "--prior",
    default="default",
    show_default=True,
    callback=parse_prior,
    metavar="NUMBERS|default|empirical",
    help="Parameters, such as 2,2; empirical: fitted to all groups, so that small ones shrink towards the mean.",
)
@click.option(
    "--family",
    type=click.Choice(list(PRIOR_NUMBERS)),
    metavar="FAMILY",
    help="One of the families above; by default chosen by the column's kind.",
)
@click.option(
    "--kind", type=click.Choice(("category", "number", "count")), help="How to read the column; by default inferred."
)
@weighted
@click.option("--success", metavar="VALUE", help="Estimate the probability of this value.")
@click.option("--mass", default=0.95, show_default=True, help="Probability of the credible intervals.")
@click.option(
    "--sort", type=click.Choice(["mean", "rows", "name"]), default="mean", show_default=True,
    help="The order of the groups: the largest mean, the most rows, or the name first.",
)  # fmt: skip
@top(20, "groups")
@click.option(
    "--output", "-o", metavar="FILE", help="A file for all groups: .csv .tsv .jsonl .parquet .arrow, or .credo."
)
@runs_on_engines
@reads_data
def estimate(
    data: str, column: str | None, by: str | None, mass: float, sort: str, top: int, output: str | None, **reading: Any
) -> None:
    """Estimate a column's parameters, overall or by group.

    DATA is a file (.csv .tsv .jsonl .parquet .arrow, also .csv.gz), a pattern such as 'logs/*.csv', or - (standard
    input).

    \b
    Examples:
      credo estimate ads.csv --column converted
      credo estimate ads.csv --column converted --by ad --prior 2,2
      credo estimate ads.csv -c converted --by ad --prior empirical -o ads.credo
      credo estimate sales.parquet -c price --by shop --sort rows --top 50
      credo estimate calls.csv -c calls --kind count --by hour --sort name
      credo estimate users.csv -c plan --success gold --by country -o gold.csv

    \b
    The families, and the parameters of their priors:
      beta-bernoulli         a,b                         yes or no
      dirichlet-categorical  concentration               one of several values
      gamma-poisson          shape,rate                  counts
      gamma-exponential      shape,rate                  waiting times
      normal-inverse-gamma   mean,strength,shape,scale   numbers
      normal-mean            mean,sd,noise_sd            numbers with known noise
      pareto-uniform         scale,shape                 numbers up to a bound
    """
    from credo.cli.arguments import check_no_model, column_asked_for
    from credo.cli.output import check, write
    from credo.present.beliefs import belief_content, groups_content, parameter_table
    from credo.present.terminal import show

    check_no_model("estimate", data)
    column = column_asked_for(data, column, "--column", "which column to estimate")
    if output:
        check(output)
    with shown_progress("estimating"):
        found = learned(opened_data(data), column, by, **reading)
        table = found.table(mass) if by else parameter_table(found, mass)
        if output:  # before printing, which a closed pipe may interrupt
            write(found, table, output)
    if by:
        show(groups_content(found, table, mass, top, sort))
    else:
        show(belief_content(found, table, column, mass, top))
    if output:
        remark(f"wrote {output}")


def learned(
    data: Any,
    column: str,
    by: str | None,
    *,
    prior: Any,
    family: str | None,
    kind: str | None,
    weight: str | None,
    success: str | None,
) -> Any:
    """The Belief, or the Beliefs by group."""
    import credo
    from credo.errors import DataError

    kinds = asked_kinds(column, kind, family, prior)
    if isinstance(prior, tuple):
        prior = with_numbers(data, column, family, prior, kinds, success)
    found = credo.estimate(data, column, by=by, prior=prior, weight=weight, success=success, kinds=kinds)
    used = type(found.family).__name__
    if family and used != class_name(family):
        raise DataError(f"the default prior of column {column!r} is {used}, not {family}: give numbers with --prior")
    return found
