"""The common base of generative classifiers and trees: additive evidence from labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.core.evidence import Evidence
from credo.core.labels import ROWS, UNLABELLED
from credo.core.learning import Additive, Weight
from credo.core.membership import Hard
from credo.core.statistics import Counts
from credo.data import Batch, Source, source
from credo.errors import DataError, EvidenceError, SchemaError, counted, suggest
from credo.models.class_predictor import ClassPredictor
from credo.models.class_reader import NOT_FITTED
from credo.models.forms import Kinds, Views, settled_views
from credo.models.targets import check_classes, class_codes, with_target
from credo.notices import tell
from credo.numerics.exact import Array

NO_COLUMN = "there is no column to learn from: all of them are ignored"


def labelled_table(data: object, target: object, weight: Weight, kinds: Kinds) -> tuple[Source, str, Views]:
    """The table with its classes, the name of the class column, and the views of the other columns."""
    table, name = with_target(source(data), target)
    if isinstance(weight, str):
        table.require([weight])
    features = tuple(column for column in table.without(weight).names if column != name)
    if not features:
        raise SchemaError(f"there is no column besides {name!r} to learn from")
    table, views = settled_views(table, features, check_classes(table, name, kinds))
    if not views:
        raise SchemaError(NO_COLUMN)
    return table, name, views


def labelled_rows(batch: Batch, target: str, weight: Array) -> tuple[Batch, Hard, Any, Counts]:
    """The rows that have a class, their memberships, the classes, and the weight of the rows without one."""
    codes, levels = class_codes(batch, target)
    lost = codes < 0
    unlabelled = Counts.of_rows(Hard.whole(int(lost.sum()), weight[lost]))
    if lost.any():
        kept = np.flatnonzero(~lost)
        batch, codes, weight = batch.take(kept), codes[kept], weight[kept]
    return batch, Hard(codes, len(levels), weight), levels, unlabelled


def few(names: Sequence[str]) -> str:
    """The first few names, and their total number."""
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


class ClassEvidence(ClassPredictor, Additive):  # type: ignore[misc]
    """A model whose evidence counts the rows of each class, and those without one."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def target(self) -> str | None: ...

        @property
        def views(self) -> Views:
            """The forms that each column is counted in; the model reads the first, a tuning may read all."""

        @property
        def class_prior(self) -> Mapping[Any, float] | None: ...

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows; classes and categories may be new."""
        return super().update(self._labelled(data, target), weight=weight)._checked(self.unlabelled)

    def _checked(self, unlabelled: float) -> Self:
        """The model after more rows, some of which must have a class. `before`: the weight of unlabelled rows until
        now."""
        if left_out := self.unlabelled - unlabelled:
            tell(f"{counted(left_out, 'row')} without {self.target!r} left out")
        if self.class_prior is not None:
            _ = self._given_prior  # an error if there is no class
        if not self.class_weights.any():
            why = f"every cell of {self.target!r} is missing" if self.unlabelled else "all weights are zero"
            raise DataError(f"no row has a class: {why}")
        return self

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn rows exactly, as if they had never been learned."""
        table = self._labelled(data, target)
        if absent := [name for name in self.views if name not in table.names]:
            raise SchemaError(
                f"rows are forgotten with all the columns that were learned, but {few([*map(repr, absent)])} "
                f"{'is' if len(absent) == 1 else 'are'} absent; {suggest(absent[0], table.names)} "
                "(If all cells of a column were missing, pass it without values.)"
            )
        return super().forget(table, weight=weight)

    def with_evidence(self, evidence: Evidence) -> Self:
        return self.replaced(evidence=evidence)

    @property
    def seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError(NOT_FITTED)
        return self.evidence

    @property
    def currencies(self) -> Mapping[str, str]:
        return {} if self.evidence is None else self.evidence.currencies

    @property
    def unlabelled(self) -> float:
        """The weight of rows without a class, which were skipped."""
        return 0.0 if self.evidence is None else float(self.evidence[UNLABELLED].n.value.sum())

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.seen.column(str(self.target)).values

    @property
    def class_weights(self) -> Array:
        """The weight of each class's rows."""
        return np.asarray(self.seen[ROWS].n.value[:, 0])
