"""Made-up rows: drawn forward along the arrows, or from a junction tree where there is evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.engines import local
from credo.errors import DataError, SizeError
from credo.inference.estimates import drawn_forward, mixed_seed
from credo.inference.rows import states_array
from credo.inference.sizes import available

if TYPE_CHECKING:
    from credo.inference.findings import Given
    from credo.models.network import Network

ROWS = 2**16  # that one thread draws at a time


@dataclass(frozen=True)
class Part:
    """Some of the rows."""

    start: int
    rows: int


def drawn_table(net: Network, size: int, given: Given, seed: int | None) -> Any:
    """An Arrow table, a coded column for each variable."""
    import pyarrow as pa

    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows to draw must be whole and at least 0, but is {size!r}")
    if size * len(net.variables) > available():
        raise SizeError(f"{size} rows of {len(net.variables)} variables don't fit into memory: draw fewer at a time")
    seed = int(np.random.default_rng(seed).integers(2**62))
    codes = np.empty((len(net.variables), size), dtype=np.int8 if net.potentials.card.max() < 128 else np.int32)
    for _ in _drawn(net, given, seed, codes):
        pass
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array(own), states_array(values))
            for own, (name, values) in zip(codes, net.states.items(), strict=True)
        }
    )


def _drawn(net: Network, given: Given, seed: int, codes: NDArray[Any]) -> Iterator[None]:
    findings, size = net._findings(given), codes.shape[1]
    parts = (Part(start, min(ROWS, size - start)) for start in range(0, size, ROWS))
    if not given:
        draw = drawn_forward(net.potentials, findings, seed)

        def forward(part: Part) -> None:
            draw(part.start, codes[:, part.start : part.start + part.rows])

        return local.mapped(forward, parts)
    net._check(net.log_probability(given), given)
    tree, mixed = net.trees.for_all(findings), mixed_seed(seed)

    def from_tree(part: Part) -> None:
        tree.draw(findings, mixed, part.start, codes[:, part.start : part.start + part.rows])

    return local.mapped(from_tree, parts)
