"""Detection of repeated updates: whether rows had been learned before, all of them or those of an earlier update."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from credo import engines
from credo.data import Batch, Source
from credo.data.fingerprints import cell_prints, fingerprints, mixed
from credo.storage.packing import Packer


@dataclass(frozen=True)
class Digest:
    """A 64-bit digest of a batch's rows, and their number: the sum over batches doesn't depend on the order of rows."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> tuple[int, int]:
        prints = mixed(fingerprints(cell_prints(batch, self.names)))
        return int(prints.sum(dtype=np.uint64)), batch.rows

    def total(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        return sum(bits for bits, _ in parts) % 2**64, sum(rows for _, rows in parts)


def digest_of(table: Source) -> str | None:
    """The digest of a table, independent of the order of rows; None if it can be read only once."""
    if table.once:
        return None
    job = Digest(tuple(sorted(table.names)))
    bits, rows = engines.reduce(job, table.partitions(job.names), job.total) or (0, 0)
    return f"{rows}-{bits:016x}"


def repeats(before: Any, after: Any) -> bool:
    """Whether an update added exactly the rows that were there: then all evidence has doubled, bit by bit.

    This needs additive evidence, but no record. For a part of the rows, and for logistic regression, the file's record
    of updates is used.
    """
    if getattr(before, "evidence", None) is None or not before.n or after.n != 2 * before.n:
        return False
    return _packed(before.evidence * 2) == _packed(after.evidence)


def evidence_digest(model: Any) -> str | None:
    """Equal for models with the same evidence, bit by bit: probably of the same rows. None without evidence."""
    if getattr(model, "evidence", None) is None or not model.n:
        return None
    node, chunks = _packed(model.evidence)
    found = sha256(repr(node).encode())
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()


def alike(digests: Iterable[tuple[str, str | None]]) -> list[str]:
    """The first files with the same evidence.

    >>> alike([("a", "1f"), ("b", None), ("c", "2e"), ("d", None), ("e", "1f")])
    ['a', 'e']
    """
    groups: dict[str, list[str]] = {}
    for path, digest in digests:
        if digest is not None:
            groups.setdefault(digest, []).append(path)
    return next((paths for paths in groups.values() if len(paths) > 1), [])


def _packed(evidence: object) -> tuple[Any, list[bytes]]:
    packer = Packer()
    return packer.node(evidence), [bytes(chunk) for chunk in packer.chunks]
