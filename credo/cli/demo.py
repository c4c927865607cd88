"""credo demo: its main job, on made-up data that ships with credo. Every number in it is computed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from shutil import which
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from credo.cli.screen import Columns
    from credo.models.classifier import Classifier
    from credo.selection.report import Report

SAMPLES = Path(__file__).parent.parent / "samples"
PUMPS, ADS = SAMPLES / "pumps.csv", SAMPLES / "ads.csv"
TARGET = "fault"
WIDTH = 76  # of what is said
NEW: list[dict[str, Any]] = [
    {"maker": "Birch", "fluid": "water", "hours": 3900, "load": 36.0, "temperature": 66.0, "vibration": 3.1},
    {"site": "north", "fluid": "slurry", "load": 58.0, "pressure": 7.4, "flow": 31.0},
    {"site": "south", "maker": "Cedar", "hours": 310, "load": 84.0, "vibration": None},
]
FORGOTTEN = "harbour"


@click.command()
def demo() -> None:
    """A tour in a minute, on data that ships with credo.

    \b
    Example:
      credo demo
    """
    import pyarrow.csv

    import credo
    from credo.cli.progress import shown_progress
    from credo.cli.screen import Screen, say
    from credo.notices import quietly
    from credo.selection.learn import learn

    screen = Screen()
    say(screen, f"credo {credo.__version__}: what is wrong with a pump?", "bold")
    _read(screen)
    pumps = pyarrow.csv.read_csv(PUMPS, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    with quietly():  # what was left out is in the tables
        with shown_progress("learning"):
            model = learn(pumps, TARGET)
        _learn(screen, model.report)
        _predict(screen, model)
        _explain(screen, model)
        _unlearn(screen, model, pumps)
    _estimate(screen, pumps)
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
    from credo.data.profile import profile

    profiles = profile(PUMPS)
    rows = next(iter(profiles.values())).rows
    kinds = [each.kind for each in profiles.values()]
    _step(
        screen,
        "1. The table",
        f"{_shown_path(PUMPS)}: {rows:,} pumps, all of them made up.",
        f"{kinds.count('number')} columns of numbers, {kinds.count('category')} of categories, some cells missing.",
    )


def _learn(screen: Console, report: Report) -> None:
    from credo.cli import screen as on

    scores, shown = report.scores, report.important
    value, share = scores.commonest
    _step(
        screen,
        f"2. Learning to predict {TARGET!r}",
        *wrap(
            f"{len(report.tried) - 1} models are pooled. On rows that neither taught nor tuned it, it is right in "
            f"{scores.accuracy:.1%} (always {value!r}: {share:.1%}), with a log-loss of {scores.log_loss:.3f} ± "
            f"{scores.log_loss_error:.3f}. Its probabilities are {scores.ece:.1%} off on average. How each column is "
            "read was chosen, too; those that matter most come first:",
            WIDTH,
        ),
    )
    columns = [
        ("column", [each.name for each in shown]),
        ("kind", [each.kind for each in shown]),
        ("missing", [on.share(each.missing) for each in shown]),
        ("read as", [each.form or "left out" for each in shown]),
        ("matters", on.bars([each.weight for each in shown], 20)),
    ]
    _print_table(screen, columns, left=(0, 1, 3, 4))
    screen.print()
    on.say(screen, f"   Left out: {on.whole(report.unlabelled)} pumps whose {TARGET} is missing.")


def _predict(screen: Console, model: Classifier) -> None:
    from credo.cli import screen as on
    from credo.cli.predictions import predictions

    found = next(predictions(model, NEW, each=True)).to_pydict()
    _step(screen, "3. Predicting: three new pumps", "What isn't known of them is summed out.")
    columns = [("", [_described(row) for row in NEW]), ("fault", [on.harmless(v) for v in found["predicted"]])]
    columns += [(f"P({value})", [f"{p:.3f}" for p in found[f"P({value})"]]) for value in model.classes]
    _print_table(screen, columns, left=(0, 1))


def _described(row: dict[str, Any]) -> str:
    text = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in row.values() if value)
    return text if len(text) <= 32 else text[:31] + "…"


def _explain(screen: Console, model: Classifier) -> None:
    from credo.cli.explain import lines_of
    from credo.cli.screen import leanings

    found = model.explain(NEW[0])
    _step(
        screen,
        f"4. Explaining: why is the first taken for {found.of!r}?",
        "The prior and the columns' weights of evidence add up to the log-odds of",
        f"{found.of} (to the right) against {found.against} (to the left).",
    )
    lines = [line for line in lines_of(found, 9) if line[1] != "missing"]
    weights = [weight for _, _, weight in lines]
    columns = [
        ("", [name for name, _, _ in lines]),
        ("value", [value for _, value, _ in lines]),
        ("nats", [f"{weight:+.2f}" for weight in weights]),
        ("", leanings(weights, 33)),
    ]
    _print_table(screen, columns, left=(0, 1, 3))


def _unlearn(screen: Console, model: Any, pumps: Any) -> None:
    from dataclasses import replace

    import pyarrow.compute as pc

    wrong = pc.equal(pumps["site"], FORGOTTEN)
    left = model.forget(pumps.filter(wrong))
    never = replace(model, evidence=None).update(pumps.filter(pc.invert(wrong)))
    apart = abs(left.predict_proba(pumps) - never.predict_proba(pumps)).max()
    same = "the same in every bit" if apart == 0 else f"no probability differs by more than {apart:.0e}"
    _step(
        screen,
        f"5. Unlearning: the sensors at the {FORGOTTEN} were wrong",
        f"{model.n - left.n:g} pumps are forgotten, without learning the other {left.n:g} again. Learned and",
        f"forgotten, or never learned: {same}.",
    )


def _estimate(screen: Console, pumps: Any) -> None:
    import credo
    from credo.cli import screen as on

    beliefs = credo.estimate(pumps, TARGET, by="maker", success="bearing")
    makers = sorted(beliefs, key=lambda maker: -beliefs[maker].mean())
    about = "A belief is a prior and evidence. Intervals hold with 95%."
    _step(screen, "6. Estimating: which maker's bearings fail?", about)
    ends = [beliefs[maker].interval() for maker in makers]
    columns = [
        ("maker", makers),
        ("pumps", [on.whole(beliefs[maker].n) for maker in makers]),
        ("fail", [f"{beliefs[maker].mean():.3f}" for maker in makers]),
        ("", [f"[{low:.3f}, {high:.3f}]" for low, high in ends]),
    ]
    _print_table(screen, columns)
    screen.print()
    greater = beliefs[makers[1]].probability_greater(beliefs[makers[2]])
    on.say(screen, f"   P({makers[1]} > {makers[2]}) = {greater:.3f}")


def _go_on(screen: Console) -> None:
    from credo.cli.screen import say

    program = "credo" if which("credo") else quote(os.path.relpath(sys.argv[0]))
    pumps, ads = quote(_shown_path(PUMPS)), quote(_shown_path(ADS))
    _step(screen, "7. Try next")
    for words in (
        f"learn {pumps} --target fault -o pumps.credo --report pumps.html",
        f"explain pumps.credo {pumps} --row 4",
        f"predict pumps.credo {pumps} -o scored.csv",
        "show pumps.credo",
        f"estimate {ads} --column converted --by ad",
        "--help",
    ):
        say(screen, f"   {program} {words}", "green", command=True)


def _shown_path(path: Path) -> str:
    """From here, if that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
