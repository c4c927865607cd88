"""Networks of categories and numbers: learning adds up, nothing is refitted, other models are special cases."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import EvidenceError, NetworkError
from credo.networks.hybrid.line_priors import resolved
from credo.networks.hybrid.network import HybridNetwork
from tests.hybrids import Counted, random_hybrid

ARROWS = "Flu -> Fever; Fever, Sex -> Pulse; Flu -> Cough"


def rows(size: int, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    flu, sex = random.random(size) < 0.3, random.random(size) < 0.5
    fever = np.where(flu, 39.0, 36.8) + random.normal(size=size) * np.where(flu, 0.6, 0.4)
    pulse = np.where(sex, -200.0, -210.0) + np.where(sex, 8.0, 7.0) * fever + 5 * random.normal(size=size)
    cough = random.random(size) < np.where(flu, 0.8, 0.1)
    words = {"Flu": flu, "Sex": sex, "Cough": cough}
    return {"Fever": fever, "Pulse": pulse} | {name: np.where(own, "yes", "no") for name, own in words.items()}


def part(table: dict[str, Any], where: Any) -> dict[str, Any]:
    return {name: column[where] for name, column in table.items()}


def with_holes(table: dict[str, Any], share: float, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        name: [
            None if hole else cell.item() for cell, hole in zip(column, random.random(len(column)) < share, strict=True)
        ]
        for name, column in table.items()
    }


def close(one: HybridNetwork, other: HybridNetwork, within: float) -> bool:
    same = all(np.allclose(table, other.tables[name], atol=within, rtol=0) for name, table in one.tables.items())
    for name, node in one.numbers.items():
        theirs = other.numbers[name]
        for each in ("intercept", "weights", "variance"):
            same &= np.allclose(getattr(node, each), getattr(theirs, each), atol=within, rtol=within)
    return same


ROWS = rows(300)
NET = HybridNetwork(ARROWS).fit(ROWS)


# Verbs


def test_updates_and_sums_are_the_fit_of_all_rows() -> None:
    one, two = (HybridNetwork(ARROWS).fit(part(ROWS, where)) for where in (slice(0, 120), slice(120, None)))
    assert close(one.update(part(ROWS, slice(120, None))), NET, 1e-10)
    assert close(one + two, NET, 1e-10)
    assert close(one.merge(two), NET, 1e-10)
    assert (one + two).n == 300


def test_forgetting_undoes_an_update() -> None:
    one = HybridNetwork(ARROWS).fit(part(ROWS, slice(0, 120)))
    assert close(one.update(part(ROWS, slice(120, None))).forget(part(ROWS, slice(120, None))), one, 1e-9)
    with pytest.raises(credo.EvidenceError):
        one.forget(part(ROWS, slice(120, None)))


def test_weights_are_repetitions_and_discounts() -> None:
    weight = np.arange(300) % 3
    again = part(ROWS, np.repeat(np.arange(300), weight))
    assert close(HybridNetwork(ARROWS).fit(ROWS, weight=weight), HybridNetwork(ARROWS).fit(again), 1e-9)
    half = HybridNetwork(ARROWS).fit(ROWS, weight=np.full(300, 0.5))
    assert close(NET.discount(0.5), half, 1e-9)
    assert NET.discount(0.5).n == 150


def test_order_and_units_dont_matter() -> None:
    assert close(HybridNetwork(ARROWS).fit(part(ROWS, np.random.default_rng(3).permutation(300))), NET, 1e-9)
    shifted = HybridNetwork(ARROWS).fit({**ROWS, "Fever": ROWS["Fever"] * 1.8 + 32})
    given = {"Pulse": 110.0}
    celsius, fahrenheit = NET.query("Fever", given), shifted.query("Fever", given)
    assert float(celsius.mean()) * 1.8 + 32 == pytest.approx(float(fahrenheit.mean()), rel=1e-9)
    assert float(celsius.sd) * 1.8 == pytest.approx(float(fahrenheit.sd), rel=1e-9)
    assert NET.query("Flu", given) == pytest.approx(shifted.query("Flu", given), abs=1e-9)


def test_numbers_far_from_0() -> None:
    """A billion more changes nothing but the intercept; leave-one-out doesn't see it at all."""
    near = {name: ROWS[name] for name in ("Flu", "Fever", "Pulse")}
    far = {**near, "Fever": near["Fever"] + 1e9, "Pulse": near["Pulse"] - 1e9}
    one, two = (HybridNetwork("Flu -> Fever; Flu, Fever -> Pulse").fit(table) for table in (near, far))
    np.testing.assert_allclose(one.numbers["Pulse"].weights, two.numbers["Pulse"].weights, rtol=1e-5)
    np.testing.assert_allclose(one.numbers["Pulse"].variance, two.numbers["Pulse"].variance, rtol=1e-5)
    np.testing.assert_allclose(
        one.leave_one_out(near).log_probabilities, two.leave_one_out(far).log_probabilities, atol=1e-4
    )
    apart = float(two.query("Pulse", {"Fever": 39 + 1e9}).mean()) + 1e9
    assert apart == pytest.approx(float(one.query("Pulse", {"Fever": 39.0}).mean()), abs=1e-2)


