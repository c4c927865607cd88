"""All columns together as one Gaussian: numbers as they are, each value of a category as a column of 0 and 1.

A missing cell counts as the mean: so one table of moments serves all rows, and adds. That is a rougher view than
summing missing cells out, and a good one beside others: tuning weighs it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from credo.blocks.block import NEW, Block, Likelihood, Parameter, Settings, Silence
from credo.blocks.covariances import log_densities, log_density, spread, squared_distances
from credo.data import Batch
from credo.data.cells import codes_among
from credo.evidence import Evidence, Part
from credo.exact import Array, Exact
from credo.membership import Hard
from credo.schema import Column, Schema
from credo.statistics import CrossMoments, Positions

FEATURES = "(features)"  # the axis of the moments; no column may be called so
LABEL = "(together)"


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

    Σ ~ inverse Wishart, worth d + 2 rows of the pooled variances for d features; μ worth `strength` rows.
    """

    names: tuple[str, ...]
    categories: frozenset[str]  # which of them
    covariance: Literal["tied", "full"]

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({("together", self.names)})

    def labels(self, evidence: Evidence) -> Sequence[str]:  # noqa: ARG002 - the same, whatever was seen
        return (LABEL,)

    def summarise(self, batch: Batch, member: Hard, groups: str) -> Evidence:
        features: dict[str, Array] = {}
        for name in self.names:
            features |= self._values(batch, name) if name in self.categories else _numbers(batch, name)
        z = np.column_stack([np.empty((batch.rows, 0)), *features.values()])  # there may be no features at all
        moments = CrossMoments.of(z, member)
        levels = pa.array(list(features), pa.string())
        return Evidence(
            Schema((Column(FEATURES, "category", levels),)), {LABEL: Part((groups, FEATURES, FEATURES), moments)}
        )

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

    @property
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
            kept = [value_feature(name, value) in self.place for value in self.values[name].to_pylist()]
            at = np.where(kept, np.cumsum(kept) - 1, -1)
            known = np.flatnonzero(codes >= 0)
            known = known[at[codes[known]] >= 0]
            z[known, j + at[codes[known]]] = 1.0
            z[codes < 0, j : j + int(sum(kept))] = np.nan
            j += int(sum(kept))
        return z


