"""Utilities: from the forms in which users give them to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import NetworkError
from credo.networks.parent_values import by_parent_values
from credo.networks.tables import States
from credo.numerics.exact import Array


def utility_table(name: str, given: object, above: Sequence[str], states: States) -> Array:
    """(the parents' states...), from {the parents' values: number}, nested lists, or one number without parents.

    >>> utility_table("Profit", {"drill": 70, "leave": 0}, ["Drill"], {"Drill": ("drill", "leave")})
    array([70.,  0.])
    """
    shape = tuple(len(states[parent]) for parent in above)
    if isinstance(given, Mapping):
        table = _of_rows(name, given, above, states)
    else:
        try:
            table = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise NetworkError(f"the utilities of {name!r} must be numbers, but are {given!s:.60}") from None
        if table.size != np.prod(shape, dtype=int):
            wanted = " x ".join(map(str, shape)) or "1"
            raise NetworkError(
                f"the utilities of {name!r} must be {wanted} numbers (states of {', '.join(above) or 'nothing'}), but "
                f"are {table.size}"
            )
        table = table.reshape(shape)
    if not np.isfinite(table).all():
        wrong = table[~np.isfinite(table)][0]
        raise NetworkError(f"the utilities of {name!r} must be finite numbers, and one is {wrong}")
    table.flags.writeable = False
    return table


def _of_rows(name: str, given: Mapping[Any, Any], above: Sequence[str], states: States) -> Array:
    table: Array = np.empty([len(states[parent]) for parent in above])

    def read(key: Any, number: Any) -> float:
        try:
            return float(number)
        except (TypeError, ValueError):
            raise NetworkError(f"the utility of {name!r} for {key!r} must be a number, but is {number!r:.60}") from None

    for where, number in by_parent_values(f"a utility of {name!r}", given, above, states, read).items():
        table[where] = number
    return table
