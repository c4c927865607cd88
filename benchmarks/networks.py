"""Belief networks beside pyAgrum (its best engine) and pgmpy: questions, rows, samples, files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.timing import Limit, Line, in_turns, peak_above
from credo._kernels.jit import forced
from credo.networks.network import Network

SMALLEST = ("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance")  # asked once
SMALL = ("alarm", "hepar2", "win95pts", "hailfinder")
MIDDLE = ("andes", "pigs")
LARGE = ("water", "mildew", "barley", "diabetes", "munin")
NEW = dict.fromkeys(SMALL, 10.0) | dict.fromkeys(MIDDLE, 2.0) | dict.fromkeys(LARGE, 0.5)  # how much faster
SAME = dict.fromkeys(SMALL, 50.0) | dict.fromkeys(MIDDLE, 20.0) | dict.fromkeys(LARGE, 1.0)
KNOWN, PATTERNS, TARGET = 0.1, 20, "HYPOVOLEMIA"
ROWS, CHAIN = 100_000, 100_000
FIRST = 1.0  # how much faster the first question without evidence is, on every network


def run() -> Iterator[Any]:
    with forced("compiled"):  # plain Python, which begins in a new process, is measured by first_use
        yield from _lines()


def _lines() -> Iterator[Any]:
    """All marginals with a tenth of the variables known; then what is done with many rows."""
    for name in SMALLEST:
        net = network(name)
        _ours(net, {})
        yield _first(name, net, peer_of(net))
    for name, target in NEW.items():
        net = network(name)
        yield from _marginals(name, net, peer_of(net), target, SAME[name])
    yield from _pgmpy(network("alarm"))
    for name in ("munin1", "link"):
        peak = peak_above(partial(_whole, name))
        yield Limit(f"{name}, all marginals without evidence, exact: peak memory", peak, 8192, "MB")
    alarm = network("alarm")
    yield from _rows(alarm, peer_of(alarm))
    yield from _sampled(alarm, peer_of(alarm))
    yield from _first_minute(alarm)
    yield from _large()
    yield _read()


def network(name: str) -> Network:
    """One of the bnlearn repository, from pgmpy's wheel."""
    found = Network.read(str(_path(name)))
    assert isinstance(found, Network)
    return found


def _path(name: str) -> Path:
    return Path(str(resources.files("pgmpy"))) / "utils" / "example_models" / f"{name}.bif.gz"


def peer_of(net: Network) -> Any:
    """The same network in pyAgrum: states by their numbers, since it refuses some of their names."""
    import pyagrum as gum

    made = gum.BayesNet()
    for name, states in net.states.items():
        made.add(gum.LabelizedVariable(name, name, [f"s{k}" for k in range(len(states))]))
    for name, above in net.parents.items():
        for parent in above:
            made.addArc(parent, name)
    for name, above in net.parents.items():
        table = made.cpt(name)
        axes = [*above, name]
        turned = net.tables[name].transpose([axes.index(each) for each in reversed(table.names)])
        table[:] = np.ascontiguousarray(turned)
    return made


def _evidence(net: Network, count: int, seed: int) -> list[dict[str, Any]]:
    """A tenth of the variables, others each time, in states that are possible together."""
    random = np.random.default_rng(seed)
    rows = net.sample(count, seed=seed).to_pylist()
    size = max(1, round(KNOWN * len(net.variables)))
    return [{str(name): row[name] for name in random.choice(net.variables, size, replace=False)} for row in rows]


def _coded(net: Network, given: dict[str, Any]) -> dict[str, int]:
    return {name: net.states[name].index(state) for name, state in given.items()}


def _ours(net: Network, given: dict[str, Any]) -> None:
    net.marginals(given)


def _theirs(engine: Any, nodes: list[int], given: dict[int, int]) -> None:
    engine.setEvidence(given)
    engine.makeInference()
    for node in nodes:
        engine.posterior(node)


def _changed(engine: Any, nodes: list[int], given: dict[int, int]) -> None:
    for node, code in given.items():
        engine.chgEvidence(node, code)
    engine.makeInference()
    for node in nodes:
        engine.posterior(node)


def _engines() -> tuple[Any, ...]:
    import pyagrum as gum

    return gum.LazyPropagation, gum.ShaferShenoyInference


def _best_engine(peer: Any, nodes: list[int], questions: list[dict[int, int]], same: bool) -> Any:
    """The one that answers these soonest, each new to it or all of one pattern."""

    def seconds(kind: Any) -> float:
        engine, best = kind(peer), float("inf")
        _theirs(engine, nodes, questions[0])
        for _ in range(2):
            start = time.perf_counter()
            for given in questions[1:]:
                (_changed if same else _theirs)(engine, nodes, given)
            best = min(best, time.perf_counter() - start)
        return best

    return min(_engines(), key=seconds)


