"""The rows that a regression is given, and its results for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from credo import engines
from credo.blocks.capabilities import Ignored
from credo.data import Batch
from credo.engines import Partition
from credo.errors import DataError, counted
from credo.models.known_columns import add_ignored
from credo.notices import tell_of_columns
from credo.numerics.exact import Array

Job = Callable[[Batch], tuple[Array, Ignored]]  # the results for each row, and the ignored cells


def given_rows(given: object, names: Sequence[str]) -> tuple[object, bool]:
    """The table of these columns, and whether it was a single row: {name: cell}, or its cells in order."""
    if isinstance(given, Mapping) and not any(np.ndim(cell) for cell in given.values()):
        return [given], True
    if isinstance(given, list | tuple | np.ndarray) and len(given) and not isinstance(given[0], Mapping):
        cells = np.asarray(given)
        if cells.ndim <= 2 and cells.shape[-1] != len(names) and not isinstance(given[0], str):
            raise DataError(f"the line has {len(names)} features, but a row has {cells.shape[-1]}")
        table = dict(zip(names, np.atleast_2d(cells).T, strict=True))
        return {name: column.tolist() for name, column in table.items()}, cells.ndim < 2
    return given, False


def collected(job: Job, partitions: Iterable[Partition[Batch]]) -> Array:
    """A job's results for all rows, in order; one notice for unseen values."""
    parts, ignored = [], Ignored()
    for found, unseen in engines.map(job, partitions):
        parts.append(found)
        add_ignored(ignored, unseen)
    tell_unseen(ignored)
    return np.concatenate(parts) if parts else np.empty(0)


def tell_unseen(ignored: Ignored) -> None:
    """One notice for all columns with such cells."""
    tell_of_columns((name, f"{counted(cells, 'cell')} with {what}, ignored") for (name, what), cells in ignored.items())
