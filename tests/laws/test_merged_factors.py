"""Factors of large cliques are multiplied with each other first: all answers of Markov networks stay."""

from __future__ import annotations

import numpy as np
import pytest

from credo.networks.factor import Factor
from credo.networks.inference import junction, merging
from credo.networks.markov_network import MarkovNetwork


def dense(seed: int, size: int = 9) -> MarkovNetwork:
    """Every pair of variables in a factor, some triples too; some values are 0, and some tiny."""
    random = np.random.default_rng(seed)
    states = {f"x{i}": tuple(range(int(random.integers(2, 4)))) for i in range(size)}
    names = [*states]
    scopes: list[tuple[str, ...]] = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]] + [
        (name,) for name in names
    ]
    scopes += [tuple(str(name) for name in random.choice(names, 3, replace=False)) for _ in range(5)]
    factors = []
    for scope in scopes:
        table = random.random([len(states[name]) for name in scope]) + 0.05
        table.flat[0] *= random.choice([1.0, 0.0, 1e-40])
        factors.append(Factor(scope, table))
    return MarkovNetwork(states, factors)


@pytest.mark.parametrize("seed", range(4))
def test_merging_changes_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    net = dense(seed)
    given = {"x1": 1, "x3": {0: 0.2, 1: 1.0}}

    def answers(merge: bool) -> tuple[list[float], float, list[int], float]:
        for module in (junction, merging):
            monkeypatch.setattr(module, "LARGE_CLIQUE", 2**4 if merge else 2**60)
        fresh = MarkovNetwork(net.states, net.factors)
        trees = fresh.trees  # even where the joint table is small
        findings = fresh._findings(given)
        out = np.empty(int(fresh.potentials.places[-1]))
        log = trees.marginals(findings.codes, findings.weights, out)
        best, log_best = trees.best(findings.codes, findings.weights, None)
        tree = trees.for_all(findings)
        assert (len(tree.potentials.children) < len(fresh.factors)) == merge
        return out.tolist(), log, best.tolist(), log_best

    plain, fewer = answers(merge=False), answers(merge=True)
    np.testing.assert_allclose(fewer[0], plain[0], atol=1e-12)
    assert fewer[1] == pytest.approx(plain[1], abs=1e-9)
    assert fewer[2] == plain[2]
    assert fewer[3] == pytest.approx(plain[3], abs=1e-9)


def test_products_stay_within_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of 1e-40: a product of eight of them would underflow, so groups stay smaller."""
    monkeypatch.setattr(merging, "LARGE_CLIQUE", 2)
    names = [f"x{i}" for i in range(4)]
    tiny = [Factor((a, b), np.array([[1.0, 1e-40], [1e-40, 1.0]])) for i, a in enumerate(names) for b in names[i + 1 :]]
    held = MarkovNetwork(dict.fromkeys(names, (0, 1)), tiny * 3).potentials
    found = merging.merged(held, range(18), np.zeros(18, dtype=np.int64), np.array([16]))
    assert found is not None
    assert 1 < len(found.children) < 18
    assert float(np.log(found.factors.least).min()) > -300
    whole, fewer = (
        sum(np.log(each.table(f)[tuple([0, 1, 0, 1][v] for v in each.scope(f))]) for f in range(len(each.children)))
        for each in (held, found)
    )
    assert fewer == pytest.approx(whole)
