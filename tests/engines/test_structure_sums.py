"""Arrows between numbers on a cluster: sums come to the driver, and the arrows are those of local rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo import engines
from tests.engines.test_frame_answers import kept_from_the_driver
from tests.engines.verbs import dask_frame, local, parts_of
from tests.laws.test_engines import evidence_bits

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")


def rows(count: int = 700, seed: int = 0) -> pd.DataFrame:
    """Numbers in several units, far from 0 some of them, and categories."""
    rng = np.random.default_rng(seed)
    mood = rng.choice(["low", "high"], count)
    a = rng.normal(size=count) + (mood == "high")
    b = 300.0 * a + 200.0 * rng.normal(size=count) + 1e5
    c = 0.01 * (rng.normal(size=count) - a)
    place = np.where(rng.random(count) < 0.8, mood, rng.choice(["low", "high", "none"], count))
    mass = rng.choice([0.0, 0.5, 1.0, 3.0], count)
    return pd.DataFrame({"a": a, "b": b, "c": c, "mood": mood, "place": place, "mass": mass})


ASKED: dict[str, dict[str, Any]] = {
    "numbers": {"kinds": {"mood": "ignore", "place": "ignore", "mass": "ignore"}},
    "bic": {"kinds": {"mood": "ignore", "place": "ignore", "mass": "ignore"}, "score": "bic", "search": "tabu"},
    "weights": {"kinds": {"mood": "ignore", "place": "ignore"}, "weight": "mass"},
    "tests": {"kinds": {"mood": "ignore", "place": "ignore", "mass": "ignore"}, "search": "pc"},
    "mixed": {"kinds": {"mass": "ignore"}},
    "categories": {"kinds": dict.fromkeys(("a", "b", "c", "mass"), "ignore")},
    "mixed weights": {"weight": "mass", "search": "boss"},
}


@pytest.mark.parametrize("what", ASKED)
def test_structure_of_numbers_is_learned_from_sums(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, how = parts_of(rows()), ASKED[what]
    here = credo.learn_structure(local(parts), **how)
    kept_from_the_driver(monkeypatch)
    there = credo.learn_structure(dask_frame(parts), **how)
    assert there.parents == here.parents
    assert any(there.parents.values())
    assert evidence_bits(there) == evidence_bits(here)


@pytest.mark.parametrize("what", ["numbers", "mixed", "categories"])
def test_files_are_summed_by_the_engine(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    for i, part in enumerate(parts_of(rows())):
        part.to_parquet(tmp_path / f"{i}.parquet")
    data, how = str(tmp_path / "*.parquet"), ASKED[what]
    here = credo.learn_structure(data, **how)
    kept_from_the_driver(monkeypatch)
    with engines.using(engines.Dask()):
        there = credo.learn_structure(data, **how)
    assert (there.parents, evidence_bits(there)) == (here.parents, evidence_bits(here))


def test_scores_and_confidence_need_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of(rows())
    frame, here, how = dask_frame(parts), local(parts), ASKED["numbers"]
    net = credo.HybridNetwork("a -> b; a -> c; mood -> a").fit(here)
    expected = net.score(here), credo.edge_confidence(here, **how)["a", "b"]
    mixed: Any = {"score": "conditional-gaussian", "kinds": {"mass": "ignore"}}
    sure = credo.edge_confidence(here, **mixed).edge("mood", "a")
    kept_from_the_driver(monkeypatch)
    assert net.score(frame) == pytest.approx(expected[0], rel=1e-12)
    assert credo.edge_confidence(frame, **how)["a", "b"] == pytest.approx(expected[1], rel=1e-9)
    assert credo.edge_confidence(frame, **mixed).edge("mood", "a") == pytest.approx(sure, rel=1e-9)


def test_missing_cells_are_completed_row_by_row() -> None:
    some = rows(200)
    some.loc[[3, 150], "b"] = np.nan
    parts, how = parts_of(some, (0, 60, 200)), ASKED["numbers"]
    there, here = (credo.learn_structure(data, **how) for data in (dask_frame(parts), local(parts)))
    assert (there.parents, evidence_bits(there)) == (here.parents, evidence_bits(here))


def test_an_infinite_number_is_one_clear_error() -> None:
    some = rows(200)
    some.loc[150, "b"] = np.inf
    with pytest.raises(credo.DataError, match=r"'b' has the value inf \(row 151\).*\(partition 2\)"):
        credo.learn_structure(dask_frame(parts_of(some, (0, 60, 200))), **ASKED["numbers"])


def test_many_rows_are_not_called_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where counts alone come to the driver, it has no rows to count."""
    monkeypatch.setattr("credo.networks.structure.frame_columns.MOST_DISTINCT_BYTES", 0)
    frame = dask_frame(parts_of(rows()[["mood", "place"]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for score in ("bic", "conditional-gaussian"):
            assert any(credo.learn_structure(frame, score).parents.values())
