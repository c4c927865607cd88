"""The commands about classifiers: learn, predict, explain, update, forget, merge, show."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import credo
from credo.errors import Notice
from credo.models.metrics import Scores
from credo.present.demo import ADS, PUMPS
from credo.present.terminal import bars, weights
from tests.test_cli import CREDO, process, ran, read_back, refused, run, start, terminal_output

TABLE = str(PUMPS)


@contextmanager
def unheard() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        yield


@pytest.fixture(scope="module")
def learned() -> Any:
    with unheard():
        return credo.learn(TABLE, "fault")


@pytest.fixture
def model(learned: Any, tmp_path: Path) -> str:
    """A file with a classifier of pumps."""
    path = tmp_path / "pumps.credo"
    credo.save(learned, path)
    return str(path)


@pytest.fixture
def fewer(tmp_path: Path) -> str:
    """The first fifty pumps."""
    path = tmp_path / "fewer.csv"
    path.write_text("".join(PUMPS.read_text().splitlines(keepends=True)[:51]))
    return str(path)


def written(path: Path, rows: dict[str, Any]) -> str:
    parquet.write_table(pa.table(rows), path)
    return str(path)


def failed(*args: str) -> str:
    """The last line of a run that ends badly; notes may come before it."""
    result = run(*args)
    assert (result.exit_code, result.stdout) == (1, "")
    *notes, sentence = result.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert sentence.startswith("credo: ")
    return sentence


# learn


def test_learning_says_how_good_the_model_is(learned: Any) -> None:
    result = run("learn", TABLE, "--target", "fault", columns=80)
    assert result.exit_code == 0
    text, report, scores = result.stdout, learned.report, learned.report.scores
    assert max(map(len, text.splitlines())) <= 80
    assert "fault: 587 rows, none 372, bearing 117, clogged 98" in text
    assert "left out: 13 rows without fault" in text
    for column in report.columns:
        form = re.escape(column.form) or "left out"
        assert re.search(rf"^{column.name} +{column.kind} +{form} ", text, re.MULTILINE)
    assert re.search(r"^vibration .* 12\.0% ", text, re.MULTILINE)
    for tried in report.tried:
        figures = f"{tried.log_loss:.4f} +{tried.accuracy:.3f} +{tried.share:.2f}"
        name, _, _ = tried.name.partition(" (stopped")  # which may go on in the next line
        assert re.search(rf"^{name} .*{figures} *$", text, re.MULTILINE)
    assert f"± {scores.log_loss_error:.4f}" in text
    for name, figure in zip(("accuracy", "log-loss", "Brier", "ECE"), scores.summary().values(), strict=True):
        assert re.search(rf"^ +{name} +{figure:.4f} ", text, re.MULTILINE)
    for value, row in zip(scores.classes, scores.confusion, strict=True):
        counts = " +".join(f"{n:g}" for n in row)
        assert re.search(rf"^{value} +{counts} *$", text, re.MULTILINE)
    assert "note: column 'pump' is ignored" in result.stderr
    assert "--kind pump=category keeps it" in result.stderr


def test_columns_that_matter_most_come_first(learned: Any) -> None:
    text = ran("learn", TABLE, "-t", "fault", "--top", "3")
    shown = [line.split()[0] for line in text.splitlines() if re.search(r" (number|category|ignore) ", line)]
    assert shown == [each.name for each in learned.report.important[:3]]
    assert "7 more columns" in text


def test_a_model_and_a_page_are_written(learned: Any, tmp_path: Path) -> None:
    saved, page = tmp_path / "m.credo", tmp_path / "m.html"
    result = run("learn", TABLE, "-t", "fault", "-o", str(saved), "--report", str(page))
    assert result.exit_code == 0
    assert f"wrote {saved}" in result.stderr
    assert f"wrote {page}" in result.stderr
    with unheard():
        assert np.array_equal(credo.load(saved).predict_proba(TABLE), learned.predict_proba(TABLE))
    assert page.read_text().startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"m.credo", "m.html"}


@pytest.fixture
def mail(tmp_path: Path) -> str:
    """Messages of two kinds, the one after the other."""
    rng = np.random.default_rng(0)
    words = {"spam": "win a free prize now claim cash <script>", "ham": "see you at home for lunch"}
    kinds = ["spam"] * 30 + ["ham"] * 30
    texts = [" ".join(rng.choice(words[kind].split(), 6)) for kind in kinds]
    return written(tmp_path / "mail.parquet", {"text": texts, "label": kinds})


def test_a_page_of_texts_shows_documents_and_the_curve(mail: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.html"
    text = ran("learn", mail, "-t", "label", "--report", str(path), "--learning-curve")
    assert "Learning curve, on 20 held-out rows, tuned again for each size" in text
    assert re.search(r"accuracy, 0\.\d{3} to 1\.000", text)
    assert re.search(r"^ +1 .* ●$", text.rstrip(), re.MULTILINE) is None  # the worst is at the other end
    page = path.read_text()
    assert "the model is tuned again for each size" in page
    for title in ("Strongest words", "Documents, explained", "Learning curve"):
        assert f"<h2>{title}</h2>" in page
    assert page.count(", labelled <bdi>spam</bdi>") == page.count(", labelled <bdi>ham</bdi>") == 3
    assert '<span class="for"' in page
    assert page.count("<script") == 1  # which sorts tables
    assert "&lt;" in page


def test_a_page_without_a_curve(mail: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.html"
    assert "Learning curve, on" not in ran("learn", mail, "-t", "label", "--report", str(path))
    assert "Learning curve" not in path.read_text()


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
@pytest.mark.slow
def test_the_picture_of_a_learning_curve(mail: str, tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / f"curve.{ending}"
    result = run("learn", mail, "-t", "label", "--plot", str(path))
    assert result.exit_code == 0
    assert "Learning curve, on" in result.stdout
    assert f"wrote {path}" in result.stderr
    assert path.read_bytes().startswith(start)


def test_kinds_and_weights_are_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 200)
    rows = {
        "zip": rng.integers(1, 5, 200), "a=b": np.exp(kind + rng.normal(size=200)), "calls": rng.poisson(2 + kind),
        "wait": rng.gamma(2, 3, 200), "n": rng.integers(1, 3, 200), "id": np.arange(200), "y": kind,
    }  # fmt: skip
    path, saved = written(tmp_path / "t.parquet", rows), tmp_path / "m.credo"
    kinds = ("zip=category", "a=b=log", "calls=count", "wait=binned", "id=ignore")
    options = [word for kind in kinds for word in ("--kind", kind)]
    text = ran("learn", path, "-t", "y", "--weight", "n", *options, "-o", str(saved))
    assert re.search(r"^zip +category ", text, re.MULTILINE)
    assert re.search(r"^id +ignore +left out ", text, re.MULTILINE)
    loaded = credo.load(saved)
    assert loaded.n == sum(rows["n"])
    assert {name: forms[0] for name, forms in loaded.views.items()} == {
        "zip": "category", "a=b": "log", "calls": "count", "wait": "binned"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("naive-bayes", credo.NaiveBayes),
        ("gaussian", credo.GaussianDiscriminant),
    ],
)
@pytest.mark.slow
def test_one_kind_of_model(model: str, kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.credo"
    text = ran("learn", TABLE, "-t", "fault", "--model", model, "-o", str(path))
    loaded: Any = credo.load(path)
    assert isinstance(loaded.plain, kind)
    assert f"Pooled: {loaded.report.why[:20]}" in text
    assert loaded.report.tried[0].log_loss == min(each.log_loss for each in loaded.report.tried)
    assert [each.name for each in loaded.report.columns] == PUMPS.read_text().splitlines()[0].split(",")[:-1]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("tan", credo.TreeAugmented),
        ("aode", credo.OneDependence),
        ("kdb", credo.KDependence),
        ("network", credo.NetworkClassifier),
    ],
)
def test_columns_that_depend_on_each_other(model: str, kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.credo"
    text = ran("learn", TABLE, "-t", "fault", "--model", model, "-o", str(path))
    loaded: Any = credo.load(path)
    assert isinstance(loaded.plain, kind)
    assert f"Pooled: {loaded.report.why[:20]}" in text
    assert "for none" in ran("explain", str(path), TABLE)


def test_many_classes_show_the_most_confused_pairs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 14, 400)
    path = written(tmp_path / "t.parquet", {"x": kind + rng.normal(size=400), "y": [f"class {k}" for k in kind]})
    text = ran("learn", path, "-t", "y", columns=80)
    assert "Most confused of 14 classes" in text
    assert max(map(len, text.splitlines()[2:])) <= 80  # but for names


def test_ten_classes_with_long_names_fit_the_screen(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 10, 400)
    names = [f"a class with a long name, number {k}" for k in kind]
    path = written(tmp_path / "t.parquet", {"x": kind + rng.normal(size=400), "y": names})
    text = ran("learn", path, "-t", "y", columns=80)
    matrix = text.partition("Confusion matrix")[2]
    assert max(map(len, matrix.splitlines())) <= 100


# predict


ENDINGS = [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_predictions_stand_beside_the_rows(model: str, learned: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    result = run("predict", model, TABLE, "-o", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {path}" in result.stderr
    rows = read_back(path)
    with unheard():
        probabilities, predicted = learned.predict_proba(TABLE), learned.predict(TABLE)
    with PUMPS.open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert list(rows[0]) == [*table[0], "predicted", "probability"]
    assert [row["pump"] for row in rows] == [row["pump"] for row in table]
    assert [row["predicted"] for row in rows] == predicted.tolist()
    assert [float(str(row["probability"])) for row in rows] == probabilities.max(1).tolist()
    assert [row["vibration"] in (None, "") for row in rows] == [row["vibration"] == "" for row in table]


def test_probabilities_of_each_class(model: str, learned: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    ran("predict", model, TABLE, "--proba", "-o", str(path))
    table = parquet.read_table(path)
    with unheard():
        wanted = learned.predict_proba(TABLE)
    for k, value in enumerate(learned.classes):
        assert table[f"P({value})"].to_pylist() == wanted[:, k].tolist()


def test_a_pipe_gets_all_rows_as_csv(model: str, tmp_path: Path) -> None:
    done = process("predict", model, TABLE)
    assert (done.returncode, done.stderr) == (0, "")
    ran("predict", model, TABLE, "-o", str(tmp_path / "out.csv"))
    assert done.stdout == (tmp_path / "out.csv").read_text()
    assert len(list(csv.reader(io.StringIO(done.stdout)))) == 601


def test_a_terminal_gets_the_first_rows(model: str) -> None:
    shown = terminal_output([CREDO, "predict", model, TABLE], {"TERM": "dumb", "COLUMNS": "80"})
    lines = [line for line in shown.replace("\r", "").splitlines() if re.match("none|bearing|clogged", line)]
    assert len(lines) == 10
    assert max(map(len, lines)) <= 80
    assert "the first 10 rows" in shown
    assert "no room for" in shown


def test_a_reader_who_leaves_early_is_no_error(model: str) -> None:
    reading, writing = os.pipe()
    with start("predict", model, TABLE, stdout=writing) as running:
        os.close(writing)
        os.close(reading)
        assert running.communicate()[1] == b""
    assert running.returncode == 141


def test_names_stay_unique(model: str, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.parquet", tmp_path / "twice.parquet"
    ran("predict", model, TABLE, "-o", str(once))
    ran("predict", model, str(once), "-o", str(twice))
    assert parquet.read_table(twice).column_names[-4:] == ["predicted", "probability", "predicted_", "probability_"]


def test_columns_of_every_type_pass_through(model: str, tmp_path: Path) -> None:
    import datetime

    rows = {
        "load": [50.0, None], "words": [["a"], []], "day": [datetime.date(2024, 2, 29), None],
        "pair": [{"a": 1}, None], "raw": [b"x", None], "flag": [True, None],
    }  # fmt: skip
    path = written(tmp_path / "t.parquet", rows)
    for ending in ENDINGS:
        out = tmp_path / f"out{ending}"
        assert run("predict", model, path, "-o", str(out)).exit_code == 0
        found = read_back(out)
        assert len(found) == 2
        if ending in (".parquet", ".arrow"):
            assert [{name: row[name] for name in rows} for row in found] == pa.table(rows).to_pylist()
        if ending == ".jsonl":
            assert found[0]["words"] == ["a"]
        if ending == ".csv":
            assert json.loads(str(found[0]["pair"])) == {"a": 1}


def test_classes_keep_their_type(tmp_path: Path) -> None:
    saved, out = tmp_path / "m.credo", tmp_path / "out.parquet"
    rows = {"x": [1.0, 2.0, 3.0, 4.0], "y": [7, 7, 9, 9]}
    credo.save(credo.NaiveBayes().fit(rows, "y"), saved)
    ran("predict", str(saved), written(tmp_path / "t.parquet", rows), "-o", str(out))
    assert parquet.read_table(out)["predicted"].type == pa.int64()


def test_missing_columns_and_new_values_are_told(model: str, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("maker,hours\nAlder,100\nElm,4000\n")
    result = run("predict", model, str(path))
    assert result.exit_code == 0
    assert "note: no column 'site'" in result.stderr
    assert "column 'maker': 1 cell with unseen values" in result.stderr


def test_a_bad_cell_leaves_no_file(model: str, tmp_path: Path) -> None:
    path, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    path.write_text("hours\n" + "100\n" * 70_000 + "many\n")
    before = set(tmp_path.iterdir())
    sentence = failed("predict", model, str(path), "-o", str(out))
    assert "column 'hours' has the value 'many' (row 70001) where a number is needed" in sentence
    assert "use credo learn --kind hours=category" in sentence
    assert set(tmp_path.iterdir()) == before


def test_a_broken_file_leaves_the_old_one(model: str, tmp_path: Path) -> None:
    path, out = tmp_path / "bad.csv", tmp_path / "out.parquet"
    path.write_text("hours,load\n" + "100,1\n" * 70_000 + "1,2,3\n")
    out.write_text("old")
    assert "3 fields, but the header has 2" in failed("predict", model, str(path), "-o", str(out))
    assert out.read_text() == "old"
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".credo")]


def test_parts_of_other_types_are_made_alike_or_refused(model: str, tmp_path: Path) -> None:
    written(tmp_path / "p1.parquet", {"load": [1.5], "note": [1.5]})
    written(tmp_path / "p2.parquet", {"load": [2.5], "note": [2]})
    pattern, out = str(tmp_path / "p?.parquet"), tmp_path / "out.arrow"
    assert run("predict", model, pattern, "-o", str(out)).exit_code == 0
    assert ipc.open_file(out.read_bytes()).read_all()["note"].to_pylist() == [1.5, 2.0]
    written(tmp_path / "p2.parquet", {"load": [2.5], "note": ["two"]})
    assert "column 'note' is double in one part of the data and string in another" in failed(
        "predict", model, pattern, "-o", str(out)
    )
    assert run("predict", model, pattern, "-o", str(tmp_path / "out.csv")).exit_code == 0


LARGE = """
import resource, sys
import numpy as np
import pyarrow as pa
from pyarrow import parquet
import credo
from credo.cli.output import write_tables
from credo.streaming.predictions import predictions
folder, rows = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 1000)
model = credo.NaiveBayes().fit({f"x{j}": rng.normal(size=1000) + y for j in range(10)} | {"y": y}, "y")
part = pa.table({f"x{j}": rng.normal(size=100_000) for j in range(10)})
def parts():
    for _ in range(rows // 100_000):
        yield part
write_tables(predictions(model, parts()), f"{folder}/out.arrow")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        """In kilobytes."""
        call = [sys.executable, "-c", LARGE, str(tmp_path), str(rows)]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        return int(done.stdout)

    few, many = peak(500_000), peak(3_000_000)  # 48 MB, and 288 MB
    assert many < few + 60_000


# explain


def test_an_explanation_adds_up(model: str, learned: Any) -> None:
    text = ran("explain", model, TABLE, "--row", "4", columns=80)
    with PUMPS.open(newline="") as stream:
        row: dict[str, Any] = list(csv.DictReader(stream))[3]
    with unheard():
        found = learned.explain([{name: cell or None for name, cell in row.items()}])
    assert f"P({found.of}) = {found.probability:.4g}" in text
    assert max(map(len, text.splitlines())) <= 80
    weights = [float(weight) for weight in re.findall(r" ([-+]\d+\.\d{3}) ", text)]
    assert weights[0] == pytest.approx(found.prior, abs=5e-4)
    assert weights[-1] == pytest.approx(found.log_odds, abs=5e-4)
    assert sum(weights[:-1]) == pytest.approx(weights[-1], abs=5e-4 * len(weights))
    assert re.search(r"^hours +241 +\+", text, re.MULTILINE)


def test_classes_unit_and_how_many_columns(model: str) -> None:
    text = ran("explain", model, TABLE, "--of", "clogged", "--against", "bearing", "--bits", "--top", "2")
    assert "the log-odds of clogged against bearing, in bits" in text
    assert "8 more columns" in text  # the allowance for label noise is one of them


def test_missing_cells_weigh_nothing(model: str, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("hours,load\n100,50\n")
    assert re.search(r"^flow +missing +\+0\.000 ", ran("explain", model, str(path)), re.MULTILINE)


def test_texts_are_explained_by_their_words(mail: str, tmp_path: Path) -> None:
    saved, note = str(tmp_path / "m.credo"), tmp_path / "note.txt"
    ran("learn", mail, "-t", "label", "-o", saved)
    text = ran("explain", saved, mail)
    assert "text: words for spam +, for ham -" in text
    assert "green" not in text
    assert "allowance for label noise" in text
    assert text.endswith("the data has label: the model may have been trained on this row\n")
    note.write_text("claim a prize", encoding="utf-8")
    assert "may have been trained" not in ran("explain", saved, str(note))
    assert '"claim a prize","spam"' in ran("predict", saved, str(note))
    assert '"claim a prize","spam"' in ran("predict", saved, str(tmp_path / "*.txt"))
    shown = terminal_output([CREDO, "explain", saved, mail], {"TERM": "xterm-256color", "COLUMNS": "100"})
    assert "words for spam in green, for ham in red" in shown


def test_a_sum_of_text_models_is_shown(mail: str, tmp_path: Path) -> None:
    table = parquet.read_table(mail)
    for name, rows in (("a", table.take(list(range(0, 60, 2)))), ("b", table.take(list(range(1, 60, 2))))):
        credo.save(credo.NaiveBayes().fit(rows, "label"), tmp_path / f"{name}.credo")
    ran("merge", str(tmp_path / "a.credo"), str(tmp_path / "b.credo"), "-o", str(tmp_path / "c.credo"))
    assert re.search(r"^text +words +\d+ words$", ran("show", str(tmp_path / "c.credo")), re.MULTILINE)


def test_a_log_loss_is_never_below_0() -> None:
    scores = Scores(("a", "b"), np.array([[0.0, -np.inf]]), np.array([0]), np.ones(1))
    assert str(scores.log_loss) == "0.0"
    assert "log-loss 0.0000" in repr(scores)


def test_classes_that_are_numbers_can_be_named(tmp_path: Path) -> None:
    saved = tmp_path / "m.credo"
    rows = {"x": [1.0, 2.0, 3.0, 4.0], "y": [7, 7, 9, 9]}
    credo.save(credo.NaiveBayes().fit(rows, "y"), saved)
    table = written(tmp_path / "t.parquet", rows)
    assert "log-odds of 9 against 7" in ran("explain", str(saved), table, "--of", "9")


# update, forget, merge


def test_learning_more_and_forgetting_it_again(model: str, fewer: str, learned: Any) -> None:
    before = Path(model).read_bytes()
    assert ran("forget", model, fewer) == f"{model}: 50 rows forgotten, 537 rows in all\n"
    assert credo.load(model).n == 537
    assert ran("update", model, fewer) == f"{model}: 50 rows learned, 587 rows in all\n"
    with unheard():
        np.testing.assert_allclose(credo.load(model).predict_proba(TABLE), learned.predict_proba(TABLE), rtol=1e-9)
    credo.save(learned, model)
    assert Path(model).read_bytes() == before


def test_a_result_in_another_file_leaves_the_first(model: str, fewer: str, tmp_path: Path) -> None:
    before, other = Path(model).read_bytes(), tmp_path / "other.credo"
    assert str(other) in ran("forget", model, fewer, "-o", str(other))
    assert Path(model).read_bytes() == before
    assert credo.load(other).n == 537


def test_rows_that_were_never_learned_are_refused(model: str, tmp_path: Path) -> None:
    before, path = Path(model).read_bytes(), tmp_path / "strange.csv"
    path.write_text(PUMPS.read_text().replace("harbour", "moon"))
    assert "can't forget what was never learned" in refused("forget", model, str(path))
    assert Path(model).read_bytes() == before


def test_rows_without_all_columns_are_not_forgotten(model: str, fewer: str) -> None:
    before, rows = Path(model).read_bytes(), list(csv.reader(Path(fewer).read_text().splitlines()))
    Path(fewer).write_text("\n".join(",".join([*row[:5], *row[6:]]) for row in rows) + "\n")
    assert "but 'load' is absent" in refused("forget", model, fewer)
    assert Path(model).read_bytes() == before


def test_weights_when_learning_and_forgetting(tmp_path: Path) -> None:
    saved = str(tmp_path / "m.credo")
    rows = {"x": [1.0, 2.0, 3.0, 4.0], "n": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}
    table = written(tmp_path / "t.parquet", rows)
    credo.save(credo.NaiveBayes().fit(table, "y", weight="n"), saved)
    assert "10 rows learned, 20 rows in all" in ran("update", saved, table, "--weight", "n")
    assert "10 rows forgotten, 10 rows in all" in ran("forget", saved, table, "--weight", "n")


@pytest.mark.parametrize("options", [("--column", "converted"), ("--column", "converted", "--by", "ad")])
def test_beliefs_learn_forget_and_merge_too(options: tuple[str, ...], tmp_path: Path) -> None:
    ads, saved, both = str(ADS), str(tmp_path / "ads.credo"), str(tmp_path / "both.credo")
    ran("estimate", ads, *options, "-o", saved)
    n = credo.load(saved).n
    ran("update", saved, ads)
    assert credo.load(saved).n == 2 * n
    ran("forget", saved, ads)
    assert credo.load(saved).n == n
    assert "2 files merged" in ran("merge", saved, saved, "-o", both)
    assert credo.load(both).n == 2 * n


def test_parts_merge_into_the_whole(tmp_path: Path) -> None:
    with unheard():
        whole = credo.NaiveBayes().fit(TABLE, "fault")
        lines = PUMPS.read_text().splitlines(keepends=True)
        paths = []
        for i in range(3):
            part = tmp_path / f"{i}.csv"
            part.write_text(lines[0] + "".join(lines[1 + i :: 3]))
            paths.append(str(tmp_path / f"{i}.credo"))
            credo.save(credo.NaiveBayes().fit(part, "fault"), paths[-1])
        assert "3 files merged, 587 rows in all" in ran("merge", *paths, "-o", str(tmp_path / "all.credo"))
        merged = credo.load(tmp_path / "all.credo")
        np.testing.assert_allclose(merged.predict_proba(TABLE), whole.predict_proba(TABLE), rtol=1e-12)


# show


def test_a_classifier_is_shown_with_its_report(model: str, learned: Any) -> None:
    text = ran("show", model, columns=200)
    assert f"{type(learned).__name__}, saved by credo {credo.__version__}" in text
    assert "fault: 587 rows, none 372" in text
    assert f"tuned: {learned.tuning.described(learned.n)}" in text
    assert f"{learned.report.scores.log_loss:.4f}" in text
    assert "first learned from" not in text


def test_a_report_that_is_older_than_the_evidence_is_said_to_be(model: str, fewer: str) -> None:
    ran("update", model, fewer)
    text = ran("show", model, columns=200)
    assert "The report below is about the 587 rows that it first learned from" in text
    assert "older than the evidence" in text
    ran("forget", model, fewer)
    assert "587 rows" not in ran("show", model).partition("tuned")[2]  # a report of forgotten rows is gone


def test_a_classifier_without_a_report_is_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "m.credo")
    with unheard():
        credo.save(credo.NaiveBayes(kinds={"load": credo.Number("binned")}).fit(TABLE, "fault"), path)
    text = ran("show", path)
    assert re.search(r"^maker +category +Alder, Birch, Cedar", text, re.MULTILINE)
    assert re.search(r"^load +binned *$", text, re.MULTILINE)
    credo.save(credo.NaiveBayes(), path)
    assert "NaiveBayes, not fitted yet" in ran("show", path)


# Errors


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("learn", "nope.csv", "-t", "y"), "there is no file 'nope.csv'"),
        (("learn", TABLE, "-t", "fualt"), "Did you mean 'fault'?"),
        (("learn", TABLE, "-t", "load", "--model", "tan"), "holds numbers with fractions"),
        (("learn", TABLE, "-t", "fault", "--weight", "wieght"), "no column 'wieght'"),
        (("learn", TABLE, "-t", "fault", "-k", "lode=log"), "Did you mean 'load'?"),
        (("learn", TABLE, "-t", "fault", "-k", "maker=number"), "use --kind maker=category"),
        (("learn", TABLE, "-t", "fault", "-o", "m.csv"), "must end in .credo"),
        (("learn", TABLE, "-t", "fault", "-o", "nowhere/m.credo"), "there is no folder nowhere"),
        (("learn", TABLE, "-t", "fault", "--report", "r.pdf"), "must end in .html"),
        (("learn", TABLE, "-t", "fault", "--plot", "curve.gif"), "must end in one of .png, .svg, .pdf"),
        (("predict", "nope.credo", TABLE), "there is no such file"),
        (("predict", TABLE, TABLE), "is not a credo file"),
        (("predict", "{model}", "nope.csv"), "there is no file 'nope.csv'"),
        (("predict", "{model}", str(ADS)), "the table has none of the model's columns"),
        (("predict", "{model}", TABLE, "-o", "x.credo"), "must end in one of .csv"),
        (("predict", "{model}", TABLE, "-o", "nowhere/x.csv"), "there is no folder nowhere"),
        (("explain", "{model}", TABLE, "--row", "601"), "there is no row 601: the data has 600"),
        (("explain", "{model}", TABLE, "--of", "clogd"), "Did you mean 'clogged'?"),
        (("explain", "{model}", TABLE, "--of", "none", "--against", "none"), "of and against are both 'none'"),
        (("explain", "{model}", str(ADS)), "the table has none of the model's columns"),
        (("update", "{model}", str(ADS)), "no column 'fault'"),
        (("update", "nope.credo", TABLE), "there is no such file"),
        (("forget", "{model}", "nope.csv"), "there is no file 'nope.csv'"),
        (("merge", "{model}", "{belief}", "-o", "x.credo"), "models of different kinds don't merge"),
        (("merge", "{model}", "nope.credo", "-o", "x.credo"), "there is no such file"),
        (("predict", "{belief}", TABLE), "holds a Belief, not a classifier"),
        (("update", "{prior}", TABLE), "holds a BetaBernoulli, which has learned no rows"),
    ],
)
def test_errors_are_one_sentence(
    args: tuple[str, ...], sentence: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"model": model, "belief": str(tmp_path / "b.credo"), "prior": str(tmp_path / "p.credo")}
    credo.save(credo.BetaBernoulli(1, 1).update([True]), files["belief"])
    credo.save(credo.BetaBernoulli(1, 1), files["prior"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sentence in failed(*(word.format(**files) for word in args))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("learn", TABLE), "--target"),
        (("learn", TABLE, "-t", "fault", "--kind", "load"), "isn't a column and a kind, as in zip=category"),
        (("learn", TABLE, "-t", "fault", "--kind", "load=round"), "the kinds are category, number"),
        (("learn", TABLE, "-t", "fault", "--model", "best"), "--model"),
        (("explain", "m.credo", TABLE, "--row", "0"), "--row"),
        (("merge", "-o", "x.credo"), "MODELS"),
        (("merge", "a.credo"), "--output"),
    ],
)
def test_usage_errors_say_what_is_expected(args: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*args, code=2)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"x": [1.0, 2.0], "y": ["a", "a"]}, "one class only"),
        ({"x": [1.0, 2.0], "y": pa.array([None, None], pa.string())}, "no row has a class"),
        ({"y": ["a", "b"]}, "no column besides 'y'"),
        ({"x": pa.array([], pa.float64()), "y": pa.array([], pa.string())}, "empty"),
    ],
)
@pytest.mark.parametrize("model", ["auto", "naive-bayes", "gaussian"])
def test_tables_that_teach_nothing(rows: dict[str, Any], sentence: str, model: str, tmp_path: Path) -> None:
    assert sentence in failed("learn", written(tmp_path / "t.parquet", rows), "-t", "y", "--model", model)