def test_left_out_rows_are_refits() -> None:
    """With the priors as all rows have them: what is fixed is their numbers."""
    table = part(ROWS, slice(0, 40))
    net = HybridNetwork(ARROWS).fit(table)
    lines: dict[str, Any] = {}
    for name in net.numbers:
        label = next(label for label in net.evidence.parts if label.name == name)
        lines[name] = resolved(1.0, name, net.evidence[label])
    net = HybridNetwork(ARROWS).fit(table, prior=lines)
    states = {name: ["no", "yes"] for name in ("Flu", "Sex", "Cough")}
    found = net.leave_one_out(table).log_probabilities
    for i in range(0, 40, 3):
        others = part(table, np.arange(40) != i)
        refitted = HybridNetwork(ARROWS, states=states).fit(others, prior=lines, kinds=dict.fromkeys(lines, "number"))
        assert found[i] == pytest.approx(refitted.log_prob(part(table, [i]))[0], abs=1e-9)


def test_cross_validation_predicts_held_out_rows() -> None:
    found = NET.cross_validate(ROWS, folds=5)
    assert found.log_loss == pytest.approx(NET.leave_one_out(ROWS).log_loss, abs=0.02)


# What it is, in other words


def test_categories_alone_are_a_network() -> None:
    names = ("Flu", "Sex", "Cough")
    table = {name: ROWS[name] for name in names}
    hybrid, plain = HybridNetwork("Flu -> Cough; Sex").fit(table), credo.Network("Flu -> Cough; Sex").fit(table)
    for name in names:
        np.testing.assert_array_equal(hybrid.tables[name], plain.tables[name])
        assert hybrid.query(name, {"Cough": "yes"}) == plain.query(name, {"Cough": "yes"})
    np.testing.assert_allclose(hybrid.log_prob(table), plain.log_prob(table), atol=1e-12)
    np.testing.assert_allclose(
        hybrid.leave_one_out(table).log_probabilities, plain.leave_one_out(table).log_probabilities, atol=1e-12
    )
    given = {"Flu": {"yes": 0.4, "no": 1.0}}
    assert hybrid.log_probability(given) == plain.log_probability(given)
    assert hybrid.most_probable(given=given) == plain.most_probable(given=given)
    assert hybrid.probability({"Cough": "yes"}, given) == plain.probability({"Cough": "yes"}, given)
    assert dict(hybrid.marginals(given)) == dict(plain.marginals(given))


def test_other_distributions_of_categories_are_expanded() -> None:
    flu = credo.nodes.NoisyOr({"Flu": 0.8, "Cold": 0.4}, leak=0.1)
    tables = {"Flu": 0.1, "Cold": 0.2, "Ill": flu}
    plain = credo.Network("Flu, Cold -> Ill", tables)
    net = HybridNetwork("Flu, Cold -> Ill -> t", {**tables, "t": credo.nodes.Normal({"yes": 38.0, "no": 37.0})})
    np.testing.assert_allclose(net.tables["Ill"], plain.tables["Ill"], atol=1e-15)
    assert net.query("Flu", {"Ill": "yes"}) == pytest.approx(plain.query("Flu", {"Ill": "yes"}))


