"""The page about a classifier: whole, by itself, and deaf to what the data's names say."""

from __future__ import annotations

import os
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import credo
from credo.cli.demo import PUMPS
from credo.errors import CredoError, EvidenceError, Notice
from credo.families.normal_inverse_wishart import Covariance
from credo.report_figures import shape_of
from credo.report_page import classifier_page, page_of

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


def test_the_page_says_what_was_found() -> None:
    model = learned(PUMPS, "fault")
    text = Reader(page_of(model)).text
    scores, report = model.report.scores, model.report
    for words in (
        "Predicting fault", "587 rows: none 372", "13 rows without it left out", f"{scores.accuracy:.1%}",
        f"{scores.log_loss:.4f}", f"{scores.brier:.4f}", f"{scores.ece:.4f}", report.why,
        *(each.name for each in report.tried), *(each.name for each in report.columns), "bins at quantiles",
    ):  # fmt: skip
        assert words in text
    for cell in scores.confusion.ravel():
        assert f"{cell:g}" in text


def test_the_page_needs_nothing_beside_itself() -> None:
    page = page_of(learned({name: table()[name] for name in ("size", "price", "y")}))
    found = Reader(page)
    tags = {tag for tag, _ in found.seen}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base"}
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


def test_names_from_the_data_are_only_text() -> None:
    data = table()
    words, classes = ([f"{EVIL}{cell}" for cell in data[name]] for name in ("colour", "y"))
    page = page_of(learned({EVIL: data["size"], f"{EVIL}2": words, "y": classes}))
    found = Reader(page)
    assert "script" not in {tag for tag, _ in found.seen}
    assert "<script" not in page
    assert f"{EVIL}a" in found.text
    assert f"{EVIL}2" in found.text


def test_two_columns_of_numbers_show_regions() -> None:
    data = table()
    two = {name: data[name] for name in ("size", "price", "y")}
    assert "Which class is predicted where" in page_of(learned(two))
    assert "Which class is predicted where" in page_of(credo.GaussianDiscriminant("full").fit(two, "y"))
    for others in (data, {"size": data["size"], "colour": data["colour"], "y": data["y"]}):
        assert "Which class is predicted where" not in page_of(learned(others))


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
    assert "What it has learned of the columns" in found.text
    assert sum(tag == "figure" for tag, _ in found.seen) == 4


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_densities_are_densities(model: Any) -> None:
    """Each is that of a column alone, the others summed out."""
    data = table(calls=np.random.default_rng(1).poisson(3, 120))
    fitted = model.fit(data, "y")
    for name in fitted.views:
        shape = shape_of(fitted, name)
        assert shape is not None
        if shape.form in ("category", "binned"):
            total = shape.heights.sum(1)
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
