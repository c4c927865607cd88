"""Impossible evidence: a smallest set of conflicting findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

from credo.errors import EvidenceError

# limits of the search for a smallest conflict (queries and sets; seconds): beyond them, the conflict is only minimal
MOST_CONFLICT_QUERIES, MOST_CONFLICT_SECONDS = 20_000, 2.0

Possible = Callable[[Mapping[str, Any]], bool]
Names = frozenset[str]


def smallest_conflict(given: Mapping[str, object], possible: Possible) -> dict[str, Any]:
    """A smallest set of findings that contradict one another.

    The complement of a consistent set hits every conflict. So a smallest hitting set of the complements seen so far is
    no larger than the smallest conflict, and is a smallest conflict as soon as it is impossible (Ignatiev, Previti,
    Liffiton and Marques-Silva, 2015).
    """
    asked: dict[Names, bool] = {frozenset(given): False}

    def fits(names: Names) -> bool:
        if names not in asked:
            asked[names] = possible({name: value for name, value in given.items() if name in names})
        return asked[names]

    found = _minimal_conflict(frozenset(given), [*given], fits)
    left_out: list[Names] = []
    size = 0
    begun = monotonic()
    while size < len(found) and len(asked) < MOST_CONFLICT_QUERIES and monotonic() - begun < MOST_CONFLICT_SECONDS:
        candidate = next(_hitting_sets(left_out, size), None)
        if candidate is None:
            size += 1
        elif fits(candidate):
            left_out.append(frozenset(given) - _maximal_consistent(candidate, [*given], fits))
        else:
            found = candidate
    return {name: value for name, value in given.items() if name in found}


def _minimal_conflict(names: Names, order: Sequence[str], fits: Callable[[Names], bool]) -> Names:
    """A minimal conflict within a conflict, by bisection."""
    if not order or not fits(names - {*order}):
        return names - {*order}
    if len(order) == 1:
        return names
    half = len(order) // 2
    return _minimal_conflict(_minimal_conflict(names, order[:half], fits), order[half:], fits)


def _maximal_consistent(names: Names, order: Sequence[str], fits: Callable[[Names], bool]) -> Names:
    """A maximal consistent set of findings that contains these, by bisection."""
    if not order or fits(names | {*order}):
        return names | {*order}
    if len(order) == 1:
        return names
    half = len(order) // 2
    return _maximal_consistent(_maximal_consistent(names, order[:half], fits), order[half:], fits)


def _hitting_sets(sets: Sequence[Names], size: int) -> Iterator[Names]:
    """Hitting sets of at most this size."""
    waiting = [frozenset[str]()]
    seen = set[Names]()
    while waiting and len(seen) < MOST_CONFLICT_QUERIES:
        chosen = waiting.pop()
        missed = [each for each in sets if not each & chosen]
        if not missed:
            yield chosen
        elif len(chosen) + _disjoint_sets(missed) <= size:
            fewest = min(missed, key=len)
            new = [chosen | {name} for name in sorted(fewest)]
            waiting += [each for each in new if each not in seen]
            seen.update(new)


def _disjoint_sets(sets: Sequence[Names]) -> int:
    """A lower bound for the size of a hitting set: a number of disjoint sets."""
    count, used = 0, frozenset[str]()
    for each in sorted(sets, key=len):
        if not each & used:
            count, used = count + 1, used | each
    return count


def impossible(given: Mapping[str, object], possible: Possible) -> EvidenceError:
    """The error that names the conflicting findings."""
    found = smallest_conflict(given, possible)
    if not found:
        return EvidenceError("the network itself is impossible: every joint state has probability 0")
    shown = [f"{name} = {said(value)}" for name, value in found.items()]
    if len(shown) == 1:
        return EvidenceError(f"the evidence is impossible: {shown[0]} has probability 0", found)
    return EvidenceError(f"the evidence is impossible: {_listed(shown)} can't be true together", found)


def said(value: object) -> str:
    """A finding, for people: a state, one of several, likelihoods, or an interval of numbers.

    >>> said("yes"), said([1.0, 2.0]), said((38.0, None)), said((36, 38.5))
    ('yes', '1.0 or 2.0', 'above 38', 'between 36 and 38.5')
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{state}: {weight:g}' for state, weight in value.items())}}}"
    match value:
        case tuple((float() | int() as low, None)):
            return f"above {low:g}"
        case tuple((None, float() | int() as high)):
            return f"below {high:g}"
        case tuple((float() | int() as low, float() | int() as high)):
            return f"between {low:g} and {high:g}"
    return " or ".join(map(str, value)) if isinstance(value, list | set | tuple | frozenset) else str(value)


def _listed(shown: Sequence[str]) -> str:
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
