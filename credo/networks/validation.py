"""Validation of tables: leave-one-out by counts, and refitted folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.folds import FoldDraw, FoldGroups
from credo.core.learning import RowWeights, Weights, cross_validate
from credo.core.summed_scores import summed_scores
from credo.core.validation import SummedValidation, Validation, summed_validation
from credo.data import Batch, Source, source
from credo.data.fingerprints import all_cell_prints, fingerprints
from credo.errors import DataError, EvidenceError, check_whole
from credo.models.repeated_rows import MOST_ROWS_SEARCHED, Repeats
from credo.networks.inference.rows import ScoreRows
from credo.networks.inference.sizes import ROW_SAMPLES
from credo.networks.learning import HOW_FITTED, WEIGHT_TOLERANCE, TableLearner
from credo.networks.row_queries import known_columns, queried_rows
from credo.networks.table_priors import dirichlet_of
from credo.notices import quietly
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.core.membership import Codes
    from credo.networks.fitting import FittingOptions
    from credo.networks.incomplete_rows import ObservedRows
    from credo.networks.network import Network
    from credo.networks.nodes.node import Node


@dataclass(frozen=True, eq=False)
class LeaveOutOfTables:
    """The job of one batch: Σ over nodes of log (n - w + α) / (N - w + A), with the row's own weight w subtracted."""

    learner: TableLearner
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[Array, Array]:
        weight = self.weights.of_rows(batch)
        codes = self.learner.known_codes(batch)
        return sum((self._log_shares(name, codes, weight, batch) for name in codes), np.zeros(batch.rows)), weight

    def _log_shares(self, name: str, codes: dict[str, Codes], weight: Array, batch: Batch) -> Array:
        network = self.learner.network
        node = network.nodes[name]
        if node.is_rule:
            return np.zeros(batch.rows)
        counts, prior = network.evidence[node.label].n.value, network.prior[node.label.name]
        cell = _cell(node, codes)
        left, total = counts[cell], counts.sum(-1)[cell[:-1]]
        for other in (each for each in network.nodes.values() if each.label == node.label):  # tied: counts in each
            same = np.ones(len(weight), dtype=np.bool_)
            for mine, its in zip(cell[:-1], _cell(other, codes)[:-1], strict=True):
                same &= mine == its
            left, total = left - weight * (same & (cell[-1] == codes[other.name])), total - weight * same
        if (wrong := left < -WEIGHT_TOLERANCE * np.maximum(1.0, counts[cell])).any():
            row = batch.number(int(np.argmax(wrong)))
            raise EvidenceError(f"row {row} was never learned: leave-one-out is of learned rows")
        if prior is not None:
            alpha = np.broadcast_to(dirichlet_of(prior, counts.shape, name).concentration, counts.shape)
            left, total = left + alpha[cell], total + alpha.sum(-1)[cell[:-1]]
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.log(np.maximum(left, 0.0) / total)
        return np.asarray(np.where(total > 0, known, -np.log(counts.shape[-1])))


def _cell(node: Node, codes: Mapping[str, Codes]) -> tuple[Codes, ...]:
    """The place of each row in a node's table, or in its rows of probabilities."""
    return (*node.row([codes[parent] for parent in node.parents]), codes[node.name])


def leave_one_out(network: Network, data: object, weight: Weight) -> Validation:
    """log P(row) of each row under tables learned from all others, without refits; no cell may be missing."""
    learner, table, weights = TableLearner.of(network), source(data), Weights.of(weight)
    if network.evidence is None:
        raise EvidenceError("there is no row to leave out: no rows were learned yet")
    if network.history:
        raise EvidenceError(
            f"the tables were fitted by {HOW_FITTED}: leaving out a row needs a refit: use cross_validate"
        )
    for name in (name for name in network.forms if not network.nodes[name].has_rows):
        raise EvidenceError(f"{name!r} has no table: leaving out a row needs a refit: use cross_validate")
    table.check_rereadable("leave-one-out reads the data once more")
    partitions = weights.partitions(table, learner.needs(table.without(weight)))
    job = LeaveOutOfTables(learner, weights.of_a_row)
    if table.sums_scores:
        return summed_validation(job, partitions, left_out=True).instead_of_rows()
    found = [*engines.map(job, partitions)]
    logs, own = (np.concatenate([np.empty(0), *each]) for each in zip(*found, strict=True))
    return Validation(logs, np.arange(len(logs)), own)


