"""Numbers that are independent given the class: Gaussian, or Gaussian in their logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.capabilities import (
    Completes,
    ExpectsHidden,
    Rounds,
    Tallies,
)
from credo.blocks.numbers.hidden_rows import Before, HiddenGroups, NormalColumns, expected_moments
from credo.blocks.numbers.independent_likelihood import NumbersLikelihood
from credo.blocks.numbers.logarithms import logarithms_of
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Hard, Membership, Soft
from credo.core.moments import Moments
from credo.core.soft_sums import FEW_SOFT_SUMS
from credo.data import Batch
from credo.data.batches import NumberMatrix
from credo.data.cells import LARGEST_NUMBER
from credo.data.schema import Column, Kind, Schema
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.blocks.tally import Tally


@dataclass(frozen=True)
class Numbers(Block, Completes, ExpectsHidden, Rounds, Tallies):
    """x | class ~ N(μ, σ²) for each column, or of log x with `logs`.

    The prior is NormalInverseGamma(pooled mean, s, 1 + s/2, s · pooled variance/2) with the strength s, like s rows
    with the pooled mean and variance in each class. A column without variance is ignored.
    """

    names: tuple[str, ...]
    logs: bool = False
    strict: frozenset[str] = frozenset()  # columns in which a number without a logarithm is an error
    dates: bool = False  # whether the numbers are days since 1970
    blur: tuple[float, ...] = ()  # δ²/12 of each column, for rounded numbers

    @property
    def label(self) -> Label:
        return Label("logarithms" if self.logs else "dates" if self.dates else "numbers")

    @property
    def kind(self) -> Kind:
        return "date" if self.dates else "number"

    @property
    def counted(self) -> frozenset[Any]:
        return frozenset({(self.label, self.names)})

    def keeps(self, label: Label) -> bool:
        return label == self.label

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        if self.logs:
            statistics = Moments.of(logarithms_of(batch, self.names, self.strict), member)
        else:
            statistics = Moments.of_tiles(self._tiles(batch, member), len(self.names), member)
            if not (statistics.second.high < LARGEST_NUMBER**2).all():
                batch.matrix(self.names)  # raises an error that names the wrong cell
        return self._evidence(statistics, groups)

    def rounded(self, steps: Mapping[str, float]) -> Numbers:
        return replace(self, blur=tuple(steps.get(name, 0.0) ** 2 / 12 for name in self.names))

    def expected(self, batch: Batch, member: Soft, groups: str, now: Likelihood | None) -> Evidence:  # noqa: ARG002
        evidence = self.summarise(batch, member, groups)
        return self._evidence(self._blurred(evidence[self.label]), groups) if self.blur else evidence

    def _blurred(self, moments: Moments) -> Moments:
        """The moments of numbers before rounding."""
        n, first, second = moments.sums
        return Moments(n, first, second + n * Exact.of(np.array(self.blur))) if self.blur else moments

    def _evidence(self, statistics: Moments, groups: str) -> Evidence:
        return Evidence(_schema(self.names, self.kind), {self.label: Part((groups, None), statistics)})

    def expected_hidden(
        self, batch: Batch, before: Before, groups: str, now: Likelihood
    ) -> tuple[Evidence, HiddenGroups] | None:
        law = now.normals if isinstance(now, NumbersLikelihood) else None
        return None if law is None else self.expected_of_normals(batch, before, groups, law)

    def expected_of_normals(
        self, batch: Batch, before: Before, groups: str, law: NormalColumns
    ) -> tuple[Evidence, HiddenGroups] | None:
        """The expected statistics of normal columns; None for so few rows that NumPy is faster than loading Numba."""
        x = batch.encoded(NumberMatrix(self.names))
        if x.size * len(before.log_shares) < FEW_SOFT_SUMS:
            return None
        statistics, found = expected_moments(x, before, law)
        return self._evidence(self._blurred(statistics), groups), found

    def _tiles(self, batch: Batch, member: Membership) -> Iterable[tuple[int, Array]]:
        """Tiles of the rows; under soft membership they are cached, since EM reads rows repeatedly."""
        return batch.tiles(self.names) if isinstance(member, Hard) else [(0, batch.encoded(NumberMatrix(self.names)))]

    def taken_from(self, evidence: Evidence, wider: Numbers) -> Evidence:
        """This block's part of the evidence of a block with more columns."""
        places = np.array([wider.names.index(name) for name in self.names], dtype=np.intp)
        part = evidence.parts[self.label]
        own = Part(part.axes, part.statistics.take(1, places))
        return Evidence(evidence.schema, {**evidence.parts, self.label: own})

    def likelihood(self, evidence: Evidence, settings: Settings) -> NumbersLikelihood:
        blur = np.array(self.blur) if self.blur else None
        return NumbersLikelihood(self.names, self.logs, evidence[self.label], settings, dates=self.dates, blur=blur)

    def tally(self, evidence: Evidence) -> Tally:
        from credo.blocks.numbers.tallies import NumbersTally

        def logs(x: Array, number: int) -> Array:
            return logarithms_of(Batch(number, 1, {}, x, self.names), self.names, self.strict)

        return NumbersTally(self.names, self.label, evidence[self.label], logs if self.logs else None, self.kind)


@cache
def _schema(names: tuple[str, ...], kind: Kind) -> Schema:
    """The schema, shared by all batches, so that merging is fast."""
    return Schema(tuple(Column(name, kind) for name in names))
