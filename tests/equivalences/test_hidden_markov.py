"""Hidden Markov models are what other models say they are: a mixture row by row, an unrolled network, all paths."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import credo
from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS
from credo.models.hidden_markov.learning import unfitted

ROWS = 6


def tagged(seed: int, rows: int = 400) -> dict[str, Any]:
    """Weather, and what is seen of it; days run on."""
    rng = np.random.default_rng(seed)
    sky = np.zeros(rows, dtype=int)
    for t in range(1, rows):
        sky[t] = rng.choice(3, p=[[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]][sky[t - 1]])
    names = np.array(["dry", "mixed", "wet"])
    umbrella = np.where(rng.random(rows) < np.array([0.1, 0.5, 0.9])[sky], "yes", "no")
    return {"umbrella": umbrella, "ice": rng.poisson(np.array([6, 3, 1])[sky]), "sky": names[sky]}


def model(**settings: Any) -> credo.HiddenMarkov:
    return credo.HiddenMarkov(kinds={"ice": "category"}, **settings).fit(tagged(0), target="sky")


SEEN: dict[str, Any] = {"umbrella": ["yes", None, "no", "no", "yes", "yes"], "ice": [1, 3, None, 5, 2, 1]}


def test_it_is_the_unrolled_network() -> None:
    """One node for each day's sky, with the day before as its parent, and nodes for what is seen."""
    hmm = model()
    emitted = {(str(line.column), str(line.of)): line.estimates for line in hmm.chain.emission.conditional.describe()}
    net = _unrolled(hmm, emitted)
    evidence = {
        f"{name}{t}": str(value) for name, column in SEEN.items() for t, value in enumerate(column) if value is not None
    }
    marginals = net.marginals(given=evidence)
    smoothed = hmm.smooth(SEEN)
    for t in range(ROWS):
        own = marginals[f"sky{t}"]
        np.testing.assert_allclose(smoothed[t], [own[name] for name in hmm.names], atol=1e-12)
    assert net.log_probability(evidence) == pytest.approx(float(hmm.log_prob(SEEN)[0]), abs=1e-10)
    whole: dict[str, Any] = {"umbrella": ["yes", "yes", "no", "no", "yes", "yes"], "ice": [1, 3, 4, 5, 2, 1]}
    best = net.most_probable(given={f"{name}{t}": str(v) for name, own in whole.items() for t, v in enumerate(own)})
    assert hmm.decode(whole).tolist() == [dict(best)[f"sky{t}"] for t in range(ROWS)]


def _unrolled(hmm: credo.HiddenMarkov, emitted: dict[tuple[str, str], Any]) -> credo.Network:
    values = {name: [value for column, value in emitted if column == name] for name in ("umbrella", "ice")}
    parents: dict[str, tuple[str, ...]] = {"sky0": ()} | {f"sky{t}": (f"sky{t - 1}",) for t in range(1, ROWS)}
    parents |= {f"{name}{t}": (f"sky{t}",) for t in range(ROWS) for name in values}
    states = {f"sky{t}": hmm.names for t in range(ROWS)}
    states |= {f"{name}{t}": tuple(own) for t in range(ROWS) for name, own in values.items()}
    tables: dict[str, Any] = {"sky0": np.array([*hmm.initial_shares.values()])}
    tables |= {f"sky{t}": hmm.transition_shares for t in range(1, ROWS)}
    for name, own in values.items():
        table = np.column_stack([emitted[name, value] for value in own])
        tables |= {f"{name}{t}": table for t in range(ROWS)}
    return credo.Network(parents, tables, states)


def test_paths_are_those_of_enumeration() -> None:
    hmm = model()
    logs = hmm.chain.emission.log_likelihood(_batch(SEEN))
    first, step = np.log([*hmm.initial_shares.values()]), np.log(hmm.transition_shares)
    paths = [
        (first[path[0]] + logs[np.arange(ROWS), path].sum() + step[path[:-1], path[1:]].sum(), tuple(path))
        for path in map(np.array, product(range(3), repeat=ROWS))
    ]
    total = np.logaddexp.reduce([log_p for log_p, _ in paths])
    assert float(hmm.log_prob(SEEN)[0]) == pytest.approx(total, abs=1e-12)
    ranked = sorted(paths, reverse=True)[:7]
    (found,) = hmm.decode(SEEN, paths=7)
    assert [path.states.tolist() for path in found] == [[hmm.names[k] for k in path] for _, path in ranked]
    np.testing.assert_allclose([path.log_probability for path in found], [p - total for p, _ in ranked], atol=1e-12)
    assert hmm.decode(SEEN).tolist() == found[0].states.tolist()


def _batch(data: dict[str, Any]) -> Any:
    from credo.data import source

    return next(source(data).batches([*data]))


