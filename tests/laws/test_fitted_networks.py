"""Laws of tables that are fitted: priors and strengths, missing cells and hidden variables, and how sure tables are."""

from __future__ import annotations

import pickle
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo import engines
from credo.core.em import accelerated_em, em, expected
from credo.core.labels import Label
from credo.engines import local
from credo.errors import EvidenceError, Notice
from credo.networks import incomplete_rows
from credo.networks.fitting import FittingSettings, TableFit
from credo.networks.gradient import nearest_distributions
from credo.networks.incomplete_rows import observed
from credo.networks.learning import TableEM
from credo.networks.network import Network
from credo.networks.table_beliefs import AveragedOverTables, _drawn_rows
from credo.notices import quietly
from tests.laws.test_learned_networks import lost
from tests.networks import networks
from tests.processes import Processes

STORM = Network.example("storm")
PRIORS: list[Any] = ["ml", 1.0, 0.3, 4.0, credo.BDeu(3)]
METHODS: list[Any] = ["em", "gradient", "lbfgs"]
CLOSE = 1e-9


def holes(rows: pa.Table, share: float, seed: int) -> dict[str, list[Any]]:
    """Cells missing at random, but of each column some are known."""
    found = lost(rows, share, seed)
    for name, own in found.items():
        own[: len(set(rows[name].to_pylist())) * 4] = rows[name].to_pylist()[: len(set(rows[name].to_pylist())) * 4]
    return found


def slope(net: Network, data: Any) -> float:
    """The largest slope of the log-posterior in log-odds, n + α - (N + A) θ, per row; n by the network itself."""
    evidence = [net.expect(rows)[0] for rows in net.coded(data)]
    worst = 0.0
    for name, node in net.nodes.items():
        n = np.asarray(sum(each[node.label].n.value for each in evidence))
        prior, table = net.prior[node.label.name], net.tables[name]
        alpha = 0.0 if prior is None else (prior.dirichlet(n.shape) if isinstance(prior, credo.BDeu) else prior)
        n = n + (alpha if isinstance(alpha, float) else alpha.concentration)
        worst = max(worst, float(np.abs(n - n.sum(-1, keepdims=True) * table).max()))
    return worst / net.n


# Priors


@settings(max_examples=30, deadline=None)
@given(networks(), st.integers(0, 2**31), st.sampled_from([0.5, 1.0, 10.0]))
def test_bdeu_spreads_the_sample_size_over_the_table(net: Network, seed: int, size: float) -> None:
    rows = net.sample(30, seed=seed)
    learned = Network(net.parents, states=net.states).fit(rows, prior=credo.BDeu(size))
    for name, table in learned.tables.items():
        counts, alpha = learned.evidence[Label("column", name)].n.value, size / table.size
        assert table == pytest.approx((counts + alpha) / (counts + alpha).sum(-1, keepdims=True), rel=1e-13)


def test_bdeu_is_the_uniform_network_as_sure_as_so_many_cases() -> None:
    sizes = {name: len(states) for name, states in STORM.states.items()}
    uniform = {name: np.full([sizes[each] for each in (*above, name)], 0.5) for name, above in STORM.parents.items()}
    rows = STORM.sample(100, seed=1)
    expert = Network(STORM.parents, uniform, STORM.states).fit(rows, strength=7)
    bdeu = STORM.fit(rows, prior=credo.BDeu(7))
    for name in STORM.parents:
        assert expert.tables[name] == pytest.approx(bdeu.tables[name], rel=1e-12)


def test_a_prior_for_each_node() -> None:
    rows = STORM.sample(50, seed=2)
    prior = {"Storm": credo.BDeu(4), "Campfire": "ml", "Thunder": credo.DirichletCategorical([[3, 1], [1, 3]])}
    learned = STORM.fit(rows, prior=prior)
    plain, strict = STORM.fit(rows), STORM.fit(rows, prior="ml")
    n = plain.evidence[Label("column", "Storm")].n.value
    assert learned.tables["Storm"] == pytest.approx((n + 2) / (n.sum() + 4))
    assert np.array_equal(learned.tables["Campfire"], strict.tables["Campfire"])
    assert np.array_equal(learned.tables["ForestFire"], plain.tables["ForestFire"])
    n = plain.evidence[Label("column", "Thunder")].n.value + np.array([[3, 1], [1, 3]])
    assert learned.tables["Thunder"] == pytest.approx(n / n.sum(-1, keepdims=True))


