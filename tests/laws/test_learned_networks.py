"""Laws of networks that learn: what their counts add up to, and that EM over missing cells never falls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.core.em import em
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.families import DirichletCategorical
from credo.networks.inference.coding import CodedRows
from credo.networks.learning import TableEM
from credo.networks.network import Network
from credo.networks.table_beliefs import concentrations, drawn_tables
from tests.networks import networks

PRIORS: dict[str, Any] = {"ml": "ml", "one": 1.0, "half": 0.5, "strong": DirichletCategorical(20.0)}
ROWS = 40


def split(net: Network, seed: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Rows drawn from a network, and the same in two parts."""
    rows = net.sample(ROWS, seed=seed)
    return rows, rows.slice(0, 15), rows.slice(15)


def same(one: Network, two: Network) -> None:
    """To the last bit."""
    assert dict(one.states) == dict(two.states)
    assert one.n == two.n
    for name in one.parents:
        assert np.array_equal(one.tables[name], two.tables[name])


cases = given(networks(), st.integers(0, 2**31), st.sampled_from([*PRIORS]), st.booleans())
few = settings(max_examples=60, deadline=None)


def begun(net: Network, prior: str, declared: bool) -> Callable[[Any], Network]:
    """The same arrows, with the states declared or inferred."""
    bare = Network(net.parents, states=net.states if declared else None)
    return lambda data: bare.fit(data, prior=PRIORS[prior])


@few
@cases
@pytest.mark.slow
def test_merging_parts_and_updating_are_learning_the_whole(net: Network, seed: int, prior: str, declared: bool) -> None:
    (rows, first, rest), fit = split(net, seed), begun(net, prior, declared)
    whole = fit(rows)
    assert whole.n == ROWS
    same(fit(first) + fit(rest), whole)
    same(fit(first).merge(fit(rest)), whole)
    same(fit(first).update(rest), whole)
    same(fit(rest).update(first), whole)


@few
@cases
def test_forgetting_undoes_updating(net: Network, seed: int, prior: str, declared: bool) -> None:
    (_, first, rest), fit = split(net, seed), begun(net, prior, declared)
    same(fit(first).update(rest).forget(rest), fit(first))


@few
@cases
def test_weight_2_is_the_row_twice_and_order_does_not_matter(
    net: Network, seed: int, prior: str, declared: bool
) -> None:
    (rows, _, _), random = split(net, seed), np.random.default_rng(seed)
    bare = Network(net.parents, states=net.states if declared else None)
    twice = random.integers(1, 3, ROWS)
    repeated = rows.take(random.permutation(np.repeat(np.arange(ROWS), twice)))
    same(bare.fit(rows, prior=PRIORS[prior], weight=twice), bare.fit(repeated, prior=PRIORS[prior]))
    same(bare.fit(rows, weight=np.full(ROWS, 0.5)), bare.fit(rows).discount(0.5))


