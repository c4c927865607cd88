"""Queries about members of plates, including any, all and count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.records import Surface
from credo.errors import EvidenceError, NetworkError, SchemaError, SizeError, suggest
from credo.networks.inference.findings import state
from credo.networks.inference.rows import states_array
from credo.networks.network import Network
from credo.networks.templates.ground import Copies, Ground
from credo.networks.templates.plates import Places, Plate, chosen_members, plate_of
from credo.networks.templates.template import MOST_UNROLLED
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.answers import Posterior
    from credo.networks.templates.plate_network import PlateNetwork

LARGEST_COUNTING_TABLE = 2**24  # numbers in the tables that count members
Given = Mapping[str, Any] | None


@dataclass(frozen=True, eq=False, repr=False)
class GivenTables(Surface):
    """Plates over the members of some tables. Only the copies that a query depends on are unrolled: those connected to
    it through unknown copies."""

    network: PlateNetwork
    ground: Ground

    # One member

    def query(self, variable: str, given: Given = None) -> Posterior:
        """P(variable of a member | the tables, and further findings), as in query("Patient.Infected[ann]")."""
        more = self._further_findings(given)
        net, evidence = self.relevant([variable, *more])
        return net.query(variable, {**evidence, **more})

    def predict_proba(self, variable: str) -> Array:
        """P(variable | the tables) of each member. (members, states)"""
        self._check_variable(variable)
        found = np.eye(len(self.network.states[variable]))[self.ground.plates.codes[variable]]
        start = self.ground.offsets[variable]
        for copies in self.ground.copies():
            net, rows = copies.network(self.network.tables), _table(copies)
            for place in (i for i in range(len(copies.structure)) if copies.variable(i) == variable):
                unknown = np.flatnonzero(copies.codes[place] < 0)
                if len(unknown):
                    numbers = copies.numbers[unknown, place] - start
                    found[numbers] = net.predict_proba(str(place), rows.take(unknown))
        return found

    def log_prob(self) -> float:
        """log P(all known cells), the others summed out."""
        from credo.networks.templates.plate_learning import counts_of

        counts, total = counts_of(self.network.template, self.ground), 0.0
        for name, node in self.network.template.nodes.items():
            n, table = counts[node.label].n.value, self.network.tables[name]
            with np.errstate(divide="ignore"):
                total += float((n[n > 0] * np.log(table[n > 0])).sum())
        for copies in self.ground.copies():
            logs = copies.network(self.network.tables).log_prob(_table(copies))
            total += float(logs.sum()) - copies.rows * copies.log_known
        return total

    # Many members

    def any(self, variable: str, value: object, where: Given = None, *, given: Given = None) -> float:
        """P(the variable has this value for at least one member | the tables), for all members, or for those selected
        by `where`, {column of their table: value}: any("Patient.Infected", "yes", where={"ward": 3})."""
        return 1.0 - self._probability_of_none(variable, value, where, given, holds=True)

    def all(self, variable: str, value: object, where: Given = None, *, given: Given = None) -> float:
        """P(the variable has this value for every such member | the tables)."""
        return self._probability_of_none(variable, value, where, given, holds=False)

    def count(self, variable: str, value: object, where: Given = None, *, given: Given = None) -> dict[int, float]:
        """The distribution of the number of such members for which the variable has this value, given the tables:
        {number: probability}."""
        asked = self._asked_copies(variable, value, where)
        shares = np.zeros(1 + int((asked.codes == asked.code).sum()))
        shares[-1] = 1.0  # members known to have the value
        for each in self._components(asked, given, counting=True):
            shares = np.convolve(shares, each)
        return dict(enumerate(np.append(shares, np.zeros(1 + len(asked.codes) - len(shares))).tolist()))

    def _probability_of_none(self, variable: str, value: object, where: Given, given: Given, *, holds: bool) -> float:
        """P(no member has the value) or, if `holds` is false, P(no member has another value)."""
        asked = self._asked_copies(variable, value, where, holds)
        self._further_findings(given)  # an error even if the tables alone give the answer
        if ((asked.codes >= 0) & ((asked.codes == asked.code) == holds)).any():
            return 0.0
        return prod(float(each[0]) for each in self._components(asked, given, counting=False))

    def _asked_copies(self, variable: str, value: object, where: Given, holds: bool = True) -> AskedCopies:
        self._check_variable(variable)
        template, plates = self.network.template, self.ground.plates.by_name
        code = state(template.potentials, template.potentials.number[variable], value)
        chosen = chosen_members(plates[plate_of(variable)], plates, where, self.network.keys)
        numbers = self.ground.offsets[variable] + chosen
        hit = (np.arange(len(self.network.states[variable])) == code) == holds
        return AskedCopies(numbers, self.ground.codes[numbers], code, hit)

    def _components(self, asked: AskedCopies, given: Given, *, counting: bool) -> Iterator[Array]:
        """P(number of members with the value), or P(none) and P(some), in each component; components are independent.
        Components with the same structure and the same queried members are answered together."""
        unknown = asked.numbers[asked.codes < 0]
        more = self._further_findings(given)
        touched = {int(self.ground.components[self._number(name)]) for name in more} - {-1}
        parts = {*self.ground.components[unknown].tolist()}
        for part in sorted(parts & touched):
            own = unknown[self.ground.components[unknown] == part]
            names = [self.ground.named(number) for number in own.tolist()]
            net, evidence = self.relevant([*names, *more])
            whole, last = _chained(net, names, asked.hit, counting)
            yield np.array([*whole.query(last, {**evidence, **more}).values()])
        for copies in self.ground.copies(parts - touched) if parts - touched else ():
            flags = np.isin(copies.numbers, unknown)
            patterns, which = np.unique(flags, axis=0, return_inverse=True)
            net, rows = copies.network(self.network.tables), _table(copies)
            for k, pattern in enumerate(patterns):
                whole, last = _chained(net, [str(i) for i in np.flatnonzero(pattern)], asked.hit, counting)
                yield from whole.predict_proba(last, rows.take(np.flatnonzero(which.reshape(-1) == k)))

    # The copies that matter

    def relevant(self, names: Iterable[str]) -> tuple[Network, dict[str, Any]]:
        """The network of the copies that these depend on, and the evidence on it."""
        numbers = [self._number(name) for name in names]
        parts = {int(self.ground.components[number]) for number in numbers if self.ground.codes[number] < 0}
        parents, tables, states = dict[str, tuple[str, ...]](), dict[str, Array](), dict[str, tuple[Any, ...]]()
        for number in numbers:
            if self.ground.codes[number] >= 0:
                self._add_known(number, parents, tables, states)
        evidence: dict[str, Any] = {}
        for copies in self.ground.copies(parts) if parts else ():
            own = copies.tables(self.network.tables)
            for row in copies.numbers.tolist():
                called = [self.ground.named(number) for number in row]
                for place, (v, above) in enumerate(copies.structure):
                    if v >= 0 or called[place] not in parents:
                        parents[called[place]] = tuple(called[each] for each in above)
                        tables[called[place]], states[called[place]] = own[place], copies.states_at(place)
                known = ((i, int(self.ground.codes[number])) for i, number in enumerate(row))
                evidence |= {called[i]: copies.states_at(i)[code] for i, code in known if code >= 0}
        for number in (number for number in numbers if self.ground.codes[number] >= 0):
            name = self.ground.named(number)
            evidence[name] = states[name][self.ground.codes[number]]
        if not parents:  # no query
            self._add_known(0, parents, tables, states)
        return Network(parents, tables, states), evidence

    def _add_known(self, number: int, parents: dict[str, Any], tables: dict[str, Any], states: dict[str, Any]) -> None:
        own = self.network.states[self.ground.variable_of(number)]
        name = self.ground.named(number)
        parents[name], states[name], tables[name] = (), own, np.full(len(own), 1.0 / len(own))

    def unrolled(self) -> Network:
        """All copies of all variables."""
        size = len(self.ground.codes)
        if size > MOST_UNROLLED:
            raise NetworkError(
                f"the members have {size:,} variables, and at most {MOST_UNROLLED:,} are unrolled: questions unroll "
                "only what they depend on"
            )
        parents, tables, states = {}, {}, {}
        for name, families in self.ground.families.items():
            for family in families.tolist():
                *above, own = map(self.ground.named, family)
                parents[own], tables[own] = tuple(above), self.network.tables[name]
                states[own] = self.network.states[name]
        tied = {self.ground.named(number): self.ground.variable_of(number) for number in range(size)}
        return Network(parents, tables, states, tied)

    def _further_findings(self, given: Given) -> dict[str, Any]:
        """Findings in addition to the tables; None is no finding. Findings about known cells are refused."""
        more = {name: value for name, value in (given or {}).items() if value is not None}
        for name, value in more.items():
            number = self._number(name)
            known = int(self.ground.codes[number])
            own = self.network.states[self.ground.variable_of(number)]
            if known >= 0 and value != own[known]:
                raise EvidenceError(f"{name} is {own[known]!r} in the tables: further findings are about unknown cells")
        return more

    def _check_variable(self, variable: object) -> None:
        if variable not in self.network.parents:
            raise SchemaError(f"there is no variable {variable!r}; {suggest(variable, self.network.parents)}")

    def _number(self, name: object) -> int:
        """The index of a copy, by name."""
        variable, bracket, rest = str(name).partition("[")
        self._check_variable(variable)
        plate: Plate = self.ground.plates.by_name[plate_of(variable)]
        if not bracket or not rest.endswith("]"):
            example = f"{variable}[{plate.members[0]}]"
            raise SchemaError(f"{name!r:.60} is a variable of many members: write {example!r}")
        place = self.ground.plates.place_of(plate.name, rest[:-1])
        if place is None:
            raise SchemaError(f"{plate.name} has no member {rest[:-1]!r:.60}; {suggest(rest[:-1], plate.members)}")
        return self.ground.offsets[variable] + place

    def __repr__(self) -> str:
        sizes = ", ".join(f"{plate.size:,} in {name}" for name, plate in self.ground.plates.by_name.items())
        unknown = int((self.ground.codes < 0).sum())
        return f"GivenTables(members: {sizes}; {unknown:,} of {len(self.ground.codes):,} cells unknown)"


class AskedCopies(NamedTuple):
    """The queried copies, and the states that count."""

    numbers: Places
    codes: Codes
    code: int
    hit: NDArray[np.bool_]


def _chained(net: Network, names: Sequence[str], hit: NDArray[np.bool_], counting: bool) -> tuple[Network, str]:
    """The network with a chain of nodes that count the copies so far with the value, or record whether there is one."""
    if counting and len(names) ** 3 * len(hit) // 3 > LARGEST_COUNTING_TABLE:
        raise SizeError(
            f"{len(names):,} members depend on each other, and counting them exactly takes tables that are too large: "
            "ask about fewer, or about any and all"
        )
    chain, one = _Chain(net), hit.astype(np.int64)
    last = chain.add(one, names[:1], 2)
    for k, name in enumerate(names[1:], 2):
        before = np.arange(k if counting else 2)[:, None]
        last = chain.add(before + one if counting else np.maximum(before, one), [last, name], k + 1 if counting else 2)
    return chain.network(), last


class _Chain:
    """A network extended by deterministic nodes."""

    def __init__(self, net: Network) -> None:
        self.parents, self.tables, self.states = dict(net.parents), dict(net.tables), dict(net.states)
        self._free = "+"
        while any(name.startswith(self._free) for name in self.parents):
            self._free += "+"

    def add(self, function: Any, above: Sequence[str], states: int) -> str:
        """Add a node that is a function of its parents' states; returns its name."""
        name = f"{self._free}{len(self.parents)}"
        shape = [len(self.states[each]) for each in above]
        self.parents[name], self.states[name] = tuple(above), tuple(range(states))
        self.tables[name] = np.eye(states)[np.reshape(function, shape)]
        return name

    def network(self) -> Network:
        return Network(self.parents, self.tables, self.states)


def _table(copies: Copies) -> pa.Table:
    """The evidence on components of one structure, a row for each."""
    import pyarrow as pa

    columns = {}
    for i in range(len(copies.structure)):
        codes = copies.codes[i]
        states = states_array(copies.states_at(i))
        columns[str(i)] = states.take(pa.array(codes, mask=codes < 0))
    return pa.table(columns)
