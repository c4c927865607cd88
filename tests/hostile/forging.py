"""Files that were changed by hand: whatever of them loads can be used, or says in credo's words why not."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import credo
from credo.errors import CredoError
from credo.estimation.belief import Belief
from credo.estimation.beliefs import Beliefs
from credo.models.classifier import Classifier
from credo.networks.factor import Factor
from credo.networks.graphical_model import GraphicalModel
from credo.storage.files import ARRAYS_LINE
from tests.hostile.test_storage import signed

Node = Any  # of the header's JSON
Place = tuple[Any, Any]  # what holds a node, and the key or the index that it has there

ROWS: dict[str, list[Any]] = {
    "x": [1.0, 2.0, 3.0, 4.0, 2.5, 3.5, 1.5, 2.2],
    "z": [2.0, 1.0, None, 5.0, 1.5, 2.0, 0.5, None],
    "k": [1, 2, 3, 0, 2, 1, 4, 2],
    "b": [0.1, 0.2, 0.3, 0.4, None, 0.2, 0.3, 0.1],
    "w": ["u", "v", "u", "v", None, "u", "v", "u"],
    "t": ["win a prize", "see you at home", "prize prize now", "home late", "", "win win", "at home", "a prize"],
    "y": ["a", "b", "a", "b", "a", "b", "a", "b"],
}
AWAY_FROM_LINES: dict[str, list[Any]] = {  # no line passes through many of these rows
    "x": ROWS["x"] * 2,
    "w": ROWS["w"] * 2,
    "k": [1, 2, 3, 0, 2, 1, 4, 2, 2, 2, 4, 1, 3, 0, 5, 3],
}
CONCEPT_ROWS = {"sky": ["u", "v", "u"], "wind": [1, 1, 2], "y": ["yes", "no", "yes"]}
KINDS = {"k": "count", "b": credo.Number("binned"), "z": credo.Number("log"), "t": credo.Text()}


def quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notices, and what absurd numbers make NumPy say
        return call()


def _of(*names: str) -> dict[str, Any]:
    return {name: ROWS[name] for name in (*names, "y")}


def _tuned() -> Any:
    return credo.NaiveBayes(kinds={"t": credo.Text(ngrams=2)}).fit(_of("x", "t", "w"), "y").tune(_of("x", "t", "w"))


STORED: dict[str, Callable[[], Any]] = {
    "naive Bayes": lambda: credo.NaiveBayes(kinds=KINDS).fit(ROWS, "y"),
    "averaged": lambda: credo.NaiveBayes(average=True, class_prior={"a": 0.5, "b": 0.5}).fit(_of("x", "w"), "y"),
    "m-estimate": lambda: credo.NaiveBayes(m=2.0, p={"w": {"u": 0.5, "v": 0.5}}).fit(_of("w"), "y"),
    "words there or not": lambda: credo.NaiveBayes(kinds={"t": credo.Text("bernoulli")}).fit(_of("t"), "y"),
    "tuned": _tuned,
    "learned": lambda: credo.learn({name: cells * 3 for name, cells in _of("x", "z", "w").items()}, "y"),
    "full": lambda: credo.GaussianDiscriminant("full").fit(_of("x", "z", "w"), "y"),
    "tied": lambda: credo.GaussianDiscriminant("tied").fit(_of("x", "z"), "y"),
    "spherical": lambda: credo.GaussianDiscriminant("spherical").fit(_of("x", "z"), "y"),
    "fresh": lambda: credo.NaiveBayes(kinds=KINDS),
    "rates by group": lambda: credo.estimate({"g": ROWS["w"], "x": [0, 1] * 4}, "x", by="g", success=1),
    "categories by group": lambda: credo.estimate(ROWS, "w", by="y", prior=credo.DirichletCategorical(1)),
    "numbers by group": lambda: credo.estimate(ROWS, "x", by="y", prior="empirical"),
    "columns by group": lambda: credo.estimate(
        ROWS, ["x", "k"], by="y", prior=credo.NormalInverseWishart([0.0, 0.0], 1, 3, 1)
    ),
    "counts by group": lambda: credo.estimate(ROWS, "k", by="y", prior=credo.GammaPoisson(1, 1)),
    "several": lambda: credo.estimate(ROWS, ["x", "k"], by="y"),
    "a coin": lambda: credo.BetaBernoulli(1, 1).update([1, 0, 1]),
    "categories": lambda: credo.DirichletCategorical({"u": 1, "v": 2}).update(["u"]),
    "words": lambda: credo.DirichletMultinomial(1).update({"u": [1, 2], "v": [0, 3]}),
    "a uniform": lambda: credo.ParetoUniform(1, 1).update([1.0, 2.0]),
    "a waiting time": lambda: credo.GammaExponential(1, 1).update([1.0, 2.0]),
    "a mean": lambda: credo.NormalMean(0, 1, 1).update([1.0, 2.0]),
    "a line": lambda: credo.LinearRegression(0, 1, 1, 1).update({"x": [1.0, 2.0], "z": [2.0, 4.1]}, target="z"),
    "a regression": lambda: credo.LinearRegression(interactions=[("x", "w")]).fit(_of("x", "w", "k"), "k"),
    "a robust regression": lambda: credo.LinearRegression(noise="student").fit(AWAY_FROM_LINES, "k"),
    "a schema": lambda: credo.Schema.infer(ROWS),
    "hypotheses": lambda: credo.Hypotheses({"a": 0.5, "b": 0.3, "c": 0.2}).update([0.5, 0.1, 0.0]),
    "numbered hypotheses": lambda: credo.Hypotheses(np.arange(4)).update([0.1, 0.2, 0.3, 0.4]),
    "concepts": lambda: credo.Concepts({"sky": ["u", "v"], "wind": [1, 2]}).fit(CONCEPT_ROWS, target="y"),
    "concepts with label noise": lambda: credo.Concepts(noise=0.2).fit(CONCEPT_ROWS, target="y"),
    "an average": lambda: credo.average(
        [credo.NaiveBayes().fit(_of("x", "w"), "y"), credo.GaussianDiscriminant("tied").fit(_of("x", "w"), "y")]
    ),
    "a stack": lambda: credo.average([credo.NaiveBayes(), credo.TreeAugmented()], _of("x", "w"), by="loo", target="y"),
    "a network": lambda: credo.Network("rain -> wet <- hose; wet -> slip", tables={
        "rain": 0.2, "hose": 0.1, "wet": [[0.99, 0.9], [0.8, 0.01]], "slip": [0.3, 0.01]}),
    "a learned network": lambda: credo.Network("k -> v; k -> y").fit({**_of("k"), "v": [0, 1] * 4}),
    "tied tables": lambda: credo.Network(
        "a -> b -> c", states=("u", "v"), tied={"b": "step", "c": "step"}
    ).fit({"a": ["u", "v"], "b": ["u", "u"], "c": ["v", "u"]}, prior={"step": credo.DirichletCategorical([1.0, 2.0])}),
    "a network fitted by EM": lambda: credo.Network("k -> v; k -> y").fit(
        {**_of("k"), "v": [0, None] * 4}, prior=credo.BDeu(3)
    ),
    "an expert's network": lambda: credo.Network(
        "rain -> wet", {"rain": 0.2, "wet": [1.0, 0.1]}
    ).with_strength(20).update({"rain": ["yes", "no"], "wet": ["yes", "no"]}),
    "a dynamic network": lambda: credo.DynamicNetwork(
        "previous(a) -> a -> b", {"a": [[0.9, 0.1], [0.2, 0.8]], "b": [0.3, 0.6]}, {"a": [0.5, 0.5]}),
    "a learned dynamic network": lambda: credo.DynamicNetwork("previous(a) -> a -> b").fit(
        {"a": ["u", None, "v"], "b": ["x", "y", "x"]}),
    "plates": lambda: credo.PlateNetwork("A.a -> B.b", keys={"A": "k"}).fit(
        {"A": {"k": [1, 2], "a": ["u", "v"]}, "B": {"k": [1, 1, 2], "b": ["x", "y", "x"]}}),
    "a Markov network": lambda: credo.MarkovNetwork(
        {"a": (0, 1), "b": ("u", "v")}, [Factor(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]))]),
}  # fmt: skip


def places(node: Node) -> Iterator[Place]:
    """All that can be changed in it."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


