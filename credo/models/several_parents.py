"""KDependence and NetworkClassifier: columns with several parents each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from credo.blocks.block import Block
from credo.blocks.dependence.cells import Cuts
from credo.blocks.dependence.families import Parents
from credo.blocks.dependence.pairs import Dependence
from credo.blocks.dependence.parents import Chooser, StrongestParents, strongest_parents
from credo.core.description import arrow_bits
from credo.core.learning import Weight
from credo.data import Source
from credo.errors import DataError, PriorError, check_whole
from credo.models.augmented import Augmented, Bins, OneDependence, check_arrows, check_dependent
from credo.models.class_reader import Shares
from credo.models.classifier import Classifier
from credo.models.form_blocks import FamilySettings, blocks_of
from credo.models.forms import FAMILY_FORM, Kinds, Views
from credo.models.learned_arrows import LearnedArrows, coded_rows

Arrows = Mapping[str, Sequence[str]] | None


class SeveralParents(Augmented):
    """A classifier that counts each column together with its parents, which are chosen once."""

    arrows: Arrows  # {column: its parents}, if given
    parents: Parents  # given or learned

    _internal: ClassVar[tuple[str, ...]] = ("found_parents", "from_class")
    form = FAMILY_FORM
    from_class: ClassVar[bool] = False  # whether `arrows` name the class among the parents

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arrows is not None:
            check_arrows("arrows", self.arrows)
            object.__setattr__(self, "arrows", {name: tuple(own) for name, own in self.arrows.items()})

    @abstractmethod
    def found_parents(self, table: Source, weight: Weight) -> Parents:
        """The parents learned from all rows."""

    def prepared(self, table: Source, target: str, views: Views, weight: Weight) -> Self:
        """The model with its cut points and parents. Choosing them takes passes over the rows."""
        arrows = (self.arrows or {}).items()
        check_dependent("arrows", (name for name, _ in arrows), views)
        above = (each for _, own in arrows for each in own)
        check_dependent("arrows", (each for each in above if not (self.from_class and each == target)), views)
        found = super().prepared(table, target, views, weight)
        dependent = [name for name, forms in found.views.items() if self.form in forms]
        if self.arrows is not None:
            allowed = {*dependent, target}
            given = {name: tuple(a for a in self.arrows.get(name, ()) if a in allowed) for name in dependent}
            return found.replaced(parents={name: own for name, own in given.items() if own})
        if table.once:
            raise DataError(
                f"{type(self).__name__} reads the data twice, to find the parents and to count, and an iterator can be "
                "read only once: give a table, or arrows={column: parents}"
            )
        return found.replaced(parents=found.found_parents(table, weight)) if len(dependent) > 1 else found

    def _arrow_bits(self, columns: Sequence[str]) -> float:
        own = {name: self.parents.get(name, ()) for name in columns}
        return arrow_bits(own, len(columns) - 1 + self.from_class)

    def _held_apart(self, other: Any) -> str | None:
        if found := super()._held_apart(other):
            return found
        told = "their columns have different parents: fit both with the same arrows=, as in arrows=first.parents"
        return None if self.parents == other.parents else told


@dataclass(frozen=True, eq=False, repr=False)
class KDependence(SeveralParents):
    """log p(row, class) = log P(class) + Σⱼ log p(xⱼ | up to k parents of j, class) (Sahami 1996).

    Columns are ordered by their dependence on the class. The parents of each are the k earlier ones that it depends on
    most given the class, by Bayes factors; or `arrows` gives them: {column: parents}. p(xⱼ | i parents, class) has a
    Dirichlet prior worth `backoff` rows of p(xⱼ | the first i - 1, class), and p(xⱼ | class) has Dirichlet(smoothing).
    Numbers are cut into bins, as in `TreeAugmented`. Cut points and parents are chosen once. If a parent's cell is
    missing, it and those after it are dropped.

    >>> import numpy as np
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
    class_prior: Shares | None = None
    kinds: Kinds = None
    arrows: Arrows = None
    cuts: Cuts = field(default_factory=dict, init=False)
    parents: Parents = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("k", self.k, 0, PriorError)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        most = max(map(len, self.parents.values()), default=0)
        chooser: Chooser | None = None if self.arrows is not None else StrongestParents(most)
        return blocks_of(views, self.kinds, self.cuts, None, FamilySettings(self.parents, chooser=chooser))

    def found_parents(self, table: Source, weight: Weight) -> Parents:
        pairs = OneDependence(self.smoothing, self.backoff, kinds=self.kinds)
        views = {name: (*own[:-1], pairs.form) for name, own in self.views.items() if self.form in own}
        counted = pairs.replaced(target=self.target, views=views, cuts=self.cuts)
        return parents_of(counted.replaced(evidence=counted.gathered(table, weight).ordered()), self.k)


