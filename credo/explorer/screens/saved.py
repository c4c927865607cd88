"""Changing a page's model: in its file, if it came from one, atomically."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from credo.explorer.screens.screen import Subject

Model = TypeVar("Model")


def in_file(subject: Subject) -> bool:
    """Whether a page's model is in a .credo file."""
    return subject.path is not None and subject.path.lower().endswith(".credo")


def changed(subject: Subject, model: Model, change: Callable[[Model], Model]) -> Model:
    """The changed model. For a file, its current contents are changed: another page or command may have written it."""
    from credo.storage.files import load, save
    from credo.storage.locks import changing

    if subject.path is None or not in_file(subject):
        return change(model)
    with changing(subject.path):
        found = change(load(subject.path))
        save(found, subject.path)
    return found
