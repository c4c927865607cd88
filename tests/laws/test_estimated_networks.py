"""What doesn't fit in memory is estimated, and is as far off as it says."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import CredoError, Notice, SizeError
from credo.inference import drawing, rows, sizes, trees, whole
from credo.inference.asked import Asked
from credo.inference.estimates import estimates
from credo.models.answers import Estimated, EstimatedNumber
from credo.models.network import MarkovNetwork, Network
from tests.hostile.test_networks import grid

ASIA = Network.example("asia")
SEEN: dict[str, Any] = {"Dyspnoea": "yes", "XRay": {"yes": 0.9, "no": 0.2}}
ROWS = {"Smoking": ["yes", None, "no"], "XRay": ["yes", "no", None], "Dyspnoea": [None, "yes", "yes"]}


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree fits, however small."""
    monkeypatch.setattr(trees, "check_size", lambda cells: sizes.check_size(2.0**60 * cells))
    monkeypatch.setattr(whole, "CELLS", 0)
    monkeypatch.setattr(rows, "HELD", 0)
    for name in ("SMALL", "MIDDLE"):
        monkeypatch.setattr(trees, name, 0)


def again(net: Network | MarkovNetwork) -> Any:
    """The same network, which remembers no tree."""
    return pickle.loads(pickle.dumps(net))


def squares() -> MarkovNetwork:
    return grid(4)


@pytest.mark.usefixtures("cramped")
@pytest.mark.parametrize(
    "ask",
    [
        lambda net, **how: net.query("Smoking", SEEN, **how),
        lambda net, **how: net.query(["Smoking", "Bronchitis"], SEEN, **how),
        lambda net, **how: net.marginals(SEEN, **how),
        lambda net, **how: net.probability({"Smoking": "yes"}, SEEN, **how),
        lambda net, **how: net.log_probability(SEEN, **how),
        lambda net, **how: net.most_probable(None, SEEN, **how),
        lambda net, **how: net.most_probable(["Smoking", "Bronchitis"], SEEN, **how),
        lambda net, **how: net.mutual_information("Smoking", "Bronchitis", SEEN, **how),
        lambda net, **how: net.predict_proba("Bronchitis", ROWS, **how),
        lambda net, **how: net.predict("Bronchitis", ROWS, **how),
        lambda net, **how: net.log_prob(ROWS, **how),
        lambda net, **how: net.impute(ROWS, **how),
        lambda net, **how: credo.ask(net, "P(Smoking=yes, Bronchitis | Dyspnoea=yes)", **how),
        lambda net, **how: credo.ask(net, "argmax P(* | Dyspnoea=yes)", **how),
    ],
)
def test_auto_answers_and_says_so_and_exact_refuses(ask: Any) -> None:
    with pytest.warns(Notice, match="an exact answer needs .* GB for its tables: .*(estimated|searched)"):
        ask(again(ASIA))
    with pytest.raises(SizeError, match=r"an exact answer needs .* GB.*method=\"auto\" estimates"):
        ask(again(ASIA), method="exact")


