"""The most probable coefficients of a softmax regression under a Gaussian prior: by Newton's method, by L-BFGS, or by
steps along the gradient. Rows are seen through sums alone, so they may be anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array
from credo.numerics.softmax import Derivatives, FeatureRows, LikelihoodSums, SumLikelihood, TimesCurvature, feature_rows

Sums = Callable[[Array, Derivatives], LikelihoodSums]  # of all rows, given coefficients
Product = Callable[[Array], Array]  # minus a second derivative, times a direction
ProductAt = Callable[[Array], Product]  # that of the log-likelihood at coefficients

WIDEST = 2_000  # coefficients whose covariances are kept; of more, Newton's method would take too long as well
STEPS = 200  # of Newton's method, at most
ENOUGH = 1e-14  # nats, relative to the log-posterior, that a further step would gain: it isn't worth taking
CHORD = 1e-2  # nats, relative to the log-posterior: after a step that gains less, the curvature may stay as it is
FAIR = 0.1  # of what a step promises by its slope
SHORTEST = 1e-10  # of a step that is halved until the log-posterior doesn't fall
MEMORY = 10  # steps that L-BFGS remembers
NEARLY = 0.1  # of the gradient that is left when a step by conjugate gradients is good enough
MOST_STEPS = 1000  # of L-BFGS


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """θ ~ N(mean, precision⁻¹). Coefficients of precision 0 are free: their prior is flat."""

    mean: Array  # (1 + features, columns)
    precision: Array  # the same shape if coefficients are independent, else (coefficients, coefficients)

    @property
    def independent(self) -> bool:
        return self.precision.shape == self.mean.shape

    def times_precision(self, theta: Array) -> Array:
        if self.independent:
            return np.asarray(self.precision * theta)
        return np.asarray((self.precision @ theta.ravel()).reshape(theta.shape))

    def value(self, theta: Array) -> float:
        """-½ (θ - mean)′ precision (θ - mean)"""
        away = theta - self.mean
        return -0.5 * float((away * self.times_precision(away)).sum())

    def gradient(self, theta: Array) -> Array:
        return -self.times_precision(theta - self.mean)

    @property
    def diagonal(self) -> Array:
        return self.precision if self.independent else np.diag(self.precision).reshape(self.mean.shape)

    def added_to(self, curvature: Array) -> Array:
        """Minus the second derivative of the log-posterior, from that of the log-likelihood."""
        if not self.independent:
            return np.asarray(curvature + self.precision)
        found = curvature.copy()
        found[np.diag_indices_from(found)] += self.precision.ravel()
        return found


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable coefficients, and how they were found."""

    coefficients: Array
    log_likelihood: float
    curvature: Array | None  # of the log-likelihood there, minus its second derivative, where Newton's method knows it
    history: tuple[float, ...]  # the log-posterior, up to the prior's normaliser, after each step
    converged: bool = True


def settled(curvature: Array, columns: int) -> Array:
    """A curvature in which the intercepts of all classes can't move together: that direction changes nothing.

    (1, ..., 1) is an eigenvector; what is added is its eigenvalue divided by the number of classes.
    """
    if columns > 1:
        curvature = curvature.copy()
        curvature[:columns, :columns] += gauge(curvature, columns)
    return curvature


def gauge(curvature: Array, columns: int) -> float:
    return max(float(np.trace(curvature[:columns, :columns])) / columns, 1e-300)


