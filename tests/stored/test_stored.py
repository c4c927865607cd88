"""Files of earlier versions load, and their models answer as they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import credo
from tests.laws.classifiers import unheard
from tests.laws.test_storage import same, through
from tests.stored.models import MODELS, answers

FOLDER = Path(__file__).parent / "v1"  # written by credo 0.1.0 at 009cc36, when classes were stored field by field
FILES = sorted(FOLDER.glob("*.credo"))


# Since 0.2, the indicators of a category have the variance of one more row of each class.
DIFFERENCES = {"learned": 1e-6}


def close(found: Any, kept: Any, within: float) -> bool:
    """The same numbers up to rounding, which may depend on the machine."""
    if isinstance(kept, dict):
        return list(found) == list(kept) and all(close(found[key], kept[key], within) for key in kept)
    if isinstance(kept, list):
        return len(found) == len(kept) and all(close(a, b, within) for a, b in zip(found, kept, strict=True))
    if isinstance(kept, float):
        return bool(found == pytest.approx(kept, rel=within, abs=1e-12))
    return bool(found == kept)


def test_every_kind_of_model_is_here() -> None:
    assert {path.stem for path in FILES} == set(MODELS)
    assert all(path.stat().st_size < 80_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_answers_as_it_did(path: Path) -> None:
    with unheard():
        found = json.loads(json.dumps(answers(credo.load(path))))
    text = path.with_suffix(".json").read_text()
    kept = json.loads(text.replace("LinearRegression(", "LinearGaussian("))  # the family's name since 0.2
    assert found.keys() == kept.keys()
    assert [what for what in kept if not close(found[what], kept[what], DIFFERENCES.get(path.stem, 1e-9))] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_saved_again_is_the_same(path: Path, tmp_path: Path) -> None:
    model = credo.load(path)
    assert same(through(model, tmp_path / "m.credo"), model)
