"""Names of hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import PriorError, SchemaError


def checked_states(states: Any) -> Any:
    if isinstance(states, str):
        if states != "auto":
            raise PriorError(f"states must be a number, names, or 'auto', but is {states!r:.60}")
        return states
    if isinstance(states, int | np.integer) and not isinstance(states, bool):
        if states < 1:
            raise PriorError(f"there must be at least one state, but states is {states}")
        return int(states)
    if not isinstance(states, Sequence | np.ndarray) or not len(states):
        raise PriorError(f"states must be a number, names, or 'auto', but is {states!r:.60}")
    names = tuple(value.item() if isinstance(value, np.generic) else value for value in states)
    if len(set(names)) < len(names) or len({type(name) for name in names}) > 1:
        raise PriorError(f"the names of states must differ, and be of one type, but are {names!r:.80}")
    return names


def group_names(states: Sequence[Any], components: int) -> list[str]:
    """Of states, or of each state's components.

    >>> group_names(("calm", "busy"), 2)
    ['calm, 1', 'calm, 2', 'busy, 1', 'busy, 2']
    """
    if components == 1:
        return [str(state) for state in states]
    return [f"{state}, {component + 1}" for state in states for component in range(components)]


def names_of(states: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names of states; () while their number isn't known."""
    if isinstance(states, str):
        return given
    if not isinstance(states, int):
        return tuple(states)
    if not given:
        return tuple(range(states))
    if len(given) > states:
        raise SchemaError(f"{len(given)} states are given ({', '.join(map(str, given[:5]))}, ...), but states={states}")
    words = all(isinstance(name, str) for name in given)
    new = [f"state {k + 1}" if words else k for k in range(states + len(given))]
    return (*given, *[name for name in new if name not in given][: states - len(given)])
