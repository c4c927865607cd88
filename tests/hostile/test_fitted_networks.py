"""Bad input to fitting tables: one clear error each, and what looks bad but isn't."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import credo
from credo.errors import Notice
from credo.networks.network import Network
from tests.hostile.refusals import refused

ROWS: dict[str, list[Any]] = {"A": ["x", "y", "x", "y"], "B": ["u", "v", "v", "u"]}
HOLES: dict[str, list[Any]] = {"A": ["x", "y", None, "y"], "B": ["u", None, "v", "u"]}
STORM = Network.example("storm")


def ab(**options: Any) -> Network:
    return Network("A -> B", **options)


def by_em() -> Network:
    return ab().fit(HOLES)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a state never seen": (
        lambda: ab(states={"A": ["x", "y"], "B": ["u", "w"]}).fit(ROWS),
        "column 'B' has the value 'v', which isn't a state",
    ),
    "an empty column": (lambda: ab().fit({"A": ["x", "y"], "B": [None, None]}), "column 'B' is empty"),
    "no rows": (lambda: ab().fit({"A": [], "B": []}), "the data is empty"),
    "only rows of weight 0": (lambda: ab().fit(ROWS, weight=[0, 0, 0, 0]), "is empty"),
    "no column of the network": (lambda: ab(states=["x", "y"]).fit({"C": ["x"]}), "no column is a variable"),
    "a column in another case": (lambda: ab().fit({"a": ["x"], "B": ["u"]}), "Did you mean 'A'"),
    "hidden, but unknown": (lambda: ab().fit(ROWS, hidden={"C": 2}), "'C' can't be hidden: it isn't a variable"),
    "hidden, but a column": (lambda: ab().fit(ROWS, hidden={"B": 2}), "'B' can't be hidden: it is a column with"),
    "hidden, no states": (lambda: ab().fit({"A": ["x"]}, hidden={"B": 0}), "at least one state"),
    "hidden, text": (lambda: ab().fit({"A": ["x"]}, hidden={"B": "two"}), "a number of states, or a list"),
    "hidden, a state twice": (lambda: ab().fit({"A": ["x"]}, hidden={"B": ["u", "u"]}), "a number of states, or a"),
    "hidden, other than declared": (
        lambda: ab(states={"A": ["x"], "B": ["u", "v"]}).fit({"A": ["x"]}, hidden={"B": 3}),
        "'B' has 2 states, but hidden= gives 3",
    ),
    "hidden, all": (lambda: ab().fit({"C": ["x"]}, hidden={"A": 2, "B": 2}), "no column is a variable"),
    "two priors": (lambda: STORM.fit(ROWS, prior=1, strength=50), "give a prior, or a strength"),
    "a strength of nothing": (lambda: ab().fit(ROWS, strength=50), "the network has none"),
    "strength 0": (lambda: STORM.with_strength(0), "a number of cases above 0, but is 0"),
    "strength true": (lambda: STORM.with_strength(True), "a number of cases above 0"),
    "strength of nobody": (lambda: STORM.with_strength({"Rain": 5}), "for 'Rain', which isn't a node"),
    "strength of some": (lambda: STORM.with_strength({"Storm": 5}), "has no strength; give one for each node"),
    "BDeu 0": (lambda: credo.BDeu(0), "the equivalent sample size must be above 0, but is 0"),
    "BDeu text": (lambda: credo.BDeu("ten"), "the equivalent sample size must be above 0, but is 'ten'"),  # type: ignore[arg-type]
    "an unknown prior": (lambda: ab().fit(ROWS, prior="bdeu"), "'ml', a concentration above 0, .* or a BDeu"),
    "an unknown method": (lambda: ab().fit(HOLES, method="newton"), "known: em, gradient, lbfgs"),  # type: ignore[arg-type]
    "no starts": (lambda: ab().fit(HOLES, starts=0), "starts must be a whole number of at least 1"),
    "half a step": (lambda: ab().fit(HOLES, steps=0.5), "steps must be a whole number"),  # type: ignore[arg-type]
    "a tolerance below 0": (lambda: ab().fit(HOLES, tolerance=-1), "tolerance must be at least 0"),
    "an odd seed": (lambda: ab().fit(HOLES, seed=-1), "a seed must be a whole number"),
    "fixed tables": (lambda: STORM.update(ROWS), r"with_strength\(50\) for 50 cases"),
    "forgetting after EM": (lambda: by_em().forget(ROWS), "fitted by EM .*can't forget rows exactly"),
    "merging after EM": (lambda: by_em() + by_em(), "fitted by EM .*can't be merged exactly"),
    "merging one after EM": (lambda: ab().fit(ROWS).merge(by_em()), "can't be merged exactly"),
    "leaving out after EM": (lambda: by_em().leave_one_out(ROWS), "use cross_validate"),
    "leaving out holes": (lambda: ab().fit(ROWS).leave_one_out(HOLES), "missing in row"),
    "leaving out others": (
        lambda: ab().fit({"A": ["x", "y"], "B": ["u", "v"]}).leave_one_out({"A": ["y", "x"], "B": ["v", "v"]}),
        "row 2 was never learned",
    ),
    "leaving out before": (lambda: ab().leave_one_out(ROWS), "no rows were learned yet"),
    "leaving out once": (lambda: ab().fit(ROWS).leave_one_out(iter([pa.table(ROWS)])), "read only once"),
    "validating once": (lambda: ab().fit(ROWS).cross_validate(iter([pa.table(ROWS)])), "read only once"),
    "one fold of holes": (
        lambda: ab().fit(ROWS).cross_validate(HOLES, 1),
        "folds must be a whole number of at least 2",
    ),
    "half a fold": (lambda: ab().fit(ROWS).cross_validate(HOLES, 2.5), "folds must be a whole number"),  # type: ignore[arg-type]
    "a tolerance of text": (lambda: ab().fit(HOLES, tolerance="x"), "tolerance must be"),  # type: ignore[arg-type]
    "a belief about nothing": (lambda: ab().fit(ROWS).belief("C"), "there is no variable 'C'"),
    "a belief without parents": (lambda: ab().fit(ROWS).belief("B"), "needs the state of each parent, and 'A'"),
    "a belief given others": (lambda: ab().fit(ROWS).belief("A", given={"B": "u"}), "'B' isn't one: use query"),
    "a belief given nonsense": (lambda: ab().fit(ROWS).belief("B", given={"A": "z"}), "'z'"),
    "a belief of ml": (lambda: ab().fit(ROWS, prior="ml").belief("A"), "maximum likelihood has no posterior"),
    "a belief of fixed tables": (lambda: STORM.belief("Storm"), "nothing is uncertain about them"),
    "sampled fixed tables": (lambda: STORM.query("Storm", tables="sampled"), "nothing is uncertain about them"),
    "sampled no tables": (lambda: ab().fit(ROWS).query("A", tables="sampled", samples=0), "at least 1"),
    "tables of some kind": (lambda: ab().fit(ROWS).query("A", tables="mode"), '"mean" or "sampled"'),  # type: ignore[arg-type]
    "duplicate columns": (
        lambda: ab().fit(pd.DataFrame([["x", "u", "x"], ["y", "v", "y"]], columns=["A", "B", "A"])),
        "'A'",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(case: tuple[Callable[[], Any], str]) -> None:
    act, says = case
    text = refused(act)
    assert re.search(says, text), text


def test_an_impossible_row_under_expert_tables_is_named_by_its_cells() -> None:
    sure = Network("A -> B -> C", {"A": 0.5, "B": [1.0, 0.0], "C": [1.0, 0.0]}).with_strength(10)
    text = refused(sure.update, {"A": ["yes", "no"], "B": [None, "no"], "C": ["no", "no"]})
    assert text == "a row: the evidence is impossible: A = yes and C = no can't be true together"


def test_a_constant_column_has_one_state() -> None:
    learned = ab().fit({"A": ["x", "x", None], "B": ["u", None, "v"]})
    assert learned.states["A"] == ("x",)
    assert learned.tables["A"].tolist() == [1.0]
    assert learned.query("A") == {"x": 1.0}


def test_an_empty_column_of_known_states_is_hidden() -> None:
    declared = ab(states={"A": ["x", "y"], "B": ["u", "v"]})
    learned = declared.fit({"A": ["x", "y", "x"], "B": [None, None, None]}, starts=2)
    assert learned.n == pytest.approx(3)
    assert learned.history
    hidden = ab().fit({"A": ["x", "y", "x"], "B": [None, None, None]}, hidden={"B": 3}, starts=2)
    assert hidden.states["B"] == (0, 1, 2)


def test_rows_without_any_known_cell() -> None:
    learned = ab(states={"A": ["x", "y"], "B": ["u", "v"]}).fit({"A": [None] * 3, "B": [None] * 3}, starts=1)
    assert learned.n == pytest.approx(3)
    assert np.isfinite(learned.tables["B"]).all()


def test_a_state_that_the_data_never_shows_has_its_smoothed_mass() -> None:
    learned = ab(states={"A": ["x", "y", "z"], "B": ["u", "v"]}).fit(ROWS)
    assert learned.tables["A"] == pytest.approx([3 / 7, 3 / 7, 1 / 7])
    assert learned.tables["B"][2] == pytest.approx([0.5, 0.5])
    more = ab().fit(ROWS).update({"A": ["z"], "B": ["w"]})  # and one that the network didn't know
    assert more.states == {"A": ("x", "y", "z"), "B": ("u", "v", "w")}
    assert more.forget({"A": ["z"], "B": ["w"]}).states == ab().fit(ROWS).states
    with pytest.warns(credo.Notice, match="expected counts of earlier rows are kept"):
        later = by_em().update({"A": ["z", None], "B": [None, "w"]})
    assert later.states == {"A": ("x", "y", "z"), "B": ("u", "v", "w")}
    assert later.n == pytest.approx(6)


def test_a_file_of_a_network_that_claims_nonsense(tmp_path: Path) -> None:
    path = tmp_path / "n.credo"
    credo.save(by_em(), path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"history"', b'"mystery"'))
    assert refused(credo.load, path)


def test_em_that_stops_early_says_so() -> None:
    with pytest.warns(Notice, match="so hidden"), pytest.warns(Notice, match="em ended after 1 step, before it conv"):
        STORM.fit({"Storm": ["yes", None, "no"] * 9, "ForestFire": [None, "yes", "yes"] * 9}, steps=1)


@pytest.mark.parametrize(
    ("x", "says"), [(np.linspace(0.1, 3.7, 60), "has numbers, such as 0.1"), (np.arange(600), "many whole numbers")]
)
def test_numbers_arent_taken_for_states(x: Any, says: str) -> None:
    text = refused(Network("x -> y").fit, {"x": x, "y": ["u", "v"] * (len(x) // 2)})
    assert "column 'x'" in text
    assert says in text
    assert "states=" in text
    assert "bins=5" in text


def test_few_whole_numbers_and_declared_ones_are_states() -> None:
    y = ["u", "v", "u"]
    assert Network("x -> y").fit({"x": [3, 1, 2], "y": y}).states["x"] == (1, 2, 3)
    assert Network("x -> y").fit({"x": [3.0, None, 2.0], "y": y}).states["x"] == (2, 3)
    declared = Network("x -> y", states={"x": [0.5, 1.5], "y": ["u", "v"]})
    assert declared.fit({"x": [0.5, 1.5, 0.5], "y": y}).n == 3
    named = credo.learn_structure({"x": [0.5, 1.5, 0.5] * 9, "y": y * 9}, kinds={"x": "category"})
    assert len(named.states["x"]) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ab().fit(ROWS, step=5), "no option 'step'.*steps"),  # type: ignore[call-arg]
        (lambda: ab().fit(ROWS, method="newton"), "no method 'newton'"),  # type: ignore[arg-type]
        (lambda: ab().fit(ROWS, hidden="A"), "hidden must be"),  # type: ignore[arg-type]
        (lambda: ab().fit(ROWS).discount("x"), "a discount must be"),  # type: ignore[arg-type]
    ],
)
def test_options_of_the_wrong_kind_are_refused(call: Any, message: str) -> None:
    with pytest.raises(credo.CredoError, match=message):
        call()
