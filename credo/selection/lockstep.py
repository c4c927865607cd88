"""Runs in lockstep: requests of the same kind by several runs are computed together.

A run is a generator that yields requests and is sent their answers. The folds of nested validation are such runs: each
makes its decisions, while the arrays of all folds are processed together, at little more than the cost of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any, ClassVar, Self, TypeVar

Found = TypeVar("Found")


class Request(ABC):
    """A computation, done together with others of its kind where possible."""

    turn: ClassVar[int] = 0  # kinds with a lower turn are answered first, so that runs that are behind catch up

    @classmethod
    @abstractmethod
    def answers(cls, asked: Sequence[Self]) -> Sequence[Any]:
        """The answers to several requests of this kind."""


Run = Generator[Request, Any, Found]


def run_in_lockstep(runs: Sequence[Run[Found]]) -> list[Found]:
    """The results of several runs."""
    found: dict[int, Found] = {}
    waiting = _advanced(dict.fromkeys(range(len(runs))), runs, found)
    while waiting:
        kind = min({type(request) for request in waiting.values()}, key=lambda kind: kind.turn)
        asked = {i: request for i, request in waiting.items() if type(request) is kind}
        answers = dict(zip(asked, kind.answers(list(asked.values())), strict=True))
        waiting = {i: request for i, request in waiting.items() if i not in asked} | _advanced(answers, runs, found)
    return [found[i] for i in range(len(runs))]


def run_alone(run: Run[Found]) -> Found:
    """The result of one run."""
    return run_in_lockstep([run])[0]


def _advanced(answers: dict[int, Any], runs: Sequence[Run[Found]], found: dict[int, Found]) -> dict[int, Request]:
    """The next requests of the runs that were answered; results of finished runs are added to `found`."""
    waiting: dict[int, Request] = {}
    for i, answer in answers.items():
        try:
            waiting[i] = runs[i].send(answer)
        except StopIteration as end:
            found[i] = end.value
    return waiting
