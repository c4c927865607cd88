"""Kernels of hidden Markov models against plain NumPy, against enumeration of all paths, and at the edges."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from credo._kernels.hidden_markov.log_smoothing import pass_backward_log, pass_forward_log
from credo._kernels.hidden_markov.paths import find_best_paths
from credo._kernels.hidden_markov.smoothing import pass_backward, pass_forward
from credo._kernels.jit import forced
from credo._kernels.models.shares import take_top
from credo.models.hidden_markov.passes import Counted, Links, Passes, Scaled, best_path, stretches_of

Case = tuple[Any, Any, Any, Any]  # logs, starts, initial, transitions


def case(seed: int, lengths: list[int], states: int, spread: float = 2.0, zeros: float = 0.0) -> Case:
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, spread, (sum(lengths), states))
    transitions = rng.dirichlet(np.ones(states), states) * (rng.random((states, states)) >= zeros)
    transitions += np.eye(states) * 0.01
    transitions /= transitions.sum(1, keepdims=True)
    return logs, np.cumsum([0, *lengths]), rng.dirichlet(np.ones(states)), transitions


def enumerated(
    logs: Any, initial: Any, transitions: Any
) -> tuple[float, Any, Any, list[tuple[float, tuple[int, ...]]]]:
    """log p, P(state | rows), expected transitions and all paths, best first, of one sequence."""
    rows, states = logs.shape
    with np.errstate(divide="ignore"):
        first, step = np.log(initial), np.log(transitions)
    paths = [
        (first[path[0]] + sum(step[a, b] for a, b in pairwise(path)) + logs[np.arange(rows), path].sum(), path)
        for path in product(range(states), repeat=rows)
    ]
    total = np.logaddexp.reduce([log_p for log_p, _ in paths])
    shares, pairs = np.zeros((rows, states)), np.zeros((states, states))
    for log_p, path in paths:
        weight = np.exp(log_p - total)
        shares[np.arange(rows), path] += weight
        for a, b in pairwise(path):
            pairs[a, b] += weight
    return float(total), shares, pairs, sorted(paths, key=lambda each: -each[0])


def smoothed(given: Case, cuts: tuple[int, ...] = (), weights: Any = None, in_logs: bool = False) -> Any:
    """log p of each sequence, P(state | rows), firsts and pairs, over stretches that end at the cuts."""
    logs, starts, initial, transitions = given
    rows, states = logs.shape
    weights = np.ones(len(starts) - 1) if weights is None else weights
    edges = [0, *cuts, rows]
    totals, firsts, pairs = np.zeros(len(starts) - 1), np.zeros(states), np.zeros((states, states))
    with np.errstate(divide="ignore"):
        log_initial, log_transitions = np.log(initial), np.log(transitions)
    stretches, carried, lost = [], np.zeros(states), np.zeros(1)
    for a, b in pairwise(edges):
        own, tops = logs[a:b].copy(), np.empty(b - a)
        n, last = np.searchsorted(starts, [a, b - 1], side="right") - 1
        continues = bool(a > starts[n])
        local = np.array([0, *(starts[n + 1 : last + 1] - a), b - a])
        forward, part = np.zeros((b - a + 1, states)), np.zeros(last - n + 1)
        forward[0] = carried
        if in_logs:
            failed = pass_forward_log(own, local, continues, log_initial, log_transitions, forward, part)
        else:
            take_top(own, tops)
            own = np.exp(own)
            failed = pass_forward(own, tops, local, continues, initial, transitions, forward, part, lost)
        if failed >= 0:
            return a + failed
        totals[n : last + 1] += part
        carried = forward[-1].copy()
        stretches.append((own, local, continues, forward, weights[n : last + 1], bool(b == starts[last + 1])))
    after = np.ones(states)
    shares = np.empty((rows, states))
    for (a, b), (own, local, continues, forward, mine, ends) in zip(
        [*pairwise(edges)][::-1], stretches[::-1], strict=True
    ):
        after = np.full(states, 0.0 if in_logs else 1.0) if ends else after
        if in_logs:
            pass_backward_log(own, local, continues, mine, log_transitions, forward, after, firsts, pairs)
        else:
            pass_backward(own, local, continues, mine, transitions.T.copy(), forward, after, firsts, pairs)
        shares[a:b] = forward[1:]
    return totals, shares, firsts, pairs if in_logs else pairs * transitions


@pytest.mark.parametrize("choice", ["plain", "compiled"])
@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize(
    ("lengths", "states", "zeros"),
    [([6], 3, 0.0), ([1, 4, 1, 3], 2, 0.0), ([5, 5], 3, 0.5), ([1], 1, 0.0), ([4], 1, 0.0)],
)
def test_forward_backward_is_enumeration(
    choice: str, in_logs: bool, lengths: list[int], states: int, zeros: float
) -> None:
    given = case(0, lengths, states, zeros=zeros)
    logs, starts, initial, transitions = given
    weights = np.arange(1.0, len(lengths) + 1)
    with forced(choice):
        totals, shares, firsts, pairs = smoothed(given, weights=weights, in_logs=in_logs)
    expected_pairs, expected_firsts = np.zeros((states, states)), np.zeros(states)
    for n, (a, b) in enumerate(pairwise(starts)):
        total, own, counted, _ = enumerated(logs[a:b], initial, transitions)
        assert totals[n] == pytest.approx(total, abs=1e-12)
        np.testing.assert_allclose(shares[a:b], weights[n] * own, atol=1e-12)
        expected_pairs += weights[n] * counted
        expected_firsts += weights[n] * own[0]
    np.testing.assert_allclose(pairs, expected_pairs, atol=1e-12)
    np.testing.assert_allclose(firsts, expected_firsts, atol=1e-12)


@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("cuts", [(1,), (7,), (3, 4, 12), (10,), (19,)])
def test_where_stretches_end_changes_nothing(cuts: tuple[int, ...], in_logs: bool) -> None:
    given = case(1, [10, 2, 8], 4)
    whole, cut = smoothed(given, in_logs=in_logs), smoothed(given, cuts, in_logs=in_logs)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_logarithms_find_the_same_as_scaled_probabilities() -> None:
    given = case(2, [300, 1, 50], 5, spread=30.0, zeros=0.3)
    for one, other in zip(smoothed(given), smoothed(given, in_logs=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_compiled_and_plain_are_the_same_to_the_last_bit() -> None:
    given = case(3, [40, 1, 20], 3, spread=20.0)
    found = []
    for choice in ("plain", "compiled"):
        with forced(choice):
            found.append(smoothed(given, (15, 50)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_step_that_is_too_improbable_for_floats_is_reported_and_done_in_logarithms() -> None:
    logs = np.zeros((6, 2))
    logs[3] = -900.0, 0.0  # only the state that can't be reached explains it
    given = logs, np.array([0, 6]), np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]])
    assert smoothed(given) == 3
    totals, shares, _, pairs = smoothed(given, in_logs=True)
    assert totals[0] == pytest.approx(-900.0)
    np.testing.assert_array_equal(shares, np.tile([1.0, 0.0], (6, 1)))
    assert pairs[0, 0] == 5.0


@pytest.mark.parametrize("nats", [100.0, 137.0, 300.0, 320.0, 400.0, 455.0])
def test_steps_that_are_nearly_too_improbable_lose_nothing(nats: float) -> None:
    """Scaled or, where it is reported, in logarithms: the same as enumeration."""
    rng = np.random.default_rng(int(nats))
    logs = rng.normal(0, 1, (7, 3))
    logs[2:5, :2] -= nats  # only the third state explains these rows, and it is hard to get to
    transitions = np.array([[0.9, 0.1 - 1e-60, 1e-60], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]])
    given = logs, np.array([0, 7]), np.array([0.7, 0.3, 0.0]), transitions
    found = smoothed(given)
    totals, shares, _, pairs = smoothed(given, in_logs=True) if isinstance(found, int | np.integer) else found
    total, expected_shares, expected_pairs, _ = enumerated(*[given[i] for i in (0, 2, 3)])
    assert totals[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(shares, expected_shares, atol=1e-12)
    np.testing.assert_allclose(pairs, expected_pairs, atol=1e-12)


def test_an_impossible_row_is_reported() -> None:
    logs = np.zeros((4, 2))
    logs[2] = -np.inf
    given = logs, np.array([0, 1, 4]), np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    assert smoothed(given) == 2
    assert smoothed(given, in_logs=True) == 2


def test_a_state_that_is_never_reached_may_fit_best_for_long() -> None:
    """Its backward message grows without end beside the others': it is dropped, not infinite."""
    logs = np.tile([-200.0, 0.0], (50, 1))
    given = logs, np.array([0, 50]), np.array([1.0, 0.0]), np.eye(2)
    totals, shares, _, pairs = smoothed(given)
    assert totals[0] == pytest.approx(-10_000.0)
    np.testing.assert_allclose(shares, np.tile([1.0, 0.0], (50, 1)))
    np.testing.assert_allclose(pairs, [[49.0, 0.0], [0.0, 0.0]])


