"""Gaussians of the classes over many features: log-densities of rows, some of whose features may be missing.

Let P = Σ⁻¹ and v = P (z - μ), with any values for the missing features m. The squared distance of the others is
(z - μ)′v - vₘ′ Pₘₘ⁻¹ vₘ, and their log-determinant is log|Σ| + log|Pₘₘ|. So the time of a row depends on the number of
missing features, or of known ones if these are fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.families.normal_inverse_wishart import JointParameters
from credo.numerics.arrays import less_mean
from credo.numerics.exact import Array
from credo.numerics.multivariate import log_densities, log_density, squared_distances

PATTERN_ROWS = 16  # rows with the same missing cells, at least, that are computed together
ROW_MATRIX_CELLS = 2**20  # cells of the matrices of other rows that are held at once
HUGE = 1e300  # a diagonal that keeps a bordered matrix positive definite


class Distances(NamedTuple):
    """The distances of rows from the classes' means, in units of the scale."""

    squared: Array  # (rows, classes)
    along: Array | None  # products with the distance from the row's class, for a shared scale
    log_determinant: Array  # of the scale, over the known features. (rows or 1, classes or 1)
    d: Any  # the number of known features, for all rows or (rows, 1)


@dataclass(frozen=True, eq=False)
class IncompleteFeatures:
    """Rows of features, NaN where one is missing: which rows have the same missing features is found once."""

    z: Array  # (rows, d)

    @cached_property
    def absent(self) -> NDArray[np.bool_]:
        return np.isnan(self.z)

    @cached_property
    def missing(self) -> Positions:
        """The number of each row's missing features. (rows,)"""
        return np.asarray(self.absent.sum(1))

    @cached_property
    def complete(self) -> bool:
        return not self.missing.any()

    @cached_property
    def whole(self) -> Positions:
        """The rows without missing features."""
        return np.flatnonzero(self.missing == 0)

    @cached_property
    def filled(self) -> Array:
        """The features, 0 where one is missing."""
        return np.where(self.absent, 0.0, self.z)

    @property
    def patterns(self) -> list[Positions]:
        """The rows of each pattern of missing features that many rows have; each has missing and known features."""
        return self._by_pattern[0]

    @property
    def single(self) -> Positions:
        """The rows with missing and known features whose pattern few rows have."""
        return self._by_pattern[1]

    @cached_property
    def _by_pattern(self) -> tuple[list[Positions], Positions]:
        rest = np.flatnonzero((self.missing > 0) & (self.missing < self.z.shape[1]))
        if not len(rest):
            return [], rest
        _, which, count = distinct_patterns(self.absent[rest])
        often = [rest[which == pattern] for pattern in np.flatnonzero(count >= PATTERN_ROWS)]
        return often, rest[count[which] < PATTERN_ROWS]


