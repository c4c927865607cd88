"""Baum-Welch against hmmlearn: from the same start, under flat priors, the same log-likelihood after each step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.em import expected as expected_of
from credo.data import source
from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS
from credo.models.hidden_markov.fitting import begun_with
from credo.models.hidden_markov.given import START, with_given
from credo.models.hidden_markov.learning import Sequenced, prepared, unfitted

hmm = pytest.importorskip("hmmlearn.hmm")

LENGTHS = [80, 1, 40, 120]


def numbers(columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(columns)
    hidden = np.repeat(rng.integers(0, 3, 61), 4)[: sum(LENGTHS)]
    return rng.normal(2.0 * hidden[:, None] * [1, -1, 0.5][:columns], 1.0), hidden


def shaken(hidden: Any) -> Any:
    rng = np.random.default_rng(1)
    return np.where(rng.random(len(hidden)) < 0.3, rng.integers(0, 3, len(hidden)), hidden)


def path_of(peer: Any, x: Any, steps: int) -> list[float]:
    """hmmlearn's log-likelihoods at the start and after each step."""
    peer.n_iter, peer.tol = steps + 1, -np.inf
    with np.errstate(all="ignore"):
        peer.fit(x, LENGTHS)
    return [*peer.monitor_.history]


@pytest.mark.parametrize(("emission", "theirs"), [("diagonal", "diag"), ("full", "full"), ("tied", "tied")])
@pytest.mark.filterwarnings("ignore")
def test_gaussians_take_the_same_path(emission: Any, theirs: str) -> None:
    x, hidden = numbers(3)
    table = {"x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2], "id": np.repeat(np.arange(4), LENGTHS)}
    start = shaken(hidden)
    model = credo.HiddenMarkov(3, emission=emission, estimate="ml", steps=8, tolerance=0.0)
    found = model.fit(table, sequence="id", start=start)
    chain = _chain_at_start(model, table, start)
    mean, covariance = _gaussians(chain)
    peer = hmm.GaussianHMM(3, theirs, init_params="", implementation="log", covars_prior=0.0, covars_weight=0.0)
    peer.startprob_, peer.transmat_, peer.means_ = chain.shares.first, chain.shares.step, mean
    diagonal = np.einsum("kii->ki", covariance)
    peer.covars_ = {"diag": diagonal, "full": covariance, "tied": covariance[0]}[theirs]
    expected = path_of(peer, x, 8)
    np.testing.assert_allclose(found.history[: len(expected)], expected[: len(found.history)], rtol=1e-6)


def _chain_at_start(model: credo.HiddenMarkov, table: Any, start: Any) -> Any:
    """The parameters that EM's history begins with."""
    data, given = with_given(source(table), start, (0, 1, 2), START)
    own, data, _ = prepared(model, data, (None, given), Sequenced("id", None, None))
    own = own.replaced(names=(0, 1, 2))
    chain, reader = unfitted(own, None, EQUAL_WEIGHTS), own._table(data, (given,)).reader()
    begun = chain.with_evidence(begun_with(replace(chain, given=given), reader, 0))
    return begun.with_evidence(expected_of(begun, reader)[0])


def _gaussians(chain: Any) -> tuple[Any, Any]:
    parameters = {(line.column, line.name): line.estimates for line in chain.emission.conditional.describe()}
    names = ["x0", "x1", "x2"]
    mean = np.column_stack([parameters[name, "mean"] for name in names])
    sd = np.column_stack([parameters[name, "sd"] for name in names])
    covariance = sd[:, :, None] * sd[:, None, :] * np.eye(3)
    for i, name in enumerate(names):
        for j in range(i):
            both = parameters.get((name, f"correlation with {names[j]}"))
            if both is not None:
                covariance[:, i, j] = covariance[:, j, i] = both * sd[:, i] * sd[:, j]
    return mean, covariance


@pytest.mark.filterwarnings("ignore")
def test_symbols_take_the_same_path() -> None:
    rng = np.random.default_rng(0)
    _, hidden = numbers(1)
    symbol = (hidden + (rng.random(len(hidden)) < 0.3)) % 3
    table = {"x": np.array(["a", "b", "c"])[symbol], "id": np.repeat(np.arange(4), LENGTHS)}
    model = credo.HiddenMarkov(3, estimate="ml", steps=10, tolerance=0.0)
    found = model.fit(table, sequence="id", start=shaken(hidden))
    chain = _chain_at_start(model, table, shaken(hidden))
    peer = hmm.CategoricalHMM(3, init_params="", implementation="log")
    peer.startprob_, peer.transmat_ = chain.shares.first, chain.shares.step
    lines = sorted(chain.emission.conditional.describe(), key=lambda line: line.name)
    peer.emissionprob_ = np.column_stack([line.estimates for line in lines])
    expected = path_of(peer, symbol[:, None], 10)
    np.testing.assert_allclose(found.history[: len(expected)], expected[: len(found.history)], rtol=1e-6)
    ours, path = found.decode(table), peer.predict(symbol[:, None], LENGTHS)
    assert (ours == path).mean() > 0.99  # one step apart


@pytest.mark.filterwarnings("ignore")
def test_counts_take_the_same_path() -> None:
    rng = np.random.default_rng(0)
    _, hidden = numbers(1)
    n = rng.poisson(1.0 + 4 * hidden)
    table = {"n": n, "id": np.repeat(np.arange(4), LENGTHS)}
    model = credo.HiddenMarkov(3, estimate="ml", steps=10, tolerance=0.0, kinds={"n": "count"})
    found = model.fit(table, sequence="id", start=shaken(hidden))
    chain = _chain_at_start(model, table, shaken(hidden))
    peer = hmm.PoissonHMM(3, init_params="", implementation="log", lambdas_prior=0.0, lambdas_weight=0.0)
    peer.startprob_, peer.transmat_ = chain.shares.first, chain.shares.step
    peer.lambdas_ = np.column_stack([line.estimates for line in chain.emission.conditional.describe()])
    expected = path_of(peer, n[:, None], 10)
    np.testing.assert_allclose(found.history[: len(expected)], expected[: len(found.history)], rtol=1e-6)
