"""Membership of rows in groups: hard (codes, -1 = unknown) or soft (weights)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo._kernels.models.shares import share_out, take_top
from credo.numerics.arrays import Codes as Codes
from credo.numerics.exact import Array

FEW_RESPONSIBILITIES = 2**15  # rows x groups, up to which NumPy is faster than loading a kernel


@dataclass(frozen=True, eq=False)
class Hard:
    """Row i belongs to group codes[i] with its whole weight; to none if the code is -1."""

    codes: Codes  # (rows,)
    groups: int
    weight: Array  # (rows,)

    @classmethod
    def of(cls, codes: ArrayLike, groups: int, weight: ArrayLike | None = None) -> Hard:
        codes = np.asarray(codes, dtype=np.int32)
        return cls(codes, groups, np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64))

    @classmethod
    def whole(cls, rows: int, weight: ArrayLike | None = None) -> Hard:
        """All rows in one group."""
        return cls.of(np.zeros(rows, dtype=np.int32), 1, weight)

    @property
    def rows(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Hard:
        return Hard(self.codes[rows], self.groups, self.weight[rows])

    def soft(self) -> Soft:
        """The membership as weights: one-hot rows, zeros where the code is -1."""
        one_hot = self.codes[:, None] == np.arange(self.groups)
        return Soft(one_hot * self.weight[:, None])


@dataclass(frozen=True, eq=False)
class Soft:
    """Row i belongs to group k with weights[i, k]: responsibilities, times the row's weight."""

    weights: Array  # (rows, groups)

    @classmethod
    def responsibilities(cls, log_joint: Array, weight: Array | None = None) -> tuple[Soft, Array]:
        """P(group | row) = p(row, group)/p(row), times the row's weight, and log p(row); log_joint (rows, groups) is
        overwritten. A row that is impossible in every group belongs to none: its log-probability is -∞.

        >>> member, log_prob = Soft.responsibilities(np.log([[0.1, 0.3], [0.6, 0.2]]))
        >>> np.round(member.weights, 6).tolist(), np.round(np.exp(log_prob), 6).tolist()
        ([[0.25, 0.75], [0.75, 0.25]], [0.4, 0.8])
        """
        weight = np.ones(len(log_joint)) if weight is None else weight
        if not take_top.is_ready and log_joint.size < FEW_RESPONSIBILITIES:
            return cls._of_few(log_joint, weight)
        log_prob, total = np.empty((2, len(log_joint)))
        take_top(log_joint, log_prob)
        np.exp(log_joint, out=log_joint)
        share_out(log_joint, weight, total)
        with np.errstate(divide="ignore"):
            log_prob += np.log(total)
        return cls(log_joint), log_prob

    @classmethod
    def _of_few(cls, log_joint: Array, weight: Array) -> tuple[Soft, Array]:
        """Responsibilities by NumPy, in the kernels' order: the same to the last bit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            top = log_joint.max(1, initial=-np.inf)
            shares = np.exp(log_joint - np.where(np.isneginf(top), 0.0, top)[:, None])
            total = np.zeros(len(shares))
            for column in shares.T:
                total += column
            shares *= np.where(total > 0.0, weight / total, 1.0)[:, None]
            return cls(shares), top + np.log(total)

    @property
    def rows(self) -> int:
        return len(self.weights)

    @property
    def groups(self) -> int:
        return int(self.weights.shape[1])

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Soft:
        return Soft(self.weights[rows])


Membership = Hard | Soft
