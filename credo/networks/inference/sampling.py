"""Sampling rows, by ancestral sampling or from a junction tree given evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.engines.partitions import Loaded
from credo.errors import DataError, SizeError, check_seed
from credo.networks.inference.estimate import UNRELIABLE
from credo.networks.inference.findings import Findings, Given
from credo.networks.inference.forward import drawn_forward, mixed_seed, most_weight
from credo.networks.inference.rows import states_array
from credo.networks.inference.sizes import ROW_SAMPLES, SAMPLES_AT_ONCE, Method, available, needed
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.graphical_model import GraphicalModel

ROWS_PER_TASK = 2**16
FIRST_PROPOSALS, RAREST_ACCEPTED = 2**18, 1000  # after these proposals, at least one in 1000 must be accepted
ROUNDS_BETWEEN_ROWS = 10  # of a Markov chain


def drawn_table(net: GraphicalModel, size: int, given: Given, seed: int | None, method: Method) -> pa.Table:
    """An Arrow table with a dictionary column for each variable."""
    import pyarrow as pa

    if not isinstance(size, int | np.integer) or size < 0:
        raise DataError(f"the number of rows to draw must be whole and at least 0, but is {size!r}")
    if size * len(net.variables) > available():
        raise SizeError(f"{size} rows of {len(net.variables)} variables don't fit into memory: draw fewer at a time")
    seed = int(np.random.default_rng(None if seed is None else check_seed(seed)).integers(2**62))
    weighting = net._weighting(method, ROW_SAMPLES, seed % 2**31)
    if weighting is not None:
        codes: NDArray[Any] = weighting.sampled(size, given)
    else:
        codes = np.empty((len(net.variables), size), dtype=np.int8 if net.potentials.card.max() < 128 else np.int32)
        _draw_into(codes, net, given, seed, method)
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array(own), states_array(values))
            for own, (name, values) in zip(codes, net.states.items(), strict=True)
        }
    )


def _draw_into(codes: NDArray[Any], net: GraphicalModel, given: Given, seed: int, method: str) -> None:
    findings, size = net._findings(given), codes.shape[1]
    if findings.any or not net.directed:
        try:
            net._check(net.exact.log_total(findings.codes, findings.weights), given)
            net.trees.for_all(findings)
        except SizeError as error:
            if method == "exact":
                raise
            if not net.directed or not _rejection_sampled(net, findings, seed, codes):
                _gibbs_rows(net, findings, seed, codes, error)
            return
    parts = [RowNumbers(start, min(ROWS_PER_TASK, size - start)) for start in range(0, size, ROWS_PER_TASK)]
    for part, drawn in zip(parts, engines.map(DrawRows(net, given, seed, codes.dtype), parts), strict=True):
        codes[:, part.start : part.start + part.rows] = drawn


@dataclass(frozen=True)
class RowNumbers(Loaded):
    """The numbers of the rows to sample: each row has its own random stream."""

    start: int
    rows: int


@dataclass(frozen=True, eq=False)
class DrawRows:
    """The job that samples rows: by ancestral sampling or, given evidence, from a junction tree."""

    net: GraphicalModel
    given: Given
    seed: int
    dtype: np.dtype[Any]

    def __call__(self, own: RowNumbers) -> NDArray[Any]:
        """(variables, rows)"""
        codes = np.empty((len(self.net.potentials.card), own.rows), dtype=self.dtype)
        if self._findings.any or not self.net.directed:
            self.net.trees.for_all(self._findings).draw(self._findings, mixed_seed(self.seed), own.start, codes)
        else:
            self._forward(own.start, codes)
        return codes[: self.net.potentials.own]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _findings(self) -> Findings:
        return self.net._findings(self.given)

    @cached_property
    def _forward(self) -> Callable[[int, NDArray[np.signedinteger]], Array]:
        return drawn_forward(self.net.potentials, self._findings, self.seed)


def _rejection_sampled(net: GraphicalModel, findings: Findings, seed: int, out: NDArray[Any]) -> bool:
    """Rejection sampling: exact unless too few rows are accepted. Returns whether all rows were drawn."""
    potentials = net.potentials
    draw, random = drawn_forward(potentials, findings, seed), np.random.default_rng(seed)
    most, there, tried = most_weight(potentials, findings), 0, 0
    codes = np.empty((len(potentials.card), SAMPLES_AT_ONCE), dtype=out.dtype)
    while there < out.shape[1]:
        if tried >= FIRST_PROPOSALS and there * RAREST_ACCEPTED < tried:
            return False
        chosen = np.log1p(-random.random(SAMPLES_AT_ONCE)) < draw(tried, codes) - most
        kept = codes[: len(out), chosen][:, : out.shape[1] - there]
        out[:, there : there + kept.shape[1]] = kept
        there, tried = there + kept.shape[1], tried + SAMPLES_AT_ONCE
    return True


def _gibbs_rows(net: GraphicalModel, findings: Findings, seed: int, out: NDArray[Any], error: SizeError) -> None:
    """Thinned rows of annealed Gibbs runs; if runs disagree, chosen by their importance weights."""
    from credo.networks.inference.annealed_importance import LEAST_EFFECTIVE
    from credo.networks.inference.gibbs import agreed, chains

    size, random = out.shape[1], np.random.default_rng(seed)
    rows, weights = chains(net.potentials, findings, size, ROUNDS_BETWEEN_ROWS, seed)  # (runs, variables, rows), (runs)
    rows = rows[:, : len(out)]
    means = (rows == rows[:1, :, :1]).mean(2)
    count, each, agree = len(rows), rows.shape[2], agreed(means)
    effective_runs = 1.0 / float(weights @ weights)
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
    doubt = "" if agree or effective_runs >= LEAST_EFFECTIVE * count else f"; {UNRELIABLE}"
    tell(f"{need}: drawn by gibbs instead, with an effective sample size of {min(effective, size):.2g}{doubt}")
