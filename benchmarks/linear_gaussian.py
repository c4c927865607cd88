"""Linear-Gaussian networks: a thousand numbers beside pgmpy, ten thousand alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import credo
from benchmarks.timing import Limit, Line, one_thread

VARIABLES, MANY, KNOWN, TIMES = 1000, 10_000, 100, 3


def run() -> Iterator[Line | Limit]:
    net, given = network(VARIABLES), evidence(VARIABLES)
    asked = f"x{VARIABLES // 2}"
    with one_thread():
        theirs = pgmpy_network(net)
        rows = one_row(given)
        one, all_of_them, peer = interleaved(
            lambda: net.query(asked, given), lambda: net.marginals(given), lambda: theirs.predict_probability(rows)
        )
        names, mean, _ = theirs.predict_probability(rows)
        found = float(net.query(asked, given).mean())
        assert abs(found - float(mean[0][[*names].index(asked)])) < 1e-6
        what = f"{VARIABLES:,} numbers, {KNOWN} known"
        yield Line(f"{what}: one posterior, CPU time", "pgmpy, all", one, peer, 10.0)
        yield Line(f"{what}: all posteriors, CPU time", "pgmpy", all_of_them, peer, 10.0)
        many, known = network(MANY), evidence(MANY)
        (single,) = interleaved(lambda: many.query(f"x{MANY // 2}", known))
        (every,) = interleaved(lambda: many.marginals(known), times=1)
        yield Limit(f"{MANY:,} numbers, {KNOWN} known: one posterior, CPU time", single, 1.0, "s")
        yield Limit(f"{MANY:,} numbers, {KNOWN} known: all posteriors, CPU time", every, 5.0, "s")


def network(size: int) -> credo.HybridNetwork:
    """Each number depends on up to three of the twenty before it."""
    random = np.random.default_rng(0)
    nodes: dict[str, Any] = {}
    for i in range(size):
        above = random.permutation(np.arange(max(0, i - 20), i))[:3]
        weights = {f"x{j}": float(random.normal(0, 0.5)) for j in above}
        nodes[f"x{i}"] = credo.nodes.Normal(float(random.normal()), sd=1.0, weights=weights)
    return credo.HybridNetwork({name: [*node.weights] for name, node in nodes.items()}, nodes)


def evidence(size: int) -> dict[str, float]:
    random = np.random.default_rng(1)
    places = random.choice(np.setdiff1d(np.arange(size), [size // 2]), KNOWN, replace=False)
    return {f"x{i}": float(random.normal()) for i in places}


def pgmpy_network(net: credo.HybridNetwork) -> Any:
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork([(above, name) for name, own in net.parents.items() for above in own])
    model.add_nodes_from(net.parents)
    for name, node in net.numbers.items():
        beta = [float(node.intercept), *node.weights.tolist()]
        model.add_cpds(LinearGaussianCPD(name, beta, float(np.sqrt(node.variance)), [*node.numbers]))
    return model


def one_row(given: dict[str, float]) -> Any:
    import pandas as pd

    return pd.DataFrame({name: [value] for name, value in given.items()})


def interleaved(*work: Callable[[], Any], times: int = TIMES) -> list[float]:
    """CPU seconds of each, in turns, the best of a few."""
    found = [[] for _ in work]  # type: list[list[float]]
    for _ in range(times):
        for own, each in zip(found, work, strict=True):
            start = time.process_time()
            each()
            own.append(time.process_time() - start)
    return [min(own) for own in found]
