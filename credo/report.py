"""How beliefs are shown: a few lines in a terminal, a table in a notebook, the lectures' picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions import Categorical, Distribution
from credo.exact import Array
from credo.families.dirichlet import Dirichlet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.belief import Belief

SHOWN = 12  # rows of a table in a notebook; parameters of a belief


def rows_of(belief: Belief) -> list[tuple[str, str, str, str]]:
    """Each parameter's name, mean, mode and 95% interval."""
    if isinstance(belief.posterior, Dirichlet) and belief.posterior.levels is None and belief.evidence is None:
        return []
    mean, mode, interval = belief.mean(), belief.mode(), belief.interval()
    if isinstance(mean, dict):
        return [(f"P({v})", _shown(mean[v]), _shown(mode[v]), _ends(interval[v])) for v in list(mean)[:SHOWN]]
    if not hasattr(mean, "_fields"):
        return [(_parameter(belief), _shown(mean), _shown(mode), _ends(interval))]
    return [
        (name, _shown(each), _shown(best), _ends(ends))
        for name, each, best, ends in zip(interval._fields, mean, mode, interval, strict=True)
    ]


def _parameter(belief: Belief) -> str:
    names = {"truth": "probability", "count": "rate", "number": "mean"}
    exponential = type(belief.prior).__name__ == "GammaExponential"
    return "rate" if exponential else names.get(belief.prior.reads, "upper end")


def _shown(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{float(array):.4g}"
    text = np.array2string(array, precision=4, separator=", ", threshold=20)
    return " ".join(text.split())


def _ends(ends: tuple[Any, Any]) -> str:
    low, high = ends
    if np.ndim(low) == 0:
        return f"[{float(low):.4g}, {float(high):.4g}]"
    return " ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(np.ravel(low), np.ravel(high), strict=True))


def describe(belief: Belief) -> str:
    """A belief in a few lines."""
    lines = [f"{belief.posterior}, after {belief.n:g} observations"]
    for name, mean, mode, interval in rows_of(belief):
        lines.append(f"  {name}: mean {mean}, mode {mode}, 95% interval {interval}")
    return "\n".join(lines)


def belief_html(belief: Belief) -> str:
    head = "<tr><th></th><th>mean</th><th>mode</th><th>95% interval</th></tr>"
    body = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for name, *cells in rows_of(belief)
    )
    caption = f"{belief.posterior}, after {belief.n:g} observations"
    return f"<table><caption>{escape(caption)}</caption>{head}{body}</table>"


