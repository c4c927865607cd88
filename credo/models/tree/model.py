"""Decision trees with Dirichlet posteriors in their leaves: grown, then pruned or averaged over all prunings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
import pyarrow as pa

from credo.blocks.block import UNSEEN_VALUES
from credo.blocks.capabilities import Ignored
from credo.core.evidence import Evidence, Part
from credo.core.folds import Groups
from credo.core.labels import ROWS, UNLABELLED, Label
from credo.core.learning import RowWeights, Weight
from credo.core.membership import Hard
from credo.core.statistics import Counts
from credo.data import Batch, source
from credo.data.schema import Column, Schema
from credo.errors import DataError, EvidenceError, PriorError, SchemaError, check_whole, suggest
from credo.models.class_evidence import NO_COLUMN, ClassEvidence, labelled_rows, labelled_table
from credo.models.class_reader import NOT_FITTED, Shares
from credo.models.drawn_folds import DrawnFolds
from credo.models.explaining import QuestionStep, Reasons
from credo.models.forms import TEXT_FORMS, Kinds, Views
from credo.models.metrics import Scores
from credo.models.tree.binning import Bins, LevelBins, read_cells
from credo.models.tree.describing import Outline, TreeLength, outlined, tree_length
from credo.models.tree.folds import cross_validated
from credo.models.tree.growing import Gain, Growth
from credo.models.tree.paths import path
from credo.models.tree.prunings import Prune, Prunings, learned
from credo.models.tree.sampling import held, sampled
from credo.models.tree.structure import Structure
from credo.notices import tell_of_columns
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAVES_LABEL = Label("leaves")
NO_TEXTS = "a tree doesn't read texts (naive Bayes and logistic regression do)"


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTree(ClassEvidence):
    """P(class | row) from the leaf that the row reaches: (n of the class + a)/(n + K a), the Dirichlet posterior mean.

    prune: "average", the default, weights all prunings of the grown tree by prior · evidence and predicts with their
    mixture; "mdl" keeps the pruning with the shortest description (the tree + its exceptions), "evidence" the most
    probable one, None the tree as it was grown. gain: the criterion of a split; "information" is the textbook's, with
    a branch for each value of a category; "evidence" splits in two, and is the default where prunings are averaged.
    smoothing is a; by default 1/K. A row with a missing cell goes down all branches, its weight divided among them.

    >>> rows = {"sky": ["sun", "rain", "sun", "rain"] * 5, "wind": ["high", "low", "low", "high"] * 5,
    ...         "sail": ["yes", "no", "no", "no"] * 5}
    >>> tree = DecisionTree(prune=None).fit(rows, target="sail")
    >>> tree.predict_proba({"sky": ["sun"], "wind": ["high"]}).round(3).tolist()
    [[0.083, 0.917]]
    >>> print(tree)
    DecisionTree of sail, after 20 rows: no 15, yes 5
      sky = rain: no (0.95, 10 rows)
      sky = sun
        wind = high: yes (0.92, 5 rows)
        wind = low: no (0.92, 5 rows)
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "columns", "growth", "outline", "prunings", "seen", "structure", "views",
    )  # fmt: skip

    prune: Prune | None = "average"
    gain: Gain | None = None
    smoothing: float | None = None
    min_rows: float = 2.0
    max_depth: int | None = None
    kinds: Kinds = None
    class_prior: Shares | None = None
    target: str | None = field(init=False, default=None)
    views: Views = field(init=False, default_factory=dict)
    columns: tuple[Bins, ...] = field(init=False, default=())
    structure: Structure | None = field(init=False, default=None)
    stop: float | None = field(init=False, default=None)  # α, the prior probability of a leaf; None: no averaging
    evidence: Evidence | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.prune is not None and self.prune not in get_args(Prune):
            raise PriorError(f"no such pruning, {self.prune!r:.60}; {suggest(self.prune, (*get_args(Prune), 'None'))}")
        if self.gain is not None and self.gain not in get_args(Gain):
            raise PriorError(f"no such gain, {self.gain!r:.60}; {suggest(self.gain, get_args(Gain))}")
        for name in ("smoothing", "min_rows"):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (value is None and name == "smoothing") and not (number and 0 < value < np.inf):
                raise PriorError(f"{name} must be a number above 0, but is {value!r:.60}")
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0, PriorError)

    @property
    def growth(self) -> Growth:
        gain = self.gain or ("evidence" if self.prune == "average" else "information")
        smoothing = None if self.smoothing is None else float(self.smoothing)
        return Growth(gain, float(self.min_rows), self.max_depth, smoothing)

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Learn from a table with a class in each row: `target` is a column's name, or an array.

        The tree is grown and pruned on up to 2²⁰ rows, which are held in memory; then its leaves count all rows.
        """
        table, name, views = labelled_table(held(source(data)), target, weight, self.kinds)
        texts = [each for each, (form, *_) in views.items() if form in TEXT_FORMS]
        tell_of_columns(((each, NO_TEXTS) for each in texts), "ignored")
        views = {each: forms for each, forms in views.items() if each not in texts}
        if not views:
            raise SchemaError(NO_COLUMN)
        sample = sampled(table, name, views, weight)
        if not len(sample.truth):
            raise DataError(f"no row has a class: every cell of {name!r} is missing, or has weight 0")
        columns, classes = sample.bins(views), len(sample.levels[name].levels)
        rows = sample.encoded(columns, self.growth.gain, classes)
        structure, stop, leaves = learned(rows, self.growth, self.prune)
        grown = self.replaced(target=name, views=views, columns=columns, structure=structure, stop=stop, evidence=None)
        if not sample.whole:
            return grown.update(table, weight=weight)
        levels = sample.levels[name].levels
        member = Hard(rows.truth, classes, rows.weight)
        evidence = grown._evidence(levels, member, Counts.of_pairs(*leaves), sample.unlabelled)
        return grown.with_evidence(evidence.in_currencies(table.currencies([*views])))._checked(0.0)

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows: the leaves count them, and posteriors and averages follow; the branches stay."""
        return super().update(data, target=target, weight=weight)

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn rows exactly from the counts of the leaves; the branches stay."""
        return super().forget(data, target=target, weight=weight)

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        assert self.target is not None
        batch, own, levels, unlabelled = labelled_rows(batch, self.target, weight)
        cells, _ = read_cells(self.columns, batch)
        leaves = Counts.of_pairs(*self._tree.leaf_weights(cells, own.codes, own.weight, own.groups))
        return self._evidence(levels, own, leaves, unlabelled)

    def _evidence(self, levels: object, member: Hard, leaves: Counts, unlabelled: Counts) -> Evidence:
        """Evidence: the rows of each class, in all and in each leaf."""
        assert self.target is not None
        rows = Counts.of_rows(member)
        parts = {label: Part((self.target, None), own) for label, own in ((ROWS, rows), (LEAVES_LABEL, leaves))}
        return Evidence(
            Schema((Column(self.target, "category", levels),)), {UNLABELLED: Part((None,), unlabelled), **parts}
        )

    def mergeable(self, other: Self) -> str | None:
        if self.target != other.target:
            return f"their targets differ, {self.target!r} and {other.target!r}"
        alike = len(self.columns) == len(other.columns) and all(
            own.equals(its) for own, its in zip(self.columns, other.columns, strict=False)
        )
        if not alike or not self._tree.equals(other._tree):
            return "their branches differ: grow one tree, and update copies of it, or fit all rows"
        options = [(what, getattr(self, what), getattr(other, what)) for what in ("smoothing", "class_prior", "stop")]
        return next(
            (f"their {what} differs, {one!r:.60} and {two!r:.60}" for what, one, two in options if one != two), None
        )

    # What was learned

    @property
    def _tree(self) -> Structure:
        if self.structure is None:
            raise EvidenceError(NOT_FITTED)
        return self.structure

    @property
    def features(self) -> Mapping[str, Column]:
        return {each.name: each.column for each in self.columns}

    @property
    def word_columns(self) -> Sequence[str]:
        own = (each for each in self.columns if isinstance(each, LevelBins))
        return [each.name for each in own if pa.types.is_string(each.levels.type)]

    @cached_property
    def prunings(self) -> Prunings:
        """The prunings of the tree, given the rows in its nodes."""
        if not self.classes:
            raise EvidenceError("every row was forgotten: no class is left")
        counts = self._tree.totals(self.seen[LEAVES_LABEL].n.value.T)
        return Prunings(self._tree, counts, self.growth.prior(len(self.classes)), self.stop)

    @property
    def n_leaves(self) -> int:
        """The number of leaves of the displayed tree."""
        return sum(node.is_leaf for node in self.outline.nodes)

    @property
    def depth(self) -> int:
        """The depth of the displayed tree."""
        return max(node.depth for node in self.outline.nodes)

    # Prediction

    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        cells, ignored = read_cells(self.columns, batch)
        found = np.log(self._tree.spread(cells, self.prunings.predictions))
        return found + self._prior_shift, ignored if count_ignored else {}

    @property
    def _share_smoothing(self) -> float:
        return self.growth.prior(len(self.classes))

    # Validation

    def leave_one_out(self, data: object, *, target: object = None, weight: Weight = None) -> Scores:
        """The prediction for each row without its own counts, exactly as after `forget`.

        The branches and α are held fixed: on rows from which the tree was grown, the scores are optimistic.
        `cross_validate` grows again.
        """
        return self._scores_left_out(data, target, weight)

    def _validation_name(self, how: str) -> str:
        return f"{how}, branches held fixed"

    def _left_out(self, weights: RowWeights, batch: Batch) -> tuple[Array, Hard]:
        batch, own = self.members(batch, weights)
        cells, _ = read_cells(self.columns, batch)
        found = np.log(self.prunings.left_out(cells, own.codes, own.weight)) + self._prior_shift
        for row in self._alone(own):  # rows whose class no other row has
            found[row] = np.nan
            if others := [k for k in range(len(self.classes)) if k != own.codes[row]]:
                fewer = self.with_evidence(self.seen.at_levels(str(self.target), np.array(others)))
                found[row, others] = fewer._log_joint(batch.slice(int(row), 1), count_ignored=False)[0][0]
        found -= np.logaddexp.reduce(np.where(np.isnan(found), -np.inf, found), axis=1, keepdims=True)
        return found, own

    def cross_validate(  # type: ignore[override]
        self, data: object, folds: int = 10, *, target: object = None, weight: Weight = None, seed: int = 0,
        groups: Groups = None,
    ) -> Scores:  # fmt: skip
        """Predictions for each row by trees grown again from the other folds.

        Rows of one group go to the same fold, where `groups` names a column or is an array. So do copies of a row (in
        tables of up to 20,000 rows), unless chance explains the repetition.
        """
        table = self._labelled(data, target)
        table.check_rereadable("cross-validation reads the data twice")
        return cross_validated(self, DrawnFolds.of(self, table, folds, weight, groups), weight, seed)

    # Description

    def description_length(self, data: object = None, *, target: object = None, weight: Weight = None) -> TreeLength:
        """The bits of the tree and of its exceptions: of the rows that were learned, or of others; and what a single
        leaf would take. The receiver knows the columns: only classes are encoded.

        prune="mdl" or None: each node takes a bit, and a split log₂ of the splits there were to choose from. A leaf
        names one of K classes, then how many of its n rows are exceptions, out of at most n (K - 1)/K, which, and of
        what class. "evidence": -log₂ of the tree's prior and of the classes' evidence in the leaves. "average": the
        mixture over prunings, -log₂ P_w.
        """
        if data is not None:
            others = self.gathered(self._labelled(data, target), weight)
            return self.with_evidence(others.knowing(self.seen.only(ROWS))).description_length()
        return tree_length(str(self.target), self.prunings, self.prune)

    def log_evidence(self) -> float:
        """log P(classes of the rows | tree), or of the average: log P_w of all prunings."""
        found = self.prunings
        of_leaves = found.log_evidence[self._tree.leaves].sum()
        return float(found.log_weighted[0] if self.prune == "average" else of_leaves)

    def log_prob(self, data: object) -> Array:
        """log P(class | columns) of each row: a tree doesn't model the columns."""
        table = self._labelled(data, None)
        scores = self.scores(table)
        return np.asarray(scores.of_truth)

    @property
    def outline(self) -> Outline:
        """The displayed tree as plain data; of an average, the most probable pruning."""
        note = "the most probable pruning of those that are averaged" if self.prune == "average" else ""
        return outlined(str(self.target), self.classes, self.columns, self.prunings, note)

    def plot(self, ax: object = None) -> Figure:
        """A picture of the tree: what each node asks, and the class shares of the leaves."""
        from credo.present.tree_plot import plot_tree

        return plot_tree(self.outline, ax)

    # Reasons

    def _path(self, one: Batch) -> tuple[Array, Any]:
        cells, _ = read_cells(self.columns, one)
        return path(self.prunings, self.columns, cells[:, 0])

    def _reasons(self, one: Batch) -> Reasons:
        prior, steps = self._path(one)
        prior = prior + self._prior_shift
        terms: dict[str, Array] = {}
        for step in steps:
            terms[step.column.name] = terms.get(step.column.name, 0.0) + step.added
        return Reasons(prior, terms, prior + sum(terms.values(), np.zeros_like(prior)))

    def _steps(self, one: Batch, first: int, second: int, size: float) -> tuple[QuestionStep, ...]:
        _, steps = self._path(one)
        return tuple(
            QuestionStep(each.column.name, each.answer, each.rows, float(each.added[first] - each.added[second]) / size)
            for each in steps
        )

    def _unseen(self, one: Batch) -> frozenset[str]:
        return frozenset(name for name, why in read_cells(self.columns, one)[1] if why == UNSEEN_VALUES)

    def __repr__(self) -> str:
        from credo.models.tree.describing import described

        return described(self)
