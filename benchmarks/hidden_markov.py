"""Hidden Markov models against hmmlearn ("scaling"): an iteration of Baum-Welch, and Viterbi; CPU time of one thread.

Both begin at the same parameters; the log-likelihood after the last iteration must agree.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.timing import Limit, Line, peak_megabytes
from credo import HiddenMarkov
from credo.engines.local import one_blas_thread

ROWS, COLUMNS = 1_000_000, 3
STEPS, TIMES = 4, 3
LONG = 10_000_000


def run() -> Iterator[Any]:
    os.environ["CREDO_THREADS"] = "1"
    for states in (5, 20):
        for sequences in (1, 1000):
            yield from _lines(states, sequences)
    yield Limit(
        "10M steps, 5 states: an EM iteration, memory of the process, data included",
        peak_megabytes(_long_chain), 2000, "MB",
    )  # fmt: skip


def _lines(states: int, sequences: int) -> Iterator[Any]:
    x, hidden = _data(states, ROWS)
    table: Any = {f"x{j}": x[:, j] for j in range(COLUMNS)}
    table["id"] = np.repeat(np.arange(sequences), ROWS // sequences)
    shaken = np.where(np.random.default_rng(1).random(ROWS) < 0.2, np.roll(hidden, 7), hidden)
    what = f"1M steps x {COLUMNS}, {states} states, {'one sequence' if sequences == 1 else f'{sequences} sequences'}"
    settings: dict[str, Any] = {"emission": "diagonal", "estimate": "ml", "tolerance": 0.0}

    def ours(steps: int) -> HiddenMarkov:
        return HiddenMarkov(states, steps=steps, **settings).fit(table, sequence="id", start=shaken)

    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = ours(1)  # also compiles
        theirs, lengths = _peer(begun, states), [ROWS // sequences] * sequences
        one, other = _per_step(ours), _per_step(lambda steps: _fit_peer(theirs, x, lengths, steps))
        yield Line(f"{what}: Baum-Welch, an iteration", "hmmlearn", one, other, 3)
        fitted = _fit_peer(_peer(begun, states), x, lengths, STEPS)
        decode = {"ours": lambda: begun.decode(table), "theirs": lambda: fitted.predict(x, lengths)}
        yield Line(f"{what}: Viterbi", "hmmlearn", _best(decode["ours"]), _best(decode["theirs"]), 4)


def _data(states: int, rows: int) -> tuple[Any, Any]:
    """States that last five rows on average, and Gaussians around means that overlap."""
    rng = np.random.default_rng(0)
    new = np.flatnonzero(np.append(True, rng.random(rows - 1) < 0.2))
    hidden = np.repeat(rng.integers(0, states, len(new)), np.diff(np.append(new, rows)))
    means = rng.normal(0, 3, (states, COLUMNS))
    return means[hidden] + rng.normal(size=(rows, COLUMNS)), hidden


def _peer(model: HiddenMarkov, states: int) -> Any:
    """hmmlearn at credo's parameters."""
    from hmmlearn.hmm import GaussianHMM

    flat = {"covars_prior": 0.0, "covars_weight": 0.0}
    peer = GaussianHMM(states, "diag", tol=-np.inf, init_params="", implementation="scaling", **flat)
    peer.startprob_ = np.array([*model.initial_shares.values()])
    peer.transmat_ = model.transition_shares
    parameters = {(line.column, line.name): line.estimates for line in model.chain.emission.conditional.describe()}
    peer.means_ = np.column_stack([parameters[f"x{j}", "mean"] for j in range(COLUMNS)])
    peer.covars_ = np.column_stack([parameters[f"x{j}", "sd"] ** 2 for j in range(COLUMNS)])
    return peer


def _fit_peer(peer: Any, x: Any, lengths: list[int], steps: int) -> Any:
    peer.n_iter = steps
    return peer.fit(x, lengths)


def _per_step(fit: Callable[[int], Any]) -> float:
    """By the difference of a long and a short run: what comes before the first step isn't counted."""
    return (_best(lambda: fit(1 + STEPS)) - _best(lambda: fit(1))) / STEPS


def _best(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(TIMES):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken)


def _long_chain() -> None:
    os.environ["CREDO_THREADS"] = "1"
    x, hidden = _data(5, LONG)
    HiddenMarkov(5, emission="diagonal", steps=1, tolerance=0.0).fit({"x0": x[:, 0]}, start=hidden)
