"""Columns of words that come many times in a row, such as the ids of sequences: the same cells, read once a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from credo.data.conversion import CODED_WORDS, LONG_RUN, array_of
from credo.errors import DataError

WORDS = np.repeat([f"patient {i % 7}" for i in range(50)], 400)


@pytest.mark.parametrize("kind", ["U11", object])
def test_a_dictionary_of_the_same_words(kind: Any) -> None:
    found = array_of(WORDS.astype(kind), "id")
    assert pa.types.is_dictionary(found.type)
    assert len(found.dictionary) == 7
    assert found.to_pylist() == WORDS.tolist()


@pytest.mark.parametrize("odd", [None, np.nan, "NA"])
def test_missing_cells_and_tokens_are_read_as_ever(odd: Any) -> None:
    words = WORDS.astype(object)
    words[CODED_WORDS + 1] = odd
    expected = pa.array(words, from_pandas=True)
    assert array_of(words, "id").cast(pa.string()).equals(expected)


def test_short_runs_are_read_as_ever() -> None:
    words = np.repeat([str(i) for i in range(CODED_WORDS)], LONG_RUN - 1).astype(object)
    assert array_of(words, "id").to_pylist() == words.tolist()


@pytest.mark.parametrize("odd", [3, np.arange(3)])
def test_another_type_among_words_is_named(odd: Any) -> None:
    words = WORDS.astype(object)
    words[5000] = odd
    with pytest.raises(DataError, match="row 5001"):
        array_of(words, "id")
