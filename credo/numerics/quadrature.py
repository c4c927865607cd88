"""Adaptive quadrature of log densities of one or two parameters, with narrow peaks and discontinuities.

A parameter θ is a smooth function of a coordinate t in which its support is unbounded. The density is scanned in t, and
intervals are halved towards every peak and jump. The mass is split into panels of Gauss-Lobatto nodes, which are halved
until their Legendre series converge. With two parameters, each node of the first has such a line of the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import legder, legint, legroots, legval, legvander
from numpy.typing import ArrayLike, NDArray

from credo.numerics.distributions import Distribution, Real, plain
from credo.numerics.exact import Array

Function = Callable[..., Any]

LARGEST_T = 345.0  # the largest |t| whose exp(2t) is finite
NEGLIGIBLE_NATS = 36.0  # e⁻³⁶ of the whole is lost in rounding
SERIES_TOLERANCE = 1e-8  # of a panel's last Legendre coefficients, relative to the whole; the integral's error is less
PANEL_CHANGE = 2.0  # the largest change of a log density along a panel at its peak; more in the tails
PANEL_NODES = np.array([-1, *legroots(legder(np.eye(16)[15])), 1])  # Gauss-Lobatto nodes, with a panel's ends
NODE_WEIGHTS = 2 / (16 * 15 * legval(PANEL_NODES, np.eye(16)[15]) ** 2)
TO_SERIES = np.linalg.inv(legvander(PANEL_NODES, 15)).T  # values -> Legendre coefficients


@dataclass(frozen=True)
class Axis:
    """θ(t) = low + (high - low)/(1 + e⁻ᵗ), low + eᵗ, high - e⁻ᵗ or sinh t, depending on which ends are finite."""

    low: float
    high: float

    @cached_property
    def maps(self) -> tuple[Function, Function, Function]:
        """The maps t -> θ, θ -> t and t -> log dθ/dt."""
        low, high, wide = self.low, self.high, self.high - self.low

        def between(t: Array) -> Array:  # near an end, the distance to it keeps its digits
            near = np.where(t < 0, low, high) - np.copysign(wide / (1 + np.exp(np.abs(t))), t)
            return np.where(np.abs(t) > 1, near, (low + high + wide * np.tanh(t / 2)) / 2)

        match isfinite(low), isfinite(high):
            case True, True:
                slope: Function = lambda t: np.log(wide) - np.logaddexp(0, t) - np.logaddexp(0, -t)  # noqa: E731
                return between, lambda x: np.log(x - low) - np.log(high - x), slope
            case True, False:
                return lambda t: low + np.exp(t), lambda x: np.log(x - low), lambda t: t
            case False, True:
                return lambda t: high - np.exp(-t), lambda x: -np.log(high - x), lambda t: -t
        return np.sinh, np.arcsinh, lambda t: np.logaddexp(t, -t) - np.log(2)

    @cached_property
    def limits(self) -> Array:
        return np.where(np.isfinite([self.low, self.high]), 1e5, LARGEST_T) * [-1, 1]

    @cached_property
    def resolved(self) -> Array:
        """The range of t in which floats distinguish θ from the ends of its support."""
        wide = self.high - self.low if isfinite(self.high - self.low) else 1.0
        nearest = [np.spacing(abs(end)) / wide if isfinite(end) else 0.0 for end in (self.low, self.high)]
        return np.array([1, -1]) * np.log(np.maximum(nearest, np.exp(-LARGEST_T)))

    @cached_property
    def steady(self) -> Array:
        """The range of t in which densities are evaluated: beyond it, the distance to an end has too few digits."""
        return np.where(np.isfinite([self.low, self.high]), 0.75 * self.resolved, self.limits)

    def theta(self, t: Array) -> Array:
        return self.inside(self.maps[0](np.minimum(np.maximum(t, self.resolved[0]), self.resolved[1])))

    def inside(self, theta: Array) -> Array:
        """θ moved inside its support, where likelihoods and priors are finite."""
        return np.minimum(np.maximum(theta, np.nextafter(self.low, inf)), np.nextafter(self.high, -inf))

    def t(self, theta: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(self.maps[1](np.clip(theta, self.low, self.high)), *self.limits))

    def grid(self, size: int) -> Array:
        return np.clip(0.9 * np.sinh(np.linspace(-4.4, 4.4, size)), *self.resolved)

    def density(self, log_density: Function) -> Function:
        """log dP/dt; too near to an end, it is continued as a power of the distance to the end."""

        def along(t: Array) -> Array:
            return np.asarray(log_density(self.theta(t)) + self.maps[2](t))

        def continued(t: Array) -> Array:
            kept = np.minimum(np.maximum(t, self.steady[0]), self.steady[1])
            log = along(kept)
            for beyond, end in zip((t < kept, t > kept), self.steady, strict=True):
                if beyond.any():
                    last, before = along(np.array([end, 0.9 * end]))
                    if isfinite(last) and isfinite(before):
                        log[beyond] += (last - before) / (0.1 * end) * (t - kept)[beyond]
            return log

        return continued


def explore(
    log_density: Function, axis: Axis, grid: Array, step: float = 1.0, floor: float = -inf
) -> tuple[Array, Array]:
    """Points t and their log density, halved towards each peak and jump until neighbours differ by less than a step."""
    t = np.unique(grid)
    value = log_density(t)
    if t.size > 1000:  # many points are only needed near peaks
        peak = np.flatnonzero((value[1:-1] > value[:-2]) & (value[1:-1] >= value[2:]))
        kept = np.unique(np.concatenate([peak, peak + 1, peak + 2, np.arange(0, t.size, 50), [t.size - 1]]))
        t, value = t[kept], value[kept]
    while t.size < grid.size + 1000:
        new = next_points(axis, t, value, step, floor)
        if not new.size:
            break
        t, order = np.unique(np.append(t, new), return_index=True)
        value = np.append(value, log_density(new))[order]
    return t, value


def next_points(axis: Axis, t: Array, value: Array, step: float, floor: float) -> Array:
    """The next points: halfway from a peak to its neighbours, inside a jump, beyond an end that is still high."""
    if np.isneginf(value).all():
        return np.empty(0)
    gap, higher, lower = np.diff(t), np.maximum(value[1:], value[:-1]), np.minimum(value[1:], value[:-1])
    drop = np.where(np.isneginf(higher), 0, higher - np.where(np.isneginf(higher), 0, lower))
    padded = np.concatenate([[-inf], value, [-inf]])
    peak = (value >= padded[:-2]) & (value >= padded[2:])
    slope = np.where(np.isinf(drop), 0, drop)
    steep = peak * np.maximum(np.append(slope, 0), np.append(0, slope))
    near = np.maximum(steep[1:], steep[:-1]) > step
    # A smooth peak rises above its highest point by a few times the drop to its neighbours, at most.
    reach = np.maximum((value + 4 * steep)[1:], (value + 4 * steep)[:-1]) + np.log(gap)
    wanted = np.isinf(drop) | near | (drop > PANEL_CHANGE + value.max() - higher)
    wanted &= reach > max((higher + np.log(gap)).max() - 24 + np.log(step), floor)
    wanted &= gap > 4e-16 * np.maximum(np.abs(t[1:]), 1e-14)
    inside = (t[:-1] + np.outer(np.arange(1, 16) / 16, gap))[:, wanted & np.isinf(drop)]
    ends = t[[0, -1]]
    high = value[[0, -1]] + tails(axis, t, value)[0](ends) > value.max() - NEGLIGIBLE_NATS - 8
    beyond = np.clip(1.2 * ends + [-1, 1], *axis.limits)[high & (ends != axis.limits)]
    return np.concatenate([(t[:-1] + gap / 2)[wanted & np.isfinite(drop)], inside.ravel(), beyond])


def tails(axis: Axis, t: Array, value: Array) -> tuple[Function, float]:
    """log (1 + (θ - c)²/s²), the tails' weight in the variance for a peak at c of width s; the rounding of log p."""
    best = int(np.argmax(value))
    near = axis.theta(t[max(best - 1, 0) : best + 2])
    centre = near[min(best, 1)]
    width = np.ptp(near) or np.spacing(abs(centre)) or 1.0
    rounding = 8 * np.finfo(float).eps * (abs(value[best]) + abs(centre) / width)
    return lambda t: 2 * np.log(np.hypot(1, (axis.theta(t) - centre) / width)), float(rounding)


