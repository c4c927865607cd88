"""credo predict: the class of each row, and how probable it is; of a regression, the number and its interval."""

from __future__ import annotations

from pathlib import Path

import click

from credo.cli.engine import asked_for, runs_on_engines
from credo.cli.reading import opened_data, reads_data


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="A file for all rows: .csv .tsv .jsonl .parquet .arrow.")
@click.option("--target", metavar="NAME", help="The variable to predict, if MODEL is a network.")
@click.option("--proba", is_flag=True, help="Add a column with each class's probability.")
@click.option("--class-prior", metavar="SHARES", help="Class prior to use instead of the learned one: no=0.9,yes=0.1.")
@click.option("--sequence", metavar="COLUMN", help="Column that identifies the sequences of a dynamic network.")
@click.option("--order", metavar="COLUMN", help="Column that orders the rows of a sequence.")
@runs_on_engines
@reads_data
def predict(
    model: str,
    data: str,
    output: str | None,
    target: str | None,
    proba: bool,
    class_prior: str | None,
    sequence: str | None,
    order: str | None,
) -> None:
    """Predict the class of each row, with its probability.

    MODEL is a .credo file of a classifier, a regression or a hidden Markov model, or a network (.bif, .xdsl, .net, ...)
    with --target. DATA is a table with the model's columns (by name; an absent one counts as missing) or, for texts, a
    folder, mail, or files such as 'new/*.txt'. The output has DATA's own columns, then `predicted` and `probability`.

    For a regression, `predicted` is a number, with a 95% interval from `low` to `high`. For a hidden Markov model, it
    is the row's state in the most probable path. For a dynamic network, `probability` is given all rows of the sequence
    (all rows are one sequence, unless it was learned from several or --sequence names their column).

    Rows are streamed: a file may be larger than memory. Without -o, a terminal shows the first rows, and a pipe gets
    all of them as CSV. With --engine, -o may be a new folder: workers write it, a Parquet file for each partition.

    \b
    Examples:
      credo predict pumps.credo new.csv
      credo predict pumps.credo new.csv -o scored.csv
      credo predict pumps.credo 'logs/*.parquet' -o scored.parquet --proba
      credo predict pumps.credo new.csv | head
      credo predict pumps.credo 'logs/*.parquet' -o scored/ --engine dask
      credo predict mail.credo message.txt
      credo predict mail.credo inbox.mbox --class-prior ham=0.6,spam=0.4
      credo predict alarm.bif patients.csv --target HYPOVOLEMIA -o scored.csv
      credo predict weather.credo days.csv --target Weather --sequence town
    """
    from credo.cli.arguments import check_order
    from credo.cli.output import TABLE_ENDINGS, check, check_apart, put, write_folder
    from credo.cli.saved import predicted

    check_order("predict", model, data)
    if output and not Path(output).suffix and asked_for(click.get_current_context()):
        write_folder(model, opened_data(data), output, (target, proba, class_prior))
        return
    if output:
        check(output, TABLE_ENDINGS)
        check_apart(output, data)
    found = predicted(model, opened_data(data), target, proba, class_prior, (sequence, order))
    put(found, output, data, "predicting")
