"""Logistic regression and a tree in what credo.learn makes: tuning, pooled in log-odds, that explains itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.data import source
from credo.selection import pooling
from credo.selection.design import design_of
from credo.selection.discriminative import LOGISTIC, TREE
from credo.selection.linear_terms import LinearCells, LinearTerm, LinearWords
from credo.selection.tree_terms import TreeTerm

Table = dict[str, Any]
WORDS = np.array([f"word{i}" for i in range(40)])


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def end_games() -> set[str]:
    """All boards at which a game of tic-tac-toe ends, x having begun."""
    found, open_ = set[str](), [(" " * 9, "x")]
    while open_:
        board, player = open_.pop()
        won = any(board[i] == board[j] == board[k] != " " for i, j, k in LINES)
        if won or " " not in board:
            found.add(board)
            continue
        moves = (board[:i] + player + board[i + 1 :] for i in range(9) if board[i] == " ")
        open_ += [(move, "o" if player == "x" else "x") for move in moves]
    return found


BOARDS = np.random.default_rng(0).permutation(sorted(end_games()))


def games(rows: int, seed: int = 0) -> Table:
    """The first so many: who has won is a sum for regression, nearly, and questions for a tree."""
    boards = BOARDS[:rows] if not seed else np.random.default_rng(seed).choice(BOARDS, rows)
    won = ["yes" if any(b[i] == b[j] == b[k] == "x" for i, j, k in LINES) else "no" for b in boards]
    return {**{f"c{j}": np.array([b[j] for b in boards]) for j in range(9)}, "y": np.array(won)}


def documents(rows: int, seed: int = 1) -> Table:
    """What a word says depends on how often others say the same: naive Bayes counts it twice."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    texts = []
    for k in truth:
        own = WORDS[k * 4 : k * 4 + 4]
        said = [*rng.choice(WORDS, 8), *rng.choice(own, 2)]
        texts.append(" ".join(word for each in said for word in ([each] * 3 if each in WORDS[:6] else [each])))
    return {"text": np.array(texts, dtype=object), "y": np.array(["a", "b", "c"])[truth]}


def part(table: Table, rows: slice) -> Table:
    return {name: column[rows] for name, column in table.items()}


@pytest.fixture(scope="module")
def mixed() -> Any:
    return credo.learn(games(900), target="y")


@pytest.fixture(scope="module")
def worded() -> Any:
    found = credo.learn(documents(400), target="y", kinds={"text": credo.Text()})
    if not found.tuning.parts:
        pytest.fail("logistic regression should be worth it here")
    return found


def test_both_are_tried_and_pooled_where_they_help(mixed: Any) -> None:
    tried = {each.name: each for each in mixed.report.tried}
    assert tried[LOGISTIC].share > 0.1
    assert tried[TREE].share > 0.1
    kinds = {type(each) for each in mixed.tuning.parts}
    assert kinds == {LinearCells, TreeTerm}
    without = credo.learn(games(900), target="y", model="naive-bayes")
    assert mixed.report.scores.log_loss < without.report.scores.log_loss - 0.02
    assert not without.tuning.parts


