"""Markov networks: factors over variables, without arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar

import numpy as np

from credo.errors import NetworkError, counted, suggest
from credo.networks.factor import Factor
from credo.networks.fixed import Fixed
from credo.networks.graphical_model import GraphicalModel
from credo.networks.refusals import Unlearned, refused
from credo.networks.tables import States, states_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MarkovNetwork(GraphicalModel, Unlearned):
    """P(all) ∝ ∏ factor: an undirected model, as a UAI file may hold.

    >>> net = MarkovNetwork({"a": (0, 1), "b": (0, 1)}, [Factor(("a", "b"), np.array([[3.0, 1.0], [1.0, 3.0]]))])
    >>> net.variables
    ('a', 'b')
    """

    _refused: ClassVar[Mapping[str, str]] = refused({
        "do effect counterfactual sensitivity d_separated": "it has no arrows, so nothing is a cause; "
        "credo.Network has arrows",
        "evidence_impact": "query gives P(variable | given), with each finding and without it",
        "plot": "a picture shows arrows, and it has none",
    })  # fmt: skip

    states: States
    factors: tuple[Factor, ...]

    directed: ClassVar[bool] = False

    def __init__(self, states: Mapping[str, Sequence[object]], factors: Iterable[Factor]) -> None:
        if not states:
            raise NetworkError("a network must have at least one variable")
        known = {name: states_of(name, values, None) for name, values in states.items()}
        made = tuple(factors)
        for factor in made:
            for unknown in (name for name in factor.scope if name not in known):
                raise NetworkError(f"a factor names {unknown!r}, which isn't a variable; {suggest(unknown, known)}")
            wanted = tuple(len(known[name]) for name in factor.scope)
            if factor.table.shape != wanted or len(set(factor.scope)) < len(factor.scope):
                raise NetworkError(f"a factor over {factor.scope} must have {wanted} numbers, not {factor.table.shape}")
            if not (np.isfinite(factor.table).all() and (factor.table >= 0).all()):
                raise NetworkError(f"a factor over {factor.scope} must have numbers of at least 0")
        object.__setattr__(self, "states", Fixed(known))
        object.__setattr__(self, "factors", made)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> MarkovNetwork:
        """Read from a UAI or JSON file."""
        from credo.formats import read_as

        return read_as(MarkovNetwork, path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a file, in the format of its extension."""
        from credo.formats import write

        write(self, path)

    def __eq__(self, other: object) -> bool:
        """Whether the states and the factors are the same, in the same order."""
        if not isinstance(other, MarkovNetwork):
            return NotImplemented
        if dict(self.states) != dict(other.states) or len(self.factors) != len(other.factors):
            return False
        pairs = zip(self.factors, other.factors, strict=True)
        return all(a.scope == b.scope and np.array_equal(a.table, b.table) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((tuple(self.states), tuple(factor.scope for factor in self.factors)))

    def __repr__(self) -> str:
        return f"MarkovNetwork of {counted(len(self.states), 'variable')} and {counted(len(self.factors), 'factor')}"
