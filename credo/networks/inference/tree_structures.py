"""Compiled trees without values, shared by networks that differ in their tables alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from credo.networks.inference.junction import Plan

Kept = TypeVar("Kept")  # a Structure; None: it would be too large
CACHED_STRUCTURES = 1000


class TreeStructures:
    """Structures by the query that they were compiled for. New values need no new triangulation or assembly."""

    def __init__(self) -> None:
        self._structures: OrderedDict[bytes, Any] = OrderedDict()
        self._plan: Plan | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._structures)

    def found(self, key: bytes, compiled: Callable[[], Kept]) -> Kept:
        """The structure cached under a key, or a new one; the least recently used is dropped when there are too
        many."""
        with self._lock:
            if key in self._structures:
                self._structures.move_to_end(key)
                found: Kept = self._structures[key]
                return found
        made = compiled()
        with self._lock:
            self._structures[key] = made
            while len(self._structures) > CACHED_STRUCTURES:
                self._structures.popitem(last=False)
        return made

    def plan(self, planned: Callable[[], Plan]) -> Plan:
        """The plan of a tree for any evidence."""
        if self._plan is None:
            self._plan = planned()
        return self._plan
