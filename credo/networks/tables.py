"""Conditional probability tables: from the forms in which users give them to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from numbers import Real
from typing import Any

import numpy as np

from credo.errors import NetworkError, suggest
from credo.networks.inference.sizes import check_numbers
from credo.networks.nodes.distribution import Distribution
from credo.networks.parent_values import by_parent_values
from credo.numerics.exact import Array

States = Mapping[str, tuple[Any, ...]]
YES_NO = ("yes", "no")  # the default states
SHORT_ROW = 16  # entries of a row checked in plain Python, without arrays
SUM_TOLERANCE = 1e-6  # largest error of a row's sum
UNSCALED_SUM_ERROR = 1e-13  # rows with a smaller error aren't scaled


def states_of(name: str, given: object, table: object, above: Sequence[str] = ()) -> tuple[Any, ...]:
    """A variable's states: as given, or as the rows of its table name them."""
    if given is None and isinstance(table, Distribution):
        given = table.own_states or YES_NO
    if given is None:
        table = _labelled(table)
        row = next(iter(table.values()), None) if above and isinstance(table, Mapping) else table
        given = tuple(row) if isinstance(row, Mapping) else YES_NO
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise NetworkError(f"the states of {name!r} must be a list of values, but are {given!r}")
    found = tuple(given)
    if not found:
        raise NetworkError(f"{name!r} must have at least one state, but has none")
    if len(set(found)) < len(found):
        twice = next(state for i, state in enumerate(found) if state in found[:i])
        raise NetworkError(f"{name!r} has the state {twice!r} twice")
    return found


def table_of(name: str, given: object, above: Sequence[str], states: States) -> Array:
    """(the parents' states..., own states), each row summing to 1.

    A row is {state: probability}, a list of probabilities or, for two states, the probability of the first. Rows are
    given in a mapping from the parents' values, or in nested lists.

    >>> table_of("Fire", {"yes": 0.25, "no": 0.01}, ["Storm"], {"Storm": ("yes", "no"), "Fire": ("yes", "no")})
    array([[0.25, 0.75],
           [0.01, 0.99]])
    """
    own, above_shape = states[name], tuple([len(states[parent]) for parent in above])
    shape = (*above_shape, len(own))
    check_numbers(f"the table of {name!r:.60}", prod(shape))
    given = given if isinstance(given, np.ndarray) else _labelled(given)
    if isinstance(given, np.ndarray) or not isinstance(given, Mapping | Real):
        table = _array(name, given)
        if table.shape == above_shape and len(own) == 2:
            table = np.stack([table, 1.0 - table], axis=-1)
    elif isinstance(given, Mapping) and above:
        table = _of_rows(name, given, above, states)
    else:
        table = _row(name, given, own, "")
    if table.shape != shape:
        if table.size != prod(shape):
            wanted = " x ".join(map(str, shape))
            raise NetworkError(
                f"the table of {name!r} must have {wanted} numbers (states of {', '.join([*above, name])}), "
                f"but has {' x '.join(map(str, table.shape)) or 'one'}; if it has other states, give states="
            )
        table = table.reshape(shape)
    return checked_table(name, table, above, states)


def _labelled(given: object) -> Any:
    """A pandas Series or DataFrame as mappings, by its labels."""
    if hasattr(given, "to_dict") and hasattr(given, "index"):
        return given.to_dict("index") if hasattr(given, "columns") else given.to_dict()
    return given


def checked_table(name: str, table: Array, above: Sequence[str], states: States) -> Array:
    """The table with its rows scaled to sum to 1; an error names a row whose sum is far from 1."""
    if table.ndim == 1 and len(table) <= SHORT_ROW:  # fast for the many roots of a large network
        row = table.tolist()
        if abs(sum(row) - 1.0) <= UNSCALED_SUM_ERROR and min(row) >= 0:
            return table
    sums = table.sum(-1, keepdims=True)
    off = np.abs(sums - 1.0)
    furthest = off.max(initial=0.0)
    if not (furthest <= SUM_TOLERANCE and table.min(initial=0.0) >= 0):  # the negation refuses NaN, too
        raise _refused(name, table, sums, above, states)
    return (
        np.where(off > UNSCALED_SUM_ERROR, table / sums, table) if furthest > UNSCALED_SUM_ERROR else table
    )  # don't scale a table twice


