"""Learning a network's tables: counting rows of a data frame and of large files; EM where a fifth of all cells is
missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.networks import network, peer_of
from benchmarks.timing import Limit, Line, in_turns, peak_megabytes
from credo.core.em import expected
from credo.networks.learning import TableEM
from credo.networks.network import Network

COUNTED, SHARED, MISSING = 1_000_000, 10_000, 0.2
PEER_ROWS = 200  # of which the peer's iteration is measured; both take time in proportion to the rows
SMALL, LARGE = 500_000, 2_000_000  # rows of files
PARTLY = 80_000, 320_000  # rows of files with missing cells


def run() -> Iterator[Any]:
    alarm = _renamed(network("alarm"))
    yield _counting(alarm)
    yield from _em(alarm)
    yield _linear(alarm)
    yield from _files(alarm)
    yield from _partly_known_files(alarm)


def _renamed(net: Network) -> Network:
    """With states s0, s1, ...: the peer refuses some of their names."""
    return Network(
        net.parents, net.tables, {name: tuple(f"s{k}" for k in range(len(s))) for name, s in net.states.items()}
    )


def _counting(net: Network) -> Line:
    """End to end from the same data frame of strings."""
    import pyagrum as gum

    frame = _strings(net, COUNTED).to_pandas()
    peer = peer_of(net)
    ours = partial(net.fit, frame)
    ours()

    def theirs() -> Any:
        learner = gum.BNLearner(frame, peer)
        learner.useSmoothingPrior(1)
        return learner.learnParameters(peer.dag())

    return Line("alarm, tables from a DataFrame of 1M rows", "pyAgrum", *in_turns(ours, theirs, 2), target=5)


def _em(net: Network) -> Iterator[Any]:
    """An iteration in the CPU time of all threads, so that other work doesn't disturb it."""
    rows = [*net.coded(_holes(net, SHARED))]
    begun = TableEM(net)
    seconds = min(_cpu_time(lambda: begun.with_evidence(expected(begun, lambda: iter(rows))[0])) for _ in range(5))
    yield Limit("alarm, an iteration of EM, 10k rows, 20% missing: CPU time", seconds, 0.3, "s")
    theirs = _peer_iteration(net) * SHARED / PEER_ROWS
    what = f"alarm, the same beside pyAgrum (on {PEER_ROWS} rows, scaled)"
    yield Line(what, "pyAgrum", seconds, theirs, target=100)


def _peer_iteration(net: Network) -> float:
    """What two more iterations take, halved."""
    import pyagrum as gum

    peer = peer_of(net)
    frame = _holes(net, PEER_ROWS).to_pandas().astype(object).fillna("?")

    def fitted(iterations: int) -> None:
        learner = gum.BNLearner(frame, peer, ["?"])
        learner.useSmoothingPrior(1)
        learner.useEM(1e-12)
        learner.EMsetMaxIter(iterations)
        learner.learnParameters(peer.dag())

    one, three = (_cpu_time(partial(fitted, count)) for count in (1, 3))
    return (three - one) / 2


def _linear(net: Network) -> Limit:
    """An iteration over ten times as many rows."""
    begun, times = TableEM(net), list[float]()
    for size in (SHARED // 10, SHARED):
        rows = [*net.coded(_holes(net, size))]
        times.append(min(_cpu_time(partial(expected, begun, rows.copy)) for _ in range(5)))
    return Limit("alarm, EM: CPU time of ten times the rows", times[1] / times[0], 11, "times")


def _files(net: Network) -> Iterator[Any]:
    """From CSV files: what the peak of a process is, and by how much four times the rows raise it."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{rows}.csv" for rows in (SMALL, LARGE)]
        for path, rows in zip(paths, (SMALL, LARGE), strict=True):
            _write(net, rows, path)
        peaks = [peak_megabytes(_count_file, str(path)) for path in paths]
        yield Limit("alarm, tables from a CSV of 2M rows: peak memory", peaks[1], 1500, "MB")
        yield Limit("alarm, the same: more than for a quarter of the rows", peaks[1] / peaks[0], 1.25, "times")


def _partly_known_files(net: Network) -> Iterator[Any]:
    """The same with missing cells, the rows being read again in each step of EM."""
    with TemporaryDirectory() as folder:
        peaks = []
        for rows in PARTLY:
            path = Path(folder) / f"{rows}.csv"
            _write(net, rows, path, MISSING)
            peaks.append(peak_megabytes(_fit_file, str(path)))
        what = "alarm, EM from a CSV that isn't kept, 320k against 80k rows: memory"
        yield Limit(what, peaks[1] / peaks[0], 1.25, "times")


def _count_file(path: str) -> None:
    _renamed(network("alarm")).fit(path)


def _fit_file(path: str) -> None:
    """Two steps, the rows being read again in each."""
    import warnings

    from credo.networks import incomplete_rows

    incomplete_rows.KEPT_CODE_BYTES = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _renamed(network("alarm")).fit(path, steps=2)


def _write(net: Network, rows: int, path: Path, missing: float = 0.0) -> None:
    from pyarrow import csv

    with path.open("wb") as file:
        for i, start in enumerate(range(0, rows, 250_000)):
            part = _strings(net, min(250_000, rows - start), i, missing)
            csv.write_csv(part, file, csv.WriteOptions(include_header=i == 0))


def _strings(net: Network, rows: int, seed: int = 1, missing: float = 0.0) -> Any:
    """An Arrow table of strings."""
    table = _holes(net, rows, seed, missing) if missing else net.sample(rows, seed=seed)
    return pa.table({name: table[name].combine_chunks().cast(pa.string()) for name in net.variables})


def _holes(net: Network, rows: int, seed: int = 1, missing: float = MISSING) -> Any:
    """Sampled rows with cells missing at random."""
    table, random = net.sample(rows, seed=seed), np.random.default_rng(seed)
    holes = {}
    for name in net.variables:
        column = table[name].combine_chunks()
        indices = pa.array(np.asarray(column.indices), mask=random.random(rows) < missing)
        holes[name] = pa.DictionaryArray.from_arrays(indices, column.dictionary)
    return pa.table(holes)


def _cpu_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
