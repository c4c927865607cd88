"""Queries about every row of sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.data import Batch
from credo.data.sequences import SequenceBatch
from credo.errors import EvidenceError
from credo.networks.inference.coding import Unseen
from credo.networks.templates.contraction import Scope
from credo.networks.templates.slice_answers import marginals, most_probable
from credo.networks.templates.slice_chain import CodedSlices, Places, SliceChain
from credo.networks.templates.slice_passes import SlicePasses
from credo.networks.templates.slice_reading import CodeSlices, notice_unseen
from credo.numerics.exact import Array

Answers = dict[str, NDArray[Any]]  # by name; (rows, ...) or (sequences,)


class SliceJob(Protocol):
    """A query about each row of sequences, or about each sequence."""

    @property
    def empty(self) -> Answers:
        """The answer for no rows."""
        ...

    def of(self, coded: CodedSlices) -> Answers: ...

    @property
    def by_row(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class SliceMarginals:
    """P(variable | rows up to this one, or all rows)."""

    chain: SliceChain
    names: Scope
    smooth: bool
    by_row: bool = True

    @property
    def empty(self) -> Answers:
        return {name: np.empty((0, self.chain.sizes[name])) for name in self.names}

    def of(self, coded: CodedSlices) -> Answers:
        passes = SlicePasses.of(self.chain, coded)
        return marginals(self.chain, coded, passes.smoothed() if self.smooth else passes.filtered(), self.names)


@dataclass(frozen=True, eq=False)
class DecodeSlices:
    """The most probable states of all variables, as codes."""

    chain: SliceChain
    by_row: bool = True

    @property
    def empty(self) -> Answers:
        return {name: np.empty(0, dtype=np.int32) for name in self.chain.names}

    def of(self, coded: CodedSlices) -> Answers:
        codes, _ = most_probable(self.chain, coded)
        return dict(zip(coded.names, codes, strict=True))


@dataclass(frozen=True, eq=False)
class SequenceLogProb:
    """log p of each sequence."""

    chain: SliceChain
    by_row: bool = False

    @property
    def empty(self) -> Answers:
        return {"log_prob": np.empty(0)}

    def of(self, coded: CodedSlices) -> Answers:
        return {"log_prob": self._totals(coded)}

    def _totals(self, coded: CodedSlices) -> Array:
        """log p of each sequence; impossible ones are found by bisection, and get -inf."""
        try:
            return SlicePasses.of(self.chain, coded).totals
        except EvidenceError:
            every = np.arange(len(coded.weight))
            if len(every) == 1:
                return np.array([-np.inf])
            halves = np.array_split(every, 2)
            return np.concatenate([self._totals(coded.only(half)) for half in halves])


class SliceBatchAnswers(NamedTuple):
    """The answers for a batch, unseen values, and the original places of rows that were sorted."""

    answer: Answers
    unknown: dict[str, Unseen]
    places: Places | None


@dataclass(frozen=True, eq=False)
class AnswerSlices:
    """The job of one batch of sequences."""

    job: SliceJob
    code: CodeSlices

    def __call__(self, batch: SequenceBatch) -> SliceBatchAnswers:
        coded, unknown, places = self.code(batch)
        return SliceBatchAnswers(self.job.of(coded), unknown, places)


@dataclass(frozen=True, eq=False)
class AnswerBesideRows:
    """The same, together with the batch's rows in their original order."""

    job: SliceJob
    code: CodeSlices

    def __call__(self, batch: SequenceBatch) -> tuple[Batch, Answers]:
        coded, _, places = self.code(batch)
        answer = self.job.of(coded)
        if places is None:
            return batch.batch, answer
        return batch.batch.take(places), {name: own[places] for name, own in answer.items()}


def collected(job: SliceJob, parts: Iterable[SliceBatchAnswers]) -> Answers:
    """The answers of all batches, rows in the table's order; a notice reports unseen values."""
    found, unknown = [job.empty], dict[str, Unseen]()
    for answer, unseen, places in parts:
        ordered = places is not None and job.by_row
        found.append({name: own[places] if ordered else own for name, own in answer.items()})
        for name, (cells, value) in unseen.items():
            before = unknown.get(name, Unseen(0, value))
            unknown[name] = Unseen(before.cells + cells, before.value)
    notice_unseen(unknown)
    return {name: np.concatenate([each[name] for each in found]) for name in job.empty}
