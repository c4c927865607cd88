"""Explanations of predicted numbers: the average, and each column's contribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from credo.core.records import Shown
from credo.data import Batch
from credo.errors import DataError, counted
from credo.models.explaining import PRINTED_COLUMNS, UNSEEN_REMARK, cell_text
from credo.models.known_columns import columns_found
from credo.models.regression.features import PRODUCT_SIGN
from credo.models.regression.row_results import given_rows

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression


@dataclass(frozen=True)
class Contributions(Shown):
    """average + contributions of the columns = the prediction."""

    target: str
    average: float  # the prediction for a row whose every column is average
    columns: dict[tuple[str, ...], float]  # contributions of columns (with their squares) and pairs of columns
    values: dict[str, Any]  # the row's cells
    interval: tuple[float, float]  # the 95% predictive interval
    unseen: frozenset[str] = frozenset()  # columns with unseen values, which are ignored

    @property
    def prediction(self) -> float:
        return self.average + sum(self.columns.values())

    @property
    def strongest(self) -> list[tuple[str, ...]]:
        """The columns, by the size of their contributions."""
        return sorted(self.columns, key=lambda name: -abs(self.columns[name]))

    def cell(self, name: str) -> str:
        """The row's cell in that column, as text."""
        return f"{cell_text(self.values[name])}{UNSEEN_REMARK if name in self.unseen else ''}"

    def table(self) -> pa.Table:
        """An Arrow table: the average and each column, the strongest first."""
        names = self.strongest
        return pa.table(
            {
                "column": ["(average)", *(PRODUCT_SIGN.join(name) for name in names)],
                "value": ["", *(PRODUCT_SIGN.join(map(self.cell, name)) for name in names)],
                "adds": [self.average, *(self.columns[name] for name in names)],
            }
        )

    def __repr__(self) -> str:
        low, high = self.interval
        shown = self.strongest[:PRINTED_COLUMNS]
        lines = [
            f"{self.target} = {self.prediction:.5g} (95% interval {low:.5g} to {high:.5g}):",
            f"  {self.average:>+12.5g}  average row",
        ]
        for name in shown:
            cells = PRODUCT_SIGN.join(f"{each} = {self.cell(each)}" for each in name)
            lines.append(f"  {self.columns[name]:>+12.5g}  {cells}")
        if rest := self.strongest[PRINTED_COLUMNS:]:
            lines.append(f"  {sum(self.columns[name] for name in rest):>+12.5g}  {counted(len(rest), 'more column')}")
        return "\n".join([*lines, f"  {self.prediction:>+12.5g}  prediction"])


def explained(model: LinearRegression, row: object) -> Contributions:
    """The explanation of one row, given as a dict of its cells or a table with one row."""
    rows, _ = given_rows(row, model._readings.names)
    table = model.opened(rows)
    batches = list(table.batches(columns_found(table, model._readings.names, model.target)))
    if sum(batch.rows for batch in batches) != 1:
        raise DataError(f"explain takes one row, but the data has {sum(batch.rows for batch in batches)}")
    return explained_row(model, batches[0], 0)


def explained_row(model: LinearRegression, batch: Batch, row: int) -> Contributions:
    one, line = batch.slice(row, 1), model.fitted
    z, ignored = line.basis.read(one)
    adds = dict(zip(line.basis.kept.tolist(), (z[0] * line.posterior.location[1:]).tolist(), strict=True))
    columns: dict[tuple[str, ...], float] = {}
    for name, own in line.basis.features.groups.items():
        name = tuple(dict.fromkeys(name))  # a number's square belongs to the number
        columns[name] = columns.get(name, 0.0) + sum(adds.get(i, 0.0) for i in own.tolist())
    values = {n: one.column(n)[0].as_py() if n in one.names else None for n in line.basis.features.columns}
    low, high = line.predictive(z, line.unknown_variance(one)).interval()
    ends = float(low[0]), float(high[0])  # type: ignore[index]
    average = float(line.posterior.location[0])
    return Contributions(str(model.target), average, columns, values, ends, frozenset(name for name, _ in ignored))
