"""Influence diagrams beside pyAgrum's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from credo.networks.decisions.influence_diagram import InfluenceDiagram
from tests.laws.test_decisions import utility

gum = pytest.importorskip("pyagrum")
with warnings.catch_warnings():  # a warning that is an error, while pyAgrum loads this part, ends the process
    warnings.simplefilter("ignore")
    import pyagrum.influence_diagram  # noqa: F401


def random_diagram(seed: int) -> InfluenceDiagram:
    """Four chance variables, three decisions and two utilities."""
    random = np.random.default_rng(seed)
    order = ["a", "d1", "b", "d2", "c", "e", "d3"]
    parents = {name: tuple(x for x in order[:i] if random.random() < 0.4) for i, name in enumerate(order)}
    parents["d2"], parents["d3"] = (*{*parents["d2"], "d1"},), (*{*parents["d3"], "d2"},)
    parents |= {"u": ("a", "d1", "c"), "w": (*(x for x in ("b", "d2", "e") if random.random() < 0.8), "d3")}
    states = {name: ("x", "y", "z")[: int(random.integers(2, 4))] for name in order}
    sizes = {name: [len(states[each]) for each in own] for name, own in parents.items()}
    tables = {name: random.dirichlet(np.ones(len(states[name])), sizes[name]) for name in "abce"}
    utilities = {name: random.normal(size=sizes[name]) * 10 for name in "uw"}
    return InfluenceDiagram(parents, tables, utilities, ["d1", "d2", "d3"], states)


def peer_of(diagram: InfluenceDiagram) -> float:
    theirs = gum.InfluenceDiagram()
    for name, own in diagram.states.items():
        variable = gum.LabelizedVariable(name, name, [*own])
        (theirs.addDecisionNode if name in diagram.decisions else theirs.addChanceNode)(variable)
    for name in diagram.utilities:
        theirs.addUtilityNode(gum.LabelizedVariable(name, name, 1))
    for name, above in diagram.parents.items():
        for parent in above:
            theirs.addArc(parent, name)
    for name, table in (*diagram.tables.items(), *diagram.utilities.items()):
        chance = name in diagram.tables
        to_fill = theirs.cpt(name) if chance else theirs.utility(name)
        for where in np.ndindex(table.shape):
            scope = (*diagram.parents[name], name) if chance else diagram.parents[name]
            labels = {each: diagram.states[each][i] for each, i in zip(scope, where, strict=True)}
            to_fill[labels if chance else {**labels, name: 0}] = float(table[where])
    engine = gum.ShaferShenoyLIMIDInference(theirs)
    engine.addNoForgettingAssumption([*diagram.decisions])
    engine.makeInference()
    return float(engine.MEU()["mean"])


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_expected_utility(seed: int) -> None:
    """pyAgrum 3.3.1 loses utilities that no relevant decision joins: in one case a policy has more than its maximum."""
    diagram = random_diagram(seed)
    policy, theirs = diagram.policy(), peer_of(diagram)
    assert utility(diagram, diagram.following(policy), {}) == pytest.approx(policy.expected_utility, rel=1e-9)
    if seed == 10:
        assert theirs < policy.expected_utility - 1
    else:
        assert policy.expected_utility == pytest.approx(theirs, rel=1e-9)
