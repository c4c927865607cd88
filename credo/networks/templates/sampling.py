"""Sampling sequences of a dynamic network, all sequences slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.data.free_names import free_name
from credo.models.hidden_markov.sampling import checked_lengths
from credo.networks import graph
from credo.networks.inference.rows import states_array
from credo.networks.templates import slices
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.templates.dynamic_network import DynamicNetwork


def sampled_slices(net: DynamicNetwork, lengths: int | Sequence[int], seed: int | None) -> pa.Table:
    """An Arrow table with the sequence and the states of each row."""
    import pyarrow as pa

    sizes = np.array(checked_lengths([lengths] if isinstance(lengths, int | np.integer) else lengths), dtype=np.intp)
    rng = np.random.default_rng(seed)
    chain, order = net.chain, graph.in_order(slices.within(net.parents))
    codes = {name: np.zeros((int(sizes.max(initial=0)), len(sizes)), dtype=np.int32) for name in net.parents}
    for t in range(int(sizes.max(initial=0))):
        going = np.flatnonzero(sizes > t)
        model = chain.later if t else chain.first
        for name in order:
            *above, _ = model.factors[name].scope
            given = [_at(codes, parent, t)[going] for parent in above]
            codes[name][t, going] = _drawn(model.factors[name].table[tuple(given)], len(going), rng)
    inside = np.arange(int(sizes.max(initial=0)))[:, None] < sizes
    number = np.broadcast_to(np.arange(len(sizes)), inside.shape)
    by = net.sequence or free_name("sequence", [*net.parents])
    columns = {by: pa.array(number.T[inside.T])}
    columns |= {name: states_array(net.states[name]).take(pa.array(codes[name].T[inside.T])) for name in net.parents}
    return pa.table(columns)


def _at(codes: dict[str, Codes], parent: str, t: int) -> Codes:
    meant = slices.before(parent)
    found: Codes = codes[parent][t] if meant is None else codes[meant][t - 1]
    return found


def _drawn(shares: Array, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A state drawn for each sequence; shares: (states,) for all, or (sequences, states)."""
    reached = np.cumsum(shares, axis=-1)
    u = rng.random(size) * (reached[..., -1] if reached.ndim > 1 else reached[-1])
    return np.asarray(np.minimum((reached <= u[:, None]).sum(-1), reached.shape[-1] - 1))
