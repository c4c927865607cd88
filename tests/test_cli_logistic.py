"""The commands about logistic regressions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

import credo
from tests.laws.test_logistic import table
from tests.test_cli import ran, refused


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logistic") / "rows.csv"
    csv.write_csv(pa.table(table(100, 2)), path)
    return str(path)


@pytest.fixture(scope="module")
def model(data: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("model") / "m.credo")
    said = ran("learn", data, "-t", "y", "--model", "logistic", "-o", path)
    assert "strength" in said
    assert "100 held-out rows (10-fold, strength held fixed)" in said
    assert isinstance(credo.load(path), credo.LogisticRegression)
    return path


def test_its_file_is_shown_asked_predicted_and_explained(model: str, data: str) -> None:
    assert "by evidence" in ran("show", model)
    assert "P(y | x=4)" in ran("ask", model, "P(y | x=4)")
    assert ran("predict", model, data).startswith('"x","sex","y","predicted","probability"')
    said = ran("explain", model, data, "--row", "3")
    assert "log-odds" in said
    assert "allowance for uncertain weights" in said


def test_its_file_is_updated_but_neither_forgets_nor_merges(model: str, data: str, tmp_path: Path) -> None:
    new = str(tmp_path / "new.credo")
    assert "200 rows in all" in ran("update", model, data, "-o", new)
    assert credo.load(new, credo.LogisticRegression).n == 200
    assert "has no additive statistics" in refused("forget", new, data)
    assert "has no additive statistics" in refused("merge", new, model, "-o", str(tmp_path / "both.credo"))


def test_its_file_has_a_page(model: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran("report", model, "-o", str(page))
    assert "LogisticRegression" in page.read_text()


def test_learning_draws_the_weights_and_writes_a_page(data: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "weights.svg"
    ran("learn", data, "-t", "y", "--model", "logistic", "--report", str(page), "--plot", str(picture))
    assert "10-fold, strength held fixed" in page.read_text()
    assert "<svg" in picture.read_text()


def test_what_it_has_not(model: str, data: str) -> None:
    learning = ("learn", data, "-t", "y", "--model", "logistic")
    assert "--model logistic has no --learning-curve" in refused(*learning, "--learning-curve", code=2)
    assert "ask about the class alone" in refused("ask", model, "P(sex)")
