"""Figures of a classifier as SVG, in the page's text colour: calibration, learning curves, densities, regions.

A figure contains no names from the data: these are beside it, where they can be escaped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credo.data import cells
from credo.numerics.exact import Array
from credo.present.densities import Shape, shape_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores
    from credo.selection.learning_curve import LearningCurve

PALETTE = ("#4477aa", "#ee6677", "#228833", "#ccaa33", "#66bbdd", "#aa3377", "#999999", "#ee8833")
TEXT_COLOUR = "#010203"  # placeholder for the colour of the page's text
REGION_POINTS = 140  # along each side of the decision regions
UNREFERENCED_ID = re.compile(r' id="[A-Za-z0-9.]+_\d+"')


def density_figure(shape: Shape, classes: Sequence[int]) -> str:
    """A curve for each class; steps of bins and counts."""
    with _drawing((4.2, 2.3)) as (figure, axes):
        for colour, k in zip(_colours(len(classes)), classes, strict=True):
            draw_density(axes, shape, shape.heights[k], colour)
        if shape.form == "log":
            _label_logs(axes, "x", shape.places)
        elif shape.form == "date":
            _label_dates(axes, shape.places)
        axes.set(yticks=[], ylim=(0, None))
        return _svg(figure, "density of a column in each class")


def draw_density(axes: Axes, shape: Shape, heights: Array, colour: str) -> None:
    if shape.form == "category":
        names = [str(each)[:16].replace("$", r"\$") for each in shape.places[:8]]
        axes.plot(names, heights[:8], "o-", color=colour, lw=1.2, ms=4)
    elif shape.form in ("coarse", "binned"):
        axes.stairs(heights, shape.places, color=colour, lw=1.6)
        axes.stairs(heights, shape.places, color=colour, fill=True, alpha=0.15)
    elif shape.form == "count":
        axes.step(shape.places, heights, where="mid", color=colour, lw=1.6)
    else:
        axes.plot(shape.places, heights, color=colour, lw=1.6)
        axes.fill_between(shape.places, heights, color=colour, alpha=0.15, lw=0)


def _label_dates(axes: Axes, days: Array) -> None:
    """Days since 1970 as dates; within three days, with the time."""
    at = np.linspace(days[0], days[-1], 7)[1::2]
    words = [str(moment.as_py()).replace("T", " ") for moment in cells.instants(at)]
    axes.set_xticks(at, [word[:16] if days[-1] - days[0] < 3 else word[:10] for word in words])


def _short(number: float) -> str:
    """
    >>> _short(0.12345), _short(15831.0), _short(2.5e9), _short(3e-7)
    ('0.123', '15.8k', '2.5e+09', '3e-07')
    """
    if 1e3 <= abs(number) < 1e9:
        return f"{number / 1e6:.3g}M" if abs(number) >= 999_500 else f"{number / 1e3:.3g}k"
    return f"{number:.3g}"


def _label_logs(axes: Axes, side: Literal["x", "y"], places: Array) -> None:
    """A logarithmic scale with round ticks."""
    axes.set(**{f"{side}scale": "log"})
    axis = axes.xaxis if side == "x" else axes.yaxis
    low, high = places[0], places[-1]
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for digits in ([1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]):
        ticks = np.outer(powers, digits).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= 5:
            break
    ticks = ticks[:: -(-len(ticks) // 5) or 1]
    axis.set_ticks(ticks, [_short(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def reliability_figure(scores: Scores) -> str:
    """A reliability diagram: the frequency of the predicted class by its probability, with 95% credible intervals."""
    from credo import BetaBernoulli

    stated, right, weight = scores.reliability()
    ends = np.array([BetaBernoulli(1 + r * w, 1 + (1 - r) * w).interval() for r, w in zip(right, weight, strict=True)])
    apart = np.maximum([right - ends[:, 0], ends[:, 1] - right], 0)
    with _drawing((4.2, 3.6)) as (figure, axes):
        axes.plot([0, 1], [0, 1], "--", color=TEXT_COLOUR, lw=0.8, alpha=0.5)
        axes.errorbar(stated, right, apart, fmt="none", ecolor=PALETTE[0], elinewidth=1, alpha=0.7)
        axes.scatter(stated, right, 12 + 180 * weight / weight.sum(), color=PALETTE[0], zorder=3, clip_on=False)
        axes.set(xlabel="stated probability", ylabel="fraction correct", xlim=(0, 1.02), ylim=(0, 1.02))
        return _svg(figure, "reliability diagram")


def curve_figure(curve: LearningCurve) -> str:
    """Accuracy and log-loss on held-out rows by the number of rows learned."""
    with _inked():
        figure = curve.plot()
        for axes in figure.axes:
            axes.lines[0].set_color(PALETTE[0])
            _label_logs(axes, "x", np.array(curve.sizes, dtype=np.float64))
        return _svg(figure, "learning curve")


def climb_figure(history: Sequence[float]) -> str:
    """EM's objective by its steps."""
    with _drawing((5.2, 2.4)) as (figure, axes):
        axes.plot(range(len(history)), history, "o-", color=PALETTE[0], ms=3, lw=1.2)
        axes.set(xlabel="step", ylabel="objective")
        axes.ticklabel_format(axis="y", useOffset=False)
        axes.locator_params(axis="x", integer=True)
        return _svg(figure, "EM's objective")


