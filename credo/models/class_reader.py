"""The classes and columns of a classifier: the tables that it reads, and its class prior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from credo.core.learning import RowWeights
from credo.core.membership import Codes, Hard
from credo.core.records import Surface, with_fields
from credo.data import Batch, Source, source
from credo.data.schema import Column
from credo.errors import EvidenceError, PriorError, SchemaError, suggest
from credo.models.known_columns import columns_found
from credo.models.targets import class_codes, with_known_target
from credo.numerics.exact import Array

NOT_FITTED = "nothing was learned yet: fit(data, target=...) first"
Shares = Mapping[Any, float]  # {class: probability}


class ClassReader(Surface, ABC):
    """A model of classes: it reads labelled and unlabelled tables, and has a prior over its classes."""

    _internal: ClassVar[tuple[str, ...]] = (
        "codes_of", "currencies", "feature_names", "features", "lone_text", "members", "needs", "opened", "replaced",
        "text_columns", "word_columns",
    )  # fmt: skip

    if TYPE_CHECKING:  # fields of the dataclasses, or properties

        @property
        def target(self) -> str | None: ...

        @property
        def class_prior(self) -> Shares | None: ...

    @property
    @abstractmethod
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the columns of `predict_proba`."""

    @property
    @abstractmethod
    def class_weights(self) -> Array:
        """The weight of each class's rows."""

    @property
    @abstractmethod
    def features(self) -> Mapping[str, Column]:
        """The columns that the model reads: their kinds, and the levels of categories."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.features)

    @property
    def word_columns(self) -> Sequence[str]:
        """Columns whose values are strings, even where all strings of a table spell numbers."""
        return ()

    @property
    def currencies(self) -> Mapping[str, str]:
        """The currency sign of each column of amounts."""
        return {}

    @property
    def text_columns(self) -> frozenset[str]:
        """The columns read as text."""
        return frozenset()

    @property
    def lone_text(self) -> str | None:
        """The only column, if it is a text column: an unnamed list of texts stands for it."""
        return None

    def replaced(self, **values: object) -> Self:
        """The same model with some fields replaced, including those that the constructor doesn't take."""
        return with_fields(self, **values)

    @property
    def n(self) -> float:
        """The weight of the rows."""
        return float(self.class_weights.sum())

    # Tables

    def opened(self, data: object) -> Source:
        """The opened table. An unnamed list of texts becomes the one column that the model reads.

        Columns of strings stay strings, even where all of them spell numbers.
        """
        table = source(data).as_words(self.word_columns).in_currencies(self.currencies)
        if table.unnamed and (name := self.lone_text) is not None and name not in table.names:
            return table.renamed({table.unnamed: name})
        return table

    def _labelled(self, data: object, target: object) -> Source:
        if self.target is None:
            raise EvidenceError(NOT_FITTED)
        return with_known_target(self.opened(data), self.target, target, "the classes were")

    def needs(self, data: Source) -> Sequence[str]:
        """The columns that the model reads of a labelled table."""
        assert self.target is not None
        return (self.target, *self._present(data))

    def _present(self, table: Source) -> list[str]:
        """The model's columns that the table has; the others count as missing."""
        if not self.feature_names:
            raise EvidenceError(NOT_FITTED)
        return columns_found(table, self.feature_names, self.target)

    def codes_of(self, batch: Batch) -> Codes:
        """The code of each row's class, -1 where it has none."""
        assert self.target is not None
        own, levels = class_codes(batch, self.target)
        places = {value: k for k, value in enumerate(self.classes)}
        table = np.array([*(places.get(value, -2) for value in levels.to_pylist()), -1], dtype=np.int32)
        codes = table[own]
        if (codes == -2).any():
            unseen = levels[int(own[codes == -2][0])].as_py()
            raise EvidenceError(f"column {self.target!r} has {unseen!r:.60}, which was never learned")
        return codes

    def members(self, batch: Batch, weights: RowWeights) -> tuple[Batch, Hard]:
        """The rows with a class and a positive weight, and their classes."""
        codes, weight = self.codes_of(batch), weights.of_rows(batch)
        kept = (codes >= 0) & (weight > 0)
        if kept.all():
            return batch, Hard(codes, len(self.classes), weight)
        rows = np.flatnonzero(kept)
        return batch.take(rows), Hard(codes[rows], len(self.classes), weight[rows])

    def _code_of(self, value: object) -> int:
        for k, known in enumerate(self.classes):
            if known == value:
                return k
        raise SchemaError(f"no class {value!r}; {suggest(value, self.classes)}")

    # The class prior

    def with_class_prior(self, class_prior: Shares) -> Self:
        """The same model under another class prior, by Bayes' rule.

        P′(class | row) ∝ P(class | row) P′(class)/P(class)
        """
        found = self.replaced(class_prior=dict(class_prior))
        _ = found._given_prior  # an error if it isn't one
        return found

    @property
    def _share_smoothing(self) -> float:
        """The Dirichlet concentration of each class."""
        return 1.0

    @property
    def _log_prior(self) -> Array:
        """log P(class) behind the predictions: the given prior, or the learned class shares. (classes,)"""
        return self._learned_log_shares if self.class_prior is None else self._given_prior

    @property
    def _learned_log_shares(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.class_weights / self.n))

    @property
    def _prior_shift(self) -> Array:
        """log P′(class)/P(class): 0, unless a class prior was given. (classes,)"""
        if self.class_prior is None:
            return np.zeros(len(self.classes))
        return self._given_prior - self._learned_log_shares

    @cached_property
    def _given_prior(self) -> Array:
        given = self.class_prior or {}
        unknown = [value for value in self.classes if value not in given]
        if unknown:
            raise PriorError(f"class_prior has no probability for the class {unknown[0]!r}")
        try:
            shares = {value: float(share) for value, share in given.items()}
        except (TypeError, ValueError):
            shares = {}
        if not all(share >= 0 for share in shares.values()) or not np.isclose(sum(shares.values()), 1, rtol=1e-9):
            raise PriorError(f"class_prior must be shares that sum to 1, but is {dict(given)!r:.80}")
        own = np.array([shares[value] for value in self.classes])
        if not own.any():
            raise PriorError("class_prior has no share for any class that is left")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(own / own.sum()))
