"""Concepts against brute force: every conjunction listed, every row tried; and the laws of what is learned."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo.models.concepts.concept import Concept
from tests.laws.test_storage import same, through

Rows = list[dict[str, Any]]


@st.composite
def worlds(draw: st.DrawFn, consistent: bool = True) -> tuple[dict[str, list[str]], Rows]:
    """A small space, and rows labelled by one of its concepts, or at random."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    space = {f"a{j}": [f"v{k}" for k in range(size)] for j, size in enumerate(sizes)}
    rows: Rows = [
        {name: draw(st.sampled_from(values)) for name, values in space.items()} for _ in range(draw(st.integers(0, 7)))
    ]
    asked = {name: draw(st.sampled_from([None, *values])) for name, values in space.items()}
    for row in rows:
        truth = all(value in (None, row[name]) for name, value in asked.items())
        row["y"] = truth if consistent else draw(st.booleans())
    return space, rows


def every_concept(space: dict[str, list[str]]) -> list[Concept]:
    names = tuple(space)
    found = [Concept(names, None)]
    for values in product(*([None, *each] for each in space.values())):
        asked = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
        found.append(Concept(names, tuple(asked)))
    return found


def every_row(space: dict[str, list[str]]) -> Rows:
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]


def model_of(space: dict[str, list[str]], rows: Rows, noise: float = 0.0) -> credo.Concepts:
    model = credo.Concepts(space, target="y", noise=noise)
    return model.update([{**row, "y": "yes" if row["y"] else "no"} for row in rows]) if rows else model


@given(worlds())
def test_the_version_space_is_what_listing_finds(world: tuple[dict[str, list[str]], Rows]) -> None:
    space, rows = world
    model = model_of(space, rows)
    left = [each for each in every_concept(space) if all(each.covers(row) == row["y"] for row in rows)]
    found = model.version_space
    assert found.size == len(left)
    assert {*found} == {*left}
    assert len([*found]) == len(left)
    assert all((each in found) == (each in left) for each in every_concept(space))
    assert {*found.general} == {each for each in left if not any(other > each for other in left)}
    assert [found.specific] == [each for each in left if not any(each > other for other in left)]
    assert model.posterior(left[0]) == pytest.approx(1 / len(left))
    votes = model.predict_proba(every_row(space))[:, 1]
    shares = [np.mean([each.covers(row) for each in left]) for row in every_row(space)]
    np.testing.assert_allclose(votes, shares, atol=1e-12)
    if any(0 < share < 1 for share in shares):
        best = model.vote(model.most_informative())["yes"]
        assert abs(best - 0.5) == pytest.approx(np.abs(np.array(shares) - 0.5).min())
        among = model.vote(model.most_informative(every_row(space)))["yes"]
        assert abs(among - 0.5) == pytest.approx(abs(best - 0.5))
    else:
        with pytest.raises(credo.EvidenceError, match="no row is informative"):
            model.most_informative()


@given(worlds(consistent=False), st.sampled_from([0.01, 0.2, 0.45]))
def test_noisy_posteriors_are_what_listing_finds(world: tuple[dict[str, list[str]], Rows], noise: float) -> None:
    space, rows = world
    model = model_of(space, rows, noise)
    concepts = every_concept(space)
    likelihood = np.array(
        [np.prod([1 - noise if each.covers(row) == row["y"] else noise for row in rows]) for each in concepts]
    )
    posterior = likelihood / likelihood.sum()
    np.testing.assert_allclose([model.posterior(each) for each in concepts], posterior, rtol=1e-9)
    assert model.log_evidence() == pytest.approx(np.log(likelihood.mean()))
    assert model.posterior(model.most_probable()) == pytest.approx(posterior.max())
    covers = np.array([[each.covers(row) for each in concepts] for row in every_row(space)])
    votes = covers @ posterior
    np.testing.assert_allclose(model.predict_proba(every_row(space))[:, 1], votes, rtol=1e-9)
    asked = model.vote(model.most_informative())["yes"] if rows else 0.5
    assert not rows or abs(asked - 0.5) == pytest.approx(np.abs(votes - 0.5).min(), abs=1e-9)
    by_name = model.hypotheses().posterior
    np.testing.assert_allclose([by_name[each] for each in concepts], posterior, rtol=1e-9)


