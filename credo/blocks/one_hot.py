"""All columns as one joint Gaussian: numbers as they are, categories one-hot encoded.

In the evidence, a missing cell counts as the mean, so that one table of moments serves all rows. In predictions,
missing cells are marginalised.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.block import UNSEEN_VALUES, Block, Parameter, Settings
from credo.blocks.capabilities import CountsIgnored, Hides, Ignored, OneTerm, Scored
from credo.blocks.joint_gaussians import IncompleteFeatures, JointGaussians, distinct_patterns
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Hard, Membership
from credo.core.moments import CrossMoments
from credo.core.statistics import Positions
from credo.data import Batch
from credo.data.schema import Column, Derived, Schema
from credo.families.normal_inverse_wishart import JointParameters
from credo.families.priors import of_joint_numbers
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.joint_scoring import JointScorer

FEATURES = Derived("features")  # the axis of the moments
LABEL = Label("one-hot")


def number_feature(name: str) -> str:
    return json.dumps(["number", name])


def missing_feature(name: str) -> str:
    return json.dumps(["missing", name])


def value_feature(name: str, value: object) -> str:
    """A name of the feature that is unique among all columns."""
    return json.dumps(["value", name, str(value)])


@dataclass(frozen=True)
class OneHotGaussian(Block):
    """z | class ~ N(μ, Σ) with one Σ for all classes ("tied": the log-odds are linear in z), or one per class ("full").

    Σ ~ inverse Wishart with the strength of shrinkage · (d + 2) rows of the d features' variances within classes. One
    row of the pooled variance is added to these; for values of categories one per class, so that other values are
    possible where each class has shown a single one. The strength of μ is `strength` rows.
    """

    names: tuple[str, ...]
    categories: frozenset[str]  # the columns that are categories
    covariance: Literal["tied", "full"]

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({("together", self.names)})

    def keeps(self, label: Label) -> bool:
        return label == LABEL

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        features, z = one_hot_rows(batch, self.names, self.categories)
        moments = {LABEL: Part((groups, FEATURES, FEATURES), _moments(z, member))}
        return Evidence(Schema((feature_column(features),)), moments)

    def likelihood(self, evidence: Evidence, settings: Settings) -> OneHotLikelihood:
        features = evidence.schema[FEATURES].values
        values = {name: evidence.schema[name].levels for name in self.names if name in self.categories}
        encoding = OneHotEncoding(self.names, values, {feature: i for i, feature in enumerate(features)})
        return OneHotLikelihood(encoding, self.covariance, evidence[LABEL], settings)


def _moments(z: Array, member: Membership) -> CrossMoments:
    """The moments of features; soft ones in pairs of floats: a missing number's feature is 0, which may be so far from
    the known numbers that plain sums about a pivot would lose their variance."""
    if isinstance(member, Hard):
        return CrossMoments.of(z, member)
    groups = [CrossMoments.of(z, Hard.whole(len(z), weight)) for weight in np.ascontiguousarray(member.weights.T)]
    return CrossMoments.gather(groups, [[np.array([k])] for k in range(len(groups))], [len(groups)])


def feature_column(features: Sequence[str]) -> Column:
    """The column whose levels are the features."""
    return Column(FEATURES.column, "category", pa.array(features, pa.string()), derived=FEATURES.what)


def one_hot_rows(batch: Batch, names: Sequence[str], categories: Container[str]) -> tuple[list[str], Array]:
    """The names and values of features: a missing number is 0, and each column with missing cells has an indicator of
    these. (rows, features)"""
    numbers = [name for name in names if name not in categories]
    x = batch.matrix(numbers)
    features = [*map(number_feature, numbers)]
    if np.isnan(x.sum()):
        absent = np.isnan(x)
        marked = np.flatnonzero(absent.any(0))
        features += [missing_feature(numbers[j]) for j in marked]
        x = np.hstack([np.where(absent, 0.0, x), absent[:, marked]])
    parts = [x]
    for name in names:
        if name in categories:
            own, z = _values(batch, name)
            features += own
            parts.append(z)
    return features, np.hstack(parts) if len(parts) > 1 else x


def _values(batch: Batch, name: str) -> tuple[list[str], Array]:
    codes, levels = batch.categories(name)
    features, size = [value_feature(name, value) for value in levels.to_pylist()], len(levels)
    if (codes < 0).any():
        features, codes = [*features, missing_feature(name)], np.where(codes < 0, size, codes)
    z = np.zeros((batch.rows, len(features)))
    z[np.arange(batch.rows), codes] = 1.0
    return features, z


@dataclass(frozen=True, eq=False)
class OneHotEncoding:
    """The features of each column."""

    names: tuple[str, ...]
    values: Mapping[str, Any]  # the levels of categories
    place: Mapping[str, int]  # the position of each feature in the moments

    @cached_property
    def features(self) -> list[tuple[int, int, int]]:
        """The position of each feature, that of its missing cells (-1 without any), and its column."""
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

    def read(self, batch: Batch) -> tuple[Array, dict[str, int]]:
        """Features of rows, NaN where a cell is missing or unseen (rows, features); and the numbers of unseen cells."""
        if not self.values:
            return batch.matrix(self.names), {}
        (z, j), unseen = (np.zeros((batch.rows, len(self.features))), 0), {}
        for name in self.names:
            if name not in self.values:
                z[:, j] = batch.numbers(name)
                j += 1
                continue
            codes, unseen[name] = batch.codes_among(name, self.values[name])
            at, width = self._kept[name]
            known = np.flatnonzero(codes >= 0)
            known = known[at[codes[known]] >= 0]
            z[known, j + at[codes[known]]] = 1.0
            z[codes < 0, j : j + width] = np.nan
            j += width
        return z, unseen

    @cached_property
    def _kept(self) -> dict[str, tuple[Positions, int]]:
        """For each category, the feature of each value, -1 for none; and the number of its features."""
        found = {}
        for name, levels in self.values.items():
            kept = np.array([value_feature(name, value) in self.place for value in levels.to_pylist()], dtype=bool)
            found[name] = np.where(kept, np.cumsum(kept) - 1, -1), int(kept.sum())
        return found

    @cached_property
    def of_values(self) -> NDArray[np.bool_]:
        """Whether a feature is a value of a category. (features,)"""
        return np.array([self.names[column] in self.values for column in self.columns], dtype=bool)


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """The moments of features about the mean of their known cells, with missing cells at the mean.

    Tied and separate covariances share them, whatever the settings, and with them what follows from them.
    """

    centre: Array  # (d,)
    n: Array  # (classes,)
    mean: Array  # (classes, d)
    scatter: Array  # (classes, d, d)
    squares: Array  # (d,) Σ z² over the known cells, about 0

    @cached_property
    def everyone(self) -> tuple[Array, Array]:
        """The pooled mean and variance of each feature."""
        rows = max(float(self.n.sum()), 1e-300)
        place = self.n @ self.mean / rows
        within = np.diagonal(self.scatter, axis1=1, axis2=2).sum(0)
        return place, (within + self.n @ (self.mean - place) ** 2) / rows

    @cached_property
    def varying(self) -> Positions:
        """The features with any variance."""
        size = self.squares / max(self.n.sum(), 1.0)
        return np.flatnonzero(self.everyone[1] > 1e-14 * size)

    def centred(self, cells: Array) -> IncompleteFeatures:
        """The features with any variance, about the centre."""
        z = cells - self.centre
        return IncompleteFeatures(z if len(self.varying) == z.shape[1] else z[:, self.varying])

    def kept_centred(self, cells: Array) -> IncompleteFeatures:
        """The same, kept until other cells are asked for: in tuning, each setting scores the same rows."""
        for before, found in self._kept:
            if before is cells:
                return found
        found = self.centred(cells)
        self._kept[:] = [(cells, found)]
        return found

    @cached_property
    def _kept(self) -> list[tuple[Array, IncompleteFeatures]]:
        return []


@dataclass(frozen=True, eq=False)
class OneHotLikelihood(OneTerm, Scored, CountsIgnored, Hides):
    """log p(z | class), up to a term that classes share: linear in z for a shared Σ, otherwise Student's t."""

    encoding: OneHotEncoding
    covariance: Literal["tied", "full"]
    moments: CrossMoments
    settings: Settings
    weight: float = 1.0
    known: FeatureMoments | None = None  # the summary of the moments, if it is known

    @property
    def names(self) -> tuple[str, ...]:
        return self.encoding.names

    def read(self, batch: Batch) -> Array:
        return self.encoding.read(batch)[0]

    def read_counting_ignored(self, batch: Batch) -> tuple[Array, Ignored]:
        z, unseen = self.encoding.read(batch)
        return z, {(name, UNSEEN_VALUES): n for name, n in unseen.items() if n}

    @cached_property
    def _places(self) -> tuple[Positions, Positions]:
        pairs = np.array([pair[:2] for pair in self.encoding.features], dtype=np.intp).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def summary(self) -> FeatureMoments:
        return summary_of_moments(self.moments, *self._places) if self.known is None else self.known

    @property
    def varying(self) -> Positions:
        """The features with any variance."""
        return self.summary.varying

    @property
    def size(self) -> int:
        return len(self.varying)

    @cached_property
    def belief(self) -> JointParameters:
        n, mean, scatter = self.summary.n, self.summary.mean, self.summary.scatter
        place, pooled = (part[self.varying] for part in self.summary.everyone)
        if self.size < len(mean.T):
            mean, scatter = mean[:, self.varying], scatter[np.ix_(np.arange(len(n)), self.varying, self.varying)]
        within = np.diagonal(scatter, axis1=1, axis2=2).sum(0)
        extra = np.where(self.encoding.of_values[self.varying], float((n > 0).sum()), 1.0)  # rows
        variance = (within + extra * pooled) / (n.sum() + extra)
        prior = of_joint_numbers(place, variance, self.settings.strength, self.settings.shrinkage * (self.size + 2.0))
        return prior.posterior(n, mean, scatter, self._tied)

    @property
    def _tied(self) -> bool:
        return self.covariance == "tied"

    @cached_property
    def gaussians(self) -> JointGaussians:
        """The Gaussians of features with any variance, about the centre."""
        return JointGaussians(self.belief, self.size, self._tied)

    def scorer(self) -> JointScorer:
        from credo.blocks.joint_scoring import JointScorer

        return JointScorer(self)

    def each(self, cells: Array, shape: tuple[int, int]) -> Array:
        """log p(z | class); values without evidence count as missing."""
        return super().each(self.scorer().seen(cells), shape)

    def each_nearly_left_out(self, cells: Array, own: Hard) -> Array:
        return self.left_out(self.summary.centred(cells), own)[:, :, None]

    def add(self, cells: Array, out: Array) -> None:
        if not self.size or not self.weight:
            return
        centred = self.summary.centred(cells)
        if self._tied and centred.complete:
            slope, half = self.gaussians.linear
            out += self.weight * (centred.z @ slope - half.sum(0))
            return
        rows, distances = self.gaussians.known_distances(centred, None)
        out[rows] += self.weight * self.gaussians.log_density(distances)

    def left_out(self, centred: IncompleteFeatures, own: Hard) -> Array:
        """log p(z | class) of rows of the evidence, each left out, under the same prior; in closed form, by a rank-one
        change of the scatter. (rows, classes)"""
        found = np.zeros((own.rows, own.groups))
        if self.size:
            rows, distances = self.gaussians.known_distances(centred, own)
            mine = own if isinstance(rows, slice) else own.take(rows)
            found[rows] = self.gaussians.log_density_left_out(distances, mine)
        return found

    def moments_of(self, cells: Array, own: Hard) -> CrossMoments:
        """The moments of some rows, as in the evidence."""
        own_place, absent = self._places
        full, unknown = np.zeros((len(cells), self.moments.first.shape[1])), np.isnan(cells)
        full[:, own_place] = np.where(unknown, 0.0, cells)
        marked = absent >= 0
        full[:, absent[marked]] = unknown[:, marked]
        return CrossMoments.of(full, own)

    def by_column(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        """A linear score is a sum over columns; in a quadratic one, each column is given the earlier ones."""
        found = {name: np.zeros(shape) for name in self.names}
        columns, centred = self.encoding.columns[self.varying], self.summary.centred(cells)
        z, absent = centred.z, centred.absent
        first, which, _ = distinct_patterns(absent)
        for pattern, row in enumerate(first if self.size else ()):
            seen, rows = np.flatnonzero(~absent[row]), np.flatnonzero(which == pattern)
            gaussians = self.gaussians if len(seen) == self.size else self.gaussians.over(seen)
            for column, part in zip(columns[seen], gaussians.each(z[np.ix_(rows, seen)]), strict=True):
                found[self.names[column]][rows] += self.weight * part
        return found

    def hidden(self, cells: Array, log_likelihood: Array) -> dict[str, Array]:
        """The contribution of each column given all others."""
        columns, z = self.encoding.columns[self.varying], self.summary.centred(cells).z
        found = {name: np.zeros_like(log_likelihood) for name in self.names}
        varying = np.unique(columns)
        places = [np.flatnonzero(columns == column) for column in varying]
        for column, without in zip(varying, self.gaussians.without_each(z, places), strict=True):
            found[self.names[column]] = log_likelihood - self.weight * without
        return found

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        """Each row is left out by a refit, which takes long for many features."""
        for i in range(len(cells)):
            self._without(cells[i], int(own.codes[i]), float(own.weight[i])).add(cells[i : i + 1], out[i : i + 1])

    def _without(self, row: Array, k: int, weight: float) -> OneHotLikelihood:
        mine = self.moments_of(row[None], Hard.of([k], len(self.moments.n.value), [weight]))
        return replace(self, moments=self.moments - mine, weight=1.0, known=None)

    def weighted(self, weights: Array) -> OneHotLikelihood:
        return replace(self, weight=float(weights[0]))

    def parameters(self) -> list[Parameter]:
        return []

    @property
    def free_parameters(self) -> int:
        d, classes = self.size, len(self.moments.n.value)
        return classes * d + d * (d + 1) // 2 * (1 if self._tied else classes)


def summary_of_moments(moments: CrossMoments, own: Positions, absent: Positions) -> FeatureMoments:
    """The summary from sums over rows, in pairs of floats.

    z = u - c + c·e, with u = 0 and e = 1 where a cell is missing; so Σzz′ follows from Σuu′, Σue′, Σee′, Σu, Σe.
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
    return FeatureMoments(centre, n.value, (away / rows).value, scatter.value, everyone.second.value[0, own, own])


def summary_of_rows(z: Array, own: Hard) -> FeatureMoments:
    """The summary from rows, NaN where a cell is missing: about each class's mean, without cancellation."""
    known = ~np.isnan(z)
    filled = np.where(known, z, 0.0)
    w = own.weight[:, None]
    n = np.maximum((w * known).sum(0), 1e-300)
    centre = (w * filled).sum(0) / n
    centred = np.where(known, z - centre, 0.0)
    count: Array = np.bincount(own.codes, own.weight, own.groups).astype(np.float64)
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
    return FeatureMoments(centre, count, mean, scatter, (w * filled**2).sum(0))


def _padded(x: Exact, axis: int) -> Exact:
    """The sums with a last entry of 0, for position -1."""
    width = [(0, int(i == axis)) for i in range(x.ndim)]
    return Exact(np.pad(x.high, width), np.pad(x.low, width))
