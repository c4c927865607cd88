"""Random networks of categories and numbers, and their answers by counting out all cases with dense Gaussians."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

import credo


def random_hybrid(seed: int, categories: int = 3, numbers: int = 4) -> credo.HybridNetwork:
    """Categories of two or three states; numbers with up to two parents of each kind."""
    random = np.random.default_rng(seed)
    states = {f"c{i}": tuple(f"s{k}" for k in range(random.integers(2, 4))) for i in range(categories)}
    parents: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, Any] = {}
    for i in range(categories):
        above = tuple(f"c{j}" for j in random.permutation(i)[: random.integers(0, 3)])
        parents[f"c{i}"] = above
        table = random.dirichlet(np.ones(len(states[f"c{i}"])), [len(states[each]) for each in above])
        nodes[f"c{i}"] = table
    for i in range(numbers):
        discrete = tuple(f"c{j}" for j in random.permutation(categories)[: random.integers(0, 3)])
        real = tuple(f"x{j}" for j in random.permutation(i)[: random.integers(0, 3)])
        keys = [*product(*(states[each] for each in discrete))]

        def drawn(low: float, high: float, keys: Any = keys, discrete: Any = discrete) -> Any:
            values = random.uniform(low, high, len(keys))
            if not discrete:
                return float(values[0])
            return {key if len(discrete) > 1 else key[0]: float(v) for key, v in zip(keys, values, strict=True)}

        parents[f"x{i}"] = (*discrete, *real)
        weights = {each: drawn(-1.5, 1.5) for each in real}
        nodes[f"x{i}"] = credo.nodes.Normal(drawn(-2, 2), drawn(0.4, 1.5), weights)
    shuffled = [*parents]
    random.shuffle(shuffled)
    return credo.HybridNetwork({name: parents[name] for name in shuffled}, nodes, states)


class Counted:
    """Everything by enumeration of the categories; given these, by the dense covariance of all numbers."""

    def __init__(self, net: credo.HybridNetwork) -> None:
        self.net = net
        self.numbers = [name for name in net.order if name in net.numbers]

    def cases(self, given: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], float, Any, Any]]:
        """Each configuration that is possible: its probability together with the known numbers' density, and the mean
        and covariance of all numbers given both."""
        net = self.net
        known = [j for j, name in enumerate(self.numbers) if name in given]
        free = [j for j in range(len(self.numbers)) if j not in known]
        values = np.array([given[self.numbers[j]] for j in known])
        for case in product(*net.states.values()):
            state = dict(zip(net.states, case, strict=True))
            if any(given[name] != state[name] for name in given if name in state):
                continue
            mean, whole = self.gaussian(state)
            p = self.prior(state)
            if known:
                p *= multivariate_normal(mean[known], whole[np.ix_(known, known)]).pdf(values)
                gain = whole[np.ix_(free, known)] @ np.linalg.inv(whole[np.ix_(known, known)])
                after = mean.copy()
                after[known], after[free] = values, mean[free] + gain @ (values - mean[known])
                left = np.zeros_like(whole)
                left[np.ix_(free, free)] = whole[np.ix_(free, free)] - gain @ whole[np.ix_(known, free)]
                mean, whole = after, left
            yield state, p, mean, whole

    def prior(self, state: Mapping[str, Any]) -> float:
        p = 1.0
        for name, table in self.net.tables.items():
            where = [self.net.states[each].index(state[each]) for each in (*self.net.parents[name], name)]
            p *= float(table[tuple(where)])
        return p

    def gaussian(self, state: Mapping[str, Any]) -> tuple[Any, Any]:
        """x = a + Wx + noise: mean (1 - W)⁻¹a, covariance (1 - W)⁻¹V(1 - W)⁻ᵀ."""
        size = len(self.numbers)
        intercept, noise, weights = np.zeros(size), np.zeros(size), np.zeros((size, size))
        for j, name in enumerate(self.numbers):
            node = self.net.numbers[name]
            where = tuple(self.net.states[each].index(state[each]) for each in node.categories)
            intercept[j], noise[j] = node.intercept[where], node.variance[where]
            for parent, weight in zip(node.numbers, node.weights[where], strict=True):
                weights[j, self.numbers.index(parent)] = weight
        spread = np.linalg.inv(np.eye(size) - weights)
        return spread @ intercept, spread @ np.diag(noise) @ spread.T

    def evidence(self, given: Mapping[str, Any]) -> float:
        return sum(p for _, p, _, _ in self.cases(given))

    def states(self, name: str, given: Mapping[str, Any]) -> dict[Any, float]:
        found = dict.fromkeys(self.net.states[name], 0.0)
        for state, p, _, _ in self.cases(given):
            found[state[name]] += p
        total = sum(found.values())
        return {key: p / total for key, p in found.items()}

    def moments(self, names: list[str], given: Mapping[str, Any]) -> tuple[Any, Any]:
        at = [self.numbers.index(name) for name in names]
        parts = [(p, mean[at], whole[np.ix_(at, at)]) for _, p, mean, whole in self.cases(given)]
        total = sum(p for p, _, _ in parts)
        mean = sum(p * m for p, m, _ in parts) / total
        square = sum(p * (v + np.outer(m, m)) for p, m, v in parts) / total
        return mean, square - np.outer(mean, mean)
