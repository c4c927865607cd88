"""The commands about mixtures: cluster, and what reads its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import credo
from credo.present.classifier_page import SORTING_SCRIPT
from tests.test_cli import ran, refused, run
from tests.test_report_page import scripts_of

ROWS = 80


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any) -> str:
    """Two clusters, some cells missing."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, ROWS)
    x = rng.normal(size=ROWS) + 6 * z
    x[:5] = np.nan
    columns = {
        "x": pa.array(x, from_pandas=True),
        "y": rng.normal(size=ROWS) - 4 * z,
        "colour": np.array(["red", "blue"])[np.where(rng.random(ROWS) < 0.9, z, 1 - z)],
    }
    path = tmp_path_factory.mktemp("cluster") / "rows.csv"
    csv.write_csv(pa.table(columns), path)
    return str(path)


@pytest.fixture(scope="module")
def model(table: str, tmp_path_factory: Any) -> str:
    path = tmp_path_factory.mktemp("model") / "m.credo"
    credo.save(credo.Mixture(2, starts=2).fit(table), path)
    return str(path)


def test_cluster_writes_a_model_a_page_and_a_picture(table: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("m.credo", "page.html", "picture.svg")]
    options = ["-n", "2", "-o", str(paths[0]), "--report", str(paths[1]), "--plot", str(paths[2])]
    said = ran("cluster", table, *options)
    assert "2 components of 80 rows and 3 columns" in said
    assert "cluster 0" in said
    assert all(path.stat().st_size for path in paths)
    page = paths[1].read_text()
    assert "What distinguishes the clusters" in page
    assert scripts_of(page) <= {SORTING_SCRIPT}
    assert isinstance(credo.load(paths[0]), credo.Mixture)


def test_files_of_mixtures_are_shown_asked_predicted_imputed_and_sampled(
    model: str, table: str, tmp_path: Path
) -> None:
    assert "2 components" in ran("show", model)
    assert "P(cluster | x=0, y=0)" in ran("ask", model, "P(cluster | x=0, y=0)")
    scored = tmp_path / "scored.csv"
    ran("predict", model, table, "-o", str(scored))
    assert csv.read_csv(scored).column_names == ["x", "y", "colour", "predicted", "probability"]
    whole = tmp_path / "whole.csv"
    ran("impute", model, table, "-o", str(whole))
    assert csv.read_csv(whole)["x"].null_count == 0
    drawn = tmp_path / "drawn.csv"
    ran("sample", model, "--rows", "7", "--seed", "0", "-o", str(drawn))
    assert csv.read_csv(drawn).num_rows == 7
    assert "log-odds" in ran("explain", model, table)
    page = tmp_path / "page.html"
    ran("report", model, "-o", str(page))
    assert page.stat().st_size


def test_update_goes_on_and_forget_and_merge_are_refused(model: str, table: str, tmp_path: Path) -> None:
    more = tmp_path / "more.credo"
    ran("update", model, table, "-o", str(more))
    assert credo.load(more).n == 160
    assert "can't forget rows" in refused("forget", model, table)
    assert "can't be merged" in refused("merge", model, str(more), "-o", str(tmp_path / "both.credo"))


def test_bad_calls_are_one_sentence(table: str, model: str, tmp_path: Path) -> None:
    assert "isn't a whole number" in refused("cluster", table, "-n", "0", code=2)
    assert "is a model" in refused("cluster", model, code=2)
    assert "no column 'nosuch'" in refused("cluster", table, "--target", "nosuch")
    assert "must end in" in refused("cluster", table, "-o", str(tmp_path / "m.txt"))
    assert "must end in" in refused("report", model, "-o", str(tmp_path / "page.txt"))


def test_notices_name_the_options_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    columns = {"height": np.random.default_rng(0).normal(170, 8, 60), "year": np.arange(60) % 3 + 2007}
    csv.write_csv(pa.table(columns), path)
    said = run("cluster", str(path), "-n", "1").stderr
    assert "column 'year': few distinct numbers, read as a category; --kind year=number reads it as a number" in said
