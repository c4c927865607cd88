"""Messages in logarithms: slower than in floats, for evidence that makes floats underflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo._kernels.networks.propagation import BELIEFS
from credo._kernels.networks.shapes import ENTRY, KEPT, LARGEST, MEMBERS, PARENT, TABLE
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.inference.junction import Tree


def propagate(end: int, codes: Integers, weights: Array, tree: Tree, tables: Array, out: Array) -> float:
    """The same results as the kernel `propagate`, except for the scale of tables: here the largest cell of each
    separator state is 1."""
    with np.errstate(divide="ignore"):
        messages = Logarithms(tree, codes, weights)
        found = messages.collect()
        if found > -np.inf:
            messages.write(tables)
            if end == BELIEFS:
                messages.distribute()
                messages.read(codes, out)
    return found


def calibrate(codes: Integers, tree: Tree, tables: Array) -> float:
    """Write P(clique | codes) of each clique to tables; returns log P(codes)."""
    with np.errstate(divide="ignore"):
        messages = Logarithms(tree, codes, np.empty(0))
        found = messages.collect()
        if found > -np.inf:
            messages.distribute()
            messages.write_beliefs(tables)
    return found


class Logarithms:
    """The clique tables reduced by the evidence, an axis for each member."""

    def __init__(self, tree: Tree, codes: Integers, weights: Array) -> None:
        held, cliques = tree.potentials, tree.cliques
        self._card, self._places, self._rows = held.card, held.places, cliques[:-1].tolist()
        self._entry = tree.variables[:, ENTRY].tolist()
        cuts = cliques[1:-1, MEMBERS]
        self._members: list[list[int]] = [each.tolist() for each in np.split(tree.members, cuts)]
        self._tables = [np.zeros(self._card[own]) for own in self._members]
        self._constant = 0.0
        for f in tree.factors.tolist():
            self._enter(int(tree.homes[f]), held.scopes[f], np.log(held.table(f)), codes)
        for v, c in enumerate(self._entry):
            own = np.log(weights[self._places[v] : self._places[v + 1]]) if len(weights) else np.zeros(self._card[v])
            if codes[v] >= 0:
                own = np.where(np.arange(len(own)) == codes[v], own, -np.inf)
            if c >= 0:
                self._enter(c, [v], own, codes)
            elif codes[v] >= 0:
                self._constant += float(own[codes[v]])

    def _enter(self, c: int, scope: list[int], table: Array, codes: Integers) -> None:
        """Multiply a factor, reduced by the evidence, into a clique; a fully observed one into the constant."""
        inside = [v for v in scope if self._entry[v] >= 0]
        known = table[tuple(slice(None) if self._entry[v] >= 0 else int(codes[v]) for v in scope)]
        if c < 0:
            self._constant += float(known)
        else:
            self._tables[c] += self._aligned(known, inside, c)

    def _aligned(self, table: Array, own: list[int], c: int) -> Array:
        """A table over some members of a clique, with an axis for each member."""
        order = sorted(range(len(own)), key=lambda i: self._members[c].index(own[i]))
        return table.transpose(order).reshape([self._card[v] if v in own else 1 for v in self._members[c]])

    def _separator(self, c: int) -> list[int]:
        return self._members[c][: self._rows[c][KEPT]]

    def collect(self) -> float:
        """Send messages to the roots; returns log P(evidence)."""
        self._messages, total = list[Array](), self._constant
        for c, row in enumerate(self._rows):
            own = self._separator(c)
            flat = self._tables[c].reshape(*self._card[own], -1)
            message = flat.max(-1) if row[LARGEST] else log_sum(flat)
            self._messages.append(message)
            if row[PARENT] >= 0:
                self._tables[row[PARENT]] += self._aligned(message, own, row[PARENT])
            else:
                total += float(message)
        return total

    def distribute(self) -> None:
        """Send messages from the roots."""
        for c in range(len(self._rows) - 1, -1, -1):
            p, own = self._rows[c][PARENT], self._separator(c)
            if p >= 0:
                axes = [self._members[p].index(v) for v in own]
                above = np.moveaxis(self._tables[p], axes, range(len(own))).reshape(*self._card[own], -1)
                old = self._messages[c]
                change = np.where(np.isneginf(old), -np.inf, log_sum(above) - np.where(np.isneginf(old), 0.0, old))
                self._tables[c] += self._aligned(change, own, c)

    def write(self, tables: Array) -> None:
        for c, row in enumerate(self._rows):
            flat = self._tables[c].reshape(*self._card[self._separator(c)], -1)
            top = flat.max(-1, keepdims=True)
            scaled = np.exp(flat - np.where(np.isneginf(top), 0.0, top))
            tables[row[TABLE] : row[TABLE] + scaled.size] = scaled.reshape(-1)

    def write_beliefs(self, tables: Array) -> None:
        """Write each clique's table, scaled to sum to 1."""
        for table, row in zip(self._tables, self._rows, strict=True):
            flat = table.reshape(-1)
            tables[row[TABLE] : row[TABLE] + flat.size] = np.exp(flat - log_sum(flat))

    def read(self, codes: Integers, out: Array) -> None:
        """Write P(variable | evidence) of each variable to out."""
        for v, c in enumerate(self._entry):
            own = out[self._places[v] : self._places[v + 1]]
            if c >= 0:
                axis = self._members[c].index(v)
                logs = log_sum(np.moveaxis(self._tables[c], axis, 0).reshape(len(own), -1))
                own[:] = np.exp(logs - log_sum(logs))
            else:
                own[:] = np.arange(len(own)) == codes[v]


def log_sum(table: Array) -> Array:
    """log Σ exp over the last axis."""
    top = table.max(-1)
    finite = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(finite + np.log(np.exp(table - finite[..., None]).sum(-1)))
