"""Blend: naive Bayes' columns, and Gaussians of all columns together, weighed by tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from credo.blocks.block import Block, Estimate, Settings
from credo.blocks.one_hot import OneHotGaussian
from credo.core.evidence import Evidence
from credo.core.learning import Weight
from credo.models.classifier import Classifier
from credo.models.forms import Views
from credo.models.naive_bayes import NaiveBayes, check_settings, independent_blocks
from credo.models.tuning import Tuning

TOGETHER = ("tied", "full")


@dataclass(frozen=True, eq=False, repr=False)
class Blend(Classifier):
    """log P(class) + bias + Σⱼ wⱼ log p(xⱼ | class) + w log p(z | class), z being all columns as numbers.

    Columns are counted as naive Bayes counts them and, where `views` say so, together. Untuned it is naive Bayes;
    tuning gives each view its weight. `credo.learn` makes it where neither view alone is best.
    """

    smoothing: float = 1.0
    class_smoothing: float | None = None
    estimate: Estimate = "bayes"
    strength: float = 1.0
    class_prior: Mapping[Any, float] | None = None
    kinds: Mapping[str, Any] | None = None
    target: str | None = None
    views: Views = field(default_factory=dict)
    evidence: Evidence | None = None
    tuning: Tuning | None = None
    report: Any = None

    chooses_forms = True

    def __post_init__(self) -> None:
        check_settings(self.estimate, self.strength)

    @property
    def settings(self) -> Settings:
        return Settings(self.estimate, self.smoothing, strength=self.strength)

    def untuned(self) -> NaiveBayes:
        """Naive Bayes, which it is before it is tuned."""
        plain: Blend = super().untuned()
        return NaiveBayes(
            self.smoothing, self.class_smoothing, self.estimate, self.strength, class_prior=self.class_prior,
            kinds=self.kinds, target=self.target, views=plain.views, evidence=plain.evidence,
        )  # fmt: skip

    def tune(self, data: object, *, target: object = None, weight: Weight = None, seed: int = 0) -> Any:
        """Choose and weigh again, as credo.learn does."""
        from credo.selection.learn import relearned

        return relearned(self, self._labelled(data, target), weight, seed)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return [*independent_blocks(views, self.kinds), *together_blocks(views)]


def together_blocks(views: Views) -> list[tuple[str, Block]]:
    """The columns that are read together, once for each way."""
    found: list[tuple[str, Block]] = []
    for form in TOGETHER:
        names = tuple(name for name, forms in views.items() if form in forms)
        if names:
            categories = frozenset(name for name in names if "category" in views[name])
            found.append((form, OneHotGaussian(names, categories, form)))  # type: ignore[arg-type]
    return found
