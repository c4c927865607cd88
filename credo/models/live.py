"""A mutable twin of a classifier, for streams of single rows: what a row costs is what it touches."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.data import source
from credo.errors import Notice

if TYPE_CHECKING:
    from credo.models.classifier import Classifier


class Live:
    """observe(row) learns a row in place, predict_proba(row) and predict(row) foresee one, freeze() is the model.

    Rows are dicts {column: value}; what isn't there, None and NaN are missing.

    >>> from credo import NaiveBayes
    >>> live = NaiveBayes().fit({"wind": ["weak", "strong"], "play": ["yes", "no"]}, target="play").live()
    >>> live.observe({"wind": "weak", "play": "yes"})
    >>> round(live.predict_proba({"wind": "weak"})["yes"], 3)
    0.771
    """

    def __init__(self, model: Classifier) -> None:
        self._model = model
        self._waiting: list[tuple[dict[str, Any], float]] = []

    def observe(self, row: Mapping[str, Any], weight: float = 1.0) -> None:
        """Learn a row."""
        self._waiting.append((dict(row), weight))

    def freeze(self) -> Classifier:
        """The model, with all rows that were observed."""
        if self._waiting:
            rows, weights = zip(*self._waiting, strict=True)
            self._model = self._model.update(list(rows), weight=np.array(weights))
            self._waiting = []
        return self._model

    def predict_proba(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """{class: probability}"""
        model = self.freeze()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            (shares,) = model.predict_proba(source([dict(row)]))
        return dict(zip(model.classes, map(float, shares), strict=True))

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The most probable class."""
        shares = self.predict_proba(row)
        return max(shares, key=lambda value: shares[value])
