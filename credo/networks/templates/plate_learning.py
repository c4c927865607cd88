"""Learning the tables of plates: the statistics of all members add, whether counted or expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.em import Expected
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.errors import EvidenceError, NetworkError
from credo.networks.fitting import FittingSettings, hidden_states
from credo.networks.network import Network
from credo.networks.templates.em_starts import best_fit, table_starts
from credo.networks.templates.ground import Copies, Ground
from credo.networks.templates.plates import Plates, column_of, found_codes, plate_of, read_plates
from credo.networks.templates.tied_tables import TiedTables

if TYPE_CHECKING:
    from credo.networks.templates.plate_network import PlateNetwork


def ground_of(net: PlateNetwork, data: object, hidden: Mapping[str, object] | None, *, strict: bool) -> Ground:
    """All copies of all variables, over the members in the tables."""
    plates = read_plates(data, net.parents, net.keys)
    there = [
        name for name in net.parents
        if (batch := plates[plate_of(name)].batch) is not None and column_of(name) in batch.names
    ]  # fmt: skip
    absent = hidden_states(net, hidden, there) if strict else {}
    codes, states = found_codes(plates, net.parents, net.states, absent, strict=strict)
    for name in absent:
        if name in there and (codes[name] >= 0).any():
            raise NetworkError(f"{name!r} can't be hidden: the table {plate_of(name)} has values of it")
    return Ground(net.parents, states, Plates(plates, codes))


def counts_of(template: Network, ground: Ground) -> Evidence:
    """The counts of each table, over the members with the variable and its parents known."""
    sizes = {name: len(states) for name, states in ground.states.items()}
    found: dict[Label, Part] = {}
    for name, node in template.nodes.items():
        known = np.flatnonzero(ground.component_of_family(name) < 0)
        family = ground.families[name][known]
        codes = {each: ground.codes[family[:, i]] for i, each in enumerate((*node.parents, name))}
        found[node.label] = Part(node.axes, node.summarise(codes, sizes, np.ones(len(known))))
    return Evidence(template.schema, found)


def learned(
    net: PlateNetwork, data: Any, hidden: Mapping[str, Any] | None, how: FittingSettings, start: PlateNetwork
) -> PlateNetwork:
    """The network after learning more members: observed families are counted, the others fitted by EM."""
    if how.method != "em":
        raise NetworkError(f"templates are fitted by EM: method={how.method!r} is for credo.Network")
    ground = ground_of(net, data, hidden, strict=True)
    if not net.states:
        net = type(net)(net.parents, states=ground.states, keys=net.keys, prior=net.prior)
    counts = counts_of(net.template, ground)
    evidence = counts if net.evidence is None else Evidence.total([net.evidence, counts])
    copies = ground.copies()
    if not copies:
        return net.with_evidence(evidence, net.history)
    hidden_names = [name for name in net.parents if not _ever_known(name, ground, net.evidence)]
    given = start.tables if start.tables and dict(start.states) == dict(net.states) else {}
    begun = table_starts(net.template, evidence, counts * 0.0, hidden_names, given, how)
    starts = [PlateEM(each) for each in begun]
    fitted = best_fit(starts, lambda: copies, sum(each.rows for each in copies), how)
    return net.with_evidence(Evidence.total([evidence, fitted.evidence]), fitted.history)


def _ever_known(name: str, ground: Ground, before: Evidence | None) -> bool:
    return before is not None or bool((ground.plates.codes[name] >= 0).any())


def complete_evidence(net: PlateNetwork, data: object) -> Evidence:
    """The counts of tables without missing cells."""
    ground = ground_of(net, data, None, strict=True)
    if (ground.codes < 0).any():
        raise EvidenceError("a cell is missing: only complete tables can be forgotten, since others were never counted")
    return counts_of(net.template, ground)


@dataclass(frozen=True, eq=False)
class PlateEM(TiedTables):
    """Plates for `credo.core.em`: the parameters are those of the template, expected counts those of all copies."""

    def expect(self, batch: Copies, /) -> Expected:
        template = self.tables.network
        try:
            evidence, log_likelihood = batch.network(template.tables).expect(batch.coded)
        except EvidenceError:
            names = ", ".join(dict.fromkeys(batch.variable(i) for i in range(len(batch.structure))))
            raise EvidenceError(f"the values of {names} in the tables are impossible under the network") from None
        parts = {}
        for name, node in template.nodes.items():
            table, there = template.tables[name], node.label in evidence.parts
            own = evidence[node.label].n.value if there else np.zeros(table.shape)
            parts[node.label] = node.expected([own], table)
        return Evidence(template.schema, parts), log_likelihood - batch.rows * batch.log_known
