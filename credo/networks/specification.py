"""A network as users give it: arrows, states, and a table or another distribution for each variable, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from credo.errors import NetworkError, check_mapping, suggest
from credo.networks import graph
from credo.networks.nodes.distribution import Distribution, NodeFamily
from credo.networks.tables import states_of, table_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.nodes.node import DistributionNode

MOST_PARENTS_OF_TABLE = 60  # even with two states each, a larger table fits in no memory
Arrows = str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Specification:
    """Arrows, states, what was given for each variable, and the forms of distributions that aren't tables."""

    parents: Mapping[str, tuple[str, ...]]
    states: dict[str, tuple[Any, ...]]
    given: dict[str, Any]  # a table or a distribution with its parameters for each variable; empty: to be learned
    forms: dict[str, Distribution]  # without parameters

    @classmethod
    def of(
        cls, arrows: Arrows, given: object, states: Mapping[str, Sequence[object]] | Sequence[object] | None
    ) -> Specification:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        if not parents:
            raise NetworkError("a network must have at least one variable")
        graph.in_order(parents)  # refuses cycles
        if given is not None:
            check_mapping("tables must be {name: table}, but are", given, NetworkError)
        tables: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
        for what, named in (("table", tables), ("list of states", states if isinstance(states, Mapping) else ())):
            for unknown in (name for name in named if name not in parents):
                raise NetworkError(f"a {what} is for {unknown!r}, which isn't there; {suggest(unknown, parents)}")
        forms = {name: each for name, each in tables.items() if isinstance(each, Distribution)}
        for name in (name for name, each in tables.items() if name not in forms and hasattr(each, "node")):
            kind = type(tables[name]).__name__
            raise NetworkError(f"{name!r} is a {kind}, about numbers, and a Network has categories: use HybridNetwork")
        for name in (
            name for name, above in parents.items() if len(above) > MOST_PARENTS_OF_TABLE and name not in forms
        ):
            count = len(parents[name])
            raise NetworkError(f"{name!r} has {count} parents: more than {MOST_PARENTS_OF_TABLE} can't have a table")
        known = _are_known(parents, tables, forms)
        found: dict[str, tuple[Any, ...]] = {}
        for name in parents if tables or states else ():
            listed = states.get(name) if isinstance(states, Mapping) else states
            found[name] = states_of(name, listed, tables.get(name), parents[name])
        forms = {name: each.resolved(NodeFamily(name, parents[name], found)) for name, each in forms.items()}
        tables |= forms
        return cls(parents, found, tables if known else {}, {name: each.bare() for name, each in forms.items()})

    @property
    def nodes(self) -> dict[str, DistributionNode]:
        """The nodes of distributions that aren't tables; refuses those that don't fit the variables."""
        given = {**self.forms, **{name: self.given[name] for name in self.forms if self.given}}
        return {name: form.node(NodeFamily(name, self.parents[name], self.states)) for name, form in given.items()}

    def parameters(self, nodes: Mapping[str, DistributionNode]) -> dict[str, Array]:
        """The given tables, and the given parameters of other distributions."""
        return {
            name: nodes[name].parameters(self.given[name])
            if name in nodes
            else table_of(name, self.given[name], above, self.states)
            for name, above in self.parents.items()
        }


def _are_known(parents: Mapping[str, object], tables: Mapping[str, object], forms: Mapping[str, Distribution]) -> bool:
    """Whether each variable has a table, or a distribution with its parameters; some of them only is an error."""
    bare = [name for name, form in forms.items() if not form.known]
    constant = [name for name in tables if name in forms and name not in bare and not forms[name].learns]
    if len(bare) + len(constant) == len(tables) and (bare or len(tables) < len(parents)):
        return False
    for missing in (name for name in parents if tables and name not in tables):
        raise NetworkError(f"{missing!r} has no table; give one for each name, or none at all")
    for name in bare:
        raise NetworkError(
            f"{name!r} is a {type(forms[name]).__name__} without parameters, and others have theirs: give these too, "
            "or give no tables and learn them with fit"
        )
    return bool(tables)
