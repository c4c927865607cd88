"""Evidence beside which floats are too small: hundreds of findings about one variable, for and against."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from credo.networks.network import Network


@pytest.mark.parametrize("leaves", [330, 1200])
def test_a_hub_with_many_neighbours(leaves: int) -> None:
    """The product of that many small numbers is no float: P(hub = yes) is still 1/3."""
    names = [f"x{i}" for i in range(leaves)]
    arrows = {"hub": (), **dict.fromkeys(names, ("hub",))}
    tables: dict[str, Any] = {
        "hub": 0.5,
        **{name: [[0.1, 0.9], [0.1, 0.9]] for name in names},
        "x0": [[0.1, 0.9], [0.2, 0.8]],
    }
    net = Network(arrows, tables)
    seen = dict.fromkeys(names, "yes")
    total = np.log(0.5 * 0.1**2 * 10 + 0.5 * 0.2 * 0.1 * 10) + (leaves - 1) * np.log(0.1)
    assert net.marginals()["hub"]["yes"] == pytest.approx(0.5)
    assert net.query("hub", seen)["yes"] == pytest.approx(1 / 3)
    assert net.marginals(seen)["hub"]["yes"] == pytest.approx(1 / 3)
    assert net.log_probability(seen) == pytest.approx(total)
    assert net.most_probable(["hub"], seen) == {"hub": "no"}
    assert net.predict_proba("hub", [seen])[0, 0] == pytest.approx(1 / 3)
    assert net.log_prob([{**seen, "hub": None}])[0] == pytest.approx(total)
    assert net.impute([{**seen, "hub": None}])["hub"].to_pylist() == ["no"]
    drawn = net.sample(3000, seen, seed=1)["hub"].to_pylist()
    assert np.mean([value == "yes" for value in drawn]) == pytest.approx(1 / 3, abs=0.05)
    assert net.query("hub", seen, method="gibbs", samples=4000)["yes"] == pytest.approx(1 / 3, abs=0.05)
    mixed = {name: "yes" if i % 2 else "no" for i, name in enumerate(names)}
    assert net.predict_proba("hub", [mixed])[0, 0] == pytest.approx(net.query("hub", mixed)["yes"])


@pytest.mark.parametrize("for_yes", [589, 600, 601])
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.slow
def test_findings_that_outweigh_one_another(for_yes: int, between: bool) -> None:
    """The first of them make a state less probable than the other by more than floats can say, and the rest undo it."""
    leaves = [f"x{i}" for i in range(1200)]
    rows = {"yes": 0.9, "no": 0.1}
    if between:
        middle = [f"m{i}" for i in range(1200)]
        above = {"hub": (), **dict.fromkeys(middle, ("hub",)), **{x: (m,) for x, m in zip(leaves, middle, strict=True)}}
        exact: Any = {"yes": 1.0, "no": 0.0}
        net = Network(above, {"hub": 0.5, **dict.fromkeys(middle, exact), **dict.fromkeys(leaves, rows)})
    else:
        net = Network({"hub": (), **dict.fromkeys(leaves, ("hub",))}, {"hub": 0.5, **dict.fromkeys(leaves, rows)})
    seen: dict[str, Any] = {name: "yes" if i < for_yes else "no" for i, name in enumerate(leaves)}
    logs = [np.log(0.5) + n * np.log(0.9) + (1200 - n) * np.log(0.1) for n in (for_yes, 1200 - for_yes)]
    total = np.logaddexp(*logs)
    share = pytest.approx(np.exp(logs[0] - total), rel=1e-9, abs=1e-12)
    assert net.query("hub", seen)["yes"] == share
    assert net.marginals(seen)["hub"]["yes"] == share
    assert net.log_probability(seen) == pytest.approx(total, abs=1e-9)
    assert net.predict_proba("hub", [seen])[0, 0] == share
    assert net.log_prob([{**seen, "hub": None}])[0] == pytest.approx(total, abs=1e-9)
    best = "yes" if for_yes > 600 else "no"
    if for_yes != 600:
        assert net.most_probable(["hub"], seen) == {"hub": best}
        assert net.impute([{**seen, "hub": None}])["hub"].to_pylist() == [best]
    drawn = net.sample(3000, seen, seed=1)["hub"].to_pylist()
    assert np.mean([value == "yes" for value in drawn]) == pytest.approx(np.exp(logs[0] - total), abs=0.05)


def test_a_state_that_only_one_finding_leaves() -> None:
    leaves = [f"x{i}" for i in range(400)]
    tables: Any = {"hub": 0.5, "z": {"yes": 0.0, "no": 0.5}, **{name: {"yes": 0.9, "no": 0.1} for name in leaves}}
    net = Network({"hub": (), **dict.fromkeys([*leaves, "z"], ("hub",))}, tables)
    seen = dict.fromkeys([*leaves, "z"], "yes")
    assert net.query("hub", seen) == {"yes": 0.0, "no": 1.0}
    assert net.predict_proba("hub", [seen]).tolist() == [[0.0, 1.0]]
    assert net.log_probability(seen) == pytest.approx(2 * np.log(0.5) + 400 * np.log(0.1))
