"""Classifiers of a million rows, 50 columns and 10 classes beside scikit-learn's, as a user calls them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import credo
from benchmarks.timing import Limit, Line, in_turns, peak_above

ROWS, COLUMNS, CLASSES, LEVELS = 1_000_000, 50, 10, 20
ADULT = Path(__file__).parents[2] / "shared" / "data" / "tables" / "adult" / "adult-train.csv.gz"


def labels(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    codes = rng.integers(0, CLASSES, rows)
    return codes, np.array([f"class {k}" for k in range(CLASSES)])[codes]


def numbers(rows: int = ROWS) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    codes, y = labels(rng, rows)
    return rng.standard_normal((rows, COLUMNS)) + (0.3 * rng.standard_normal((CLASSES, COLUMNS)))[codes], y


def categories(rows: int = ROWS) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    codes, y = labels(rng, rows)
    return (rng.integers(0, LEVELS, (rows, COLUMNS)) + rng.integers(0, 2, (rows, 1)) * codes[:, None]) % LEVELS, y


KINDS = {f"x{j}": "category" for j in range(COLUMNS)}


def table(x: Any, y: Any) -> Any:
    return pa.table({**{f"x{j}": x[:, j] for j in range(x.shape[1])}, "y": y})


def framed(arrow: Any, use: Callable[..., Any], *labelled: str) -> Callable[[], Any]:
    """What a peer's user does with an Arrow table: a data frame of it, which the peer reads."""

    def run() -> Any:
        frame = arrow.to_pandas()
        return use(frame.drop(columns="y"), *(frame[name] for name in labelled))

    return run


def pair(
    what: str, peer: str, ours: Callable[[], Any], theirs: Callable[[], Any], target: float, times: int = 3
) -> Line:
    ours()  # compiled, and warm
    return Line(what, peer, *in_turns(ours, theirs, times), target=target)


def gaussian(x: Any, y: Any) -> Iterator[Line | Limit]:
    from sklearn.naive_bayes import GaussianNB

    peer = GaussianNB(var_smoothing=0).fit(x, y)
    point = credo.NaiveBayes(estimate="ml", class_smoothing=0).fit(x, y)
    np.testing.assert_allclose(point.predict_proba(x[:1000]), peer.predict_proba(x[:1000]), atol=1e-8)
    bayes = credo.NaiveBayes().fit(x, y)
    arrow = table(x, y)
    fit = partial(GaussianNB().fit, x, y)
    yield pair("naive Bayes of numbers, fit, NumPy", "GaussianNB", lambda: credo.NaiveBayes().fit(x, y), fit, 10)
    from_arrow = framed(arrow, GaussianNB().fit, "y")
    yield pair(
        "the same from Arrow",
        "to_pandas, GaussianNB",
        lambda: credo.NaiveBayes().fit(arrow, target="y"),
        from_arrow,
        10,
    )
    foresee = partial(peer.predict_proba, x)
    yield pair("predict_proba, point estimates", "GaussianNB", lambda: point.predict_proba(x), foresee, 10, 2)
    yield pair("predict_proba, bayes", "GaussianNB", lambda: bayes.predict_proba(x), foresee, 5, 2)
    framed_peer = GaussianNB(var_smoothing=0).fit(arrow.drop(["y"]).to_pandas(), y)
    from_arrow = framed(arrow, framed_peer.predict_proba)
    yield pair(
        "predict_proba, point estimates, from Arrow",
        "to_pandas, GaussianNB",
        lambda: point.predict_proba(arrow),
        from_arrow,
        10,
        2,
    )
    yield pair(
        "predict_proba, bayes, from Arrow",
        "to_pandas, GaussianNB",
        lambda: bayes.predict_proba(arrow),
        from_arrow,
        5,
        2,
    )
    ours = partial(bayes.leave_one_out, x, target=y)
    yield pair("leave-one-out", "one predict_proba of credo", ours, partial(bayes.predict_proba, x), 1 / 3)
    averaged = credo.NaiveBayes(average=True).fit(x, y)
    yield pair(
        "predict_proba, averaged over 2⁵⁰ subsets", "not averaged", lambda: averaged.predict_proba(x),
        lambda: bayes.predict_proba(x), 1 / 2,
    )  # fmt: skip


def categorical(x: Any, y: Any) -> Iterator[Line]:
    from sklearn.naive_bayes import CategoricalNB

    peer = CategoricalNB().fit(x, y)
    model = credo.NaiveBayes(kinds=KINDS, class_smoothing=0).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x[:1000]), peer.predict_proba(x[:1000]), atol=1e-8)
    arrow = table(x, y)
    fit, foresee = partial(CategoricalNB().fit, x, y), partial(peer.predict_proba, x)
    ours = credo.NaiveBayes(kinds=KINDS)
    yield pair("naive Bayes of categories, fit, NumPy", "CategoricalNB", lambda: ours.fit(x, y), fit, 30, 2)
    from_arrow, peers = framed(arrow, CategoricalNB().fit, "y"), "to_pandas, CategoricalNB"
    yield pair("the same from Arrow", peers, lambda: ours.fit(arrow, target="y"), from_arrow, 30, 2)
    yield pair("predict_proba", "CategoricalNB", lambda: model.predict_proba(x), foresee, 8, 2)
    framed_peer = CategoricalNB().fit(arrow.drop(["y"]).to_pandas(), y)
    from_arrow = framed(arrow, framed_peer.predict_proba)
    yield pair("predict_proba, from Arrow", peers, lambda: model.predict_proba(arrow), from_arrow, 8, 2)
    left_out = partial(model.leave_one_out, x, target=y)
    yield pair("leave-one-out", "one predict_proba of credo", left_out, partial(model.predict_proba, x), 1 / 3)


