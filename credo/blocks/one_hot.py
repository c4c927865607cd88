"""All columns together as one Gaussian: numbers as they are, each value of a category as a column of 0 and 1.

In the evidence a missing cell counts as the mean: so one table of moments serves all rows, and adds. Of a row that is
predicted, missing cells are marginalised: the Gaussian of the other features is a part of the whole one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.block import NEW, Block, Likelihood, Parameter, Settings, Silence
from credo.blocks.numbers.covariances import Spread, log_densities, log_density, spread, squared_distances
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Hard
from credo.core.statistics import CrossMoments, Positions
from credo.data import Batch
from credo.data.cells import codes_among
from credo.data.schema import Column, Derived, Schema
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.joint_scoring import JointScorer

FEATURES = Derived("features")  # the axis of the moments
LABEL = Label("one-hot")
FEW = 16  # rows that miss the same cells, from which on they have Gaussians in common
CHUNK = 2**21  # cells of the matrices of rows that don't


def number_feature(name: str) -> str:
    return json.dumps(["number", name])


def missing_feature(name: str) -> str:
    return json.dumps(["missing", name])


def value_feature(name: str, value: object) -> str:
    """A name that no other column's value has, whatever they are called."""
    return json.dumps(["value", name, str(value)])


@dataclass(frozen=True)
class Together(Block):
    """z | class ~ N(μ, Σ): one Σ for all classes ("tied": the log-odds are linear in z), or each its own ("full").

    Σ ~ inverse Wishart, worth shrinkage · (d + 2) rows of the d features' variances within classes (to which one row of
    their pooled variance is added); μ worth `strength` rows.
    """

    names: tuple[str, ...]
    categories: frozenset[str]  # which of them
    covariance: Literal["tied", "full"]

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({("together", self.names)})

    def labels(self, evidence: Evidence) -> Sequence[Label]:  # noqa: ARG002 - the same, whatever was seen
        return (LABEL,)

    def summarise(self, batch: Batch, member: Hard, groups: str) -> Evidence:
        features: dict[str, Array] = {}
        for name in self.names:
            features |= self._values(batch, name) if name in self.categories else _numbers(batch, name)
        z = np.column_stack([np.empty((batch.rows, 0)), *features.values()])  # there may be no features at all
        moments = CrossMoments.of(z, member)
        levels = pa.array(list(features), pa.string())
        column = Column(FEATURES.column, "category", levels, derived=FEATURES.what)
        return Evidence(Schema((column,)), {LABEL: Part((groups, FEATURES, FEATURES), moments)})

    def _values(self, batch: Batch, name: str) -> dict[str, Array]:
        codes, levels = batch.categories(name)
        found = {value_feature(name, value): (codes == v) * 1.0 for v, value in enumerate(levels.to_pylist())}
        return found | ({missing_feature(name): (codes < 0) * 1.0} if (codes < 0).any() else {})

    def likelihood(self, evidence: Evidence, settings: Settings) -> TogetherLikelihood:
        features = evidence.schema[FEATURES].values
        values = {name: evidence.schema[name].levels for name in self.names if name in self.categories}
        encoding = Encoding(self.names, values, {feature: i for i, feature in enumerate(features)})
        return TogetherLikelihood(encoding, self.covariance, evidence[LABEL], settings)


def _numbers(batch: Batch, name: str) -> dict[str, Array]:
    x = batch.numbers(name)
    absent = np.isnan(x)
    found = {number_feature(name): np.where(absent, 0.0, x)}
    return found | ({missing_feature(name): absent * 1.0} if absent.any() else {})


