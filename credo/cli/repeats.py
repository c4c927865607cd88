"""Whether an update repeated the rows that a model had learned: all of them, or those of an earlier update."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.data import Batch, Reading, Source
from credo.data.fingerprints import cell_prints, fingerprints, mixed
from credo.storage.packing import Packer


@dataclass
class RowsDigest:
    """64 bits of the rows that were read last, in whatever order they came."""

    bits: int = 0
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.rows}-{self.bits:016x}"


def digested(table: Source) -> tuple[Source, RowsDigest]:
    """The table, and a digest that knows its rows when they have been read."""
    digest = RowsDigest()

    def watching(read: Reading) -> Reading:
        def watched(wanted: Sequence[str]) -> Iterator[Batch]:
            digest.bits = digest.rows = 0
            names = sorted(wanted)
            for part in read(wanted):
                prints = mixed(fingerprints(cell_prints(part, names)))
                digest.bits = (digest.bits + int(prints.sum(dtype=np.uint64))) % 2**64
                digest.rows += part.rows
                yield part

        return watched

    spelt = table.spelt

    def as_written(names: Collection[str]) -> Reading:
        assert spelt is not None
        return watching(spelt(names))

    return replace(table, read=watching(table.read), spelt=spelt and as_written), digest


def repeats(before: Any, after: Any) -> bool:
    """Whether an update added exactly the rows that were there: then all evidence has doubled, bit by bit.

    It needs no record. Of rows that were only a part of the evidence, the file's record of updates tells.
    """
    if before.evidence is None or not before.n or after.n != 2 * before.n:
        return False
    return _packed(before.evidence * 2) == _packed(after.evidence)


def _packed(evidence: Any) -> tuple[Any, list[bytes]]:
    packer = Packer()
    return packer.node(evidence), [bytes(chunk) for chunk in packer.chunks]
