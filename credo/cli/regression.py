"""credo learn --model linear: a number as a sum of what the columns add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from credo.cli.streams import remark

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression


def learn_linear(data: Any, target: str, *, weight: str | None, kinds: dict[str, Any]) -> LinearRegression:
    """A linear regression with its strength chosen by evidence."""
    import credo

    return credo.LinearRegression(kinds=kinds or None).fit(data, target, weight=weight)


def show_regression(model: LinearRegression, table: Any, weight: str | None, top: int, written: list[str]) -> None:
    """What was learned, and how well held-out rows are predicted."""
    from credo.notices import quietly
    from credo.present.regression import regression_content, scores_content
    from credo.present.terminal import show

    contents = regression_content(model, top)
    if model.report is None and not table.once:
        with quietly():
            contents += scores_content(model.leave_one_out(table, weight=weight))
    show(contents)
    for path in written:
        remark(f"wrote {path}")


def refuse_classifiers_options(report: str | None, curve: bool, plot: str | None) -> None:
    """What only classifiers have."""
    for given, option in ((report, "--report"), (curve, "--learning-curve"), (plot, "--plot")):
        if given:
            raise click.UsageError(f"{option} is for classifiers, and the target holds numbers")
