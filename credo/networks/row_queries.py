"""Queries about every row of a table: which columns are read, and what is done where an exact answer doesn't fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from credo.errors import NetworkError, SchemaError, check_seed
from credo.networks.inference.sizes import Method, is_exact
from credo.notices import tell

if TYPE_CHECKING:
    from credo.data import Source
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.inference.rows import Rows

Result = TypeVar("Result")
SHOWN = 3  # columns that a notice names


def of_rows(
    model: GraphicalModel, data: object, method: Method, samples: int, seed: int, answer: Callable[[Rows], Result]
) -> Result:
    """The answer for all rows; "auto" samples for those whose exact answer doesn't fit in memory."""
    from credo.data import source
    from credo.networks.inference.rows import Rows
    from credo.networks.inference.sampling import SamplingFallback

    if not is_exact(method):
        raise NetworkError(f'rows are answered by method="exact", or "auto", not by {method!r}')
    table = source(data)
    check_names(table.names, model.states)
    if method == "exact":
        return answer(Rows(model.trees, table, model._check))
    fallback = SamplingFallback(model.trees, model.components, samples, check_seed(seed))
    found = answer(Rows(fallback, table, model._check))
    fallback.tell()
    return found


def check_names(columns: Sequence[str], variables: Collection[str]) -> None:
    """Refuse a column whose name differs from a variable's only by upper and lower case."""
    known = {name.casefold(): name for name in variables}
    for column in columns:
        meant = known.get(column.casefold(), column) if isinstance(column, str) else column
        if column not in variables and meant in variables and meant not in columns:
            raise SchemaError(f"column {column!r} isn't a variable of the network. Did you mean {meant!r}?")


def known_columns(data: object, variables: Collection[str]) -> Source:
    """The table, after a notice about columns that aren't read."""
    from credo.data import source

    table = source(data)
    check_names(table.names, variables)
    unknown = [column for column in table.names if column not in variables]
    if unknown and len(unknown) < len(table.names):
        some = ", ".join(f"{column!r:.40}" for column in unknown[:SHOWN]) + (", ..." if unknown[SHOWN:] else "")
        tell(f"columns that the network doesn't know are ignored, {len(unknown)} of {len(table.names)}: {some}")
    return table
