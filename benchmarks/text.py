"""Documents, from raw strings to a fitted model to probabilities, beside scikit-learn, Vowpal Wabbit and fastText."""

from __future__ import annotations

import re
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import credo
from benchmarks import corpora
from benchmarks.timing import Limit, Line, in_turns, peak_above

COPIES = 5
LONG_WORD = re.compile(r"\b([A-Za-z]{5,})\b")
SHORT = "Does anybody know where I can find a cheap graphics card for an old machine?"
STREAMED = 5 * 2**30  # bytes of JSON lines


def run() -> Iterator[Any]:
    if not corpora.FOLDER.is_dir():
        yield "| text | - | skipped: no corpora beside the checkout | | | |"
        return
    texts, labels = corpora.newsgroups()
    yield from _beside_scikit_learn(texts, labels)
    yield from _more_text(texts, labels)
    yield from _beside_others(texts, labels)
    yield from _one_document(texts, labels)
    yield from _one_more(texts, labels)
    ours, theirs = peak_above(_fit_ours), peak_above(_fit_theirs)
    yield Limit("fit: memory above the data, of CountVectorizer + MultinomialNB's", ours / theirs, 0.5, "times")
    for how, text in (("max_words", credo.Text(max_words=50_000)), ("hashed", credo.Text(hashed=True))):
        yield Limit(f"5 GB of JSON lines, {how}: peak memory", peak_above(partial(_stream, text)), 1024, "MB")


def fitted(texts: Any, labels: Any) -> Any:
    return credo.NaiveBayes(kinds={"x": credo.Text()}).fit(texts, target=labels)


def pipeline(texts: Any, labels: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)


def _beside_scikit_learn(texts: Any, labels: Any) -> Iterator[Line]:
    model, peer = fitted(texts, labels), pipeline(texts, labels)
    same = credo.NaiveBayes(kinds={"x": credo.Text()}, estimate="mean", class_smoothing=0).fit(texts, target=labels)
    np.testing.assert_allclose(same.predict_proba(texts[:200]), peer.predict_proba(texts[:200]), atol=1e-8)
    name = "CountVectorizer + MultinomialNB"
    times = in_turns(partial(fitted, texts, labels), partial(pipeline, texts, labels), 3)
    yield Line("20 Newsgroups, fit", name, *times, target=8)
    times = in_turns(lambda: model.predict_proba(texts), lambda: peer.predict_proba(texts), 3)
    yield Line("20 Newsgroups, predict_proba", name, *times, target=6)
    table = {"x": texts, "y": labels}
    credo.learn({"x": texts[::10], "y": labels[::10]}, target="y")  # compiled
    times = in_turns(lambda: credo.learn(table, target="y"), partial(pipeline, texts, labels), 2)
    yield Line("20 Newsgroups, credo.learn with all its tuning", f"{name}, fit", *times, target=1 / 3)
    tuned = credo.learn(table, target="y")
    times = in_turns(lambda: tuned.predict_proba(texts), lambda: peer.predict_proba(texts), 3)
    yield Line("20 Newsgroups, predict_proba of what was learned so", name, *times, target=1)


def _more_text(texts: Any, labels: Any) -> Iterator[Limit]:
    """Copies whose longer words differ: a vocabulary that grows with the text."""
    more = np.array([LONG_WORD.sub(rf"\1{'abcde'[c]}", text) for c in range(COPIES) for text in texts], dtype=object)
    sizes = [sum(map(len, each)) for each in (texts, more)]
    few, many = in_turns(partial(fitted, texts, labels), partial(fitted, more, np.tile(labels, COPIES)), 3)
    what = "fit of 5 times as much distinct text: seconds per MB, of those of the text itself"
    yield Limit(what, (many / sizes[1]) / (few / sizes[0]), 1.5, "times")