def at_nodes(low: Array, high: Array) -> Array:
    wide = (high - low)[:, None] / 2
    return np.asarray(
        np.where(PANEL_NODES < 0, low[:, None] + wide * (1 + PANEL_NODES), high[:, None] - wide * (1 - PANEL_NODES))
    )


def line(
    log_density: Function, axis: Axis, grid: Array, rough: Function | None = None, most: int = 400, care: float = 1e-3
) -> tuple[float, Array]:
    """log ∫ along one axis; and for each panel with mass, a row of low, high, and the log density at its nodes.

    A rough density may be given for exploring. No panel is halved beyond `most`; `care` is for panels of little mass.
    """

    def evaluated(low: Array, high: Array) -> Array:
        log = log_density(at_nodes(low, high).ravel())
        return np.column_stack([low, high, np.reshape(log, (-1, PANEL_NODES.size))])

    t, value = explore(rough or log_density, axis, grid)
    weigh, rounding = tails(axis, t, value)
    starts, stops = edges(t, value, value + weigh(t))
    if not starts.size:
        return -inf, np.empty((0, 2 + PANEL_NODES.size))
    rows = evaluated(starts, stops)
    if rough is not None:
        t, value = t[:0], value[:0]
    while len(rows) < most:
        halve = unresolved(rows, t, value, np.zeros_like, max(SERIES_TOLERANCE, rounding), care)
        halve |= unresolved(rows, t, value, weigh, max(SERIES_TOLERANCE, rounding), care)
        if not halve.any():
            break
        low, high = rows[halve, :2].T
        rows = np.vstack([rows[~halve], evaluated(np.append(low, (low + high) / 2), np.append((low + high) / 2, high))])
        rows = rows[np.argsort(rows[:, 0])]
    mass = rows[:, 2:] + np.log(NODE_WEIGHTS * (rows[:, 1] - rows[:, 0])[:, None] / 2)
    return float(np.logaddexp.reduce(mass, axis=None)), rows


