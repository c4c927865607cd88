"""Deterministic variables: each row names the state that is certain."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from credo.errors import suggest
from credo.formats.draft import MOST_SUGGESTIONS, Draft, DraftNode, many
from credo.formats.names import cut


def certain_rows(draft: Draft, node: DraftNode, outcomes: Sequence[str]) -> None:
    """Set a node's table: probability 1 for the state named in each row."""
    shape = draft.shape(node)
    if len(outcomes) != prod(shape[:-1]):
        wanted = f"{many(prod(shape[:-1]))} resulting states, but has {len(outcomes)}"
        raise draft.fault(node.at, f"{cut(node.name)!r} must have {wanted}")
    places = {state: i for i, state in enumerate(node.states)}
    if unknown := next((outcome for outcome in outcomes if outcome not in places), None):
        known = suggest(cut(unknown), map(cut, places), MOST_SUGGESTIONS)
        raise draft.fault(node.at, f"{cut(node.name)!r} has no state {cut(unknown)!r}; {known}")
    draft.make_room(prod(shape), node.at)
    table = np.zeros((len(outcomes), shape[-1]))
    table[np.arange(len(outcomes)), [places[outcome] for outcome in outcomes]] = 1.0
    node.table = table.ravel()
