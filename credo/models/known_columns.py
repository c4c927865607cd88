"""The columns of a table that a model reads, and counts of cells that it ignores."""

from __future__ import annotations

from collections.abc import Sequence

from credo.blocks.capabilities import Ignored
from credo.data import Source
from credo.errors import SchemaError, nearest, suggest
from credo.notices import tell


def columns_found(table: Source, wanted: Sequence[str], target: str | None) -> list[str]:
    """The model's columns that the table has; a notice names the others, which count as missing."""
    known = set(table.names)
    absent = [name for name in wanted if name not in known]
    if wanted and len(absent) == len(wanted):
        listed = ", ".join(absent[:8]) + (", ..." if len(absent) > 8 else "")
        there = [name for name in table.names if name != target]
        meant = suggest(absent[0], there) if there else f"its only column is the target, {target!r}"
        raise SchemaError(f"the table has none of the model's columns ({listed}); {meant}")
    if absent:
        what = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
        whose = "its" if len(absent) == 1 else "their"
        near = [nearest(name, [*(known - set(wanted))]) for name in absent[:5]]
        meant = "".join(f". Did you mean {found[0]!r}?" for found in near[:1] if found)
        tell(f"no column {what}: {whose} cells count as missing{meant}")
    return [name for name in wanted if name in known]


def add_ignored(total: Ignored, more: Ignored) -> None:
    """total += more, by column and reason."""
    for key, cells in more.items():
        total[key] = total.get(key, 0) + cells
