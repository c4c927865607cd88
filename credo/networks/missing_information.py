"""How much of the information in a table's expected counts was missing.

A row of a table, θ, that was seen N times has the Fisher information N · (diag θ - θθ′) in its log-odds. Where cells
are missing, the conditional variance of the score is subtracted (Louis 1982). A row i of the data whose expected counts
of the states are pᵢ, and Pᵢ their sum, misses so, in units of complete rows and on average over the k - 1 directions of
θ, (Σₖ pᵢₖ(1 - pᵢₖ)/θₖ - Pᵢ(1 - Pᵢ)) / (k - 1): 0 where all is known, Pᵢ where only the parents are. What is missing
adds up over rows, as counts do.

Errors of different tables are taken to be independent. Where cells miss at random, 90% intervals hold about 90% of the
time so; of a hidden variable, whose table and whose children's are fitted to each other, they hold less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.networks.inference.coding import CodedRows
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.network import Network

Missing = dict[Label, Array]
COUNTS_AT_ONCE = 2**19  # expected counts of single rows held in memory


def missing_of(label: Label) -> Label:
    """The part of the evidence that says how many rows' worth of information is missing from a node's counts."""
    return Label("missing information", label.name)


def hidden_rows(name: str) -> Label:
    """The part that says how many rows EM read while a variable was hidden."""
    return Label("hidden", name)


def hidden_variables(names: Iterable[str], evidence: Evidence | None) -> list[str]:
    """Those that were hidden when EM fitted the network."""
    return [] if evidence is None else [name for name in names if hidden_rows(name) in evidence.parts]


def with_missing_information(
    evidence: Evidence, network: Network, rows: Callable[[], Iterable[CodedRows]], hidden: Sequence[str]
) -> Evidence:
    """Evidence that EM expected of rows, and what is missing from it; the network has the tables at which EM ended."""
    found = engines.reduce(MissingInformation(network), rows(), _added)
    if found is None:
        return evidence
    parts, nodes = dict(evidence.parts), network.nodes
    axes = {node.label: (None, *node.axes[:-1]) for node in nodes.values()}
    for label, missing in found.items():
        _add(parts, missing_of(label), axes[label], missing[None])
    for name in hidden:
        _add(parts, hidden_rows(name), (None,), np.array([nodes[name].weight(evidence)]))
    return Evidence(evidence.schema, parts)


def _add(parts: dict[Label, Part], label: Label, axes: tuple[str | None, ...], new: Array) -> None:
    old, counts = parts.get(label), Counts(Exact.of(new))
    parts[label] = Part(axes, counts if old is None else old.statistics + counts)


@dataclass(frozen=True, eq=False)
class MissingInformation:
    """The job of one batch: what is missing from each row of each table, in rows. Tied nodes add."""

    network: Network

    def __call__(self, rows: CodedRows) -> Missing:
        found: Missing = {}
        for some in rows.chunks(max(1, COUNTS_AT_ONCE // max(1, len(self.network.potentials.factors.values)))):
            self._add(found, some)
        return found

    def _add(self, found: Missing, rows: CodedRows) -> None:
        network = self.network
        counts, starts = network.expectations.of_each_row(rows), network.potentials.factors.values_at
        for i, (name, node) in enumerate(network.nodes.items()):
            if name in network.forms:
                continue
            table = network.tables[name]
            own = counts[:, starts[i] : starts[i + 1]].reshape(rows.rows, *table.shape)
            new = missing_rows(own, table, rows.weight)
            found[node.label] = found[node.label] + new if node.label in found else new


def missing_rows(counts: Array, table: Array, weight: Array) -> Array:
    """What is missing from each row of a table, by the expected counts of each row of the data.

    >>> table, weight = np.array([[0.5, 0.5]]), np.ones(2)
    >>> missing_rows(np.array([[[1.0, 0.0]], [[0.5, 0.5]]]), table, weight)  # one row is known, of the other nothing
    array([1.])
    """
    total, own = counts.sum(-1), counts * (1.0 - counts)
    ratio = np.divide(own, table, out=np.zeros_like(own), where=table > 0).sum(-1)
    return np.asarray(np.tensordot(weight, ratio - total * (1.0 - total), 1) / max(table.shape[-1] - 1, 1))


def _added(parts: Sequence[Missing]) -> Missing:
    first, *others = parts
    found = dict(first)
    for part in others:
        found = {label: found[label] + part[label] for label in found}
    return found


def observed_counts(counts: Array, table: Array, missing: Array | None) -> Array:
    """The effective counts n - missing · θ, with the same mean. A row with more missing than observed information
    counts nothing.

    >>> observed_counts(np.array([8.0, 4.0]), np.array([0.75, 0.25]), np.array(4.0))
    array([5., 3.])
    """
    return counts if missing is None else np.maximum(counts - missing[..., None] * table, 0.0)


def missing_information(evidence: Any, label: Label) -> Array | None:
    """Of each row of a node's table, in rows; None where nothing was missing."""
    part = missing_of(label)
    return np.asarray(evidence[part].n.value[0]) if part in evidence.parts else None
