"""What a file holds: a saved model, a network, or a table."""

from __future__ import annotations

from pathlib import Path

from credo.errors import DataError
from credo.explorer.screens.screen import Subject


def opened_file(path: str) -> Subject:
    """The model in a file."""
    if path.lower().endswith(".credo"):
        from credo.storage.files import load

        return Subject(load(path), path)
    from credo.formats import read

    return Subject(read(path), path)
