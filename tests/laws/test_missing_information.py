"""Beliefs after EM: as certain as what was observed, not as the rows that EM expects."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.labels import Label
from credo.networks.missing_information import missing_information, missing_of
from credo.notices import quietly

PAIR: dict[str, list[Any]] = {"A": ["yes"] * 3 + ["no"] * 7 + [None] * 20, "B": ["u", "v"] * 15}
STATES = {name: ["u", "v"] for name in "ABCDE"}
DIAMOND = "A -> B; A -> C; B -> D; C -> D; D -> E"


def alpha(net: credo.Network, name: str, **given: str) -> list[float]:
    """The concentration of a belief."""
    posterior: Any = net.belief(name, given).posterior
    return [float(x) for x in np.asarray(posterior.alpha).reshape(-1)]


def with_holes(table: Any, share: float, random: np.random.Generator) -> dict[str, list[Any]]:
    return {
        name: [None if random.random() < share else cell for cell in table[name].to_pylist()]
        for name in table.column_names
    }


def test_cells_that_say_nothing_add_nothing() -> None:
    """Of a variable without neighbours, and of one whose parents are known, the belief is that of the known cells."""
    net = credo.Network("A; B").fit(PAIR)
    assert net.history
    assert alpha(net, "A") == pytest.approx([8.0, 4.0], abs=1e-4)  # no, yes: 1 + 7, 1 + 3
    assert alpha(net, "B") == pytest.approx([16.0, 16.0])
    child = credo.Network("B -> A").fit(PAIR)
    known = credo.Network("B -> A").fit({name: column[:10] for name, column in PAIR.items()})
    for state in "uv":
        assert alpha(child, "A", B=state) == pytest.approx(alpha(known, "A", B=state), abs=1e-4)


def test_beliefs_keep_the_mean_that_tables_have() -> None:
    random = np.random.default_rng(0)
    truth = credo.Network(DIAMOND, states=STATES, tables=drawn_tables(random))
    net = credo.Network(DIAMOND, states=STATES).fit(with_holes(truth.sample(400, seed=1), 0.3, random))
    for states in product("uv", repeat=2):
        found = np.array(alpha(net, "D", B=states[0], C=states[1]))
        place = tuple(STATES["B"].index(state) for state in states)
        assert found / found.sum() == pytest.approx(net.tables["D"][place], abs=1e-6)
    for node in net.nodes.values():
        missing, rows = missing_information(net.evidence, node.label), net.evidence[node.label].n.value.sum(-1)
        assert missing is not None
        assert ((missing > 0) & (missing < rows)).all()


def test_complete_rows_miss_nothing() -> None:
    net = credo.Network("A; B").fit({"A": ["yes", "no"], "B": ["u", "v"]})
    assert {label.counted for label in net.evidence.parts} == {"column"}


def drawn_tables(random: np.random.Generator) -> dict[str, Any]:
    parents = credo.Network(DIAMOND, states=STATES).parents
    return {name: random.dirichlet(np.ones(2), [2] * len(above)) for name, above in parents.items()}


@pytest.mark.parametrize(("share", "rows"), [(0.3, 300), (0.5, 300)])
@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say(share: float, rows: int) -> None:
    """Tables drawn from the prior, rows from them, cells lost at random: 90% intervals hold about 90% of the tables'
    entries. With the counts that EM expects, as if they had been observed, they hold far fewer."""
    from scipy.stats import beta

    random, held, taken, total = np.random.default_rng([rows, int(10 * share)]), 0, 0, 0
    for _ in range(40):
        truth = credo.Network(DIAMOND, states=STATES, tables=drawn_tables(random))
        data = with_holes(truth.sample(rows, seed=int(random.integers(2**32))), share, random)
        net = credo.Network(DIAMOND, states=STATES).fit(data)
        for name, above in net.parents.items():
            for place in product(range(2), repeat=len(above)):
                given = {parent: STATES[parent][i] for parent, i in zip(above, place, strict=True)}
                entry, one = truth.tables[name][place][0], net.belief(name, given)
                counted = np.asarray(net.evidence[Label("column", name)].n.value)[place] + 1.0
                low, high = np.asarray(beta.interval(0.9, *alpha(net, name, **given)))
                assert one.interval(0.9)["u"] == pytest.approx((low, high))
                held += low <= entry <= high
                low, high = beta.interval(0.9, *counted)
                taken += low <= entry <= high
                total += 1
    assert 0.86 <= held / total <= 0.94
    assert taken / total < 0.83


def test_sampled_tables_are_as_uncertain() -> None:
    net = credo.Network("A; B").fit(PAIR)
    answer: Any = net.query("A", tables="sampled", samples=2000)
    low, high = answer.interval(0.9)["yes"]
    expected = net.belief("A").interval(0.9)["yes"]
    assert (low, high) == pytest.approx(expected, abs=0.02)


def test_what_is_missing_adds_up_and_is_discounted(tmp_path: Path) -> None:
    net = credo.Network("A; B").fit(PAIR)
    label = Label("column", "A")
    with quietly():
        more = net.update({"A": ["yes"] * 5, "B": ["u"] * 5})
    assert missing_information(more.evidence, label) == pytest.approx(20.0, abs=1e-3)
    assert sum(alpha(more, "A")) == pytest.approx(17.0, abs=1e-3)
    half = net.discount(0.5)
    assert missing_information(half.evidence, label) == pytest.approx(10.0, abs=1e-3)
    with quietly():
        twice = net.update(PAIR)
    assert sum(alpha(twice, "A")) == pytest.approx(22.0, abs=1e-2)
    credo.save(net, tmp_path / "net.credo")
    assert credo.load(tmp_path / "net.credo") == net
    assert alpha(credo.load(tmp_path / "net.credo"), "A") == alpha(net, "A")


def test_new_states_after_em() -> None:
    """What is missing from a row of the table moves along with its parents' states."""
    net = credo.Network("B -> A").fit(PAIR)
    with quietly():
        more = net.update({"A": ["maybe"], "B": ["a"]})
    missing = missing_information(more.evidence, Label("column", "A"))
    assert missing == pytest.approx([0.0, 10.0, 10.0], abs=1e-3)


