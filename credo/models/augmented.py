"""TreeAugmented and OneDependence: naive Bayes with pairwise dependence between columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar, Self

import numpy as np

from credo.blocks.block import Block, Settings
from credo.blocks.dependence.cells import Cuts, sorted_cuts
from credo.blocks.dependence.cut_points import informative_cuts, quantile_cuts
from credo.blocks.dependence.likelihood import TreeLikelihood
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.learning import Weight
from credo.data import Source
from credo.errors import DataError, PriorError, SchemaError, check_positive_number, check_whole, suggest
from credo.models.class_reader import Shares
from credo.models.classifier import PlainClassifier
from credo.models.description_length import cut_bits, forest_bits
from credo.models.form_blocks import blocks_of
from credo.models.forms import DEPENDENT_KINDS, Kinds, Views
from credo.models.naive_bayes import NaiveBayes, check_settings
from credo.notices import tell_of_columns

MOST_VALUES, MOST_PAIR_COUNTS = 1000, 2**24  # of all columns together; counts of all pairs of values, class by class
Bins = int | Mapping[str, Sequence[float]] | None


class Augmented(PlainClassifier):
    """A classifier that counts the cells of several columns together; numbers are cut into bins."""

    _internal: ClassVar[tuple[str, ...]] = ("form",)
    form: ClassVar[str]

    smoothing: float
    backoff: float
    bins: Bins
    cuts: Cuts  # of number columns, held fixed once they are chosen

    def __post_init__(self) -> None:
        check_settings("bayes", 1.0, smoothing=self.smoothing, class_smoothing=self.class_smoothing)
        check_positive_number("backoff", self.backoff, PriorError)
        check_bins(self.bins)
        if isinstance(self.bins, Mapping):
            object.__setattr__(self, "bins", {name: sorted_cuts(cuts) for name, cuts in self.bins.items()})
        elif self.bins is not None:
            object.__setattr__(self, "bins", int(self.bins))

    @property
    def settings(self) -> Settings:
        return Settings("bayes", self.smoothing, backoff=self.backoff)

    def structure_bits(self, n: float) -> float:
        """The bits that cut points and arrows between columns take."""
        return cut_bits(self.cuts, n) + self._arrow_bits([name for name, own in self.views.items() if self.form in own])

    def _arrow_bits(self, columns: Sequence[str]) -> float:  # noqa: ARG002 - subclasses use it
        return 0.0

    @property
    def read_forms(self) -> Views:
        return {name: (self.form,) if self.form in own else own[:1] for name, own in self.views.items()}

    @property
    def choices(self) -> Views:
        return self.read_forms

    @property
    def first_forms(self) -> Views:
        return {
            name: tuple(dict.fromkeys((own[0], *(f for f in own if f == self.form))))
            for name, own in self.views.items()
        }

    @abstractmethod
    def blocks(self, views: Views) -> list[tuple[str, Block]]: ...

    def prepared(self, table: Source, target: str, views: Views, weight: Weight) -> Self:
        """The model with its cut points and dependent columns. Choosing cut points takes a pass over the rows."""
        given = self.bins if isinstance(self.bins, Mapping) else {}
        if unknown := [name for name in given if name not in views]:
            raise SchemaError(f"bins names {unknown[0]!r}, which isn't a column; {suggest(unknown[0], [*views])}")
        dependent = {name: own for name, own in views.items() if own[0] in DEPENDENT_KINDS}
        numbers = [name for name, own in dependent.items() if own[0] != "category"]
        cuts = {name: tuple(given[name]) for name in numbers if name in given}
        chosen = set(dependent)
        if table.once and len(cuts) < len(numbers):
            raise DataError(
                f"{type(self).__name__} reads the data twice, to cut numbers into bins and to count, and an iterator "
                "can be read only once: give a table, or bins={column: cut points}"
            )
        if dependent and not table.once:
            sketched = {name: ("binned",) if name in numbers else own for name, own in dependent.items()}
            first = NaiveBayes(kinds=self.kinds).replaced(target=target, views=sketched)
            seen = first.gathered(table, weight).ordered()
            bins = self.bins if isinstance(self.bins, int) else None
            cuts = {name: cuts[name] if name in cuts else cut_points(seen, name, bins) for name in numbers}
            chosen = dependent_columns(seen, target, [*dependent], cuts)
        wide = [name for name in dependent if name not in chosen]
        why = "has too many values to depend on other columns: it is independent given the class"
        tell_of_columns((name, why) for name in wide)
        own = {name: (*forms, self.form) if name in chosen else forms for name, forms in views.items()}
        held = {name: each for name, each in cuts.items() if name in chosen}
        return self.replaced(target=target, views=own, evidence=None, cuts=held)

    def mergeable(self, other: Any) -> str | None:
        return self._held_apart(other) or super().mergeable(other)

    def _held_apart(self, other: Any) -> str | None:
        """The difference between the two models' fixed choices, if there is one."""
        for name in self.cuts.keys() & other.cuts.keys():
            if self.cuts[name] != other.cuts[name]:
                return (
                    f"column {name!r} has different cut points in the two: fit both with the same bins=, as in "
                    f"bins=first.cuts"
                )
        return None


