"""Plates: tables of members, whose columns are variables, and references between members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data import Batch, source
from credo.data.cutting import joined
from credo.errors import DataError, NetworkError, SchemaError, counted, suggest
from credo.networks import graph
from credo.networks.inference.coding import Coder
from credo.networks.inference.state_index import StateIndex
from credo.networks.learning import inferred, state_codes
from credo.networks.tables import States
from credo.networks.templates.slice_reading import notice_unseen
from credo.numerics.arrays import Codes

Places = NDArray[np.intp]
Parents = Mapping[str, tuple[str, ...]]


def plate_parents(arrows: Any) -> dict[str, tuple[str, ...]]:
    """{Plate.Variable: parents}.

    >>> plate_parents("Ward.Outbreak -> Patient.Infected")
    {'Ward.Outbreak': (), 'Patient.Infected': ('Ward.Outbreak',)}
    """
    parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
    for name in parents:
        plate_of(name)
    if not parents:
        raise NetworkError("plates must have at least one variable")
    graph.in_order(parents)  # refuses cycles
    return parents


def plate_of(name: str) -> str:
    """The plate of a variable.

    >>> plate_of("Patient.Infected")
    'Patient'
    """
    plate, dot, column = name.partition(".")
    if not (plate and dot and column):
        raise NetworkError(f"{name!r} must be written as Plate.Variable, as in Patient.Infected: a table and a column")
    return plate


def column_of(name: str) -> str:
    """The column that holds a variable."""
    return name.partition(".")[2]


def checked_keys(keys: object, parents: Parents) -> dict[str, str]:
    """{plate: the column that names its members}."""
    plates = [*dict.fromkeys(map(plate_of, parents))]
    if not isinstance(keys, Mapping):
        raise NetworkError(f"keys must be {{plate: column that names its members}}, but are {keys!r:.60}")
    for plate, column in keys.items():
        if plate not in plates:
            raise NetworkError(f"a key is for {plate!r}, which isn't a plate; {suggest(plate, plates)}")
        if not isinstance(column, str):
            raise NetworkError(f"the key of {plate!r} must be a column's name, but is {column!r:.60}")
    if len({*keys.values()}) < len(keys):
        raise NetworkError(f"two plates have one key, and can't be told apart by it: {', '.join(keys.values())}")
    return dict(keys)


@dataclass(frozen=True, eq=False)
class Plate:
    """The members of one plate."""

    name: str
    members: Sequence[Any]  # the name of each
    refers: Mapping[str, Places]  # the enclosing member of each enclosing plate
    batch: Batch | None  # its table; None: members are known from references to them

    @property
    def size(self) -> int:
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Plates:
    """All plates, and the evidence on their variables."""

    by_name: Mapping[str, Plate]
    codes: Mapping[str, Codes]  # for each variable, the state of each member, -1 if unknown

    def place_of(self, plate: str, member: str) -> int | None:
        """The index of a member, by its name as text; None if there is none."""
        return self._places[plate].get(member)

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        return {name: {str(each): i for i, each in enumerate(plate.members)} for name, plate in self.by_name.items()}

    def family(self, name: str, parents: Parents) -> list[tuple[str, Places]]:
        """The members to which the parents of each member's variable belong, and the member itself."""
        own = self.by_name[plate_of(name)]
        every = np.arange(own.size)
        near = {own.name: every, **own.refers}
        found = [(each, near[plate_of(each)]) for each in parents[name]]
        return [*found, (name, every)]


def read_plates(data: object, parents: Parents, keys: Mapping[str, str]) -> dict[str, Plate]:
    """The members of all plates, and their references."""
    names = [*dict.fromkeys(map(plate_of, parents))]
    if not isinstance(data, Mapping):
        raise DataError(f"plates are read from tables by name, {{plate: table}}, but the data is {data!r:.60}")
    for unknown in (plate for plate in data if plate not in names):
        raise SchemaError(f"a table is for {unknown!r}, which isn't a plate; {suggest(unknown, names)}")
    batches = {plate: _batch(plate, table) for plate, table in data.items()}
    members = {plate: _members(plate, keys.get(plate), batches) for plate in names if plate in batches}
    for plate in (plate for plate in names if plate not in batches):
        members[plate] = _referred(plate, keys.get(plate), batches)
    direct = {plate: _references(plate, keys, batches, members) for plate in names}
    found = {plate: Plate(plate, members[plate], _reached(plate, direct), batches.get(plate)) for plate in names}
    for name, above in parents.items():
        for parent in above:
            _check_reached(name, parent, found, keys)
    return found


def _batch(plate: str, data: object) -> Batch:
    table = source(data)
    parts = [*table.batches(table.names)]
    if not parts:
        raise DataError(f"the table {plate} is empty")
    return joined(parts)


def _values(batch: Batch, plate: str, column: str) -> list[Any]:
    found: list[Any] = batch.column(column).to_pylist()
    if None in found:
        raise DataError(f"the table {plate} has no {column!r} in row {found.index(None) + 1}: every row must have one")
    return found


