"""Derivatives of an answer P(target | evidence) with respect to each entry of each table.

The joint probability has one entry of each table in every product: P(evidence) = Σ θ · g over the entries θ of a table,
where g = P(node, parents, evidence) / θ doesn't depend on that table. So two passes over the network, with and without
the target, give g for all entries; a table with zeros takes two more. When θ changes, the other entries of its row are
rescaled (proportional covariation): numerator and denominator are linear in θ (Castillo, Gutiérrez and Hadi 1997;
Kjærulff and van der Gaag 2000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from credo.networks.inference.findings import Findings
from credo.networks.inference.trees import Trees
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.network import Network


class Slopes(NamedTuple):
    """Derivatives of the answer's numerator and denominator with respect to each entry, in units of P(evidence). Both
    have the shape of the table: (the parents' states..., own states)."""

    above: Array
    below: Array


def table_slopes(net: Network, findings: Findings, target: int, code: int) -> tuple[float, dict[str, Slopes]]:
    """P(target = code | evidence), and the derivatives for all tables."""
    both = findings.codes.copy()
    both[target] = code
    values, likelihoods = _values(net, findings)
    counts, log_total = _family_counts(net, values, findings.codes)
    joint_counts, log_joint = _family_counts(net, values, both)
    p = float(np.exp(log_joint - log_total))
    found: dict[str, Slopes] = {}
    for name, table in tables_of(net).items():
        own = _place(net, name)
        if (table > 0).all():
            with_target, alone = (
                part[own].reshape(table.shape) / table * scale for part, scale in ((joint_counts, p), (counts, 1.0))
            )
        else:
            changed = values.copy()
            changed[own] = likelihoods[own]
            with_target, alone = (
                _in_units(*_family_counts(net, changed, codes), own, log_total).reshape(table.shape)
                for codes in (both, findings.codes)
            )
        found[name] = Slopes(_covaried(table, with_target), _covaried(table, alone))
    return p, found


def _values(net: Network, findings: Findings) -> tuple[Array, Array]:
    """The factors' values with the likelihoods of virtual evidence; and these likelihoods alone."""
    held = net.potentials
    likelihoods = np.ones(len(held.factors.values))
    for name, v in held.number.items() if len(findings.weights) else ():
        own, f = findings.weights[held.places[v] : held.places[v + 1]], int(held.owned[v])
        shape = [int(held.card[u]) for u in held.scope(f)]
        likelihoods[_place(net, name)] = np.broadcast_to(own, shape).reshape(-1)
    return held.factors.values * likelihoods, likelihoods


def tables_of(net: Network) -> dict[str, Array]:
    """The tables that are parameters themselves, unlike the derived table of a noisy-OR."""
    return {name: net.tables[name] for name in net.parents if name not in net.forms}


def _place(net: Network, name: str) -> slice:
    """The place of a node's table among the factors' values."""
    held = net.potentials
    f = int(held.owned[held.number[name]])
    return slice(int(held.factors.values_at[f]), int(held.factors.values_at[f + 1]))


def _family_counts(net: Network, values: Array, codes: Integers) -> tuple[Array, float]:
    """P(node, parents | codes) of each family, laid out as the factors' values are; and log P(codes)."""
    counts = np.zeros(len(values))
    log_total = Trees(net.potentials.with_values(values), net.structures).expect(codes, 1.0, counts)
    return counts, log_total


def _in_units(counts: Array, log_total: float, own: slice, unit: float) -> Array:
    """g of the entries of a table that was replaced by ones, in units of P(evidence)."""
    return np.asarray(counts[own] * np.exp(log_total - unit))


def _covaried(table: Array, g: Array) -> Array:
    """g of an entry minus the mean g of the others in its row, weighted by their probabilities; equally if these are
    all 0."""
    size = table.shape[-1]
    if size == 1:
        return np.zeros_like(table)
    others = 1.0 - np.eye(size)
    mass = table @ others
    shared = np.divide((table * g) @ others, mass, out=(g @ others) / (size - 1), where=mass > 0)
    return np.asarray(g - shared)
