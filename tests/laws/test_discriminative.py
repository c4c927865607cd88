"""Logistic regression and a tree in what credo.learn makes: tuning, pooled in log-odds, that explains itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.data import source
from credo.selection.discriminative import LOGISTIC, TREE
from credo.selection.linear_terms import LinearCells, LinearTerm, LinearWords
from credo.selection.tree_terms import TreeTerm

Table = dict[str, Any]
WORDS = np.array([f"word{i}" for i in range(40)])


def xor(rows: int, seed: int = 0) -> Table:
    """Whether two columns agree tells the class, as a tree sees; a sum of numbers does, too, as regression sees."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(0, 2, rows) for _ in range(3))
    x = rng.normal(size=(rows, 6))
    score = 4.0 * ((a ^ b) - 0.5) + x @ np.array([1.5, -1.0, 1.0, 0.7, -1.2, 1.0])
    truth = rng.random(rows) < 1 / (1 + np.exp(-score))
    columns: Table = {f"x{j}": np.where(rng.random(rows) < 0.05, np.nan, x[:, j]) for j in range(6)}
    columns |= {"a": np.array(["u", "v"])[a], "b": np.array(["u", "v"])[b], "c": np.array(["p", "q"])[c]}
    return {**columns, "y": np.where(truth, "yes", "no")}


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
    return credo.learn(part(xor(900), slice(0, 600)), target="y")


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
    new = part(xor(900), slice(600, 900))
    without = credo.learn(part(xor(900), slice(0, 600)), target="y", model="naive-bayes")
    assert mixed.scores(new).log_loss < without.scores(new).log_loss - 0.02
    assert not without.tuning.parts


def test_the_figure_is_about_new_rows(mixed: Any) -> None:
    new = mixed.scores(part(xor(4000, seed=0), slice(900, 4000)))
    reported = mixed.report.scores
    assert abs(reported.log_loss - new.log_loss) < 3 * reported.log_loss_error + 0.01


@pytest.mark.parametrize("model", ["mixed", "worded"])
def test_explanations_sum_to_the_log_odds(model: str, request: pytest.FixtureRequest) -> None:
    learned = request.getfixturevalue(model)
    rows = xor(30, seed=5) if model == "mixed" else documents(30, seed=5)
    for i in range(6):
        row = {name: column[i] for name, column in rows.items() if name != "y"}
        found, log_p = learned.explain(row), learned.predict_log_proba([row])[0]
        first, second = (learned.classes.index(each) for each in (found.of, found.against))
        assert found.log_odds == pytest.approx(log_p[first] - log_p[second], abs=1e-9)
        for name, words in found.words.items():
            assert sum(each.weight for each in words) == pytest.approx(found.weights[name], abs=1e-9)


def test_saved_and_loaded(mixed: Any, worded: Any, tmp_path: Path) -> None:
    for learned, rows in ((mixed, xor(40, seed=6)), (worded, documents(40, seed=6))):
        credo.save(learned, tmp_path / "model.credo")
        again = credo.load(tmp_path / "model.credo")
        assert np.array_equal(again.predict_proba(rows), learned.predict_proba(rows))
        assert again.tuning == learned.tuning
        assert again.tuning != credo.learn(part(rows, slice(0, 40)), target="y").tuning


def test_update_and_forget_leave_the_tuning(mixed: Any, worded: Any) -> None:
    for learned, rows in ((mixed, part(xor(900), slice(0, 100))), (worded, part(documents(400), slice(0, 100)))):
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
    assert more.predict(["zebra stripes"]).tolist() == ["d"]
    fewer = worded.without_class("b")
    assert fewer.classes == ("a", "c")
    assert fewer.predict_proba(documents(5, seed=8)).shape == (5, 2)
    assert mixed.without_class("no").predict_proba(xor(3)).tolist() == [[1.0]] * 3


def test_rows_without_cells_have_the_class_shares(mixed: Any) -> None:
    blank = {name: [None] for name in mixed.views}
    shares = mixed.class_weights + mixed.settings.smoothing
    assert mixed.predict_proba(blank)[0] == pytest.approx(shares / shares.sum(), rel=0.01)


def test_cells_beyond_all_that_was_seen_are_as_the_furthest(mixed: Any) -> None:
    (linear,) = (each for each in mixed.tuning.parts if isinstance(each, LinearCells))
    row = {name: column[0] for name, column in xor(1, seed=9).items() if name != "y"}
    far, further = ({**row, "x0": x} for x in (1e6, 1e300))
    own = linear.over(mixed.tuning.classes, mixed.classes)
    batches = [next(source([each]).batches(list(each))) for each in (far, further)]
    first, second = (own.by_column(own.read(batch), (1, 2))["x0"] for batch in batches)
    assert np.isfinite(first).all()
    assert first.tolist() == second.tolist()


def test_leave_one_out_holds_the_tuning(mixed: Any) -> None:
    scores = mixed.leave_one_out(part(xor(900), slice(0, 600)))
    assert "tuning held fixed" in scores.how
    assert np.isfinite(scores.log_loss)


def test_live_models_predict_the_same(worded: Any, mixed: Any) -> None:
    for learned, rows in ((worded, documents(8, seed=3)), (mixed, xor(8, seed=3))):
        live = learned.live()
        for i in range(8):
            row = {name: column[i] for name, column in rows.items() if name != "y"}
            found = live.predict_proba(row)
            assert [found[value] for value in learned.classes] == pytest.approx(
                learned.predict_proba([row])[0].tolist()
            )
            live.observe({name: column[i] for name, column in rows.items()})
        again = live.freeze()
        assert again.tuning == learned.tuning


def test_engines_find_the_same(mixed: Any) -> None:
    rows = part(xor(900), slice(0, 600))
    with engines.using(engines.Serial()):
        again = credo.learn(rows, target="y")
    assert again.predict_proba(rows) == pytest.approx(mixed.predict_proba(rows), abs=1e-12)


def test_the_order_of_rows_matters_little(mixed: Any) -> None:
    order = np.random.default_rng(0).permutation(600)
    rows = part(xor(900), slice(0, 600))
    again = credo.learn({name: column[order] for name, column in rows.items()}, target="y")
    new = part(xor(900), slice(600, 900))
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
