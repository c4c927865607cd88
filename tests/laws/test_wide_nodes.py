"""Nodes whose table is too large to expand: answers are estimated from rows that are computed as they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import credo
from credo.networks.answers import Estimated
from credo.networks.nodes import log_linear

NAMES = tuple(f"c{i}" for i in range(4))
WEIGHTS = dict(zip(NAMES, (1.0, -2.0, 0.5, 1.5), strict=True))
NET = credo.Network(
    {**dict.fromkeys(NAMES, ()), "y": NAMES, "z": ("y",)},
    {**dict.fromkeys(NAMES, 0.3), "y": credo.nodes.Logistic(-0.5, WEIGHTS), "z": {"yes": 0.9, "no": 0.2}},
)
NET.query("y")  # its table is made here, before a test calls it too large


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> credo.Network:
    """The same network, whose table counts as too large."""
    monkeypatch.setattr(log_linear, "LARGEST_EXPANDED_TABLE", 8)
    return credo.Network(NET.parents, {**NET.fixed_tables, **NET.distributions}, NET.states)


GIVEN = [{}, {"z": "yes"}, {"z": "no", "c1": "yes"}, {"y": {"yes": 0.2, "no": 1.0}}]


@pytest.mark.parametrize("given", GIVEN)
def test_estimates_are_within_their_standard_errors(wide: credo.Network, given: dict[str, object]) -> None:
    exact = NET.query("c3", given)
    with pytest.warns(credo.Notice, match="no smaller factors: estimated by likelihood-weighting"):
        found = wide.query("c3", given, samples=20_000, seed=1)
    assert isinstance(found, Estimated)
    assert abs(found["yes"] - exact["yes"]) < 4 * found.standard_error["yes"] < 0.04
    each = wide.marginals(given, samples=20_000, seed=1, method="likelihood-weighting")
    for name, p in NET.marginals(given).items():
        assert each[name] == pytest.approx(p, abs=0.02)
    one = wide.probability({"c0": "yes", "y": "no"}, given, method="likelihood-weighting", samples=20_000)
    assert one == pytest.approx(NET.probability({"c0": "yes", "y": "no"}, given), abs=0.015)
    if given:
        total = wide.log_probability(given, method="likelihood-weighting", samples=20_000)
        assert total == pytest.approx(NET.log_probability(given), abs=0.03)


def test_the_standard_error_is_that_of_many_estimates(wide: credo.Network) -> None:
    told, found = list[float](), list[float]()
    for seed in range(60):
        one = wide.query("c1", {"z": "yes"}, seed=seed, method="likelihood-weighting", samples=500)
        assert isinstance(one, Estimated)
        told.append(one.standard_error["yes"])
        found.append(one["yes"])
    assert np.std(found) == pytest.approx(np.mean(told), rel=0.35)


def test_complete_rows_are_exact(wide: credo.Network) -> None:
    rows = NET.sample(50, seed=3)
    np.testing.assert_allclose(wide.log_prob(rows), NET.log_prob(rows), rtol=1e-12)
    some = {name: rows[name].to_pylist()[:3] for name in ("c0", "z")}
    np.testing.assert_allclose(wide.log_prob(some), NET.log_prob(some), atol=0.05)


def test_rows_are_drawn(wide: credo.Network) -> None:
    drawn = np.array(wide.sample(4000, seed=2)["y"].to_pylist())
    assert (drawn == "yes").mean() == pytest.approx(NET.query("y")["yes"], abs=0.03)
    with pytest.warns(credo.Notice, match="effective sample size"):
        given = np.array(wide.sample(4000, {"z": "no"}, seed=2)["y"].to_pylist())
    assert (given == "yes").mean() == pytest.approx(NET.query("y", {"z": "no"})["yes"], abs=0.03)


def test_seventy_parents() -> None:
    names = tuple(f"c{i}" for i in range(70))
    even = {name: {"yes": {"yes": 0.5}, "no": {"no": 0.5}} for name in names}
    net = credo.Network(
        {**dict.fromkeys(names, ()), "y": names},
        {**dict.fromkeys(names, 0.5), "y": credo.nodes.Softmax({"yes": 0.0}, even)},
    )
    found = net.query("y", method="likelihood-weighting", samples=2000)
    assert found["yes"] == pytest.approx(0.5, abs=0.05)  # by symmetry


def test_wide_networks_are_asked_and_intervened_on(wide: credo.Network) -> None:
    with pytest.warns(credo.Notice, match="estimated"):
        asked = credo.ask(wide, "P(y=yes | do(c0=yes))", samples=20_000, seed=1)
    assert asked == pytest.approx(NET.query("y", {"c0": "yes"})["yes"], abs=0.02)  # c0 has no parents
