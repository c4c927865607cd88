"""Texts that are empty, endless, junk or no texts at all: a classifier copes, or refuses in a sentence."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.errors import CredoError, EvidenceError, Notice
from credo.models.classifier import Classifier
from tests.hostile.refusals import refused
from tests.hostile.test_classifiers import NEVER, assert_sound
from tests.hostile.test_documents import MB, write
from tests.laws.classifiers import assert_same, unheard
from tests.work import guarded

Table = dict[str, list[Any]]

TEXTS = ["red apple pie", "green apple tart", "blue sky rain", "grey sky storm", "apple cake", "rain cloud"]
LABELS = ["food", "food", "sky", "sky", "food", "sky"]
TABLE: Table = {"text": TEXTS, "label": LABELS}
READINGS: dict[str, credo.Text] = {
    "words": credo.Text(),
    "there or not": credo.Text("bernoulli"),
    "pairs, case kept": credo.Text(ngrams=2, lowercase=False),
    "hashed": credo.Text(hashed=True),
    "a pattern": credo.Text(token_pattern=r"\w+"),
}
readings = pytest.mark.parametrize("how", READINGS.values(), ids=READINGS.keys())
WORDLESS: list[Any] = ["", None, float("nan"), " \n\t ", "\u3000\u2028\x85", "?! ...", "a b c"]
NO_WORDS = [
    pytest.param(how, text, id=f"{name}, {text!r}")
    for name, how in READINGS.items()
    for text in ("", None, "?! ...")
    if name in ("words", "a pattern") or text
]


def fitted(table: Table, how: credo.Text | None = None) -> Classifier:
    return credo.NaiveBayes(kinds={"text": how or credo.Text()}).fit(table, "label")


def with_rows(*rows: tuple[Any, Any]) -> Table:
    """The table, and more rows."""
    return {"text": [*TEXTS, *(text for text, _ in rows)], "label": [*LABELS, *(label for _, label in rows)]}


def of_rows(table: Table, rows: list[int]) -> Table:
    return {name: [cells[i] for i in rows] for name, cells in table.items()}


def both(table: Table, how: credo.Text | None = None) -> tuple[Classifier, Classifier]:
    """As fitted, and tuned."""
    model = fitted(table, how)
    return model, model.tune(table)


def assert_shares(shares: Any) -> None:
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-9)


def assert_agrees(model: Classifier, text: Any) -> None:
    """A table, a live model and the reasons say the same of a text; words stand in it."""
    with unheard():
        (shares,) = model.predict_proba({"text": [text]})
        live = model.live().predict_proba({"text": text})
        np.testing.assert_allclose(list(live.values()), shares, atol=1e-10)
        reasons = model.explain({"text": text})
    assert repr(reasons)
    for word in reasons.words.get("text", ()):
        assert np.isfinite(word.weight)
        assert all(0 <= start < end <= len(text) for start, end in word.places)


# Texts without words


@readings
def test_texts_without_words_are_learned_and_judged(how: credo.Text) -> None:
    more = [(text, label) for text in WORDLESS for label in ("food", "sky")]
    table = with_rows(*more)
    for model in both(table, how):
        assert_sound(model, table)
    assert_same(fitted(table, how).forget(of_rows(table, [*range(6, 6 + len(more))])), fitted(TABLE, how), TABLE)


@readings
def test_a_text_that_is_missing_says_nothing(how: credo.Text) -> None:
    model, tuned = both(TABLE, how)
    for text in ("", None, float("nan")):
        np.testing.assert_allclose(model.predict_proba({"text": [text]}), [[0.5, 0.5]], rtol=1e-12)
        for each in (model, tuned):
            assert_shares(each.predict_proba({"text": [text, text]}))
            assert_agrees(each, text)


def test_a_text_without_words_says_nothing() -> None:
    model = fitted(TABLE)
    for text in WORDLESS:
        np.testing.assert_allclose(model.predict_proba({"text": [text]}), [[0.5, 0.5]], rtol=1e-12)


@pytest.mark.parametrize(("how", "text"), NO_WORDS)
def test_no_text_has_words(how: credo.Text, text: Any) -> None:
    table = {"text": [text] * 6, "label": LABELS}
    with pytest.warns(Notice) as told:
        models = both(table, how)
    assert "column 'text' has no word in any row: it is ignored" in [str(each.message) for each in told]
    for model in models:
        with unheard():
            assert_sound(model, table)
        np.testing.assert_allclose(model.predict_proba(table), 0.5, atol=1e-9)
        with unheard():
            np.testing.assert_allclose(model.predict_proba({"text": ["apple pie"]}), 0.5, atol=1e-9)
        assert model.top_words("food").num_rows == 0


def test_nothing_is_learned_from_missing_texts() -> None:
    for text in ("", None, float("nan")):
        with pytest.warns(Notice, match="column 'text' is ignored: every cell is missing"):
            says = refused(credo.learn, {"text": [text] * 6, "label": LABELS}, target="label")
        assert says == "there is no column to learn from: all of them are ignored"
    spaces = {"text": ["  \n"] * 6, "label": LABELS}
    with pytest.warns(Notice, match="each class has one row"):  # which all others are copies of
        model = credo.learn(spaces, target="label")
    assert_shares(model.predict_proba(spaces))


@pytest.mark.parametrize(("how", "text"), NO_WORDS)
def test_a_class_without_words(how: credo.Text, text: Any) -> None:
    table = {"text": [*TEXTS, text, text], "label": [*LABELS, "none", "none"]}
    for model in both(table, how):
        assert_sound(model, table)
        assert model.classes == ("food", "none", "sky")
    assert fitted(table).predict({"text": ["red apple pie"]}).tolist() == ["food"]


@pytest.mark.parametrize("empty", ["", None, float("nan")], ids=["empty", "missing", "NaN"])
def test_a_text_column_that_is_missing_everywhere(empty: Any) -> None:
    table = {**TABLE, "note": [empty] * 6}
    kinds = {"text": credo.Text(), "note": credo.Text()}
    with pytest.warns(Notice, match="column 'note' has no word in any row"):
        model = credo.NaiveBayes(kinds=kinds).fit(table, "label")
    np.testing.assert_allclose(model.predict_proba(table), fitted(TABLE).predict_proba(TABLE), rtol=1e-12)
    with unheard():
        for each in (model, model.tune(table), credo.learn(table, target="label", kinds=kinds)):
            assert_sound(each, table)
    with pytest.warns(Notice, match="column 'note' is ignored: every cell is missing"):
        assert_same(credo.NaiveBayes().fit(table, "label"), fitted(TABLE), TABLE)
    later = model.update({"text": ["a pie"], "note": ["hello world"], "label": ["food"]})
    assert later.predict_proba({"text": [None], "note": ["hello"]})[0, 0] > 0.55


# Texts that are long


@readings
@pytest.mark.slow
def test_a_word_a_million_times(how: credo.Text) -> None:
    text = "apple " * 1_000_000
    model = fitted(TABLE, how)
    with guarded():
        shares = model.predict_proba({"text": [text]})
        assert_shares(shares)
        assert shares[0, 0] > 0.7
        assert_shares(model.update({"text": [text], "label": ["food"]}).predict_proba(TABLE))


@pytest.mark.slow
def test_words_a_million_times_in_each_class() -> None:
    table = with_rows(("apple " * 1_000_000, "food"), ("sky " * 1_000_000, "sky"))
    with guarded():
        tuned = fitted(table).tune(table)
        assert_sound(tuned, table)
        assert tuned.predict(TABLE).tolist() == LABELS
    with guarded():
        live = fitted(TABLE).live()
        live.observe({"text": table["text"][6], "label": "food"})
        assert_same(live.freeze(), fitted(of_rows(table, [*range(7)])), TABLE)


@pytest.mark.slow
def test_a_hundred_megabytes() -> None:
    text = "apple sky storm cake " * (100 * MB // 21)
    model = fitted(TABLE)
    tracemalloc.start()
    with guarded():
        assert_shares(model.predict_proba({"text": [text]}))
        assert fitted(with_rows((text, "food"))).n == 7
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * MB


@pytest.mark.parametrize("name", ["words", "there or not", "pairs, case kept", "a pattern"])
def test_a_word_of_a_megabyte(name: str) -> None:
    how = READINGS[name]
    word, foreign = "x" * MB, "ß" * (MB // 2)
    table = with_rows((f"{word} apple {word}", "food"), (f"{foreign} sky", "sky"))
    with guarded():
        model = fitted(table, how)
        assert_agrees(model, f"{word} apple")
        assert_shares(model.leave_one_out(table).probabilities)
        assert model.predict({"text": [f"apple {word}"]}).tolist() == ["food"]
        assert_same(model.forget(of_rows(table, [6, 7])), fitted(TABLE, how), TABLE)


def test_a_word_of_a_megabyte_is_weighed() -> None:
    table = with_rows((f"{'x' * MB} apple", "food"), (f"{'y' * MB} sky", "sky"))
    with guarded():
        assert_sound(credo.learn(table, target="label", kinds={"text": credo.Text()}), table)


# Texts that are no texts


def junk(seed: int = 0) -> Table:
    random = Random(seed)
    texts = [random.randbytes(random.randrange(1, 300)).decode("latin-1") for _ in range(20)]
    texts += ["\0", "\0\0 apple\0pie", "a\x1bb\x07c \0word", "\ufeff\ufffe\uffff", "\U0010ffff" * 5, "\x85\v\f"]
    return {"text": texts, "label": ["a", "b"] * 13}


@readings
def test_binary_junk(how: credo.Text) -> None:
    table = junk()
    for model in both(table, how):
        assert_sound(model, table)
        for text in table["text"][12:]:
            assert_agrees(model, text)
    before = fitted(table, how)
    assert_same(before.update(junk(1)).forget(junk(1)), before, table)


def test_binary_junk_is_learned() -> None:
    assert_sound(credo.learn(junk(), target="label"), junk())


@readings
def test_lone_surrogates(how: credo.Text) -> None:
    text = "apple \ud800 sky"
    table = with_rows((text, "food"))
    for model in both(TABLE, how):
        before, live = model.predict_proba(TABLE), model.live()
        calls: list[tuple[Callable[..., Any], object]] = [
            *((verb, table) for verb in (fitted, model.update, model.forget, model.tune, model.leave_one_out)),
            (model.predict_proba, {"text": [text]}),
            (model.predict, [{"text": text}]),
            (model.predict, {"text": np.array([text])}),
            (model.explain, {"text": text}),
            (live.predict_proba, {"text": text}),
            (live.observe, {"text": text, "label": "food"}),
            (live.observe, {"text": "apple", "label": text}),
        ]
        for call, data in calls:
            assert "half a character" in refused(call, data)
        np.testing.assert_array_equal(live.freeze().predict_proba(TABLE), before)
    assert "half a character" in refused(credo.learn, table, target="label")
    assert "half a character" in refused(fitted, {"text": TEXTS, "label": [*LABELS[1:], text]})


def test_files_that_are_not_utf8(tmp_path: Path) -> None:
    for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        write(tmp_path / label / f"{i}.txt", text)
    path = write(tmp_path / "food" / "9.txt", b"apple\xff\xfe pie")
    model = credo.NaiveBayes(kinds={"text": credo.Text()})
    says = refused(model.fit, credo.documents(tmp_path, invalid="refuse"), "label")
    assert says == f"{path} isn't UTF-8 text, from byte 5 on: save it as UTF-8, or use invalid='replace'"
    assert says == refused(credo.learn, credo.documents(tmp_path, invalid="refuse"), target="label")
    with pytest.warns(Notice, match="not UTF-8 text: 1 document in .*; bytes that can't be read were replaced"):
        found = model.fit(credo.documents(tmp_path), "label")
    assert_same(found, fitted(with_rows(("apple\ufffd\ufffd pie", "food"))), TABLE)
    with unheard():
        assert credo.learn(credo.documents(tmp_path, invalid="replace"), target="label").n == 7


NO_TEXTS: dict[str, tuple[list[Any], str]] = {
    "numbers": ([None, 1.5, 2.5, 3.5, 4.5, 5.5], "has the value 1.5 where text is needed: give strings"),
    "truths": ([True, False] * 3, "has the value True where text is needed: give strings"),
    "lists": ([["apple", "pie"]] * 6, "holds list<item: string>; credo reads numbers, booleans, dates and strings"),
    "a number among texts": ([*TEXTS[:5], 7], "has the value 7 (row 6), number where those before it are str"),
    "bytes": ([b"apple \xff"] * 6, "holds binary; credo reads numbers, booleans, dates and strings"),
}


@pytest.mark.parametrize(("cells", "says"), NO_TEXTS.values(), ids=NO_TEXTS.keys())
def test_other_cells_where_text_is_needed(cells: list[Any], says: str) -> None:
    table = {"text": cells, "label": LABELS}
    assert f"column 'text' {says}" in refused(fitted, table)
    assert f"column 'text' {says}" in refused(credo.learn, table, target="label", kinds={"text": credo.Text()})
    for model in both(TABLE):
        before = model.predict_proba(TABLE)
        for verb in (model.update, model.forget, model.tune, model.leave_one_out, model.predict_proba):
            assert f"column 'text' {says}" in refused(verb, table)
        np.testing.assert_array_equal(model.predict_proba(TABLE), before)


@pytest.mark.parametrize("value", [1.5, True, b"apple", {"a": 1}], ids=repr)
def test_other_values_where_a_live_text_is_needed(value: Any) -> None:
    live = fitted(TABLE).live()
    for call, row in ((live.predict_proba, {"text": value}), (live.observe, {"text": value, "label": "food"})):
        says = refused(call, row)
        assert says == f"column 'text' has the value {value!r} (row 1) where text is needed: give strings"
    assert_same(live.freeze(), fitted(TABLE), TABLE)


def test_text_where_a_number_is_needed() -> None:
    numbers = {"x": [10 * (LABELS[i % 6] == LABELS[0]) + i / 7 for i in range(36)], "label": LABELS * 6}
    says = "column 'x' has the value 'red apple pie' (row 1) where a number is needed"
    model = credo.NaiveBayes().fit(numbers, "label")
    for each in (model, model.tune(numbers)):
        for verb in (each.update, each.predict_proba, each.leave_one_out, each.forget):
            assert says in refused(verb, {"x": TEXTS, "label": LABELS})
        assert says in refused(each.explain, {"x": TEXTS[0]})
        assert says in refused(each.live().predict_proba, {"x": TEXTS[0]})
    assert says in refused(credo.NaiveBayes(kinds={"x": "number"}).fit, {"x": TEXTS, "label": LABELS}, "label")
    assert says in refused(credo.NaiveBayes(kinds={"x": "count"}).fit, {"x": TEXTS, "label": LABELS}, "label")


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_other_kinds_of_strings(kind: Any) -> None:
    table = pa.table({"text": pa.array(TEXTS).cast(kind), "label": LABELS})
    found = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "label")
    np.testing.assert_array_equal(found.predict_proba(table), fitted(TABLE).predict_proba(TABLE))


FOREIGN = [
    "cafe\u0301 noir", "café noir", "İSTANBUL ığdır", "istanbul", "ΟΔΥΣΣΕΥΣ ΣΑΣ", "οδυσσευς σας", "😀😀 😂",
    "東京都 日本語", "中文 文字", "ß STRASSE straße", "ﬁne ﬂow", "\u202eabc def", "שלום עולם", "ไทย ภาษา",
    "👩‍👩‍👧 family", "a\u0300\u0301\u0302\u0303 zalgo", "K kelvin \u212a\u212a", "ǅǅ ǆǆ ǄǄ",
]  # fmt: skip


@readings
def test_words_of_all_scripts(how: credo.Text) -> None:
    table = {"text": FOREIGN, "label": ["a", "b"] * 9}
    for model in both(table, how):
        assert_sound(model, table)
        for text in FOREIGN:
            assert_agrees(model, text)
    model = fitted(table, how)
    live = fitted(of_rows(table, [0]), how).live()
    for text, label in zip(FOREIGN[1:], table["label"][1:], strict=True):
        live.observe({"text": text, "label": label})
    assert_same(live.freeze(), model, table)


def test_words_are_cut_as_python_lowers_them() -> None:
    model = fitted({"text": ["ΟΔΥΣΣΕΥΣ STRASSE", "İSTANBUL 東京都"], "label": ["a", "b"]})
    words = {row["parameter"] for row in model.parameters().to_pylist()}
    assert {"P(οδυσσευς)", "P(strasse)", "P(stanbul)", "P(東京都)"} <= words  # İ lowers to i and a combining dot
    spoken = model.explain({"text": "İSTANBUL, οδυσσευς"}).words["text"]
    assert {word.word: word.places for word in spoken} == {"stanbul": ((1, 8),), "οδυσσευς": ((10, 18),)}


# Labels


ODD_LABELS: list[tuple[list[Any], tuple[Any, ...]]] = [
    (["1", "2"], ("1", "2")),
    ([1, 2], (1, 2)),
    (["nan", "NaN"], ("NaN", "nan")),
    (["True", "False"], ("False", "True")),
    ([True, False], (False, True)),
    (["é", "e\u0301"], ("e\u0301", "é")),
    ([" ", "x"], (" ", "x")),
]


@pytest.mark.parametrize(("labels", "classes"), ODD_LABELS, ids=str)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* of column 'label':credo.errors.Notice")  # nan, or a blank
def test_labels_that_look_like_something_else(labels: list[Any], classes: tuple[Any, ...], tmp_path: Path) -> None:
    table = {"text": TEXTS, "label": [labels[label == "sky"] for label in LABELS]}
    model, tuned = both(table)
    credo.save(tuned, tmp_path / "x.credo")
    for each in (model, tuned, credo.learn(table, target="label"), credo.load(tmp_path / "x.credo")):
        assert each.classes == classes
        assert [type(value) for value in each.classes] == [type(value) for value in classes]
        assert each.predict(table).tolist() == table["label"]
        assert each.live().predict({"text": TEXTS[0]}) == labels[0]
    live = model.live()
    live.observe({"text": "apple", "label": labels[0]})
    assert live.freeze().class_weights.tolist() == [4.0 if value == labels[0] else 3.0 for value in classes]


@pytest.mark.parametrize("labels", [[1, "1"], ["1", 2], ["True", True]], ids=str)
def test_labels_of_two_types(labels: list[Any]) -> None:
    table = {"text": TEXTS, "label": labels * 3}
    for says in (refused(fitted, table), refused(credo.learn, table, target="label")):
        assert f"column 'label' has the value {labels[1]!r} (row 2)" in says
        assert "a column holds values of one type" in says


def test_strings_and_numbers_are_other_labels() -> None:
    strings, numbers = (fitted({"text": TEXTS, "label": labels * 3}) for labels in (["1", "2"], [1, 2]))
    says = "column 'label' is int64 in one part of the data and string in another"
    before = strings.predict_proba(TABLE)
    assert says in refused(strings.update, {"text": TEXTS, "label": [1, 2] * 3})
    assert says in refused(strings.forget, {"text": TEXTS, "label": [1, 2] * 3})
    assert says in refused(lambda: strings + numbers)
    assert "has 1, which was never learned" in refused(strings.leave_one_out, {"text": TEXTS, "label": [1, 2] * 3})
    assert "no class 1" in refused(strings.explain, {"text": TEXTS[0]}, of=1)
    np.testing.assert_array_equal(strings.predict_proba(TABLE), before)


@pytest.mark.parametrize("missing", [None, "", float("nan")], ids=["None", "empty", "NaN"])
def test_labels_that_are_missing(missing: Any) -> None:
    labels = ["food", missing, "sky", "sky", missing, "sky"]
    table, known = {"text": TEXTS, "label": labels}, of_rows(TABLE, [0, 2, 3, 5])
    with pytest.warns(Notice, match="2 rows without 'label' left out"):
        found = fitted(table)
    assert_same(found, fitted(known), TABLE)
    assert found.unlabelled == 2
    assert_shares(found.leave_one_out(table).probabilities)
    np.testing.assert_allclose(found.tune(table).predict_proba(TABLE), fitted(known).tune(known).predict_proba(TABLE))
    with pytest.warns(Notice, match="2 rows without 'label' left out"):
        assert credo.learn(table, target="label").n == 4
    with unheard():
        for learn in (fitted, lambda table: credo.learn(table, target="label")):
            says = refused(learn, {"text": TEXTS, "label": [missing] * 6})
            assert says == "no row has a class: every cell of 'label' is missing"


# Few rows, or all alike


@readings
def test_a_document_of_each_class(how: credo.Text) -> None:
    table = {"text": ["a word", "b other", "two of them"], "label": ["x", "y", "z"]}
    with pytest.warns(Notice, match="each class has one row"):
        models = *both(table, how), credo.learn(table, target="label", kinds={"text": how})
    for model in models:
        assert_sound(model, table)
        shares = model.predict_proba(table)
        assert (np.diag(shares) >= shares.max(1) - 1e-9).all()


@readings
def test_documents_that_are_all_the_same(how: credo.Text) -> None:
    table = {"text": ["the same words"] * 20, "label": ["x", "y"] * 10}
    with pytest.warns(Notice, match="each class has one row"):
        models = *both(table, how), credo.learn(table, target="label", kinds={"text": how})
    for model in models:
        assert_sound(model, table)
        np.testing.assert_allclose(model.predict_proba(table), 0.5, atol=1e-6)
        with unheard():
            np.testing.assert_allclose(model.predict_proba({"text": ["other ones"]}), 0.5, atol=0.1)


def test_two_documents() -> None:
    for texts in (["a word", "b other"], ["same words"] * 2, ["word"] * 2):
        table = {"text": texts, "label": ["x", "y"]}
        with pytest.warns(Notice, match="each class has one row"):
            models = fitted(table).tune(table), credo.learn(table, target="label")
        for model in models:
            assert_shares(model.predict_proba(table))


def test_a_single_class_of_documents() -> None:
    table = {"text": TEXTS[:2], "label": ["x", "x"]}
    assert_sound(fitted(table), table)
    assert refused(fitted(table).tune, table) == "there is only one class: nothing to tune"
    assert refused(credo.learn, table, target="label").startswith("column 'label' holds one class only, 'x'")


def test_a_thousand_classes_of_one_document() -> None:
    random = Random(0)
    texts = [" ".join(f"w{random.randrange(1000)}" for _ in range(8)) for _ in range(1000)]
    table = {"text": texts, "label": [f"class {i}" for i in range(1000)]}
    with guarded():
        with pytest.warns(Notice, match="1,000 different values in 1,000 rows: each becomes a class"):
            model = fitted(table)
        assert (model.predict(table) == table["label"]).mean() > 0.95
        assert_shares(model.leave_one_out(table).probabilities)


@pytest.mark.slow
def test_two_hundred_classes_of_one_document_are_told_apart() -> None:
    table = {"text": [f"w{i} w{i // 2}" for i in range(200)], "label": [f"class {i}" for i in range(200)]}
    with guarded(), pytest.warns(Notice, match="each class has one row"):
        found = credo.learn(table, target="label", kinds={"text": credo.Text(), "label": "category"})
    assert_shares(found.predict_proba(table))


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "each"), [(51, 2), (60, 2), (100, 3)])
def test_words_that_say_nothing_of_many_classes(classes: int, each: int) -> None:
    """Without biases, every weight would be negative: still one of them is used."""
    random = Random(1)
    texts = [" ".join(f"w{random.randrange(400)}" for _ in range(8)) for _ in range(classes * each)]
    table = {"text": texts, "label": [f"class {i % classes}" for i in range(len(texts))]}
    found = credo.learn(table, target="label", kinds={"text": credo.Text()})
    assert_shares(found.predict_proba(table))
    assert found.report.scores.log_loss == pytest.approx(np.log(classes), rel=0.15)


# Weights


def test_a_document_that_weighs_nothing_was_never_there() -> None:
    weight = [1, 0, 1, 1, 1, 0]
    table, known = {**TABLE, "w": weight}, of_rows(TABLE, [0, 2, 3, 4])
    kinds = {"text": credo.Text()}
    model, without = credo.NaiveBayes(kinds=kinds).fit(table, "label", weight="w"), fitted(known)
    np.testing.assert_array_equal(model.predict_proba(TABLE), without.predict_proba(TABLE))
    left_out = model.leave_one_out(table, weight="w").probabilities
    np.testing.assert_array_equal(left_out, without.leave_one_out(known).probabilities)
    for one, other in (
        (model.tune(table, weight="w"), without.tune(known)),
        (credo.learn(table, target="label", weight="w"), credo.learn(known, target="label")),
    ):
        np.testing.assert_allclose(one.predict_proba(TABLE), other.predict_proba(TABLE), rtol=1e-9)
    new = {"text": ["new words"], "label": ["new class"]}
    assert_same(without.update(new, weight=[0]), without, TABLE)


def test_documents_that_all_weigh_nothing() -> None:
    says = "no row has a class: all weights are zero"
    assert refused(credo.NaiveBayes(kinds={"text": credo.Text()}).fit, TABLE, "label", weight=[0] * 6) == says
    assert refused(credo.learn, TABLE, target="label", weight=[0] * 6) == says
    half = [1, 1, 0, 0, 1, 0]  # all of one class
    assert "holds one class only, 'food'" in refused(credo.learn, TABLE, target="label", weight=half)


# Several columns, and models


def test_two_text_columns() -> None:
    table = {**TABLE, "subject": TEXTS[::-1]}
    kinds = {"text": credo.Text(), "subject": credo.Text("bernoulli", ngrams=2)}
    model = credo.NaiveBayes(kinds=kinds).fit(table, "label")
    for each in (model, model.tune(table), credo.learn(table, target="label", kinds=kinds)):
        assert_sound(each, table)
        with pytest.warns(Notice, match="no column 'text': its cells count as missing"):
            assert_shares(each.predict_proba({"subject": TEXTS}))
    says = "name the text column, as in column='text'; known: text, subject."
    assert refused(model.top_words, "food") == says
    assert model.top_words("food", 1, column="text")["word"].to_pylist() == ["apple"]
    assert "no text column 'txt'" in refused(model.top_words, "food", column="txt")
    assert set(model.explain({"text": "apple pie", "subject": "sky"}).words) == {"text", "subject"}


NEVER_LEARNED: dict[str, Table] = {
    "new words": {"text": ["never seen"], "label": ["food"]},
    "the other class's words": {"text": ["apple"], "label": ["sky"]},
    "words of both": {"text": ["apple rain"], "label": ["food"]},
    "a new class": {"text": ["red apple pie"], "label": ["drink"]},
    "no class": {"text": ["red apple pie"], "label": [None]},
    "all rows twice": {"text": TEXTS * 2, "label": LABELS * 2},
    "one good row, one bad": {"text": ["red apple pie", "red sky"], "label": ["food", "food"]},
}


@readings
def test_documents_never_learned_are_not_forgotten(how: credo.Text) -> None:
    for model in both(TABLE, how):
        before = model.predict_proba(TABLE), model.log_joint(TABLE)
        for what, never in NEVER_LEARNED.items():
            with unheard():
                assert NEVER in refused(model.forget, never), what
        np.testing.assert_array_equal(model.predict_proba(TABLE), before[0])
        np.testing.assert_array_equal(model.log_joint(TABLE), before[1])


def test_a_word_oftener_than_learned_is_not_forgotten() -> None:
    for how in (credo.Text(), credo.Text(ngrams=2), credo.Text(hashed=True)):
        assert NEVER in refused(fitted(TABLE, how).forget, {"text": ["apple apple apple apple"], "label": ["food"]})


def test_texts_read_in_other_ways_do_not_merge() -> None:
    words, presences = fitted(TABLE), fitted(TABLE, credo.Text("bernoulli"))
    with pytest.raises(EvidenceError, match="don't merge: column 'text' is words in one and presences in the other"):
        words + presences
    category: Classifier = credo.NaiveBayes(kinds={"text": "category"}).fit(TABLE, "label")
    with pytest.raises(EvidenceError, match="don't merge: column 'text' is category in one and words in the other"):
        category + words
    same = [fitted(TABLE, credo.Text(stop_words=stop)) for stop in (("apple", "pie"), ("pie", "apple"))]
    assert (same[0] + same[1]).n == 12


# What was wrong once


def apples(**how: Any) -> Any:
    texts = ["red apple pie", "green apple tart", "blue sky rain", "grey sky storm", "apple cake", "rain cloud"]
    table = {"text": texts, "label": ["food", "food", "sky", "sky", "food", "sky"]}
    return table, credo.NaiveBayes(kinds={"text": credo.Text(**how)}).fit(table, "label")


@pytest.mark.parametrize("how", [{"ngrams": 2}, {"lowercase": False}, {"min_count": 2}, {"hashed": True}])
def test_other_ways_to_read_do_not_merge(how: dict[str, Any]) -> None:
    with pytest.raises(CredoError, match="column 'text' is read in different ways"):
        apples()[1] + apples(**how)[1]


def test_words_that_all_of_a_class_have_without_a_prior() -> None:
    """Bernoulli, maximum likelihood: impossible is what lacks such a word, and only that."""
    table = {"text": ["same words", "same", "other words", "other"], "label": ["x", "x", "y", "y"]}
    for estimate in ("ml", "map"):
        learner = credo.NaiveBayes(estimate=estimate, kinds={"text": credo.Text("bernoulli")})
        model = learner.fit(table, "label")
        np.testing.assert_allclose(model.predict_proba({"text": ["same words", "other"]}), [[1, 0], [0, 1]])
        with pytest.raises(CredoError, match="impossible under every class"):
            model.predict_proba({"text": ["words"]})
        alike = {"text": ["same words"] * 4, "label": ["x", "y"] * 2}
        left_out = learner.fit(alike, "label").leave_one_out(alike).probabilities
        np.testing.assert_allclose(left_out, [[1 / 3, 2 / 3], [2 / 3, 1 / 3]] * 2)


@pytest.mark.parametrize("weight", [1e6, 1e10, 1e15, 1e20])
def test_heavy_documents_are_tuned(weight: float) -> None:
    table, _ = apples()
    heavy = [weight] * 6
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "label", weight=heavy).tune(table, weight=heavy)
    assert model.predict(table).tolist() == table["label"]


def test_a_list_of_texts_is_the_one_text_column() -> None:
    model = fitted(TABLE)
    for texts in (["apple", "rain"], np.array(["apple", "rain"], dtype=object), pa.array(["apple", "rain"])):
        assert model.predict(texts).tolist() == ["food", "sky"]
    assert model.predict(iter([["apple"], ["rain"]])).tolist() == ["food", "sky"]
    assert model.explain(["apple"]).of == "food"
    more = model.update({"text": ["red pie"], "label": ["food"]})
    assert_same(model.update(["red pie"], target=["food"]), more, TABLE)
    assert "the table has none of the model's columns" in refused(model.predict, {"x": ["apple"]})
    beside = credo.NaiveBayes(kinds={"text": credo.Text()}).fit({**TABLE, "n": range(6)}, "label")
    assert "the table has none of the model's columns" in refused(beside.predict, ["apple"])
    numbers = credo.NaiveBayes().fit({**TABLE, "text": range(6)}, "label")
    assert "the table has none of the model's columns" in refused(numbers.predict, [1])
    assert "A string is a path: for one text write" in refused(model.predict, "apple pie")


def test_top_words_of_few() -> None:
    assert apples(min_count=2)[1].top_words("food")["word"].to_pylist() == ["apple"]
    assert apples(min_count=9)[1].top_words("food").num_rows == 0
    table, _ = apples()
    averaged = credo.NaiveBayes(average=True, kinds={"text": credo.Text()}).fit(table, "label")
    assert averaged.top_words("food", 1)["word"].to_pylist() == ["apple"]


def test_half_a_character_is_told_with_its_row() -> None:
    _, model = apples()
    for texts in (["apple", "apple \ud800"], np.array(["apple"] + ["apple \ud800"] * 5000)):
        with pytest.raises(CredoError, match=r"column .text., row 2: .* half a character"):
            model.predict_proba({"text": texts})


def test_bytes_that_are_no_text() -> None:
    _, model = apples()
    buffers = pa.py_buffer(np.array([0, 3], np.int32).tobytes()), pa.py_buffer(b"\xff\xfe\x80")
    with pytest.raises(CredoError, match="column 'text' holds bytes that aren't UTF-8"):
        model.predict_proba(pa.table({"text": pa.StringArray.from_buffers(1, *buffers)}))


def test_a_label_that_ends_in_nothing() -> None:
    """NumPy drops a NUL at a string's end."""
    table, _ = apples()
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit({**table, "label": ["a\0", "a"] * 3}, "label")
    assert model.predict(table).tolist() == ["a\0", "a"] * 3


def test_errors_are_short() -> None:
    _, model = apples()
    with pytest.raises(CredoError) as caught:
        model.forget({"text": ["x" * 10**6], "label": ["food"]})
    assert len(str(caught.value)) < 300
    with pytest.raises(CredoError, match="column 'text' has no 'apple rain'"):
        model.tune(apples()[0]).forget({"text": ["apple rain"], "label": ["food"]})