def test_names_from_the_data_cannot_command_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J[bold]"
    rows = {evil: [1.0, 2.0, 3.0, 4.0] * 5, "c": [evil, "b"] * 10, "y": [evil, "plain"] * 10}
    path, saved = written(tmp_path / "t.parquet", rows), str(tmp_path / "m.credo")
    for args in (("learn", path, "-t", "y", "-o", saved), ("explain", saved, path), ("show", saved)):
        text = ran(*args)
        assert "\x1b" not in text
        assert "[bold]" in text


# The screen


def test_bars_never_fail() -> None:
    assert bars([], 10) == []
    assert bars([0.0, 0.0], 10) == ["", ""]
    assert weights([0.0, 0.0], 9) == ["    │    "] * 2
    assert weights([float("-inf"), 1.0, -1.0], 9) == ["████│    ", "    │████", "████│    "]


def test_the_command_offers_all_kinds_of_models() -> None:
    """It lists them itself, since importing them would keep `credo --help` waiting."""
    from credo.cli.learn import MODELS, NETWORK_MODEL
    from credo.cli.single_models import SINGLE_MODELS
    from credo.selection.learn import MODEL_KINDS

    assert set(MODEL_KINDS) == {*MODELS, NETWORK_MODEL, *SINGLE_MODELS}


@pytest.mark.parametrize("stdout", [">&-", "> /dev/full"])
def test_a_file_that_was_changed_is_no_failure(tmp_path: Path, stdout: str) -> None:
    """Who runs a failed update again would count rows twice."""
    data, model = tmp_path / "a.csv", tmp_path / "m.credo"
    data.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(40)))
    credo.save(credo.NaiveBayes().fit(str(data), "y"), model)
    done = subprocess.run(
        f"{sys.executable} -m credo update {model} {data} {stdout}", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "40 rows learned, 80 rows in all" in done.stderr
    assert credo.load(model).n == 80
