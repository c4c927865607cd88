"""Plates are their unrolled network, however they are asked; and what they learn adds."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.em import added
from credo.networks.learning import TableEM
from credo.networks.templates.plate_learning import PlateEM, counts_of

KEYS = {"Ward": "ward", "Patient": "patient"}
CLINIC = credo.PlateNetwork(
    "Ward.Outbreak -> Patient.Infected -> Test.Result; Patient.Age -> Patient.Infected",
    {
        "Ward.Outbreak": 0.1,
        "Patient.Age": {"old": 0.4, "young": 0.6},
        "Patient.Infected": {
            ("yes", "old"): 0.6, ("yes", "young"): 0.3, ("no", "old"): 0.05, ("no", "young"): 0.02
        },
        "Test.Result": {"yes": {"+": 0.9, "-": 0.1}, "no": {"+": 0.05, "-": 0.95}},
    },
    keys=KEYS,
)  # fmt: skip
TABLES: dict[str, Any] = {
    "Patient": {
        "patient": ["ann", "bob", "cy", "dee", "eve", "flo"],
        "ward": [1, 1, 1, 2, 2, 3],
        "Age": ["old", None, "young", "old", None, "old"],
        "Infected": [None, None, "yes", None, None, "no"],
    },
    "Test": {"patient": ["ann", "ann", "bob", "dee", "flo"], "Result": ["+", "-", None, "+", None]},
}
GRADES = credo.PlateNetwork(
    "Student.Clever, Course.Hard -> Grade.Mark",
    {"Student.Clever": 0.5, "Course.Hard": 0.3, "Grade.Mark": {("yes", "yes"): 0.6, ("yes", "no"): 0.9,
                                                              ("no", "yes"): 0.1, ("no", "no"): 0.5}},
    keys={"Student": "student", "Course": "course"},
)  # fmt: skip
MARKS: dict[str, Any] = {
    "Grade": {
        "student": ["s1", "s1", "s2", "s3", "s3"],
        "course": ["maths", "art", "maths", "art", "law"],
        "Mark": ["yes", "no", None, "yes", "no"],
    }
}
cases = pytest.mark.parametrize(("net", "tables"), [(CLINIC, TABLES), (GRADES, MARKS)], ids=["clinic", "grades"])


def known(net: credo.PlateNetwork, tables: Any) -> dict[str, Any]:
    """The cells of the tables, named as in the unrolled network."""
    found: dict[str, Any] = {}
    for name in net.variables:
        plate, column = name.split(".")
        own = tables.get(plate, {})
        members = own.get(net.keys.get(plate, ""), range(len(own.get(column, []))))
        found |= {f"{name}[{m}]": value for m, value in zip(members, own.get(column, []), strict=False) if value}
    return found


@cases
def test_they_are_the_unrolled_network(net: credo.PlateNetwork, tables: Any) -> None:
    given, unrolled, evidence = net.given(tables), net.unrolled(tables), known(net, tables)
    marginals = unrolled.marginals(evidence)
    for name in unrolled.variables:
        assert given.query(name) == pytest.approx(marginals[name], abs=1e-10)
    for variable in net.variables:
        own = [name for name in unrolled.variables if name.startswith(f"{variable}[")]
        expected = [[*marginals[name].values()] for name in own]
        np.testing.assert_allclose(given.predict_proba(variable), expected, atol=1e-10)
    assert given.log_prob() == pytest.approx(unrolled.log_probability(evidence), abs=1e-10)


@cases
def test_expected_counts_are_those_of_the_unrolled_network(net: credo.PlateNetwork, tables: Any) -> None:
    given, unrolled = net.given(tables), net.unrolled(tables)
    counts = counts_of(net.template, given.ground)
    expected, log_likelihood = added([PlateEM(TableEM(net.template)).expect(each) for each in given.ground.copies()])
    (rows,) = unrolled.coded({name: [value] for name, value in known(net, tables).items()})
    evidence, total = unrolled.expect(rows)
    for label in evidence.parts:
        np.testing.assert_allclose(counts[label].n.value + expected[label].n.value, evidence[label].n.value, atol=1e-10)
    assert log_likelihood < 0
    assert total == pytest.approx(given.log_prob(), abs=1e-10)


@pytest.mark.parametrize("where", [None, {"ward": 1}, {"ward": 2}, {"ward": [1, 3]}, {"Age": "old"}])
@pytest.mark.parametrize("further", [{}, {"Ward.Outbreak[1]": "yes", "Patient.Infected[eve]": "no"}])
def test_any_all_and_count_are_sums_over_joint_states(where: Any, further: dict[str, Any]) -> None:
    given, unrolled = CLINIC.given(TABLES), CLINIC.unrolled(TABLES)
    column, wanted = next(iter((where or {"patient": TABLES["Patient"]["patient"]}).items()))
    wanted = wanted if isinstance(wanted, list) else [wanted]
    own = TABLES["Patient"]
    chosen = [member for member, cell in zip(own["patient"], own[column], strict=True) if cell in wanted]
    names = [f"Patient.Infected[{m}]" for m in chosen]
    joint = unrolled.query(names, known(CLINIC, TABLES) | further)
    if len(names) == 1:
        joint = {key if isinstance(key, tuple) else (key,): p for key, p in joint.items()}
    numbers = [sum(p for states, p in joint.items() if states.count("yes") == n) for n in range(len(names) + 1)]
    asked: Any = ("Patient.Infected", "yes", where)
    assert given.any(*asked, given=further) == pytest.approx(1 - numbers[0], abs=1e-12)
    assert given.all(*asked, given=further) == pytest.approx(numbers[-1], abs=1e-12)
    np.testing.assert_allclose([*given.count(*asked, given=further).values()], numbers, atol=1e-12)


def test_questions_name_members() -> None:
    given, unrolled = CLINIC.given(TABLES), CLINIC.unrolled(TABLES)
    evidence = known(CLINIC, TABLES)
    answer = credo.ask(given, "P(Patient.Infected[ann] | Ward.Outbreak[1]=yes)")
    expected = unrolled.query("Patient.Infected[ann]", evidence | {"Ward.Outbreak[1]": "yes"})
    assert answer == pytest.approx(expected, abs=1e-12)
    assert credo.ask(given, "P(Patient.Infected[cy]=yes)") == pytest.approx(1.0)
    either = credo.ask(given, "P(Patient.Infected[dee]=yes or Patient.Infected[eve]=yes)")
    assert either == pytest.approx(given.any("Patient.Infected", "yes", {"ward": 2}), abs=1e-12)
    assert {v["name"] for v in credo.asking.variables(given)} == {*CLINIC.variables}


def test_only_what_matters_is_unrolled() -> None:
    """Known copies cut the rest off."""
    net, evidence = CLINIC.given(TABLES).relevant(["Patient.Infected[dee]"])
    assert {name for name in net.variables if "Patient.Infected" in name} == {
        "Patient.Infected[dee]", "Patient.Infected[eve]"
    }  # fmt: skip
    assert evidence["Test.Result[3]"] == "+"


def drawn(wards: int, seed: int, start: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    p = {("yes", "old"): 0.6, ("yes", "young"): 0.3, ("no", "old"): 0.05, ("no", "young"): 0.02}
    found: dict[str, Any] = {"Ward": {"ward": [], "Outbreak": []}}
    found |= {"Patient": {"patient": [], "ward": [], "Age": [], "Infected": []}, "Test": {"patient": [], "Result": []}}
    for ward in range(start, start + wards):
        outbreak = "yes" if rng.random() < 0.3 else "no"
        _add(found["Ward"], ward, outbreak)
        for k in range(4):
            age = "old" if rng.random() < 0.4 else "young"
            infected = "yes" if rng.random() < p[outbreak, age] else "no"
            _add(found["Patient"], f"p{ward}-{k}", ward, age, infected)
            for _ in range(2):
                _add(found["Test"], f"p{ward}-{k}", "+" if rng.random() < (0.9 if infected == "yes" else 0.05) else "-")
    return found


def _add(table: dict[str, list[Any]], *cells: Any) -> None:
    for column, cell in zip(table.values(), cells, strict=True):
        column.append(cell)


BARE = credo.PlateNetwork(CLINIC.parents, keys=KEYS)


def same(one: credo.PlateNetwork, other: credo.PlateNetwork) -> bool:
    return all(
        np.array_equal(one.evidence[label].n.value, other.evidence[label].n.value) for label in one.evidence.parts
    )


def test_merge_is_the_whole_and_forget_undoes_update() -> None:
    a, b = drawn(20, 0), drawn(10, 1, 100)
    both = {plate: {name: own + b[plate][name] for name, own in a[plate].items()} for plate in a}
    one, two, whole = BARE.fit(a), BARE.fit(b), BARE.fit(both)
    assert same(one + two, whole)
    assert same(one.update(b), whole)
    assert same(whole.forget(b), one)
    yes = [whole.states[name].index("yes") for name in ("Ward.Outbreak", "Patient.Infected")]
    infected = sum(cell == "yes" for cell in both["Patient"]["Infected"])
    assert whole.evidence[whole.template.nodes["Patient.Infected"].label].n.value[..., yes[1]].sum() == infected


@pytest.mark.filterwarnings("ignore:EM ended after")
def test_hidden_variables_are_found() -> None:
    """Wards and infections are hidden: tests inform about patients, and patients about wards."""
    data = drawn(250, 2)
    seen = {
        "Patient": {name: own for name, own in data["Patient"].items() if name != "Infected"},
        "Test": data["Test"],
    }
    hidden = {"Ward.Outbreak": ["no", "yes"], "Patient.Infected": ["no", "yes"]}
    found = BARE.fit(seen, hidden=hidden, starts=3, steps=60)
    assert np.all(np.diff(found.history) > -1e-9 * abs(found.history[-1]))
    results = found.tables["Test.Result"][:, found.states["Test.Result"].index("+")]
    assert sorted(results.tolist()) == pytest.approx([0.05, 0.9], abs=0.06)
    infected = int(results.argmax())
    rates = found.tables["Patient.Infected"][..., infected]
    assert rates.max(0) == pytest.approx([0.6, 0.3], abs=0.25)


def test_they_are_stored(tmp_path: Path) -> None:
    for each in (CLINIC, BARE.fit(drawn(5, 3)), BARE):
        credo.save(each, tmp_path / "plates.credo")
        again = credo.load(tmp_path / "plates.credo")
        assert repr(again) == repr(each)
        assert again == each
        assert again != credo.PlateNetwork(CLINIC.parents, keys={**CLINIC.keys, "Ward": "w"})
        assert (again.keys, again.states) == (each.keys, each.states)
    assert "Patient.Infected" in repr(CLINIC)
    assert CLINIC.plot() is not None


def test_a_table_may_be_within_two_plates() -> None:
    """Grades inform about courses, and these about other students: by enumeration."""
    given = GRADES.given(MARKS)
    rows = [*zip(*MARKS["Grade"].values(), strict=True)]
    total = {True: 0.0, False: 0.0}
    for clever in product([True, False], repeat=3):
        for hard in product([True, False], repeat=3):
            s, c = dict(zip(["s1", "s2", "s3"], clever)), dict(zip(["maths", "art", "law"], hard))  # noqa: B905
            p = 0.5**3 * np.prod([0.3 if each else 0.7 for each in hard])
            for student, course, mark in rows:
                good = {(True, True): 0.6, (True, False): 0.9, (False, True): 0.1, (False, False): 0.5}[
                    s[student], c[course]
                ]
                p *= 1.0 if mark is None else good if mark == "yes" else 1 - good
            total[s["s1"]] += float(p)
    expected = total[True] / (total[True] + total[False])
    assert given.query("Student.Clever[s1]")["yes"] == pytest.approx(expected, abs=1e-12)


def test_tables_may_be_files(tmp_path: Path) -> None:
    """Keys are found whatever the tables are."""
    data = drawn(6, 4)
    files = {}
    for plate, table in data.items():
        files[plate] = str(tmp_path / f"{plate}.csv")
        rows = [[*table], *zip(*table.values(), strict=True)]
        Path(files[plate]).write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    assert same(BARE.fit(files), BARE.fit(data))


def test_many_members_of_one_structure_are_answered_together() -> None:
    """However many siblings are unknown, and wherever these stand, few structures are compiled."""
    data = drawn(60, 5)
    rng = np.random.default_rng(6)
    seen = [None if rng.random() < 0.4 else cell for cell in data["Patient"]["Infected"]]
    tables = {"Patient": {**data["Patient"], "Infected": seen}, "Test": data["Test"]}
    given = CLINIC.given(tables)
    assert len(given.ground.copies()) == 5  # 0 to 4 of 4 patients are unknown
    unrolled = CLINIC.unrolled(tables)
    marginals = unrolled.marginals(known(CLINIC, tables))
    shares = given.predict_proba("Patient.Infected")[:, 0]
    expected = [marginals[f"Patient.Infected[{member}]"]["yes"] for member in data["Patient"]["patient"]]
    np.testing.assert_allclose(shares, expected, atol=1e-10)


def test_networks_are_the_same_if_keys_and_tables_are() -> None:
    made = [
        credo.PlateNetwork("W.A -> P.B", {"W.A": 0.1, "P.B": {"yes": p, "no": 0.2}}, keys={"W": key, "P": "p"})
        for p, key in ((0.5, "w"), (0.5, "w"), (0.6, "w"), (0.5, "ward"))
    ]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert made[0] != made[2]
    assert made[0] != made[3]
    assert made[0] != "W.A -> P.B"


def test_a_finding_of_none_is_no_finding() -> None:
    net = credo.PlateNetwork("W.A -> P.B", {"W.A": 0.1, "P.B": {"yes": 0.5, "no": 0.2}}, keys={"W": "w", "P": "p"})
    given = net.given({"P": {"p": ["ann", "bob"], "w": [1, 1], "B": ["yes", None]}})
    assert given.query("P.B[bob]", {"P.B[ann]": None}) == given.query("P.B[bob]")
    assert given.any("P.B", "yes", given={"P.B[bob]": None}) == 1.0


@pytest.mark.parametrize("word", ["any", "all"])
def test_questions_about_members_are_the_verbs(word: str) -> None:
    given = CLINIC.given(TABLES)
    verb = getattr(given, word)
    assert credo.ask(given, f"P({word}(Patient.Infected=yes))") == verb("Patient.Infected", "yes")
    found = credo.ask(given, f"P({word}(Patient.Infected=yes, ward in {{1, 2}}) | Patient.Infected[eve]=no)")
    assert found == verb("Patient.Infected", "yes", {"ward": [1, 2]}, given={"Patient.Infected[eve]": "no"})


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("P(any(Patient.Infected))", "conditions are values, as in Patient.Infected=value"),
        ("P(any(Patient.Infected!=yes))", "conditions are values"),
        ("P(any(Patient.Ill=yes))", "there is no variable 'Patient.Ill'"),
        ("P(any(Patient.Infected=maybe))", "has no value 'maybe'"),
        ("P(any(Patient.Infected=yes, bed=3))", "Patient has no column 'bed'"),
        ("P(any(Patient.Infected=yes, ward=77))", "Patient has 0 members"),
        ("P(any(Patient.Infected=yes)", "expected '|' or '\\)'"),
        ("argmax P(any(Patient.Infected=yes))", "is an event: ask P\\(any"),
    ],
)
def test_questions_about_members_that_cant_be_answered(question: str, said: str) -> None:
    with pytest.raises(credo.CredoError, match=said):
        credo.ask(CLINIC.given(TABLES), question)


def test_members_are_of_plates() -> None:
    with pytest.raises(credo.CredoError, match="are for plates with their tables"):
        credo.ask(credo.Network.example("storm"), "P(any(Storm=yes))")
    assert credo.ask(credo.Network("any -> all", {"any": 0.5, "all": {"yes": 0.1, "no": 0.3}}), "P(any=yes, all)")


@pytest.mark.parametrize("further", [{"Nonsense": "no"}, {"Patient.Infected[cy]": "no"}])
def test_settled_answers_refuse_bad_findings_too(further: dict[str, Any]) -> None:
    """cy is known to be infected, which settles the answers."""
    given = CLINIC.given(TABLES)
    for verb, value in ((given.any, "yes"), (given.all, "no")):
        with pytest.raises(credo.CredoError):
            verb("Patient.Infected", value, given=further)
