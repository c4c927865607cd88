"""Where cards of variables lie: layers from top to bottom, and the ways of arrows between them."""

from __future__ import annotations

from collections.abc import Mapping

from credo.errors import DataError
from credo.explorer.screens.screen import Answer, Asked, mapping_in, text_in
from credo.present.layout import layout

WHOLE = 60  # variables up to which all are drawn; of more, those around one of them

Parents = Mapping[str, tuple[str, ...]]


def laid_out(parents: Parents, asked: Asked) -> Answer:
    """Places of cards and the ways of arrows: of all variables, or of those around one and of those that are named
    beside it."""
    around = asked.get("around")
    names = {*parents} if around is None else blanket(parents, text_in(asked, "around"))
    names |= {name for name in mapping_in(asked, "beside") if name in parents}
    shown = {name: tuple(each for each in own if each in names) for name, own in parents.items() if name in names}
    places, ways = layout(shown)
    arrows = [{"from": a, "to": b, "way": [[float(x), int(y)] for x, y in way]} for (a, b), way in ways.items()]
    return {
        "places": {name: [float(x), int(y)] for name, (x, y) in places.items()},
        "arrows": arrows,
        "hidden": len(parents) - len(names),
    }


def blanket(parents: Parents, name: str) -> set[str]:
    """A variable, its parents, its children, and their other parents."""
    if name not in parents:
        raise DataError(f"there is no variable {name!r:.60}")
    children = [child for child, own in parents.items() if name in own]
    return {name, *parents[name], *children, *(each for child in children for each in parents[child])}
