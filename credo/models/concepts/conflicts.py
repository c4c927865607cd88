"""Which labelled rows contradict each other: no conjunction covers these positive rows, and not that negative one."""

from __future__ import annotations

import numpy as np

from credo.models.concepts.concept import Attributes, ConceptCodes
from credo.models.concepts.rows import LabelledRows

NOISE_ADVICE = "If labels may be wrong, try noise=0.05"


def contradiction(attributes: Attributes, rows: LabelledRows, row: ConceptCodes, labels: tuple[object, object]) -> str:
    """The error for a negative row that every consistent conjunction would cover, naming the rows."""
    place = int(np.flatnonzero((rows.codes == np.array(row)).all(axis=1))[0])
    cells = ", ".join(map(str, attributes.row(row).values()))
    negative, positive = labels
    needed = _forcing(rows, place)
    number, numbers = int(rows.first[place, 0]), sorted(rows.first[needed, 1].tolist())
    if needed == [place]:
        both = " and ".join(map(str, sorted([number, *numbers])))
        return f"rows {both} contradict each other: ({cells}) is both {positive!r} and {negative!r}. {NOISE_ADVICE}"
    listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
    return (
        f"rows contradict each other: every conjunction that covers rows {listed} ({positive!r}) covers row {number}, "
        f"({cells}), too, which is {negative!r}. {NOISE_ADVICE}"
    )


def _forcing(rows: LabelledRows, place: int) -> list[int]:
    """The indices of a few positive rows such that every conjunction that covers them covers that row: a greedy
    choice."""
    if rows.counts[place, 1]:
        return [place]
    positives = np.flatnonzero(rows.counts[:, 1] > 0)
    codes, row = rows.codes, rows.codes[place]
    start = int(positives[int((codes[positives] == row).sum(axis=1).argmax())])
    chosen, agreed = [start], codes[start] != row  # attributes on which the chosen rows agree, and the row differs
    while agreed.any():
        gains = ((codes[positives] != codes[start]) & agreed).sum(axis=1)
        chosen.append(int(positives[int(gains.argmax())]))
        agreed &= codes[chosen[-1]] == codes[start]
    return chosen