def regions_figure(model: Classifier, columns: Sequence[str], classes: Sequence[int]) -> str | None:
    """Decision regions over two numeric columns; pale where the model is uncertain."""
    shapes = [shape_of(model, name) for name in columns]
    if None in shapes:
        return None
    known = [shape for shape in shapes if shape is not None]
    logs = [shape.form == "log" for shape in known]
    sides = [_side(shape.places[0], shape.places[-1], log) for shape, log in zip(known, logs, strict=True)]
    across, up = np.meshgrid(*sides)
    found = model.predict_proba({columns[0]: across.ravel(), columns[1]: up.ravel()}).reshape(
        REGION_POINTS, REGION_POINTS, -1
    )
    with _drawing((5.2, 4.2)) as (figure, axes):
        axes.pcolormesh(*sides, _colours_of(found, classes), shading="nearest", rasterized=True)
        best = found.argmax(-1)
        for k in np.unique(best) if len(np.unique(best)) > 1 else ():
            axes.contour(*sides, (best == k) * 1.0, [0.5], colors=TEXT_COLOUR, linewidths=0.6, alpha=0.6)
        for j, side in enumerate(("x", "y")):
            if logs[j]:
                _label_logs(axes, side, sides[j])  # type: ignore[arg-type]
        return _svg(figure, "decision regions")


def _side(low: float, high: float, log: bool) -> Array:
    return np.geomspace(low, high, REGION_POINTS) if log else np.linspace(low, high, REGION_POINTS)


def _colours_of(found: Array, classes: Sequence[int]) -> Array:
    """The predicted class's colour, paler the less certain. (rows, columns, 4)"""
    from matplotlib.colors import to_rgb

    rgb = np.full((found.shape[-1], 3), 0.5)
    for colour, k in zip(_colours(len(classes)), classes, strict=True):
        rgb[k] = to_rgb(colour)
    least = 1 / found.shape[-1]
    sure = (found.max(-1) - least) / (1 - least)
    return np.concatenate([rgb[found.argmax(-1)], (0.1 + 0.7 * sure)[..., None]], axis=-1)


def _colours(count: int) -> list[str]:
    return [PALETTE[k % len(PALETTE)] for k in range(count)]


@contextmanager
def _inked() -> Iterator[None]:
    """Draw the axes in the page's colours."""
    import matplotlib

    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")
    plain = dict.fromkeys(("axes.spines.top", "axes.spines.right"), False)
    settings: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "credo",
        **dict.fromkeys(ink, TEXT_COLOUR),
        **plain,
    }
    with matplotlib.rc_context(settings):  # type: ignore[arg-type]
        yield


@contextmanager
def _drawing(size: tuple[float, float]) -> Iterator[tuple[Figure, Axes]]:
    from matplotlib.figure import Figure

    with _inked():
        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.subplots()


def _svg(figure: Figure, about: str) -> str:
    """The figure as SVG for a page: as wide as its container, in the colour of its text."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = out.getvalue()
    text = UNREFERENCED_ID.sub("", text[text.index("<svg") :]).replace(TEXT_COLOUR, "currentColor")
    head, rest = text.split(">", 1)
    view = re.search(r'viewBox="[^"]*"', head)
    assert view
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {view[0]} '
        f'role="img" aria-label="{about}">{rest}'
    )
