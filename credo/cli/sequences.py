"""credo learn --model hmm: its options, and the learning of a hidden Markov model."""

from __future__ import annotations

from typing import Any

import click

from credo.cli.options import Command, with_options


def parse_states(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | tuple[str, ...] | None:
    """A number, names, or auto."""
    if value is None or value == "auto":
        return value
    if value.isdigit() and int(value) > 0:
        return int(value)
    if "," in value:
        return tuple(value.split(","))
    raise click.BadParameter(
        f"{value!r} is neither a number of states, nor names such as rain,sun, nor auto", ctx, param
    )


def learns_sequences(command: Command) -> Command:
    """The options of a hidden Markov model."""
    options = [
        click.option(
            "--states", metavar="N|NAMES|auto", callback=parse_states,
            help="Hidden states of --model hmm: their number, their names (a,b), or auto.  [default: auto]",
        ),
        click.option("--sequence", metavar="COLUMN", help="Column that identifies the sequences of --model hmm."),
        click.option("--order", metavar="COLUMN", help="Column that orders the rows of a sequence."),
    ]  # fmt: skip
    return with_options(command, options)


def learn_sequences(
    data: str, *, target: str | None, states: Any, sequence: str | None, order: str | None, weight: str | None,
    kinds: dict[str, Any], output: str | None,
) -> None:  # fmt: skip
    """Fit a hidden Markov model, print and save it."""
    import credo
    from credo.cli.output import MODEL, check
    from credo.cli.progress import shown_progress
    from credo.cli.reading import opened_data
    from credo.cli.streams import remark
    from credo.present.hidden_markov import states_content
    from credo.present.terminal import show
    from credo.storage.files import save

    if output:
        check(output, (MODEL,))
    with shown_progress("learning"):
        model = credo.HiddenMarkov("auto" if states is None else states, kinds=kinds or None)
        model = model.fit(opened_data(data), target=target, sequence=sequence, order=order, weight=weight)
        if output:  # before printing, which a closed pipe may interrupt
            save(model, output)
    show(states_content(model))
    if output:
        remark(f"wrote {output}")