def _marginals(name: str, net: Network, peer: Any, new: float, same: float) -> Iterator[Line]:
    """Without evidence; each pattern new to a network of which nothing is compiled yet; then one pattern, with other
    values. The peer is asked by the numbers of nodes and states, with its better engine."""
    nodes = [peer.idFromName(each) for each in net.variables]

    def coded(given: dict[str, Any]) -> dict[int, int]:
        return {peer.idFromName(each): code for each, code in _coded(net, given).items()}

    patterns = _evidence(net, PATTERNS, 1)
    codes = [coded(given) for given in patterns]
    kind = _best_engine(peer, nodes, codes[:3], same=False)
    best = f"pyAgrum ({kind.__name__})"
    _ours(net, patterns[0])  # Numba's compiling is once and for all
    yield _first(name, net, peer)
    start: list[float] = []
    few = 1 if name in LARGE else 3

    def ours_new() -> None:
        fresh = Network(net.parents, net.tables, net.states)
        _ = fresh.potentials
        start.append(time.perf_counter())
        for given in patterns:
            _ours(fresh, given)

    def theirs_new() -> None:
        engine = kind(peer)
        start.append(time.perf_counter())
        for given in codes:
            _theirs(engine, nodes, given)

    ours, theirs = (_since(each, start, few) / PATTERNS for each in (ours_new, theirs_new))
    yield Line(f"{name}, all marginals, evidence pattern new each time", best, ours, theirs, new)
    names = [*patterns[0]]
    count = PATTERNS if name in LARGE else 10 * PATTERNS
    values = [{each: row[each] for each in names} for row in net.sample(count, seed=2).to_pylist()]
    codes = [coded(given) for given in values]
    for _ in range(3):
        _ours(net, values[0])
    kind = _best_engine(peer, nodes, codes[:4], same=True)
    best, engine = f"pyAgrum ({kind.__name__})", kind(peer)
    _theirs(engine, nodes, codes[0])

    def ours_same() -> None:
        for given in values:
            _ours(net, given)

    def theirs_same() -> None:
        for given in codes:
            _changed(engine, nodes, given)

    ours, theirs = (each / count for each in in_turns(ours_same, theirs_same, few))
    yield Line(f"{name}, all marginals, same pattern, other values", best, ours, theirs, same)
    if name in SMALL:

        def looked_at() -> None:
            for given in values:
                dict(net.marginals(given))

        ours, theirs = (each / count for each in in_turns(looked_at, theirs_same, 1))
        yield Line(f"{name}, the same, and each looked at as a dict", best, ours, theirs, 1)
        yield _one(name, net, peer, values, codes)


def _first(name: str, net: Network, peer: Any) -> Line:
    """Without evidence, of a network of which nothing is compiled yet."""
    start: list[float] = []
    nodes, few = [peer.idFromName(each) for each in net.variables], 1 if name in LARGE else 5

    def ours() -> None:
        fresh = Network(net.parents, net.tables, net.states)
        _ = fresh.potentials
        start.append(time.perf_counter())
        fresh.marginals()

    def theirs(one: Any) -> None:
        engine = one(peer)
        start.append(time.perf_counter())
        _theirs(engine, nodes, {})

    mine, other = _since(ours, start, few), min(_since(partial(theirs, one), start, few) for one in _engines())
    return Line(f"{name}, all marginals, first question, no evidence", "pyAgrum (its best)", mine, other, FIRST)


def _one(name: str, net: Network, peer: Any, values: list[dict[str, Any]], codes: list[dict[int, int]]) -> Line:
    """What is asked for is told before: of the peer, its one target."""
    import pyagrum as gum

    asked = next(each for each in net.variables if each not in values[0])
    target = peer.idFromName(asked)
    engine = gum.LazyPropagation(peer)
    engine.setTargets({target})
    _theirs(engine, [target], codes[0])
    for _ in range(3):
        net.query(asked, values[0])

    def ours() -> None:
        for given in values:
            net.query(asked, given)

    def theirs() -> None:
        for given in codes:
            _changed(engine, [target], given)

    mine, other = (each / len(values) for each in in_turns(ours, theirs, 3))
    return Line(f"{name}, one variable, same pattern, other values", "pyAgrum (LazyPropagation)", mine, other, target=1)


def _since(work: Callable[[], None], start: list[float], times: int) -> float:
    """The best of a few, from where the work says that it begins."""
    best = float("inf")
    for _ in range(times):
        work()
        best = min(best, time.perf_counter() - start[-1])
    return best


def _pgmpy(net: Network) -> Iterator[Line]:
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    with TemporaryDirectory() as folder:
        path = Path(folder, "alarm.bif")
        net.write(path)
        model = BIFReader(str(path)).get_model()
    given = _evidence(net, 1, 1)[0]
    inference = VariableElimination(model)

    def theirs() -> None:
        for name in net.variables:
            if name not in given:
                inference.query([name], evidence=given, show_progress=False)

    yield Line("alarm, all marginals, same pattern", "pgmpy", *in_turns(partial(_ours, net, given), theirs), target=10)


def _whole(name: str, measure: Callable[[], None]) -> None:
    net = network(name)
    measure()
    net.marginals(method="exact")