def _members(plate: str, key: str | None, batches: Mapping[str, Batch]) -> Sequence[Any]:
    batch = batches[plate]
    if key is None:
        return range(batch.rows)
    if key not in batch.names:
        raise SchemaError(f"the table {plate} has no column {key!r}, its key; {suggest(key, batch.names)}")
    found = _values(batch, plate, key)
    if len({*found}) < len(found):
        seen: set[Any] = set()
        twice = next(value for value in found if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise DataError(f"the table {plate} has {key}={twice!r} twice: a key names one member")
    return found


def _referred(plate: str, key: str | None, batches: Mapping[str, Batch]) -> Sequence[Any]:
    """The members of a plate without a table: those that other tables refer to."""
    having = [name for name, batch in batches.items() if key is not None and key in batch.names]
    if not having:
        raise DataError(f"there is no table {plate}, and no other table names its members by a key")
    return [*dict.fromkeys(value for name in having for value in _values(batches[name], name, str(key)))]


def _references(
    plate: str, keys: Mapping[str, str], batches: Mapping[str, Batch], members: Mapping[str, Sequence[object]]
) -> dict[str, Places]:
    """References to plates whose keys are columns of the table."""
    found: dict[str, Places] = {}
    for other, key in keys.items():
        if other == plate or plate not in batches or key not in batches[plate].names:
            continue
        place = {value: i for i, value in enumerate(members[other])}
        values = _values(batches[plate], plate, key)
        for row, value in enumerate(values):
            if value not in place:
                raise DataError(
                    f"the table {plate} has {key}={value!r} in row {row + 1}, but the table {other} has no such member"
                )
        found[other] = np.array([place[value] for value in values], dtype=np.intp)
    return found


def _reached(plate: str, direct: Mapping[str, Mapping[str, Places]]) -> dict[str, Places]:
    """References to the plates that these refer to, nearest first; different paths must lead to the same members."""
    found, waiting = dict(direct[plate]), [*direct[plate]]
    near = {*found}
    while waiting:
        between = waiting.pop(0)
        for other, place in direct[between].items():
            through = place[found[between]]
            if other not in found:
                found[other] = through
                waiting.append(other)
            elif other not in near and not np.array_equal(found[other], through):
                raise DataError(
                    f"the table {plate} leads to {other} by two paths, and to different members: give it {other}'s key"
                )
    return found


def _check_reached(name: str, parent: str, plates: Mapping[str, Plate], keys: Mapping[str, str]) -> None:
    own, other = plate_of(name), plate_of(parent)
    if own == other or other in plates[own].refers:
        return
    if own in plates[other].refers:
        raise NetworkError(
            f"the arrow {parent} -> {name} leads from many members to one: arrows lead from a plate to those within "
            "it, and any, all and count ask about many"
        )
    if plates[own].batch is None:
        raise SchemaError(
            f"{name!r} has the parent {parent!r}, but there is no table {own} that says which {other} each is in"
        )
    wanted = f"no column {keys[other]!r}" if other in keys else f"{other} has no key that it could refer to"
    raise SchemaError(f"{name!r} has the parent {parent!r}, but the table {own} doesn't refer to {other}: {wanted}")


def found_codes(
    plates: Mapping[str, Plate], parents: Parents, states: States, hidden: States,
    *, strict: bool,
) -> tuple[dict[str, Codes], dict[str, tuple[Any, ...]]]:  # fmt: skip
    """The cells of all variables as state codes; and the states, inferred from the columns unless they are known."""
    codes: dict[str, Codes] = {}
    known: dict[str, tuple[Any, ...]] = {}
    for name in parents:
        plate, column = plates[plate_of(name)], column_of(name)
        there = plate.batch is not None and column in plate.batch.names
        codes[name], known[name] = np.full(plate.size, -1, dtype=np.int32), states.get(name) or hidden.get(name, ())
        if there:
            assert plate.batch is not None
            codes[name], known[name] = _coded(name, plate.batch, known[name], strict)
        if not known[name]:
            raise DataError(
                f"the table {plate.name} has no values of {column!r}, and its states aren't known: if it is hidden, "
                f"say how many it has: hidden={{{name!r}: 2}}"
            )
    return codes, known


def _coded(name: str, batch: Batch, states: tuple[object, ...], strict: bool) -> tuple[Codes, tuple[Any, ...]]:
    column, own = column_of(name), batch.only([column_of(name)])
    if not states:
        codes, schema = inferred(own, [column])
        order = schema[column].ordered()[1]
        place = np.empty(len(order) + 1, dtype=np.int32)
        place[order], place[-1] = np.arange(len(order)), -1
        values = schema[column].values
        return place[codes[column]], tuple(values[i] for i in order)
    index = StateIndex((column,), (states,))
    if strict:
        return state_codes(index, [column], own)[0], states
    coded = Coder(index, [column]).coded(own)
    notice_unseen(coded.unknown)
    return coded.columns[0], states


def chosen_members(
    plate: Plate, plates: Mapping[str, Plate], where: Mapping[str, object] | None, keys: Mapping[str, str]
) -> Places:
    """The members that match conditions on columns of their table, or on keys of members that they are nested in."""
    flags = np.ones(plate.size, dtype=np.bool_)
    by_key = {key: other for other, key in keys.items() if other in plate.refers}
    known = dict.fromkeys([*(plate.batch.names if plate.batch is not None else ()), *by_key])
    for column, value in (where or {}).items():
        wanted = {*value} if isinstance(value, list | tuple | set | frozenset) else {value}
        if plate.batch is not None and column in plate.batch.names:
            cells: Iterable[Any] = plate.batch.column(column).to_pylist()
        elif column in by_key:
            other = plates[by_key[column]]
            cells = [other.members[i] for i in plate.refers[other.name]]
        else:
            raise SchemaError(f"{plate.name} has no column {column!r}; {suggest(column, [*known])}")
        flags &= np.array([cell in wanted for cell in cells], dtype=np.bool_)
    if not flags.any():
        shown = ", ".join(f"{column}={value!r:.40}" for column, value in (where or {}).items())
        raise DataError(f"{plate.name} has {counted(0, 'member')}{' with ' + shown if shown else ''}")
    return np.flatnonzero(flags)
