"""log p(x | class) of numbers that are correlated within a class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from credo.blocks.block import Parameter, Settings
from credo.blocks.capabilities import Draws, DrawsGiven, Expects, LogEvidence, LogPrior, OneTerm, Points, Rounded
from credo.blocks.numbers.completed_rows import Normals
from credo.blocks.numbers.covariances import most_likely, without_row
from credo.blocks.numbers.hidden_rows import Before, HiddenGroups, expected_tied
from credo.blocks.numbers.missing import FilledPattern, GaussianCompletion, completed
from credo.blocks.numbers.patterns import PatternMoments, patterns
from credo.core.membership import Hard, Soft
from credo.core.moments import CrossMoments, Moments
from credo.core.soft_sums import FEW_SOFT_SUMS, CentredSums
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.batches import NumberMatrix
from credo.errors import EvidenceError
from credo.families.normal_inverse_wishart import JointGaussian, JointParameters
from credo.families.priors import of_joint_numbers
from credo.numerics.arrays import Flags
from credo.numerics.exact import Array, Exact
from credo.numerics.multivariate import log_densities, log_density, mahalanobis, squared_distances

if TYPE_CHECKING:
    pass

LEFT_OUT_MATRICES = 2**22  # numbers of the matrices of left-out rows that are held at once
LARGEST_ROUNDING = 0.1  # nats a row and column: a larger difference is no rounding error
CANCELLED = 1e-9  # of a variance: a smaller remainder has lost too many digits


@dataclass(frozen=True, eq=False)
class JointLikelihood(OneTerm, LogPrior, LogEvidence, Points, Expects, DrawsGiven, Draws, Rounded):
    """log p(x | class): a multivariate t with parameters integrated out, otherwise a normal; missing cells are
    marginalised."""

    names: tuple[str, ...]
    covariance: Literal["full", "tied"]
    classes: int
    patterns: tuple[PatternMoments, ...]
    settings: Settings
    weight: float = 1.0
    blur: Array | None = None  # (columns,) δ²/12, for rounded numbers

    def read(self, batch: Batch) -> Array:
        return batch.encoded(NumberMatrix(self.names))

    @property
    def refits(self) -> bool:
        return not self.whole

    @property
    def whole(self) -> bool:
        """Whether all rows are complete."""
        return all(pattern.whole for pattern in self.patterns)

    @cached_property
    def pooled(self) -> Moments:
        """The moments of each column over all classes. (1, columns)"""
        if len(self.patterns) == 1 and self.whole:
            return self.patterns[0].columns
        d = len(self.names)
        total = Moments(*(Exact.zeros((1, d)) for _ in range(3)))
        for pattern in self.patterns:
            places = [np.arange(1), np.flatnonzero(pattern.known)]
            total = total + Moments.gather([pattern.columns], [places], [1, d])
        return total

    @cached_property
    def varying(self) -> Flags:
        return np.asarray(self.pooled.scatter[0] > 0)

    @cached_property
    def shift(self) -> Array:
        return np.asarray(self.pooled.mean[0])

    @property
    def size(self) -> int:
        return int(self.varying.sum())

    @cached_property
    def prior_mean(self) -> Array:
        """The pooled mean about the shift: 0 up to rounding. (d,)"""
        return np.asarray((self.pooled.first / self.pooled.n - Exact.of(self.shift)).value[0, self.varying])

    @cached_property
    def prior_variance(self) -> Array:
        n = np.maximum(self.pooled.n.value[0], RESIDUAL_WEIGHT)
        return np.asarray((self.pooled.scatter[0] / n)[self.varying])

    @cached_property
    def about_shift(self) -> list[tuple[Flags, Array, Array, Array]]:
        """For each pattern, its columns among those with any variance, n, the mean about the shift, and the scatter."""
        found = []
        for pattern in self.patterns:
            inside = self.varying[pattern.known]
            moments = pattern.moments.take(1, np.flatnonzero(inside)).take(2, np.flatnonzero(inside))
            mean = moments.first / moments.n[:, None] - Exact.of(self.shift[pattern.known & self.varying])
            seen = moments.n.value[:, None] > 0
            found.append(
                (pattern.known[self.varying], moments.n.value, np.where(seen, mean.value, 0.0), moments.scatter)
            )
        return found

    @cached_property
    def completed(self) -> tuple[Array, Array, Array]:
        """n, mean about the shift and scatter of complete rows, as observed or as EM completes them."""
        if self.whole:
            d = self.size
            if not self.patterns:
                return np.zeros(self.classes), np.zeros((self.classes, d)), np.zeros((self.classes, d, d))
            ((_, n, mean, scatter),) = self.about_shift
            return n, mean, scatter
        parts = [FilledPattern(*part) for part in self.about_shift if part[0].any()]
        return completed(self, parts, self.at_mode(self.with_prior(*self._first_guess())))

    def _first_guess(self) -> tuple[Array, Array, Array]:
        """The mean and scatter of each column, as if columns were independent."""
        d = self.size
        n, first, second = np.zeros((3, self.classes, d))
        for known, rows, mean, scatter in self.about_shift:
            n[:, known] += rows[:, None]
            first[:, known] += rows[:, None] * mean
            second[:, known] += np.diagonal(scatter, axis1=1, axis2=2) + rows[:, None] * mean**2
        mean = np.where(n > 0, first / np.where(n > 0, n, 1.0), 0.0)
        scatter = np.maximum(second - n * mean**2, 0.0)
        return n.max(1, initial=0.0), mean, scatter[:, :, None] * np.eye(d)

    @cached_property
    def prior(self) -> JointParameters:
        return self._prior(self.prior_mean, self.prior_variance)

    def _prior(self, mean: Array, variance: Array) -> JointParameters:
        return of_joint_numbers(mean, variance, self.settings.strength, self.settings.strength)

    def with_prior(self, n: Array, mean: Array, scatter: Array) -> JointParameters:
        return self.prior.posterior(n, mean, scatter, self.tied)

    @property
    def tied(self) -> bool:
        return self.covariance == "tied"

    @cached_property
    def belief(self) -> JointParameters:
        return self.with_prior(*self.completed)

    def at_mode(self, belief: JointParameters) -> JointGaussian:
        return belief.mode(self.classes if self.tied else 1)

    @cached_property
    def gaussians(self) -> JointGaussian:
        """The point estimate."""
        if self.settings.estimate == "ml":
            return most_likely(*self.completed, self.tied)
        centre, matrix, _ = self._point._law(self.belief)
        return JointGaussian(centre, matrix)

    def log_prior(self) -> float:
        return GaussianCompletion(self, self.gaussians).log_prior() if self.size else 0.0

    def rounding(self) -> float:
        """Σ nδ over classes and columns: where other columns explain all but a share r of a column's variance, log |Σ|
        has a rounding error of δ = 4dε/r, as Σ and its Cholesky factor are rounded, before a step and after it."""
        n, covariance = self.completed[0], self.gaussians.covariance
        unexplained = np.diagonal(np.linalg.cholesky(covariance), axis1=1, axis2=2) ** 2
        share = unexplained / np.diagonal(covariance, axis1=1, axis2=2)
        error = np.minimum(4 * self.size * np.finfo(np.float64).eps / share, LARGEST_ROUNDING)
        return float(n @ error.sum(1))

    def log_evidence(self) -> Array:
        return np.array([self.prior.log_evidence(*self.completed, self.tied) if self.size else 0.0])

    def log_likelihood_at(self, other: Self) -> float:
        if not other.size:
            return 0.0
        n, mean, scatter = self.completed
        away = (self.shift - other.shift)[other.varying]  # rounding errors, since both have the same rows
        return float(other.gaussians.log_likelihood(n, mean + away, scatter).sum())

    def points(self, cells: Array) -> Array:
        return np.asarray((cells - self.shift)[:, self.varying] / np.sqrt(self.prior_variance))

    def expected_cells(self, cells: Array, shares: Array) -> dict[str, Any]:
        """Missing cells by their regression on the known ones, averaged over groups."""
        from credo.blocks.numbers.imputing import expected_rows

        point = self._point
        law = point._of_all_columns(*point.gaussians) if self.size else self._of_all_columns(None, None)
        return self._cells(expected_rows(cells, shares, law), cells)

    def sample_given(self, cells: Array, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        from credo.blocks.numbers.imputing import drawn_rows

        if not self.size:
            law, degrees = self._of_all_columns(None, None), np.full(self.classes, np.inf)
        elif self.settings.estimate == "ml":
            law, degrees = self._of_all_columns(*self.gaussians), np.full(self.classes, np.inf)
        else:
            mean, matrix, degrees = self._law(self.belief)
            law = self._of_all_columns(mean, matrix)
        return self._cells(drawn_rows(cells, np.asarray(classes), law, degrees, rng), cells)

    def _of_all_columns(self, mean: Array | None, matrix: Array | None) -> JointGaussian:
        """The parameters of all columns, about 0; a column without variance is constant and independent."""
        d, inside = len(self.names), np.flatnonzero(self.varying)
        centre = np.repeat(self.shift[None], self.classes, axis=0)
        covariance = np.repeat(np.eye(d)[None], self.classes, axis=0)
        if mean is not None and matrix is not None:
            centre[:, inside] += mean
            covariance[:, inside[:, None], inside] = matrix
        return JointGaussian(centre, covariance)

    def _cells(self, filled: Array, cells: Array) -> dict[str, Any]:
        """The cells by column; a column without variance is constant, and one without evidence is unknown."""
        filled = np.where(self.varying | ~np.isnan(cells), filled, self.shift)
        filled = np.where(self.pooled.n.value[0] > 0, filled, np.nan)
        return {name: filled[:, j] for j, name in enumerate(self.names)}

    @property
    def _point(self) -> JointLikelihood:
        """The likelihood at the posterior means, instead of integrals."""
        bayes = self.settings.estimate == "bayes"
        return replace(self, settings=replace(self.settings, estimate="mean")) if bayes else self

    @cached_property
    def _roots(self) -> dict[bytes, tuple[Array, Array, Array, Array]]:
        return {}

    def _root(self, known: Flags) -> tuple[Array, Array, Array, Array]:
        """Means, whitening matrices, log-determinants and degrees of freedom (or ∞) of the known columns."""
        key = known.tobytes()
        if key not in self._roots:
            try:
                self._roots[key] = self._factored(known)
            except np.linalg.LinAlgError:
                raise EvidenceError(
                    "a covariance lost all precision: a forgotten or left-out row has numbers that are far too large"
                ) from None
        return self._roots[key]

    def _factored(self, known: Flags) -> tuple[Array, Array, Array, Array]:
        if self.settings.estimate == "ml":
            (mean, matrix), degrees = self.gaussians, np.full(self.classes, np.inf)
        else:
            mean, matrix, degrees = self._law(self.belief)
        inside = np.flatnonzero(known)
        root = np.linalg.cholesky(matrix[:, inside[:, None], inside])
        log_determinant = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        white = np.linalg.inv(root)
        if self.blur is not None and self.settings.estimate != "bayes":  # log p(x) decreases by ½ tr Σ⁻¹ diag(δ²/12)
            log_determinant += (white**2).sum(1) @ self.blur[self.varying][inside]
        return mean[:, inside], white, log_determinant, degrees

    def add(self, cells: Array, out: Array) -> None:
        if not self.size or not self.weight:
            return
        many = cells.size * self.classes >= FEW_SOFT_SUMS and (self.blur is None or not np.isnan(cells).any())
        if self.settings.estimate != "bayes" and many:
            self._normals.add(self._varying_cells(cells), self.weight, self.tied, out)
            return
        for known, rows, squared in self._distances(cells):
            _, _, log_determinant, degrees = self._root(known)
            found = log_density(squared, log_determinant, degrees, int(known.sum()))
            out[rows] += found if self.weight == 1 else self.weight * found

    @cached_property
    def _normals(self) -> Normals:
        mean, white, log_determinant, _ = self._root(np.ones(self.size, dtype=bool))
        return Normals.of(self.shift[self.varying], mean, white, log_determinant)

    def _varying_cells(self, cells: Array) -> Array:
        return cells if self.size == cells.shape[1] else cells[:, self.varying]

    def completed_moments(self, cells: Array, member: Soft) -> CrossMoments:
        """The expected moments of complete rows, over rows with any observed cell."""
        found = self._normals.completed(cells, self.varying, self.shift, member)
        if self.blur is None:
            return found
        n, first, second = found.sums
        wide = np.ix_(np.arange(self.classes), np.flatnonzero(self.varying), np.flatnonzero(self.varying))
        more = np.zeros(second.shape)
        more[wide] = self._normals.blurred(self._varying_cells(cells), member.weights, self.blur[self.varying])
        return CrossMoments(n, first, second + Exact.of(more))

    def expected_tied(self, x: Array, before: Before) -> tuple[CentredSums, HiddenGroups] | None:
        """The expected sums of complete rows with hidden groups; None if products are better taken group by group, for
        different covariances, or for many groups of few columns."""
        d = self.size
        if not self.tied or self.settings.estimate == "bayes" or d < len(self.names) or self.classes > d * d:
            return None
        mean, white, log_determinant, _ = self._root(np.ones(d, dtype=bool))
        log_peak = -0.5 * (float(log_determinant[0]) + d * np.log(2 * np.pi))
        sums, found = expected_tied(x, before, self.shift, mean, white[0], log_peak)
        return sums._replace(pivot=sums.pivot + self.shift), found

    def by_column(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        found = {name: np.zeros(shape) for name in self.names}
        names = [name for name, varies in zip(self.names, self.varying, strict=True) if varies]
        z = (cells - self.shift)[:, self.varying]
        for known, rows in patterns(z) if self.size else ():
            if not known.any():
                continue
            mean, white, _, degrees = self._root(known)
            inside = [name for name, one in zip(names, known, strict=True) if one]
            for name, each in zip(inside, log_densities(z[rows][:, known], mean, white, degrees), strict=True):
                found[name][rows] = self.weight * each
        return found

    def _distances(self, cells: Array) -> Iterator[tuple[Flags, Any, Array]]:
        """Squared Mahalanobis distances from each class, for each pattern. (rows, classes)"""
        z = (cells - self.shift)[:, self.varying] if self.size < cells.shape[1] else cells - self.shift
        for known, rows in patterns(z):
            if not known.any():
                continue
            mean, white, *_ = self._root(known)
            inside = z[rows] if known.all() else z[rows][:, known]
            yield known, rows, squared_distances(inside, mean, white, self.tied and self._same_scale)

    @property
    def _same_scale(self) -> bool:
        """Whether all classes have the same matrix; with integration, a class with fewer rows has a wider one."""
        return self.settings.estimate != "bayes"

    def mahalanobis(self, cells: Array) -> Array:
        """Distances under the point estimate over the known cells; 0 without any. (rows, classes)"""
        found = np.zeros((len(cells), self.classes))
        for _, rows, squared in self._point._distances(cells):
            found[rows] = np.sqrt(squared)
        return found

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        if not self.size:
            return
        if not self.whole:
            for i in range(len(cells)):
                self._without(cells[i], own, i).add(cells[i : i + 1], out[i : i + 1])
            return
        step = max(1, LEFT_OUT_MATRICES // (self.classes * self.size**2))
        for start in range(0, len(cells), step):
            rows = slice(start, start + step)
            part = Hard(own.codes[rows], own.groups, own.weight[rows])
            out[rows] += self._left_out(cells[rows], part)

    def _without(self, row: Array, own: Hard, i: int) -> JointLikelihood:
        """The likelihood, refitted without a row."""
        known = ~np.isnan(row)
        member = Hard(own.codes[i : i + 1], self.classes, own.weight[i : i + 1])
        kept = []
        for pattern in self.patterns:
            moments = pattern.moments
            if known.any() and (pattern.known == known).all():
                left = moments.without(CrossMoments.of(row[None, known], member))
                if left is None:
                    raise EvidenceError("a row isn't in the evidence: leave-one-out needs the rows that were learned")
                moments = left
            if moments.n.value.any():
                kept.append(PatternMoments(pattern.known, moments))
        return replace(self, patterns=tuple(kept), weight=1.0)

    def _left_out(self, cells: Array, own: Hard) -> Array:
        """The log-likelihood of complete rows, each left out: each class's matrix is factored again. (rows, classes)"""
        z, w, rows = (cells - self.shift)[:, self.varying], own.weight, np.arange(len(cells))
        everyone = np.full(len(z), self.completed[0].sum())
        variance = np.repeat(self.prior_variance[None] * everyone[:1, None], len(z), axis=0)
        rest, place, left = without_row(everyone, np.repeat(self.prior_mean[None], len(z), axis=0), variance, z, w)
        sure = (left > CANCELLED * variance).all(1) & (rest > 0)
        found = np.zeros((len(z), self.classes))
        for i in rows[~sure]:  # without this row, a column is constant or loses digits
            self._without(cells[i], own, i).add(cells[i : i + 1], found[i : i + 1])
        z, w, k, rest = z[sure], w[sure], own.codes[sure], rest[sure]
        n, mean, scatter = (np.repeat(part[None], len(z), axis=0) for part in self.completed)
        each = rows[: len(z)]
        n[each, k], mean[each, k], scatter[each, k] = without_row(n[each, k], mean[each, k], scatter[each, k], z, w)
        prior = self._prior(place[sure, None], (left[sure] / rest[:, None])[:, None])
        if self.settings.estimate == "ml":
            centre, matrix = most_likely(n, mean, scatter, self.tied)
            degrees = np.full(n.shape, np.inf)
        else:
            centre, matrix, degrees = self._law(prior.posterior(n, mean, scatter, self.tied))
        squared, log_determinant = mahalanobis(z[:, None] - centre, matrix)
        found[sure] = log_density(squared, log_determinant, degrees, self.size)
        return found

    def _law(self, belief: JointParameters) -> tuple[Array, Array, Array]:
        """Centre, matrix and degrees of freedom of the predictive density."""
        if self.settings.estimate == "bayes":
            degrees, factor = belief.predictive()
            return belief.mean, belief.scale * factor[..., None, None], degrees
        point = self.at_mode(belief) if self.settings.estimate == "map" else belief.expected()
        return *point, np.full(belief.degrees.shape, np.inf)

    def weighted(self, weights: Array) -> JointLikelihood:
        return replace(self, weight=float(weights[0]))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        drawn = np.full((len(classes), len(self.names)), np.nan)
        if self.size:
            mean, white, _, degrees = self._root(np.ones(self.size, dtype=bool))
            noise = rng.standard_normal((len(classes), self.size))
            if np.isfinite(degrees).all():
                noise /= np.sqrt(rng.chisquare(degrees[classes]) / degrees[classes])[:, None]
            rooted = np.linalg.inv(white)
            for k in np.unique(classes):
                rows = np.flatnonzero(classes == k)
                drawn[np.ix_(rows, self.varying)] = mean[k] + noise[rows] @ rooted[k].T + self.shift[self.varying]
        return {name: drawn[:, j] for j, name in enumerate(self.names)}

    def parameters(self) -> list[Parameter]:
        names = [name for name, varies in zip(self.names, self.varying, strict=True) if varies]
        mean, covariance = self.gaussians
        lines = [Parameter(name, "mean", mean[:, j] + self.shift[self.varying][j]) for j, name in enumerate(names)]
        for i, name in enumerate(names):
            lines.append(Parameter(name, "sd", np.sqrt(covariance[:, i, i])))
            for j in range(i):
                both = np.sqrt(covariance[:, i, i] * covariance[:, j, j])
                lines.append(Parameter(name, "correlation", covariance[:, i, j] / both, names[j]))
        return lines

    @property
    def free_parameters(self) -> int:
        d = self.size
        return self.classes * d + d * (d + 1) // 2 * (1 if self.tied else self.classes)
