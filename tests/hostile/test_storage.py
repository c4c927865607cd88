"""Files that are damaged, forged or can't be written: one StorageError each, and what was there before stays."""

from __future__ import annotations

import datetime
import errno
import hashlib
import io
import json
import os
import random
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import credo
from credo.data.schema import Column
from credo.errors import StorageError
from credo.estimation.estimate import estimate
from credo.storage.files import ARRAYS_LINE, describe
from credo.storage.packing import LISTED_LEVELS

OLD, NEW = credo.BetaBernoulli(1, 1), credo.BetaBernoulli(2, 3).update([True, True, False])
NOBODY = 65534


def saved(model: object, path: Path) -> bytes:
    credo.save(model, path)
    return path.read_bytes()


def signed(body: bytes) -> bytes:
    """A body under a first line that fits it, as someone who forges a file would write it."""
    return f"credo 1 {hashlib.sha256(body).hexdigest()} {len(body)}\n".encode() + body


def flipped(content: bytes, position: int, bit: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 1 << bit]) + content[position + 1 :]


def write(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # file systems flush what is written over a file at once, thousands of times here
    path.write_bytes(content)


def refused(path: Path, content: bytes | None = None) -> str:
    if content is not None:
        write(path, content)
    with pytest.raises(StorageError) as caught:
        credo.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def one_sentence(path: Path, model: object = NEW) -> str:
    """Why a model can't be saved."""
    with pytest.raises(StorageError) as caught:
        credo.save(model, path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.credo"


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of someone else's, as someone whom permissions bind: root is let in everywhere."""
    folder = Path(tempfile.mkdtemp())
    credo.save(OLD, folder / "old.credo")
    (folder / "old.credo").chmod(0o444)
    credo.save(OLD, folder / "hidden.credo")
    (folder / "hidden.credo").chmod(0)
    folder.chmod(0o555)
    if os.geteuid() == 0:
        try:
            os.setresuid(NOBODY, NOBODY, 0)
        except (AttributeError, OSError):
            pytest.skip("root may write everywhere, and can't become someone else here")
    try:
        yield folder
    finally:
        if os.geteuid() == NOBODY:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


# Damage


def test_any_flipped_bit_is_noticed(path: Path) -> None:
    whole = saved(NEW, path)
    first_line = whole.index(b"\n") + 1
    rng = random.Random(0)
    for position in range(len(whole)):
        for bit in range(8) if position < first_line else [rng.randrange(8)]:
            refused(path, flipped(whole, position, bit))


def test_a_flipped_bit_never_breaks_describe(path: Path) -> None:
    whole = saved(NEW, path)
    for position in range(0, len(whole), 3):
        write(path, flipped(whole, position, position % 8))
        with suppress(StorageError):
            assert set(describe(path)) >= {"credo", "kind", "model"}


def test_a_file_cut_at_any_length_is_truncated(path: Path) -> None:
    whole = saved(NEW, path)
    promised = len(whole) - whole.index(b"\n") - 1
    for length in [*range(100), *range(100, len(whole), 7), len(whole) - 1]:
        reason = refused(path, whole[:length])
        assert ("is truncated" if length >= len("credo 1 ") else "is not a credo file") in reason
        if (there := length - len(whole) + promised) >= 0:
            assert f"{promised} bytes should follow its first line, but {there} do" in reason


def test_a_file_that_grew_is_refused(path: Path) -> None:
    assert "is longer than it was" in refused(path, saved(NEW, path) + b"\0")
    assert "is longer than it was" in refused(path, saved(NEW, path) * 2)


def test_the_checksum_is_held_against_all_that_follows(path: Path) -> None:
    assert "damaged or tampered with" in refused(path, saved(NEW, path).replace(b'"Belief"', b'"Relief"'))


def test_a_newer_format_asks_for_an_upgrade(path: Path) -> None:
    for line in (b"credo 2 ", b"credo 17 sha3-512:abc 10 zstd\n"):
        for read in (credo.load, describe):
            write(path, line + b"whatever comes then")
            with pytest.raises(StorageError, match=r"written by a newer version of credo.*upgrade"):
                read(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(garbage=st.binary(max_size=300))
@example(garbage=b"")
@example(garbage=b"in unum deum\n")
@example(garbage=b"credo")
@example(garbage=b"PK\x03\x04")
@example(garbage=b"\x80\x04\x95.")
@example(garbage=b"x,y\n1,2\n" * 1000)
def test_garbage_is_no_credo_file(garbage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    assert "is not a credo file" in refused(path, b"." + garbage)
    refused(path, b"credo " + garbage)
    refused(path, b"credo 1 " + garbage)
    refused(path, signed(garbage))
    refused(path, signed(b"{}\n" + ARRAYS_LINE + garbage))


# Forgery: whoever changes a file can also change its checksum


def forged(path: Path, change: Callable[[Any], object], model: object = NEW) -> str:
    """Why a file is refused whose header was changed, its checksum being right."""
    header, _, arrays = saved(model, path).partition(b"\n")[2].partition(b"\n" + ARRAYS_LINE)
    parsed = json.loads(header)
    change(parsed)
    return refused(path, signed(json.dumps(parsed).encode() + b"\n" + ARRAYS_LINE + arrays))


def test_a_forged_bit_gives_a_model_or_a_storage_error(path: Path) -> None:
    rng = random.Random(0)
    categories = credo.DirichletCategorical({"a": 1, "b": 2}).update(["a"])
    grouped = estimate(
        {"g": [f"{i}" for i in range(LISTED_LEVELS + 1)], "x": np.arange(LISTED_LEVELS + 1.0)}, "x", by="g"
    )
    for model, times in ((NEW, 500), (categories, 500), (grouped, 500)):
        body = saved(model, path).partition(b"\n")[2]
        header = body.index(ARRAYS_LINE)
        loaded = 0
        for i in range(times):
            position = rng.randrange(header if i % 3 else len(body))
            write(path, signed(flipped(body, position, rng.randrange(8))))
            with suppress(StorageError):
                credo.load(path)
                loaded += 1
        assert 0 < loaded < times


def prior(header: Any) -> Any:
    return header["model"]["family"]


def part(header: Any) -> Any:
    return header["model"]["evidence"]["parts"]["pairs"][0][1]


def counts(header: Any) -> Any:
    return part(header)["statistics"]["n"]


FORGERIES: dict[str, tuple[Callable[[Any], object], str]] = {
    "unknown class": (lambda h: prior(h).update({"class": "BetaBernouli"}), "Did you mean 'BetaBernoulli'"),
    "a class of Python's": (lambda h: h.update(model={"class": "subprocess:Popen", "args": "true"}), "known class"),
    "a module": (lambda h: prior(h).update({"class": "os.system"}), "known class"),
    "field missing": (lambda h: prior(h).pop("a"), "fields of BetaBernoulli should be a, b"),
    "field too many": (lambda h: prior(h).update(c=1), "fields of BetaBernoulli should be a, b"),
    "negative prior": (lambda h: prior(h).update(a=-1.0), "a must be positive, but is -1"),
    "infinite prior": (lambda h: prior(h).update(a={"float": "inf"}), "a must be positive, but is inf"),
    "prior that is no number": (lambda h: prior(h).update(a={"float": "nan"}), "a must be positive, but is nan"),
    "prior that is a word": (lambda h: prior(h).update(a="one"), "a must be positive, but is 'one'"),
    "prior that is none": (lambda h: h["model"].update(family=None), "Belief.family should be Family"),
    "prior of another kind": (lambda h: h["model"].update(family=part(h)), "Belief.family should be Family"),
    "evidence that is a list": (lambda h: h["model"].update(evidence=[]), "Belief.evidence should be"),
    "columns that are numbers": (lambda h: h["model"].update(columns={"tuple": [1]}), "Belief.columns should be"),
    "other kind": (lambda h: h.update(kind="Beliefs"), "should be a Beliefs, but is a Belief"),
    "no kind": (lambda h: h.pop("kind"), "header can't be read"),
    "no such value": (lambda h: h.update(model={"set": [1]}), "where a value should be"),
    "nonsense beside a value": (lambda h: h.update(model={"tuple": [], "x": 1}), "where a value should be"),
    "unknown dtype": (lambda h: counts(h)["high"].update(array="object"), "array of object"),
    "array of pointers": (lambda h: counts(h)["high"].update(array="O"), "array of O"),
    "array of other floats": (lambda h: counts(h)["high"].update(array="int64"), "Exact.high should be Array"),
    "array beyond the end": (lambda h: counts(h)["high"].update(offset=10**9), "lies outside"),
    "array before the start": (lambda h: counts(h)["high"].update(offset=-64), "lies outside"),
    "array too large": (lambda h: counts(h)["high"].update(shape=[10**9, 10**9]), "lies outside"),
    "negative shape": (lambda h: counts(h)["high"].update(shape=[-1, -2]), "shape"),
    "broken shape": (lambda h: counts(h)["high"].update(shape=[1.0, 2.0]), "shape"),
    "empty and yet too large": (lambda h: counts(h)["high"].update(shape=[0, 10**30]), ""),
    "too many dimensions": (lambda h: counts(h)["high"].update(shape=[1] * 99), ""),
    "halves of other sizes": (lambda h: counts(h)["high"].update(shape=[2, 1]), "are inconsistent"),
    "statistics of nothing": (lambda h: part(h).update(statistics=None), "Part.statistics should be Statistics"),
    "axis of no column": (lambda h: part(h).update(axes={"tuple": ["y"]}), "are inconsistent"),
    "axes of other statistics": (lambda h: part(h).update(axes={"tuple": [None, None, "x"]}), "are inconsistent"),
}


@pytest.mark.parametrize(("change", "reason"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_header_is_refused(change: Callable[[Any], object], reason: str, path: Path) -> None:
    assert reason in forged(path, change)


@pytest.mark.parametrize("name", ["BetaBernoulli", "GammaPoisson", "ParetoUniform", "NormalMean", "LinearGaussian"])
def test_priors_outside_their_domain_are_refused(name: str, path: Path) -> None:
    numbers = {"NormalMean": (0, 1, 1), "LinearGaussian": (0, 1, 1, 1)}.get(name, (1, 1))
    model = getattr(credo, name)(*numbers)
    reason = forged(path, lambda h: h["model"].update({[*h["model"]][-1]: -2.5}), model)
    assert "must be positive, but is -2.5" in reason


def test_a_covariance_that_is_not_positive_definite_is_refused(path: Path) -> None:
    def flat(header: Any) -> None:
        header["model"]["scale"] = header["model"]["location"] | {"shape": [1, 2]}

    model = credo.NormalInverseWishart([1.0, 1.0], 1, 3, 1)
    assert forged(path, flat, model)
    assert "covariance must be" in forged(path, lambda h: h["model"].update(covariance="round"), model)


def test_negative_counts_are_refused(path: Path) -> None:
    head, cut, arrays = saved(NEW, path).partition(b"\n")[2].partition(ARRAYS_LINE)
    offset = counts(json.loads(head))["high"]["offset"]
    forged_counts = arrays[:offset] + np.float64(-1).tobytes() + arrays[offset + 8 :]
    assert "are inconsistent" in refused(path, signed(head + cut + forged_counts))


@pytest.mark.parametrize(
    ("levels", "raw"),
    [
        ("kind", {"levels": "binary", "values": []}),
        ("nothing", {"levels": "string"}),
        ("numbers for strings", {"levels": "string", "values": [1, 2]}),
        ("fractions for integers", {"levels": "int64", "values": [1.5]}),
        ("an integer too large", {"levels": "int64", "values": [2**70]}),
        ("more declared than there are", {"levels": "string", "values": ["a"]}),
        ("a list for an array", {"levels": "double", "numbers": [1.0]}),
    ],
)
def test_forged_levels_are_refused(levels: str, raw: Any, path: Path) -> None:
    column = Column("x", "category", pa.array(["a", "b"]), 2)
    assert forged(path, lambda h: h["model"].update(levels=raw), column), levels


def test_forged_strings_are_refused(path: Path) -> None:
    column = Column("x", "category", pa.array([f"{i:04}" for i in range(LISTED_LEVELS + 1)]))
    for change in (
        lambda levels: levels["offsets"].update(array="uint8"),
        lambda levels: levels["offsets"].update(array="float64"),
        lambda levels: levels["offsets"].update(shape=[0]),
        lambda levels: levels["text"].update(shape=[3]),
        lambda levels: levels.pop("text"),
        lambda levels: levels.update(offsets=levels["text"], text=levels["offsets"]),
    ):

        def changed(header: Any, change: Callable[[Any], object] = change) -> None:
            change(header["model"]["levels"])

        forged(path, changed, column)
    body = saved(column, path).partition(b"\n")[2]
    assert refused(path, signed(body.replace(b"0007", b"\xff\xfe\xff\xff")))


def test_a_header_that_is_too_deep_is_refused(path: Path) -> None:
    for deep in (b"[" * 100_000, b'{"tuple": [' * 100_000):
        assert refused(path, signed(deep + b"\n" + ARRAYS_LINE))
    nested = b'{"credo": "1", "kind": "list", "model": ' + b"[" * 900 + b"]" * 900 + b"}\n" + ARRAYS_LINE
    assert "recursion" in refused(path, signed(nested))


# What can't be stored


def circle() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


UNSTORABLE: dict[str, Any] = {
    "functions": credo.Numeric(lambda x, t: -x * t, lambda t: -t, support=(0, 9)),
    "a function": print,
    "a function in a dict": {"a": [lambda: None]},
    "a class": dict,
    "a set": {1, 2},
    "bytes": b"x",
    "a date": datetime.date(2024, 2, 29),
    "keys that are dates": {datetime.date(2024, 2, 29): 2},
    "objects in an array": np.array([None]),
    "strings in an array": np.array(["a"]),
    "small floats": np.zeros(3, dtype=np.float32),
    "complex numbers": 1j,
    "masked arrays": np.ma.masked_array([1.0], [True]),
    "an Arrow table": pa.table({"x": [1]}),
    "dates in Arrow": pa.array([datetime.date(2024, 2, 29)]),
    "half a character": "\ud800",
    "a number without an end": 10**5000,
    "a circle": circle(),
    "a success that is a date": credo.Belief(OLD, success=datetime.date(2024, 2, 29)),
    "a belief about a word": credo.Belief("prior"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("model", UNSTORABLE.values(), ids=UNSTORABLE.keys())
def test_what_cannot_be_stored_is_refused_and_leaves_the_old_file(model: Any, path: Path) -> None:
    before = saved(OLD, path)
    assert "can't save to" in one_sentence(path, model)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208


def test_python_functions_are_refused_with_what_to_do_instead(path: Path) -> None:
    assert "Keep the code that makes it, save the observations" in one_sentence(path, UNSTORABLE["functions"])
    assert not path.exists()


# Disks and folders


class Room(io.FileIO):
    """A file on a disk with little room left."""

    left = 0

    def write(self, data: Any, /) -> int:
        if len(data) > Room.left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        Room.left -= len(data)
        return super().write(data) or 0


@pytest.mark.parametrize("buffer", [1, 64, io.DEFAULT_BUFFER_SIZE])
def test_a_full_disk_leaves_the_old_file(buffer: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved(OLD, path)
    big = credo.DirichletCategorical(1).update([f"{i}" for i in range(2000)])

    def cramped(self: Path, mode: str = "r") -> Any:
        return io.BufferedWriter(Room(self, mode.replace("b", "")), buffer)

    for room in (0, 1, 80, 500, 5000, 20_000):
        with monkeypatch.context() as patched:
            Room.left = room
            patched.setattr(Path, "open", cramped)
            assert "the disk is full" in one_sentence(path, big)
        assert path.read_bytes() == before
        assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_limit_of_the_system_leaves_the_old_file(path: Path) -> None:
    before = saved(OLD, path)
    big = np.zeros(100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        reason = one_sentence(path, big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.strerror(errno.EFBIG) in reason
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("step", [(os, "fsync"), (Path, "replace"), (Path, "chmod")], ids=lambda step: str(step[1]))
@pytest.mark.parametrize("fault", [OSError(errno.EIO, "I/O error"), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_whatever_fails_on_the_way_the_old_file_stays(
    step: tuple[Any, str], fault: BaseException, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved(OLD, path)

    def fails(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(*step, fails)
        with pytest.raises(StorageError if isinstance(fault, OSError) else type(fault)):
            credo.save(NEW, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_synced_is_no_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fails)
        credo.save(NEW, path)
    assert credo.load(path).posterior == NEW.posterior


def test_missing_folders_and_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "there is no folder" in one_sentence(tmp_path / "nowhere" / "m.credo")
    assert "is not a folder" in one_sentence(tmp_path / "file" / "m.credo")
    assert "it is a folder" in one_sentence(tmp_path)
    assert "there is no such file" in refused(tmp_path / "m.credo")
    assert "there is no such file" in refused(tmp_path / "nowhere" / "m.credo")
    assert "it is a folder" in refused(tmp_path)
    assert "Not a directory" in refused(tmp_path / "file" / "m.credo")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for path in (tmp_path / "circle", tmp_path / "a\0b", tmp_path / ("n" * 256), Path("~no such user/m")):
        for act in (credo.load, describe, lambda path: credo.save(NEW, path)):
            with pytest.raises(StorageError):
                act(path)


def test_a_file_of_a_network_says_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "net.bif.gz").write_bytes(b"network unknown {}")
    assert "credo.Network.read" in refused(tmp_path / "net.bif.gz")


def test_devices_and_pipes_are_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "device or a pipe" in one_sentence(pipe)
    assert pipe.is_fifo()
    assert "is not a credo file" in refused(Path("/dev/null"))
    assert "is not a credo file" in refused(Path("/dev/zero"))


def test_a_folder_without_write_permission(unprivileged: Path) -> None:
    path = unprivileged / "m.credo"
    assert f"no permission to write in the folder {unprivileged}" in one_sentence(path)
    assert not path.exists()


def test_a_file_without_read_permission(unprivileged: Path) -> None:
    assert "no permission to read it" in refused(unprivileged / "hidden.credo")


def test_a_write_protected_file_is_left_alone(unprivileged: Path) -> None:
    assert "write-protected" in one_sentence(unprivileged / "old.credo")
    assert credo.load(unprivileged / "old.credo") == OLD


def test_saves_at_once_give_one_or_the_other(path: Path) -> None:
    small, large = credo.BetaBernoulli(1, 1), credo.DirichletCategorical(1).update([f"{i}" for i in range(3000)])
    whole = {len(saved(model, path)) for model in (small, large)}

    def save(i: int) -> None:
        credo.save((small, large)[i % 2], path)

    def read(_: int) -> int:
        credo.load(path)
        return path.stat().st_size

    with ThreadPoolExecutor(8) as pool:
        writes = pool.map(save, range(100))
        assert set(pool.map(read, range(100))) <= whole
        list(writes)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
