"""How beliefs are shown: a few lines in a terminal, a table in a notebook, the lectures' picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import counted
from credo.families import GammaExponential, LinearRegression, NormalInverseWishart
from credo.families.dirichlet import Dirichlet
from credo.numerics.distributions import Beta, Categorical, Distribution, NegativeBinomial
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.estimation.belief import Belief

SHOWN = 12  # rows of a table in a notebook; values of a categorical belief
BARS = 80  # counts that still look like bars
PRIOR, LIKELIHOOD, POSTERIOR, NEXT = "tab:gray", "tab:orange", "tab:blue", "tab:green"


def rows_of(belief: Belief) -> list[tuple[str, str, str, str]]:
    """Each parameter's name, mean, mode and 95% interval; nothing of a prior that doesn't know its values yet."""
    if not _known(belief):
        return []
    mean, mode, interval = belief.mean(), belief.mode(), belief.interval()
    if isinstance(mean, dict):
        return [(f"P({v})", _shown(mean[v]), _shown(mode[v]), _ends(interval[v])) for v in list(mean)[:SHOWN]]
    if not hasattr(mean, "_fields"):
        return [(parameter_name(belief), _shown(mean), _shown(mode), _ends(interval))]
    return [
        (name, _shown(each), _shown(best), _ends(ends))
        for name, each, best, ends in zip(mean._fields, mean, mode, interval, strict=True)
    ]


def _known(belief: Belief) -> bool:
    if isinstance(belief.family, Dirichlet):
        known = belief.evidence is not None or belief.family.levels is not None or belief.family.concentration.ndim > 0
        return known and belief.posterior.alpha.size > 0  # type: ignore[attr-defined]
    if belief.evidence is not None:
        return True
    return not isinstance(belief.family, LinearRegression) or belief.family.precision.ndim > 1


def parameter_name(belief: Belief) -> str:
    """Of a family with one parameter."""
    names = {"truth": "probability", "count": "rate", "number": "mean"}
    return "rate" if isinstance(belief.family, GammaExponential) else names.get(belief.family.reads, "upper end")


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


def headline(belief: Belief) -> str:
    return f"{belief.posterior}, after {counted(belief.n, 'observation')}"


def describe(belief: Belief) -> str:
    """A belief in a few lines."""
    lines = [headline(belief)]
    for name, mean, mode, ends in rows_of(belief):
        expected = mean if name == "mean" else f"mean {mean}"
        lines.append(f"  {name}: {expected}, mode {mode}, 95% interval {ends}")
    return "\n".join(lines)


def belief_html(belief: Belief) -> str:
    head = "<tr><th></th><th>mean</th><th>mode</th><th>95% interval</th></tr>"
    body = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for name, *cells in rows_of(belief)
    )
    return f"<table><caption>{escape(headline(belief))}</caption>{head}{body}</table>"


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
    from credo.present.plotting import Figure

    if isinstance(belief.posterior, Dirichlet):
        return _plot_values(belief)
    marginals = belief.posterior.marginals()
    before = belief.prior.marginals() if belief.evidence is not None and _drawable(belief) else (None,) * len(marginals)
    figure = Figure(figsize=(4.4 * (len(marginals) + 1), 3.6), layout="constrained")
    figure.suptitle(headline(belief), fontsize="medium")
    axes = figure.subplots(1, len(marginals) + 1)
    for panel, row, marginal, prior in zip(axes, rows_of(belief), marginals, before, strict=False):
        draw_parameter(panel, row[0], marginal, prior, updated=belief.evidence is not None)
    _draw_predictive(axes[-1], belief)
    return figure


def _drawable(belief: Belief) -> bool:
    """Whether the prior has densities: an improper one has none, and a regression's may not know its features."""
    if belief.prior.improper.any():
        return False
    return not isinstance(belief.prior, LinearRegression) or belief.prior.precision.ndim > 1


def draw_parameter(
    axes: Axes, name: str, posterior: Distribution, prior: Distribution | None = None, updated: bool = True
) -> None:
    """posterior ∝ likelihood · prior: the likelihood is what turned the one into the other, scaled to the same area."""
    grid = _grid(posterior, prior)
    label = "posterior" if updated else "prior"
    for j, density in enumerate(_densities(posterior, grid)):
        several = np.ndim(posterior.mean()) > 0
        colour = f"C{j}" if several else POSTERIOR
        axes.plot(grid, density, color=colour, label=f"{label} {j}" if several else label)
        if not several:
            axes.fill_between(grid, density, color=colour, alpha=0.15)
    if prior is not None and not np.ndim(posterior.mean()):
        axes.plot(grid, _densities(prior, grid)[0], "--", color=PRIOR, label="prior")
        axes.plot(grid, _likelihood(posterior, prior, grid), ":", color=LIKELIHOOD, lw=2.5, label="likelihood (scaled)")
    axes.set(xlabel=name, ylabel="density", yticks=[], ylim=(0, None))
    axes.legend(frameon=False, fontsize="small")


