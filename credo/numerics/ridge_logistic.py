"""Multinomial logistic regression with a ridge penalty: several fits to the same rows at once, by L-BFGS.

maximise Σ w log P(class | x) - λ/2 ‖W‖², log P(class k | x) = b + W x - log Σ. Fits differ in the weights of rows: for
cross-validation, the held-out rows of a fit have weight 0. Features are read once for all fits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.numerics.exact import Array

RIDGE_STEPS, RIDGE_MEMORY = 100, 6  # L-BFGS iterations at most, and the pairs of differences that it keeps
RIDGE_TOLERANCE = 1e-5  # the gain, relative to the penalised log-likelihood, at which a fit ends
SHORTEST_LINE_STEP = 1e-6  # of a step: a shorter one ends the line search
ARMIJO = 1e-4  # the share of the expected gain that a step must achieve


class FeatureMatrix(ABC):
    """The features x of rows: the operations that a fit needs."""

    @property
    @abstractmethod
    def rows(self) -> int: ...

    @property
    @abstractmethod
    def width(self) -> int: ...

    @abstractmethod
    def products(self, weights: Array) -> Array:
        """Σ W x. (vectors, width) -> (vectors, rows)"""

    @abstractmethod
    def sums(self, values: Array) -> Array:
        """Σ over rows of v x. (vectors, rows) -> (vectors, width)"""

    @abstractmethod
    def squares(self) -> Array:
        """Σ over rows of x². (width,)"""

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> FeatureMatrix: ...


@dataclass(frozen=True, eq=False)
class DenseMatrix(FeatureMatrix):
    """A dense matrix of features."""

    x: Array  # (rows, width)

    @property
    def rows(self) -> int:
        return len(self.x)

    @property
    def width(self) -> int:
        return int(self.x.shape[1])

    def products(self, weights: Array) -> Array:
        return np.asarray(weights @ self.x.T)

    def sums(self, values: Array) -> Array:
        return np.asarray(values @ self.x)

    def squares(self) -> Array:
        return np.asarray(np.einsum("rj,rj->j", self.x, self.x))

    def take(self, rows: NDArray[Any]) -> DenseMatrix:
        return DenseMatrix(self.x[rows])


@dataclass(frozen=True, eq=False)
class SparseMatrix(FeatureMatrix):
    """A sparse matrix of features, as a scipy CSR matrix.

    Products are stored vector by vector, like coefficients, which halves the time of a fit.
    """

    x: Any

    @property
    def rows(self) -> int:
        return int(self.x.shape[0])

    @property
    def width(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def _columns(self) -> Any:
        """The transposed matrix in CSR form, for sums over rows."""
        return self.x.T.tocsr()

    def products(self, weights: Array) -> Array:
        return np.ascontiguousarray((self.x @ np.ascontiguousarray(weights.T)).T)

    def sums(self, values: Array) -> Array:
        return np.ascontiguousarray((self._columns @ np.ascontiguousarray(values.T)).T)

    def squares(self) -> Array:
        return np.asarray(self.x.multiply(self.x).sum(0)).ravel()

    def take(self, rows: NDArray[Any]) -> SparseMatrix:
        return SparseMatrix(self.x[rows])


@dataclass(frozen=True, eq=False)
class HorizontalStack(FeatureMatrix):
    """Several matrices of features, stacked horizontally."""

    parts: tuple[FeatureMatrix, ...]

    @property
    def rows(self) -> int:
        return self.parts[0].rows

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    @property
    def _ends(self) -> list[int]:
        return [int(end) for end in np.cumsum([part.width for part in self.parts])[:-1]]

    def products(self, weights: Array) -> Array:
        each = zip(self.parts, np.split(weights, self._ends, axis=1), strict=True)
        return np.asarray(sum(part.products(own) for part, own in each))

    def sums(self, values: Array) -> Array:
        return np.concatenate([part.sums(values) for part in self.parts], axis=1)

    def squares(self) -> Array:
        return np.concatenate([part.squares() for part in self.parts])

    def take(self, rows: NDArray[Any]) -> HorizontalStack:
        return HorizontalStack(tuple(part.take(rows) for part in self.parts))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of several fits; for two classes, those of the second relative to the first."""

    weights: Array  # (fits, classes, width)
    biases: Array  # (fits, classes)

    def __getitem__(self, fits: Any) -> Coefficients:
        return Coefficients(self.weights[fits], self.biases[fits])


