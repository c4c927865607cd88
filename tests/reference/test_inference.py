"""Every exact answer against counting out all cases, on random networks."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import EvidenceError
from credo.inference import trees
from credo.models.network import MarkovNetwork, Network
from tests.networks import evidence, joint, markov_networks, networks

ANY = st.one_of(networks(), networks(most=8, zeros=False), markov_networks())
CASES = settings(max_examples=400, deadline=None)


@pytest.fixture(params=["one tree for any evidence", "a tree for each pattern"], autouse=True, scope="module")
def tree_sizes(request: Any) -> Any:
    before = trees.SMALL, trees.MIDDLE
    if request.param == "a tree for each pattern":
        trees.SMALL, trees.MIDDLE = 0, 0
    yield
    trees.SMALL, trees.MIDDLE = before


@CASES
@given(st.data())
def test_marginals_and_the_probability_of_evidence(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    whole = joint(net, findings)
    total = float(whole.table.sum())
    assert net.log_probability(findings) == pytest.approx(np.log(total) if total else -np.inf, abs=1e-9)
    if total == 0:
        with pytest.raises(EvidenceError, match="impossible"):
            net.marginals(findings)
        return
    for name, found in net.marginals(findings).items():
        others = [other for other in net.variables if other != name]
        wanted = whole.sum_out(others).table / total
        assert list(found) == list(net.states[name])
        assert list(found.values()) == pytest.approx(wanted.tolist(), abs=1e-12)


@CASES
@given(st.data())
def test_joint_queries(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    names = data.draw(st.lists(st.sampled_from(net.variables), min_size=1, unique=True))
    whole = joint(net, findings)
    total = float(whole.table.sum())
    if total == 0:
        with pytest.raises(EvidenceError, match="impossible"):
            net.query(names, findings)
        return
    wanted = whole.sum_out([name for name in net.variables if name not in names]).over(tuple(names)).table / total
    found = net.query(names, findings)
    assert list(found) == list(product(*(net.states[name] for name in names)))
    assert list(found.values()) == pytest.approx(wanted.reshape(-1).tolist(), abs=1e-12)


@CASES
@given(st.data())
def test_most_probable(data: st.DataObject) -> None:
    net = data.draw(ANY)
    findings = data.draw(evidence(net))
    names = data.draw(st.none() | st.lists(st.sampled_from(net.variables), min_size=1, unique=True))
    whole = joint(net, findings)
    if not whole.table.any():
        with pytest.raises(EvidenceError, match="impossible"):
            net.most_probable(names, findings)
        return
    kept = net.variables if names is None else tuple(names)
    summed = whole.sum_out([name for name in net.variables if name not in kept]).over(kept)
    found = net.most_probable(names, findings)
    place = tuple(net.states[name].index(found[name]) for name in kept)
    assert summed.table[place] == pytest.approx(summed.table.max(), rel=1e-9)
    assert found.log_joint == pytest.approx(np.log(summed.table.max()), abs=1e-9)


@CASES
@given(st.data())
def test_a_smallest_conflict_is_named(data: st.DataObject) -> None:
    net = data.draw(networks())
    findings = data.draw(evidence(net))
    if joint(net, findings).table.any():
        return
    from credo.inference.conflict import smallest_conflict

    def possible(some: Any) -> bool:
        return bool(joint(net, some).table.any())

    found = smallest_conflict(findings, possible)
    assert not possible(found)
    for name in found:
        assert possible({other: value for other, value in found.items() if other != name})


def test_networks_of_one_variable_and_of_none_observed() -> None:
    net = Network({"a": ()}, {"a": [0.25, 0.75]}, {"a": ("x", "y")})
    assert net.query("a") == {"x": 0.25, "y": 0.75}
    assert net.query("a", {"a": "x"}) == {"x": 1.0, "y": 0.0}
    assert net.log_probability({"a": "y"}) == pytest.approx(np.log(0.75))
    empty = MarkovNetwork({"a": (0, 1, 2)}, [])
    assert empty.query("a") == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert empty.log_probability() == pytest.approx(np.log(3))


@CASES
@given(st.data())
def test_rows_with_any_cells_missing(data: st.DataObject) -> None:
    net = data.draw(ANY)
    target = data.draw(st.sampled_from(net.variables))
    whole = joint(net, {})
    total = float(whole.table.sum())
    if total == 0:
        return
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = [
        np.unravel_index(i, whole.table.shape)
        for i in random.choice(whole.table.size, 12, p=whole.table.reshape(-1) / total)
    ]
    columns: dict[str, Any] = {}
    for i, name in enumerate(whole.scope):
        states = [net.states[name][row[i]] for row in rows]
        columns[name] = [state if random.random() < 0.6 else None for state in states]
    if all(cell is None for column in columns.values() for cell in column):
        return
    found = net.predict_proba(target, columns)
    scores = net.log_prob(columns)
    filled = net.impute(columns).to_pydict()
    for r in range(len(rows)):
        known = {name: column[r] for name, column in columns.items() if column[r] is not None}
        assert scores[r] == pytest.approx(np.log(joint(net, known).table.sum()), abs=1e-9)
        others = {name: value for name, value in known.items() if name != target}
        assert found[r].tolist() == pytest.approx([*net.query(target, others).values()], abs=1e-12)
        best = net.most_probable(given=known)
        completed = {name: column[r] for name, column in filled.items()}
        assert {**completed, **known} == completed
        assert net.log_probability(completed) == pytest.approx(best.log_joint, abs=1e-9)