def best(given: Case, cuts: tuple[int, ...] = (), **limit: int) -> tuple[Any, Any]:
    logs, starts, initial, transitions = given
    stretches = stretches_of(starts, [0, *cuts, len(logs)])

    def logs_of(k: int) -> Any:
        return logs[stretches[k].a : stretches[k].b].copy()

    return best_path(Links(initial, transitions), logs_of, logs_of, stretches, **limit)


@pytest.mark.parametrize("choice", ["plain", "compiled"])
@pytest.mark.parametrize(("lengths", "states", "zeros"), [([7], 3, 0.0), ([1, 5, 1], 2, 0.4), ([3], 1, 0.0)])
def test_the_best_path_is_the_best_of_all(choice: str, lengths: list[int], states: int, zeros: float) -> None:
    given = case(4, lengths, states, zeros=zeros)
    logs, starts, initial, transitions = given
    with forced(choice):
        for cuts, held in (((), 100), ((2,), 100), ((2,), 0), ((1, 2), 0)):
            path, log_best = best(given, cuts, held=held)
            for n, (a, b) in enumerate(pairwise(starts)):
                *_, ((top, expected), *_) = enumerated(logs[a:b], initial, transitions)
                assert log_best[n] == pytest.approx(top, abs=1e-12)
                assert tuple(path[a:b]) == expected


