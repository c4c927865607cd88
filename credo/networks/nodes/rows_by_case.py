"""The common base of trees, default tables and rules: each configuration of the parents selects a row of
probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.errors import NetworkError
from credo.networks.nodes.automaton import AutomatonNode
from credo.networks.nodes.distribution import Distribution, NodeFamily
from credo.networks.tables import row_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.answers import Posterior


class RowsByCase(Distribution):
    """A distribution with one row for each case of the parents."""

    @abstractmethod
    def rows(self, node: AutomatonNode) -> Array:
        """The parameters, checked. (rows, own states)"""

    @abstractmethod
    def with_rows(self, node: AutomatonNode, rows: Array) -> Self:
        """The distribution with these parameters."""


def check_parents(family: NodeFamily, what: str) -> None:
    if not family.parents:
        raise NetworkError(f"{family.name!r} is a {what}, but has no parents: give it a table")


def stacked(family: NodeFamily, rows: Iterable[tuple[str, Any]]) -> Array:
    """The given rows as an array."""
    return np.array([row_of(family.name, row, family.own, where) for where, row in rows])


def named_row(own: Sequence[object], row: Array) -> Posterior:
    return dict(zip(own, row.tolist(), strict=True))
