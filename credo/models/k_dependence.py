"""KDependence: naive Bayes whose columns may depend on several others each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from credo.blocks.block import Block
from credo.blocks.dependence.cells import Cuts
from credo.blocks.dependence.families import Parents
from credo.blocks.dependence.pairs import Dependence
from credo.blocks.dependence.parents import chosen_parents
from credo.core.evidence import Evidence
from credo.core.learning import Weight
from credo.data import Source
from credo.errors import DataError, PriorError
from credo.models.augmented import Augmented, Bins, OneDependence, check_arrows, check_dependent
from credo.models.classifier import Classifier
from credo.models.form_blocks import blocks_of
from credo.models.forms import FAMILY_FORM, Views

Arrows = Mapping[str, Sequence[str]] | None


@dataclass(frozen=True, eq=False, repr=False)
class KDependence(Augmented):
    """log p(row, class) = log P(class) + Σⱼ log p(xⱼ | up to k parents of j, class) (Sahami 1996).

    Columns are put in order by how much they tell of the class. The parents of each are the k earlier ones that it
    depends on most given the class, by Bayes factors, the strongest first; or `arrows` gives them: {column: parents}.
    p(xⱼ | i parents, class) has a Dirichlet prior that is worth `backoff` rows of p(xⱼ | the first i - 1, class), and
    p(xⱼ | class) has Dirichlet(smoothing). Numbers are cut into bins, as in `TreeAugmented`. Cut points and parents are
    held once they are chosen. Where a parent's cell is missing, it and those after it are left out.

    >>> rng = np.random.default_rng(0)
    >>> a, b, c = rng.integers(0, 2, (3, 200))
    >>> rows = {name: each.astype(str) for name, each in {"a": a, "b": b, "c": c, "odd": (a + b + c) % 2}.items()}
    >>> model = KDependence(2).fit(rows, target="odd")
    >>> model.predict({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]}).tolist()
    ['0', '1']
    """

    k: int = 2
    smoothing: float = 1.0
    backoff: float = 5.0
    bins: Bins = None
    class_smoothing: float | None = None
    class_prior: Mapping[Any, float] | None = None
    kinds: Mapping[str, Any] | None = None
    arrows: Arrows = None
    cuts: Cuts = field(default_factory=dict, init=False)
    parents: Parents = field(default_factory=dict, init=False)
    target: str | None = field(default=None, init=False)
    views: Views = field(default_factory=dict, init=False)
    evidence: Evidence | None = field(default=None, init=False)

    form = FAMILY_FORM

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 0:
            raise PriorError(f"k must be a whole number of at least 0, but is {self.k!r}")
        if self.arrows is not None:
            check_arrows("arrows", self.arrows)

    def check_views(self, views: Views) -> None:
        arrows = (self.arrows or {}).items()
        check_dependent("arrows", (each for name, own in arrows for each in (name, *own)), views)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return blocks_of(views, self.kinds, self.cuts, parents=self.parents, given=self.arrows is not None)

    def prepared(self, table: Source, target: str, views: Views, weight: Weight) -> Self:
        """With cut points and parents: two passes over the rows, where they have to be chosen."""
        found = super().prepared(table, target, views, weight)
        if self.arrows is not None:
            dependent = {name for name, forms in found.views.items() if self.form in forms}
            given = {name: tuple(a for a in own if a in dependent) for name, own in self.arrows.items() if own}
            return found.replaced(parents={name: own for name, own in given.items() if name in dependent and own})
        if table.once and self.k:
            raise DataError(
                f"{type(self).__name__} reads the data twice, to find the parents and to count, and an iterator can be "
                "read only once: give a table, or arrows={column: parents}"
            )
        return found.replaced(parents=found._found_parents(table, weight)) if self.k else found

    def _found_parents(self, table: Source, weight: Weight) -> Parents:
        pairs = OneDependence(self.smoothing, self.backoff, kinds=self.kinds)
        views = {name: (*own[:-1], pairs.form) for name, own in self.views.items() if self.form in own}
        if len(views) < 2:
            return {}
        counted = pairs.replaced(target=self.target, views=views, cuts=self.cuts)
        return parents_of(counted.replaced(evidence=counted.gathered(table, weight).ordered()), self.k)

    def _held_apart(self, other: Any) -> str | None:
        if found := super()._held_apart(other):
            return found
        told = "their columns have other parents: fit both with the same arrows=, as in arrows=first.parents"
        return None if self.parents == other.parents else told


def parents_of(model: Classifier, k: int) -> Parents:
    """Of columns whose pairs of cells the model counts: up to k of each."""
    block = next(block for _, block in model.blocks(model.views) if isinstance(block, Dependence))
    found = chosen_parents(block.likelihood(model.seen, model.settings), k)
    return {name: tuple(block.names[a] for a in own) for name, own in zip(block.names, found, strict=True) if own}
