"""Counterfactuals: what would have happened under another action, given what was observed.

The two worlds of a twin network share all variables that the intervention doesn't affect (abduction). The affected
variables are copied and the intervention is applied to the copies (action); one query answers (prediction). (Balke and
Pearl 1994) So each copied variable must be a function of its parents: a table of probabilities doesn't say which
outcome the same circumstances would have had under another cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from credo.data.free_names import free_name
from credo.errors import NetworkError, SchemaError
from credo.networks.answers import Posterior
from credo.networks.graph import children, one_or_several, reached
from credo.networks.inference.findings import Given
from credo.networks.network import Network

if TYPE_CHECKING:
    from credo.networks.inference.sizes import Method


def counterfactual(
    net: Network, variables: str | Sequence[str], given: Given, do: Mapping[str, object], method: Method = "auto"
) -> Posterior:
    """P(variables | given), had the intervention been made."""
    if not isinstance(do, Mapping) or not do:
        raise SchemaError(f"a counterfactual needs what is done, as in do={{'Drug': 'no'}}, not {do!r:.60}")
    twin, copies = twin_network(net, tuple(do))
    net.do(do)  # refuses impossible interventions under the original name, not the copy's
    for name in one_or_several(variables):
        net._known(name)
    asked = copies.get(variables, variables) if isinstance(variables, str) else [copies.get(v, v) for v in variables]
    return twin.do({copies[name]: value for name, value in do.items()}).query(asked, given, method=method)


def twin_network(net: Network, done: Sequence[str]) -> tuple[Network, dict[str, str]]:
    """The network with copies of some variables and their descendants, and the names of the copies."""
    _ = net.factors  # refused, where there are none
    affected = reached([net._known(name) for name in done], children(net.parents))
    for name in (name for name in net.order if name in affected and name not in done):
        table = net.tables[name]
        if not ((table == 0) | (table == 1)).all():
            raise NetworkError(
                f"{name!r} isn't a function of its parents, so its table doesn't say what would have happened to the "
                "same case: make its noise a variable of its own, a parent, and its table one of zeros and ones"
            )
    copies = {name: free_name(f"{name}*", net.parents, "*") for name in net.parents if name in affected}
    parents, states = dict(net.parents), dict(net.states)
    tables = {name: net.distributions[name] if name in net.forms else net.tables[name] for name in parents}
    for name, copy in copies.items():
        states[copy] = net.states[name]
        if name in done:  # it will be set: its parents don't matter
            parents[copy], tables[copy] = (), np.full(len(states[copy]), 1.0 / len(states[copy]))
        else:
            parents[copy] = tuple(copies.get(parent, parent) for parent in net.parents[name])
            tables[copy] = net.tables[name]
    return Network(parents, tables, states), copies
