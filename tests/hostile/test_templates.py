"""Templates refuse what they can't do, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from tests.hostile.refusals import refused

RAIN = credo.DynamicNetwork(
    "previous(Rain) -> Rain -> Umbrella",
    {"Rain": {"yes": 1.0, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.0}},
    first={"Rain": 0.0},
)
WRONG: Any = [1]
NONSENSE: dict[str, Any] = {"nonsense": 1}
TABLES: dict[str, Any] = {"Rain": {"yes": 0.7, "no": 0.3}}


@pytest.mark.parametrize(
    ("arrows", "said"),
    [
        ("A -> B; B -> A; previous(A) -> A", "within a slice, the arrows contain a cycle: A -> B -> A"),
        ("previous(Rian) -> Rain", "'Rian' is no variable; known: Rain. Did you mean 'Rain'?"),
        ("previous(previous(A)) -> A", "two slices back: arrows reach one slice back"),
        ("A -> previous(A)", "arrows can't lead to 'previous(A)'"),
        ("", "at least one variable"),
        ([(("A", 0), ("B", 2))], "within slice 0 or from slice 0 to 1"),
        ([("A",)], "an arrow is (cause, effect)"),
        ({"A": "previous(A)"}, "must be a list of names"),
    ],
)
def test_arrows(arrows: Any, said: str) -> None:
    assert said in refused(credo.DynamicNetwork, arrows)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tables": TABLES}, "'Rain' has previous parents, which the first slice hasn't: give first={'Rain': ...}"),
        ({"first": {"Rain": 0.5}}, "tables= none of later ones"),
        ({"tables": {"Rian": 0.5}}, "Did you mean 'Rain'?"),
        ({"tables": {"Rain": 0.5}, "first": {"Rain": 0.5}}, "must have 2 x 2 numbers (states of previous(Rain), Rain)"),
        ({"tables": TABLES, "first": {"Rain": {"yes": 0.5, "no": 0.4}}}, "in the first slice, the row P(Rain)"),
        ({"tables": [1]}, "must be {name: table}"),
        ({"states": {"Sun": ["a"]}}, "a list of states is for 'Sun'"),
        ({"states": []}, "must have at least one state"),
        ({"prior": {"Sun": 1}, "states": ["a", "b"]}, "a prior is for 'Sun'"),
    ],
)
def test_tables(options: dict[str, Any], said: str) -> None:
    assert said in refused(credo.DynamicNetwork, "previous(Rain) -> Rain", **options)


def test_a_table_of_the_first_slice_that_is_no_other() -> None:
    tables = {**TABLES, "Umbrella": {"yes": 0.9, "no": 0.2}}
    first = {"Rain": 0.5, "Umbrella": {"yes": 0.9, "no": 0.2}}
    text = refused(credo.DynamicNetwork, "previous(Rain) -> Rain -> Umbrella", tables, first)
    assert "'Umbrella' has no previous parents" in text


def test_impossible_rows_are_named() -> None:
    rows = {"Umbrella": ["no", "yes", "no"], "Rain": [None, "yes", "no"]}
    assert "row 3 (slice 2 of its sequence) is impossible" in refused(RAIN.smooth, rows)
    for ask in (RAIN.filter, RAIN.decode, RAIN.forecast):
        assert "row 1 (slice 0 of its sequence) is impossible" in refused(ask, {"Umbrella": ["yes"]})
    live = RAIN.live()
    live.observe({})
    live.observe({"Rain": "yes"})
    assert "slice 2 is impossible" in refused(live.observe, {"Rain": "no"})
    assert live.slices == 2
    assert live.observe({"Rain": "yes"})["Rain"]["yes"] == 1.0


def test_sequences_of_no_and_of_one_row() -> None:
    assert RAIN.filter({"Umbrella": []}, "Rain").shape == (0, 2)
    assert RAIN.log_prob({"Umbrella": []}).shape == (0,)
    assert RAIN.decode({"Umbrella": []}).num_rows == 0
    assert RAIN.smooth({"Umbrella": ["no"]}, "Rain").tolist() == [[0.0, 1.0]]
    bare = credo.DynamicNetwork(RAIN.parents, states=RAIN.states)
    assert "there are no rows to learn from" in refused(bare.fit, {"Rain": [], "Umbrella": []})
    one = bare.fit({"Rain": ["yes"], "Umbrella": ["no"]})
    assert one.tables["Rain"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert one.n == 1
    assert "one sequence, but there are 0" in refused(RAIN.forecast, {"Umbrella": []})
    with pytest.warns(credo.Notice, match="1 sequence without rows left out"):
        two = bare.fit([{"Rain": ["yes"], "Umbrella": ["no"]}, {"Rain": [], "Umbrella": []}])
    assert two.n == 1


def test_unseen_states() -> None:
    with pytest.warns(credo.Notice, match="1 cell with unknown states, such as 'perhaps', taken as missing"):
        RAIN.smooth({"Umbrella": ["perhaps", "no"]})
    bare = credo.DynamicNetwork(RAIN.parents, states=RAIN.states)
    assert "'perhaps', which isn't a state" in refused(bare.fit, {"Rain": ["yes"], "Umbrella": ["perhaps"]})
    assert "has no state 'perhaps'" in refused(RAIN.live().observe, {"Umbrella": "perhaps"})
    assert "no variable 'Umbrela'" in refused(RAIN.live().observe, {"Umbrela": "yes"})


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: RAIN.filter({"x": [1]}), "no column is a variable of the network"),
        (lambda: RAIN.filter({"rain": ["yes"]}), "Did you mean 'Rain'?"),
        (lambda: RAIN.filter({"Umbrella": ["no"]}, "Sun"), "there is no variable 'Sun'"),
        (lambda: RAIN.filter({"Umbrella": ["no"]}, sequence="id"), "'id'"),
        (lambda: RAIN.forecast({"Umbrella": ["no"]}, 0), "steps ahead must be a whole number of at least 1"),
        (lambda: RAIN.forecast([{"Umbrella": ["no"]}, {"Umbrella": ["no"]}]), "one sequence, but there are 2"),
        (lambda: RAIN.live().forecast(), "nothing was observed yet"),
        (lambda: RAIN.live().observe(WRONG), "a slice's findings are {variable: state}"),
        (lambda: RAIN.query("Rain"), "write 'Rain[0]'"),
        (lambda: RAIN.query("Sun[1]"), "there is no variable 'Sun'"),
        (lambda: RAIN.query("Rain[1]", {"Rain[x]": "yes"}), "names no variable of a slice"),
        (lambda: RAIN.query("Rain[1]", {"Rain[0]": "yes"}), "impossible"),
        (lambda: RAIN.query("Rain[99999999999]"), "too far"),
        (lambda: RAIN.unrolled(0), "at least 1"),
        (lambda: RAIN.unrolled(10**6), "filter, smooth and decode need no unrolling"),
        (lambda: RAIN.sample(-1), "at least 0"),
        (lambda: RAIN.update({"Rain": ["yes"], "Umbrella": ["no"]}), "the tables are fixed"),
        (lambda: RAIN.forget({"Rain": ["yes"], "Umbrella": ["no"]}), "nothing was learned yet"),
        (lambda: RAIN.fit({"Rain": ["yes"], "Umbrella": ["no"]}, method="lbfgs"), "templates are fitted by EM"),
        (lambda: RAIN.fit({"Rain": ["yes"], "Umbrella": ["no"]}, **NONSENSE), "no option 'nonsense'"),
        (lambda: credo.DynamicNetwork("previous(A) -> A").filter({"A": ["x"]}), "arrows but no tables"),
        (lambda: credo.DynamicNetwork("previous(A) -> A").unrolled(2), "arrows but no tables"),
        (lambda: credo.DynamicNetwork("previous(A) -> A -> B").fit({"B": ["x", "y"]}), "hidden={'A': 2}"),
        (lambda: credo.DynamicNetwork("previous(A) -> A -> B").fit({"B": [1.5, 2.5], "A": [1, 2]}), "a state for each"),
        (lambda: credo.ask(RAIN, "P(Rain)"), "write 'Rain[0]'"),
        (lambda: credo.ask(RAIN, "P(Sun[0])"), "there is no variable 'Sun'"),
    ],
)
def test_refusals(ask: Any, said: str) -> None:
    assert said in refused(ask)


def test_what_em_fitted_is_not_forgotten() -> None:
    rows = {"Rain": ["yes", None, "no"], "Umbrella": ["yes", "no", "no"]}
    learned = credo.DynamicNetwork(RAIN.parents, states=RAIN.states).fit(rows)
    assert "fitted by EM" in refused(learned.forget, rows)
    assert "fitted by EM" in refused(learned.__add__, learned)
    counted = learned.fit({"Rain": ["yes", "no"], "Umbrella": ["yes", "no"]})
    assert "only complete sequences can be forgotten" in refused(counted.forget, rows)
    assert "never learned" in refused(counted.forget, {"Rain": ["no", "no"], "Umbrella": ["yes", "no"]})
    other = counted.fit({"Rain": ["yes"], "Umbrella": ["no"]}, prior=2.0)
    assert "their priors differ" in refused(counted.__add__, other)


def test_a_large_interface_is_refused_with_its_size() -> None:
    names = [f"x{i}" for i in range(13)]
    arrows = "; ".join(f"previous({name}) -> {name}" for name in names)
    tables = {name: {"yes": 0.7, "no": 0.3} for name in names}
    net = credo.DynamicNetwork(arrows, tables, dict.fromkeys(names, 0.5))
    with pytest.raises(credo.SizeError, match=r"8,192 joint states.*at most 4,096"):
        net.filter({"x0": ["yes"]})


# Plates

KEYS = {"Ward": "ward", "Patient": "patient"}
CLINIC = credo.PlateNetwork(
    "Ward.Outbreak -> Patient.Infected",
    {"Ward.Outbreak": 0.1, "Patient.Infected": {"yes": 0.5, "no": 0.0}},
    keys=KEYS,
)
WARDS = credo.PlateNetwork(
    "Ward.Outbreak -> Patient.Infected -> Test.Result",
    {"Ward.Outbreak": 0.1, "Patient.Infected": {"yes": 0.5, "no": 0.0}, "Test.Result": {"yes": 0.9, "no": 0.1}},
    keys=KEYS,
)
PATIENTS: dict[str, Any] = {"patient": ["ann", "bob"], "ward": [1, 2], "Infected": ["yes", None]}


def seen() -> Any:
    return CLINIC.given({"Patient": PATIENTS})


def bare() -> credo.PlateNetwork:
    return credo.PlateNetwork(CLINIC.parents, keys=KEYS)


def clinic(arrows: str = "Ward.Outbreak -> Patient.Infected", **tables: Any) -> credo.PlateNetwork:
    return credo.PlateNetwork(arrows, keys=KEYS).fit(tables, hidden={"Ward.Outbreak": 2})


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: credo.PlateNetwork("Ward -> Patient.Infected", keys={}), "written as Plate.Variable"),
        (lambda: credo.PlateNetwork("A.x -> B.y; B.y -> A.x", keys={}), "cycle"),
        (lambda: credo.PlateNetwork("", keys={}), "at least one variable"),
        (lambda: credo.PlateNetwork("A.x -> B.y", keys={"C": "c"}), "a key is for 'C', which isn't a plate"),
        (lambda: credo.PlateNetwork("A.x -> B.y", keys={"A": "k", "B": "k"}), "two plates have one key"),
        (lambda: credo.PlateNetwork("A.x -> B.y", keys=WRONG), "keys must be {plate: column"),
        (lambda: CLINIC.given(PATIENTS), "a table is for 'patient', which isn't a plate"),
        (lambda: CLINIC.given(WRONG), "tables by name"),
        (lambda: CLINIC.given({"Ward": {"ward": [1]}, "Patient": PATIENTS}), "ward=2 in row 2, but the table Ward"),
        (lambda: CLINIC.given({"Ward": {"ward": [1, 1, 2]}, "Patient": PATIENTS}), "ward=1 twice"),
        (lambda: CLINIC.given({"Patient": {**PATIENTS, "ward": [1, None]}}), "no 'ward' in row 2"),
        (lambda: CLINIC.given({"Patient": {"patient": ["a"], "Infected": ["no"]}}), "no other table names its members"),
        (lambda: CLINIC.given({"Ward": {"ward": [1]}, "Patient": {"patient": ["a"]}}), "doesn't refer to Ward"),
        (lambda: CLINIC.given({"Patient": {"ward": [1]}}), "no column 'patient', its key"),
        (lambda: seen().any("Patient.Infected", "yes", where={"wrd": 1}), "known: patient, ward, Infected. Did"),
        (lambda: credo.ask(CLINIC, "P(Ward.Outbreak[1]=yes)"), "say which members there are: model.given(tables)"),
        (lambda: WARDS.given({"Ward": {"ward": [1]}, "Test": {"patient": ["a"]}}), "no table Patient that says which"),
        (lambda: seen().query("Patient.Infected"), "write 'Patient.Infected[ann]'"),
        (lambda: seen().query("Patient.Infected[cy]"), "Patient has no member 'cy'"),
        (lambda: seen().query("Patient.Age[ann]"), "no variable 'Patient.Age'"),
        (lambda: seen().any("Patient.Infected", "maybe"), "has no state 'maybe'"),
        (lambda: seen().any("Patient.Infected", "yes", {"bed": 3}), "no column 'bed'"),
        (lambda: seen().any("Patient.Infected", "yes", {"ward": 9}), "0 members with ward=9"),
        (lambda: seen().query("Patient.Infected[bob]", {"Patient.Infected[ann]": "no"}), "is 'yes' in the tables"),
        (lambda: credo.ask(seen(), "P(Patient.Infected[cy])"), "no member 'cy'"),
        (lambda: credo.PlateNetwork("A.x -> B.y", keys={"A": "a"}).given({}), "arrows but no tables"),
        (lambda: clinic("Patient.Infected -> Ward.Outbreak", Patient=PATIENTS), "leads from many members to one"),
        (lambda: CLINIC.update({"Patient": PATIENTS}), "the tables are fixed"),
        (lambda: clinic(Patient=PATIENTS).forget({"Patient": PATIENTS}), "fitted by EM"),
        (lambda: bare().fit({"Patient": PATIENTS}), "hidden={'Ward.Outbreak': 2}"),
        (lambda: seen().query("Patient.Infected[bob]", {"Ward.Outbreak[1]": "no"}), "impossible"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*so hidden, and fitted by EM")
def test_plates_refuse(ask: Any, said: str) -> None:
    assert said in refused(ask)


def test_counting_too_many_members() -> None:
    size = 500
    table = {"patient": [*range(size)], "ward": [1] * size, "Infected": np.full(size, None)}
    with pytest.raises(credo.SizeError, match="500 members depend on each other"):
        CLINIC.given({"Patient": table}).count("Patient.Infected", "yes")
    assert CLINIC.given({"Patient": table}).any("Patient.Infected", "yes") == pytest.approx(0.1)
