"""Networks with nodes that aren't tables, and the same networks with tables by other formulas."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from credo import nodes
from credo.networks.network import Network
from credo.numerics.exact import Array

YES_NO = ("yes", "no")
GRADES = ("severe", "mild", "none")
CAUSES = 7  # parents of the node in question: so many that it isn't one factor


def layered(
    child: Any, states: dict[str, tuple[Any, ...]] | None = None, causes: int = CAUSES, seed: int = 0
) -> Network:
    """Causes, some of which depend on others; a child of all of them, and a child of that and of a cause."""
    random = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(causes)]
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    parents |= {names[2]: (names[0],), names[4]: (names[1], names[3]), "y": tuple(names), "z": ("y", names[1])}
    own = dict.fromkeys(parents, YES_NO) | (states or {})
    tables: dict[str, Any] = {}
    for name, above in parents.items():
        shape = [len(own[each]) for each in above]
        tables[name] = random.dirichlet(np.ones(len(own[name])) * 2, shape)
    return Network(parents, tables | {"y": child}, own)


def expanded(net: Network, table: Array) -> Network:
    """With a table in place of the child's distribution."""
    return Network(net.parents, {**net.fixed_tables, "y": table}, net.states)


def strengths(causes: int = CAUSES, seed: int = 1) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return {f"c{i}": float(p) for i, p in enumerate(random.random(causes))}


def either_table(given: dict[str, float], leak: float, acting: int, effect: int) -> Array:
    """1 - (1 - leak) ∏ (1 - strength) over the parents in the acting state: the probability of the effect's state."""
    table = np.empty((2,) * (len(given) + 1))
    for x in product(range(2), repeat=len(given)):
        spared = np.prod([1 - p for p, state in zip(given.values(), x, strict=True) if state == acting])
        table[(*x, effect)] = 1 - (1 - leak) * spared
        table[(*x, 1 - effect)] = (1 - leak) * spared
    return table


def noisy_max(causes: int = CAUSES, seed: int = 2) -> tuple[nodes.NoisyMax, Array]:
    """P(max ≤ g) = ∏ P(effect ≤ g), effects from the lowest grade (the last state) on."""
    random = np.random.default_rng(seed)
    rows, leak = random.dirichlet(np.ones(3), causes), random.dirichlet([0.2, 0.2, 3.0])
    table = np.empty((2,) * causes + (3,))
    for x in product(range(2), repeat=causes):
        below = np.cumsum(leak[::-1])
        for row, state in zip(rows, x, strict=True):
            below = below * np.cumsum(row[::-1]) if state == 0 else below
        table[x] = np.diff(below, prepend=0.0)[::-1]
    given = {f"c{i}": row.tolist() for i, row in enumerate(rows)}
    return nodes.NoisyMax(given, leak=leak.tolist()), table


def by_function(function: Callable[..., int], states: int = 2, causes: int = CAUSES) -> Array:
    """A table of 0 and 1, from a function of booleans to own states."""
    table = np.zeros((2,) * causes + (states,))
    for x in product(range(2), repeat=causes):
        table[(*x, function(*(state == 0 for state in x)))] = 1.0
    return table


def cases() -> dict[str, tuple[Network, Network]]:
    """Of each kind, a network and the same one with a table."""
    found: dict[str, tuple[Network, Network]] = {}

    def add(name: str, child: Any, table: Array, own: tuple[Any, ...] = YES_NO) -> None:
        net = layered(child, {"y": own})
        found[name] = net, expanded(net, table)

    given = strengths()
    add("noisy-or", nodes.NoisyOr(given, leak=0.05), either_table(given, 0.05, acting=0, effect=0))
    add("noisy-and", nodes.NoisyAnd(given, leak=0.1), either_table(given, 0.1, acting=1, effect=1))
    graded, table = noisy_max()
    add("noisy-max", graded, table, GRADES)
    names = [*given]
    few = f"at_least(3, {', '.join(names)})"
    add("at-least", nodes.Deterministic(few), by_function(lambda *x: 0 if sum(x) >= 3 else 1))
    odd = " xor ".join(names)
    add("xor", nodes.Deterministic(odd), by_function(lambda *x: 0 if sum(x) % 2 else 1))
    rule = "c0 and (c1 or not c2) or exactly(2, c3, c4, c5, c6)"
    truth = by_function(lambda a, b, c, *rest: 0 if (a and (b or not c)) or sum(rest) == 2 else 1)
    add("rule", nodes.Deterministic(rule), truth)
    counted = nodes.Deterministic(f"count({', '.join(names)})")
    add("count", counted, by_function(lambda *x: sum(x), CAUSES + 1), tuple(range(CAUSES + 1)))
    tree, table = _tree()
    add("tree", tree, table)
    add("default", *_default())
    random = np.random.default_rng(5)
    weights = random.normal(size=CAUSES)
    logits = np.array(
        [sum(w for w, s in zip(weights, x, strict=True) if s == 0) for x in product(range(2), repeat=CAUSES)]
    )
    p = 1 / (1 + np.exp(1.0 - logits))
    table = np.stack([p, 1 - p], axis=-1).reshape((2,) * (CAUSES + 1))
    add("logistic", nodes.Logistic(-1.0, dict(zip(names, weights.tolist(), strict=True))), table)
    return found


def _tree() -> tuple[nodes.TreeTable, Array]:
    tree = {
        "c5": {
            "yes": {"c0": {"yes": 0.9, "no": {"c6": {"yes": 0.4, "no": 0.15}}}},
            "no": {"c6": {"yes": 0.05, "no": {"c2": {"yes": 0.7, "no": 0.2}}}},
        }
    }
    p = np.empty((2,) * CAUSES)
    for x in product(range(2), repeat=CAUSES):
        if x[5] == 0:
            p[x] = 0.9 if x[0] == 0 else 0.4 if x[6] == 0 else 0.15
        else:
            p[x] = 0.05 if x[6] == 0 else 0.7 if x[2] == 0 else 0.2
    return nodes.TreeTable(tree), np.stack([p, 1 - p], axis=-1)


def _default() -> tuple[nodes.DefaultTable, Array]:
    first, second = ("yes", None, "no", *[None] * 4), (*["no"] * 6, None)
    p = np.full((2,) * CAUSES, 0.1)
    p[(1,) * 6] = 0.8
    p[0, :, 1] = 0.35
    return nodes.DefaultTable(0.1, {first: 0.35, second: 0.8}), np.stack([p, 1 - p], axis=-1)
