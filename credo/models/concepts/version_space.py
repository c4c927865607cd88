"""The version space: all conjunctive concepts that agree with labelled rows, by its boundaries and by counting.

Concepts that cover all positive rows may ask, of each attribute, for the one value that all of these have, or for
nothing. Of those, the ones that cover no negative row are counted by the *sets of rows that concepts cover*, attribute
after attribute: many concepts cover the same rows, so there are far fewer sets than concepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credo.errors import SizeError
from credo.models.concepts.concept import ANY, Attributes, Concept, ConceptCodes
from credo.models.concepts.rows import LabelledRows
from credo.numerics.arrays import Integers

MOST_SETS = 2**18  # sets of rows that concepts cover
MOST_GENERAL = 2**12  # concepts in the general boundary
TOO_MANY_SETS = (
    f"the concepts cover more than {MOST_SETS:,} different sets of rows: too many to count them exactly. "
    "Use fewer attributes, or fewer distinct rows"
)


class AttributeConstraint(NamedTuple):
    """A constraint on one attribute; values that occur in the same rows are interchangeable."""

    values: tuple[int, ...]  # the codes of these values, or ANY alone
    covered: int  # the rows that it covers, one bit each


Options = Sequence[Sequence[AttributeConstraint]]  # the options of each attribute


def options(allowed: Sequence[Sequence[int]], rows: Integers) -> list[list[AttributeConstraint]]:
    """For each attribute: any value, each allowed value that occurs in the rows, and the allowed values that don't."""
    found = []
    for j, values in enumerate(allowed):
        masks: dict[int, int] = {}
        for i, code in enumerate(rows[:, j].tolist()):
            masks[code] = masks.get(code, 0) | 1 << i
        unseen = tuple(value for value in values if value not in masks)
        seen = [AttributeConstraint((value,), masks[value]) for value in values if value in masks]
        found.append(
            [
                AttributeConstraint((ANY,), (1 << len(rows)) - 1),
                *seen,
                *([AttributeConstraint(unseen, 0)] if unseen else []),
            ]
        )
    return found


def covered_sets(choices: Options, rows: int, excluded: int = 0) -> dict[int, int]:
    """How many conjunctions cover exactly each set of rows. {set: conjunctions}

    Sets with a row that must be excluded, but no longer can be, are dropped.
    """
    found = {(1 << rows) - 1: 1}
    for each, stuck in zip(choices, _stuck(choices, excluded), strict=True):
        following: dict[int, int] = {}
        for covered, times in found.items():
            for option in each:
                both = covered & option.covered
                if not both & stuck:
                    following[both] = following.get(both, 0) + times * len(option.values)
            if len(following) > MOST_SETS:
                raise SizeError(TOO_MANY_SETS)
        found = following
    return found


def _stuck(choices: Options, excluded: int) -> list[int]:
    """After each attribute: the rows that must be excluded but that no later attribute can exclude."""
    found, stuck = [], excluded
    for each in reversed(choices):
        found.append(stuck)
        for option in each:
            stuck &= option.covered
    return found[::-1]


