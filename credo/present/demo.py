"""The tour of `credo demo`, on simulated data that ships with credo. Every number in it is computed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote
from shutil import which
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import one_line, whole

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.selection.report import Report

SAMPLE_FILES = Path(__file__).parent.parent / "samples"
PUMPS, ADS = SAMPLE_FILES / "pumps.csv", SAMPLE_FILES / "ads.csv"
DEMO_TARGET = "fault"
TOUR_WIDTH = 76  # in characters
TOUR_INDENT = 3  # of everything but the titles
ROW_CHARACTERS = 32  # of a pump's row
TOUR_WEIGHTS = 9  # of an explanation
NEW_PUMPS: list[dict[str, Any]] = [
    {"maker": "Birch", "fluid": "water", "hours": 3900, "load": 36.0, "temperature": 66.0, "vibration": 3.1},
    {"site": "north", "fluid": "slurry", "load": 58.0, "pressure": 7.4, "flow": 31.0},
    {"site": "south", "maker": "Cedar", "hours": 310, "load": 84.0, "vibration": None},
]
FORGOTTEN_SITE = "harbour"

Step = tuple[str, list[Content]]  # a title and what is below it


def welcome() -> Content:
    from credo import __version__

    return Paragraph(f"credo {__version__}: what is wrong with a pump?", "title")


def steps(model: Classifier, pumps: Any) -> Iterator[Step]:
    """The tour, step by step: `model` has learned from the table."""
    yield learning(model.report)
    yield predicting(model)
    yield explaining(model)
    yield unlearning(model, pumps)
    yield estimating(pumps)
    yield next_commands()


def table(pumps: Any) -> Step:
    from credo.data.profile import profile

    profiles = profile(pumps)
    rows, kinds = next(iter(profiles.values())).rows, [each.kind for each in profiles.values()]
    columns = f"{kinds.count('number')} columns of numbers, {kinds.count('category')} of categories"
    return "1. The table", [
        Paragraph(f"{_short_path(PUMPS)}: {rows:,} simulated pumps."),
        Paragraph(f"{columns}, some cells missing."),
    ]


def learning(report: Report) -> Step:
    scores, shown = report.scores, report.important
    value, share = scores.commonest
    averaged = sum(each.share > 0 for each in report.tried)
    about = (
        f"Of {len(report.tried)} models tried, {averaged} are averaged. On held-out rows, accuracy is "
        f"{scores.accuracy:.1%} (always predicting {value!r}: {share:.1%}), log-loss {scores.log_loss:.3f} "
        f"± {scores.log_loss_error:.3f} and expected calibration error {scores.ece:.1%}. The "
        "form of each column was chosen, too; the columns that matter most come first:"
    )
    columns = [
        TableColumn("column", [each.name for each in shown]),
        TableColumn("kind", [each.kind for each in shown]),
        TableColumn("missing", [each.missing for each in shown], "share"),
        TableColumn("read as", [each.form or "left out" for each in shown], longest=TOUR_WIDTH),
    ]
    return f"2. Learning to predict {DEMO_TARGET!r}", [
        *map(Paragraph, wrap(about, TOUR_WIDTH)),
        GAP,
        Table(columns, Drawing("bars", [each.weight for each in shown], "matters", widest=20)),
        GAP,
        Paragraph(f"Left out: {whole(report.unlabelled)} pumps whose {DEMO_TARGET} is missing."),
    ]


def predicting(model: Classifier) -> Step:
    from credo.streaming.predictions import predictions

    found = next(predictions(model, NEW_PUMPS, each=True)).to_pydict()
    columns = [TableColumn("", [_described(row) for row in NEW_PUMPS]), TableColumn("fault", found["predicted"])]
    columns += [TableColumn(f"P({value})", found[f"P({value})"], ".3f") for value in model.classes]
    return "3. Predicting: three new pumps", [Paragraph("Missing values are marginalised."), GAP, Table(columns)]


def _described(row: dict[str, Any]) -> str:
    cells = (f"{value:g}" if isinstance(value, float) else str(value) for value in row.values() if value)
    return one_line(", ".join(cells), ROW_CHARACTERS)


def explaining(model: Classifier) -> Step:
    from credo.asking import waterfall
    from credo.present.waterfalls import waterfall_table

    found = waterfall(model.explain(NEW_PUMPS[0]))
    known = replace(found, weights=[each for each in found.weights if each["value"] is not None])
    return f"4. Explaining: why is the first predicted to be {found.of!r}?", [
        Paragraph("The prior and the columns' weights of evidence add up to the log-odds of"),
        Paragraph(f"{found.of} (to the right) against {found.against} (to the left)."),
        GAP,
        waterfall_table(known, TOUR_WEIGHTS, "column", ("", ""), "+z.2f"),
    ]


def unlearning(model: Any, pumps: Any) -> Step:
    import pyarrow.compute as pc

    wrong = pc.equal(pumps["site"], FORGOTTEN_SITE)
    left = model.forget(pumps.filter(wrong))
    never = model.replaced(evidence=None).update(pumps.filter(pc.invert(wrong)))
    apart = abs(left.predict_proba(pumps) - never.predict_proba(pumps)).max()
    same = "the same in every bit" if apart == 0 else f"no probability differs by more than {apart:.0e}"
    return f"5. Unlearning: the sensors at the {FORGOTTEN_SITE} were wrong", [
        Paragraph(
            f"{model.n - left.n:g} pumps are forgotten, without learning the other {left.n:g} again. Learned and"
        ),
        Paragraph(f"forgotten, or never learned: {same}."),
    ]


def estimating(pumps: Any) -> Step:
    import credo

    beliefs: Any = credo.estimate(pumps, DEMO_TARGET, by="maker", success="bearing")
    makers = sorted(beliefs, key=lambda maker: -beliefs[maker].mean())
    columns = [
        TableColumn("maker", makers),
        TableColumn("pumps", [beliefs[maker].n for maker in makers], "count"),
        TableColumn("fail", [beliefs[maker].mean() for maker in makers], ".3f"),
        TableColumn("", [beliefs[maker].interval() for maker in makers], ".3f"),
    ]
    greater = beliefs[makers[1]].probability_greater(beliefs[makers[2]])
    return "6. Estimating: which maker's bearings fail?", [
        Paragraph("A belief is a prior and evidence. Intervals are 95% credible intervals."),
        GAP,
        Table(columns),
        GAP,
        Paragraph(f"P({makers[1]} > {makers[2]}) = {greater:.3f}"),
    ]


def next_commands() -> Step:
    program = "credo" if which("credo") else quote(os.path.relpath(sys.argv[0]))
    pumps, ads = quote(_short_path(PUMPS)), quote(_short_path(ADS))
    commands = (
        f"learn {pumps} --target fault -o pumps.credo --report pumps.html",
        f"explain pumps.credo {pumps} --row 4",
        f"predict pumps.credo {pumps} -o scored.csv",
        "show pumps.credo",
        f"estimate {ads} --column converted --by ad",
        "--help",
    )
    return "7. Try next", [Paragraph(f"{program} {words}", "command") for words in commands]


def _short_path(path: Path) -> str:
    """From here, if that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
