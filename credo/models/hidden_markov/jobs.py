"""Engine jobs over batches of sequences for a hidden Markov model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.hidden_markov.paths import find_best_paths
from credo.blocks.capabilities import Ignored, read_counting_ignored
from credo.core.membership import Codes
from credo.data import Batch
from credo.data.sequences import SequenceBatch
from credo.errors import EvidenceError, SizeError
from credo.models.hidden_markov.expecting import HiddenChain
from credo.models.hidden_markov.passes import best_path
from credo.numerics.exact import Array

MOST_PATH_ENTRIES = 2**28  # entries of the table that the k best paths of a sequence need


class Found(NamedTuple):
    """The results for each row of a batch, the rows' places in the table, and the ignored cells."""

    values: NDArray[Any]  # (rows, ...)
    places: NDArray[np.intp] | None  # positions in the table, for rows that were reordered
    ignored: Ignored


@dataclass(frozen=True, eq=False)
class InTableOrder:
    """A job's results in the table's order of rows. (rows, columns)"""

    job: Callable[[SequenceBatch], Found]

    def __call__(self, batch: SequenceBatch) -> tuple[NDArray[Any]]:
        values, places, _ = self.job(batch)
        return ((values if places is None else values[places]).reshape(batch.rows, -1),)


def _places(batch: SequenceBatch) -> NDArray[np.intp] | None:
    taken = batch.batch.taken
    return None if taken is None else np.argsort(taken, kind="stable")


def _found(chain: HiddenChain, batch: SequenceBatch, values: NDArray[Any]) -> Found:
    return Found(values, _places(batch), ignored_cells(chain, batch))


def ignored_cells(chain: HiddenChain, batch: SequenceBatch) -> Ignored:
    conditional = chain.emission.conditional
    rows, found = batch.batch.filled(conditional.names), Ignored()
    for likelihood in conditional.likelihoods:
        found |= read_counting_ignored(likelihood, rows)[1]
    return found


@dataclass(frozen=True, eq=False)
class Smooth:
    """P(state | all rows of the sequence)."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> Found:
        return _found(self.chain, batch, self.chain.smoothed(batch))


@dataclass(frozen=True, eq=False)
class Filter:
    """P(state | the rows up to this one)."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> Found:
        return _found(self.chain, batch, self.chain.filtered(batch))


@dataclass(frozen=True, eq=False)
class Decode:
    """The most probable path of each sequence."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> Found:
        (parts, stretches), ignored = self.chain.pieces(batch), Ignored()
        logs = self.chain.log_likelihood
        counting, again = (lambda k: logs(parts[k], ignored)), (lambda k: logs(parts[k]))
        path, log_best = best_path(self.chain.links, counting, again, stretches)
        if np.isneginf(log_best).any():
            self.chain.passes(batch)  # raises the error that names the impossible row
        states = path if self.chain.pattern.plain else self.chain.pattern.positions[path].astype(np.int32)
        return Found(states, _places(batch), ignored)


@dataclass(frozen=True, eq=False)
class DecodeAndSmooth:
    """A batch's rows as they came, the codes of their best paths, and P(state | all rows of the sequence)."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> tuple[Batch, Codes, Array]:
        path, places, _ = Decode(self.chain)(batch)
        shares = self.chain.smoothed(batch)
        if places is None:
            return batch.batch, path, shares
        return batch.batch.take(places), path[places], shares[places]


@dataclass(frozen=True, eq=False)
class LogProb:
    """log p of each sequence, states summed out."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> Found:
        return Found(self.chain.passes(batch).totals, None, ignored_cells(self.chain, batch))


@dataclass(frozen=True, eq=False)
class LastState:
    """P(position | all rows) of the last row of each sequence."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> Found:
        passes, found = self.chain.passes(batch), list[Array]()
        for own, positions in zip(passes.stretches, passes.filtered(), strict=True):
            ends = own.starts[1:] if own.ends else own.starts[1:-1]
            found.append(positions[ends - 1])
        return Found(np.concatenate(found), None, ignored_cells(self.chain, batch))


class Path(NamedTuple):
    """A path of states, and log p(path | rows)."""

    states: NDArray[Any]
    log_probability: float


@dataclass(frozen=True, eq=False)
class BestPaths:
    """The k most probable paths of each sequence: codes of states (k, rows), and log p(path | rows) (k,); and the
    ignored cells."""

    chain: HiddenChain
    paths: int

    def __call__(self, batch: SequenceBatch) -> tuple[list[tuple[Codes, Array]], Ignored]:
        found, totals = [], self.chain.passes(batch).totals
        for n, (a, b) in enumerate(zip(batch.starts[:-1], batch.starts[1:], strict=True)):
            logs = self.chain.log_likelihood(batch.batch.slice(int(a), int(b - a)))
            if logs.size * self.paths > MOST_PATH_ENTRIES:
                raise SizeError(
                    f"the {self.paths} best paths of a sequence of {len(logs):,} rows take a table of over "
                    f"{MOST_PATH_ENTRIES:,} entries: ask for fewer, or cut the sequence"
                )
            found.append(self._best(logs, float(totals[n])))
        return found, ignored_cells(self.chain, batch)

    def _best(self, logs: Array, total: float) -> tuple[Codes, Array]:
        paths, log_best = np.zeros((self.paths, len(logs)), dtype=np.int32), np.empty(self.paths)
        links = self.chain.links
        find_best_paths(logs, links.log_initial, links.log_transitions, paths, log_best)
        there = log_best > -np.inf
        if not there.any():
            raise EvidenceError("no path of states explains a sequence")
        return self.chain.pattern.positions[paths[there]].astype(np.int32), log_best[there] - total
