"""Concepts and bad input: a sentence each, that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import credo
from tests.hostile.refusals import refused
from tests.lectures.test_concepts import SPACE, days, learned


def with_cell(name: str, value: Any, row: int = 2) -> list[dict[str, Any]]:
    found = days()
    found[row] = {**found[row], name: value}
    return found


def space(**options: Any) -> credo.Concepts:
    return credo.Concepts(SPACE, target="enjoy", **options)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: space().update(with_cell("sky", "Suny")), ["'Suny' (row 3)", "Did you mean 'Sunny'?"]),
        (lambda: space().update(with_cell("sky", None)), ["row 3 has no 'sky'", "fill in the cell"]),
        (
            lambda: space().update([{**each, "sky": 3} for each in days()]),
            ["'sky' has the value 3 (row 1)", "known: Sunny, Cloudy, Rainy"],
        ),
        (lambda: space().update(with_cell("enjoy", "perhaps")), ["'perhaps' (row 3)", "positive=..."]),
        (lambda: space().update([{"sky": "Sunny", "enjoy": "yes"}]), ["no column 'air'"]),
        (lambda: space().update(days(), target="play"), ["'enjoy' so far, not in 'play'"]),
        (lambda: credo.Concepts(SPACE).update(days()), ["the column that holds the labels"]),
        (lambda: credo.Concepts().update(days()), ["give a schema"]),
        (lambda: credo.Concepts().find_s(), ["nothing was learned yet"]),
        (lambda: credo.Concepts(3), ["a schema is"]),  # type: ignore[arg-type]
        (lambda: credo.Concepts({}), ["no attribute"]),
        (lambda: credo.Concepts({"sky": []}), ["'sky' has no values"]),
        (lambda: credo.Concepts({"sky": ["a", "a"]}), ["'sky' must be different"]),
        (lambda: credo.Concepts({"sky": ["a", 1]}).fit({"sky": ["a"], "y": [1]}, "y"), ["of one type"]),
        (lambda: credo.Concepts().fit({"t": [1.5, 2.5], "y": [0, 1]}, target="y"), ["'t' is a number", "bins"]),
        (lambda: space(noise=0.5), ["below 0.5"]),
        (lambda: space(noise=-0.1), ["below 0.5"]),
        (lambda: space(noise="much"), ["below 0.5"]),
        (lambda: learned().posterior({"sky": "Suny"}), ["no value 'Suny'", "Did you mean 'Sunny'?"]),
        (lambda: learned().posterior({"skys": "Sunny"}), ["no attribute 'skys'", "Did you mean 'sky'?"]),
        (lambda: learned().forget(days() + days()[:1]), ["weren't learned"]),
        (lambda: learned() + learned(noise=0.1), ["noise differ"]),
        (lambda: learned() + credo.Concepts({"a": ["b"]}, target="enjoy"), ["attributes differ"]),
        (lambda: learned().vote({"sky": "Sunny"}), ["no column 'air'"]),
        (lambda: space().update([]), ["empty"]),
        (
            lambda: learned().update(with_cell("enjoy", "no", 3)[3:]),
            ["rows 4 and 5 contradict each other", "both 'yes' and 'no'", "noise="],
        ),
        (
            lambda: learned().update([{**days()[1], "water": "Cool", "enjoy": "no"}]),
            ["every conjunction that covers rows 2 and 4 ('yes')", "covers row 5", "noise="],
        ),
    ],
)
def test_bad_input_is_refused(wrong: Callable[[], Any], said: list[str]) -> None:
    message = refused(wrong)
    assert all(each in message for each in said), message


def test_no_positive_rows_is_told_of() -> None:
    model = space().update(days()[2:3])
    with pytest.warns(credo.Notice, match="no row is positive"):
        assert repr(model.find_s()) == "<∅, ∅, ∅, ∅, ∅, ∅>"
    assert model.version_space.size == 973 - 2**6  # those that cover the row are ruled out
    assert 0 < model.vote(days()[0])["yes"] < 1


def test_rows_without_a_label_are_left_out_and_told_of() -> None:
    with pytest.warns(credo.Notice, match="1 row without 'enjoy' left out"):
        model = space().update([*days(), {**days()[2], "enjoy": None}])
    assert model.n == 4
