"""What every refusal has in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from credo.errors import CredoError

FOREIGN = re.compile(r"traceback|arrowinvalid|pyarrow|\bnumpy|_duckdb|invalid input error|<class|object at 0x", re.IGNORECASE)


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
