"""credo.learn beside scikit-learn's HistGradientBoosting: processor seconds, on real tables and on extreme ones.

The real tables lie beside the checkout (../shared/data/tables); without them the others are measured, and that is said.
Boosting stops early, and otherwise has its defaults. Both use one thread (threads of both would only add overhead on
tables this small), and are measured in turns. credo.learn reports scores on held-out rows, which a fit of boosting
has not: boosting is measured with scores of five folds, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import credo
from benchmarks.quality import SPECS, TABLES, load
from benchmarks.timing import Line, one_thread

PEER = "HistGradientBoosting"
TIMES = 2
FOLDS = 5  # credo.learn takes ten of small tables


def wide() -> tuple[pd.DataFrame, Any]:
    """127 rows of 4,000 numbers, of which 20 tell two classes apart."""
    rng = np.random.default_rng(0)
    truth = np.arange(127) % 2
    x = rng.normal(size=(127, 4000))
    x[:, :20] += truth[:, None]
    return _numbered(x), np.array(["a", "b"])[truth]


def frequencies() -> tuple[pd.DataFrame, Any]:
    """4,600 rows of 57 numbers, most of them 0, as of words in mail."""
    rng = np.random.default_rng(1)
    truth = (rng.random(4600) < 0.4).astype(int)
    there = rng.random((4600, 57)) < 0.3 + 0.2 * truth[:, None] * rng.random(57)
    return _numbered(rng.exponential(size=(4600, 57)) * there), np.array(["a", "b"])[truth]


def many_classes() -> tuple[pd.DataFrame, Any]:
    """2,000 rows of 8 numbers and 500 classes."""
    rng = np.random.default_rng(2)
    truth = np.arange(2000) % 500
    x = 2 * rng.normal(size=(500, 8))[truth] + rng.normal(size=(2000, 8))
    return _numbered(x), np.array([f"c{k}" for k in truth])


def many_categories() -> tuple[pd.DataFrame, Any]:
    """226 rows of 69 categories and 24 classes."""
    rng = np.random.default_rng(3)
    truth = rng.choice(24, 226, p=np.r_[0.25, 0.2, 0.1, np.full(21, 0.45 / 21)])
    shares = rng.random((24, 69, 3)) ** 2
    reached = np.cumsum(shares / shares.sum(2, keepdims=True), axis=2)[truth]
    codes = np.minimum((rng.random((226, 69, 1)) > reached).sum(2), 2)
    cells = pd.DataFrame({f"x{j}": np.array(["u", "v", "w"], dtype=object)[codes[:, j]] for j in range(69)})
    return cells.mask(rng.random(cells.shape) < 0.02), np.array([f"c{k}" for k in truth])


def _numbered(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


EXTREMES: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "127 rows x 4,000 numbers": wide,
    "4,600 rows x 57 numbers": frequencies,
    "2,000 rows, 500 classes": many_classes,
    "226 rows x 69 categories, 24 classes": many_categories,
}


def coded(x: pd.DataFrame) -> pd.DataFrame:
    """Categories as boosting takes them; those of more values than it takes as numbers."""
    cells = x.copy()
    for name in x:
        if x[name].dtype.kind != "f":
            own = x[name].astype("category")
            cells[name] = own if len(own.cat.categories) <= 255 else own.cat.codes.astype(float)
    return cells


def boosted(cells: pd.DataFrame, y: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    counts = np.unique(y, return_counts=True)[1]
    held_out = counts.min() >= 2 and len(counts) <= len(y) // 10  # what it needs to hold out a tenth by class
    return HistGradientBoostingClassifier(early_stopping=held_out, random_state=0).fit(cells, y)


def scored(cells: pd.DataFrame, y: Any) -> list[Any]:
    """The fit, and the probabilities of held-out rows."""
    from sklearn.model_selection import KFold

    boosted(cells, y)
    folds = KFold(FOLDS, shuffle=True, random_state=0).split(cells)
    return [boosted(cells.iloc[rest], y[rest]).predict_proba(cells.iloc[own]) for rest, own in folds]


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def beside(what: str, x: pd.DataFrame, y: Any) -> tuple[float, Line]:
    """The better of a few runs of each, in turns; and our own seconds."""
    pairs = [(seconds(lambda: credo.learn(x, target=y)), seconds(lambda: boosted(coded(x), y))) for _ in range(TIMES)]
    ours, theirs = (min(each) for each in zip(*pairs, strict=True))
    return ours, Line(f"credo.learn: {what}", PEER, ours, theirs, target=1.0)


def run() -> Iterator[Line | str]:
    import sklearn.ensemble  # noqa: F401 - threads of what is loaded later wouldn't be limited

    with one_thread():
        yield from _lines()


def _lines() -> Iterator[Line | str]:
    beside("", *frequencies())  # both loaded, and compiled where that pays
    for what, made in EXTREMES.items():
        yield beside(what, *made())[1]
    if not TABLES.is_dir():
        yield f"| credo.learn on real tables | - | skipped: no {TABLES.name} beside the checkout | | | |"
        return
    for name in SPECS:
        x, y = load(name)
        ours, line = beside(name, x, y)
        yield line
        theirs = seconds(partial(scored, coded(x), np.asarray(y)))
        yield Line(f"the same, boosting with scores of {FOLDS} folds", PEER, ours, theirs, target=1.0)