@dataclass(frozen=True, eq=False)
class Encoding:
    """Which features stand for which columns."""

    names: tuple[str, ...]
    values: Mapping[str, Any]  # the levels of those that are categories
    place: Mapping[str, int]  # of each feature among the moments

    @cached_property
    def features(self) -> list[tuple[int, int, int]]:
        """Of each feature: its place, that of its missing cells (-1 where none are), and its column."""
        found = []
        for column, name in enumerate(self.names):
            wanted = [number_feature(name)]
            if name in self.values:
                wanted = [value_feature(name, value) for value in self.values[name].to_pylist()]
            absent = self.place.get(missing_feature(name), -1)
            found += [(self.place[key], absent, column) for key in wanted if key in self.place]
        return found

    @cached_property
    def columns(self) -> Positions:
        """The column of each feature."""
        return np.array([column for _, _, column in self.features], dtype=np.intp)

    def read(self, batch: Batch) -> Array:
        """Features of rows, NaN where a cell is missing or a value was never seen. (rows, features)"""
        z, j = np.zeros((batch.rows, len(self.features))), 0
        for name in self.names:
            if name not in self.values:
                z[:, j] = batch.numbers(name)
                j += 1
                continue
            codes, _ = codes_among(batch.column(name), self.values[name])
            at, width = self._kept[name]
            known = np.flatnonzero(codes >= 0)
            known = known[at[codes[known]] >= 0]
            z[known, j + at[codes[known]]] = 1.0
            z[codes < 0, j : j + width] = np.nan
            j += width
        return z

    @cached_property
    def _kept(self) -> dict[str, tuple[Positions, int]]:
        """Of each category: which of its features each value is, -1 for none; and how many features it has."""
        found = {}
        for name, levels in self.values.items():
            kept = np.array([value_feature(name, value) in self.place for value in levels.to_pylist()], dtype=bool)
            found[name] = np.where(kept, np.cumsum(kept) - 1, -1), int(kept.sum())
        return found

    @cached_property
    def of_values(self) -> NDArray[np.bool_]:
        """Which features are values of categories. (features,)"""
        return np.array([self.names[column] in self.values for column in self.columns], dtype=bool)


class Summary(NamedTuple):
    """What the classes' Gaussians follow from: features about the mean of their known cells, missing ones there."""

    centre: Array  # (d,)
    n: Array  # (classes,)
    mean: Array  # (classes, d)
    scatter: Array  # (classes, d, d)
    squares: Array  # Σ z² over the known cells, about 0. (d,)


