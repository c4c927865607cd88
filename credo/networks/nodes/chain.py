"""P(node | parents) in steps, one parent at a time: never the table over all parents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo.networks.inference.sizes import check_numbers
from credo.networks.nodes.node import NodeFactor
from credo.numerics.exact import Array

LARGEST_SINGLE_FACTOR = 2**6  # numbers of a table that is kept as one factor
CONFIGURATIONS_AT_ONCE = 2**13
Cells = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chain:
    """A summary sᵢ of the parents read so far is all that the next step needs:

    P(y | x) = Σ P(s₁ | x₁) P(s₂ | s₁, x₂) ··· P(y | sₙ₋₁, xₙ).

    For a noisy-OR, sᵢ says whether one of the first i causes, or the leak, had an effect. The factors are linear in the
    number of parents, where the table is exponential.

    >>> either = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])  # (before, state of the parent, after)
    >>> Chain("y", ("a", "b", "c"), (2, 2, 2), (0, 1, 2), (either[:1], either, either)).table()[0, 0]
    array([[1., 0.],
           [0., 1.]])
    """

    name: str
    parents: tuple[str, ...]  # at least one
    sizes: tuple[int, ...]  # the number of states of each parent
    reads: tuple[int, ...]  # the parent that each step reads; at least one
    steps: tuple[Array, ...]  # (summaries before, states of the parent, summaries after); the last: own states

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table."""
        return (*self.sizes, self.steps[-1].shape[2])

    @cached_property
    def is_small(self) -> bool:
        """Whether the table is no larger than the steps."""
        return len(self.steps) == 1 or prod(self.shape) <= max(
            LARGEST_SINGLE_FACTOR, sum(step.size for step in self.steps)
        )

    def table(self) -> Array:
        """(the parents' states..., own states)"""
        check_numbers(f"the table of {self.name!r:.60}", prod(self.shape))
        found = np.ones((*(1 for _ in self.parents), 1))
        for p, step in zip(self.reads, self.steps, strict=True):
            before = np.broadcast_to(found, (*found.shape[:p], self.sizes[p], *found.shape[p + 1 :]))
            each = [before.take(x, axis=p) @ step[:, x] for x in range(self.sizes[p])]
            found = np.stack(each, axis=p)
        return np.array(np.broadcast_to(found, self.shape))

    def node_factors(self) -> tuple[NodeFactor, ...]:
        """The factors of the node and of the summaries; a small table is one factor."""
        if self.is_small:
            return (NodeFactor((*self.parents, self.name), self.table()),)
        read = [self.parents[p] for p in self.reads]
        middle = [NodeFactor((i, read[i + 1], i + 1), step) for i, step in enumerate(self.steps[1:-1])]
        own = NodeFactor((len(middle), read[-1], self.name), self.steps[-1])
        return (own, NodeFactor((read[0], 0), self.steps[0][0]), *middle)

    def step_counts(self, counts: Sequence[Array]) -> list[Array]:
        """Expected counts of the steps, from those of the node factors."""
        if self.is_small:
            return self.expected(every_cell(self.shape), counts[0].reshape(-1))
        last, first, *middle = counts
        return [first[None], *middle, last]

    def rows(self, cells: Cells) -> Array:
        """P(y | x) for configurations of the parents. (configurations, own states)"""
        return np.concatenate([np.empty((0, self.shape[-1])), *(self._forward(some)[-1] for (some,) in _chunks(cells))])

    def probabilities(self, cells: Cells) -> Array:
        """P(y | x) of each configuration (parents' states..., own state). (configurations,)"""
        return np.take_along_axis(self.rows(cells), cells[:, -1:], 1)[:, 0]

    def expected(self, cells: Cells, weight: Array) -> list[Array]:
        """Expected counts of the steps, given the number of rows in each configuration: forward and backward along the
        chain."""
        found = [np.zeros(step.shape) for step in self.steps]
        for some, own in _chunks(cells, weight):
            kept = own > 0
            self._add(some[kept], own[kept], found)
        return found

    def _add(self, cells: Cells, weight: Array, found: list[Array]) -> None:
        forward = self._forward(cells)
        back = np.zeros(forward[-1].shape)
        back[np.arange(len(cells)), cells[:, -1]] = 1.0
        for i in range(len(self.steps) - 1, -1, -1):
            step, before = self.steps[i], forward[i]
            further = np.empty(before.shape)
            for x in range(step.shape[1]):
                mine = np.flatnonzero(cells[:, self.reads[i]] == x)
                joint = before[mine, :, None] * step[:, x] * back[mine, None, :]
                total = joint.sum((1, 2))
                share = np.divide(weight[mine], total, out=np.zeros(len(mine)), where=total > 0)
                found[i][:, x] += np.tensordot(share, joint, 1)
                further[mine] = back[mine] @ step[:, x].T
            top = further.max(1, keepdims=True, initial=0.0)
            back = np.divide(further, top, out=further, where=top > 0)

    def _forward(self, cells: Cells) -> list[Array]:
        """P(summary | parents read so far), before the first step and after each. (configurations, summaries)"""
        found = [np.ones((len(cells), 1))]
        for i, step in enumerate(self.steps):
            after = np.empty((len(cells), step.shape[2]))
            for x in range(step.shape[1]):
                mine = cells[:, self.reads[i]] == x
                after[mine] = found[-1][mine] @ step[:, x]
            found.append(after)
        return found


def every_cell(shape: Sequence[int]) -> Cells:
    """All configurations, in the order of a table's entries. (configurations, axes)"""
    return np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1).astype(np.int64)


def _chunks(*arrays: NDArray) -> Iterator[tuple[NDArray, ...]]:  # type: ignore[type-arg]
    for at in range(0, len(arrays[0]), CONFIGURATIONS_AT_ONCE):
        yield tuple(each[at : at + CONFIGURATIONS_AT_ONCE] for each in arrays)
