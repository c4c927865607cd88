"""Whether two networks are the same, in any order of variables, parents and states."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from credo.networks.network import Network

LARGEST_COMPARED_TABLE = 2**20  # numbers; larger nodes are compared by their distributions


def equal_networks(one: Network, other: Network) -> bool:
    if one.parents.keys() != other.parents.keys() or bool(one.tables) != bool(other.tables):
        return False
    same = ({*above} == {*other.parents[name]} for name, above in one.parents.items())
    return all(same) and _same_states(one, other) and all(_same_table(one, other, name) for name in one.tables)


def _same_states(one: Network, other: Network) -> bool:
    if one.states.keys() != other.states.keys():
        return False
    return all({*own} == {*other.states[name]} for name, own in one.states.items())


def _same_table(one: Network, other: Network, name: str) -> bool:
    if name in one.forms and type(one.forms[name]) is type(other.forms.get(name)):
        mine, theirs = ([(each, net.states[each]) for each in (*net.parents[name], name)] for net in (one, other))
        if mine == theirs or (one.forms[name].named and prod(len(own) for _, own in mine) > LARGEST_COMPARED_TABLE):
            return one.distributions[name] == other.distributions[name]
    scope, turned = (*one.parents[name], name), (*other.parents[name], name)
    table = other.tables[name].transpose([turned.index(each) for each in scope])
    for axis, each in enumerate(scope):
        table = table.take([other.states[each].index(state) for state in one.states[each]], axis)
    return np.array_equal(one.tables[name], table)
