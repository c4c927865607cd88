"""Sampling rows, by ancestral sampling or from a junction tree given evidence; and estimates for rows of a table whose
exact answers don't fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.engines import local
from credo.errors import DataError, SizeError, check_seed, counted
from credo.networks.inference.annealed_importance import WORTH
from credo.networks.inference.components import EXACT, Components
from credo.networks.inference.estimate import UNRELIABLE, JointQuery, Total
from credo.networks.inference.findings import Findings, Given
from credo.networks.inference.forward import BATCH, drawn_forward, mixed_seed, most_weight
from credo.networks.inference.gibbs import agreed, chains
from credo.networks.inference.potentials import Integers
from credo.networks.inference.rows import states_array
from credo.networks.inference.sizes import available, needed
from credo.networks.inference.trees import Trees
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.network import Network

ROWS = 2**16  # drawn by one thread at a time
TRIED, RARE = 2**18, 1000  # proposals after which at least one in so many must be accepted
APART = 10  # rounds between rows of a chain


@dataclass(frozen=True)
class Part:
    """A range of rows."""

    start: int
    rows: int


def drawn_table(net: Network, size: int, given: Given, seed: int | None, method: str) -> Any:
    """An Arrow table with a dictionary column for each variable."""
    import pyarrow as pa

    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows to draw must be whole and at least 0, but is {size!r}")
    if size * len(net.variables) > available():
        raise SizeError(f"{size} rows of {len(net.variables)} variables don't fit into memory: draw fewer at a time")
    seed = int(np.random.default_rng(None if seed is None else check_seed(seed)).integers(2**62))
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
    """Rejection sampling: exact, unless too few rows are accepted. Whether all rows were drawn."""
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
    """Thinned rows of annealed Gibbs runs; where runs disagree, by their importance weights."""
    size, random = out.shape[1], np.random.default_rng(seed)
    rows, weights = chains(net.potentials, findings, size, APART, seed)  # (runs, variables, rows), (runs)
    means = (rows == rows[:1, :, :1]).mean(2)
    count, each, agree = len(rows), rows.shape[2], agreed(means)
    worth = 1.0 / float(weights @ weights)
    used = np.full(count, 1.0 / count) if agree else weights
    p = used @ means
    errors = used**2 @ (means - p) ** 2
    varying = errors > 0
    effective = float(np.min((p * (1 - p))[varying] / errors[varying])) if varying.any() else size
    if agree:
        chosen = np.resize(random.permutation(count * each), size)
    else:
        chosen = random.choice(count, size, p=weights) * each + random.integers(each, size=size)
    out[:] = rows[chosen // each, :, chosen % each].T
    need = needed(error)
    doubt = "" if agree or worth >= WORTH * count else f"; {UNRELIABLE}"
    tell(f"{need}: drawn by gibbs instead, about as good as {min(effective, size):.2g} independent rows{doubt}")


class SamplingFallback(Trees):
    """Exact answers where they fit in memory, else estimates for each connected component: for queries about rows."""

    def __init__(self, trees: Trees, components: Components, samples: int, seed: int) -> None:
        super().__init__(trees.potentials, trees.structures)
        self._exact, self._components, self._how = trees, components, ("auto", samples, seed)
        self._errors: list[float] = []  # the largest standard error of each estimate
        self._doubted = 0
        self._need = ""

    def tell(self) -> None:
        """A notice: how many rows were estimated, and how well."""
        if self._errors:
            rows, worst = counted(len(self._errors), "row"), np.nanmax([0.0, *self._errors])
            error = f", with standard errors up to {worst:.2g}" if worst else ": the best states found"
            doubt = f"; {counted(self._doubted, 'row')} {UNRELIABLE}" if self._doubted else ""
            tell(f"{self._need}: {rows} estimated{error}{doubt}")

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        try:
            return self._exact.joint(codes, weights, variables)
        except SizeError as error:
            need, possible = error, list[float]()
        asked = [JointQuery(variables)]
        (found,) = self._components.estimates(Findings(codes, weights), asked, *self._how, check=possible.append)
        self._note(need, found.method, float(found.error.max()), found.reliable)
        return found.table, min(possible, default=0.0)

    def log_total(self, codes: Integers, weights: Array) -> float:
        try:
            return self._exact.log_total(codes, weights)
        except SizeError as error:
            found = self._components.log_total(Findings(codes, weights), *self._how)
            self._note(error, found.method, found.error, found.reliable)
            return found.log_value

    def best(self, codes: Integers, weights: Array, variables: Sequence[int] | None) -> tuple[Integers, float]:
        try:
            return self._exact.best(codes, weights, variables)
        except SizeError as error:
            need, possible = error, list[float]()
        found, total, how = self._components.best(
            Findings(codes, weights), variables, *self._how, check=possible.append
        )
        self._note(need, how, np.nan, True)
        return found, min([total.log_value if isinstance(total, Total) else total, *possible])

    def _note(self, error: SizeError, method: str, off: float, reliable: bool) -> None:
        if method != EXACT:
            self._need = needed(error)
            self._errors.append(off)
            self._doubted += not reliable
