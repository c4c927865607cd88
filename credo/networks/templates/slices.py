"""Arrows of a slice: parents in the same slice, and previous ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from credo.errors import NetworkError, suggest
from credo.networks import graph

PREVIOUS = re.compile(r"previous\((.+)\)")
Arrows = str | Mapping[str, Iterable[str]] | Iterable[Any]


def previous(name: str) -> str:
    """The name of a variable as seen from the next slice."""
    return f"previous({name})"


def before(name: str) -> str | None:
    """The variable of a parent in the previous slice; None for a parent in the same slice.

    >>> before("previous(Weather)"), before("Weather")
    ('Weather', None)
    """
    found = PREVIOUS.fullmatch(name)
    return None if found is None else found[1]


def at(name: str, slice_: int) -> str:
    """A variable's name in the unrolled network."""
    return f"{name}[{slice_}]"


def first(name: str) -> str:
    """The label of a variable's separate table in the first slice."""
    return f"first({name})"


def slice_parents(arrows: Arrows) -> dict[str, tuple[str, ...]]:
    """{variable: parents}, some of them previous(...), from text, a mapping, or pairs ((cause, 0), (effect, 1)).

    >>> slice_parents("previous(Weather) -> Weather -> Umbrella")
    {'Weather': ('previous(Weather)',), 'Umbrella': ('Weather',)}
    >>> slice_parents([(("Weather", 0), ("Weather", 1)), (("Weather", 0), ("Umbrella", 0))])
    {'Weather': ('previous(Weather)',), 'Umbrella': ('Weather',)}
    """
    if isinstance(arrows, str):
        found: Mapping[str, Iterable[str]] = graph.parse_arrows(arrows)
    elif isinstance(arrows, Mapping):
        found = arrows
    else:
        found = graph.checked([_checked_arrow(each) for each in arrows])
    for name in found:
        if before(str(name)) is not None and [*found[name]]:
            raise NetworkError(f"arrows can't lead to {name!r}: the previous slice is given")
    own = {name: tuple(above) if not isinstance(above, str) else above for name, above in found.items()}
    roots = {name: () for above in own.values() if not isinstance(above, str) for name in above if before(name)}
    checked = graph.checked({**roots, **own})
    parents = {name: above for name, above in checked.items() if before(name) is None}
    for name, above in parents.items():
        for parent in above:
            _check_previous(name, parent, parents)
    try:
        graph.in_order(within(parents))
    except NetworkError as error:
        raise NetworkError(f"within a slice, {error}") from None
    if not parents:
        raise NetworkError("a dynamic network must have at least one variable")
    return parents


def _check_previous(name: str, parent: str, parents: Mapping[str, object]) -> None:
    meant = before(parent)
    if meant is None or meant in parents:
        return
    if before(meant) is not None:
        raise NetworkError(
            f"{name!r} has the parent {parent!r}, two slices back: arrows reach one slice back. Add a variable that "
            "copies the previous one"
        )
    raise NetworkError(f"{name!r} has the parent {parent!r}, but {meant!r} is no variable; {suggest(meant, parents)}")


def _checked_arrow(given: Any) -> tuple[str, str]:
    """((cause, slice), (effect, slice)), or (cause, effect) in the spelling of text."""
    try:
        cause, effect = given
        if isinstance(cause, str) and isinstance(effect, str):
            return cause, effect
        (one, s), (two, t) = cause, effect
    except (TypeError, ValueError):
        raise NetworkError(f"an arrow is (cause, effect) or ((cause, 0), (effect, 1)), not {given!r:.60}") from None
    if (s, t) not in ((0, 0), (1, 1), (0, 1)):
        raise NetworkError(f"an arrow leads within slice 0 or from slice 0 to 1, but {given!r:.60} doesn't")
    return (previous(one) if s < t else one), two


def within(parents: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The arrows of the first slice."""
    return {name: tuple(each for each in above if before(each) is None) for name, above in parents.items()}


def starting(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The variables with previous parents: they have a separate table in the first slice."""
    return tuple(name for name, above in parents.items() if any(before(each) is not None for each in above))


def interface(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The variables with children in the next slice: given these, the future is independent of the past."""
    seen = {before(each) for above in parents.values() for each in above}
    return tuple(name for name in parents if name in seen)


def unrolled_parents(parents: Mapping[str, tuple[str, ...]], slices: int) -> dict[str, tuple[str, ...]]:
    """The parents of each variable in each slice.

    >>> unrolled_parents({"Weather": ("previous(Weather)",)}, 2)
    {'Weather[0]': (), 'Weather[1]': ('Weather[0]',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    inside = within(parents)
    for t in range(slices):
        for name, above in (parents if t else inside).items():
            found[at(name, t)] = tuple(_unrolled(each, t) for each in above)
    return found


def _unrolled(parent: str, slice_: int) -> str:
    meant = before(parent)
    return at(parent, slice_) if meant is None else at(meant, slice_ - 1)


def tied_labels(parents: Mapping[str, tuple[str, ...]], slices: int) -> dict[str, str]:
    """The label of the table of each variable in the unrolled network."""
    own = {*starting(parents)}
    return {at(name, t): name if t or name not in own else first(name) for t in range(slices) for name in parents}
