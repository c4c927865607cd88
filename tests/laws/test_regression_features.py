"""The numbers that stand for a row: readable names, 0 on average, and the same whichever way they come."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.data import source
from credo.models.regression import features as module
from credo.models.regression.features import Features, Readings, pairs_of

TABLE: dict[str, list[Any]] = {
    "age": [20.0, 40.0, None, 30.0, 55.0],
    "sex": ["f", "m", "m", None, "f"],
    "rooms": [1, 2, 3, 4, 5],
    "old": [True, False, True, True, False],
}
READ = Readings(("age", "sex", "rooms", "old"), ("sex", "old"), (("age", "sex"), ("age", "rooms")))


def encoded(features: Features, data: object) -> Any:
    table = source(data)
    return np.concatenate([features.encode(batch) for batch in table.batches(table.names)])


def test_names_say_what_each_feature_is() -> None:
    features = Features.of(source(TABLE), READ)
    assert features.names == (
        "age", "sex=f", "sex=m", "rooms", "old=False", "old=True", "age is missing", "sex is missing",
        "age × sex=f", "age × sex=m", "age × rooms",
    )  # fmt: skip
    assert features.groups["age",].tolist() == [0, 6]
    assert features.groups["sex",].tolist() == [1, 2, 7]
    assert features.groups["age", "rooms"].tolist() == [10]


def test_features_of_single_columns_average_to_zero() -> None:
    z = encoded(Features.of(source(TABLE), READ), TABLE)
    assert z.shape == (5, 11)
    np.testing.assert_allclose(z[:, :8].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(z[:, 10], z[:, 0] * z[:, 3])
    assert (z[2, [0, 8, 9, 10]] == 0).all()  # its age is missing


def test_weights_count_rows() -> None:
    twice = {name: [*cells, cells[0]] for name, cells in TABLE.items()}
    weighted = Features.of(source(TABLE), READ, weight=[2, 1, 1, 1, 1])
    np.testing.assert_allclose(weighted.centre, Features.of(source(twice), READ).centre)


def test_an_unseen_value_counts_as_missing() -> None:
    features = Features.of(source(TABLE), READ)
    new = {"age": [20.0, 20.0], "sex": ["x", None], "rooms": [1, 1], "old": [True, True]}
    unseen, missing = encoded(features, new)
    np.testing.assert_array_equal(unseen, missing)
    (batch,) = source(new).batches(tuple(new))
    assert features.read(batch)[1] == {("sex", "unseen values"): 1}


def test_an_absent_column_counts_as_missing() -> None:
    features = Features.of(source(TABLE), READ)
    cells: dict[str, list[Any]] = {"age": [20.0], "rooms": [1], "old": [True]}
    np.testing.assert_array_equal(encoded(features, cells), encoded(features, {**cells, "sex": [None]}))


def test_pickled_and_stored_they_are_the_same(tmp_path: Path) -> None:
    features = Features.of(source(TABLE), READ)
    credo.save(features, tmp_path / "features.credo")
    for other in (pickle.loads(pickle.dumps(features)), credo.load(tmp_path / "features.credo")):
        assert other.names == features.names
        np.testing.assert_array_equal(encoded(other, TABLE), encoded(features, TABLE))


def test_interactions_are_pairs_of_columns() -> None:
    assert pairs_of("all", ("a", "b", "c")) == (("a", "b"), ("a", "c"), ("b", "c"))
    assert pairs_of([("c", "a"), ("a", "c")], ("a", "b", "c")) == (("a", "c"),)
    assert pairs_of("squares", ("a", "b", "c"), ("b",)) == (("a", "a"), ("c", "c"))
    assert set(pairs_of("quadratic", ("a", "b"), ("b",))) == {("a", "a"), ("a", "b")}
    refused: list[tuple[Any, str]] = [
        ("age", "pairs of columns, 'all'"),
        ([("a", "b", "c")], "is a pair of columns"),
        ([("b", "b")], "the square of 'b', which is a category"),
        ([("a", "d")], "that isn't read"),
    ]
    for wrong, said in refused:
        with pytest.raises(credo.SchemaError, match=said):
            pairs_of(wrong, ("a", "b", "c"), ("b",))


def test_squares_are_of_centred_numbers() -> None:
    features = Features.of(source(TABLE), Readings(("age", "sex"), ("sex",), (("age", "age"),)))
    assert features.names[-1] == "age²"
    z = encoded(features, TABLE)
    np.testing.assert_allclose(z[:, -1], z[:, 0] ** 2)
    assert z[2, -1] == 0  # its age is missing


def test_too_many_terms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FEATURES", 3)
    with pytest.raises(credo.SizeError, match=r"have 9 terms or more.*up to 3; column 'sex' alone has 2"):
        Features.of(source(TABLE), READ)
