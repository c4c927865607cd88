"""Words that are judged by their spelling: shares that sum to 1, counts that add, new words like those they end as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.blocks.block import Settings
from credo.blocks.spelled import Spelled
from credo.core.membership import Hard
from credo.data import source

WORDS = [
    "walking",
    "running",
    "singing",
    "walked",
    "jumped",
    "sang",
    "the",
    "the",
    "the",
    "London",
    "Paris",
    "1990",
    "walking",
]
TAGS = ["ing", "ing", "ing", "ed", "ed", "ed", "det", "det", "det", "name", "name", "num", "ing"]


def likelihood(words: list[Any] = WORDS, tags: list[str] = TAGS, estimate: Any = "bayes") -> Any:
    import pyarrow as pa

    levels = sorted(set(tags))
    (batch,) = source({"w": words}).batches(["w"])
    block = Spelled(("w",))
    member = Hard.of([levels.index(tag) for tag in tags], len(levels))
    evidence = block.summarise(batch, member, "tag")
    assert pa.types.is_string(evidence.schema["w"].levels.type)
    return block.likelihood(evidence, Settings(estimate)), levels


def logs(found: Any, words: list[Any]) -> Any:
    (batch,) = source({"w": words}).batches(["w"])
    out = np.zeros((len(words), len(found.counts)))
    found.add(found.read(batch), out)
    return out


def test_known_words_and_a_new_one_take_all_the_mass() -> None:
    """What new words have is the base's share of one unknown word."""
    found, _ = likelihood()
    _, base, total = found._masses
    new = base / total / (found.counts.shape[1] + 1)
    np.testing.assert_allclose(found.shares.sum(1) + new, 1.0, rtol=1e-12)


def test_new_words_are_like_those_with_their_ending_and_shape() -> None:
    found, tags = likelihood()
    new = ["swimming", "kicked", "Berlin", "2001"]
    assert [tags[k] for k in logs(found, new).argmax(1)] == ["ing", "ed", "name", "num"]
    known = logs(found, ["the", "walking"])
    assert [tags[k] for k in known.argmax(1)] == ["det", "ing"]
    np.testing.assert_array_equal(logs(found, [None, None]), 0.0)


def test_counts_alone_ignore_new_words() -> None:
    found, tags = likelihood(estimate="ml")
    np.testing.assert_array_equal(logs(found, ["swimming"]), 0.0)
    assert np.exp(logs(found, ["the"]))[0, tags.index("det")] == pytest.approx(1.0)


def test_a_classifier_may_read_words_so() -> None:
    model = credo.NaiveBayes(kinds={"w": credo.Word()}).fit({"w": WORDS, "y": TAGS}, target="y")
    assert model.predict({"w": ["swimming", "kicked", "Berlin"]}).tolist() == ["ing", "ed", "name"]
    half = {"w": WORDS[:6], "y": TAGS[:6]}
    again = model.update(half).forget(half)
    np.testing.assert_allclose(again.predict_proba({"w": ["swum"]}), model.predict_proba({"w": ["swum"]}), rtol=1e-12)


@pytest.mark.parametrize("settings", [{"endings": -1}, {"endings": 2.5}, {"strength": 0.0}, {"endings": 21}])
def test_bad_settings_are_refused(settings: Any) -> None:
    with pytest.raises(credo.SchemaError, match="must be"):
        credo.Word(**settings)
