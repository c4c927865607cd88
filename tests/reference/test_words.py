"""Words and their counts beside scikit-learn's CountVectorizer, by every path, and at the edges."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from credo.data import word_counts
from credo.data import words as w
from credo.data.tokens import TOKEN_PATTERN, Tokeniser, places
from credo.data.word_counts import Documents
from credo.data.words import Vocabulary, learned
from credo.errors import DataError

PATHS = {"plain": None, "compiled": 8192, "in pieces": 16}  # bytes that a kernel works on at a time

SCRIPTS = [
    "To be, or not to be: that is the question",
    "naïve café, cafe\u0301 and CAFÉ",  # a combining mark is no letter
    "İstanbul'da ISI ısı Iİ iı",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ ὈΔΥΣΣΕΎΣ. Σ ΑΣ.Σ ΑΣ\u0301Σ",  # a sigma is final or not by its neighbours
    "straße STRASSE ẞß ﬁn Ǆ ǅ K Å",
    "東京 は 日本の 首都です。我 愛你 한국어 ไทย हिन्दी עברית العربية",
    "😀 a😀b 👩‍👩‍👧 x\u200dy \u00adsoft\u00adhyphen",
    "ab\x00cd \x00 \x00e\x00",
    "𝔘𝔫𝔦 𐐀𐐁 𐐨 \U0001e900\U0001e922 ٣٤ ½¾ ²³ Ⅷ ①②",
    "_ __ _a 1 12 1_000 3.14 1e9 x",
    "é éé 中 中文 𝔘 a ab",  # of one character and of two
    "x" * 16 + " " + "x" * 17 + " " + "x" * 8 + " " + "x" * 9 + " " + "é" * 8 + " " + "é" * 9,
    "\t\n\r\v\f\x1c\u2028\u3000\u00a0a\u00a0b cd\u00a0ef",
    " ",
    ".",
    "a",
]
ODD = "aZ9_ .-\x00\n'İıIißΣσςéÅ한中文ไहि😀\u0301\u0307\u200dﬁǅ𝔘𐐀٣½"
LETTERS = st.sampled_from(ODD) | st.characters(codec="utf-8")
TEXTS = st.lists(st.text(LETTERS, max_size=60) | st.none(), max_size=6)
STOPS = frozenset({"the", "of", "12", "σας", "don't", "new york", "x", "", "The"})
WAYS = [
    Tokeniser(lowercase, ngrams, stop_words, None, buckets)
    for lowercase in (True, False)
    for ngrams in (1, 2)
    for stop_words in (frozenset[str](), STOPS)
    for buckets in (None, 7)
]


@contextmanager
def by(path: str) -> Iterator[None]:
    """Whatever is read now takes this path, unless only one is open to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(w, "_reads_in_python", lambda _, how: path == "plain" or how.token_pattern is not None)
        patch.setattr(word_counts, "PIECE_BYTES", PATHS[path] or word_counts.PIECE_BYTES)
        yield


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    with by(request.param):
        yield request.param


def tabled(documents: Documents, words: Any) -> list[dict[str, int]]:
    """Counts by word, of each document."""
    names, codes, counts = words.to_pylist(), documents.words.tolist(), documents.counts.tolist()
    found = []
    for a, b in pairwise(documents.starts.tolist()):
        assert len(set(codes[a:b])) == b - a
        found.append({names[code]: count for code, count in zip(codes[a:b], counts[a:b], strict=True)})
    return found


def by_sklearn(texts: list[str], how: Tokeniser, vocabulary: list[str] | None = None) -> list[dict[str, int]]:
    vectoriser = CountVectorizer(
        lowercase=how.lowercase,
        ngram_range=(1, how.ngrams),
        stop_words=list(how.stop_words) or None,
        token_pattern=how.token_pattern or TOKEN_PATTERN,
        vocabulary=vocabulary,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of stop words that no text can have
        try:
            matrix = (vectoriser.transform if vocabulary else vectoriser.fit_transform)(texts).tocsr()
        except ValueError:  # an empty vocabulary
            return [{} for _ in texts]
    names = vectoriser.get_feature_names_out().tolist()
    return [
        {names[j]: int(n) for j, n in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)}
        for a, b in pairwise(matrix.indptr)
    ]


