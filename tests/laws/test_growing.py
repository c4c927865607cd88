"""Much evidence and little beside it: what is added costs what it is, and comes to the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo._kernels import jit
from credo._kernels.text.live import distinct
from credo.blocks.text.tallies import LiveTable
from credo.core.evidence import MANY_LEVELS, WAITING_TERMS, Evidence
from credo.core.labels import ROWS
from credo.core.sparse import Sparse
from credo.data.schema import Column, Schema, unite
from credo.errors import SchemaError
from credo.models.classifier import Classifier
from tests.laws.classifiers import assert_same, unheard

Table = dict[str, list[Any]]
SIZES = st.integers(0, 40)


def letters(start: int, stop: int, words: int = 30) -> Table:
    """Of a vocabulary that grows with each, and of two classes."""
    texts = [" ".join(f"w{(i * words + j) * 7 % 90001}" for j in range(words)) for i in range(start, stop)]
    return {
        "text": texts,
        "size": [0.5 * i for i in range(start, stop)],
        "kind": ["ab"[i % 2] for i in range(start, stop)],
    }


def fitted(table: Table, **options: Any) -> Any:
    return credo.NaiveBayes(kinds={"text": credo.Text()}, **options).fit(table, "kind")


def rows_of(table: Table) -> Iterator[Table]:
    return ({name: [cell] for name, cell in zip(table, row, strict=True)} for row in zip(*table.values(), strict=True))


@pytest.fixture(scope="module")
def much() -> Any:
    model = fitted(letters(0, 400))
    assert len(model.seen.schema["text"].levels) > 2 * MANY_LEVELS
    return model


def test_rows_one_by_one_are_a_fit(much: Any) -> None:
    model, new = much, letters(400, 400 + 3 * WAITING_TERMS)
    new["kind"][1] = "c"
    for row in rows_of(new):
        model = model.update(row)
        assert model.evidence.waiting
    old = letters(0, 400)
    assert model.n == 400 + 3 * WAITING_TERMS
    assert_same(model, fitted({name: old[name] + new[name] for name in old}), new)
    assert_same(much, fitted(old), new)


@pytest.mark.parametrize("forgets", [False, True])
def test_looking_in_between_changes_nothing(much: Any, forgets: bool) -> None:
    one, two, new = much, much, letters(400, 420)
    for place, row in enumerate(rows_of(new)):
        one, two = one.update(row), two.update(row)
        if place % 3 == 0:
            two.predict_proba(row)
    if forgets:
        one, two = one.forget(new), two.forget(new)
        assert_same(one, much, new)
    assert_same(one, two, new)


def test_what_tuning_counted_grows_too() -> None:
    old, new = letters(0, 300), letters(300, 306)
    model = fitted(old).tune(old)
    grown = model
    for row in rows_of(new):
        grown = grown.update(row)
    assert grown.evidence.waiting
    assert_same(grown, model.update(new), new)


def test_much_more_is_added_at_once(much: Any) -> None:
    model = much
    for row in rows_of(letters(1000, 1200)):
        model = model.update(row)
    assert sum(len(each.schema["text"].levels) for each in model.evidence.waiting[1:]) < MANY_LEVELS
    assert_same(model, much.update(letters(1000, 1200)), letters(1190, 1210))


def test_an_update_takes_what_the_document_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were one array made that is as long as the vocabulary is, it would show."""
    monkeypatch.setitem(jit._forced, "choice", "compiled")  # by the first update, and not while memory is measured
    peaks = []
    for documents in (50, 5000):
        model, row = fitted(letters(0, documents)), letters(5000, 5001)
        model = model.update(row)
        held = pa.total_allocated_bytes()
        tracemalloc.start()
        try:
            later = model.update(row)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert pa.total_allocated_bytes() < held + 10_000
        assert later.n == model.n + 1
    assert len(model.seen.schema["text"].levels) > 80_000
    assert peaks[1] < 1.5 * peaks[0] + 20_000 < 400_000


def test_what_does_not_unite_is_refused_at_once(much: Any) -> None:
    row = letters(400, 401)
    with pytest.raises(SchemaError, match="column 'kind' is int64 in one part of the data and string in another"):
        much.update({**row, "kind": [3]})
    grown = much.update(row)
    with pytest.raises(SchemaError, match="column 'kind' is int64"):
        grown.update({**row, "kind": [3]})


