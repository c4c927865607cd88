"""Whether probabilities can be trusted: reported figures against the truth, on noise, small samples, copies, blanks.

Truths are known (generators) or measured on rows that were set aside (tables beside the checkout).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import credo
from benchmarks.generators import GENERATORS, mislabelled, noise
from benchmarks.quality import SPECS, TABLES, encoded, load
from benchmarks.timing import Least, Limit

NEW = 2000  # rows on which the truth is measured
UNKNOWN = 1e-3  # P(truth) of everyone, the class shares included, where no row had the class
SIZES, NOISES, DRAWS, SMALLEST = (10, 20, 40, 80, 160), (0.0, 0.1, 0.2), 2, 80
SMALL = [name for name in SPECS if name not in ("adult", "covertype (20k rows)", "mushroom")]
BLANKS = (0.1, 0.3, 0.6, 0.9)
FOLDS, PREDICTED = 5, 1000  # folds of a table, and rows that are to be predicted: small tables are split more often


@dataclass(frozen=True)
class Outcome:
    """What was reported of a model, and what is true of it."""

    reported: float
    error: float  # the reported figure's standard error
    true: float
    shares: float  # the log-loss of the classes' shares
    peer: float = np.nan


def learned(x: Any, y: Any, new_x: Any, new_y: Any, peer: bool = False) -> Outcome:
    """credo.learn on some rows, measured on new ones."""
    names = np.array([f"c{k}" for k in range(int(max(y.max(), new_y.max())) + 1)])
    model = credo.learn(x, target=names[y])
    found = model.predict_proba(new_x)
    place = {value: k for k, value in enumerate(model.classes)}
    own = np.array([place.get(name, -1) for name in names[new_y]])
    p = np.where(own >= 0, found[np.arange(len(own)), own], UNKNOWN)
    counts = np.bincount(y, minlength=len(names))
    share = np.where(counts > 0, (counts + 1) / (len(y) + np.count_nonzero(counts)), UNKNOWN)
    scores = model.report.scores
    beside = regression(x, y, new_x, new_y) if peer else np.nan
    return Outcome(scores.log_loss, scores.log_loss_error, -np.log(p).mean(), -np.log(share[new_y]).mean(), beside)


def regression(x: Any, y: Any, new_x: Any, new_y: Any) -> float:
    """Logistic regression, its strength chosen by cross-validation where each class has two rows."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.pipeline import make_pipeline

    counts = np.bincount(y)
    folds = int(min(5, counts[counts > 0].min()))
    plain = LogisticRegression(max_iter=2000)
    chosen = LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", max_iter=2000) if folds > 1 else plain
    model = make_pipeline(encoded(x, "scaled"), chosen).fit(x, y)
    p = np.full((len(new_y), max(len(counts), int(new_y.max()) + 1)), UNKNOWN)
    p[:, model.classes_] = model.predict_proba(new_x)
    return float(-np.log(np.maximum(p[np.arange(len(new_y)), new_y], 1e-15)).mean())


