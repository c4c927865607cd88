"""credo ask, show, sample, predict, impute and structure with networks of numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest

import credo
from tests.test_cli import ran, refused

NET = credo.HybridNetwork(
    "Flu -> Fever -> Pulse",
    {
        "Flu": 0.1,
        "Fever": credo.nodes.Normal({"yes": 39.0, "no": 36.8}, sd=0.5),
        "Pulse": credo.nodes.Normal(-200.0, 5.0, {"Fever": 7.5}),
    },
)


@pytest.fixture
def flu(tmp_path: Path) -> str:
    path = str(tmp_path / "flu.credo")
    credo.save(NET, path)
    return path


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = str(tmp_path / "rows.csv")
    pyarrow.csv.write_csv(NET.sample(400, seed=0), path)
    return path


def test_questions(flu: str) -> None:
    assert "= 0.5" in ran("ask", flu, "P(Fever > 39 | Flu=yes)")
    assert "37.02" in ran("ask", flu, "E(Fever)")
    shown = json.loads(ran("ask", flu, "P(Pulse | Fever=38)", "--json"))
    assert shown["distribution"]["mean"] == pytest.approx(85.0)
    assert shown["distribution"]["variance"] == pytest.approx(25.0)
    assert shown["distribution"]["family"] == "normal"
    assert "mixture of 2" in ran("ask", flu, "P(Fever)")
    assert "yes" in ran("ask", flu, "argmax P(Flu | Pulse=100)")
    assert "Pulse" in ran("ask", flu, "explain P(Flu=yes | Pulse=95)")
    assert "probability 0" in refused("ask", flu, "P(Fever=39)")


def test_show_draws_lines(flu: str) -> None:
    shown = ran("show", flu)
    assert "N(39, 0.5²)" in shown
    assert "7.5 Fever" in shown


def test_samples_and_predictions(flu: str, rows: str, tmp_path: Path) -> None:
    drawn = str(tmp_path / "drawn.csv")
    ran("sample", flu, "--rows", "50", "--given", "Fever > 38", "--seed", "1", "-o", drawn)
    table = pyarrow.csv.read_csv(drawn)
    assert table.num_rows == 50
    assert min(table["Fever"].to_pylist()) > 38
    out = str(tmp_path / "out.csv")
    ran("predict", flu, rows, "--target", "Flu", "-o", out)
    assert {"predicted", "probability"} <= {*pyarrow.csv.read_csv(out).column_names}
    ran("predict", flu, rows, "--target", "Pulse", "-o", out)
    found = pyarrow.csv.read_csv(out)
    assert found["predicted"][0].as_py() == pytest.approx(-200 + 7.5 * found["Fever"][0].as_py())
    assert "--target" in refused("predict", flu, rows)


def test_structures_are_fitted(rows: str, tmp_path: Path) -> None:
    out = str(tmp_path / "net.credo")
    ran("structure", rows, "-o", out)
    net = credo.load(out)
    assert isinstance(net, credo.HybridNetwork)
    assert net.n == 400
    ran("update", out, rows)
    assert credo.load(out).n == 800
    holes = str(tmp_path / "holes.csv")
    Path(holes).write_text("Flu,Fever,Pulse\nyes,,95\n,38.9,\n")
    filled = str(tmp_path / "filled.csv")
    ran("impute", out, holes, "-o", filled)
    assert not any(column.null_count for column in pyarrow.csv.read_csv(filled).columns)
    assert "--bins" in refused("structure", rows, "-o", str(tmp_path / "net.bif"))


def test_gaussian_files(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    nodes = {"a": credo.nodes.Normal(1.0, 2.0), "b": credo.nodes.Normal(0.0, 1.0, {"a": 3.0})}
    credo.HybridNetwork("a -> b", nodes).write(path)
    assert "= 3" in ran("ask", str(path), "E(b)")
    assert "3 a" in ran("show", str(path))
    ran("convert", str(path), str(tmp_path / "two.credo"))


def test_pictures() -> None:
    assert NET.plot({"Pulse": 90.0}).axes
    assert NET.query("Fever").plot().axes
    assert NET._repr_html_().startswith("<")
    assert "mean 37.02" in repr(NET.query("Fever"))
