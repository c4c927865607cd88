"""What a file holds: a saved model, a network, or a table."""

from __future__ import annotations

from credo.explorer.screens.screen import Subject


def opened_file(path: str, data: object = None) -> Subject:
    """The model in a file."""
    if path.lower().endswith(".credo"):
        from credo.storage.files import load

        return Subject(load(path), path, data)
    from credo.formats import read

    return Subject(read(path), path, data)