ODD: list[Any] = [
    0, 1, -1, 2, 3, 10**6, 2**63, 0.5, -2.5, 1e300, "", "a", "x", "y", "nothing", True, False, None, [], {},
    {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": {}}, {"tuple": ["gaussian"]}, "gaussian", "category",
]  # fmt: skip


NUMBERS = [np.float64(x).tobytes() for x in (0, 1, -1, 0.5, 7, 1e9, 5e-324, np.nan, np.inf, -np.inf)]
NUMBERS += [np.int64(x).tobytes() for x in (1, 2, -1, 3, 2**40)]


def mutated(header: Node, rng: random.Random) -> None:
    """One thing in the model changed: for another of its own, for something odd, gone, twice, or called otherwise."""
    every = list(places(header["model"])) if isinstance(header["model"], dict | list) else []
    holder, key = rng.choice(every or [(header, "model")])
    value = holder[key]
    alike = [h[k] for h, k in every if type(h[k]) is type(value) and h[k] != value]
    names = [k for h, k in every if isinstance(h, dict)]
    what = rng.randrange(7)
    if what <= 2 and alike:
        holder[key] = json.loads(json.dumps(rng.choice(alike)))
    elif what == 3 and isinstance(holder, dict):
        items = [(rng.choice(names) if k == key else k, v) for k, v in holder.items()]
        holder.clear()
        holder.update(items)
    elif what == 4:
        if isinstance(holder, dict):
            del holder[key]
        elif isinstance(holder, list):
            holder.pop(key)
    elif what == 5 and isinstance(holder, list):
        holder.insert(key, value)
    elif what == 6 and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = value + rng.choice([-1, 1, 64, -64])
    else:
        holder[key] = rng.choice(ODD)


def forged(content: bytes, path: Path, rng: random.Random, changes: int = 1) -> None:
    """Write a file whose header was changed, its checksum being right."""
    header, _, arrays = content.partition(b"\n")[2].partition(b"\n" + ARRAYS_LINE)
    parsed = json.loads(header)
    for _ in range(changes):
        if rng.random() < 0.3 and len(arrays) >= 8:
            place = rng.randrange(len(arrays) // 8) * 8
            arrays = arrays[:place] + rng.choice(NUMBERS) + arrays[place + 8 :]
        else:
            mutated(parsed, rng)
    path.write_bytes(signed(json.dumps(parsed).encode() + b"\n" + ARRAYS_LINE + arrays))


def uses(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What a user does with what was loaded."""
    yield "repr", lambda: repr(model)
    if isinstance(model, dict):
        for each in model.values():
            yield from uses(each)
    elif isinstance(model, Classifier):
        yield from _uses_of_classifier(model)
    elif isinstance(model, Beliefs):
        yield from _uses_of_groups(model)
    elif isinstance(model, Belief):
        yield from _uses_of_belief(model)
    elif isinstance(model, credo.LinearRegression):
        yield from _uses_of_regression(model)
    elif isinstance(model, GraphicalModel):
        yield from _uses_of_network(model)
    elif isinstance(model, credo.DynamicNetwork):
        yield "filter", lambda: model.filter({"a": [model.states["a"][0], None], "b": [None, model.states["b"][0]]})
        yield "decode", lambda: model.decode({"b": [model.states["b"][0]] * 3})
        yield "update", lambda: model.update({"a": [model.states["a"][0]] * 2, "b": [model.states["b"][0]] * 2})
        yield "sample", lambda: model.sample(3, seed=0)
        yield "query", lambda: model.query("a[2]")
    elif isinstance(model, credo.PlateNetwork):
        yield "any", lambda: model.given({"B": {"k": [1, 1, 2]}}).any("B.b", model.states["B.b"][0])
        yield "update", lambda: model.update({"A": {"k": [1], "a": ["u"]}, "B": {"k": [1], "b": ["x"]}})
    elif isinstance(model, credo.Hypotheses):
        yield "posterior", lambda: model.posterior
        yield "update", lambda: model.update([0.5] * len(model)).most_probable()
        yield "votes", lambda: model.classify(["+"] * len(model))
    elif isinstance(model, credo.Concepts):
        yield "version space", lambda: [*model.version_space][:5]
        yield "map", lambda: model.posterior(model.most_probable())
        yield "vote", lambda: model.vote({"sky": "u", "wind": 2})
        yield "query", model.most_informative
        yield "learn and unlearn", lambda: model.update(CONCEPT_ROWS).forget(CONCEPT_ROWS)
    elif isinstance(model, credo.ModelAverage):
        yield "probabilities", lambda: model.predict_proba(ROWS)
        yield "learn and unlearn", lambda: model.update(ROWS).forget(ROWS).weights
        yield "explain", lambda: model.explain({name: cells[:1] for name, cells in ROWS.items()})
    elif isinstance(model, credo.Schema):
        yield "union", lambda: model | credo.Schema.infer(ROWS)


def _uses_of_regression(model: credo.LinearRegression) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "predict", lambda: model.predict(ROWS)
    yield "intervals", lambda: model.intervals(ROWS)
    yield "parameters", lambda: model.parameters()
    yield "mode", lambda: model.mode()
    yield "evidence", lambda: model.log_evidence()
    yield "explain", lambda: repr(model.explain({name: cells[0] for name, cells in ROWS.items()}))
    yield "leave-one-out", lambda: repr(model.leave_one_out(ROWS))
    yield "update", lambda: model.update(ROWS).predict(ROWS)
    yield "forget", lambda: model.forget(ROWS)
    yield "merge", lambda: (model + model).predict(ROWS)
    yield "ask", lambda: credo.ask(model, f"E({model.target})")


def _uses_of_classifier(model: Classifier) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "predict", lambda: model.predict(ROWS)
    yield "probabilities", lambda: model.predict_proba(ROWS)
    yield "log-joint", lambda: model.log_joint(ROWS)
    yield "explain", lambda: repr(model.explain({name: cells[0] for name, cells in ROWS.items()}))
    yield "parameters", lambda: model.parameters()
    yield "leave-one-out", lambda: repr(model.leave_one_out(ROWS))
    yield "update", lambda: model.update(ROWS).predict(ROWS)
    yield "forget", lambda: model.forget(ROWS)
    yield "merge", lambda: (model + model).predict_proba(ROWS)
    yield "sample", lambda: model.sample(3, seed=0)
    yield "report", lambda: repr(model.report)
    yield "scores", lambda: model.report and model.report.scores.summary()
    yield "live", lambda: model.live().predict_proba({"x": 1.0, "w": "u", "t": "win"})
    yield "page", lambda: _page(model)
    yield "show", lambda: _shown(model)


def _page(model: Any) -> str:
    from credo.present.classifier_page import page_of

    return page_of(model)


def _shown(model: Any) -> None:
    import io

    from rich.console import Console

    from credo.present.models import model_content
    from credo.present.terminal import show

    show(model_content(model), Console(file=io.StringIO()))


def _uses_of_groups(model: Beliefs) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "table", lambda: model.table()
    yield "mean", lambda: model.mean()
    yield "interval", lambda: model.interval()
    yield "evidence", lambda: model.log_evidence()
    yield "each", lambda: [repr(model[group]) for group in list(model)[:3]]
    yield "log_prob", lambda: model.log_prob(ROWS | {"g": ROWS["w"]})
    yield "update", lambda: model.update(ROWS | {"g": ROWS["w"]}).table()
    yield "forget", lambda: model.forget({name: cells[:1] for name, cells in (ROWS | {"g": ROWS["w"]}).items()})
    yield "merge", lambda: (model + model).table()


def _uses_of_belief(model: Belief) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "mean", lambda: model.mean()
    yield "interval", lambda: model.interval()
    yield "evidence", lambda: model.log_evidence()
    yield "maximum likelihood", lambda: model.maximum_likelihood()
    yield "predictive", lambda: model.predictive() if not model.family.has_target else model.predictive([1.0])
    for data in ([1, 0], ["u", "v"], {"x": [1.0, 2.0], "z": [1.0, 2.0]}, {"u": [1], "v": [2]}):
        yield f"update {data}", lambda data=data: model.update(data).mean()  # type: ignore[misc]
        yield f"log_prob {data}", lambda data=data: model.log_prob(data)  # type: ignore[misc]
    yield "merge", lambda: (model + model).mean()


def _uses_of_network(net: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "marginals", lambda: net.marginals()
    names = list(net.states)
    yield "query", lambda: net.query(names[0], given={names[-1]: net.states[names[-1]][0]}) if len(names) > 1 else None
    yield "most probable", lambda: net.most_probable()
    if net.directed:
        yield "sample", lambda: net.sample(3, seed=0)
    if getattr(net, "evidence", None) is not None:
        rows = {name: list(states)[:1] for name, states in net.states.items()}
        yield "update", lambda: net.update(rows).marginals()
        yield "forget", lambda: net.forget(rows).marginals()
        yield "merge", lambda: (net + net).marginals()
        yield "belief", lambda: net.belief(names[0], {n: net.states[n][0] for n in net.parents[names[0]]}).interval()
        yield "sampled", lambda: net.query(names[0], tables="sampled", samples=3)
        yield "expect", lambda: [net.expect(part) for part in net.coded({name: [None] for name in net.states})]


def faults(path: Path) -> Iterator[tuple[str, BaseException]]:
    """What goes wrong with a file beyond what credo says itself."""
    try:
        model = quietly(lambda: credo.load(path))
    except CredoError:
        return
    except Exception as error:
        yield "load", error
        return
    for name, use in uses(model):
        try:
            with np.errstate(all="ignore"):
                quietly(use)
        except CredoError:
            pass
        except Exception as error:
            yield name, error
