"""What to ask next = mutual information, less the cost of asking."""

from __future__ import annotations

import pytest

import credo


def test_gains_are_mutual_information() -> None:
    net = credo.Network.example("asia")
    known = {"Dyspnoea": "yes"}
    found = net.what_to_ask("LungCancer", known, costs={"XRay": 0.2, "Smoking": 0.001}, price=0.5)
    assert {one.name for one in found.questions} == {*net.variables} - {"LungCancer", "Dyspnoea"}
    for one in found.questions:
        assert one.gain == pytest.approx(net.mutual_information("LungCancer", one.name, known), abs=1e-9)
        assert one.worth == pytest.approx(one.gain - 0.5 * one.cost)
    worths = [one.worth for one in found.questions]
    assert worths == sorted(worths, reverse=True)
    assert found.best is not None
    assert found.best.name != net.what_to_ask("LungCancer", known, costs={found.best.name: 9.0}).questions[0].name


def test_bad_questions() -> None:
    net = credo.Network.example("asia")
    with pytest.raises(credo.EvidenceError, match="nothing is left to ask"):
        net.what_to_ask("XRay", {"XRay": "yes"})
    with pytest.raises(credo.SchemaError, match="which isn't a variable"):
        net.what_to_ask("XRay", costs={"Xray": 1.0})
    with pytest.raises(credo.DataError, match="must be a number"):
        net.what_to_ask("XRay", costs={"Smoking": "dear"})  # type: ignore[dict-item]
    with pytest.raises(credo.SchemaError, match="no variable 'Xray'"):
        net.what_to_ask("Xray")