def discriminants(x: Any, y: Any) -> Iterator[Line]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    linear, full = credo.GaussianDiscriminant("tied"), credo.GaussianDiscriminant("full")
    yield pair(
        "tied Gaussian, fit", "LDA", lambda: linear.fit(x, y), partial(LinearDiscriminantAnalysis().fit, x, y), 5, 2
    )
    peer = QuadraticDiscriminantAnalysis().fit(x, y)
    model = full.fit(x, y)
    assert (model.predict(x[:1000]) == peer.predict(x[:1000])).mean() > 0.99
    yield pair(
        "full Gaussian, fit", "QDA", lambda: full.fit(x, y), partial(QuadraticDiscriminantAnalysis().fit, x, y), 3, 2
    )
    foresee = partial(peer.predict_proba, x)
    yield pair("full Gaussian, predict_proba", "QDA", lambda: model.predict_proba(x), foresee, 3, 2)
    arrow = table(x, y)
    peers = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis()}
    for what, ours, name, target in (("tied", linear, "LDA", 5), ("full", full, "QDA", 3)):
        fit = framed(arrow, peers[name].fit, "y")
        yield pair(
            f"{what} Gaussian, fit, from Arrow",
            f"to_pandas, {name}",
            partial(ours.fit, arrow, target="y"),
            fit,
            target,
            2,
        )
    from_arrow = framed(arrow, peers["QDA"].predict_proba)
    yield pair(
        "full Gaussian, predict_proba, from Arrow",
        "to_pandas, QDA",
        partial(model.predict_proba, arrow),
        from_arrow,
        3,
        2,
    )


def streams() -> Iterator[Line]:
    """Rows one at a time."""
    from river.naive_bayes import GaussianNB

    x, y = numbers(2000)
    names = [f"x{j}" for j in range(COLUMNS)]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in x]
    yield _streamed("2,000 single rows of 50 numbers", GaussianNB(), rows, y)


def _streamed(what: str, peer: Any, rows: list[dict[str, Any]], y: Any) -> Line:
    labelled = [{**row, "y": label} for row, label in zip(rows, y.tolist(), strict=True)]
    live = credo.NaiveBayes().fit(labelled[:100], target="y").live()

    def ours() -> None:
        for row in labelled:
            live.observe(row)

    def theirs() -> None:
        for row, label in zip(rows, y, strict=True):
            peer.learn_one(row, label)

    return pair(what, "river's learn_one", ours, theirs, 1)


def memory() -> Iterator[Limit | Line]:
    """Megabytes above the data, in processes of their own."""
    ours, theirs = peak_above(_fit_ours), peak_above(_fit_theirs)
    yield Limit("fit: memory above the data, of GaussianNB's", ours / max(theirs, 1.0), 0.25, "times")
    output = 8 * ROWS * CLASSES / 2**20
    yield Limit("predict_proba: memory above data and output", peak_above(_foresee) - output, 64, "MB")
    few, many = (peak_above(partial(_score_file, rows)) for rows in (ROWS, 4 * ROWS))
    yield Limit("credo predict, 4 times as long a CSV (10 numbers a row): more memory", many - few, 64, "MB")


def _fit_ours(measure: Callable[[], None]) -> None:
    x, y = numbers()
    credo.NaiveBayes().fit(x[:200_000], y[:200_000])  # enough for the kernels, and Numba, to be loaded
    measure()
    credo.NaiveBayes().fit(x, y)


def _fit_theirs(measure: Callable[[], None]) -> None:
    from sklearn.naive_bayes import GaussianNB

    x, y = numbers()
    GaussianNB().fit(x[:5000], y[:5000])
    measure()
    GaussianNB().fit(x, y)


def _foresee(measure: Callable[[], None]) -> None:
    x, y = numbers()
    model = credo.NaiveBayes().fit(x, y)
    model.predict_proba(x[:5000])
    measure()
    model.predict_proba(x)


def _score_file(rows: int, measure: Callable[[], None]) -> None:
    """From CSV to CSV, as the command does."""
    from tempfile import TemporaryDirectory

    from click.testing import CliRunner
    from pyarrow import csv

    from credo.cli import main

    x, y = numbers(20_000)
    columns = {f"x{j}": x[:, j] for j in range(10)}
    with TemporaryDirectory() as folder:
        model = f"{folder}/m.credo"
        credo.save(credo.NaiveBayes().fit({**columns, "y": y}, target="y"), model)
        part = pa.table(columns)
        with csv.CSVWriter(f"{folder}/in.csv", part.schema) as out:
            for _ in range(rows // len(part)):
                out.write_table(part)
        measure()
        found = CliRunner().invoke(main, ["predict", model, f"{folder}/in.csv", "-o", f"{folder}/out.csv"])
        assert found.exit_code == 0, found.output


def whole_job() -> Iterator[Limit | str]:
    if not ADULT.is_file():
        yield "| credo.learn on adult | - | skipped: no such table beside the checkout | | | |"
        return
    start = time.perf_counter()
    credo.learn(str(ADULT), target="income")
    yield Limit("credo.learn on adult, from its .csv.gz", time.perf_counter() - start, 5, "s")


def run() -> Iterator[Line | Limit | str]:
    yield from whole_job()
    x, y = numbers()
    yield from gaussian(x, y)
    yield from discriminants(x, y)
    del x
    yield from categorical(*categories())
    yield from streams()
    yield from memory()
