"""What doesn't fit in memory is estimated, and is as far off as it says."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_
from hypothesis import settings
from hypothesis import strategies as st

import credo
from credo.errors import CredoError, Notice, SizeError
from credo.networks.answers import Estimated, EstimatedNumber
from credo.networks.factor import Factor
from credo.networks.inference import joint_table as whole
from credo.networks.inference import rooted_tree, sizes, trees
from credo.networks.inference import sampling as drawing
from credo.networks.inference.approximate import estimates
from credo.networks.inference.estimate import JointQuery
from credo.networks.inference.sizes import Sampling
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import quietly
from tests.hostile.test_networks import grid
from tests.networks import evidence, markov_networks, networks

ASIA = Network.example("asia")
SEEN: dict[str, Any] = {"Dyspnoea": "yes", "XRay": {"yes": 0.9, "no": 0.2}}
ROWS = {"Smoking": ["yes", None, "no"], "XRay": ["yes", "no", None], "Dyspnoea": [None, "yes", "yes"]}


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree fits, however small."""
    monkeypatch.setattr(trees, "check_size", lambda cells: sizes.check_size(2.0**60 * cells))
    monkeypatch.setattr(whole, "LARGEST_JOINT_TABLE", 0)
    monkeypatch.setattr(rooted_tree, "KEPT_PRODUCT", 0)
    for name in ("SMALL_TREE", "MIDDLE_TREE"):
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
@pytest.mark.slow
def test_rows_given_evidence(chains: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that disagree are thrown away; chains draw where hardly any agree."""
    with pytest.raises(SizeError, match="an exact answer needs"):
        again(ASIA).sample(10, SEEN, method="exact")
    if chains:
        monkeypatch.setattr(drawing, "FIRST_PROPOSALS", 1)
        monkeypatch.setattr(drawing, "RAREST_ACCEPTED", 0)
        with pytest.warns(Notice, match="drawn by gibbs instead, with an effective sample size of"):
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
    with pytest.raises(SizeError, match="explanations aren't estimated: query can be, with each"):
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


@pytest.mark.slow
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
            least = 0.0 if method == "gibbs" else 0.4  # it averages P(a | b), which is exact where b is known
            assert least <= np.std(off) < 1.7, (question, method)
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
        (found,) = estimates(rare.potentials, findings, [JointQuery([0])], Sampling(method, 100_000, 0))
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


def ising(size: int, coupling: float, field: float, random: np.random.Generator, glass: bool) -> MarkovNetwork:
    """A grid of spins that like to be alike or, in a glass, opposed."""
    states, factors = {f"x{i}_{j}": (0, 1) for i in range(size) for j in range(size)}, []
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for i, j in np.ndindex(size, size):
        for beside in ((i + 1, j), (i, j + 1)):
            if max(beside) < size:
                strength = coupling * (random.normal() if glass else 1.0)
                factors.append(Factor((f"x{i}_{j}", f"x{beside[0]}_{beside[1]}"), np.exp(strength * signs)))
        own = field * random.normal()
        factors.append(Factor((f"x{i}_{j}",), np.exp([own, -own])))
    return MarkovNetwork(states, factors)


def tied(random: np.random.Generator) -> MarkovNetwork:
    """Groups of variables that are all but equal, and have nothing to do with each other."""
    states: dict[str, Any] = {f"{name}{i}": (0, 1, 2) for name in "abc" for i in range(3)}
    alike = np.eye(3) + 1e-7
    pairs = [(f"{name}{i}", f"{name}{(i + 1) % 3}") for name in "abc" for i in range(3)]
    lone = [Factor((f"{name}0",), random.dirichlet([1.0] * 3)) for name in "abc"]
    return MarkovNetwork(states, [*(Factor(pair, alike) for pair in pairs), *lone])


def arrowed(random: np.random.Generator, sharp: float, decided: float) -> tuple[Network, dict[str, Any]]:
    """Twelve variables, some decided by their parents, and a row's states of three of them."""
    names = [f"v{i}" for i in range(12)]
    parents = {name: tuple(names[j] for j in random.permutation(i)[:2]) for i, name in enumerate(names)}
    tables = {}
    for name, above in parents.items():
        tables[name] = random.dirichlet([sharp] * 2, size=[2] * len(above))
        if above and random.random() < decided:
            tables[name] = np.eye(2)[random.integers(2, size=[2] * len(above))]
    net = Network(parents, tables, (0, 1))
    row = net.sample(1, seed=int(random.integers(1000))).to_pylist()[0]
    return net, {str(name): row[name] for name in random.choice(names, 3, replace=False)}


def known_networks(seed: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Ten networks, easy ones first, then some in which Gibbs sampling alone is stuck."""
    random = np.random.default_rng(seed)
    return {
        "weak": (ising(4, 0.2, 0.3, random, glass=False), {}),
        "weak glass": (ising(4, 0.4, 0.3, random, glass=True), {}),
        "arrows": arrowed(random, 1.0, 0.0),
        "some decided": arrowed(random, 1.0, 0.4),
        "strong": (ising(4, 1.0, 0.1, random, glass=False), {}),
        "very strong": (ising(4, 5.0, 0.1, random, glass=False), {}),
        "strong glass": (ising(4, 2.0, 0.3, random, glass=True), {}),
        "very strong glass": (ising(4, 8.0, 0.3, random, glass=True), {}),
        "tied": (tied(random), {}),
        "sharp arrows": arrowed(random, 0.1, 0.0),
    }


EASY = {"weak", "weak glass", "arrows", "some decided"}


@pytest.mark.slow
def test_errors_cover_the_truth_or_the_answer_says_that_they_may_not() -> None:
    """95% errors of a hundred networks, stuck ones included, hold in at least 90%; easy ones are always trusted. (A
    hundred networks take some seconds.)"""
    covered, sums, trusted = list[bool](), list[bool](), list[bool]()
    for seed in range(10):
        for kind, (net, given) in known_networks(seed).items():
            truth, total = net.marginals(given), net.log_probability(given)
            with quietly():
                found = net.marginals(given, method="gibbs", samples=1000, seed=seed)
                log_total = net.log_probability(given, method="gibbs", samples=1000, seed=seed)
            reliable = {name for name in net.states if name not in given and found[name].reliable}
            assert kind not in EASY or (log_total.reliable and len(reliable) + len(given) == len(net.states))
            covered += [
                abs(found[name][state] - truth[name][state]) <= 1.96 * found[name].standard_error[state] + 1e-12
                for name in reliable
                for state in net.states[name]
            ]
            trusted += [name in reliable for name in net.states if name not in given]
            sums += [abs(log_total - total) <= 1.96 * log_total.standard_error + 1e-9] if log_total.reliable else []
    assert np.mean(covered) >= 0.9
    assert np.mean(sums) >= 0.9
    assert np.mean(trusted) >= 0.6  # of so few samples


def test_what_never_moves_is_not_certain() -> None:
    """Two variables that flip together, once in ten million rounds."""
    pair = MarkovNetwork({"a": (0, 1), "b": (0, 1)}, [Factor(("a", "b"), np.array([[1.0, 1e-7], [1e-7, 2.0]]))])
    for seed in range(5):
        found: Any = pair.query("a", method="gibbs", samples=2000, seed=seed)
        assert found.standard_error[0] > 0.01
        assert abs(found[0] - 1 / 3) < 3 * found.standard_error[0]


def test_an_answer_that_cannot_be_trusted_says_so() -> None:
    """A strong glass that is too large for so few rounds."""
    net = ising(12, 8.0, 0.0, np.random.default_rng(1), glass=True)
    with pytest.warns(Notice, match="unreliable: independent runs disagree"):
        found: Any = net.query("x5_5", method="gibbs", samples=100)
    assert not found.reliable
    assert repr(found).endswith(" (unreliable)")
    with pytest.warns(Notice, match="unreliable"):
        number: Any = net.probability({"x5_5": 1}, method="gibbs", samples=100)
    assert not number.reliable
    assert repr(number).endswith(" (unreliable)")
    assert not pickle.loads(pickle.dumps(number)).reliable
    with pytest.warns(Notice, match="[0-9]+ variables unreliable"):
        net.marginals(method="gibbs", samples=100)
    with pytest.warns(Notice, match="unreliable"):
        assert not net.log_probability(method="gibbs", samples=100).reliable  # type: ignore[attr-defined]


def joined(big: int) -> MarkovNetwork:
    """Asia, a pair, and a large grid: nothing connects them."""
    pair = {"p": (0, 1), "q": (0, 1)}
    grid_ = grid(big)
    factors = [*ASIA.factors, Factor(("p", "q"), np.array([[1.0, 2.0], [3.0, 4.0]])), *grid_.factors]
    return MarkovNetwork({**ASIA.states, **pair, **grid_.states}, factors)


def test_one_hopeless_part_leaves_the_others_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDO_MEMORY", "100 kB")
    net = joined(16)
    given = {"Dyspnoea": "yes", "p": 1}
    with pytest.warns(Notice, match="256 of 266 variables estimated by gibbs"):
        found = net.marginals(given, samples=500)
    exact = ASIA.marginals({"Dyspnoea": "yes"})
    for name in ASIA.states:
        assert type(found[name]) is dict
        assert found[name] == pytest.approx(exact[name], abs=1e-12)
    assert found["q"] == pytest.approx({0: 3 / 7, 1: 4 / 7})
    assert isinstance(found["x3_3"], Estimated)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = net.query(["q", "Smoking"], given, method="exact")
        assert net.probability({"q": 1, "Smoking": "yes"}, given) == pytest.approx(both[1, "yes"])
    assert both[1, "yes"] == pytest.approx(4 / 7 * exact["Smoking"]["yes"])
    with pytest.warns(Notice, match="estimated"):
        mixed: Any = net.query(["q", "x3_3"], given, samples=500)
    assert mixed[1, 0] + mixed[1, 1] == pytest.approx(4 / 7)
    best = net.most_probable(["Smoking", "q"], given, samples=500)
    assert best == {"Smoking": ASIA.most_probable(["Smoking"], {"Dyspnoea": "yes"})["Smoking"], "q": 1}


def test_memory_is_as_much_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    net = grid(16)
    monkeypatch.setenv("CREDO_MEMORY", "1kB")
    with pytest.raises(SizeError, match=r"0\.0 GB may be used"):
        net.log_probability(method="exact")
    monkeypatch.setenv("CREDO_MEMORY", "16 GB")
    monkeypatch.setenv("CREDO_TREES", "1")
    assert net.log_probability(method="exact") > 0
    assert not net.trees._trees  # none is kept
    for wrong in ("lots", "-1", "1 furlong", "0"):
        monkeypatch.setenv("CREDO_MEMORY", wrong)
        with pytest.raises(CredoError, match=f"CREDO_MEMORY must be a size such as 500MB or 16GB, but is '{wrong}'"):
            net.log_probability({"x0_0": 1}, method="exact")


def test_evidence_cuts_a_network_into_parts() -> None:
    """A grid whose middle row is known has two halves; the sums and the best states of parts are those of the whole."""
    net = grid(7)
    given = {f"x3_{j}": j % 2 for j in range(7)} | {"x5_5": {0: 0.2, 1: 0.9}}
    findings = net._findings(given)
    parts = net.components._cut(findings, range(len(net.states))).parts
    assert len(parts) == 2
    total = net.components.log_total(findings, Sampling("auto", 10, 0))
    assert total.log_value + findings.log_scale == pytest.approx(net.log_probability(given))
    _, log_joint, how = net.components.best(findings, None, Sampling("auto", 10, 0), lambda _: None)
    assert how == "exact"
    assert isinstance(log_joint, float)
    assert log_joint + findings.log_scale == pytest.approx(net.most_probable(None, given).log_joint)


@given_(st.data())
@settings(max_examples=40, deadline=None)
def test_parts_say_what_the_whole_does(data: st.DataObject) -> None:
    net = data.draw(st.one_of(networks(), markov_networks()))
    given = data.draw(evidence(net))
    findings = net._findings(given)
    total = net.components.log_total(findings, Sampling("exact", 1, 0)).log_value + findings.log_scale
    whole = net.log_probability(given)
    assert total == pytest.approx(whole, abs=1e-9) or total == whole
    if whole == -np.inf:
        return
    groups = [JointQuery([v]) for v in range(len(net.states))] + [JointQuery([*range(min(3, len(net.states)))])]
    found = net.components.estimates(findings, groups, Sampling("exact", 1, 0), lambda _: None)
    for name, each in zip(net.states, found, strict=False):
        assert each.table == pytest.approx([*net.query(name, given).values()], abs=1e-9)
    names = [*net.states][:3]
    assert found[-1].table.ravel() == pytest.approx([*net.query(names, given).values()], abs=1e-9)


TOGETHER = ["Smoking", "Bronchitis"]
LIKELY = ASIA.query(TOGETHER, {"XRay": "yes"})  # before nothing fits


@pytest.mark.usefixtures("cramped")
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_a_few_states_together_is_found(seed: int) -> None:
    with pytest.warns(Notice, match="searched for by annealing"):
        found = again(ASIA).most_probable(TOGETHER, {"XRay": "yes"}, seed=seed)
    assert LIKELY[found["Smoking"], found["Bronchitis"]] == max(LIKELY.values())
