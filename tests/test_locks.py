"""Processes that change one file at the same time: none's rows are lost, and one that waits too long says so."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import credo
from credo.cli import main
from credo.errors import Notice, StorageError
from credo.storage import locks
from credo.storage.locks import changing

UPDATES = 6  # of each process
AGAIN = """
import sys
from credo.cli import main
verb, model, data, times = sys.argv[1:]
for _ in range(int(times)):
    extra = ["-o", model] if verb == "merge" else []
    main([verb, model, data, *extra], standalone_mode=False)
"""
HOLD = """
import sys
from credo.storage.locks import changing
with changing(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def started(script: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process is changing the file until it is told to end."""
    with started(HOLD, path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other
        other.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    credo.save(credo.estimate({"g": ["a", "b"], "x": [1.0, 3.5]}, "x", by="g"), tmp_path / "m.credo")
    (tmp_path / "one.csv").write_text("g,x\na,2.0\n")
    return tmp_path / "m.credo"


def run(*args: object) -> Any:
    return CliRunner().invoke(main, [*map(str, args)])


def files(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


@pytest.mark.slow
def test_what_processes_learn_and_merge_at_once_is_all_there(path: Path) -> None:
    """Real processes, each with its own imports: that is what takes the time."""
    data, shard, before = path.with_name("one.csv"), path.with_name("shard.credo"), files(path)
    credo.save(credo.estimate({"g": ["c"], "x": [9.5]}, "x", by="g"), shard)
    jobs = [("update", data), ("update", data), ("merge", shard)]
    for other in [started(AGAIN, verb, path, what, UPDATES) for verb, what in jobs]:
        _, said = other.communicate()
        assert other.returncode == 0, said
    found = credo.load(path)
    assert dict(zip(found, found.rows, strict=True)) == {"a": 1 + 2 * UPDATES, "b": 1, "c": UPDATES}
    assert files(path) == before | {shard.name}


@pytest.mark.parametrize("verb", ["update", "forget", "merge"])
def test_one_that_waits_too_long_says_so(verb: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.1)
    before = path.read_bytes()
    args = ("merge", path, path, "-o", path) if verb == "merge" else (verb, path, path.with_name("one.csv"))
    with held(path):
        result = run(*args)
        elsewhere = run("update", path, path.with_name("one.csv"), "-o", path.with_name("n.credo"))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"credo: can't change {path}: another process has been changing it for 0.1 seconds")
    assert path.read_bytes() == before
    assert elsewhere.exit_code == 0


def test_one_that_waits_says_so_and_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SOON", 0.0)
    told = []
    with held(path) as other:

        def tell(notice: str) -> None:
            told.append(notice)
            other.communicate()  # which ends it

        monkeypatch.setattr(locks, "tell", tell)
        with changing(path):
            pass
    assert told == [f"waiting for another process that is changing {path}"]


def test_a_killed_process_leaves_no_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.1)
    with held(path) as other:
        other.kill()
        other.wait()
        with changing(path):
            pass
    assert not [name for name in files(path) if name.endswith(".lock")]


def test_links_are_one_file_and_other_names_are_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.05)
    link = path.with_name("link.credo")
    link.symlink_to(path)
    with changing(path), changing(path.with_name("other.credo")), pytest.raises(StorageError, match="another process"):
        changing(link).__enter__()


def test_whatever_fails_the_lock_goes(path: Path) -> None:
    for fault in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(fault), changing(path):
            raise fault
    with changing(path):
        pass
    assert run("update", path, "nowhere.csv").exit_code == 1
    assert not [name for name in files(path) if name.endswith(".lock")]


def test_folders_that_cannot_be_written_or_have_no_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageError, match="there is no folder"), changing(path.parent / "nowhere" / "m.credo"):
        pass

    def no_locks(_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "_try", no_locks)
    with pytest.warns(Notice, match="doesn't support locks"), changing(path):
        pass


def test_names_as_long_as_they_can_be(path: Path) -> None:
    with changing(path.with_name("n" * 249 + ".credo")):
        assert len(files(path)) == 3
