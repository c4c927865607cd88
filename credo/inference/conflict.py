"""Impossible evidence: which findings can't be true together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

from credo.errors import EvidenceError

TRIED = 2000  # sets of findings that are tried for a smaller one than the first found

Possible = Callable[[Mapping[str, Any]], bool]


def smallest_conflict(given: Mapping[str, Any], possible: Possible) -> dict[str, Any]:
    """A smallest set of findings that contradict each other; the smallest of those tried where there are many."""
    found = dict(given)
    for name in given:  # what isn't needed for the conflict goes
        fewer = {other: value for other, value in found.items() if other != name}
        if not possible(fewer):
            found = fewer
    left = TRIED
    for size in range(1, len(found)):
        left -= comb(len(given), size)
        if left < 0:
            break
        for names in combinations(given, size):
            some = {name: given[name] for name in names}
            if not possible(some):
                return some
    return found


def impossible(given: Mapping[str, Any], possible: Possible) -> EvidenceError:
    """The error that names what conflicts."""
    found = smallest_conflict(given, possible)
    if not found:
        return EvidenceError("the network itself is impossible: all that it allows has probability 0")
    shown = [f"{name} = {said(value)}" for name, value in found.items()]
    if len(shown) == 1:
        return EvidenceError(f"the evidence is impossible: {shown[0]} has probability 0")
    return EvidenceError(f"the evidence is impossible: {_listed(shown)} can't be true together")


def said(value: Any) -> str:
    """A finding, for people: a state, one of several, or likelihoods."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{state}: {weight:g}' for state, weight in value.items())}}}"
    return " or ".join(map(str, value)) if isinstance(value, list | set | tuple | frozenset) else str(value)


def _listed(shown: Sequence[str]) -> str:
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
