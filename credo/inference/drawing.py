"""Rows and chance: made-up rows, drawn forward along the arrows or from a junction tree where there is evidence; and
rows of a table whose exact answers don't fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.engines import local
from credo.errors import DataError, SizeError, counted
from credo.exact import Array
from credo.inference.asked import Asked
from credo.inference.chains import BATCHES, CHAINS, chains, error_of_means
from credo.inference.estimates import estimates, log_total
from credo.inference.findings import Findings, Given
from credo.inference.forward import BATCH, drawn_forward, mixed_seed, most_weight
from credo.inference.potentials import Integers
from credo.inference.rows import states_array
from credo.inference.searching import best_found
from credo.inference.sizes import available
from credo.inference.trees import Trees
from credo.notices import quietly, tell

if TYPE_CHECKING:
    from credo.models.network import Network

ROWS = 2**16  # that one thread draws at a time
TRIED, RARE = 2**18, 1000  # rows after which one in so many must be kept
APART = 10  # rounds between rows of a chain


@dataclass(frozen=True)
class Part:
    """Some of the rows."""

    start: int
    rows: int


def drawn_table(net: Network, size: int, given: Given, seed: int | None, method: str) -> Any:
    """An Arrow table, a coded column for each variable."""
    import pyarrow as pa

    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows to draw must be whole and at least 0, but is {size!r}")
    if size * len(net.variables) > available():
        raise SizeError(f"{size} rows of {len(net.variables)} variables don't fit into memory: draw fewer at a time")
    seed = int(np.random.default_rng(seed).integers(2**62))
    codes = np.empty((len(net.variables), size), dtype=np.int8 if net.potentials.card.max() < 128 else np.int32)
    for _ in _drawn(net, given, seed, codes, method):
        pass
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array(own), states_array(values))
            for own, (name, values) in zip(codes, net.states.items(), strict=True)
        }
    )


def _drawn(net: Network, given: Given, seed: int, codes: NDArray[Any], method: str) -> Iterator[None]:
    findings, size = net._findings(given), codes.shape[1]
    parts = (Part(start, min(ROWS, size - start)) for start in range(0, size, ROWS))
    if not findings.any:
        draw = drawn_forward(net.potentials, findings, seed)

        def forward(part: Part) -> None:
            draw(part.start, codes[:, part.start : part.start + part.rows])

        return local.mapped(forward, parts)
    try:
        net._check(net.exact.log_total(findings.codes, findings.weights), given)
        tree, mixed = net.trees.for_all(findings), mixed_seed(seed)
    except SizeError as error:
        if method == "exact":
            raise
        if not _accepted(net, findings, seed, codes):
            _in_turn(net, findings, seed, codes, error)
        return iter(())

    def from_tree(part: Part) -> None:
        tree.draw(findings, mixed, part.start, codes[:, part.start : part.start + part.rows])

    return local.mapped(from_tree, parts)


def _accepted(net: Network, findings: Findings, seed: int, out: NDArray[Any]) -> bool:
    """Rows drawn forward, each kept as often as it is probable with the evidence: exactly right, unless so few are
    kept that nobody would wait for them. Whether all rows are there."""
    potentials = net.potentials
    draw, random = drawn_forward(potentials, findings, seed), np.random.default_rng(seed)
    most, there, tried = most_weight(potentials, findings), 0, 0
    codes = np.empty((len(out), BATCH), dtype=out.dtype)
    while there < out.shape[1]:
        if tried >= TRIED and there * RARE < tried:
            return False
        kept = codes[:, np.log1p(-random.random(BATCH)) < draw(tried, codes) - most][:, : out.shape[1] - there]
        out[:, there : there + kept.shape[1]] = kept
        there, tried = there + kept.shape[1], tried + BATCH
    return True


def _in_turn(net: Network, findings: Findings, seed: int, out: NDArray[Any], error: SizeError) -> None:
    """Rows of chains, some rounds apart."""
    size = out.shape[1]
    each = -(-size // (CHAINS * BATCHES)) * BATCHES
    rows = np.concatenate([*chains(net.potentials, findings, each, APART, seed)], axis=1)
    parts = (rows == rows[:, :1]).reshape(len(rows), CHAINS * BATCHES, -1).mean(2).T
    p, errors = parts.mean(0), error_of_means(parts)
    varying = errors > 0
    effective = float(np.min((p * (1 - p))[varying] / errors[varying] ** 2)) if varying.any() else size
    out[:] = rows[:, np.random.default_rng(seed).permutation(rows.shape[1])[:size]]
    need = str(error).partition(";")[0]
    tell(f"{need}: drawn by gibbs instead, about as good as {min(effective, size):.2g} independent rows")


class Instead(Trees):
    """Exact answers where they fit, else estimates: what rows ask for."""

    def __init__(self, trees: Trees, samples: int, seed: int) -> None:
        super().__init__(trees.potentials)
        self._exact, self._samples, self._seed = trees, samples, seed
        self._errors: list[float] = []  # of each estimate, the largest
        self._need = ""

    def tell(self) -> None:
        """How many rows were estimated, and how well."""
        if self._errors:
            rows, worst = counted(len(self._errors), "row"), np.nanmax([0.0, *self._errors])
            error = f", with standard errors up to {worst:.2g}" if worst else ": the best states found"
            tell(f"{self._need}: {rows} estimated{error}")

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        try:
            return self._exact.joint(codes, weights, variables)
        except SizeError as error:
            findings = self._instead(error, codes, weights)
        with quietly():
            (found,) = estimates(self.potentials, findings, [Asked(variables)], "auto", self._samples, self._seed)
        self._errors.append(float(found.error.max()))
        return found.table, 0.0

    def log_total(self, codes: Integers, weights: Array) -> float:
        try:
            return self._exact.log_total(codes, weights)
        except SizeError as error:
            findings = self._instead(error, codes, weights)
        found = log_total(self.potentials, findings, "auto", self._samples, self._seed)
        self._errors.append(found.error)
        return found.log_value

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        try:
            return self._exact.best(codes, weights, variables)
        except SizeError as error:
            findings = self._instead(error, codes, weights)
        found = best_found(self.potentials, findings, self._samples, self._seed)
        self._errors.append(np.nan)
        return found

    def _instead(self, error: SizeError, codes: Integers, weights: Array) -> Findings:
        self._need = str(error).partition(";")[0]
        return Findings(codes, weights)
