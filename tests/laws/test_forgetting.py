"""The law of forgetting: cells never exceed rows, no count falls below zero; a forget that would do it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo.core.evidence import Evidence
from credo.core.labels import ROWS
from credo.core.learning import Additive
from credo.models.classifier import Classifier
from credo.present.classifier_page import page_of
from tests.hostile.refusals import refused
from tests.laws.classifiers import CASES, TARGET, Case, Table, pick, size, unheard

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
NEVER = "never learned"


def assert_possible(model: Any) -> None:
    """Whatever is counted is 0 or more, and nothing is counted more often than there are rows."""
    evidence: Evidence = model.evidence
    for name, part in evidence.parts.items():
        cells = part.statistics.n.cells if hasattr(part.statistics.n, "cells") else part.statistics.n
        assert (cells.value >= 0).all(), name
        if part.axes[0] == evidence.parts[ROWS].axes[0]:
            assert (part.statistics.weight <= evidence[ROWS].weight * (1 + 1e-12)).all(), name
    assert model.crowded(evidence) is None
    if isinstance(model, Classifier):
        assert (model.class_weights > 0).all()


def forgotten_one_by_one(model: Any, rows: list[Table]) -> int:
    """How many of the rows could be forgotten; whatever is left is possible, and whatever is refused says why."""
    done = 0
    for row in rows:
        try:
            with unheard():
                model = model.forget(row)
        except credo.errors.EvidenceError:
            continue
        done += 1
        assert_possible(model)
    return done


def emptied(row: Table, name: str) -> Table:
    return {**row, name: np.array([None if row[name].dtype == object else np.nan], dtype=row[name].dtype)}


@cases
def test_a_row_whose_cell_was_known_is_not_forgotten_as_missing(case: Case) -> None:
    if case.missing:
        return
    table = case.table(1, 12)
    model = case.fit(table)
    for name in case.columns:
        with unheard():
            said = refused(model.forget, emptied(pick(table, slice(0, 1)), name))
        assert NEVER in said
    assert_possible(model)


@cases
def test_whatever_is_forgotten_what_is_left_is_possible(case: Case) -> None:
    """Rows that were learned, others, and some with cells blanked, in any order."""
    table, others = case.table(2, 9), case.table(3, 6)
    rows = [pick(each, slice(i, i + 1)) for each in (table, others) for i in range(size(each))]
    rng = np.random.default_rng(4)
    blanked = [emptied(row, str(rng.choice(case.columns))) for row in rows]
    tried = [(rows + blanked)[i] for i in rng.permutation(2 * len(rows))]
    forgotten_one_by_one(case.fit(table), tried)


@cases
def test_all_rows_are_forgotten_in_any_order(case: Case) -> None:
    table = case.table(5, 12)
    rows = [pick(table, slice(i, i + 1)) for i in np.random.default_rng(5).permutation(12)]
    assert forgotten_one_by_one(case.fit(table), rows) == 12


FAMILIES: dict[str, tuple[Any, Any]] = {
    "truths": (credo.BetaBernoulli(1, 1), [True, False]),
    "categories": (credo.DirichletCategorical(1), ["u", "v", "w"]),
    "counts": (credo.GammaPoisson(1, 1), [0, 1, 4]),
    "positive": (credo.GammaExponential(1, 1), [0.5, 1.0, 2.0]),
    "numbers": (credo.NormalInverseGamma(0, 1, 1, 1), [-1.0, 0.5, 2.0]),
    "means": (credo.NormalMean(0, 1, 1), [-1.0, 0.5, 2.0]),
}
families = pytest.mark.parametrize(("family", "values"), FAMILIES.values(), ids=FAMILIES.keys())


@families
def test_a_group_never_has_more_cells_than_rows(family: Any, values: list[Any]) -> None:
    rows = {"g": ["a", "a", "b"], "x": [values[0], values[1], values[0]]}
    groups = credo.estimate(rows, "x", by="g", prior=family)
    assert NEVER in refused(groups.forget, {"g": ["b"], "x": [None]})
    assert NEVER in refused(groups.forget, {"g": ["b", "b"], "x": [None, values[0]]})
    blank = groups.update({"g": ["b"], "x": [None]})
    back = blank.forget({"g": ["b"], "x": [None]})
    assert (back.rows == groups.rows).all()
    assert NEVER in refused(back.forget, {"g": ["b"], "x": [None]})


@families
@given(data=st.data())
@pytest.mark.slow
def test_whatever_is_forgotten_of_groups_what_is_left_is_possible(family: Any, values: list[Any], data: Any) -> None:
    cell = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([*values, None]))
    rows = [*data.draw(st.lists(cell, min_size=1, max_size=6)), ("a", values[0])]

    def table(cells: Any) -> dict[str, Any]:
        return {"g": [g for g, _ in cells], "x": [x for _, x in cells]}

    groups: Additive = credo.estimate(table(rows), "x", by="g", prior=family)
    for row in data.draw(st.lists(st.sampled_from([*rows, ("a", None), ("b", None)]), max_size=8)):
        try:
            groups = groups.forget(table([row]))
        except credo.errors.EvidenceError:
            continue
        assert_possible(groups)


# Columns that aren't there


def test_rows_are_forgotten_with_all_their_columns() -> None:
    rows = {"x": [1.0, 2.0, None], "w": ["u", None, "v"], TARGET: ["a", "b", "a"]}
    model = credo.NaiveBayes().fit(rows, TARGET)
    reason = refused(model.forget, {"x": [None], TARGET: ["a"]})
    assert "'w' is absent" in reason
    assert "is absent" in refused(model.forget, {"X": [1.0], "w": ["u"], TARGET: ["a"]})
    with unheard():
        partly = model.update({"x": [5.0], TARGET: ["b"]})
        back = partly.forget({"x": [5.0], "w": [None], TARGET: ["b"]})
    assert back.n == model.n


def test_groups_and_beliefs_are_forgotten_with_all_their_columns() -> None:
    groups = credo.estimate({"g": ["a", "b"], "x": [1.0, 2.0]}, "x", by="g")
    assert "x" in refused(groups.forget, {"g": ["a"]})
    assert "g" in refused(groups.forget, {"x": [1.0]})
    belief = credo.estimate({"x": [1.0, 2.0], "z": [1.0, 1.0]}, "x")
    assert "x" in refused(belief.forget, {"z": [1.0]})
    assert belief.forget([1.0]).n == 1


# What was said of the rows


def test_a_report_of_forgotten_rows_goes() -> None:
    rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, TARGET: ["a", "a", "a", "b", "b", "b"] * 3}
    model = credo.learn(rows, TARGET)
    one = {"x": [1.0], TARGET: ["a"]}
    assert model.report is not None
    assert model.forget(one).report is None
    assert model.without_class("b").report is None
    assert model.update(one).report is model.report


def test_a_page_says_that_rows_came_after_the_report() -> None:
    rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, TARGET: ["a", "a", "a", "b", "b", "b"] * 3}
    model = credo.learn(rows, TARGET)
    grown = model.update({"x": [1.0], TARGET: ["a"]})
    older = "from the 18 rows on which the model was chosen"
    assert older in page_of(grown)
    assert older not in page_of(model)
