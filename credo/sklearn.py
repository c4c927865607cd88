"""credo's models as scikit-learn estimators, for pipelines and grid searches.

The fitted credo model is `model_`; it also explains, forgets and merges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.block import Estimate
from credo.core.evidence import Evidence
from credo.data import Source, cells, source
from credo.data.conversion import array_of
from credo.data.schema import Column, Schema
from credo.errors import DataError
from credo.families.normal_inverse_wishart import Covariance
from credo.models.class_predictor import ClassPredictor
from credo.models.classifier import Classifier
from credo.models.discriminant import GaussianDiscriminant
from credo.models.mixture.model import Mixture
from credo.models.naive_bayes import NaiveBayes
from credo.models.regression.linear import LinearRegression, Noise
from credo.models.regression.logistic import Choice, LogisticRegression
from credo.models.regression.logistic import Estimate as WeightEstimate
from credo.models.regression.logistic_fitting import Method
from credo.models.tree.growing import Gain
from credo.models.tree.model import DecisionTree
from credo.models.tree.prunings import Prune
from credo.notices import quietly
from credo.numerics.exact import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, DensityMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError:
    raise ImportError("credo.sklearn needs scikit-learn 1.6 or later: pip install -U scikit-learn") from None

__all__ = [
    "GaussianDiscriminantClassifier",
    "LinearRegressor",
    "LogisticClassifier",
    "MixtureClusterer",
    "NaiveBayesClassifier",
    "TreeClassifier",
]


class _Reader(BaseEstimator):  # type: ignore[misc]
    """The base of all estimators: reads arrays and tables as credo's columns."""

    _sparse: ClassVar[bool] = True  # whether it takes sparse arrays
    kinds: Mapping[Any, Any] | None
    model_: Any  # the fitted credo model

    def __sklearn_tags__(self) -> Any:
        """scikit-learn's tags. Its tags for strings and categories are about whole arrays, so they aren't set."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.sparse = True, self._sparse
        return tags

    def _kinds_of(self, X: object, table: Source) -> dict[str, Any]:
        """The kinds of columns, by their types or as requested."""
        positions: dict[Any, str] = dict(enumerate(table.names))
        asked = {positions.get(column, column): kind for column, kind in (self.kinds or {}).items()}
        return {**_usual_kinds(X, table), **asked}

    def _table(self, X: object, reset: bool = False) -> Source:
        """X as credo's table, with the column names of the first fit."""
        if hasattr(X, "columns"):  # a table, with a type for each column
            table = source(validate_data(self, X, reset=reset, skip_check_array=True))
        else:
            dtype = "numeric" if self.kinds is None else None
            sparse = "csr" if self._sparse else False
            checks = {"dtype": dtype, "accept_sparse": sparse, "ensure_all_finite": "allow-nan"}
            table = source(validate_data(self, X, reset=reset, **checks))
        if reset:
            self._columns = table.names
        if table.names == self._columns:
            return table
        return table.renamed(dict(zip(table.names, self._columns, strict=True)))

    def _answered(self, question: str, X: object) -> NDArray[Any]:
        check_is_fitted(self)
        table = self._table(X)
        with quietly():  # unseen values are expected in every cross-validation
            answer: NDArray[Any] = getattr(self.model_, question)(table)
        return answer


class _Classifier(ClassifierMixin, _Reader):  # type: ignore[misc]
    """A classifier around a credo model, `model_`."""

    _model: ClassVar[Any]  # the credo class that takes the parameters

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn from these rows alone. Rows of weight 0, and classes of such rows only, are ignored."""
        model, _, labels, _ = self._begun(X, y, sample_weight)
        return self._keep(model, labels)

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row."""
        return self._answered("predict", X).astype(self.classes_.dtype, copy=False)

    def predict_proba(self, X: object) -> Array:
        """P(class | row). (rows, classes), in the order of classes_"""
        return self._answered("predict_proba", X)

    def predict_log_proba(self, X: object) -> Array:
        """log P(class | row). (rows, classes), in the order of classes_"""
        return self._answered("predict_log_proba", X)

    def _begun(self, X: object, y: object, weight: object) -> tuple[Any, Source, NDArray[Any], Array | None]:
        """A model fitted to these rows, and its table."""
        table, labels, weight = self._labelled(X, y, weight, reset=True)
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "tune"}
        settings["kinds"] = self._kinds_of(X, table)
        return self._model(**settings).fit(table, labels, weight=weight), table, labels, weight

    def _labelled(
        self, X: object, y: object, weight: object, reset: bool = False
    ) -> tuple[Source, NDArray[Any], Array | None]:
        table = self._table(X, reset)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        if labels.dtype.kind in "OU" and (labels == "").any():
            raise DataError("y has the class '', which credo takes for a missing one: give it a name")
        return table, labels, None if weight is None else _check_sample_weight(weight, X, ensure_non_negative=True)

    def _keep(self, model: ClassPredictor, *alike: NDArray[Any]) -> Self:
        """The model, with classes of the type that these labels have."""
        self.model_ = model
        self.classes_ = np.array(model.classes).astype(np.result_type(*alike))
        return self


