"""The most probable coefficients of a softmax regression under a Gaussian prior: by Newton's method, L-BFGS, conjugate
gradients or gradient ascent. Only sums over rows are needed, so rows may be anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.engines.local import small_matrices
from credo.numerics.exact import Array
from credo.numerics.softmax import Derivatives, FeatureRows, LikelihoodSums, SumLikelihood, TimesCurvature, feature_rows

Sums = Callable[[Array, Derivatives], LikelihoodSums]  # over all rows, given coefficients
Product = Callable[[Array], Array]  # minus the second derivative, times a direction
ProductAt = Callable[[Array], Product]  # the product for the log-likelihood at some coefficients

WIDEST = 2_000  # coefficients with a covariance matrix, at most: Newton's method takes too long for more, too
NEWTON_STEPS = 200  # at most
MODE_TOLERANCE = 1e-14  # the gain of a step, relative to the log-posterior, at which a fit ends
CHORD_GAIN = 1e-2  # relative to the log-posterior: after a step that gains less, the curvature may be reused
EXPECTED_SHARE = 0.1  # of the gain expected from the gradient, which a step must achieve
SHORTEST_HALVING = 1e-10  # of a step: a shorter one ends the line search
LBFGS_MEMORY = 10  # pairs of differences that L-BFGS keeps
LBFGS_GAIN = 0.01  # of the tolerance, at which L-BFGS ends: along a valley, steps far from the mode gain little, too
CONJUGATE_RESIDUAL = 0.1  # of the gradient, at which conjugate gradients stop
LBFGS_STEPS = 1000  # at most


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """θ ~ N(mean, precision⁻¹). Coefficients of precision 0 have a flat prior."""

    mean: Array  # (1 + features, columns)
    precision: Array  # the same shape for independent coefficients, otherwise (coefficients, coefficients)

    @property
    def independent(self) -> bool:
        return self.precision.shape == self.mean.shape

    def times_precision(self, theta: Array) -> Array:
        if self.independent:
            return np.asarray(self.precision * theta)
        return np.asarray((self.precision @ theta.ravel()).reshape(theta.shape))

    def value(self, theta: Array) -> float:
        """-½ (θ - mean)′ precision (θ - mean)."""
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
    curvature: Array | None  # minus the second derivative of the log-likelihood there, from Newton's method
    history: tuple[float, ...]  # the log-posterior, up to the prior's normaliser, after each step
    converged: bool = True


def settled(curvature: Array, columns: int) -> Array:
    """A curvature with the common direction of all intercepts fixed, which doesn't affect the likelihood.

    (1, ..., 1) is an eigenvector; its eigenvalue divided by the number of classes is added.
    """
    if columns > 1:
        curvature = curvature.copy()
        curvature[:columns, :columns] += gauge(curvature, columns)
    return curvature


def gauge(curvature: Array, columns: int) -> float:
    return max(float(np.trace(curvature[:columns, :columns])) / columns, 1e-300)


def solved(curvature: Array, values: Array) -> Array:
    """curvature⁻¹ values, scaled for features of any size; the minimum-norm solution where it is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
    by_row = size.reshape(-1, *[1] * (values.ndim - 1))
    scaled = curvature / size[:, None] / size
    try:
        found = cho_solve(cho_factor(scaled), values / by_row)
    except LinAlgError:
        found = np.linalg.lstsq(scaled, values / by_row, rcond=1e-12)[0]
    return np.asarray(found / by_row)


@small_matrices()
def newton_mode(
    sums: Sums,
    prior: WeightPrior,
    start: Array,
    tolerance: float = MODE_TOLERANCE,
    curvature_guess: Array | None = None,
) -> Mode:
    """The mode by θ ← θ + H⁻¹ ∇, with steps halved until the log-posterior doesn't fall.

    Near the mode, the curvature of an earlier step is reused while gains fall fast, with BFGS updates from changes of
    the gradient; the curvature at the mode is computed at the end.
    """
    theta, history, known, last = start, list[float](), curvature_guess, np.inf
    found = sums(theta, "curvature" if known is None else "gradient")
    best = found.value + prior.value(theta)
    for _ in range(NEWTON_STEPS):
        known = known if found.curvature is None else found.curvature
        assert known is not None
        slope = found.gradient + prior.gradient(theta)
        step = solved(settled(prior.added_to(known), theta.shape[1]), slope.ravel()).reshape(theta.shape)
        gain, scale = 0.5 * float((step * slope).sum()), max(1.0, abs(best))
        if not gain >= 0 and found.curvature is None:  # the guess was wrong
            found, known = sums(theta, "curvature"), None
            continue
        history.append(best)
        shrinks = (
            min(1.0, gain / last) if curvature_guess is not None and last < np.inf else 1.0
        )  # the ratio of consecutive gains
        done = gain * shrinks <= tolerance * scale
        fast = gain <= CHORD_GAIN * scale and gain <= last / 10
        moved, tried = _halved_step(
            sums, prior, theta, step, best, gain, "gradient" if fast and not done else "curvature"
        )
        if tried is None:  # only rounding errors are left
            break
        if tried.curvature is None:
            known = _bfgs_update(known, (moved - theta).ravel(), (found.gradient - tried.gradient).ravel())
        theta, found, last = moved, tried, gain
        best = found.value + prior.value(theta)
        if done:
            return Mode(theta, found.value, found.curvature, (*history, best))
    found = found if found.curvature is not None else sums(theta, "curvature")
    return Mode(theta, found.value, found.curvature, tuple(history), converged=len(history) < NEWTON_STEPS)