def test_a_node_is_a_regression() -> None:
    """Of numbers alone, a node's line is that of least squares, under any number of prior cases."""
    table = {"x": ROWS["Fever"], "z": np.sin(np.arange(300.0)), "y": ROWS["Pulse"]}
    line = credo.LinearRegression(ridge=0).fit(table, target="y").maximum_likelihood()
    for prior in (1.0, 30.0, "ml"):
        node = HybridNetwork("x, z -> y").fit(table, prior=prior).numbers["y"]
        assert [float(node.intercept), *node.weights.tolist()] == pytest.approx(line.weights.tolist(), rel=1e-8)
        left, cases = 300 - 3, 0.0 if prior == "ml" else float(prior)  # degrees of freedom, and what weights add
        wider = 1.0 if prior == "ml" else 300 / left * (1 + 3 / (300 + cases))
        assert float(node.variance) == pytest.approx(wider * float(line.variance), rel=1e-6)


def test_a_number_below_categories_is_a_mixture() -> None:
    found = NET.query("Fever")
    shares = NET.query("Flu")
    node = NET.numbers["Fever"]
    for x in (36.0, 38.0, 39.5):
        parts = [shares[s] * np.exp(-((x - m) ** 2) / v / 2) / np.sqrt(2 * np.pi * v) for s, m, v in
                 zip(NET.states["Flu"], node.intercept, node.variance, strict=True)]  # fmt: skip
        assert np.exp(found.log_prob(x)) == pytest.approx(sum(parts), rel=1e-12)
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)


def test_rows_are_queries() -> None:
    """log_prob, predict and predict_proba of incomplete rows are what queries say."""
    net = random_hybrid(4)
    table = net.sample(12, seed=5).to_pydict()
    random = np.random.default_rng(6)
    holes = {name: [None if random.random() < 0.4 else cell for cell in column] for name, column in table.items()}
    logs = net.log_prob(holes)
    for i in range(12):
        given = {name: column[i] for name, column in holes.items() if column[i] is not None}
        assert logs[i] == pytest.approx(net.log_probability(given), abs=1e-9)
        others = {name: cell for name, cell in given.items() if name not in ("c0", "x1")}
        row = {name: [cell] for name, cell in others.items()} | {"c2": [others.get("c2")]}
        assert net.predict_proba("c0", row)[0].tolist() == pytest.approx([*net.query("c0", others).values()], abs=1e-9)
        assert net.predict("x1", row)[0] == pytest.approx(float(net.query("x1", others).mean()), abs=1e-9)
    filled = net.impute(holes)
    assert not any(column.null_count for column in filled.columns)


def test_interventions_cut_arrows() -> None:
    done = NET.do({"Fever": 40.0})
    assert done.query("Flu") == pytest.approx(NET.query("Flu"))
    assert done.query("Pulse", {"Sex": "yes"}).mean() == pytest.approx(
        NET.query("Pulse", {"Sex": "yes", "Fever": 40.0}).mean()
    )
    assert done.log_probability({"Sex": "yes"}) == pytest.approx(NET.log_probability({"Sex": "yes"}))
    assert done.query("Fever").mean() == 40.0
    flu = NET.do({"Flu": "yes"})
    assert flu.query("Cough")["yes"] == pytest.approx(NET.query("Cough", {"Flu": "yes"})["yes"])
    assert NET.do({"Flu": {"yes": 0.5, "no": 0.5}}).query("Flu")["yes"] == pytest.approx(0.5)
    complete = {name: [column[0].item()] for name, column in ROWS.items() if name != "Fever"}
    assert done.log_prob(complete)[0] == pytest.approx(
        NET.log_prob({**complete, "Fever": [40.0]})[0]
        - NET.numbers["Fever"].log_density(
            {"Flu": np.array([NET.states["Flu"].index(complete["Flu"][0])])}, {"Fever": np.array([40.0])}
        )[0]
    )


