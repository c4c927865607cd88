"""Minimum description length: the decision tree of PlayTennis, and whether it pays for itself."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest

import credo
from tests.lectures.test_classifiers import PLAY_TENNIS


def tennis(**settings: object) -> credo.DecisionTree:
    return credo.DecisionTree(**settings).fit(PLAY_TENNIS, target="play")  # type: ignore[arg-type]


def test_the_textbooks_tree() -> None:
    """Outlook at the root, Humidity under Sunny, Wind under Rain, and Overcast is always Yes."""
    nodes = tennis(prune=None).outline.nodes
    asked = {node.answer: node.column for node in nodes}
    assert asked[""] == "outlook"
    (root,) = [i for i, node in enumerate(nodes) if node.column == "outlook"]
    below = {node.answer: (node.column, node.rows) for node in nodes if node.parent == root}
    assert below == {
        "outlook = overcast": (None, 4),
        "outlook = rain": ("wind", 5),
        "outlook = sunny": ("humidity", 5),
    }
    assert sum(node.is_leaf for node in nodes) == 5


def test_information_gain_is_the_textbooks() -> None:
    """Gain(S, Outlook) = 0.246 bits, Humidity 0.151, Wind 0.048, Temperature 0.029."""
    gains = {}
    for name in ("outlook", "humidity", "wind", "temperature"):
        only = [{name: row[name], "play": row["play"]} for row in PLAY_TENNIS]
        tree = credo.DecisionTree(prune=None, max_depth=1, min_rows=1).fit(only, target="play")
        counts = tree.prunings.counts
        entropy = [-sum(n / row.sum() * log2(n / row.sum()) for n in row if n) for row in counts]
        gains[name] = entropy[0] - sum(counts[k].sum() / 14 * entropy[k] for k in range(1, len(counts)))
    assert {name: round(gain, 3) for name, gain in gains.items()} == {
        "outlook": 0.247, "humidity": 0.152, "wind": 0.048, "temperature": 0.029,
    }  # fmt: skip


def test_the_tree_does_not_pay_for_itself_on_fourteen_rows() -> None:
    length = tennis(prune=None).description_length()
    tree = 8 + (log2(4) + log2(3) + log2(3)) + 5  # a bit a node, the columns asked about, five classes
    exceptions = 4 * log2(2) + log2(3)  # leaves of 3, 2, 4, 3 and 2 rows say that there are none
    alone = 1 + 1 + log2(8) + log2(comb(14, 5))  # a leaf, "yes", five exceptions of at most seven, and which
    assert length.tree == pytest.approx(tree, abs=1e-9)
    assert length.exceptions == pytest.approx(exceptions, abs=1e-9)
    assert length.total == pytest.approx(23.755, abs=1e-3)
    assert length.alone == pytest.approx(alone, abs=1e-9)
    assert length.alone == pytest.approx(15.967, abs=1e-3)
    assert not length.pays
    assert "the tree doesn't pay for itself" in repr(length)


def test_it_pays_when_the_same_days_come_again() -> None:
    often = credo.DecisionTree(prune=None).fit(PLAY_TENNIS * 4, target="play").description_length()
    assert often.pays
    assert "the tree pays for itself" in repr(often)
    assert credo.DecisionTree(prune="mdl").fit(PLAY_TENNIS * 4, target="play").n_leaves == 5


def test_description_length_prunes_it_to_a_leaf() -> None:
    for prune in ("mdl", "evidence"):
        assert tennis(prune=prune).n_leaves == 1
    shares = dict(zip(("no", "yes"), tennis(prune="mdl").predict_proba(PLAY_TENNIS[:1])[0], strict=True))
    assert shares["yes"] == pytest.approx(9.5 / 15)


def test_the_average_says_little_on_fourteen_rows_and_more_on_fifty_six() -> None:
    few = tennis().predict_proba(PLAY_TENNIS)
    many = credo.DecisionTree().fit(PLAY_TENNIS * 4, target="play").predict_proba(PLAY_TENNIS)
    truth = [["no", "yes"].index(row["play"]) for row in PLAY_TENNIS]
    assert np.abs(few[:, 1] - 9.5 / 15).max() < 0.1
    assert many[np.arange(14), truth].min() > 0.85
