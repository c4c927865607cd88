"""What credo.learn tries: every model that fits the columns, with what it says of rows that hadn't taught it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from credo.blocks.block import Settings
from credo.data import Source
from credo.families.normal_inverse_wishart import Covariance
from credo.learning import Weight, Weights
from credo.models.blend import TOGETHER, Blend
from credo.models.discriminant import GaussianDiscriminant
from credo.models.forms import TEXT_FORMS
from credo.models.naive_bayes import NaiveBayes
from credo.models.sheets import beside, crossed, row_count, scored
from credo.models.tuning import Candidate, candidate, widened
from credo.models.weighing import Sheet

WIDEST, WIDEST_FULL = 200, 150  # features of columns that are read together
MANY_CLASSES = 100
FEW_ROWS = 5000  # up to which it may be open whether a column depends on the class: with more, averages change nothing
SLOW = 2e9  # steps of completing missing numbers, above which it isn't tried

NAIVE_BAYES, AVERAGED = "naive Bayes", "averaged naive Bayes"
DISCRIMINANTS: dict[str, Covariance] = {"linear discriminant": "tied", "quadratic discriminant": "full"}
BLENDS: dict[str, tuple[str, ...]] = {  # which forms speak: "columns" are naive Bayes' own
    "one tied Gaussian": ("tied",),
    "one full Gaussian": ("full",),
    "naive Bayes and tied Gaussian": ("columns", "tied"),
    "naive Bayes, tied and full Gaussian": ("columns", "tied", "full"),
}
KINDS: dict[str, tuple[str, ...]] = {
    "auto": (NAIVE_BAYES, AVERAGED, *DISCRIMINANTS, *BLENDS),
    "naive-bayes": (NAIVE_BAYES, AVERAGED),
    "gaussian": tuple(DISCRIMINANTS),
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """Those of some names that fit the columns."""

    base: Blend  # the rows, counted as they are read
    table: Source
    weight: Weight
    seed: int

    def those(self, names: Collection[str]) -> Iterator[tuple[str, Candidate]]:
        if NAIVE_BAYES in names:
            yield NAIVE_BAYES, self.naive_bayes
        if AVERAGED in names and row_count(self.base, self.table, Weights.of(self.weight)) <= FEW_ROWS:
            yield AVERAGED, self._averaged()
        if wanted := [name for name in DISCRIMINANTS if name in names]:
            yield from self._discriminants(wanted)
        if wanted := [name for name in BLENDS if name in names]:
            yield from self._blends(wanted)

    @cached_property
    def naive_bayes(self) -> Candidate:
        plain = self.base.untuned()
        return candidate(widened(plain, self.table, self.weight), self.table, self.weight, self.seed)

    @property
    def stride(self) -> int:
        """The same rows judge all of them."""
        return self.naive_bayes.sheet.stride

    def _averaged(self) -> Candidate:
        """Over all subsets of the columns, in the forms that naive Bayes chose."""
        plain = self.naive_bayes
        model, weights = replace(plain.model, average=True), Weights.of(self.weight)

        def rescored(settings: Settings) -> Sheet:
            return scored(model, self.table, weights, plain.forms, settings, self.stride)

        return replace(plain, model=model, sheet=rescored(plain.settings), rescored=rescored)

    def _discriminants(self, names: Collection[str]) -> Iterator[tuple[str, Candidate]]:
        """Numbers as a Gaussian, missing cells summed out, and the other columns beside it."""
        base = self.base.untuned()
        numbers = {name: forms for name, forms in base.views.items() if forms[0] == "gaussian"}
        if not numbers or len(numbers) > WIDEST_FULL or len(base.classes) > MANY_CLASSES:
            return
        learner = GaussianDiscriminant("tied", kinds=base.kinds, target=base.target, views=numbers)
        evidence = learner.gathered(self.table, self.weight)
        if len(evidence.parts) * len(numbers) ** 3 * len(base.classes) > SLOW:
            return
        wide = replace(learner, views=base.views, evidence=base.seen.beside(evidence))
        wide = replace(wide, evidence=wide.seen.keeping(wide.part_names()))
        for name in names:
            model = replace(wide, covariance=DISCRIMINANTS[name])
            yield name, candidate(model, self.table, self.weight, self.seed, self.stride)

    def _blends(self, names: Collection[str]) -> Iterator[tuple[str, Candidate]]:
        """Columns together, beside naive Bayes' own or alone."""
        together = self._together()
        if not together:
            return
        own = self.naive_bayes
        model, apart = self._counted_together(own.model, together)
        forms = {name: (*own.forms[name], *together.get(name, ())) for name in own.forms}
        both = beside([own.sheet, apart])
        for name in names:
            speaking = BLENDS[name]
            voices = [j for j, (form, _) in enumerate(both.voices) if _side(form) in speaking]
            if {_side(both.voices[j][0]) for j in voices} == set(speaking):
                sheet, rescored = both.only(voices), None
                if "columns" in speaking and own.rescored is not None:
                    rescored = _Rescored(own, apart, voices)
                yield name, Candidate(model, forms, own.settings, sheet, self.seed, "tied", rescored, ("smoothing",))

    def _together(self) -> dict[str, tuple[str, ...]]:
        """The columns that can be read together, few values first, and in which forms; none where classes are many."""
        sizes: dict[str, int] = {}
        if len(self.base.classes) > MANY_CLASSES:
            return {}
        for name, views in self.base.views.items():
            if views[0] == "category":
                sizes[name] = len(self.base.seen.schema[name].levels)
            elif views[0] not in ("count", *TEXT_FORMS):
                sizes[name] = 1
        chosen, total = [], 0
        for name in sorted(sizes, key=lambda name: sizes[name]):
            if total + sizes[name] <= WIDEST:
                chosen.append(name)
                total += sizes[name]
        forms = TOGETHER if total <= WIDEST_FULL else TOGETHER[:1]
        return {name: forms for name in self.base.views if name in chosen}

    def _counted_together(self, own: NaiveBayes, together: Mapping[str, tuple[str, ...]]) -> tuple[Blend, Sheet]:
        """With columns counted together, and what that says of rows whose fold hadn't taught it."""
        views = {n: (("category", *f) if own.views[n][0] == "category" else f) for n, f in together.items()}
        learner = replace(self.base, views=views)
        apart, evidence = crossed(learner, self.table, self.weight, together, self.seed, self.stride)
        wider = {name: (*forms, *together.get(name, ())) for name, forms in own.views.items()}
        return replace(self.base, views=wider, evidence=own.seen.beside(evidence)), apart


@dataclass(frozen=True, eq=False)
class _Rescored:
    """What a blend says under another smoothing, of which columns together know nothing."""

    own: Candidate
    apart: Sheet
    voices: list[int]

    def __call__(self, settings: Settings) -> Sheet:
        assert self.own.rescored is not None
        return beside([self.own.rescored(settings), self.apart]).only(self.voices)


def _side(form: Any) -> str:
    return form if form in TOGETHER else "columns"