def _beside_others(texts: Any, labels: Any) -> Iterator[Any]:
    """From strings as they must be given to each; the files that fastText and Vowpal Wabbit read are made before."""
    classes = {label: k for k, label in enumerate(np.unique(labels), 1)}
    words = [re.sub(r"[^\w\s]|_", " ", text.lower()).split() for text in texts]
    with TemporaryDirectory() as folder:
        rabbit, fast = Path(folder, "rabbit"), Path(folder, "fast")
        lines = zip(labels, words, strict=True)
        rabbit.write_text("".join(f"{classes[label]} | {' '.join(own)}\n" for label, own in lines))
        lines = zip(labels, words, strict=True)
        fast.write_text("".join(f"__label__{label} {' '.join(own)}\n" for label, own in lines))
        times = in_turns(partial(fitted, texts, labels), partial(_rabbit, rabbit, len(classes)), 2)
        yield Line("20 Newsgroups, fit", "Vowpal Wabbit, one pass", *times, target=1)
        times = in_turns(partial(fitted, texts, labels), partial(_fast, fast), 1)
        yield Line("20 Newsgroups, fit", "fastText", *times, target=1)


def _rabbit(path: Path, classes: int) -> None:
    from vowpalwabbit import Workspace

    model = Workspace(f"--oaa {classes} -d {path} -b 22 --quiet")
    model.finish()


def _fast(path: Path) -> None:
    import fasttext

    fasttext.train_supervised(input=str(path), verbose=0, thread=2)


def _one_document(texts: Any, labels: Any) -> Iterator[Limit]:
    live = fitted(texts, labels).live()
    learned = credo.learn({"x": texts, "y": labels}, target="y").live()
    for what, each in (("live()", live), ("live() of what credo.learn found", learned)):
        rows = [{"x": f"{SHORT} {number}"} for number in range(1000)]  # the words of the latest one are at hand

        def foreseen(each: Any = each, rows: Any = rows) -> None:
            for row in rows:
                each.predict_proba(row)

        seconds = min(timeit.repeat(foreseen, number=1, repeat=9))
        yield Limit(f"one short document, {what}", seconds * 1e3, 50, "µs")


def _one_more(texts: Any, labels: Any) -> Iterator[Limit]:
    """Documents that are learned one after another, each by an `update` that makes a new model."""
    many, few = fitted(texts, labels), fitted(texts[:: len(texts) // 100], labels[:: len(texts) // 100])
    tuned = credo.learn({"x": texts, "y": labels}, target="y")
    small = credo.learn({"x": texts[::50], "y": labels[::50]}, target="y")

    def learning(model: Any) -> None:
        for number in range(50):
            model = model.update([f"{SHORT} {number}"], target=[labels[number]])

    for what, one, other in (("fitted", many, few), ("tuned", tuned, small)):
        large, little = in_turns(partial(learning, one), partial(learning, other), 5)
        name = f"update with one short document: a {what} model of 20 Newsgroups, of one of few messages"
        yield Limit(name, large / little, 1.5, "times")


def _fit_ours(measure: Callable[[], None]) -> None:
    texts, labels = corpora.newsgroups()
    fitted(texts[:5000], labels[:5000])  # enough for the kernels, and Numba, to be loaded
    measure()
    fitted(texts, labels)


def _fit_theirs(measure: Callable[[], None]) -> None:
    texts, labels = corpora.newsgroups()
    pipeline(texts[:500], labels[:500])
    measure()
    pipeline(texts, labels)


def _stream(how: Any, measure: Callable[[], None]) -> None:
    """From a file, most lines of which differ a little."""
    import json

    texts, labels = corpora.newsgroups()
    with TemporaryDirectory() as folder:
        path = Path(folder, "many.jsonl")
        size = copy = 0
        with path.open("w", encoding="utf-8") as out:
            while size < STREAMED:
                for text, label in zip(texts, labels, strict=True):
                    line = json.dumps({"text": f"copy{copy} {text}", "label": str(label)}) + "\n"
                    size += len(line)
                    out.write(line)
                copy += 1
        del texts, labels
        measure()
        credo.NaiveBayes(kinds={"text": how}).fit(str(path), target="label")
