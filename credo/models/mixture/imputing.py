"""Imputation: expected cells given the observed ones, or draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo import engines
from credo.blocks.block import Likelihood
from credo.blocks.capabilities import Draws, DrawsGiven, Expects
from credo.data import Batch
from credo.data.cells import instants
from credo.errors import DataError, check_seed
from credo.models.discriminant import GaussianDiscriminant
from credo.models.frame_columns import filled
from credo.notices import tell_of_columns
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture


def imputed(mixture: Mixture, data: object, draws: bool, seed: int) -> Any:
    """All columns of the table, those that the mixture knows without missing cells; texts stay as they are."""
    model = mixture.classifier
    table = model.opened(data)
    model._present(table)
    fill = Fill(model, draws, check_seed(seed))
    if table.frame is not None and not draws:  # draws depend on row numbers, which a lazy frame doesn't know
        return filled(table, fill, [name for name in table.names if name in model.views])
    parts = [*engines.map(fill, table.partitions([*table.keys, *table.names]))]
    if not parts:
        raise DataError("the data is empty: there are no rows to fill in")
    found = pa.concat_tables(parts, promote_options="permissive")
    left = [name for name in model.views if name in found.column_names and found[name].null_count]
    tell_of_columns((name, "texts, and columns that no row had, can't be filled in") for name in left)
    return found


@dataclass(frozen=True, eq=False)
class Fill:
    """The job of one batch: a table of its rows without missing cells."""

    model: GaussianDiscriminant
    draws: bool
    seed: int

    def __call__(self, batch: Batch) -> pa.Table:
        model, rows = self.model, batch.filled(self.model.views)
        shares = model.probabilities(batch)
        rng = np.random.default_rng([self.seed, batch.start])
        codes = _drawn_codes(shares, rng) if self.draws else None
        found: dict[str, Any] = {}
        for _, likelihood in model.terms.likelihoods:
            found |= _cells(likelihood, rows, shares, codes, rng)
        columns = {name: batch.column(name) for name in batch.names}
        for name, own in columns.items():
            if name in found and own.null_count:
                columns[name] = _filled(own, found[name], model.views[name][0])
        return pa.table(columns)


def _drawn_codes(shares: Array, rng: np.random.Generator) -> Any:
    """A component of each row, by its probabilities."""
    reached = np.cumsum(shares, axis=1)
    return np.minimum((rng.random((len(shares), 1)) * reached[:, -1:] >= reached).sum(1), shares.shape[1] - 1)


def _cells(likelihood: Likelihood, rows: Batch, shares: Array, codes: Any, rng: np.random.Generator) -> dict[str, Any]:
    if codes is None:
        expects = Expects.of(likelihood)
        return {} if expects is None else expects.expected_cells(likelihood.read(rows), shares)
    if (given := DrawsGiven.of(likelihood)) is not None:
        return given.sample_given(likelihood.read(rows), codes, rng)
    draws = Draws.of(likelihood)
    return {} if draws is None or Expects.of(likelihood) is None else draws.sample(codes, rng)


def _filled(column: Any, values: Any, form: str) -> pa.Array:
    """The column with missing cells filled in; a column of integers may then have fractions."""
    if form == "date":
        filled = instants(np.asarray(values, dtype=np.float64))
        return pc.coalesce(column.cast(filled.type), filled)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if form == "category":
        filled = pa.array([*values])
        return filled if column.null_count == len(column) else pc.coalesce(column, filled.cast(column.type))
    numbers = pa.array(np.asarray(values, dtype=np.float64), from_pandas=True)
    return pc.coalesce(column.cast(pa.float64()), numbers)