class RidgeLogistic:
    """A regression of classes on features, for several weightings of the rows."""

    def __init__(self, features: FeatureMatrix, truth: NDArray[np.integer[Any]], classes: int) -> None:
        self._features, self._classes = features, classes
        self._own = np.arange(classes)[:, None] == truth  # (classes, rows)
        if classes == 2:
            self._own = self._own[1:]

    @property
    def _vectors(self) -> int:
        """The number of coefficient vectors: 1 for two classes."""
        return 1 if self._classes == 2 else self._classes

    def start(self, weights: Array) -> Coefficients:
        """The start of fits: biases from the weighted class shares, and weights of 0. weights: (fits, rows)"""
        n = weights @ self._own.T
        total = weights.sum(1, keepdims=True)
        if self._classes == 2:
            biases = np.log((n + 0.5) / (total - n + 0.5))
        else:
            biases = np.log((n + 0.5) / (total + 0.5 * self._classes))
            biases -= biases.mean(1, keepdims=True)
        return Coefficients(np.zeros((len(weights), self._vectors, self._features.width)), biases)

    def fitted(
        self, weights: Array, penalty: float, start: Coefficients, tolerance: float = RIDGE_TOLERANCE
    ) -> Coefficients:
        """The fits under a penalty λ. weights: (fits, rows)"""
        return _Search(self, weights, penalty, start, tolerance).found()

    def logits(self, found: Coefficients) -> Array:
        """b + W x of each row. (fits, vectors, rows)"""
        fits, vectors, width = found.weights.shape
        logits = self._features.products(found.weights.reshape(-1, width)).reshape(fits, vectors, -1)
        logits += found.biases[:, :, None]
        return logits

    def value_and_slope(self, found: Coefficients, weights: Array, penalty: float) -> tuple[Array, Coefficients]:
        """The penalised log-likelihood of each fit, and its gradient."""
        logits = self.logits(found)
        top = logits.max(1, initial=0.0) if self._classes == 2 else logits.max(1)
        true = np.einsum("kr,fkr->fr", self._own, logits, dtype=np.float64) - top
        logits -= top[:, None]
        odds = np.exp(logits, out=logits)
        total = odds.sum(1) + (np.exp(-top) if self._classes == 2 else 0.0)
        value = np.einsum("fr,fr->f", weights, true - np.log(total))
        odds *= (weights / total)[:, None]
        residual = self._own * weights[:, None] - odds
        slope = self._features.sums(residual.reshape(-1, residual.shape[2])).reshape(found.weights.shape)
        slope -= penalty * found.weights
        value = value - 0.5 * penalty * np.einsum("fkj,fkj->f", found.weights, found.weights)
        return value, Coefficients(slope, residual.sum(2))

    def curvature(self, weights: Array, penalty: float) -> Array:
        """An estimate of the second derivative in each coefficient, biases last. (fits, vectors, width + 1)"""
        total = weights.sum(1)
        share = (weights @ self._own.T + 0.5) / (total[:, None] + 1)
        spread = share * (1 - share)
        mean = self._squares * (total / self._features.rows)[:, None]
        found = np.empty((*share.shape, self._features.width + 1))
        found[:, :, :-1] = spread[:, :, None] * mean[:, None] + penalty
        found[:, :, -1] = spread * total[:, None] + np.finfo(float).tiny
        return found

    @cached_property
    def _squares(self) -> Array:
        return self._features.squares()


