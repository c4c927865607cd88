"""The models behind the stored files, and the answers that are kept beside them.

`python -m tests.stored.models FOLDER` writes both with the credo that is imported. Only public names are used, so that
this runs with any version.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import credo

Table = dict[str, list[Any]]
MOST = 50  # items of a list that are kept
KINDS = {"k": "count", "b": credo.Number("binned"), "z": credo.Number("log"), "t": credo.Text()}


def table(rows: int = 48) -> Table:
    """Numbers, categories, counts, dates and texts, some of them missing, of two classes."""
    rng = np.random.default_rng(7)
    y = [("a", "b")[i] for i in rng.integers(0, 2, rows)]
    shift = np.array([value == "b" for value in y], dtype=float)
    start = datetime(2024, 2, 26, 6, 30)
    words = np.array(["win", "prize", "now", "home", "late", "see", "you", "ça"])
    odds = np.where(shift[:, None] > 0, [1, 1, 1, 6, 4, 4, 4, 1], [5, 5, 4, 1, 1, 1, 1, 1])
    cells: Table = {
        "x": np.round(rng.normal(2 * shift, 1.0), 3).tolist(),
        "z": np.round(rng.lognormal(shift, 0.5), 3).tolist(),
        "k": rng.poisson(1 + 2 * shift).tolist(),
        "b": np.round(rng.uniform(0, 1 + shift), 3).tolist(),
        "w": [str(value) for value in np.where(rng.random(rows) < 0.3 + 0.4 * shift, "u", "v")],
        "d": [start + timedelta(int(i), hours=int(h)) for i, h in zip(rng.permutation(rows), 9 * shift, strict=True)],
        "t": [" ".join(rng.choice(words, 5, p=p / p.sum())) for p in odds],
        "y": y,
    }  # fmt: skip
    for name, step in (("z", 9), ("b", 11), ("w", 13)):
        cells[name] = [None if i % step == step - 1 else cell for i, cell in enumerate(cells[name])]
    return cells


ROWS = table()


def _of(*names: str) -> Table:
    return {name: ROWS[name] for name in (*names, "y")}


def _wide() -> Table:
    """Groups with few of many categories each, which are kept as a sparse table."""
    return {"g": [f"g{i % 1050}" for i in range(1200)], "c": [f"c{i * 3 % 1009}" for i in range(1200)]}


def _tuned(rows: Table, **options: Any) -> Any:
    return credo.NaiveBayes(**options).fit(rows, "y").tune(rows)


def _network() -> Any:
    tables = {"rain": 0.2, "hose": 0.1, "wet": [[0.99, 0.9], [0.8, 0.01]], "slip": [0.3, 0.01]}
    return credo.Network("rain -> wet <- hose; wet -> slip", tables=tables)


MODELS: dict[str, Callable[[], Any]] = {
    "belief": lambda: credo.BetaBernoulli(2, 3).update([True, True, False]),
    "belief_categories": lambda: credo.DirichletCategorical({"u": 1, "v": 2}).update(["u", "u"]),
    "belief_line": lambda: credo.LinearRegression(0, 1, 1, 1).update(
        {"x": [1.0, 2.0, 3.5], "z": [2.0, 4.1, 6.8]}, target="z"
    ),
    "belief_uniform": lambda: credo.ParetoUniform(1, 1).update([1.0, 2.0]),
    "beliefs": lambda: credo.estimate(ROWS, "x", by="y"),
    "beliefs_sparse": lambda: credo.estimate(_wide(), "c", by="g", prior=credo.DirichletCategorical(1)),
    "beliefs_rates": lambda: credo.estimate(ROWS, "w", by="y", prior=credo.BetaBernoulli(1, 1), success="u"),
    "beliefs_dict": lambda: credo.estimate(ROWS, ["x", "k"], by="y"),
    "naive_bayes": lambda: credo.NaiveBayes(kinds=KINDS, class_prior={"a": 0.4, "b": 0.6}).fit(ROWS, "y"),
    "m_estimate": lambda: credo.NaiveBayes(m=2.0, p={"w": {"u": 0.5, "v": 0.5}}).fit(_of("w"), "y"),
    "learned": lambda: credo.learn(_of("x", "z", "b", "w", "d"), "y", seed=0),
    "tuned_text": lambda: _tuned(_of("t"), kinds={"t": credo.Text(ngrams=2)}),
    "tuned_mixed": lambda: _tuned(_of("x", "t", "w", "d"), kinds={"t": credo.Text()}),
    "documents": lambda: credo.NaiveBayes(kinds={"t": credo.Text("bernoulli")}).fit(_of("t"), "y"),
    "odd_target": lambda: credo.NaiveBayes(kinds={"t": credo.Text()}).fit(
        {**_of("x", "t"), "(pairs) t": ROWS["y"]} | {"y": [0.0] * len(ROWS["y"])}, "(pairs) t"
    ),
    "odd_column": lambda: credo.estimate({"(numbers)": ROWS["x"], "(rows)": ROWS["y"]}, "(numbers)", by="(rows)"),
    "hashed": lambda: credo.NaiveBayes(kinds={"t": credo.Text(hashed=64)}).fit(_of("t"), "y"),
    "discriminant": lambda: credo.GaussianDiscriminant("full").fit(_of("x", "z", "w"), "y"),
    "discriminant_tied": lambda: credo.GaussianDiscriminant("tied").fit(_of("x", "z"), "y"),
    "discriminant_spherical": lambda: credo.GaussianDiscriminant("spherical").fit(_of("x", "z"), "y"),
    "network": lambda: _network(),
    "markov_network": lambda: credo.MarkovNetwork(_network().states, _network().factors),
    "kinds": lambda: {"n": credo.Number("log"), "t": credo.Text(ngrams=2, stop_words=("the",), max_words=9)},
    "priors": lambda: {
        "beta": credo.BetaBernoulli(2, 3), "poisson": credo.GammaPoisson(1, 2),
        "exponential": credo.GammaExponential(1, 2), "mean": credo.NormalMean(0, 1, 2),
        "normal": credo.NormalInverseGamma(0, 1, 2, 3),
        "joint": credo.NormalInverseWishart([0.0, 1.0], 1, 3, 1), "line": credo.LinearRegression(0, 1, 1, 1),
        "uniform": credo.ParetoUniform(1, 2), "categories": credo.DirichletCategorical({"u": 1, "v": 2}),
        "words": credo.DirichletMultinomial(1),
    },
    "beliefs_joint": lambda: credo.estimate(
        ROWS, ["x", "k"], by="y", prior=credo.NormalInverseWishart([0.0, 0.0], 1, 3, 1)
    ),
    "words": lambda: credo.DirichletMultinomial(1).update({"u": [1, 2], "v": [0, 3]}),
    "counts": lambda: credo.GammaPoisson(1, 1).update([1, 2, 0, 4]),
    "schema": lambda: credo.Schema.infer(ROWS),
    "scores": lambda: credo.NaiveBayes().fit(_of("x", "w"), "y").leave_one_out(_of("x", "w")),
}  # fmt: skip


def answers(model: Any) -> dict[str, Any]:
    """What a user learns from a model, as JSON holds it."""
    return {name: _plain(ask()) for name, ask in _questions(model)}


def _questions(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    if isinstance(model, dict):
        for name, each in model.items():
            yield from ((f"{name}: {what}", ask) for what, ask in _questions(each))
    elif hasattr(model, "predict_log_proba"):
        yield from _of_classifier(model)
    elif hasattr(model, "most_probable"):
        yield "marginals", lambda: {name: dict(model.query(name)) for name in model.states}
        yield "given", lambda: dict(model.query("rain", given={"slip": model.states["slip"][0]}))
    elif hasattr(model, "table"):
        few = list(model)[:5]
        yield "n", lambda: model.n
        yield "groups", lambda: few
        yield "evidence", model.log_evidence
        yield "means", lambda: [model[group].mean() for group in few]
    elif hasattr(model, "log_evidence") and hasattr(model, "evidence"):
        yield "n", lambda: model.n
        yield "evidence", model.log_evidence
        yield "posterior", lambda: repr(model.posterior)
    elif hasattr(model, "log_loss"):
        yield "log-loss", lambda: model.log_loss
        yield "accuracy", lambda: model.accuracy
    else:
        yield "repr", lambda: repr(model)


def _of_classifier(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "classes", lambda: list(model.classes)
    yield "n", lambda: model.n
    rows = ROWS if model.target == "y" else {**ROWS, "y": [0.0] * len(ROWS["y"]), model.target: ROWS["y"]}
    few = {name: cells[:5] for name, cells in rows.items()}
    yield "log-joint", lambda: model.log_joint(rows)
    yield "probabilities", lambda: model.predict_proba(rows)
    yield "after more rows", lambda: model.update(rows).log_joint(rows)
    yield "after forgetting", lambda: model.forget(few).log_joint(rows)
    yield "report", lambda: model.report and [each.name for each in model.report.tried]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in islice(value.items(), MOST)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value[:MOST]]
    if hasattr(value, "to_pylist"):
        return value.to_pylist()
    return value


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name, make in MODELS.items():
        model = make()
        credo.save(model, folder / f"{name}.credo")
        (folder / f"{name}.json").write_text(json.dumps(answers(model)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
