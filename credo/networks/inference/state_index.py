"""The index of each variable and state, by name or another spelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

BOOLEAN_SPELLINGS = {True: ("true", "yes", "y", "t", "1"), False: ("false", "no", "n", "f", "0")}


@dataclass(frozen=True, eq=False)
class StateIndex:
    """The names of variables, and the states of each."""

    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]

    @cached_property
    def codes(self) -> Mapping[int, dict[Any, int]]:
        """{state: its index} of each variable."""
        return _Found(lambda v: {state: i for i, state in enumerate(self.states[v])})

    @cached_property
    def spelt(self) -> Mapping[int, dict[str, int]]:
        """{state as text: its index}; in lower case, too, if that is unambiguous."""

        def own(v: int) -> dict[str, int]:
            texts = [str(state) for state in self.states[v]]
            lower = Counter(text.lower() for text in texts)
            found = {text.lower(): i for i, text in enumerate(texts) if lower[text.lower()] == 1}
            return found | {text: i for i, text in enumerate(texts)}

        return _Found(own)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


class _Found(dict[int, dict[Any, int]]):
    """A mapping computed for each variable at first use: a query names few of many variables."""

    def __init__(self, find: Callable[[int], dict[Any, int]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, v: int) -> dict[Any, int]:
        found = self[v] = self._find(v)
        return found
