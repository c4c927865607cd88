"""Runs in lockstep: the requests of several runs of the same kind are computed together.

A run is a generator that yields requests and is sent their answers. The folds of nested validation are such runs: each
makes its own decisions, while the arrays of all folds are processed together, at little more than the cost of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any, ClassVar, Self, TypeVar

Found = TypeVar("Found")


class Request(ABC):
    """Something to be computed, if possible together with others of its kind."""

    turn: ClassVar[int] = 0  # those with a lower one are answered first, so that runs which are behind catch up

    @classmethod
    @abstractmethod
    def answered(cls, asked: Sequence[Self]) -> Sequence[Any]:
        """The answer to each."""


Run = Generator[Request, Any, Found]


def together(runs: Sequence[Run[Found]]) -> list[Found]:
    """What each run returns."""
    found: dict[int, Found] = {}
    waiting = _advanced(dict.fromkeys(range(len(runs))), runs, found)
    while waiting:
        kind = min({type(request) for request in waiting.values()}, key=lambda kind: kind.turn)
        asked = {i: request for i, request in waiting.items() if type(request) is kind}
        answers = dict(zip(asked, kind.answered(list(asked.values())), strict=True))
        waiting = {i: request for i, request in waiting.items() if i not in asked} | _advanced(answers, runs, found)
    return [found[i] for i in range(len(runs))]


def alone(run: Run[Found]) -> Found:
    return together([run])[0]


def _advanced(answers: dict[int, Any], runs: Sequence[Run[Found]], found: dict[int, Found]) -> dict[int, Request]:
    """What the runs that were answered ask for next; what those that are done return goes to `found`."""
    waiting: dict[int, Request] = {}
    for i, answer in answers.items():
        try:
            waiting[i] = runs[i].send(answer)
        except StopIteration as end:
            found[i] = end.value
    return waiting
