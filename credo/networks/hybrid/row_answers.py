"""Answers about every row of a table, any cells of which may be missing: exact where possible, else estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.data import Batch
from credo.errors import EvidenceError, NetworkError, SchemaError, check_seed, counted
from credo.networks.hybrid.rows import HybridRows, MissingPattern, RowCodes, RowInference
from credo.networks.inference.estimate import check_samples
from credo.networks.inference.sizes import LIKELIHOOD_WEIGHTING, InferenceOptions, Method, is_exact
from credo.notices import quietly, tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.hybrid.network import HybridNetwork


@dataclass(eq=False)
class RowAnswers:
    """Answers for rows: rows with few missing cells are summed over together; each other row is a separate query."""

    net: HybridNetwork
    method: Method
    samples: int
    seed: int
    estimated: int = field(default=0, init=False)  # rows

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_samples(self.samples)
        if not is_exact(self.method) and self.method != LIKELIHOOD_WEIGHTING:
            raise NetworkError(
                f"rows with numbers are estimated by method={LIKELIHOOD_WEIGHTING!r}, not by {self.method!r}"
            )
        self.inference = RowInference(self.net)

    def each(
        self,
        data: object,
        shape: tuple[int, ...],
        summed: Callable[[MissingPattern, Array, Batch], None],
        asked: Callable[[dict[str, Any]], Any],
        hide: Callable[[HybridRows], None] = lambda _: None,
    ) -> Array:
        """An answer for each row: for all rows of a pattern at once, or from one row's findings."""
        parts = [np.empty((0, *shape))]
        for batch, rows in self.inference.batches(data):
            hide(rows)
            found, beyond = np.zeros((rows.rows, *shape)), list[int]()
            if self.method == LIKELIHOOD_WEIGHTING:
                beyond = [*range(rows.rows)]
            else:
                for pattern in self.inference.patterns(rows, beyond):
                    summed(pattern, found, batch)
            for row in beyond:
                found[row] = self._answer_of_row(asked, rows, row, batch)
            parts.append(found)
        if self.estimated:
            count = counted(self.estimated, "row")
            tell(f"{count} were estimated by {LIKELIHOOD_WEIGHTING}: their missing cells are too many")
        return np.concatenate(parts)

    def _answer_of_row(self, asked: Callable[[dict[str, Any]], Any], rows: HybridRows, row: int, batch: Batch) -> Any:
        try:
            with quietly():
                found = asked(self.inference.findings(rows, row))
        except EvidenceError as error:
            raise EvidenceError(f"row {batch.number(row)}: {error}") from None
        self.estimated += getattr(found, "method", "exact") != "exact"
        return [*found.values()] if isinstance(found, dict) else found

    @property
    def how(self) -> InferenceOptions:
        return {"method": self.method, "samples": self.samples, "seed": self.seed}

    def log_prob(self, data: object) -> Array:
        def summed(pattern: MissingPattern, found: Array, _: Batch) -> None:
            found[pattern.rows] = pattern.log_prob

        return self.each(data, (), summed, lambda known: self.net.log_probability(known, **self.how))

    def log_prob_here(self, data: object) -> Array:
        return self.log_prob(data)

    def states_of(self, variable: str) -> tuple[Any, ...]:
        """Of a category."""
        if self.net._known(variable) not in self.net.states:
            raise SchemaError(f"{variable!r} is a number: predict gives its mean in each row, query its distribution")
        return tuple(self.net.states[variable])

    def predict_proba(self, variable: str, data: object) -> Array:
        size = len(self.states_of(variable))
        i = self.inference.categories.index(variable)

        def hide(rows: HybridRows) -> None:
            rows.codes[:, i] = -1

        def summed(pattern: MissingPattern, found: Array, batch: Batch) -> None:
            pattern.check(batch)
            shares = pattern.responsibilities
            for k in range(size):
                found[pattern.rows, k] = np.where(pattern.codes[:, :, i] == k, shares, 0.0).sum(1)

        return self.each(data, (size,), summed, lambda known: self.net.query(variable, known, **self.how), hide)

    def means(self, variable: str, data: object) -> Array:
        """The mean of a number, given each row's other cells."""
        j = self.inference.numbers.index(variable)

        def hide(rows: HybridRows) -> None:
            rows.numbers[:, j] = np.nan

        def summed(pattern: MissingPattern, found: Array, batch: Batch) -> None:
            pattern.check(batch)
            shares = pattern.responsibilities
            for where, completed, _ in self.inference.completed(pattern):
                np.add.at(found, pattern.rows[where[0]], shares[where] * completed[:, j])

        def asked(known: dict[str, Any]) -> Any:
            found = self.net.query(variable, known, **self.how)
            self.estimated += found.method != "exact"
            return found.mean()

        return self.each(data, (), summed, asked, hide)

    def predict(self, variable: str, data: object) -> Any:
        if self.net._known(variable) not in self.net.states:
            return self.means(variable, data)
        states = self.net.states[variable]
        best = self.predict_proba(variable, data).argmax(1)
        return np.array(states, dtype=object if len({*map(type, states)}) > 1 else None)[best]

    def check_exact(self) -> None:
        """Refuse to fill in cells by draws."""
        if self.method == LIKELIHOOD_WEIGHTING:
            raise NetworkError(f'cells are filled in by method="exact", or "auto", not by {LIKELIHOOD_WEIGHTING!r}')

    def impute(self, data: object) -> pa.Table:
        import pyarrow as pa

        self.check_exact()
        parts = list[Any]()
        for batch, rows in self.inference.batches(data):
            codes, numbers, beyond = rows.codes.copy(), rows.numbers.copy(), list[int]()
            for pattern in self.inference.patterns(rows, beyond):
                pattern.check(batch)
                best = pattern.log_joint.argmax(1)
                chosen = pattern.codes[np.arange(len(best)), best]
                codes[pattern.rows] = chosen
                alone = replace(pattern, codes=chosen[:, None], log_joint=np.zeros((len(best), 1)))
                for where, completed, _ in self.inference.completed(alone):
                    numbers[pattern.rows[where[0]]] = completed
            for row in beyond:
                found = self.net.most_probable(None, self.inference.findings(rows, row))
                codes[row] = [self.net.states[name].index(found[name]) for name in self.inference.categories]
                numbers[row] = [found[name] for name in self.inference.numbers]
            parts.append(_filled(self.inference, batch, codes, numbers))
        return pa.concat_tables(parts)


def _filled(inference: RowInference, batch: Batch, codes: RowCodes, numbers: Array) -> pa.Table:
    """The batch's columns, and the missing ones, with all cells filled in."""
    import pyarrow as pa

    from credo.networks.inference.rows import states_array

    columns = {name: batch.column(name) for name in batch.names}
    for i, name in enumerate(inference.categories):
        columns[name] = states_array(inference.net.states[name]).take(pa.array(codes[:, i]))
    for j, name in enumerate(inference.numbers):
        columns[name] = pa.array(numbers[:, j])
    return pa.table(columns)
