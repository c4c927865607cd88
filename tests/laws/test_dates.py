"""Dates are numbers, days since 1970, whatever they come as; credo.learn weighs weekday, month and hour beside them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo import NaiveBayes, Schema
from credo.blocks.calendar import CALENDAR_VALUES, MONTHS, WEEKDAYS, part_codes
from credo.data import source
from credo.errors import DataError, Notice

DAYS = [dt.date(2023, 1, 1) + dt.timedelta(days=37 * i % 730) for i in range(120)]
WORDS = [day.isoformat() for day in DAYS]
CLASSES = ["yes" if day.weekday() >= 5 or (day.year == 2024 and day.month < 3) else "no" for day in DAYS]
NUMBERS = [(day - dt.date(1970, 1, 1)).days for day in DAYS]


def forms(folder: Path) -> list[Any]:
    table = pa.table({"when": pa.array(DAYS), "y": CLASSES})
    strings = pa.table({"when": WORDS, "y": CLASSES})
    stamps = table.set_column(0, "when", table["when"].cast(pa.timestamp("ns")))
    zoned = table.set_column(0, "when", table["when"].cast(pa.timestamp("s")).cast(pa.timestamp("s", "UTC")))
    for name, rows in (("a", strings), ("b", table)):
        pd.DataFrame(rows.to_pydict()).to_csv(folder / f"{name}.csv", index=False)
        pq.write_table(rows, folder / f"{name}.parquet")
    pl.from_arrow(strings).write_ndjson(folder / "a.jsonl")  # type: ignore[union-attr]
    files = [folder / name for name in ("a.csv", "b.csv", "a.parquet", "b.parquet", "a.jsonl")]
    frame = pd.DataFrame({"when": pd.to_datetime(WORDS), "y": CLASSES})
    memory = [table, strings, stamps, zoned, frame, pl.from_arrow(table), pl.from_arrow(stamps)]
    relation = duckdb.connect().from_arrow(table)
    arrays = [{"when": np.array(WORDS, dtype="datetime64[D]"), "y": CLASSES}, {"when": DAYS, "y": CLASSES}]
    return [*files, *memory, relation, *arrays, table.to_pylist()]


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%Y/%m/%d", "%d.%m.%Y 00:00", " %Y/%m/%d"])
def test_other_ways_to_write_a_day_are_the_same(written: str) -> None:
    cells = [day.strftime(written) for day in DAYS]
    short = [f"{day.day}.{day.month}.{day.year}" for day in DAYS]
    model = NaiveBayes().fit({"when": cells, "y": CLASSES}, target="y")
    assert Schema.infer({"when": cells})["when"].kind == Schema.infer({"when": short})["when"].kind == "date"
    expected = NaiveBayes().fit({"when": WORDS, "y": CLASSES}, target="y").predict_proba({"when": WORDS})
    for again in (cells, short, WORDS):
        np.testing.assert_allclose(model.predict_proba({"when": again}), expected, rtol=1e-12)


@pytest.mark.parametrize("cells", [["31.2.2024", "1.3.2024", "2.3.2024"], ["31/05/2024", "01/06/2024", "02/06/2024"]])
@pytest.mark.filterwarnings("ignore:column 'when'. dates such as 4/5/2024")
def test_what_is_no_day_or_may_be_another_stays_a_word(cells: list[str]) -> None:
    assert Schema.infer({"when": cells})["when"].kind == "category"


def test_all_forms_are_one(tmp_path: Path) -> None:
    plain = NaiveBayes().fit({"when": np.array(NUMBERS, dtype=float), "y": CLASSES}, target="y")
    expected = plain.predict_proba({"when": NUMBERS})
    for data in forms(tmp_path):
        assert Schema.infer(data)["when"].kind == "date"
        model = NaiveBayes().fit(data, target="y")
        np.testing.assert_allclose(model.predict_proba(data), expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba({"when": WORDS}), expected, rtol=1e-12)


MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))


@given(MOMENTS)
@settings(deadline=None, max_examples=40)
def test_parts_of_a_moment(moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=0)
    for cell in (moment, moment.isoformat(), moment.isoformat(" "), pd.Timestamp(moment), np.datetime64(moment)):
        (batch,) = source({"x": [cell]}).batches(["x"])
        days = batch.numbers("x")
        assert days[0] == (moment - dt.datetime(1970, 1, 1)).total_seconds() / 86_400
        found = {part: names[int(part_codes(days, part)[0])] for part, names in CALENDAR_VALUES.items()}
        assert found == {
            "weekday": WEEKDAYS[moment.weekday()], "month": MONTHS[moment.month - 1], "hour": f"{moment.hour:02} h",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        ("2024-02-29", "2024-02-29T00:00:00"),
        ("2024-02-29 17:30", "2024-02-29T17:30:00"),
        ("2024-02-29T17:30:05.25", "2024-02-29T17:30:05.250"),
        ("2024-02-29T17:30:05.123456789", "2024-02-29T17:30:05.123456"),
        ("2024-02-29T17:30:00Z", "2024-02-29T17:30:00"),
        ("2024-02-29T17:30:00+02:00", "2024-02-29T15:30:00"),
        ("2024-02-29 17:30-0930", "2024-03-01T03:00:00"),
        ("  2024-02-29 ", "2024-02-29T00:00:00"),
    ],
)
def test_how_dates_are_written(word: str, moment: str) -> None:
    data = {"x": [word, "1999-12-31", "2000-01-01"]}
    assert Schema.infer(data)["x"].kind == "date"
    (batch,) = source(data).batches(["x"])
    microseconds = np.datetime64(moment).astype("datetime64[us]").astype(float)
    np.testing.assert_allclose(batch.numbers("x")[0], microseconds / 86_400e6)


@pytest.mark.filterwarnings("ignore:column 'x'. dates such as 4/5/2024")
def test_what_is_no_date() -> None:
    for words in (
        ["2023-02-29", "2023-02-01", "2023-02-02"],  # there is no such day
        ["31/05/2024", "01/06/2024", "02/06/2024"],
        ["2024-05", "2024-06", "2024-07"],
        ["2024-05-31", "2024-06-01", "later"],
        ["12:30", "13:30", "14:30"],
        ["2024-05-31", "2024-06-01", "2024-05-31"],  # two values are names
    ):
        assert Schema.infer({"x": words})["x"].kind == "category", words


def test_missing_dates(tmp_path: Path) -> None:
    cells: list[Any] = [None if i % 10 == 3 else word for i, word in enumerate(WORDS)]
    empty = NaiveBayes().fit({"when": cells, "y": CLASSES}, target="y")
    path = tmp_path / "a.csv"
    path.write_text("when,y\n" + "".join(f"{cell or 'NA'},{y}\n" for cell, y in zip(cells, CLASSES, strict=True)))
    with pytest.warns(Notice, match=r"12 cells read as missing: 'NA' \(12\) among the dates of column 'when'"):
        model = NaiveBayes().fit(path, target="y")
    expected = empty.predict_proba({"when": WORDS})
    np.testing.assert_array_equal(model.predict_proba({"when": WORDS}), expected)
    frame = pd.DataFrame({"when": pd.to_datetime(pd.Series(cells)), "y": CLASSES})
    np.testing.assert_allclose(NaiveBayes().fit(frame, target="y").predict_proba({"when": WORDS}), expected, rtol=1e-12)
    prior = np.exp(model.terms.log_prior)
    for cell in (None, "NA", pd.NaT):
        np.testing.assert_allclose(model.predict_proba({"when": [cell]})[0], prior)
    with pytest.raises(DataError, match="column 'when' has the value 'soon'"):
        model.predict({"when": ["soon"]})


def test_the_verbs() -> None:
    rows = {"when": WORDS, "y": CLASSES}
    head, tail = ({name: cells[part] for name, cells in rows.items()} for part in (slice(70), slice(70, None)))
    for learn in (lambda data: NaiveBayes().fit(data, target="y"), lambda data: credo.learn(data, target="y")):
        model = learn(rows)
        first = model.forget(tail)
        again = first.update(tail)
        np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows), rtol=1e-9)
        live = first.live()
        for when, y in zip(tail["when"], tail["y"], strict=True):
            live.observe({"when": dt.date.fromisoformat(when) if y == "yes" else when, "y": y})
        np.testing.assert_allclose(live.freeze().predict_proba(rows), again.predict_proba(rows), rtol=1e-12)
        for cell in (WORDS[5], DAYS[5], pd.Timestamp(WORDS[5])):
            shares = [*live.predict_proba({"when": cell}).values()]
            np.testing.assert_allclose(shares, live.freeze().predict_proba({"when": [WORDS[5]]})[0], rtol=1e-9)
    one, two = NaiveBayes().fit(head, target="y"), NaiveBayes().fit(tail, target="y")
    whole = NaiveBayes().fit(rows, target="y")
    np.testing.assert_allclose((one + two).predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)


def test_it_is_saved(tmp_path: Path) -> None:
    rows = {"when": WORDS, "y": CLASSES}
    model = credo.learn(rows, target="y")
    credo.save(model, tmp_path / "m.credo")
    same = credo.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(same.predict_proba(rows), model.predict_proba(rows))


def test_made_up_rows_have_dates() -> None:
    model = NaiveBayes().fit({"when": WORDS, "y": CLASSES}, target="y")
    drawn = model.sample(500, seed=0)
    assert pa.types.is_timestamp(drawn.schema.field("when").type)
    years = [moment.year for moment in drawn["when"].to_pylist()]
    assert 2022 <= np.median(years) <= 2025
    assert set(NaiveBayes().fit(drawn, target="y").classes) == {"no", "yes"}


def test_learn_finds_the_weekday_and_says_so() -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("2022-01-01") + rng.integers(0, 1000, 500)
    weekend = part_codes(days.astype(float), "weekday") >= 5
    rows = {"when": days, "y": np.where(weekend ^ (rng.random(500) < 0.1), "rest", "work")}
    model = credo.learn(rows, target="y")
    assert "weekday" in model.tuning.forms["when"]
    assert model.report.scores.accuracy > 0.85
    (read,) = model.report.columns
    assert (read.kind, "weekday" in read.form) == ("date", True)
    found = model.explain({"when": ["2024-06-01"]})
    assert found.of == "rest"
    assert "when = 2024-06-01" in repr(found)
    assert NaiveBayes().fit(rows, target="y").leave_one_out(rows).accuracy < 0.8


def test_learn_finds_nothing_where_nothing_is() -> None:
    rng = np.random.default_rng(1)
    days = np.datetime64("2022-01-01") + rng.integers(0, 1000, 400)
    rows = {"when": days[:200], "y": rng.choice(["a", "b"], 400)[:200]}
    model = credo.learn(rows, target="y")
    fresh = model.predict_log_proba({"when": days[200:]})
    truth = rng.choice(["a", "b"], 200)
    loss = -fresh[np.arange(200), (truth == "b").astype(int)].mean()
    assert loss < 1.05 * np.log(2)


def test_hours() -> None:
    rng = np.random.default_rng(2)
    moments = np.datetime64("2024-01-01T00:00:00") + rng.integers(0, 60 * 86_400, 600)
    night = part_codes(moments.astype(float) / 86_400, "hour") < 6
    model = credo.learn({"at": moments, "y": np.where(night, "night", "day")}, target="y")
    assert "hour" in model.tuning.forms["at"]
    assert model.predict({"at": ["2024-02-03 03:15", "2024-02-03 15:15"]}).tolist() == ["night", "day"]


def test_kinds_override() -> None:
    rows = {"when": WORDS, "y": CLASSES}
    assert NaiveBayes(kinds={"when": "category"}).fit(rows, target="y").views == {"when": ("category",)}
    number = NaiveBayes(kinds={"when": "number"}).fit(rows, target="y")
    np.testing.assert_allclose(number.predict_proba(rows), NaiveBayes().fit(rows, target="y").predict_proba(rows))
    with pytest.raises(DataError, match="where a number is needed"):
        NaiveBayes(kinds={"x": "date"}).fit({"x": ["a", "b"], "y": [0, 1]}, target="y")


def test_groups_and_beliefs() -> None:
    """Dates that group rows keep their spelling; a belief about dates is one about days since 1970."""
    shop = {"day": ["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-01"], "sold": [1, 0, 1, 1]}
    by = credo.estimate(shop, "sold", by="day", prior=credo.BetaBernoulli(1, 1))
    assert by.groups.to_pylist() == ["2024-05-01", "2024-05-02", "2024-05-03"]
    belief = credo.estimate(shop, "day", prior=credo.NormalMean(0, 1e9, 1))
    assert round(belief.mean()) == np.datetime64("2024-05-02").astype(int)


def test_questions() -> None:
    model = NaiveBayes().fit({"when": WORDS, "y": CLASSES}, target="y")
    found = credo.ask(model, "P(y | when='2024-06-01')")
    np.testing.assert_allclose([*found.values()], model.predict_proba({"when": ["2024-06-01"]})[0])
    with pytest.raises(credo.CredoError, match="when must be a date in quotes, as '2024-05-31', but is 'soon'"):
        credo.ask(model, "P(y | when=soon)")
    with pytest.raises(credo.CredoError, match="when must be a date in quotes"):
        credo.ask(model, "P(y | when=19800)")


def test_it_is_shown(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from credo.cli.group import main

    path, model, page = tmp_path / "a.csv", tmp_path / "m.credo", tmp_path / "r.html"
    path.write_text("when,y\n" + "".join(f"{word},{y}\n" for word, y in zip(WORDS, CLASSES, strict=True)))
    run = CliRunner().invoke
    shown = run(main, ["show", str(path)])
    assert f"{min(WORDS)} to {max(WORDS)}" in shown.output
    learned = run(main, ["learn", str(path), "-t", "y", "-o", str(model), "--report", str(page)])
    assert learned.exit_code == 0, learned.output
    assert "date" in run(main, ["show", str(model)]).output
    explained = run(main, ["explain", str(model), str(path), "--row", "3"])
    assert WORDS[2] in explained.output
    predicted = run(main, ["predict", str(model), str(path)])
    assert f'"{WORDS[0]}"' in predicted.output
    assert "2023-" in page.read_text() or "2024-" in page.read_text()


UNCLEAR_DATES = "column 'when': dates such as 4/5/2024 are read as words, since the month may be April or May"
UNCLEAR = [
    ["4/5/2024", "31/05/2024", "1/2/2023"],
    ["12/31/2024 17:30", "1/2/2024 08:00", "3/4/2024 09:10"],
    ["04-05-2024", "", "31-05-2024", "01-05-2024"],
    ["4/5/24", "31/5/24", "NA", "1/5/24"],
]


@pytest.mark.parametrize("words", UNCLEAR)
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.filterwarnings("ignore:column 'when' is ignored")
def test_dates_whose_month_is_unclear_stay_words_with_a_notice(words: list[str], times: int, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("when,x\n" + "".join(f"{word},{i / 2}\n" for i, word in enumerate(words * times)))
    for data in (path, {"when": words * times}):
        with pytest.warns(credo.Notice, match=UNCLEAR_DATES):
            assert Schema.infer(data)["when"].kind != "date"
    classes = ["a", "b"] * len(words * times)
    with pytest.warns(credo.Notice, match=UNCLEAR_DATES):
        NaiveBayes().fit({"when": words * times * 2, "y": classes}, target="y")


@pytest.mark.parametrize(
    "words", [["20-00-00", "10-20-30", "1-2-3"], ["1/2", "3/4", "5/6"], ["4/5/2024", "none", "later", "1/2/2024"]]
)
@pytest.mark.filterwarnings("error")
def test_what_isnt_a_date_gets_no_notice(words: list[str]) -> None:
    assert Schema.infer({"code": words * 2})["code"].kind == "category"


@pytest.mark.filterwarnings("error")
def test_declared_categories_get_no_notice_of_dates() -> None:
    data = {"when": UNCLEAR[0] * 4, "y": list("ab") * 6}
    NaiveBayes(kinds={"when": "category"}).fit(data, target="y")


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_every_unit_of_numpy_is_read(unit: str) -> None:
    moments = np.array(["2020-02-03T04:05:06", "2021-12-30T17:00:01", "NaT", "2023-07-31T23:59:59"], dtype="M8[s]")
    cells = moments.astype(f"datetime64[{unit}]")
    assert Schema.infer({"when": cells})["when"].kind == "date"
    (batch,) = source({"when": cells}).batches(["when"])
    expected = np.where(np.isnat(cells), np.nan, cells.astype("M8[us]").astype(float) / 86_400e6)
    np.testing.assert_allclose(batch.numbers("when"), expected)
    (listed,) = source({"when": [*cells[:2], None, cells[3]]}).batches(["when"])
    np.testing.assert_allclose(listed.numbers("when"), expected)
