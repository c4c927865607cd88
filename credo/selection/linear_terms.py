"""Linear terms: the log-odds of a column's cells by a logistic regression, added to the generative terms.

log-odds = w · x, where x are standardised numbers, indicators of categories, or tf-idf weights of words. The weights w
are tuning: they stay fixed until the model is tuned again. A missing cell or an unseen value adds 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from credo.blocks.block import Parameter
from credo.blocks.capabilities import CountsIgnored, Hides, Ignored, OneTerm, WeighsWords, WordByWord
from credo.blocks.text.column import KnownWords, Texts
from credo.blocks.text.tf_idf import to_unit_length
from credo.core.membership import Hard
from credo.data import Batch
from credo.data.arrow_arrays import numpy_array, scalar
from credo.data.tokens import Tokeniser
from credo.data.word_counts import Documents
from credo.data.words import Vocabulary
from credo.models.forms import Text
from credo.models.regression.features import Features
from credo.numerics.exact import Array

LINEAR_FORM = "logistic"  # the form of these terms in a tuning


class DiscriminativeTerm(OneTerm, Hides):
    """The log-odds of some columns by a discriminative model: tuning, not evidence, so learned rows are scored like
    others."""

    form: ClassVar[str] = LINEAR_FORM

    share: float  # the term's weight

    @abstractmethod
    def over(self, known: Sequence[Any], classes: Sequence[Any]) -> Self:
        """The term for these classes; 0 for a class that isn't among the known ones, to which it was fitted."""

    def weighted(self, weights: Array) -> Self:
        return replace(self, share=float(weights[0]))  # type: ignore[type-var]

    def add_left_out(self, cells: Any, own: Hard, out: Array) -> None:  # noqa: ARG002 - the weights are fixed
        """The unweighted log-odds: tuning is held fixed."""
        replace(self, share=1.0).add(cells, out)  # type: ignore[type-var]

    def parameters(self) -> list[Parameter]:
        return []


