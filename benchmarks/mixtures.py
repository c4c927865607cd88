"""Whole fits of mixtures with the default settings, beside scikit-learn's GaussianMixture with ten starts, and stepmix.

Both sides of a line have the same rows, in one run, on one thread; times are CPU seconds, the best of a few in turns.
The default settings have a prior, GaussianMixture has none. So the likelihood of the rows that were learned is compared
under maximum likelihood on both sides, and the default settings by the likelihood of new rows.
pomegranate is a peer where it is installed: it needs torch. stepmix and pomegranate have no option to end after a given
number of iterations without their set-up, so that an iteration is the difference between two numbers of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import credo
from benchmarks.timing import Least, Limit, Line, one_thread, peak_megabytes
from credo.core.em import em_steps
from credo.models.mixture.learning import problem_of

SIZES, COLUMNS, COMPONENTS = (20_000, 200_000), 6, 8
SMALL_TABLES, SEEDS = ((100, 2, 2), (300, 3, 3), (1000, 4, 4), (1000, 8, 6)), 4  # rows, components, columns
NEW_ROWS = 5000  # of the same clusters
MIXED_ROWS, STEPS = 200_000, 5
TIMES, FEW_ROWS = 3, 50_000  # runs of each side, with at most so many rows
FILES, FILE_ROWS, FILE_STEPS = (5, 20), 1_000_000, 5  # of Parquet sets that are larger than what is held in memory
PEER_KINDS = {"full": "full", "tied": "tied", "diagonal": "diag"}


def run() -> Iterator[Any]:
    import sklearn.mixture  # noqa: F401 - before its threads are limited

    with one_thread():
        for rows in SIZES:
            x = drawn(rows)
            for covariance in PEER_KINDS:
                yield from _whole_fit(x, covariance)
        for covariance in PEER_KINDS:
            yield from _small_tables(covariance)
        yield from _mixed()
        yield from _beside_pomegranate()
    yield from _out_of_core()


def drawn(rows: int, components: int = COMPONENTS, columns: int = COLUMNS, seed: int = 0) -> NDArray[np.float64]:
    """Clusters that overlap a little, of different sizes."""
    return drawn_twice(rows, 0, components, columns, seed)[0]


def drawn_twice(
    rows: int, new: int, components: int, columns: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows to learn from, and new rows of the same clusters."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(components, 3.0))
    z = rng.choice(components, rows, p=shares)
    roots = rng.normal(size=(components, columns, columns)) * 0.5 + np.eye(columns)
    centres = 3.0 * rng.normal(size=(components, columns))

    def cells(own: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(centres[own] + np.einsum("ni,nij->nj", rng.normal(size=(len(own), columns)), roots[own]))

    return cells(z), cells(rng.choice(components, new, p=shares))


def _small_tables(covariance: Any) -> Iterator[Any]:
    from sklearn.mixture import GaussianMixture

    gained, predicted = [], []
    for rows, components, columns in SMALL_TABLES:
        ours = theirs = 0.0
        for seed in range(SEEDS):
            x, new = drawn_twice(rows, NEW_ROWS, components, columns, seed)
            peer = GaussianMixture(components, covariance_type=PEER_KINDS[covariance], n_init=10, random_state=seed)
            mixture = credo.Mixture(components, covariance, seed=seed)
            own, its, fitted = _in_turns(partial(mixture.fit, x), partial(peer.fit, x), TIMES)
            ours, theirs = ours + own, theirs + its
            predicted.append(fitted.log_prob(new).mean() - peer.score(new))
            try:
                found = mixture.replaced(estimate="ml").fit(x)
            except credo.CredoError:  # a component on too few rows has no bound
                continue
            gained.append(found.choices[0].log_likelihood / rows - peer.score(x))
        what = f"fit, {rows} x {columns}, {components} components, {covariance}, default settings, {SEEDS} tables"
        yield Line(what, "GaussianMixture(n_init=10)", ours, theirs, 1)
    what = f"small tables, {covariance}: share of {len(gained)} maximum-likelihood fits at least as likely as theirs"
    yield Least(what, float(np.mean(np.array(gained) >= -1e-4)), 0.95)
    what = (
        f"small tables, {covariance}: log-likelihood of a new row above theirs, default settings, mean of {{}} tables"
    )
    yield Least(what.format(len(predicted)), float(np.mean(predicted)), 0.0)


def _whole_fit(x: NDArray[np.float64], covariance: Any) -> Iterator[Any]:
    from sklearn.mixture import GaussianMixture

    peer = GaussianMixture(COMPONENTS, covariance_type=PEER_KINDS[covariance], n_init=10, random_state=0)
    mixture = credo.Mixture(COMPONENTS, covariance, estimate="map")
    mixture.fit(x)  # kernels are compiled and loaded
    ours, theirs, found = _in_turns(partial(mixture.fit, x), partial(peer.fit, x), TIMES if len(x) <= FEW_ROWS else 1)
    what = f"fit, {len(x) // 1000}k x {COLUMNS}, {COMPONENTS} components, {covariance}"
    yield Line(f"{what}, default settings", "GaussianMixture(n_init=10)", ours, theirs, 1)
    gained = found.choices[0].log_likelihood / len(x) - peer.score(x)
    yield Least(f"{what}: log-likelihood a row above GaussianMixture(n_init=10)", gained, 0.0)


def _mixed() -> Iterator[Any]:
    """Steps of EM on mixed columns: numbers, categories and missing cells, from the same number of components."""
    try:
        from stepmix.stepmix import StepMix
    except ImportError:
        return
    import pandas as pd

    rng = np.random.default_rng(1)
    z = rng.integers(0, 4, MIXED_ROWS)
    numbers = rng.normal(size=(MIXED_ROWS, 5)) + 2.0 * rng.normal(size=(4, 5))[z]
    codes = np.where(rng.random((MIXED_ROWS, 5)) < 0.7, z[:, None], rng.integers(0, 4, (MIXED_ROWS, 5)))
    for missing in (0.0, 0.2):
        holes = rng.random((MIXED_ROWS, 5)) < missing
        x, c = np.where(holes, np.nan, numbers), np.where(holes[:, ::-1], np.nan, codes)
        table = {**{f"x{j}": x[:, j] for j in range(5)}, **{f"c{j}": c[:, j] for j in range(5)}}
        kinds = {name: "category" if name[0] == "c" else "number" for name in table}
        problem = problem_of(credo.Mixture(4, "diagonal", kinds=kinds), table, None, None)
        (start,) = problem.starts(4, "diagonal", 1)
        steps = em_steps(start, problem.rows)
        next(steps)
        ours = min(_timed(lambda own=steps: [next(own) for _ in range(STEPS)])[0] for _ in range(TIMES))  # type: ignore[misc]
        end = "_nan" if missing else ""
        blocks = {
            "numbers": {"model": f"gaussian_diag{end}", "n_columns": 5},
            "codes": {"model": f"categorical{end}", "n_columns": 5},
        }

        data = pd.DataFrame(table)

        def theirs(most: int, data: Any = data, blocks: Any = blocks) -> float:
            quiet: Any = {"progress_bar": 0, "verbose": 0, "abs_tol": 0.0, "rel_tol": 0.0}
            peer = StepMix(4, measurement=blocks, max_iter=most, n_init=1, random_state=0, **quiet)
            return min(_timed(lambda: peer.fit(data))[0] for _ in range(2))

        taken = max(theirs(1 + STEPS) - theirs(1), 1e-9)
        yield Line(
            f"{STEPS} steps of EM, {MIXED_ROWS // 1000}k x 10 mixed, {missing:.0%} missing", "stepmix", ours, taken, 10
        )


def _beside_pomegranate() -> Iterator[Any]:
    """Steps of EM of Gaussian components that are round and lie apart: pomegranate takes floats of 32 bits, in which
    others have singular covariances."""
    try:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel
    except ImportError:
        return

    torch.set_num_threads(1)
    rng = np.random.default_rng(2)
    own = rng.integers(0, COMPONENTS, MIXED_ROWS)
    x = rng.normal(size=(MIXED_ROWS, COLUMNS)) + 3.0 * rng.normal(size=(COMPONENTS, COLUMNS))[own]
    kinds = {name: kind for name, kind in PEER_KINDS.items() if name != "tied"}
    for covariance, kind in kinds.items():
        problem = problem_of(credo.Mixture(COMPONENTS, covariance), x, None, None)  # type: ignore[arg-type]
        (start,) = problem.starts(COMPONENTS, covariance, 1)  # type: ignore[arg-type]
        steps = em_steps(start, problem.rows)
        next(steps)
        ours = min(_timed(lambda own=steps: [next(own) for _ in range(STEPS)])[0] for _ in range(TIMES))  # type: ignore[misc]
        spread = torch.eye(COLUMNS) if kind == "full" else torch.ones(COLUMNS)

        def theirs(most: int, kind: str = kind, spread: Any = spread) -> float:
            first = [Normal(torch.tensor(x[i]).float(), spread, covariance_type=kind) for i in range(COMPONENTS)]
            peer = GeneralMixtureModel(first, max_iter=most, tol=-float("inf"))
            return _timed(lambda: peer.fit(torch.tensor(x).float()))[0]

        taken = min(theirs(1 + STEPS) - theirs(1) for _ in range(TIMES))
        yield Line(
            f"{STEPS} steps of EM, {MIXED_ROWS // 1000}k x {COLUMNS}, {covariance}", "pomegranate", ours, taken, 1
        )


def _out_of_core() -> Iterator[Any]:
    """Files that each step of EM reads in batches: four times as many take no more memory."""
    with TemporaryDirectory() as folder:
        for part in range(max(FILES)):
            _write_part(Path(folder) / f"{'few' if part < min(FILES) else 'more'}{part}.parquet", part)
        few, many = (peak_megabytes(_fit_files, f"{folder}/{names}.parquet") for names in ("few*", "*"))
    size = max(FILES) * FILE_ROWS * 10 * 8 / 2**30
    what = f"fit, {size:.1f} GB of Parquet files, 5 components, {FILE_STEPS} steps"
    yield Limit(f"{what}: memory of the process", many, 1000, "MB")
    yield Limit(f"{what}: more memory than for a quarter of the files", many - few, 64, "MB")


def _write_part(path: Path, seed: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    z = rng.integers(0, 5, FILE_ROWS)
    centres = 3.0 * np.random.default_rng(0).normal(size=(5, 10))
    columns = {f"x{j}": centres[z, j] + rng.normal(size=FILE_ROWS) for j in range(10)}
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, row_group_size=2**17)


def _fit_files(pattern: str) -> None:
    import warnings

    warnings.simplefilter("ignore")  # so few steps needn't converge
    credo.Mixture(5, "full", steps=FILE_STEPS).fit(pattern)


def _in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], times: int) -> tuple[float, float, Any]:
    """The best times of each, and what ours found."""
    own, its, found = np.inf, np.inf, None
    for _ in range(times):
        taken, found = _timed(ours)
        own, its = min(own, taken), min(its, _timed(theirs)[0])
    return own, its, found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