class _AdditiveClassifier(_Classifier):
    """A classifier with additive evidence: it learns in parts, and can be tuned."""

    tune: bool

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn from these rows alone. Rows of weight 0, and classes of such rows only, are ignored."""
        model, table, labels, weight = self._begun(X, y, sample_weight)
        if self.tune:
            model = model.tune(table, target=labels, weight=weight)
        return self._keep(model, labels)

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self:
        """Learn from more rows: the same as fitting all of them at once, but never tuned again.

        `classes` have a prior probability before their first row; other classes may appear later, too.
        """
        known = []
        if hasattr(self, "model_"):
            table, labels, weight = self._labelled(X, y, sample_weight)
            model = self.model_.update(table, target=labels, weight=weight)
            known.append(self.classes_)
        else:
            model, _, labels, _ = self._begun(X, y, sample_weight)
        if classes is not None:
            known.append(column_or_1d(classes))
            model = _knowing(model, known[-1])
        return self._keep(model, labels, *known)


class NaiveBayesClassifier(_AdditiveClassifier):
    """credo.NaiveBayes for scikit-learn: columns of any kind, independent of each other given the class.

    Columns of an array are numbers. Of a table, numbers are numbers, booleans and the category type are categories, and
    the kinds of strings are inferred (mostly categories). `kinds` overrides, by name or by position: kinds={0:
    "category"}. NaN and None are missing cells. `tune=True` tunes after fitting.

    >>> model = NaiveBayesClassifier().fit([[1.4], [1.3], [4.7], [4.5]], ["setosa", "setosa", "virginica", "virginica"])
    >>> model.predict([[1.6], [4.0]]).tolist()
    ['setosa', 'virginica']
    """

    _model = NaiveBayes

    def __init__(
        self,
        smoothing: float = 1.0,
        class_smoothing: float | None = None,
        estimate: Estimate = "bayes",
        strength: float = 1.0,
        average: bool = False,
        class_prior: Mapping[Any, float] | None = None,
        kinds: Mapping[Any, Any] | None = None,
        tune: bool = False,
    ) -> None:
        self.smoothing = smoothing
        self.class_smoothing = class_smoothing
        self.estimate = estimate
        self.strength = strength
        self.average = average
        self.class_prior = class_prior
        self.kinds = kinds
        self.tune = tune


class GaussianDiscriminantClassifier(_AdditiveClassifier):
    """credo.GaussianDiscriminant for scikit-learn: a joint Gaussian of the numbers in each class.

    covariance: "full" (quadratic), "tied" (linear), "diagonal" or "spherical". Columns are read as by
    NaiveBayesClassifier; categories are allowed, too.

    >>> model = GaussianDiscriminantClassifier("tied").fit([[1.4], [1.3], [4.7], [4.5]], [0, 0, 1, 1])
    >>> model.predict([[1.6], [4.0]]).tolist()
    [0, 1]
    """

    _model = GaussianDiscriminant

    def __init__(
        self,
        covariance: Covariance = "full",
        strength: float = 1.0,
        estimate: Estimate = "bayes",
        smoothing: float = 1.0,
        class_prior: Mapping[Any, float] | None = None,
        kinds: Mapping[Any, Any] | None = None,
        tune: bool = False,
    ) -> None:
        self.covariance = covariance
        self.strength = strength
        self.estimate = estimate
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.kinds = kinds
        self.tune = tune


class LogisticClassifier(_Classifier):
    """credo.LogisticRegression for scikit-learn: the weights have a Gaussian prior, whose strength is 1/C there.

    By default the strength is chosen by evidence, and predictions integrate the weights' uncertainty. Columns are read
    as by NaiveBayesClassifier.

    >>> model = LogisticClassifier(strength=1.0).fit([[1.4], [1.3], [4.7], [4.5]], [0, 0, 1, 1])
    >>> model.predict([[1.6], [4.0]]).tolist()
    [0, 1]
    """

    _model, _sparse = LogisticRegression, False

    def __init__(
        self,
        strength: float | Choice = "auto",
        estimate: WeightEstimate = "bayes",
        method: Method = "auto",
        scaled: bool = True,
        class_prior: Mapping[Any, float] | None = None,
        kinds: Mapping[Any, Any] | None = None,
    ) -> None:
        self.strength = strength
        self.estimate = estimate
        self.method = method
        self.scaled = scaled
        self.class_prior = class_prior
        self.kinds = kinds


class TreeClassifier(_Classifier):
    """credo.DecisionTree for scikit-learn: categories and missing cells as they are, averaged over all prunings.

    prune: "average", "mdl", "evidence" or None. Columns are read as by NaiveBayesClassifier.

    >>> model = TreeClassifier().fit([[1.4], [1.3], [1.2], [4.7], [4.5], [4.6]], [0, 0, 0, 1, 1, 1])
    >>> model.predict([[1.6], [4.0]]).tolist()
    [0, 1]
    """

    _model, _sparse = DecisionTree, False

    def __init__(
        self,
        prune: Prune | None = "average",
        gain: Gain | None = None,
        smoothing: float | None = None,
        min_rows: float = 2.0,
        max_depth: int | None = None,
        class_prior: Mapping[Any, float] | None = None,
        kinds: Mapping[Any, Any] | None = None,
    ) -> None:
        self.prune = prune
        self.gain = gain
        self.smoothing = smoothing
        self.min_rows = min_rows
        self.max_depth = max_depth
        self.class_prior = class_prior
        self.kinds = kinds


class LinearRegressor(RegressorMixin, _Reader):  # type: ignore[misc]
    """credo.LinearRegression for scikit-learn: a ridge whose strength is chosen by evidence, with predictive intervals.

    ridge=0 is least squares. Columns are read as by NaiveBayesClassifier.

    >>> model = LinearRegressor(ridge=0).fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.5])
    >>> model.predict([[4.0]]).round(3).tolist()
    [8.667]
    """

    _sparse = False

    def __init__(
        self,
        ridge: float | Literal["evidence"] = "evidence",
        select: bool = False,
        noise: Noise = "gaussian",
        kinds: Mapping[Any, Any] | None = None,
    ) -> None:
        self.ridge = ridge
        self.select = select
        self.noise = noise
        self.kinds = kinds

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn from these rows alone."""
        table = self._table(X, reset=True)
        settings = {**self.get_params(deep=False), "kinds": self._kinds_of(X, table)}
        numbers, weight = self._numbers(X, y, sample_weight)
        self.model_ = LinearRegression(**settings).fit(table, numbers, weight=weight)
        return self

    def partial_fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn from more rows: the same as fitting all of them at once."""
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        table = self._table(X)
        numbers, weight = self._numbers(X, y, sample_weight)
        self.model_ = self.model_.update(table, target=numbers, weight=weight)
        return self

    def _numbers(self, X: object, y: object, weight: object) -> tuple[Array, Array | None]:
        numbers = column_or_1d(y, warn=True, dtype=np.float64)
        assert_all_finite(numbers, input_name="y")
        check_consistent_length(X, numbers)
        return numbers, None if weight is None else _check_sample_weight(weight, X, ensure_non_negative=True)

    def predict(self, X: object, return_std: bool = False) -> Any:
        """The mean of each row's predictive distribution; and its standard deviation, if asked for."""
        if not return_std:
            return self._answered("predict", X)
        found: Any = self._answered("predictive", X)
        return found.mean(), np.sqrt(found.variance())


