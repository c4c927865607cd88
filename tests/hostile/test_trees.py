"""Trees of bad input: one sentence each, or a tree that says little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.records import with_fields
from credo.errors import Notice
from credo.storage.schemas import BY_NAME
from tests.hostile.refusals import refused

PRUNES = ("average", "mdl", "evidence", None)
prunes = pytest.mark.parametrize("prune", PRUNES)
XOR: dict[str, Any] = {"a": ["x", "x", "y", "y"] * 5, "b": ["u", "v", "u", "v"] * 5, "y": [0, 1, 1, 0] * 5}


def tree(data: Any, prune: Any = "average", **settings: Any) -> credo.DecisionTree:
    return credo.DecisionTree(prune=prune, **settings).fit(data, target="y")


@prunes
def test_one_class_and_one_row(prune: Any) -> None:
    alone = tree({"x": [1.0, 2.0, 3.0], "y": ["a"] * 3}, prune)
    assert alone.predict_proba({"x": [7.0]}).tolist() == [[1.0]]
    assert "only one class" in refused(alone.explain, {"x": 1.0})
    single = tree({"x": [1.0], "c": ["u"], "y": ["a"]}, prune)
    assert single.predict({"x": [2.0], "c": ["u"]}).tolist() == ["a"]
    assert single.n_leaves == 1


@prunes
def test_cells_that_are_all_missing_and_columns_that_are_constant(prune: Any) -> None:
    with pytest.warns(Notice, match="ignored"):
        model = tree({"x": [None] * 4, "c": ["u"] * 4, "z": [1.5] * 4, "y": ["a", "b", "a", "a"]}, prune)
    np.testing.assert_allclose(model.predict_proba({"c": ["u"], "z": [2.5]}), [[0.7, 0.3]])
    kinds = {"x": "number", "c": "category"}
    empty = tree({"x": [None] * 4, "c": [None] * 4, "y": ["a", "b", "a", "a"]}, prune, kinds=kinds)
    np.testing.assert_allclose(empty.predict_proba({"x": [3.0], "c": [None]}), [[0.7, 0.3]])
    assert not np.isnan(empty.leave_one_out({"x": [None] * 4, "c": [None] * 4, "y": ["a", "b", "a", "a"]}).log_loss)


@pytest.mark.slow
@prunes
def test_a_hundred_thousand_levels(prune: Any) -> None:
    """Names of rows tell nothing: they aren't split by, and branches stay small."""
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.integers(0, 2, n)
    table = {"id": np.array([f"id{i}" for i in range(n)], dtype=object), "x": y + rng.normal(size=n), "y": y}
    model = tree(table, prune, kinds={"id": "category"}, max_depth=6)
    assert model.structure is not None
    assert model.structure.routes.size < 1_000_000
    assert all(node.column != "id" for node in model.outline.nodes)
    with pytest.warns(Notice, match="unseen values"):
        found = model.predict_proba({"id": ["other", "id7"], "x": [3.0, -2.0]})
    assert found[0, 1] > 0.8 > 0.2 > found[1, 1]


def test_many_levels_that_tell_something() -> None:
    """Two sets of names, each with its class: they are found."""
    rng = np.random.default_rng(1)
    name = rng.integers(0, 1000, 20_000)
    y = (name % 2) ^ (rng.random(20_000) < 0.1)
    table = {"name": np.array([f"n{i}" for i in name], dtype=object), "y": y}
    for prune in ("average", "evidence"):
        model = tree(table, prune, kinds={"name": "category"})
        assert model.scores(table).accuracy > 0.85
        assert model.cross_validate(table, folds=3).log_loss < 0.4


