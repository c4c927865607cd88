"""Numeric: any likelihood and any prior of one or two parameters, integrated by adaptive quadrature.

A parameter θ is a smooth function of a coordinate t that moves the ends of its support far away. In t a density is
scanned, the points are halved towards every peak and jump, and the mass is cut into panels of Gauss-Lobatto nodes,
halved until their Legendre series die out. Two parameters: one such line of the second per node of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import legder, legint, legroots, legval, legvander
from numpy.typing import ArrayLike, NDArray

from credo.distributions import Categorical, Distribution, Real, plain
from credo.errors import CredoError, DataError, EvidenceError, PriorError
from credo.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Numeric"]

Function = Callable[..., Any]
Seed = int | np.random.Generator

CELLS = 1 << 18  # (parameters x observations) evaluated at once: what fits a processor's cache
FAR = 345.0  # the largest |t| whose exp(2t) is still a float
NEGLIGIBLE = 36.0  # e⁻³⁶ of the whole is lost in rounding
TOLERANCE = 1e-8  # of the whole, what a panel's last Legendre coefficients may weigh; its integral errs far less
PANEL = 2.0  # how much a log density may change along a panel at its peak; more, further down
NODES = np.array([-1, *legroots(legder(np.eye(16)[15])), 1])  # Gauss-Lobatto: a panel's ends are seen too
SHARES = 2 / (16 * 15 * legval(NODES, np.eye(16)[15]) ** 2)
SERIES = np.linalg.inv(legvander(NODES, 15)).T  # values -> Legendre coefficients
IMPOSSIBLE = "the observations are impossible: their log-likelihood is -inf at every parameter that was tried"


@dataclass(frozen=True)
class Axis:
    """θ(t) = low + (high - low)/(1 + e⁻ᵗ), low + eᵗ, high - e⁻ᵗ or sinh t, as the ends are finite or not."""

    low: float
    high: float

    @cached_property
    def maps(self) -> tuple[Function, Function, Function]:
        """t -> θ, θ -> t, t -> log dθ/dt"""
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
        return np.where(np.isfinite([self.low, self.high]), 1e5, FAR) * [-1, 1]

    @cached_property
    def told(self) -> Array:
        """Up to where floats tell θ from the ends of its support."""
        wide = self.high - self.low if isfinite(self.high - self.low) else 1.0
        nearest = [np.spacing(abs(end)) / wide if isfinite(end) else 0.0 for end in (self.low, self.high)]
        return np.array([1, -1]) * np.log(np.maximum(nearest, np.exp(-FAR)))

    @cached_property
    def steady(self) -> Array:
        """Up to where densities are asked: beyond, too few digits are left of the distance to an end."""
        return np.where(np.isfinite([self.low, self.high]), 0.75 * self.told, self.limits)

    def theta(self, t: Array) -> Array:
        return self.inside(self.maps[0](np.minimum(np.maximum(t, self.told[0]), self.told[1])))

    def inside(self, theta: Array) -> Array:
        """Likelihoods and priors are asked between the ends, where they are finite."""
        return np.minimum(np.maximum(theta, np.nextafter(self.low, inf)), np.nextafter(self.high, -inf))

    def t(self, theta: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(self.maps[1](np.clip(theta, self.low, self.high)), *self.limits))

    def grid(self, size: int) -> Array:
        return np.clip(0.9 * np.sinh(np.linspace(-4.4, 4.4, size)), *self.told)

    def density(self, log_density: Function) -> Function:
        """log dP/dt; too near to an end, it goes on as the power of the distance that it is before."""

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
    if t.size > 1000:  # for finding peaks: elsewhere, few of them will do
        peak = np.flatnonzero((value[1:-1] > value[:-2]) & (value[1:-1] >= value[2:]))
        kept = np.unique(np.concatenate([peak, peak + 1, peak + 2, np.arange(0, t.size, 50), [t.size - 1]]))
        t, value = t[kept], value[kept]
    while t.size < grid.size + 1000:
        new = unseen(axis, t, value, step, floor)
        if not new.size:
            break
        t, order = np.unique(np.append(t, new), return_index=True)
        value = np.append(value, log_density(new))[order]
    return t, value


def unseen(axis: Axis, t: Array, value: Array, step: float, floor: float) -> Array:
    """Where to look next: halfway from a peak to its neighbours, inside a jump, beyond an end that is still high."""
    if np.isneginf(value).all():
        return np.empty(0)
    gap, higher, lower = np.diff(t), np.maximum(value[1:], value[:-1]), np.minimum(value[1:], value[:-1])
    drop = np.where(np.isneginf(higher), 0, higher - np.where(np.isneginf(higher), 0, lower))
    padded = np.concatenate([[-inf], value, [-inf]])
    peak = (value >= padded[:-2]) & (value >= padded[2:])
    slope = np.where(np.isinf(drop), 0, drop)
    steep = peak * np.maximum(np.append(slope, 0), np.append(0, slope))
    near = np.maximum(steep[1:], steep[:-1]) > step
    # Between its neighbours a smooth peak rises by no more than a few times what it falls towards them.
    reach = np.maximum((value + 4 * steep)[1:], (value + 4 * steep)[:-1]) + np.log(gap)
    wanted = np.isinf(drop) | near | (drop > PANEL + value.max() - higher)
    wanted &= reach > max((higher + np.log(gap)).max() - 24 + np.log(step), floor)
    wanted &= gap > 4e-16 * np.maximum(np.abs(t[1:]), 1e-14)
    inside = (t[:-1] + np.outer(np.arange(1, 16) / 16, gap))[:, wanted & np.isinf(drop)]
    ends = t[[0, -1]]
    high = value[[0, -1]] + tails(axis, t, value)[0](ends) > value.max() - NEGLIGIBLE - 8
    beyond = np.clip(1.2 * ends + [-1, 1], *axis.limits)[high & (ends != axis.limits)]
    return np.concatenate([(t[:-1] + gap / 2)[wanted & np.isfinite(drop)], inside.ravel(), beyond])


def tails(axis: Axis, t: Array, value: Array) -> tuple[Function, float]:
    """log (1 + (θ - c)²/s²), a peak at c being s wide: what tails weigh in the variance; the rounding of log p."""
    best = int(np.argmax(value))
    near = axis.theta(t[max(best - 1, 0) : best + 2])
    centre = near[min(best, 1)]
    width = np.ptp(near) or np.spacing(abs(centre)) or 1.0
    rounding = 8 * np.finfo(float).eps * (abs(value[best]) + abs(centre) / width)
    return lambda t: 2 * np.log(np.hypot(1, (axis.theta(t) - centre) / width)), float(rounding)


def at_nodes(low: Array, high: Array) -> Array:
    wide = (high - low)[:, None] / 2
    return np.asarray(np.where(NODES < 0, low[:, None] + wide * (1 + NODES), high[:, None] - wide * (1 - NODES)))


def line(
    log_density: Function, axis: Axis, grid: Array, rough: Function | None = None, most: int = 400, care: float = 1e-3
) -> tuple[float, Array]:
    """log ∫ along one axis; a row per panel that holds mass: low, high, and the log density at its nodes.

    A rough density may do for exploring; no panel is halved beyond `most`; `care` is for panels that hardly count.
    """

    def evaluated(low: Array, high: Array) -> Array:
        log = log_density(at_nodes(low, high).ravel())
        return np.column_stack([low, high, np.reshape(log, (-1, NODES.size))])

    t, value = explore(rough or log_density, axis, grid)
    weigh, rounding = tails(axis, t, value)
    starts, stops = edges(t, value, value + weigh(t))
    if not starts.size:
        return -inf, np.empty((0, 2 + NODES.size))
    rows = evaluated(starts, stops)
    if rough is not None:
        t, value = t[:0], value[:0]
    while len(rows) < most:
        halve = unresolved(rows, t, value, np.zeros_like, max(TOLERANCE, rounding), care)
        halve |= unresolved(rows, t, value, weigh, max(TOLERANCE, rounding), care)
        if not halve.any():
            break
        low, high = rows[halve, :2].T
        rows = np.vstack([rows[~halve], evaluated(np.append(low, (low + high) / 2), np.append((low + high) / 2, high))])
        rows = rows[np.argsort(rows[:, 0])]
    mass = rows[:, 2:] + np.log(SHARES * (rows[:, 1] - rows[:, 0])[:, None] / 2)
    return float(np.logaddexp.reduce(mass, axis=None)), rows


def unresolved(
    rows: Array, t: Array, value: Array, weigh: Function, tolerance: float, care: float
) -> NDArray[np.bool_]:
    """Panels whose Legendre series hasn't died out, or misses a point seen before, as far as the whole is concerned."""
    low, high = rows[:, :2].T
    log, half = rows[:, 2:] + weigh(at_nodes(low, high)), (high - low) / 2
    density = np.exp(log - log.max())
    series, mass = density @ SERIES, density @ SHARES * half
    least = tolerance * mass.sum()
    # A panel that hardly counts is still held to some share of itself: surprises are explained by the tails.
    rough = half * np.abs(series[:, -2:]).sum(-1) > np.minimum(least, care * np.maximum(mass, 1e-6 * least))
    panel = np.maximum(np.append(np.searchsorted(low, t, side="right"), np.searchsorted(low, t)) - 1, 0)
    t, value = np.tile(t, 2), np.tile(value, 2)  # an edge belongs to the panels on both sides
    u = (t - low[panel]) / half[panel] - 1
    off = np.abs(legval(u, series.T[:, panel], tensor=False) - np.exp(value + weigh(t) - log.max()))
    rough[panel[(np.abs(u) <= 1) & (off * half[panel] > 100 * least)]] = True
    return np.asarray(rough & (half > 1e-14 * np.maximum(np.abs(low), 1e-14)))


