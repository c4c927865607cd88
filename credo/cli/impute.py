"""credo impute: missing cells, filled in with a network or a mixture."""

from __future__ import annotations

import click

from credo.cli.reading import opened_data, reads_data


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="A file for all rows: .csv .tsv .jsonl .parquet .arrow.")
@reads_data
def impute(model: str, data: str, output: str | None) -> None:
    """Fill in missing cells with a network or a mixture.

    MODEL is a network (.bif, .xmlbif, .xdsl, .dsl, .net, .uai, .json, which may end in .gz, or .credo), or a mixture
    that `credo cluster` saved; DATA is a table with some of its variables. A network fills in the jointly most probable
    states given the observed cells; a mixture fills in a number's conditional mean and a category's most probable
    value. Other columns stay unchanged. Without -o, a terminal shows the first rows, and a pipe gets all of them as
    CSV.

    \b
    Examples:
      credo impute alarm.bif patients.csv -o whole.csv
      credo impute alarm.bif patients.csv | head
      credo impute geyser.credo eruptions.csv -o whole.csv
    """
    from credo.cli.arguments import check_order
    from credo.cli.output import TABLE_ENDINGS, check, check_apart, put
    from credo.cli.saved import imputed

    check_order("impute", model, data)
    if output:
        check(output, TABLE_ENDINGS)
        check_apart(output, data)
    put(imputed(model, opened_data(data)), output, data, "filling in")
