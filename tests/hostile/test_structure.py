"""Tables and constraints from which no arrows can be learned: one clear error each; odd ones are learned from."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo._kernels.jit import forced
from credo.errors import Notice
from credo.networks.structure.category_families import K2, BDs
from credo.networks.structure.category_scores import bic
from credo.networks.structure.columns import read_columns
from credo.networks.structure.pc import independence_test
from tests.hostile.refusals import refused

RANDOM = np.random.default_rng(0)
DATA = {name: RANDOM.choice(["x", "y"], 60).tolist() for name in "abc"}
NUMBERS = {name: RANDOM.normal(size=60) for name in "uvw"}


def test_a_constant_column_has_no_arrows() -> None:
    found = credo.learn_structure({**DATA, "k": ["always"] * 60})
    assert found.parents["k"] == ()
    assert not any("k" in above for above in found.parents.values())
    assert found.query("k") == {"always": 1.0}


def test_a_constant_number_has_no_variance() -> None:
    text = refused(credo.learn_structure, {**NUMBERS, "k": [3.0, 3.0] * 30}, kinds={"k": "number"})
    assert "'k' is constant" in text
    assert "ignore" in text


def test_more_variables_than_rows() -> None:
    wide = {f"v{i}": RANDOM.choice(["x", "y"], 6).tolist() for i in range(40)}
    for search in ("boss", "hill-climbing", "tabu"):
        with pytest.warns(Notice, match=r"more variables \(40\) than rows \(6\)"):
            found = credo.learn_structure(wide, search=search, max_parents=2)
        assert len(found.variables) == 40
    floats = {f"v{i}": RANDOM.normal(size=6) for i in range(12)}
    for score in ("bge", "bic"):
        with pytest.warns(Notice, match="due to chance"):
            assert len(credo.learn_structure(floats, score, max_parents=2).variables) == 12


@pytest.mark.parametrize("search", ["boss", "hill-climbing", "tabu", "ges"])
def test_a_number_has_a_variance_given_its_parents(search: str) -> None:
    """Eight rows around their mean have rank 7: seven parents would determine a number, but for rounding."""
    floats = {f"v{i}": RANDOM.normal(size=8) for i in range(30)}
    with pytest.warns(Notice, match="due to chance"):
        found = credo.learn_structure(floats, "bic", search=search)
    assert max(map(len, found.parents.values())) <= 6


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"required": "a -> b", "forbidden": "a -> b"}, "'a' -> 'b' is both required and forbidden"),
        ({"required": "a -> b; b -> c; c -> a"}, "cycle"),
        ({"required": "b -> a", "tiers": [["a"], ["b", "c"]]}, "'b' -> 'a' leads back in time"),
        ({"required": "a, b -> c", "max_parents": 1}, "'c' has 2 required parents"),
        ({"required": "a -> q"}, "'q', which isn't a column"),
        ({"forbidden": [("a", "a")]}, "to itself"),
        ({"forbidden": ["ab"]}, "pairs"),
        ({"tiers": [["a", "b"], ["b", "c"]]}, "'b' is in two tiers"),
        ({"tiers": [["a", "b"]]}, "'c' is in no tier"),
        ({"tiers": "ab"}, "lists of names"),
        ({"max_parents": -1}, "max_parents"),
        ({"max_parents": 1.5}, "max_parents"),
        ({"required": 5}, "required arrows are text"),
        ({"required": {"a": 5}}, "required parents of 'a' must be a list of names, but are 5"),
        ({"required": {"a": "b"}}, "required parents of 'a' must be a list of names, but are 'b'"),
        ({"forbidden": [(["a"], "b")]}, "names ['a'], which isn't a column"),
        ({"tiers": 5}, "lists of names"),
        ({"tiers": [5]}, "tier 1 is 5"),
        ({"tiers": [[["a"]]]}, "names ['a'], which isn't a column"),
        ({"start": 5}, "start must be"),
        ({"search": "boss", "rounds": "x"}, "rounds must be a whole number of at least 0"),
        ({"search": "boss", "patience": 0}, "patience must be a whole number of at least 1"),
        ({"search": "tabu", "length": -1}, "length must be a whole number of at least 0"),
        ({"search": "iterated", "changes": 0.5}, "changes must be a whole number of at least 1"),
        ({"search": "pc", "alpha": "x"}, "alpha must be between 0 and 1"),
        ({"bins": 2.0}, "bins must be a whole number of at least 2"),
        ({"bins": 10**6}, "bins must be at most"),
        ({"start": "a -> b; b -> a"}, "cycle"),
        ({"start": "a -> b", "forbidden": "a -> b"}, "starting network"),
        ({"start": "a -> q"}, "'q'"),
        ({"score": "bdue"}, "Did you mean 'bdeu'"),
        ({"search": "hill climbing"}, "Did you mean 'hill-climbing'"),
        ({"search": 3}, "a name or a function"),
        ({"search": "tan"}, "needs a target"),
        ({"search": "tan", "target": "q"}, "'q' isn't a column"),
        ({"search": "tan", "target": "a", "max_parents": 1}, "decides all arrows itself"),
        ({"search": "boss", "round": 3}, "Did you mean 'rounds'"),
        ({"score": "bge"}, "is a category"),
        ({"score": "bdeu", "equivalent": 0}, "above 0"),
        ({"seed": -1}, "seed"),
        ({"bins": 1}, "bins"),
        ({"kinds": {"a": "ignore", "b": "ignore", "c": "ignore"}}, "nothing"),
        ({"weight": [0.0] * 60}, "weights of all rows are 0"),
        ({"weight": [1.0] * 59}, "59"),
        ({"weight": "q"}, "'q'"),
    ],
)
def test_what_contradicts_is_named(asked: dict[str, Any], said: str) -> None:
    assert said in refused(credo.learn_structure, DATA, **asked)


@pytest.mark.parametrize("score", ["bdeu", "bds", "k2", "aic", "mdl", "qnml"])
def test_a_number_with_a_score_of_categories(score: str) -> None:
    text = refused(credo.learn_structure, NUMBERS, score)
    assert "'u' is a number" in text
    assert "bins=5" in text
    assert "kinds={'u': 'category'}" in text
    assert "bge" in text


def test_a_mixed_table_with_a_score_of_numbers() -> None:
    for score in ("bge", "bic"):
        text = refused(credo.learn_structure, {**DATA, **NUMBERS}, score)
        assert f"'a' is a category and 'u' a number, and score={score!r} is for tables of one kind" in text
        assert "conditional-gaussian" in text
    assert "is for categories" in refused(credo.learn_structure, {**DATA, **NUMBERS}, "bdeu")
    text = refused(credo.learn_structure, {**DATA, **NUMBERS}, required="u -> a")
    assert "from a number to a category" in text


@pytest.mark.slow
def test_a_missing_number() -> None:
    holes = {**NUMBERS, "u": [None, *NUMBERS["u"][1:].tolist()]}
    assert "'u' is missing in row 1" in refused(credo.Network("u -> v").score, holes)
    assert len(credo.learn_structure(holes).variables) == 3
    assert len(credo.learn_structure(holes, bins=3).variables) == 3


def test_a_number_that_is_always_missing_or_constant_where_known() -> None:
    kinds = {"u": "number"}
    text = refused(credo.learn_structure, {**NUMBERS, "u": [None] * len(NUMBERS["u"])}, kinds=kinds)
    assert "every cell of column 'u' is missing" in text
    text = refused(credo.learn_structure, {**NUMBERS, "u": [None, *[1.5] * (len(NUMBERS["u"]) - 1)]}, kinds=kinds)
    assert "column 'u' is constant" in text


def test_a_column_of_many_levels() -> None:
    """10⁵ of them: tables are never made of all states that two columns could have."""
    rows = 100_000
    data = {
        "id": np.arange(rows) // 1,
        "group": np.arange(rows) % 3 > 0,
        "same": np.arange(rows) % 3 > 0,
    }
    found = credo.learn_structure(data, kinds={"id": "category"}, search="hill-climbing")
    assert {frozenset((p, c)) for c, above in found.parents.items() for p in above} == {frozenset(("group", "same"))}


MANY_LEVELS = 5000


def wide_rows() -> dict[str, Any]:
    """Two columns with a level for each row: their table has 25,000,000 cells, of which 5,000 occur."""
    random = np.random.default_rng(0)
    data = {"id": np.arange(MANY_LEVELS).astype(str), "key": random.permutation(MANY_LEVELS).astype(str)}
    return {**data, "group": np.where(random.random(MANY_LEVELS) < 0.5, "x", "y")}


def peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    call()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_two_columns_of_many_levels() -> None:
    columns = read_columns(wide_rows(), {"id": "category", "key": "category"})
    for score in (K2(columns.coded()), BDs(columns.coded()), bic(columns.coded())):
        assert peak(partial(score.family, 0, (1,))) < 2**24
    test = independence_test(columns)
    assert peak(partial(test.p_value, 0, 1, ())) < 2**24
    assert test.p_value(0, 1, ()) > 0.01


@pytest.mark.slow
def test_two_columns_of_many_levels_and_missing_cells() -> None:
    rows = wide_rows()
    rows["group"] = np.where(np.arange(MANY_LEVELS) % 3 == 0, None, rows["group"])
    kinds = {"id": "category", "key": "category"}
    assert peak(partial(credo.learn_structure, rows, search="hill-climbing", kinds=kinds)) < 2**26


def test_an_empty_column_is_ignored_with_a_notice() -> None:
    with pytest.warns(credo.Notice, match="'e' is ignored: every cell is missing"):
        found = credo.learn_structure({**DATA, "e": [None] * 60})
    assert "e" not in found.variables
    assert "'e'" in refused(credo.learn_structure, {**DATA, "e": [None] * 60}, kinds={"e": "category"})


def test_texts_are_ignored_with_a_notice() -> None:
    notes = [f"the {i}th note of a long and winding story about {i * 7}" for i in range(60)]
    with pytest.warns(credo.Notice, match="'note' is ignored: it is text"):
        assert "note" not in credo.learn_structure({**DATA, "note": notes}).variables


def test_no_rows_and_duplicate_names() -> None:
    import pyarrow as pa

    refused(credo.learn_structure, {"a": [], "b": []})
    twice = pa.table([pa.array(["x", "y"]), pa.array(["x", "y"])], names=["a", "a"])
    assert "'a'" in refused(credo.learn_structure, twice)


def test_one_column_and_one_row() -> None:
    assert credo.learn_structure({"a": ["x", "y", "x"]}).parents == {"a": ()}
    with pytest.warns(Notice, match="due to chance"):
        assert len(credo.learn_structure({"a": ["x"], "b": ["y"]}).variables) == 2


def test_a_state_never_seen() -> None:
    """Learned, it is a state; in a query it is unknown and told, or refused by name."""
    found = credo.learn_structure(DATA)
    new = {"a": ["z"], "b": ["x"], "c": ["x"]}
    more = found.update(new)
    assert more.n == 61
    assert {*more.states["a"]} == {"x", "y", "z"}
    with pytest.warns(credo.Notice, match="1 cell with unknown states, such as z|column 'a'"):
        (log,) = found.log_prob(new)
    assert log == pytest.approx(found.log_prob({**new, "a": [None]})[0])
    assert "'a' has no state 'z'" in refused(found.query, "b", {"a": "z"})


MIXED = {**DATA, "u": NUMBERS["u"]}
HOLES = {**MIXED, "b": [*DATA["b"][:6], None, *DATA["b"][7:]]}


@pytest.mark.parametrize("how", ["plain", "compiled"])
def test_a_missing_category_beside_numbers(how: str) -> None:
    with forced(how):
        text = refused(credo.Network("a -> b -> u; c -> u").score, HOLES)
        assert len(credo.learn_structure(HOLES).variables) == 4
        assert credo.edge_confidence(HOLES)
        assert credo.edge_confidence(HOLES, method="bootstrap", replicates=2)
    assert "'b' is missing in row 7" in text
    assert len(credo.learn_structure(HOLES, bins=3).variables) == 4


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    two: Any = np.int64(2)
    hundreds: Any = np.array([100, 500])
    found = credo.learn_structure({**DATA, **NUMBERS}, search="iterated", max_parents=two, bins=two, rounds=two)
    assert len(found.states["u"]) == 2
    sure = credo.edge_confidence(DATA, "bootstrap", replicates=two, seed=two)
    assert len(sure.average(structures=two)) <= 2
    credo.edge_confidence(DATA, "mcmc", chains=two, sweeps=hundreds[0])
    holes = {**DATA, "a": [None, *DATA["a"][1:]]}
    assert (
        credo.Network("a -> b; c").fit(holes, starts=two, steps=hundreds[1]).cross_validate(holes, two).folds.max() == 1
    )
    assert [
        len(cuts) for cuts in credo.TreeAugmented(bins=two).fit({**NUMBERS, "y": DATA["a"]}, "y").cuts.values()
    ] == [1] * 3


@pytest.mark.parametrize("search", ["hill-climbing", "tabu", "boss", "exact", "iterated", "k2"])
def test_required_parents_that_determine_a_number(search: str) -> None:
    sums = {**NUMBERS, "z": NUMBERS["u"] + NUMBERS["v"]}
    text = refused(credo.learn_structure, sums, "bic", search, required="u -> z; v -> z")
    assert "'z' can't have the parents u, v" in text
    assert "determine it" in text
    assert credo.learn_structure(sums, "bic", search).parents


@pytest.mark.parametrize("method", ["exact", "mcmc", "bootstrap"])
def test_confidences_where_parents_determine_a_number(method: Any) -> None:
    sums = {**NUMBERS, "z": NUMBERS["u"] + NUMBERS["v"]}
    text = refused(credo.edge_confidence, sums, method, score="bic", required="u -> z; v -> z")
    assert "'z' can't have the parents u, v" in text


def test_bins_have_different_names_however_close_they_are() -> None:
    data = {"u": 1e9 + NUMBERS["u"], "v": NUMBERS["v"]}
    found = credo.learn_structure(data, bins=5)
    assert len({*found.states["u"]}) == 5
    assert found.states["v"][0].count(".") == 1
    assert len(found.states["v"][0]) <= len("below -0.123456")


@pytest.mark.parametrize("verb", ["log_prob", "update", "fit", "forget", "leave_one_out", "impute", "score"])
def test_raw_numbers_for_a_network_whose_bins_are_only_names(verb: str, tmp_path: Path) -> None:
    """A .bif file knows no cut points."""
    credo.learn_structure(NUMBERS, bins=3).write(tmp_path / "net.bif")
    net = credo.Network.read(tmp_path / "net.bif")
    assert isinstance(net, credo.Network)
    text = refused(getattr(net if verb in ("log_prob", "impute") else net.with_strength(10), verb), NUMBERS)
    assert "column 'u' has numbers, such as" in text
    assert "cut at the same places" in text
    assert "no state 0.1; known: below" in refused(net.query, "v", {"u": 0.1})


def test_states_that_cant_be_declared() -> None:
    assert "'a'" in refused(credo.edge_confidence, DATA, states={"a": 5})
    assert "states must be" in refused(credo.edge_confidence, DATA, states=5)
    assert "'q'" in refused(credo.edge_confidence, DATA, states={"q": ["x", "y"]})
    assert "which isn't a state" in refused(credo.edge_confidence, DATA, states={"a": ["x", "z"]})


def test_declared_states_count_in_scores() -> None:
    rows = {"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}
    three = credo.Network("a -> b", states={"a": ["x", "y", "z"], "b": ["u", "v"]})
    two = credo.Network("a -> b")
    more = three.score(rows, "bic")["a"] - two.score(rows, "bic")["a"]
    assert more == pytest.approx(-0.5 * np.log(40))  # a parameter more
    assert two.fit(rows).score(rows, "bdeu") == two.score(rows, "bdeu")
    assert "which isn't a state" in refused(three.score, {"a": ["w", "x"], "b": ["u", "v"]})


def test_trees_below_a_class_of_mixed_tables() -> None:
    """Nobody gave constraints."""
    text = refused(credo.learn_structure, MIXED, search="tan", target="a")
    assert "a category has no numbers as parents" in text
    assert "required" not in text
    assert "bins=5" in text
    assert credo.learn_structure(MIXED, search="tan", bins=3, target="a").tables


@pytest.mark.parametrize("search", ["ges", "chow-liu"])
def test_searches_over_classes_of_mixed_tables(search: str) -> None:
    found = credo.learn_structure(MIXED, search=search)
    assert all("u" not in found.parents[name] for name in DATA)


@pytest.mark.parametrize("score", ["k2", "bds"])
def test_searches_over_classes_need_scores_that_are_equal_there(score: str) -> None:
    text = refused(credo.learn_structure, DATA, score, "ges")
    assert "equal for Markov-equivalent networks (bdeu, bic, aic, mdl, qnml)" in text
    assert credo.learn_structure(DATA, "mdl", "ges").tables
    assert credo.learn_structure(DATA, score, "chow-liu").tables


def test_more_families_than_are_feasible() -> None:
    wide = {f"v{i}": RANDOM.choice(["x", "y"], 20).tolist() for i in range(30)}
    text = refused(credo.learn_structure, wide, search="exact", max_parents=20)
    assert "lower max_parents=20" in text
