"""Hidden Markov models on known sequences: earthquakes, and part-of-speech tags."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo

SHARED = next(
    (place for up in Path(__file__).parents if (place := up / "shared" / "data" / "sequences").is_dir()),
    Path("nowhere"),
)
absent = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/sequences isn't there")


def earthquakes() -> dict[str, Any]:
    lines = (SHARED / "earthquakes" / "earthquakes.csv").read_text().splitlines()[1:]
    return {"count": [int(line.split(",")[1]) for line in lines]}


@absent
@pytest.mark.slow
def test_earthquakes_have_two_or_three_states() -> None:
    """Zucchini and MacDonald, Hidden Markov Models for Time Series: log-likelihoods of -342.318 and -329.460."""
    model = credo.HiddenMarkov(kinds={"count": "count"}).fit(earthquakes())
    assert min(model.tried, key=lambda each: each.bic).states in (2, 3)
    assert model.n_states in (2, 3)
    ml = {k: credo.HiddenMarkov(k, estimate="ml", kinds={"count": "count"}).fit(earthquakes()) for k in (2, 3)}
    assert ml[2].history[-1] == pytest.approx(-341.879, abs=5e-3)  # the book's chain is stationary: -342.318
    assert ml[3].history[-1] == pytest.approx(-328.527, abs=5e-3)  # -329.460
    rates = np.sort(ml[3].chain.emission.conditional.describe()[0].estimates)
    np.testing.assert_allclose(rates, [13.1, 19.7, 29.7], atol=0.2)


def sentences() -> tuple[Any, Any, Any]:
    """Tokens, tags, and which sentence each is in."""
    tokens, tags, numbers, sentence = list[str](), list[str](), list[int](), 0
    with gzip.open(SHARED / "conll2000" / "conll2000-train.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            if line.strip():
                token, tag, _ = line.rstrip("\n").split("\t")
                tokens.append(token)
                tags.append(tag)
                numbers.append(sentence)
            else:
                sentence += 1
    return np.array(tokens, dtype=object), np.array(tags, dtype=object), np.array(numbers)


@absent
@pytest.mark.slow
def test_tags_of_words() -> None:
    """The last tenth of the sentences is held back; unseen words are tagged by their spelling."""
    tokens, tags, numbers = sentences()
    held = numbers >= (numbers.max() + 1) * 9 // 10
    model = credo.HiddenMarkov(kinds={"token": credo.Word()}).fit(
        {"token": tokens[~held], "tag": tags[~held], "sentence": numbers[~held]}, target="tag", sequence="sentence"
    )
    found = model.decode({"token": tokens[held], "sentence": numbers[held]})
    assert (found == tags[held]).mean() > 0.970
    new = ~np.isin(tokens[held].astype(str), tokens[~held].astype(str))
    assert (found == tags[held])[new].mean() > 0.85
