"""GaussianDiscriminant: a joint Gaussian of the numbers in each class, and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from credo.blocks.block import Block, Estimate, Settings
from credo.blocks.numbers.gaussian_likelihood import JointLikelihood
from credo.blocks.numbers.independent_likelihood import NumbersLikelihood
from credo.blocks.numbers.spherical import SphericalLikelihood
from credo.errors import EvidenceError, PriorError, SchemaError, suggest
from credo.families.normal_inverse_wishart import Covariance
from credo.models.class_jobs import ClassDistances
from credo.models.class_reader import Shares
from credo.models.classifier import PlainClassifier
from credo.models.form_blocks import blocks_of, with_covariance
from credo.models.forms import Kinds, Views
from credo.models.naive_bayes import check_settings
from credo.numerics.exact import Array


class LinearWeights(NamedTuple):
    """P(second class | x) = 1/(1 + exp(-(w′x + intercept)))"""

    weights: Array  # (columns,)
    intercept: float
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDiscriminant(PlainClassifier):
    """log p(x, class) = log P(class) - ½ log|Σ| - ½ (x - μ)′Σ⁻¹(x - μ) + ..., or Student's t where Σ is integrated out.

    covariance: "full", each class its own Σ (a quadratic boundary); "tied", one for all (linear: LDA); "diagonal", each
    class's columns independent (Gaussian naive Bayes); "spherical", one σ for all (nearest mean). The prior is
    normal-inverse-Wishart, with the weight of `strength` rows at the pooled means and variances. Categories are
    allowed: given the class, they are independent of the numbers.

    >>> flowers = {"petal": [1.4, 1.3, 1.5, 4.7, 4.5, 4.9], "kind": ["setosa"] * 3 + ["versicolor"] * 3}
    >>> GaussianDiscriminant("tied").fit(flowers, target="kind").predict({"petal": [1.6, 4.0]}).tolist()
    ['setosa', 'versicolor']
    """

    covariance: Covariance = "full"
    strength: float = 1.0
    estimate: Estimate = "bayes"
    smoothing: float = 1.0
    class_smoothing: float | None = None
    class_prior: Shares | None = None
    kinds: Kinds = None

    def __post_init__(self) -> None:
        known = ("full", "tied", "diagonal", "spherical")
        if self.covariance not in known:
            raise PriorError(f"no such covariance, {self.covariance!r}; {suggest(self.covariance, known)}")
        check_settings(self.estimate, self.strength, smoothing=self.smoothing, class_smoothing=self.class_smoothing)

    @property
    def settings(self) -> Settings:
        return Settings(self.estimate, self.smoothing, strength=self.strength)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return with_covariance(blocks_of(views, self.kinds), self.covariance)

    def mergeable(self, other: Any) -> str | None:
        if self.covariance != other.covariance:
            return f"their covariances differ, {self.covariance} and {other.covariance}"
        return super().mergeable(other)

    def mahalanobis(self, data: object) -> Array:
        """The Mahalanobis distance √((x - μ)′Σ⁻¹(x - μ)) of each row from each class mean. (rows, classes)"""
        return self._found(data, ClassDistances(self), "distance to {}")

    def _numbers(self) -> JointLikelihood | SphericalLikelihood | NumbersLikelihood:
        for form, likelihood in self.terms.likelihoods:
            if form == "gaussian":
                assert isinstance(likelihood, JointLikelihood | SphericalLikelihood | NumbersLikelihood)
                return likelihood
        raise EvidenceError("Mahalanobis distances need a number column")

    def linear_weights(self) -> LinearWeights:
        """w and intercept of P(classes[1] | x) = 1/(1 + exp(-(w′x + intercept))), of the point estimates.

        w = Σ⁻¹(μ₁ - μ₀),  intercept = log P₁/P₀ - ½(μ₁ + μ₀)′w
        """
        if len(self.classes) != 2 or self.covariance != "tied":
            raise EvidenceError("linear weights need two classes and a tied covariance")
        likelihood = self._numbers()
        assert isinstance(likelihood, JointLikelihood)
        if len(self.terms.likelihoods) > 1:
            raise SchemaError("linear weights need number columns only: the model has others")
        log_prior = self.log_class_prior(self.class_weights)
        mean, covariance = likelihood.gaussians
        inner = np.linalg.solve(covariance[0], mean[1] - mean[0])
        weights = np.zeros(len(likelihood.names))
        weights[likelihood.varying] = inner
        middle = (mean[0] + mean[1]) / 2 + likelihood.shift[likelihood.varying]
        return LinearWeights(weights, float(log_prior[1] - log_prior[0] - middle @ inner), likelihood.names)