def assert_same(found: Documents, expected: Documents) -> None:
    for name in ("starts", "words", "counts", "known", "unseen"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other, name)


@pytest.mark.parametrize("how", [how for how in WAYS if not how.buckets], ids=range(8))
def test_scripts_beside_sklearn(path: str, how: Tokeniser) -> None:
    for texts in ([*SCRIPTS, " ".join(SCRIPTS)], ["Of the The of", "The new york of new york"]):
        documents, words = learned(pa.array(texts), how)
        assert tabled(documents, words) == by_sklearn(texts, how), path
        assert not documents.unseen.any()
        assert documents.known.all()


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(WAYS))
@example(["ab" * 9 + "İ" + "cd" * 9, "é" * 40], Tokeniser())
@example(["ab" * 6 + ".... ", "ab"], Tokeniser(ngrams=2))  # whose end is done before the next document
@pytest.mark.slow
def test_any_text_by_every_path(texts: list[str | None], how: Tokeniser) -> None:
    array = pa.array(texts, pa.string())
    with by("plain"):
        expected, vocabulary = learned(array, how)
    if not how.buckets:
        assert tabled(expected, vocabulary) == by_sklearn([text or "" for text in texts], how)
    assert expected.known.tolist() == [bool(text) for text in texts]
    for path in ("compiled", "in pieces"):
        with by(path):
            found, words = learned(array, how)
            assert_same(found, expected)
            assert words.equals(vocabulary)
            assert_same(Vocabulary.of(words, how).read(array), expected)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from(WAYS), st.integers(0, 3))
def test_any_vocabulary_by_every_path(
    texts: list[str | None], others: list[str | None], how: Tokeniser, n: int
) -> None:
    """Words that are in the vocabulary or aren't; among those are some that no document can have."""
    with by("plain"):
        vocabulary = learned(pa.array(texts, pa.string()), how)[1].to_pylist()[n:]
    if not how.buckets:
        vocabulary += ["Odd", "a", "not one", "", "two  spaces", "tab\tbed", "9 9", *vocabulary[:2], "don't"]
    words, array = pa.array(vocabulary, pa.string()), pa.array([*others, *texts, "tab bed odd not one"], pa.string())
    with by("plain"):
        expected = Vocabulary.of(words, how).read(array)
        one = [Vocabulary.of(words, how).read_one(text or "") for text in array.to_pylist()]
    for path in ("compiled", "in pieces"):
        with by(path):
            known = Vocabulary.of(words.cast(pa.large_string()), how)
            assert_same(known.read(array), expected)
            assert [known.read_one(text or "") for text in array.to_pylist()] == one


def test_words_are_those_of_re() -> None:
    """All that Python calls so, and lower case as Python has it."""
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    found = {chr(code) for code in np.flatnonzero(word_counts.word_characters())}
    assert found == {c for c in every if re.match(r"\w", c)}
    texts = [" ".join(c * 2 for c in every[at : at + 5000]) for at in range(0, 0x30000, 5000)]
    with by("compiled"):
        documents, words = learned(pa.array(texts), Tokeniser())
    assert words.to_pylist() == list(dict.fromkeys(word for text in texts for word in Tokeniser().words(text)))
    assert documents.counts.sum() == sum(len(Tokeniser().words(text)) for text in texts)


