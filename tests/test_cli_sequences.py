"""Hidden Markov models in the terminal: learn, predict, show, ask, update and forget."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from click.testing import CliRunner, Result

import credo
from credo.cli import main


def run(*args: str) -> Result:
    return CliRunner().invoke(main, [*args])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of three sequences, and the terminal there."""
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    with Path("days.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["town", "degrees", "umbrella", "sky"])
        for town in ("ash", "birch", "cedar"):
            for sky in np.repeat(rng.integers(0, 2, 8), 4):
                wet = rng.random() < 0.1 + 0.8 * sky
                rows.writerow(
                    [town, f"{rng.normal(22 - 8 * sky, 2):.1f}", "yes" if wet else "no", ("fair", "wet")[sky]]
                )
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_states_are_counted_shown_and_predicted() -> None:
    learned = run("learn", "days.csv", "--model", "hmm", "--sequence", "town", "--target", "sky", "-o", "sky.credo")
    assert learned.exit_code == 0, learned.output
    assert "2 states of 3 sequences, given: counted" in learned.output
    assert "P(next state | state)" in learned.output
    shown = run("show", "sky.credo")
    assert "HiddenMarkov" in shown.output
    assert "fair" in shown.output
    assert run("predict", "sky.credo", "days.csv", "-o", "out.csv", "--proba").exit_code == 0
    with Path("out.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [*rows[0]] == ["town", "degrees", "umbrella", "sky", "predicted", "probability", "P(fair)", "P(wet)"]
    assert np.mean([row["predicted"] == row["sky"] for row in rows]) > 0.95
    model = credo.load("sky.credo", credo.HiddenMarkov)
    expected: list[Any] = model.decode("days.csv").tolist()
    assert [row["predicted"] for row in rows] == expected


@pytest.mark.usefixtures("folder")
def test_more_rows_are_learned_forgotten_and_merged() -> None:
    run("learn", "days.csv", "--model", "hmm", "--sequence", "town", "--target", "sky", "-o", "sky.credo")
    assert "192 rows in all" in run("update", "sky.credo", "days.csv", "-o", "twice.credo").output
    assert "96 rows in all" in run("forget", "twice.credo", "days.csv", "-o", "once.credo").output
    assert "192 rows in all" in run("merge", "sky.credo", "once.credo", "-o", "both.credo").output
    asked = run("ask", "sky.credo", "P(sky=wet | umbrella=yes)")
    assert asked.exit_code == 0, asked.output
    assert run("sample", "sky.credo", "--rows", "3").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_hidden_states_are_found_and_not_forgotten() -> None:
    how = ("--model", "hmm", "--sequence", "town", "--kind", "sky=ignore", "-o", "sky.credo")
    learned = run("learn", "days.csv", "--states", "2", *how)
    assert "hidden: found by EM" in learned.output, learned.output
    refused = run("forget", "sky.credo", "days.csv")
    assert refused.exit_code != 0
    assert "states were hidden" in refused.output + refused.stderr
    chosen = run("learn", "days.csv", *how)
    assert "Numbers of states tried" in chosen.output, chosen.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--model", "hmm", "--states", "some"), "neither a number of states"),
        (("--target", "sky", "--sequence", "town"), "only a hidden Markov model (--model hmm) has --sequence"),
        (("--model", "hmm", "--network", "a -> b"), "has no --network"),
        (("--model", "hmm", "--sequence", "twon"), "Did you mean 'town'"),
        (("--model", "hmm", "--sequence", "umbrella"), "continues in row"),
    ],
)
def test_bad_calls_end_in_a_sentence(args: tuple[str, ...], message: str) -> None:
    found = run("learn", "days.csv", *args)
    assert found.exit_code != 0
    assert message in found.output + found.stderr


