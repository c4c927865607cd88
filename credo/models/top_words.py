"""The words that decide: what each says for a class in all its texts together, in the forms that the model reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo.blocks.subset_averaging import AveragedText
from credo.blocks.text.column import TextLikelihood
from credo.blocks.text.log_odds import OddsLikelihood
from credo.errors import SchemaError, suggest
from credo.models.forms import TEXT_FORMS
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.models.labelled import Terms


class Spread(NamedTuple):
    """Words or pairs: what each says for a class in all its texts, and how often it is there."""

    words: Any  # an Arrow array
    said: Array
    counts: Array


def _speaking(terms: Terms) -> Iterator[TextLikelihood | OddsLikelihood]:
    """Those whose words speak one by one; of an averaged one, as if its column surely depended on the class."""
    for _, each in terms.likelihoods:
        likelihood = each.surely if isinstance(each, AveragedText) else each
        if isinstance(likelihood, TextLikelihood | OddsLikelihood):
            yield likelihood


def strongest_words(model: Classifier, k: int, n: int, column: str | None) -> Any:
    """The words of a text column by what they say for a class in all its texts: one seen once says little."""
    name = _text_column(model, column)
    spreads = [spread for spread in _spreads(model, name, k) if len(spread.words)]
    found = [(place, v) for place, spread in enumerate(spreads) for v in _first(spread, n)]
    found = sorted(found, key=lambda at: -spreads[at[0]].said[at[1]])[:n]
    words = [spreads[place].words[v].as_py() for place, v in found]
    counts = np.array([spreads[place].counts[v] for place, v in found], dtype=np.float64)
    said = np.array([spreads[place].said[v] for place, v in found], dtype=np.float64)
    kind = spreads[0].words.type if spreads else pa.string()
    return pa.table({"word": pa.array(words, kind), "weight": said / counts, "count": counts})


def _text_column(model: Classifier, column: str | None) -> str:
    texts = [name for name, forms in model.views.items() if forms[0] in TEXT_FORMS]
    if column is not None and column not in texts:
        raise SchemaError(f"no text column {column!r}; {suggest(column, texts)}")
    if not texts:
        raise SchemaError("there is no text column")
    if column is None and len(texts) > 1:
        raise SchemaError(f"say which text column is meant, as in column={texts[0]!r}; {suggest('', texts)}")
    return column if column is not None else texts[0]


def _first(spread: Spread, n: int) -> list[int]:
    """The places of those that say most for the class."""
    spoken = np.flatnonzero((spread.said > 0) & (spread.counts > 0))
    order = np.argsort(-spread.said[spoken], kind="stable")[:n]
    return [int(v) for v in spoken[order]]


def _spreads(model: Classifier, column: str, k: int) -> Iterator[Spread]:
    """Single words and pairs; where they are read as odds, counted by the texts that hold them."""
    plain = next(each for each in _speaking(model.plain.terms) if each.names == (column,))
    assert isinstance(plain, TextLikelihood)
    counts = plain.n[:, k]
    said, others = np.zeros(len(counts)), _shares_without(model.class_weights, k)
    for each in _speaking(model.terms):
        if each.names != (column,):
            continue
        if isinstance(each, TextLikelihood):
            said += each.weight * np.where(each.weights > 0, each.for_class(k), 0.0) * each.n[:, k]
        elif each.column.axis == plain.column.axis:
            said, counts = said + each.said_for(k, others), each.texts_of(k)
        else:
            yield Spread(each.column.levels, each.said_for(k, others), each.texts_of(k))
    yield Spread(plain.words, said, counts)


def _shares_without(weights: Array, k: int) -> Array:
    """Of the classes but one."""
    others = np.where(np.arange(len(weights)) == k, 0.0, weights)
    return others / max(float(others.sum()), np.finfo(float).tiny)