@dataclass(frozen=True, eq=False)
class JointGaussians:
    """The classes' Gaussians over some features."""

    belief: JointParameters
    size: int  # the number of all features, on which the degrees of freedom depend
    tied: bool

    def over(self, seen: Positions) -> JointGaussians:
        """The Gaussians of some features."""
        inside = np.ix_(np.arange(len(self.belief.scale)), seen, seen)
        part = self.belief._replace(mean=self.belief.mean[:, seen], scale=self.belief.scale[inside])
        return JointGaussians(part, self.size, self.tied)

    @cached_property
    def scale(self) -> Array:
        """The scale matrices, one if it is shared. (classes or 1, d, d)"""
        return self.belief.scale[:1] if self.tied else self.belief.scale

    @cached_property
    def white(self) -> Array:
        """W with W′W = scale⁻¹, lower triangular. (classes or 1, d, d)"""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.scale)))

    @cached_property
    def precision(self) -> Array:
        return np.asarray(np.matmul(self.white.swapaxes(1, 2), self.white))

    @cached_property
    def log_determinant(self) -> Array:
        """log|scale|. (1, classes or 1)"""
        return np.asarray(-2 * np.log(np.diagonal(self.white, axis1=1, axis2=2)).sum(1)[None])

    @property
    def factor(self) -> float:
        """Σ = scale/factor, if it is shared."""
        return float(self.belief.degrees[0] - self.size - 1)

    @cached_property
    def linear(self) -> tuple[Array, Array]:
        """Slopes and halves of each feature: its part of the log-likelihood is slope·z - half. (d, classes)

        The mean over classes is subtracted, since it would matter in mixtures of classes.
        """
        mean = self.belief.mean
        slope = self.factor * self.white[0].T @ (self.white[0] @ mean.T)
        half = 0.5 * slope * mean.T
        return slope - slope.mean(1, keepdims=True), half - half.mean(1, keepdims=True)

    def flat(self, z: Array) -> Array:
        """W (z - μ). (rows, classes, d)"""
        if self.tied:
            return np.asarray((z @ self.white[0].T)[:, None] - self.belief.mean @ self.white[0].T)
        return np.asarray(np.matmul(z - self.belief.mean[:, None], self.white.swapaxes(1, 2)).swapaxes(0, 1))

    # Distances of rows

    def distances(self, z: Array, own: Hard | None) -> Distances:
        """The distances of rows without missing features."""
        if not self.tied:
            squared = squared_distances(z, self.belief.mean, self.white, shared=False)
            return Distances(squared, None, self.log_determinant, z.shape[1])
        flat = self.flat(z)
        along = None if own is None else _products(flat, flat[np.arange(len(z)), own.codes])
        return Distances(_squares(flat), along, self.log_determinant, z.shape[1])

    def known_distances(self, rows: IncompleteFeatures, own: Hard | None) -> tuple[Any, Distances]:
        """The rows with any known feature, and their distances."""
        parts = list(self.parts(rows, own))
        if len(parts) == 1:
            return parts[0]
        nowhere = Distances(np.empty((0, len(self.belief.strength))), None, np.empty((0, 1)), 0)
        each = [nowhere, *(distances for _, distances in parts)]
        along = [one.along for one in each if one.along is not None]
        return np.concatenate([np.empty(0, dtype=np.intp), *(some for some, _ in parts)]), Distances(
            np.concatenate([one.squared for one in each]),
            np.concatenate(along) if along else None,
            np.concatenate([np.broadcast_to(one.log_determinant, one.squared.shape) for one in each]),
            np.concatenate([np.broadcast_to(one.d, (len(one.squared), 1)) for one in each]),
        )

    def parts(self, rows: IncompleteFeatures, own: Hard | None) -> Iterator[tuple[Any, Distances]]:
        """Groups of rows and their distances. Rows without known features are excluded."""
        if rows.complete:
            yield slice(None), self.distances(rows.z, own)
            return
        if len(rows.whole):
            yield rows.whole, self.distances(rows.z[rows.whole], _members_at(own, rows.whole))
        for alike in rows.patterns:
            yield alike, self._of_pattern(rows.filled[alike], rows.absent[alike[0]], _members_at(own, alike))
        if not len(rows.single):
            return
        missing, d = rows.missing[rows.single], rows.z.shape[1]
        hidden = missing <= d - missing
        for chunk in self._chunks(rows.single[hidden], missing[hidden]):
            yield chunk, self._one_by_one(rows, chunk, rows.absent[chunk], True, own)
        for chunk in self._chunks(rows.single[~hidden], d - missing[~hidden]):
            yield chunk, self._one_by_one(rows, chunk, ~rows.absent[chunk], False, own)

    def _of_pattern(self, z: Array, absent: NDArray[np.bool_], own: Hard | None) -> Distances:
        """The distances of rows with the same missing features, whose values are arbitrary."""
        seen, gone = np.flatnonzero(~absent), np.flatnonzero(absent)
        if len(seen) <= len(gone):
            return self.over(seen).distances(z[:, seen], own)
        return self._less(self.flat(z), self._pulled(z, gone), gone, own)

    def _less(self, flat: Array, pulled: Array, gone: Positions, own: Hard | None) -> Distances:
        """The distances without some features, from W (z - μ), and P (z - μ) of these features."""
        inside = self.precision[:, gone[:, None], gone]
        root = np.linalg.cholesky(inside)
        if self.tied:
            taken = np.matmul(pulled, np.linalg.inv(root[0]).T)
        else:
            taken = np.matmul(pulled.swapaxes(0, 1), np.linalg.inv(root).swapaxes(1, 2)).swapaxes(0, 1)
        more = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)[None]
        along = None
        if own is not None and self.tied:
            rows = np.arange(len(flat))
            along = _products(flat, flat[rows, own.codes]) - _products(taken, taken[rows, own.codes])
        d = flat.shape[2] - len(gone)
        return Distances(_squares(flat) - _squares(taken), along, self.log_determinant + more, d)

    def _pulled(self, z: Array, places: Positions | slice) -> Array:
        """P (z - μ) of some features. (rows, classes, places)"""
        if self.tied:
            some = self.precision[0][:, places]
            return np.asarray((z @ some)[:, None] - self.belief.mean @ some)
        return np.asarray(np.matmul(z - self.belief.mean[:, None], self.precision[:, :, places]).swapaxes(0, 1))

    def _chunks(self, rows: Positions, sizes: Positions) -> Iterator[Positions]:
        """Chunks of rows of about the same size, as large as memory allows."""
        order = rows[np.argsort(sizes, kind="stable")]
        sizes, start, classes = np.sort(sizes), 0, len(self.belief.strength)
        matrix = (sizes + classes) ** 2 if self.tied else classes * (sizes + 1) ** 2
        while start < len(order):
            beyond = np.flatnonzero(np.arange(2, len(order) + 1 - start) * matrix[start + 1 :] > ROW_MATRIX_CELLS)
            end = start + 1 + int(beyond[0]) if len(beyond) else len(order)
            yield order[start:end]
            start = end

    def _one_by_one(
        self, rows: IncompleteFeatures, chunk: Positions, some: NDArray[np.bool_], hidden: bool, own: Hard | None
    ) -> Distances:
        """The distances of rows with different missing features: `some` are the hidden or the known ones."""
        z, own, d = rows.filled[chunk], _members_at(own, chunk), (rows.z.shape[1] - rows.missing[chunk])[:, None]
        if hidden:
            return self._hiding(self.flat(z), self._pulled(z, slice(None)), some, own)._replace(d=d)
        white, log_determinant = self._cut(self.scale, z[:, None] - self.belief.mean, some)
        along = None if own is None or not self.tied else _products(white, white[np.arange(len(z)), own.codes])
        return Distances(_squares(white), along, log_determinant, d)

    def _hiding(self, flat: Array, pulled: Array, some: NDArray[np.bool_], own: Hard | None) -> Distances:
        """The distances of rows, each without some features, from W (z - μ) and P (z - μ)."""
        white, more = self._cut(self.precision, pulled, some)
        along, rows = None, np.arange(len(flat))
        if own is not None and self.tied:
            along = _products(flat, flat[rows, own.codes]) - _products(white, white[rows, own.codes])
        return Distances(_squares(flat) - _squares(white), along, self.log_determinant + more, 0)

    def _cut(self, matrices: Array, vectors: Array, some: NDArray[np.bool_]) -> tuple[Array, Array]:
        """L⁻¹v and log|LL′| of some features, different ones for each row. (rows, classes, size), (rows, classes or 1)

        matrices: (classes or 1, d, d), vectors: (rows, classes, d), some: (rows, d)
        """
        places, inside = _padded_places(some)
        vectors = np.where(inside[:, None], np.take_along_axis(vectors, places[:, None], 2), 0.0)
        chosen = matrices[:, places[:, :, None], places[:, None, :]]  # (classes or 1, rows, size, size)
        rows, padding = np.nonzero(~inside)
        chosen[:, rows, padding], chosen[:, rows, :, padding] = 0.0, 0.0
        chosen[:, rows, padding, padding] = 1.0
        chosen = chosen.swapaxes(0, 1)
        if self.tied:
            white, log_determinant = _bordered(chosen[:, 0], vectors)
            return white, log_determinant[:, None]
        white, log_determinant = _bordered(chosen, vectors[:, :, None])
        return white[:, :, 0], log_determinant

    # Densities

    def log_density(self, distances: Distances) -> Array:
        """log p(z | class), minus the mean over classes if they share Σ. (rows, classes)"""
        if self.tied:
            return self._shared(distances.squared, self.factor)
        belief = self.belief
        squared, _, log_determinant, d = distances
        return self._student(squared, log_determinant, belief.strength, belief.degrees, d)

    def log_density_left_out(self, distances: Distances, own: Hard) -> Array:
        """log p(z | class) of rows of the evidence, each left out, under the same prior.

        Without a row of weight w, the mean of class k moves by -w/(κ - w) v with v = z - mean, and wκ/(κ - w) vv′ is
        subtracted from the scale; its inverse follows from the Sherman-Morrison formula.
        """
        squared, along, log_determinant, d = distances
        belief, rows = self.belief, np.arange(len(squared))
        own_squared, kappa, w = squared[rows, own.codes], belief.strength[own.codes], own.weight
        lost = w * kappa / (kappa - w)
        left = 1 - lost * own_squared
        moved = (kappa / (kappa - w)) ** 2 * own_squared / left
        if along is not None:
            squared = squared + (lost / left)[:, None] * along**2
            squared[rows, own.codes] = moved
            return self._shared(squared, (self.factor - w)[:, None])
        log_determinant = np.broadcast_to(log_determinant, squared.shape)
        found = self._student(squared, log_determinant, belief.strength, belief.degrees, d)
        own_determinant = log_determinant[rows, own.codes] + np.log(left)
        d = d[:, 0] if isinstance(d, np.ndarray) else d
        found[rows, own.codes] = self._student(moved, own_determinant, kappa - w, belief.degrees[own.codes] - w, d)
        return found

    def without_each(self, z: Array, columns: Sequence[Positions]) -> Iterator[Array]:
        """The log-densities of rows without the features of each column in turn; 0 if no feature is left. (rows,
        classes)"""
        absent = np.isnan(z)
        whole, some = np.flatnonzero(~absent.any(1)), np.flatnonzero(absent.any(1))
        filled = np.where(absent, 0.0, z)
        flat, pulled = self.flat(filled), self._pulled(filled[some], slice(None))
        for gone in columns:
            found, missing = np.zeros(flat.shape[:2]), absent[some]
            if len(whole) and len(gone) < z.shape[1]:
                found[whole] = self.log_density(self._less(flat[whole], self._pulled(z[whole], gone), gone, None))
            missing[:, gone] = True
            count = missing.sum(1)
            for rows in self._chunks(np.flatnonzero(2 * count <= z.shape[1]), count[2 * count <= z.shape[1]]):
                distances = self._hiding(flat[some[rows]], pulled[rows], missing[rows], None)
                d = (z.shape[1] - count[rows])[:, None]
                found[some[rows]] = self.log_density(distances._replace(d=d))
            rest = np.flatnonzero(2 * count > z.shape[1])
            left = np.where(missing[rest], np.nan, z[some[rest]])
            for rows, distances in self.parts(IncompleteFeatures(left), None) if len(rest) else ():
                found[some[rest[rows]]] = self.log_density(distances)
            yield found

    def each(self, z: Array) -> list[Array]:
        """The log-density of each feature given the earlier ones: they sum to the whole. (rows, classes) each"""
        if self.tied:
            slope, half = self.linear
            return [z[:, j, None] * slope[j] - half[j] for j in range(z.shape[1])]
        freedom = self.belief.degrees - self.size + 1
        unit = (1 + 1 / self.belief.strength) / freedom
        return log_densities(z, self.belief.mean, self.white / np.sqrt(unit)[:, None, None], freedom)

    def _shared(self, squared: Array, factor: Array | float) -> Array:
        """The log-density from squared distances in units of a shared scale."""
        return np.asarray(-0.5 * factor * less_mean(squared))

    def _student(self, squared: Array, log_determinant: Array, strength: Array, degrees: Array, d: object) -> Array:
        """The Student's t predictive, with matrix scale (1 + 1/κ)/ν, from squared distances in units of the scale."""
        freedom = degrees - self.size + 1
        unit = (1 + 1 / strength) / freedom
        return log_density(squared / unit, log_determinant + d * np.log(unit), freedom, d)


