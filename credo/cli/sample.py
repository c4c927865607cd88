"""credo sample: rows drawn from a network or a classifier."""

from __future__ import annotations

import click


@click.command()
@click.argument("model")
@click.option("--rows", type=click.IntRange(min=0), default=1000, show_default=True, help="How many rows.")
@click.option("--given", multiple=True, metavar="A=a", help="Evidence for a network, as in P(... | A=a, B!=b).")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed.")
@click.option("--output", "-o", metavar="FILE", help="A file for the rows: .csv .tsv .jsonl .parquet .arrow.")
def sample(model: str, rows: int, given: tuple[str, ...], seed: int | None, output: str | None) -> None:
    """Draw rows from a network or a classifier.

    MODEL is a network (.bif, .xmlbif, .xdsl, .dsl, .net, .uai, .json, which may end in .gz), or a .credo file of a
    network or a classifier; of a dynamic network or a hidden Markov model, the rows are one sequence. Rows are drawn
    given the evidence, however improbable. Without -o, a terminal shows the first rows, and a pipe gets all of them as
    CSV.

    \b
    Examples:
      credo sample alarm.bif --rows 1000 -o rows.csv
      credo sample alarm.bif --given 'HR=HIGH, BP!=LOW' --seed 0 -o rows.csv
      credo sample pumps.credo --rows 20
    """
    from credo.cli.output import TABLE_ENDINGS, check, put
    from credo.cli.saved import drawn

    if output:
        check(output, TABLE_ENDINGS)
    tables = (drawn(model, rows, ", ".join(given), seed) for _ in range(1))
    put(tables, output, model, "drawing")
