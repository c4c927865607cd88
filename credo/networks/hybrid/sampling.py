"""Rows drawn from a hybrid network, given evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, EvidenceError, check_seed
from credo.networks.hybrid.estimates import Drawing
from credo.networks.hybrid.exact import IMPOSSIBLE
from credo.networks.hybrid.findings import HybridFindings
from credo.networks.inference.findings import Given
from credo.networks.inference.rows import states_array
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

PROPOSALS = 20  # draws for each row that is wanted, where they are weighed
FEWEST = 20_000  # draws that are weighed


def sampled_table(net: HybridNetwork, size: int, given: Given, seed: int | None) -> Any:
    """Forward, each variable given its parents; evidence below others is weighed, and draws resampled by weight."""
    import pyarrow as pa

    net._check_nodes()
    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows must be whole and at least 0, but is {size!r:.60}")
    check_seed(seed)
    findings = HybridFindings.of(net, given)
    random = np.random.default_rng(seed)
    above = {*findings.values} - {*net.done} | {*findings.intervals, *findings.states, *findings.likelihoods}
    weighed = bool(above)
    draws = max(PROPOSALS * int(size), FEWEST) if weighed and size else int(size)
    names = tuple(name for name in net.parents if name in net.numbers)
    making = Drawing(net, findings, names, draws, random)
    numbers, _ = making.forward([*net.parents])
    chosen = _resampled(making.log_weight, int(size), random) if weighed and size else np.arange(int(size))
    columns: dict[str, Any] = {}
    for name in net.parents:
        if name in net.numbers:
            columns[name] = pa.array(numbers[chosen, names.index(name)])
        else:
            columns[name] = states_array(net.states[name]).take(pa.array(making.codes[name][chosen]))
    return pa.table(columns)


def _resampled(log_weight: Array, size: int, random: np.random.Generator) -> Any:
    top = float(log_weight.max())
    if not np.isfinite(top):
        raise EvidenceError(f"{IMPOSSIBLE}, or so small that no draw hit it")
    weight = np.exp(log_weight - top)
    weight /= weight.sum()
    effective = 1.0 / float(weight @ weight)
    if effective < size:
        tell(f"rows are draws weighed by the evidence, about as good as {effective:.2g} independent rows")
    return random.choice(len(weight), size, p=weight)
