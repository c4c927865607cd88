"""Networks of numbers in bins: they know their cut points, so that raw numbers are read as the bins that hold them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.bins import Bin, bins_between

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=300)
ROWS: dict[str, Any] = {"x": X, "y": X + 0.3 * RANDOM.normal(size=300), "c": np.where(X > 0, "plus", "minus")}
NET = credo.learn_structure(ROWS, "bdeu", bins=4)


def named(rows: dict[str, Any], net: credo.Network = NET) -> dict[str, Any]:
    """The same rows with names of bins."""

    def name(states: Any, x: float | None) -> str | None:
        return None if x is None or np.isnan(x) else next(str(s) for s in states if s.low <= x < s.high)

    return {k: [name(net.states[k], each) for each in rows[k]] if k in ("x", "y") else rows[k] for k in rows}


def test_raw_numbers_are_read_as_their_bins() -> None:
    names = named(ROWS)
    np.testing.assert_array_equal(NET.log_prob(ROWS), NET.log_prob(names))
    assert NET.update(ROWS) == NET.update(names)
    assert NET.fit(ROWS) == NET
    assert NET.forget(ROWS).n == 0
    assert NET.leave_one_out(ROWS).log_loss == NET.leave_one_out(names).log_loss
    assert NET.score(ROWS, "bdeu") == NET.score(names, "bdeu")
    np.testing.assert_array_equal(NET.predict_proba("c", ROWS), NET.predict_proba("c", names))
    lost = {**ROWS, "x": [None, *X[1:].tolist()]}
    np.testing.assert_array_equal(NET.log_prob(lost), NET.log_prob(named(lost)))


def test_a_number_is_evidence() -> None:
    for x in (-9.0, 0.1, np.float64(0.4), 9):
        state = next(s for s in NET.states["x"] if s.low <= x < s.high)
        assert NET.query("y", {"x": x}) == NET.query("y", {"x": state}) == NET.query("y", {"x": str(state)})
    edge = NET.states["x"][1].low
    assert NET.query("y", {"x": edge}) == NET.query("y", {"x": NET.states["x"][1]})


def test_an_average_has_the_same_bins() -> None:
    average = NET.average(ROWS, structures=3)
    assert average.states["x"] == NET.states["x"]
    np.testing.assert_allclose(average.log_prob(ROWS), average.log_prob(named(ROWS)))
    assert len(NET.average(ROWS, bins=2, structures=3).states["x"]) == 2


def test_bins_are_kept_in_files_and_pickles(tmp_path: Path) -> None:
    credo.save(NET, tmp_path / "net.credo")
    for again in (credo.load(tmp_path / "net.credo", credo.Network), pickle.loads(pickle.dumps(NET))):
        assert again == NET
        assert all(type(state) is Bin for state in again.states["x"])
        np.testing.assert_array_equal(again.log_prob(ROWS), NET.log_prob(ROWS))


def test_names_tell_bins_apart() -> None:
    for cuts in ([1e9, 1e9 + 1e-6], [0.1, 0.1 + 1e-16], [-3.0], []):
        made = bins_between(cuts)
        assert len({*made}) == len(made) == len({*cuts}) + 1
        assert made[0].low == -np.inf
        assert made[-1].high == np.inf
    assert bins_between([0.123456789, 7.0])[1] == "0.123457 to 7"


@pytest.mark.parametrize("holes", [False, True])
def test_missing_cells_have_no_bin(holes: bool) -> None:
    rows = {**ROWS, "y": [None if holes and i % 4 == 0 else y for i, y in enumerate(ROWS["y"])]}
    net = credo.learn_structure(rows, bins=3)
    assert net.n == pytest.approx(300)
    assert np.isfinite(net.log_prob(rows)).all()


def test_questions_may_name_numbers() -> None:
    """A number stands for its bin, and a range from one cut point to another for the bins between them."""
    cuts = [state.low for state in NET.states["x"][1:]]
    for x in (-3.0, 0.1, 2.5):
        name = next(str(s) for s in NET.states["x"] if s.low <= x < s.high)
        assert credo.ask(NET, f"P(c | x={x})") == credo.ask(NET, f"P(c | x='{name}')")
        assert credo.ask(NET, f"P(x={x})") == pytest.approx(NET.query("x")[name])
    below = credo.ask(NET, f"P(x < {cuts[1]:.6g})")
    assert below == pytest.approx(sum([*NET.query("x").values()][:2]))
    assert credo.ask(NET, f"P(x >= {cuts[1]:.6g})") == pytest.approx(1 - below)
    assert credo.ask(NET, f"P({cuts[0]:.6g} <= x < {cuts[1]:.6g})") == pytest.approx([*NET.query("x").values()][1])


@pytest.mark.parametrize("question", ["P(c | x > 0.123)", "P(x <= {})", "P(x > {})"])
def test_ranges_of_parts_of_bins_are_refused(question: str) -> None:
    cut = f"{NET.states['x'][1].low:.6g}"
    with pytest.raises(credo.errors.QuestionError, match=f"whole ones: >= or < one of the cut points .{cut}"):
        credo.ask(NET, question.format(cut))
