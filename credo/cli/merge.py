"""credo merge: one model from several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from credo.cli.progress import shown_progress
from credo.cli.streams import echo_done, remark


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--output", "-o", required=True, help="A .credo file for the result.")
def merge(models: tuple[str, ...], output: str) -> None:
    """Merge several models.

    MODELS are .credo files of one kind, with the same columns and priors, that learned from different rows. The result
    equals learning all of these rows at once.

    \b
    Examples:
      credo merge north.credo south.credo -o both.credo
      credo merge parts/*.credo -o whole.credo
    """
    from credo.cli.output import MODEL, check
    from credo.cli.repeated_updates import alike, evidence_digest
    from credo.cli.saved import loaded_learner, merged
    from credo.present.numbers import count_of
    from credo.storage.files import save
    from credo.storage.locks import changing

    check(output, (MODEL,))
    digests = list[tuple[str, str | None]]()

    def loaded() -> Iterator[tuple[str, Any]]:
        for path in models:
            each = loaded_learner(path)
            digests.append((path, evidence_digest(each)))
            yield path, each

    with shown_progress("merging"), changing(output):
        model = merged(loaded())
        save(model, output)
    echo_done(f"{output}: {count_of(len(models), 'file')} merged, {count_of(model.n, 'row')} in all")
    if same := alike(digests):
        remark(f"note: {' and '.join(same)} hold the same evidence: if it is of the same rows, they count repeatedly")
