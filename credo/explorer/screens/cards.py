"""Where cards of variables lie: layers from top to bottom, and the ways of arrows between them."""

from __future__ import annotations

from collections.abc import Mapping

from credo.errors import DataError
from credo.explorer.screens.screen import Answer, Asked, mapping_in, number_in, text_in
from credo.present.layout import layout

WHOLE = 60  # variables up to which all are drawn; of more, those around one of them
FURTHEST = 6  # Markov blankets, each of all variables in the one before, around a variable
REACH = 2  # of them by default, where they are at most ...
LEGIBLE = 24  # cards, so that a page can show their figures, too

Parents = Mapping[str, tuple[str, ...]]


def laid_out(parents: Parents, asked: Asked) -> Answer:
    """Places of cards and the ways of arrows: of all variables, or of those around one and of those that are named
    beside it; and how many neighbours of each aren't shown."""
    around = asked.get("around")
    names, reach = ({*parents}, 0) if around is None else _around(parents, text_in(asked, "around"), asked)
    names |= {name for name in mapping_in(asked, "beside") if name in parents}
    shown = {name: tuple(each for each in own if each in names) for name, own in parents.items() if name in names}
    places, ways = layout(shown)
    arrows = [{"from": a, "to": b, "way": [[float(x), int(y)] for x, y in way]} for (a, b), way in ways.items()]
    return {
        "places": {name: [float(x), int(y)] for name, (x, y) in places.items()},
        "arrows": arrows,
        "reach": reach,
        "hidden": len(parents) - len(names),
        "beyond": _hidden_neighbours(parents, names) if len(names) < len(parents) else {},
    }


def _around(parents: Parents, name: str, asked: Asked) -> tuple[set[str], int]:
    """The variables around one, and how many blankets far."""
    if asked.get("reach") is None:
        return neighbourhood(parents, name, REACH, LEGIBLE)
    reach = int(min(max(number_in(asked, "reach", REACH), 1), FURTHEST))
    return neighbourhood(parents, name, reach, WHOLE)[0], reach


def neighbourhood(parents: Parents, name: str, reach: int, most: int) -> tuple[set[str], int]:
    """A variable's Markov blanket, with the blankets of those in it and so on, as long as there are no more than so
    many variables; and how far that is."""
    found = blanket(parents, name)
    for far in range(1, reach):
        wider = set().union(*(blanket(parents, each) for each in found))
        if len(wider) > most:
            return found, far
        found = wider
    return found, reach


def _hidden_neighbours(parents: Parents, names: set[str]) -> dict[str, int]:
    """How many parents and children of each variable that is shown aren't."""
    found = dict.fromkeys(names, 0)
    for child, own in parents.items():
        for parent in own:
            if (child in names) != (parent in names):
                found[child if child in names else parent] += 1
    return {name: count for name, count in found.items() if count}


def blanket(parents: Parents, name: str) -> set[str]:
    """A variable, its parents, its children, and their other parents."""
    if name not in parents:
        raise DataError(f"there is no variable {name!r:.60}")
    children = [child for child, own in parents.items() if name in own]
    return {name, *parents[name], *children, *(each for child in children for each in parents[child])}
