"""Priors of a network's tables: a Dirichlet for each row of each table, or maximum likelihood."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import prod
from numbers import Real
from typing import Any

from credo.errors import PriorError, suggest
from credo.families.dirichlet import DirichletCategorical

ML = "ml"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class BDeu:
    """Dirichlet(N / entries) on each row of a table with that many entries: a uniform network with an equivalent sample
    size of N.

    Networks that are Markov equivalent then have equal evidence (Buntine 1991; Heckerman et al. 1995).

    >>> BDeu(12).dirichlet((2, 3))
    DirichletCategorical(concentration=2)
    """

    sample_size: float = 1.0

    def __post_init__(self) -> None:
        if not is_size(self.sample_size):
            raise PriorError(f"BDeu: the equivalent sample size must be above 0, but is {self.sample_size!r:.60}")

    def dirichlet(self, shape: Shape) -> DirichletCategorical:
        """The prior of a table of that shape."""
        return DirichletCategorical(float(self.sample_size) / prod(shape))


def is_size(given: Any) -> bool:
    """Whether something is a number of cases."""
    return isinstance(given, Real) and given is not True and 0 < float(given) < float("inf")


TablePrior = DirichletCategorical | BDeu | None  # None: maximum likelihood


def dirichlet_of(prior: DirichletCategorical | BDeu, shape: Shape, name: str) -> DirichletCategorical:
    """The Dirichlet prior of each row of a table."""
    if isinstance(prior, BDeu):
        return prior.dirichlet(shape)
    own = prior.concentration.shape
    if any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)) or len(own) > len(shape):
        raise PriorError(f"the prior of {name!r} has the shape {own}, but its table has {shape}")
    return prior


@dataclass(frozen=True)
class TablePriors:
    """P(node | parents' states) ~ Dirichlet, independently for each of the parents' states. None: maximum likelihood.

    >>> TablePriors.of({"Fire": 5}, ["Storm", "Fire"])["Fire"]
    DirichletCategorical(concentration=5)
    >>> TablePriors.of("ml", ["Storm", "Fire"])["Fire"] is None
    True
    """

    default: TablePrior = field(default_factory=lambda: DirichletCategorical(1.0))
    by_label: Mapping[str, TablePrior] = field(default_factory=dict)

    @classmethod
    def of(cls, given: object, labels: Collection[str]) -> TablePriors:
        """Priors from "ml", a number l (Dirichlet(l)), a DirichletCategorical, a BDeu, or {node or label: any of
        these}."""
        if isinstance(given, TablePriors):
            return given
        if not isinstance(given, Mapping):
            return cls(_prior(given, "prior"))
        for unknown in (name for name in given if name not in labels):
            raise PriorError(f"a prior is for {unknown!r}, which isn't a node; {suggest(unknown, labels)}")
        return cls(by_label={name: _prior(each, f"the prior of {name!r}") for name, each in given.items()})

    def __getitem__(self, label: str) -> TablePrior:
        return self.by_label.get(label, self.default)

    def in_log_odds(self, shapes: Mapping[str, Shape]) -> TablePriors:
        """The priors with each concentration raised by 1: their mode is the mean under these priors.

        In log-odds (softmax) parameters a Dirichlet(α) has the density ∏ θᵥ^αᵥ, up to a constant. Its mode is α / A,
        which is positive for every α > 0; that of ∏ θᵥ^(αᵥ - 1) doesn't exist for α < 1, as BDeu has it.
        """
        found: dict[str, TablePrior] = {}
        for label, shape in shapes.items():
            own = self[label]
            found[label] = own and DirichletCategorical(dirichlet_of(own, shape, label).concentration + 1.0)
        return TablePriors(by_label=found)


def _prior(given: Any, what: str) -> TablePrior:
    if isinstance(given, BDeu):
        return given
    if isinstance(given, DirichletCategorical):
        if given.levels is not None:
            raise PriorError(f"{what} must have one concentration for all states, or an array, not named values")
        return given
    if isinstance(given, str) and given == ML:
        return None
    if isinstance(given, Real) and given is not True:
        return DirichletCategorical(float(given))
    raise PriorError(
        f"{what} must be 'ml', a concentration above 0, a DirichletCategorical or a BDeu, but is {given!r:.60}"
    )