@few
@given(networks(), st.integers(0, 2**31))
def test_tables_are_smoothed_frequencies(net: Network, seed: int) -> None:
    """(n + l) / (N + J l); n / N under maximum likelihood, uniform where there are no rows."""
    rows = net.sample(ROWS, seed=seed)
    codes = {name: rows.column(name).combine_chunks().indices.to_numpy() for name in net.variables}
    smoothed, frequencies = net.fit(rows, prior=2.5), net.fit(rows, prior="ml")
    for name, above in net.parents.items():
        counts: Any = np.zeros(net.tables[name].shape)
        np.add.at(counts, tuple(codes[each] for each in (*above, name)), 1.0)
        totals = counts.sum(-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            plain = np.where(totals > 0, counts / totals, 1 / counts.shape[-1])
        assert frequencies.tables[name] == pytest.approx(plain, rel=1e-15)
        assert smoothed.tables[name] == pytest.approx((counts + 2.5) / (totals + 2.5 * counts.shape[-1]), rel=1e-14)


@settings(max_examples=20, deadline=None)
@given(networks(most=4), st.integers(0, 2**31))
def test_the_chain_rule_is_the_evidence(net: Network, seed: int) -> None:
    """Σ log P(row | the rows before) = Σ over tables of log p(counts), the parameters integrated out."""
    rows = net.sample(12, seed=seed)
    now, prior = Network(net.parents, states=net.states, prior=1.5), DirichletCategorical(1.5)
    chain = 0.0
    for i in range(rows.num_rows):
        row = rows.slice(i, 1)
        if i == 0:  # before any row, each state is as probable
            chain += float(sum(-np.log(len(states)) for states in net.states.values()))
        else:
            chain += float(now.log_prob(row)[0])
        now = now.update(row)
    total = 0.0
    for name in net.parents:
        counts = now.evidence[Label("column", name)].n
        total += float(prior.log_evidence(Counts(counts.reshape((-1, counts.shape[-1])))).sum())
    assert chain == pytest.approx(total, rel=1e-9)


@few
@cases
def test_saving_and_loading_keeps_all(
    tmp_path_factory: pytest.TempPathFactory, net: Network, seed: int, prior: str, declared: bool
) -> None:
    (_, first, rest), fit = split(net, seed), begun(net, prior, declared)
    path = tmp_path_factory.mktemp("networks") / "n.credo"
    learned = fit(first)
    credo.save(learned, path)
    loaded = credo.load(path)
    same(loaded, learned)
    assert loaded == learned
    assert loaded.prior == learned.prior
    assert loaded.declared == declared
    same(loaded.update(rest), learned.update(rest))


def test_fixed_tables_are_stored_and_derived_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "n.credo"
    credo.save(Network.example("asia"), path)
    header = path.read_bytes().partition(b"\narrays\n")[0].decode()
    assert '"tables"' in header
    assert '"evidence": null' in header
    assert '"prior": null' in header
    credo.save(Network("A -> B").fit({"A": ["x", "y"], "B": ["u", "v"]}), path)
    header = path.read_bytes().partition(b"\narrays\n")[0].decode()
    assert '"tables": {"dict": {}}' in header  # they follow from prior and evidence
    assert '"evidence": {' in header


def test_cross_validation_predicts_rows_by_the_others() -> None:
    net = Network.example("asia")
    rows = net.sample(200, seed=3)
    found = Network(net.parents).fit(rows).cross_validate(rows, 4, seed=1)
    expected = np.empty(200)
    for fold in range(4):
        held_out = np.flatnonzero(found.folds == fold)
        others = Network(net.parents, states=net.states).fit(rows.take(np.flatnonzero(found.folds != fold)))
        expected[held_out] = others.log_prob(rows.take(held_out))
    assert found.log_probabilities == pytest.approx(expected, rel=1e-12)


# Tied nodes


CHAIN = "X0 -> X1 -> X2 -> X3"
TIED = {"X1": "step", "X2": "step", "X3": "step"}
STATES = ("a", "b", "c")


def chain(size: int) -> pa.Table:
    random = np.random.default_rng(7)
    step = random.dirichlet([1, 1, 1], 3)
    return Network(CHAIN, {"X0": [0.2, 0.3, 0.5], "X1": step, "X2": step, "X3": step}, STATES).sample(size, seed=1)


def test_tying_is_addition() -> None:
    rows = chain(300)
    tied = Network(CHAIN, states=STATES, tied=TIED).fit(rows)
    apart = Network(CHAIN, states=STATES).fit(rows)
    total = sum(apart.evidence[Label("column", name)].n.value for name in TIED)
    assert np.array_equal(tied.evidence[Label("column", "step")].n.value, total)
    assert tied.tables["X1"] == pytest.approx((total + 1) / (total.sum(-1, keepdims=True) + 3), rel=1e-14)
    assert all(np.array_equal(tied.tables[name], tied.tables["X1"]) for name in TIED)
    assert tied.n == 300
    same(tied.update(rows).forget(rows), tied)
    evidence, _ = tied.expect(next(tied.coded(rows.slice(0, 50))))
    assert evidence[Label("column", "step")].n.value.sum() == pytest.approx(150)


# EM


def lost(rows: pa.Table, share: float, seed: int) -> dict[str, list[Any]]:
    """With cells missing at random."""
    random = np.random.default_rng(seed)
    columns = {name: rows.column(name).to_pylist() for name in rows.column_names}
    return {name: [None if random.random() < share else cell for cell in own] for name, own in columns.items()}


def fitted(net: Network, data: Any, prior: Any, seed: int = 0) -> tuple[Network, tuple[float, ...], list[CodedRows]]:
    """By EM, from random tables."""
    random = np.random.default_rng(seed)
    learner = Network(net.parents, states=net.states, tied=net.tied, prior=prior)
    start: dict[str, Any] = {}
    for name, table in net.tables.items():
        label = net.tied.get(name, name)
        start[label] = start.get(label, random.dirichlet(np.full(table.shape[-1], 2.0), table.shape[:-1]))
    begun = learner.with_tables({name: start[net.tied.get(name, name)] for name in net.tables})
    rows = [*learner.coded(data)]
    found = em(TableEM(begun), lambda: iter(rows), steps=60)
    return found.model.network, found.history, rows


@settings(max_examples=40, deadline=None)
@given(networks(most=5), st.integers(0, 2**31), st.sampled_from(["ml", 1.0, 2.0, 7.5]), st.sampled_from([0.1, 0.5]))
def test_map_em_never_falls(net: Network, seed: int, prior: Any, share: float) -> None:
    """Log-likelihood + log prior, with cells missing at random; `em` itself refuses an objective that falls."""
    _, objective, _ = fitted(net, lost(net.sample(ROWS, seed=seed), share, seed), prior, seed)
    steps = np.diff(objective)
    assert len(objective) > 1
    assert (steps >= -1e-9 * max(1.0, abs(objective[-1]))).all()


def test_em_over_a_hidden_variable_and_tied_nodes_never_falls() -> None:
    net = Network(CHAIN, states=STATES, tied=TIED).fit(chain(300))
    data = {name: column for name, column in lost(chain(300), 0.2, 1).items() if name != "X2"}
    learned, objective, _ = fitted(net, data, 2.0)
    assert (np.diff(objective) >= -1e-9 * abs(objective[-1])).all()
    assert objective[-1] > objective[0] + 1
    assert all(np.array_equal(learned.tables[name], learned.tables["X1"]) for name in TIED)


@settings(max_examples=30, deadline=None)
@given(networks(most=5), st.integers(0, 2**31), st.sampled_from(["ml", 3.0]))
def test_em_on_complete_rows_is_counting(net: Network, seed: int, prior: Any) -> None:
    """One step reaches the mode of what counting finds, and the next finds nothing better."""
    rows = net.sample(ROWS, seed=seed)
    learned, objective, coded = fitted(net, rows, prior, seed)
    counted = Network(net.parents, states=net.states).fit(rows, prior=prior)
    evidence, log_likelihood = learned.expect(coded[0])
    for name, node in counted.nodes.items():
        assert np.array_equal(evidence[Label("column", name)].n.value, counted.evidence[Label("column", name)].n.value)
        mode = node.mode(counted.prior[name], counted.evidence[Label("column", name)].n.value)
        assert learned.tables[name] == pytest.approx(mode, rel=1e-14)
    same(counted.with_evidence(evidence), counted)
    log_prior = TableEM(learned).log_prior()
    assert objective[-1] == pytest.approx(log_likelihood + log_prior, rel=1e-12)


def test_em_finds_the_tables_behind_rows_with_missing_cells() -> None:
    net = Network("A -> B <- C; B -> D", {"A": 0.3, "C": 0.6, "B": [[0.9, 0.4], [0.2, 0.7]], "D": [0.8, 0.1]})
    learned, _, _ = fitted(net, lost(net.sample(4000, seed=5), 0.2, 6), 1.0, seed=1)
    for name, table in net.tables.items():
        assert learned.tables[name] == pytest.approx(table, abs=0.05)


def test_tables_are_drawn_from_their_posterior() -> None:
    net = Network("A -> B").fit({"A": ["x", "x", "y"] * 50, "B": ["u", "v", "v"] * 50})
    alphas, random = concentrations(net), np.random.default_rng(0)
    draws = np.array([drawn_tables(net, alphas, random)["B"] for _ in range(400)])
    assert draws.sum(-1) == pytest.approx(1.0)
    assert draws.mean(0) == pytest.approx(net.tables["B"], abs=0.02)