def _refused(name: str, table: Array, sums: Array, above: Sequence[str], states: States) -> NetworkError:
    """The error that says what is wrong with a table, and where."""
    if not (np.isfinite(table).all() and (table >= 0).all()):
        where = tuple(np.argwhere(~(np.isfinite(table) & (table >= 0)))[0])
        return NetworkError(f"{_shown(name, where, above, states)} must be a probability, but is {table[where]:g}")
    where = tuple(np.argwhere(np.abs(sums[..., 0] - 1.0) > SUM_TOLERANCE)[0])
    given = _shown(name, where, above, states)
    return NetworkError(f"the row {given} must sum to 1, but sums to {sums[where][0]:.9g}")


def _shown(name: str, where: Sequence[int], above: Sequence[str], states: States) -> str:
    causes = ", ".join(f"{parent}={states[parent][i]}" for parent, i in zip(above, where, strict=False))
    own = f"{name}={states[name][where[-1]]}" if len(where) > len(above) else name
    return f"P({own}{' | ' + causes if causes else ''})"


def _of_rows(name: str, given: Mapping[Any, object], above: Sequence[str], states: States) -> Array:
    """Rows by the parents' values."""
    table = np.empty((*(len(states[parent]) for parent in above), len(states[name])))

    def read(key: object, row: object) -> Array:
        return _row(name, row, states[name], f" given {key!r}")

    for where, row in by_parent_values(f"a row of {name!r}", given, above, states, read).items():
        table[where] = row
    return table


def row_of(name: str, row: object, own: Sequence[object], where: str) -> Array:
    """A distribution over a variable's states, which sums to 1."""
    found = _row(name, row, own, where)
    if not (found >= 0).all() or not abs(found.sum() - 1.0) <= SUM_TOLERANCE:
        raise NetworkError(f"P({name}){where} must be probabilities that sum to 1, but is {found.tolist()}")
    return found if abs(found.sum() - 1.0) <= UNSCALED_SUM_ERROR else found / found.sum()


def _row(name: str, row: object, own: Sequence[object], where: str) -> Array:
    if isinstance(row, Mapping):
        for unknown in (state for state in row if state not in own):
            raise NetworkError(f"the table of {name!r} has a state {unknown!r}{where}; {suggest(unknown, own)}")
        if missing := [state for state in own if state not in row]:
            raise NetworkError(f"the table of {name!r} has no entry for {missing[0]!r}{where}")
        return _array(name, [row[state] for state in own])
    if isinstance(row, Real):
        if not 0 <= float(row) <= 1:
            raise NetworkError(f"P({name}={own[0]}){where} must be a probability, but is {float(row):g}")
        if len(own) != 2:
            raise NetworkError(f"a row of {name!r}{where} is one number, but there are {len(own)} states: give each")
        return np.array([float(row), 1.0 - float(row)])
    found = _array(name, row)
    if found.shape != (len(own),):
        raise NetworkError(f"a row of {name!r}{where} must have {len(own)} numbers, but has {found.size}")
    return found


def _array(name: str, values: object) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise NetworkError(f"the table of {name!r} must be numbers, but is {_description(values)}") from None


def _description(values: object) -> str:
    """A description of what was given instead of a table."""
    from credo.networks.nodes.distribution import Distribution
    from credo.networks.nodes.logistic_of_numbers import LogisticOfNumbers
    from credo.networks.nodes.normal import Normal

    taker = "HybridNetwork" if isinstance(values, Normal | LogisticOfNumbers) else "Network"
    if isinstance(values, Normal | LogisticOfNumbers | Distribution):
        return f"a {type(values).__name__}, which a credo.{taker} takes"
    return f"{values!s:.60}"


def checked_ties(
    tied: Mapping[str, str], parents: Mapping[str, tuple[str, ...]], states: States, forms: Mapping[str, Distribution]
) -> dict[str, str]:
    """{node: label}; nodes with the same label must have tables of one shape, and their states must be declared."""
    shapes: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {}
    for name, label in tied.items():
        if name not in parents:
            raise NetworkError(f"{name!r} is tied to {label!r}, but isn't a variable; {suggest(name, parents)}")
        if name in forms:
            raise NetworkError(f"{name!r} is a {type(forms[name]).__name__}, and only tables can be tied")
        if not isinstance(label, str) or (label in parents and label not in tied):
            raise NetworkError(f"{name!r} must be tied to a label that is no other variable's name, not to {label!r}")
        if not states:
            raise NetworkError("tied nodes need declared states: give states=")
        own = tuple(states[each] for each in (*parents[name], name))
        first, known = shapes.setdefault(label, (name, own))
        if own != known:
            raise NetworkError(f"{first!r} and {name!r} are tied, but their states, or those of their parents, differ")
    return dict(tied)
