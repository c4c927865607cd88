"""Whole numbers from 2^53 on, where floats skip some: they are kept apart, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.errors import CredoError, DataError, Notice

KEYS = [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]


def counted(data: object) -> dict[object, float]:
    found = credo.estimate(data, "y", by="id", prior=credo.BetaBernoulli(1, 1))
    return dict(zip(found, found.rows.tolist(), strict=True))


def test_integers_are_kept_apart() -> None:
    assert counted({"id": KEYS, "y": [0, 1, 0, 1]}) == dict.fromkeys(KEYS, 1.0)
    large = [2**64 - 1, 2**64 - 2, 2**63, 1]
    assert counted({"id": pa.array(large, pa.uint64()), "y": [0, 1, 0, 1]}) == dict.fromkeys(sorted(large), 1.0)


def written(path: Path, cells: list[str]) -> str:
    lines = [f'{{"id": {cell}, "y": 1}}' for cell in cells] if path.suffix == ".jsonl" else ["id,y"]
    path.write_text("\n".join(lines if path.suffix == ".jsonl" else [*lines, *(f"{cell},1" for cell in cells)]) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["keys.csv", "keys.jsonl"])
def test_files_with_a_fraction_among_the_keys(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, [*map(str, KEYS), "1.5"])
    with pytest.raises(DataError, match=r"'id' .* whole numbers from 2\^53 on need integers"):
        counted(path)


def test_files_with_keys_beyond_64_bits(tmp_path: Path) -> None:
    cells = [*map(str, KEYS), "99999999999999999999999", "99999999999999999999998"]
    assert len(counted(written(tmp_path / "keys.csv", cells))) == 6
    with pytest.raises(DataError, match=r"'id' .* whole numbers from 2\^53 on need integers"):
        counted(written(tmp_path / "keys.jsonl", cells))


@pytest.mark.parametrize("odd", [1.5, float(2**60)])
def test_arrays_of_floats(odd: float) -> None:
    with pytest.raises(DataError, match=r"'id' .* as a float, which can't be distinguished from its neighbours"):
        counted({"id": np.array([*KEYS, odd]), "y": [1] * 5})


def test_lists_of_integers_and_floats() -> None:
    for cells in ([*KEYS, 1.5], [10**20, 10**20 + 1, 1, 2, 3]):
        with pytest.raises(
            DataError, match=r"'id' has the whole number \d+ \(row 1\).* whole numbers from 2\^53 on need"
        ):
            counted({"id": cells, "y": [1] * 5})


def test_parts_of_integers_and_of_floats() -> None:
    part = credo.estimate({"id": KEYS, "y": [1] * 4}, "y", by="id", prior=credo.BetaBernoulli(1, 1))
    with pytest.raises(CredoError, match=r"'id' has whole numbers beyond 2\^53"):
        part.update({"id": [1.5], "y": [1]})
    with pytest.raises(CredoError, match="'id' has whole numbers"):
        part.update({"id": pa.array([2**64 - 1], pa.uint64()), "y": [1]}).update({"id": [-1], "y": [1]})
    both = credo.estimate({"id": [1, 2], "y": [1, 1]}, "y", by="id", prior=credo.BetaBernoulli(1, 1))
    assert list(both.update({"id": [1.5], "y": [1]})) == [1.0, 1.5, 2.0]


def test_a_category_is_not_another_that_floats_round_to() -> None:
    model = credo.NaiveBayes(kinds={"id": "category"}).fit(
        {"id": [1.5, 2.5, 4.0] * 4, "y": ["a", "b", "b"] * 4}, target="y"
    )
    known = model.predict_proba({"id": [1.5, 4]})
    with pytest.warns(Notice, match="1 cell with unseen values"):
        beside = model.predict_proba({"id": pa.array([2**53 + 1, 4])})
    np.testing.assert_allclose(beside[1], known[1])
