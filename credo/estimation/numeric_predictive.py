"""The predictive of `Numeric`: the distribution of the next observation, with the parameters integrated out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legval
from numpy.typing import ArrayLike

from credo.errors import DataError, EvidenceError
from credo.estimation.numeric import CELLS_AT_ONCE, Numeric, called
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Real, Seed, plain
from credo.numerics.exact import Array
from credo.numerics.quadrature import NODE_WEIGHTS, TO_SERIES, Axis, Density, at_nodes, line

SMALL_COUNTS = 100  # whole numbers up to here are first tried as counts


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
        for i in np.flatnonzero(p <= 1e-6 * most):  # surprising values need other nodes: p(x, data)/p(data)
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

    def sample(self, size: int, seed: Seed = None) -> Array:
        return np.asarray(self.law.sample(size, seed), dtype=np.float64)

    @property
    def support(self) -> Any:
        """The values that x can take: a range, or (low, high)."""
        return self.law.values_ if isinstance(self.law, Categorical) else (self.law.axis.low, self.law.axis.high)

    @cached_property
    def law(self) -> Categorical | Density:
        """The whole distribution, on the first guess of x's support on which p(x) sums or integrates to 1."""
        for guess in self._guesses():
            with suppress(DataError):  # of the likelihood at values outside its support
                law = guess()
                if law is not None:
                    return law
        raise EvidenceError(
            "can't tell which values an observation can take, or p(x | θ) isn't normalised: "
            "say Numeric(..., observations=range(0, 2)), or observations=(0, 10)"
        )

    def _guesses(self) -> Iterator[Callable[[], Categorical | Density | None]]:
        """Guesses of the support: whole numbers if all observations are whole; the real line, or a part of it.

        Beyond SMALL_COUNTS, where whole numbers lie as close as measurements do, the line is tried first.
        """
        x, given = self.belief.values if self.belief.values.size else np.array([0.0, 1.0]), self.belief.observations
        if given is not None:
            yield partial(self._counted, given) if isinstance(given, range) else partial(self._continuous, *given)
            return
        lines = [(-inf, inf), (0.0, inf), (0.0, 1.0)][: 1 + (x[0] >= 0) + (x[0] >= 0 and x[-1] <= 1)]
        measured = [partial(self._continuous, low, high) for low, high in lines]
        if not (x == np.rint(x)).all():
            yield from measured
            return
        first, last = int(x[0]), int(x[-1])
        if large := max(-first, last) > SMALL_COUNTS:
            yield from measured
        for floor in (first, *(f for f in (1, 0) if f < first)):
            yield partial(self._counted, range(self._reach(first, floor), last + 1), 1 << 20)
        if not large:
            yield from measured

    def _reach(self, first: int, floor: int) -> int:
        """How far below the first observation the mass extends."""
        step = 1
        while first - step > floor and self._mixed(np.array([float(first - step)]))[0][0] > 1e-20:
            step *= 2
        return max(first - step, floor)

    def _counted(self, values: range, most: int = 0) -> Categorical | None:
        """Probabilities that sum to 1, on at most that many whole numbers; the range is doubled until they do."""
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
        # With two parameters, jumps of p(x | θ) make p(x) step from node to node: don't resolve every step.
        most = 400 if len(self.belief.axes) == 1 else 60
        total, rows = line(axis.density(log_density), axis, grid, most=most)
        return Density.of(axis, rows, total) if abs(total) < 1e-4 else None

    def _mixed(self, x: Array) -> tuple[Array, Array]:
        """p(x | data), and the largest p(x | θ) at a node; in blocks that bound the memory."""
        size = max(1, CELLS_AT_ONCE // self.belief._posterior.joint.value.size)
        parts = [self._mixed_few(x[i : i + size]) for i in range(0, x.size, size)]
        return np.hstack([p for p, _ in parts]), np.hstack([most for _, most in parts])

    def _mixed_few(self, x: Array) -> tuple[Array, Array]:
        """The same for few x. With one parameter, panels are halved where p(x | θ) jumps; with two, a jump makes the
        largest infinite."""
        joint, rounds = self.belief._posterior.joint, 50 if len(self.belief.axes) == 1 else 1
        row, panel = (index.ravel() for index in np.indices((x.size, joint.low.size)))
        low, high, series = -np.ones(row.size), np.ones(row.size), (joint.value @ TO_SERIES).T
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
            mass = value @ NODE_WEIGHTS
            if depth == 0:
                total, log = mass.reshape(x.size, -1).sum(1), log.reshape(x.size, -1)
                most = np.where((rounds == 1) & np.isneginf(log).any(1), inf, np.exp(np.minimum(log.max(1), 700)))
            halve = np.abs(value @ TO_SERIES[:, -2:]).sum(-1) > (1e-10 * np.maximum(total, 0) + 1e-16 * most)[row]
            halve &= depth < rounds - 1
            settled += np.bincount(row[~halve], mass[~halve], x.size)
            if not halve.any():
                break
            row, panel, middle = np.tile(row[halve], 2), np.tile(panel[halve], 2), (low + high)[halve] / 2
            low, high = np.append(low[halve], middle), np.append(middle, high[halve])
        return np.maximum(settled, 0), most
