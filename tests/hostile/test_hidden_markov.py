"""Hidden Markov models under bad input: one clear sentence each, never NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import CredoError
from credo.notices import quietly

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, 20), RNG.normal(5, 1, 20)])
DATA = {"x": X, "id": np.repeat([1, 2], 20)}
HMM = credo.HiddenMarkov
NAN = float("nan")

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no states": (lambda: HMM(0), "at least one state"),
    "states as a word": (lambda: HMM("many"), "must be a number, names, or 'auto'"),
    "states twice": (lambda: HMM(["a", "a"]), "names of states must differ"),
    "no such emission": (lambda: HMM(2, emission="round"), "no such emission, 'round'"),  # type: ignore[arg-type]
    "no such transitions": (lambda: HMM(2, transitions="left to right"), "Did you mean 'left-to-right'"),
    "NaN transitions": (lambda: HMM(2, transitions=[[1, NAN], [1, 1]]), "by 0 and 1, but hold nan"),
    "transitions of another size": (lambda: HMM(3, transitions=np.ones((2, 2))), "3 by 3"),
    "transitions that aren't square": (lambda: HMM(2, transitions=[[1, 1]]), "square"),
    "a dead end": (lambda: HMM(2, transitions=[[1, 1], [0, 0]]), "no transition leads on from state 1"),
    "transitions of an unknown state": (
        lambda: HMM(("a", "b"), transitions={"c": ["a"]}), "transitions names the state 'c'"
    ),
    "a sticky prior below 0": (lambda: HMM(2, sticky=-1.0), "sticky must be a number of at least 0"),
    "a duration of 0": (lambda: HMM(2, duration=0), "duration must be a whole number from 1"),
    "components of half": (lambda: HMM(2, components=0.5), "components must be a whole number"),  # type: ignore[arg-type]
    "no rows": (lambda: HMM(2).fit({"x": []}), "empty"),
    "no columns": (lambda: HMM(2).fit({"id": [1, 2]}, sequence="id"), "no column to learn from"),
    "no such sequence": (lambda: HMM(2).fit(DATA, sequence="ID"), "Did you mean 'id'"),
    "not contiguous": (
        lambda: HMM(2).fit({"x": X, "id": np.tile([1, 2], 20)}, sequence="id"), "continues in row 3, after"
    ),
    "a sequence without a name": (
        lambda: HMM(2).fit({"x": X, "id": [None, *DATA["id"][1:]]}, sequence="id"), "no value in row 1"
    ),
    "weights of other rows": (lambda: HMM(2).fit(DATA, sequence="id", weight=[1.0] * 7), "each of the 2 sequences"),
    "a weight below 0": (lambda: HMM(2).fit(DATA, sequence="id", weight=[1.0, -1.0]), "0 or more"),
    "weights of 0 alone": (lambda: HMM(2).fit(DATA, sequence="id", weight=[0.0, 0.0]), "all weights are zero"),
    "weights of 0 in a column": (lambda: HMM().fit({"x": X, "w": np.zeros(40)}, weight="w"), "all weights are zero"),
    "weights that differ in a sequence": (
        lambda: HMM(2).fit({**DATA, "w": np.arange(40.0)}, sequence="id", weight="w"), "have one weight"
    ),
    "infinite numbers": (lambda: HMM(2).fit({"x": [*X[:-1], np.inf]}), "x"),
    "an iterator": (lambda: HMM(2).fit(iter([DATA, DATA])), "read only once"),
    "a state that isn't one": (
        lambda: HMM(("a", "b")).fit({"x": X, "s": ["a", "c"] * 20}, target="s"), "the state 'c' \\(row 2\\)"
    ),
    "more given states than there are": (
        lambda: HMM(2).fit({"x": X, "s": ["a", "b", "c", "d"] * 10}, target="s"), "4 states are given"
    ),
    "no state given": (lambda: HMM().fit({"x": X, "s": [None] * 40}, target="s"), "gives no state"),
    "probabilities that don't sum to 1": (lambda: HMM(2).fit({"x": X}, target=np.full((40, 2), 0.7)), "must sum to 1"),
    "probabilities of some states": (
        lambda: HMM(2).fit({"x": X}, target=[[0.5, 0.5]] * 39 + [[1.0]]), "as many numbers as there are states"
    ),
    "probabilities of other states": (lambda: HMM(2).fit({"x": X}, target=np.full((40, 3), 1 / 3)), "3 states are"),
    "nothing learned": (lambda: HMM(2).decode(DATA), "nothing was learned yet"),
    "none of its columns": (lambda: fitted().decode({"y": [1.0]}), "none of the model's columns"),
    "a question about states of several components": (
        lambda: credo.ask(fitted(components=2), "P(state | x=1)"), "each state is a mixture of 2 components"
    ),
    "no paths": (lambda: fitted().decode(DATA, paths=0), "at least 1"),
    "a forecast of no step": (lambda: fitted().forecast({"x": X}, 0), "at least 1"),
    "a forecast of two sequences": (lambda: fitted().forecast(DATA), "there are 2"),
    "a live row that is none": (lambda: fitted().live().observe([1.0]), "a row is"),  # type: ignore[arg-type]
    "samples of half a row": (lambda: fitted().sample([1.5]), "whole"),  # type: ignore[list-item]
    "words by EM": (lambda: HMM(2, kinds={"w": credo.Word()}).fit({"w": ["a", "b"] * 20}), "which EM can't fit"),
}  # fmt: skip


def fitted(**settings: Any) -> credo.HiddenMarkov:
    return HMM(2, starts=1, **settings).fit(DATA, sequence="id")


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_in_a_sentence(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(CredoError, match=message) as caught, quietly():
        call()
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_an_impossible_sequence_is_named() -> None:
    """Under the pattern a never follows b, and no prior makes it possible."""
    tagged = {"x": ["u", "u", "v", "v"] * 3, "s": ["a", "a", "b", "b"] * 3, "id": np.repeat([1, 2, 3], 4)}
    model = HMM(("a", "b"), transitions={"b": ["b"]}, estimate="ml").fit(tagged, target="s", sequence="id")
    rows = {"x": ["u", "v", "u"]}
    for ask in (model.decode, model.smooth, model.filter, model.log_prob):
        with pytest.raises(credo.EvidenceError, match="row 3 is impossible after those before it, from row 1 on"):
            ask(rows)
    with pytest.raises(credo.EvidenceError, match="row 1 is impossible: no state that a sequence may begin in"):
        HMM(("a", "b"), initial=["a"], estimate="ml").fit(tagged, target="s", sequence="id").smooth({"x": ["v"]})
    live = model.live()
    live.observe({"x": "u"})
    live.observe({"x": "v"})
    with pytest.raises(credo.EvidenceError, match="row 3 is impossible"):
        live.observe({"x": "u"})


def test_given_states_must_keep_to_the_pattern() -> None:
    model, rows = HMM(("a", "b"), transitions={"b": ["b"]}), {"x": ["u", "v", "u"]}
    with pytest.raises(credo.EvidenceError, match="row 3 has the state 'a', which can't follow 'b'"):
        model.fit(rows, target=["a", "b", "a"])
    with pytest.raises(credo.EvidenceError, match="row 1 has the state 'b', which can't begin a sequence"):
        HMM(("a", "b"), transitions="left-to-right").fit(rows, target=["b", "b", "b"])
    with pytest.raises(credo.EvidenceError, match="row 4 is impossible"):
        model.fit({"x": ["u", "v", "u", "u"]}, target=["a", "b", None, "a"])


def test_sequences_of_no_row_and_of_one() -> None:
    tables = [{"x": X[:20]}, {"x": np.array([])}, {"x": X[20:21]}, {"x": X[21:]}]
    with pytest.warns(credo.Notice, match="1 sequence without rows left out"):
        model = HMM(2, starts=1).fit(tables)
    assert model.decode(tables).shape == (40,)
    assert model.log_prob(tables).shape == (3,)
    single = HMM(2, starts=1).fit({"x": X, "id": np.arange(40)}, sequence="id")
    assert np.isfinite(single.log_prob({"x": X, "id": np.arange(40)})).all()
    one = HMM(2, starts=1).fit({"x": [1.0]}, start=[0])
    assert np.isfinite(one.smooth({"x": [1.0, 2.0]})).all()


def test_unseen_symbols_are_ignored_and_counted() -> None:
    model = HMM(("a", "b")).fit({"x": ["u", "u", "v", "v"] * 3, "s": ["a", "a", "b", "b"] * 3}, target="s")
    with pytest.warns(credo.Notice, match="2 cells with unseen values, ignored"):
        found = model.smooth({"x": ["u", "w", "w"]})
    np.testing.assert_allclose(found, model.smooth({"x": ["u", None, None]}))


def test_more_states_than_distinct_rows_and_constant_columns() -> None:
    with quietly():
        same = HMM(3, starts=2, steps=20).fit({"x": [1.0, 2.0] * 10, "c": [5.0] * 20, "k": ["a"] * 20})
        flat = HMM(2, starts=1, steps=5).fit({"x": [3.0] * 10, "y": np.arange(10.0)})
        gone = HMM(2, starts=1, steps=5).fit({"x": [None, 1.0, 5.0, None] * 5, "y": [None, 2.0, 3.0, None] * 5})
    for model in (same, flat, gone):
        assert np.isfinite(model.transition_shares).all()
        assert np.isfinite(model.history).all()
    nothing = gone.smooth({"x": [None], "y": [None]})
    np.testing.assert_allclose(nothing[0], [*gone.initial_shares.values()])


def test_improbable_rows_are_no_impossible_ones() -> None:
    """Far outliers under a chain that can't go back: probabilities beyond floats."""
    x = np.concatenate([np.zeros(20), np.full(20, 5.0)]) + RNG.normal(0, 0.1, 40)
    model = HMM(2, transitions="left-to-right", estimate="ml", starts=1).fit({"x": x})
    odd = {"x": [*x[:30], 0.0, -30.0, 0.0]}
    assert np.isfinite(model.log_prob(odd)).all()
    np.testing.assert_allclose(model.smooth(odd).sum(1), 1.0)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_have_one_state(rows: int) -> None:
    assert credo.HiddenMarkov().fit({"x": [1.0, 2.0, 5.0][:rows]}).n_states == 1


@pytest.mark.parametrize("column", [["a", "b", None, "b", "a", "a"], [True, False, None, False, True, True]])
def test_tables_whose_cells_are_all_missing(column: list[Any]) -> None:
    """Such a column has no type by itself."""
    tables = [{"c": column[:2]}, {"c": column[2:3]}, {"c": column[3:]}]
    together = credo.HiddenMarkov(2).fit({"c": column, "of": [1, 1, 2, 3, 3, 3]}, sequence="of")
    model = credo.HiddenMarkov(2).fit(tables)
    assert model.parameters()["parameter"] == together.parameters()["parameter"]
    np.testing.assert_allclose(model.smooth(tables), together.smooth(tables), rtol=1e-9)