def _rows(net: Network, peer: Any) -> Iterator[Line]:
    """One variable of each row, the others known; then a fifth of all cells missing."""
    import pyagrum as gum
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    table = net.sample(ROWS, seed=3)
    others = [name for name in table.column_names if name != TARGET]
    coded = {name: np.asarray(table[name].combine_chunks().indices) for name in others}
    frame = pa.table({name: pa.array([f"s{k}" for k in codes]) for name, codes in coded.items()}).to_pandas()
    classifier = BNClassifier(type_processor=DiscreteTypeProcessor())
    classifier.fromTrainedModel(peer, targetAttribute=TARGET, targetModality="s0", copy=False)
    some = frame.head(ROWS // 20)
    ours = partial(net.predict_proba, TARGET, table.select(others))
    ours()
    seconds, theirs = in_turns(ours, lambda: classifier.predict_proba(some))
    yield Line(
        "alarm, predict_proba, all others known, a row", "pyAgrum", seconds / ROWS, theirs / len(some), target=100
    )
    random = np.random.default_rng(4)
    missing = {name: random.random(ROWS) < 0.2 for name in others}
    holes = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array(coded[name], mask=missing[name]), table[name].combine_chunks().dictionary
            )
            for name in others
        }
    )
    engine = gum.LazyPropagation(peer)
    engine.setTargets({TARGET})
    rows = [{name: int(coded[name][r]) for name in others if not missing[name][r]} for r in range(300)]

    def row_by_row() -> None:
        for given in rows:
            engine.setEvidence(given)
            engine.makeInference()
            engine.posterior(TARGET)

    ours = partial(net.predict_proba, TARGET, holes)
    ours()
    seconds, theirs = in_turns(ours, row_by_row)
    yield Line("alarm, predict_proba, 20% missing, a row", "pyAgrum", seconds / ROWS, theirs / len(rows), target=50)


def _sampled(net: Network, peer: Any) -> Iterator[Line]:
    """Drawn alone, in whatever form; and into an Arrow table."""
    import pyagrum as gum

    def drawn() -> Any:
        generator = gum.BNDatabaseGenerator(peer)
        generator.drawSamples(1_000_000)
        return generator

    ours = partial(net.sample, 1_000_000, seed=0)
    ours()
    yield Line("alarm, 1M rows sampled", "pyAgrum (drawSamples alone)", *in_turns(ours, drawn, 2), target=5)
    seconds = in_turns(ours, lambda: pa.Table.from_pandas(drawn().to_pandas()), 1)
    yield Line("alarm, 1M rows sampled into an Arrow table", "pyAgrum", *seconds, target=10)


PEERS_SCRIPT = """
import pyagrum as gum
net = gum.loadBN({path!r})
engine = gum.LazyPropagation(net)
engine.setEvidence({{"HRBP": "HIGH"}})
engine.makeInference()
print(engine.posterior("HYPOVOLEMIA"))
"""


def _first_minute(net: Network) -> Iterator[Any]:
    """A question in the command line, in a process of its own; without any kernel in the cache, too."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "alarm.bif"))
        net.write(path)
        question = [sys.executable, "-m", "credo", "ask", path, "P(HYPOVOLEMIA | HRBP=HIGH)"]

        def run(command: list[str], cache: str | None = None) -> None:
            own = {**os.environ, "NUMBA_CACHE_DIR": cache} if cache else None
            subprocess.run(command, check=True, capture_output=True, env=own)

        script = [sys.executable, "-c", PEERS_SCRIPT.format(path=path)]
        ours, theirs = in_turns(partial(run, question), partial(run, script), 3)
        yield Line("alarm, credo ask, a process of its own", "pyAgrum, a script", ours, theirs, target=0.3)
        cold, _ = in_turns(lambda: run(question, mkdtemp(dir=folder)), lambda: None, 2)
        yield Limit("alarm, credo ask, a process of its own, no kernels in the cache", cold, 6, "s")


def _large() -> Iterator[Limit]:
    """A chain of so many variables: all marginals, and what one question takes of it."""
    random = np.random.default_rng(0)
    parents = {f"x{i}": (f"x{i - 1}",) if i else () for i in range(CHAIN)}
    tables = {name: random.dirichlet([1.0, 1.0], (2,) * len(above)) for name, above in parents.items()}
    start = time.perf_counter()
    net = Network(parents, tables)
    yield Limit(f"a chain of {CHAIN} variables: built", time.perf_counter() - start, 10, "s")
    start = time.perf_counter()
    net.marginals({f"x{CHAIN - 1}": "yes"})
    yield Limit(f"a chain of {CHAIN} variables: all marginals", time.perf_counter() - start, 10, "s")
    net.query("x5", {"x6": "yes"})
    start = time.perf_counter()
    net.query("x7", {"x8": "yes"})
    yield Limit(f"a chain of {CHAIN} variables: one of nine", time.perf_counter() - start, 0.1, "s")


def _read() -> Line:
    import pyagrum as gum

    with TemporaryDirectory() as folder:
        path = Path(folder, "munin.bif")
        network("munin").write(path)
        ours, theirs = in_turns(partial(Network.read, path), partial(gum.loadBN, str(path)))
    return Line("munin, read from BIF", "pyAgrum", ours, theirs, target=0.2)
