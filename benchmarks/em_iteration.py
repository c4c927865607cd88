"""One iteration of EM over hidden groups: E-step and M-step through Conditional, beside scikit-learn's GaussianMixture.

Both sides have the same rows, the same start and the same number of threads, in one run, in turns; CPU seconds are of
all threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from benchmarks.timing import Limit, Line, peak_above
from credo.blocks.block import Block, Settings
from credo.blocks.categories import Categories
from credo.blocks.counts import CountColumns
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.core.em import Batches, Expected, added, expected
from credo.core.evidence import Evidence
from credo.core.membership import Soft
from credo.data import Batch, source
from credo.engines.local import workers
from credo.models.conditional import Conditional

ROWS, COLUMNS, GROUPS, TIMES = 1_000_000, 10, 10, 4
NAMES = tuple(f"x{j}" for j in range(COLUMNS))
LEVELS = pa.array([f"group {k}" for k in range(GROUPS)])
BLOCKS: dict[str, Block] = {"full": Joint(NAMES, "full"), "tied": Joint(NAMES, "tied"), "diagonal": Numbers(NAMES)}
STEPMIX = 56e6  # cells x classes a second, of mixed columns; 14e6 with missing cells


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups with flat priors: what GaussianMixture is."""

    conditional: Conditional

    def expect(self, batch: Batch, /) -> Expected:
        log_shares = np.log(self.conditional.weights / self.conditional.weights.sum())
        evidence, log_prob = self.conditional.expected_hidden(batch, log_shares, np.ones(batch.rows), LEVELS)
        return evidence, float(log_prob.sum())

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, conditional=self.conditional.with_evidence(evidence))

    def log_prior(self) -> float:
        return 0.0

    def step(self, batches: Batches) -> tuple[Mixture, float]:
        """The parameters after an iteration, and the log-likelihood before it."""
        evidence, log_likelihood = expected(self, batches)
        after = self.with_evidence(evidence)
        for likelihood in after.conditional.likelihoods:
            likelihood.parameters()
        return after, log_likelihood


def run() -> Iterator[Any]:
    x, shares = drawn(ROWS)
    holes = np.where(np.random.default_rng(2).random(x.shape) < 0.2, np.nan, x)
    where = f"EM iteration, 1M x {COLUMNS}, {GROUPS} groups, {workers()} threads"
    for name, block in BLOCKS.items():
        ours, batches = begun((block,), x, shares)
        peer = Peer(name, x, shares)
        mine, its, figures = in_turns(partial(ours.step, batches), peer.step)
        yield Line(f"{where}: {name}, wall time", "GaussianMixture", mine.wall, its.wall, 8)
        yield Line(f"{where}: {name}, CPU time", "GaussianMixture", mine.cpu, its.cpu, 8)
        yield Limit(f"the same log-likelihood: {name}", abs(figures[0] / ROWS / figures[1] - 1), 1e-6, "relative")
        if name != "tied":
            theirs, others = begun((block,), holes, shares)
            missing = timed(partial(theirs.step, others))
            most = 2 if name == "diagonal" else 10
            yield Limit(f"{where}: {name}, 20% missing / complete, CPU time", missing.cpu / mine.cpu, most, "times")
    yield Limit("EM iteration, full: memory above the data", peak_above(iterate), 50, "MB")
    yield from mixed()


def drawn(rows: int) -> tuple[Any, Any]:
    """Rows of Gaussians that overlap, and responsibilities to start from."""
    rng = np.random.default_rng(0)
    own = rng.integers(0, GROUPS, rows)
    centre, root = (
        rng.normal(0, 2, (GROUPS, COLUMNS)),
        rng.normal(size=(GROUPS, COLUMNS, COLUMNS)) / 3 + np.eye(COLUMNS),
    )
    x = rng.normal(size=(rows, COLUMNS))
    for k in range(GROUPS):
        x[own == k] = x[own == k] @ root[k].T + centre[k]
    shares = np.full((rows, GROUPS), 0.05)
    shares[np.arange(rows), own] += 0.5
    return x, shares


