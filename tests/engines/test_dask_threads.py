"""Dask without a cluster: threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo import engines
from tests.engines.verbs import LONG, QUICK, dask_frame, learned_number, local, parts_of, table
from tests.laws.test_engines import evidence_bits

OTHERS = dict.fromkeys(("x", "z", "mass"), "ignore")

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")


@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_a_frame_without_a_cluster_gives_the_same_bits() -> None:
    parts = parts_of(table())
    assert engines.Dask().client is None
    assert QUICK["fitted"](dask_frame(parts)) == QUICK["fitted"](local(parts))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.Notice")
@pytest.mark.parametrize("verb", [*QUICK.values(), *LONG.values(), learned_number])
def test_rows_stay_where_they_are(verb: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is learned, the driver reads no partition; and the bits are those of local rows."""
    from credo.engines.dask import DaskPiece

    parts = parts_of(table())
    monkeypatch.setattr(DaskPiece, "rows", property(lambda _: pytest.fail("a partition was read by the driver")))
    assert verb(dask_frame(parts)) == verb(local(parts))


@pytest.mark.filterwarnings("ignore::credo.Notice")
@pytest.mark.parametrize("most", [0, 2**26])
@pytest.mark.parametrize(("score", "search"), [("bic", "auto"), ("bdeu", "tabu"), ("k2", "boss"), ("bic", "chow-liu")])
def test_structure_is_learned_from_counts(score: str, search: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No code of a row comes to the driver: different rows with their weights do or, where there are too many, counts.
    Arrows and tables are those of local rows."""
    from credo.networks.structure import columns

    def forbidden(*_: object) -> None:
        pytest.fail("cells came to the driver")

    rng = np.random.default_rng(1)
    rows = {"a": rng.integers(0, 3, 700)}
    for name, before in zip("bcde", "abac", strict=True):
        rows[name] = np.where(rng.random(700) < 0.7, rows[before], rng.integers(0, 3, 700))
    parts = parts_of(pd.DataFrame(rows).astype(str).assign(mass=rng.choice([0.0, 0.5, 1.0], 700)))
    how: Any = {"score": score, "search": search, "weight": "mass"}
    here = credo.learn_structure(local(parts), **how)
    monkeypatch.setattr("credo.networks.structure.frame_columns.MOST_DISTINCT_BYTES", most)
    monkeypatch.setattr(columns, "engines", SimpleNamespace(map=forbidden))
    there = credo.learn_structure(dask_frame(parts), **how)
    assert there.parents == here.parents
    assert any(there.parents.values())
    assert evidence_bits(there) == evidence_bits(here)


@pytest.mark.parametrize("count", [33, pytest.param(1100, marks=pytest.mark.slow)])
def test_many_partitions_are_added_by_the_same_tree(count: int) -> None:
    """Of two levels and of three."""
    rows, prior = pd.DataFrame({"z": np.random.default_rng(0).normal(size=5000)}), credo.NormalInverseGamma(0, 1, 1, 1)
    parts = parts_of(rows, np.linspace(0, len(rows), count + 1).astype(int).tolist())
    there, here = (credo.estimate(data, "z", prior=prior) for data in (dask_frame(parts), local(parts)))
    assert evidence_bits(there) == evidence_bits(here)


def test_partitions_of_files_are_those_of_any_columns(tmp_path: Path) -> None:
    """Dask would join files of which few columns are read: rows are counted by one column, and read by several."""
    import dask.dataframe as dd

    rows = table().drop(columns=["seen", "note", "run"])
    parts = parts_of(rows, range(0, 701, 100))
    for i, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{i}.parquet")
    frame, prior = dd.read_parquet(tmp_path), credo.NormalInverseGamma(0, 1, 1, 1)
    there, here = (credo.NaiveBayes().fit(data, target="kind") for data in (frame, local(parts)))
    assert evidence_bits(there) == evidence_bits(here)
    one, two = (credo.estimate(data, "z", prior=prior, weight="mass") for data in (frame, local(parts)))
    assert evidence_bits(one) == evidence_bits(two)
    few = frame[["word", "kind"]]
    assert credo.learn_structure(few).parents == credo.learn_structure(local(parts), kinds=OTHERS).parents
    predicted: Any = there.predict(frame)
    assert predicted[["predicted"]].compute()["predicted"].tolist() == there.predict(rows).tolist()


def test_arrays_that_came_over_the_network_may_begin_at_any_byte() -> None:
    x = np.random.default_rng(0).normal(size=50)
    shifted = np.frombuffer(b"-" + x.tobytes(), dtype=np.float64, offset=1)
    assert not shifted.flags.aligned
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    assert evidence_bits(prior.update(shifted)) == evidence_bits(prior.update(x))
