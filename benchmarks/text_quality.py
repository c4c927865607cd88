"""How well `credo.learn` predicts the classes of documents, beside plain naive Bayes and the lecture's recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import credo
from benchmarks import corpora
from benchmarks.timing import Least, Limit

THIRD = 1 / 3
FEW, OTHERS, DRAWS = 100, 1500, 8
VERY_FEW, NEXT = (10, 20, 40), 1000  # documents that are learned from, and those that are predicted
DRAWN_DOCUMENTS = 2000  # over all draws: chance moves a figure of ten by a quarter, their mean over 200 draws by 2%


@dataclass(frozen=True)
class Outcome:
    """Of rows held out."""

    accuracy: float
    log_loss: float
    ece: float


def learned(texts: Any, labels: Any, held_out: Any) -> Outcome:
    """By all that `credo.learn` does."""
    table = {"text": texts[~held_out], "label": labels[~held_out]}
    model = credo.learn(table, target="label", kinds={"text": credo.Text()})
    scores = model.scores({"text": texts[held_out], "label": labels[held_out]})
    return Outcome(scores.accuracy, scores.log_loss, scores.ece)


def plain(texts: Any, labels: Any, held_out: Any) -> Outcome:
    """Multinomial naive Bayes of all words, each class's counts plus 1."""
    return _multinomial(texts, labels, held_out, credo.Text())


def lecture(texts: Any, labels: Any, held_out: Any) -> Outcome:
    """Without the 100 commonest words and those seen less than three times."""
    return _multinomial(texts, labels, held_out, credo.Text(min_count=3, drop_most_common=100))


def _multinomial(texts: Any, labels: Any, held_out: Any, how: Any) -> Outcome:
    learner = credo.NaiveBayes(kinds={"text": how}, estimate="mean", class_smoothing=0)
    model = learner.fit({"text": texts[~held_out], "label": labels[~held_out]}, target="label")
    scores = model.scores({"text": texts[held_out], "label": labels[held_out]})
    return Outcome(scores.accuracy, scores.log_loss, scores.ece)


