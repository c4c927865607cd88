"""What is loaded is what was saved, in every bit, and it goes on learning."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import credo
from credo.data.schema import Column, Schema
from credo.estimation.belief import Belief
from credo.estimation.estimate import estimate
from credo.families import FAMILIES
from credo.storage.files import ARRAYS_LINE, describe
from credo.storage.packing import ARRAY_ALIGNMENT, LISTED_LEVELS, STORED_DTYPES, VERSION_KEY
from credo.storage.schemas import BY_NAME, BY_PLACE
from tests.laws.cases import CASES, Case

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
in_one_folder = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.credo"


def through(value: Any, path: Path) -> Any:
    credo.save(value, path)
    return credo.load(path)


def same(a: Any, b: Any) -> bool:
    """Of the same types all the way down, with the same bits in every number."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, pa.Array):
        return same((str(a.type), a.to_pylist()), (str(b.type), b.to_pylist()))
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes() or (a != a and b != b)
    return bool(a == b)


def learned(case: Case, seed: int, n: int = 40) -> tuple[Belief, Any]:
    """A belief that has seen some rows, and more rows for it."""
    rows = case.draw(np.random.default_rng(seed), 2 * n)
    target = "x2" if type(case.prior).__name__ == "LinearGaussian" else None
    return case.prior.update(rows[:n], target=target), rows[n:]


@cases
def test_a_belief_is_the_same(case: Case, path: Path) -> None:
    belief, rows = learned(case, seed=1)
    repr(belief.posterior), belief.statistics  # cached values are no part of what is stored
    loaded = through(belief, path)
    assert same(loaded, belief)
    assert set(vars(loaded)) == {field.name for field in dataclasses.fields(Belief)}
    assert repr(loaded.posterior) == repr(belief.posterior)
    assert loaded.log_evidence() == belief.log_evidence()
    assert np.array_equal(loaded.log_prob(rows), belief.log_prob(rows))


@cases
def test_it_goes_on_learning(case: Case, path: Path) -> None:
    belief, rows = learned(case, seed=2)
    loaded = through(belief, path)
    assert same(loaded.update(rows), belief.update(rows))
    assert same(loaded + belief, belief + belief)
    assert same(belief + loaded, belief + belief)
    assert same(loaded.discount(0.5), belief.discount(0.5))
    if case.forgets:
        assert same(loaded.update(rows).forget(rows), belief.update(rows).forget(rows))


@cases
def test_a_prior_alone_and_one_that_has_seen_nothing(case: Case, path: Path) -> None:
    assert same(through(case.prior, path), case.prior)
    assert same(through(Belief(case.prior), path), Belief(case.prior))


def test_every_family_can_be_stored() -> None:
    assert set(FAMILIES) <= set(BY_NAME)


@pytest.mark.parametrize("name", [name for name, schema in BY_NAME.items() if schema.place])
def test_every_schema_has_all_that_its_class_holds(name: str) -> None:
    """A field that is added to a class, and to no schema, would be lost in files."""
    schema = BY_NAME[name]
    tuple_fields = getattr(schema.kind, "_fields", None)
    held = set(tuple_fields or [field.name for field in dataclasses.fields(schema.kind)])
    attributes = {field: schema.attributes.get(field, field) for field in schema.fields}
    assert {name if name in held else field for field, name in attributes.items()} == held  # some are stored in part
    assert {*schema.attributes, *schema.arguments} <= set(schema.fields)
    assert VERSION_KEY not in schema.fields
    assert BY_PLACE[schema.place] is schema


GROUPED: dict[str, Callable[[Any], Any]] = {
    "given": lambda data: estimate(data, "bought", by="ad", prior=credo.BetaBernoulli(2, 3)),
    "default": lambda data: estimate(data, "spent", by="ad"),
    "empirical": lambda data: estimate(data, "bought", by="ad", prior="empirical"),
    "categories": lambda data: estimate(data, "colour", by="ad"),
    "several": lambda data: estimate(data, ["bought", "spent"], by="ad"),
    "joint": lambda data: estimate(
        data, ["spent", "hours"], by="ad", prior=credo.NormalInverseWishart([0, 0], 1, 3, 1, "tied")
    ),
    "success": lambda data: estimate(data, "colour", by="ad", prior=credo.BetaBernoulli(1, 1), success="red"),
    "alone": lambda data: estimate(data, "spent"),
}


