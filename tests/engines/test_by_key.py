"""Many groups are reduced in shards by other machines: to the same bits, no shard holding all groups."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import credo
from credo.core.evidence import ByLevel, Evidence
from credo.engines.partitions import SHARDS
from tests.engines.verbs import ESTIMATES, dask_frame, local, many_groups, parts_of
from tests.laws.test_engines import bits, evidence_bits

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
pytestmark = pytest.mark.filterwarnings("ignore::credo.Notice")


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(many_groups())


@pytest.mark.parametrize("what", ESTIMATES)
def test_shards_give_the_same_bits(what: str, parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[int]()

    def watched(split: ByLevel, evidence: Evidence, shard: int) -> Evidence:
        found = apart(split, evidence, shard)
        taken.append(len(found.schema[split.axis].levels))
        return found

    apart = ByLevel.__call__
    monkeypatch.setattr("credo.estimation.beliefs.GROUPED_ROWS", 200)
    monkeypatch.setattr(ByLevel, "__call__", watched)
    there, here = ESTIMATES[what](dask_frame(parts)), ESTIMATES[what](local(parts))
    assert len(taken) == SHARDS * sum(len(part) > 0 for part in parts)
    assert max(taken) < len(there) / 4
    assert there.groups.to_pylist() == here.groups.to_pylist()
    assert (evidence_bits(there), there.ungrouped) == (evidence_bits(here), here.ungrouped)
    assert bits(there.rows) == bits(here.rows)


def test_few_groups_are_added_as_a_whole(parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.estimation.beliefs.GROUPED_ROWS", 200)
    monkeypatch.setattr(ByLevel, "__call__", lambda *_: pytest.fail("three groups were taken apart"))
    assert len(credo.estimate(dask_frame(parts), "z", by="word", prior=credo.NormalMean(0, 1, 1))) == 3


def test_a_vocabulary_is_pruned_in_the_reduce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sum of the tree holds at most 8 times max_words, however many words there are."""
    sizes = list[int]()

    def watched(model: credo.NaiveBayes, several: Any) -> Evidence:
        found = whole(model, several)
        sizes.append(found.size)
        return found

    whole = credo.NaiveBayes.total
    monkeypatch.setattr(credo.NaiveBayes, "total", watched)
    rows = pd.DataFrame({"text": [f"word{i} word{i + 1} common {'ab'[i % 2]}" for i in range(2000)]})
    rows["y"] = [text[-1] for text in rows["text"]]
    parts = parts_of(rows, range(0, 2001, 50))
    model: Any = credo.NaiveBayes(kinds={"text": credo.Text(max_words=10)})
    there, here = (model.fit(data, target="y") for data in (dask_frame(parts), local(parts)))
    assert max(sizes) <= 8 * 10 + 2
    assert evidence_bits(there) == evidence_bits(here)
    assert there.predict({"text": ["common a"]}).tolist() == ["a"]