def edges(t: Array, value: Array, weighted: Array) -> tuple[Array, Array]:
    """The gaps between points that matter, neighbours joined while the density is about the same."""
    higher, gap, kept = np.maximum(value[1:], value[:-1]), np.log(np.diff(t)), np.zeros(t.size - 1, dtype=bool)
    for mass in (higher + gap, np.maximum(weighted[1:], weighted[:-1]) + gap):
        kept |= mass > mass.max() - NEGLIGIBLE
    kept &= np.isfinite(value[1:]) & np.isfinite(value[:-1])
    if not kept.any():
        return t[:0], t[:0]
    change = np.abs(value[1:][kept] - value[:-1][kept])
    join = np.floor(np.cumsum(change / (PANEL + value.max() - higher[kept])))
    index = np.flatnonzero(kept)
    starts = np.append(True, (np.diff(index) > 1) | (np.diff(join) > 0))
    return t[index[starts]], t[index[np.append(starts[1:], True)] + 1]


@dataclass(frozen=True, repr=False, eq=False)
class Density(Distribution):
    """A density as a polynomial of t on each panel. Of two parameters it is the second's, line by line."""

    axis: Axis
    low: Array  # of t, (panels,)
    half: Array  # of a panel's width
    value: Array  # dP/dt, (panels, nodes)
    mass: Array  # P of each node, (panels, nodes)
    before: Array  # P of the panels before each
    rising: Array  # the Legendre series of P from a panel's low end on, (coefficients, panels)
    theta: Array  # (panels, nodes)
    given: Array  # the first parameter, where there are two: (0 or 1, panels)

    @classmethod
    def of(cls, axis: Axis, rows: Array, log_total: ArrayLike, *given: Array) -> Density:
        low, high = rows[:, :2].T
        half, value = (high - low) / 2, np.exp(rows[:, 2:] - np.reshape(log_total, (-1, 1)))
        mass = value * SHARES * half[:, None]
        mass = mass / mass.sum()
        rising = legint(value @ SERIES, lbnd=-1, axis=1).T * half
        fixed = np.reshape(given, (len(given), len(rows)))
        theta = axis.theta(at_nodes(low, high))
        return cls(axis, low, half, value, mass, np.append(0, np.cumsum(mass.sum(-1))), rising, theta, fixed)

    def place(self, x: ArrayLike) -> tuple[Array, NDArray[np.intp], Array]:
        """t, the panel that it lies in or after, and where: from -1 to 1."""
        t = self.axis.t(x)
        panel = np.maximum(np.searchsorted(self.low, t, side="right") - 1, 0)
        return t, panel, (t - self.low[panel]) / self.half[panel] - 1

    def log_prob(self, x: ArrayLike) -> Real:
        t, panel, u = self.place(x)
        value = legval(np.clip(u, -1, 1), (self.value @ SERIES).T[:, panel], tensor=False)
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
        """Whether the outermost stretch that floats reach still counts in the mean of |θ|ᵖ."""
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
    """An integral: its log, the first parameter's density, and the last one's on each line."""

    log_total: float
    first: Density
    joint: Density


