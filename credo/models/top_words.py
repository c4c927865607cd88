"""The most informative words: the score of each for a class, over all its texts, in the forms that the model reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo.blocks.capabilities import WeighsWords
from credo.blocks.subset_averaging import AveragedText
from credo.blocks.text.column import TextLikelihood
from credo.blocks.text.log_odds import OddsLikelihood
from credo.errors import SchemaError, suggest
from credo.models.forms import TEXT_FORMS
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.models.labelled import Terms


class WordScores(NamedTuple):
    """The score of each word (or pair) for a class over all its texts, and its count there."""

    words: pa.Array  # an Arrow array
    scores: Array
    counts: Array


def _text_terms(terms: Terms) -> Iterator[TextLikelihood | OddsLikelihood]:
    """The terms of texts; an averaged one as if its column certainly depended on the class."""
    for _, each in terms.likelihoods:
        likelihood = each.surely if isinstance(each, AveragedText) else each
        if isinstance(likelihood, TextLikelihood | OddsLikelihood):
            yield likelihood


def strongest_words(model: Classifier, k: int, n: int, column: str | None) -> pa.Table:
    """The words of a text column by their scores for a class in all its texts: one seen once scores low."""
    name = _text_column(model, column)
    found_in = [words for words in _word_scores(model, name, k) if len(words.words)]
    found = [(place, v) for place, words in enumerate(found_in) for v in _first(words, n)]
    found = sorted(found, key=lambda at: -found_in[at[0]].scores[at[1]])[:n]
    words = [found_in[place].words[v].as_py() for place, v in found]
    counts = np.array([found_in[place].counts[v] for place, v in found], dtype=np.float64)
    scores = np.array([found_in[place].scores[v] for place, v in found], dtype=np.float64)
    kind = found_in[0].words.type if found_in else pa.string()
    return pa.table({"word": pa.array(words, kind), "weight": scores / counts, "count": counts})


def _text_column(model: Classifier, column: str | None) -> str:
    texts = [name for name, forms in model.views.items() if forms[0] in TEXT_FORMS]
    if column is not None and column not in texts:
        raise SchemaError(f"no text column {column!r}; {suggest(column, texts)}")
    if not texts:
        raise SchemaError("there is no text column")
    if column is None and len(texts) > 1:
        raise SchemaError(f"name the text column, as in column={texts[0]!r}; {suggest('', texts)}")
    return column if column is not None else texts[0]


def _first(words: WordScores, n: int) -> list[int]:
    """The indices of the highest scores."""
    positive = np.flatnonzero((words.scores > 0) & (words.counts > 0))
    order = np.argsort(-words.scores[positive], kind="stable")[:n]
    return [int(v) for v in positive[order]]


def _word_scores(model: Classifier, column: str, k: int) -> Iterator[WordScores]:
    """Scores of single words and of pairs; in the odds forms, counts are numbers of texts."""
    plain = next(each for each in _text_terms(model.plain.terms) if each.names == (column,))
    assert isinstance(plain, TextLikelihood)
    counts = plain.n[:, k]
    scores, others = np.zeros(len(counts)), _shares_without(model.class_weights, k)
    for each in _text_terms(model.terms):
        if each.names != (column,):
            continue
        if isinstance(each, TextLikelihood):
            scores += each.weight * np.where(each.weights > 0, each.for_class(k), 0.0) * each.n[:, k]
        elif each.column.axis == plain.column.axis:
            scores, counts = scores + each.scores_for(k, others), each.texts_of(k)
        else:
            texts = each.texts_of(k)
            more = texts * _linear_weights(model, column, k, others, each.column.levels)
            yield WordScores(each.column.levels, each.scores_for(k, others) + more, texts)
    yield WordScores(plain.words, scores + counts * _linear_weights(model, column, k, others, plain.words), counts)


def _linear_weights(model: Classifier, column: str, k: int, others: Array, words: Any) -> Array:
    """The weight of each word in the tuning's logistic regression, if there is one. (words,)"""
    own = [each for _, each in model.terms.likelihoods if each.names == (column,)]
    found = [weighs.weights_for(k, others, words) for each in own if (weighs := WeighsWords.of(each)) is not None]
    return np.asarray(sum(found, np.zeros(len(words))))


def _shares_without(weights: Array, k: int) -> Array:
    """The shares of the other classes."""
    others = np.where(np.arange(len(weights)) == k, 0.0, weights)
    return others / max(float(others.sum()), np.finfo(float).tiny)
