"""Reading slices from tables, a row for each, or from lists of findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.core.learning import RowWeights
from credo.data import Source
from credo.data.sequences import SequenceBatch
from credo.errors import DataError, SchemaError, counted, suggest
from credo.models.hidden_markov.reading import SequenceTable
from credo.networks.inference.coding import Coder, Unseen
from credo.networks.inference.findings import Findings
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.state_index import StateIndex
from credo.networks.learning import state_codes
from credo.networks.row_queries import check_names
from credo.networks.tables import States
from credo.networks.templates.slice_chain import CodedSlices, Places
from credo.notices import listed, tell
from credo.numerics.exact import Array

MOST_NAMED_SLICES = 10_000_000


def sequence_table(table: Source, names: Iterable[str], by: str | None, order: str | None) -> SequenceTable:
    """The columns that are variables, as sequences."""
    check_names(table.names, [*names])
    present = tuple(name for name in names if name in table.names and name not in (by, order))
    if not present:
        known = ", ".join([*names][:8])
        raise SchemaError(f"no column is a variable of the network ({known}): the table has {_few(table.names)}")
    return SequenceTable(table, present, by, order)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


@dataclass(frozen=True, eq=False)
class CodeSlices:
    """The job that codes a batch of sequences; unseen values count as missing, or are refused if it is strict."""

    states: States
    names: tuple[str, ...]  # variables that are columns
    weights: RowWeights
    strict: bool

    def __call__(self, batch: SequenceBatch) -> tuple[CodedSlices, dict[str, Unseen], Places | None]:
        index = StateIndex(tuple(self.states), tuple(self.states.values()))
        codes, unknown = np.full((len(self.states), batch.rows), -1, dtype=np.int32), dict[str, Unseen]()
        places = [index.number[name] for name in self.names]
        if self.strict:
            codes[places] = state_codes(index, self.names, batch.batch)
        else:
            coded = Coder(index, self.names).coded(batch.batch)
            codes[places], unknown = coded.columns, coded.unknown
        taken = batch.batch.taken
        order = None if taken is None else np.argsort(taken, kind="stable")
        start = batch.batch.start if taken is None else None
        weight = sequence_weights(self.weights.of_rows(batch.batch), batch.starts)
        return CodedSlices(start, index.names, codes, batch.starts, weight, {}), unknown, order


def sequence_weights(rows: Array, starts: Places) -> Array:
    """The weight of each sequence; all its rows must have the same weight."""
    found = rows[starts[:-1]] if len(rows) else np.ones(0)
    if not np.array_equal(np.repeat(found, np.diff(starts)), rows):
        raise DataError("the rows of a sequence must have one weight, that of the sequence, but they differ")
    return found


def notice_unseen(unknown: Mapping[str, Unseen]) -> None:
    """Give a notice about unseen values."""
    if unknown:
        total = counted(sum(each.cells for each in unknown.values()), "cell")
        example = next(iter(unknown.values())).value
        tell(f"{listed([*unknown])}: {total} with unknown states, such as {example!r:.60}, taken as missing")


def is_findings(data: object) -> bool:
    """Whether data are a list of findings, one of which is more than a state: several states, or likelihoods. Mappings
    all of whose values are lists are tables."""
    if not isinstance(data, list | tuple) or not all(isinstance(each, Mapping) for each in data):
        return False
    if data and not any(data):  # no evidence in any slice
        return True
    values = [value for row in data for value in row.values()]
    lists = sum(isinstance(value, list | tuple | np.ndarray) for value in values)
    if any(isinstance(value, Mapping | set | frozenset) for value in values):
        return True
    return bool(lists) and (lists < len(values) or not all(data))


def coded_findings(potentials: Potentials, rows: Sequence[Mapping[str, object]]) -> CodedSlices:
    """One sequence: a mapping of findings for each slice, {} where nothing is known."""
    codes = np.full((len(potentials.names), len(rows)), -1, dtype=np.int32)
    likelihoods: dict[str, list[Array]] = {}
    log_scale = 0.0
    for t, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"the findings of a slice are {{variable: state}}, but those of slice {t} are {row!r:.60}")
        if not row:
            continue
        found = Findings.of(potentials, row)
        codes[:, t] = found.codes
        log_scale += found.log_scale
        for v, name in enumerate(potentials.names) if len(found.weights) else ():
            own = found.weights[potentials.places[v] : potentials.places[v + 1]]
            if (own != 1.0).any():
                more = likelihoods.setdefault(name, [])
                codes[v, t] = len(potentials.states[v]) + len(more)
                more.append(own)
    tables = {name: np.stack(own) for name, own in likelihoods.items()}
    starts = np.array([0, len(rows)], dtype=np.intp)
    return CodedSlices(None, potentials.names, codes, starts, np.ones(1), tables, log_scale)


def by_slice(given: Mapping[str, object], names: Sequence[str], slices: int = 0) -> list[dict[str, Any]]:
    """Findings named as Weather[3], grouped by slice; at least this many slices.

    >>> by_slice({"Weather[1]": "rain"}, ["Weather"])
    [{}, {'Weather': 'rain'}]
    """
    places = {name: split_name(name, names) for name in given}
    size = max([slices, *(1 + t for _, t in places.values())])
    found: list[dict[str, Any]] = [{} for _ in range(size)]
    for name, value in given.items():
        own, t = places[name]
        found[t][own] = value
    return found


def split_name(name: object, names: Sequence[str]) -> tuple[str, int]:
    """The variable and the slice of Weather[3]."""
    own, bracket, rest = str(name).rpartition("[")
    if not bracket or not rest.endswith("]") or not rest[:-1].isascii() or not rest[:-1].isdigit():
        example = f"{name if name in names else next(iter(names))}[0]"
        raise SchemaError(f"{name!r:.60} names no variable of a slice: write {example!r}, slices being counted from 0")
    if own not in names:
        raise SchemaError(f"there is no variable {own!r}; {suggest(own, names)}")
    if int(rest[:-1]) >= MOST_NAMED_SLICES:
        raise SchemaError(f"{name!r:.60} is in slice {MOST_NAMED_SLICES:,} or later, which is too far")
    return own, int(rest[:-1])