@dataclass(frozen=True, eq=False)
class VersionSpace:
    """All concepts that agree with every row, between its most specific concept S and its most general ones, G."""

    attributes: Attributes
    rows: LabelledRows

    @cached_property
    def _specific(self) -> ConceptCodes | None:
        """What all positive rows have in common; None without such rows."""
        positives = self.rows.positives
        if not len(positives):
            return None
        same = (positives == positives[0]).all(axis=0)
        return tuple(np.where(same, positives[0], ANY).tolist())

    @property
    def specific(self) -> Concept:
        """S: the most specific concept that covers all positive rows."""
        return self.attributes.concept(self._specific)

    @cached_property
    def allowed(self) -> list[tuple[int, ...]]:
        """The values that a concept which covers all positive rows may require of each attribute."""
        if self._specific is None:
            return [tuple(range(len(each))) for each in self.attributes.values.values()]
        return [() if code == ANY else (code,) for code in self._specific]

    @cached_property
    def negatives(self) -> Integers:
        """The negative rows that matter: a concept that excludes them excludes all. (rows, attributes)"""
        negatives = self.rows.negatives
        if self._specific is None or not len(negatives):
            return negatives
        asked = np.array([j for j, code in enumerate(self._specific) if code != ANY], dtype=np.intp)
        differs = negatives[:, asked] != np.array(self._specific)[asked]
        _, places = np.unique(differs, axis=0, return_index=True)
        order = sorted(places.tolist(), key=lambda i: (int(differs[i].sum()), i))
        sets = [sum(1 << int(j) for j in np.flatnonzero(differs[i])) for i in order]
        smallest: list[int] = []
        kept = []
        for i, own in zip(order, sets, strict=True):
            if not any(each & own == each for each in smallest):
                smallest.append(own)
                kept.append(i)
        return negatives[kept]

    @cached_property
    def consistent(self) -> bool:
        """Whether any concept is left: S is, unless it covers a negative row."""
        return self.contradicted is None

    @property
    def contradicted(self) -> ConceptCodes | None:
        """A negative row that S covers, and so every concept that covers all positive rows."""
        if self._specific is None:
            return None
        covered = self._covers(self._specific, self.rows.negatives)
        return tuple(self.rows.negatives[int(np.argmax(covered))].tolist()) if covered.any() else None

    @staticmethod
    def _covers(codes: ConceptCodes, rows: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        wanted = np.array(codes)
        return np.asarray(((rows == wanted) | (wanted == ANY)).all(axis=1))

    @cached_property
    def size(self) -> int:
        """The exact number of concepts."""
        return self._counted(self.allowed) + (self._specific is None)

    def covering(self, row: Sequence[int]) -> int:
        """The number of concepts that cover a row."""
        return self._counted([tuple({code} & {*own}) for code, own in zip(row, self.allowed, strict=True)])

    def _counted(self, allowed: Sequence[Sequence[int]]) -> int:
        negatives = self.negatives
        every = (1 << len(negatives)) - 1
        return covered_sets(options(allowed, negatives), len(negatives), every).get(0, 0)

    @cached_property
    def general(self) -> tuple[Concept, ...]:
        """G: the most general concepts that agree with every row (candidate elimination)."""
        found: list[frozenset[tuple[int, int]]] = [frozenset()]
        for row in self.negatives.tolist():
            kept = [each for each in found if any(row[j] != value for j, value in each)]
            narrowed = {
                each | {(j, value)}
                for each in found
                if all(row[j] == value for j, value in each)
                for j, values in enumerate(self.allowed)
                for value in values
                if value != row[j] and not any(own == j for own, _ in each)
            }
            found = kept + [each for each in narrowed if not any(other <= each for other in kept)]
            if len(found) > MOST_GENERAL:
                raise SizeError(f"the general boundary has more than {MOST_GENERAL:,} concepts: too many to list")
        if not found and self._specific is None:
            return (self.specific,)
        width = len(self.allowed)
        coded = [tuple(dict(each).get(j, ANY) for j in range(width)) for each in found]
        order = sorted(coded, key=lambda codes: [(code == ANY, code) for code in codes])
        return tuple(self.attributes.concept(codes) for codes in order)

    def __contains__(self, concept: Concept) -> bool:
        codes = self.attributes.codes(concept)
        if codes is None:
            return self._specific is None
        positives, negatives = self.rows.positives, self.rows.negatives
        return bool(self._covers(codes, positives).all() and not self._covers(codes, negatives).any())

    def __iter__(self) -> Iterator[Concept]:
        """The concepts, generated lazily."""
        negatives = self.negatives
        choices = options(self.allowed, negatives)
        stuck = _stuck(choices, (1 << len(negatives)) - 1)

        def completed(codes: ConceptCodes, covered: int) -> Iterator[ConceptCodes]:
            if len(codes) == len(choices):
                yield codes
                return
            for option in reversed(choices[len(codes)]):
                both = covered & option.covered
                if not both & stuck[len(codes)]:
                    for value in option.values:
                        yield from completed((*codes, value), both)

        if self._specific is None:
            yield self.specific
        for codes in completed((), (1 << len(negatives)) - 1):
            yield self.attributes.concept(codes)

    def __repr__(self) -> str:
        general = ", ".join(map(repr, self.general))
        return f"S = {self.specific}\nG = {{{general}}}\n{self.size:,} concept{'s' * (self.size != 1)}"