@pytest.mark.parametrize("choice", ["plain", "compiled"])
@pytest.mark.parametrize(
    ("rows", "states", "zeros", "kept"), [(5, 3, 0.0, 4), (4, 2, 0.0, 20), (5, 3, 0.6, 6), (1, 3, 0.0, 5)]
)
def test_the_k_best_paths_are_the_best_of_all(choice: str, rows: int, states: int, zeros: float, kept: int) -> None:
    logs, _, initial, transitions = case(5, [rows], states, zeros=zeros)
    *_, expected = enumerated(logs, initial, transitions)
    paths, log_best = np.zeros((kept, rows), dtype=np.int32), np.empty(kept)
    with forced(choice), np.errstate(divide="ignore"):
        find_best_paths(logs, np.log(initial), np.log(transitions), paths, log_best)
    possible = [(log_p, path) for log_p, path in expected if log_p > -np.inf][:kept]
    np.testing.assert_allclose(log_best[: len(possible)], [log_p for log_p, _ in possible], atol=1e-12)
    assert np.isneginf(log_best[len(possible) :]).all()
    assert [tuple(path) for path in paths[: len(possible)]] == [path for _, path in possible]


def separate(lasting: int) -> Case:
    """Two states that never change: the first row speaks against one of them, and all others for it, a little each."""
    logs = np.zeros((lasting + 1, 2))
    logs[0, 1], logs[1:, 0] = -800.0, -100.0
    return logs, np.array([0, lasting + 1]), np.array([0.5, 0.5]), np.eye(2)


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
@pytest.mark.parametrize("cuts", [(), (4,)])
def test_a_state_that_was_lost_and_matters_later_is_noticed(kernels: Any, cuts: tuple[int, ...]) -> None:
    links = Links(np.array([0.5, 0.5]), np.eye(2))
    for lasting in (2, 7, 12, 20):  # the second state wins from the ninth row on
        logs, starts, *_ = separate(lasting)
        edges = [0, *cuts, len(logs)] if not cuts or cuts[0] < len(logs) else [0, len(logs)]
        with forced(kernels):
            own = stretches_of(starts, edges)
            passes = Passes.forward(links, lambda k: logs[own[k].a : own[k].b].copy(), own)  # noqa: B023
            shares = np.concatenate([each for _, each in [*passes.smoothed(np.ones(1), nothing())][::-1]])
        expected = np.logaddexp(-100.0 * lasting, -800.0) - np.log(2)
        np.testing.assert_allclose(passes.totals, expected, rtol=1e-12)
        np.testing.assert_allclose(shares[:, 1], np.exp(-800.0 - np.log(2) - expected), rtol=1e-9, atol=1e-12)


def test_states_that_are_regained_need_no_logarithms() -> None:
    """Rows that exclude all states but one, as clusters that lie far apart do, over many rows."""
    rng = np.random.default_rng(0)
    logs = np.where(np.eye(3, dtype=bool)[rng.integers(0, 3, 2000)], 0.0, -900.0)
    own = stretches_of(np.array([0, 2000]), [0, 2000])
    links = Links(np.full(3, 1 / 3), np.full((3, 3), 1 / 3))
    passes = Passes.forward(links, lambda _: logs.copy(), own)
    assert isinstance(passes.arithmetic, Scaled)
    np.testing.assert_allclose(passes.totals, -2000 * np.log(3), rtol=1e-12)


def nothing() -> Counted:
    return Counted(np.zeros(2), np.zeros((2, 2)))