@given(worlds(), st.integers(0, 7))
def test_rows_add_merge_and_are_forgotten(world: tuple[dict[str, list[str]], Rows], cut: int) -> None:
    space, rows = world
    one, two = (model_of(space, part) for part in (rows[:cut], rows[cut:]))
    whole = model_of(space, rows)
    together, backwards = one + two, model_of(space, rows[::-1])
    for other in (together, backwards, two.merge(one)):
        np.testing.assert_array_equal(other.rows.codes, whole.rows.codes)
        np.testing.assert_array_equal(other.rows.counts, whole.rows.counts)
        assert {*other.version_space} == {*whole.version_space}
    if rows[cut:]:
        again = whole.forget([{**row, "y": "yes" if row["y"] else "no"} for row in rows[cut:]])
        np.testing.assert_array_equal(again.rows.codes, one.rows.codes)
        np.testing.assert_array_equal(again.rows.counts, one.rows.counts)


def test_large_spaces_are_counted_and_not_listed() -> None:
    """60 attributes of 3 values: 4^60 concepts, and a version space of 2^59 or so."""
    space: dict[str, list[str]] = {f"a{j}": ["x", "y", "z"] for j in range(60)}
    first = dict.fromkeys(space, "x") | {"y": True}
    model = credo.Concepts(space, target="y").update([first])
    assert model.size == 4**60 + 1
    assert model.version_space.size == 2**60
    near = {**first, "a0": "y", "a1": "y", "y": False}  # a concept must ask for a0 or a1
    model = model.update([near])
    assert model.version_space.size == 3 * 2**58
    assert len(model.version_space.general) == 2
    assert model.vote({**first, "a0": "z"})[True] == pytest.approx(1 / 3)
    assert next(iter(model.version_space)) == model.find_s()
    with pytest.raises(credo.SizeError, match="candidates"):
        model.most_informative()
    assert model.most_informative([first, {**first, "a0": "z"}])["a0"] == "z"
    with pytest.raises(credo.SizeError, match="too many to list"):
        model.hypotheses()


def test_what_cannot_be_counted_is_refused() -> None:
    rng = np.random.default_rng(0)
    space = {f"a{j}": [0, 1] for j in range(40)}
    rows = {name: rng.integers(0, 2, 400) for name in space} | {"y": rng.random(400) < 0.5}
    with pytest.raises(credo.SizeError, match="sets of rows"):
        credo.Concepts(space, target="y", noise=0.1).update(rows).log_evidence()


def test_many_rows_in_any_form_give_the_same(tmp_path: Any) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv

    rng = np.random.default_rng(1)
    words = {f"a{j}": np.array(["no", "yes", "maybe"])[rng.integers(0, 3, 5000)] for j in range(4)}
    truth = np.where((words["a0"] == "yes") & (words["a2"] == "no"), "yes", "no")
    table = pa.table(words | {"y": truth})
    csv.write_csv(table, tmp_path / "rows.csv")
    whole = credo.Concepts().fit(table, target="y")
    assert repr(whole.find_s()) == "<yes, ?, no, ?>"
    read = credo.Concepts().fit(str(tmp_path / "rows.csv"), target="y")
    assert read.find_s() == whole.find_s()
    assert read.version_space.size == whole.version_space.size
    arrays = credo.Concepts().fit(table.drop_columns(["y"]), target=truth == "yes")
    assert arrays.find_s() == whole.find_s()
    assert whole.positive is None
    parts = credo.Concepts(credo.Schema.infer(table), target="y")
    for batch in table.to_batches(max_chunksize=700):
        parts = parts.update(batch)
    assert parts.find_s() == whole.find_s()
    with credo.engines.using(credo.engines.Serial()):
        np.testing.assert_array_equal(whole.predict_proba(table), parts.predict_proba(table))


def test_a_positive_label_can_be_any_value() -> None:
    rows = {"sky": ["a", "b", "a"], "y": ["cat", "dog", "cow"]}
    model = credo.Concepts(positive="dog").fit(rows, target="y")
    assert repr(model.find_s()) == "<b>"
    assert model.classes == ("not dog", "dog")
    assert model.vote({"sky": "b"}).best == "dog"


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    rows = {"sky": ["a", "b", "a"], "wind": [1, 2, 2], "y": ["yes", "no", "yes"]}
    for model in (
        credo.Concepts(), credo.Concepts({"sky": ["a", "b"]}), credo.Concepts(noise=0.1).fit(rows, target="y"),
        credo.Concepts({"sky": ["a", "b"], "wind": [1, 2, 3]}).fit(rows, target="y"),
        credo.Hypotheses({"a": 0.3, "b": 0.7}).update([0.5, 0.0]), credo.Hypotheses(np.arange(5)).update([0.1] * 5),
    ):  # fmt: skip
        assert same(through(model, tmp_path / "m.credo"), model)
        assert repr(credo.load(tmp_path / "m.credo")) == repr(model)
