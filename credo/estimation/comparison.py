"""Comparing beliefs: P(A > B), the interval of A - B, and Bayes factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, EvidenceError
from credo.numerics.distributions import Beta, Distribution, Normal, checked_mass
from credo.numerics.exact import Array
from credo.numerics.log_distributions import Feature, Unbounded, unbounded

PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)  # of Gauss-Legendre quadrature on each panel
INTEGRAL_PRECISION = 1e-12  # of an integral: panels that change it by more are halved
PANEL_PRECISION = 1e-9  # of a panel: special functions are no better
MOST_PANELS = 4096  # halved at once
HALVINGS = 40  # of panels
MOST_SUMMED = 1000  # the largest integer parameters of Betas compared by a sum
QUANTILE_POINTS = 1500  # of the trapezoidal rule, which is very accurate for smooth integrands that vanish at both ends


def probability_greater(a: Distribution, b: Distribution) -> float:
    """P(A > B) = ∫ P(B < x) p(x) dx, p being A's density, with both transformed to the real line.

    >>> from credo.numerics.distributions import Beta, Normal
    >>> round(probability_greater(Normal(1.0, 3.0), Normal(0.0, 4.0)), 6)  # Φ(1/5)
    0.57926
    >>> round(probability_greater(Beta(1, 0.01), Beta(1, 0.01)), 12)
    0.5
    """
    if _is_certain(a) and _is_certain(b):
        return float(float(a.mean()) > float(b.mean()))
    if _is_certain(a):
        return float(b.cdf(float(a.mean())))
    if _is_certain(b):
        return 1 - float(a.cdf(float(b.mean())))
    if isinstance(a, Beta) and isinstance(b, Beta) and (found := _summed(a, b)) is not None:
        return found
    pair = unbounded(a, b)
    if pair is not None:
        return _integrated(*pair)
    pair = unbounded(b, a)
    return 1 - _integrated(*pair) if pair is not None else _by_quantiles(a, b)


def _is_certain(law: Distribution) -> bool:
    return bool((isinstance(law, Beta) and law.b == 0) or (isinstance(law, Normal) and law.sd == 0))


def _summed(a: Beta, b: Beta) -> float | None:
    """P(A > B) for Betas with integer parameters: Σ tᵢ over i < a, t₀ = Π (d + j)/(b + d + j) over j < c and
    tᵢ₊₁ = tᵢ (b + i)(c + i)/((i + 1)(b + c + d + i)), for A with a and b, and B with c and d (Miller 2015: tᵢ =
    B(c + i, b + d)/((b + i) B(1 + i, b) B(c, d))). None for other distributions: they need SciPy, which is slow to
    import."""
    whole = np.array([a.a, a.b, b.a, b.b], dtype=np.float64)
    if not ((whole >= 1) & (whole <= MOST_SUMMED) & (whole == np.floor(whole))).all():
        return None
    own, against, other, others = whole
    i, j = np.arange(own - 1), np.arange(other)
    first = np.log((others + j) / (against + others + j)).sum()
    steps = np.log((against + i) * (other + i) / ((i + 1) * (against + other + others + i)))
    return float(min(np.exp(first + np.append(0.0, np.cumsum(steps))).sum(), 1.0))


def _integrated(a: Unbounded, b: Unbounded) -> float:
    """∫ p_A P(B < t) dt, divided by the sum of itself and ∫ p_A P(B > t) dt: common errors cancel."""

    def at(t: Array) -> Array:
        density = a.log_density(t)
        return np.stack([density + tail for tail in b.log_tails(t)])

    features = (*a.features, *b.features)
    peaks, found = _peaks(at, _edges(a.reach, features))
    edges = _edges(a.reach, (*features, *found))
    if not np.isfinite(peaks).all():  # one of the two underflows
        return float(peaks[0] > peaks[1])
    below, above = _integrals(lambda t: np.exp(at(t) - peaks[:, None]), edges)
    with np.errstate(over="ignore"):
        return float(1 / (1 + above / below * np.exp(peaks[1] - peaks[0])))


def _edges(reach: tuple[float, float], features: Sequence[Feature]) -> Array:
    """The ends of panels: narrow near the peaks, each twice as wide further away."""
    low, high = reach
    found = [np.array([low, high])]
    for place, width in features:
        steps = width * 2.0 ** np.arange(np.ceil(np.log2(max((high - low) / width, 1.0))) + 1)
        found += [place - steps, np.array([place]), place + steps]
    return np.unique(np.clip(np.concatenate(found), low, high))


def _peaks(log_f: Callable[[Array], Array], edges: Array) -> tuple[Array, list[Feature]]:
    """The maxima of several functions, and their positions."""
    t = np.sort(np.append(_nodes(edges[:-1], edges[1:]).ravel(), edges))
    values = log_f(t)
    peaks, features = [], list[Feature]()
    for own, best in enumerate(values.argmax(1)):
        low, high, peak = t[max(best - 1, 0)], t[min(best + 1, len(t) - 1)], values[own, best]
        for _ in range(HALVINGS):
            near = np.linspace(low, high, 9)
            found = log_f(near)[own]
            best = int(found.argmax())
            peak, around = max(peak, found[best]), found[max(best - 1, 0) : best + 2]
            low, high = near[max(best - 1, 0)], near[min(best + 1, 8)]
            if around.min() >= peak - 1:
                break
        peaks.append(peak)
        features.append(((low + high) / 2, max(high - low, np.spacing(max(abs(low), abs(high))))))
    return np.array(peaks), features


def _nodes(low: Array, high: Array) -> Array:
    return low[:, None] + (high - low)[:, None] * (1 + PANEL_NODES) / 2  # (panels, nodes)


def _integrals(f: Callable[[Array], Array], edges: Array) -> Array:
    """∫ of several functions, f(t) being (functions, points): panels are halved until the integrals don't change."""

    def panels(low: Array, high: Array) -> Array:
        nodes = _nodes(low, high)
        return np.asarray(f(nodes.ravel()).reshape(-1, *nodes.shape) @ PANEL_WEIGHTS * (high - low) / 2)

    low, high = edges[:-1], edges[1:]
    coarse = panels(low, high)
    whole: Array = coarse.sum(1)
    done: Array = np.zeros(len(coarse))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        left, right = panels(low, middle), panels(middle, high)
        change = np.abs(left + right - coarse)
        whole = done + (left + right).sum(1)
        open_ = ((change > INTEGRAL_PRECISION * whole[:, None]) & (change > PANEL_PRECISION * (left + right))).any(0)
        done = done + (left + right)[:, ~open_].sum(1)
        if not open_.any() or open_.sum() > MOST_PANELS:
            break
        low, high = np.concatenate([low[open_], middle[open_]]), np.concatenate([middle[open_], high[open_]])
        coarse = np.concatenate([left[:, open_], right[:, open_]], axis=1)
    return whole


