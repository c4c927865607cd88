"""Hidden Markov models against hmmlearn ("scaling"): an iteration of Baum-Welch, and Viterbi; CPU time of one thread.

Both begin at the same parameters; that the log-likelihoods agree is tests/reference/test_hmmlearn.py's business.
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
from credo.core.em import expected
from credo.data import source
from credo.engines.local import one_blas_thread
from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS
from credo.models.hidden_markov.learning import unfitted

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
    table = x if sequences == 1 else np.split(x, sequences)  # as hmmlearn takes them: an array, and where to cut it
    shaken = np.where(np.random.default_rng(1).random(ROWS) < 0.2, np.roll(hidden, 7), hidden)
    what = f"1M steps x {COLUMNS}, {states} states, {'one sequence' if sequences == 1 else f'{sequences} sequences'}"
    settings: dict[str, Any] = {"emission": "diagonal", "estimate": "ml", "tolerance": 0.0}

    def ours(steps: int) -> HiddenMarkov:
        return HiddenMarkov(states, steps=steps, **settings).fit(table, start=shaken)

    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = ours(1)  # also compiles
        theirs, lengths = _peer(begun, states), [ROWS // sequences] * sequences
        one, other = _em_step(begun, table), _best(lambda: _fit_peer(theirs, x, lengths, STEPS)) / STEPS
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


def _em_step(model: HiddenMarkov, table: Any) -> float:
    """An E-step over all sequences and the M-step after it; the data is read beforehand, as hmmlearn's is an array."""
    rows = model._table(source(table))
    reader, chain = rows.reader(), unfitted(model, None, EQUAL_WEIGHTS).with_evidence(model._seen)

    def step() -> None:
        nonlocal chain
        chain = chain.with_evidence(expected(chain, reader)[0])
        _ = chain.shares, chain.emission.conditional.likelihoods

    return min(_best(step) for _ in range(STEPS))


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
