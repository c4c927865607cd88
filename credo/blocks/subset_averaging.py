"""Averaging over all subsets of columns that depend on the class (Dash & Cooper 2002).

Under a uniform prior over the 2^d structures, the averaged P(x, class | data) is a product: each column's factor is
w p(x | class) + (1 - w) p(x) with w = p(cells | classes)/(p(cells | classes) + p(cells)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from credo.blocks.block import Likelihood, Parameter
from credo.blocks.capabilities import (
    Averageable,
    CountsIgnored,
    Draws,
    Ignored,
    Independent,
    KnowsFarRows,
    SharedFactor,
    Tabular,
    WordByWord,
    read_counting_ignored,
)
from credo.core.membership import Hard
from credo.core.statistics import Positions
from credo.data import Batch
from credo.numerics.exact import Array

CERTAIN_LOG_ODDS = 40.0  # beyond this, the less probable case is lost in rounding
ROW_LOG_ODDS = 1000.0  # more than a row of weight 1 changes the log-odds of a column of tables


@dataclass(frozen=True, eq=False)
class Averaged(Independent, CountsIgnored, SharedFactor, Draws):
    """log Πⱼ (wⱼ p(xⱼ | class) + (1 - wⱼ) p(xⱼ))."""

    dependent: Averageable
    weights: Array | None = None
    part_of: tuple[Averaged, Positions] | None = None  # the whole, which computes values of all columns once

    @property
    def names(self) -> tuple[str, ...]:
        return self.dependent.names

    @cached_property
    def alike(self) -> Averageable:
        """The likelihood if no column depends on the class."""
        if self.part_of is not None:
            whole, at = self.part_of
            return whole.alike.pick(at.tolist())
        return self.dependent.as_one()

    @cached_property
    def log_odds(self) -> Array:
        """The log-odds that a column depends on the class. (columns,)"""
        if self.part_of is not None:
            whole, at = self.part_of
            return whole.log_odds[at]
        return self.dependent.log_evidence() - self.alike.log_evidence()

    def read(self, batch: Batch) -> Any:
        return self.dependent.read(batch)

    def read_counting_ignored(self, batch: Batch) -> tuple[Any, Ignored]:
        return read_counting_ignored(self.dependent, batch)

    def base(self, cells: object) -> Array | float:
        shared = SharedFactor.of(self.dependent)
        return 0.0 if shared is None else shared.base(cells)

    @cached_property
    def _tables(self) -> Likelihood | None:
        """The mixture as tables, if the likelihood has tables."""
        tables = Tabular.of(self.dependent)
        if tables is None:
            return None
        found = tables.averaging(_share(self.log_odds))
        return found if self.weights is None else found.weighted(self.weights)

    def add(self, cells: object, out: Array) -> None:
        if self._tables is not None:
            self._tables.add(cells, out)
            return
        apart, alike = KnowsFarRows.of(self.dependent), KnowsFarRows.of(self.alike)
        far = None if apart is None or alike is None else apart.far(cells, alike, self.log_odds, CERTAIN_LOG_ODDS)
        if apart is None or far is None or far.all():
            self._add_mixed(cells, np.arange(len(self.names)), out)
            return
        surely, hardly, before = self.log_odds > CERTAIN_LOG_ODDS, self.log_odds < -CERTAIN_LOG_ODDS, out[far]
        if surely.any():
            self.dependent.weighted(self._weights * surely).add(cells, out)
        if hardly.any():
            same = np.zeros((len(out), 1))
            self.alike.weighted(self._weights * hardly).add(cells, same)
            out += same
        self._add_mixed(cells, np.flatnonzero(~surely & ~hardly), out)
        if far.any():
            self._add_mixed(apart.rows_of(cells, far), np.arange(len(self.names)), before)
            out[far] = before

    @property
    def _weights(self) -> Array:
        return np.ones(len(self.names)) if self.weights is None else self.weights

    def _add_mixed(self, cells: object, columns: Positions, out: Array) -> None:
        """Add the mixtures of some columns, column by column."""
        for j in columns.tolist():
            own, same = np.zeros_like(out), np.zeros((len(out), 1))
            part = self.dependent.cells_of(cells, [j])
            self.dependent.pick([j]).weighted(np.ones(1)).add(part, own)
            self.alike.pick([j]).add(part, same)
            out += self._weights[j] * _mixed(own, same, self.log_odds[j])

    def add_left_out(self, cells: object, own: Hard, out: Array) -> None:
        everyone = Hard(np.zeros_like(own.codes), 1, own.weight)
        for j in range(len(self.names)):
            part, dependent, alike = self.dependent.cells_of(cells, [j]), self.dependent.pick([j]), self.alike.pick([j])
            apart, same = np.zeros_like(out), np.zeros((len(out), 1))
            dependent.add_left_out(part, own, apart)
            if self._tables is not None and self.log_odds[j] > CERTAIN_LOG_ODDS + ROW_LOG_ODDS * max(
                1.0, own.weight.max(initial=0.0)
            ):
                out += apart
                continue
            alike.add_left_out(part, everyone, same)
            odds = dependent.log_evidence_left_out(part, own) - alike.log_evidence_left_out(part, everyone)
            out += _mixed(apart, same, odds[:, None])

    def pick(self, places: Sequence[int]) -> Self:
        at, weights = np.array(places, dtype=np.intp), None if self.weights is None else self.weights[places]
        part = (self, at) if self.part_of is None else (self.part_of[0], self.part_of[1][at])
        return replace(self, dependent=self.dependent.pick(places), weights=weights, part_of=part)

    def cells_of(self, cells: object, places: Sequence[int]) -> Any:
        return self.dependent.cells_of(cells, places)

    def weighted(self, weights: Array) -> Self:
        return replace(self, weights=weights)

    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Each cell from one of the two cases, drawn for each row."""
        apart = Draws.needed(self.dependent).sample(classes, rng)
        same = Draws.needed(self.alike).sample(np.zeros_like(classes), rng)
        drawn = {}
        for name, odds in zip(self.names, self.log_odds, strict=True):
            depends = rng.random(len(classes)) < _share(odds)
            drawn[name] = np.where(depends, apart[name], same[name])
        return drawn

    def parameters(self) -> list[Parameter]:
        return self.dependent.parameters()

    @property
    def free_parameters(self) -> int:
        return self.dependent.free_parameters


