"""Values that users give for each configuration of a node's parents, as in {"yes": 0.25, "no": 0.01}: checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from credo.errors import NetworkError, suggest

if TYPE_CHECKING:
    from credo.networks.tables import States

Read = TypeVar("Read")


def by_parent_values(
    what: str, given: Mapping[Any, object], above: Sequence[str], states: States, read: Callable[[Any, Any], Read]
) -> dict[tuple[int, ...], Read]:
    """{numbers of the parents' states: read(key, value)}, for every configuration of the parents.

    A key is a tuple of the parents' values, or one value where there is one parent.

    >>> by_parent_values("the mean", {"yes": 39.0, "no": 36.8}, ["Flu"], {"Flu": ("yes", "no")}, lambda _, x: x)
    {(0,): 39.0, (1,): 36.8}
    """
    places = [{state: i for i, state in enumerate(states[name])} for name in above]
    found: dict[tuple[int, ...], Read] = {}
    for key, value in given.items():
        values = key if isinstance(key, tuple) and len(above) > 1 else (key,)
        if len(values) != len(above):
            raise NetworkError(f"{what} must be given by values of {', '.join(above)}, but is by {key!r:.60}")
        for name, each, known in zip(above, values, places, strict=True):
            if each not in known:
                raise NetworkError(f"{what} is given for {name}={each!s:.60}; {suggest(each, known)}")
        found[tuple(known[each] for each, known in zip(values, places, strict=True))] = read(key, value)
    for where in product(*map(range, map(len, places))):
        if where not in found:
            missing = ", ".join(f"{name}={states[name][i]}" for name, i in zip(above, where, strict=True))
            raise NetworkError(f"{what} isn't given for {missing}")
    return found
