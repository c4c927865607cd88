"""The design matrix of a sample's rows for logistic regression, made once for all folds.

Features don't depend on classes, so they may be scaled by held-out rows, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.blocks.one_hot import LABEL
from credo.blocks.text.column import Cuts, WordReader
from credo.blocks.text.tf_idf import idf
from credo.core.evidence import Evidence
from credo.core.labels import ROWS
from credo.data import Batch
from credo.data.arrow_arrays import number_array, numpy_array
from credo.data.tokens import Tokeniser
from credo.models.forms import ODDS_FORMS, Text
from credo.models.regression.features import MOST_FEATURES, Features, Readings
from credo.numerics.exact import Array
from credo.numerics.ridge_logistic import DenseMatrix, FeatureMatrix, HorizontalStack, SparseMatrix
from credo.selection.linear_terms import LinearCells, LinearTerm, LinearWords, reading_of

DENSE_CELLS = 2**23  # rows x features of columns that aren't texts, at most
WORD_TEXTS = 2  # texts that must contain a word or pair for it to be a feature
FEATURE_WORDS = 2**18  # words and pairs of a column that are features, at most: the commonest
WORD_PRODUCTS = 2**24  # products (classes x words of all texts) of a step of a fit, at most: rarer words are dropped
NUMBER_COLUMN_FORMS = ("gaussian", "log", "binned", "count", "date")  # first forms of columns that are read as numbers


@dataclass(frozen=True, eq=False)
class LinearDesign:
    """The features of rows, and the linear terms that read them, without weights yet."""

    terms: tuple[LinearTerm, ...]
    matrices: tuple[Any, ...]  # for each term an array or a CSR matrix (rows, features)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for term in self.terms for name in term.names)

    @property
    def reads_cells(self) -> bool:
        """Whether it reads columns that aren't texts."""
        return any(isinstance(term, LinearCells) for term in self.terms)

    @property
    def matrix(self) -> FeatureMatrix:
        parts = [DenseMatrix(each) if isinstance(each, np.ndarray) else SparseMatrix(each) for each in self.matrices]
        return parts[0] if len(parts) == 1 else HorizontalStack(tuple(parts))

    @property
    def ends(self) -> list[int]:
        """Where the features of each term but the last end."""
        return [int(end) for end in np.cumsum([each.shape[1] for each in self.matrices])[:-1]]

    def take(self, rows: NDArray[Any]) -> LinearDesign:
        return replace(self, matrices=tuple(each[rows] for each in self.matrices))

    def blanked(self, names: Sequence[str], gone: NDArray[np.bool_]) -> LinearDesign:
        """The design with cells of these columns missing, too: their features are 0. gone: (rows, names)"""
        where, found = dict(zip(names, gone.T, strict=True)), []
        for term, matrix in zip(self.terms, self.matrices, strict=True):
            if isinstance(term, LinearCells):
                matrix = matrix.copy()
                for (name, *_), own in term.features.groups.items():
                    if name in where:
                        matrix[np.ix_(where[name], own)] = 0.0
            elif term.names[0] in where:
                matrix = _rows_kept(matrix, ~where[term.names[0]])
            found.append(matrix)
        return replace(self, matrices=tuple(found))


def _rows_kept(matrix: Any, kept: NDArray[np.bool_]) -> Any:
    """The CSR matrix with all rows but the kept ones set to 0."""
    from scipy.sparse import diags

    return (diags(kept.astype(np.float64)) @ matrix).tocsr()


def design_of(model: Any, parts: Sequence[Batch], weight: Array) -> LinearDesign | None:
    """The design of some batches' columns; None without features."""
    found = [_cells(model, parts, weight), *(_words(model, name, parts) for name in _texts(model.views))]
    pairs = [each for each in found if each is not None]
    return LinearDesign(*map(tuple, zip(*pairs, strict=True))) if pairs else None


