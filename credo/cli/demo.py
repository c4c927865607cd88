"""credo demo: a tour of estimation, on made-up data that ships with credo. Every number in it is computed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from credo.belief import Belief
    from credo.cli.screen import Columns
    from credo.groups import Beliefs

SAMPLE = Path(__file__).parent.parent / "samples" / "ads.csv"
COLUMN, BY = "converted", "ad"
FORGOTTEN = 500  # rows


@click.command()
def demo() -> None:
    """A tour in a minute, on data that ships with credo.

    \b
    Example:
      credo demo
    """
    import pyarrow.csv

    import credo
    from credo.cli.screen import Screen, say

    screen = Screen()
    say(screen, f"credo {credo.__version__}: what do visits tell about the ads that they came from?", "bold")
    _read(screen)
    visits = pyarrow.csv.read_csv(SAMPLE)
    alone = credo.estimate(visits, COLUMN, by=BY)
    together = credo.estimate(visits, COLUMN, by=BY, prior="empirical")
    best = sorted(together, key=lambda ad: -together[ad].mean())
    _learn(screen, alone, together, best)
    _compare(screen, together, *best[:2])
    _score(screen, visits, alone, together)
    _explain(screen, together)
    _unlearn(screen, visits)
    _go_on(screen)


def _step(screen: Console, title: str, *lines: str) -> None:
    from credo.cli.screen import say

    screen.print()
    say(screen, title, "bold cyan")
    for line in lines:
        say(screen, f"   {line}" if line else "")


def _print_table(screen: Console, columns: Columns, left: Sequence[int] = (0,)) -> None:
    from rich.padding import Padding

    from credo.cli.screen import table

    screen.print()
    screen.print(Padding(table(columns, left), (0, 0, 0, 3), expand=False))


def _read(screen: Console) -> None:
    from credo.cli.show import profile_columns
    from credo.data.profile import profile

    profiles = profile(SAMPLE)
    rows = next(iter(profiles.values())).rows
    _step(screen, "1. The table, as credo reads it", f"{_shown_path()}: {rows:,} visits, made up.")
    _print_table(screen, profile_columns(profiles), left=(0, 1, 3))


def _learn(screen: Console, alone: Beliefs, together: Beliefs, ads: list[str]) -> None:
    from credo.cli import screen as on

    _step(
        screen,
        "2. Learning: how often does each ad convert?",
        "A belief is a prior and evidence. Under the default prior an ad stands alone.",
        "The empirical one is learned from all ads: small ones shrink to the crowd.",
    )
    columns = [
        (BY, ads),
        ("visits", [on.whole(alone[ad].n) for ad in ads]),
        ("raw", [f"{alone[ad].maximum_likelihood():.3f}" for ad in ads]),
        ("default prior", [_shown(alone[ad]) for ad in ads]),
        ("empirical prior", [_shown(together[ad]) for ad in ads]),
    ]
    _print_table(screen, columns)
    screen.print()
    on.say(screen, f"   The empirical prior is {together.prior}. Intervals: 95%.")
    on.say(screen, f"   Left out: {on.whole(together.ungrouped)} visits from an unknown ad.")


def _shown(belief: Belief) -> str:
    low, high = belief.interval()
    return f"{belief.mean():.3f} [{low:.3f}, {high:.3f}]"


def _compare(screen: Console, beliefs: Beliefs, first: str, second: str) -> None:
    greater = beliefs[first].probability_greater(beliefs[second])
    _step(screen, "3. Comparing: is the best ad better than the next?", f"P({first} > {second}) = {greater:.3f}")


def _score(screen: Console, visits: Any, alone: Beliefs, together: Beliefs) -> None:
    import credo
    from credo.cli.screen import aligned
    from credo.learning import cross_validate

    reports = {
        "one belief for all ads": credo.estimate(visits, COLUMN).cross_validate(visits),
        "one for each ad, default prior": cross_validate(alone, visits),
        "one for each ad, empirical prior": cross_validate(together, visits),
    }
    _step(
        screen,
        "4. How good is it?",
        "Each visit was foreseen from others, in ten folds. Log-loss is the mean of",
        "-log p(what happened): less is better.",
    )
    (losses,) = aligned([report.log_loss for report in reports.values()])
    _print_table(screen, [("", list(reports)), ("log-loss", losses)])


def _explain(screen: Console, beliefs: Beliefs) -> None:
    """Of the ad with the least evidence, where the prior says most."""
    ad = min(beliefs, key=lambda name: beliefs[name].n)
    belief: Belief = beliefs[ad]
    prior: Any = belief.prior
    yes = belief.statistics.n.value[1]
    strength = prior.a + prior.b
    _step(
        screen,
        f"5. Explaining: why does {ad!r} get {belief.mean():.3f}?",
        f"{yes:g} of {belief.n:g} visits converted, which would be {belief.maximum_likelihood():.3f}. But what all ads",
        f"have shown counts like {strength:.2f} earlier visits, {prior.a:.2f} of them converted:",
        "",
        f"  ({prior.a:.2f} + {yes:g}) / ({strength:.2f} + {belief.n:g}) = {belief.predictive()[1]:.3f}",
    )


def _unlearn(screen: Console, visits: Any) -> None:
    import credo

    kept = visits.slice(FORGOTTEN)
    left = credo.estimate(visits, COLUMN, by=BY).forget(visits.slice(0, FORGOTTEN))
    same = left.table().equals(credo.estimate(kept, COLUMN, by=BY).table())
    _step(
        screen,
        f"6. Unlearning: {FORGOTTEN} visits must be forgotten",
        f"Learned and forgotten, or never learned: {'the same in every bit' if same else 'not the same'}.",
    )


def _go_on(screen: Console) -> None:
    from credo.cli.screen import say

    program = "credo" if which("credo") else quote(os.path.relpath(sys.argv[0]))
    sample = quote(_shown_path())
    _step(screen, "7. Try next")
    for words in (
        f"show {sample}",
        f"estimate {sample} --column seconds --by device",
        f"estimate {sample} -c converted -b ad -o ads.credo",
        "show ads.credo",
        "estimate --help",
    ):
        say(screen, f"   {program} {words}", "green")


def _shown_path() -> str:
    """From here, if that is shorter."""
    return min(str(SAMPLE), os.path.relpath(SAMPLE), key=len)