@dataclass(frozen=True, eq=False)
class TogetherLikelihood(Likelihood):
    """log p(z | class), up to what the classes share: linear in z where Σ is shared, else Student's t."""

    encoding: Encoding
    covariance: Literal["tied", "full"]
    moments: CrossMoments
    settings: Settings
    weight: float = 1.0

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
    def centre(self) -> Array:
        """The mean of each feature's known cells."""
        everyone, (own, absent) = self.moments.pooled(), self._places
        known = everyone.n.value[0] - np.where(absent >= 0, everyone.first.value[0, absent], 0.0)
        total = everyone.first.value[0, own]
        return np.asarray(np.where(known > 0, total / np.where(known > 0, known, 1.0), 0.0))

    @cached_property
    def centred(self) -> tuple[Array, Array, Array]:
        """n, mean and scatter of features about the centre, missing ones being 0 there. (classes[, d[, d]])

        z = u - c + c·e, u being 0 and e being 1 where a cell is missing; so Σzz′ follows from Σuu′, Σue′, Σee′, Σu, Σe.
        """
        n, first, second = self.moments.n, _padded(self.moments.first, 1), _padded(_padded(self.moments.second, 1), 2)
        own, absent = self._places
        c = Exact.of(self.centre)
        u, e, rows = first.take(1, own), first.take(1, absent), n[:, None]
        total = u - c * rows + c * e
        column, row = c[:, None], c[None, :]

        def products(a: Positions, b: Positions) -> Exact:
            return second.take(1, a).take(2, b)

        def swapped(x: Exact) -> Exact:
            return Exact(x.high.swapaxes(1, 2), x.low.swapaxes(1, 2))

        mixed = (products(own, absent) - u[:, :, None]) * row
        missing = (products(absent, absent) - e[:, :, None] - e[:, None, :] + rows[:, :, None]) * column * row
        squares = products(own, own) + mixed + swapped(mixed) + missing
        scatter = squares - (total / rows)[:, :, None] * total[:, None, :]
        return n.value, (total / rows).value, scatter.value

    @cached_property
    def everyone(self) -> tuple[Array, Array]:
        """Mean and variance of each feature, all classes together."""
        n, mean, scatter = self.centred
        rows = max(float(n.sum()), 1e-300)
        place = n @ mean / rows
        within = np.diagonal(scatter, axis1=1, axis2=2).sum(0)
        return place, (within + n @ (mean - place) ** 2) / rows

    @cached_property
    def spoken(self) -> Positions:
        """Features with any variance."""
        n, (_, variance) = self.moments.n.value.sum(), self.everyone
        own, _ = self._places
        size = self.moments.pooled().second.value[0, own, own] / max(n, 1.0)
        return np.flatnonzero(variance > 1e-14 * size)

    @property
    def size(self) -> int:
        return len(self.spoken)

    @cached_property
    def belief(self) -> Any:
        n, mean, scatter = self.centred
        place, variance = (part[self.spoken] for part in self.everyone)
        inside = np.ix_(np.arange(len(n)), self.spoken, self.spoken)
        rows = self.size + 2.0
        return spread(
            n, mean[:, self.spoken], scatter[inside], place, variance, self.settings.strength, self._tied, rows
        )

    @property
    def _tied(self) -> bool:
        return self.covariance == "tied"

    @cached_property
    def linear(self) -> tuple[Array, Array]:
        """Slopes and halves of each feature: its part of the log-likelihood is slope·z - half. (d, classes)"""
        mean, covariance = self.belief.mean, self.belief.scale[0] / (self.belief.degrees[0] - self.size - 1)
        slope = np.linalg.solve(covariance, mean.T)
        return slope, 0.5 * slope * mean.T

    @cached_property
    def _whitened(self) -> tuple[Array, Array, Array, Array]:
        belief = self.belief
        degrees = belief.degrees - self.size + 1
        root = np.linalg.cholesky(belief.scale * ((1 + 1 / belief.strength) / degrees)[:, None, None])
        log_determinant = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        return belief.mean, np.linalg.inv(root), log_determinant, degrees

    def _about_centre(self, cells: Array) -> Array:
        z = (cells - self.centre)[:, self.spoken]
        return np.where(np.isnan(z), 0.0, z)

    def add(self, cells: Array, out: Array) -> None:
        if not self.size or not self.weight:
            return
        z = self._about_centre(cells)
        if self._tied:
            slope, half = self.linear
            out += self.weight * (z @ slope - half.sum(0))
            return
        mean, white, log_determinant, degrees = self._whitened
        squared = squared_distances(z, mean, white, shared=False)
        out += self.weight * log_density(squared, log_determinant, degrees, self.size)

    def said(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:
        """A linear score is a sum over columns anyway; of a quadratic one, each adds to those before it."""
        found = {name: np.zeros(shape) for name in self.names}
        z, columns = self._about_centre(cells), self.encoding.columns[self.spoken]
        if self._tied:
            slope, half = self.linear
            each = [z[:, j, None] * slope[j] - half[j] for j in range(self.size)]
        else:
            mean, white, _, degrees = self._whitened
            each = log_densities(z, mean, white, degrees)
        for column, said in zip(columns, each, strict=True):
            found[self.names[column]] += self.weight * said
        return found

    def add_left_out(self, cells: Array, own: Hard, out: Array) -> None:
        """Each row by a refit without it: many features take a while."""
        for i in range(len(cells)):
            self._without(cells[i], int(own.codes[i]), float(own.weight[i])).add(cells[i : i + 1], out[i : i + 1])

    def _without(self, row: Array, k: int, weight: float) -> TogetherLikelihood:
        own, absent = self._places
        full = np.zeros((1, self.moments.first.shape[1]))
        unknown = np.isnan(row)
        full[0, own] = np.where(unknown, 0.0, row)
        full[0, absent[unknown & (absent >= 0)]] = 1.0
        mine = CrossMoments.of(full, Hard.of([k], len(self.moments.n.value), [weight]))
        return replace(self, moments=self.moments - mine, weight=1.0)

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


def _padded(x: Exact, axis: int) -> Exact:
    """With a last entry of 0, which the place -1 finds."""
    width = [(0, int(i == axis)) for i in range(x.ndim)]
    return Exact(np.pad(x.high, width), np.pad(x.low, width))