# Expert tables


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 2**31), st.sampled_from([0.1, 1.0, 50.0]))
def test_an_expert_as_sure_as_n_cases_counts_as_n_cases(net: Network, seed: int, cases: float) -> None:
    """Before any row, the tables are the expert's; after rows, (N P(node, parents) + n) / Σ."""
    sure, rows = net.with_strength(cases), net.sample(20, seed=seed)
    assert sure.n == 0
    for name, table in net.tables.items():
        assert sure.tables[name] == pytest.approx(table, abs=1e-12)
        assert np.array_equal(sure.tables[name] == 0, table == 0)  # what is impossible stays so
    learned = sure.update(rows)
    for name in net.parents:
        joint = net.query([*net.parents[name], name])
        before = cases * np.array([*joint.values()]).reshape(net.tables[name].shape)
        total = before + learned.evidence[Label("column", name)].n.value
        reached = total.sum(-1) > 1e-12
        share = total[reached] / total[reached].sum(-1, keepdims=True)
        assert learned.tables[name][reached] == pytest.approx(share, abs=1e-9)
    again = net.fit(rows, strength=cases)
    assert all(np.array_equal(again.tables[name], learned.tables[name]) for name in net.parents)
    back = learned.forget(rows)
    assert all(np.array_equal(back.tables[name], sure.tables[name]) for name in net.parents)


def test_a_strength_for_each_node() -> None:
    rows = STORM.sample(40, seed=3)
    strengths = dict.fromkeys(STORM.variables, 10.0) | {"Campfire": 1e9}
    learned, even = STORM.fit(rows, strength=strengths), STORM.fit(rows, strength=10)
    assert learned.tables["Campfire"] == pytest.approx(STORM.tables["Campfire"], abs=1e-6)
    assert np.array_equal(learned.tables["Thunder"], even.tables["Thunder"])


# EM


@settings(max_examples=25, deadline=None)
@given(networks(most=5), st.integers(0, 2**31), st.sampled_from(PRIORS), st.booleans())
def test_fitting_never_falls_and_ends_where_the_slope_is_0(net: Network, seed: int, prior: Any, declared: bool) -> None:
    rows = net.sample(60, seed=seed)
    data = holes(rows, 0.3, seed)
    bare = Network(net.parents, states=net.states if declared else None)
    learned = bare.fit(data, prior=prior, tolerance=0.0, steps=3000)
    if learned.history:
        assert (np.diff(learned.history) >= -CLOSE * np.maximum(1.0, np.abs(learned.history[1:]))).all()
        assert slope(learned, data) < (1e-5 if prior == "ml" else 1e-6)
    assert learned.n == pytest.approx(60)


@settings(max_examples=25, deadline=None)
@given(networks(most=5), st.integers(0, 2**31), st.sampled_from(PRIORS))
def test_complete_rows_are_counted_whatever_the_method(net: Network, seed: int, prior: Any) -> None:
    """EM on complete rows is counting: the tables are where EM stays, and its slope is 0."""
    rows = net.sample(40, seed=seed)
    counted = Network(net.parents, states=net.states).fit(rows, prior=prior)
    assert counted.history == ()
    for method in METHODS:
        told = pytest.warns(Notice, match="so counting gives the optimum") if method != "em" else nullcontext()
        with told:
            again = Network(net.parents, states=net.states).fit(rows, prior=prior, method=method)
        assert all(np.array_equal(again.tables[name], counted.tables[name]) for name in net.parents)
    assert slope(counted, rows) < 1e-12


