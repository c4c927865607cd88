"""Priors of a network's tables: a Dirichlet for each, or maximum likelihood."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from credo.errors import PriorError, suggest
from credo.families.dirichlet import DirichletCategorical

ML = "ml"


@dataclass(frozen=True)
class TablePriors:
    """P(node | parents' states) ~ Dirichlet, independently for each of the parents' states. None: maximum likelihood.

    >>> TablePriors.of({"Fire": 5}, ["Storm", "Fire"])["Fire"]
    DirichletCategorical(concentration=5)
    >>> TablePriors.of("ml", ["Storm", "Fire"])["Fire"] is None
    True
    """

    default: DirichletCategorical | None = field(default_factory=lambda: DirichletCategorical(1.0))
    by_label: Mapping[str, DirichletCategorical | None] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, labels: Collection[str]) -> TablePriors:
        """From "ml", a number l (Dirichlet(l)), a DirichletCategorical, or {node or label: any of these}."""
        if isinstance(given, TablePriors):
            return given
        if not isinstance(given, Mapping):
            return cls(_prior(given, "prior"))
        for unknown in (name for name in given if name not in labels):
            raise PriorError(f"a prior is for {unknown!r}, which is no node; {suggest(unknown, labels)}")
        return cls(by_label={name: _prior(each, f"the prior of {name!r}") for name, each in given.items()})

    def __getitem__(self, label: str) -> DirichletCategorical | None:
        return self.by_label.get(label, self.default)


def _prior(given: Any, what: str) -> DirichletCategorical | None:
    if isinstance(given, DirichletCategorical):
        if given.levels is not None:
            raise PriorError(f"{what} must have a concentration for all states alike, or an array, not named values")
        return given
    if isinstance(given, str) and given == ML:
        return None
    if isinstance(given, Real) and given is not True:
        return DirichletCategorical(float(given))
    raise PriorError(f"{what} must be 'ml', a concentration above 0 or a DirichletCategorical, but is {given!r:.60}")