def _likelihood(posterior: Distribution, prior: Distribution, grid: Array) -> Array:
    with np.errstate(invalid="ignore"):
        log_ratio = np.asarray(posterior.log_prob(grid)) - np.asarray(prior.log_prob(grid))
    possible = np.isfinite(log_ratio)
    if not possible.any():
        return np.zeros_like(grid)
    shape = np.exp(np.where(possible, log_ratio - log_ratio[possible].max(), -np.inf))
    return np.asarray(shape / np.trapezoid(shape, grid))


def _grid(posterior: Distribution, prior: Distribution | None = None) -> Array:
    """Where the probability is: the whole range of a share, else what holds 99%, widened towards the prior."""
    low, high = (float(np.min(end)) if i == 0 else float(np.max(end)) for i, end in enumerate(posterior.interval(0.99)))
    if isinstance(posterior, Beta):
        wide = prior is not None and high - low > 0.1
        return np.linspace(0, 1, 801) if wide or high - low > 0.3 else _around(low, high, 0.0, 1.0)
    floor, ceiling = (float(np.min(np.asarray(posterior.quantile(p)))) for p in (0.0, 1.0))
    if prior is not None and not np.ndim(prior.mean()):
        reach = 3 * (high - low)
        start, end = (float(edge) for edge in prior.interval(0.5))
        low, high = max(min(low, start), low - reach), min(max(high, end), high + reach)
    return _around(low, high, floor, ceiling)


def _around(low: float, high: float, floor: float, ceiling: float) -> Array:
    """A little beyond the ends, but never beyond what is possible."""
    margin = 0.05 * (high - low) or 1.0
    return np.linspace(max(low - margin, floor), min(high + margin, ceiling), 801)


def _densities(distribution: Distribution, grid: Array) -> list[Array]:
    """One curve, or one for each entry of a vector."""
    lead = grid.reshape(-1, *(1,) * np.ndim(distribution.mean()))
    with np.errstate(over="ignore"):
        density = np.exp(np.asarray(distribution.log_prob(lead))).reshape(len(grid), -1)
    density = np.where(np.isfinite(density), density, np.nan)
    return list(density.T)


def _draw_predictive(axes: Axes, belief: Belief) -> None:
    axes.set(xlabel="next observation", ylabel="density", yticks=[])
    if isinstance(belief.posterior, LinearRegression):
        axes.text(0.5, 0.5, "depends on the features", ha="center", transform=axes.transAxes)
        axes.set(xticks=[], ylabel="")
        return
    predictive = belief.predictive()
    if isinstance(predictive, Categorical):
        bars = axes.bar([str(v) for v in predictive], list(predictive.values()), color=NEXT)
        axes.bar_label(bars, fmt="%.3g")
        axes.set(ylabel="probability", ylim=(0, 1.1))
    elif isinstance(predictive, NegativeBinomial):
        low, high = (float(end) for end in predictive.interval(0.999))
        counts = np.arange(low, high + 1)
        mass = np.exp(np.asarray(predictive.log_prob(counts)))
        if len(counts) <= BARS:
            axes.bar(counts, mass, color=NEXT)
        else:
            axes.step(counts, mass, where="mid", color=NEXT)
        axes.set(ylabel="probability", ylim=(0, None))
    else:
        marginal = predictive.columns() if isinstance(belief.posterior, NormalInverseWishart) else predictive
        grid = _grid(marginal)
        several = np.ndim(marginal.mean()) > 0
        for j, density in enumerate(_densities(marginal, grid)):
            axes.plot(grid, density, color=f"C{j}" if several else NEXT)
        axes.set(ylim=(0, None))


def _plot_values(belief: Belief) -> Figure:
    """Each value's probability, which is also that of the next observation, with its interval; the commonest first."""
    from credo.present.plotting import Figure

    mean, interval = belief.mean(), belief.interval()
    order = sorted(mean, key=lambda v: -mean[v])[: 3 * SHOWN]
    figure = Figure(figsize=(6.4, 1.4 + 0.3 * len(order)), layout="constrained")
    left_out = f"; {len(mean) - len(order)} rarer values not shown" if len(mean) > len(order) else ""
    title = f"{type(belief.family).__name__}, after {counted(belief.n, 'observation')}{left_out}"
    figure.suptitle(title, fontsize="medium")
    axes = figure.subplots()
    places = np.arange(len(order))
    errors = np.array([[mean[v] - interval[v][0], interval[v][1] - mean[v]] for v in order]).T
    widths = [mean[v] for v in order]
    axes.barh(places, widths, xerr=errors, color=POSTERIOR, capsize=3, label="posterior, 95% interval")
    if belief.n:
        likely = belief.maximum_likelihood()
        axes.plot([likely[v] for v in order], places, "o", color=LIKELIHOOD, label="maximum likelihood")
        prior = np.broadcast_to(belief.family.concentration, len(mean))  # type: ignore[attr-defined]
        shares = dict(zip(mean, prior / prior.sum(), strict=True))
        axes.plot([shares[v] for v in order], places, "|", ms=12, mew=2, color=PRIOR, label="prior")
    axes.set_yticks(places, [str(v) for v in order])
    axes.invert_yaxis()
    axes.set(xlim=(0, None), xlabel="probability")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure
