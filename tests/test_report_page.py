"""The page about a classifier: whole, by itself, and deaf to what the data's names say."""

from __future__ import annotations

import os
import re
import warnings
from base64 import b64encode
from datetime import date
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import credo
from credo.asking import waterfall
from credo.errors import CredoError, EvidenceError, Notice
from credo.families.normal_inverse_wishart import Covariance
from credo.present.classifier_page import SORTING_SCRIPT, classifier_page, page_of
from credo.present.coloured_text import NOT_IN_HTML, TEXT_CHARACTERS, pieces
from credo.present.demo import PUMPS
from credo.present.densities import shape_of
from credo.present.texts import EXPLAINED_DOCUMENTS

EVIL = "<script>alert(1)</script>\"'&$\\frac{"
VOID = {"meta", "br", "img", "input", "link"}


class Reader(HTMLParser):
    """Which elements there are, whether all that are opened are closed, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def scripts_of(page: str) -> set[str]:
    """Scripts in a page; only those with the hash that its policy names run."""
    found = set(re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL))
    for script in found:
        assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in page
    return found


def table(seed: int = 0, n: int = 120, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return {
        "size": rng.normal(size=n) + kind,
        "price": np.exp(rng.normal(size=n) + 0.8 * kind),
        "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(n) < 0.4)) % 3],
        "y": np.array(["a", "b", "c"])[kind],
        **more,
    }


def learned(data: Any, target: str = "y", **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        return credo.learn(data, target, **how)


def check_alone(page: str) -> None:
    """Nothing runs and nothing is loaded."""
    found = Reader(page)
    tags = {tag for tag, _ in found.seen}
    assert not tags & {"link", "iframe", "object", "embed", "form", "base"}
    assert scripts_of(page) <= {SORTING_SCRIPT}
    assert "svg" in tags
    for tag, attributes in found.seen:
        for name in ("src", "href", "xlink:href", "action"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value[:60])
        assert not any(name.startswith("on") for name in attributes)
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\"' )<]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_page_says_what_was_found() -> None:
    model = learned(PUMPS, "fault")
    text = Reader(page_of(model)).text
    scores, report = model.report.scores, model.report
    for words in (
        "Predicting fault", "587 rows: none 372", "13 rows without a class left out", f"{scores.accuracy:.1%}",
        f"{scores.log_loss:.4f}", f"{scores.brier:.4f}", f"{scores.ece:.4f}", report.why,
        *(each.name for each in report.tried), *(each.name for each in report.columns), "bins at quantiles",
        *(f"{each.recall:.1%}" for each in scores.by_class()), date.today().isoformat(),
    ):  # fmt: skip
        assert words in text
    for cell in scores.confusion.ravel():
        assert f"{cell:g}" in text


def test_the_worst_mistakes_are_listed_with_reasons() -> None:
    rows = table()
    model = credo.NaiveBayes().fit(rows, "y")
    found = Reader(page_of(model, rows, file="rows.csv"))
    scores = model.leave_one_out(rows)
    of_truth = np.where(scores.predicted == scores.truth, 2, scores.probabilities[np.arange(120), scores.truth])
    worst = int(of_truth.argmin())
    why = waterfall(model.explain({name: rows[name][worst] for name in ("size", "price", "colour")})).weights
    strongest = max(why, key=lambda each: abs(each["weight"]))
    at = found.text.index("strongest reasons")
    assert f"{worst + 1}" in found.text[at : at + 60]
    assert f"{scores.probabilities[worst, scores.truth[worst]]:.1%}" in found.text[at : at + 100]
    assert f"{strongest['weight']:+.2f}" in found.text[at : at + 200]
    assert "120 rows of rows.csv" in found.text
    assert "Worst mistakes" not in page_of(model)


def test_the_page_needs_nothing_beside_itself() -> None:
    check_alone(page_of(learned({name: table()[name] for name in ("size", "price", "y")})))


def test_names_from_the_data_are_only_text() -> None:
    data = table()
    words, classes = ([f"{EVIL}{cell}" for cell in data[name]] for name in ("colour", "y"))
    page = page_of(learned({EVIL: data["size"], f"{EVIL}2": words, "y": classes}))
    found = Reader(page)
    assert scripts_of(page) == {SORTING_SCRIPT}
    assert f"{EVIL}a" in found.text
    assert f"{EVIL}2" in found.text


def test_two_columns_of_numbers_show_regions() -> None:
    data = table()
    two = {name: data[name] for name in ("size", "price", "y")}
    assert "Decision regions" in page_of(learned(two))
    assert "Decision regions" in page_of(credo.GaussianDiscriminant("full").fit(two, "y"))
    for others in (data, {"size": data["size"], "colour": data["colour"], "y": data["y"]}):
        assert "Decision regions" not in page_of(learned(others))


LOG = credo.Number("log")
MODELS: dict[str, Any] = {
    "naive Bayes": credo.NaiveBayes(),
    "averaged": credo.NaiveBayes(average=True),
    "most likely": credo.NaiveBayes(estimate="ml"),
    "all forms": credo.NaiveBayes(kinds={"price": LOG, "size": credo.Number("binned"), "calls": "count"}),
    **{name: credo.GaussianDiscriminant(name) for name in get_args(Covariance)},
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_page_without_a_report(model: Any) -> None:
    data = table(calls=np.random.default_rng(1).poisson(3, 120))
    found = Reader(page_of(model.fit(data, "y")))
    assert "Columns by class" in found.text
    assert sum(tag == "figure" for tag, _ in found.seen) == 4


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_densities_are_densities(model: Any) -> None:
    """Each is that of a column alone, the others summed out."""
    data = table(calls=np.random.default_rng(1).poisson(3, 120))
    fitted = model.fit(data, "y")
    for name in fitted.views:
        shape = shape_of(fitted, name)
        assert shape is not None
        if shape.form == "category":
            total = shape.heights.sum(1)
        elif shape.form == "binned":
            total = shape.heights @ np.diff(shape.places)
        elif shape.form == "count":
            total = shape.heights.sum(1) if np.allclose(np.diff(shape.places), 1) else np.ones(3)
        else:
            places = np.log(shape.places) if shape.form == "log" else shape.places
            total = np.trapezoid(shape.heights, places, axis=1)
        np.testing.assert_allclose(total, 1, atol=0.03)


ODD: dict[str, dict[str, Any]] = {
    "a constant column": table(same=np.ones(120)),
    "a column without cells": table(none=[None] * 120),
    "one column": {name: table()[name] for name in ("size", "y")},
    "few rows": {"x": [1.0, 2.0, 3.0] * 4, "y": ["a", "b", "a"] * 4},
    "tiny and huge numbers": table(tiny=np.exp(np.linspace(-30, 30, 120)), huge=1e12 + np.arange(120.0)),
    "few values": table(few=np.tile([0.0, 0.0, 0.0, 5.0], 30)),
    "names of every script": {**table(), "列\u202e": ["日本", "ש", "ß"] * 40},
    "many classes": {"x": np.arange(200.0), "y": [f"class {i // 5}" for i in range(200)]},
    "many values": {**table(), "v": [f"value {i % 60}" for i in range(120)]},
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
@pytest.mark.slow
def test_odd_tables_have_a_page_too(data: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        Reader(page_of(credo.NaiveBayes().fit(data, "y")))
        Reader(page_of(learned(data)))


def test_the_same_model_gives_the_same_page() -> None:
    model = learned(table())
    assert page_of(model) == page_of(model)


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(EvidenceError, match="nothing was learned yet"):
        classifier_page(credo.NaiveBayes(), path)
    assert path.read_text() == "old"
    model = credo.NaiveBayes().fit(table(), "y")
    classifier_page(model, path)
    assert path.read_text() == page_of(model)
    assert os.listdir(tmp_path) == ["page.html"]  # noqa: PTH208
    with pytest.raises(CredoError, match="there is no folder"):
        classifier_page(model, tmp_path / "nowhere" / "page.html")


# Texts

ABOUT = {
    "prize": "win a free prize now, claim your cash prize by text or call this number for free entry",
    "lunch": "shall we have lunch at home today, the kids are asking when you come home for dinner",
    "bug": "the server is down again, the log says a disk is full and the nightly build has failed",
}


def messages(n: int = 90, seed: int = 0, **more: Any) -> dict[str, Any]:
    """Words of a class's sentence, with some of another's."""
    rng, names = np.random.default_rng(seed), list(ABOUT)
    kinds = rng.integers(0, 3, n)
    texts = [
        " ".join([*rng.choice(ABOUT[names[k]].split(), 7), *rng.choice(ABOUT[names[(k + 1) % 3]].split(), 3)])
        for k in kinds
    ]
    return {"text": texts, "y": [names[k] for k in kinds], **more}


@pytest.fixture(scope="module")
def of_messages() -> Any:
    return learned(messages())


def coloured(page: str) -> list[tuple[str, float, str]]:
    """Side, weight and text of each piece."""
    found = re.findall(r'<span class="(for|against)" style="--a:0\.\d\d" title="([^"]+)">([^<]*)</span>', page)
    return [(side, float(weight), text) for side, weight, text in found]


def test_words_and_documents_are_shown(of_messages: Any) -> None:
    data = messages()
    page = page_of(of_messages, data)
    check_alone(page)
    text = Reader(page).text
    for title in ("Strongest words", "Documents, explained"):
        assert text.count(title) == 1
    for value in of_messages.classes:
        for each in of_messages.top_words(value, 12).to_pylist():
            assert f"{each['word']}{each['weight']:+.2f}{each['count']:g}" in text
    shown = [data["y"].index(value) for value in ABOUT]
    for row in shown:
        why = of_messages.explain({"text": data["text"][row]})
        assert f"P({why.of}) = {why.probability:.4g}, labelled {data['y'][row]}" in text
        assert data["text"][row] in text
    assert page.count('class="document"') == EXPLAINED_DOCUMENTS
    parts = coloured(page)
    assert {side for side, _, _ in parts} == {"for", "against"}
    assert all((side == "for") == (weight > 0) for side, weight, _ in parts)


def test_without_examples_there_are_no_documents(of_messages: Any) -> None:
    page = page_of(of_messages)
    assert "Strongest words" in page
    assert "Documents, explained" not in page


def test_a_model_without_texts_has_no_such_part() -> None:
    page = page_of(learned(table()), table())
    assert "Strongest words" not in page
    assert "Documents, explained" not in page


def test_a_document_is_only_text(of_messages: Any) -> None:
    text = f"{EVIL} prize <img src=x onerror=alert(1)> \x00\x1b\u202e http://evil.example/ claim"
    page = page_of(of_messages, {"text": [text], "y": ["prize"]})
    found = Reader(page)
    assert not {"img", "a"} & {tag for tag, _ in found.seen}
    assert scripts_of(page) <= {SORTING_SCRIPT}
    assert not any(name.startswith("on") for _, attributes in found.seen for name in attributes)
    assert "\x00" not in page
    assert "\x1b" not in page
    assert NOT_IN_HTML.sub("·", text) in found.text


def test_words_of_every_kind_are_only_text() -> None:
    data = messages()
    model = credo.NaiveBayes(kinds={EVIL: credo.Text(token_pattern=r"\S+")})
    texts = [f"{text} <script>{y}</script>" for text, y in zip(data["text"], data["y"], strict=True)]
    evil = {EVIL: texts, "y": [f"{EVIL}{y}" for y in data["y"]]}
    page = page_of(model.fit(evil, "y"), evil)
    assert scripts_of(page) <= {SORTING_SCRIPT}
    assert "<script>prize</script>" in Reader(page).text


def test_a_long_document_is_cut(of_messages: Any) -> None:
    text = "prize " * 1000
    found = Reader(page_of(of_messages, {"text": [text]})).text
    assert f"{text[:TEXT_CHARACTERS]} …" in found
    assert text[: TEXT_CHARACTERS + 1] not in found


def test_pieces_are_the_text_and_add_up_to_the_weights_of_its_words(of_messages: Any) -> None:
    text = "Claim a PRIZE, the kids claim: dinner! (Nothing else.)"
    (explained,) = waterfall(of_messages.explain({"text": text})).texts
    words = explained["words"]
    found = pieces(text, words)
    assert "".join(piece.text for piece in found) == text
    assert sum(piece.weight for piece in found) == pytest.approx(
        sum(each["weight"] for each in words if each["places"])
    )


def test_each_class_has_a_document_however_the_rows_are_ordered(of_messages: Any) -> None:
    data = messages()
    order = np.argsort(data["y"], kind="stable")
    ordered = {name: [cells[i] for i in order] for name, cells in data.items()}
    text = Reader(page_of(of_messages, ordered)).text
    for value in ABOUT:
        assert text.count(f"labelled {value}") == EXPLAINED_DOCUMENTS // len(ABOUT)


def test_a_wrong_label_stands_out(of_messages: Any) -> None:
    page = page_of(of_messages, {"text": [ABOUT["prize"]], "y": ["lunch"]})
    assert ", <b>but labelled <bdi>lunch</bdi></b>" in page


TEXTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "presences": (credo.NaiveBayes(kinds={"text": credo.Text("bernoulli")}), messages()),
    "pairs": (credo.NaiveBayes(kinds={"text": credo.Text(ngrams=2)}), messages()),
    "most likely": (credo.NaiveBayes(estimate="ml"), messages()),
    "beside numbers": (credo.NaiveBayes(), messages(size=np.arange(90.0))),
    "two columns": (credo.NaiveBayes(), messages(other=messages(seed=1)["text"])),
    "missing cells": (credo.NaiveBayes(), messages(other=[None, "a few words", ""] * 30)),
}


@pytest.mark.parametrize(("model", "data"), TEXTS.values(), ids=TEXTS.keys())
def test_texts_of_every_kind_have_a_page(model: Any, data: Any) -> None:
    fitted = model.fit(data, "y")
    for examples in (data, {name: data[name] for name in data if name != "y"}):
        page = page_of(fitted, examples)
        Reader(page)
        assert page.count('class="document"') == EXPLAINED_DOCUMENTS
        assert "nan" not in page
        assert coloured(page)


def test_words_known_by_a_hash_are_coloured_but_not_listed() -> None:
    model = credo.NaiveBayes(kinds={"text": credo.Text(hashed=1000)}).fit(messages(), "y")
    page = page_of(model, messages())
    assert "Strongest words" not in page
    assert coloured(page)


def test_examples_without_a_text_show_none(of_messages: Any) -> None:
    assert "Documents, explained" not in page_of(of_messages, {"text": ["", None], "y": ["prize", "lunch"]})


def test_a_learning_curve_is_drawn(of_messages: Any) -> None:
    curve = of_messages.learning_curve(messages())
    page = page_of(of_messages, curve=curve)
    check_alone(page)
    assert page.count('aria-label="learning curve"') == 1
    assert "Scores on 30 held-out rows" in page
    assert "the model is tuned again for each size" in page
    plain = of_messages.untuned().learning_curve(messages())
    assert "tuned again" not in page_of(of_messages, curve=plain)
    assert "Learning curve" not in page_of(of_messages)


def test_what_the_weights_of_words_are_is_said(of_messages: Any) -> None:
    assert "the tuned model's mean weight against the other classes" in page_of(of_messages)
    assert "log P(word | class)/P(word | other classes)" in page_of(of_messages.untuned())


def test_an_averaged_model_shows_its_words() -> None:
    texts = ["red apple pie", "green apple tart", "blue sky rain", "grey sky storm"] * 5
    table = {"text": texts, "label": ["food", "food", "sky", "sky"] * 5}
    model = credo.NaiveBayes(average=True, kinds={"text": credo.Text()}).fit(table, "label")
    assert "apple" in page_of(model)
