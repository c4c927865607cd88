"""Models of labelled rows: evidence about P(class) and about blocks of columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.capabilities import Ignored, Independent, LeavesOut, Limits, Prunes
from credo.blocks.numbers.independent import Numbers
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS, UNLABELLED, Label
from credo.core.learning import Weight
from credo.data import Batch, Source
from credo.data.schema import Column
from credo.errors import EvidenceError
from credo.families import dirichlet
from credo.models.class_evidence import ClassEvidence, labelled_rows, labelled_table
from credo.models.conditional import Conditional, add_log_likelihoods, likelihood_of
from credo.models.forms import CELL_FORMS, TEXT_FORMS, Kinds, Views, kind_of_form
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.selection.report import Report
    from credo.selection.tuning import Tuning


class Labelled(ClassEvidence):
    """log p(row, class) = log P(class) + Σ log p(block | class), over blocks that are independent given the class.

    Settings and evidence are fields of the dataclasses derived from this.
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "blocks", "check_views", "choices", "chooses_forms", "codes_of", "conditional", "counting", "counts_cells",
        "first_forms", "log_class_prior", "narrowed", "opened", "part_names", "prepared", "read_forms", "refits",
        "replaced", "seen", "settings", "terms", "terms_of", "views",
    )  # fmt: skip
    chooses_forms: ClassVar[bool] = False  # whether tuning may read number columns in other forms
    tuning: Tuning | None = None  # the tuning, chosen on held-out rows; None if untuned
    report: Report | Any = None  # of credo.learn; Any rather than None, so that its users need no check

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def class_smoothing(self) -> float | None: ...

        @property
        def kinds(self) -> Kinds: ...

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The strengths of the priors, and how parameters are estimated."""

    @abstractmethod
    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        """The blocks of columns, each with the form that its columns are read in."""

    def check_views(self, views: Views) -> None:
        """Raise an error for settings that name unknown columns."""

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Learn from a table with a class in each row: `target` is a column's name, or an array. One additive pass."""
        table, name, views = labelled_table(data, target, weight, self.kinds)
        self.check_views(views)
        model = self.prepared(table, name, views, weight).update(table, weight=weight)
        for text in (each for each, (form, *_) in views.items() if form in TEXT_FORMS):
            if not len(model.seen.schema[text].levels):
                tell(f"column {text!r} has no word in any row: it is ignored")
        return model

    def prepared(self, table: Source, target: str, views: Views, weight: Weight) -> Self:  # noqa: ARG002
        """The model before its first row, with the views of its columns; some kinds of models read the rows first."""
        return self.replaced(target=target, views=views, evidence=None)

    def crowded(self, evidence: Evidence, slack: float = 0.0) -> Label | None:
        limits = (limited for _, block in self.blocks(self.views) if (limited := Limits.of(block)))
        found = (each.crowded(evidence, slack) for each in limits)
        return super().crowded(evidence, slack) or next(filter(None, found), None)

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        assert self.target is not None
        batch, own, levels, unlabelled = labelled_rows(batch, self.target, weight)
        parts = {UNLABELLED: Part((None,), unlabelled)}
        found = self._conditional(self.views).summarise(batch, own, levels)
        return Evidence(found.schema, {**parts, **found.parts})

    def _conditional(self, views: Views) -> Conditional:
        assert self.target is not None
        blocks = tuple(block for _, block in self.blocks(views))
        return Conditional(blocks, self.settings, self.target, self.evidence)

    def total(self, parts: Sequence[Evidence]) -> Evidence:
        found = super().total(parts)
        for _, block in self.blocks(self.views):
            if (prunes := Prunes.of(block)) is not None:
                found = prunes.pruned(found)
        return found

    def counting(self, more: Views, data: Source, weight: Weight) -> Self:
        """With columns counted in more forms, in a pass over the rows that were learned.

        Columns that already had one of the forms are counted in it again, since a block's statistics are about all its
        columns.
        """
        views = {name: tuple(dict.fromkeys((*own, *more.get(name, ())))) for name, own in self.views.items()}
        forms = {form for each in more.values() for form in each}
        wanted = {name: tuple(form for form in own if form in forms) for name, own in views.items()}
        extra = self.replaced(views={name: own for name, own in wanted.items() if own}, evidence=None)
        found = extra.gathered(data, weight)
        kept = self.seen.keeping({*(set(self.seen.parts) - set(found.parts)), ROWS, UNLABELLED})
        return self.replaced(views=views, evidence=kept.beside(found))

    def part_names(self) -> set[Label]:
        """The labels of the evidence parts that the views need."""
        blocks = (block for _, block in self.blocks(self.views))
        return {ROWS, UNLABELLED, *(label for block in blocks for label in block.labels(self.seen))}

    def narrowed(self, views: Views) -> Self:
        """The model with only the evidence of these forms."""
        narrow, evidence = self.replaced(views=views), self.seen
        wider = {form: block for form, block in self.blocks(self.views) if isinstance(block, Numbers)}
        for form, block in narrow.blocks(views):
            if isinstance(block, Numbers) and block != wider[form]:
                evidence = block.taken_from(evidence, wider[form])
        return narrow.replaced(evidence=evidence.keeping(narrow.part_names()))

    def fitted_to(self, others: Evidence, held_out: Evidence) -> Self:
        """The model with a fold's evidence: it knows the classes of all folds, but no values that occur only in
        held-out rows."""
        assert self.target is not None
        return self.with_evidence(others.knowing(held_out.only(ROWS)))

    def mergeable(self, other: Self) -> str | None:
        if self.target != other.target:
            return f"their targets differ, {self.target!r} and {other.target!r}"
        for name in {**self.views, **other.views}:
            one, two = (model.views.get(name) for model in (self, other))
            if one is None or two is None:
                return f"only one of them has a column {name!r}"
            if one != two:
                forms = [" and ".join(each) for each in ((one, two) if one[0] == two[0] else (one[:1], two[:1]))]
                return f"column {name!r} is {forms[0]} in one and {forms[1]} in the other: use kinds= to say which"
        for (_, mine), (_, its) in zip(self.blocks(self.views), other.blocks(other.views), strict=True):
            if mine != its:
                return f"column {mine.names[0]!r} is read in different ways: give both the same kinds"
        options = [(what, getattr(self, what), getattr(other, what)) for what in ("class_smoothing", "class_prior")]
        options += [(s.name, getattr(self.settings, s.name), getattr(other.settings, s.name)) for s in fields(Settings)]
        different = ((what, one, two) for what, one, two in options if one != two)
        return next((f"their {what} differs, {one!r:.60} and {two!r:.60}" for what, one, two in different), None)

    def without_class(self, value: object) -> Self:
        """As if rows of that class had never been learned."""
        places = np.array([k for k in range(len(self.classes)) if k != self._code_of(value)], dtype=np.intp)
        if not len(places):
            raise EvidenceError(f"{value!r} is the only class: without it nothing is left")
        assert self.target is not None
        return self.with_evidence(self.seen.at_levels(self.target, places))

    # What was learned

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.views)

    @cached_property
    def features(self) -> dict[str, Column]:
        levels = {column.name: column.levels for column in self.seen.schema if not column.derived}
        return {name: Column(name, kind_of_form(form), levels.get(name)) for name, (form, *_) in self.views.items()}

    @property
    def word_columns(self) -> Sequence[str]:
        return () if self.evidence is None else self.evidence.word_columns

    @property
    def lone_text(self) -> str | None:
        texts = [name for name, forms in self.views.items() if forms[0] in TEXT_FORMS]
        return texts[0] if len(texts) == len(self.views) == 1 else None

    def log_class_prior(self, n: Array) -> Array:
        """log P(class), given the weight of each class's rows. (..., classes)"""
        if self.class_prior is not None:
            return np.broadcast_to(self._given_prior, n.shape)
        with np.errstate(divide="ignore"):
            offset = dirichlet.offset(self._share_smoothing, self.settings.estimate)
            return np.asarray(np.log(dirichlet.shares(n, offset)))

    @property
    def _log_prior(self) -> Array:
        return self.terms.log_prior

    @property
    def _share_smoothing(self) -> float:
        return self.settings.smoothing if self.class_smoothing is None else self.class_smoothing

    @property
    def first_forms(self) -> Views:
        """The form of each column that `fit` learned: the first one."""
        return {name: forms[:1] for name, forms in self.views.items()}

    @property
    def read_forms(self) -> Views:
        """The forms that the model reads."""
        return self.first_forms

    @property
    def choices(self) -> Views:
        """The forms that tuning may choose from."""
        return self.views

    @property
    def counts_cells(self) -> bool:
        """Whether cells of several columns are counted together."""
        return any(not set(CELL_FORMS).isdisjoint(forms) for forms in self.views.values())

    @cached_property
    def conditional(self) -> Conditional:
        """p(columns | class) as fitted, each column in its first form."""
        return self._conditional(self.read_forms)

    @cached_property
    def terms(self) -> Terms:
        """The terms of a prediction."""
        return self.terms_of(self.read_forms, self.settings)

    @property
    def refits(self) -> bool:
        """Whether leaving a row out takes a refit, as when EM completes missing cells."""
        return any(LeavesOut.needed(likelihood).refits for _, likelihood in self.terms.likelihoods)

    def terms_of(self, forms: Mapping[str, Sequence[str]], settings: Settings) -> Terms:
        """log P(class), and the likelihoods of columns in these forms."""
        if not self.classes:
            raise EvidenceError("every row was forgotten: no class is left")
        chosen = []
        for form, block in self.blocks(self.views):
            places = [j for j, name in enumerate(block.names) if form in forms.get(name, ())]
            if not places:
                continue
            likelihood = likelihood_of(block, self.seen, settings)
            if len(places) < len(block.names) and (columns := Independent.of(likelihood)) is not None:
                likelihood = columns.pick(places)
            chosen.append((form, likelihood))
        return Terms(tuple(chosen), self.log_class_prior(self.class_weights))


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a prediction: log P(class), and the blocks' log-likelihoods, each with its form."""

    likelihoods: tuple[tuple[str, Likelihood], ...]
    log_prior: Array  # (classes,)

    def log_joint(self, batch: Batch, *, base: bool = False, count_ignored: bool = True) -> tuple[Array, Ignored]:
        """log P(class) + Σ log p(block | class), up to a constant per row unless `base`; and the ignored cells. (rows,
        classes)"""
        return self.added_to(self.log_prior, batch, base=base, count_ignored=count_ignored)

    def added_to(
        self, start: Array, batch: Batch, *, base: bool = False, count_ignored: bool = True
    ) -> tuple[Array, Ignored]:
        """The same with another first term than log P(class)."""
        out = np.repeat(start[None], batch.rows, axis=0)
        each = (likelihood for _, likelihood in self.likelihoods)
        return out, add_log_likelihoods(each, batch, out, base=base, count_ignored=count_ignored)
