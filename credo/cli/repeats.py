"""Whether an update repeated the rows that a model had learned."""

from __future__ import annotations

from typing import Any

from credo.storage.packing import Packer


def repeats(before: Any, after: Any) -> bool:
    """Whether an update added exactly the rows that were there: then all evidence has doubled, bit by bit.

    It needs no record of files. Rows that were only a part of the evidence aren't noticed.
    """
    if before.evidence is None or not before.n or after.n != 2 * before.n:
        return False
    return _packed(before.evidence * 2) == _packed(after.evidence)


def _packed(evidence: Any) -> tuple[Any, list[bytes]]:
    packer = Packer()
    return packer.node(evidence), [bytes(chunk) for chunk in packer.chunks]
