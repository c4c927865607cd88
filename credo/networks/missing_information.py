"""The missing information in a table's expected counts.

A table row θ that was observed N times has the Fisher information N · (diag θ - θθ′) in its log-odds. If cells are
missing, the conditional variance of the score is subtracted (Louis 1982). For data row i with expected state counts pᵢ
and their sum Pᵢ, the missing information in units of complete rows, averaged over the k - 1 directions of θ, is (Σₖ
pᵢₖ(1 - pᵢₖ)/θₖ - Pᵢ(1 - Pᵢ)) / (k - 1): 0 if everything is known, Pᵢ if only the parents are. Missing information adds
up over rows, as counts do.

Errors of different tables are treated as independent. If cells are missing at random, 90% intervals have about 90%
coverage; for a hidden variable, whose table and children's tables are fitted to each other, coverage is lower.
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
    """The label of the information missing from a node's counts, in complete rows."""
    return Label("missing information", label.name)


def hidden_rows(name: str) -> Label:
    """The label of the number of rows that EM read while a variable was hidden."""
    return Label("hidden", name)


def hidden_variables(names: Iterable[str], evidence: Evidence | None) -> list[str]:
    """The variables that were hidden when EM fitted the network."""
    return [] if evidence is None else [name for name in names if hidden_rows(name) in evidence.parts]


def with_missing_information(
    evidence: Evidence, network: Network, rows: Callable[[], Iterable[CodedRows]], hidden: Sequence[str]
) -> Evidence:
    """EM's expected evidence, together with its missing information; the network has EM's final tables."""
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
    """The job of one batch: the missing information of each row of each table, in complete rows, summed over tied
    nodes."""

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
    """The missing information of each row of a table, from the expected counts of each row of the data.

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
    """The effective counts n - missing · θ, with the same mean. A row with more missing than observed information gets
    no counts.

    >>> observed_counts(np.array([8.0, 4.0]), np.array([0.75, 0.25]), np.array(4.0))
    array([5., 3.])
    """
    return counts if missing is None else np.maximum(counts - missing[..., None] * table, 0.0)


def missing_information(evidence: Any, label: Label) -> Array | None:
    """The missing information of each row of a node's table, in complete rows; None if nothing was missing."""
    part = missing_of(label)
    return np.asarray(evidence[part].n.value[0]) if part in evidence.parts else None