def unresolved(
    rows: Array, t: Array, value: Array, weigh: Function, tolerance: float, care: float
) -> NDArray[np.bool_]:
    """Panels whose Legendre series hasn't converged, or misses a known point, relative to the whole integral."""
    low, high = rows[:, :2].T
    log, half = rows[:, 2:] + weigh(at_nodes(low, high)), (high - low) / 2
    density = np.exp(log - log.max())
    series, mass = density @ TO_SERIES, density @ NODE_WEIGHTS * half
    least = tolerance * mass.sum()
    # A panel of little mass must still be accurate relative to its own mass, since tails explain surprising data.
    rough = half * np.abs(series[:, -2:]).sum(-1) > np.minimum(least, care * np.maximum(mass, 1e-6 * least))
    panel = np.maximum(np.append(np.searchsorted(low, t, side="right"), np.searchsorted(low, t)) - 1, 0)
    t, value = np.tile(t, 2), np.tile(value, 2)  # an edge belongs to the panels on both sides
    u = (t - low[panel]) / half[panel] - 1
    off = np.abs(legval(u, series.T[:, panel], tensor=False) - np.exp(value + weigh(t) - log.max()))
    rough[panel[(np.abs(u) <= 1) & (off * half[panel] > 100 * least)]] = True
    return np.asarray(rough & (half > 1e-14 * np.maximum(np.abs(low), 1e-14)))


