"""Tables of distributions that aren't tables, computed at first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.nodes.node import Node


class LazyTables(Mapping[str, Array]):
    """{name: table} of a network, some of whose distributions aren't tables: theirs are computed at first use, and
    refused if they don't fit in memory."""

    def __init__(self, parameters: Mapping[str, Array], nodes: Mapping[str, Node]) -> None:
        self.parameters, self._nodes = parameters, nodes
        self._made: dict[str, Array] = {}

    def first_rows(self, name: str, shape: tuple[int, ...], most: int) -> Array:
        """The first rows of a table. (rows, own states)"""
        node: Any = self._nodes[name]
        if not hasattr(node, "table"):
            return self.parameters[name].reshape(-1, shape[-1])[:most]
        each = np.arange(min(prod(shape[:-1]), most))
        sizes = np.array(shape[-2::-1], dtype=np.int64)  # the last parent's state changes fastest
        cells = np.empty((len(each), len(sizes)), dtype=np.int64)
        for i, size in enumerate(sizes.tolist()):
            cells[:, len(sizes) - 1 - i] = each % size
            each = each // size
        return np.asarray(node.rows(self.parameters[name], cells))

    def __getitem__(self, name: str) -> Array:
        node, own = self._nodes[name], self.parameters[name]
        expand = getattr(node, "table", None)
        if expand is None:
            return own
        if name not in self._made:
            self._made[name] = expand(own)
            self._made[name].flags.writeable = False
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyTables, (self.parameters, self._nodes)
