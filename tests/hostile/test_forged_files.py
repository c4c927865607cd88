"""Files of every stored kind with something in them changed: what loads can be used, the rest is refused."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

import credo
from tests.hostile.forging import STORED, faults, forged, quietly, uses
from tests.hostile.test_storage import saved
from tests.seeds import base_seed, examples

FEW, MANY = 6, 60  # files of each kind, changed in the same way each time unless we explore
made = cache(lambda name: quietly(STORED[name]))
OLD = sorted((Path(__file__).parents[1] / "stored" / "v1").glob("*.credo"))
old = pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)


def assert_usable(name: str, content: bytes, path: Path, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"{base_seed()} {name} {seed}")
        forged(content, path, rng, changes=rng.choice([1, 1, 2]))
        for use, error in faults(path):
            raise AssertionError(f"{use} of file {seed} of {name}") from error


@pytest.mark.parametrize("name", STORED)
def test_what_was_saved_can_be_used(name: str, tmp_path: Path) -> None:
    """Without a change, all that the other tests do ends well, or in credo's own words."""
    credo.save(made(name), tmp_path / "m.credo")
    assert list(faults(tmp_path / "m.credo")) == []
    assert len(list(uses(made(name)))) > 1


@pytest.mark.fuzz
@pytest.mark.parametrize("name", STORED)
def test_a_changed_file_is_refused_or_can_be_used(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.credo"
    assert_usable(name, saved(made(name), path), path, range(examples(FEW)))


@pytest.mark.fuzz
@old
def test_a_changed_file_of_version_1_is_refused_or_can_be_used(file: Path, tmp_path: Path) -> None:
    assert_usable(file.stem, file.read_bytes(), tmp_path / "m.credo", range(examples(FEW)))


@pytest.mark.slow
@pytest.mark.parametrize("name", STORED)
def test_many_changed_files_are_refused_or_can_be_used(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.credo"
    assert_usable(name, saved(made(name), path), path, range(FEW, MANY))


@pytest.mark.slow
@old
def test_many_changed_files_of_version_1_are_refused_or_can_be_used(file: Path, tmp_path: Path) -> None:
    assert_usable(file.stem, file.read_bytes(), tmp_path / "m.credo", range(FEW, MANY))