class MixtureClusterer(DensityMixin, ClusterMixin, _Reader):  # type: ignore[misc]
    """credo.Mixture for scikit-learn: clusters of rows with columns of any kind, and missing cells.

    components="auto" finds their number. Columns are read as by NaiveBayesClassifier. `labels_` are 0, 1, ..., the
    largest cluster first.

    >>> MixtureClusterer(2).fit([[1.4], [1.3], [1.5], [4.7], [4.5]]).labels_.tolist()
    [0, 0, 0, 1, 1]
    """

    _sparse = False

    def __init__(
        self,
        components: int | Literal["auto"] = "auto",
        covariance: Covariance | Literal["auto"] | None = None,
        strength: float | None = None,
        smoothing: float = 1.0,
        estimate: Estimate = "bayes",
        kinds: Mapping[Any, Any] | None = None,
        starts: int = 20,
        steps: int = 500,
        tolerance: float = 1e-6,
        seed: int = 0,
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.strength = strength
        self.smoothing = smoothing
        self.estimate = estimate
        self.kinds = kinds
        self.starts = starts
        self.steps = steps
        self.tolerance = tolerance
        self.seed = seed

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find the clusters; y is ignored."""
        table = self._table(X, reset=True)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        settings = {**self.get_params(deep=False), "kinds": self._kinds_of(X, table)}
        self.model_ = Mixture(**settings).fit(table, weight=weight)
        self.n_components_ = len(self.model_.names)
        self.labels_ = self.model_.predict(table).astype(np.int64)
        return self

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable cluster of each row."""
        return self._answered("predict", X)

    def predict_proba(self, X: object) -> Array:
        """P(cluster | row). (rows, clusters)"""
        return self._answered("responsibilities", X)

    def score_samples(self, X: object) -> Array:
        """log p(row)"""
        return self._answered("log_prob", X)

    def score(self, X: object, y: object = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """The mean of log p(row)."""
        return float(self.score_samples(X).mean())


def _usual_kinds(X: object, table: Source) -> dict[str, str]:
    """The kinds of columns that follow from their types."""
    if not hasattr(X, "columns"):
        return dict.fromkeys(table.names, "number")
    kinds = {}
    for name, array in next(table.read(table.names)).columns.items():
        if pa.types.is_dictionary(array.type):
            kinds[name] = "category"
        elif pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
            kinds[name] = "number"
    return kinds


def _knowing(model: Classifier, classes: NDArray[Any]) -> Classifier:
    """The model with these classes, with or without rows."""
    assert model.target is not None
    _, levels = cells.categories(array_of(classes, model.target))
    return model.with_evidence(model.seen.knowing(Evidence(Schema((Column(model.target, "category", levels),)))))