@pytest.mark.usefixtures("cramped")
@pytest.mark.parametrize("chains", [False, True])
def test_rows_given_evidence(chains: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that disagree are thrown away; chains draw where hardly any agree."""
    with pytest.raises(SizeError, match="an exact answer needs"):
        again(ASIA).sample(10, SEEN, method="exact")
    if chains:
        monkeypatch.setattr(drawing, "TRIED", 1)
        monkeypatch.setattr(drawing, "RARE", 0)
        with pytest.warns(Notice, match="drawn by gibbs instead, about as good as .* independent rows"):
            drawn = again(ASIA).sample(20_000, SEEN, seed=1)
    else:
        drawn = again(ASIA).sample(20_000, SEEN, seed=1)
    assert drawn.num_rows == 20_000
    assert set(drawn["Dyspnoea"].to_pylist()) == {"yes"}
    for name in ("Bronchitis", "Smoking", "XRay", "TuberculosisOrCancer"):
        share = np.mean(np.array(drawn[name].to_pylist()) == "yes")
        assert share == pytest.approx(believed(name, SEEN), abs=0.04 if chains else 0.015)


def believed(name: str, given: dict[str, Any]) -> float:
    """By counting out all cases."""
    from tests.networks import joint

    table = joint(ASIA, given).sum_out([other for other in ASIA.variables if other != name]).table
    return float(table[0] / table.sum())


@pytest.mark.usefixtures("cramped")
def test_what_cannot_be_estimated_honestly_is_refused() -> None:
    with pytest.raises(SizeError, match="what findings weigh isn't estimated: query can be, with each"):
        again(ASIA).explain("Smoking", {"Dyspnoea": "yes"})
    with pytest.raises(SizeError, match="beliefs aren't estimated: query can be, given likelihoods"):
        again(ASIA).believing({"Smoking": {"yes": 0.2, "no": 0.8}})


@pytest.mark.parametrize("method", ["likelihood-weighting", "gibbs", "forward"])
def test_log_probabilities_are_as_far_off_as_they_say(method: Any) -> None:
    exact = ASIA.log_probability(SEEN)
    found = [ASIA.log_probability(SEEN, method=method, samples=5000, seed=seed) for seed in range(20)]
    off = [(each - exact) / each.standard_error for each in found]  # type: ignore[attr-defined]
    assert 0.4 < np.std(off) < 1.7
    assert abs(np.mean(off)) < 0.8
    assert found[0] == ASIA.log_probability(SEEN, method=method, samples=5000, seed=0)


def test_sums_without_arrows_are_as_far_off_as_they_say() -> None:
    net, given = squares(), {"x1_1": 1, "x2_2": {0: 0.1, 1: 0.7}}
    exact = net.log_probability(given)
    found = [net.log_probability(given, method="gibbs", samples=20_000, seed=seed) for seed in range(10)]
    for each in found:
        assert each == pytest.approx(exact, abs=4 * each.standard_error)  # type: ignore[attr-defined]
        assert each.standard_error < 0.2  # type: ignore[attr-defined]


def test_events_and_means_have_their_own_error() -> None:
    dice = Network("a -> b", {"a": [1 / 6] * 6, "b": np.full((6, 6), 1 / 12) + np.eye(6) / 2}, range(1, 7))
    for question in ("P(a > 3, b in {1, 2} | b < 6)", "E(a | b=3)", "P(a=2 | b > 1)"):
        exact = credo.ask(dice, question)
        for method in ("likelihood-weighting", "gibbs", "forward"):
            off = []
            for seed in range(20):
                found = credo.ask(dice, question, method=method, samples=2000, seed=seed)
                assert isinstance(found, EstimatedNumber)
                off.append((found - exact) / found.standard_error)
            assert 0.4 < np.std(off) < 1.7, (question, method)
    both = credo.ask(dice, "P(b, a > 3 | b < 4)", method="forward", samples=20_000)
    assert isinstance(both, Estimated)
    assert both == pytest.approx(credo.ask(dice, "P(b, a > 3 | b < 4)"), abs=4 * max(both.standard_error.values()))
    one = dice.probability({"a": 2}, {"b": 1}, method="loopy")
    assert one == pytest.approx(dice.probability({"a": 2}, {"b": 1}))


def test_an_estimate_is_a_number() -> None:
    found = EstimatedNumber(0.2314, 0.0042, 100.0, "gibbs")
    assert str(found) == "0.231 ± 0.004"
    assert found + 1 == 1.2314
    same = pickle.loads(pickle.dumps(found))
    assert (same, same.standard_error, same.method) == (0.2314, 0.0042, "gibbs")
    told = ASIA.query("Smoking", method="forward", samples=100)
    again_ = pickle.loads(pickle.dumps(told))
    assert again_ == told
    assert again_.standard_error == told.standard_error  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(30))
def test_searches_find_what_is_most_probable(seed: int) -> None:
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(9)]
    parents = {name: tuple(names[j] for j in random.permutation(i)[:2]) for i, name in enumerate(names)}
    tables = {name: random.dirichlet([0.6] * 3, size=[3] * len(above)) for name, above in parents.items()}
    for name in names[6:]:  # decided by their parents
        tables[name] = np.eye(3)[random.integers(3, size=[3] * len(parents[name]))]
    net = Network(parents, tables, ("x", "y", "z"))
    row = net.sample(1, seed=seed).to_pylist()[0]
    given = {name: row[name] for name in names[4:6]}
    exact, found = net.most_probable(None, given), net.most_probable(None, given, method="gibbs", samples=20_000)
    assert found.method == "annealing"
    assert found.log_joint == pytest.approx(net.log_probability({**found}), abs=1e-9)  # exactly as probable as it says
    assert found.log_joint == pytest.approx(exact.log_joint, abs=1e-9)
    some = [names[0], names[3], names[8]]
    best, found = net.most_probable(some, given), net.most_probable(some, given, method="gibbs", samples=20_000)
    assert found.log_joint == pytest.approx(net.log_probability({**given, **found}), abs=1e-9)
    assert found.log_joint > best.log_joint - 0.3


def test_no_evidence_is_certain() -> None:
    assert ASIA.log_probability({}) == ASIA.log_probability() == ASIA.log_probability({"Smoking": None}) == 0.0
    assert str(ASIA.log_probability({})) == "0.0"


def test_a_rare_cause_that_no_sample_had_is_not_ruled_out() -> None:
    """All samples weigh the same, and none has the cause that would weigh 100,000 times as much."""
    rare = Network("A -> B", {"A": 1e-6, "B": {"yes": 0.99, "no": 1e-5}})
    exact = rare.query("A", {"B": "yes"})["yes"]
    findings = rare._findings({"B": "yes"})
    for method in ("likelihood-weighting", "auto"):
        (found,) = estimates(rare.potentials, findings, [Asked([0])], method, 100_000, 0)
        assert abs(found.table[0] - exact) < 4 * found.error[0]
    assert found.method == "gibbs"
    assert found.error[0] < 0.01


def test_chains_begin_apart() -> None:
    """Where they hardly ever change, the error shows it: they don't all begin in the best state."""
    sticky = Network("A -> B -> C", {"A": 0.5, "B": {"yes": 0.9999, "no": 0.0001}, "C": {"yes": 0.8, "no": 0.4}})
    exact = sticky.query("A", {"C": "yes"})["yes"]
    off = []
    for seed in range(12):
        found = sticky.query("A", {"C": "yes"}, method="gibbs", samples=20_000, seed=seed)
        off.append((found["yes"] - exact) / found.standard_error["yes"])  # type: ignore[attr-defined]
    assert np.sqrt(np.mean(np.square(off))) < 4


def test_a_network_without_factors_has_no_arrows_to_draw_along() -> None:
    empty = MarkovNetwork({"a": (0, 1), "b": tuple(range(5))}, [])
    assert empty.log_probability({"a": 1}, method="gibbs") == pytest.approx(np.log(5))
    assert empty.most_probable(given={"a": 1}, method="gibbs")["a"] == 1
    with pytest.raises(CredoError, match="without arrows"):
        empty.query("b", method="likelihood-weighting")


TOGETHER = ["Smoking", "Bronchitis"]
LIKELY = ASIA.query(TOGETHER, {"XRay": "yes"})  # before nothing fits


@pytest.mark.usefixtures("cramped")
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_a_few_states_together_is_found(seed: int) -> None:
    with pytest.warns(Notice, match="searched for by annealing"):
        found = again(ASIA).most_probable(TOGETHER, {"XRay": "yes"}, seed=seed)
    assert LIKELY[found["Smoking"], found["Bronchitis"]] == max(LIKELY.values())
