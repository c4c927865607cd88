"""Decision trees beside scikit-learn's: processor seconds and log-loss on adult, and log-loss on the other tables.

The tables lie beside the checkout (../shared/data/tables); without them nothing is measured, which is said. The peer
gets its columns encoded (categories as numbers, or one-hot; missing cells as a value of their own): its encoding counts
where that is said; else it is done beforehand, for credo only where it starts from categories. The pruned tree's
ccp_alpha is chosen by 3-fold cross-validation of the log-loss on the training rows, among 12 values of its own pruning
path. Both use one thread, measured in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import credo
from benchmarks.learning_time import seconds
from benchmarks.quality import SPECS, TABLES, load, log_loss
from benchmarks.timing import Least, Line, Ratio, one_thread

PEER = "DecisionTreeClassifier"
AVERAGE = "credo average"
TIMES, FOLDS, CHOICES = 7, 5, 12
ABSENT = -1e9  # a missing number: below all others


def encoded(x: pd.DataFrame, train: Any, one_hot: bool) -> Any:
    """What scikit-learn's tree reads: an array, with the categories of the training rows."""
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    number = [name for name in x if x[name].dtype.kind == "f"]
    category = [name for name in x if name not in number]
    coder: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if one_hot:
        coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    cells = x[category].fillna("?")
    codes = coder.fit(cells.iloc[train]).transform(cells) if category else np.empty((len(x), 0))
    return np.ascontiguousarray(np.hstack([np.nan_to_num(x[number].to_numpy(), nan=ABSENT), codes]), dtype=np.float32)


def pruned(x: Any, y: Any) -> Any:
    """The tree with the ccp_alpha that predicts held-out training rows best."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    plain = DecisionTreeClassifier(random_state=0)
    path = np.maximum(plain.cost_complexity_pruning_path(x, y).ccp_alphas, 0.0)
    alphas = np.unique(np.quantile(path, 1 - np.geomspace(1e-4, 1, CHOICES)))
    found = GridSearchCV(plain, {"ccp_alpha": alphas}, scoring="neg_log_loss", cv=3, error_score="raise")
    return found.fit(x, y).best_estimator_


def speed(x: pd.DataFrame, y: Any) -> Iterator[Line]:
    """Fits of all rows: from strings, with the time of scikit-learn's encoding; and from what is encoded for both."""
    from sklearn.tree import DecisionTreeClassifier

    every = np.arange(len(y))
    words = [name for name in x if x[name].dtype.kind != "f"]
    coded = x.astype(dict.fromkeys(words, "category"))
    numbered, one_hot = (encoded(x, every, how) for how in (False, True))

    def theirs(cells: Any) -> Any:
        return DecisionTreeClassifier(random_state=0).fit(cells, y)

    runs: list[tuple[str, Any, Callable[[], Any]]] = [
        ("strings; OrdinalEncoder and", x, lambda: theirs(encoded(x, every, False))),
        ("strings; encoded beforehand,", x, lambda: theirs(numbered)),
        ("categories; encoded as numbers,", coded, lambda: theirs(numbered)),
        ("categories; encoded one-hot,", coded, lambda: theirs(one_hot)),
    ]
    for what, own, run in runs:
        pairs = [
            (seconds(lambda own=own: credo.DecisionTree().fit(own, target=y)), seconds(run))  # type: ignore[misc]
            for _ in range(TIMES)
        ]
        own_best, their_best = (min(each) for each in zip(*pairs, strict=True))
        given, how = what.split("; ")
        yield Line(f"averaged tree: fit adult, 32,561 rows, from {given}", f"{how} {PEER}", own_best, their_best, 1.0)


def losses(name: str) -> dict[str, float]:
    """Log-losses over the same folds: credo's tree averaged, by description length and unpruned; scikit-learn's."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    x, y = load(name)
    classes = np.unique(y)
    shares: dict[str, Any] = {}
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(x, y):
        for prune in ("average", "mdl", "evidence", None):
            model = credo.DecisionTree(prune=prune).fit(x.iloc[train], target=y[train])
            _put(shares, f"credo {prune}", test, model.predict_proba(x.iloc[test]), model.classes, classes, len(y))
        for what, one_hot in (("numbers", False), ("one-hot", True)):
            cells = encoded(x, train, one_hot)
            full = DecisionTreeClassifier(random_state=0).fit(cells[train], y[train])
            for how, tree in (("full", full), ("pruned", pruned(cells[train], y[train]))):
                found = tree.predict_proba(cells[test])
                _put(shares, f"{how}, {what}", test, found, tree.classes_, classes, len(y))
    return {each: log_loss(found, y, classes) for each, found in shares.items()}


def _put(shares: dict[str, Any], name: str, rows: Any, found: Any, known: Any, classes: Any, size: int) -> None:
    own = shares.setdefault(name, np.zeros((size, len(classes))))
    own[np.ix_(rows, np.searchsorted(classes, [*known]))] = found


def run() -> Iterator[Line | Ratio | Least | str]:
    if not TABLES.is_dir():
        yield f"| decision trees on real tables | - | skipped: no {TABLES.name} beside the checkout | | | |"
        return
    with one_thread():
        yield from _lines()


def _lines() -> Iterator[Line | Ratio | Least | str]:
    x, y = load("adult")
    credo.DecisionTree().fit(x, target=y)  # loaded, and compiled
    yield from speed(x, y)
    found = {name: losses(name) for name in SPECS if name != "covertype (20k rows)"}
    for name, each in found.items():
        yield compared(name, each)
    yield Ratio(
        "log-loss: adult, averaged against the best pruned tree", found["adult"][AVERAGE], _best(found["adult"])
    )
    ahead = sum(each[AVERAGE] < _best(each) for each in found.values())
    yield Least("tables on which the average is ahead of the best pruned tree, of " + str(len(found)), ahead, 8)


def compared(name: str, found: dict[str, float]) -> str:
    """credo's trees, and the better of scikit-learn's encodings, full and pruned."""
    own = ", ".join(f"{prune} {found[f'credo {prune}']:.4f}" for prune in ("average", "mdl", "evidence", None))
    peer = f"full {_best(found, 'full'):.4f}, pruned {_best(found):.4f}"
    return f"| {FOLDS}-fold log-loss: {name} | {own} | {peer} | | | |"


def _best(found: dict[str, float], how: str = "pruned") -> float:
    return min(found[f"{how}, {what}"] for what in ("numbers", "one-hot"))
