"""Networks of many variables against sums along their arrows: time and memory grow with what a question needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from credo.networks.network import Network

MANY = 30_000


def of(parents: dict[str, tuple[str, ...]]) -> Network:
    random = np.random.default_rng(0)
    tables = dict(zip(parents, random.dirichlet([1.0, 1.0], (len(parents), 2)), strict=True))
    tables |= {name: tables[name][0] for name, above in parents.items() if not above}
    return Network(parents, tables)


def forward(net: Network) -> dict[str, Any]:
    """P(each), parents first."""
    found: dict[str, Any] = {}
    for name, above in net.parents.items():
        found[name] = found[above[0]] @ net.tables[name] if above else net.tables[name]
    return found


@pytest.mark.parametrize("shape", ["chain", "star", "tree"])
@pytest.mark.slow
def test_all_marginals(shape: str) -> None:
    random = np.random.default_rng(1)
    above = {"chain": np.arange(MANY) - 1, "star": np.zeros(MANY, int), "tree": random.integers(np.arange(MANY) + 1)}
    above["tree"] = np.minimum(above["tree"], np.arange(MANY) - 1)
    net = of({f"x{i}": (f"x{p}",) if i else () for i, p in enumerate(above[shape].tolist())})
    wanted = forward(net)
    found = net.marginals()
    assert max(abs(found[name]["yes"] - p[0]) for name, p in wanted.items()) < 1e-12
    last, first = f"x{MANY - 1}", "x0"
    given = net.marginals({last: "yes"})
    assert given[first] == pytest.approx(net.query(first, {last: "yes"}), abs=1e-12)
    assert net.log_probability({last: "yes"}) == pytest.approx(np.log(wanted[last][0]), abs=1e-9)


def test_a_question_compiles_only_what_it_needs() -> None:
    net = of({f"x{i}": (f"x{i - 1}",) if i else () for i in range(MANY)})
    far = {f"x{MANY // 2}": "yes"}
    assert net.query("x5")["yes"] == pytest.approx(forward(net)["x5"][0], abs=1e-12)
    table = net.tables[f"x{MANY // 2 + 1}"] @ net.tables[f"x{MANY // 2 + 2}"]
    assert net.query(f"x{MANY // 2 + 2}", far)["yes"] == pytest.approx(table[0, 0], abs=1e-12)
    assert max(len(tree.potentials.card) for tree in net.trees._trees.values()) <= 6


def test_a_hub_in_the_middle_of_a_cycle() -> None:
    """A variable with many neighbours that aren't joined: how many pairs they are is never counted."""
    size = 5_000
    random = np.random.default_rng(2)
    parents = {"hub": ()} | {f"x{i}": ("hub", f"x{i - 1}") if i else ("hub",) for i in range(size)}
    tables: dict[str, Any] = {name: random.dirichlet([1.0, 1.0], (2,) * len(above)) for name, above in parents.items()}
    net = Network(parents, tables)
    p = tables["x0"]
    for i in range(1, size):
        p = np.einsum("ha,hab->hb", p, tables[f"x{i}"])
    assert net.query(f"x{size - 1}")["yes"] == pytest.approx((tables["hub"] @ p)[0], abs=1e-12)


def test_what_fits_nowhere_is_refused_soon() -> None:
    """A random graph whose cliques would have thousands of variables: no tree is laid out for it."""
    from credo.errors import SizeError

    random = np.random.default_rng(3)
    size = 1_000
    parents = {f"x{i}": tuple({f"x{j}" for j in random.integers(0, i, 3)}) if i else () for i in range(size)}
    tables = {name: random.dirichlet([1.0, 1.0], (2,) * len(above)) for name, above in parents.items()}
    with pytest.raises(SizeError, match="an exact answer needs"):
        Network(parents, tables).marginals(method="exact")