def test_em_counts_complete_rows_once_and_reads_the_others() -> None:
    """A table with some incomplete rows has the objective of all rows: log P(rows) + Σ α log θ."""
    data = lost(STORM.sample(300, seed=4), 0.05, 5)
    found = observed(Network(STORM.parents, states=STORM.states, prior=1.0), data, None, {})
    assert found.rows is not None
    whole = sum(all(own[i] is not None for own in data.values()) for i in range(300))
    assert found.complete[Label("column", "Storm")].n.value.sum() == whole
    assert found.rows.weight.sum() == 300 - whole
    learned = STORM.fit(data, tolerance=0.0)
    log_likelihood = float(learned.log_prob(data).sum())
    log_prior = TableEM(learned._with_prior(_in_log_odds(learned))).log_prior()
    assert learned.history[-1] == pytest.approx(log_likelihood + log_prior, rel=1e-9)


def _in_log_odds(net: Network) -> Any:
    return net.prior.in_log_odds({name: table.shape for name, table in net.tables.items()})


@pytest.mark.parametrize("prior", [1.0, 3.0, credo.BDeu(20)], ids=str)
def test_all_methods_reach_the_same_optimum(prior: Any) -> None:
    """Few cells are missing, so that the optimum is unique."""
    data = lost(STORM.sample(400, seed=6), 0.15, 7)
    fits = [STORM.fit(data, prior=prior, method=method, tolerance=1e-14, steps=5000) for method in METHODS]
    for each in fits:
        assert each.history[-1] == pytest.approx(fits[0].history[-1], rel=1e-8)
        for name, table in fits[0].tables.items():
            assert each.tables[name] == pytest.approx(table, abs=2e-4)


def test_acceleration_takes_fewer_steps_to_the_same_optimum() -> None:
    data = STORM.sample(1000, seed=1).drop_columns(["Lightning", "Campfire"])
    base = Network(STORM.parents, states=STORM.states, prior=2.0)
    rows, start = [*base.coded(data)], TableEM(base.with_tables(STORM.tables))
    plain = em(start, lambda: iter(rows), steps=3000, tolerance=1e-9)
    fast = accelerated_em(start, lambda: iter(rows), steps=3000, tolerance=1e-9)
    assert len(fast.history) < len(plain.history) / 2
    assert fast.objective == pytest.approx(plain.objective, rel=1e-7)
    assert (np.diff(fast.history) >= 0).all()


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.slow
def test_maximum_likelihood_goes_to_zeros_in_few_steps(share: float) -> None:
    """Entries that EM takes to 0 don't underflow on the way, and don't decide how far all others are extrapolated."""
    asia = Network.example("asia")
    data = lost(asia.sample(1000, seed=1), share, 2)
    net = Network(asia.parents).fit(data, prior="ml")
    assert len(net.history) < 120
    assert (np.diff(net.history) >= -1e-9).all()
    assert min(table[table > 0].min() for table in net.tables.values()) > 1e-60
    plain = em(TableEM(net.with_tables(net.tables)), lambda: net.coded(data), steps=300, tolerance=0.0)
    assert plain.objective == pytest.approx(net.history[-1], rel=1e-6)  # EM from there finds nothing better


def test_equal_rows_are_one() -> None:
    """The expected counts are those of all rows; the E-step reads each kind of row once."""
    data = STORM.sample(5000, seed=8).drop_columns(["Lightning", "Campfire"])
    base = Network(STORM.parents, states=STORM.states, prior=1.0)
    found = observed(base, data, None, {})
    assert found.rows is not None
    assert len(found.rows.weight) <= 16
    merged, _ = expected(TableEM(STORM), found.rows.chunks)
    whole, _ = expected(TableEM(STORM), lambda: STORM.coded(data))
    for node in STORM.nodes.values():
        assert merged[node.label].n.value == pytest.approx(whole[node.label].n.value, rel=1e-10)


def test_rows_that_are_not_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = holes(STORM.sample(500, seed=9), 0.2, 1)
    kept = Network(STORM.parents).fit(data)
    monkeypatch.setattr(incomplete_rows, "KEPT_CODE_BYTES", 100)
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", 100)
    read = Network(STORM.parents).fit(data)
    assert read.n == pytest.approx(500)
    for name, table in kept.tables.items():
        assert read.tables[name] == pytest.approx(table, abs=1e-5)
    with pytest.raises(credo.DataError, match="can be read only once"):
        Network(STORM.parents).fit(iter([pa.table(data)] * 3))