class _Search:
    """L-BFGS of several fits in lockstep; converged fits don't move."""

    def __init__(
        self, model: RidgeLogistic, weights: Array, penalty: float, start: Coefficients, tolerance: float
    ) -> None:
        self._model, self._weights, self._penalty, self._tolerance = model, weights, penalty, tolerance
        self._begun = np.concatenate([start.weights, start.biases[:, :, None]], axis=2)  # (fits, vectors, width + 1)
        self._scale = 1 / model.curvature(weights, penalty)

    def found(self) -> Coefficients:
        result, open_ = self._begun.copy(), np.arange(len(self._weights))
        theta, scale = self._begun, self._scale
        value, slope = self._evaluated(theta, open_)
        pairs: deque[_Pair] = deque(maxlen=RIDGE_MEMORY)
        for _ in range(RIDGE_STEPS):
            step = _direction(slope, pairs, scale)
            moved, new, other, stuck = self._halved_steps(theta, step, value, slope, open_)
            going = ~stuck & (new - value > self._tolerance * np.maximum(1.0, np.abs(new)))
            if not going.all():
                result[open_[~going]] = np.where(stuck[:, None, None], theta, moved)[~going]
            if not going.any():
                break
            pairs.append(_Pair.of(moved - theta, slope - other))
            if not going.all():
                pairs = deque((pair.take(going) for pair in pairs), maxlen=RIDGE_MEMORY)
                open_, scale = open_[going], scale[going]
                moved, new, other = moved[going], new[going], other[going]
            theta, value, slope = moved, new, other
        else:
            result[open_] = theta
        return Coefficients(np.ascontiguousarray(result[:, :, :-1]), result[:, :, -1].copy())

    def _evaluated(self, theta: Array, fits: NDArray[np.intp]) -> tuple[Array, Array]:
        own = Coefficients(theta[:, :, :-1], theta[:, :, -1])
        value, slope = self._model.value_and_slope(own, self._weights[fits], self._penalty)
        return value, np.concatenate([slope.weights, slope.biases[:, :, None]], axis=2)

    def _halved_steps(
        self, theta: Array, step: Array, value: Array, slope: Array, fits: NDArray[np.intp]
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Steps, halved until each achieves a share of the expected gain (Armijo); and the fits that found none."""
        promised = ARMIJO * _dot(step, slope)
        moved = theta + step
        new, other = self._evaluated(moved, fits)
        size, short = 1.0, ~(new >= value + promised)
        while short.any():
            size /= 4
            if size < SHORTEST_LINE_STEP:
                break
            some = np.flatnonzero(short)
            moved[some] = theta[some] + size * step[some]
            new[some], other[some] = self._evaluated(moved[some], fits[some])
            short[some] = ~(new[some] >= value[some] + size * promised[some])
        return moved, new, other, short


@dataclass(frozen=True, eq=False)
class _Pair:
    """A step, and the change of the gradient along it."""

    move: Array  # (fits, vectors, width + 1)
    turn: Array
    curvature: Array  # (fits,)

    @classmethod
    def of(cls, move: Array, turn: Array) -> _Pair:
        return cls(move, turn, np.maximum(_dot(move, turn), np.finfo(float).tiny))

    def take(self, fits: NDArray[np.bool_]) -> _Pair:
        return _Pair(self.move[fits], self.turn[fits], self.curvature[fits])


def _dot(a: Array, b: Array) -> Array:
    """The dot product of each fit, by BLAS: einsum takes three times as long. (fits, ...) -> (fits,)"""
    fits = len(a)
    return np.asarray(np.matmul(a.reshape(fits, 1, -1), b.reshape(fits, -1, 1)).reshape(fits))


def _direction(slope: Array, pairs: deque[_Pair], scale: Array) -> Array:
    """The gradient times the pairs' estimate of the inverse curvature (Nocedal 1980)."""
    step, scaled, shares = slope.copy(), np.empty_like(slope), []
    for pair in reversed(pairs):
        share = _dot(pair.move, step) / pair.curvature
        step -= np.multiply(share[:, None, None], pair.turn, out=scaled)
        shares.append(share)
    if pairs:
        last = pairs[-1]
        scale = (
            scale
            * (last.curvature / np.maximum(_dot(last.turn * scale, last.turn), np.finfo(float).tiny))[:, None, None]
        )
    step *= scale
    for pair, share in zip(pairs, reversed(shares), strict=True):
        left = share - _dot(pair.turn, step) / pair.curvature
        step += np.multiply(left[:, None, None], pair.move, out=scaled)
    return step
