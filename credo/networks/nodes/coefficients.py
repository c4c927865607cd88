"""Coefficients of a node as users write them: one for all, or one for each configuration of its category parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from credo.errors import NetworkError, suggest
from credo.networks.parent_values import by_parent_values
from credo.networks.tables import States
from credo.numerics.exact import Array

Coefficient = (
    float | Mapping[Any, Any]
)  # a number; or {state: number}, of several category parents {(state, ...): number}


def over_states(what: str, given: object, categories: Sequence[str], states: States) -> Array:
    """An array over the states of category parents.

    >>> over_states("the mean", {"yes": 39.0, "no": 36.8}, ["Flu"], {"Flu": ("yes", "no")})
    array([39. , 36.8])
    """
    shape = tuple(len(states[name]) for name in categories)
    if not isinstance(given, Mapping):
        return np.full(shape, checked_number(what, given))
    if not categories:
        raise NetworkError(f"{what} is given by states, but there is no category among the parents: give one number")
    found = np.empty(shape)
    read = by_parent_values(what, given, categories, states, lambda _, value: checked_number(what, value))
    for where, value in read.items():
        found[where] = value
    return found


def weights_over_states(
    name: str, given: Any, categories: Sequence[str], numbers: Sequence[str], states: States
) -> Array:
    """The weights of number parents, each over the states of category parents. (states..., number parents)"""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise NetworkError(f"the weights of {name!r} must be {{number parent: weight}}, but are {given!r:.60}")
    for unknown in (each for each in given if each not in numbers):
        raise NetworkError(
            f"{name!r} has a weight of {unknown!r}, which isn't a number parent; {suggest(unknown, numbers)}"
        )
    for missing in (each for each in numbers if each not in given):
        raise NetworkError(
            f"{name!r} has a number parent {missing!r}, but no weight of it: give weights={{{missing!r}: ...}}"
        )
    shape = tuple(len(states[each]) for each in categories)
    columns = [over_states(f"the weight of {each!r} for {name!r}", given[each], categories, states) for each in numbers]
    return np.stack(columns, axis=-1) if columns else np.zeros((*shape, 0))


def checked_number(what: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise NetworkError(f"{what} must be a number, but is {value!r:.60}")
    return float(value)
