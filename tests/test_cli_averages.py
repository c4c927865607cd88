"""The commands of saved averages: what works for a classifier works for them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner

import credo
from credo.cli import main
from tests.laws.test_average import ROWS, made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    csv.write_csv(pa.table(ROWS), "rows.csv")
    credo.save(made("evidence"), "average.credo")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_averages_are_shown_asked_updated_and_merged() -> None:
    def said(*command: str) -> str:
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        return result.output

    assert "Average of 2 models of 'y', by evidence" in said("show", "average.credo")
    assert said("predict", "average.credo", "rows.csv").count("\n") == 61
    assert "yes" in said("ask", "average.credo", "P(y | a=u)")
    assert "log-odds" in said("explain", "average.credo", "rows.csv")
    assert "120 rows in all" in said("update", "average.credo", "rows.csv", "-o", "more.credo")
    assert "60 rows in all" in said("forget", "more.credo", "rows.csv")
    assert "120 rows in all" in said("merge", "average.credo", "more.credo", "-o", "both.credo")
