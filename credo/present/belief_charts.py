"""Prior, likelihood, posterior and predictive as charts: plain data, drawn by Matplotlib or by a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import counted
from credo.families import LinearGaussian, NormalInverseWishart
from credo.families.dirichlet import Dirichlet
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Beta, Distribution, NegativeBinomial
from credo.numerics.exact import Array
from credo.present.beliefs import headline, summary_rows
from credo.present.content import Chart, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.estimation.belief import Belief
    from credo.estimation.numeric import Numeric

CHARTED_VALUES = 36  # values of a categorical belief
MOST_BARS = 80  # up to this many counts are drawn as bars
CURVE_POINTS, NUMERIC_CURVE_POINTS = 801, 400  # of a curve
ROLE_COLOURS = {"prior": "tab:gray", "likelihood": "tab:orange", "posterior": "tab:blue", "predictive": "tab:green"}
ROLE_LINES = {"prior": "--", "likelihood": ":", "posterior": "-", "predictive": "-"}


@dataclass(frozen=True)
class ValueEstimates:
    """The probability of each value, the commonest first; with its 95% interval, its share of the rows and the prior's
    mean."""

    title: str
    values: list[str]
    mean: list[float]
    interval: list[tuple[float, float]]
    maximum_likelihood: list[float]  # empty without observations, like the prior
    prior: list[float]


# What is drawn


def belief_charts(belief: Belief) -> list[Chart]:
    """A chart for each parameter, and one for the next observation."""
    marginals = belief.posterior.marginals()
    updated, names = belief.evidence is not None, [row[0] for row in summary_rows(belief)]
    if isinstance(belief.posterior, Dirichlet):
        (marginal,) = marginals
        return [parameter_chart("probability", marginal, updated=updated, names=names), _predictive_chart(belief)]
    before = belief.prior.marginals() if updated and _comparable(belief) else (None,) * len(marginals)
    charts = [
        parameter_chart(name, marginal, prior, updated, alone=len(marginals) == 1)
        for name, marginal, prior in zip(names, marginals, before, strict=False)
    ]
    return [*charts, _predictive_chart(belief)]


def numeric_charts(belief: Numeric) -> list[Chart]:
    names = ["parameter"] if len(belief.axes) == 1 else [f"parameter {i + 1}" for i in range(len(belief.axes))]
    pairs = zip(names, belief.marginals, belief._blank.marginals, strict=True)
    charts = [parameter_chart(*each, alone=len(names) == 1) for each in pairs]
    law = belief.predictive().law
    low, high = (float(end) for end in law.interval(0.998))
    if isinstance(law, Categorical):
        bars = {x: law[x] for x in range(int(low), int(high) + 1)}
        return [*charts, Chart("next observation", "predictive", bars=bars)]
    x = np.linspace(low, high, NUMERIC_CURVE_POINTS)
    curve = Curve("predictive", "predictive", x.tolist(), np.exp(law.log_prob(x)).tolist())
    return [*charts, Chart("next observation", "predictive", [curve])]


def _comparable(belief: Belief) -> bool:
    """Whether the prior has the same parameters; a regression's may be unknown before the data."""
    if belief.prior.improper.any():
        return False
    return not isinstance(belief.prior, LinearGaussian) or belief.prior.precision.ndim > 1


def parameter_chart(
    name: str, posterior: Distribution, prior: Distribution | None = None, updated: bool = True, *,
    names: Sequence[str] = (), alone: bool = True,
) -> Chart:  # fmt: skip
    """posterior ∝ likelihood · prior: the likelihood is their ratio, scaled to the same area; unless a parameter is
    alone, the others are integrated out of it. The entries of a vector may have names."""
    grid, label = _grid(posterior, prior), "posterior" if updated else "prior"
    several, densities = np.ndim(posterior.mean()) > 0, _densities(posterior, grid)
    labels = names or ([f"{label} {j}" for j in range(len(densities))] if several else [label])
    curves = [
        Curve(own, "posterior", grid.tolist(), density.tolist())
        for own, density in zip(labels, densities, strict=False)  # only the first entries have names
    ]
    if prior is not None and not several:
        likelihood = _likelihood(posterior, prior, grid)
        curves.append(Curve("prior", "prior", grid.tolist(), _densities(prior, grid)[0].tolist()))
        what = "likelihood (scaled)" if alone else "integrated likelihood (scaled)"
        curves.append(Curve(what, "likelihood", grid.tolist(), likelihood.tolist()))
    return Chart(name, curves=curves)