def parents_of(model: Classifier, k: int) -> Parents:
    """Up to k parents of each column whose pairs the model counts."""
    block = next(block for _, block in model.blocks(model.views) if isinstance(block, Dependence))
    found = strongest_parents(block.likelihood(model.seen, model.settings), k)
    return {name: tuple(block.names[a] for a in own) for name, own in zip(block.names, found, strict=True) if own}


@dataclass(frozen=True, eq=False, repr=False)
class NetworkClassifier(SeveralParents):
    """A belief network whose arrows are learned, as a classifier: log p(row, class) = Σ log p(node | its parents).

    The class comes first: arrows lead from it to columns, and between columns, as `credo.learn_structure` finds them
    (`score`, `search`, up to `max_parents` columns each); or `arrows` gives them: {column: parents}, the class's name
    among the parents. Only the columns in the class's Markov blanket affect predictions. Tables back off as in
    `KDependence`. Numbers are cut into bins; for the arrows, a missing cell is a separate value.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, b, noise = rng.integers(0, 2, (3, 300))
    >>> rows = {"a": a.astype(str), "b": b.astype(str), "noise": noise.astype(str), "same": (a == b).astype(str)}
    >>> model = NetworkClassifier(arrows={"b": ["a", "same"]}).fit(rows, target="same")
    >>> model.blanket, model.predict({"a": ["0", "1"], "b": ["0", "0"], "noise": ["0", "0"]}).tolist()
    (('a', 'b'), ['True', 'False'])
    """

    score: str = "auto"
    search: str = "boss"
    max_parents: int = 3
    smoothing: float = 1.0
    backoff: float = 5.0
    bins: Bins = None
    class_smoothing: float | None = None
    class_prior: Shares | None = None
    kinds: Kinds = None
    arrows: Arrows = None
    cuts: Cuts = field(default_factory=dict, init=False)
    parents: Parents = field(default_factory=dict, init=False)

    from_class = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("max_parents", self.max_parents, 0, PriorError)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        columns = [name for name, forms in views.items() if self.form in forms]
        own = {name: tuple(a for a in self.parents.get(name, ()) if a != self.target) for name in columns}
        free = frozenset(name for name in columns if self.target not in self.parents.get(name, ()))
        chooser = None if self.arrows is not None else self._search
        parents = {name: above for name, above in own.items() if above}
        return blocks_of(views, self.kinds, self.cuts, None, FamilySettings(parents, free, chooser))

    def found_parents(self, table: Source, weight: Weight) -> Parents:
        names = [name for name, forms in self.views.items() if self.form in forms]
        parents, free = self._search.of(*coded_rows(table, str(self.target), names, self.cuts, weight))
        found = {}
        for j, name in enumerate(names):
            own = tuple(names[a] for a in parents[j])
            found[name] = own if j in free else (*own, str(self.target))
        return {name: own for name, own in found.items() if own}

    @property
    def _search(self) -> LearnedArrows:
        return LearnedArrows(self.score, self.search, self.max_parents)

    @property
    def blanket(self) -> tuple[str, ...]:
        """The Markov blanket of the class: its children and their other parents."""
        children = [name for name, own in self.parents.items() if self.target in own]
        every = {*children, *(each for name in children for each in self.parents[name])}
        return tuple(name for name in self.views if name in every)