def apart(x: pd.DataFrame, rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    return x.iloc[:rows].reset_index(drop=True), x.iloc[rows:].reset_index(drop=True)


def of_noise() -> Iterator[Outcome]:
    for i, kind in enumerate(("numbers", "categories", "texts")):
        for rows in (30, 100, 300):
            for columns in (5, 50, 200, 500):
                for draw in range(DRAWS):
                    rng = np.random.default_rng([i, rows, columns, draw])  # classes of its own for each kind
                    x, y, _ = noise(rng, rows + NEW, columns, kind)
                    old, new = apart(x, rows)
                    yield learned(old, y[:rows], new, y[rows:])


def of_small_samples(rows: int) -> Iterator[tuple[str, Outcome]]:
    for name, draw_rows in GENERATORS.items():
        for wrong in NOISES:
            for draw in range(max(DRAWS, SMALLEST // rows)):  # chance moves figures of fewer rows further
                rng = np.random.default_rng([rows, draw, int(100 * wrong)])
                x, y, classes = draw_rows(rng, rows + NEW)
                y = mislabelled(rng, y, classes, wrong)
                old, new = apart(x, rows)
                if len(np.unique(y[:rows])) > 1:
                    yield name, learned(old, y[:rows], new, y[rows:], peer=True)


def of_tables(names: list[str]) -> Iterator[tuple[str, Outcome]]:
    """Reported by models of four fifths of the rows, true of the rest.

    One row in 47 that is hard to predict moves the log-loss by 0.1, and the training rows decide how hard it is. So
    small tables are split several times.
    """
    for name in names:
        x, y = load(name)
        codes = np.unique(y, return_inverse=True)[1]
        outcomes = []
        for split in range(-(-PREDICTED // len(codes))):
            fold = np.random.default_rng(split).permutation(len(codes)) % FOLDS
            for k in range(FOLDS):
                old, new = x[fold != k].reset_index(drop=True), x[fold == k]
                outcomes.append(learned(old, codes[fold != k], new, codes[fold == k]))
        yield name, Outcome(*np.mean([list(vars(each).values()) for each in outcomes], axis=0).tolist())


def blanked(name: str, share: float) -> Outcome:
    """A third of the rows predicted with some cells blanked at random."""
    x, y = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    held_out = rng.permutation(len(codes)) % 3 == 0
    new = x[held_out].copy()
    new = new.mask(rng.random(new.shape) < share)
    return learned(x[~held_out].reset_index(drop=True), codes[~held_out], new, codes[held_out])


def repeated(times: int = 3) -> Outcome:
    """Every row three times: the report must not be fooled."""
    rng = np.random.default_rng(0)
    x, y, classes = GENERATORS["hardly agreeing"](rng, 150 + NEW)
    y = mislabelled(rng, y, classes, 0.1)
    old, new = apart(x, 150)
    return learned(pd.concat([old] * times, ignore_index=True), np.tile(y[:150], times), new, y[150:])


def run() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _lines()


def _lines() -> Iterator[Any]:
    found = list(of_noise())
    ratio = [each.true / each.shares for each in found]
    yield Limit(f"pure noise, {len(found)} draws: log-loss, of the class shares', the worst", max(ratio), 1.05, "times")
    honest = np.mean([abs(each.true - each.reported) <= 2 * each.error for each in found])
    yield Least("the same: reported within two standard errors of the truth, share of draws", float(honest), 0.95)
    for rows in SIZES:
        outcomes = list(of_small_samples(rows))
        means = {f: np.mean([getattr(each, f) for _, each in outcomes]) for f in ("true", "peer", "shares", "reported")}
        what = f"{rows} rows of a dozen generators, label noise 0 to 20%"
        yield Limit(f"{what}: log-loss, of logistic regression's", float(means["true"] / means["peer"]), 1.05, "times")
        worst = max(
            np.mean([o.true for n, o in outcomes if n == name]) / np.mean([o.shares for n, o in outcomes if n == name])
            for name in GENERATORS
        )
        yield Limit("the same: of the class shares', the worst generator", float(worst), 1.10, "times")
    each = repeated()
    yield Limit("every row three times: true log-loss, of the reported one", each.true / each.reported, 1.15, "times")
    if not TABLES.is_dir():
        yield "| trust on real tables | - | skipped: no tables beside the checkout | | | |"
        return
    tables = dict(of_tables(SMALL))
    for name, outcome in tables.items():
        yield f"| {name}: reported {outcome.reported:.4f} ± {outcome.error:.4f}, true {outcome.true:.4f} | | | | | |"
    true, reported = (np.mean([getattr(each, f) for each in tables.values()]) for f in ("true", "reported"))
    yield Limit("real tables: |true - reported| log-loss, of the true", abs(true - reported) / true, 0.02, "times")
    for share in BLANKS:
        ratios = {name: (outcome := blanked(name, share)).true / outcome.shares for name in SMALL}
        worst_name = max(ratios, key=lambda name: ratios[name])
        what = f"{share:.0%} of the cells blanked: log-loss, of the class shares', the worst table ({worst_name})"
        yield Limit(what, ratios[worst_name], 1.05, "times")
