"""The layout of variables' cards in layers, and the routes of arrows between them."""

from __future__ import annotations

from collections.abc import Mapping

from credo.errors import DataError
from credo.explorer.screens.screen import Answer, Asked, mapping_in, number_in, text_in
from credo.present.layout import layout

MOST_CARDS = 60  # of more variables, only a neighbourhood is drawn
MOST_BLANKETS = 6  # nested Markov blankets around a variable
DEFAULT_BLANKETS = 2  # by default, if there are at most ...
LEGIBLE_CARDS = 24  # this many cards, whose figures are still legible

Parents = Mapping[str, tuple[str, ...]]


def laid_out(parents: Parents, asked: Asked) -> Answer:
    """The positions of cards and the routes of arrows, for all variables or for those around one (and further named
    ones); and the number of hidden neighbours of each."""
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
    """The variables around one, and the number of blankets."""
    if asked.get("reach") is None:
        return neighbourhood(parents, name, DEFAULT_BLANKETS, LEGIBLE_CARDS)
    reach = int(min(max(number_in(asked, "reach", DEFAULT_BLANKETS), 1), MOST_BLANKETS))
    return neighbourhood(parents, name, reach, MOST_CARDS)[0], reach


def neighbourhood(parents: Parents, name: str, reach: int, most: int) -> tuple[set[str], int]:
    """A variable's nested Markov blankets, up to that many variables; and their number."""
    found = blanket(parents, name)
    for far in range(1, reach):
        wider = set().union(*(blanket(parents, each) for each in found))
        if len(wider) > most:
            return found, far
        found = wider
    return found, reach


def _hidden_neighbours(parents: Parents, names: set[str]) -> dict[str, int]:
    """The number of hidden parents and children of each variable shown."""
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
