"""Every engine gives the same bits: threads, one batch after another, and other processes, whatever their number."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import credo
from credo import Notice, engines
from credo.core.learning import Weights
from credo.data import Batch, source
from credo.data.sources import BatchRows
from credo.engines.partitions import FAN_IN, added
from tests.processes import Processes

ROWS, SMALL = 700, 60  # of the tables, and of a batch
MEAN = credo.NormalMean(0, 1, 1)
OTHERS = ("array", "csv.gz", "jsonl", "arrow", "relation", "rows")
SLOW = [pytest.param(form, marks=pytest.mark.slow) for form in OTHERS]
FORMS = ["table", "csv", "parquet", *SLOW]


def columns(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], ROWS)
    shift = (kind == "a") * 1.5
    return {
        "x": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS) + shift),
        "z": rng.normal(size=ROWS) - shift,
        "word": np.where(kind == "b", rng.choice(["red", "blue"], ROWS), rng.choice(["blue", "green"], ROWS)),
        "note": np.array([f"{k} {rng.choice(['wet', 'dry'])} day number {i % 40}" for i, k in enumerate(kind)]),
        "kind": kind,
    }


def as_form(form: str, folder: Path) -> Any:
    """The same rows: in memory, or in files each of which is a partition of its own."""
    frame = pl.DataFrame(columns()).with_columns(pl.col("x").fill_nan(None))
    if form == "table":
        return frame.to_arrow()
    if form == "array":
        return {name: frame[name].to_numpy() if name in "xz" else frame[name].to_list() for name in frame.columns}
    if form == "relation":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    if form == "rows":
        return frame.to_dicts()
    for i, start in enumerate((0, 150, 151, 480)):
        part = frame[start : (150, 151, 480, ROWS)[i]]
        path = folder / f"{i}.{form}"
        if form.startswith("csv"):
            part.write_csv(path, compression="gzip" if form.endswith("gz") else "uncompressed")
        elif form == "jsonl":
            part.write_ndjson(path)
        elif form == "parquet":
            pq.write_table(part.to_arrow(), path, row_group_size=100)
        else:
            with pa.ipc.new_file(path, part.to_arrow().schema) as file:
                file.write_table(part.to_arrow(), max_chunksize=90)
    return str(folder / f"*.{form}")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)


def bits(value: Any) -> Any:
    """What must be the same, to the last bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes() if value.dtype != object else value.tolist()
    return [bits(each) for each in value] if isinstance(value, tuple | list) else value


def evidence_bits(model: Any) -> Any:
    return {
        label: [(sums.value.tobytes() if hasattr(sums, "value") else None) for sums in part.statistics.sums]
        for label, part in model.evidence.parts.items()
        if hasattr(part.statistics, "sums")
    }


def fitted(data: Any) -> Any:
    model = credo.NaiveBayes().fit(data, target="kind")
    return evidence_bits(model), bits(model.predict_proba(data)), bits(model.predict(data)), model.classes


def weighed(data: Any) -> Any:
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], ROWS)
    model = credo.NaiveBayes(kinds={"note": "ignore"}).fit(data, target="kind", weight=weight)
    scores = model.leave_one_out(data, weight=weight)
    return evidence_bits(model), bits(scores.log_probabilities), bits(scores.weights)


def validated(data: Any) -> Any:
    model = credo.NaiveBayes(kinds={"note": "ignore"}).fit(data, target="kind")
    scores = model.cross_validate(data, folds=5, seed=3)
    return bits(scores.log_probabilities), bits(scores.truth), bits(model.scores(data).log_probabilities)


def estimated(data: Any) -> Any:
    found = credo.estimate(data, "z", by="word")
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    both = credo.estimate(data, ["x", "z"], prior=prior)
    each = credo.estimate(data, "x", prior=prior).cross_validate({"x": columns()["x"]}, folds=4)
    return bits(found.mean()), evidence_bits(both["x"]), evidence_bits(both["z"]), bits(each.log_probabilities)


def targeted(data: Any) -> Any:
    target = columns()["kind"][::-1].copy()
    model = credo.GaussianDiscriminant("tied", kinds={"note": "ignore", "kind": "ignore"}).fit(data, target=target)
    return evidence_bits(model), bits(model.log_joint(data)), bits(model.mahalanobis(data))