def test_batches_with_other_states_are_coded_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that come later, and columns that are empty in some batches."""
    data = {"A": ["z", "y", None, "x"] * 30 + [None] * 60, "B": [None] * 60 + ["u", None, "v", "u", "v", "t"] * 20}
    whole = Network("A -> B").fit(data)
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", 20)
    parts = Network("A -> B").fit(data)
    assert parts.states == whole.states == {"A": ("x", "y", "z"), "B": ("t", "u", "v")}
    assert parts.tables["B"] == pytest.approx(whole.tables["B"], abs=1e-7)


def test_weight_2_is_the_row_twice_where_cells_are_missing() -> None:
    data, twice = lost(STORM.sample(200, seed=3), 0.2, 2), np.random.default_rng(0).integers(0, 3, 200)
    repeated = {name: [*np.repeat(np.array(own, dtype=object), twice)] for name, own in data.items()}
    one, two = STORM.fit(data, weight=twice), STORM.fit(repeated)
    assert one.n == pytest.approx(two.n)
    for name, table in two.tables.items():
        assert one.tables[name] == pytest.approx(table, abs=1e-9)


@pytest.mark.slow
def test_any_engine_fits_the_same() -> None:
    data = lost(STORM.sample(300, seed=3), 0.2, 2)
    hidden = {name: own for name, own in data.items() if name not in ("Lightning", "Campfire")}
    asked: dict[str, Any] = {"hidden": {"Lightning": 2, "Campfire": 2}, "starts": 4, "steps": 30}
    with pytest.warns(Notice, match="30 steps"):
        here = Network(STORM.parents).fit(hidden, **asked)
    with Processes() as processes:
        for engine in (engines.Serial(), processes):
            with engines.using(engine), pytest.warns(Notice, match="30 steps"):
                there = Network(STORM.parents).fit(hidden, **asked)
            assert there.history == here.history
            assert all(np.array_equal(there.tables[name], here.tables[name]) for name in STORM.parents)


# Hidden variables


def cluster(size: int) -> tuple[Network, pa.Table]:
    """Four signs of a cause with three states, which can be found from the signs."""
    tables: dict[str, Any] = {"Cause": [0.5, 0.3, 0.2]}
    signs = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]]
    names = [f"Sign{i}" for i in range(4)]
    net = Network(
        {"Cause": (), **dict.fromkeys(names, ("Cause",))},
        tables | dict.fromkeys(names, signs),
        {"Cause": (0, 1, 2)} | dict.fromkeys(names, ("a", "b", "c")),
    )
    return net, net.sample(size, seed=1)


def test_a_hidden_variable_is_found_again() -> None:
    net, rows = cluster(4000)
    found = Network(net.parents).fit(rows.drop_columns(["Cause"]), hidden={"Cause": 3}, seed=1)
    assert found.states["Cause"] == (0, 1, 2)
    order = np.argsort(-found.tables["Cause"])
    assert found.tables["Cause"][order] == pytest.approx(net.tables["Cause"], abs=0.03)
    assert found.tables["Sign0"][order] == pytest.approx(net.tables["Sign0"], abs=0.06)
    assert float(found.log_prob(rows.drop_columns(["Cause"])).mean()) >= -4.0
    named = Network(net.parents).fit(
        rows.drop_columns(["Cause"]), hidden={"Cause": ["u", "v", "w"]}, starts=1, steps=5000
    )
    assert named.states["Cause"] == ("u", "v", "w")


def test_more_starts_never_end_lower() -> None:
    net, rows = cluster(300)
    data = rows.drop_columns(["Cause"])
    ends = [Network(net.parents).fit(data, hidden={"Cause": 3}, starts=k).history[-1] for k in (1, 3)]
    assert ends[1] >= ends[0] - 1e-6 * abs(ends[0])


def test_given_tables_name_the_states_of_hidden_variables() -> None:
    """EM begins at the network's own tables, so that its states keep their meaning."""
    net, rows = cluster(1000)
    with pytest.warns(Notice, match="'Cause': not a column, so hidden"):
        found = net.fit(rows.drop_columns(["Cause"]))
    assert found.tables["Cause"] == pytest.approx(net.tables["Cause"], abs=0.06)


