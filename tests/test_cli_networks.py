"""credo ask and credo convert: what they print, write and refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import credo
from credo.cli import main
from tests.test_cli import ran, refused

NET = credo.Network(
    "Storm -> Lightning; Storm, Bus -> Campfire; Lightning, Campfire -> Fire",
    {
        "Storm": 0.1,
        "Lightning": {"yes": 0.6, "no": 0.02},
        "Bus": 0.3,
        "Campfire": {("yes", "yes"): 0.4, ("yes", "no"): 0.1, ("no", "yes"): 0.8, ("no", "no"): 0.2},
        "Fire": {("yes", "yes"): 0.5, ("yes", "no"): 0.4, ("no", "yes"): 0.1, ("no", "no"): 0.01},
    },
)


@pytest.fixture
def fire(tmp_path: Path) -> str:
    path = tmp_path / "fire.bif"
    NET.write(path)
    return str(path)


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, str]:
    shop = {"ad": ["a7", "a7", "b2", "b2", "b2"] * 20, "bought": [1, 0, 1, 1, 0] * 20}
    days = {"wind": ["weak", "strong", "weak", "strong"], "play": ["yes", "no", "yes", "yes"]}
    models = {
        "ads": credo.estimate(shop, "bought", by="ad", prior=credo.BetaBernoulli(1, 1)),
        "coin": credo.BetaBernoulli(1, 1).update({1: 2, 0: 0}),
        "colours": credo.DirichletCategorical(1).update(["red", "red", "red", "blue", "green"]),
        "days": credo.NaiveBayes().fit(days, target="play"),
    }
    for name, model in models.items():
        credo.save(model, tmp_path / f"{name}.credo")
    return {name: str(tmp_path / f"{name}.credo") for name in models}


def rows(text: str) -> list[list[str]]:
    """The cells of each line."""
    return [line.split() for line in text.splitlines()]


# ask


def test_probabilities_are_a_table_with_bars(fire: str) -> None:
    lines = rows(ran("ask", fire, "P(Storm)"))
    assert lines[0] == ["P(Storm)"]
    assert lines[2] == ["Storm", "P"]
    assert lines[4][:2] == ["yes", "0.100000"]
    assert lines[5][:2] == ["no", "0.900000"]
    assert len(lines[5][2]) > 5 * len(lines[4][2])


def test_a_narrow_terminal_goes_without_bars(fire: str) -> None:
    assert "█" not in ran("ask", fire, "P(Storm, Lightning)", columns=30)


def test_one_number_is_one_line(fire: str) -> None:
    assert ran("ask", fire, "P(Storm=yes | Lightning=yes)") == "P(Storm=yes | Lightning=yes) = 0.769231\n"


def test_several_questions(fire: str) -> None:
    text = ran("ask", fire, "P(Storm=yes)", "argmax P(* | Fire=yes)", "P(Storm, Bus=yes)")
    assert "P(Storm=yes) = 0.1\n\nargmax" in text
    assert ["Campfire", "yes"] in rows(text)
    assert "joint probability with the evidence: 0.02117" in text
    assert ["yes", "0.030000"] in [line[:2] for line in rows(text)]


def test_many_states_are_cut(fire: str) -> None:
    text = ran("ask", fire, "P(Storm, Lightning, Bus, Campfire, Fire)", "--top", "3")
    assert "... and 29 more lines, together" in text
    assert len(rows(text)) == 8


def test_explanations_are_weights(fire: str, saved: dict[str, str]) -> None:
    text = ran("ask", fire, "explain P(Storm=yes | Lightning=yes, Bus={yes: 1, no: 1})")
    assert ["prior", "-2.197"] in [line[:2] for line in rows(text)]
    assert ["Lightning", "yes", "+3.401"] in [line[:3] for line in rows(text)]  # log 0.6/0.02
    assert "Storm=yes: P = 0.7692" in text
    text = ran("ask", saved["days"], "explain P(play=no | wind=strong)")
    assert "no against yes" in text
    assert "more finding" in ran("ask", fire, "explain P(Storm | Lightning=yes, Bus=yes, Fire=no)", "--top", "1")


def test_sampling_shows_its_error(fire: str) -> None:
    question = ("ask", fire, "P(Storm | Lightning=yes)", "--method", "likelihood-weighting", "--samples", "2000")
    text = ran(*question, "--seed", "3")
    assert "±" in text
    assert "estimated by likelihood-weighting" in text
    assert text == ran(*question, "--seed", "3")
    assert text != ran(*question, "--seed", "4")


def test_an_estimated_number_shows_its_error(fire: str) -> None:
    question = ("P(Storm=yes | Lightning=yes)", "--method", "likelihood-weighting", "--samples", "2000")
    found = re.fullmatch(r"P\(Storm=yes \| Lightning=yes\) = (0\.\d+) ± (0\.\d+)\n", ran("ask", fire, *question))
    assert found is not None
    assert abs(float(found[1]) - 0.769231) < 5 * float(found[2])
    (line,) = ran("ask", fire, *question, "--json").splitlines()
    assert json.loads(line)["standard_error"] > 0
    assert json.loads(line)["method"] == "likelihood-weighting"


def test_options_of_argmax(fire: str) -> None:
    text = ran("ask", fire, "argmax P(* | Fire=yes)", "--top", "2", "--method", "gibbs", "--samples", "2000")
    assert ["Storm", "no"] in rows(text)
    assert "... and 3 more variables" in text
    assert "the best that annealing found" in text
    assert "joint probability with the evidence: 0.02117" in text
    (line,) = ran("ask", fire, "argmax P(Storm)", "--method", "gibbs", "--samples", "2000", "--json").splitlines()
    assert json.loads(line)["method"] == "annealing"
    for method in ("loopy", "forward", "likelihood-weighting"):
        assert f"aren't found by {method}" in refused("ask", fire, "argmax P(Storm)", "--method", method)


def test_options_that_would_say_nothing_are_refused(fire: str, saved: dict[str, str]) -> None:
    assert "explain is exact" in refused("ask", fire, "explain P(Storm | Bus=yes)", "--method", "gibbs")
    assert "method='gibbs' is for networks" in refused("ask", saved["coin"], "P(theta > 0.5)", "--method", "gibbs")


def test_which_of_several_questions_failed(tmp_path: Path) -> None:
    sure = credo.Network("Rain -> Wet", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}})
    sure.write(path := tmp_path / "sure.bif")
    for second, what in (
        ("P(Rian)", "question 2, P(Rian): there is no variable 'Rian'"),
        ("P(", "question 2, P(: expected a name"),
        ("P(Rain | Wet=yes, Rain=no)", "question 2, P(Rain | Wet=yes, Rain=no): the evidence is impossible"),
    ):
        result = CliRunner().invoke(main, ["ask", str(path), "P(Rain=yes)", second])
        assert result.exit_code == 1
        assert what in result.stderr
        assert "question 1" not in refused("ask", str(path), second)


def test_what_is_infinite_is_text_in_json(tmp_path: Path) -> None:
    sure = credo.Network("Rain -> Wet", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}})
    sure.write(path := tmp_path / "sure.bif")
    (line,) = ran("ask", str(path), "explain P(Rain=no | Wet=yes)", "--json").splitlines()
    found = json.loads(line, parse_constant=pytest.fail)["explanation"]
    assert found["log_odds"] == "-Infinity"
    assert found["weights"][0]["weight"] == "-Infinity"
    assert float(found["log_odds"]) == -float("inf")


def test_saved_models_answer(saved: dict[str, str]) -> None:
    assert "= 0.875" in ran("ask", saved["coin"], "P(theta > 0.5)")
    assert ["theta", "0.7500"] in [line[:2] for line in rows(ran("ask", saved["coin"], "P(theta)"))]
    assert "P(theta[a7] > theta[b2]) = 0.0" in ran("ask", saved["ads"], "P(theta[a7] > theta[b2])")
    assert ["red", "0.500000"] in rows(ran("ask", saved["colours"], "E(theta)"))
    assert ["red", "0.5000"] in [line[:2] for line in rows(ran("ask", saved["colours"], "P(theta)"))]
    assert ["theta[red]", "0.6"] in rows(ran("ask", saved["colours"], "argmax P(theta)"))
    assert ["play", "yes"] in rows(ran("ask", saved["days"], "argmax P(play | wind=weak)"))


def test_json_for_machines(fire: str, saved: dict[str, str]) -> None:
    questions = ("P(Storm)", "P(Storm=yes)", "argmax P(Storm)", "explain P(Storm=yes | Lightning=yes)")
    found = [json.loads(line) for line in ran("ask", fire, "--json", *questions).splitlines()]
    assert [each["question"] for each in found] == list(questions)
    assert found[0]["probabilities"][0] == {"states": {"Storm": "yes"}, "probability": pytest.approx(0.1)}
    assert found[1]["probability"] == pytest.approx(0.1)
    assert found[2]["most_probable"] == {"Storm": "no"}
    assert found[3]["explanation"]["weights"][0]["weight"] == pytest.approx(3.401197)
    found = [json.loads(line) for line in ran("ask", saved["colours"], "--json", "P(theta)", "E(theta)").splitlines()]
    assert found[0]["distribution"][2]["entry"] == "red"
    assert found[1]["expectation"][2] == {"entry": "red", "mean": 0.5}
    (line,) = ran("ask", saved["coin"], "--json", "P(theta)").splitlines()
    assert json.loads(line)["distribution"]["mean"] == 0.75
    (line,) = ran("ask", fire, "--json", "P(Storm)", "--method", "forward", "--samples", "100").splitlines()
    assert json.loads(line)["method"] == "forward"


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("P(Strom)", "there is no variable 'Strom'; known: Storm,"),
        ("P(Storm=yse)", "Did you mean 'yes'?"),
        ("P(Storm", "but the question ends"),
        ("", "the question is empty"),
    ],
)
def test_a_bad_question_is_one_sentence(fire: str, question: str, what: str) -> None:
    assert what in refused("ask", fire, question)


def test_nothing_is_answered_if_one_question_has_no_sense(fire: str) -> None:
    assert "question ends" in refused("ask", fire, "P(Storm)", "P(")


def test_bad_files(tmp_path: Path, saved: dict[str, str]) -> None:
    assert "there is no such file" in refused("ask", str(tmp_path / "no.bif"), "P(a)")
    assert ".uai, .json, .credo (and .gz" in refused("ask", str(tmp_path / "no.txt"), "P(a)")
    (tmp_path / "bad.bif").write_text("what is this")
    assert "bad.bif" in refused("ask", str(tmp_path / "bad.bif"), "P(a)")
    credo.save(credo.Schema.infer({"a": ["x", "y"]}), tmp_path / "schema.credo")
    assert "of type Schema" in refused("ask", str(tmp_path / "schema.credo"), "P(a)")
    assert "Missing argument" in refused("ask", saved["coin"], code=2)


def test_names_do_no_harm_to_a_terminal(tmp_path: Path) -> None:
    net = credo.Network({"a\x1b[31m": []}, {"a\x1b[31m": [0.5, 0.5]}, {"a\x1b[31m": ("x\x07", "y")})
    net.write(tmp_path / "odd.json")
    text = ran("ask", str(tmp_path / "odd.json"), "P('a\x1b[31m')")
    assert "\x1b" not in text
    assert "\x07" not in text


# convert


@pytest.mark.parametrize(
    "name", ["b.xdsl", "b.bif", "b.net", "b.xmlbif", "b.dsl", "b.json", "b.bif.gz", "b.XDSL", "b.credo"]
)
def test_there_and_back(fire: str, tmp_path: Path, name: str) -> None:
    there, back = str(tmp_path / name), str(tmp_path / "back.json")
    assert ran("convert", fire, there) == f"wrote {there}: a network of 5 variables\n"
    ran("convert", there, back)
    question = "P(Fire | Storm=yes)"
    assert ran("ask", back, question) == ran("ask", there, question) == ran("ask", fire, question)


def test_what_convert_refuses(fire: str, tmp_path: Path, saved: dict[str, str]) -> None:
    assert "the name must end in one of .bif" in refused("convert", fire, str(tmp_path / "b.txt"))
    assert "the name must end in one of .bif" in refused("convert", fire, str(tmp_path / "b.credo.gz"))
    assert "there is no folder" in refused("convert", fire, str(tmp_path / "no" / "b.bif"))
    assert "it is the input file" in refused("convert", fire, fire)
    assert "there is no such file" in refused("convert", str(tmp_path / "no.bif"), str(tmp_path / "b.bif"))
    assert "holds a Belief, not a network" in refused("convert", saved["coin"], str(tmp_path / "b.bif"))
    (tmp_path / "bad.bif").write_text("variable x {")
    refused("convert", str(tmp_path / "bad.bif"), str(tmp_path / "b.bif"))
    assert not (tmp_path / "b.bif").exists()


def test_a_mistake_is_pointed_at_on_a_terminal(fire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.cli.ask._is_watched", lambda: True)
    result = CliRunner().invoke(main, ["ask", fire, "P(Storm=yse)"])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[:2] == ["  P(Storm=yse)", "          ^"]


# show


def test_a_network_is_shown(fire: str) -> None:
    text = ran("show", fire)
    assert "Network of 5 variables and 5 arrows" in text
    assert "P(Fire | Lightning, Campfire)" in text


# predict, sample, impute


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    path.write_text("id,Storm,Bus,Fire\n1,yes,no,yes\n2,,yes,\n3,no,,no\n")
    return str(path)


def cells(path: Path) -> list[str]:
    """Lines of a CSV file, without quotes."""
    return path.read_text().replace('"', "").splitlines()


def test_a_network_predicts_a_variable_of_each_row(fire: str, table: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ran("predict", fire, table, "--target", "Campfire", "-o", str(out), "--proba")
    lines = cells(out)
    assert lines[0] == "id,Storm,Bus,Fire,predicted,probability,P(yes),P(no)"
    found = [float(line.split(",")[-2]) for line in lines[1:]]
    rows_ = {"Storm": ["yes", None, "no"], "Bus": ["no", "yes", None], "Fire": ["yes", None, "no"]}
    assert found == pytest.approx(NET.predict_proba("Campfire", rows_)[:, 0])
    piped = ran("predict", fire, table, "--target", "Campfire").splitlines()
    assert piped[0].replace('"', "") == "id,Storm,Bus,Fire,predicted,probability"


def test_predict_says_what_it_needs(fire: str, table: str, saved: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert "--target says which variable to predict, such as Storm" in refused("predict", fire, table, "-o", str(out))
    assert "there is no variable 'Smoke'" in refused("predict", fire, table, "--target", "Smoke", "-o", str(out))
    assert "--target is for networks only" in refused("predict", saved["days"], table, "--target", "x")
    assert not out.exists()


def test_rows_are_drawn(fire: str, saved: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "drawn.csv"
    ran("sample", fire, "--rows", "50", "--given", "Fire=yes, Bus!=no", "--given", "Storm in {yes}", "-o", str(out))
    lines = cells(out)
    assert len(lines) == 51
    assert lines[0] == ",".join(NET.variables)
    at = {name: i for i, name in enumerate(NET.variables)}
    assert {tuple(line.split(",")[at[name]] for name in ("Fire", "Bus", "Storm")) for line in lines[1:]} == {
        ("yes", "yes", "yes")
    }
    assert ran("sample", fire, "--rows", "5", "--seed", "3") == ran("sample", fire, "--rows", "5", "--seed", "3")
    assert len(ran("sample", saved["days"], "--rows", "7", "--seed", "1").splitlines()) == 8
    assert len(ran("sample", fire, "--rows", "0").splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--given", "Smoke=yes"), "there is no variable 'Smoke'"),
        (("--given", "Fire=perhaps"), "perhaps"),
        (("--given", "do(Fire=yes)"), "do"),
        (("--given", "Fire=yes, Fire=no"), "Fire"),
        (("--given", "Fire=="), ""),
        (("-o", "rows.xyz"), "must end in one of"),
    ],
)
def test_sample_refuses(fire: str, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused("sample", fire, *arguments)


@pytest.mark.parametrize("option", ["--rows", "--seed"])
def test_sample_takes_no_negative_numbers(fire: str, option: str) -> None:
    assert "-1 is not in the range" in refused("sample", fire, option, "-1", code=2)


def test_missing_cells_are_filled_in(fire: str, table: str, saved: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "whole.csv"
    ran("impute", fire, table, "-o", str(out))
    assert cells(out) == ["id,Storm,Bus,Fire", "1,yes,no,yes", "2,no,yes,no", "3,no,no,no"]
    assert "not a network" in refused("impute", saved["days"], table)
    assert "it is the input file" in refused("impute", fire, table, "-o", table)
    assert Path(table).read_text().count(",,") == 2  # untouched


# update, forget, merge


def test_a_learned_network_learns_more_and_forgets(tmp_path: Path) -> None:
    first, rest = NET.sample(60, seed=1), NET.sample(40, seed=2)
    paths = {name: str(tmp_path / name) for name in ("first.credo", "rest.credo", "all.credo", "fixed.credo")}
    for table, name in ((first, "first"), (rest, "rest")):
        own = {column: table.column(column).to_pylist() for column in table.column_names}
        lines = [",".join(own), *(",".join(row) for row in zip(*own.values(), strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        credo.save(credo.Network(NET.parents).fit(table), paths[f"{name}.credo"])
    more, whole = str(tmp_path / "rest.csv"), paths["all.credo"]
    assert "40 rows learned, 100 rows in all" in ran("update", paths["first.credo"], more, "-o", whole)
    assert "2 files merged, 100 rows in all" in ran(
        "merge", paths["first.credo"], paths["rest.credo"], "-o", str(tmp_path / "both.credo")
    )
    assert credo.load(whole) == credo.load(tmp_path / "both.credo")
    assert "40 rows forgotten, 60 rows in all" in ran("forget", whole, more)
    assert credo.load(whole) == credo.load(paths["first.credo"])
    credo.save(NET, paths["fixed.credo"])
    assert "which has learned no rows" in refused("update", paths["fixed.credo"], more)


# learn, update, forget and merge: tables of known arrows


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    """Complete rows, rows without two of the columns, and rows with holes."""
    drawn = NET.sample(300, seed=1)
    whole = {name: drawn[name].to_pylist() for name in drawn.column_names}
    holes = {name: [None if (i + j) % 7 == 0 else cell for i, cell in enumerate(own)] for j, (name, own) in
             enumerate(whole.items())}  # fmt: skip
    part = {name: own for name, own in whole.items() if name not in ("Lightning", "Campfire")}
    found = {}
    for name, columns in (("whole", whole), ("holes", holes), ("part", part)):
        found[name] = str(tmp_path / f"{name}.csv")
        csv.write_csv(pa.table(columns), found[name])
    return found


def test_learning_tables_is_fitting_them(fire: str, tables: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "n.credo")
    printed = ran("learn", tables["whole"], "--network", fire, "--table-prior", "bdeu:10", "-o", path)
    assert "learned from 300 rows, prior BDeu(10)" in printed
    assert credo.load(path) == NET.fit(tables["whole"], prior=credo.BDeu(10))
    ran("update", path, tables["whole"])
    assert credo.load(path).n == 600
    ran("forget", path, tables["whole"])
    assert credo.load(path) == NET.fit(tables["whole"], prior=credo.BDeu(10))
    ran("merge", path, path, "-o", path)
    assert credo.load(path).n == 600


def test_learning_tables_where_cells_are_missing(fire: str, tables: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "n.credo")
    printed = ran("learn", tables["holes"], "--model", "network", "--network", fire, "--strength", "50", "-o", path)
    assert re.search(r"fitted where cells are missing: \d+ steps, log-posterior -[\d.]+ to -[\d.]+", printed)
    learned = credo.load(path)
    assert learned == NET.fit(tables["holes"], strength=50)
    ran("update", path, tables["holes"])
    assert credo.load(path).n == pytest.approx(600)
    assert "can't forget rows exactly" in refused("forget", path, tables["holes"])
    assert "can't be merged exactly" in refused("merge", path, path, "-o", path)
    assert "learned from 600 rows" in ran("show", path)


def test_learning_tables_of_arrows_with_a_hidden_variable(tables: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "n.bif")
    arrows = "Storm -> Lightning -> Fire"
    ran("learn", tables["part"], "--network", arrows, "--hidden", "Lightning=no,yes", "--starts", "2", "-o", path)
    found = credo.Network.read(path)
    assert isinstance(found, credo.Network)
    assert found.states["Lightning"] == ("no", "yes")


@pytest.mark.parametrize(
    ("options", "sentence", "code"),
    [
        (["--model", "network"], "--model network needs --network", 2),
        (["--network", "FIRE", "--target", "Storm"], "a network's tables are learned without --target", 2),
        (["--target", "Storm", "--strength", "5"], "only a network (--network) has --strength", 2),
        (["--network", "FIRE", "--table-prior", "much"], "'much' is neither a concentration", 2),
        (["--network", "FIRE", "--hidden", "Storm"], "isn't a variable and its states, as in Campfire=2", 2),
        (["--network", "FIRE", "--strength", "5", "--table-prior", "1"], "give a prior, or a strength", 1),
        (["--network", "Storm -> Rain"], "--hidden Rain=2", 1),
        (["--network", "FIRE", "-o", "n.txt"], "the name must end in one of .credo", 1),
        (["--network", "nothing.bif"], "there is no such file", 1),
    ],
)
def test_tables_that_cannot_be_learned(
    options: list[str], sentence: str, code: int, fire: str, tables: dict[str, str]
) -> None:
    told = refused("learn", tables["whole"], *(fire if option == "FIRE" else option for option in options), code=code)
    assert sentence in told