def shop(seed: int, rows: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "ad": rng.choice(["a7", "b2", "ç3", ""], rows),
        "bought": rng.integers(0, 2, rows),
        "spent": rng.normal(20, 5, rows),
        "hours": rng.exponential(2, rows),
        "colour": rng.choice(["red", "blue", "white"], rows),
    }


@pytest.mark.parametrize("learn", GROUPED.values(), ids=GROUPED.keys())
def test_a_belief_per_group_is_the_same(learn: Callable[[Any], Any], path: Path) -> None:
    beliefs = learn(shop(0))
    loaded = through(beliefs, path)
    assert same(loaded, beliefs)
    pairs = [(loaded[name], beliefs[name]) for name in beliefs] if isinstance(beliefs, dict) else [(loaded, beliefs)]
    for one, other in pairs:
        assert one.posterior == other.posterior
        assert one.prior.improper.any() or one.log_evidence() == other.log_evidence()
        assert same(one.update(shop(1)), other.update(shop(1)))
        assert same(one.update(shop(1)).forget(shop(1)), other.update(shop(1)).forget(shop(1)))
        assert same(one + other, other + other)


LEVELS = {
    "string": lambda i: f"née {i}\n\0'\"☃",
    "int": lambda i: i - 3,
    "float": lambda i: i + 0.5,
    "bool": lambda i: i % 2 == 0,
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
@pytest.mark.parametrize("count", [1, 2, LISTED_LEVELS, LISTED_LEVELS + 1])
def test_levels_of_every_type(level: Callable[[int], Any], count: int, path: Path) -> None:
    values = list(dict.fromkeys(level(i) for i in range(count)))
    belief = credo.DirichletCategorical(1).update(values)
    loaded = through(belief, path)
    assert same(loaded, belief)
    assert loaded.mean() == belief.mean()
    assert same(loaded.update(values[:1]), belief.update(values[:1]))


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_declared_levels_stay_declared(level: Callable[[int], Any], path: Path) -> None:
    prior = credo.DirichletCategorical({level(2): 1.0, level(1): 2.0})
    loaded = through(prior.update([level(1)]), path)
    assert loaded.evidence.schema.columns[0].declared == 2
    forgotten = loaded.forget([level(1)])
    assert forgotten.mean() == {level(2): 1 / 3, level(1): 2 / 3}
    assert same(loaded + prior.update([level(2)]), prior.update([level(1), level(2)]))


def test_levels_given_as_numpy_values_still_merge(path: Path) -> None:
    for names in (np.array(["a", "b"]), np.array([1, 2]), np.array([1.5, 2.5])):
        prior = credo.DirichletCategorical(dict.fromkeys(names, 1.0))
        belief = prior.update(names)
        assert (through(belief, path) + belief).n == 4


@pytest.mark.parametrize("values", [np.arange(5000), np.arange(5000) / 7, np.arange(5000) % 2 == 0])
def test_many_levels_of_numbers_are_arrays(values: Any, path: Path) -> None:
    assert same(through(Column("x", "category", pa.array(values)), path).levels, pa.array(values))
    assert path.stat().st_size < 9 * len(values)


def test_a_hundred_thousand_levels(path: Path) -> None:
    belief = credo.DirichletCategorical(1).update([f"wort-{i}-ß" for i in range(100_000)])
    loaded = through(belief, path)
    assert same(loaded.evidence, belief.evidence)
    assert loaded.log_evidence() == belief.log_evidence()
    assert len(path.read_bytes().partition(ARRAYS_LINE)[0]) < 3000  # the header stays one that can be read


def test_a_slice_of_levels_is_stored_as_what_it_shows(path: Path) -> None:
    whole = pa.array([f"{i}·" for i in range(3 * LISTED_LEVELS)])
    for levels in (
        whole[5:20],
        whole[LISTED_LEVELS:],
        whole[:0],
        pa.array([""] * 2 * LISTED_LEVELS),
        pa.array([None, *range(LISTED_LEVELS)]),
    ):
        loaded = through(Column("x", "category", levels), path)
        assert same(loaded.levels, levels)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
numpy_scalars = st.floats().map(np.float64) | st.integers(-9, 9).map(np.int64) | st.booleans().map(np.bool_)
keys = st.integers() | st.booleans() | st.none() | st.tuples(st.text(), st.integers())
arrays = st.sampled_from(list(STORED_DTYPES)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
values = st.recursive(
    scalars | numpy_scalars | st.text().map(np.str_) | arrays,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | keys, inner),
    max_leaves=12,
)


@in_one_folder
@given(value=values)
@example(value=[float("inf"), float("-inf"), float("nan"), -0.0, 5e-324, np.float64("nan")])
@example(value={"array": "float64", "shape": [], "offset": 0, "class": "Belief"})  # as a node of the header looks
@example(value={1: "a", "1": "b", True + 1: "c", (1, None): "d"})
@example(value=[np.str_("\0"), np.str_("a\0"), np.str_("")])
@example(value=(True, 1, 1.0, "1", None, (), [], {}, 2**70, "arrays\n\0\u2028"))
def test_any_value_is_the_same(value: Any, tmp_path: Path) -> None:
    assert same(through(value, tmp_path / "value"), value)


@in_one_folder
@given(array=arrays, value=values)
def test_arrays_are_aligned_and_lie_as_the_header_says(array: Any, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "value"
    credo.save([value, array], path)
    node = describe(path)["model"][1]
    section = path.read_bytes().partition(b"\n" + ARRAYS_LINE)[2]
    raw = array.astype(STORED_DTYPES[node["array"]]).tobytes()
    assert node["offset"] % ARRAY_ALIGNMENT == 0
    assert section[node["offset"] : node["offset"] + len(raw)] == raw


def test_arrays_in_any_memory_order(path: Path) -> None:
    square = np.arange(12.0).reshape(3, 4)
    for array in (square.T, square[::-1, ::2], np.broadcast_to(1.5, (3, 2)), np.array(2.5), square.astype(">f8")):
        loaded = through(array, path)
        assert loaded.shape == array.shape
        assert np.array_equal(loaded, array)
        assert loaded.flags.writeable
        assert loaded.flags.aligned


@cases
def test_saving_twice_gives_the_same_bytes(case: Case, tmp_path: Path) -> None:
    belief, _ = learned(case, seed=3)
    credo.save(belief, tmp_path / "a")
    credo.save(belief, tmp_path / "b")
    credo.save(credo.load(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_the_header_is_json_for_people(path: Path) -> None:
    credo.save(credo.DirichletCategorical(1).update(["né", "oui"]), path)
    first, header = path.read_bytes().partition(b"\n" + ARRAYS_LINE)[0].decode().split("\n", 1)
    assert first.startswith("credo 1 ")
    assert json.loads(header) == describe(path)
    assert describe(path)["credo"] == credo.__version__
    assert describe(path)["kind"] == "Belief"
    assert '"levels": {"levels": "string", "values": ["né", "oui"]}' in header
    assert max(map(len, header.splitlines())) < 140


def test_a_schema(path: Path) -> None:
    schema = Schema((Column("sky", "category", pa.array(["sunny", "rainy"]), 1), Column("mm", "number")))
    assert same(through(schema, path), schema)
    assert through(schema, path) == schema


def test_a_new_file_has_the_permissions_that_the_umask_leaves(path: Path) -> None:
    before = os.umask(0o027)
    try:
        credo.save(credo.BetaBernoulli(1, 1), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_existing_file_keeps_its_permissions(path: Path) -> None:
    for mode in (0o600, 0o664, 0o755):
        path.touch()
        path.chmod(mode)
        credo.save(credo.BetaBernoulli(1, 1), path)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    link = tmp_path / "latest.credo"
    link.symlink_to(Path("models") / "m1")
    assert same(through(credo.BetaBernoulli(1, 2), link), credo.BetaBernoulli(1, 2))
    assert link.is_symlink()
    assert (tmp_path / "models" / "m1").is_file()


def test_paths_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("m", "./ö ☃.credo", tmp_path / "m.credo", "n" * 255, "~/home.credo"):
        assert same(through(credo.BetaBernoulli(1, 2), path), credo.BetaBernoulli(1, 2))  # type: ignore[arg-type]
    assert (tmp_path / "home.credo").is_file()
