"""Words and counts are those of scikit-learn's CountVectorizer, whatever the script, on both paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from credo.data import words as w
from credo.data.tokens import Tokeniser
from credo.data.word_counts import Documents

pytestmark = pytest.mark.usefixtures("path")
ODD = "aZ09_ .,!?-\t\n\x00'İıßΣσςéåÅ한中文字ไทยहिन्दी😀👩‍👩‍👧\u0301\u0307\u200d\u00adﬁǅ𝔘٣½"
texts = st.lists(st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=40), min_size=1, max_size=6)


def counted(documents: Documents, vocabulary: Any) -> list[dict[str, int]]:
    names = vocabulary.to_pylist()
    pairs = [
        zip(documents.words[a:b].tolist(), documents.counts[a:b].tolist(), strict=True)
        for a, b in zip(documents.starts[:-1], documents.starts[1:], strict=True)
    ]
    return [{names[code]: count for code, count in each} for each in pairs]


def by_sklearn(documents: list[str], **options: Any) -> list[dict[str, int]]:
    vectoriser = CountVectorizer(**options)
    try:
        matrix = vectoriser.fit_transform(documents).tocsr()
    except ValueError:  # an empty vocabulary
        return [{} for _ in documents]
    names = vectoriser.get_feature_names_out()
    return [{str(names[j]): int(row[0, j]) for j in row.indices} for row in (matrix[i] for i in range(len(documents)))]


@pytest.fixture(params=["plain", "compiled"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = request.param == "plain"
    monkeypatch.setattr(w, "_reads_in_python", lambda _, how: plain or how.token_pattern is not None)


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.slow
def test_any_text(ngrams: int, lowercase: bool) -> None:
    @settings(max_examples=150, deadline=None)
    @given(texts)
    @example(["İstanbul ISTANBUL ıi Iİ", "ΣΟΦΟΣ ΣΑΣ. ΌΔΟΣ"])
    @example(["word " * 300 + "a" * 70_000, "x" * 16 + " " + "x" * 17, "", "ab\x00cd"])
    def check(documents: list[str]) -> None:
        how = Tokeniser(lowercase=lowercase, ngrams=ngrams)
        found, vocabulary = w.learned(pa.array(documents, pa.string()), how)
        expected = by_sklearn(documents, lowercase=lowercase, ngram_range=(1, ngrams))
        assert counted(found, vocabulary) == expected
        np.testing.assert_array_equal(found.known, [bool(text) for text in documents])
        again = w.Vocabulary.of(vocabulary, how).read(pa.array(documents, pa.string()))
        assert counted(again, vocabulary) == expected
        assert not again.unseen.any()

    check()


def test_slices_nulls_and_large_strings() -> None:
    how = Tokeniser()
    array = pa.array(["lost", None, "To be or not", "", "to be", "lost"])
    for each in (array, array.cast(pa.large_string())):
        documents, vocabulary = w.learned(each.slice(1, 4), how)
        assert counted(documents, vocabulary) == [{}, {"to": 1, "be": 1, "or": 1, "not": 1}, {}, {"to": 1, "be": 1}]
        assert documents.known.tolist() == [False, True, False, True]
        assert documents.take(np.array([3, 1])).counts.tolist() == [1, 1, 1, 1, 1, 1]


def test_stop_words() -> None:
    how = Tokeniser(stop_words=frozenset(["the", "of"]), ngrams=2)
    documents, vocabulary = w.learned(pa.array(["the Lord of the Rings", "of the"]), how)
    expected = by_sklearn(["the Lord of the Rings", "of the"], stop_words=["the", "of"], ngram_range=(1, 2))
    assert counted(documents, vocabulary) == expected


def test_words_that_are_new() -> None:
    vocabulary = w.Vocabulary.of(pa.array(["gold", "new york", "york"]), Tokeniser(ngrams=2))
    found = vocabulary.read(pa.array(["Gold in new york", "nothing"]))
    assert counted(found, vocabulary.words) == [{"gold": 1, "york": 1, "new york": 1}, {}]
    assert found.unseen.tolist() == [4, 1]


def test_a_word_a_million_times_and_as_many_words() -> None:
    many = " ".join(f"w{i}" for i in range(200_000))
    documents, vocabulary = w.learned(pa.array(["word " * 1_000_000, many]), Tokeniser())
    assert documents.counts[0] == 1_000_000
    assert len(vocabulary) == 200_001
