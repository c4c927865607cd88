"""Doctests in docstrings as blocks of code, for the reference."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

DOCTEST = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.M)


def fenced(text: str) -> str:
    """Each doctest, up to the next empty line, between fences."""
    return DOCTEST.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)


class Doctests(Extension):
    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