def test_order_of_first_appearance(path: str) -> None:
    first, second = ["b a b", "c a"], ["a d", "b c"]
    how = Tokeniser(ngrams=2, token_pattern=None if path != "plain" else TOKEN_PATTERN)
    documents, words = learned(pa.array([text.replace(" ", "x x").join("xx") for text in first]), how)
    assert words.to_pylist() == ["xbx", "xax", "xbx xax", "xax xbx", "xcx", "xcx xax"]
    assert documents.words.tolist() == [0, 1, 2, 3, 4, 1, 5]
    assert documents.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    texts = [[text.replace(" ", "x x").join("xx") for text in part] for part in (first, second)]
    whole = learned(pa.array(texts[0] + texts[1]), how)[1].to_pylist()
    later = learned(pa.array(texts[1]), how)[1].to_pylist()
    assert whole == list(dict.fromkeys(words.to_pylist() + later))


def test_slices_nulls_and_large_strings(path: str) -> None:
    texts = ["lost words", None, "To be or not", "", "größer to be", None, "lost"]
    array, how = pa.array(texts), Tokeniser(ngrams=2)
    expected = [{}, {"to": 1, "be": 1, "or": 1, "not": 1, "to be": 1, "be or": 1, "or not": 1}, {}]
    expected += [{"größer": 1, "to": 1, "be": 1, "größer to": 1, "to be": 1}, {}]
    for each in (array, array.cast(pa.large_string())):
        documents, words = learned(each.slice(1, 5), how)
        assert tabled(documents, words) == expected, path
        assert documents.known.tolist() == [False, True, False, True, False]
        assert_same(Vocabulary.of(words, how).read(each.slice(1, 5)), documents)
        assert_same(
            Vocabulary.of(pa.concat_arrays([words, words]).slice(0, len(words)), how).read(each[1:6]), documents
        )
    for kind in (pa.string(), pa.large_string()):
        documents, words = learned(pa.array([], kind), how)
        assert len(words) == 0
        assert documents.starts.tolist() == [0]
        assert Vocabulary.of(words, how).read(pa.array(["some words", None], kind)).unseen.tolist() == [3, 0]


def test_what_lies_under_a_null(path: str) -> None:
    array = pa.array(["hidden", "seen"])
    _, offsets, data = array.buffers()
    masked = pa.StringArray.from_buffers(2, offsets, data, pa.py_buffer(b"\x02"))
    documents, words = learned(masked, Tokeniser())
    assert masked.to_pylist() == [None, "seen"], path
    assert words.to_pylist() == ["seen"]
    assert documents.known.tolist() == [False, True]


@pytest.mark.parametrize(
    "pattern", [r"\w+", r"(\w)\w*", r"[^,]+", r"(?i)[a-c]*", r"#(\w+)|@\w+", TOKEN_PATTERN, r"(?u)\S{3}"]
)
@pytest.mark.parametrize("ngrams", [1, 2])
def test_patterns_beside_sklearn(path: str, pattern: str, ngrams: int) -> None:
    """Spaces in words included: "a b" and "c" make the pair that "a" and "b c" make."""
    texts = ["a b,c,a,b c", "#tag @name #other", "new york,is,new,york is", "Ça va? ÇA VA!", *SCRIPTS]
    how = Tokeniser(token_pattern=pattern, ngrams=ngrams)
    documents, words = learned(pa.array(texts), how)
    assert tabled(documents, words) == by_sklearn(texts, how), path
    assert_same(Vocabulary.of(words, how).read(pa.array(texts)), documents)
    assert [word for _, _, word in places(texts[0], how)] == how.words(texts[0])


def test_patterns_of_several_groups_are_refused() -> None:
    with pytest.raises(DataError, match=r"at most one capturing group, but .* has more"):
        learned(pa.array(["some text"]), Tokeniser(token_pattern=r"(\w)(\w)"))