def _by_quantiles(a: Distribution, b: Distribution) -> float:
    """∫ F_B(Q_A(Φ(z))) φ(z) dz, where A is the narrower of the two."""
    from scipy.special import ndtr

    if _spread(a) > _spread(b):
        return 1 - _by_quantiles(b, a)
    z = np.linspace(-9, 9, QUANTILE_POINTS)
    weight = np.exp(-(z**2) / 2)
    below = np.asarray(b.cdf(a.quantile(ndtr(z))))
    return float(below @ weight / weight.sum())


def difference_interval(a: Distribution, b: Distribution, mass: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of A - B, for independent A and B: P(A - B < d) = ∫ F_A(Q_B(Φ(z)) + d) φ(z) dz, where B
    is the narrower of the two.

    >>> from credo.numerics.distributions import Normal
    >>> low, high = difference_interval(Normal(1.0, 3.0), Normal(0.0, 4.0))  # 1 ± 1.96 · 5
    >>> round(low, 4), round(high, 4)
    (-8.7998, 10.7998)
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if _spread(b) > _spread(a):
        low, high = difference_interval(b, a, mass)
        return -high, -low
    tail = (1 - checked_mass(mass)) / 2
    z = np.linspace(-9, 9, QUANTILE_POINTS)
    weight = np.exp(-(z**2) / 2)
    places = np.asarray(b.quantile(ndtr(z)))
    outer = np.array([tail / 4, 1 - tail / 4])
    lowest, highest = (np.asarray(a.quantile(outer)) - np.asarray(b.quantile(outer[::-1]))).tolist()
    if lowest == highest:  # both are point masses
        return lowest, highest

    def above(d: float, share: float) -> float:
        return float(np.asarray(a.cdf(places + d)) @ weight / weight.sum()) - share

    low, high = (float(brentq(above, lowest, highest, args=(share,))) for share in (tail, 1 - tail))
    return low, high


def _spread(distribution: Distribution) -> float:
    low, high = distribution.interval(0.5)
    return float(high) - float(low)


def bayes_factor(a: Any, b: Any) -> float:
    """p(observations | a) / p(observations | b), of two beliefs with the same observations; above 1 it favours a.

    >>> from credo import BetaBernoulli
    >>> flips = {1: 2, 0: 0}
    >>> round(bayes_factor(BetaBernoulli(1, 1).update(flips), BetaBernoulli(2, 2).update(flips)), 6)  # (1/3)/(3/10)
    1.111111
    """
    for each in (a, b):
        if not hasattr(each, "log_evidence"):
            raise DataError(f"a Bayes factor compares two beliefs or models, but one is {each!r:.60}")
    if a.n != b.n:
        raise EvidenceError(
            f"a Bayes factor compares beliefs about the same observations, but {a.n:g} and {b.n:g} were seen"
        )
    with np.errstate(over="ignore"):
        return float(np.exp(a.log_evidence() - b.log_evidence()))
