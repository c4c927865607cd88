"""EM for incomplete rows: expected counts for tables, and expected sums, squares and products for Gaussian nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.core.em import Expected
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.moments import CrossMoments
from credo.core.soft_sums import CentredSums
from credo.data.schema import Schema
from credo.errors import EvidenceError
from credo.families.linear_gaussian import Line, LinearGaussian
from credo.networks.hybrid.learning import NodeShape, shapes_of
from credo.networks.hybrid.line_priors import flat, mode_line
from credo.networks.hybrid.number_node import NumberNode
from credo.networks.hybrid.rows import HybridRows, MissingPattern, RowInference
from credo.networks.nodes.table import ConditionalTable
from credo.networks.table_priors import TablePriors
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

Switches = tuple[int, ...]


@dataclass(eq=False)
class Sums:
    """Sums over all numbers about a pivot, for one configuration of the categories that they depend on."""

    n: float
    first: Array  # (numbers,)
    second: Array  # (numbers, numbers)


@dataclass(frozen=True, eq=False)
class HybridEM:
    """A hybrid network for `credo.core.em`: its nodes are the mode given the last expected statistics."""

    net: HybridNetwork
    schema: Schema
    tables: TablePriors  # prior of the log-odds
    lines: Mapping[str, LinearGaussian | None]
    pivot: Array  # (numbers,): near the means, so that sums of squares keep their precision
    known: Evidence | None = None  # evidence of earlier rows

    @cached_property
    def inference(self) -> RowInference:
        return RowInference(self.net)

    @cached_property
    def shapes(self) -> tuple[dict[str, ConditionalTable], dict[str, NodeShape]]:
        return shapes_of(self.net.parents, {*self.net.numbers})

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(states) for name, states in self.net.states.items()}

    def expect(self, batch: HybridRows, /) -> Expected:
        tables, lines = self.shapes
        counts = {name: np.zeros(table.shape(self.sizes)) for name, table in tables.items()}
        sums: dict[Switches, Sums] = {}
        log_likelihood = 0.0
        for pattern in self.inference.patterns(batch):
            weight = batch.weight[pattern.rows]
            logs = pattern.log_prob
            if np.isneginf(logs).any():
                raise EvidenceError("a row is impossible under the network: give a prior above 0")
            log_likelihood += float(weight @ logs)
            shares = pattern.responsibilities * weight[:, None]
            self._count(tables, counts, pattern, shares)
            self._add(sums, pattern, shares)
        parts = {t.label: t.expected([counts[name]], self.net.tables[name]) for name, t in tables.items()}
        for line in lines.values():
            parts[line.label] = Part(line.axes, self._statistics(line, sums))
        return Evidence(self.schema, parts), log_likelihood

    def _count(
        self,
        tables: Mapping[str, ConditionalTable],
        counts: Mapping[str, Array],
        pattern: MissingPattern,
        shares: Array,
    ) -> None:
        by_name = {name: pattern.codes[:, :, i] for i, name in enumerate(self.inference.categories)}
        for name, table in tables.items():
            cells = np.ravel_multi_index([by_name[each] for each in table.scope], counts[name].shape)
            found = np.bincount(cells.reshape(-1), shares.reshape(-1), counts[name].size)
            counts[name][...] += found.reshape(counts[name].shape)

    def _add(self, sums: dict[Switches, Sums], pattern: MissingPattern, shares: Array) -> None:
        inference = self.inference
        for where, rows, spread in inference.completed(pattern):
            switches = tuple(pattern.codes[where[0][0], where[1][0], inference.switches].tolist())
            weight, away = shares[where], rows - self.pivot
            once = weight[:, None] * away
            n = float(weight.sum())
            new = Sums(n, once.sum(0), once.T @ away + n * spread)
            old = sums.get(switches)
            sums[switches] = new if old is None else Sums(old.n + n, old.first + new.first, old.second + new.second)

    def _statistics(self, line: NodeShape, sums: Mapping[Switches, Sums]) -> CrossMoments:
        """The statistics of one node: its own columns, summed over configurations of other categories."""
        inference, sizes = self.inference, self.sizes
        columns = [inference.numbers.index(name) for name in line.columns]
        places = [[inference.categories[i] for i in inference.switches].index(name) for name in line.categories]
        shape, wide = line.shape(sizes), len(columns)
        groups = int(np.prod(shape))
        n, first, second = np.zeros(groups), np.zeros((groups, wide)), np.zeros((groups, wide, wide))
        for switches, own in sums.items():
            at = int(np.ravel_multi_index([switches[i] for i in places], shape)) if places else 0
            n[at] += own.n
            first[at] += own.first[columns]
            second[at] += own.second[np.ix_(columns, columns)]
        pivot = np.broadcast_to(self.pivot[columns], (groups, wide))
        return line.shaped(CrossMoments.of_centred(CentredSums(n, first, second, pivot)), sizes)

    def with_evidence(self, evidence: Evidence, /) -> Self:
        tables, lines = self.shapes
        nodes: dict[str, Any] = {}
        for name in self.net.parents:
            if name in tables:
                nodes[name] = tables[name].mode(self.tables[name], self._total(evidence, tables[name].label).n.value)
            else:
                line = lines[name]
                sums = self._total(evidence, line.label)
                nodes[name] = line.node(mode_line(self.lines[name], name, sums), self.sizes)
        return self.at(nodes)

    def _total(self, evidence: Evidence, label: Label) -> Any:
        return evidence[label] if self.known is None else self.known[label] + evidence[label]

    def at(self, nodes: Mapping[str, Any]) -> Self:
        """The same model with other nodes."""
        from credo.networks.hybrid.network import HybridNetwork

        return replace(self, net=HybridNetwork(self.net.parents, nodes, self.net.states))

    def log_prior(self) -> float:
        """log p(nodes), plus the log-likelihood of known rows."""
        tables, lines = self.shapes
        total = 0.0 if self.known is None else self._log_known(self.known)
        total += sum(table.log_prior(self.tables[name], self.net.tables[name]) for name, table in tables.items())
        for name in lines:
            prior, node = self.lines[name], self.net.numbers[name]
            if prior is None:
                continue
            weights = np.concatenate([node.intercept[..., None], node.weights], axis=-1)
            at = Line(weights.reshape(-1, weights.shape[-1]), node.variance.reshape(-1))
            total += float(prior.log_prior(at).sum())
        return total

    def _log_known(self, known: Evidence) -> float:
        tables, lines = self.shapes
        total = sum(table.log_likelihood(known, self.net.tables[name]) for name, table in tables.items())
        return total + sum(_log_likelihood(self.net.numbers[name], known[line.label]) for name, line in lines.items())


def _log_likelihood(node: NumberNode, sums: CrossMoments) -> float:
    """-½ Σ (e² + n log 2πσ²)/σ² of the rows in each configuration, with e = y - w₀ - w′z: from their mean and
    scatter."""
    own = flat(sums)
    n, variance = own.n.value, node.variance.reshape(-1)
    along = np.column_stack([-node.weights.reshape(len(n), -1), np.ones(len(n))])
    away = (along * own.mean).sum(1) - node.intercept.reshape(-1)
    squares = np.einsum("ci,cij,cj->c", along, own.scatter, along) + n * away**2
    return float(-0.5 * (squares / variance + n * np.log(2 * np.pi * variance))[n > 0].sum())