def _texts(views: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [name for name, forms in views.items() if not set(forms).isdisjoint(ODDS_FORMS)]


def _cells(model: Any, parts: Sequence[Batch], weight: Array) -> tuple[LinearCells, Array] | None:
    """Features of numbers and categories, columns with few values first, as many as there is room for."""
    widths = {name: 1 for name, forms in model.views.items() if forms[0] in NUMBER_COLUMN_FORMS}
    categories = {name for name, forms in model.views.items() if forms[0] == "category"}
    widths |= {name: len(model.seen.schema[name].levels) for name in categories}
    room, chosen = min(MOST_FEATURES, DENSE_CELLS // max(len(weight), 1)), set()
    for name in sorted(widths, key=lambda name: widths[name]):
        if widths[name] <= room:
            chosen.add(name)
            room -= widths[name]
    names = tuple(name for name in model.views if name in chosen)
    if not names:
        return None
    readings = Readings(names, tuple(name for name in names if name in categories))
    ends = np.cumsum([part.rows for part in parts])[:-1]
    each = zip(parts, np.split(weight, ends), strict=True)
    found = Evidence.total([readings.summarise(part, own) for part, own in each]).ordered()
    rows = float(found[ROWS].n.value[0, 0])
    features = replace(Features.of_sums(readings, found, rows, found[LABEL].first.value[0]), missing={})
    z = np.concatenate([features.encode(part) for part in parts])
    return LinearCells.scaled(features, z, weight) if features.width else None


def _words(model: Any, name: str, parts: Sequence[Batch]) -> tuple[LinearWords, Any] | None:
    """The words of a text column that occur in several texts, and pairs of words where the model counts these."""
    asked = (model.kinds or {}).get(name)
    text = asked if isinstance(asked, Text) else Text()
    text = replace(text, ngrams=2) if "pairs" in model.views[name] else text
    counts, words = _counted(name, reading_of(name, text), parts)
    often = np.bincount(counts.indices, minlength=len(words))
    cuts = Cuts(text.min_count, text.drop_most_common, text.max_words)
    total = np.bincount(counts.indices, counts.data, len(words)).astype(np.float64)
    kept = np.flatnonzero((often >= WORD_TEXTS) & cuts.kept(total))
    order = kept[np.argsort(-often[kept], kind="stable")][:FEATURE_WORDS]
    kept = np.sort(order[np.cumsum(often[order]) <= WORD_PRODUCTS // len(model.classes)])
    if not len(kept):
        return None
    rarity = idf(counts.shape[0], often[kept])
    nothing, weights = np.zeros(len(kept)), np.zeros((len(kept), 0))
    term = LinearWords(name, text, words.take(number_array(kept)).cast(pa.string()), rarity, nothing, weights)
    matrix = term.normalised(counts[:, kept])
    typical = np.bincount(matrix.indices, matrix.data, len(kept)) / often[kept]
    return replace(term, typical=typical), matrix


def _counted(name: str, reading: Tokeniser, parts: Sequence[Batch]) -> tuple[Any, Any]:
    """The counts of words in each text, as a CSR matrix, and the words."""
    from scipy.sparse import csr_matrix

    documents, words = zip(*(part.encoded(WordReader(name, reading)) for part in parts), strict=True)
    every = pa.chunked_array([each.cast(pa.large_string()) for each in words], pa.large_string()).combine_chunks()
    every = every.dictionary_encode()
    codes = np.split(numpy_array(every.indices), np.cumsum([len(each) for each in words])[:-1])
    columns = np.concatenate([own[each.words] for own, each in zip(codes, documents, strict=True)])
    sizes = np.concatenate([np.diff(each.starts) for each in documents])
    starts = np.append(0, np.cumsum(sizes))
    counts = np.concatenate([each.counts for each in documents]).astype(np.float64)
    return csr_matrix((counts, columns, starts), shape=(len(sizes), len(every.dictionary))), every.dictionary