def some_rows(data: Any) -> Any:
    chosen = np.random.default_rng(2).random(ROWS) < 0.6
    table = source(data).where(chosen).renamed({"z": "other"})
    weights = np.arange(1.0, chosen.sum() + 1)
    return evidence_bits(credo.estimate(table, "other", prior=credo.NormalMean(0, 1, 1), weight=weights))


def networked(data: Any) -> Any:
    net = credo.Network("kind -> word").fit(data)
    filled = net.impute(source(data).without("word"))
    return bits(net.predict_proba("kind", data)), bits(net.log_prob(data)), filled.num_rows, bits(net.tables["word"])


VERBS: dict[str, Callable[[Any], Any]] = {
    each.__name__: each for each in (fitted, weighed, validated, estimated, targeted, some_rows, networked)
}


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2, SMALL) as engine:
        yield engine


@pytest.mark.filterwarnings("ignore::credo.Notice")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_every_engine_gives_the_same_bits(form: str, verb: str, tmp_path: Path, processes: Processes) -> None:
    data, before = as_form(form, tmp_path), processes.tasks
    local = VERBS[verb](data)
    with engines.using(engines.Serial()):
        assert VERBS[verb](data) == local
    with engines.using(processes):
        assert VERBS[verb](data) == local
    assert processes.tasks > before + 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.Notice")
@pytest.mark.parametrize("form", ["table", "parquet"])
def test_learning_and_tuning_on_other_processes(form: str, tmp_path: Path, processes: Processes) -> None:
    def learned() -> Any:
        model = credo.learn(data, target="kind")
        return model.report.scores.log_loss, bits(model.predict_proba(data)), bits(model.leave_one_out(data).truth)

    data = as_form(form, tmp_path)
    here = learned()
    with engines.using(processes):
        assert learned() == here


@pytest.mark.slow
def test_the_number_of_workers_does_not_matter(tmp_path: Path, processes: Processes) -> None:
    data = as_form("parquet", tmp_path)
    found = []
    with Processes(3, SMALL) as more, Processes(1, SMALL) as one:
        for engine in (processes, more, one):
            with engines.using(engine):
                found.append(weighed(data))
    assert found[0] == found[1] == found[2]


def test_files_are_opened_where_the_work_is(tmp_path: Path, processes: Processes) -> None:
    """What is sent is small, and knows its row numbers; rows of files don't travel."""
    for form in ("csv", "jsonl", "parquet", "arrow"):
        (tmp_path / form).mkdir()
        found = [*source(as_form(form, tmp_path / form)).partitions(["x", "note"])]
        assert len(found) >= 4
        sizes = [len(pickle.dumps(own)) for own in found]
        assert max(sizes) < 4000
        again: list[Any] = pickle.loads(pickle.dumps(found))
        numbers = [(batch.start, batch.rows) for own in again for batch in own.batches()]
        assert [start for start, _ in numbers] == np.cumsum([0, *(rows for _, rows in numbers)])[:-1].tolist()
        assert sum(rows for _, rows in numbers) == ROWS
    assert processes.workers == 2


def test_slices_are_pickled_without_what_they_are_slices_of() -> None:
    table = source({"x": np.arange(100_000.0), "y": ["a", "b"] * 50_000})
    block = source(np.random.default_rng(0).normal(size=(100_000, 3)))
    for data in (table, block):
        batch = next(data.weighted(np.ones(100_000)).batches(list(data.names)))
        sent = pickle.dumps(batch)
        assert len(sent) < 60 * 50 + 2000
        again = pickle.loads(sent)
        for name in data.names:
            assert again.column(name).to_pylist() == batch.column(name).to_pylist()
        np.testing.assert_array_equal(again.weight, batch.weight)