def edges(t: Array, value: Array, weighted: Array) -> tuple[Array, Array]:
    """The intervals with relevant mass, neighbours joined while the density is about the same."""
    higher, gap, kept = np.maximum(value[1:], value[:-1]), np.log(np.diff(t)), np.zeros(t.size - 1, dtype=bool)
    for mass in (higher + gap, np.maximum(weighted[1:], weighted[:-1]) + gap):
        kept |= mass > mass.max() - NEGLIGIBLE_NATS
    kept &= np.isfinite(value[1:]) & np.isfinite(value[:-1])
    if not kept.any():
        return t[:0], t[:0]
    change = np.abs(value[1:][kept] - value[:-1][kept])
    join = np.floor(np.cumsum(change / (PANEL_CHANGE + value.max() - higher[kept])))
    index = np.flatnonzero(kept)
    starts = np.append(True, (np.diff(index) > 1) | (np.diff(join) > 0))
    return t[index[starts]], t[index[np.append(starts[1:], True)] + 1]


@dataclass(frozen=True, repr=False, eq=False)
class Density(Distribution):
    """A density as a polynomial of t on each panel; for two parameters, that of the second on each line."""

    axis: Axis
    low: Array  # (panels,) the lower end in t
    half: Array  # (panels,) half the width
    value: Array  # (panels, nodes) dP/dt
    mass: Array  # (panels, nodes) the probability of each node
    before: Array  # (panels,) the probability of the panels before each
    rising: Array  # (coefficients, panels) the Legendre series of P from a panel's low end
    theta: Array  # (panels, nodes)
    given: Array  # (0 or 1, panels) the first of two parameters

    @classmethod
    def of(cls, axis: Axis, rows: Array, log_total: ArrayLike, *given: Array) -> Density:
        low, high = rows[:, :2].T
        half, value = (high - low) / 2, np.exp(rows[:, 2:] - np.reshape(log_total, (-1, 1)))
        mass = value * NODE_WEIGHTS * half[:, None]
        mass = mass / mass.sum()
        rising = legint(value @ TO_SERIES, lbnd=-1, axis=1).T * half
        fixed = np.reshape(given, (len(given), len(rows)))
        theta = axis.theta(at_nodes(low, high))
        return cls(axis, low, half, value, mass, np.append(0, np.cumsum(mass.sum(-1))), rising, theta, fixed)

    def place(self, x: ArrayLike) -> tuple[Array, NDArray[np.intp], Array]:
        """t, the panel that contains it or precedes it, and the position in the panel, from -1 to 1."""
        t = self.axis.t(x)
        panel = np.maximum(np.searchsorted(self.low, t, side="right") - 1, 0)
        return t, panel, (t - self.low[panel]) / self.half[panel] - 1

    def log_prob(self, x: ArrayLike) -> Real:
        t, panel, u = self.place(x)
        value = legval(np.clip(u, -1, 1), (self.value @ TO_SERIES).T[:, panel], tensor=False)
        with np.errstate(divide="ignore"):
            return plain(np.log(np.where(np.abs(u) > 1, 0, np.maximum(value, 0))) - self.axis.maps[2](t))

    def cdf(self, x: ArrayLike) -> Real:
        _, panel, u = self.place(x)
        return plain(self.before[panel] + legval(np.clip(u, -1, 1), self.rising[:, panel], tensor=False))

    def quantile(self, p: ArrayLike) -> Real:
        p = np.asarray(p, dtype=np.float64)
        panel = np.clip(np.searchsorted(self.before, p, side="right") - 1, 0, self.low.size - 1)
        target, rising, low, high = p - self.before[panel], self.rising[:, panel], -np.ones(p.shape), np.ones(p.shape)
        for _ in range(50):
            under = legval((low + high) / 2, rising, tensor=False) < target
            low, high = np.where(under, (low + high) / 2, low), np.where(under, high, (low + high) / 2)
        return plain(self.axis.theta(self.low[panel] + self.half[panel] * (1 + (low + high) / 2)))

    def diverges(self, power: int) -> bool:
        """Whether the outermost interval that floats can represent contributes to the mean of |θ|ᵖ."""
        weight, (low, high) = self.mass * np.abs(self.theta) ** power, 0.9 * self.axis.limits
        outermost = (self.low < low) | (self.low + 2 * self.half > high)
        return bool(weight[outermost].sum() > 1e-6 * weight.sum())

    def mean(self) -> float:
        if self.diverges(1):
            return nan if self.axis.low == -self.axis.high else inf if self.axis.high == inf else -inf
        return float((self.mass * self.theta).sum())

    def variance(self) -> float:
        return inf if self.diverges(2) else float((self.mass * (self.theta - self.mean()) ** 2).sum())


