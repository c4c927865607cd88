"""Classifiers with tables to learn from: the laws of classifiers run over all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import credo
from credo.core.labels import ROWS
from credo.errors import Notice
from credo.models.classifier import Classifier
from credo.numerics.exact import Array
from credo.selection import pooling
from credo.selection.stacking import Stack

Table = dict[str, NDArray[Any]]
Rng = np.random.Generator

TARGET = "kind"
KINDS: dict[str, Any] = {
    "sky": "category",
    "wet": "category",
    "height": "number",
    "weight": "number",
    "age": "number",
    "fare": credo.Number("log"),
    "wait": credo.Number("binned"),
    "visits": "count",
    "note": credo.Text(),
    "memo": credo.Text("bernoulli"),
    "pairs": credo.Text(ngrams=2, min_count=2),
}
CATEGORIES, NUMBERS = ("sky", "wet"), ("height", "weight", "age")


def written(rng: Rng, kind: NDArray[Any]) -> NDArray[Any]:
    """Texts of up to twelve words, some of them several times, some in one text only, some texts without a word."""
    texts = []
    for i, k in enumerate(kind):
        words = [f"w{int(rng.exponential(3.0 + 2.0 * k))}" for _ in range(rng.integers(0, 12))]
        texts.append(" ".join([*words, *[f"only{i}"] * int(rng.integers(0, 3))]) or " ")
    return np.array(texts, dtype=object)


def drawn(rng: Rng, n: int, columns: Sequence[str], missing: float = 0.0, classes: int = 3) -> Table:
    """Rows in which every column depends on the class; of each column but the class, a share of cells is missing."""
    kind = rng.permutation(np.arange(n) % classes)
    noise = rng.normal(size=n)
    every: Table = {
        "sky": np.array(["fog", "rain", "sun"], dtype=object)[(kind + rng.choice(3, n, p=[0.6, 0.3, 0.1])) % 3],
        "wet": (rng.random(n) < 0.2 + 0.25 * kind).astype(object),
        "height": kind + noise,
        "weight": 10 - 3 * kind + 2 * noise + 3 * rng.normal(size=n),
        "age": 40 + kind * rng.normal(size=n) + 5 * rng.normal(size=n),
        "fare": np.exp(0.5 * kind + rng.normal(size=n)),
        "wait": np.round(rng.gamma(1.0 + kind, 5.0, n), 1),
        "visits": rng.poisson(2.0 + 2.0 * kind).astype(float),
    }
    every |= {name: written(rng, kind) for name in ("note", "memo", "pairs") if name in columns}
    found = {name: every[name] for name in columns}
    for name, cells in found.items():
        nothing: Any = None if cells.dtype == object else np.nan
        found[name] = np.where(rng.random(n) < missing, nothing, cells)
    return {**found, TARGET: np.array(["a", "b", "c", "d", "e"], dtype=object)[kind]}


@dataclass(frozen=True)
class Case:
    """A model, and the columns that it learns from."""

    model: Classifier
    columns: tuple[str, ...]
    missing: float = 0.0
    accuracy: float = 1e-11  # to which the verbs keep log-joints

    def table(self, seed: int, n: int = 45) -> Table:
        return drawn(np.random.default_rng(seed), n, self.columns, self.missing)

    @property
    def kinds(self) -> dict[str, Any]:
        return {name: KINDS[name] for name in self.columns}

    def fit(self, data: Any, **how: Any) -> Classifier:
        return changed(self.model, kinds=self.kinds).fit(data, TARGET, **how)

    @property
    def estimate(self) -> str:
        return self.model.settings.estimate

    @property
    def few(self) -> int:
        """Rows, few enough to refit without some of them one by one."""
        return 9 if self.completes else 24

    @property
    def completes(self) -> bool:
        """Whether EM fills in missing cells."""
        return self.missing > 0 and getattr(self.model, "covariance", None) in ("full", "tied")


def changed(model: Classifier, **fields: Any) -> Classifier:
    """The same model with other fields: classifiers are dataclasses."""
    return model.replaced(**fields)


def bayes(**options: Any) -> Classifier:
    return credo.NaiveBayes(**options)


def gauss(covariance: Any, **options: Any) -> Classifier:
    return credo.GaussianDiscriminant(covariance, **options)


def tree(**options: Any) -> Classifier:
    """Cut points and arrows are given, so that models of other rows have the same."""
    return credo.TreeAugmented(bins=BINS, **{"tree": {"wet": "sky", "age": "height", "height": "wet"}, **options})


def one_dependence(**options: Any) -> Classifier:
    return credo.OneDependence(bins=BINS, **options)


def k_dependence(**options: Any) -> Classifier:
    arrows = {"wet": ["sky"], "height": ["wet", "sky"], "age": ["height", "sky", "wet"]}
    return credo.KDependence(bins=BINS, **{"arrows": arrows, **options})


def network(**options: Any) -> Classifier:
    """The age doesn't depend on the class, and the sky on nothing else."""
    arrows = {"sky": [TARGET], "wet": ["sky", TARGET], "height": ["age", "wet", TARGET], "age": ["sky"]}
    return credo.NetworkClassifier(bins=BINS, **{"arrows": arrows, **options})


