"""First impressions: words stay whole at 80 columns, nothing is cut off, and likely mistakes get a helpful sentence."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import credo
from credo.cli.group import COMMANDS
from credo.cli.repeated_updates import repeats
from credo.errors import Notice
from credo.present.demo import ADS, PUMPS
from tests.test_cli import CREDO, groups_of, ran, refused, run, terminal_output


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns(name: str) -> None:
    text = ran(*filter(None, [name]), "--help", columns=80)
    assert max(map(len, text.splitlines())) <= 80


def chain(n: int) -> credo.Network:
    parents = {f"v{i}": [f"v{i - 1}"] if i else [] for i in range(n)}
    return credo.Network(parents, {name: [[0.5, 0.5]] * 2 if above else [0.5, 0.5] for name, above in parents.items()})


@pytest.mark.parametrize("n", [12, 37, 41])
@pytest.mark.parametrize("ending", [".bif", ".credo"])
def test_show_leaves_no_variable_out(tmp_path: Path, n: int, ending: str) -> None:
    path, net = str(tmp_path / f"net{ending}"), chain(n)
    if ending == ".bif":
        net.write(path)
    else:
        credo.save(net, path)
    text = ran("show", path, columns=80)
    assert all(re.search(rf"\bv{i}\b", text) for i in range(n))
    if n > 12:
        assert f"{n - 5} more variables: --top prints more" in ran("show", path, "--top", "5", columns=80)


def test_a_repr_never_spends_a_line_on_leaving_one_line_out() -> None:
    assert "more" not in repr(chain(40))
    assert repr(chain(45)).endswith("... and 5 more variables")


@pytest.mark.parametrize("columns", [60, 80])
def test_show_cuts_nothing_off(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "t.csv"
    value = "some value of several words that is"
    rows = [f"{value} {'xyz'[i % 3]},{('some', 'other')[i % 2]}" for i in range(30)]
    path.write_text("a_column_with_a_long_name,b\n" + "\n".join(rows) + "\n")
    text = ran("show", str(path), columns=columns)
    table = text.partition("──")[2]
    words = " ".join(table.split())
    assert "some value of several words that is" not in words  # cells are cut at 20 characters, with a mark
    assert words.count("…") == 3
    assert max(map(len, text.partition("Kinds are")[0].splitlines())) <= max(columns, len(str(path)) + 22)
    assert max(map(len, table.partition("\n\n")[0].splitlines())) <= columns


def test_a_terminal_breaks_errors_and_notes_between_words() -> None:
    """And a pipe gets them on one line."""
    settings = {"TERM": "xterm", "COLUMNS": "60"}
    shown = terminal_output([CREDO, "learn", str(PUMPS), "-t", "nope"], settings).partition("credo: ")[2]
    assert max(map(len, shown.splitlines())) <= 60
    assert "no column 'nope'; known: pump, site, maker," in shown
    assert run("learn", str(PUMPS), "-t", "nope").stderr.count("\n") == 1


def test_show_and_estimate_have_one_order(tmp_path: Path) -> None:
    path = str(tmp_path / "ads.credo")
    first = groups_of(ran("estimate", str(ADS), "-c", "converted", "-b", "ad", "-o", path))
    assert groups_of(ran("show", path).partition("converted by ad")[2]) == first
    assert len(groups_of(ran("show", path, "--top", "2").partition("converted by ad")[2])) == 2


# Likely mistakes


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("model") / "ads.credo")
    ran("learn", str(ADS), "-t", "converted", "--model", "naive-bayes", "-o", path)
    return path


@pytest.mark.parametrize("command", ["predict", "explain", "update", "forget"])
def test_swapped_arguments(command: str, model: str) -> None:
    assert f"the model comes first: credo {command} {model} {ADS}" in refused(command, str(ADS), model, code=2)


@pytest.mark.parametrize("command", ["predict", "impute", "explain"])
def test_swapped_arguments_of_networks(command: str) -> None:
    assert f"the model comes first: credo {command} alarm.bif {ADS}" in refused(command, str(ADS), "alarm.bif", code=2)


@pytest.mark.parametrize("command", ["learn", "estimate", "structure", "cluster", "compare"])
def test_a_network_is_no_table(command: str) -> None:
    assert f"net.xdsl.gz is a network: credo {command} needs a table" in refused(command, "net.xdsl.gz", code=2)


def test_merging_the_same_rows_twice_is_said(model: str, tmp_path: Path) -> None:
    other, out, part = str(tmp_path / "other.credo"), str(tmp_path / "out.credo"), tmp_path / "part.csv"
    Path(other).write_bytes(Path(model).read_bytes())
    assert f"{model} and {other} hold the same evidence" in run("merge", model, other, "-o", out).stderr
    assert f"{model} and {model} hold the same evidence" in run("merge", model, model, "-o", out).stderr
    part.write_text("\n".join(ADS.read_text().splitlines()[:30]) + "\n")
    ran("update", other, str(part))
    assert "same evidence" not in run("merge", model, other, "-o", out).stderr


def test_a_question_before_the_file(model: str) -> None:
    assert f"the file comes first: credo ask {model} 'P(converted)'" in refused("ask", "P(converted)", model, code=2)


@pytest.mark.parametrize(("command", "option"), [("learn", "--target"), ("estimate", "--column")])
def test_a_column_that_is_not_named_is_asked_for(command: str, option: str) -> None:
    text = refused(command, str(ADS), code=2)
    assert f"use {option} to say" in text
    assert "the columns are ad, device, seconds, converted" in text
    assert option in refused(command, "nope.csv", code=2)


def test_the_same_increment_learned_twice_is_said(tmp_path: Path) -> None:
    """In another order of rows, too; not after it was forgotten, nor if other rows were."""
    path, part, other = str(tmp_path / "ads.credo"), tmp_path / "part.csv", tmp_path / "other.csv"
    lines = ADS.read_text().splitlines()
    part.write_text("\n".join(lines[:40]) + "\n")
    other.write_text("\n".join([lines[0], *lines[1:40][::-1]]) + "\n")
    ran("estimate", str(ADS), "-c", "converted", "-b", "ad", "-o", path)
    again = f"an earlier update of {path} had learned these rows"
    assert again not in run("update", path, str(part)).stderr
    assert again in run("update", path, str(other)).stderr
    ran("forget", path, str(part))
    assert again in run("update", path, str(part)).stderr
    ran("forget", path, str(part))
    ran("forget", path, str(part))
    assert again not in run("update", path, str(part)).stderr
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines[:10]) + "\n")
    ran("forget", path, str(few))
    assert again not in run("update", path, str(part)).stderr


@pytest.mark.parametrize("command", ["learn", "estimate"])
def test_a_model_is_no_table(command: str, model: str) -> None:
    assert f"{model} is a model" in refused(command, model, code=2)


def test_learning_the_same_rows_twice_is_said(tmp_path: Path) -> None:
    """All evidence has doubled, bit by bit; or the file remembers a digest of the update."""
    path, other = str(tmp_path / "ads.credo"), tmp_path / "other.csv"
    ran("estimate", str(ADS), "-c", "converted", "-b", "ad", "-o", path)
    first = run("update", path, str(ADS))
    assert first.exit_code == 0
    assert f"each counts twice now. To undo it: credo forget {path} {ADS}" in first.stderr
    third = run("update", path, str(ADS)).stderr  # half of what was there
    assert f"an earlier update of {path} had learned these rows; they count once more now. To undo it: credo" in third
    lines = ADS.read_text().splitlines()
    other.write_text("\n".join([lines[0], *(line.replace("phone", "laptop") for line in lines[1:])]) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        rows = credo.NaiveBayes().fit(ADS, "converted")
        assert repeats(rows, rows.update(ADS))
        assert not repeats(rows, rows.update(other))


def test_nothing_is_cut_on_50_characters(tmp_path: Path) -> None:
    """Texts wrap, or a column is left out and counted; numbers and headers stay whole."""
    path = str(tmp_path / "pumps.credo")
    ran("learn", str(PUMPS), "--target", "fault", "-o", path)
    shown = ran("show", path, columns=50)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 50
    for header in ("matters", "log-loss   accuracy   weight"):
        assert header in shown
    assert "no room for 1 more column" in shown


def test_dates_are_said_to_be_days(tmp_path: Path) -> None:
    path = tmp_path / "when.csv"
    path.write_text("when\n2024-01-01\n2024-02-03\n2024-03-05\n")
    assert "estimated as days since 1970-01-01" in run("estimate", str(path), "-c", "when").stderr


def test_one_baseline_of_accuracy() -> None:
    """Classes that are equally common: what always predicting one of them gives is said once, whoever says it."""
    rng = np.random.default_rng(0)
    report = credo.learn({"x": rng.normal(size=60), "y": ["a", "b"] * 30}, target="y").report
    (shares,) = (each for each in report.tried if each.name == "class shares")
    assert shares.accuracy == report.scores.commonest[1] == 0.5
