"""Graphs beside pyAgrum: essential graphs (CPDAGs) and moral graphs."""

from __future__ import annotations

from typing import Any

import pytest

from credo.networks.network import Network

gum = pytest.importorskip("pyagrum")


def peer(net: Network) -> tuple[Any, dict[int, str]]:
    """The same arrows, and the names of its numbers."""
    made = gum.BayesNet()
    numbers = {name: made.add(gum.LabelizedVariable(name, name, 2)) for name in net.variables}
    for name, above in net.parents.items():
        for parent in above:
            made.addArc(numbers[parent], numbers[name])
    return made, {number: name for name, number in numbers.items()}


@pytest.mark.parametrize("seed", range(20))
def test_essential_and_moral_graphs(seed: int) -> None:
    net = Network.random(15, arrows=10 + 2 * seed, max_parents=5, seed=seed)
    made, names = peer(net)
    essential, found = gum.EssentialGraph(made), net.cpdag()
    assert {(names[a], names[b]) for a, b in essential.arcs()} == found.arrows
    assert {frozenset((names[a], names[b])) for a, b in essential.edges()} == {*map(frozenset, found.edges)}
    moral = {frozenset((names[a], names[b])) for a, b in made.moralGraph().edges()}
    assert moral == {*map(frozenset, net.moral().edges)}


def test_divergence() -> None:
    one = Network.random(7, arrows=9, seed=3)
    other = Network.random(7, arrows=6, seed=4)
    ours = one.divergence(other)
    made = []
    for net in (one, other):
        bn, names = peer(net)
        for name, table in net.tables.items():
            axes = [names[bn.idFromName(each)] for each in (*net.parents[name], name)]
            for i in range(table.size):
                where = [int(k) for k in _unravel(i, table.shape)]
                bn.cpt(name)[dict(zip(axes, where, strict=True))] = float(table[tuple(where)])
        made.append(bn)
    assert ours == pytest.approx(gum.ExactBNdistance(made[0], made[1]).compute()["klPQ"] * 0.6931471805599453, abs=1e-6)


def _unravel(i: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    import numpy as np

    return np.unravel_index(i, shape)