def distinct_patterns(absent: NDArray[np.bool_]) -> tuple[Positions, Positions, Positions]:
    """The distinct patterns of missing features: the first row of each, the pattern of each row, and their counts."""
    packed = np.ascontiguousarray(np.packbits(absent, axis=1))
    _, first, which, count = np.unique(
        packed.view(np.dtype((np.void, packed.shape[1])))[:, 0],
        return_index=True, return_inverse=True, return_counts=True,
    )  # fmt: skip
    return first, which, count


def _padded_places(some: NDArray[np.bool_]) -> tuple[Positions, NDArray[np.bool_]]:
    """The positions of some features of each row, padded to the same number, and the flags of real ones."""
    counts = some.sum(1)
    places = np.argsort(~some, axis=1, kind="stable")[:, : int(counts.max())]
    return places, np.arange(places.shape[1]) < counts[:, None]


def _bordered(matrices: Array, vectors: Array) -> tuple[Array, Array]:
    """L⁻¹v and log|A| with A = LL′, by the Cholesky factor of A bordered by the vectors.

    matrices: (..., size, size), vectors: (..., count, size) -> (..., count, size), (...)
    """
    size, count = matrices.shape[-1], vectors.shape[-2]
    whole = np.zeros((*matrices.shape[:-2], size + count, size + count))
    whole[..., :size, :size] = matrices
    whole[..., size:, :size] = vectors
    more = np.arange(size, size + count)
    whole[..., more, more] = HUGE
    root = np.linalg.cholesky(whole)
    diagonal = np.diagonal(root, axis1=-2, axis2=-1)[..., :size]
    return root[..., size:, :size], 2 * np.log(diagonal).sum(-1)


def _squares(x: Array) -> Array:
    return np.asarray(np.einsum("nki,nki->nk", x, x))


def _products(x: Array, own: Array) -> Array:
    return np.asarray(np.matmul(x, own[:, :, None])[:, :, 0])


def _members_at(own: Hard | None, rows: Positions) -> Hard | None:
    return None if own is None else own.take(rows)
