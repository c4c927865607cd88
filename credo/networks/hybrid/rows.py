"""Inference in every row of a table, any cells of which may be missing; rows with the same missing cells are treated
together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.learning import RowWeights, Weights
from credo.data import Batch, Source
from credo.engines.partitions import Loaded
from credo.errors import DataError, EvidenceError, SizeError
from credo.networks.hybrid.learning import numbers_of
from credo.networks.inference.coding import Coder
from credo.networks.inference.state_index import StateIndex
from credo.networks.row_queries import known_columns
from credo.notices import listed, tell
from credo.numerics.distributions import LOG_2PI
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

MOST_JOINT_STATES = 2**14  # joint states of a row's missing categories
CELLS_AT_ONCE = 2**22  # rows times joint states held in memory
ROWS_AT_ONCE = 2**14

RowCodes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HybridRows(Loaded):
    """Rows as codes of categories, -1 where a cell is missing, and numbers, NaN where one is."""

    codes: RowCodes  # (rows, categories)
    numbers: Array  # (rows, numbers)
    weight: Array  # (rows,)

    @property
    def rows(self) -> int:
        return len(self.weight)

    def take(self, rows: Any) -> HybridRows:
        return HybridRows(self.codes[rows], self.numbers[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class MissingPattern:
    """Rows with the same cells missing, each with every joint state of its missing categories."""

    rows: NDArray[np.intp]  # row numbers in the batch
    codes: RowCodes  # (rows, states, categories)
    log_joint: Array  # (rows, states) log p(known cells, missing categories)
    numbers: Array  # (rows, numbers)
    known: NDArray[np.bool_]  # which numbers are known
    hidden: NDArray[np.intp]  # the missing categories

    @property
    def log_prob(self) -> Array:
        return np.asarray(np.logaddexp.reduce(self.log_joint, axis=1))

    def check(self, batch: Batch) -> None:
        """Refuse an impossible row."""
        impossible = np.isneginf(self.log_prob)
        if impossible.any():
            row = batch.number(int(self.rows[impossible.argmax()]))
            raise EvidenceError(f"row {row}: the evidence is impossible: its cells have probability 0 together")

    @property
    def responsibilities(self) -> Array:
        total = self.log_prob
        return np.exp(self.log_joint - np.where(np.isfinite(total), total, 0.0)[:, None])


@dataclass(frozen=True, eq=False)
class RowInference:
    """Inference in rows, for a network whose nodes are known."""

    net: HybridNetwork

    @cached_property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.net.states)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        return tuple(name for name in self.net.order if name in self.net.numbers)

    @cached_property
    def switches(self) -> list[int]:
        """The categories that numbers depend on."""
        used = {name for node in self.net.numbers.values() for name in node.categories}
        return [i for i, name in enumerate(self.categories) if name in used]

    def patterns(self, rows: HybridRows, beyond: list[int] | None = None) -> Iterator[MissingPattern]:
        """Rows grouped by their missing cells. Rows with too many missing cells to sum over are refused, or appended to
        a list if one is given."""
        missing = np.column_stack([rows.codes < 0, np.isnan(rows.numbers)])
        every, place = np.unique(missing, axis=0, return_inverse=True)
        place = place.reshape(-1)
        for k, pattern in enumerate(every):
            own = np.flatnonzero(place == k)
            hidden = np.flatnonzero(pattern[: len(self.categories)])
            known = ~pattern[len(self.categories) :]
            joint = prod(len(self.net.states[self.categories[i]]) for i in hidden)
            if reason := self._why_unanswered(known, len(hidden), joint):
                if beyond is None:
                    raise SizeError(reason)
                beyond += own.tolist()
                continue
            step = max(1, CELLS_AT_ONCE // joint)
            for start in range(0, len(own), step):
                yield self._pattern(rows, own[start : start + step], hidden, joint, known)

    def _why_unanswered(self, known: NDArray[np.bool_], hidden: int, joint: int) -> str | None:
        """Why rows with these missing cells can't be summed over; None if they can."""
        if joint > MOST_JOINT_STATES:
            return (
                f"a row misses {hidden} categories, which have {joint:.3g} joint states to be summed over: at most "
                f"{MOST_JOINT_STATES:,} are"
            )
        for name, node in self.net.logistic.items():
            for parent in (each for each in node.numbers if not known[self.numbers.index(each)]):
                return f"{parent!r} is missing, and {name!r} depends on it by a logistic node"
        return None

    def _pattern(
        self, rows: HybridRows, own: NDArray[np.intp], hidden: Any, joint: int, known: NDArray[np.bool_]
    ) -> MissingPattern:
        codes = np.repeat(rows.codes[own][:, None], joint, axis=1)
        sizes = [len(self.net.states[self.categories[i]]) for i in hidden]
        if sizes:
            codes[:, :, hidden] = np.column_stack(np.unravel_index(np.arange(joint), sizes))
        numbers = rows.numbers[own]
        log_joint = self._log_tables(codes, numbers)
        log_joint += self._log_complete(codes, numbers) if known.all() else self._log_known(codes, numbers, known)
        return MissingPattern(own, codes, log_joint, numbers, known, hidden)

    def _log_tables(self, codes: RowCodes, numbers: Array) -> Array:
        by_name = {name: codes[:, :, i] for i, name in enumerate(self.categories)}
        cells = {name: numbers[:, j, None] for j, name in enumerate(self.numbers)}
        found = np.zeros(codes.shape[:2])
        for name, table in self.net.tables.items():
            where = (*(by_name[each] for each in self.net.category_parents(name)), by_name[name])
            with np.errstate(divide="ignore"):
                found += np.log(table[where])
        for name, node in self.net.logistic.items():
            log_table = np.broadcast_to(node.log_table(by_name, cells), (*found.shape, len(self.net.states[name])))
            found += np.take_along_axis(log_table, by_name[name][..., None], axis=-1)[..., 0]
        return found

    def _log_complete(self, codes: RowCodes, numbers: Array) -> Array:
        by_name = {name: codes[:, :, i] for i, name in enumerate(self.categories)}
        cells = {name: numbers[:, j, None] for j, name in enumerate(self.numbers)}
        return sum(
            (self.net.numbers[name].log_density(by_name, cells) for name in self.numbers if name not in self.net.done),
            np.zeros(codes.shape[:2]),
        )

    def _log_known(self, codes: RowCodes, numbers: Array, known: NDArray[np.bool_]) -> Array:
        found = np.zeros(codes.shape[:2])
        if not known.any():
            return found
        for where, mean, whole in self.gaussians(codes):
            root = np.linalg.cholesky(whole[np.ix_(known, known)])
            away = np.linalg.solve(root, (numbers[where[0]][:, known] - mean[known]).T)
            log_determinant = 2 * np.log(np.diagonal(root)).sum()
            found[where] = -0.5 * ((away**2).sum(0) + log_determinant + (known.sum() - len(self.net.done)) * LOG_2PI)
        return found

    def gaussians(self, codes: RowCodes) -> Iterator[tuple[tuple[Any, Any], Array, Array]]:
        """The cells (rows, states) with equal switches, and the mean and covariance of all numbers given these."""
        if not self.switches:
            yield np.unravel_index(np.arange(codes.shape[0] * codes.shape[1]), codes.shape[:2]), *self.joint(())  # type: ignore[misc]
            return
        flat = codes[:, :, self.switches].reshape(-1, len(self.switches))
        every, place = np.unique(flat, axis=0, return_inverse=True)
        order = np.argsort(place.reshape(-1), kind="stable")
        ends = np.searchsorted(place.reshape(-1)[order], np.arange(len(every) + 1))
        for k, switches in enumerate(every):
            cells = order[ends[k] : ends[k + 1]]
            mean, whole = self.joint(tuple(switches.tolist()))
            yield np.unravel_index(cells, codes.shape[:2]), mean, whole  # type: ignore[misc]

    def joint(self, switches: tuple[int, ...]) -> tuple[Array, Array]:
        """The mean and covariance of all numbers, given the categories that they depend on: parents first."""
        if switches not in self._joints:
            state = dict(zip((self.categories[i] for i in self.switches), switches, strict=True))
            place = {name: j for j, name in enumerate(self.numbers)}
            mean, whole = np.zeros(len(self.numbers)), np.zeros((len(self.numbers),) * 2)
            for j, name in enumerate(self.numbers):
                node = self.net.numbers[name]
                where = tuple(state[each] for each in node.categories)
                above, weights = [place[each] for each in node.numbers], node.weights[where]
                mean[j] = node.intercept[where] + weights @ mean[above]
                whole[j, :j] = whole[:j, j] = weights @ whole[above, :j]
                whole[j, j] = node.variance[where] + weights @ whole[np.ix_(above, above)] @ weights
            self._joints[switches] = mean, whole
        return self._joints[switches]

    @cached_property
    def _joints(self) -> dict[tuple[int, ...], tuple[Array, Array]]:
        return {}

    def completed(self, pattern: MissingPattern) -> Iterator[tuple[tuple[Any, Any], Array, Array]]:
        """Cells (rows, states) with equal switches, their rows with missing numbers at the conditional mean, and the
        covariance of the missing numbers (0 elsewhere)."""
        known = pattern.known
        for where, mean, whole in self.gaussians(pattern.codes):
            rows = pattern.numbers[where[0]].copy()
            spread = np.zeros_like(whole)
            if not known.all():
                gain = np.linalg.solve(whole[np.ix_(known, known)], whole[np.ix_(known, ~known)]).T
                rows[:, ~known] = mean[~known] + (rows[:, known] - mean[known]) @ gain.T
                left = whole[np.ix_(~known, ~known)] - gain @ whole[np.ix_(known, ~known)]
                spread[np.ix_(~known, ~known)] = (left + left.T) / 2
            yield where, rows, spread

    # Reading

    def read(self, batch: Batch, weight: Array | None = None) -> tuple[HybridRows, dict[str, Any]]:
        """The rows of a batch; unseen values of categories count as missing."""
        index = StateIndex(self.categories, tuple(self.net.states.values()))
        present = [name for name in self.categories if name in batch.names]
        codes = np.full((batch.rows, len(self.categories)), -1, dtype=np.intp)
        unknown: dict[str, Any] = {}
        if present:
            coded = Coder(index, present).coded(batch)
            codes[:, [index.number[name] for name in present]] = coded.columns.T
            unknown = coded.unknown
        numbers = np.full((batch.rows, len(self.numbers)), np.nan)
        for j, name in enumerate(self.numbers):
            if name in self.net.done:
                numbers[:, j] = self.net.done[name]
            elif name in batch.names:
                numbers[:, j] = numbers_of(batch, name)
        return HybridRows(codes, numbers, np.ones(batch.rows) if weight is None else weight), unknown

    def findings(self, rows: HybridRows, row: int) -> dict[str, Any]:
        """A row as findings."""
        codes, numbers = rows.codes[row], rows.numbers[row]
        known = {n: self.net.states[n][code] for n, code in zip(self.categories, codes, strict=True) if code >= 0}
        values = zip(self.numbers, numbers.tolist(), strict=True)
        return known | {name: x for name, x in values if not np.isnan(x) and name not in self.net.done}

    def opened(self, data: object) -> tuple[Source, list[str]]:
        """The table, and its columns that are variables."""
        self.net._check_nodes()
        table = known_columns(data, self.net.parents)
        names = [name for name in table.names if name in self.net.parents]
        if not names:
            known, read = ", ".join(table.names[:8]), ", ".join([*self.net.parents][:8])
            raise DataError(f"no column is a variable of the network: the table has {known}; the network {read}")
        return table, names

    def batches(self, data: object) -> Iterator[tuple[Batch, HybridRows]]:
        unseen: dict[str, None] = {}
        for batch in [data] if isinstance(data, Batch) else self._read(data):
            rows, unknown = self.read(batch)
            unseen |= dict.fromkeys(unknown)
            yield batch, rows
        if unseen:
            tell(f"{listed([*unseen])}: unseen values count as missing")

    def _read(self, data: object) -> Iterator[Batch]:
        table, _ = self.opened(data)
        return table.batches(table.names)


def kept_rows(inference: RowInference, table: Source, weights: Weights) -> list[HybridRows]:
    """All rows of a table in memory, in chunks, as EM reads them in each step."""
    found: list[HybridRows] = []
    names = [name for name in table.names if name in inference.net.parents]
    for rows in engines.map(ReadBatch(inference, weights.of_a_row), weights.partitions(table, names)):
        found += [rows.take(slice(at, at + ROWS_AT_ONCE)) for at in range(0, rows.rows, ROWS_AT_ONCE)]
    return found


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """The job of one batch: its rows that have a weight."""

    inference: RowInference
    weights: RowWeights

    def __call__(self, batch: Batch) -> HybridRows:
        rows, unknown = self.inference.read(batch, self.weights.of_rows(batch))
        for name, unseen in unknown.items():
            raise DataError(f"column {name!r} has the value {unseen.value!r:.60}, which isn't a state")
        return rows.take(rows.weight > 0)