def test_buckets_are_the_same_everywhere(path: str) -> None:
    """CRC-32 has the check value 0xCBF43926 for "123456789"."""
    how = Tokeniser(buckets=2**20, ngrams=2, stop_words=frozenset({"and"}))
    documents, words = learned(pa.array(["123456789", "Größe and größe, twice", None]), how)
    great, twice = zlib.crc32("größe".encode()), zlib.crc32("größe twice".encode())
    assert words.to_pylist()[:2] == [f"#{0xCBF43926 % 2**20}", f"#{great % 2**20}"] == ["#276774", "#240009"], path
    assert words.to_pylist()[-1] == f"#{twice % 2**20}"
    assert documents.counts.tolist() == [1, 2, 1, 1, 1]
    known = Vocabulary.of(words.slice(1, 2), how)
    found = known.read(pa.array(["größe GRÖSSE and größe", "123456789"]))
    assert tabled(found, known.words) == [{"#240009": 2}, {}]
    assert found.unseen.tolist() == [3, 1]


def test_vocabularies_beside_sklearn(path: str) -> None:
    """Of a pair, both words, one or none may be in the vocabulary."""
    texts = ["New York is new, York is not", "is new york is", "nothing here", *SCRIPTS]
    vocabulary = [
        "york",
        "new york",
        "is",
        "is not",
        "here",
        "İstanbul",
        "東京",
        "日本の 首都です",
        "york not",
        "x" * 17,
    ]
    how = Tokeniser(ngrams=2)
    known = Vocabulary.of(pa.array(vocabulary), how)
    found = known.read(pa.array(texts))
    assert tabled(found, known.words) == by_sklearn(texts, how, vocabulary), path
    totals = np.add.reduceat(np.append(found.counts, 0), found.starts[:-1]) * (np.diff(found.starts) > 0)
    assert (totals + found.unseen).tolist() == [len(how.words(text)) for text in texts]


def test_places_are_of_the_original() -> None:
    text = "İİ Iİx ΑΣ, ΑΣ\u0301 STRASSE 😀 new"
    assert places(text, Tokeniser()) == [
        (3, 5, "ii"),
        (7, 9, "ας"),
        (11, 13, "ας"),
        (15, 22, "strasse"),
        (25, 28, "new"),
    ]
    for how in WAYS:
        for each in [*SCRIPTS, text]:
            found = places(each, how)
            assert [word for _, _, word in found] == how.words(each)
            if how.ngrams == 1 and not how.buckets and "İ" not in each and "Σ" not in each:
                assert all(word == (each[a:b].lower() if how.lowercase else each[a:b]) for a, b, word in found)
    how = Tokeniser(ngrams=2, stop_words=frozenset({"of"}))
    assert places("Lord of İ Rings", how) == [(0, 4, "lord"), (10, 15, "rings"), (0, 15, "lord rings")]
    assert places("#ab #", Tokeniser(token_pattern=r"#(\w*)")) == [(1, 3, "ab"), (4, 4, "")]


def test_one_document_as_many(path: str) -> None:
    texts = [*SCRIPTS, "", "word " * 20_000, "naïve " * 20_000]
    for how in WAYS:
        words = learned(pa.array([*SCRIPTS[::2], "word"]), how)[1]
        known = Vocabulary.of(words, how)
        all_of_them = known.read(pa.array(texts))
        for row, text in enumerate(texts):
            codes, counts, unseen = known.read_one(text)
            one = slice(*all_of_them.starts[row : row + 2])
            assert codes == all_of_them.words[one].tolist(), path
            assert counts == all_of_them.counts[one].tolist()
            assert unseen == all_of_them.unseen[row]