def test_updating_continues_em() -> None:
    """What was expected of earlier rows stays; more rows tell more."""
    net, rows = cluster(2000)
    data = rows.drop_columns(["Cause"])
    first = Network(net.parents).fit(data.slice(0, 500), hidden={"Cause": 3})
    with pytest.warns(credo.Notice, match="expected counts of earlier rows are kept"):
        more = first.update(data.slice(500))
    assert more.n == pytest.approx(2000)
    assert (np.diff(more.history) >= -CLOSE * abs(more.history[-1])).all()
    assert float(more.log_prob(data).sum()) > float(first.log_prob(data).sum())
    with quietly():
        assert first.update(rows.slice(0, 3)).n == pytest.approx(503)  # complete rows are counted
    half = more.discount(0.5)
    assert half.n == pytest.approx(1000)
    with pytest.raises(credo.EvidenceError, match="can't forget rows exactly"):
        half.forget(rows.slice(0, 3))


def test_counted_tables_learn_incomplete_rows_later() -> None:
    rows = STORM.sample(300, seed=2)
    counted = STORM.fit(rows.slice(0, 200))
    more = counted.update(lost(rows.slice(200), 0.3, 1))
    assert counted.history == ()
    assert more.history
    assert more.n == pytest.approx(300)
    assert (np.diff(more.history) >= 0).all()


def test_starts_run_beside_each_other_as_alone() -> None:
    net, rows = cluster(200)
    base = Network(net.parents, states=net.states, prior=1.0)
    found = observed(base, rows.drop_columns(["Cause"]), None, {})
    problem = TableFit.of(base, found.complete.ordered(), found.ordered(found.complete.ordered()), (rows, None))
    assert problem.hidden == ("Cause",)
    assert problem.rows.few
    how = FittingSettings(starts=3, steps=15)
    starts = [*problem.starts(how, base)]
    alone = replace(problem.restarts(how), beside=False).climbed(starts)
    beside = problem.restarts(how).climbed(starts)
    assert [fit.history for fit in beside] == [fit.history for fit in alone]
    assert len({fit.history for fit in beside}) == 3  # each start is another


# What is known of tables


def test_the_belief_about_a_row() -> None:
    rows = STORM.sample(400, seed=5)
    learned = STORM.fit(rows, prior=2.0)
    belief = learned.belief("Campfire", given={"Storm": "yes", "BusTourGroup": "no"})
    n = learned.evidence[Label("column", "Campfire")].n.value[0, 1]
    assert belief.mean() == pytest.approx(dict(zip(("yes", "no"), (n + 2) / (n.sum() + 4), strict=True)))
    assert belief.n == n.sum()
    direct = credo.DirichletCategorical({"yes": 2, "no": 2}).update({"yes": n[0], "no": n[1]})
    assert all(belief.interval()[state] == pytest.approx(direct.interval()[state]) for state in ("yes", "no"))
    assert learned.belief("Storm").mean()["yes"] == pytest.approx(learned.tables["Storm"][0])


@pytest.mark.slow
def test_sampled_tables_agree_with_the_belief_and_with_the_mean() -> None:
    learned = STORM.fit(STORM.sample(150, seed=5))
    given: dict[str, Any] = {"Storm": "yes", "BusTourGroup": "no"}
    found = learned.query("Campfire", given, tables="sampled", samples=4000, seed=1)
    belief = learned.belief("Campfire", given=given)
    assert isinstance(found, AveragedOverTables)
    for state, (low, high) in belief.interval().items():
        assert found.interval()[state] == pytest.approx((low, high), abs=0.03)
        assert abs(found[state] - belief.mean()[state]) < 4 * found.standard_error[state]
    wide, narrow = found.interval(0.99)["yes"], found.interval(0.5)["yes"]
    assert wide[0] < narrow[0] < found["yes"] < narrow[1] < wide[1]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(networks(most=4), st.integers(0, 2**31))
