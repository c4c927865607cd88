"""The posterior over concepts, by what they cover: noise-free or with label noise, votes on rows, and the best query.

With label noise ε, a concept's likelihood is (1 − ε)^right ε^wrong. It depends on the concept only through its margin,
Σ (positive − negative) over the rows that it covers: concepts are counted by margins, never listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, log1p
from typing import Protocol

import numpy as np

from credo.errors import EvidenceError, SizeError
from credo.models.concepts.concept import ANY, Attributes, ConceptCodes
from credo.models.concepts.rows import LabelledRows
from credo.models.concepts.version_space import AttributeConstraint, VersionSpace, covered_sets, options
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

MOST_QUERY_CONCEPTS = 2**22  # entries of the array of concept weights behind the best query


class ConceptWeights(Protocol):
    """A posterior over concepts, under a uniform prior."""

    @property
    def log_likelihood_sum(self) -> float:
        """log Σ P(labels | concept), over all concepts."""

    def log_likelihood(self, codes: ConceptCodes | None) -> float:
        """log P(labels | concept)"""

    def posterior(self, codes: ConceptCodes | None) -> float:
        """P(concept | labels)"""

    def covering(self, row: Sequence[int]) -> float:
        """P(the concept covers the row | labels)"""

    def most_probable(self) -> ConceptCodes | None: ...

    def choices(self) -> tuple[list[list[AttributeConstraint]], Integers, Array]:
        """The options of each attribute, the rows that matter, and what covering each adds to log P."""


@dataclass(frozen=True, eq=False)
class Consistent:
    """Noise-free: the concepts of the version space, all equally probable."""

    space: VersionSpace

    @property
    def log_likelihood_sum(self) -> float:
        return log(self.space.size)

    def log_likelihood(self, codes: ConceptCodes | None) -> float:
        return 0.0 if self.space.attributes.concept(codes) in self.space else -np.inf

    def posterior(self, codes: ConceptCodes | None) -> float:
        return 1 / self.space.size if self.space.attributes.concept(codes) in self.space else 0.0

    def covering(self, row: Sequence[int]) -> float:
        return self.space.covering(row) / self.space.size

    def most_probable(self) -> ConceptCodes | None:
        """Find-S: all are equally probable, and S is one of them."""
        return self.space.attributes.codes(self.space.specific)

    def choices(self) -> tuple[list[list[AttributeConstraint]], Integers, Array]:
        negatives = self.space.negatives
        return options(self.space.allowed, negatives), negatives, np.full(len(negatives), -np.inf)


@dataclass(frozen=True, eq=False)
class Noisy:
    """With label noise: every concept is possible."""

    attributes: Attributes
    rows: LabelledRows
    noise: float

    @property
    def _log_odds(self) -> float:
        """log (1 − ε)/ε: the log-likelihood of a correct label minus that of a wrong one."""
        return log1p(-self.noise) - log(self.noise)

    @cached_property
    def _margins(self) -> Integers:
        return self.rows.counts[:, 1] - self.rows.counts[:, 0]

    @property
    def _nothing(self) -> float:
        """log P(labels | the concept that covers nothing)"""
        negative, positive = self.rows.counts.sum(axis=0).tolist()
        return float(negative * log1p(-self.noise) + positive * log(self.noise))

    @property
    def _allowed(self) -> list[tuple[int, ...]]:
        return [tuple(range(len(each))) for each in self.attributes.values.values()]

    def _summed(self, allowed: Sequence[Sequence[int]]) -> float:
        """log Σ exp(margin · log-odds) over conjunctions that ask for allowed values."""
        rows = len(self.rows.codes)
        sets = covered_sets(options(allowed, self.rows.codes), rows)
        logs = np.array([log(times) for times in sets.values()])
        return float(np.logaddexp.reduce(logs + self._log_odds * self._margin_of([*sets])))

    def _margin_of(self, sets: Sequence[int]) -> Array:
        """The sum of the margins of the rows in each set."""
        width = len(self._margins) // 8 + 1
        held = np.frombuffer(b"".join(each.to_bytes(width, "little") for each in sets), dtype=np.uint8)
        inside = np.unpackbits(held.reshape(len(sets), width), axis=1, bitorder="little", count=len(self._margins))
        return np.asarray(inside @ self._margins, dtype=np.float64)

    @cached_property
    def _relative(self) -> float:
        """log Σ P(labels | concept) over all concepts, relative to the one that covers nothing."""
        return float(np.logaddexp(self._summed(self._allowed), 0.0))

    @property
    def log_likelihood_sum(self) -> float:
        return self._nothing + self._relative

    def log_likelihood(self, codes: ConceptCodes | None) -> float:
        if codes is None:
            return self._nothing
        wanted = np.array(codes)
        covered = ((self.rows.codes == wanted) | (wanted == ANY)).all(axis=1)
        return self._nothing + self._log_odds * float(self._margins[covered].sum())

    def posterior(self, codes: ConceptCodes | None) -> float:
        return exp(self.log_likelihood(codes) - self.log_likelihood_sum)

    def covering(self, row: Sequence[int]) -> float:
        return float(np.exp(self._summed([(code,) for code in row]) - self._relative))

    def most_probable(self) -> ConceptCodes | None:
        """The concept with the largest margin; one concept is kept for each set of covered rows."""
        choices = options(self._allowed, self.rows.codes)
        covered_sets(choices, len(self.rows.codes))  # an error if there are too many
        found: dict[int, ConceptCodes] = {(1 << len(self.rows.codes)) - 1: ()}
        for each in choices:
            following: dict[int, ConceptCodes] = {}
            for covered, codes in found.items():
                for option in each:
                    following.setdefault(covered & option.covered, (*codes, option.values[0]))
            found = following
        margins = self._margin_of([*found])
        best = int(margins.argmax())
        return [*found.values()][best] if margins[best] > 0 else None

    def choices(self) -> tuple[list[list[AttributeConstraint]], Integers, Array]:
        return options(self._allowed, self.rows.codes), self.rows.codes, np.asarray(self._log_odds * self._margins)


def representatives(weights: ConceptWeights, attributes: Attributes, codes: Integers) -> Integers:
    """Rows with each value replaced by the first that concepts treat alike: far fewer of them differ."""
    choices, _, _ = weights.choices()
    found = np.empty_like(codes)
    for j, (each, levels) in enumerate(zip(choices, attributes.values.values(), strict=True)):
        table = np.full(len(levels), _other(each, len(levels)), dtype=np.int64)
        for option in each[1:]:
            table[[*option.values]] = option.values[0]
        found[:, j] = table[codes[:, j]]
    return found


def _other(choices: Sequence[AttributeConstraint], levels: int) -> int:
    """A value that no concept requires; ANY if there is none."""
    known = {value for option in choices for value in option.values}
    return next((value for value in range(levels) if value not in known), ANY)


def best_query(weights: ConceptWeights, attributes: Attributes, nothing: bool) -> ConceptCodes:
    """The row whose vote is nearest to half, over all rows there could be.

    Values that concepts treat alike are tried once. The weights of all concepts form an array with one axis per
    attribute; adding "?" to each value along every axis gives the votes on all rows at once.
    """
    choices, rows, gains = weights.choices()
    shape = [len(each) for each in choices]
    size = np.prod(shape, dtype=np.float64)
    if size * max(len(rows), 1) > MOST_QUERY_CONCEPTS * 16 or size > MOST_QUERY_CONCEPTS:
        raise SizeError("there are too many different queries to try all: give rows to choose from, candidates=...")
    log_weight = np.zeros(shape)
    for i, gain in enumerate(gains.tolist()):
        inside = np.ones((), dtype=bool)
        for each in choices:
            inside = inside[..., None] & np.array([bool(option.covered >> i & 1) for option in each])
        log_weight[inside] += gain
    top = max(float(log_weight.max()), 0.0)
    votes, total = np.exp(log_weight - top), np.exp(log_weight - top)
    tried: list[list[int]] = []
    for j, (each, levels) in enumerate(zip(choices, attributes.values.values(), strict=True)):
        others = [other for other in (_other(each, len(levels)),) if other != ANY]
        tried.append([option.values[0] for option in each[1:]] + others)
        times = np.array([len(option.values) for option in each], dtype=np.float64)
        total = np.tensordot(total, times, axes=(0, 0))
        free, asked = np.split(votes, [1], axis=j)
        votes = np.concatenate([free + asked, *([free] if others else [])], axis=j)
    share = votes / (float(total) + nothing * np.exp(-top))
    best = np.unravel_index(int(np.abs(share - 0.5).argmin()), share.shape)
    if not 0 < share[best] < 1:
        raise EvidenceError("no row is informative: all remaining concepts agree on every row")
    return tuple(tried[j][int(place)] for j, place in enumerate(best))