@dataclass(frozen=True, eq=False)
class TogetherLikelihood(Likelihood):
    """log p(z | class), up to what the classes share: linear in z where Σ is shared, else Student's t."""

    encoding: Encoding
    covariance: Literal["tied", "full"]
    moments: CrossMoments
    settings: Settings
    weight: float = 1.0
    known: Summary | None = None  # of the moments, where it is known

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.encoding.names

    def read(self, batch: Batch) -> Array:
        return self.encoding.read(batch)

    def silent(self, batch: Batch, cells: Array) -> dict[Silence, int]:  # noqa: ARG002 - features don't tell
        found = {}
        for name, levels in self.encoding.values.items():
            if new := codes_among(batch.column(name), levels)[1]:
                found[name, NEW] = new
        return found

    @cached_property
    def _places(self) -> tuple[Positions, Positions]:
        pairs = np.array([pair[:2] for pair in self.encoding.features], dtype=np.intp).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def summary(self) -> Summary:
        return summary_of_moments(self.moments, *self._places) if self.known is None else self.known

    @property
    def centre(self) -> Array:
        return self.summary.centre

    @cached_property
    def everyone(self) -> tuple[Array, Array]:
        """Mean and variance of each feature, all classes together."""
        _, n, mean, scatter, _ = self.summary
        rows = max(float(n.sum()), 1e-300)
        place = n @ mean / rows
        within = np.diagonal(scatter, axis1=1, axis2=2).sum(0)
        return place, (within + n @ (mean - place) ** 2) / rows

    @cached_property
    def spoken(self) -> Positions:
        """Features with any variance."""
        size = self.summary.squares / max(self.summary.n.sum(), 1.0)
        return np.flatnonzero(self.everyone[1] > 1e-14 * size)

    @property
    def size(self) -> int:
        return len(self.spoken)

    @cached_property
    def belief(self) -> Spread:
        _, n, mean, scatter, _ = self.summary
        place, pooled = (part[self.spoken] for part in self.everyone)
        inside = np.ix_(np.arange(len(n)), self.spoken, self.spoken)
        within = np.diagonal(scatter[inside], axis1=1, axis2=2).sum(0)
        variance = (within + pooled) / (n.sum() + 1)
        rows = self.settings.shrinkage * (self.size + 2.0)
        return spread(
            n, mean[:, self.spoken], scatter[inside], place, variance, self.settings.strength, self._tied, rows
        )

    @property
    def _tied(self) -> bool:
        return self.covariance == "tied"

    @cached_property
    def _whole(self) -> _Features:
        return self._features(np.arange(self.size))

    def _features(self, seen: Positions) -> _Features:
        return _Features.of(self.belief, seen, self.size, self._tied)

    def _patterns(self, cells: Array, few: int = 0) -> Iterator[tuple[Any, Array, _Features]]:
        """Rows that miss the same cells: which they are, their features about the centre, and the Gaussians of these.

        Patterns of fewer rows than `few` come together, each row with Gaussians of its own.
        """
        z = (cells - self.centre)[:, self.spoken]
        absent = np.isnan(z)
        if not absent.any():
            yield slice(None), z, self._whole
            return
        packed = np.ascontiguousarray(np.packbits(absent, axis=1))
        _, first, which, count = np.unique(
            packed.view(np.dtype((np.void, packed.shape[1])))[:, 0],
            return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        for pattern in np.flatnonzero((count >= few) & ~absent[first].all(1)):
            seen, rows = np.flatnonzero(~absent[first[pattern]]), np.flatnonzero(which == pattern)
            features = self._whole if len(seen) == self.size else self._features(seen)
            yield rows, z[np.ix_(rows, seen)], features
        rest = np.flatnonzero((count < few)[which] & ~absent.all(1))
        for start in range(0, len(rest), step := max(1, CHUNK // (len(self.belief.n) * self.size**2))):
            rows = rest[start : start + step]
            patterns, own = np.unique(which[rows], return_inverse=True)
            features = replace(self._whole, known=~absent[first[patterns]], pattern=own)
            yield rows, np.where(absent[rows], 0.0, z[rows]), features

    def scorer(self) -> JointScorer:
        from credo.blocks.joint_scoring import JointScorer

        return JointScorer(self)

    def cells_to_score(self, cells: Array) -> Array:
        return cells

    def add(self, cells: Array, out: Array) -> None:
        if not self.size or not self.weight:
            return
        for rows, z, features in self._patterns(cells, FEW):
            out[rows] += self.weight * features.log_density(z)

    def left_out(self, cells: Array, own: Hard) -> Array:
        """log p(z | class) of rows of the evidence, each without itself, the prior held as it is; in closed form: what
        is left out of a scatter is one product of a row with itself. (rows, classes)"""
        found = np.zeros((own.rows, own.groups))
        for rows, z, features in self._patterns(cells, FEW) if self.size else ():
            mine = own if isinstance(rows, slice) else own.take(rows)
            found[rows] = features.log_density_left_out(z, mine)
        return found

    def moments_of(self, cells: Array, own: Hard) -> CrossMoments:
        """Of some rows, as the evidence has them."""
        own_place, absent = self._places
        full, unknown = np.zeros((len(cells), self.moments.first.shape[1])), np.isnan(cells)
        full[:, own_place] = np.where(unknown, 0.0, cells)
        marked = absent >= 0
        full[:, absent[marked]] = unknown[:, marked]
        return CrossMoments.of(full, own)

    def said(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        """A linear score is a sum over columns anyway; of a quadratic one, each adds to those before it."""
        found = {name: np.zeros(shape) for name in self.names}
        columns = self.encoding.columns[self.spoken]
        for rows, z, features in self._patterns(cells):
            for column, said in zip(columns[features.seen], features.each(z), strict=True):
                found[self.names[column]][rows] += self.weight * said
        return found

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        """Each row by a refit without it: many features take a while."""
        for i in range(len(cells)):
            self._without(cells[i], int(own.codes[i]), float(own.weight[i])).add(cells[i : i + 1], out[i : i + 1])

    def _without(self, row: Array, k: int, weight: float) -> TogetherLikelihood:
        mine = self.moments_of(row[None], Hard.of([k], len(self.moments.n.value), [weight]))
        return replace(self, moments=self.moments - mine, weight=1.0, known=None)

    def weighted(self, weights: Array) -> TogetherLikelihood:
        return replace(self, weight=float(weights[0]))

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        return {}  # the columns' own forms are what is drawn from

    def parameters(self) -> list[Parameter]:
        return []

    @property
    def free_parameters(self) -> int:
        d, classes = self.size, len(self.moments.n.value)
        return classes * d + d * (d + 1) // 2 * (1 if self._tied else classes)


@dataclass(frozen=True, eq=False)
class _Features:
    """Some of the features, by which rows are known: their part of the classes' Gaussians."""

    seen: Positions
    belief: Spread  # over these features
    size: int  # of all features, on which the degrees of freedom depend
    tied: bool
    known: NDArray[np.bool_] | None = None  # (patterns, d): which of them rows have, if not all
    pattern: Positions | None = None  # (rows,) of each row

    @classmethod
    def of(cls, belief: Spread, seen: Positions, size: int, tied: bool) -> _Features:
        inside = np.ix_(np.arange(len(belief.scale)), seen, seen)
        part = belief._replace(mean=belief.mean[:, seen], scale=belief.scale[inside])
        return cls(seen, part, size, tied)

    @property
    def d(self) -> Any:
        """How many features there are; of each row, where they differ. (rows, 1)"""
        return len(self.seen) if self.known is None else self.known.sum(1)[self.pattern, None]

    @cached_property
    def white(self) -> Array:
        """W with W′W = scale⁻¹, lower triangular. ([patterns,] classes, d, d), one class for all where it is shared.

        Features that a pattern lacks are as if independent of all others, of scale 1, and at the mean.
        """
        scale = self.belief.scale[:1] if self.tied else self.belief.scale
        if self.known is not None:
            both = self.known[:, None, :, None] & self.known[:, None, None, :]
            scale = np.where(both, scale, np.eye(len(self.seen)))
        return np.asarray(np.linalg.inv(np.linalg.cholesky(scale)))

    @cached_property
    def log_determinant(self) -> Array:
        """([rows,] classes)"""
        found = -2 * np.log(np.diagonal(self.white, axis1=-2, axis2=-1)).sum(-1)
        return np.asarray(found if self.pattern is None else found[self.pattern])

    @property
    def factor(self) -> float:
        """Σ = scale/factor, where it is shared."""
        return float(self.belief.degrees[0] - self.size - 1)

    @cached_property
    def linear(self) -> tuple[Array, Array]:
        """Slopes and halves of each feature: its part of the log-likelihood is slope·z - half. (d, classes)

        Less what the classes share, of which they have the mean: where they are mixed, that would matter.
        """
        mean = self.belief.mean
        slope = self.factor * self.white[0].T @ (self.white[0] @ mean.T)
        half = 0.5 * slope * mean.T
        return slope - slope.mean(1, keepdims=True), half - half.mean(1, keepdims=True)

    def flat(self, z: Array) -> Array:
        """W (z - μ). (rows, classes, d)"""
        if self.known is None:
            return np.asarray(np.matmul(z - self.belief.mean[:, None], self.white.swapaxes(1, 2)).swapaxes(0, 1))
        away = np.where(self.known[self.pattern, None], z[:, None] - self.belief.mean, 0.0)
        return np.asarray(np.matmul(self.white[self.pattern], away[..., None])[..., 0])

    def log_density(self, z: Array) -> Array:
        """Less the mean over classes, where they share Σ. (rows, classes)"""
        belief = self.belief
        if self.known is None:
            if self.tied:
                slope, half = self.linear
                return np.asarray(z @ slope - half.sum(0))
            squared = squared_distances(z, belief.mean, self.white, shared=False)
        else:
            squared = (self.flat(z) ** 2).sum(2)
            if self.tied:
                return self._shared(squared, self.factor)
        return self._student(squared, self.log_determinant, belief.strength, belief.degrees, self.d)

    def _shared(self, squared: Array, factor: Array | float) -> Array:
        """Of squared distances in units of a scale that all classes share."""
        return np.asarray(-0.5 * factor * (squared - squared.mean(1, keepdims=True)))

    def _student(self, squared: Array, log_determinant: Array, strength: Array, degrees: Array, d: Any) -> Array:
        """Of squared distances in units of the scale. The predictive is Student's t of scale (1 + 1/κ)/ν."""
        freedom = degrees - self.size + 1
        unit = (1 + 1 / strength) / freedom
        return log_density(squared / unit, log_determinant + d * np.log(unit), freedom, d)

    def log_density_left_out(self, z: Array, own: Hard) -> Array:
        """Of rows of the evidence, each without itself, the prior held as it is.

        Without a row of weight w, class k's mean moves by -w/(κ - w) v, v being the row less the mean, and the scale
        loses wκ/(κ - w) vv′; its inverse follows by Sherman and Morrison's formula.
        """
        belief, rows, flat = self.belief, np.arange(len(z)), self.flat(z)
        squared = np.einsum("nki,nki->nk", flat, flat)
        own_squared, kappa, w = squared[rows, own.codes], belief.strength[own.codes], own.weight
        lost = w * kappa / (kappa - w)
        left = 1 - lost * own_squared
        moved = (kappa / (kappa - w)) ** 2 * own_squared / left
        if self.tied:
            along = np.einsum("nki,ni->nk", flat, flat[rows, own.codes])
            squared = squared + (lost / left)[:, None] * along**2
            squared[rows, own.codes] = moved
            return self._shared(squared, (self.factor - w)[:, None])
        log_determinant = np.broadcast_to(self.log_determinant, squared.shape)
        found = self._student(squared, log_determinant, belief.strength, belief.degrees, self.d)
        own_determinant = log_determinant[rows, own.codes] + np.log(left)
        d = self.d if self.known is None else self.d[:, 0]
        found[rows, own.codes] = self._student(moved, own_determinant, kappa - w, belief.degrees[own.codes] - w, d)
        return found

    def each(self, z: Array) -> list[Array]:
        """Feature by feature: they sum to the log-density. (rows, classes) each"""
        if self.tied:
            slope, half = self.linear
            return [z[:, j, None] * slope[j] - half[j] for j in range(len(self.seen))]
        freedom = self.belief.degrees - self.size + 1
        unit = (1 + 1 / self.belief.strength) / freedom
        return log_densities(z, self.belief.mean, self.white / np.sqrt(unit)[:, None, None], freedom)


def summary_of_moments(moments: CrossMoments, own: Positions, absent: Positions) -> Summary:
    """From sums over rows, in pairs of floats.

    z = u - c + c·e, u being 0 and e being 1 where a cell is missing; so Σzz′ follows from Σuu′, Σue′, Σee′, Σu, Σe.
    """
    everyone = moments.pooled()
    known = everyone.n.value[0] - np.where(absent >= 0, everyone.first.value[0, absent], 0.0)
    total = everyone.first.value[0, own]
    centre = np.asarray(np.where(known > 0, total / np.where(known > 0, known, 1.0), 0.0))
    n, first, second = moments.n, _padded(moments.first, 1), _padded(_padded(moments.second, 1), 2)
    c = Exact.of(centre)
    u, e, rows = first.take(1, own), first.take(1, absent), n[:, None]
    away = u - c * rows + c * e
    column, row = c[:, None], c[None, :]

    def products(a: Positions, b: Positions) -> Exact:
        return second.take(1, a).take(2, b)

    def swapped(x: Exact) -> Exact:
        return Exact(x.high.swapaxes(1, 2), x.low.swapaxes(1, 2))

    squares = products(own, own)
    if (absent >= 0).any():
        mixed = (products(own, absent) - u[:, :, None]) * row
        missing = (products(absent, absent) - e[:, :, None] - e[:, None, :] + rows[:, :, None]) * column * row
    else:
        mixed, missing = -u[:, :, None] * row, rows[:, :, None] * column * row
    squares = squares + mixed + swapped(mixed) + missing
    scatter = squares - (away / rows)[:, :, None] * away[:, None, :]
    return Summary(centre, n.value, (away / rows).value, scatter.value, everyone.second.value[0, own, own])


def summary_of_rows(z: Array, own: Hard) -> Summary:
    """From the rows themselves, NaN where a cell is missing: about each class's own mean, nothing cancels."""
    known = ~np.isnan(z)
    filled = np.where(known, z, 0.0)
    w = own.weight[:, None]
    n = np.maximum((w * known).sum(0), 1e-300)
    centre = (w * filled).sum(0) / n
    centred = np.where(known, z - centre, 0.0)
    count = np.bincount(own.codes, own.weight, own.groups)
    member = np.zeros((own.groups, own.rows))
    member[own.codes, np.arange(own.rows)] = own.weight
    mean = member @ centred / np.where(count > 0, count, 1.0)[:, None]
    away = centred - mean[own.codes]
    weighted = away * np.sqrt(w)
    scatter = np.zeros((own.groups, z.shape[1], z.shape[1]))
    order = np.argsort(own.codes, kind="stable")
    ends = np.cumsum(np.bincount(own.codes, minlength=own.groups))
    for k, (start, end) in enumerate(zip(ends - np.diff(ends, prepend=0), ends, strict=True)):
        if end > start:
            rows = weighted[order[start:end]]
            scatter[k] = rows.T @ rows
    return Summary(centre, count, mean, scatter, (w * filled**2).sum(0))


def _padded(x: Exact, axis: int) -> Exact:
    """With a last entry of 0, which the place -1 finds."""
    width = [(0, int(i == axis)) for i in range(x.ndim)]
    return Exact(np.pad(x.high, width), np.pad(x.low, width))