@pytest.mark.usefixtures("folder")
def test_dynamic_networks_are_shown_asked_updated_and_forgotten() -> None:
    """How rows become sequences is in the file."""
    net = credo.DynamicNetwork("previous(sky) -> sky -> umbrella").fit("days.csv", sequence="town")
    credo.save(net, "weather.credo")
    assert "previous(sky) -> sky" in run("show", "weather.credo").output
    answer = run("ask", "weather.credo", "P(sky[2] | umbrella[0]=yes)")
    assert answer.exit_code == 0
    assert "sky[2]" in answer.output
    assert "96 rows learned, 192 rows in all" in run("update", "weather.credo", "days.csv").output
    assert "96 rows in all" in run("forget", "weather.credo", "days.csv").output
    np.testing.assert_array_equal(credo.load("weather.credo").tables["sky"], net.tables["sky"])


@pytest.mark.usefixtures("folder")
def test_a_dynamic_network_predicts_the_rows_of_sequences_and_is_sampled() -> None:
    net = credo.DynamicNetwork("previous(sky) -> sky -> umbrella").fit("days.csv", sequence="town")
    credo.save(net, "sky.credo")
    assert run("predict", "sky.credo", "days.csv", "--target", "sky", "-o", "out.csv", "--proba").exit_code == 0
    with Path("out.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [*rows[0]] == ["town", "degrees", "umbrella", "sky", "predicted", "probability", "P(fair)", "P(wet)"]
    seen = {name: [row[name] for row in rows] for name in ("town", "umbrella")}
    shares = net.smooth(seen, "sky", sequence="town")
    assert shares[:, 1].max() < 1.0  # the column that is predicted is no evidence
    assert [float(row["P(wet)"]) for row in rows] == pytest.approx(shares[:, 1].tolist())
    drawn = run("sample", "sky.credo", "--rows", "5", "--seed", "0")
    assert len(drawn.output.splitlines()) == 6
    assert "there is no variable 'sly'" in run("predict", "sky.credo", "days.csv", "--target", "sly").output
    assert "--target says which variable" in run("predict", "sky.credo", "days.csv").output
    assert "--given is for networks without time" in run("sample", "sky.credo", "--given", "sky=wet").output


@pytest.mark.usefixtures("folder")
def test_expected_rows_are_counted_as_whole_ones() -> None:
    net = credo.DynamicNetwork("previous(sky) -> sky -> umbrella").fit("days.csv", sequence="town")
    credo.save(net, "sky.credo")
    with Path("days.csv").open() as file, Path("hidden.csv").open("w", newline="") as out:
        csv.writer(out).writerows([row[0], row[2]] for row in csv.reader(file))
    assert "96 rows learned, 192 rows in all" in run("update", "sky.credo", "hidden.csv").output


@pytest.mark.usefixtures("folder")
def test_a_dynamic_network_is_told_which_rows_are_a_sequence() -> None:
    """One that was given, and so remembers no column: three towns aren't one sequence."""
    net = credo.DynamicNetwork(
        "previous(sky) -> sky -> umbrella",
        {"sky": {"fair": [0.9, 0.1], "wet": [0.2, 0.8]}, "umbrella": {"fair": [0.1, 0.9], "wet": [0.8, 0.2]}},
        first={"sky": [0.5, 0.5]},
        states={"sky": ["fair", "wet"], "umbrella": ["yes", "no"]},
    )
    credo.save(net, "sky.credo")
    alone = run("predict", "sky.credo", "days.csv", "--target", "sky", "-o", "one.csv", "--proba")
    assert alone.exit_code == 0, alone.output
    assert "all rows are read as one sequence" in alone.output
    told = run(
        "predict", "sky.credo", "days.csv", "--target", "sky", "--sequence", "town", "-o", "three.csv", "--proba"
    )
    assert told.exit_code == 0, told.output
    assert "one sequence" not in told.output
    one, three = (np.loadtxt(name, delimiter=",", skiprows=1, usecols=6) for name in ("one.csv", "three.csv"))
    days = pyarrow.csv.read_csv("days.csv").drop_columns("sky")
    np.testing.assert_allclose(one, net.smooth(days, "sky")[:, 0], atol=1e-9)
    np.testing.assert_allclose(three, net.smooth(days, "sky", sequence="town")[:, 0], atol=1e-9)
    assert not np.allclose(one, three)
    wrong = run("predict", "sky.credo", "days.csv", "--target", "sky", "--sequence", "city")
    assert wrong.exit_code != 0
    assert "city" in wrong.output
