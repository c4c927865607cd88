"""Networks that make none, and questions that can't be answered: one clear error each."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from credo.errors import CredoError, DataError, EvidenceError, NetworkError, Notice, PriorError, SchemaError, SizeError
from credo.families import DirichletCategorical
from credo.networks.factor import Factor
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import quietly

RAIN = Network("Rain -> Wet", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}})


@pytest.mark.parametrize(
    ("arrows", "tables", "states", "says"),
    [
        ("A -> B -> C -> A", None, None, "cycle: .* -> "),
        ({"A": ["A"]}, None, None, "cycle: A -> A"),
        ({"A": ["B"]}, None, None, "unknown parent 'B'"),
        ({"Storm": [], "Fire": ["Strom"]}, None, None, "Did you mean 'Storm'"),
        ({"A": "B", "B": []}, None, None, "list of names"),
        ({"A": ["B", "B"], "B": []}, None, None, "parent twice"),
        ({}, None, None, "at least one variable"),
        ("A ->", None, None, "a name must follow"),
        ("-> A", None, None, "can't be read at '->'"),
        ("A B", None, None, "can't be read at 'B'"),
        ("A", {"A": [0.5, 0.6]}, None, r"P\(A\) must sum to 1, but sums to 1.1"),
        ("A -> B", {"A": 0.5, "B": [[0.5, 0.5], [0.2, 0.7]]}, None, r"P\(B \| A=no\) must sum to 1, but sums to 0.9"),
        ("A", {"A": [1.5, -0.5]}, None, "must be a probability"),
        ("A", {"A": [float("nan"), 1.0]}, None, "must be a probability"),
        ("A", {"A": [0.2, 0.3, 0.5]}, None, "must have 2 numbers"),
        ("A -> B", {"A": 0.5}, None, "'B' has no table"),
        ("A", {"A": 0.5, "Z": 0.5}, None, "a table is for 'Z'"),
        ("A", {"A": 0.5}, {"Z": (1, 2)}, "a list of states is for 'Z'"),
        ({"": [], "A": []}, {"A": 0.5}, None, "'' has no table"),
        ("A", {"A": {0: 0.0, 1: 0.5, 2: 0.5}}, {"A": (1, 2)}, "a state 0"),
        (5, None, None, "arrows must be"),
        (None, None, None, "arrows must be"),
        ([("A", "B", "C")], None, None, "pairs"),
        ("A -> B", [0.1, 0.2], None, "tables must be"),
        ({"x": [f"p{i}" for i in range(70)], **{f"p{i}": [] for i in range(70)}}, None, None, "70 parents"),
        ("A", {"A": 1.3}, None, r"P\(A=yes\) must be a probability, but is 1.3"),
        ("A", {"A": 0.5}, {"A": (1, 1)}, "state 1 twice"),
        ("A", {"A": 0.5}, {"A": ()}, "at least one state"),
        ("A", {"A": {"yes": 0.5, "maybe": 0.5}}, {"A": ("yes", "no")}, "state 'maybe'"),
        ("A -> B", {"A": 0.5, "B": {"yes": 0.5}}, None, "a row of 'B' isn't given for A=no"),
        ("A -> B", {"A": 0.5, "B": {"yes": 0.5, "on": 0.5}}, None, "known: yes, no"),
        ("A", {"A": "half"}, None, "must be numbers"),
    ],
)
def test_what_makes_no_network(arrows: Any, tables: Any, states: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says):
        Network(arrows, tables, states)


@pytest.mark.parametrize(
    ("ask", "error", "says"),
    [
        (lambda: RAIN.query("Rian"), SchemaError, "Did you mean 'Rain'"),
        (lambda: RAIN.query("Rain", {"Wett": "yes"}), SchemaError, "Did you mean 'Wet'"),
        (lambda: RAIN.query("Rain", {"Wet": "yse"}), EvidenceError, "no state 'yse'.*Did you mean 'yes'"),
        (lambda: RAIN.query([]), SchemaError, "names none"),
        (lambda: RAIN.query(["Rain", "Rain"]), SchemaError, "each once"),
        (lambda: RAIN.query("Rain", {"Wet": []}), EvidenceError, "leaves no state possible"),
        (lambda: RAIN.query("Rain", {"Wet": {"yes": -1.0}}), EvidenceError, "at least 0"),
        (lambda: RAIN.query("Rain", {"Wet": {"yes": float("nan")}}), EvidenceError, "at least 0"),
        (lambda: RAIN.query("Rain", method="exakt"), NetworkError, "Did you mean 'exact'"),  # type: ignore[arg-type]
        (lambda: RAIN.query("Rain", method="gibbs", samples=0), DataError, "samples"),
        (
            lambda: RAIN.query("Wet", {"Rain": "yes", "Wet": "no"}),
            EvidenceError,
            "Rain = yes and Wet = no can't be true",
        ),
        (lambda: RAIN.marginals({"Rain": "yes", "Wet": "no"}), EvidenceError, "Rain = yes and Wet = no"),
        (lambda: RAIN.most_probable(given={"Rain": "yes", "Wet": "no"}), EvidenceError, "Rain = yes and Wet = no"),
        (lambda: RAIN.sample(5, {"Rain": "yes", "Wet": "no"}), EvidenceError, "Rain = yes and Wet = no"),
        (lambda: RAIN.explain("Rain", {"Rain": "yes"}), EvidenceError, "nothing to explain"),
        (lambda: RAIN.d_separated("Rain", "Rain"), SchemaError, "named twice"),
        (lambda: RAIN.d_separated("Rain", "Snow"), SchemaError, "no variable 'Snow'"),
        (lambda: RAIN.sample(-1), DataError, "at least 0"),
        (lambda: RAIN.sample(10**12), SizeError, "fewer at a time"),
        (lambda: RAIN.query("Rain", "Wet=yes"), EvidenceError, "must be {name: state}"),  # type: ignore[arg-type]
        (lambda: RAIN.marginals(["Wet"]), EvidenceError, "must be {name: state}"),  # type: ignore[arg-type]
        (lambda: RAIN.query(0), SchemaError, "a name, or a list of names"),  # type: ignore[arg-type]
        (lambda: RAIN.query("Rain", method="forward", seed=-1), DataError, "seed"),
        (lambda: RAIN.believing({"Rain": "yes"}), EvidenceError, "state: probability"),  # type: ignore[dict-item]
        (
            lambda: RAIN.believing({"Rain": {"yes": 0.9, "no": 0.1}, "Wet": {"yes": 0.1, "no": 0.9}}),
            EvidenceError,
            "no joint distribution has|impossible",
        ),
        (lambda: RAIN.predict_proba("Rain", {"Snow": ["yes"]}), DataError, "no column is a variable"),
        (lambda: RAIN.predict_proba("Snow", {"Wet": ["yes"]}), SchemaError, "no variable 'Snow'"),
        (lambda: RAIN.do({"Rain": "maybe"}), EvidenceError, "no state 'maybe'"),
        (lambda: RAIN.believing({"Rain": {"yes": 0.5}}), EvidenceError, "sum to 1"),
        (lambda: Network("A -> B").query("A"), NetworkError, "no tables"),
        (lambda: Network.example("asai"), NetworkError, "Did you mean 'asia'"),
    ],
)
def test_questions_that_cannot_be_answered(ask: Any, error: type[CredoError], says: str) -> None:
    with pytest.raises(error, match=says):
        ask()


@pytest.mark.slow
def test_an_impossible_row_is_named() -> None:
    net = Network("Rain -> Wet -> Slip", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}, "Slip": {"yes": 0.5, "no": 0.1}})
    rows = {"Rain": ["yes", "no", "no"], "Wet": ["yes", "no", "yes"]}
    with pytest.raises(EvidenceError, match=r"row 3: .*Rain = no and Wet = yes"):
        net.predict_proba("Slip", rows)
    with pytest.raises(EvidenceError, match=r"row 3: .*Rain = no and Wet = yes"):
        net.impute({**rows, "Slip": [None, None, None]})
    assert net.log_prob(rows)[2] == -np.inf


def test_unknown_values_are_missing_and_counted() -> None:
    with pytest.warns(Notice, match="column 'Wet': 2 cells with unknown states, such as 'perhaps'"):
        found = RAIN.predict_proba("Rain", {"Wet": ["yes", "perhaps", "no", None, "who knows"]})
    assert found.tolist() == pytest.approx(np.array([[1, 0], [0.3, 0.7], [0, 1], [0.3, 0.7], [0.3, 0.7]]))


@pytest.mark.parametrize("verb", ["predict_proba", "predict", "log_prob", "impute"])
def test_columns_in_other_letters(verb: str) -> None:
    net = Network("Rain -> Wet -> Slip", {"Rain": 0.3, "Wet": {"yes": 1.0, "no": 0.0}, "Slip": {"yes": 0.5, "no": 0.1}})
    about = ("Rain",) if verb.startswith("predict") else ()
    for rows in ({"wet": ["yes"], "Slip": ["no"]}, {"wet": ["yes"]}, {"WET": ["yes"], "id": [1]}):
        with pytest.raises(SchemaError, match=r"column '(wet|WET)' isn't a variable .* Did you mean 'Wet'"):
            getattr(net, verb)(*about, rows)
    with quietly():
        getattr(net, verb)(*about, {"wet": ["what is this"], "Wet": ["yes"]})  # another column


def grid(size: int) -> MarkovNetwork:
    """Squares of a board that like to be as their neighbours are."""
    states = {f"x{i}_{j}": (0, 1) for i in range(size) for j in range(size)}
    alike = np.array([[2.0, 1.0], [1.0, 2.0]])
    factors = [Factor((f"x{i}_{j}", f"x{i + 1}_{j}"), alike) for i in range(size - 1) for j in range(size)]
    factors += [Factor((f"x{i}_{j}", f"x{i}_{j + 1}"), alike) for i in range(size) for j in range(size - 1)]
    return MarkovNetwork(states, factors)


def test_what_does_not_fit_is_refused_before_it_is_made() -> None:
    with pytest.raises(SizeError, match=r"needs [0-9.e+]+ GB"):
        grid(40).query("x0_0", method="exact")
    with pytest.raises(SizeError, match="needs"):
        grid(40).log_probability(method="exact")
    with pytest.raises(SizeError, match="joint table"):
        grid(6).query([f"x{i}_{j}" for i in range(6) for j in range(6)])


@pytest.mark.slow
def test_auto_samples_then_and_says_so() -> None:
    net = grid(36)
    with pytest.warns(Notice, match="estimated by gibbs"):
        found = net.query("x3_3", {"x3_4": 1, "x2_3": 1, "x4_3": 1}, samples=4000)
    assert found.method == "gibbs"  # type: ignore[attr-defined]
    assert found[1] > 0.7
    assert 0 < found.standard_error[1] < 0.1  # type: ignore[attr-defined]


def test_deep_and_wide_networks() -> None:
    names = [f"a{i}" for i in range(2000)]
    chain = Network(" -> ".join(names), {name: [[0.9, 0.1], [0.2, 0.8]] if i else 0.5 for i, name in enumerate(names)})
    assert chain.query("a1999")["yes"] == pytest.approx(2 / 3)
    assert chain.log_probability({f"a{i}": "yes" for i in range(0, 2000, 2)}) > -2000
    star = {"hub": (), **{f"b{i}": ("hub",) for i in range(2000)}}
    wide = Network(star, {name: [[0.9, 0.1], [0.2, 0.8]] if above else 0.5 for name, above in star.items()})
    assert wide.query("hub", {f"b{i}": "yes" for i in range(2000)})["yes"] == pytest.approx(1.0)


def test_arrows_as_pairs_and_tables_with_labels() -> None:
    import pandas as pd

    rows = pd.DataFrame([[0.99, 0.01], [0.75, 0.25]], index=["no", "yes"], columns=["no", "yes"])
    net = Network([("Rain", "Wet")], {"Rain": pd.Series({"no": 0.9, "yes": 0.1}), "Wet": rows})
    assert net.query("Rain") == pytest.approx({"no": 0.9, "yes": 0.1})
    assert net.query("Wet", {"Rain": "yes"}) == pytest.approx({"no": 0.75, "yes": 0.25})


def test_tables_cannot_be_changed_behind_the_back() -> None:
    with pytest.raises(ValueError, match="read-only"):
        RAIN.tables["Rain"][:] = [0.9, 0.1]


def test_cells_that_are_taken_as_missing_are_filled() -> None:
    with pytest.warns(Notice, match="column 'Rain': 1 cell with unknown states"):
        found = RAIN.impute({"Rain": ["?", "", None, "no"], "Wet": ["yes", "yes", "no", None]})
    assert found.to_pydict() == {"Rain": ["yes", "yes", "no", "no"], "Wet": ["yes", "yes", "no", "no"]}
    truths = Network("A", {"A": {True: 0.3, False: 0.7}})
    assert truths.impute({"A": ["True", "False", None]})["A"].to_pylist() == ["True", "False", "False"]


def test_runs_that_zeros_keep_apart_are_as_far_off_as_they_say() -> None:
    """No run can leave the half that it began in: how many are in which half tells the answer, and its error."""
    rows = {"yes": {"x": 0.5, "y": 0.5, "z": 0, "w": 0}, "no": {"x": 0, "y": 0, "z": 0.5, "w": 0.5}}
    net, given = Network("A -> B", {"A": 0.5, "B": rows}), {"B": {"x": 0.9, "y": 0.6, "z": 0.3, "w": 0.2}}
    for seed in range(4):
        found = net.query("A", given, method="gibbs", samples=20_000, seed=seed)
        assert 0.02 < found.standard_error["yes"] < 0.1  # type: ignore[attr-defined]
        assert found["yes"] == pytest.approx(0.75, abs=3 * found.standard_error["yes"])  # type: ignore[attr-defined]


def test_values_in_other_letters_are_refused() -> None:
    for answer in (RAIN.impute, RAIN.log_prob, lambda rows: RAIN.predict_proba("Wet", rows)):
        with pytest.raises(CredoError, match="the value 'YES', which isn't a state"):
            answer({"Rain": ["YES", None]})


@pytest.mark.parametrize("name", ["RAIN", "rain", "wET"])
def test_names_in_other_letters_are_suggested(name: str) -> None:
    with pytest.raises(CredoError, match=f"Did you mean '{name.capitalize()}'?"):
        RAIN.query(name)


def test_a_picture_of_many_variables_refuses_what_it_does_not_know() -> None:
    names = [f"v{i}" for i in range(60)]
    many = Network(dict.fromkeys(names, ()), dict.fromkeys(names, 0.3))
    with pytest.raises(CredoError, match="no variable 'nope'"):
        many.plot({"nope": "yes"})
    with pytest.raises(CredoError, match="perhaps"):
        many.plot({"v1": "perhaps"})


def test_questions_that_are_none() -> None:
    with pytest.raises(CredoError, match="an event is"):
        RAIN.query("Rain", event=["yes"])  # type: ignore[arg-type]
    with pytest.raises(CredoError, match="one variable at a time"):
        RAIN.probability({}, method="loopy")
    for shares in ({"yes": float("nan"), "no": 0.5}, {"yes": "x", "no": 1}):
        with pytest.raises(CredoError, match="sum to 1"):
            RAIN.believing({"Rain": shares})  # type: ignore[dict-item]
        with pytest.raises(CredoError, match="what do gives 'Rain'"):
            RAIN.do({"Rain": shares})


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_seeds_are_checked_where_they_are_given(seed: Any) -> None:
    """Whatever the method: -1 was once reported as -4."""
    for ask in (
        lambda: RAIN.query("Wet", seed=seed),
        lambda: RAIN.query("Wet", method="gibbs", seed=seed),
        lambda: RAIN.marginals(seed=seed),
        lambda: RAIN.probability({"Wet": "yes"}, seed=seed),
        lambda: RAIN.log_probability({"Wet": "yes"}, seed=seed),
        lambda: RAIN.most_probable(seed=seed),
        lambda: RAIN.predict_proba("Wet", {"Rain": ["yes"]}, seed=seed),
        lambda: RAIN.impute({"Rain": ["yes"]}, seed=seed),
        lambda: RAIN.log_prob({"Rain": ["yes"]}, seed=seed),
        lambda: RAIN.sample(3, seed=seed),
    ):
        with pytest.raises(CredoError, match=f"a seed must be a whole number of at least 0, but is {seed!r}"):
            ask()


def test_columns_that_the_network_does_not_know_are_told_once() -> None:
    rows = {"Rain": ["yes", None], **{f"other{i}": [1, 2] for i in range(5)}}
    assert RAIN.impute(rows).num_columns == 6  # nothing is left out
    for ask in (RAIN.log_prob, lambda rows: RAIN.predict_proba("Wet", rows)):
        with pytest.warns(Notice) as told:
            ask(rows)
        (one,) = told
        expected = "columns that aren't variables are ignored, 5 of 6: 'other0', 'other1', 'other2', ..."
        assert str(one.message) == expected


def test_what_a_network_is_made_of_cannot_be_changed() -> None:
    for net in (RAIN, MarkovNetwork({"a": (0, 1)}, [Factor(("a",), np.array([1.0, 2.0]))])):
        with pytest.raises(TypeError):
            net.states["Rain"] = ("a", "b")  # type: ignore[index]
        with pytest.raises(ValueError, match="read-only"):
            net.factors[0].table[0] = 2.0
    with pytest.raises(TypeError):
        RAIN.parents["Rain"] = ("Wet",)  # type: ignore[index]
    with pytest.raises(TypeError):
        RAIN.tables["Rain"] = np.ones(2)  # type: ignore[index]
    mine = np.array([1.0, 2.0])
    factor = Factor(("a",), mine)
    mine[0] = 7.0
    assert factor.table[0] == 1.0
    assert pickle.loads(pickle.dumps(RAIN)) == RAIN


def test_factors_far_apart_in_size_stay_possible() -> None:
    """1e250 and 1e-250 in one factor: their ratio is no float, but what evidence leaves is."""
    net = MarkovNetwork({"x": (0, 1)}, [Factor(("x",), np.array([1e250, 1e-250]))])
    assert net.log_probability({"x": 1}) == pytest.approx(np.log(1e-250))
    assert net.query("x", {"x": 1}) == {0: 0.0, 1: 1.0}
    assert net.log_probability() == pytest.approx(np.log(1e250))
    table = np.array([[1e250, 1e-250], [1e-250, 3e-250]])
    pair = MarkovNetwork({"x": (0, 1), "y": (0, 1)}, [Factor(("x", "y"), table)])
    assert pair.query("x", {"y": 1}) == pytest.approx({0: 0.25, 1: 0.75})


def test_tables_that_do_not_fit_are_refused_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{i}" for i in range(40)]
    parents = {**dict.fromkeys(names, ()), "x": tuple(names)}
    with pytest.raises(SizeError, match=r"the table of 'x' has 2.2e\+12 numbers, 16384.0 GB; .* may be used"):
        Network(parents, {**dict.fromkeys(names, 0.5), "x": {}})
    monkeypatch.setenv("CREDO_MEMORY", "1kB")
    with pytest.raises(SizeError, match="the table of 'x' has"):
        Network("a -> x", {"a": [0.01] * 100, "x": np.full((100, 2), 0.5)}, {"a": range(100), "x": (0, 1)})


def test_independencies_of_a_long_chain_are_listed_soon() -> None:
    """1,500 variables: each is independent of all others above it, given its parent."""
    names = [f"n{i}" for i in range(1500)]
    found = Network({name: tuple(names[i - 1 : i]) for i, name in enumerate(names)}).independencies()
    assert len(found) == 1498
    assert found[-1].others == tuple(names[:-2])
    storm = Network.example("storm")
    assert str(storm.independencies()[2]) == "Thunder ⟂ Storm, BusTourGroup, Campfire, ForestFire | Lightning"


LEARNED = {"A": ["x", "y", "x"], "B": ["u", "v", "v"]}


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (
            lambda: Network("A -> B").fit(LEARNED).forget({"A": ["x", None], "B": ["u", "v"]}),
            DataError,
            "'A' is missing in row 2.*complete rows",
        ),
        (lambda: Network("A -> B").fit(LEARNED).forget({"A": ["x"]}), DataError, "no column 'B' .*complete rows"),
        (lambda: Network("A -> B -> C").fit(LEARNED), DataError, r"no column 'C'.*hidden=\{'C': 2\}"),
        (lambda: Network("A -> B").fit({"a": ["x"], "B": ["u"]}), SchemaError, "Did you mean 'A'"),
        (lambda: Network("A -> B").fit({"A": [], "B": []}), DataError, "the data is empty"),
        (lambda: Network("A -> B", states=["x", "y"]).fit(LEARNED), DataError, "'B' has the value 'u', which isn't"),
        (lambda: Network.example("asia").update(LEARNED), EvidenceError, "tables are fixed.*with fit"),
        (lambda: Network("A -> B").fit(LEARNED) + Network("B -> A").fit(LEARNED), EvidenceError, "arrows differ"),
        (lambda: Network("A -> B").fit(LEARNED) + Network("A -> B").fit(LEARNED, prior=2), EvidenceError, "priors"),
        (
            lambda: Network("A -> B").fit(LEARNED) + Network("A -> B", states={"A": "xy", "B": "uv"}).fit(LEARNED),
            NetworkError,
            "list of values",
        ),
        (
            lambda: (
                Network("A -> B").fit(LEARNED)
                + Network("A -> B", states={"A": ["x", "y"], "B": ["u", "v"]}).fit(LEARNED)
            ),
            EvidenceError,
            "states differ",
        ),
        (lambda: Network("A -> B").forget(LEARNED), EvidenceError, "nothing to forget"),
        (
            lambda: Network("A -> B").fit(LEARNED).forget({"A": ["y"], "B": ["u"]}),
            EvidenceError,
            "can't forget what was never learned",
        ),
        (
            lambda: Network("A -> B").fit(LEARNED).forget({"A": ["z"], "B": ["u"]}),
            EvidenceError,
            "column 'A' has no 'z'",
        ),
        (lambda: Network("A -> B").fit(LEARNED).discount(0), EvidenceError, "a discount must be"),
        (lambda: Network("A -> B").fit(LEARNED, prior=0), PriorError, "must be positive"),
        (lambda: Network("A -> B").fit(LEARNED, prior=True), PriorError, "'ml', a concentration"),
        (lambda: Network("A -> B").fit(LEARNED, prior="mle"), PriorError, "'ml', a concentration"),
        (lambda: Network("A -> B").fit(LEARNED, prior={"C": 1}), PriorError, "for 'C', which isn't a node"),
        (
            lambda: Network("A -> B").fit(LEARNED, prior={"B": DirichletCategorical([1, 2, 3])}),
            PriorError,
            r"the prior of 'B' has the shape \(3,\), but its table has \(2, 2\)",
        ),
        (
            lambda: Network("A -> B").fit(LEARNED, prior=DirichletCategorical({"u": 1, "v": 1})),
            PriorError,
            "not named values",
        ),
        (lambda: Network("A -> B", tied={"A": "t", "B": "t"}), NetworkError, "need declared states"),
        (lambda: Network("A -> B", states=[0, 1], tied={"A": "t", "B": "t"}), NetworkError, "are tied, but"),
        (lambda: Network("A -> B", states=[0, 1], tied={"C": "t"}), NetworkError, "isn't a variable"),
        (lambda: Network("A -> B", states=[0, 1], tied={"A": "B"}), NetworkError, "no other variable's name"),
        (lambda: Network.example("asia").with_tables({"Smoking": 0.5}), NetworkError, "has no table"),
        (lambda: Network("A -> B").coded(LEARNED).__next__(), NetworkError, "no states"),
    ],
)
def test_what_cannot_be_learned(act: Any, error: type[CredoError], says: str) -> None:
    with pytest.raises(error, match=says):
        act()


def test_a_table_of_too_many_values_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDO_MEMORY", "1 MB")
    values = [f"v{i}" for i in range(1000)]
    with pytest.raises(SizeError, match="the table of 'B' has 1e\\+06 numbers"):
        Network("A -> B").fit({"A": values, "B": values})


def test_mappings_of_a_network_cant_be_changed() -> None:
    for mapping in (RAIN.states, RAIN.parents, RAIN.tables, RAIN.nodes, RAIN.distributions):
        with pytest.raises(TypeError, match="this mapping can't be changed"):
            mapping["Rain"] = mapping.get("Rain")  # type: ignore[index]
