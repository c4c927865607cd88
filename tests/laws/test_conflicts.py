"""Impossible evidence names a smallest set of findings that contradict each other: counted out."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import EvidenceError, SizeError
from credo.networks.graphical_model import GraphicalModel
from credo.networks.inference.conflict import smallest_conflict
from credo.networks.network import Network


def deterministic(seed: int, n: int) -> Network:
    """Gates over coins: nearly every row of a table leaves one state."""
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    parents = {
        name: tuple(names[j] for j in random.permutation(i)[: random.integers(0, 4)]) for i, name in enumerate(names)
    }
    tables = {}
    for name, above in parents.items():
        if not above:
            tables[name] = np.full(2, 0.5)
            continue
        tables[name] = np.eye(2)[random.integers(2, size=[2] * len(above))]
        tables[name][random.random([2] * len(above)) < 0.2] = 0.5
    return Network(parents, tables)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 9), st.data())
def test_no_smaller_set_is_impossible(seed: int, n: int, data: st.DataObject) -> None:
    net = deterministic(seed, n)
    findings: dict[str, Any] = {name: data.draw(st.sampled_from(["yes", "no"])) for name in net.variables}
    if net.log_probability(findings) > -np.inf:
        return
    found = smallest_conflict(findings, lambda some: net.log_probability(some) > -np.inf)
    assert found.items() <= findings.items()
    assert net.log_probability(found) == -np.inf
    for names in combinations(findings, len(found) - 1):
        assert net.log_probability({name: findings[name] for name in names}) > -np.inf


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=8))
def test_any_conflicts(conflicts: list[set[int]]) -> None:
    named = [{str(i) for i in each} for each in conflicts]
    findings = {str(i): i for i in range(10)}
    found = smallest_conflict(findings, lambda some: not any(each <= {*some} for each in named))
    assert {*found} in named
    assert len(found) == min(map(len, named))


def test_a_small_conflict_among_many_findings() -> None:
    """Of 200 findings, each with all the others in large conflicts, two contradict each other."""
    findings = dict.fromkeys((f"f{i}" for i in range(200)), "yes")
    conflicts = [{f"f{i}" for i in range(j, 200, 9)} for j in range(9)] + [{"f17", "f119"}]
    asked = 0

    def possible(some: Any) -> bool:
        nonlocal asked
        asked += 1
        return not any(each <= some.keys() for each in conflicts)

    assert {*smallest_conflict(findings, possible)} == {"f17", "f119"}
    assert asked < 5000


def test_what_nobody_can_check_is_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer findings may need larger tables: what is named is a conflict all the same."""
    net = Network("A -> B -> C", {"A": 0.5, "B": {"yes": 1.0, "no": 0.0}, "C": {"yes": 1.0, "no": 0.0}})
    same: Network = pickle.loads(pickle.dumps(net))
    exact = same.exact

    class Cramped:
        def log_total(self, codes: Any, weights: Any) -> float:
            if (codes < 0).any():
                raise SizeError("too large")
            return exact.log_total(codes, weights)

    monkeypatch.setattr(GraphicalModel, "exact", Cramped())
    with pytest.raises(EvidenceError, match="A = yes, B = yes and C = no can't be true together"):
        net._check(-np.inf, {"A": "yes", "B": "yes", "C": "no"})
