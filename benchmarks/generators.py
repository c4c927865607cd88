"""Tables whose truth is known: noise, and a dozen ways for columns to depend on a class; labels may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Table = Any  # a pandas DataFrame
Drawn = tuple[Table, Any, int]  # columns, classes (codes), and how many classes there are
Rng = np.random.Generator
WORDS = np.array([f"w{i:03d}" for i in range(400)])


def noise(rng: Rng, rows: int, columns: int, kind: str) -> Drawn:
    """Two classes of which no column knows anything."""
    truth = rng.integers(0, 2, rows)
    if kind == "numbers":
        return _numbers(rng.normal(size=(rows, columns))), truth, 2
    if kind == "categories":
        return _categories(rng.integers(0, 4, (rows, columns))), truth, 2
    texts = [" ".join(rng.choice(WORDS, max(columns // 5, 3))) for _ in range(rows)]
    return pd.DataFrame({"text": texts}), truth, 2


def mislabelled(rng: Rng, truth: Any, classes: int, share: float) -> Any:
    """Some labels drawn again, so that a share of them is wrong."""
    drawn = rng.random(len(truth)) < share * classes / (classes - 1)
    return np.where(drawn, rng.integers(0, classes, len(truth)), truth)


def _numbers(x: Any) -> Table:
    return pd.DataFrame(x.astype(float), columns=[f"x{j}" for j in range(x.shape[1])])


def _categories(x: Any) -> Table:
    return pd.DataFrame({f"c{j}": np.array([f"v{v}" for v in x[:, j]], dtype=object) for j in range(x.shape[1])})


def _agreeing(rng: Rng, rows: int, columns: int, wrong: float) -> Drawn:
    truth = rng.integers(0, 2, rows)
    return _categories((truth[:, None] ^ (rng.random((rows, columns)) < wrong)).astype(int)), truth, 2


def agreeing(rng: Rng, rows: int) -> Drawn:
    """15 yes/no columns that agree with the class up to 8%."""
    return _agreeing(rng, rows, 15, 0.08)


def hardly_agreeing(rng: Rng, rows: int) -> Drawn:
    return _agreeing(rng, rows, 20, 0.35)


def shifted(rng: Rng, rows: int) -> Drawn:
    truth = rng.integers(0, 2, rows)
    return _numbers(rng.normal(size=(rows, 5)) + 0.8 * truth[:, None]), truth, 2


def correlated(rng: Rng, rows: int) -> Drawn:
    truth = rng.integers(0, 2, rows)
    root = np.linalg.cholesky(0.7 * np.ones((6, 6)) + 0.3 * np.eye(6))
    means = 0.8 * np.array([1, -1, 0.5, 0, 0, 0])
    return _numbers(rng.normal(size=(rows, 6)) @ root.T + truth[:, None] * means), truth, 2


def few_of_many(rng: Rng, rows: int) -> Drawn:
    """Three of fifty columns matter."""
    truth = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, 50))
    x[:, :3] += 1.2 * truth[:, None]
    return _numbers(x), truth, 2


def three_classes(rng: Rng, rows: int) -> Drawn:
    truth = rng.integers(0, 3, rows)
    means = 1.2 * np.random.default_rng(1).normal(size=(3, 4))
    return _numbers(rng.normal(size=(rows, 4)) + means[truth]), truth, 3


def mixed_kinds(rng: Rng, rows: int) -> Drawn:
    truth = rng.integers(0, 2, rows)
    numbers = _numbers(rng.normal(size=(rows, 4)) + truth[:, None] * np.array([0.8, 0, 0.5, 0]))
    numbers["fare"] = np.exp(rng.normal(size=rows) + 0.7 * truth)
    own = truth[:, None] * rng.integers(0, 2, (rows, 4)) + rng.integers(0, 2, (rows, 4))
    return pd.concat([numbers, _categories(own)], axis=1), truth, 2


def imbalanced(rng: Rng, rows: int) -> Drawn:
    truth = (rng.random(rows) < 0.15).astype(int)
    return _numbers(rng.normal(size=(rows, 6)) + 0.9 * truth[:, None]), truth, 2


def logistic(rng: Rng, rows: int) -> Drawn:
    x = rng.normal(size=(rows, 8))
    chance = 1 / (1 + np.exp(-x @ np.array([1.5, -1, 1, 0.5, 0, 0, 0, 0])))
    return _numbers(x), (rng.random(rows) < chance).astype(int), 2


def spread(rng: Rng, rows: int) -> Drawn:
    """Classes that differ in nothing but variance."""
    truth = rng.integers(0, 2, rows)
    return _numbers(rng.normal(size=(rows, 6)) * np.where(truth, 2.0, 1.0)[:, None]), truth, 2


def many_levels(rng: Rng, rows: int) -> Drawn:
    truth = rng.integers(0, 3, rows)
    laws = np.cumsum(np.random.default_rng(2).dirichlet(np.full(5, 0.7), (3, 8)), axis=2)
    x = (rng.random((rows, 8, 1)) > laws[truth]).sum(2)
    return _categories(np.minimum(x, 4)), truth, 3


def copies(rng: Rng, rows: int) -> Drawn:
    """Two numbers, six noisy copies of each."""
    truth = rng.integers(0, 2, rows)
    x = np.repeat(rng.normal(size=(rows, 2)) + 0.8 * truth[:, None], 6, axis=1)
    return _numbers(x + 0.1 * rng.normal(size=(rows, 12))), truth, 2


GENERATORS: dict[str, Callable[[Rng, int], Drawn]] = {
    each.__name__.replace("_", " "): each
    for each in (
        agreeing, hardly_agreeing, shifted, correlated, few_of_many, three_classes, mixed_kinds, imbalanced, logistic,
        spread, many_levels, copies,
    )
}  # fmt: skip
