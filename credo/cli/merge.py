"""credo merge: what several files learned, in one."""

from __future__ import annotations

import click

from credo.cli.progress import shown_progress
from credo.cli.streams import echo


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--output", "-o", required=True, help="A .credo file for the result.")
def merge(models: tuple[str, ...], output: str) -> None:
    """What several files learned, in one.

    MODELS are .credo files of one kind, with the same columns and priors, that learned from different rows. The result
    is as if one had seen all of them.

    \b
    Examples:
      credo merge north.credo south.credo -o both.credo
      credo merge parts/*.credo -o whole.credo
    """
    from credo.cli.output import MODEL, check
    from credo.cli.saved import merged
    from credo.present.numbers import count_of
    from credo.storage.files import save
    from credo.storage.locks import changing

    check(output, (MODEL,))
    with shown_progress("merging"), changing(output):
        model = merged(models)
        save(model, output)
    echo(f"{output}: {count_of(len(models), 'file')} merged, {count_of(model.n, 'row')} in all")