def regression(texts: Any, labels: Any, held_out: Any) -> float:
    """The log-loss of tf-idf logistic regression: words, or words and pairs, and C, by a quarter of the other texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    rows, truth = texts[~held_out], labels[~held_out]
    aside = np.random.default_rng(0).random(len(rows)) < 0.25
    found = {}
    for pairs in (1, 2):
        words = TfidfVectorizer(ngram_range=(1, pairs))
        learned_words, others = words.fit_transform(rows[~aside]), words.transform(rows[aside])
        for c in (1.0, 10.0, 100.0, 1000.0):
            model = LogisticRegression(C=c, max_iter=100, tol=1e-3).fit(learned_words, truth[~aside])
            found[pairs, c] = log_loss(truth[aside], model.predict_proba(others), labels=model.classes_)
    pairs, c = min(found, key=lambda key: found[key])
    words = TfidfVectorizer(ngram_range=(1, pairs))
    model = LogisticRegression(C=c, max_iter=200).fit(words.fit_transform(rows), truth)
    shares = model.predict_proba(words.transform(texts[held_out]))
    return float(log_loss(labels[held_out], shares, labels=model.classes_))


def beside_regression(what: str, texts: Any, labels: Any, splits: list[Any], outcomes: list[Outcome]) -> Limit:
    """No worse than tf-idf logistic regression."""
    peer = float(np.mean([regression(texts, labels, held_out) for held_out in splits]))
    what = f"{what}: log-loss, of tf-idf logistic regression's ({peer:.4f}), C by validation"
    return Limit(what, mean(outcomes).log_loss / peer, 1, "times")


def thirds(size: int, splits: int) -> Iterator[Any]:
    for seed in range(splits):
        drawn = np.random.default_rng(seed).permutation(size)
        yield drawn < size * THIRD


def latest(labels: Any, numbers: Any) -> Any:
    """The last third of each group."""
    found = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        found[own[np.argsort(numbers[own])][len(own) * 2 // 3 :]] = True
    return found


def mean(outcomes: list[Outcome]) -> Outcome:
    return Outcome(*(float(np.mean([getattr(o, name) for o in outcomes])) for name in ("accuracy", "log_loss", "ece")))


def compared(what: str, texts: Any, labels: Any, splits: list[Any], outcomes: list[Outcome]) -> Iterator[Any]:
    """Never worse than plain naive Bayes."""
    beside = mean([plain(texts, labels, held_out) for held_out in splits])
    yield Limit(f"{what}: log-loss, of plain naive Bayes'", mean(outcomes).log_loss / beside.log_loss, 1, "times")


def run() -> Iterator[Any]:
    if not corpora.FOLDER.is_dir():
        yield "| text | - | skipped: no corpora beside the checkout | | | |"
        return
    yield from _newsgroups()
    yield from _sms()
    yield from _trec()
    yield from _imdb()
    for what, corpus in (("20 Newsgroups", corpora.newsgroups), ("SMS", corpora.sms), ("TREC", corpora.trec)):
        yield _of_few(what, *corpus())
        for size in VERY_FEW:
            yield _of_very_few(what, *corpus(), size)


def _of_few(what: str, texts: Any, labels: Any) -> Limit:
    """Learned from no more than FEW documents, among which some classes may have one or two; from others the next."""
    ratios = []
    for seed in range(DRAWS):
        drawn = np.random.default_rng(seed).permutation(len(texts))[: FEW + OTHERS]
        known = np.isin(labels[drawn], labels[drawn[:FEW]])
        own, held_out = drawn[known], (np.arange(FEW + OTHERS) >= FEW)[known]
        of_few = learned(texts[own], labels[own], held_out), plain(texts[own], labels[own], held_out)
        ratios.append(of_few[0].log_loss / of_few[1].log_loss)
    return Limit(f"{what}, {FEW} documents drawn, the worst of {DRAWS} draws: log-loss, of plain naive Bayes'",
                 max(ratios), 1, "times")  # fmt: skip


def _of_very_few(what: str, texts: Any, labels: Any, size: int) -> Limit:
    """In the mean over draws no worse than plain naive Bayes."""
    outcomes, beside = [], []
    for seed in range(DRAWN_DOCUMENTS // size):
        drawn = np.random.default_rng([size, seed]).permutation(len(texts))[: size + NEXT]
        known = np.isin(labels[drawn], labels[drawn[:size]])
        own, held_out = drawn[known], (np.arange(size + NEXT) >= size)[known]
        if len(np.unique(labels[drawn[:size]])) > 1:
            outcomes.append(learned(texts[own], labels[own], held_out))
            beside.append(plain(texts[own], labels[own], held_out))
    what = f"{what}, {size} documents, {len(outcomes)} draws: mean log-loss, of plain naive Bayes'"
    return Limit(what, mean(outcomes).log_loss / mean(beside).log_loss, 1, "times")


def _newsgroups() -> Iterator[Any]:
    texts, labels = corpora.newsgroups()
    late = latest(labels, corpora.newsgroup_numbers())
    found = learned(texts, labels, late)
    yield Least("20 Newsgroups, last third by number: accuracy", found.accuracy, 0.85)
    yield Limit("the same: log-loss", found.log_loss, 0.57, "nats")
    yield Limit("the same: ECE", found.ece, 0.05, "")
    yield beside_regression("the same", texts, labels, [late], [found])
    splits = list(thirds(len(labels), 5))
    outcomes = [learned(texts, labels, held_out) for held_out in splits]
    recipe = [lecture(texts, labels, held_out) for held_out in splits]
    gains = [a.accuracy - b.accuracy for a, b in zip(outcomes, recipe, strict=True)]
    whole = mean(outcomes)
    what = f"accuracy {whole.accuracy:.4f}, log-loss {whole.log_loss:.3f}, ECE {whole.ece:.3f}"
    yield f"| 20 Newsgroups, five random thirds | {what} | lecture's recipe {mean(recipe).accuracy:.4f} | | | |"
    yield Least("the same: least gain in accuracy over the lecture's recipe", min(gains), 0.02)
    yield from compared("the same", texts, labels, splits, outcomes)


def _sms() -> Iterator[Any]:
    texts, labels = corpora.sms()
    splits = list(thirds(len(labels), 10))
    outcomes = [learned(texts, labels, held_out) for held_out in splits]
    yield Least("SMS spam, ten random thirds: accuracy", mean(outcomes).accuracy, 0.983)
    yield Limit("the same: log-loss", mean(outcomes).log_loss, 0.06, "nats")
    yield beside_regression("the same", texts, labels, splits, outcomes)
    yield from compared("the same", texts, labels, splits, outcomes)


def _trec() -> Iterator[Any]:
    texts, labels = corpora.trec()
    splits = list(thirds(len(labels), 5))
    outcomes = [learned(texts, labels, held_out) for held_out in splits]
    whole = mean(outcomes)
    what = f"accuracy {whole.accuracy:.4f}, log-loss {whole.log_loss:.3f}"
    yield f"| TREC questions, five random thirds | {what} | | | | |"
    yield beside_regression("the same", texts, labels, splits, outcomes)
    yield from compared("the same", texts, labels, splits, outcomes)


def _imdb() -> Iterator[Any]:
    texts, labels = corpora.imdb()
    fold = np.random.default_rng(0).permutation(len(labels)) % 10
    splits = [fold == k for k in range(10)]
    outcomes = [learned(texts, labels, held_out) for held_out in splits]
    yield Least("IMDB, 10-fold: accuracy", mean(outcomes).accuracy, 0.90)
    yield beside_regression("IMDB, the first fold", texts, labels, splits[:1], outcomes[:1])
    yield from compared("the same", texts, labels, splits, outcomes)
