"""Networks of the field beside pyAgrum, and UAI instances beside their published answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from benchmarks.networks import peer_of
from credo.formats import read
from credo.formats.uai import read_evidence
from credo.networks.inference.junction import Plan
from credo.networks.inference.trees import NO_VARIABLES
from credo.networks.network import Network

gum = pytest.importorskip("pyagrum")

SHARED = Path(__file__).parents[3] / "shared" / "data" / "networks"
FILES = sorted((SHARED / "bif").glob("*.bif.gz"))
SLOW = {"link", "munin1"}  # for pyAgrum
INSTANCES = sorted((SHARED / "uai2014").glob("*.uai"))
MOST = 2e7  # cells of trees that a test may take


def agree(net: Network, seed: int) -> None:
    """All marginals and the probability of evidence, with a tenth of the variables known."""
    peer, random = peer_of(net), np.random.default_rng(seed)
    (row,) = net.sample(1, seed=seed).to_pylist()
    given = {str(name): row[name] for name in random.choice(net.variables, -(-len(net.variables) // 10), replace=False)}
    engine = gum.LazyPropagation(peer)
    engine.setEvidence({name: net.states[name].index(state) for name, state in given.items()})
    engine.makeInference()
    for name, found in net.marginals(given).items():
        assert [*found.values()] == pytest.approx(engine.posterior(name).toarray().tolist(), abs=1e-9)
    assert net.log_probability(given) == pytest.approx(np.log(engine.evidenceProbability()), abs=1e-9)


@pytest.mark.parametrize("name", ["asia", "earthquake", "sprinkler", "storm"])
@pytest.mark.parametrize("prior", ["smoothing", "bdeu"])
def test_learned_tables(name: str, prior: str) -> None:
    """Laplace's and the BDeu prior as pyAgrum has them."""
    net = Network.example(name)
    states = {each: tuple(f"s{k}" for k in range(len(own))) for each, own in net.states.items()}
    net = Network(net.parents, net.tables, states)
    rows = net.sample(500, seed=3)
    frame = pa.table({each: rows[each].combine_chunks().cast(pa.string()) for each in net.variables}).to_pandas()
    learner = gum.BNLearner(frame, peer_of(net))
    learner.useSmoothingPrior(2.0) if prior == "smoothing" else learner.useBDeuPrior(12.0)
    theirs = learner.learnParameters(peer_of(net).dag())
    ours = net.fit(frame, prior=2.0 if prior == "smoothing" else credo.BDeu(12))
    for each, above in net.parents.items():
        table = theirs.cpt(each)
        axes = [*above, each]
        turned = ours.tables[each].transpose([axes.index(other) for other in reversed(table.names)])
        assert turned == pytest.approx(table.toarray(), abs=1e-9)


@pytest.mark.parametrize("name", ["asia", "earthquake", "sprinkler", "storm"])
def test_examples(name: str) -> None:
    for seed in range(3):
        agree(Network.example(name), seed)


@pytest.mark.parametrize("seed", range(5))
def test_a_larger_random_network(seed: int) -> None:
    """Tables larger than one run of a walk, so that all kinds of runs occur."""
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(25)]
    states = {name: tuple(range(random.integers(2, 7))) for name in names}
    parents = {
        name: tuple(names[j] for j in random.permutation(i)[-5:][: random.integers(0, 4)])
        for i, name in enumerate(names)
    }
    tables = {
        name: random.dirichlet(np.ones(len(states[name])), [len(states[p]) for p in parents[name]]) for name in names
    }
    agree(Network(parents, tables, states), seed)


@pytest.mark.skipif(not FILES, reason="../shared/data/networks isn't there")
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name.split(".")[0] not in SLOW], ids=lambda path: path.name
)
def test_networks_of_the_bnlearn_repository(path: Path) -> None:
    net = read(path)
    assert isinstance(net, Network)
    agree(net, 1)


@pytest.mark.skipif(not INSTANCES, reason="../shared/data/networks isn't there")
@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.name)
def test_uai_instances(path: Path) -> None:
    net = read(path)
    given = read_evidence(f"{path}.evid", net)
    observed = net._findings(given).codes >= 0
    everything = np.ones(len(observed), dtype=np.bool_)
    cells = Plan.of(net.trees.query(observed, everything, NO_VARIABLES)).improved().cells
    if cells > MOST:
        pytest.skip(f"takes {cells:.1g} cells")
    published = float(Path(f"{path}.PR").read_text().split()[-1])
    assert net.log_probability(given) / np.log(10) == pytest.approx(published, rel=1e-5, abs=1e-5)
    marginals: list[Any] = Path(f"{path}.MAR").read_text().split()[1:]
    at = 1
    for found in net.marginals(given).values():
        size = int(marginals[at])
        assert [*found.values()] == pytest.approx([*map(float, marginals[at + 1 : at + 1 + size])], abs=1e-5)
        at += 1 + size