class LinearTerm(DiscriminativeTerm):
    """w · x of some columns for each class."""

    weights: Array  # (features, classes)

    def over(self, known: Sequence[Any], classes: Sequence[Any]) -> Self:
        places = {value: k for k, value in enumerate(known)}
        found = np.zeros((len(self.weights), len(classes)))
        for k, value in enumerate(classes):
            if value in places:
                found[:, k] = self.weights[:, places[value]]
        return self.fitted(found)

    def fitted(self, weights: Array) -> Self:
        """The term with these weights."""
        return replace(self, weights=weights)  # type: ignore[type-var]

    def by_column(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        out = np.zeros(shape)
        self.add(cells, out)
        return {self.names[0]: out}

    def hidden(self, cells: Any, log_likelihood: Array) -> dict[str, Array]:
        return self.by_column(cells, (len(log_likelihood), log_likelihood.shape[1]))

    @property
    def free_parameters(self) -> int:
        return int(self.weights.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearTerm):
            return NotImplemented
        same = type(self) is type(other) and self.names == other.names and self.share == other.share
        return same and np.array_equal(self.weights, other.weights)


@dataclass(frozen=True, eq=False)
class LinearCells(LinearTerm, CountsIgnored):
    """Σ w z/scale over the features z of columns that aren't texts.

    z/scale is clipped to the range of the rows that the weights were fitted to.
    """

    features: Features
    scale: Array  # (features,)
    lowest: Array  # of z/scale
    highest: Array
    weights: Array
    share: float = 1.0

    @classmethod
    def scaled(cls, features: Features, z: Array, weight: Array) -> tuple[LinearCells, Array]:
        """The term scaled by these rows, without weights yet, and the scaled features; indicators have scale 1.

        z: (rows, features)
        """
        numbers = np.zeros(features.width, dtype=bool)
        numbers[[j for c in features.schema if c.levels is None for j in features.groups[c.name,][:1]]] = True
        widest = np.abs(z).max(0, initial=0.0)
        widest = np.where(widest > 0, widest, 1.0)  # so that squares can't overflow
        spread = widest * np.sqrt(weight @ (z / widest) ** 2 / weight.sum())
        scale = np.where(numbers & (spread > 0), spread, 1.0)
        scaled = z / scale
        found = cls(features, scale, scaled.min(0), scaled.max(0), np.zeros((features.width, 0)))
        return found, scaled

    @property
    def names(self) -> tuple[str, ...]:
        return self.features.columns

    def read(self, batch: Batch) -> Array:
        return self.read_counting_ignored(batch)[0]

    def read_counting_ignored(self, batch: Batch) -> tuple[Array, Ignored]:
        z, ignored = self.features.read(batch)
        return np.clip(z / self.scale, self.lowest, self.highest), ignored

    def add(self, cells: Array, out: Array) -> None:
        out += self.share * (cells @ self.weights)

    def by_column(self, cells: Array, shape: tuple[int, int]) -> dict[str, Array]:  # noqa: ARG002
        weights = self.share * self.weights
        return {name: cells[:, own] @ weights[own] for (name, *_), own in self.features.groups.items()}


@dataclass(frozen=True, eq=False)
class LinearWords(LinearTerm, WordByWord, WeighsWords):
    """Σ w q/‖q‖ over a text's words and pairs of adjacent words, q = log(1 + count) · idf."""

    name: str
    text: Text  # how it is split into words
    words: Any  # Arrow strings
    rarity: Array  # (words,) idf
    typical: Array  # (words,) the mean of q/‖q‖ over the texts that contain the word
    weights: Array
    share: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @cached_property
    def reading(self) -> Tokeniser:
        return reading_of(self.name, self.text)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.words, self.reading)

    def over(self, known: Sequence[Any], classes: Sequence[Any]) -> LinearWords:
        found = super().over(known, classes)
        return _with_vocabulary(found, self._vocabulary)

    def weighted(self, weights: Array) -> LinearWords:
        return _with_vocabulary(super().weighted(weights), self._vocabulary)

    def read(self, batch: Batch) -> Documents:
        return batch.encoded(KnownWords(self.name, self._vocabulary))

    def matrix(self, cells: Documents) -> Any:
        """q/‖q‖ as a CSR matrix. (documents, words)"""
        from scipy.sparse import csr_matrix

        shape = len(cells.known), len(self.rarity)
        return self.normalised(csr_matrix((cells.counts.astype(np.float64), cells.words, cells.starts), shape=shape))

    def normalised(self, counts: Any) -> Any:
        """q/‖q‖ from a CSR matrix of counts."""
        values = to_unit_length(np.log1p(counts.data) * self.rarity[counts.indices], counts.indptr)
        return type(counts)((values, counts.indices, counts.indptr), shape=counts.shape)

    def add(self, cells: Documents, out: Array) -> None:
        out += self.share * (self.matrix(cells) @ self.weights)

    def weights_for(self, k: int, others: Array, words: Any) -> Array:
        """The weights of these words for class k against the shares `others` of classes, in a typical text. (words,)"""
        import pyarrow.compute as pc

        found = pc.index_in(words, value_set=self.words.cast(words.type)).fill_null(scalar(-1, pa.int32()))
        places = numpy_array(found)
        own = self.share * self.typical * (self.weights[:, k] - self.weights @ others)
        return np.asarray(np.append(own, 0.0)[places])

    def words_of(self, cells: Documents) -> dict[str, Array]:
        row = self.matrix(cells)
        names = self.words.take(pa.array(row.indices)).to_pylist()
        return dict(zip(names, self.share * row.data[:, None] * self.weights[row.indices], strict=True))


def reading_of(name: str, text: Text) -> Tokeniser:
    block = text.block(name, text.form)
    assert isinstance(block, Texts)
    return block.reading


def _with_vocabulary(term: LinearWords, vocabulary: Vocabulary) -> LinearWords:
    """The term with a vocabulary that was indexed before."""
    term.__dict__["_vocabulary"] = vocabulary
    return term