@dataclass(frozen=True, eq=False)
class AveragedText(Averaged, WordByWord):
    """The average for a text, with contributions of words."""

    @property
    def surely(self) -> Likelihood:
        """The weighted likelihood if the column depends on the class."""
        return self.dependent.weighted(self._weights)

    @property
    def reading(self) -> Any:
        return WordByWord.needed(self.dependent).reading

    def words_of(self, cells: object) -> dict[str, Array]:
        """Words' log-likelihoods, shrunk towards the pooled ones by the same factor as that of the text."""
        both = (each.weighted(np.ones(1)) for each in (self.dependent, self.alike))
        own, alike = (WordByWord.needed(each).words_of(cells) for each in both)
        nothing = np.zeros(1)
        far, near = sum(own.values(), nothing), sum(alike.values(), nothing)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (_mixed(far, near, self.log_odds) - near) / (far - near)
        part = np.where(np.isfinite(part), part, 1.0)
        return {word: self._weights[0] * (alike[word] + part * (own[word] - alike[word])) for word in own}


def averaged(likelihood: Likelihood) -> Likelihood:
    """The likelihood averaged over all subsets of its columns, if that is possible."""
    dependent = Averageable.of(likelihood)
    if dependent is None:
        return likelihood
    return Averaged(dependent) if WordByWord.of(likelihood) is None else AveragedText(dependent)


def _mixed(own: Array, same: Array, log_odds: Array) -> Array:
    """log(w exp(own) + (1 - w) exp(same))."""
    return np.logaddexp(own - np.logaddexp(0.0, -log_odds), same - np.logaddexp(0.0, log_odds))


def _share(log_odds: Any) -> Array:
    """The probability from log-odds of any size."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))
