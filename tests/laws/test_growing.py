"""Much evidence and little beside it: what is added costs what it is, and comes to the same."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo.errors import SchemaError
from credo.evidence import MANY, WAITING, Growing
from credo.schema import Column, Schema, unite
from credo.sparse import Sparse
from tests.laws.classifiers import assert_same

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
    assert len(model.seen.schema["text"].levels) > 2 * MANY
    return model


def test_rows_one_by_one_are_a_fit(much: Any) -> None:
    model, new = much, letters(400, 400 + 3 * WAITING)
    new["kind"][1] = "c"
    for row in rows_of(new):
        model = model.update(row)
        assert isinstance(model.evidence, Growing)
    old = letters(0, 400)
    assert model.n == 400 + 3 * WAITING
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
    assert isinstance(grown.evidence, Growing)
    assert_same(grown, model.update(new), new)


def test_much_more_is_added_at_once(much: Any) -> None:
    model = much
    for row in rows_of(letters(1000, 1200)):
        model = model.update(row)
    assert sum(len(each.schema["text"].levels) for each in model.evidence._waiting[1:]) < MANY
    assert_same(model, much.update(letters(1000, 1200)), letters(1190, 1210))


def test_an_update_takes_what_the_document_does() -> None:
    """Were one array made that is as long as the vocabulary is, it would show."""
    peaks = []
    for documents in (50, 5000):
        model, row = fitted(letters(0, documents)), letters(5000, 5001)
        model = model.update(row)
        tracemalloc.start()
        try:
            model.update(row)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
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
    names = [f"g{i:05}" for i in range(2 * MANY)]
    whole = credo.estimate({"ad": names, "x": [0, 1] * MANY}, "x", by="ad", prior=credo.BetaBernoulli(1, 1))
    grown = whole.update({"ad": ["g00007", "a new one"], "x": [1, 1]})
    assert isinstance(grown.evidence, Growing)
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
def test_streams_outgrow_their_room(how: str) -> None:
    """Tables that rows are added to in place grow, and their rows move, more than once."""
    old, new = letters(0, 60), letters(40, 240)
    new["kind"] = ["abcdefghij"[i % 10] for i in range(200)]
    model = credo.NaiveBayes(kinds={"text": credo.Text("bernoulli" if how == "bernoulli" else "multinomial")})
    model = model.fit({"text": old["text"], "kind": old["kind"]}, "kind")
    model = model.tune({"text": old["text"], "kind": old["kind"]}) if how == "tuned" else model
    live, rows = model.live(), [*zip(new["text"], new["kind"], strict=True)]
    before = live.predict_proba(new["text"][7])
    for place, (text, kind) in enumerate(rows):
        live.observe({"text": text, "kind": kind}, weight=1.0 if place % 2 else 0.3)
        if place % 50 == 49:
            frozen = live.freeze()
            (expected,) = frozen.predict_proba([{"text": text}])
            assert live._foresees
            np.testing.assert_allclose(list(live.predict_proba(text).values()), expected, rtol=1e-9)
    weights = [1.0 if place % 2 else 0.3 for place in range(200)]
    assert_same(live.freeze(), model.update({"text": new["text"], "kind": new["kind"]}, weight=weights), new)
    assert model.live().predict_proba(new["text"][7]) == before
