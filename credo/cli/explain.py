"""credo explain: why a row is taken for a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from credo.cli.reading import opened_data, reads_data

if TYPE_CHECKING:
    from rich.console import Console

    from credo.data import Source
    from credo.models.classifier import Classifier
    from credo.models.explaining import Explanation, Spoken

WIDEST = 33  # of the bars
LONGEST = 2000  # characters of a text that are shown


@click.command()
@click.argument("model")
@click.argument("data")
@click.option(
    "--row", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Which row, counted from 1."
)
@click.option("--of", metavar="CLASS", help="The class to explain; by default the most probable one.")
@click.option("--against", metavar="CLASS", help="The class to compare it with; by default the next one.")
@click.option("--bits", is_flag=True, help="Weights in bits (logarithms to base 2) instead of nats.")
@click.option(
    "--top", metavar="N", type=click.IntRange(min=1), default=15, show_default=True, help="How many columns to print."
)
@reads_data
def explain(model: str, data: str, row: int, top: int, **what: Any) -> None:
    """Explain a prediction by the weight of evidence of each column.

    The prior and the columns' weights of evidence add up to the log-odds of one class against another. A positive
    weight is evidence for the first class, a negative one for the second.

    \b
    Examples:
      credo explain pumps.credo new.csv
      credo explain pumps.credo new.csv --row 17 --of bearing --against none
    """
    from credo.cli.arguments import check_order
    from credo.cli.saved import loaded_classifier

    check_order("explain", model, data)
    learned, table = loaded_classifier(model), opened_data(data)
    found = explained(learned, table, row, **what)
    _print(found, f"row {row} of {data}", top)
    if learned.target in table.names:
        _print_caution(str(learned.target))


def explained(
    model: Classifier, table: Source, row: int, *, of: str | None, against: str | None, bits: bool
) -> Explanation:
    """Of one row, which is found without reading further."""
    from credo.data import Source
    from credo.errors import DataError

    seen = 0
    for batch in table.batches([name for name in table.names if name in model.views] or table.names):
        if row <= seen + batch.rows:
            one = Source.of_batch(batch.slice(row - 1 - seen, 1))
            return model.explain(one, _class(model, of), _class(model, against), unit="bits" if bits else "nats")
        seen += batch.rows
    raise DataError(f"there is no row {row}: the data has {seen:,}")


def _print_caution(target: str) -> None:
    """Where rows have a class, as those have that were learned."""
    from credo.cli import screen as on

    on.say(on.Screen(), f"the data has {on.harmless(target)}: the model may have learned from this very row", "dim")


def _class(model: Classifier, name: str | None) -> Any:
    """The class that is written so; an unknown one is left to the error."""
    return next((value for value in model.classes if str(value) == name), name)


def lines_of(found: Explanation, top: int) -> list[tuple[str, str, float]]:
    """Name, value and weight: the prior, the strongest columns, the others together, and what all come to."""
    from credo.cli.screen import counted

    (_, *names), (_, *values), (prior, *weights) = found.table().to_pydict().values()
    lines = [("prior", "", prior), *zip(names[:top], values[:top], weights[:top], strict=True)]
    if len(names) > top:
        lines.append((counted(len(names) - top, "more column"), "", sum(weights[top:])))
    return [*lines, ("log-odds", "", found.log_odds)]


def coloured(text: str, spoken: Sequence[Spoken]) -> Any:
    """A text with its words in colours, the stronger the bolder; its beginning, where it is long."""
    from rich.text import Text

    shown = Text("".join(c if c.isprintable() or c == "\n" else "·" for c in text[:LONGEST]))
    largest = max((abs(each.weight) for each in spoken if each.places), default=0.0)
    for each in sorted(spoken, key=lambda each: abs(each.weight)):  # the strongest last: it covers the others
        colour = "green" if each.weight > 0 else "red"
        style = f"bold {colour}" if abs(each.weight) > largest / 2 else colour
        for start, end in each.places if abs(each.weight) > largest / 20 else ():
            shown.stylize(style, start, min(end, LONGEST))
    if len(text) > LONGEST:
        shown.append(" ...", "dim")
    return shown


def _has_colours(screen: Console) -> bool:
    return screen.color_system is not None and not screen.no_color


def _print(found: Explanation, title: str, top: int) -> None:
    from credo.cli import screen as on

    screen = on.Screen()
    of, against = on.harmless(found.of), on.harmless(found.against)
    on.say(screen, f"{title}: P({of}) = {found.probability:.4g}", "bold")
    screen.print()
    lines = lines_of(found, top)
    weights = [weight for _, _, weight in lines]
    columns = [
        ("", [on.harmless(name) for name, _, _ in lines]),
        ("value", [on.harmless(value, 20) for _, value, _ in lines]),
        (found.unit, [f"{weight:+.3f}" for weight in weights]),
    ]
    room = min(on.room(screen, columns), WIDEST)
    if room >= on.NARROWEST:
        half = room // 2
        sides = f"{on.harmless(f'for {against} ', half):>{half}}│{on.harmless(f' for {of}', half):<{half}}"
        columns.append((sides, on.leanings(weights, room)))
    screen.print(on.table(columns, left=(0, 1, 3), yielding=(1,)))
    sides = f"for {of} in green, for {against} in red" if _has_colours(screen) else f"for {of} +, for {against} -"
    for name, spoken in found.words.items():
        if spoken:
            screen.print()
            on.say(screen, f"{on.harmless(name)}: words {sides}", "dim")
            screen.print(coloured(str(found.values[name]), spoken))
            strongest = [f"{on.harmless(each.word)} {each.weight:+.2f}" for each in spoken[:top]]
            if rest := spoken[top:]:
                strongest.append(f"{on.counted(len(rest), 'more word')} {sum(each.weight for each in rest):+.2f}")
            on.say(screen, ", ".join(strongest), "dim")
    screen.print()
    on.say(screen, f"prior + weights of evidence = the log-odds of {of} against {against}, in {found.unit}", "dim")