def table_html(table: Any, caption: str) -> str:
    """The first rows of an Arrow table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    rows = table.slice(0, SHOWN).to_pylist()
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row.values()) + "</tr>" for row in rows)
    more = f"<p>{table.num_rows - SHOWN:,} more rows</p>" if table.num_rows > SHOWN else ""
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>{more}"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plot_belief(belief: Belief) -> Figure:
    """Prior, likelihood and posterior of each parameter, and the predictive of the next observation."""
    from matplotlib.figure import Figure

    posterior = belief.posterior
    if isinstance(posterior, Dirichlet):
        return _plot_bars(belief)
    marginals = posterior.marginals()
    figure = Figure(figsize=(4.2 * (len(marginals) + 1), 3.4), layout="constrained")
    axes = figure.subplots(1, len(marginals) + 1)
    names = [row[0] for row in rows_of(belief)]
    before = belief.prior.marginals() if belief.evidence is not None else ()
    for j, marginal in enumerate(marginals):
        prior = before[j] if before and np.shape(before[j].mean()) == np.shape(marginal.mean()) else None
        draw_parameter(axes[j], names[j], marginal, prior)
    _draw_predictive(axes[-1], belief)
    return figure


def draw_parameter(axes: Axes, name: str, posterior: Distribution, prior: Distribution | None) -> None:
    """Posterior ∝ likelihood · prior: the likelihood is what turned the one into the other, scaled to the same area."""
    grid = _grid(posterior, prior)
    after = _density(posterior, grid)
    if prior is not None:
        before = _density(prior, grid)
        axes.plot(grid, before, "--", color="tab:gray", label="prior")
        if np.ndim(after) == 1:
            axes.plot(grid, _likelihood(posterior, prior, grid), ":", color="tab:orange", label="likelihood (scaled)")
    axes.plot(grid, after, color="tab:blue", label="posterior")
    axes.set(title=name, yticks=[], ylim=(0, None))
    axes.legend(frameon=False, fontsize="small")


def _likelihood(posterior: Distribution, prior: Distribution, grid: Array) -> Array:
    log_ratio = np.asarray(posterior.log_prob(grid)) - np.asarray(prior.log_prob(grid))
    shape = np.exp(np.where(np.isfinite(log_ratio), log_ratio - np.nanmax(log_ratio[np.isfinite(log_ratio)]), -np.inf))
    area = np.trapezoid(shape, grid)
    return np.asarray(shape / area) if area > 0 else np.asarray(shape)


def _grid(*distributions: Distribution | None) -> Array:
    """Where the probability is, from the narrowest reading of the first to the middle of the others."""
    first, *others = [d for d in distributions if d is not None]
    low, high = (np.asarray(end) for end in first.interval(0.9999))
    lows, highs = [np.min(low)], [np.max(high)]
    for other in others:
        low, high = (np.asarray(end) for end in other.interval(0.5))
        lows.append(np.min(low))
        highs.append(np.max(high))
    margin = 1e-9 + 0.02 * (max(highs) - min(lows))
    return np.linspace(min(lows) - margin, max(highs) + margin, 801)


def _density(distribution: Distribution, grid: Array) -> Array:
    lead = grid.reshape(-1, *(1,) * np.ndim(distribution.mean()))
    density = np.exp(np.asarray(distribution.log_prob(lead)))
    return np.where(np.isfinite(density), density, np.nan)


def _draw_predictive(axes: Axes, belief: Belief) -> None:
    from credo.distributions import NegativeBinomial
    from credo.families import LinearRegression, NormalInverseWishart

    axes.set(title="next observation", yticks=[])
    if isinstance(belief.posterior, LinearRegression):
        axes.text(0.5, 0.5, "depends on the features", ha="center", transform=axes.transAxes)
        return
    predictive = belief.predictive()
    if isinstance(belief.posterior, NormalInverseWishart):
        predictive = predictive.columns()
    if isinstance(predictive, Categorical):
        axes.bar([str(v) for v in predictive], list(predictive.values()), color="tab:green")
        axes.set(yticks=[0, 1])
        return
    if isinstance(predictive, NegativeBinomial):
        low, high = predictive.interval(0.999)
        counts = np.arange(float(low), float(high) + 1)
        axes.bar(counts, np.exp(np.asarray(predictive.log_prob(counts))), color="tab:green")
        return
    grid = _grid(predictive)
    axes.plot(grid, _density(predictive, grid), color="tab:green")
    axes.set(ylim=(0, None))


def _plot_bars(belief: Belief) -> Figure:
    """Each value's probability with its interval, prior beside posterior."""
    from matplotlib.figure import Figure

    mean, interval = belief.mean(), belief.interval()
    shown = sorted(mean, key=lambda v: -mean[v])[: 3 * SHOWN]
    figure = Figure(figsize=(max(4.2, 0.45 * len(shown) + 2), 3.4), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(shown))
    heights = np.array([mean[v] for v in shown])
    errors = np.array([[mean[v] - interval[v][0], interval[v][1] - mean[v]] for v in shown]).T
    axes.bar(places, heights, yerr=errors, color="tab:blue", capsize=3, label="posterior mean, 95% interval")
    if belief.n:
        likely = belief.maximum_likelihood()
        axes.plot(places, [likely[v] for v in shown], "o", color="tab:orange", label="maximum likelihood")
    axes.set_xticks(places, [str(v) for v in shown], rotation=45 if len(shown) > 6 else 0)
    axes.set(ylim=(0, None), ylabel="probability")
    axes.legend(frameon=False, fontsize="small")
    return figure