def test_mean_tables_integrate_out_what_is_uncertain(net: Network, seed: int) -> None:
    """E[P(x, e | θ)] / E[P(e | θ)] = P(x | e) by the mean tables: entries of a row's tables are independent."""
    rows = net.sample(25, seed=seed)
    learned = Network(net.parents, states=net.states).fit(rows)
    names = list(net.parents)
    given = {names[-1]: rows[names[-1]][0].as_py()} if len(names) > 1 else {}
    exact = learned.query(names[0], given)
    found = learned.query(names[0], given, tables="sampled", samples=600, seed=seed)
    assert isinstance(found, AveragedOverTables)
    for state, p in exact.items():
        assert abs(found[state] - p) <= 5 * found.standard_error[state] + 1e-9


def test_tables_of_an_expert_are_uncertain_as_after_so_many_cases() -> None:
    asia = Network.example("asia")  # with zeros
    few, many = (asia.with_strength(cases).query("LungCancer", tables="sampled", samples=300) for cases in (20, 2000))
    assert isinstance(few, AveragedOverTables)
    assert isinstance(many, AveragedOverTables)
    low, high = many.interval()["yes"]
    assert few.interval()["yes"][1] - few.interval()["yes"][0] > 3 * (high - low)
    assert low < asia.query("LungCancer")["yes"] < high


def test_a_drawn_table_that_underflows_has_no_weight() -> None:
    """Of little prior weight, an unseen state's probability is 0 in most draws, and in some it isn't."""
    rows = {"A": ["y"] * 20, "B": ["y", "n"] * 10}
    rare = Network("A -> B", states=["y", "n"]).fit(rows, prior=credo.BDeu(1e-4))
    found = rare.query("B", {"A": "n"}, tables="sampled", samples=400)
    assert isinstance(found, AveragedOverTables)
    assert 0 < len(found.weights) < 100
    assert sum(found.values()) == pytest.approx(1.0)
    drawn = _drawn_rows(np.full((4000, 3), 1e-4) * [1, 2, 1], np.random.default_rng(0))
    np.testing.assert_allclose(drawn.sum(1), 1.0)
    np.testing.assert_allclose(drawn.mean(0), [0.25, 0.5, 0.25], atol=0.03)
    tiny = _drawn_rows(np.full((4000, 3), 5e-324) * [1, 2, 1], np.random.default_rng(0))
    np.testing.assert_allclose(tiny.mean(0), [0.25, 0.5, 0.25], atol=0.03)


def test_evidence_that_no_draw_makes_possible() -> None:
    rows = {"A": ["y"] * 20, "B": ["y", "n"] * 10}
    rare = Network("A -> B", states=["y", "n"]).fit(rows, prior=credo.BDeu(1e-9))
    with pytest.raises(EvidenceError, match="under each of 7 tables drawn"):
        rare.query("B", {"A": "n"}, tables="sampled", samples=7)


def test_tied_nodes_are_drawn_together() -> None:
    """The mean over draws isn't what mean tables say where nodes share a table: E[θ²] isn't E[θ]²."""
    rows = {"X0": ["a", "a", "b"], "X1": ["a", "b", "b"], "X2": ["a", "a", "b"]}
    tied = Network("X0 -> X1 -> X2", states=["a", "b"], tied={"X1": "step", "X2": "step"}).fit(rows)
    found = tied.query("X2", {"X0": "a"}, tables="sampled", samples=4000)
    assert isinstance(found, AveragedOverTables)
    assert abs(found["a"] - tied.query("X2", {"X0": "a"})["a"]) > 5 * found.standard_error["a"]
    assert found.total([1.0, 0.0]).standard_error == pytest.approx(found.standard_error["a"])
    assert pickle.loads(pickle.dumps(found)).interval() == found.interval()


# Held-out rows


