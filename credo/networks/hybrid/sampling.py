"""Rows drawn from a hybrid network, given evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, EvidenceError, SizeError, check_seed
from credo.networks.hybrid.exact import IMPOSSIBLE_EVIDENCE, ExactQuery
from credo.networks.hybrid.findings import HybridFindings
from credo.networks.hybrid.likelihood_weighting import WeightedSampler
from credo.networks.inference.findings import Given
from credo.networks.inference.rows import states_array
from credo.notices import tell
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.hybrid.network import HybridNetwork

DRAWS_PER_ROW = 20  # weighted draws per requested row
FEWEST_DRAWS = 20_000  # weighted draws


def sampled_table(net: HybridNetwork, size: int, given: Given, seed: int | None) -> pa.Table:
    """Without evidence, each variable is sampled given its parents. Otherwise the categories that numbers depend on are
    sampled from their posterior, then the other categories, then the numbers; if that isn't possible, draws are
    weighted."""
    import pyarrow as pa

    net._check_nodes()
    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows must be whole and at least 0, but is {size!r:.60}")
    random = np.random.default_rng(None if seed is None else check_seed(seed))
    findings = HybridFindings.of(net, given)
    names = tuple(name for name in net.parents if name in net.numbers)
    if not findings.names - {*net.done} or not size:
        making = WeightedSampler(net, findings, names, int(size), random)
        codes, numbers = making.codes, making.forward([*net.parents])[0]
    else:
        codes, numbers = _given_findings(net, findings, names, int(size), random)
    columns: dict[str, Any] = {}
    for name in net.parents:
        if name in net.numbers:
            columns[name] = pa.array(numbers[:, names.index(name)])
        else:
            columns[name] = states_array(net.states[name]).take(pa.array(codes[name]))
    return pa.table(columns)


def _given_findings(
    net: HybridNetwork, findings: HybridFindings, names: tuple[str, ...], size: int, random: np.random.Generator
) -> tuple[dict[str, Positions], Array]:
    try:
        return _exactly(net, findings, names, size, random)
    except SizeError:
        making = WeightedSampler(net, findings, names, max(DRAWS_PER_ROW * size, FEWEST_DRAWS), random)
        numbers, _ = making.forward([*net.parents])
        chosen = _resampled(making.log_weight, size, random)
        return {name: own[chosen] for name, own in making.codes.items()}, numbers[chosen]


def _exactly(
    net: HybridNetwork, findings: HybridFindings, names: tuple[str, ...], size: int, random: np.random.Generator
) -> tuple[dict[str, Positions], Array]:
    """Categories by the chain rule: each from its posterior given those before it."""
    if net.logistic:
        raise SizeError("logistic nodes: draws are weighted")
    free = [name for name in net.parents if name not in findings.hard]
    inference = ExactQuery.of(net, free, findings, {"method": "exact"})
    told = [each.component.switches for each in inference.solutions if each.component.informs]
    switches = list(dict.fromkeys(name for own in told for name in own))
    shares = inference.shares(switches)
    drawn = random.choice(len(shares), size, p=shares / shares.sum())
    making = WeightedSampler(net, findings, names, size, random)
    shape = [len(net.states[name]) for name in switches]
    for cell in np.unique(drawn).tolist():
        rows = np.flatnonzero(drawn == cell)
        known = dict(zip(switches, np.unravel_index(cell, shape) if shape else (), strict=True))
        making.draw_categories(rows, findings.states | {name: int(code) for name, code in known.items()})
    means, covariances = making.given_categories([*net.parents])
    return making.codes, _joint_draws(means, covariances, random)


def _joint_draws(means: Array, covariances: Array, random: np.random.Generator) -> Array:
    """Joint draws from a Gaussian for each row; some numbers may have variance 0."""
    values, vectors = np.linalg.eigh(covariances)
    noise = np.sqrt(np.maximum(values, 0.0)) * random.standard_normal(means.shape)
    return np.asarray(means + np.einsum("nij,nj->ni", vectors, noise))


def _resampled(log_weight: Array, size: int, random: np.random.Generator) -> Any:
    top = float(log_weight.max())
    if not np.isfinite(top):
        raise EvidenceError(f"{IMPOSSIBLE_EVIDENCE}, or too improbable to be sampled")
    weight = np.exp(log_weight - top)
    weight /= weight.sum()
    effective = 1.0 / float(weight @ weight)
    if effective < size:
        tell(f"rows are drawn by likelihood weighting, with an effective sample size of {effective:.2g}")
    return random.choice(len(weight), size, p=weight)