def straight(rows: int) -> Table:
    """Two numbers whose sum tells the class, with noise: nothing for a tree to add."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, 2))
    return {"a": x[:, 0], "b": x[:, 1], "y": np.where(x.sum(1) + rng.normal(size=rows) > 0, "yes", "no")}


def test_a_tree_without_hope_is_given_up_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    early = credo.learn(straight(300), target="y")
    assert early.report.tried[-1].name.startswith(f"{TREE} (stopped after ")
    assert early.report.tried[-1].share == 0
    monkeypatch.setattr(pooling, "_looks", lambda *_: set())
    whole = credo.learn(straight(300), target="y")
    assert {each.name: each.share for each in whole.report.tried}[TREE] == 0
    assert np.array_equal(early.predict_proba(straight(50)), whole.predict_proba(straight(50)))
    assert early.report.scores.log_loss == whole.report.scores.log_loss


@pytest.mark.parametrize(
    ("mean", "spread", "may_gain"), [(0.05, 0.1, True), (-0.05, 0.1, False), (0.0, 0.4, True), (0.001, 0.001, False)]
)
def test_candidates_are_kept_while_a_clear_and_relevant_gain_is_possible(
    mean: float, spread: float, may_gain: bool
) -> None:
    """Of 60 rows of 300: z = 3.9; z = -3.9; nothing known yet (P = 16%); a gain of 0.2% of the log-loss."""
    gain = mean + spread * np.tile([-1.0, 1.0], 30)
    assert pooling._may_gain(gain, np.full(60, -0.5), np.ones(300), held_out_ratio=0.0) is may_gain


@pytest.mark.parametrize("model", ["mixed", "worded"])
def test_explanations_sum_to_the_log_odds(model: str, request: pytest.FixtureRequest) -> None:
    learned = request.getfixturevalue(model)
    rows = games(30, seed=5) if model == "mixed" else documents(30, seed=5)
    for i in range(6):
        row = {name: column[i] for name, column in rows.items() if name != "y"}
        found, log_p = learned.explain(row), learned.predict_log_proba([row])[0]
        first, second = (learned.classes.index(each) for each in (found.of, found.against))
        assert found.log_odds == pytest.approx(log_p[first] - log_p[second], abs=1e-9)
        for name, words in found.words.items():
            assert sum(each.weight for each in words) == pytest.approx(found.weights[name], abs=1e-9)


def test_saved_and_loaded(mixed: Any, worded: Any, tmp_path: Path) -> None:
    for learned, rows in ((mixed, games(40, seed=6)), (worded, documents(40, seed=6))):
        credo.save(learned, tmp_path / "model.credo")
        again = credo.load(tmp_path / "model.credo")
        assert np.array_equal(again.predict_proba(rows), learned.predict_proba(rows))
        assert again.tuning == learned.tuning
        assert again.tuning != credo.learn(part(rows, slice(0, 40)), target="y").tuning


def test_update_and_forget_leave_the_tuning(mixed: Any, worded: Any) -> None:
    for learned, rows in ((mixed, games(100)), (worded, part(documents(400), slice(0, 100)))):
        fewer = learned.forget(rows)
        assert fewer.tuning == learned.tuning
        back = fewer.update(rows)
        assert back.predict_proba(rows) == pytest.approx(learned.predict_proba(rows), abs=1e-9)
        assert not hasattr(learned.untuned(), "parts")
        assert learned.untuned().tuning is None


def test_a_class_that_comes_later_and_one_that_goes(mixed: Any, worded: Any) -> None:
    new = {"text": ["zebra zebra stripes", "zebra stripes tail"] * 5, "y": ["d"] * 10}
    with pytest.warns(credo.Notice, match="comes after tuning"):
        more = worded.update(new)
    found = more.predict_proba(documents(20, seed=8))
    assert found.shape == (20, 4)
    assert found.sum(1) == pytest.approx(1)
    assert more.predict_proba(["zebra stripes"])[0, 3] > found[:, 3].max()
    fewer = worded.without_class("b")
    assert fewer.classes == ("a", "c")
    assert fewer.predict_proba(documents(5, seed=8)).shape == (5, 2)
    assert mixed.without_class("no").predict_proba(games(3)).tolist() == [[1.0]] * 3


def test_rows_without_cells_have_the_class_shares(mixed: Any) -> None:
    blank = {name: [None] for name in mixed.views}
    shares = mixed.class_weights + mixed.settings.smoothing
    assert mixed.predict_proba(blank)[0] == pytest.approx(shares / shares.sum(), rel=0.01)


def test_cells_beyond_all_that_was_seen_are_as_the_furthest() -> None:
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=30), "z": rng.choice(["a", "b"], 30), "y": np.arange(30) % 2}
    model = credo.NaiveBayes().fit(table, target="y")
    found = design_of(model, [*source(table).batches(["x", "z"])], np.ones(30))
    assert found is not None
    term = found.terms[0].fitted(np.array([[-1.0, 1.0], [0.5, -0.5], [0.0, 0.0]]))
    batches = [next(source([{"x": x, "z": "a"}]).batches(["x", "z"])) for x in (1e6, 1e140)]
    first, second = (term.by_column(term.read(batch), (1, 2)) for batch in batches)
    assert np.isfinite(first["x"]).all()
    assert first["x"].tolist() == second["x"].tolist()
    out = np.zeros((1, 2))
    term.add(term.read(batches[0]), out)
    assert out == pytest.approx(first["x"] + first["z"])
    missing = next(source([{"x": None, "z": "never seen"}]).batches(["x", "z"]))
    assert not any(each.any() for each in term.by_column(term.read(missing), (1, 2)).values())


def test_leave_one_out_holds_the_tuning(mixed: Any) -> None:
    scores = mixed.leave_one_out(games(900))
    assert "tuning held fixed" in scores.how
    assert np.isfinite(scores.log_loss)


def test_live_models_predict_the_same(worded: Any, mixed: Any) -> None:
    for learned, rows in ((worded, documents(8, seed=3)), (mixed, games(8, seed=3))):
        live = learned.live()
        for i in range(8):
            row = {name: column[i] for name, column in rows.items() if name != "y"}
            found, frozen = live.predict_proba(row), live.freeze()
            assert [found[value] for value in learned.classes] == pytest.approx(frozen.predict_proba([row])[0].tolist())
            live.observe({name: column[i] for name, column in rows.items()})
        again = live.freeze()
        assert again.tuning == learned.tuning


def test_engines_find_the_same(mixed: Any) -> None:
    rows = games(900)
    with engines.using(engines.Serial()):
        again = credo.learn(rows, target="y")
    assert again.predict_proba(rows) == pytest.approx(mixed.predict_proba(rows), abs=1e-12)


def test_the_order_of_rows_matters_little(mixed: Any) -> None:
    order = np.random.default_rng(0).permutation(900)
    rows = games(900)
    again = credo.learn({name: column[order] for name, column in rows.items()}, target="y")
    new = part(games(958), slice(900, 958))
    assert again.predict_proba(new) == pytest.approx(mixed.predict_proba(new), abs=1e-3)


def test_words_of_regression_are_among_the_strongest(worded: Any) -> None:
    (words,) = (each for each in worded.tuning.parts if isinstance(each, LinearWords))
    others = np.array([0.0, 0.5, 0.5])
    own = words.over(worded.tuning.classes, worded.classes)
    best = worded.top_words("a", 4)["word"].to_pylist()
    weights = own.weights_for(0, others, worded.top_words("a", 4)["word"].combine_chunks())
    assert {*best} & {*WORDS[:4]}
    assert weights.max() > 0


def test_regression_reads_texts_and_cells_together() -> None:
    table = documents(300)
    table["x"] = np.where(table["y"] == "a", 1.0, 0.0) + np.random.default_rng(0).normal(size=300)
    learned = credo.learn(table, target="y", kinds={"text": credo.Text()})
    assert {type(each) for each in learned.tuning.parts if isinstance(each, LinearTerm)} <= {LinearCells, LinearWords}
    row = {name: column[0] for name, column in table.items() if name != "y"}
    found, log_p = learned.explain(row), learned.predict_log_proba([row])[0]
    first, second = (learned.classes.index(each) for each in (found.of, found.against))
    assert found.log_odds == pytest.approx(log_p[first] - log_p[second], abs=1e-9)