def hopeless(log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...]) -> float:
    """Far below what the grid already shows of two parameters: there, rounding alone may look like peaks."""
    points = np.meshgrid(*(axis.theta(grid) for axis, grid in zip(axes, grids, strict=True)))
    return float(np.max(log_density(*(part.ravel() for part in points)))) - 4 * NEGLIGIBLE


def integrate(log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...]) -> Mesh:
    """∫ p dθ, or ∫ (∫ p dθ₂) dθ₁"""
    first, last = axes[0], axes[-1]
    if len(axes) == 1:
        total, rows = line(last.density(log_density), last, grids[0])
        return Mesh(total, *(2 * [Density.of(last, rows, total)]))
    floor = hopeless(log_density, axes, grids)

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
    with np.errstate(divide="ignore", invalid="ignore"):  # a line may hold nothing
        shift = np.array([part for part, _ in lines]) - np.log(outer.mass.ravel())
    stacked = np.vstack([rows[:0], *(rows for _, rows in lines)])
    return Mesh(total, outer, Density.of(last, stacked, np.repeat(shift, sizes), np.repeat(outer.theta.ravel(), sizes)))


def summit(
    log_density: Function, axes: tuple[Axis, ...], grids: tuple[Array, ...], floor: float
) -> tuple[float, list[float]]:
    """The largest value of a function of one or two parameters, and where."""
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


