"""Forged files of classifiers: refused, one sentence each, before a kernel trusts what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import credo
from credo.models.metrics import Scores
from tests.hostile.test_storage import forged

ROWS = {
    "x": [1.0, 2.0, 3.0, 4.0, 2.5, 3.5],
    "z": [2.0, 1.0, None, 5.0, 1.5, 2.0],
    "w": ["u", "v", "u", "v", "v", "u"],
    "y": ["a", "b", "a", "b", "a", "b"],
}
BAYES = credo.NaiveBayes().fit(ROWS, "y")
JOINT = credo.GaussianDiscriminant("full").fit(ROWS, "y")
TUNED = BAYES.tune(ROWS)
PRIOR = credo.NaiveBayes(class_prior={1: 0.5, 2: 0.5})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.credo"


def pairs(header: Any) -> Any:
    """Of labels and parts."""
    return header["model"]["evidence"]["parts"]["pairs"]


def label(counted: str, name: str = "") -> Callable[[Any], bool]:
    """Which labels are of that kind, and about that column."""
    return lambda found: (found["counted"], found["name"]) == (counted, name)


NUMBERS, COUNTED, UNLABELLED, W = label("numbers"), label("rows"), label("unlabelled"), label("column", "w")


def part(header: Any, wanted: Callable[[Any], bool]) -> Any:
    (found,) = (part for each, part in pairs(header) if wanted(each))
    return found


def without(header: Any, wanted: Callable[[Any], bool]) -> None:
    kept = [pair for pair in pairs(header) if not wanted(pair[0])]
    assert len(kept) == len(pairs(header)) - 1
    header["model"]["evidence"]["parts"]["pairs"] = kept


def labelled(header: Any, wanted: Callable[[Any], bool], **fields: Any) -> None:
    """With another label for one part."""
    (found,) = (each for each, _ in pairs(header) if wanted(each))
    found.update(fields)


def columns(header: Any) -> Any:
    return header["model"]["evidence"]["schema"]["columns"]["tuple"]


def views(header: Any) -> Any:
    return header["model"]["views"]["dict"]


def moments(header: Any) -> Any:
    return part(header, NUMBERS)["statistics"]


def shaped(statistics: Any, shape: list[int]) -> None:
    for name in ("n", "first", "second"):
        for half in ("high", "low"):
            statistics[name][half]["shape"] = shape


def whole(found: Any) -> bool:
    """Whether it is the label of rows without missing cells."""
    return bool(found["counted"] == "joint" and found["pattern"] == {"tuple": [True, True]})


APART = "are inconsistent"
FORGERIES: dict[str, tuple[Any, Callable[[Any], object], str]] = {
    "a column too many": (BAYES, lambda h: views(h).update(v={"tuple": ["gaussian"]}), APART),
    "a column of another form": (BAYES, lambda h: views(h).update(w={"tuple": ["gaussian"]}), APART),
    "a category without counts": (BAYES, lambda h: views(h).update(v={"tuple": ["category"]}), APART),
    "moments of fewer columns": (BAYES, lambda h: shaped(moments(h), [2, 1]), APART),
    "moments of more classes": (BAYES, lambda h: shaped(moments(h), [4, 1]), APART),
    "moments of three axes": (BAYES, lambda h: shaped(moments(h), [2, 2, 1]), APART),
    "sums of other sizes": (BAYES, lambda h: moments(h)["first"]["high"].update(shape=[4, 1]), APART),
    "statistics of another kind": (BAYES, lambda h: moments(h).update({"class": "CrossMoments"}), APART),
    "no numbers": (BAYES, lambda h: without(h, NUMBERS), APART),
    "no count of rows": (BAYES, lambda h: without(h, COUNTED), APART),
    "no count of rows left out": (BAYES, lambda h: without(h, UNLABELLED), APART),
    "axes the other way round": (BAYES, lambda h: part(h, W).update(axes={"tuple": ["w", "y"]}), APART),
    "counts of another column": (BAYES, lambda h: part(h, W).update(axes={"tuple": ["y", "y"]}), APART),
    "no target": (BAYES, lambda h: h["model"].update(target=None), APART),
    "another target": (BAYES, lambda h: h["model"].update(target="w"), APART),
    "a target that is a number": (BAYES, lambda h: h["model"].update(target="x"), ""),
    "a report that is a word": (TUNED, lambda h: h["model"].update(report="good"), "TunedClassifier.report should be"),
    "a report of what isn't tuned": (BAYES, lambda h: h["model"].update(report=None), "fields of NaiveBayes"),
    "views that are words": (BAYES, lambda h: h["model"].update(views={"dict": {"x": "log"}}), "NaiveBayes.views"),
    "an unknown estimate": (BAYES, lambda h: h["model"].update(estimate="best"), "no such estimate"),
    "a negative smoothing": (BAYES, lambda h: h["model"].update(smoothing=-1.0), "smoothing must be"),
    "a strength that is a word": (BAYES, lambda h: h["model"].update(strength="much"), ""),
    "a field too many": (BAYES, lambda h: h["model"].update(trust=1), "fields of NaiveBayes"),
    "a pattern of fewer columns": (JOINT, lambda h: labelled(h, whole, pattern={"tuple": [True]}), APART),
    "a pattern of numbers": (JOINT, lambda h: labelled(h, whole, pattern={"tuple": [1, 1]}), "Label.pattern should be"),
    "a pattern of a column": (JOINT, lambda h: labelled(h, whole, name="x"), APART),
    "a pattern without moments": (JOINT, lambda h: part(h, whole).update(axes={"tuple": [None]}), ""),
    "a label of nothing": (BAYES, lambda h: labelled(h, W, counted="nothing"), APART),
    "a label of no column": (BAYES, lambda h: labelled(h, W, name="v"), APART),
    "a label of pairs": (BAYES, lambda h: labelled(h, W, derived="pairs"), APART),
    "a label twice": (BAYES, lambda h: pairs(h).append(pairs(h)[0]), "a mapping with a key twice"),
    "labels that are strings": (BAYES, lambda h: pairs(h)[0].__setitem__(0, "(rows)"), "Evidence.parts should be"),
    "a column of features": (BAYES, lambda h: columns(h)[1].update(derived="features"), APART),
    "what can't be derived": (BAYES, lambda h: columns(h)[1].update(derived="year"), "Column.derived should be"),
    "a version to come": (BAYES, lambda h: h["model"]["evidence"].update(version=3), "written by a newer credo"),
    "fewer biases than classes": (TUNED, lambda h: h["model"]["tuning"].update(biases={"tuple": [0.0]}), APART),
    "a mixture of nothing": (TUNED, lambda h: h["model"]["tuning"].update(mixed="gaussian"), APART),
    "weights that are words": (
        TUNED, lambda h: h["model"]["tuning"].update(weights={"dict": {"gaussian": {"dict": {"x": "1"}}}}), "weights",
    ),
    "a key that is a list": (PRIOR, lambda h: h["model"].update(class_prior={"pairs": [[[1], 0.5]]}), "unhashable"),
    "a pair of three": (PRIOR, lambda h: h["model"].update(class_prior={"pairs": [[1, 2, 3]]}), ""),
    "pairs that are none": (PRIOR, lambda h: h["model"].update(class_prior={"pairs": [1]}), ""),
    "a share that is a word": (PRIOR, lambda h: h["model"].update(class_prior={"pairs": [[1, "x"]]}), "class_prior"),
}  # fmt: skip


@pytest.mark.parametrize(("model", "change", "reason"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_classifier_is_refused(model: Any, change: Callable[[Any], object], reason: str, path: Path) -> None:
    assert reason in forged(path, change, model)


def test_forged_scores_are_refused(path: Path) -> None:
    scores = BAYES.leave_one_out(ROWS)
    assert isinstance(scores, Scores)
    for change in (
        lambda model: model.update(classes={"tuple": ["a"]}),
        lambda model: model.update(truth=model["weights"]),
        lambda model: model["weights"].update(shape=[1]),
        lambda model: model["log_probabilities"].update(shape=[12]),
        lambda model: model.update(how=1),
    ):

        def changed(header: Any, change: Callable[[Any], object] = change) -> None:
            change(header["model"])

        assert forged(path, changed, scores)
