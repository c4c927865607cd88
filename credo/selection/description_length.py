"""credo.description_length: the bits of a model, and of the data given the model."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from credo.core.description import Describes, DescriptionLength
from credo.errors import DataError


def description_length(model: Describes, data: object = None, **how: Any) -> DescriptionLength:
    """L(h) + L(D | h) in bits, the two parts of a message: the model, and the data given the model.

    Where a prior over hypotheses is known, L(h) = −log₂ P(h), and the shortest description is that of the MAP
    hypothesis. Each parameter takes ½ log₂ n bits unless it is integrated out; arrows and cut points are counted. For
    models with a target, D is the target's column given the others. A coin that showed heads in 75 of 135 tosses:

    >>> from credo import BetaBernoulli
    >>> round(description_length(BetaBernoulli(1, 1).update({1: 75, 0: 60})).total, 1)
    137.0
    """
    if not isinstance(model, Describes):
        raise DataError(
            f"a {type(model).__name__} has no description length: give a fitted model, hypotheses or a belief"
        )
    if data is not None:
        return model.description_length(data, **how)
    if signature(model.description_length).parameters["data"].default is Parameter.empty:
        raise DataError(
            f"the description length of a {type(model).__name__} needs data: description_length(model, data)"
        )
    return model.description_length(**how)