@pytest.mark.filterwarnings("ignore:EM ended after")
@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_sequences_of_one_row_are_a_mixture(estimate: Any) -> None:
    """The first states' shares are those of the components: the same responsibilities and the same steps of EM."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(-2, 1, 80), rng.normal(2, 1.5, 60)])
    y = np.concatenate([rng.normal(0, 1, 80), rng.normal(1, 1, 60)])
    start = rng.dirichlet([1, 1], 140)
    data = {"x": x, "y": y, "id": np.arange(140)}
    hmm = credo.HiddenMarkov(2, estimate=estimate, steps=40, tolerance=0.0).fit(data, sequence="id", start=start)
    chain = unfitted(hmm, None, EQUAL_WEIGHTS)
    conditional = chain.emission.conditional
    batch = _batch({"x": x, "y": y})
    levels = chain.emission.levels
    from credo.core.membership import Soft

    member, history = Soft(start), []
    for _ in range(42):
        at = conditional.with_evidence(conditional.expected(batch, member, levels))
        n = member.weights.sum(0) + (0.0 if estimate == "ml" else 1.0)
        joint = np.log(n / n.sum()) + at.log_likelihood(batch)
        total = np.logaddexp.reduce(joint, axis=1)
        prior = 0.0 if estimate == "ml" else at.log_prior() + float(np.log(n / n.sum()).sum()) + 4 * np.log(0.5)
        history.append(float(total.sum()) + prior)
        member, conditional = Soft(np.exp(joint - total[:, None])), at
    np.testing.assert_allclose(hmm.history, history[1:], rtol=1e-9)
    fitted = chain.with_evidence(hmm._seen)
    assert fitted.shares.first.sum() == pytest.approx(1.0)


def test_sequences_of_one_row_are_credos_mixture() -> None:
    """By the public names: the same optimum, hence the same responsibilities."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(-4, 1, 90), rng.normal(4, 1, 60)])
    mixture = credo.Mixture(2, covariance="full", strength=1.0, tolerance=1e-12).fit({"x": x})
    hmm = credo.HiddenMarkov(2, tolerance=1e-12).fit({"x": x, "id": np.arange(150)}, sequence="id")
    own, its = hmm.smooth({"x": x, "id": np.arange(150)}), mixture.responsibilities({"x": x})
    if (own[0] > 0.5).argmax() != (its[0] > 0.5).argmax():
        own = own[:, ::-1]
    np.testing.assert_allclose(own, its, atol=1e-4)


def test_a_mixture_in_each_state_is_states_that_share_transitions() -> None:
    """Two components of one state are two states between which the chain moves as it draws them."""
    rng = np.random.default_rng(3)
    x = rng.normal(np.repeat([-3.0, 0.0, 3.0, 6.0], 30), 1.0)
    hmm = credo.HiddenMarkov(2, components=2).fit({"x": x})
    emission = hmm.chain.emission
    shares, step = emission._component_shares, hmm.transition_shares
    initial = np.array([*hmm.initial_shares.values()])
    wide = np.kron(step, np.ones((2, 2))) * np.tile(shares.ravel(), (4, 1))
    first = np.repeat(initial, 2) * shares.ravel()
    logs = emission.conditional.log_likelihood(_batch({"x": x}))
    alpha = np.log(first) + logs[0]
    for row in logs[1:]:
        alpha = np.logaddexp.reduce(alpha[:, None] + np.log(wide), axis=0) + row
    assert float(hmm.log_prob({"x": x})[0]) == pytest.approx(np.logaddexp.reduce(alpha), abs=1e-8)


def test_a_minimum_duration_is_all_paths_that_last_as_long() -> None:
    hmm = credo.HiddenMarkov((0, 1), duration=2, estimate="mean").fit(
        {"x": ["a", "a", "b", "b", "b", "a", "a", "a", "b", "b"], "s": [0, 0, 1, 1, 1, 0, 0, 0, 1, 1]}, target="s"
    )
    rows = {"x": ["a", "b", "b", "a", "b"]}
    logs = hmm.chain.emission.log_likelihood(_batch(rows))
    first, step = np.array([*hmm.initial_shares.values()]), hmm.transition_shares
    total = 0.0
    for path in product(range(2), repeat=5):
        p, ran = first[path[0]] * np.exp(logs[0, path[0]]), 1
        for t in range(1, 5):
            if ran >= 2:
                p *= step[path[t - 1], path[t]]
            elif path[t] != path[t - 1]:
                p = 0.0
            ran = ran + 1 if path[t] == path[t - 1] else 1
            p *= np.exp(logs[t, path[t]])
        total += p
    assert float(np.exp(hmm.log_prob(rows)[0])) == pytest.approx(total, rel=1e-12)