def test_refits_of_folds_take_the_options_of_fit() -> None:
    rows = STORM.sample(120, seed=1).drop_columns(["Lightning"])
    fresh = Network(STORM.parents)
    with warnings.catch_warnings(record=True, action="always") as told:
        found = fresh.cross_validate(rows, 3, hidden={"Lightning": 2}, starts=2, steps=3, seed=4)
    assert [str(each.message) for each in told] == ["em ended after 3 steps, before it converged: increase steps="]
    held = found.folds == 1
    with quietly():
        taught = fresh.fit(rows.filter(~held), hidden={"Lightning": 2}, starts=2, steps=3, seed=4)
    np.testing.assert_allclose(found.log_probabilities[held], taught.log_prob(rows.filter(held)), rtol=1e-6)
    learned = fresh.fit(rows, hidden={"Lightning": 2}, starts=2, tolerance=1e-4)
    with warnings.catch_warnings(record=True, action="always") as told:
        learned.cross_validate(rows, 3, starts=1, tolerance=1e-4)
    assert not told


def test_folds_are_the_same_with_and_without_missing_cells() -> None:
    rows = STORM.sample(60, seed=1).to_pydict()
    whole = STORM.fit(rows).cross_validate(rows, 4, seed=3)
    lost = {**rows, "Storm": [None, *rows["Storm"][1:]]}
    np.testing.assert_array_equal(STORM.fit(rows).cross_validate(lost, 4, seed=3).folds, whole.folds)


def test_an_aborted_line_search_has_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.optimize

    ended = scipy.optimize.minimize

    def aborted(*args: Any, **options: Any) -> Any:
        found = ended(*args, **{**options, "options": {**options["options"], "maxiter": 2}})
        found.status = 2
        return found

    rows = holes(STORM.sample(100, seed=1), 0.3, 0)
    monkeypatch.setattr(scipy.optimize, "minimize", aborted)
    with pytest.warns(Notice, match="lbfgs ended after 2 steps, before it converged: method="):
        Network(STORM.parents).fit(rows, method="lbfgs")


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_what_a_refit_without_the_row_says(prior: Any, weighted: bool) -> None:
    rows = STORM.sample(40, seed=7)
    weight = np.random.default_rng(0).integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    found = STORM.fit(rows, prior=prior, weight=weight).leave_one_out(rows, weight=weight)
    for i in range(40):
        rest = weight.copy()
        rest[i] = 0.0
        alone = STORM.fit(rows, prior=prior, weight=rest).log_prob(rows.slice(i, 1))[0]
        assert found.log_probabilities[i] == pytest.approx(alone, rel=1e-12)


def test_leave_one_out_of_tied_tables_is_what_a_refit_says() -> None:
    chain = Network("X0 -> X1 -> X2", states=("a", "b"), tied={"X1": "step", "X2": "step"})
    rows = {"X0": list("abababba"), "X1": list("aabbabab"), "X2": list("abaababb")}
    found = chain.fit(rows).leave_one_out(rows)
    for i in range(8):
        rest = {name: [*own[:i], *own[i + 1 :]] for name, own in rows.items()}
        alone = chain.fit(rest).log_prob({name: [own[i]] for name, own in rows.items()})[0]
        assert found.log_probabilities[i] == pytest.approx(alone, rel=1e-12)


def test_cross_validation_refits_where_cells_are_missing() -> None:
    data = lost(STORM.sample(120, seed=1), 0.1, 1)
    found = STORM.fit(data).cross_validate(data, 3, seed=2)
    for k in range(3):
        kept = [i for i in range(120) if found.folds[i] != k]
        held = [i for i in range(120) if found.folds[i] == k]
        alone = STORM.fit({name: [own[i] for i in kept] for name, own in data.items()})
        expected_logs = alone.log_prob({name: [own[i] for i in held] for name, own in data.items()})
        assert found.log_probabilities[held] == pytest.approx(expected_logs, abs=1e-4)


# Storage