BINS = {"height": (0.5, 1.5), "age": (35.0, 40.0, 45.0)}
DEPENDENT = ("sky", "wet", "height", "age")
MIXED = ("sky", "wet", "height", "age", "fare", "wait", "visits")
FAINT = 1e-9  # of what EM completes

CASES: dict[str, Case] = {
    "tree": Case(tree(), DEPENDENT),
    "tree, cells missing": Case(tree(backoff=2.0, smoothing=0.5), DEPENDENT, missing=0.15),
    "tree, texts beside": Case(tree(), (*DEPENDENT, "note")),
    "one-dependence": Case(one_dependence(), DEPENDENT),
    "one-dependence, cells missing": Case(one_dependence(backoff=2.0, smoothing=0.5), DEPENDENT, missing=0.15),
    "k-dependence": Case(k_dependence(), DEPENDENT),
    "k-dependence, cells missing": Case(k_dependence(backoff=2.0, smoothing=0.5), DEPENDENT, missing=0.15),
    "k-dependence, texts beside": Case(k_dependence(), (*DEPENDENT, "note")),
    "network": Case(network(), DEPENDENT),
    "network, cells missing": Case(network(backoff=2.0, smoothing=0.5), DEPENDENT, missing=0.15),
    "bayes": Case(bayes(), (*CATEGORIES, *NUMBERS)),
    "mean": Case(bayes(estimate="mean"), (*CATEGORIES, *NUMBERS)),
    "map": Case(bayes(estimate="map", smoothing=2), (*CATEGORIES, *NUMBERS)),
    "ml": Case(bayes(estimate="ml"), ("wet", *NUMBERS)),
    "m-estimate": Case(bayes(m=3.0, p={"sky": {"fog": 0.5, "rain": 0.3, "sun": 0.2}}), ("sky", "wet")),
    "priors given": Case(bayes(class_prior={"a": 0.5, "b": 0.3, "c": 0.2}, strength=3.0), MIXED),
    "log": Case(bayes(), ("fare", "sky")),
    "binned": Case(bayes(), ("wait", "sky")),
    "binned map": Case(bayes(estimate="map", smoothing=1.5), ("wait", "sky")),
    "count": Case(bayes(), ("visits", "height")),
    "count mean": Case(bayes(estimate="mean"), ("visits", "height")),
    "mixed, cells missing": Case(bayes(), MIXED, missing=0.15),
    "mixed mean, cells missing": Case(bayes(estimate="mean", smoothing=0.5), MIXED, missing=0.15),
    "average": Case(bayes(average=True), MIXED),
    "average, cells missing": Case(bayes(average=True), MIXED, missing=0.15),
    "words": Case(bayes(), ("note",)),
    "words mean": Case(bayes(estimate="mean", smoothing=0.3), ("note",)),
    "words map": Case(bayes(estimate="map", smoothing=2), ("note",)),
    "words there or not": Case(bayes(), ("memo",)),
    "words there or not, map": Case(bayes(estimate="map", smoothing=2.5), ("memo",)),
    "pairs of words, cut": Case(bayes(estimate="mean"), ("pairs",)),
    "pairs of words, drawn": Case(bayes(), ("pairs", "sky")),
    "texts beside others, cells missing": Case(bayes(), ("note", "memo", "sky", "height"), missing=0.15),
    "average of texts": Case(bayes(average=True), ("note", "memo", "sky"), missing=0.1),
    "full, texts beside": Case(gauss("full"), ("note", *NUMBERS)),
    "full": Case(gauss("full"), NUMBERS),
    "tied": Case(gauss("tied"), NUMBERS),
    "diagonal": Case(gauss("diagonal"), NUMBERS),
    "spherical": Case(gauss("spherical"), NUMBERS),
    "full ml": Case(gauss("full", estimate="ml"), NUMBERS),
    "full map": Case(gauss("full", estimate="map", smoothing=2), NUMBERS),
    "tied ml": Case(gauss("tied", estimate="ml"), NUMBERS),
    "tied mean": Case(gauss("tied", estimate="mean", strength=2.5), NUMBERS),
    "spherical map": Case(gauss("spherical", estimate="map", smoothing=2), NUMBERS),
    "spherical ml": Case(gauss("spherical", estimate="ml"), NUMBERS),
    "full, categories beside": Case(gauss("full"), (*CATEGORIES, *NUMBERS)),
    "tied, categories and logs beside": Case(gauss("tied"), ("sky", "fare", "height", "weight")),
    "full, cells missing": Case(gauss("full"), NUMBERS, missing=0.15, accuracy=FAINT),
    "tied, cells missing": Case(gauss("tied"), ("sky", *NUMBERS), missing=0.15, accuracy=FAINT),
    "diagonal, cells missing": Case(gauss("diagonal"), NUMBERS, missing=0.15),
    "spherical, cells missing": Case(gauss("spherical"), (*NUMBERS, "wet"), missing=0.15),
}


