"""Words in credo and in scikit-learn: the same posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import credo


def corpus(seed: int, size: int) -> tuple[list[str], list[str]]:
    """Documents of three kinds with words of very different frequencies; some have none."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, size)
    texts = [
        " ".join(f"w{int(v)}" for v in rng.pareto(1.0, rng.integers(0, 60)) * (3.0 + kind) if v < 5000) or "nothing"
        for kind in kinds
    ]
    return texts, np.array(["a", "b", "c"])[kinds].tolist()


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0, 3.0])
def test_multinomial_naive_bayes(alpha: float, ngrams: int) -> None:
    texts, kinds = corpus(0, 300)
    new, _ = corpus(1, 50)
    vectoriser = CountVectorizer(ngram_range=(1, ngrams))
    peer = MultinomialNB(alpha=alpha).fit(vectoriser.fit_transform(texts), kinds)
    how: dict[str, Any] = {"x": credo.Text(ngrams=ngrams)}
    model = credo.NaiveBayes(smoothing=alpha, class_smoothing=0, estimate="mean", kinds=how).fit(texts, target=kinds)
    np.testing.assert_allclose(model.predict_proba(new), peer.predict_proba(vectoriser.transform(new)), atol=1e-8)
    np.testing.assert_allclose(
        model.predict_log_proba(new), peer.predict_log_proba(vectoriser.transform(new)), atol=1e-8
    )


def test_weighted_documents() -> None:
    texts, kinds = corpus(2, 200)
    weight = np.random.default_rng(3).choice([0.5, 1.0, 4.0], 200)
    vectoriser = CountVectorizer()
    peer = MultinomialNB().fit(vectoriser.fit_transform(texts), kinds, sample_weight=weight)
    how = {"x": credo.Text()}
    model = credo.NaiveBayes(class_smoothing=0, estimate="mean", kinds=how).fit(texts, target=kinds, weight=weight)
    expected = peer.predict_proba(vectoriser.transform(texts))
    np.testing.assert_allclose(model.predict_proba(texts), expected, atol=1e-8)


def test_rows_of_counts() -> None:
    """MultinomialNB's own input, a row of counts, is a document in which each column's name is repeated so often."""
    rng = np.random.default_rng(4)
    counts, y = rng.poisson(rng.gamma(1.0, 1.0, 12), (150, 12)), rng.integers(0, 2, 150)
    counts[:, 0] += y
    texts = [" ".join(f"column{j} " * n for j, n in enumerate(row) if n) or " " for row in counts]
    model = credo.NaiveBayes(class_smoothing=0, estimate="mean", kinds={"x": credo.Text()}).fit(texts, target=y)
    np.testing.assert_allclose(
        model.predict_proba(texts), MultinomialNB().fit(counts, y).predict_proba(counts), atol=1e-8
    )