def begun(blocks: tuple[Block, ...], data: Any, shares: Any) -> tuple[Mixture, Batches]:
    """At the parameters that these responsibilities lead to, with the rows in batches."""
    table = source(data)
    batches = list(table.batches(table.names))
    conditional = Conditional(blocks, Settings(estimate="ml"), "group")
    parts = [(conditional.expected(b, Soft(shares[b.start : b.start + b.rows]), LEVELS), 0.0) for b in batches]
    return Mixture(conditional.with_evidence(added(parts)[0])), lambda: batches


class Peer:
    """scikit-learn's, an iteration of it."""

    def __init__(self, covariance: str, x: Any, shares: Any) -> None:
        from sklearn.mixture import GaussianMixture

        self.x = x
        kind = {"diagonal": "diag"}.get(covariance, covariance)
        self.model = GaussianMixture(GROUPS, covariance_type=kind, reg_covar=0.0)
        self.model._initialize(x, shares / shares.sum(1, keepdims=True))
        self.kept = dict(vars(self.model))

    def step(self) -> tuple[Any, float]:
        vars(self.model).update(self.kept)
        log_prob, log_resp = self.model._e_step(self.x)
        self.model._m_step(self.x, log_resp)
        return self.model, float(log_prob)


@dataclass(frozen=True)
class Taken:
    wall: float
    cpu: float


def timed(work: Callable[[], Any]) -> Taken:
    return _best([_once(work)[0] for _ in range(TIMES)])


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[Taken, Taken, list[float]]:
    """The best times of each, and their log-likelihoods."""
    taken: tuple[list[Taken], list[Taken]] = ([], [])
    figures = [0.0, 0.0]
    for _ in range(TIMES):
        for i, work in enumerate((ours, theirs)):
            each, figures[i] = _once(work)
            taken[i].append(each)
    return _best(taken[0]), _best(taken[1]), figures


def _once(work: Callable[[], Any]) -> tuple[Taken, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    _, figure = work()
    return Taken(time.perf_counter() - wall, time.process_time() - cpu), figure


def _best(taken: list[Taken]) -> Taken:
    return Taken(min(each.wall for each in taken), min(each.cpu for each in taken))


def iterate(measure: Callable[[], None]) -> None:
    """An iteration in a process of its own."""
    x, shares = drawn(ROWS)
    few = ROWS // 10
    ours, _ = begun((BLOCKS["full"],), x[:few], shares[:few])
    table = source(x)
    batches = list(table.batches(table.names))
    del shares
    ours.step(lambda: batches[:1])  # kernels are loaded
    measure()
    ours.step(lambda: batches)


def mixed() -> Iterator[Any]:
    """Cells x classes a second: five categories, three counts, two numbers."""
    rows, rng = ROWS // 2, np.random.default_rng(3)
    _, shares = drawn(rows)
    own = shares.argmax(1)
    table = {
        **{f"c{j}": np.array(list("uvwxyz"))[(own + rng.integers(0, 4, rows)) % 6] for j in range(5)},
        **{f"n{j}": rng.poisson(1.0 + own).astype(float) for j in range(3)},
        **{f"x{j}": rng.normal(own, 2.0) for j in range(2)},
    }
    names = list(table)
    for missing in (0.0, 0.2):
        columns = {name: pa.array(table[name], mask=rng.random(rows) < missing) for name in names}
        kinds = Categories(tuple(names[:5])), CountColumns(tuple(names[5:8])), Numbers(tuple(names[8:]))
        ours, batches = begun(kinds, pa.table(columns), shares)
        ours.step(batches)
        speed = rows * len(names) * GROUPS / timed(partial(ours.step, batches)).cpu
        what = f"EM iteration, 500k x 10 mixed columns, {missing:.0%} missing: cells x classes a second"
        yield Line(what, "stepmix, as measured before", 1 / speed, 1 / (STEPMIX if not missing else STEPMIX / 4), 10)


if __name__ == "__main__":
    os.environ.setdefault("CREDO_THREADS", "1")
    for line in run():
        print(line, flush=True)