def pick(table: Mapping[str, Any], rows: Any) -> Table:
    """Some of the rows: by place, or by a mask."""
    return {name: cells[rows] for name, cells in table.items()}


def joined(*tables: Mapping[str, Any]) -> Table:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def size(table: Mapping[str, Any]) -> int:
    return len(table[TARGET])


@contextmanager
def unheard() -> Iterator[None]:
    """Notices are of no interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        yield


def assert_same(one: Classifier, other: Classifier, rows: Any, accuracy: float = 1e-11) -> None:
    """The same classes and weights, and the same said of rows."""
    assert one.classes == other.classes
    np.testing.assert_allclose(one.class_weights, other.class_weights, rtol=1e-12)
    with unheard():
        np.testing.assert_allclose(one.log_joint(rows), other.log_joint(rows), rtol=accuracy, atol=accuracy)
        np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), rtol=0, atol=accuracy)


def retaught(model: Classifier, table: Table, weight: Array | None = None) -> Classifier:
    """The same settings, columns and classes, refitted to other rows."""
    fresh = changed(model, evidence=None).update(table, weight=weight)
    return fresh.with_evidence(fresh.seen.knowing(model.seen.only(ROWS)))


def refitted_one_by_one(model: Classifier, table: Table, rows: Sequence[int], weight: Array | None = None) -> Array:
    """The predictions of refits without row i, for some rows: none for a class that it doesn't
    know."""
    found = np.zeros((len(rows), len(model.classes)))
    for shares, i in zip(found, rows, strict=True):
        rest = np.arange(size(table)) != i
        others = changed(model, evidence=None).update(
            pick(table, rest), weight=None if weight is None else weight[rest]
        )
        shares[[model.classes.index(known) for known in others.classes]] = others.predict_proba(pick(table, [i]))[0]
    return found


def learned_in_every_form(table: Mapping[str, Any], target: str) -> Classifier:
    """All candidates in equal shares, whatever they are worth: so all forms are used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "stacked", lambda rows: Stack(np.full(len(rows.names), 1 / len(rows.names)), 0.01))
        found: Classifier = credo.learn(table, target=target)
    return found
