"""Forward and backward passes over whole sequences, a stretch of rows at a time.

Log-likelihoods are computed stretch by stretch. If all fit in memory, they are kept with the forward messages; else
only each stretch's last message is kept, and the backward pass recomputes the rest. So a sequence of 10⁷ rows takes
little more memory than its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo._kernels.hidden_markov.log_smoothing import pass_backward_log, pass_forward_log
from credo._kernels.hidden_markov.paths import pass_best, trace_best
from credo._kernels.hidden_markov.smoothing import pass_backward, pass_forward
from credo._kernels.models.shares import take_top
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

HELD = 2**25  # numbers kept between the passes
LogsOf = Callable[[int], Array]  # the log-likelihoods of a stretch's rows, in an array of its own. (rows, positions)


class Impossible(Exception):  # noqa: N818 - not raised to users
    """No path of states explains a row and those before it."""

    def __init__(self, row: int) -> None:
        self.row = row


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows a to b, of sequences `own`; it may begin within the first of them and end within the last."""

    a: int
    b: int
    own: slice
    starts: NDArray[np.intp]  # the sequences' starts, from row a
    continues: bool  # whether it begins within a sequence
    ends: bool  # whether it ends with one

    @property
    def rows(self) -> int:
        return self.b - self.a


def stretches_of(starts: NDArray[np.intp], edges: Sequence[int]) -> list[Stretch]:
    """Stretches between the edges; `starts` are the starts of sequences and the end of the last."""
    found = []
    for a, b in pairwise(edges):
        first, last = (int(n) - 1 for n in np.searchsorted(starts, [a, b - 1], side="right"))
        inner = starts[first + 1 : last + 1] - a
        local = np.concatenate([[0], inner, [b - a]]).astype(np.intp)
        ends = bool(b == starts[last + 1])
        found.append(Stretch(a, b, slice(first, last + 1), local, bool(a > starts[first]), ends))
    return found


@dataclass(frozen=True, eq=False)
class Links:
    """P(first position) and P(next position | position), in the kernels' form."""

    initial: Array
    transitions: Array

    @cached_property
    def columns(self) -> Array:
        return np.ascontiguousarray(self.transitions.T)

    @cached_property
    def log_initial(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.initial)

    @cached_property
    def log_transitions(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.transitions)

    @property
    def size(self) -> int:
        return len(self.initial)


class Read(NamedTuple):
    """The likelihoods of a stretch in the form of an arithmetic."""

    likely: Array
    tops: Array


class Scaled:
    """Arithmetic with scaled probabilities."""

    one = 1.0

    def read(self, logs: Array) -> Read:
        tops = np.empty(len(logs))
        take_top(logs, tops)
        return Read(np.exp(logs, out=logs), tops)

    def forward(self, links: Links, read: Read, own: Stretch, messages: Array, totals: Array, lost: Array) -> int:
        likely, tops = read
        args = own.starts, own.continues, links.initial, links.transitions
        return pass_forward(likely, tops, *args, messages, totals, lost)

    def backward(
        self, links: Links, read: Read, own: Stretch, weights: Array, messages: Array, after: Array, found: Counted
    ) -> None:
        args = read.likely, own.starts, own.continues, weights, links.columns
        pass_backward(*args, messages, after, found.firsts, found.pairs)

    def pairs(self, links: Links, pairs: Array) -> Array:
        return np.where(links.transitions > 0, pairs, 0.0) * links.transitions

    def filtered(self, messages: Array) -> Array:
        return np.asarray(messages / messages.sum(1, keepdims=True))


class Logarithmic:
    """Arithmetic with logarithms, for rows whose probabilities underflow."""

    one = 0.0

    def read(self, logs: Array) -> Read:
        return Read(logs, np.empty(0))

    def forward(
        self, links: Links, read: Read, own: Stretch, messages: Array, totals: Array, lost: Array,  # noqa: ARG002
    ) -> int:  # fmt: skip
        args = own.starts, own.continues, links.log_initial, links.log_transitions
        return pass_forward_log(read.likely, *args, messages, totals)

    def backward(
        self, links: Links, read: Read, own: Stretch, weights: Array, messages: Array, after: Array, found: Counted
    ) -> None:
        args = read.likely, own.starts, own.continues, weights, links.log_transitions
        pass_backward_log(*args, messages, after, found.firsts, found.pairs)

    def pairs(self, links: Links, pairs: Array) -> Array:  # noqa: ARG002 - they are counted as they are
        return pairs

    def filtered(self, messages: Array) -> Array:
        return np.exp(messages)


@dataclass(eq=False)
class Counted:
    """Expected beginnings and transitions of positions, as far as they were counted."""

    firsts: Array
    pairs: Array