def called(function: Function, name: str, error: type[CredoError], *arguments: Array) -> Array:
    """A given function on arrays, held to what it promises."""
    shape = np.broadcast_shapes(*(a.shape for a in arguments))
    try:
        with np.errstate(all="ignore"):
            result = np.broadcast_to(np.asarray(function(*arguments), dtype=np.float64), shape)
    except (TypeError, ValueError) as problem:
        given = ", ".join(str(a.shape) for a in arguments)
        raise error(f"{name} must broadcast: of arrays shaped {given} make one of {shape}; but {problem}") from problem
    if not (result < inf).all():
        at = tuple(np.argwhere(~(result < inf))[0])
        where = ", ".join(f"{np.broadcast_to(a, shape)[at]:.6g}" for a in arguments)
        raise error(f"{name}({where}) is {result[at]}: it must be a number, or -inf where something is impossible")
    return result


@lru_cache(maxsize=16)
def normalised(log_prior: Function, axes: tuple[Axis, ...]) -> Mesh:
    """The prior, integrated."""
    sizes = (20_001,) if len(axes) == 1 else (121, 401)  # a prior costs little, and may have narrow peaks
    grids = tuple(axis.grid(size) for axis, size in zip(axes, sizes, strict=True))
    mesh = integrate(lambda *theta: called(log_prior, "log_prior", PriorError, *theta), axes, grids)
    if mesh.log_total == -inf:
        raise PriorError("log_prior is -inf at every parameter that was tried: the prior allows nothing")
    if mesh.first.diverges(0) or mesh.joint.diverges(0):
        raise PriorError(
            "the prior is improper, its integral over the support diverges: bound the support, or let it fall faster"
        )
    return mesh


def observed(xs: Any, weight: Any) -> tuple[Array, Array]:
    """Observations and their weights, those that are missing left out."""
    if isinstance(xs, Mapping):
        if weight is not None:
            raise DataError("counts are weights already: give either {value: count}, or observations and weight")
        xs, weight = list(xs), list(xs.values())
    try:
        values = np.atleast_1d(np.asarray(xs, dtype=np.float64))
        weights = np.broadcast_to(np.asarray(1.0 if weight is None else weight, dtype=np.float64), values.shape)
    except (TypeError, ValueError) as problem:
        raise DataError(f"observations must be numbers, each with one weight; but {problem}") from None
    if values.ndim > 1:
        raise DataError(f"each observation must be one number, in one dimension; but their shape is {values.shape}")
    for name, array, wrong in (
        ("x", values, np.isinf(values)),
        ("weight", weights, ~(weights >= 0) | (weights == inf)),
    ):
        if wrong.any():
            i = int(np.argmax(wrong))
            raise DataError(f"{name}[{i}] is {array[i]}; it must be finite{' and not negative' * (name == 'weight')}")
    kept = ~np.isnan(values) & (weights > 0)
    return values[kept], weights[kept]


