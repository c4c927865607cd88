"""Sampled sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.data.cells import instants
from credo.data.free_names import free_name
from credo.errors import DataError, check_seed

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.models.hidden_markov.model import HiddenMarkov


def sampled_sequences(model: HiddenMarkov, lengths: int | Sequence[int], seed: Any) -> pa.Table:
    """An Arrow table: the columns, the state of each row, and which sequence it is in."""
    import pyarrow as pa

    sizes = checked_lengths([lengths] if isinstance(lengths, int | np.integer) else lengths)
    rng = np.random.default_rng(check_seed(seed) if isinstance(seed, int | float | str) else seed)
    chain = model.chain
    positions = [_walk(chain.links.initial, chain.links.transitions, size, rng) for size in sizes]
    codes = chain.pattern.positions[np.concatenate([np.empty(0, dtype=np.intp), *positions])]
    drawn = chain.emission.conditional.sample(chain.emission.drawn_groups(codes, rng), rng)
    drawn |= {name: instants(drawn[name]) for name, forms in model.views.items() if forms[0] == "date"}
    columns = {name: pa.array(drawn[name], from_pandas=True) for name in model.views if name in drawn}
    by = model.sequence or free_name("sequence", [*columns, str(model.column)])
    number = np.repeat(np.arange(len(sizes)), sizes)
    return pa.table({by: pa.array(number), **columns, str(model.column): pa.array([model.names[k] for k in codes])})


def checked_lengths(lengths: Any) -> list[int]:
    """The lengths of sequences: whole numbers of at least 0."""
    try:
        sizes = [int(size) for size in lengths]
    except (TypeError, ValueError):
        raise DataError(f"lengths must be whole numbers, but are {lengths!r:.60}") from None
    if any(size < 0 or size != given for size, given in zip(sizes, lengths, strict=True)):
        raise DataError(f"lengths must be whole and at least 0, but are {lengths!r:.60}")
    return sizes


def _walk(initial: Any, transitions: Any, rows: int, rng: np.random.Generator) -> Any:
    """The sampled positions of one sequence."""
    found = np.empty(rows, dtype=np.intp)
    reached = np.cumsum(transitions, axis=1)
    first = np.cumsum(initial)
    for t, u in enumerate(rng.random(rows)):
        row = first if t == 0 else reached[found[t - 1]]
        found[t] = min(int(np.searchsorted(row, u * row[-1], side="right")), len(row) - 1)
    return found
