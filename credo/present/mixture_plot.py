"""Mixtures as pictures: ellipses of components over two columns, and profiles of components over all columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import SchemaError, suggest
from credo.numerics.exact import Array
from credo.present.figures import PALETTE

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture
    from credo.present.plotting import Figure

ELLIPSE_DEVIATIONS = (1.0, 2.0)  # standard deviations of the ellipses
DRAWN_ROWS = 5000  # as points
ELLIPSE_POINTS = 121  # points of an ellipse
PROFILE_COLUMNS = 20  # of a profile, the most distinctive


def ellipses_plot(mixture: Mixture, data: object, columns: Sequence[str] | None) -> Figure:
    """Ellipses at one and two standard deviations, with line widths by component size; rows as points."""
    from credo.present.plotting import Figure

    names = _two_numbers(mixture, columns)
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    for k, (name, share) in enumerate(mixture.shares.items()):
        colour = PALETTE[k % len(PALETTE)]
        mean, root = gaussian_of(mixture, k, names)
        for scale in ELLIPSE_DEVIATIONS:
            edge = ellipse(mean, root, scale)
            axes.plot(
                *edge.T, color=colour, lw=1.0 + 2.0 * share, label=str(name) if scale == ELLIPSE_DEVIATIONS[0] else None
            )
        axes.plot(*mean, "+", color=colour)
    if data is not None:
        points, codes = points_of(mixture, data, names)
        colours = [PALETTE[k % len(PALETTE)] for k in codes]
        axes.scatter(points[:, 0], points[:, 1], s=6, c=colours, alpha=0.4, linewidths=0)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.legend(title=str(mixture.classifier.target))
    return figure


def _two_numbers(mixture: Mixture, columns: Sequence[str] | None) -> list[str]:
    known = [name for name, forms in mixture.classifier.views.items() if forms[0] == "gaussian"]
    chosen = known[:2] if columns is None else [*columns]
    for name in chosen:
        if name not in known:
            raise SchemaError(f"no number column {name!r}; {suggest(name, known)}")
    if len(chosen) != 2:
        raise SchemaError(
            f"ellipses are drawn over two number columns, but there are {len(chosen)}: use kind='profile'"
        )
    return chosen


def gaussian_of(mixture: Mixture, k: int, names: Sequence[str]) -> tuple[Array, Array]:
    """A component's mean over two columns, and a square root of its covariance."""
    found: dict[tuple[str, str, object], float] = {}
    for _, likelihood in mixture.classifier.terms.likelihoods:
        for line in likelihood.parameters():
            for column in likelihood.names if line.column is None else [line.column]:
                found[column, line.what, line.of] = float(line.estimates[k])
    mean = np.array([found.get((name, "mean", None), np.nan) for name in names])
    sd = [found.get((name, "sd", None), 0.0) for name in names]
    a, b = names
    correlation = found.get((a, "correlation", b), found.get((b, "correlation", a), 0.0))
    root = np.array([[sd[0], 0.0], [correlation * sd[1], np.sqrt(max(1 - correlation**2, 0.0)) * sd[1]]])
    return mean, root


def ellipse(mean: Array, root: Array, scale: float) -> Array:
    """The ellipse at that many standard deviations. (points, 2)"""
    turn = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    return np.asarray(mean + scale * np.column_stack([np.cos(turn), np.sin(turn)]) @ root.T)


def points_of(mixture: Mixture, data: object, names: Sequence[str]) -> tuple[Array, Any]:
    """Some rows, evenly spaced over the table, and their components."""
    model = mixture.classifier
    table = model.opened(data)
    present = [name for name in model.views if name in table.names]
    table.require(names)
    batch = next(iter(table.batches(present)))
    rows = np.unique(np.linspace(0, batch.rows - 1, min(DRAWN_ROWS, batch.rows)).astype(np.intp))
    some = batch.take(rows)
    return some.matrix([*names]), model.probabilities(some).argmax(1)


def shades(nats: Array) -> Array:
    """How dark cells are: 1 - exp(-nats), as a cell that tells components apart for sure needn't be any darker.

    >>> shades(np.array([0.0, 0.1, 2.0, 1e6])).round(2).tolist()
    [0.0, 0.1, 0.86, 1.0]
    """
    return np.asarray(-np.expm1(-nats))


def profile_plot(mixture: Mixture) -> Figure:
    """A row for each column, a column for each component: darker where the column distinguishes the component more."""
    from credo.present.plotting import Figure

    components = mixture.describe().components
    nats: dict[str, float] = {}
    for each in components:
        for trait in each.traits:
            nats[trait.column] = max(nats.get(trait.column, 0.0), trait.nats)
    names = sorted(nats, key=lambda name: -nats[name])[:PROFILE_COLUMNS]
    traits = [{trait.column: trait for trait in each.traits} for each in components]
    heights = shades(np.array([[own[name].nats if name in own else 0.0 for own in traits] for name in names]))
    size = (1.5 + 1.7 * len(components), 1.0 + 0.45 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.imshow(heights, cmap="Blues", aspect="auto", vmin=0.0, vmax=max(float(heights.max(initial=0.0)), 1e-9) * 1.6)
    for i, name in enumerate(names):
        for k, own in enumerate(traits):
            axes.text(k, i, own[name].here if name in own else "", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(components)), [f"{each.name} ({each.share:.0%})" for each in components])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel(str(mixture.classifier.target))
    return figure
