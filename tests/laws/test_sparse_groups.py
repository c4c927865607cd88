"""Counts of a category by group, kept cell by cell: the same answers as from a table with all zeros."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.core import sparse
from credo.errors import EvidenceError
from credo.estimation.beliefs import Beliefs

Table = dict[str, list[Any]]


def rows(seed: int, n: int = 300, values: int = 9) -> Table:
    rng = np.random.default_rng(seed)
    groups = [f"g{k}" if k else None for k in rng.integers(0, 30, n)]
    cells = [f"v{k}" if k else None for k in rng.geometric(1 / values, n) % (3 * values)]
    return {"g": groups, "v": cells, "w": rng.choice([0.25, 0.1, 1.0, 3.0], n).tolist()}


def believed(data: Table, prior: Any = None, weight: str | None = "w") -> Beliefs:
    found = credo.estimate(data, "v", by="g", kinds={"v": "category"}, prior=prior, weight=weight)
    assert isinstance(found, Beliefs)
    return found


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A question answered by a table with all zeros, and by one without them."""

    def asked(question: Any) -> tuple[Any, Any]:
        dense = question()
        monkeypatch.setattr(sparse, "DENSE_TABLE", 20)
        return dense, question()

    return asked


QUESTIONS = {
    "update": lambda: believed(rows(1)).update(rows(2), weight="w"),
    "one row": lambda: believed(rows(1)).update({"g": ["g1"], "v": ["new"]}),
    "without weights": lambda: believed(rows(1), weight=None).update(rows(2)),
    "merge": lambda: believed(rows(1)) + believed(rows(2)) + believed(rows(3)),
    "forget": lambda: believed(rows(1)).update(rows(2), weight="w").forget(rows(1), weight="w"),
    "discount": lambda: believed(rows(1)).discount(0.3).update(rows(2)),
    "empirical": lambda: believed(rows(1), "empirical").update(rows(2)),
    "declared": lambda: believed(rows(1), credo.DirichletCategorical({f"v{k}": 1 + k for k in range(1, 27)})),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_cells_say_what_the_whole_table_says(both: Any, question: Any, tmp_path: Path) -> None:
    dense, few = both(question)
    assert few.statistics.is_sparse
    assert not dense.statistics.is_sparse
    assert list(few) == list(dense)
    np.testing.assert_array_equal(few.statistics.n.value, dense.statistics.n.value)
    np.testing.assert_array_equal(few.rows, dense.rows)
    assert few.n == pytest.approx(dense.n)
    assert few.log_evidence() == pytest.approx(dense.log_evidence(), rel=1e-12)
    np.testing.assert_allclose(few.mean(), dense.mean(), rtol=1e-7)
    new = {"g": ["g3", "g4", "new", None, "g5"], "v": ["v1", "v2", "v1", "v3", None]}
    np.testing.assert_allclose(few.log_prob(new), dense.log_prob(new), rtol=1e-7)
    np.testing.assert_allclose(few["g3"].posterior.concentration, dense["g3"].posterior.concentration, rtol=1e-7)
    assert few["g3"].posterior.levels == dense["g3"].posterior.levels
    credo.save(few, tmp_path / "few.credo")
    again = credo.load(tmp_path / "few.credo")
    np.testing.assert_array_equal(again.statistics.n.value, few.statistics.n.value)
    assert again.update(rows(4)).log_evidence() == few.update(rows(4)).log_evidence()


def test_cross_validation(both: Any) -> None:
    dense, few = both(lambda: believed(rows(1)).cross_validate(rows(5), 4))
    np.testing.assert_allclose(few.log_probabilities, dense.log_probabilities, rtol=1e-12)


def test_a_long_table_has_the_wide_ones_cells(both: Any) -> None:
    dense, few = both(lambda: believed(rows(1), weight=None).table(0.9).to_pylist())
    wide = {row["g"]: row for row in dense}
    assert sum(row["rows"] for row in few) == sum(row["rows"] - row["missing"] for row in dense)
    for row in few:
        name = f"P({row['value']})"
        for end in ("", "_low", "_high"):
            assert row[f"mean{end}"] == pytest.approx(wide[row["g"]][name + end], rel=1e-9)


def test_what_was_never_learned_cannot_be_forgotten(both: Any) -> None:
    def question() -> str:
        belief = believed({"g": ["a", "b"] * 20, "v": [f"v{k % 10}" for k in range(40)]}, weight=None)
        with pytest.raises(EvidenceError) as refused:
            belief.forget({"g": ["a"], "v": ["v1"]})
        return str(refused.value)

    dense, few = both(question)
    assert dense == few


def test_a_file_of_whole_tables_goes_on_with_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = believed(rows(1)).update(rows(2))
    credo.save(believed(rows(1)), tmp_path / "before.credo")
    monkeypatch.setattr(sparse, "DENSE_TABLE", 20)
    after = credo.load(tmp_path / "before.credo").update(rows(2))
    assert after.statistics.is_sparse
    np.testing.assert_array_equal(after.statistics.n.value, whole.statistics.n.value)


def test_many_groups_of_many_values() -> None:
    """2,000 groups x 5,000 values: 160 MB with all zeros, at most 3,000 cells without."""
    rng = np.random.default_rng(0)
    table = {"g": [f"u{k}" for k in range(2000)] * 2, "v": [f"p{k}" for k in rng.integers(0, 5000, 4000)]}
    found = believed(table, weight=None)
    assert found.statistics.is_sparse
    assert len(found.statistics.n.high) <= 4000
    assert found.table().num_rows == len(found.statistics.n.high)
    assert len(repr(found)) < 300
