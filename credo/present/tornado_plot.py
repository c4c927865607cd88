"""Tornado pictures: a bar for each entry, the widest on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from credo.present.plotting import Figure, unmathed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as AnyFigure

    from credo.networks.sensitivity.tornado import Tornado

LOW_COLOUR, HIGH_COLOUR = "#4477aa", "#cc6677"  # the answer at the lower and the upper end of an entry's range


def plot_tornado(found: Tornado, ax: Any = None) -> AnyFigure:
    """Bars from the answer to its values at the lowest and the highest entry."""
    if ax is None:
        ax = Figure(figsize=(7.0, 1.0 + 0.28 * max(1, len(found.bars))), layout="constrained").add_subplot()
    rows = range(len(found.bars))[::-1]
    for row, bar in zip(rows, found.bars, strict=True):
        for end, colour in ((bar.at_low, LOW_COLOUR), (bar.at_high, HIGH_COLOUR)):
            ax.barh(row, end - found.probability, left=found.probability, height=0.7, color=colour)
    ax.axvline(found.probability, color="0.3", linewidth=0.8)
    ax.set_yticks([*rows], [unmathed(f"{bar.entry} {bar.low:.3g} to {bar.high:.3g}") for bar in found.bars], fontsize=7)
    ax.set_xlabel(unmathed(f"{found.title}\nentries within {found.within}"))
    ax.legend(
        handles=[Patch(color=LOW_COLOUR, label="entry low"), Patch(color=HIGH_COLOUR, label="entry high")], fontsize=7
    )
    drawn: AnyFigure = ax.figure
    return drawn