@pytest.mark.parametrize(
    ("verb", "text"),
    [
        (lambda data: credo.estimate(data, "x", prior=credo.GammaPoisson(1, 1)), "row 333"),
        (lambda data: credo.estimate(data, "x", prior=MEAN, weight=[1.0] * 401), "401 weights and 400"),
        (lambda data: credo.estimate(data, "x", prior=MEAN, weight=[1.0] * 398 + [-1, 1]), "row 399"),
        (lambda data: credo.NaiveBayes().fit(data, target=["a", "b"] * 199), "has 398 values, but the table has 400"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet", "table"])
def test_errors_name_rows_of_the_table(form: str, verb: Any, text: str, tmp_path: Path, processes: Processes) -> None:
    frame = pl.DataFrame({"x": [1.0] * 332 + [0.5] + [2.0] * 67})
    for i in range(4):
        if form == "csv":
            frame[i * 100 : i * 100 + 100].write_csv(tmp_path / f"{i}.csv")
        else:
            frame[i * 100 : i * 100 + 100].write_parquet(tmp_path / f"{i}.parquet")
    data = frame if form == "table" else str(tmp_path / f"*.{form}")
    for engine in (engines.Local(), engines.Serial(), processes):
        with engines.using(engine), pytest.raises(credo.DataError, match=text):
            verb(data)


def test_notices_come_back(tmp_path: Path, processes: Processes) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_bytes(b"gr\xfcn and green words")
        (tmp_path / label / "2.txt").write_bytes(b"blue and red words")
    with engines.using(processes), pytest.warns(Notice, match="not UTF-8 text: 1 document"):
        credo.NaiveBayes().fit(str(tmp_path), target="label")


def test_progress_counts_rows_on_any_engine(tmp_path: Path, processes: Processes) -> None:
    data = as_form("csv", tmp_path)
    for engine in (engines.Local(), processes):
        seen: list[int] = []
        token = engines.local.progress.set(seen.append)
        try:
            with engines.using(engine):
                found = credo.estimate(data, "z", prior=credo.NormalMean(0, 1, 1))
        finally:
            engines.local.progress.reset(token)
        assert found.n == ROWS
        assert sum(seen) >= ROWS


@pytest.mark.parametrize("count", [0, 1, 2, FAN_IN - 1, FAN_IN, FAN_IN + 1, 5 * FAN_IN + 3, 1000])
def test_sums_keep_the_order_and_take_few_additions(count: int) -> None:
    sizes: list[int] = []

    def total(parts: Any) -> str:
        sizes.append(len(parts))
        return "".join(parts)

    found = added(map(str, range(count)), total)
    assert found == ("".join(map(str, range(count))) if count else None)
    assert max(sizes, default=0) <= FAN_IN + max(count // FAN_IN, 1).bit_length()


def test_an_engine_without_batches_has_no_sum() -> None:
    for engine in (engines.Local(), engines.Serial()):
        nothing: list[Batch] = []
        assert engine.reduce(BatchRows(), nothing, len) is None
        assert [*engine.map(BatchRows(), nothing)] == []


def test_weights_are_in_the_batch() -> None:
    weights = Weights.of(np.arange(100.0))
    batches = [*weights.batches(source({"x": range(100)}), ["x"])]
    assert [len(batch.weight) for batch in batches if batch.weight is not None] == [60, 40]
    found = [weights.of_a_row.of_rows(batch) for batch in batches]
    np.testing.assert_array_equal(np.concatenate(found), np.arange(100))


def test_encodings_are_made_once_and_stay_behind() -> None:
    from credo.data.batches import CategoryCodes

    batch = Batch(0, 3, {"x": pa.array(["a", "b", "a"])})
    assert batch.encoded(CategoryCodes("x")) is batch.encoded(CategoryCodes("x"))
    assert batch.take(np.arange(2)).encoded(CategoryCodes("x"))[0].tolist() == [0, 1]
    assert pickle.loads(pickle.dumps(batch)).encoded(CategoryCodes("x"))[0].tolist() == [0, 1, 0]


def test_nobody_goes_round_the_engine() -> None:
    """Jobs reach threads through the current engine alone; structure hides in no id() and in no __dict__."""
    folder = Path(credo.__file__).parent
    allowed = {"workers", "small_matrices", "progress"}
    for path in folder.rglob("*.py"):
        inside, tree = path.relative_to(folder), ast.parse(path.read_text())
        named = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "credo.engines"]
        modules = {each.asname or each.name for node in named for each in node.names if each.name == "local"}
        for node in ast.walk(tree):
            outside = inside.parts[0] != "engines"
            if isinstance(node, ast.ImportFrom) and node.module == "credo.engines.local" and outside:
                assert {name.name for name in node.names} <= allowed, inside
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                assert not outside or node.attr in allowed, inside
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "id", inside
            if isinstance(node, ast.Attribute):
                assert node.attr != "memo", inside