@dataclass(frozen=True, eq=False, repr=False)
class TreeAugmented(Augmented):
    """log p(row, class) = log P(class) + Σⱼ log p(xⱼ | x of j's parent, class): each column may have one other as its
    parent (Friedman, Geiger & Goldszmidt 1997).

    The parents are the maximum spanning tree of the log Bayes factors of dependence given the class; arrows with a
    Bayes factor below 1 are dropped. p(xⱼ | parent, class) has a Dirichlet prior worth `backoff` rows of p(xⱼ | class),
    which has Dirichlet(smoothing). Numbers are cut into bins: `bins` is {column: cut points}, or the number of
    equal-frequency bins; by default they are chosen given the class (MODL). If a parent's cell is missing, its arrow is
    dropped.

    >>> rows = {"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5, "c": ["0", "1", "0", "1"] * 5}
    >>> model = TreeAugmented().fit(rows, target="c")
    >>> model.parents
    {'b': 'a'}
    """

    smoothing: float = 1.0
    backoff: float = 5.0
    bins: Bins = None
    class_smoothing: float | None = None
    class_prior: Shares | None = None
    kinds: Kinds = None
    tree: Mapping[str, str] | None = None
    cuts: Cuts = field(default_factory=dict, init=False)

    form = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tree is not None:
            if not isinstance(self.tree, Mapping) or not all(isinstance(each, str) for each in self.tree.values()):
                raise PriorError(f"tree must be {{column: its parent}}, but is {self.tree!r:.60}")
            check_arrows("tree", {name: (parent,) for name, parent in self.tree.items()})

    def _arrow_bits(self, columns: Sequence[str]) -> float:
        return forest_bits(len(columns))

    def check_views(self, views: Views) -> None:
        check_dependent("tree", (each for pair in (self.tree or {}).items() for each in pair), views)

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return blocks_of(views, self.kinds, self.cuts, self.tree)

    @property
    def parents(self) -> dict[str, str]:
        """The parent of each column that has one: as given by `tree`, or derived from the evidence."""
        for _, likelihood in self.terms.likelihoods:
            if isinstance(likelihood, TreeLikelihood):
                pairs = zip(likelihood.names, likelihood.parents, strict=True)
                return {name: likelihood.names[parent] for name, parent in pairs if parent >= 0}
        return {}

    def _held_apart(self, other: Any) -> str | None:
        return super()._held_apart(other) or (None if self.tree == other.tree else "their tree= differs")


