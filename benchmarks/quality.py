"""How good credo.learn's probabilities are on real tables, beside scikit-learn's classifiers: 10-fold log-loss.

The tables lie beside the checkout (../shared/data/tables); without them nothing is measured, which is said. Each
peer gets its columns encoded and imputed as it needs, and comes plain and calibrated in two ways. Of covertype, 20,000
random rows. Names and numbers of rows (ids) are left out for all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import credo
from benchmarks.timing import Limit, Ratio
from credo.selection import candidate_forms

TABLES = Path(__file__).parents[2] / "shared" / "data" / "tables"
SPECS: dict[str, tuple[str, str, list[str]]] = {
    "adult": ("adult/adult-train.csv.gz", "income", []),
    "breast cancer": ("breast_cancer_wisconsin_original/breast_cancer_wisconsin_original.csv", "class", ["id"]),
    "car": ("car/car.csv", "class", []),
    "covertype (20k rows)": ("covertype/covertype.csv.gz", "Cover_Type", []),
    "german credit": ("german_credit/german_credit.csv", "class", []),
    "heart": ("heart_cleveland/heart_cleveland.csv", "num", []),
    "iris": ("iris/iris.csv", "Species", []),
    "mushroom": ("mushroom/mushroom.csv", "class", []),
    "penguins": ("palmer_penguins/palmer_penguins.csv", "species", []),
    "pima": ("pima_diabetes/pima_diabetes.csv", "outcome", []),
    "soybean (small)": ("soybean_small/soybean_small.csv", "class", []),
    "tic-tac-toe": ("tic_tac_toe/tic_tac_toe.csv", "Class", []),
    "titanic": ("titanic/titanic.csv", "survived", ["name"]),
    "titanic (kaggle)": ("titanic/titanic-kaggle-train.csv", "Survived", ["PassengerId", "Name", "Ticket"]),
    "vote": ("vote/vote.csv", "Class", []),
}
FOLDS, SAMPLE = 10, 20_000
CREDO, SIMPLER, REGRESSION = "credo.learn", "credo.learn without pairs of columns", "logistic regression"
TUNED, BOOSTED = "logistic regression, strength by cross-validation", "HistGradientBoosting"
SEPARABLE = "soybean (small)"  # whose 47 rows leave a doubt of 0.03 nats each; one looks like another class (2.2)


def load(name: str) -> tuple[pd.DataFrame, Any]:
    """Numbers as floats; strings, and integers of at most two values, as strings; NaN where a cell is missing."""
    file, target, dropped = SPECS[name]
    table = pd.read_csv(TABLES / file, na_values=[""], keep_default_na=False)
    if len(table) > 10 * SAMPLE:
        table = table.sample(SAMPLE, random_state=0).reset_index(drop=True)
    columns = {}
    for column in table.columns.difference([target, *dropped], sort=False):
        cells = table[column]
        few = cells.dropna().nunique() <= 2
        number = cells.dtype.kind == "f" or (cells.dtype.kind == "i" and not few)
        columns[column] = cells.astype(float) if number else cells.map(str, na_action="ignore").astype(object)
    return pd.DataFrame(columns), table[target].astype(str).to_numpy()


def encoded(x: pd.DataFrame, how: str) -> Any:
    """Missing cells filled in, numbers as `how` says, categories one-hot (or numbered, for CategoricalNB)."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

    number = [name for name in x if x[name].dtype.kind == "f"]
    category = [name for name in x if name not in number]
    scaled = {
        "scaled": StandardScaler(),
        "between 0 and 1": MinMaxScaler(clip=True),
        "bins": KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"),
        "one-hot bins": KBinsDiscretizer(
            10, encode="onehot-dense", strategy="quantile", quantile_method="averaged_inverted_cdf"
        ),
    }[how]
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    commonest = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbered = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    steps = [
        ("number", make_pipeline(median, scaled), number),
        ("category", make_pipeline(commonest, numbered if how == "bins" else one_hot), category),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def peers(x: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """scikit-learn's naive Bayes and discriminant classifiers, plain and calibrated, and logistic regression."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
    from sklearn.pipeline import make_pipeline

    class Categorical(CategoricalNB):  # type: ignore[misc]
        """A value that no row had counts as the first one: the class itself fails on it."""

        def predict_joint_log_proba(self, cells: Any) -> Any:
            return super().predict_joint_log_proba(np.maximum(cells, 0))

        def predict_log_proba(self, cells: Any) -> Any:
            return super().predict_log_proba(np.maximum(cells, 0))

    levels = np.array([10 if x[name].dtype.kind == "f" else x[name].nunique() for name in _by_kind(x)])
    plain = {
        "GaussianNB": (GaussianNB(), "scaled"),
        "CategoricalNB": (Categorical(min_categories=levels), "bins"),
        "BernoulliNB": (BernoulliNB(), "one-hot bins"),
        "MultinomialNB": (MultinomialNB(), "between 0 and 1"),
        "ComplementNB": (ComplementNB(), "between 0 and 1"),
        "LDA": (LinearDiscriminantAnalysis(), "scaled"),
        "QDA": (QuadraticDiscriminantAnalysis(reg_param=0.01), "scaled"),
    }
    yield REGRESSION, make_pipeline(encoded(x, "scaled"), LogisticRegression(max_iter=2000))
    for name, (classifier, how) in plain.items():
        pipeline = make_pipeline(encoded(x, how), classifier)
        yield name, pipeline
        for method in ("sigmoid", "isotonic"):
            yield f"{name}, {method}", CalibratedClassifierCV(pipeline, method=method)


def tuned_regression(x: pd.DataFrame, train: Any, test: Any, y: Any) -> Any:
    """P(class | row) by logistic regression, its strength chosen by cross-validation."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline

    folds = int(min(5, np.unique(y[train], return_counts=True)[1].min()))
    regression = LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", max_iter=2000)
    return make_pipeline(encoded(x, "scaled"), regression).fit(x.iloc[train], y[train]).predict_proba(x.iloc[test])


def boosted_shares(x: pd.DataFrame, train: Any, test: Any, y: Any) -> Any:
    """The same by gradient boosting with early stopping, categories as they are."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    cells = x.copy()
    for name in x:
        if x[name].dtype.kind != "f":
            coded = x[name].astype("category")
            cells[name] = coded if len(coded.cat.categories) <= 255 else coded.cat.codes.astype(float)
    rare = np.unique(y[train], return_counts=True)[1].min() < 2
    model = HistGradientBoostingClassifier(early_stopping=not rare, random_state=0)
    return model.fit(cells.iloc[train], y[train]).predict_proba(cells.iloc[test])


def _by_kind(x: pd.DataFrame) -> list[str]:
    return sorted(x, key=lambda name: x[name].dtype.kind != "f")


def log_loss(shares: Any, truth: Any, classes: Any) -> float:
    """The mean of -log P(truth); what isn't a number counts as not knowing."""
    shares = np.nan_to_num(shares, nan=1 / len(classes))
    total = shares.sum(1, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / len(classes))
    own = shares[np.arange(len(truth)), np.searchsorted(classes, truth)]
    return -float(np.log(np.maximum(own, np.finfo(float).eps)).mean())


def losses(name: str, failed: list[str]) -> dict[str, float]:
    """Each classifier's 10-fold log-loss on a table, over the same folds; and who couldn't be fitted to one."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    x, y = load(name)
    classes = np.unique(y)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(x, y))
    shares: dict[str, Any] = {each: np.zeros((len(y), len(classes))) for each in (CREDO, SIMPLER)}
    for train, test in folds:
        for each, few in ((CREDO, candidate_forms.PAIR_ROWS), (SIMPLER, len(y) + 1)):
            if each == SIMPLER and len(train) < candidate_forms.PAIR_ROWS:  # no pairs are counted: it is the same
                shares[each][test] = shares[CREDO][test]
                continue
            with patch.object(candidate_forms, "PAIR_ROWS", few):
                model = credo.learn(x.iloc[train], target=y[train])
            shares[each][test] = model.predict_proba(x.iloc[test])
    for peer, found in ((TUNED, tuned_regression), (BOOSTED, boosted_shares)):
        shares[peer] = np.full((len(y), len(classes)), np.nan)
        for train, test in folds:
            shares[peer][test] = found(x, train, test, y)
    for peer, classifier in peers(x):
        shares[peer] = np.full((len(y), len(classes)), np.nan)
        for train, test in folds:
            try:
                fitted = clone(classifier).fit(x.iloc[train], y[train])
                shares[peer][test] = fitted.predict_proba(x.iloc[test])
            except (ValueError, np.linalg.LinAlgError) as error:  # it knows nothing of these rows
                failed.append(f"{peer} on {name}: {str(error).splitlines()[0]:.60}")
    return {peer: log_loss(each, y, classes) for peer, each in shares.items()}


def ranks(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean rank of each, without logistic regression, boosting and the simpler pool."""
    names = [name for name in next(iter(found.values())) if name not in (REGRESSION, TUNED, BOOSTED, SIMPLER)]
    table = np.array([[each[name] for name in names] for each in found.values()])
    order = table.argsort(1).argsort(1) + 1.0
    return dict(zip(names, order.mean(0), strict=True))


def run() -> Iterator[Limit | Ratio | str]:
    if not TABLES.is_dir():
        yield f"| quality on real tables | - | skipped: no {TABLES.name} beside the checkout | | | |"
        return
    found, failed = {}, list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' complaints about singular matrices and iterations
        for name in SPECS:
            found[name] = each = losses(name, failed)
            own = (CREDO, SIMPLER, REGRESSION, TUNED, BOOSTED)
            best = min((peer for peer in each if peer not in own), key=lambda peer: each[peer])
            what = f"{best} {each[best]:.4f}, {TUNED} {each[TUNED]:.4f}, {BOOSTED} {each[BOOSTED]:.4f}, "
            what += f"without pairs {each[SIMPLER]:.4f}"
            yield f"| 10-fold log-loss: {name} | {each[CREDO]:.4f} | {what} | | | |"
    for what in dict.fromkeys(failed):
        yield f"| {what} | | couldn't be fitted to {failed.count(what)} of {FOLDS} folds | | | |"
    mean = {peer: float(np.mean([each[peer] for each in found.values()])) for peer in (CREDO, REGRESSION)}
    yield Limit("mean log-loss, of logistic regression's", mean[CREDO] / mean[REGRESSION], 1.10, "times")
    beside = {name: each[CREDO] / each[TUNED] for name, each in found.items()}
    worst = max((name for name in beside if name != SEPARABLE), key=lambda name: beside[name])
    yield Limit(f"log-loss, of that of {TUNED}, the worst table ({worst})", beside[worst], 1.02, "times")
    apart = found[SEPARABLE][CREDO] - found[SEPARABLE][TUNED]
    yield f"| the same: {SEPARABLE}, whose rows are separable | {apart:.4f} nats more | | | | |"
    three = np.array([[each[peer] for peer in (CREDO, TUNED, BOOSTED)] for each in found.values()])
    places = three.argsort(1).argsort(1).mean(0) + 1
    yield Ratio(f"mean rank beside {TUNED} ({places[1]:.2f}) and {BOOSTED}", places[0], places[2])
    wide = {name: each for name, each in found.items() if each[SIMPLER] != each[CREDO]}
    ratios = [each[CREDO] / each[SIMPLER] for each in wide.values() if each[SIMPLER] > 0]
    what = f"log-loss, of that without pairs of columns, {len(wide)} tables of 1,000 rows and more"
    yield Limit(f"{what}: the mean of the ratios", float(np.mean(ratios)), 0.9, "times")
    yield Limit("the same: the worst table", max(ratios), 1.01, "times")
    order = ranks(found)
    second = min((peer for peer in order if peer != CREDO), key=lambda peer: order[peer])
    yield Ratio(f"mean rank among {len(order)} (next: {second}, {order[second]:.2f})", order[CREDO], order[second])
