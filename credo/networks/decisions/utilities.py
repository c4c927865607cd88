"""Utilities: from the forms in which users give them to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from credo.errors import NetworkError, suggest
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


def _of_rows(name: str, given: Mapping[object, object], above: Sequence[str], states: States) -> Array:
    table: Array = np.full([len(states[parent]) for parent in above], np.nan)
    filled = np.zeros(table.shape, dtype=np.bool_)
    for key, number in given.items():
        values = key if isinstance(key, tuple) and len(above) > 1 else (key,)
        if len(values) != len(above):
            raise NetworkError(f"a utility of {name!r} must be named by values of {', '.join(above)}, not by {key!r}")
        for parent, value in zip(above, values, strict=True):
            if value not in states[parent]:
                raise NetworkError(f"{name!r} has a utility for {parent}={value}; {suggest(value, states[parent])}")
        where = tuple(states[parent].index(value) for parent, value in zip(above, values, strict=True))
        try:
            table[where], filled[where] = number, True  # type: ignore[call-overload]
        except (TypeError, ValueError):
            raise NetworkError(f"the utility of {name!r} for {key!r} must be a number, but is {number!r:.60}") from None
    if not filled.all():
        missing = zip(above, np.argwhere(~filled)[0].tolist(), strict=True)
        raise NetworkError(f"{name!r} has no utility for {', '.join(f'{p}={states[p][i]}' for p, i in missing)}")
    return table
