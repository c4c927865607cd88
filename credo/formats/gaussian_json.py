"""Linear-Gaussian networks as JSON, in the form in which bnlearn's networks are exchanged:

{"nodes": ["A", "B"], "arcs": [["A", "B"]], "cpds": {
  "B": {"coefficients": {"(Intercept)": [0.5], "A": [2.0]}, "variance": [0.25], "parents": ["A"]}, ...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from credo.errors import NetworkError
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.hybrid.number_node import NumberNode

BNLEARN_INTERCEPT = "(Intercept)"


def is_gaussian(content: object) -> bool:
    """Whether parsed JSON is such a network."""
    return isinstance(content, Mapping) and {"nodes", "cpds"} <= content.keys()


def gaussian_network(content: Mapping[str, object], file: str) -> HybridNetwork:
    names, cpds = content["nodes"], content["cpds"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or not isinstance(cpds, dict):
        raise NetworkError(f"{file}: nodes must be a list of names, and cpds an object with one of each")
    for name in names:
        if name not in cpds:
            raise NetworkError(f"{file}: {name!r:.60} has no entry in cpds")
    nodes = {name: _node(name, cpds[name], file) for name in names}
    try:
        net = HybridNetwork({name: node.numbers for name, node in nodes.items()}, nodes)
    except NetworkError as error:
        raise NetworkError(f"{file}: {error!s:.300}") from None
    _check_arcs(content.get("arcs"), net, file)
    return net


def _node(name: str, cpd: object, file: str) -> NumberNode:
    match cpd:
        case {"coefficients": dict(coefficients), "variance": variance, "parents": list(parents)}:
            if not all(isinstance(each, str) for each in parents):
                raise NetworkError(f"{file}, {name!r:.60}: the parents must be names")
            if {*coefficients} != {BNLEARN_INTERCEPT, *parents}:
                raise NetworkError(
                    f"{file}, {name!r:.60}: the coefficients must be those of {BNLEARN_INTERCEPT} and the parents"
                )
            weights = [
                _number(coefficients[each], f"{file}, {name!r:.60}: the coefficient of {each!r:.60}")
                for each in parents
            ]
            spread = _number(variance, f"{file}, {name!r:.60}: the variance")
            if spread <= 0:
                raise NetworkError(f"{file}, {name!r:.60}: the variance must be above 0, but is {spread:g}")
            start = _number(coefficients[BNLEARN_INTERCEPT], f"{file}, {name!r:.60}: the intercept")
            return NumberNode(
                name, (), tuple(parents), np.array(start), np.array(weights, dtype=float), np.array(spread)
            )
    raise NetworkError(f"{file}, {name!r:.60}: expected an object with coefficients, variance and parents")


def _number(value: Any, what: str) -> float:
    """A number, or a list of one number."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if type(value) not in (int, float) or not isfinite(value):
        raise NetworkError(f"{what} must be a number, but is {value!r:.60}")
    return float(value)


def _check_arcs(arcs: object, net: HybridNetwork, file: str) -> None:
    """Check the arrows, which the file contains twice."""
    if arcs is None:
        return
    if not isinstance(arcs, Sequence) or not all(isinstance(arc, list) and len(arc) == 2 for arc in arcs):
        raise NetworkError(f"{file}: arcs must be pairs of names")
    listed = {(str(parent), str(child)) for parent, child in arcs}
    known = {(parent, child) for child, above in net.parents.items() for parent in above}
    for parent, child in sorted(listed ^ known):
        where = "arcs" if (parent, child) in known else "the parents of that node"
        raise NetworkError(f"{file}: the arrow {parent!r:.60} -> {child!r:.60} is missing in {where}")


def written(net: HybridNetwork) -> str:
    """The network as text; all its variables must be numbers."""
    if net.states or not net.numbers or net.done:
        raise NetworkError(
            "JSON files hold networks of numbers alone or of categories alone: store this one with credo.save"
        )
    arcs = [[parent, child] for child, above in net.parents.items() for parent in above]
    cpds = {}
    for name, node in net.numbers.items():
        weights: dict[str, list[float]] = dict(zip(node.numbers, ([w] for w in node.weights.tolist()), strict=True))
        cpds[name] = {
            "coefficients": {BNLEARN_INTERCEPT: [float(node.intercept)]} | weights,
            "variance": [float(node.variance)],
            "parents": [*node.numbers],
        }
    return json.dumps({"nodes": [*net.parents], "arcs": arcs, "cpds": cpds}, indent=2) + "\n"