class Mesh(NamedTuple):
    """An integral: its logarithm, the density of the first parameter, and that of the last on each line."""

    log_total: float
    first: Density
    joint: Density


def negligible_density(log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...]) -> float:
    """A log density far below the largest on the grid of two parameters: below it, rounding may look like peaks."""
    points = np.meshgrid(*(axis.theta(grid) for axis, grid in zip(axes, grids, strict=True)))
    return float(np.max(log_density(*(part.ravel() for part in points)))) - 4 * NEGLIGIBLE_NATS


def integrate(log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...]) -> Mesh:
    """∫ p dθ, or ∫ (∫ p dθ₂) dθ₁."""
    first, last = axes[0], axes[-1]
    if len(axes) == 1:
        total, rows = line(last.density(log_density), last, grids[0])
        return Mesh(total, *(2 * [Density.of(last, rows, total)]))
    floor = negligible_density(log_density, axes, grids)

    def along(x: float) -> Function:
        return last.density(lambda y: log_density(np.full(y.shape, x), y))

    def rough(theta: Array) -> Array:
        lines = [explore(along(x), last, grids[1], floor=floor) for x in theta.tolist()]
        return np.array([np.logaddexp.reduce(np.logaddexp(v[1:], v[:-1]) + np.log(np.diff(t) / 2)) for t, v in lines])

    @cache
    def across(x: float) -> tuple[float, Array]:
        return line(along(x), last, grids[1], care=0.1)

    def summed(theta: Array) -> Array:
        return np.array([across(x)[0] for x in theta.tolist()])

    total, rows = line(first.density(summed), first, grids[0], first.density(rough), care=0.1)
    outer = Density.of(first, rows, total)
    lines = [across(x) for x in outer.theta.ravel().tolist()]
    sizes = [len(rows) for _, rows in lines]
    with np.errstate(divide="ignore", invalid="ignore"):  # a line may have no mass
        shift = np.array([part for part, _ in lines]) - np.log(outer.mass.ravel())
    stacked = np.vstack([rows[:0], *(rows for _, rows in lines)])
    return Mesh(total, outer, Density.of(last, stacked, np.repeat(shift, sizes), np.repeat(outer.theta.ravel(), sizes)))


def summit(
    log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...], floor: float
) -> tuple[float, list[float]]:
    """The maximum of a function of one or two parameters, and its location."""
    axis, *rest = axes

    def ridge(x: float) -> tuple[float, list[float]]:
        return summit(lambda y: log_density(np.full(y.shape, x), y), tuple(rest), grids[1:], floor)

    def height(t: Array) -> Array:
        return np.array([ridge(x)[0] for x in axis.theta(t)]) if rest else np.asarray(log_density(axis.theta(t)))

    t, value = explore(height, axis, np.append(grids[0], axis.limits[np.isfinite([axis.low, axis.high])]), 1e-7, floor)
    best = value.size - 1 if value[-1] >= value.max() else int(value.argmax())
    top, peak = float(value[best]), t[best]
    if 0 < best < t.size - 1 and np.isfinite(value[best - 1 : best + 2]).all():
        (rise, fall), (left, right) = np.diff(value[best - 1 : best + 2]), np.diff(t[best - 1 : best + 2])
        bend = (fall / right - rise / left) / (left + right)  # of the parabola through the three points
        peak = peak - (rise / left / bend + left) / 2 if bend < 0 else peak
    theta = float(axis.theta(peak))
    inner = ridge(theta)[1] if rest else []
    if peak in axis.limits:
        theta = axis.low if peak < 0 else axis.high
    return top, [theta, *inner]
