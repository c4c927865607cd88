"""NaiveBayes: columns of any kind, independent of each other given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from credo.blocks.block import Block, Estimate, Settings
from credo.blocks.dependence.cells import Cuts
from credo.blocks.dependence.families import Parents
from credo.blocks.dependence.parents import StrongestParents
from credo.errors import PriorError, check_positive_number, suggest
from credo.models.class_reader import Shares
from credo.models.classifier import PlainClassifier
from credo.models.form_blocks import FamilySettings, blocks_of
from credo.models.forms import CELL_FORMS, FAMILY_FORM, Kinds, Views


@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayes(PlainClassifier):
    """log p(row, class) = log P(class) + Σⱼ log p(xⱼ | class), over the observed cells.

    Categories have a Dirichlet(smoothing) prior, or Dirichlet(m p); P(class) Dirichlet(class_smoothing); numbers are
    Gaussian, with a prior of the weight of `strength` rows at the pooled mean and variance. `estimate`: "bayes"
    integrates the parameters out, "mean" and "map" plug in the posterior mean or mode, "ml" the maximum-likelihood
    estimate. `average`: over all subsets of relevant columns.

    >>> weather = {"wind": ["weak", "strong", "weak", "strong"], "play": ["yes", "no", "yes", "yes"]}
    >>> model = NaiveBayes().fit(weather, target="play")
    >>> model.classes, model.predict_proba({"wind": ["strong"]}).round(3).tolist()
    (('no', 'yes'), [[0.455, 0.545]])
    """

    _internal: ClassVar[tuple[str, ...]] = ("cuts", "parents")

    smoothing: float = 1.0
    class_smoothing: float | None = None
    estimate: Estimate = "bayes"
    strength: float = 1.0
    m: float | None = None
    p: Mapping[str, Mapping[Any, float]] | None = None
    class_prior: Shares | None = None
    average: bool = False
    kinds: Kinds = None
    cuts: Cuts = field(default_factory=dict, init=False)  # cut points of numbers that tuning counts in bins
    parents: Parents = field(default_factory=dict, init=False)  # parents of columns that tuning counts together

    chooses_forms = True

    def __post_init__(self) -> None:
        smoothings = {"smoothing": self.smoothing, "class_smoothing": self.class_smoothing, "m": self.m}
        check_settings(self.estimate, self.strength, **smoothings)
        if self.p is not None and self.m is None:
            raise PriorError("p and m go together: the prior has the weight of m rows, distributed as p")

    def check_views(self, views: Views) -> None:
        for name in self.p or {}:
            if views.get(name, ("",))[0] != "category":
                known = [other for other, forms in views.items() if forms[0] == "category"]
                raise PriorError(f"p names {name!r}, which isn't a category column; {suggest(name, known)}")

    @property
    def settings(self) -> Settings:
        return Settings(self.estimate, self.smoothing, self.m, self.p or {}, self.strength, average=self.average)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        most = StrongestParents(max(map(len, self.parents.values()), default=0))
        return blocks_of(views, self.kinds, self.cuts, None, FamilySettings(self.parents, chooser=most))

    def narrowed(self, views: Views) -> Self:
        celled = {name for name, forms in views.items() if not set(CELL_FORMS).isdisjoint(forms)}
        cuts = {name: cuts for name, cuts in self.cuts.items() if name in celled}
        parents = self.parents if any(FAMILY_FORM in forms for forms in views.values()) else {}
        return super().narrowed(views).replaced(cuts=cuts, parents=parents)


def check_settings(estimate: str, strength: float, **smoothings: float | None) -> None:
    known = ("bayes", "mean", "map", "ml")
    if estimate not in known:
        raise PriorError(f"no such estimate, {estimate!r}; {suggest(estimate, known)}")
    check_positive_number("strength", strength, PriorError)
    for name, value in smoothings.items():
        if value is None and name != "smoothing":
            continue
        if not (isinstance(value, int | float | np.number) and 0 <= value < float("inf")):
            raise PriorError(f"{name} must be a number of at least 0, but is {value!r:.60}")