def test_explanations_add_up() -> None:
    found = NET.explain("Flu", {"Pulse": 115.0, "Cough": "yes", "Sex": "no"}, "yes")
    assert found.prior + sum(each.weight for each in found.findings) == pytest.approx(found.log_odds, abs=1e-9)
    assert found.probability == pytest.approx(NET.query("Flu", {"Pulse": 115.0, "Cough": "yes", "Sex": "no"})["yes"])
    interval = NET.explain("Fever", {"Cough": "yes"}, (38, None))
    assert interval.probability == pytest.approx(NET.probability({"Fever": (38, None)}, {"Cough": "yes"}))


def test_the_most_probable_states() -> None:
    net, given = random_hybrid(2), {"x3": 0.5}
    counted = Counted(net)
    best, p, mean, _ = max(counted.cases(given), key=lambda case: case[1])
    found = net.most_probable(given=given)
    assert {name: found[name] for name in net.states} == best
    assert found.log_joint == pytest.approx(np.log(p), abs=1e-9)
    for j, name in enumerate(counted.numbers):
        assert found[name] == pytest.approx(mean[j], abs=1e-9)


@pytest.mark.parametrize(
    ("variables", "given"),
    [(["Flu"], {"Sex": "yes"}), (["Fever"], {"Flu": {"yes": 2.0, "no": 4.0}}), (["Sex"], {"Fever": 38.0, "Flu": "no"})],
)
def test_the_joint_of_the_most_probable_states_has_all_findings(variables: list[str], given: dict[str, Any]) -> None:
    """Also those that don't matter for the variables, and those that are likelihoods."""
    found = NET.most_probable(variables, given)
    states = {name: found[name] for name in variables if name in NET.states}
    assert found.log_joint == pytest.approx(NET.log_probability({**given, **states}), abs=1e-9)


def test_impossible_rows_are_refused() -> None:
    sure = credo.HybridNetwork("A -> x", {"A": [1.0, 0.0], "x": credo.nodes.Normal({"yes": 1.0, "no": 2.0})})
    rows = {"A": ["yes", "no"]}
    with pytest.raises(EvidenceError, match="row 2: the evidence is impossible"):
        sure.predict("x", rows)
    with pytest.raises(EvidenceError, match="row 2: the evidence is impossible"):
        sure.impute(rows)


