"""Predictions beside the rows that they are about, part by part: a table may be larger than memory."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

PREDICTED, PROBABILITY = "predicted", "probability"


def predictions(model: Classifier, data: object, each: bool = False) -> Generator[Any]:
    """Arrow tables: the data's own columns, the class predicted, its probability and, if asked, that of each class.

    >>> from credo import NaiveBayes
    >>> model = NaiveBayes().fit({"wind": ["weak", "strong"], "play": ["yes", "no"]}, target="play")
    >>> next(predictions(model, {"wind": ["weak"]})).to_pydict()
    {'wind': ['weak'], 'predicted': ['yes'], 'probability': [0.6666666666666666]}
    """
    import pyarrow as pa

    classes, empty = pa.array(model.classes), True
    for batch, probabilities in model.streamed(data):
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        best = probabilities.argmax(1)
        wanted = [PREDICTED, PROBABILITY, *(f"P({value})" for value in model.classes if each)]
        names = unique_names(wanted, list(own))
        columns = [classes.take(pa.array(best)), probabilities[np.arange(len(best)), best]]
        columns += [probabilities[:, k] for k in range(len(model.classes)) if each]
        empty = False
        yield pa.table({**own, **dict(zip(names, columns, strict=True))})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")


def unique_names(wanted: Sequence[str], taken: Collection[str]) -> list[str]:
    """Names that differ from those taken, and from each other, even for readers to whom case is nothing.

    >>> unique_names(["predicted", "P(a)", "P(A)"], ["Predicted", "x"])
    ['predicted_', 'P(a)', 'P(A)_']
    """
    used, found = {name.lower() for name in taken}, []
    for name in wanted:
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