def test_tied_nodes_share_what_is_missing() -> None:
    chain = credo.Network("X0 -> X1 -> X2", tied={"X1": "step", "X2": "step"}, states=dict.fromkeys(
        ("X0", "X1", "X2"), ("dry", "wet")))  # fmt: skip
    random = np.random.default_rng(1)
    rows = {name: random.choice(["dry", "wet"], 60).tolist() for name in ("X0", "X1", "X2")}
    rows["X2"][:20] = [None] * 20
    net = chain.fit(rows)
    missing = missing_information(net.evidence, Label("column", "step"))
    assert missing is not None
    assert missing.sum() == pytest.approx(20.0, rel=0.1)  # X1 is known in the rows in which X2 isn't


def test_tables_of_hidden_variables_are_said_to_be_less_certain() -> None:
    random = np.random.default_rng(2)
    rows = {name: random.choice(["x", "y"], 200).tolist() for name in "ABC"}
    net = credo.Network("H -> A; H -> B; H -> C").fit(rows, hidden={"H": 2}, starts=2)
    with pytest.warns(credo.Notice, match="H: hidden when the tables were fitted.*less certain"):
        net.belief("A", {"H": 0})


def test_counts_of_each_row_are_those_of_all() -> None:
    random = np.random.default_rng(3)
    truth = credo.Network(DIAMOND, states=STATES, tables=drawn_tables(random))
    (rows,) = truth.coded(with_holes(truth.sample(50, seed=1), 0.4, random))
    each, (whole, _) = truth.expectations.of_each_row(rows), truth.expectations.of_rows(rows)
    assert rows.weight @ each == pytest.approx(whole)
    assert each[:, :2].sum(1) == pytest.approx(np.ones(50))


def test_a_file_may_not_say_that_another_table_misses_information() -> None:
    from credo.core.evidence import Evidence, Part
    from credo.core.statistics import Counts
    from credo.networks.learning import is_evidence_of
    from credo.numerics.exact import Exact

    net = credo.Network("A; B").fit(PAIR)
    label = missing_of(Label("column", "A"))
    for wrong in (Part((None, "B"), Counts(Exact.of(np.zeros((1, 2))))), Part((None,), Counts(Exact.of(np.zeros(2))))):
        assert not is_evidence_of(net, Evidence(net.evidence.schema, {**net.evidence.parts, label: wrong}))
    assert is_evidence_of(net, net.evidence)