def test_a_logistic_node_has_its_own_prior() -> None:
    rows = {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": ["a", "a", "b", "a", "b", "b"]}
    weak, strong = (credo.HybridNetwork("x -> y").fit(rows, prior={"y": cases}) for cases in (1, 50))
    assert np.abs(strong.logistic["y"].weights).max() < np.abs(weak.logistic["y"].weights).max()


@pytest.mark.parametrize("given", [{}, {"x3": 0.5, "c1": "s0"}, {"x2": (0.0, None)}])
def test_samples_have_the_posterior(given: dict[str, Any]) -> None:
    net = random_hybrid(1)
    drawn = net.sample(4000, given, seed=0)
    for name in net.parents:
        column, found = drawn[name].to_numpy(zero_copy_only=False), net.query(name, given)
        if name in net.states:
            for state, p in found.items():
                assert abs((column == state).mean() - p) < 4 * np.sqrt(p * (1 - p) / 4000) + 1e-9
        else:
            assert abs(column.mean() - found.mean()) < 4 * found.sd / np.sqrt(4000) + 1e-9
    assert net.sample(5, given, seed=3).equals(net.sample(5, given, seed=3))


def test_logistic_nodes_are_logistic_regressions(tmp_path: Path) -> None:
    """Maximum likelihood: the gradient Σ (truth - P) z is 0; more rows lead to the truth; stored, they are the same."""
    true = HybridNetwork(
        "g -> s; x -> s",
        {
            "g": 0.5,
            "x": credo.nodes.Normal(20.0, 4.0),
            "s": credo.nodes.LogisticOfNumbers({"yes": -10.0, "no": 6.0}, {"x": {"yes": 0.5, "no": -0.3}}),
        },
    )
    drawn = true.sample(4000, seed=0)
    found = HybridNetwork("g -> s; x -> s").fit(drawn, prior="ml")
    log_odds = np.diff(found.logistic["s"].log_table(
        {"g": np.array([found.states["g"].index(v) for v in drawn["g"].to_pylist()])}, {"x": drawn["x"].to_numpy()}
    ), axis=1)[:, 0]  # fmt: skip
    truth = np.array([v == found.states["s"][1] for v in drawn["s"].to_pylist()])
    away = truth - 1 / (1 + np.exp(-log_odds))
    assert abs(away.sum()) < 1e-5
    assert abs(away @ drawn["x"].to_numpy()) < 1e-4
    likely = HybridNetwork("g -> s; x -> s").fit(drawn)
    for g, x in (("yes", 18.0), ("no", 22.0)):
        assert likely.query("s", {"g": g, "x": x})["yes"] == pytest.approx(
            true.query("s", {"g": g, "x": x})["yes"], abs=0.05
        )
    credo.save(likely, tmp_path / "net.credo")
    assert credo.load(tmp_path / "net.credo") == likely
    assert likely.log_prob(drawn).mean() == pytest.approx(true.log_prob(drawn).mean(), abs=0.01)


# Missing cells


def test_em_never_falls_and_finds_what_complete_rows_show() -> None:
    table = rows(1500, seed=2)
    whole, found = HybridNetwork(ARROWS).fit(table), HybridNetwork(ARROWS).fit(with_holes(table, 0.2))
    assert len(found.history) > 2
    assert min(np.diff(found.history)) >= -1e-9 * abs(found.history[-1])
    assert found.n == pytest.approx(1500)
    assert float(np.max(np.abs(found.numbers["Fever"].intercept - whole.numbers["Fever"].intercept))) < 0.1
    assert np.abs(found.tables["Cough"] - whole.tables["Cough"]).max() < 0.06
    np.testing.assert_allclose(found.numbers["Pulse"].weights, whole.numbers["Pulse"].weights, atol=0.6)


def test_em_is_at_a_maximum() -> None:
    """Maximum likelihood of two numbers, one of which is missing in some rows: the closed form (Anderson 1957)."""
    random = np.random.default_rng(0)
    x = random.normal(2.0, 1.5, 200)
    y = 1.0 - 0.7 * x + random.normal(0, 0.5, 200)
    known = random.random(200) < 0.6
    table = {"x": x, "y": [float(value) if there else None for value, there in zip(y, known, strict=True)]}
    found = HybridNetwork("x -> y").fit(table, prior="ml", tolerance=1e-14)
    slope, start = np.polyfit(x[known], y[known], 1)
    assert float(found.numbers["y"].weights[0]) == pytest.approx(slope, abs=1e-5)
    assert float(found.numbers["y"].intercept) == pytest.approx(start, abs=1e-5)
    assert float(found.numbers["x"].intercept) == pytest.approx(x.mean(), abs=1e-9)
    assert found.history[-1] == pytest.approx(float(found.log_prob(table).sum()), rel=1e-6)


def test_after_em() -> None:
    found = HybridNetwork(ARROWS).fit(with_holes(part(ROWS, slice(0, 100)), 0.1))
    assert found.update(part(ROWS, slice(100, 130))).n == pytest.approx(130)
    with pytest.raises(credo.EvidenceError, match="EM"):
        found.forget(part(ROWS, slice(0, 5)))
    with pytest.raises(credo.EvidenceError, match="EM"):
        _ = found + found


def on_three(size: int, seed: int) -> dict[str, Any]:
    """A number that depends on three others."""
    a, b, c, noise = np.random.default_rng(seed).normal(size=(4, size))
    return {"a": a, "b": b, "c": c, "y": a + b - c + noise}


def test_a_missing_cell_costs_no_degrees_of_freedom() -> None:
    """12 rows, four weights: one more row without y tells nothing of its line, and makes it no more certain."""
    table, net = on_three(12, seed=0), HybridNetwork("a, b, c -> y")
    more = {name: np.append(own, np.nan if name == "y" else 0.1) for name, own in table.items()}
    whole, found = net.fit(table), net.fit(more)
    assert float(found.numbers["y"].variance) == pytest.approx(float(whole.numbers["y"].variance), rel=0.05)
    np.testing.assert_allclose(found.numbers["y"].weights, whole.numbers["y"].weights, atol=0.01)


def test_rows_without_the_number_do_not_narrow_its_belief() -> None:
    """Half of the rows miss y: its line is as uncertain as that of the other half, and the table's row likewise."""
    table, net = on_three(200, seed=1), HybridNetwork("a, b, c -> y")
    half = net.fit(part(table, slice(0, 100)))
    found = net.fit({**table, "y": np.where(np.arange(200) < 100, table["y"], np.nan)})
    (low, high), (least, most) = (each.belief("y").interval(0.9).weights for each in (half, found))
    np.testing.assert_allclose(most - least, high - low, rtol=0.15)  # the parents' spread is that of all 200 rows
    assert float(found.numbers["y"].variance) == pytest.approx(float(half.numbers["y"].variance), rel=0.04)
    words: dict[str, Any] = {"A": ["u", "v"] * 30, "x": np.random.default_rng(0).normal(size=60)}
    known = HybridNetwork("A -> x").fit(words)
    twice = HybridNetwork("A -> x").fit({"A": [*words["A"], *[None] * 60], "x": [*words["x"], *[np.nan] * 60]})
    one, two = (np.ptp(each.belief("A").interval(0.9)["u"]) for each in (known, twice))
    assert two == pytest.approx(one, rel=0.02)


@pytest.mark.parametrize("prior", [1.0, "ml"])
def test_updating_with_incomplete_rows_goes_on_with_em(prior: Any) -> None:
    """What is known counts as known: the same optimum as EM over all rows; of the default prior, which takes its lines
    from where EM begins, nearly."""
    table = rows(240, seed=3)
    holes = with_holes(part(table, slice(120, 240)), 0.2)
    together = {name: [*table[name][:120].tolist(), *own] for name, own in holes.items()}
    found = HybridNetwork(ARROWS).fit(part(table, slice(0, 120)), prior=prior).update(holes, tolerance=1e-11)
    whole = HybridNetwork(ARROWS).fit(together, prior=prior, tolerance=1e-11)
    assert found.n == pytest.approx(240)
    assert min(np.diff(found.history)) >= -1e-9 * abs(found.history[-1])
    assert close(found, whole, 1e-4 if prior == "ml" else 0.03)
    with pytest.warns(credo.Notice, match="earlier rows keep EM's earlier expectations"):
        again = found.update(with_holes(rows(20, seed=4), 0.1))
    assert again.n == pytest.approx(260)


def test_an_iterator_is_read_once_and_kept() -> None:
    table = rows(60, seed=5)
    batches = [part(table, slice(0, 40)), part(table, slice(40, 60))]
    assert close(HybridNetwork(ARROWS).fit(iter(batches)), HybridNetwork(ARROWS).fit(table), 1e-9)
    holes = with_holes(table, 0.1)
    assert close(NET.update(iter([holes])), NET.update(holes), 1e-12)


def test_updating_by_em_learns_new_states(tmp_path: Path) -> None:
    net = HybridNetwork("A -> x").fit({"A": ["u", "v"] * 10, "x": [0.0, 1.0, 0.5, 1.5] * 5})
    found = net.update({"A": ["w", None, "w"], "x": [3.0, 2.9, None]})
    assert found.states["A"] == ("u", "v", "w")
    assert found.n == pytest.approx(23)
    assert found.query("x", {"A": "w"}).mean() > net.query("x").mean()
    credo.save(found, tmp_path / "net.credo")
    assert close(credo.load(tmp_path / "net.credo"), found, 1e-12)


# Structure


def test_structure_learning_gives_a_known_hybrid_back() -> None:
    true = HybridNetwork(
        "A -> B; A -> x; x -> y; B -> y",
        {
            "A": 0.4,
            "B": {"yes": 0.8, "no": 0.2},
            "x": credo.nodes.Normal({"yes": 2.0, "no": -1.0}, sd=1.0),
            "y": credo.nodes.Normal({"yes": 0.0, "no": 3.0}, sd=0.7, weights={"x": {"yes": 1.0, "no": -1.0}}),
        },
    )
    found = credo.learn_structure(true.sample(3000, seed=0))
    assert isinstance(found, HybridNetwork)
    assert true.shd(found) == 0
    for name, node in true.numbers.items():
        order = [found.numbers[name].categories.index(each) for each in node.categories]
        states = [[found.states[each].index(state) for state in true.states[each]] for each in node.categories]
        theirs = found.numbers[name].intercept.transpose(order)[np.ix_(*states)]
        np.testing.assert_allclose(theirs, node.intercept, atol=0.25)
    assert found.log_prob(true.sample(500, seed=1)).mean() == pytest.approx(
        true.log_prob(true.sample(500, seed=1)).mean(), abs=0.05
    )


def test_a_score_is_that_by_which_arrows_are_found() -> None:
    table = rows(400)
    found = credo.learn_structure(table)
    assert isinstance(found, HybridNetwork)
    parts = found.score(table)
    words = {name: table[name] for name in ("Flu", "Sex", "Cough")}
    chain = credo.Network("Flu -> Cough; Sex")
    hybrid = HybridNetwork("Flu -> Cough; Sex; Fever; Pulse").fit(table)
    alone, bare = chain.score(words, "bdeu"), hybrid.score({**table, "note": ["x"] * 400})
    assert {name: bare[name] for name in words} == pytest.approx(alone)
    assert sum(parts.values()) > sum(bare.values())
    twice = {name: np.repeat(column, 2) for name, column in table.items()}
    assert found.score(table, weight=np.full(400, 2.0)) == pytest.approx(found.score(twice))
    numbers = HybridNetwork("Fever -> Pulse").fit(table)
    turned = HybridNetwork("Pulse -> Fever").fit(table)
    assert sum(numbers.score(table).values()) == pytest.approx(sum(turned.score(table).values()))
    logistic = HybridNetwork("Fever -> Flu").fit(table)
    with pytest.raises(NetworkError, match="'Flu' is a category with the number 'Fever' as a parent"):
        logistic.score(table)


# Storage and beliefs


@pytest.mark.parametrize("net", [NET, NET.do({"Fever": 39.0}), random_hybrid(3), HybridNetwork("a -> b")])
def test_stored_networks_are_the_same(net: HybridNetwork, tmp_path: Path) -> None:
    credo.save(net, tmp_path / "net.credo")
    loaded = credo.load(tmp_path / "net.credo")
    assert loaded == net
    assert pickle.loads(pickle.dumps(net)) == net
    assert loaded.n == net.n


def test_a_stored_network_goes_on_learning(tmp_path: Path) -> None:
    one = HybridNetwork(ARROWS).fit(part(ROWS, slice(0, 120)))
    credo.save(one, tmp_path / "net.credo")
    assert close(credo.load(tmp_path / "net.credo").update(part(ROWS, slice(120, None))), NET, 1e-10)


def test_json_files_are_the_same(tmp_path: Path) -> None:
    table = {"x": ROWS["Fever"], "y": ROWS["Pulse"]}
    net = HybridNetwork("x -> y").fit(table)
    net.write(tmp_path / "net.json")
    assert credo.HybridNetwork.read(tmp_path / "net.json") == net


def test_beliefs_have_intervals() -> None:
    line = NET.belief("Pulse", {"Sex": "yes"})
    low, high = line.interval(0.95).weights
    assert low[1] < 8.0 < high[1]
    np.testing.assert_allclose(line.mean().weights[1:], NET.numbers["Pulse"].weights[NET.states["Sex"].index("yes")])
    assert NET.belief("Flu").mean()["yes"] == pytest.approx(float(NET.tables["Flu"][NET.states["Flu"].index("yes")]))


def test_a_belief_about_the_noise_has_the_degrees_of_freedom_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    rows = {name: rng.normal(size=12) for name in ("u", "v", "w")}
    rows["y"] = 1 + 2 * rows["u"] + rng.normal(size=12)
    net = HybridNetwork("u, v, w -> y").fit(rows, prior=1e-6)
    residuals = np.linalg.lstsq(np.column_stack([np.ones(12), *list(rows.values())[:3]]), rows["y"], rcond=None)[1]
    assert net.belief("y").mean().variance == pytest.approx(float(residuals[0]) / (12 - 4), rel=1e-5)
    assert float(net.numbers["y"].variance) == pytest.approx(net.belief("y").mean().variance * (1 + 4 / 12), rel=1e-5)


def test_the_law_of_large_numbers_for_every_kind_of_node() -> None:
    true = random_hybrid(5)
    rows, kinds = true.sample(5_000, seed=0), dict.fromkeys(true.numbers, "number")
    found = HybridNetwork(true.parents, states=true.states).fit(rows, kinds=kinds, steps=10, tolerance=1e-6)
    fresh = true.sample(2000, seed=1)
    assert (true.log_prob(fresh) - found.log_prob(fresh)).mean() == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("n", [3, 6, 10])
def test_few_rows_claim_little(n: int) -> None:
    """95% intervals of a number given its parent: at least 60, 80 and 88% of new rows are within. (A Gaussian hasn't
    the tails of a variance that hardly any rows tell.)"""
    rng, inside = np.random.default_rng(n), []
    for _ in range(40):
        z, sd = rng.normal(size=n + 5), rng.choice([0.1, 1.0, 10.0])
        x = rng.normal(0, 10) + sd * (rng.normal() * z + rng.normal(size=n + 5))
        net = HybridNetwork("z -> x").fit({"z": z[:n], "x": x[:n]})
        for i in range(n, n + 5):
            low, high = net.query("x", {"z": float(z[i])}).interval(0.95)
            inside.append(low <= x[i] <= high)
    assert np.mean(inside) >= {3: 0.6, 6: 0.8, 10: 0.88}[n]


def test_configurations_far_apart_keep_their_own_variance() -> None:
    """Neither the distance between groups nor parents that depend on each other widen what is known within a group."""
    rng = np.random.default_rng(0)
    group = rng.random(400) < 0.5
    x = np.where(group, 100.0, 0.0) + rng.normal(size=400)
    data = {"C": np.where(group, "a", "b"), "X": x, "Y": x + rng.normal(size=400)}
    net = HybridNetwork("C -> X; C, X -> Y").fit(data)
    np.testing.assert_allclose(net.numbers["X"].variance, 1.0, rtol=0.25)
    np.testing.assert_allclose(net.numbers["Y"].variance, 1.0, rtol=0.25)


def test_leave_one_out_of_default_priors_is_near_refits() -> None:
    table = part(ROWS, slice(0, 40))
    net = HybridNetwork(ARROWS).fit(table)
    found = net.leave_one_out(table).log_probabilities
    states = {name: ["no", "yes"] for name in ("Flu", "Sex", "Cough")}
    again = [
        HybridNetwork(ARROWS, states=states).fit(part(table, np.arange(40) != i)).log_prob(part(table, [i]))[0]
        for i in range(40)
    ]
    assert found.mean() == pytest.approx(np.mean(again), abs=0.05)


def test_an_effect_counts_what_was_hidden_as_hidden(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    z = rng.random(200) < 0.5
    x = np.where(rng.random(200) < np.where(z, 0.8, 0.2), "yes", "no")
    rows = {"X": x, "Y": 6.0 * z + rng.normal(size=200)}
    net = HybridNetwork("Z -> X, Y; X -> Y").fit(rows, hidden={"Z": 2}, starts=1)
    credo.save(net, tmp_path / "net.credo")
    for each in (net, credo.load(tmp_path / "net.credo", HybridNetwork)):
        with pytest.raises(credo.NetworkError, match="isn't identifiable"):
            each.effect("X", "Y")
