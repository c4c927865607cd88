"""The commands about decision trees: learn, show, predict, explain, ask, update, forget, merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv

import credo
from tests.lectures.test_classifiers import PLAY_TENNIS
from tests.test_cli import ran, refused


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any) -> str:
    import pyarrow as pa

    path = tmp_path_factory.mktemp("trees") / "tennis.csv"
    csv.write_csv(pa.Table.from_pylist(PLAY_TENNIS * 4), path)
    return str(path)


@pytest.fixture(scope="module")
def model(table: str, tmp_path_factory: Any) -> str:
    path = str(tmp_path_factory.mktemp("model") / "t.credo")
    credo.save(credo.DecisionTree().fit(table, target="play"), path)
    return path


def test_learn_shows_the_tree_and_writes_it(table: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("t.credo", "t.svg", "t.html")]
    files = ("-o", str(paths[0]), "--plot", str(paths[1]), "--report", str(paths[2]))
    said = ran("learn", table, "-t", "play", "--model", "tree", *files)
    assert "averaged DecisionTree: " in said
    assert "outlook = overcast" in said
    assert "the tree pays for itself" in said
    assert "10-fold, grown again" in said
    assert all(path.stat().st_size for path in paths)


def test_show_predict_explain_and_ask(table: str, model: str) -> None:
    assert "outlook = overcast" in ran("show", model)
    assert '"predicted","probability"' in ran("predict", model, table)
    said = ran("explain", model, table, "--row", "1")
    assert "outlook" in said
    assert "log-odds" in said
    assert "play" in ran("ask", model, "P(play | outlook=overcast)")


def test_update_forget_and_merge(table: str, model: str, tmp_path: Path) -> None:
    more, both = str(tmp_path / "more.credo"), str(tmp_path / "both.credo")
    assert "112 rows in all" in ran("update", model, table, "-o", more)
    assert "168 rows in all" in ran("merge", more, model, "-o", both)
    assert "56 rows in all" in ran("forget", more, table)


def test_options_that_trees_have_not(table: str) -> None:
    learning = ("learn", table, "-t", "play", "--model", "tree")
    assert "--model tree has no --learning-curve" in refused(*learning, "--learning-curve", code=2)
    assert "no column 'plat'" in refused("learn", table, "-t", "plat", "--model", "tree")


def test_pictures() -> None:
    from credo.present.tree_plot import DRAWN_LEAVES, tree_picture

    tree = credo.DecisionTree(prune=None).fit(PLAY_TENNIS, target="play")
    found = tree_picture(tree.outline)
    assert [box.text for box in found.boxes if not box.shares] == ["outlook", "wind", "humidity"]
    assert [box.answer for box in found.boxes][1] == "overcast"
    assert [box.x for box in found.boxes if box.shares] == [0, 1, 2, 3, 4]
    assert tree.plot().axes
    alone = credo.DecisionTree(prune="mdl").fit(PLAY_TENNIS, target="play")
    assert alone.plot().axes
    many = credo.DecisionTree(prune=None, min_rows=1).fit(
        {"x": list(range(400)), "y": [i // 2 % 2 for i in range(400)]}, target="y"
    )
    assert sum(bool(box.shares) for box in tree_picture(many.outline).boxes) <= DRAWN_LEAVES
    assert "more nodes" in repr(many)
