"""Pickled partitions, without the rows that the engine itself provides on the workers."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Placeholder:
    """A placeholder, in a sent partition, for rows that an engine holds. It isn't pickled itself."""


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self.pieces: list[Placeholder] = []

    def persistent_id(self, thing: object) -> int | None:
        if not isinstance(thing, Placeholder):
            return None
        self.pieces.append(thing)
        return len(self.pieces) - 1

    def reducer_override(self, thing: Any) -> Any:
        """Paths are sent as absolute ones: workers have other working directories."""
        if isinstance(thing, Path) and not thing.is_absolute():
            return type(thing), (str(thing.absolute()),)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, rows: Sequence[Any]) -> None:
        super().__init__(stream)
        self.rows = rows

    def persistent_load(self, place: int) -> Any:
        return self.rows[place]


def packed(partition: object) -> tuple[bytes, list[Placeholder]]:
    """The pickled partition, and the pieces left out of it."""
    pickler = _Pickler(stream := io.BytesIO())
    pickler.dump(partition)
    return stream.getvalue(), pickler.pieces


def unpacked(blob: bytes, rows: Sequence[object]) -> Any:
    """The partition, with rows in place of its pieces."""
    return _Unpickler(io.BytesIO(blob), rows).load()
