"""Reusable memory for messages, used by one call at a time."""

from __future__ import annotations

from threading import Lock

import numpy as np

from credo.networks.inference.sizes import KEPT_PRODUCT
from credo.numerics.exact import Array

SHARED_CELLS = 2**16  # larger trees share memory: touching a page for the first time costs more than writing to it
Room = tuple[Array, Array]


class Space:
    """Memory for the tables, separators and scales of a tree."""

    def __init__(self, cells: int, cliques: int) -> None:
        self._cells, self._cliques = cells, cliques
        self._idle: list[Room] = []

    def take(self) -> Room:
        """Memory for one call; list.pop and append are atomic, so threads never share it."""
        try:
            return self._idle.pop()
        except IndexError:
            tables = np.empty(self._cells) if self._cells < SHARED_CELLS else shared.take(self._cells)
            return tables, np.empty((self._cliques, 3))

    def give_back(self, room: Room) -> None:
        """Return the memory for the next call."""
        if self._cells < SHARED_CELLS:
            self._idle.append(room)
        else:
            shared.give_back(room[0])


class Shared:
    """Large arrays that trees use in turn; together no larger than what one tree may keep."""

    def __init__(self) -> None:
        self._idle: list[Array] = []
        self._lock = Lock()

    def take(self, cells: int) -> Array:
        """The smallest array that is large enough; else a new one in place of the largest."""
        with self._lock:
            at = next((i for i, room in enumerate(self._idle) if len(room) >= cells), len(self._idle) - 1)
            found = self._idle.pop(at) if self._idle else np.empty(0)
        # untouched memory costs nothing, and the next tree may need a little more
        return (
            found
            if len(found) >= cells
            else np.empty(1 << (cells - 1).bit_length() if cells <= KEPT_PRODUCT else cells)
        )

    def give_back(self, room: Array) -> None:
        if len(room) > 2 * KEPT_PRODUCT:
            return
        with self._lock:
            self._idle.append(room)
            self._idle.sort(key=len)
            while sum(map(len, self._idle)) > 2 * KEPT_PRODUCT:
                self._idle.pop(0)


shared = Shared()