def _likelihood(posterior: Distribution, prior: Distribution, grid: Array) -> Array:
    with np.errstate(invalid="ignore"):
        log_ratio = np.asarray(posterior.log_prob(grid)) - np.asarray(prior.log_prob(grid))
    possible = np.isfinite(log_ratio)
    if not possible.any():
        return np.zeros_like(grid)
    shape = np.exp(np.where(possible, log_ratio - log_ratio[possible].max(), -np.inf))
    return np.asarray(shape / np.trapezoid(shape, grid))


def _grid(posterior: Distribution, prior: Distribution | None = None) -> Array:
    """The grid of a chart: [0, 1] for a probability, else a 99% interval, widened towards the prior."""
    low, high = (float(np.min(end)) if i == 0 else float(np.max(end)) for i, end in enumerate(posterior.interval(0.99)))
    if isinstance(posterior, Beta):
        wide = prior is not None and high - low > 0.1
        return np.linspace(0, 1, CURVE_POINTS) if wide or high - low > 0.3 else _around(low, high, 0.0, 1.0)
    floor, ceiling = (float(np.min(np.asarray(posterior.quantile(p)))) for p in (0.0, 1.0))
    if prior is not None and not np.ndim(prior.mean()):
        reach = 3 * (high - low)
        start, end = (float(edge) for edge in prior.interval(0.5))
        low, high = max(min(low, start), low - reach), min(max(high, end), high + reach)
    return _around(low, high, floor, ceiling)


def _around(low: float, high: float, floor: float, ceiling: float) -> Array:
    """A grid a little beyond the ends, but within the support."""
    margin = 0.05 * (high - low) or 1.0
    return np.linspace(max(low - margin, floor), min(high + margin, ceiling), CURVE_POINTS)


def _densities(distribution: Distribution, grid: Array) -> list[Array]:
    """One curve, or one for each entry of a vector."""
    lead = grid.reshape(-1, *(1,) * np.ndim(distribution.mean()))
    with np.errstate(over="ignore"):
        density = np.exp(np.asarray(distribution.log_prob(lead))).reshape(len(grid), -1)
    density = np.where(np.isfinite(density), density, np.nan)
    return list(density.T)


def _predictive_chart(belief: Belief) -> Chart:
    label = "next observation"
    if isinstance(belief.posterior, LinearGaussian):
        return Chart(label, "", note="depends on the features")
    predictive = belief.predictive()
    if isinstance(predictive, Categorical):
        return Chart(label, "probability", bars={str(value): p for value, p in predictive.items()})
    if isinstance(predictive, NegativeBinomial):
        low, high = (int(end) for end in predictive.interval(0.999))
        counts = np.arange(low, high + 1)
        mass = np.exp(np.asarray(predictive.log_prob(counts)))
        return Chart(label, "probability", bars=dict(zip(counts.tolist(), mass.tolist(), strict=True)))
    marginal = predictive.columns() if isinstance(belief.posterior, NormalInverseWishart) else predictive
    grid = _grid(marginal)
    densities = _densities(marginal, grid)
    return Chart(label, curves=[Curve("", "predictive", grid.tolist(), each.tolist()) for each in densities])


