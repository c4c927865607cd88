"""Few documents are scored by NumPy: the same as by the kernels, which score many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo._kernels.text.documents import add_presences, add_words
from credo._kernels.text.log_odds import add_odds, add_settled_odds, contribute, settle_odds
from credo.blocks.text import few_documents as few
from credo.blocks.text import few_log_odds as odds
from credo.core.membership import Hard
from credo.core.sparse import Sparse
from credo.data.tokens import Tokeniser
from credo.data.word_counts import Documents
from credo.data.words import learned

CLASSES, WORDS = 3, 40


def documents(rng: Any, rows: int = 30) -> Documents:
    """Some of them empty, some with words that no other one has."""
    texts = [" ".join(f"w{v}" for v in rng.integers(0, WORDS, rng.integers(0, 9)) ** 2 // WORDS) for _ in range(rows)]
    return learned(pa.array([*texts[:-1], "w0 w0 w0 w0 alone"]), Tokeniser())[0]


@pytest.fixture(params=range(3))
def case(request: pytest.FixtureRequest) -> tuple[Documents, Hard, Any]:
    rng = np.random.default_rng(request.param)
    found = documents(rng)
    rows = len(found.known)
    own = Hard.of(rng.integers(-1, CLASSES, rows), CLASSES, rng.integers(1, 3, rows).astype(float))
    return found, own, rng


def table(found: Documents, own: Hard, values: Any) -> Sparse:
    """(words, classes)"""
    row = few.document_of_each(found)
    kept = own.codes[row] >= 0
    shape = (int(found.words.max()) + 1, CLASSES)
    return Sparse.of(found.words[kept], own.codes[row][kept], (own.weight[row] * values)[kept], shape)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("a", [0.0, 0.5])
def test_words(case: tuple[Documents, Hard, Any], drawn: bool, a: float) -> None:
    found, own, _ = case
    n = table(found, own, found.counts).value
    with np.errstate(divide="ignore"):
        logs = np.log(n + a)
    sums: Any = (n, logs, n.sum(1), 1e-9, a, drawn)
    results: Any = [
        [np.zeros((own.rows, CLASSES)), np.zeros((own.rows, CLASSES)), np.zeros(own.rows)] for _ in range(2)
    ]
    gone = [np.zeros(own.rows, dtype=np.int64) for _ in range(2)]
    amounts = found.counts.astype(float)
    add_words(found.words, amounts, *sums, found.starts, own.codes, own.weight, *results[0], gone[0])  # type: ignore[call-arg]
    few.add_words_of_few(found, amounts, *sums, own, *results[1], gone[1])  # type: ignore[call-arg]
    np.testing.assert_array_equal(gone[0], gone[1])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("a", [0.0, 0.5])
def test_presences(case: tuple[Documents, Hard, Any], a: float) -> None:
    found, own, rng = case
    n = table(found, own, np.ones(len(found.words))).value
    texts = np.bincount(own.codes[own.codes >= 0], own.weight[own.codes >= 0], CLASSES) + 1.0
    sums: Any = (n, *rng.normal(size=(2, *n.shape)), n.sum(1), 1e-9, a, texts)
    scores, unseen, zeros = ([np.zeros(shape, kind) for _ in range(2)] for shape, kind in [
        ((own.rows, CLASSES), float), (own.rows, np.int64), (own.rows, np.int64),
    ])  # fmt: skip
    add_presences(found.words, *sums, found.starts, own.codes, own.weight, scores[0], unseen[0], zeros[0])  # type: ignore[call-arg]
    few.add_presences_of_few(found, *sums, own, scores[1], unseen[1], zeros[1])  # type: ignore[call-arg]
    np.testing.assert_array_equal(unseen[0], unseen[1])
    np.testing.assert_array_equal(zeros[0], zeros[1])
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-12, atol=1e-12)


def test_shares_of_words_to_the_last_bit(case: tuple[Documents, Hard, Any]) -> None:
    found, _, _ = case
    expected = np.empty(len(found.words))
    contribute(found.counts, found.starts, np.ones(len(found.known)), expected)
    np.testing.assert_array_equal(odds.shares_of_words(found), expected)


def word_sums(found: Documents, own: Hard, least: float) -> odds.WordStatistics:
    shares, once = table(found, own, odds.shares_of_words(found)), table(found, own, np.ones(len(found.words)))
    holding = np.where(once.along(0) >= least, once.along(0), 0.0)
    kept = shares.take(0, np.flatnonzero(holding > 0))
    texts = float(own.weight[own.codes >= 0].sum())
    everything = np.array([np.count_nonzero(holding), holding.sum(), texts])
    return odds.WordStatistics(shares, holding, least, kept.along(1), everything)


@pytest.mark.parametrize("least", [1e-9, 3 - 1e-9])
def test_log_odds(case: tuple[Documents, Hard, Any], least: float) -> None:
    found, own, _ = case
    sums, damping, powers = word_sums(found, own, least), np.array([0.25, 2.0]), np.array([0.0, 1.0, 2.5])
    expected = np.zeros((own.rows, CLASSES, 2, 3))
    cells = sums.table.starts, sums.table.columns, sums.table.high
    add_odds(
        found.words, found.counts, *cells, sums.holding, least, sums.totals, sums.everything, damping, powers,
        found.starts, own.codes, own.weight, expected,
    )  # fmt: skip
    assert expected.any()
    scores = odds.scores_left_out(odds.odds_left_out(found, own, sums), damping, powers)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("least", [1e-9, 3 - 1e-9])
def test_log_odds_of_new_documents(case: tuple[Documents, Hard, Any], least: float) -> None:
    found, own, rng = case
    sums, base, a, choice = word_sums(found, own, least), rng.normal(size=CLASSES), 0.03, (2.0, 1.5)
    words = len(sums.holding)
    rarity, never, nothing, more = np.zeros(words), np.zeros(words), np.zeros(words), np.zeros(len(sums.table.high))
    cells = sums.table.starts, sums.table.columns
    settle_odds(
        *cells, sums.table.high, sums.holding, least, base, sums.everything, a, *choice, rarity, never, nothing, more
    )
    known = odds.settled(sums, base, a, choice)
    for one, other in zip((rarity, never, nothing, base, more), known, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
    expected = np.zeros((own.rows, CLASSES))
    add_settled_odds(found.words, found.counts, found.starts, *cells, *known, choice[0], expected)
    scores = odds.scores_of_new(found, sums.table, known, choice[0])
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_parts_of_a_batch_are_read_as_if_alone() -> None:
    """What is encoded once for all rows, and taken from there, is what the rows alone would give."""
    data = {"t": ["to be or not", "to see", "be that", "see the sea", "", "not that sea"], "y": list("aabbab")}
    model = credo.NaiveBayes(kinds={"t": "text"}).fit(data, "y")
    (batch,) = model_batches(data)
    rows = np.array([1, 3, 4])
    whole, alone = (model.summarise(each, np.ones(3)) for each in (batch.part(rows), batch.take(rows)))
    for label in alone.parts:
        np.testing.assert_array_equal(_sums(whole, alone, label), _sums(alone, alone, label))
    one, other = (model.terms.likelihoods[0][1].read(each) for each in (batch.part(rows), batch.take(rows)))
    for name in ("starts", "words", "counts", "known", "unseen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def model_batches(data: Any) -> Any:
    from credo.data import source

    return list(source(data).read(["t", "y"]))


def _sums(evidence: Any, like: Any, label: Any) -> Any:
    """By the levels of another, in its order."""
    part = evidence.parts[label]
    value, axis = part.statistics.n.value, part.axes[0]
    if axis != "t":
        return value
    mine, its = (each.schema["t"].levels.to_pylist() for each in (evidence, like))
    assert sorted(mine) == sorted(its)
    return value[[mine.index(word) for word in its]]
