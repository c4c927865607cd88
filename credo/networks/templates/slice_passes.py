"""Filtering and smoothing of whole sequences, a stretch of slices at a time.

The forward pass keeps the message before each stretch, and the backward pass recomputes the stretch: memory grows with
the output, not with intermediate messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from credo._kernels.templates.slice_passes import pass_backward, pass_best, pass_forward, trace_back
from credo.errors import EvidenceError
from credo.models.hidden_markov.passes import Stretch, stretches_of
from credo.networks.templates.slice_chain import CodedSlices, EvidenceCases, SliceChain, SliceLikelihoods
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

STRETCH_NUMBERS = 2**22  # numbers in the messages of a stretch
TRANSITION_NUMBERS = 2**24  # numbers in the transitions of a stretch, where they depend on the evidence
NO_TRANSITIONS = np.empty((0, 0, 0))


@dataclass(frozen=True, eq=False)
class Passed:
    """A stretch after a pass: messages before and at each row, and expected transitions."""

    stretch: Stretch
    seen: SliceLikelihoods
    forward: Array  # (rows + 1, states), logarithms: before the first row, then at each row
    backward: Array | None  # (rows, states), logarithms; None: later rows aren't used
    pairs: Array  # (keys, states, states), or empty

    @property
    def shares(self) -> Array:
        """P(interface state | rows). (rows, states)"""
        logs = self.forward[1:] if self.backward is None else self.forward[1:] + self.backward
        found = np.exp(logs - logs.max(1, keepdims=True))
        return np.asarray(found / found.sum(1, keepdims=True))


@dataclass(frozen=True, eq=False)
class SlicePasses:
    """Forward and backward messages over the interface, for some sequences."""

    chain: SliceChain
    coded: CodedSlices
    stretches: list[Stretch]
    begun: list[Array]  # the forward message before each stretch
    totals: Array  # log p of each sequence
    held: tuple[SliceLikelihoods, Array] | None  # if there is only one stretch
    last: Array  # the forward message after all rows

    @classmethod
    def of(cls, chain: SliceChain, coded: CodedSlices, start: Array | None = None) -> SlicePasses:
        """The forward pass; the first row continues a sequence, if the message before it is given."""
        stretches = stretches_of(coded.starts, _edges(chain, coded.rows))
        if start is not None and stretches:
            stretches[0] = Stretch(**{**vars(stretches[0]), "continues": True})
        message = np.zeros(chain.states) if start is None else start
        totals, begun, held = np.zeros(len(coded.starts) - 1), list[Array](), None
        for own in stretches:
            begun.append(message)
            seen = _read(chain, coded, own)
            forward = _forward(chain, coded, own, seen, message, totals)
            held, message = (seen, forward) if len(stretches) == 1 else None, forward[-1].copy()
        return cls(chain, coded, stretches, begun, totals + coded.log_scale, held, message)

    def filtered(self) -> Iterator[Passed]:
        """Filtered messages, stretch by stretch: each row given those up to it."""
        for own, message in zip(self.stretches, self.begun, strict=True):
            seen, forward = self._again(own, message)
            yield Passed(own, seen, forward, None, NO_TRANSITIONS)

    def smoothed(self, pairs: bool = False) -> Iterator[Passed]:
        """Smoothed messages, from the last stretch to the first: each row given its whole sequence."""
        after = np.zeros(self.chain.states)
        for own, message in zip(reversed(self.stretches), reversed(self.begun), strict=True):
            seen, forward = self._again(own, message)
            if own.ends:
                after = np.zeros(self.chain.states)
            backward = np.empty((own.rows, self.chain.states))
            counts = np.zeros(seen.transitions.shape) if pairs else NO_TRANSITIONS
            weights = self.coded.weight[own.own]
            args = seen.logs, own.starts, own.continues, weights, seen.keys, seen.transitions
            pass_backward(*args, forward, after, backward, counts)
            yield Passed(own, seen, forward, backward, counts)

    def _again(self, own: Stretch, message: Array) -> tuple[SliceLikelihoods, Array]:
        if self.held is not None:
            return self.held
        seen = _read(self.chain, self.coded, own)
        return seen, _forward(self.chain, self.coded, own, seen, message, np.zeros(len(self.totals)))


def _edges(chain: SliceChain, rows: int) -> list[int]:
    size = max(1, STRETCH_NUMBERS // chain.states)
    if chain.later.couplings:
        size = max(1, min(size, TRANSITION_NUMBERS // chain.states**2))
    return [*range(0, rows, size), rows] if rows else []


def _read(chain: SliceChain, coded: CodedSlices, own: Stretch) -> SliceLikelihoods:
    return chain.read(coded, own.a, own.b, continues=own.continues)


def _forward(
    chain: SliceChain, coded: CodedSlices, own: Stretch, seen: SliceLikelihoods, message: Array, totals: Array
) -> Array:
    forward = np.empty((own.rows + 1, chain.states))
    forward[0] = message
    args = seen.logs, own.starts, own.continues, chain.log_initial, seen.keys, seen.transitions
    row = pass_forward(*args, forward, totals[own.own])
    if row >= 0:
        raise impossible(coded, own.a + row)
    return forward


def impossible(coded: CodedSlices, row: int) -> EvidenceError:
    """The error about the first row that is impossible given those before it."""
    slice_ = row - int(coded.starts[np.searchsorted(coded.starts, row, side="right") - 1])
    place = f"slice {slice_}"
    if coded.start is not None:
        place = f"row {coded.start + row + 1} ({place} of its sequence)"
    after = "it" if slice_ == 0 else "it after the slices before"
    return EvidenceError(f"{place} is impossible: no states of the hidden variables allow {after}")


def best_paths(
    chain: SliceChain, coded: CodedSlices
) -> tuple[list[tuple[Stretch, tuple[EvidenceCases, ...]]], Codes, Array]:
    """The likelihoods of each stretch; the most probable joint states of the interface in each row, maximised over
    other variables; and log p. (rows,), (sequences,)"""
    found, reached = list[tuple[Stretch, tuple[EvidenceCases, ...]]](), np.zeros(chain.states)
    came_from = np.zeros((coded.rows, chain.states), dtype=np.int32)
    ends, logs = np.zeros(len(coded.starts) - 1, dtype=np.int32), np.empty(len(coded.starts) - 1)
    for own in stretches_of(coded.starts, _edges(chain, coded.rows)):
        seen = chain.read(coded, own.a, own.b, continues=own.continues, best=True)
        with np.errstate(divide="ignore"):
            log_transitions = np.log(seen.transitions)
        args = seen.logs, own.starts, own.continues, chain.log_initial, seen.keys, log_transitions
        pass_best(*args, reached, came_from[own.a : own.b], ends[own.own], logs[own.own])
        found.append((own, (*seen.cases, *seen.coupled)))
    if np.isneginf(logs).any():
        SlicePasses.of(chain, coded)  # raises the error at the impossible row
    path = np.zeros(coded.rows, dtype=np.int32)
    trace_back(path, coded.starts, ends, came_from)
    return found, path, logs + coded.log_scale