def solved(curvature: Array, values: Array) -> Array:
    """curvature⁻¹ values, scaled so that features of any size do; the least solution where it is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
    by_row = size.reshape(-1, *[1] * (values.ndim - 1))
    scaled = curvature / size[:, None] / size
    try:
        found = cho_solve(cho_factor(scaled), values / by_row)
    except LinAlgError:
        found = np.linalg.lstsq(scaled, values / by_row, rcond=1e-12)[0]
    return np.asarray(found / by_row)


def newton_mode(
    sums: Sums, prior: WeightPrior, start: Array, enough: float = ENOUGH, roughly: Array | None = None
) -> Mode:
    """θ ← θ + H⁻¹ ∇, a step being halved until the log-posterior doesn't fall.

    Near the mode the curvature of an earlier step does while gains fall fast, bent by how the gradient changes; that of
    the mode is computed at the end. `roughly`: what is known of it at the start.
    """
    theta, history, known, last = start, list[float](), roughly, np.inf
    found = sums(theta, "curvature" if known is None else "gradient")
    best = found.value + prior.value(theta)
    for _ in range(STEPS):
        known = known if found.curvature is None else found.curvature
        assert known is not None
        slope = found.gradient + prior.gradient(theta)
        step = solved(settled(prior.added_to(known), theta.shape[1]), slope.ravel()).reshape(theta.shape)
        gain, scale = 0.5 * float((step * slope).sum()), max(1.0, abs(best))
        if not gain >= 0 and found.curvature is None:  # what was known of the curvature is far from true
            found, known = sums(theta, "curvature"), None
            continue
        history.append(best)
        shrinks = min(1.0, gain / last) if roughly is not None and last < np.inf else 1.0  # gains, at each step
        done = gain * shrinks <= enough * scale
        fast = gain <= CHORD * scale and gain <= last / 10
        moved, tried = _moved(sums, prior, theta, step, best, gain, "gradient" if fast and not done else "curvature")
        if tried is None:  # rounding is all that is left
            break
        if tried.curvature is None:
            known = _bent(known, (moved - theta).ravel(), (found.gradient - tried.gradient).ravel())
        theta, found, last = moved, tried, gain
        best = found.value + prior.value(theta)
        if done:
            return Mode(theta, found.value, found.curvature, (*history, best))
    found = found if found.curvature is not None else sums(theta, "curvature")
    return Mode(theta, found.value, found.curvature, tuple(history), converged=len(history) < STEPS)


def _bent(curvature: Array, step: Array, change: Array) -> Array:
    """A curvature that explains how the gradient changed along a step, and else is as it was (BFGS)."""
    along, before = float(step @ change), curvature @ step
    straight = float(step @ before)
    if not (along > 0 and straight > 0):  # rounding
        return curvature
    return np.asarray(curvature + np.outer(change, change / along) - np.outer(before, before / straight))


def _moved(
    sums: Sums, prior: WeightPrior, theta: Array, step: Array, best: float, gain: float, derivatives: Derivatives
) -> tuple[Array, LikelihoodSums | None]:
    """A step, halved until the log-posterior rises by a fair part of what the gradient promises; no sums where it never
    does."""
    size = 1.0
    while size > SHORTEST:
        moved = theta + size * step
        tried = sums(moved, derivatives)
        if tried.value + prior.value(moved) >= best + FAIR * 2 * gain * size - 1e-12 * abs(best):
            return moved, tried
        size /= 2
    return theta, None


def lbfgs_mode(sums: Sums, prior: WeightPrior, start: Array, enough: float = ENOUGH) -> Mode:
    """By L-BFGS, coefficients being scaled by the diagonal of the curvature at the start."""
    from scipy.optimize import minimize

    begun = sums(start, "diagonal").curvature
    assert begun is not None
    scale = 1 / np.sqrt(np.maximum(begun + prior.diagonal, np.finfo(float).tiny))
    history, latest = list[float](), [0.0]

    def objective(scaled: Array) -> tuple[float, Array]:
        theta = scaled.reshape(start.shape) * scale
        found = sums(theta, "gradient")
        latest[0] = found.value + prior.value(theta)
        return -latest[0], -((found.gradient + prior.gradient(theta)) * scale).ravel()

    options = {"maxcor": MEMORY, "maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "ftol": enough, "gtol": 0.0}
    found = minimize(
        objective, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options,
        callback=lambda _: history.append(latest[0]),
    )  # fmt: skip
    theta = found.x.reshape(start.shape) * scale
    if theta.shape[1] > 1 and not prior.diagonal[0].any():
        theta[0] -= theta[0].mean()  # what all classes share changes nothing
    likelihood = -float(found.fun) - prior.value(theta)
    return Mode(theta, likelihood, None, tuple(history), converged=found.status != 1)


def conjugate_mode(sums: Sums, product_at: ProductAt, prior: WeightPrior, start: Array, enough: float = ENOUGH) -> Mode:
    """By Newton's method, each step found by conjugate gradients: for more coefficients than can have a curvature.

    A step is solved up to a tenth of the gradient: the next one takes care of the rest.
    """
    theta, history = start, list[float]()
    found = sums(theta, "diagonal")
    best = found.value + prior.value(theta)
    for _ in range(STEPS):
        slope = found.gradient + prior.gradient(theta)
        assert found.curvature is not None
        diagonal = found.curvature + prior.diagonal
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())  # where classes are certain, intercepts have none
        pinned = float(diagonal[0].mean()) if theta.shape[1] > 1 else 0.0
        step = _conjugate(partial(_times_precision, product_at(theta), prior, pinned), slope, diagonal)
        gain, scale = 0.5 * float((step * slope).sum()), max(1.0, abs(best))
        history.append(best)
        moved, tried = _moved(sums, prior, theta, step, best, gain, "diagonal")
        if tried is None:
            return Mode(theta, found.value, None, tuple(history))
        theta, found = moved, tried
        best = found.value + prior.value(theta)
        if gain <= enough * scale:
            return Mode(theta, found.value, None, (*history, best))
    return Mode(theta, found.value, None, tuple(history), converged=False)


def _times_precision(product: Product, prior: WeightPrior, pinned: float, direction: Array) -> Array:
    """Minus the second derivative of the log-posterior, times a direction; all intercepts together are pinned, since
    they change nothing (see `settled`)."""
    found = product(direction) + prior.times_precision(direction)
    found[0] += pinned * direction[0].sum()
    return np.asarray(found)


def _conjugate(times: Product, slope: Array, diagonal: Array) -> Array:
    """An approximate solution of curvature · step = slope, by conjugate gradients that are scaled by the diagonal."""
    step, residual = np.zeros_like(slope), slope
    scaled = residual / diagonal
    direction, size = scaled, float((residual * scaled).sum())
    goal = NEARLY**2 * size
    for _ in range(MOST_STEPS):
        if not size > goal:
            break
        product = times(direction)
        bend = float((direction * product).sum())
        if not bend > 0:  # rounding, at the mode itself
            break
        length = size / bend
        step = step + length * direction
        residual = residual - length * product
        scaled = residual / diagonal
        before, size = size, float((residual * scaled).sum())
        direction = scaled + (size / before) * direction
    return step


def gradient_mode(
    sums: Sums, prior: WeightPrior, start: Array, rate: Array, steps: int, enough: float = ENOUGH
) -> Mode:
    """w ← w + η Σ (d - h(z)) z, and what the prior adds to it, until a step gains next to nothing."""
    theta, history = start, list[float]()
    found = sums(theta, "gradient")
    history.append(found.value + prior.value(theta))
    for _ in range(steps):
        theta = theta + rate * (found.gradient + prior.gradient(theta))
        found = sums(theta, "gradient")
        history.append(found.value + prior.value(theta))
        if 0 <= history[-1] - history[-2] <= enough * max(1.0, abs(history[-1])):
            return Mode(theta, found.value, None, tuple(history))
    return Mode(theta, found.value, None, tuple(history), converged=False)


def fit_logistic(
    features: object, codes: NDArray[np.integer], classes: int, *, strength: float | Array = 1.0,
    weight: Array | None = None, start: Array | None = None, enough: float = ENOUGH,
) -> Array:  # fmt: skip
    """The most probable coefficients of rows in memory, dense or sparse (CSR). (1 + features, columns)

    The weights' prior is N(0, 1/strength), one strength for all or one for each feature; the intercepts' is flat. Fits
    of nearly the same rows start from each other's coefficients; rows of weight 0 are left out.

    >>> x, codes = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> fit_logistic(x, codes, 2).round(3).tolist()
    [[-0.679], [0.453]]
    """
    rows = feature_rows(features, codes, weight)
    columns = 1 if classes == 2 else classes
    precision = np.zeros((1 + rows.width, columns))
    precision[1:] = np.broadcast_to(strength, rows.width)[:, None]
    prior = WeightPrior(np.zeros_like(precision), precision)
    start = np.zeros_like(precision) if start is None else start
    if precision.size <= WIDEST:
        return newton_mode(lambda theta, how: SumLikelihood(theta, how)(rows), prior, start, enough).coefficients
    found = conjugate_mode(
        lambda theta, how: SumLikelihood(theta, how)(rows), partial(_product_at, rows), prior, start, enough
    )
    return found.coefficients


def _product_at(rows: FeatureRows, theta: Array) -> Product:
    known = rows.with_shares(theta)
    return lambda direction: TimesCurvature(theta, direction)(known)