def test_groups_grow_too() -> None:
    names = [f"g{i:05}" for i in range(2 * MANY_LEVELS)]
    whole = credo.estimate({"ad": names, "x": [0, 1] * MANY_LEVELS}, "x", by="ad", prior=credo.BetaBernoulli(1, 1))
    grown = whole.update({"ad": ["g00007", "a new one"], "x": [1, 1]})
    assert grown.seen.waiting
    assert grown["g00007"].mean() == 3 / 4
    assert grown["a new one"].mean() == 2 / 3
    assert grown["g00008"].mean() == 1 / 3


@given(SIZES, SIZES, st.integers(0, 200), st.integers(0, 10), st.booleans(), st.integers(0, 2**31))
def test_few_cells_added_to_many(rows: int, more: int, many: int, few: int, halves: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape, wide = (max(rows, 1), 3), (max(rows, 1) + more, 4)

    def drawn(size: int, bounds: tuple[int, int]) -> Sparse:
        values = rng.integers(1, 9, size) + (1e-20 if halves else 0.0)
        low = np.full(size, 1e-20) if halves else None
        return Sparse.of(rng.integers(0, bounds[0], size), rng.integers(0, bounds[1], size), values, bounds, low)

    tables = [drawn(many, shape), *(drawn(few, (wide[0], 2)) for _ in range(2))]
    places = [(np.arange(shape[0]), np.arange(3)), *((rng.permutation(wide[0]), np.array([3, 1])) for _ in range(2))]
    found = Sparse.gather(tables, places, wide)
    high, low = np.zeros(wide), np.zeros(wide)
    for table, (r, c) in zip(tables, places, strict=True):
        high[np.ix_(r, c)] += Sparse(table.starts, table.columns, table.high, np.empty(0), table.width).value
        low[np.ix_(r, c)] += (
            table.value - Sparse(table.starts, table.columns, table.high, np.empty(0), table.width).value
        )
    assert found.shape == wide
    np.testing.assert_allclose(found.value, high + low, rtol=1e-15)
    assert all((np.diff(found.columns[a:b]) > 0).all() for a, b in zip(found.starts, found.starts[1:], strict=False))
    assert len(found.columns) == np.count_nonzero(high)


@given(
    st.integers(0, 200),
    st.integers(0, 20),
    st.lists(st.lists(st.integers(0, 300), unique=True, max_size=6), max_size=3),
)
def test_few_levels_beside_many(size: int, declared: int, others: list[list[int]]) -> None:
    named = [pa.array([f"v{i}" for i in each], pa.string()) for each in (range(size), *others)]
    columns = [Column("x", "category", named[0], min(declared, size)), *(Column("x", "category", e) for e in named[1:])]
    (united,), places = unite([Schema((column,)) for column in columns])
    assert united.values == tuple(dict.fromkeys(value for column in columns for value in column.values))
    assert united.declared == min(declared, size)
    for column, place in zip(columns, places, strict=True):
        assert column.values == tuple(united.values[i] for i in place["x"])


@pytest.mark.parametrize("how", ["multinomial", "bernoulli", "tuned"])
@pytest.mark.slow
def test_streams_outgrow_their_room(how: str) -> None:
    """Tables that rows are added to in place grow, and their rows move, more than once."""
    old, new = letters(0, 60), letters(40, 240)
    new["kind"] = ["abcdefghij"[i % 10] for i in range(200)]
    learner = credo.NaiveBayes(kinds={"text": credo.Text("bernoulli" if how == "bernoulli" else "multinomial")})
    fitted = learner.fit({"text": old["text"], "kind": old["kind"]}, "kind")
    model: Classifier = fitted.tune({"text": old["text"], "kind": old["kind"]}) if how == "tuned" else fitted
    live, rows = model.live(), [*zip(new["text"], new["kind"], strict=True)]
    before = live.predict_proba(new["text"][7])
    for place, (text, kind) in enumerate(rows):
        with unheard():  # that a class comes after tuning
            live.observe({"text": text, "kind": kind}, weight=1.0 if place % 2 else 0.3)
        if place % 50 == 49:
            frozen = live.freeze()
            (expected,) = frozen.predict_proba([{"text": text}])
            assert live._predicts_from_sums
            np.testing.assert_allclose(list(live.predict_proba(text).values()), expected, rtol=1e-9)
    weights = [1.0 if place % 2 else 0.3 for place in range(200)]
    with unheard():
        assert_same(live.freeze(), model.update({"text": new["text"], "kind": new["kind"]}, weight=weights), new)
    assert model.live().predict_proba(new["text"][7]) == before


def test_what_waits_can_be_stored_and_sent(much: Any, tmp_path: Path) -> None:
    rows = letters(400, 403)
    model = much.update(rows)
    credo.save(model, tmp_path / "model.credo")
    for other in (credo.load(tmp_path / "model.credo"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert not other.evidence.waiting
        assert_same(other, model, rows)


def test_a_sum_that_waits_is_evidence_like_any_other(much: Any) -> None:
    rows = letters(400, 403)
    whole: Any = much.update(rows).evidence
    assert whole.waiting
    assert type(whole) is Evidence
    same: Evidence = dataclasses.replace(whole)
    assert whole.waiting == ()  # it was read
    assert_same(much.with_evidence(same), much.update(rows), rows)
    few = dataclasses.replace(much.update(rows).evidence, parts={ROWS: whole.parts[ROWS]})
    assert list(few.parts) == [ROWS]
    assert few.schema.names == whole.schema.names
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.schema = few.schema  # type: ignore[misc]


def test_statistics_over_few_levels_are_read_without_adding_up(much: Any) -> None:
    evidence = much.update(letters(400, 403)).evidence
    assert evidence[ROWS].n.value.sum() == 403
    assert evidence.column("kind").values == ("a", "b")
    assert evidence.word_columns == ["kind"]
    assert evidence.waiting
    assert len(evidence.column("text").levels) == len(evidence.schema["text"].levels)
    assert not evidence.waiting


def test_threads_read_one_sum(much: Any) -> None:
    rows = letters(400, 403)
    expected = much.update(rows).evidence
    for _ in range(5):
        evidence = much.update(rows).evidence
        with ThreadPoolExecutor(4) as pool:
            found = [*pool.map(lambda e: (e.schema, e.parts, e[ROWS]), [evidence] * 8)]
        for schema, parts, counts in found:
            assert schema == expected.schema
            assert list(parts) == list(expected.parts)
            assert counts.n.value.tolist() == expected[ROWS].n.value.tolist()


def test_integers_that_floats_cannot_tell_apart_do_not_unite() -> None:
    """They would become one group or category."""
    many, one = (Column("x", "category", pa.array(values)) for values in ([2**53 + i % 40 for i in range(40)], [2.5]))
    with pytest.raises(SchemaError, match=r"'x' has whole numbers beyond 2\^53"):
        unite([Schema((many,)), Schema((one,))])


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 3)), max_size=40), st.integers(0, 2**31))
def test_rows_added_to_in_place(cells: list[tuple[int, int]], seed: int) -> None:
    """A table some rows of which are empty, at its ends and between; words and classes may be new."""
    rng = np.random.default_rng(seed)
    before = Sparse.of([r for r, _ in cells], [c for _, c in cells], np.ones(len(cells)), (12, 4))
    copied = before.value.copy()
    table, added = LiveTable(before), np.zeros((16, 6))
    for _ in range(rng.integers(0, 40)):
        codes = rng.permutation(16)[: rng.integers(0, 9)].astype(np.int32)
        k, amounts = int(rng.integers(0, 6)), rng.integers(1, 5, len(codes)).astype(float)
        was = added[codes, k] + np.pad(before.value, ((0, 4), (0, 2)))[codes, k]
        assert table.add(codes, k, amounts).tolist() == was.tolist()
        added[codes, k] += amounts
    touched = list(table.touched)
    assert (table.since(6).value == added[touched]).all()
    assert sorted(touched) == np.flatnonzero(added.any(1)).tolist()
    now = added + np.pad(before.value, ((0, 4), (0, 2)))
    starts, ends, columns, values = table.table
    for v in range(min(16, len(starts))):
        found = np.zeros(6)
        np.add.at(found, columns[starts[v] : ends[v]], values[starts[v] : ends[v]])
        assert (found == now[v]).all()
    assert (before.value == copied).all()
    np.testing.assert_allclose(np.pad(table.totals, (0, 6 - len(table.totals))), now.sum(0))


@given(st.lists(st.integers(-1, 2**31 - 1), max_size=300))
def test_tokens_are_counted(tokens: list[int]) -> None:
    codes, counts = distinct(np.array(tokens, np.int32))
    wanted = Counter(token for token in tokens if token >= 0)
    assert list(zip(codes.tolist(), counts.tolist(), strict=True)) == list(wanted.items())


def test_live_leaves_words_that_weigh_nothing_to_the_model() -> None:
    model = fitted(letters(0, 20)).discount(1e-13).update(letters(20, 25))
    live, row = model.live(), {"text": letters(26, 27)["text"][0], "size": 1.0}
    live.observe({**row, "kind": "a"})
    (expected,) = live.freeze().predict_proba([row])
    assert list(live.predict_proba(row).values()) == pytest.approx(expected.tolist(), rel=1e-9)