@dataclass(eq=False)
class Passes:
    """The messages of some sequences."""

    links: Links
    logs_of: LogsOf
    stretches: list[Stretch]
    arithmetic: Scaled | Logarithmic
    held: bool
    totals: Array  # log p of each sequence
    last: list[Array] = field(default_factory=list)  # the forward message of the row before each stretch
    kept: list[tuple[Read, Array]] = field(default_factory=list)

    @classmethod
    def forward(cls, links: Links, logs_of: LogsOf, stretches: list[Stretch], held: int = HELD) -> Passes:
        """The forward pass: in scaled probabilities, or in logarithms where these underflow."""
        rows = stretches[-1].b if stretches else 0
        for arithmetic in (Scaled(), Logarithmic()):
            totals = np.zeros(stretches[-1].own.stop if stretches else 0)
            found = cls(links, logs_of, stretches, arithmetic, rows * links.size <= held, totals)
            failed = found._run()
            if failed < 0:
                return found
        raise Impossible(failed)

    def _run(self) -> int:
        carried, lost = np.zeros(self.links.size), np.zeros(1)
        for k, own in enumerate(self.stretches):
            self.last.append(carried)
            read, messages, failed = self._forward(k, own, self.totals[own.own], lost)
            if failed >= 0:
                return own.a + failed
            carried = messages[-1].copy()
            if self.held:
                self.kept.append((read, messages))
        return -1

    def _forward(self, k: int, own: Stretch, totals: Array, lost: Array) -> tuple[Read, Array, int]:
        """The forward messages of a stretch; `lost` tracks underflow before and after it."""
        read = self.arithmetic.read(self.logs_of(k))
        messages = np.empty((own.rows + 1, self.links.size))
        messages[0] = self.last[k]
        return read, messages, self.arithmetic.forward(self.links, read, own, messages, totals, lost)

    def _again(self, k: int, own: Stretch) -> tuple[Read, Array]:
        """The recomputed messages of a stretch, without underflow checks."""
        return self._forward(k, own, np.zeros(len(own.starts) - 1), np.zeros(1))[:2]

    def filtered(self) -> Iterator[Array]:
        """P(position | the rows up to this one), stretch by stretch. (rows, positions)"""
        for k, own in enumerate(self.stretches):
            _, messages = self.kept[k] if self.held else self._again(k, own)
            yield self.arithmetic.filtered(messages[1:])

    def smoothed(self, weights: Array, found: Counted) -> Iterator[tuple[int, Array]]:
        """P(position | all rows) times the sequence's weight, stretch by stretch, the last first: its number, and
        (rows, positions). Beginnings and transitions are added to what was counted."""
        one, pairs = self.arithmetic.one, np.zeros_like(found.pairs)
        own_counts = Counted(found.firsts, pairs)
        after = np.full(self.links.size, one)
        for k in range(len(self.stretches) - 1, -1, -1):
            own = self.stretches[k]
            read, messages = self.kept.pop() if self.held else self._again(k, own)
            if own.ends:
                after[:] = one
            self.arithmetic.backward(self.links, read, own, weights[own.own], messages, after, own_counts)
            yield k, messages[1:]
        found.pairs += self.arithmetic.pairs(self.links, pairs)


def best_path(
    links: Links, logs_of: LogsOf, again: LogsOf, stretches: list[Stretch], held: int = HELD
) -> tuple[Codes, Array]:
    """The most probable path of positions (Viterbi), and log p of each sequence with it. (rows,), (sequences,)

    `again` is `logs_of` for stretches whose log-likelihoods are computed a second time, since all don't fit in memory.
    """
    rows, sequences = (stretches[-1].b, stretches[-1].own.stop) if stretches else (0, 0)
    path, log_best = np.empty(rows, dtype=np.int32), np.zeros(sequences)
    last, kept = [np.zeros(links.size)], list[Array]()  # log p of the paths to the row before each stretch; to all rows
    for k, own in enumerate(stretches):
        reached = _reached(links, logs_of(k), own, last[k])
        last.append(reached[-1].copy())
        if rows * links.size <= held:
            kept.append(reached)
    after = -1
    for k in range(len(stretches) - 1, -1, -1):
        own = stretches[k]
        reached = kept.pop() if kept else _reached(links, again(k), own, last[k])
        part = path[own.a : own.b]
        trace_best(reached, own.starts, links.log_transitions, -1 if own.ends else after, part, log_best[own.own])
        after = int(part[0])
    return path, log_best


def _reached(links: Links, logs: Array, own: Stretch, before: Array) -> Array:
    """log p of the best path to each row and position, in the array of the log-likelihoods."""
    if own.continues:
        logs[0] += (before[:, None] + links.log_transitions).max(0)
    pass_best(logs, own.starts, own.continues, links.log_initial, links.log_transitions)
    return logs
