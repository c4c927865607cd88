"""credo.learn_structure: any table, any score and search; weights, bins, missing cells, constraints."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import credo
from credo.networks.structure.searches import FOR_CATEGORIES, NOT_SCORE_EQUIVALENT, OVER_CLASSES, SEARCHES
from tests.hostile.refusals import refused

ASIA = credo.Network.example("asia")
ROWS = ASIA.sample(1500, seed=1)
SHORT = ASIA.sample(300, seed=2)


def texts(table: Any) -> dict[str, list[str]]:
    return {name: table[name].to_pylist() for name in table.column_names}


def arrows(net: credo.Network | credo.HybridNetwork) -> set[tuple[str, str]]:
    return {(parent, child) for child, above in net.parents.items() for parent in above}


def skeleton(net: credo.Network | credo.HybridNetwork) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in arrows(net)}


def numbers(rows: int = 600) -> dict[str, Any]:
    random = np.random.default_rng(0)
    a, c = random.normal(size=(2, rows))
    b = 2 * a + random.normal(size=rows)
    return {"a": a, "b": b, "c": c, "d": b - c + 0.5 * random.normal(size=rows)}


def test_arrows_come_back_and_tables_are_those_of_counting() -> None:
    found = credo.learn_structure(ROWS, "bdeu")
    assert skeleton(found) >= {frozenset(("Smoking", "Bronchitis")), frozenset(("TuberculosisOrCancer", "XRay"))}
    assert found == credo.Network(found.parents).fit(ROWS)
    assert found.n == 1500


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("score", FOR_CATEGORIES)
def test_every_score_with_every_search(score: str, search: str) -> None:
    """Between the graph without arrows and the best one; its tables are those of counting."""
    options: dict[str, Any] = {"target": "Dyspnoea"} if search == "tan" else {}
    if search in OVER_CLASSES and score in NOT_SCORE_EQUIVALENT:
        assert "equal for Markov-equivalent networks" in refused(credo.learn_structure, SHORT, score, search)
        return
    if search == "pc":
        score = "bic"
    found = credo.learn_structure(SHORT, score, search, max_parents=3 if search == "pc" else 2, **options)
    assert {*found.variables} == {*ASIA.variables}
    assert found == credo.Network(found.parents).fit(SHORT)
    nothing = sum(credo.Network(dict.fromkeys(ASIA.variables, ())).score(SHORT, score).values())
    best = sum(best_of(score).score(SHORT, score).values())
    own = sum(found.score(SHORT, score).values())
    if search in ("pc", "tan"):
        assert own != nothing
        return
    assert nothing + 10 < own <= best + 1e-6
    assert max(map(len, found.parents.values())) <= 2
    if search in ("exact", "auto"):
        assert own == pytest.approx(best)


@cache
def best_of(score: str) -> credo.Network:
    found = credo.learn_structure(SHORT, score, "exact", max_parents=2)
    assert isinstance(found, credo.Network)
    return found


def test_every_form_of_a_table_is_the_same(tmp_path: Path) -> None:
    expected = credo.learn_structure(ROWS, "bdeu")
    path = tmp_path / "asia.csv"
    pyarrow.csv.write_csv(pa.table(texts(ROWS)), path)
    for data in (texts(ROWS), ROWS.to_pandas(), iter([ROWS.slice(0, 700), ROWS.slice(700)])):
        assert credo.learn_structure(data, "bdeu") == expected
    read = credo.learn_structure(str(path), "bdeu")  # yes and no are booleans there
    assert arrows(read) == arrows(expected)


def test_weights_are_rows_that_come_again() -> None:
    weight = np.random.default_rng(0).integers(0, 3, 300)
    again = SHORT.take(np.repeat(np.arange(300), weight))
    one, two = credo.learn_structure(SHORT, "bdeu", weight=weight), credo.learn_structure(again, "bdeu")
    assert one == two
    by_name = credo.learn_structure(SHORT.append_column("times", pa.array(weight)), "bdeu", weight="times")
    assert by_name == one


def test_required_and_forbidden_arrows_tiers_and_a_start() -> None:
    names = list(ASIA.variables)
    found = credo.learn_structure(
        ROWS, required="Dyspnoea -> VisitToAsia", forbidden=[("Smoking", "LungCancer"), ("LungCancer", "Smoking")]
    )
    assert ("Dyspnoea", "VisitToAsia") in arrows(found)
    assert frozenset(("Smoking", "LungCancer")) not in skeleton(found)
    tiers = [["XRay", "Dyspnoea"], [name for name in names if name not in ("XRay", "Dyspnoea")]]
    late = credo.learn_structure(ROWS, tiers=tiers)
    assert any(parent in tiers[0] and child in tiers[1] for parent, child in arrows(late))
    assert not any(parent in tiers[1] and child in tiers[0] for parent, child in arrows(late))
    again = credo.learn_structure(ROWS, search="hill-climbing", start=ASIA)
    assert arrows(again) <= arrows(ASIA)


@pytest.mark.parametrize("score", ["auto", "bge", "bic"])
def test_numbers_have_arrows_and_lines(score: str) -> None:
    found = credo.learn_structure(numbers(), score)
    assert skeleton(found) == {frozenset("ab"), frozenset("bd"), frozenset("cd")}
    assert {("b", "d"), ("c", "d")} <= arrows(found)
    assert isinstance(found, credo.HybridNetwork)
    assert {*found.numbers} == {*"abcd"}


def test_mixed_tables_have_numbers_below_categories() -> None:
    data = numbers()
    data["sign"] = np.where(data["a"] > 0, "plus", "minus")
    found = credo.learn_structure(data)
    assert ("sign", "a") in arrows(found)
    assert found.parents["sign"] == ()


def test_numbers_in_bins_are_categories_in_order() -> None:
    found = credo.learn_structure(numbers(), "bdeu", bins=3)
    assert {frozenset("ab"), frozenset("bd"), frozenset("cd")} <= skeleton(found)
    assert found.states["a"][0].startswith("below")
    assert found.states["a"][-1].endswith("and above")
    table = found.query("a")
    assert [*table.values()] == pytest.approx([1 / 3] * 3, abs=0.01)


def test_missing_cells_are_expected_under_the_network() -> None:
    """Structural EM: a tenth of the cells missing hides no strong arrow."""
    random, holes = np.random.default_rng(0), {}
    for name in ROWS.column_names:
        column = ROWS[name].combine_chunks()
        codes = pa.array(np.asarray(column.indices), mask=random.random(1500) < 0.1)
        holes[name] = pa.DictionaryArray.from_arrays(codes, column.dictionary)
    found = credo.learn_structure(pa.table(holes))
    complete = credo.learn_structure(ROWS)
    assert len(skeleton(found) ^ skeleton(complete)) <= 2
    assert found.n == pytest.approx(1500)
    again = credo.learn_structure(pa.table(holes))
    assert found == again  # the same seed
    assert found.query("Smoking")["yes"] == pytest.approx(complete.query("Smoking")["yes"], abs=0.03)


def test_a_search_may_be_a_function() -> None:
    found = credo.learn_structure(SHORT, search=lambda score, constraints, start, seed: start)  # noqa: ARG005
    assert not arrows(found)


def test_more_data_bring_the_truth_back() -> None:
    """Asia's own rare arrow aside, all arrows are found from enough rows."""
    found = credo.learn_structure(ASIA.sample(50_000, seed=3))
    missing = skeleton(ASIA) ^ skeleton(found)
    assert missing <= {frozenset(("VisitToAsia", "Tuberculosis"))}


def test_tan_is_a_tree_below_the_class() -> None:
    found = credo.learn_structure(ROWS, search="tan", target="Dyspnoea")
    others = [name for name in found.variables if name != "Dyspnoea"]
    assert found.parents["Dyspnoea"] == ()
    assert all("Dyspnoea" in found.parents[name] and len(found.parents[name]) <= 2 for name in others)
