"""What every refusal has in common."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from credo.errors import CredoError, Notice

FOREIGN = re.compile(r"traceback|arrow(invalid|error)|pyarrow[.]|numpy|_duckdb|input error|<class|at 0x", re.IGNORECASE)


def refused(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The error's text: one or two sentences of credo's own, on one line."""
    with pytest.raises(CredoError) as caught:
        call(*args, **options)
    text = str(caught.value)
    assert text
    assert "\n" not in text
    assert len(text) < 500
    assert not FOREIGN.search(text), text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, "another library's error shows"
    return text


def read_or_refused(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Nothing but credo's own errors comes out."""
    with warnings.catch_warnings(), suppress(CredoError):
        warnings.simplefilter("ignore", Notice)
        call(*args, **options)
