"""Classes change and their files stay readable; what a newer credo wrote is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import credo
from credo.errors import StorageError
from credo.storage.field_types import NUMBER, TEXT
from credo.storage.files import ARRAYS_LINE, describe
from credo.storage.schemas import BY_NAME, BY_PLACE
from credo.storage.stored import Stored, Values
from tests.hostile.test_storage import signed


@dataclass(frozen=True)
class BiasedCoin:
    """As it is today. In files it is a Coin; in their first version these had its bias as a percentage, and no name."""

    heads: float
    label: str = "a coin"


def _named(values: Values) -> Values:
    return {**values, "name": "an old coin"}


def _as_share(values: Values) -> Values:
    return {"bias": values["percent"] / 100, "name": values["name"]}


SCHEMA = Stored(
    "Coin",
    f"{__name__}:BiasedCoin",
    {"bias": NUMBER, "name": TEXT},
    attributes={"bias": "heads", "name": "label"},
    upgrades=(_named, _as_share),
    consistent=lambda coin: 0 <= coin.heads <= 1,
)


@pytest.fixture(autouse=True)
def stored() -> Iterator[None]:
    BY_NAME["Coin"] = BY_PLACE[SCHEMA.place] = SCHEMA
    yield
    del BY_NAME["Coin"], BY_PLACE[SCHEMA.place]


def written(path: Path, node: Any) -> Path:
    header = {"credo": "0.1.0", "kind": "Coin", "model": node}
    path.write_bytes(signed(json.dumps(header).encode() + b"\n" + ARRAYS_LINE))
    return path


def refused(path: Path, node: Any) -> str:
    with pytest.raises(StorageError) as caught:
        credo.load(written(path, node))
    return str(caught.value)


def test_files_know_names_and_versions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "coin.credo"
    credo.save(BiasedCoin(0.25, "fair enough"), path)
    assert describe(path)["kind"] == "Coin"
    assert describe(path)["model"] == {"class": "Coin", "version": 3, "bias": 0.25, "name": "fair enough"}
    assert credo.load(path) == BiasedCoin(0.25, "fair enough")


def test_every_version_that_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "coin.credo"
    for node in (
        {"class": "Coin", "percent": 25},
        {"class": "Coin", "version": 1, "percent": 25},
        {"class": "Coin", "version": 2, "percent": 25, "name": "an old coin"},
        {"class": "Coin", "version": 3, "bias": 0.25, "name": "an old coin"},
    ):
        assert credo.load(written(path, node)) == BiasedCoin(0.25, "an old coin")


def test_a_newer_version_asks_for_an_upgrade(tmp_path: Path) -> None:
    reason = refused(tmp_path / "coin.credo", {"class": "Coin", "version": 4, "log_odds": 1.0})
    assert "it holds version 4 of Coin, written by a newer credo; this one reads up to version 3: upgrade it" in reason


@pytest.mark.parametrize("version", [0, -1, 1.0, "2", True, None, [], 10**30])
def test_versions_that_cannot_be_are_refused(version: Any, tmp_path: Path) -> None:
    refused(tmp_path / "coin.credo", {"class": "Coin", "version": version, "bias": 0.25, "name": "x"})


def test_each_version_has_fields_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "coin.credo"
    assert "version 2 of Coin should have a field 'percent'" in refused(
        path, {"class": "Coin", "version": 2, "name": ""}
    )
    extra = {"class": "Coin", "version": 3, "bias": 0.25, "name": "x", "percent": 25}
    assert "the fields of Coin should be bias, name, but are" in refused(path, extra)


def test_what_an_upgrade_makes_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "coin.credo"
    assert "the parts of Coin are inconsistent" in refused(path, {"class": "Coin", "percent": 250})
    assert "Coin.name should be text" in refused(path, {"class": "Coin", "version": 2, "percent": 5, "name": 1})