def test_few_documents_are_searched_for_without_an_index(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.words.INDEXED_WORDS", 0)
    for how in WAYS:
        words = learned(pa.array([*SCRIPTS[::2], "word"]), how)[1]
        searching, indexed = Vocabulary.of(words, how), Vocabulary.of(words, how)
        indexed.read(pa.array(["two", "documents"]))
        for text in [*SCRIPTS, "", "word " * 20_000]:
            assert searching.read_one(text) == indexed.read_one(text), path
        assert Vocabulary.of(words, how).read_one(SCRIPTS[0]) == indexed.read_one(SCRIPTS[0])


@pytest.mark.slow
def test_much_of_the_same_and_much_else() -> None:
    """A word a million times; half a million words in a document of 10 MB, many of them longer than a key."""
    many = [f"{'word' * (i % 7)}{i:07d}" for i in range(510_000)]
    texts = pa.array(["word " * 1_000_000, " ".join(many), "word"])
    assert len(texts[1].as_py()) > 10_000_000
    for ngrams in (1, 2):
        how = Tokeniser(ngrams=ngrams)
        documents, words = learned(texts, how)
        assert len(words) == ngrams * (len(many) + 1) - (ngrams - 1)
        assert documents.counts[:ngrams].tolist() == [1_000_000, 999_999][:ngrams]
        assert set(documents.counts[ngrams:].tolist()) == {1}
        assert [word for word in words.to_pylist() if " " not in word] == ["word", *many]
        again = Vocabulary.of(words, how).read(texts)
        assert_same(again, documents)


def test_words_of_any_length(path: str) -> None:
    """Those that differ in one byte, wherever it is, are never the same; one may be longer than a piece."""
    lengths = [*range(2, 40), 100, 8191, 8192, 8193, 100_000]
    texts = [("a" * n)[: n - 1] + last for n in lengths for last in "ab"]
    texts += ["a" * k + "b" + "a" * (40 - k) for k in range(40)] + ["é" * n for n in (8, 9, 4096, 5000)]
    for each in (texts, [" ".join(texts)]):
        documents, words = learned(pa.array(each), Tokeniser())
        assert words.to_pylist() == texts, path
        assert set(documents.counts.tolist()) == {1}


@pytest.mark.parametrize("seeds", [b"\0", b"\xff"])
def test_hashes_that_collide(seeds: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With these seeds, which nobody would draw, many words have the same hash: they stay apart."""
    monkeypatch.setattr("os.urandom", lambda n: seeds * n)
    texts = (
        [f"w{i}" for i in range(1000)] + [f"{i:03}" for i in range(1000)] + [f"{i:03}{'x' * 30}" for i in range(1000)]
    )
    with by("compiled"):
        documents, words = learned(pa.array([" ".join(texts * 2)]), Tokeniser())
        assert words.to_pylist() == texts
        assert set(documents.counts.tolist()) == {2}
        assert_same(Vocabulary.of(words, Tokeniser()).read(pa.array([" ".join(texts * 2)])), documents)


def test_vocabularies_serve_threads_and_travel() -> None:
    texts = [" ".join(f"w{(i * j) % 1000}" for j in range(200)) for i in range(500)]
    with by("compiled"):
        documents, words = learned(pa.array(texts), Tokeniser(ngrams=2))
        known = Vocabulary.of(words, Tokeniser(ngrams=2))
        known.read_one("w1 w2")
        for vocabulary in (known, pickle.loads(pickle.dumps(known))):
            with ThreadPoolExecutor(4) as pool:
                for found in pool.map(vocabulary.read, [pa.array(texts)] * 8):
                    assert_same(found, documents)


def test_little_text_needs_no_numba() -> None:
    """And much text, in all, isn't read slowly."""
    code = """
import sys
import pyarrow as pa
from credo.data import words as w
from credo.data.tokens import Tokeniser
from credo.data.words import Vocabulary, learned
documents, words = learned(pa.array(["To be, or not to be"]), Tokeniser(ngrams=2))
assert Vocabulary.of(words, Tokeniser(ngrams=2)).read(pa.array(["to be"])).counts.tolist() == [1, 1, 1]
assert Vocabulary.of(words, Tokeniser()).read_one("or not") == ([3, 5], [1, 1], 0)
assert "numba" not in sys.modules
w._price._compiling = 0
for _ in range(120):
    before = words.to_pylist()
    learned(pa.array(["word " * 12_000]), Tokeniser())
assert "numba" in sys.modules
assert learned(pa.array(["To be, or not to be"]), Tokeniser(ngrams=2))[1].to_pylist() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