def _bfgs_update(curvature: Array, step: Array, change: Array) -> Array:
    """The BFGS update of a curvature, given the change of the gradient along a step."""
    along, before = float(step @ change), curvature @ step
    straight = float(step @ before)
    if not (along > 0 and straight > 0):  # rounding
        return curvature
    return np.asarray(curvature + np.outer(change, change / along) - np.outer(before, before / straight))


def _halved_step(
    sums: Sums, prior: WeightPrior, theta: Array, step: Array, best: float, gain: float, derivatives: Derivatives
) -> tuple[Array, LikelihoodSums | None]:
    """A step, halved until the log-posterior rises by a share of the expected gain; None if it never does."""
    size = 1.0
    while size > SHORTEST_HALVING:
        moved = theta + size * step
        tried = sums(moved, derivatives)
        if tried.value + prior.value(moved) >= best + EXPECTED_SHARE * 2 * gain * size - 1e-12 * abs(best):
            return moved, tried
        size /= 2
    return theta, None


def lbfgs_mode(sums: Sums, prior: WeightPrior, start: Array, tolerance: float = MODE_TOLERANCE) -> Mode:
    """The mode by L-BFGS, with coefficients scaled by the diagonal of the curvature at the start."""
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

    options = {
        "maxcor": LBFGS_MEMORY,
        "maxiter": LBFGS_STEPS,
        "maxfun": 2 * LBFGS_STEPS,
        "ftol": LBFGS_GAIN * tolerance,
        "gtol": 0.0,
    }
    found = minimize(
        objective, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options,
        callback=lambda _: history.append(latest[0]),
    )  # fmt: skip
    theta = found.x.reshape(start.shape) * scale
    if theta.shape[1] > 1 and not prior.diagonal[0].any():
        theta[0] -= theta[0].mean()  # a common shift of all classes has no effect
    likelihood = -float(found.fun) - prior.value(theta)
    return Mode(theta, likelihood, None, tuple(history), converged=found.status != 1)


def conjugate_mode(
    sums: Sums, product_at: ProductAt, prior: WeightPrior, start: Array, tolerance: float = MODE_TOLERANCE
) -> Mode:
    """The mode by Newton's method with steps by conjugate gradients, for more coefficients than a matrix allows.

    A step is solved to a residual of a tenth of the gradient.
    """
    theta, history = start, list[float]()
    found = sums(theta, "diagonal")
    best = found.value + prior.value(theta)
    for _ in range(NEWTON_STEPS):
        slope = found.gradient + prior.gradient(theta)
        assert found.curvature is not None
        diagonal = found.curvature + prior.diagonal
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())  # intercepts have none where classes are certain
        pinned = float(diagonal[0].mean()) if theta.shape[1] > 1 else 0.0
        step = _conjugate(partial(_times_precision, product_at(theta), prior, pinned), slope, diagonal)
        gain, scale = 0.5 * float((step * slope).sum()), max(1.0, abs(best))
        history.append(best)
        moved, tried = _halved_step(sums, prior, theta, step, best, gain, "diagonal")
        if tried is None:
            return Mode(theta, found.value, None, tuple(history))
        theta, found = moved, tried
        best = found.value + prior.value(theta)
        if gain <= tolerance * scale:
            return Mode(theta, found.value, None, (*history, best))
    return Mode(theta, found.value, None, tuple(history), converged=False)


def _times_precision(product: Product, prior: WeightPrior, pinned: float, direction: Array) -> Array:
    """Minus the second derivative of the log-posterior times a direction; see `settled` for the pinned intercepts."""
    found = product(direction) + prior.times_precision(direction)
    found[0] += pinned * direction[0].sum()
    return np.asarray(found)


def _conjugate(times: Product, slope: Array, diagonal: Array) -> Array:
    """A solution of curvature · step = slope by diagonally preconditioned conjugate gradients, to a residual."""
    step, residual = np.zeros_like(slope), slope
    scaled = residual / diagonal
    direction, size = scaled, float((residual * scaled).sum())
    goal = CONJUGATE_RESIDUAL**2 * size
    for _ in range(LBFGS_STEPS):
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
    sums: Sums, prior: WeightPrior, start: Array, rate: Array, steps: int, tolerance: float = MODE_TOLERANCE
) -> Mode:
    """The mode by gradient ascent, w ← w + η (Σ (d - h(z)) z + ∇ log prior), until a step gains almost nothing."""
    theta, history = start, list[float]()
    found = sums(theta, "gradient")
    history.append(found.value + prior.value(theta))
    for _ in range(steps):
        theta = theta + rate * (found.gradient + prior.gradient(theta))
        found = sums(theta, "gradient")
        history.append(found.value + prior.value(theta))
        if 0 <= history[-1] - history[-2] <= tolerance * max(1.0, abs(history[-1])):
            return Mode(theta, found.value, None, tuple(history))
    return Mode(theta, found.value, None, tuple(history), converged=False)


def fit_logistic(
    features: object, codes: NDArray[np.integer], classes: int, *, strength: float | Array = 1.0,
    weight: Array | None = None, start: Array | None = None, tolerance: float = MODE_TOLERANCE,
) -> Array:  # fmt: skip
    """The most probable coefficients of rows in memory, dense or sparse (CSR). (1 + features, columns)

    The prior of weights is N(0, 1/strength), with one strength for all or one for each feature; that of intercepts is
    flat. `start` may come from a fit of similar rows; rows of weight 0 are ignored.

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
        return newton_mode(lambda theta, how: SumLikelihood(theta, how)(rows), prior, start, tolerance).coefficients
    found = conjugate_mode(
        lambda theta, how: SumLikelihood(theta, how)(rows), partial(_product_at, rows), prior, start, tolerance
    )
    return found.coefficients


def _product_at(rows: FeatureRows, theta: Array) -> Product:
    known = rows.with_shares(theta)
    return lambda direction: TimesCurvature(theta, direction)(known)
