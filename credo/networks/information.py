"""Mutual information between two variables of a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import SchemaError
from credo.networks.answers import Estimated, EstimatedNumber

if TYPE_CHECKING:
    from credo.networks.graphical_model import GraphicalModel

TINY = 1e-150  # keeps 0/0 from being a division by zero


def mutual_information(
    model: GraphicalModel, a: str, b: str, given: Mapping[str, Any] | str | Iterable[str] | None, **how: Any
) -> float:
    """I(a; b) = Σ P(a, b) log P(a, b) / P(a)P(b), in nats, given evidence; or averaged over the variables named."""
    evidence = given if isinstance(given, Mapping) else None
    names = [] if given is None or evidence is not None else [given] if isinstance(given, str) else [*given]
    if twice := next((name for name in names if name in (a, b)), None):
        raise SchemaError(f"{twice!r} is named twice: a, b and given must have nothing in common")
    queried = list(dict.fromkeys([a, b, *names]))
    found = model.query(queried, evidence, **how)
    p = np.array([*found.values()]).reshape([len(model.states[name]) for name in queried])
    if a == b:
        p = np.stack([np.where(np.arange(len(p)) == i, p.T, 0.0).T for i in range(len(p))], axis=1)
    independent = p.sum(1, keepdims=True) * p.sum(0, keepdims=True) / np.maximum(p.sum((0, 1), keepdims=True), TINY)
    ratio = np.log(np.divide(p, independent, out=np.ones_like(p), where=p > 0))
    nats = max(0.0, float(np.sum(p * ratio)))
    if not isinstance(found, Estimated):
        return nats
    ratio = np.einsum("ii...->i...", ratio) if a == b else ratio
    error = found.spread(ratio.reshape(-1))
    return EstimatedNumber(nats, error, found.effective_samples, found.method, found.reliable)
