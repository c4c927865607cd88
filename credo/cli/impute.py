"""credo impute: missing cells, filled in with a network."""

from __future__ import annotations

import click

from credo.cli.reading import opened_data, reads_data


@click.command()
@click.argument("network")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="A file for all rows: .csv .tsv .jsonl .parquet .arrow.")
@reads_data
def impute(network: str, data: str, output: str | None) -> None:
    """Fill in missing cells with a network.

    NETWORK is a network (.bif, .xmlbif, .xdsl, .dsl, .net, .uai, .json, which may end in .gz, or .credo), DATA a table
    some of whose columns are its variables. In each row the missing cells get the states that are most probable
    together, given the others. Other columns stay as they are. Without -o, a terminal shows the first rows, and a pipe
    gets all of them as CSV.

    \b
    Examples:
      credo impute alarm.bif patients.csv -o whole.csv
      credo impute alarm.bif patients.csv | head
    """
    from credo.cli.output import TABLES, check, check_apart, put
    from credo.cli.saved import loaded_network
    from credo.streaming.predictions import network_imputations

    if output:
        check(output, TABLES)
        check_apart(output, data)
    put(network_imputations(loaded_network(network), opened_data(data)), output, data, "filling in")
