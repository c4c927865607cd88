"""Random templates, and rows of them in which cells are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import credo
from credo.networks.templates import slices

ARROWS = {
    "chain": "previous(A) -> A -> B",
    "hidden between": "previous(A) -> H -> A; previous(A) -> A -> B; A, H -> C",
    "two chains": "previous(A) -> A -> C; previous(B) -> B -> C; A -> B",
    "coupled": "previous(A) -> A -> B; previous(A) -> D; A, D -> E; previous(B) -> B",
    "roots in the interface": "H -> X -> W; previous(X) -> Y -> Z; previous(Y) -> Y",
    "independent slices": "A -> B; A -> C",
    "autoregressive": "previous(A) -> A -> B; previous(B) -> B",
}
CARDS = {"A": 2, "B": 3, "C": 2, "D": 3, "E": 2, "H": 2, "W": 2, "X": 3, "Y": 2, "Z": 2}


def random_dynamic(arrows: str, seed: int = 0, zeros: bool = False) -> credo.DynamicNetwork:
    """Tables drawn from Dirichlet(1); with zeros, a quarter of the entries are impossible."""
    rng = np.random.default_rng(seed)
    parents = slices.slice_parents(arrows)

    def table(above: tuple[str, ...], name: str) -> Any:
        shape = [CARDS[slices.before(each) or each] for each in above]
        drawn = rng.dirichlet(np.ones(CARDS[name]), shape)
        if zeros:
            drawn *= rng.random(drawn.shape) > 0.25
            drawn[..., 0] += drawn.sum(-1) == 0
            drawn /= drawn.sum(-1, keepdims=True)
        return drawn

    tables = {name: table(parents[name], name) for name in parents}
    first = {name: table(slices.within(parents)[name], name) for name in slices.starting(parents)}
    return credo.DynamicNetwork(parents, tables, first, states_of(parents))


def states_of(names: Any) -> dict[str, tuple[str, ...]]:
    return {name: tuple(f"{name.lower()}{k}" for k in range(CARDS[name])) for name in names}


def with_gaps(table: Any, share: float, seed: int, keep: tuple[str, ...] = ("sequence",)) -> Any:
    """The table with cells missing at random."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in table.column_names:
        gone = rng.random(len(table)) < (0.0 if name in keep else share)
        columns[name] = pa.array([None if lost else value for value, lost in zip(table[name].to_pylist(), gone)])  # noqa: B905
    return pa.table({name: column.cast(table[name].type) for name, column in columns.items()})


def findings(table: Any, names: Any) -> dict[str, Any]:
    """The cells of one sequence, named as in the unrolled network."""
    rows = table.to_pylist()
    return {slices.at(name, t): row[name] for t, row in enumerate(rows) for name in names if row[name] is not None}