def cross_validated(
    network: Network, data: object, folds: int, weight: Weight, hidden: Mapping[str, object] | None, how: FittingOptions
) -> Validation:
    """log P(row) of held-out rows: from the evidence of the other folds if all rows are complete, else from refits."""
    from credo.networks.fitting import FittingSettings, hidden_states
    from credo.networks.incomplete_rows import observed

    learner, table, folds = TableLearner.of(network), source(data), check_whole("folds", folds, 2, DataError)
    seed = FittingSettings.of(how).seed
    table.check_rereadable("cross-validation reads the data once more")
    states = hidden_states(network, hidden, table.without(weight).names)
    found = observed(network, table, weight, states)
    names = [name for name in network.variables if name in table.without(weight).names]
    copied = _duplicated_rows(network, table, names, found)
    if not found.incomplete:
        return cross_validate(learner, table, folds, weight=weight, seed=seed, together=copied)
    bare = network.with_evidence((found.complete * 0.0).ordered())  # all states are known in all folds
    return _refitted(bare, table, folds, weight, states, how, copied)


def _duplicated_rows(network: Network, table: Source, names: Sequence[str], found: ObservedRows) -> FoldGroups | None:
    """Rows with more duplicates than the network expects; None if there are too many rows to check."""
    if table.rows is None or not 0 < table.rows <= MOST_ROWS_SEARCHED or not names:
        return None
    cells = all_cell_prints(table, names)
    prints, one_class = fingerprints(cells), np.zeros(cells.shape[1], dtype=np.int32)
    if len(np.unique(prints)) == len(prints):
        return None
    known = found.complete if found.available is None else found.complete + found.available
    with quietly():  # missing columns get a notice from the fit
        log_prob = network.with_evidence(known.ordered())._log_prob_here(table)
    expected = len(prints) * np.exp(log_prob)
    copied = Repeats.of(prints, one_class, cells, np.zeros(len(names), dtype=bool), by_model=expected).copied
    return FoldGroups(tuple(names), copied)


def _refitted(
    bare: Network, table: Source, folds: int, weight: Weight, hidden: Mapping[str, object], how: FittingOptions,
    copied: FoldGroups | None,
) -> Validation:  # fmt: skip
    weights, names = Weights.of(weight), tuple(name for name in bare.variables if name in table.names)
    job = FoldsAndWeights(FoldDraw(folds, how.get("seed", 0), copied), weights.of_a_row)
    found = zip(*engines.map(job, weights.partitions(table, names)), strict=True)
    held, own = (np.concatenate(each) for each in found)
    if len(held) < folds:
        raise DataError(f"{folds} folds need at least {folds} rows")
    cells = table.without(weight)
    start = type(bare)(bare.parents)  # without tables: the uniform tables of no rows are a fixed point of EM
    logs, sums = np.empty(len(held)), list[SummedValidation]()
    for k in range(folds):
        with nullcontext() if k == 0 else quietly():  # the notices of one fold hold for all
            fitted = bare._updated(cells.where(held != k), own[held != k], hidden, how, start)
            if table.sums_scores:
                sums.append(_summed_fold(fitted, cells.where(held == k), own[held == k]))
            else:
                logs[held == k] = fitted._log_prob_here(cells.where(held == k))
    return SummedValidation.total(sums).instead_of_rows(fold_count=folds) if sums else Validation(logs, held, own)


@dataclass(frozen=True, eq=False)
class FoldsAndWeights:
    """The job of one batch: the fold of each row, in the smallest integer type, and its weight."""

    draw: FoldDraw
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[NDArray[Any], Array]:
        return self.draw.of(batch).astype(np.min_scalar_type(self.draw.folds)), self.weights.of_rows(batch)


@dataclass(frozen=True, eq=False)
class RowScores:
    """The job of one batch: log P(row) of each row, and its weight."""

    score: ScoreRows
    weights: RowWeights

    def __call__(self, batch: Batch) -> tuple[Array, Array]:
        return self.score(batch).answer, self.weights.of_rows(batch)


def _summed_fold(fitted: Network, table: Source, weight: Array) -> SummedValidation:
    """The scores of a fold's rows of a Dask or Spark frame, summed on the workers."""
    if fitted._weighting("auto", ROW_SAMPLES, 0) is not None:
        return SummedValidation.of(fitted._log_prob_here(table), weight)
    table, names, fallback = queried_rows(fitted, known_columns(table, fitted.states), "auto", ROW_SAMPLES, 0)
    weights = Weights.of(weight)
    job = RowScores(ScoreRows(fitted, tuple(names), fallback), weights.of_a_row)
    found = summed_scores(job, weights.partitions(table, names), SummedValidation, SummedValidation.of)
    return SummedValidation.of(np.empty(0), np.empty(0)) if found is None else found