@dataclass(frozen=True, eq=False, repr=False)
class Numeric:
    """p(θ | x) ∝ p(θ) Πᵢ p(xᵢ | θ), for any likelihood and prior; the evidence is how often each value was seen.

    >>> def uniform(x, theta):  # x ~ U[0, θ]
    ...     return np.where(x <= theta, -np.log(theta), -np.inf)
    >>> post = Numeric(uniform, lambda theta: 0 * theta, support=(0, 10)).update([2, 4, 7, 8])
    >>> round(float(np.exp(post.log_evidence())), 12)  # ∫ θ⁻⁴/10 dθ from 8 to 10 is (8⁻³ - 10⁻³)/30
    3.1770833e-05
    """

    log_likelihood: Function
    log_prior: Function
    support: Any
    observations: range | tuple[float, float] | None = None
    values: Array = field(default_factory=lambda: np.empty(0))
    weights: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        try:
            fits = np.shape(self.support) in ((2,), (2, 2)) and all(axis.low < axis.high for axis in self.axes)
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise PriorError(f"support must be (low, high), or two such pairs, low below high; but is {self.support!r}")

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(float(low), float(high)) for low, high in np.reshape(self.support, (-1, 2)))

    def update(self, xs: Any, weight: Any = None) -> Numeric:
        """Learn from observations: numbers, or {value: count}. NaN is missing."""
        values, weights = observed(xs, weight)
        distinct, which = np.unique(np.append(self.values, values), return_inverse=True)
        added = np.bincount(which, np.append(self.weights, weights), distinct.size)
        return replace(self, values=distinct, weights=np.asarray(added, dtype=np.float64))

    def forget(self, xs: Any, weight: Any = None) -> Numeric:
        """Unlearn observations; those that were never seen are an error."""
        taken = self._blank.update(xs, weight)
        place = np.searchsorted(self.values, taken.values)
        seen = np.where(np.append(self.values, nan)[place] == taken.values, np.append(self.weights, 0)[place], 0)
        left = seen - taken.weights
        left[np.abs(left) <= 4 * np.spacing(seen)] = 0
        if (left < 0).any():
            i = int(np.argmax(left < 0))
            weight, value = taken.weights[i], taken.values[i]
            raise EvidenceError(f"can't forget {value:g} with weight {weight:g}: its weight is {seen[i]:g}")
        weights = self.weights.copy()
        weights[place] = left
        return replace(self, values=self.values[weights > 0], weights=weights[weights > 0])

    def __add__(self, other: Numeric) -> Numeric:
        if (self.log_likelihood, self.log_prior, self.axes) != (other.log_likelihood, other.log_prior, other.axes):
            raise PriorError("only beliefs with the same log_likelihood, log_prior and support can be added")
        return self.update(other.values, other.weights)

    def discount(self, factor: float) -> Numeric:
        """All evidence times a factor."""
        if not 0 <= factor <= 1:
            raise DataError(f"the factor must lie between 0 and 1, but is {factor!r}")
        return self._blank.update(self.values, self.weights * factor)

    @property
    def _blank(self) -> Numeric:
        return replace(self, values=np.empty(0), weights=np.empty(0))

    @property
    def n(self) -> float:
        """The weight of the observations."""
        return float(self.weights.sum())

    def _log_likelihood(self, *theta: Array) -> Array:
        """Σᵢ wᵢ log p(xᵢ | θ), in blocks that bound the memory."""
        total, rows = np.zeros(theta[0].shape), CELLS // 16
        for start in range(0, self.values.size, rows):
            x, w = self.values[start : start + rows], self.weights[start : start + rows]
            size = CELLS // x.size
            for i in range(0, total.size, size):
                some = [part[i : i + size, None] for part in theta]
                total[i : i + size] += called(self.log_likelihood, "log_likelihood", DataError, x[None], *some) @ w
        return total

    def _log_joint(self, *theta: Array, prior: float = 1.0) -> Array:
        """log p(x | θ) + log p(θ); with the prior's part times 0, the likelihood where the prior allows θ."""
        total = np.array(called(self.log_prior, "log_prior", PriorError, *theta))
        possible = total > -inf
        total[possible] = prior * total[possible] + self._log_likelihood(*(part[possible] for part in theta))
        return total

    @cached_property
    def _prior(self) -> Mesh:
        return normalised(self.log_prior, self.axes)

    @cached_property
    def _grids(self) -> tuple[Array, ...]:
        """Where to look first: all over, at the prior's quantiles, and where the observations suggest."""
        x, guesses, joint, fewer = self.values, np.empty(0), self._prior.joint, len(self.axes) ** 2
        if x.size:
            with np.errstate(all="ignore"):
                moments = [x.mean(), 1 / x.mean(), x.std(), x.var(), (x[0] + x[-1]) / 2]
            guesses = np.append(np.quantile(x, np.linspace(0, 1, 7)), moments)
        grids = []
        for axis, theta in zip(self.axes, [*joint.given[..., None], joint.theta], strict=True):
            theta = np.broadcast_to(theta, joint.theta.shape).ravel()
            order, mass = np.argsort(theta), joint.mass.ravel()
            below = np.cumsum(mass[order]) - mass[order] / 2
            quantiles = np.interp(np.arange(0.5, 128, fewer) / 128, below, theta[order])
            known = np.append(quantiles, guesses[(axis.low < guesses) & (guesses < axis.high)])
            grids.append(np.append(axis.grid(28 + 100 // fewer), axis.t(known)))
        return tuple(grids)

    @cached_property
    def _posterior(self) -> Mesh:
        mesh = integrate(self._log_joint, self.axes, self._grids) if self.values.size else self._prior
        if mesh.log_total == -inf:
            raise EvidenceError(IMPOSSIBLE)
        return mesh

    @cached_property
    def marginals(self) -> tuple[Density, ...]:
        """Each parameter's distribution by itself; the second's is integrated the other way round."""
        if len(self.axes) == 1:
            return (self._posterior.first,)
        turned = integrate(lambda b, a: self._log_joint(a, b), self.axes[::-1], self._grids[::-1])
        return self._posterior.first, turned.first

    def maximum_likelihood(self) -> Any:
        """The parameters under which the observations are most probable, of those that the prior allows."""
        if not self.values.size:
            raise EvidenceError("no observations yet: every parameter fits them equally well")
        return self._largest(partial(self._log_joint, prior=0.0))

    def mode(self) -> Any:
        """The most probable parameters (MAP), jointly."""
        return self._largest(self._log_joint)

    def _largest(self, log_density: Function) -> Any:
        top, theta = summit(log_density, self.axes, self._grids, hopeless(log_density, self.axes, self._grids))
        if top == -inf:
            raise EvidenceError(IMPOSSIBLE)
        if not np.isfinite(theta).all():
            raise EvidenceError(f"there is no largest value: it still grows towards {self._shaped(theta)}")
        return self._shaped(theta)

    def _shaped(self, values: list[Any]) -> Any:
        return values[0] if len(self.axes) == 1 else np.array(values)

    def mean(self) -> Any:
        return self._shaped([self._posterior.first.mean(), self._posterior.joint.mean()])

    def variance(self) -> Any:
        return self._shaped([self._posterior.first.variance(), self._posterior.joint.variance()])

    def interval(self, mass: float = 0.95) -> Any:
        """Equal-tailed, of each parameter by itself."""
        return self._shaped([marginal.interval(mass) for marginal in self.marginals])

    def highest_density(self, mass: float = 0.95) -> Any:
        """The shortest interval, of each parameter by itself."""
        return self._shaped([marginal.highest_density(mass) for marginal in self.marginals])

    def log_evidence(self) -> float:
        """log ∫ p(x | θ) p(θ) dθ, the prior normalised."""
        return self._posterior.log_total - self._prior.log_total

    def log_prob(self, theta: ArrayLike) -> Real:
        """log p(θ | x); of two parameters, θ is a pair or an array of pairs. (..., 2)"""
        array = np.asarray(theta, dtype=np.float64)
        parts = [array] if len(self.axes) == 1 else [array[..., 0], array[..., 1]]
        pairs = list(zip(self.axes, parts, strict=True))
        inside = np.all([(axis.low <= part) & (part <= axis.high) for axis, part in pairs], axis=0)
        log = np.full(inside.shape, -inf)
        log[inside] = self._log_joint(*(axis.inside(part[inside]) for axis, part in pairs)) - self._posterior.log_total
        return plain(log)

    def sample(self, size: int, seed: Seed = 0) -> Array:
        """Draws of the parameters: (size,), or (size, 2)."""
        generator, (_, outer, joint) = np.random.default_rng(seed), self._posterior
        first = outer.sample(size, generator)
        if len(self.axes) == 1:
            return first
        t, at, share = outer.axis.t(outer.theta.ravel()), outer.axis.t(first), outer.mass.ravel()
        after = np.clip(np.searchsorted(t, at), 1, t.size - 1)
        # Of the two lines around a draw, the nearer one is chosen more often.
        which = after - (generator.random(size) * (t[after] - t[after - 1]) > at - t[after - 1])
        second = joint.quantile(np.cumsum(share)[which] - share[which] * generator.random(size))
        return np.column_stack([first, second])

    def marginal(self) -> Density:
        """The distribution of the parameter that beliefs are compared by: the only one, or the first."""
        return self._posterior.first

    def probability_greater(self, other: Any) -> Any:
        """P(this parameter > the other's), the two being independent; of two parameters, for each."""
        from credo.comparison import probability_greater

        if len(self.axes) == 2 and isinstance(other, Numeric) and len(other.axes) == 2:
            return np.array([probability_greater(a, b) for a, b in zip(self.marginals, other.marginals, strict=True)])
        return probability_greater(self.marginal(), other.marginal())

    def predictive(self) -> Predictive:
        """The distribution of the next observation."""
        return Predictive(self)

    def __repr__(self) -> str:
        spans = " x ".join(f"[{axis.low:g}, {axis.high:g}]" for axis in self.axes)
        parts = [f"{len(self.axes)} parameter{'s' * (len(self.axes) - 1)} on {spans}", f"{self.n:g} observations"]
        try:
            for mean, (low, high) in zip(np.atleast_1d(self.mean()), np.reshape(self.interval(), (-1, 2)), strict=True):
                digits = 3 + max(0, int(np.log10(max(abs(low), abs(high)) / (high - low))))
                parts.append(f"mean {mean:.{digits}g}, 95% interval [{low:.{digits}g}, {high:.{digits}g}]")
        except CredoError as problem:
            parts.append(str(problem))
        return f"Numeric({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(repr(self))}</code>"

    def plot(self) -> Figure:
        """Prior, likelihood (scaled) and posterior of each parameter, and the predictive."""
        from matplotlib.figure import Figure

        from credo.report import NEXT, draw_parameter

        figure = Figure(figsize=(4.4 * len(self.axes) + 4.4, 3.6), layout="constrained")
        *panes, last = figure.subplots(1, len(self.axes) + 1)
        for i, (pane, posterior, prior) in enumerate(zip(panes, self.marginals, self._blank.marginals, strict=True)):
            draw_parameter(pane, f"parameter {i + 1}" if len(panes) > 1 else "parameter", posterior, prior)
        law = self.predictive().law
        low, high = law.interval(0.998)
        if isinstance(law, Categorical):
            whole = np.arange(float(low), float(high) + 1)
            last.bar(whole, [law[int(x)] for x in whole], color=NEXT)
        else:
            x = np.linspace(float(low), float(high), 400)
            last.plot(x, np.exp(law.log_prob(x)), color=NEXT)
        last.set(xlabel="next observation", ylabel="predictive", yticks=[], ylim=(0, None))
        return figure


@dataclass(frozen=True, eq=False, repr=False)
class Predictive:
    """p(x | data) = ∫ p(x | θ) p(θ | data) dθ"""

    belief: Numeric

    def log_prob(self, x: ArrayLike) -> Real:
        """log p(x | data), of one value or of each in an array.

        >>> def uniform(x, theta):
        ...     return np.where(x <= theta, -np.log(theta), -np.inf)
        >>> post = Numeric(uniform, lambda theta: 0 * theta, support=(0, 10)).update([2, 4, 7, 8])
        >>> np.exp(post.predictive().log_prob([5, 9, 11])).round(6)  # (8⁻⁴ - 10⁻⁴)/4 by (8⁻³ - 10⁻³)/3, and so on
        array([0.113422, 0.041245, 0.      ])
        """
        array = np.asarray(x, dtype=np.float64)
        p, most = self._mixed(array.ravel())
        with np.errstate(divide="ignore"):
            log = np.log(p)
        for i in np.flatnonzero(p <= 1e-6 * most):  # the nodes say little of what surprises: p(x, data)/p(data)
            try:
                log[i] = self.belief.update(array.flat[i])._posterior.log_total - self.belief._posterior.log_total
            except EvidenceError:
                log[i] = -inf
        return plain(log.reshape(array.shape))

    def mean(self) -> float:
        return self.law.mean()

    def variance(self) -> float:
        return self.law.variance()

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        low, high = self.law.interval(mass)
        return float(low), float(high)

    def sample(self, size: int, seed: Seed = 0) -> Array:
        return np.asarray(self.law.sample(size, seed), dtype=np.float64)

    @property
    def support(self) -> Any:
        """The values that x can take: a range, or (low, high)."""
        return self.law.values_ if isinstance(self.law, Categorical) else (self.law.axis.low, self.law.axis.high)

    @cached_property
    def law(self) -> Categorical | Density:
        """The whole distribution: the first guess at what x can be whose probabilities sum, or integrate, to 1."""
        for guess in self._guesses():
            with suppress(DataError):  # of the likelihood, at values that it isn't meant for
                law = guess()
                if law is not None:
                    return law
        raise EvidenceError(
            "can't tell which values an observation can take, or p(x | θ) isn't normalised: "
            "say Numeric(..., observations=range(0, 2)), or observations=(0, 10)"
        )

    def _guesses(self) -> Iterator[Callable[[], Categorical | Density | None]]:
        """Whole numbers as far as there is mass, if all the observations are whole; the line, or a part of it."""
        x, given = self.belief.values if self.belief.values.size else np.array([0.0, 1.0]), self.belief.observations
        if given is not None:
            yield partial(self._counted, given) if isinstance(given, range) else partial(self._continuous, *given)
            return
        if (x == np.rint(x)).all():
            first, last = int(x[0]), int(x[-1])
            for floor in (first, *(f for f in (1, 0) if f < first)):
                yield partial(self._counted, range(self._reach(first, floor), last + 1), 1 << 20)
        for low, high in [(-inf, inf), (0.0, inf), (0.0, 1.0)][: 1 + (x[0] >= 0) + (x[0] >= 0 and x[-1] <= 1)]:
            yield partial(self._continuous, low, high)

    def _reach(self, first: int, floor: int) -> int:
        """How far below the first observation there is mass."""
        step = 1
        while first - step > floor and self._mixed(np.array([float(first - step)]))[0][0] > 1e-20:
            step *= 2
        return max(first - step, floor)

    def _counted(self, values: range, most: int = 0) -> Categorical | None:
        """Masses that sum to 1, on at most that many whole numbers: twice as many, until nothing comes of it."""
        p, before = self._mixed(np.array(values, dtype=np.float64))[0], inf
        while len(values) < most and (missing := 1 - p.sum()) > (1e-9 if before == inf else 1e-13):
            values = range(values.start, values.stop + max(8, len(values)))
            new = self._mixed(np.array(values[p.size :], dtype=np.float64))[0]
            p = np.append(p, new)
            if new.sum() < min(before, missing / 10):
                break
            before = new.sum()
        return Categorical(values, p / p.sum()) if abs(p.sum() - 1) < 1e-6 else None

    def _continuous(self, low: float, high: float) -> Density | None:
        def log_density(x: Array) -> Array:
            with np.errstate(divide="ignore"):
                return np.log(self._mixed(x)[0])

        axis, x = Axis(low, high), self.belief.values
        grid = np.append(axis.grid(53), axis.t(np.quantile(x, np.linspace(0, 1, 9)) if x.size else []))
        # Where p(x | θ) jumps and there are two parameters, p(x) steps from node to node: no use in following it all.
        most = 400 if len(self.belief.axes) == 1 else 60
        total, rows = line(axis.density(log_density), axis, grid, most=most)
        return Density.of(axis, rows, total) if abs(total) < 1e-4 else None

    def _mixed(self, x: Array) -> tuple[Array, Array]:
        """p(x | data), and the largest p(x | θ) at a node; in blocks that bound the memory."""
        size = max(1, CELLS // self.belief._posterior.joint.value.size)
        parts = [self._mixed_few(x[i : i + size]) for i in range(0, x.size, size)]
        return np.hstack([p for p, _ in parts]), np.hstack([most for _, most in parts])

    def _mixed_few(self, x: Array) -> tuple[Array, Array]:
        """Of one parameter, panels are halved where p(x | θ) jumps; of two, a jump makes the largest infinite."""
        joint, rounds = self.belief._posterior.joint, 50 if len(self.belief.axes) == 1 else 1
        row, panel = (index.ravel() for index in np.indices((x.size, joint.low.size)))
        low, high, series = -np.ones(row.size), np.ones(row.size), (joint.value @ SERIES).T
        total, most, settled = np.zeros((3, x.size))
        for depth in range(rounds):
            u, half, given = at_nodes(low, high), joint.half[panel, None], [part[panel, None] for part in joint.given]
            theta = joint.axis.theta(joint.low[panel, None] + half * (1 + u))
            log = called(self.belief.log_likelihood, "log_likelihood", DataError, x[row, None], *given, theta)
            density = legval(u, series[:, panel, None], tensor=False) if depth else joint.value[panel]
            with np.errstate(over="ignore", invalid="ignore"):
                value = np.exp(log) * density * half * (high - low)[:, None] / 2
            if not np.isfinite(value).all():
                raise DataError(f"p(x | θ) is too large for a float at x = {x[row][~np.isfinite(value).all(-1)][0]:g}")
            mass = value @ SHARES
            if depth == 0:
                total, log = mass.reshape(x.size, -1).sum(1), log.reshape(x.size, -1)
                most = np.where((rounds == 1) & np.isneginf(log).any(1), inf, np.exp(np.minimum(log.max(1), 700)))
            halve = np.abs(value @ SERIES[:, -2:]).sum(-1) > (1e-10 * np.maximum(total, 0) + 1e-16 * most)[row]
            halve &= depth < rounds - 1
            settled += np.bincount(row[~halve], mass[~halve], x.size)
            if not halve.any():
                break
            row, panel, middle = np.tile(row[halve], 2), np.tile(panel[halve], 2), (low + high)[halve] / 2
            low, high = np.append(low[halve], middle), np.append(middle, high[halve])
        return np.maximum(settled, 0), most