@pytest.mark.parametrize("kind", ["bdeu", "expert", "em", "hidden"])
def test_saving_and_loading_keeps_priors_and_history(kind: str, tmp_path: Path) -> None:
    net, rows = cluster(200)
    data = rows.drop_columns(["Cause"])
    made = {
        "bdeu": lambda: net.fit(rows, prior={"Cause": credo.BDeu(3), "Sign0": credo.BDeu(1.5)}),
        "expert": lambda: net.with_strength(50).update(rows),
        "em": lambda: net.fit(lost(rows, 0.1, 1), prior=credo.BDeu(5)),
        "hidden": lambda: Network(net.parents).fit(data, hidden={"Cause": 3}, starts=2),
    }[kind]()
    credo.save(made, tmp_path / "n.credo")
    loaded = credo.load(tmp_path / "n.credo")
    assert loaded == made
    assert loaded.prior == made.prior
    assert loaded.history == made.history
    assert bool(made.history) == (kind in ("em", "hidden"))
    with quietly():
        more, again = (each.update(rows.slice(0, 20)) for each in (made, loaded))
    assert all(np.array_equal(more.tables[name], again.tables[name]) for name in net.parents)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6))
def test_the_nearest_distribution(x: list[float]) -> None:
    found = nearest_distributions(np.array(x))
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    distance, random = np.sum((found - x) ** 2), np.random.default_rng(0)
    for other in random.dirichlet(np.ones(len(x)), 50):
        assert np.sum((other - x) ** 2) >= distance - 1e-9


def test_progress_tells_the_rows_of_every_step() -> None:
    data, seen = lost(STORM.sample(300, seed=3), 0.2, 2), list[int]()
    token = local.progress.set(seen.append)
    try:
        learned = STORM.fit(data)
    finally:
        local.progress.reset(token)
    found = observed(Network(STORM.parents, states=STORM.states, prior=1.0), data, None, {})
    assert found.rows is not None
    assert sum(seen) >= 300 + len(found.rows.weight) * len(learned.history)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gradient_ascent_steps_back_from_impossible_tables(seed: int) -> None:
    """Steps to the border, where rows would be impossible, are halved."""
    truth = credo.Network(
        "H -> A; H -> B; H -> C; H -> D",
        states={"H": (0, 1), **dict.fromkeys("ABCD", ("x", "y"))},
        tables={
            "H": [0.4, 0.6], "A": [[0.9, 0.1], [0.2, 0.8]], "B": [[0.8, 0.2], [0.3, 0.7]],
            "C": [[0.7, 0.3], [0.1, 0.9]], "D": [[0.95, 0.05], [0.4, 0.6]],
        },
    )  # fmt: skip
    rows = truth.sample(100, seed=seed).drop_columns(["H"])
    with quietly():  # 60 steps may be too few
        found = credo.Network(truth.parents).fit(rows, hidden={"H": 2}, method="gradient", starts=2, steps=60)
    assert np.diff(found.history).min() >= 0


def test_updates_after_em_keep_what_was_expected_of_earlier_rows() -> None:
    rows = {"A": ["yes"] * 3 + ["no"] * 7 + [None] * 20, "B": ["u", "v"] * 15}
    net = credo.Network("A; B").fit(rows)
    with pytest.warns(credo.Notice, match="expected counts of earlier rows are kept"):
        net.update({"A": ["yes"], "B": ["u"]})


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_copies_of_rows_share_their_fold(share: float) -> None:
    """A row predicts its own copies no better than others: twenty variables are never the same by chance."""
    random = np.random.default_rng(4)
    rows = {f"v{i}": random.choice(["x", "y", "z"], 80).astype(object) for i in range(20)}
    for column in rows.values():
        column[random.random(80) < share] = None
    net = Network(dict.fromkeys(rows, ()))
    twice = {name: [*column.tolist(), *column.tolist()] for name, column in rows.items()}
    found = net.cross_validate(twice, 5, seed=1)
    assert found.folds[:80].tolist() == found.folds[80:].tolist()
    assert len({*found.folds.tolist()}) == 5


def test_rows_that_are_the_same_by_chance_are_rows_like_any_others() -> None:
    rows = STORM.sample(400, seed=2)
    folds = STORM.fit(rows).cross_validate(rows, 4, seed=1).folds
    cells = [str(row) for row in rows.to_pylist()]
    most = max({*cells}, key=cells.count)
    assert len({int(fold) for fold, row in zip(folds, cells, strict=True) if row == most}) == 4