@dataclass(frozen=True, eq=False, repr=False)
class OneDependence(Augmented):
    """log p(row, class) = log P(class) + log meanₛ p(xₛ | class) Πⱼ p(xⱼ | xₛ, class): the average over all columns s
    as the parent of the others, AODE (Webb, Boughton & Wang 2005).

    p(xⱼ | xₛ, class) has a Dirichlet prior worth `backoff` rows of p(xⱼ | class), which has Dirichlet(smoothing).
    Numbers are cut into bins: `bins` is {column: cut points}, or the number of equal-frequency bins; by default they
    are chosen given the class (MODL). Missing columns aren't parents.

    >>> rows = {"a": ["x", "x", "y", "y"] * 5, "b": ["u", "v", "u", "v"] * 5, "c": ["0", "1", "1", "0"] * 5}
    >>> OneDependence().fit(rows, target="c").predict({"a": ["x", "x"], "b": ["u", "v"]}).tolist()
    ['0', '1']
    """

    smoothing: float = 1.0
    backoff: float = 5.0
    bins: Bins = None
    class_smoothing: float | None = None
    class_prior: Shares | None = None
    kinds: Kinds = None
    cuts: Cuts = field(default_factory=dict, init=False)

    form = "one-dependence"

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return blocks_of(views, self.kinds, self.cuts)


def cut_points(evidence: Evidence, name: str, bins: int | None = None) -> tuple[float, ...]:
    """The cut points of a number column: those of `bins` equal-frequency bins, or the most informative about the
    class."""
    column, order = evidence.schema[name].ordered()
    values = column.levels.to_numpy(zero_copy_only=False)
    counts = evidence[Label("column", name)].n.value[:, order]
    if not len(values):
        return ()
    return informative_cuts(values, counts) if bins is None else quantile_cuts(values, counts, bins)


def dependent_columns(
    evidence: Evidence, target: str, names: Sequence[str], cuts: Cuts, most: int = MOST_VALUES
) -> set[str]:
    """The columns whose pairs of values can all be counted; those with the fewest values come first."""
    classes = max(len(evidence.schema[target].levels), 1)
    sizes = {n: len(cuts[n]) + 1 if n in cuts else len(evidence.schema[n].levels) for n in names}
    chosen, total = set(), 0
    for name in sorted(sizes, key=lambda name: sizes[name]):
        wider = total + sizes[name] + 1  # its missing cells are counted, too
        if wider <= most and classes * wider**2 <= MOST_PAIR_COUNTS:
            chosen.add(name)
            total = wider
    return chosen


def check_bins(bins: Bins) -> None:
    if bins is not None and not isinstance(bins, Mapping):
        check_whole("bins, if it isn't {column: cut points},", bins, 2, PriorError)
    for name, cuts in bins.items() if isinstance(bins, Mapping) else ():
        try:
            fine = bool(np.isfinite(np.asarray([*cuts], dtype=np.float64)).all())
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise PriorError(f"bins of {name!r} must be cut points, finite numbers, but are {cuts!r:.60}")


def check_dependent(what: str, named: Iterable[str], views: Views) -> None:
    """Raise an error for unknown columns, and for columns that can't have parents."""
    for name in named:
        if views.get(name, ("",))[0] not in DEPENDENT_KINDS:
            known = [other for other, forms in views.items() if forms[0] in DEPENDENT_KINDS]
            raise PriorError(f"{what} names {name!r}, which isn't a category or number column; {suggest(name, known)}")


def check_arrows(what: str, arrows: Mapping[str, Sequence[str]]) -> None:
    """Raise an error if this isn't {column: its parents}, or has a cycle."""
    wrong = f"{what} must be {{column: its parents}}, but is {arrows!r:.60}"
    lists = [own for own in arrows.values() if isinstance(own, list | tuple)] if isinstance(arrows, Mapping) else None
    if lists is None or len(lists) < len(arrows) or any(len({*own}) < len(own) for own in lists):
        raise PriorError(wrong)
    if not all(isinstance(each, str) for name, own in arrows.items() for each in (name, *own)):
        raise PriorError(wrong)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        raise PriorError(f"{what} has a cycle: {' -> '.join(error.args[1])}") from None