def test_infinite_numbers_and_unknown_targets() -> None:
    assert "row 2" in refused(tree, {"x": [1.0, np.inf, 2.0], "y": ["a", "b", "a"]})
    assert "no column 'play'" in refused(credo.DecisionTree().fit, XOR, target="play")
    assert "holds numbers with fractions" in refused(tree, {"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]})
    assert "no row has a class" in refused(tree, {"x": [1.0, 2.0], "y": np.array([None, None], dtype=object)})
    assert "no column besides 'y'" in refused(tree, {"y": [0, 1, 0]})
    assert "empty" in refused(tree, {"x": [], "y": []})


def test_settings() -> None:
    assert "no such pruning, 'mdll'" in refused(credo.DecisionTree, prune="mdll")
    assert "no such gain, 'gini'" in refused(credo.DecisionTree, gain="gini")
    for wrong in ({"smoothing": 0}, {"smoothing": "a"}, {"min_rows": -1}, {"min_rows": np.inf}, {"smoothing": True}):
        assert "must be a number above 0" in refused(credo.DecisionTree, **wrong)
    assert "max_depth" in refused(credo.DecisionTree, max_depth=-1)
    assert "nothing was learned yet" in refused(credo.DecisionTree().predict, XOR)
    assert "nothing was learned yet" in refused(credo.DecisionTree().update, XOR)
    assert repr(credo.DecisionTree()) == "averaged DecisionTree, not fitted yet"


@prunes
def test_more_columns_than_rows(prune: Any) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(12, 300))
    y = np.arange(12) % 2
    model = credo.DecisionTree(prune=prune).fit(x, target=y)
    assert model.predict_proba(x).shape == (12, 2)
    if prune == "average":
        assert np.abs(model.predict_proba(x) - 0.5).max() < 0.35, "300 columns of noise tell little"


def test_texts_are_ignored_with_a_notice() -> None:
    texts = [f"the pump number {i} leaked again and again at night" for i in range(20)]
    with pytest.warns(Notice, match=r"'note' is ignored: a tree doesn't read texts"):
        model = tree({**XOR, "note": texts})
    assert [*model.features] == ["a", "b"]
    with pytest.warns(Notice, match="texts"):
        assert "no column to learn from" in refused(tree, {"note": texts, "y": XOR["y"]})


def test_forgetting_what_was_never_learned() -> None:
    model = tree(XOR, None)
    assert "never learned" in refused(model.forget, {"a": ["x"] * 20, "b": ["u"] * 20, "y": [1] * 20})
    assert "'b' is absent" in refused(model.forget, {"a": ["x"], "y": [0]})
    assert "no class is left" in refused(model.forget(XOR).predict, XOR)
    assert "needs the rows that were learned" in refused(model.leave_one_out, {name: v[:4] for name, v in XOR.items()})


def test_iterators_are_refused_where_rows_are_read_again() -> None:
    model = tree(XOR)
    assert "iterator" in refused(model.leave_one_out, iter([XOR]))
    assert "iterator" in refused(model.cross_validate, iter([XOR]))
    assert "at least" in refused(model.cross_validate, XOR, folds=1)
    assert "folds need" in refused(model.cross_validate, XOR, folds=50)


@pytest.mark.parametrize(
    "forged",
    [
        {"column": np.array([7, -1, -1], np.int32)},
        {"first": np.array([0, -1, -1], np.int32)},
        {"first": np.array([2, -1, -1], np.int32)},
        {"ways": np.array([3, 0, 0], np.int32)},
        {"routes": np.array([0, 2], np.int32)},
        {"routes": np.array([0], np.int32)},
        {"routes": np.array([0, 1, 1], np.int32)},
        {"route": np.array([5, -1, -1], np.int32)},
        {"share": np.array([1.0, 0.9, 0.9])},
        {"share": np.array([1.0, np.nan, 0.5])},
        {"column": np.array([0, -1], np.int32)},
    ],
)
def test_forged_branches_are_refused(forged: dict[str, Any]) -> None:
    model = tree({"a": ["x", "y"] * 5, "b": ["u", "u", "v", "w"] * 2 + ["u", "w"], "y": [0, 1] * 5}, None)
    assert model.structure is not None
    assert model.structure.size == 3
    structures, trees = BY_NAME["TreeStructure"], BY_NAME["DecisionTree"]
    structures.check(model.structure)
    trees.check(model)
    wrong = with_fields(model.structure, **forged)
    with pytest.raises(ValueError, match="are inconsistent"):  # noqa: PT012 - whichever sees it
        structures.check(wrong)
        trees.check(model.replaced(structure=wrong))


def test_a_saved_tree_is_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = {"x": rng.normal(size=200), "c": rng.choice(list("uvw"), 200), "n": rng.integers(0, 9, 200)}
    table |= {"y": (table["x"] + (table["c"] == "u") + rng.normal(size=200) > 0).astype(int)}
    for prune in PRUNES:
        model = tree(table, prune)
        credo.save(model, tmp_path / "t.credo")
        again = credo.load(tmp_path / "t.credo")
        np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
        assert repr(again) == repr(model)
        assert again.update(table).n == 400
        assert (again + model).n == 400
        assert again.leave_one_out(table).log_loss == model.leave_one_out(table).log_loss
    credo.save(credo.DecisionTree("mdl", max_depth=3), tmp_path / "t.credo")
    assert credo.load(tmp_path / "t.credo").max_depth == 3
