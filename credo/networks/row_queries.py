"""Queries about every row of a table: the columns that are read, and the fallback if an exact answer doesn't fit in
memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from credo.errors import DataError, NetworkError, SchemaError, check_seed
from credo.networks.inference.sizes import Method, is_exact
from credo.notices import tell

if TYPE_CHECKING:
    from credo.data import Source
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.inference.fallback import Fallback

MOST_NAMED_COLUMNS = 3  # columns named in a notice


class QueriedRows(NamedTuple):
    """The table of a query about rows."""

    table: Source
    names: tuple[str, ...]  # columns that are variables
    fallback: Fallback | None


def queried_rows(model: GraphicalModel, data: object, method: Method, samples: int, seed: int) -> QueriedRows:
    """The table, checked; "auto" samples for rows whose exact answer doesn't fit in memory."""
    from credo.data import source
    from credo.networks.inference.fallback import Fallback

    if not is_exact(method):
        raise NetworkError(f'rows are answered by method="exact", or "auto", not by {method!r}')
    table = source(data)
    check_names(table.names, model.states)
    model._check(model.potentials.log_scale, None)
    names = tuple(name for name in table.names if name in model.states)
    if not names:
        known, read = ", ".join(table.names[:8]), ", ".join([*model.states][:8])
        raise DataError(f"no column is a variable of the network: the table has {known}; the network {read}")
    return QueriedRows(table, names, None if method == "exact" else Fallback(samples, check_seed(seed)))


def check_names(columns: Sequence[str], variables: Collection[str]) -> None:
    """Refuse a column whose name differs from a variable's only by upper and lower case."""
    known = {name.casefold(): name for name in variables}
    for column in columns:
        meant = known.get(column.casefold(), column) if isinstance(column, str) else column
        if column not in variables and meant in variables and meant not in columns:
            raise SchemaError(f"column {column!r} isn't a variable of the network. Did you mean {meant!r}?")


def known_columns(data: object, variables: Collection[str]) -> Source:
    """The table; a notice reports the columns that are ignored."""
    from credo.data import source

    table = source(data)
    check_names(table.names, variables)
    unknown = [column for column in table.names if column not in variables]
    if unknown and len(unknown) < len(table.names):
        some = ", ".join(f"{column!r:.40}" for column in unknown[:MOST_NAMED_COLUMNS]) + (
            ", ..." if unknown[MOST_NAMED_COLUMNS:] else ""
        )
        tell(f"columns that aren't variables are ignored, {len(unknown)} of {len(table.names)}: {some}")
    return table
