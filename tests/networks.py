"""Random networks, and their answers by counting out all cases."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from hypothesis import strategies as st

from credo.networks.factor import Factor
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network

LETTERS = "abcdefgh"


@st.composite
def networks(draw: st.DrawFn, most: int = 6, zeros: bool = True) -> Network:
    """A few variables of one to three states, with up to three parents each, some probabilities zero."""
    n, random = draw(st.integers(1, most)), np.random.default_rng(draw(st.integers(0, 2**32)))
    names = [LETTERS[i] for i in random.permutation(n)]
    states = {name: tuple(f"{name}{k}" for k in range(random.choice([1, 2, 2, 3, 3]))) for name in names}
    parents = {
        name: tuple(names[j] for j in random.permutation(i)[: random.integers(0, 4)]) for i, name in enumerate(names)
    }
    tables = {}
    for name in names:
        table = random.gamma(0.7, size=[len(states[other]) for other in (*parents[name], name)]) + 1e-3
        if zeros:
            table *= random.random(table.shape) < 0.85
            table[..., -1] += table.sum(-1) == 0
        tables[name] = table / table.sum(-1, keepdims=True)
    shuffled = [names[i] for i in random.permutation(n)]
    return Network({name: parents[name] for name in shuffled}, tables, states)


@st.composite
def markov_networks(draw: st.DrawFn) -> MarkovNetwork:
    """A few variables and factors, some over none or all of them."""
    n, random = draw(st.integers(1, 5)), np.random.default_rng(draw(st.integers(0, 2**32)))
    states = {LETTERS[i]: tuple(range(random.integers(1, 4))) for i in range(n)}
    factors = []
    for _ in range(random.integers(0, 6)):
        scope = tuple(LETTERS[i] for i in random.permutation(n)[: random.integers(0, 4)])
        table = random.gamma(0.5, size=[len(states[name]) for name in scope]) * 10.0 ** random.integers(-3, 4)
        factors.append(Factor(scope, np.asarray(table * (random.random(table.shape) < 0.9))))
    return MarkovNetwork(states, factors)


@st.composite
def evidence(draw: st.DrawFn, net: Network | MarkovNetwork) -> dict[str, Any]:
    """States of some variables, sets of states of others, likelihoods of a third part."""
    found: dict[str, Any] = {}
    for name, states in net.states.items():
        match draw(st.sampled_from(["nothing", "nothing", "state", "set", "likelihood"])):
            case "state":
                found[name] = draw(st.sampled_from(states))
            case "set":
                found[name] = draw(st.lists(st.sampled_from(states), min_size=1, unique=True))
            case "likelihood":
                found[name] = {state: draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])) for state in states}
                found[name][states[0]] += 0.25
    return found


def joint(net: Network | MarkovNetwork, given: dict[str, Any]) -> Factor:
    """The product of all factors and findings, over all variables."""
    found = [Factor((name,), np.ones(len(states))) for name, states in net.states.items()]
    for name, value in given.items():
        states = net.states[name]
        if isinstance(value, dict):
            weights = [value.get(state, 0.0) for state in states]
        else:
            weights = [float(state in value if isinstance(value, list) else state == value) for state in states]
        found.append(Factor((name,), np.array(weights)))
    return reduce(mul, [*found, *net.factors])