def value_estimates(belief: Belief) -> ValueEstimates:
    """The estimates of a categorical belief; its probabilities are also those of the next observation."""
    mean, interval = belief.mean(), belief.interval()
    order = sorted(mean, key=lambda v: -mean[v])[:CHARTED_VALUES]
    left_out = f"; {len(mean) - len(order)} rarer values not shown" if len(mean) > len(order) else ""
    title = f"{type(belief.family).__name__}, after {counted(belief.n, 'observation')}{left_out}"
    likely, shares = dict[Any, float](), dict[Any, float]()
    if belief.n:
        prior = np.broadcast_to(belief.family.concentration, len(mean))  # type: ignore[attr-defined]
        likely, shares = belief.maximum_likelihood(), dict(zip(mean, (prior / prior.sum()).tolist(), strict=True))
    return ValueEstimates(
        title,
        [str(value) for value in order],
        [mean[v] for v in order],
        [interval[v] for v in order],
        [likely[v] for v in order if likely],
        [shares[v] for v in order if shares],
    )


# How Matplotlib draws it


def plot_belief(belief: Belief) -> Figure:
    """Prior, likelihood and posterior of each parameter, and the predictive of the next observation."""
    if isinstance(belief.posterior, Dirichlet):
        return _plot_values(value_estimates(belief))
    return _plot_charts(belief_charts(belief), headline(belief))


def plot_numeric(belief: Numeric) -> Figure:
    return _plot_charts(numeric_charts(belief))


def _plot_charts(charts: list[Chart], title: str = "") -> Figure:
    from credo.present.plotting import Figure

    figure = Figure(figsize=(4.4 * len(charts), 3.6), layout="constrained")
    if title:
        figure.suptitle(title, fontsize="medium")
    for axes, chart in zip(figure.subplots(1, len(charts)), charts, strict=True):
        draw_chart(axes, chart)
    return figure


def draw_chart(axes: Axes, chart: Chart) -> None:
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.note:
        axes.text(0.5, 0.5, chart.note, ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    if chart.bars is not None:
        _draw_bars(axes, chart.bars)
    else:
        for j, curve in enumerate(chart.curves):
            several = sum(each.role == curve.role for each in chart.curves) > 1
            width = 2.5 if curve.role == "likelihood" else None
            colour = f"C{j}" if several else ROLE_COLOURS[curve.role]
            axes.plot(curve.x, curve.y, ROLE_LINES[curve.role], color=colour, lw=width, label=curve.label)
            if curve.role == "posterior" and not several:
                axes.fill_between(curve.x, curve.y, color=colour, alpha=0.15)
        # An unbounded prior must not flatten the other curves.
        heights = np.concatenate([curve.y for curve in chart.curves if curve.role != "prior"])
        axes.set(yticks=[], ylim=(0, 1.1 * np.nanmax(heights, initial=0.0) or None))
        if any(curve.role == "posterior" for curve in chart.curves):
            axes.legend(frameon=False, fontsize="small")


def _draw_bars(axes: Axes, bars: Any) -> None:
    places, heights = [*bars], [*bars.values()]
    colour = ROLE_COLOURS["predictive"]
    if isinstance(places[0], str):
        axes.bar_label(axes.bar(places, heights, color=colour), fmt="%.3g")
        axes.set(ylim=(0, 1.1), yticks=[])
        return
    if len(places) <= MOST_BARS:
        axes.bar(places, heights, color=colour)
    else:
        axes.step(places, heights, where="mid", color=colour)
    axes.set(ylim=(0, None), yticks=[])


def _plot_values(found: ValueEstimates) -> Figure:
    from credo.present.plotting import Figure

    figure = Figure(figsize=(6.4, 1.4 + 0.3 * len(found.values)), layout="constrained")
    figure.suptitle(found.title, fontsize="medium")
    axes = figure.subplots()
    places, mean = np.arange(len(found.values)), np.array(found.mean)
    errors = np.abs(np.array(found.interval).T - mean)
    axes.barh(places, mean, xerr=errors, color=ROLE_COLOURS["posterior"], capsize=3, label="posterior, 95% interval")
    if found.maximum_likelihood:
        axes.plot(found.maximum_likelihood, places, "o", color=ROLE_COLOURS["likelihood"], label="maximum likelihood")
        axes.plot(found.prior, places, "|", ms=12, mew=2, color=ROLE_COLOURS["prior"], label="prior")
    axes.set_yticks(places, found.values)
    axes.invert_yaxis()
    axes.set(xlim=(0, None), xlabel="probability")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure
